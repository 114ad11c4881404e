"""What the word means with which an endpoint says why its model stopped.

One table for every API. A word is read without regard to case, separators and the name of its enumeration, so that
`FinishReason.MAX_TOKENS`, `FINISH_REASON_MAX_TOKENS` and `maxTokens` are one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

STOP, CALLS, LENGTH = "stop", "calls", "length"
FILTERED, REFUSED, MALFORMED, FAILED = "filtered", "refused", "malformed", "failed"

_WORDS = {
    STOP: """
        stop stopped end endturn endoftext endofsequence endofturn endofmessage eos eot eom eog eostoken eosfound
        stopsequence stopstring stopstringfound stopword stoptoken word imend eotid complete completed success succeeded
        finish finished done normal natural
    """,
    CALLS: "toolcalls toolcall tooluse tooluses tools tool functioncall functioncalls requiresaction toolexecution",
    # Reached the limit of tokens or of the context, or is to be continued: the reply is not whole.
    LENGTH: "limit timelimit errorlimit context budget incomplete notfinished pauseturn pause compaction repetition",
    FILTERED: "language block spii flagged modelarmor jailbreak",
    REFUSED: "declined",
    MALFORMED: "unexpectedtoolcall toomanytoolcalls",
    # The provider's own failure, or somebody's who stopped the request: not what the model would have answered.
    FAILED: "deadlineexceeded userstopped load unload modelunloaded other imageother noimage missingthoughtsignature",
}
# What other words hold, the first that fits: content_filter, modelContextWindowExceeded, insufficient_system_resource.
_PARTS = (
    (MALFORMED, r"malformed|invalid(?:tool|function)|(?:tool|function)(?:call|use|parse|parsing)\w*(?:error|fail)"),
    (
        FILTERED,
        r"filter|safety|moderat|guardrail|prohibit|blocked|blocklist|sensitive|toxic|policy|censor|recitation"
        r"|harm(?!ony)|unsafe|risk|inspection|profanity",
    ),
    (REFUSED, r"refus"),
    (
        LENGTH,
        r"length|token.*(?:limit|exceed|budget)|context.*(?:limit|window|exceed|full)|truncat|cutoff|^max|^incomplete",
    ),
    (
        FAILED,
        r"error|fail|exception|timed?out|abort|cancel|interrupt|disconnect|overload|unavailable|insufficient|preempt",
    ),
)
_MEANINGS = {word: meaning for meaning, words in _WORDS.items() for word in words.split()}
_ENUMERATION = re.compile(r"(?:(?:candidate)?(?:finish|stop|done|block)?reason)(?=.)")


@lru_cache(maxsize=1024)
def meaning(word: str | None) -> str | None:
    """One of `STOP`, `CALLS`, `LENGTH`, `FILTERED`, `REFUSED`, `MALFORMED`, `FAILED`; None for any other word."""
    bare = _ENUMERATION.sub("", re.sub(r"[\W_]+", "", (word or "")[:200].lower()), count=1)
    return _MEANINGS.get(bare) or next((found for found, parts in _PARTS if re.search(parts, bare)), None)


def telling(words: Iterable[str | None]) -> str | None:
    """Of an endpoint's word and those of the provider behind it, the one to go by.

    The first that says that something went wrong, as a gateway may call that "stop"; else the first that is known.
    """
    given = [word for word in words if word and word.strip()]
    wrong = (word for word in given if meaning(word) not in (STOP, CALLS, None))
    known = (word for word in given if meaning(word))
    return next(wrong, None) or next(known, None) or next(iter(given), None)
