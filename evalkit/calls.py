"""Tool calls as they come: entries and their arguments read, names compared with what was offered."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from .jsontext import JsonTextError, read, write
from .jsonvalues import NotJsonError, plain
from .nearmiss import nearest
from .records import ToolCall

_WRAPPERS = ("multi_tool_use.parallel", "multi_tool_use", "parallel_tool_use", "parallel")
_NAME_KEYS = ("name", "tool", "tool_name", "function")
_ARGUMENT_KEYS = ("arguments", "parameters", "args")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # an escape that may stand for half a character, as no text can hold it
_PREFIX = re.compile(r"\A.*(?:[.:/]|__)", re.DOTALL)  # functions.name, default_api:name, mcp__server__name


@dataclass(frozen=True)
class Arguments:
    """The arguments of one call: `value` where they are a JSON object, else `problem` says why they are not.

    `text` is what was sent, as text; `empty` where nothing was (blank text or null), which means `{}`;
    `cut` where the text is the beginning of JSON that ends too soon.
    """

    value: dict[str, Any] | None
    text: str | None
    problem: str = ""
    empty: bool = False
    cut: bool = False


def read_arguments(sent: Any) -> Arguments:
    """The arguments of a call from the raw text, a mapping, or None."""
    if isinstance(sent, str):
        return _read_text(sent)
    if sent is None:
        return Arguments({}, "{}", empty=True)
    try:
        value = _python_numbers(plain(sent))
        text = write(value)
    except (NotJsonError, ValueError, TypeError, RecursionError) as error:
        return Arguments(None, _as_it_is(sent), f"they are not JSON: {error}")
    if not isinstance(value, dict):
        return Arguments(None, text, f"they are {_named(value)}, not a JSON object")
    return Arguments(value, text)


def is_usable(call: ToolCall) -> bool:
    """Whether a call has a name, and arguments rather than free text."""
    return call.kind == "function" and isinstance(call.name, str) and bool(call.name.strip())


def as_call(entry: Any) -> ToolCall:
    """A ToolCall from itself or from an entry as an endpoint sends it; unusable, with the entry as `raw`, otherwise."""
    if isinstance(entry, ToolCall):
        return entry
    return call_of(entry) or ToolCall(None, None, raw=entry)


def same_but_for_dress(name: str, offered: Collection[str]) -> tuple[str, str] | None:
    """The offered name that `name` is but for case, blanks or a namespace prefix, and what differs; else None."""
    stripped = name.strip()
    for other in offered:
        if stripped.casefold() == other.casefold():
            return other, "white space" if stripped == other else "letter case"
    for other in offered:
        prefix, other_prefix = _PREFIX.match(stripped), _PREFIX.match(other)
        if (prefix is None) is (other_prefix is None):
            continue  # both in a namespace, or neither
        bare, other_bare = _PREFIX.sub("", stripped), _PREFIX.sub("", other)
        if bare and bare.casefold() == other_bare.casefold():
            which = f"the prefix {(prefix or other_prefix)[0]!r}"  # type: ignore[index]
            return other, which if bare == other_bare else f"{which} and letter case"
    return None


def about_unknown(name: str, offered: tuple[str, ...], call: ToolCall | None = None) -> str:
    """What to say of a name that was not offered: "which was not offered (nearest: list_files)"."""
    inner = _wrapped_names(call.arguments) if call is not None and name in _WRAPPERS else None
    if inner is not None:
        holds = f": {', '.join(inner)}" if inner else ""
        return f"which was not offered (a wrapper around parallel calls{holds})"
    return _about_unknown(name, offered)


def call_of(
    entry: Any, name_keys: Sequence[str] = _NAME_KEYS, argument_keys: Sequence[str] = _ARGUMENT_KEYS
) -> ToolCall | None:
    """One call from {"name", "arguments"} under any of these keys, or {"function": {…}}; None for anything else.

    A tool's definition is no call of it.
    """
    if not isinstance(entry, Mapping):
        return None
    body = entry["function"] if isinstance(entry.get("function"), Mapping) else entry
    name = next((body[key] for key in name_keys if isinstance(body.get(key), str)), None)
    held = next((key for key in argument_keys if key in body), None)
    if name is None or held is None:
        return None
    arguments = body[held]
    if held == "parameters" and (
        "description" in body or (isinstance(arguments, Mapping) and "properties" in arguments)
    ):
        return None
    return ToolCall(name, arguments) if arguments is None or isinstance(arguments, str | Mapping) else None


def _read_text(text: str) -> Arguments:
    if text.strip() in ("", "null"):
        return Arguments({}, "{}", empty=True)
    try:
        value = read(text)
    except JsonTextError as error:
        return Arguments(None, text, str(error), cut=error.unterminated)
    if not isinstance(value, dict):
        return Arguments(None, text, f"they are {_named(value)}, not a JSON object")
    return Arguments(plain(value) if _SURROGATE.search(text) else value, text)


def _named(value: Any) -> str:
    if isinstance(value, str):
        return "a JSON text"
    if isinstance(value, list):
        return "a JSON list"
    return f"the JSON value {write(value)[:40]}"


def _python_numbers(value: Any) -> Any:
    """Decimals as int or float, as they would come out of JSON text; one too large for a float stays."""
    if isinstance(value, dict):
        return {key: _python_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_python_numbers(inner) for inner in value]
    if not isinstance(value, Decimal):
        return value
    as_read = read(str(value).lower())
    return as_read if isinstance(as_read, int | float) else value


def _as_it_is(value: Any) -> str:
    try:
        return repr(value)
    except Exception:  # whatever an object of somebody's own does when shown
        return f"<{type(value).__name__}>"


@lru_cache(maxsize=1024)
def _about_unknown(name: str, offered: tuple[str, ...]) -> str:
    dressed = same_but_for_dress(name, offered)
    if dressed is not None:
        return f"which was not offered (nearest: {dressed[0]}, which differs only in {dressed[1]})"
    found = nearest(name, offered)
    return f"which was not offered (nearest: {found})" if found is not None else "which was not offered"


def _wrapped_names(arguments: Any) -> list[str] | None:
    """The names of the calls inside a wrapper around parallel calls; None where it is none."""
    value = read_arguments(arguments).value or {}
    inner = next((value[key] for key in ("tool_uses", "calls", "tool_calls") if isinstance(value.get(key), list)), None)
    if inner is None:
        return None
    names = [one.get("recipient_name") or one.get("name") for one in inner if isinstance(one, dict)]
    return [name for name in names if isinstance(name, str)]
