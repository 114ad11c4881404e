"""The plain records that travel between rooms: what a model sent back, and what was judged of it.

Nothing here decides anything. `Turn` is what came back from a model, whatever its shape; `Verdict` is
one judgement of it. All are immutable, and all of their text can enter a DataFrame (see `clean_text`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from .thinking import set_aside

_MOST_TOKENS = 2**53  # beyond it a count is nonsense, and no column could hold it
# What a request may fail of; other errors (truncated, reviewer, judge_unreadable) are found when a turn is scored.
REQUEST_ERRORS = frozenset(
    {"timeout", "rate_limit", "quota", "connection", "server", "bad_request", "auth", "bad_response", "model"}
)


def clean_text(text: str) -> str:
    """The same text with each lone surrogate as its escape (`\\ud83d`), since such text cannot be encoded."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text


@dataclass(frozen=True)
class ToolCall:
    """One request to use a tool.

    `arguments` is the raw text as it came, or a mapping. `name` is None where the entry had no usable
    name; `raw` then holds the entry as it came. `kind` is "function", or "custom" for a call of free text.
    `sent_name` is the name as it was sent, where that is not the tool's own.
    """

    name: str | None
    arguments: str | Mapping[str, Any] | None = None
    raw: Any = None
    kind: str = "function"
    sent_name: str | None = None

    def __post_init__(self) -> None:
        for attribute in ("name", "arguments", "sent_name"):
            value = getattr(self, attribute)
            if isinstance(value, str):
                object.__setattr__(self, attribute, clean_text(value))


# How endpoints and libraries spell counts, in small letters and without underscores; what is within another value has
# that one's name in front. The first that is more than 0 counts.
_SPELLINGS = {
    "input_tokens": ("prompttokens", "inputtokens", "prompttokencount", "inputtokencount", "promptevalcount"),
    "output_tokens": ("completiontokens", "outputtokens", "candidatestokencount", "outputtokencount", "evalcount"),
    "cached_tokens": (
        "prompttokensdetails.cachedtokens", "inputtokensdetails.cachedtokens", "prompttokendetails.cachedtokens",
        "inputtokendetails.cacheread", "inputtokendetails.cachereadtokens", "cachedtokens", "promptcachehittokens",
        "cachereadinputtokens", "cachereadinputtokencount", "cachereadinputtokenscount", "cachereadtokens",
        "cachedinputtokens", "cachedcontenttokencount", "cachedprompttokens", "cachedprompttexttokens",
        "numcachedtokens", "inputtokenscacheread", "nativetokenscached", "timings.cachen",
    ),
    "reasoning_tokens": (
        "completiontokensdetails.reasoningtokens", "outputtokensdetails.reasoningtokens",
        "completiontokendetails.reasoningtokens", "outputtokensdetails.thinkingtokens", "outputtokendetails.reasoning",
        "outputtokendetails.reasoningtokens", "reasoningtokens", "thoughtstokencount", "nativetokensreasoning",
        "details.reasoningtokens",
    ),
    "total": ("totaltokens", "totaltokencount"),
}  # fmt: skip
# Where a whole is spelled so, these are not within it but beside it.
_BESIDE = {
    "inputtokens": (
        "cachereadinputtokens", "cachecreationinputtokens", "cachewriteinputtokens", "cachereadinputtokencount",
        "cachewriteinputtokencount", "inputtokenscacheread", "inputtokenscachewrite",
    ),
    "prompttokencount": ("tooluseprompttokencount",),
    "candidatestokencount": ("thoughtstokencount",),
}  # fmt: skip


@dataclass(frozen=True)
class Usage:
    """Tokens that an endpoint counted for one request; None where it did not say.

    `cached_tokens` are those of the input that it had read before, `reasoning_tokens` those of the output that it
    thought: the wholes hold them, also where an endpoint counts them apart.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None

    @classmethod
    def of(cls, value: Usage | Mapping[str, Any] | None) -> Usage:
        """Usage from itself, from an endpoint's mapping (whichever its spelling), or from None."""
        if isinstance(value, Usage):
            return value
        given = _counts_in(value) if isinstance(value, Mapping) else {}
        found: dict[str, int] = {}
        for name, spellings in _SPELLINGS.items():
            spelt = sorted((one for one in spellings if one in given), key=lambda one: not given[one])
            if spelt:
                found[name] = given[spelt[0]] + sum(given.get(one, 0) for one in _BESIDE.get(spelt[0], ()))
        total, thought = found.pop("total", None), found.get("reasoning_tokens")
        if thought and total == found.get("input_tokens", 0) + found.get("output_tokens", 0) + thought:
            found["output_tokens"] = found.get("output_tokens", 0) + thought  # the endpoint counted it apart
        for whole, part in (("input_tokens", "cached_tokens"), ("output_tokens", "reasoning_tokens")):
            if whole in found and found.get(part, 0) > found[whole]:
                found[whole] += found[part]  # what is more than a whole is no part of it
        return cls(**found)


