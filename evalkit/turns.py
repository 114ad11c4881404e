"""What a turn is before anything is judged: failed, cut off, refused, empty; and turns given in short form."""

from __future__ import annotations

from typing import Any

from . import finish_reasons
from .finish_reasons import FAILED, FILTERED, LENGTH, MALFORMED, REFUSED
from .records import ToolCall, Turn, Verdict
from .thinking import is_blank

ARGUMENTS_UNKNOWN = "arguments_unknown"  # only the name of the tool that was called is known
TEXT_UNKNOWN = "text_unknown"  # answered in text, which was not kept
# Notes that scoring makes of a turn. They are made anew each time, so that scoring a stored turn again agrees.
UNKNOWN_REASON = "unknown_finish_reason"
_MADE_HERE = ("empty", "truncated", "extra_calls", "empty_arguments", "call_in_text", UNKNOWN_REASON)


def as_turn(turn: Turn | str | None) -> Turn:
    """A Turn from itself, from the name of the tool that was called, or from None or "none" (answered in text).

    Flags say what is not known then: the arguments, or the text.
    """
    if isinstance(turn, Turn):
        return turn
    if turn is None or turn == "none":
        return Turn(flags=(TEXT_UNKNOWN,))
    if not isinstance(turn, str):
        raise TypeError(f"a turn is a Turn, the name of the tool called, or None; got {type(turn).__name__}")
    return Turn(tool_calls=(ToolCall(turn),), flags=(ARGUMENTS_UNKNOWN,))


def flags_of(turn: Turn, *more: str) -> tuple[str, ...]:
    """The turn's own flags, whether its finish reason is unknown, and `more`, each once."""
    own = [flag for flag in turn.flags if flag not in _MADE_HERE]
    if turn.finish_reason and finish_reasons.meaning(turn.finish_reason) is None:
        own.append(UNKNOWN_REASON)
    return tuple(dict.fromkeys((*own, *more)))


def at_token_limit(turn: Turn) -> bool:
    """Whether the reply ended because the token limit was reached."""
    return finish_reasons.meaning(turn.finish_reason) == LENGTH or "token_limit" in turn.flags


def is_filtered(turn: Turn) -> bool:
    """Whether a content filter stopped the model."""
    return finish_reasons.meaning(turn.finish_reason) == FILTERED or "content_filter" in turn.flags


def is_refusal(turn: Turn) -> bool:
    """Whether the model refused, or a content filter stopped it."""
    return "refused" in turn.flags or finish_reasons.meaning(turn.finish_reason) == REFUSED or is_filtered(turn)


def is_malformed(turn: Turn) -> bool:
    """Whether the provider withheld a call because it could not read it."""
    return finish_reasons.meaning(turn.finish_reason) == MALFORMED and not turn.tool_calls


def is_empty(turn: Turn) -> bool:
    """Whether nothing was said and nothing called."""
    return not turn.tool_calls and is_blank(turn.answer) and TEXT_UNKNOWN not in turn.flags


def request_error(turn: Turn) -> Verdict | None:
    """The verdict on a request that failed, or that the provider gave up: an error, not a failure. None for others."""
    if turn.error_kind:
        kind, reason = turn.error_kind, turn.error or f"the request failed: {turn.error_kind}"
    elif finish_reasons.meaning(turn.finish_reason) == FAILED:
        kind, reason = "server", f"the provider gave up: {ended(turn)}"
    else:
        return None
    return Verdict(None, None, reason, outcome="error", error_kind=kind, flags=flags_of(turn))


def ended(turn: Turn) -> str:
    """Why a reply ended, as the endpoint says it."""
    return f"finish reason {turn.finish_reason!r}" if turn.finish_reason else "no finish reason given"


def truncated(turn: Turn, what: str, **known: Any) -> Verdict:
    """The verdict on a reply that was cut off, with whatever is `known` of it."""
    return Verdict(
        None,
        None,
        f"{what} ({ended(turn)})",
        outcome="error",
        error_kind="truncated",
        flags=flags_of(turn, "truncated"),
        **known,
    )
