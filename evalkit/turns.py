"""What a turn is before anything is judged: failed, cut off, refused, empty; and turns given in short form."""

from __future__ import annotations

from typing import Any

from .records import ToolCall, Turn, Verdict

ARGUMENTS_UNKNOWN = "arguments_unknown"  # only the name of the tool that was called is known
TEXT_UNKNOWN = "text_unknown"  # answered in text, which was not kept
# Notes that scoring makes of a turn. They are made anew each time, so that scoring a stored turn again agrees.
_MADE_HERE = ("empty", "truncated", "extra_calls", "empty_arguments", "call_in_text")
_LIMIT_REASONS = ("length", "max_tokens", "max_output_tokens", "incomplete")


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
    """The turn's own flags and `more`, each once."""
    return tuple(dict.fromkeys((*(flag for flag in turn.flags if flag not in _MADE_HERE), *more)))


def at_token_limit(turn: Turn) -> bool:
    """Whether the reply ended because the token limit was reached."""
    return turn.finish_reason in _LIMIT_REASONS or "token_limit" in turn.flags


def is_refusal(turn: Turn) -> bool:
    """Whether the model refused, or a content filter stopped it."""
    return "refused" in turn.flags or turn.finish_reason == "content_filter"


def request_error(turn: Turn) -> Verdict:
    """The verdict on a request that failed: an error, not a failure."""
    reason = turn.error or f"the request failed: {turn.error_kind}"
    return Verdict(None, None, reason, outcome="error", error_kind=turn.error_kind, flags=flags_of(turn))


def truncated(turn: Turn, what: str, **known: Any) -> Verdict:
    """The verdict on a reply that was cut off, with whatever is `known` of it."""
    ended = f"finish reason {turn.finish_reason!r}" if turn.finish_reason else "no finish reason given"
    return Verdict(
        None,
        None,
        f"{what} ({ended})",
        outcome="error",
        error_kind="truncated",
        flags=flags_of(turn, "truncated"),
        **known,
    )
