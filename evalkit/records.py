"""The plain records that travel between rooms: what a model sent back, and what was judged of it.

Nothing here decides anything. `Turn` is what came back from a model, whatever its shape; `Verdict` is
one judgement of it. All are immutable, and all of their text can enter a DataFrame (see `clean_text`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


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
    """

    name: str | None
    arguments: str | Mapping[str, Any] | None = None
    raw: Any = None
    kind: str = "function"

    def __post_init__(self) -> None:
        for attribute in ("name", "arguments"):
            value = getattr(self, attribute)
            if isinstance(value, str):
                object.__setattr__(self, attribute, clean_text(value))


@dataclass(frozen=True)
class Usage:
    """Tokens that an endpoint counted for one request; None where it did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None

    @classmethod
    def of(cls, value: Usage | Mapping[str, Any] | None) -> Usage:
        """Usage from itself, from an endpoint's mapping (either API's spelling), or from None."""
        if isinstance(value, Usage):
            return value
        found: list[int | None] = []
        for names in (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens")):
            given = [value.get(name) for name in names] if isinstance(value, Mapping) else []
            found.append(next((n for n in given if isinstance(n, int) and not isinstance(n, bool)), None))
        return cls(*found)


@dataclass(frozen=True)
class Turn:
    """What came back from a model for one request.

    `tool_calls`, `answer` (the text), `finish_reason` and `usage` are as sent. `flags` are notes on the
    shape of the reply ("refused", "token_limit", …). Where the request failed after its retries,
    `error_kind` (the kinds of SCORING.md 1) and `error` (a sentence) are set and the rest is empty.
    `attempts` counts requests sent, `latency_s` is seconds from sending the one that was answered.
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "tool_calls", tuple(self.tool_calls or ()))
        object.__setattr__(self, "flags", tuple(self.flags or ()))
        object.__setattr__(self, "usage", Usage.of(self.usage))
        for attribute in ("answer", "finish_reason", "error"):
            value = getattr(self, attribute)
            if isinstance(value, str):
                object.__setattr__(self, attribute, clean_text(value))


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

    Raises ValueError for a score outside 0–1 or NaN.
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
        if self.score is not None and not 0 <= self.score <= 1:
            raise ValueError(f"a score must be from 0 to 1, got {self.score!r}")
        object.__setattr__(self, "reason", clean_text(self.reason))
