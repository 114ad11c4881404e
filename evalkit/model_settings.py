"""What a model may be told: its settings, checked before anything is sent, under whatever names they were given."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from .errors import SettingsError
from .masking import STARS
from .nearmiss import did_you_mean
from .wire import LIMIT, LIMITS, PATHS

APIS = tuple(PATHS)
_SENT_BESIDE = ("extra_headers", "extra_query", "extra_body")
# Fields that `extra` may not set; functions is an older name of tools.
_OWN = ("model", "messages", "input", "tools", "functions", "stream", "stream_options", "n", "temperature")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


_SETTINGS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    LIMIT: (lambda value: _is_whole(value) and value >= 1, "a whole number of 1 or more"),
    "seed": (_is_whole, "a whole number"),
    "tool_choice": (
        lambda value: _is_text(value) or isinstance(value, Mapping),
        "'auto', 'none', 'required', a tool's name, or a mapping as the API takes it",
    ),
    "parallel_tool_calls": (lambda value: isinstance(value, bool), "True or False"),
    "reasoning_effort": (_is_text, "a word such as 'low'"),
}
_RULES = {
    "temperature": (_is_number, "a number of 0 or more"),
    "timeout": (lambda value: _is_number(value) and value > 0, "a number of seconds above 0"),
    "max_attempts": (lambda value: _is_whole(value) and value >= 1, "at least 1"),
    **_SETTINGS,
}


def check(name: Any, api: Any, **settings: Any) -> None:
    """Raise SettingsError for what cannot be meant. A setting of None is not given."""
    if not isinstance(name, str) or not name.strip():
        raise SettingsError(f"a model's name must be text, got {name!r}")
    if api not in APIS:
        raise SettingsError(f"api must be 'chat' or 'responses', got {api!r}.{did_you_mean(str(api), APIS)}")
    _check_values(settings)


def merged(given: Mapping[str, Any], extra: Any) -> dict[str, Any]:
    """`extra` with the settings that were given beside it.

    Raises SettingsError for what cannot be meant, and for a setting that `extra` has as well, by whichever name.
    """
    _check_values(given)
    own = {name: value for name, value in given.items() if value is not None}
    if extra is not None:
        _check_extra(extra)
    _check_json(own)
    known: dict[str, Any] = {}
    for name, value in fields(extra or {}):
        plain = _meant(name, value)
        if plain not in _SETTINGS or value is None:
            continue
        if plain in own or known.setdefault(plain, value) != value:
            both = f"{own.get(plain, known.get(plain))!r} and {value!r} (in extra, as {name!r})"
            raise SettingsError(f"{plain} is given twice, {both}: give it once")
    return {**(extra or {}), **own}


def fields(extra: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The fields of a request's body that `extra` sets."""
    own = ((name, value) for name, value in extra.items() if name not in _SENT_BESIDE)
    return [*own, *(extra.get("extra_body") or {}).items()]


def _check_values(settings: Mapping[str, Any]) -> None:
    for name, value in settings.items():
        is_meant, allowed = _RULES[name]
        if value is not None and not is_meant(value):
            raise SettingsError(f"{name} must be {allowed}, got {value!r}")


def _check_extra(extra: Any) -> None:
    if not isinstance(extra, Mapping):
        raise SettingsError(f"extra must be a mapping of request fields, such as {{'top_p': 0.9}}, got {extra!r}")
    _check_json(extra)
    for name in _SENT_BESIDE:
        if not isinstance(extra.get(name) or {}, Mapping):
            raise SettingsError(f"{name} must be a mapping, got {extra[name]!r}")
    for name, _ in fields(extra):
        if _meant(name) in _OWN:
            where = "extra" if name in extra else "extra_body"
            raise SettingsError(f"{where} cannot set {name!r}: evalkit sets it itself")
    for name, value in (extra.get("extra_headers") or {}).items():
        if not isinstance(value, str) or not (name + value).isprintable() or not (name + value).isascii():
            raise SettingsError(f"the header {name!r} must be plain text on one line")


def _check_json(extra: Mapping[str, Any]) -> None:
    try:
        text = json.dumps(extra, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"extra must hold JSON values alone: {error}") from None
    if json.dumps(STARS) in text:
        raise SettingsError(f"extra holds a masked value ({STARS}): a secret is not stored with a run. Give it anew.")


def _meant(name: str, value: Any = None) -> str:
    """The field that a name stands for, however it is spelled: "maxOutputTokens" is max_tokens."""
    if name == "reasoning" and isinstance(value, Mapping) and value.get("effort") is not None:
        return "reasoning_effort"
    return _MEANT.get(_letters(name), name)


def _letters(name: Any) -> str:
    return "".join(filter(str.isalnum, str(name))).lower()


_MEANT = {_letters(name): name for name in (*_OWN, *_SETTINGS)}
_MEANT |= dict.fromkeys(map(_letters, LIMITS), LIMIT) | {"functioncall": "tool_choice"}