def _counts_in(usage: Mapping[Any, Any]) -> dict[str, int]:
    """The counts of a usage and of the values within it, by their names in small letters without underscores."""
    found: dict[str, int] = {}
    for key, value in usage.items():
        within = value.items() if isinstance(value, Mapping) else [(None, value)]
        for inner, number in within:
            count = _count(number)
            if count is not None:
                name = str(key) if inner is None else f"{key}.{inner}"
                found[name.replace("_", "").lower()] = count
    return found


@dataclass(frozen=True)
class Turn:
    """What came back from a model for one request.

    `tool_calls`, `answer` (the text), `finish_reason` and `usage` are as sent, but for thinking in front of the
    answer: that is set aside, flag "thinking", and kept in `reasoning` with what came in a field of its own. `flags`
    are notes on the shape of the reply ("refused", "token_limit", …). Where the request failed after its retries,
    `error_kind` (one of `REQUEST_ERRORS`) and `error` (a sentence) are set and the rest is empty.
    `attempts` counts requests sent, `latency_s` is seconds from sending the one that was answered.

    Raises TypeError or ValueError for a value that no results frame could hold.
    """

    tool_calls: Sequence[ToolCall] = ()
    answer: str | None = None
    finish_reason: str | None = None
    usage: Usage | Mapping[str, Any] | None = None
    flags: Sequence[str] = ()
    error_kind: str | None = None
    error: str | None = None
    attempts: int | None = None
    latency_s: float | None = None
    reasoning: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "tool_calls", tuple(self.tool_calls or ()))
        object.__setattr__(self, "flags", tuple(self.flags or ()))
        object.__setattr__(self, "usage", Usage.of(self.usage))
        for attribute in ("answer", "finish_reason", "error_kind", "error", "reasoning"):
            value = getattr(self, attribute)
            if value is not None and not isinstance(value, str):
                raise TypeError(f"a Turn's {attribute} must be a str or None, got {type(value).__name__}")
            object.__setattr__(self, attribute, clean_text(value) if value is not None else None)
        self._check_rest()
        thinking, answer = set_aside(self.answer or "")
        if self.answer and answer != self.answer:
            object.__setattr__(self, "answer", answer)
            object.__setattr__(self, "reasoning", "\n\n".join(filter(None, (self.reasoning, thinking))) or None)
            object.__setattr__(self, "flags", tuple(dict.fromkeys((*self.flags, "thinking"))))

    def _check_rest(self) -> None:
        if not all(isinstance(flag, str) for flag in self.flags):
            raise TypeError(f"a Turn's flags must be words, got {self.flags!r:.80}")
        if self.error_kind is not None and self.error_kind not in REQUEST_ERRORS:
            allowed = ", ".join(sorted(REQUEST_ERRORS))
            raise ValueError(f"a Turn's error_kind must be one of {allowed}; got {self.error_kind!r:.80}")
        if self.attempts is not None:
            if _count(self.attempts) is None:
                raise ValueError(f"a Turn's attempts must be a count, got {self.attempts!r:.80}")
            object.__setattr__(self, "attempts", int(self.attempts))
        if self.latency_s is not None:
            seconds: Any = self.latency_s
            if not isinstance(seconds, Real) or not math.isfinite(seconds):
                raise ValueError(f"a Turn's latency_s must be a number of seconds, got {self.latency_s!r:.80}")
            object.__setattr__(self, "latency_s", float(seconds))


def _count(value: Any) -> int | None:
    """The value as a count that a column can hold; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    number: Any = value
    return int(number) if 0 <= number < _MOST_TOKENS and number == int(number) else None


@dataclass(frozen=True)
class Mismatch:
    """One path at which the arguments sent differ from those expected; `ok` where the difference is allowed.

    `note` says why where the kind alone does not ("ambiguous: 4 May or 5 April 2024").
    """

    path: str
    kind: str
    expected: Any = None
    actual: Any = None
    ok: bool = False
    note: str = ""


@dataclass(frozen=True)
class Verdict:
    """One judgement: passed or not (None: could not be judged), a score from 0 to 1, and the reason.

    For a tool choice also the outcome, the call that counted, and the arguments' part; for a reviewer
    that is a judge, what it chose. `details` holds values to be stored beside the verdict (JSON-able).

    Raises ValueError for a score outside 0–1 or NaN, TypeError for a reason that is no text.
    """

    passed: bool | None
    score: float | None
    reason: str
    outcome: str | None = None
    mismatches: tuple[Mismatch, ...] = ()
    tool_passed: bool | None = None
    arguments_passed: bool | None = None
    arguments_score: float | None = None
    schema_valid: bool | None = None
    actual_tool: str | None = None
    actual_arguments: str | None = None
    flags: tuple[str, ...] = ()
    error_kind: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        score: Any = self.score
        if score is not None and not (isinstance(score, Real) and 0 <= score <= 1):  # type: ignore[operator]
            raise ValueError(f"a score must be from 0 to 1, got {self.score!r:.80}")
        if not isinstance(self.reason, str):
            raise TypeError(f"a Verdict's reason must be text, got {type(self.reason).__name__}")
        object.__setattr__(self, "reason", clean_text(self.reason))
