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
        stop stopped end endturn endoftext endofsequence endofturn eos eot eog eostoken eosfound stopsequence stopstring
        stopstringfound stopword stoptoken word complete completed success succeeded finish finished done normal natural
    """,
    CALLS: """
        toolcalls toolcall tooluse tooluses tools tool functioncall functioncalls requiresaction toolexecution
    """,
    # Reached the limit of tokens or of the context, or is to be continued: the reply is not whole.
    LENGTH: """
        length limit errorlimit modellength maxlength maxtokens maximumtokens maxnewtokens maxoutput maxoutputtokens
        maxcompletiontokens maxpredictedtokensreached context contextlength contextwindow modelcontextwindowexceeded
        contextlengthexceeded incomplete notfinished truncated timelimit budget pauseturn pause compaction repetition
    """,
    FILTERED: """
        contentfilter contentfiltered filtered filter safety recitation language blocklist blocked block
        prohibitedcontent spii guardrailintervened sensitive errortoxic moderation flagged modelarmor jailbreak
    """,
    REFUSED: "refusal refused declined",
    MALFORMED: "malformedfunctioncall unexpectedtoolcall toomanytoolcalls malformedtooluse malformedmodeloutput",
    # The provider's own failure, or somebody's who stopped the request: not what the model would have answered.
    FAILED: """
        error failed failure networkerror insufficientsystemresource timeout timedout deadlineexceeded abort aborted
        cancel cancelled canceled usercancel userstopped interrupted load unload modelunloaded overloaded unavailable
        other imageother noimage missingthoughtsignature
    """,
}  # fmt: skip
# What a word holds that is not in the table, in this order.
_PARTS = (
    (MALFORMED, r"malformed|invalid(?:tool|function)|(?:tool|function)(?:call|use)error"),
    (FILTERED, r"filter|safety|moderat|guardrail|prohibit|blocked|blocklist|sensitive|toxic|policy|censor|recitation"),
    (REFUSED, r"refus"),
    (LENGTH, r"length|max.*token|token.*(?:limit|exceed|budget)|context.*(?:limit|window|exceed|full)|truncat|cutoff"),
    (
        FAILED,
        r"error|fail|exception|timeout|timedout|abort|cancel|interrupt|overload|unavailable|insufficient|exhausted",
    ),
)
_MEANINGS = {word: meaning for meaning, words in _WORDS.items() for word in words.split()}
_ENUMERATION = re.compile(r"(?:(?:candidate)?(?:finish|stop|done|block)reason)(?=.)")


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
