"""An error inside a reply with status 200: the provider behind a gateway failed, and nobody changed the status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import finish_reasons

WITHIN = "the body holds an error"
WITHOUT = "there is no answer in it"
GAVE_UP = "the provider gave up"
_ANSWERS = ("choices", "output", "content", "response", "candidates")
_TELL = frozenset(
    """
    error errors detail details message msg code errorcode errormessage errormsg errordescription statuscode statusmsg
    title fault exception promptfeedback
    """.split()
)
_NO_ERROR = ("", "null", "none", "ok", "success", "succeeded", "0", "200")
_OVER = ("failed", "cancelled", "canceled", "expired", "error")


def error_in(payload: Any) -> tuple[Any, str] | None:
    """What went wrong, as it was sent (with the status beside it), and where that was found; None where nothing did."""
    if isinstance(payload, list):  # as Gemini sends it
        return next((found for found in map(error_in, payload) if found), None)
    if not isinstance(payload, Mapping):
        return None
    choices = payload.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    for holder in (payload, choice, message):
        for key in ("error", "errors"):
            if isinstance(holder, Mapping) and not _is_nothing(holder.get(key)):
                return _error(holder, holder[key]), WITHIN
    about = payload.get("base_resp")  # MiniMax
    if isinstance(about, Mapping) and not _is_nothing(about.get("status_code")):
        return about, WITHIN
    if payload.get("success") is False or "error" in (payload.get("type"), payload.get("object")):
        return _without_answers(payload), WITHIN
    if not any(payload.get(key) for key in _ANSWERS) and not isinstance(payload.get("message"), Mapping):
        told = {key: value for key, value in payload.items() if key.lower().replace("_", "") in _TELL}
        if not _is_nothing(told):
            return _without_answers(payload), WITHOUT
    if isinstance(status := payload.get("status"), str) and status.lower() in _OVER:
        return _gave_up(f"status {status!r}"), GAVE_UP
    return None


def error_of_reason(finish_reason: str | None) -> tuple[Any, str] | None:
    """The same for a reply that ended with a word for the provider's own failure."""
    if finish_reasons.meaning(finish_reason) != finish_reasons.FAILED:
        return None
    return _gave_up(f"finish reason {finish_reason!r}"), GAVE_UP


def _gave_up(words: str) -> dict[str, Any]:
    return {"message": words, "code": 503}  # to be asked again, as after a server's error


def _error(holder: Mapping[str, Any], error: Any) -> Any:
    """The error with the code beside it; all that stands beside it where it is no object."""
    if isinstance(error, Mapping):
        return {**{key: holder[key] for key in ("code", "status", "status_code") if key in holder}, **error}
    return error if isinstance(error, list) else _without_answers(holder)


def _without_answers(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: value
        for key, value in payload.items()
        if key not in _ANSWERS and not (key == "message" and isinstance(value, Mapping))
    }


def _is_nothing(value: Any) -> bool:
    """Whether an error, or all of its parts, say that there is none."""
    if isinstance(value, Mapping):
        return all(map(_is_nothing, value.values()))
    if isinstance(value, list):
        return all(map(_is_nothing, value))
    if isinstance(value, str):
        return value.strip().lower() in _NO_ERROR
    return value is None or value is False or (not isinstance(value, bool) and value in (0, 200))
