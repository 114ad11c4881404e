"""The tool calls in a reply, in every field in which endpoints send them.

A call that cannot be used (no name, free text in place of arguments) stays a call, so that it is never taken for an
abstention; its entry is kept as it came.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from . import jsontext
from .calls import read_arguments
from .records import ToolCall

Names = Mapping[str, str]
SECOND_CALL = "second_call"  # flag of a call in another field than the others


def chat_calls(message: Mapping[str, Any], names: Names) -> tuple[list[ToolCall], bool]:
    """The calls of a message, and whether one of them stands in another field than the others.

    Those are `tool_calls`; the older `function_call`; and Anthropic's blocks of content, which some gateways leave as
    they are. What is sent in two fields is one call.
    """
    entries = message.get("tool_calls")
    entries = entries if isinstance(entries, list) else [entries] if entries else []
    content = message.get("content")
    blocks = [one for one in content if is_block(one)] if isinstance(content, list) else []
    calls = [_chat_call(entry, names) for entry in entries or blocks]
    older = message.get("function_call")  # {"name": "", "arguments": ""} is none
    others = [
        *([{"function": older}] if older and not (isinstance(older, Mapping) and not any(older.values())) else []),
        *(blocks if entries else []),
    ]
    known = {_said(call) for call in calls} if others else set()
    more = [(_chat_call(entry, names), entry.get("function", entry)) for entry in others]
    added = [replace(call, raw=kept(entry)) for call, entry in more if _said(call) not in known]
    return calls + added, bool(calls and added)


def is_block(part: Any) -> bool:
    """Whether a part of a message's content is a call in Anthropic's form."""
    return isinstance(part, Mapping) and part.get("type") == "tool_use"


def responses_calls(output: Iterable[Mapping[str, Any]], names: Names) -> list[ToolCall]:
    """The calls among the items of a reply of the Responses API."""
    items = [item for item in output if str(item.get("type")).endswith("_call")]
    return [
        _custom_call(item, item, names)
        if item["type"] == "custom_tool_call"
        else _named_call(item if item["type"] == "function_call" else None, item, names)
        for item in items
    ]


def kept(value: Any) -> Any:
    """The value, or its text where it holds what JSON has no form for (NaN) or is nested too deeply."""
    if value is None or isinstance(value, str):
        return value
    try:
        jsontext.write(value)
    except (TypeError, ValueError, RecursionError):
        return as_json(value)
    return value


def as_json(value: Any) -> str:
    """The value as text, whatever it holds."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return "(nested too deeply to be shown)"


def _chat_call(entry: Any, names: Names) -> ToolCall:
    if not isinstance(entry, Mapping):
        return _named_call(None, entry, names)
    if entry.get("function") is None and isinstance(entry.get("custom"), Mapping):
        return _custom_call(entry["custom"], entry, names)
    if is_block(entry):
        return _named_call({"name": entry.get("name"), "arguments": entry.get("input")}, entry, names)
    return _named_call(entry.get("function"), entry, names)


def _named_call(function: Any, entry: Any, names: Names) -> ToolCall:
    name, sent_name = _name(function, names)
    if name is None:
        return ToolCall(name=None, raw=kept(entry), kind="custom")
    arguments = kept(function.get("arguments"))
    if arguments is not None and not isinstance(arguments, str | Mapping):
        arguments = as_json(arguments)
    return ToolCall(name, arguments, sent_name=sent_name)


def _custom_call(custom: Mapping[str, Any], entry: Any, names: Names) -> ToolCall:
    given = custom.get("input")
    text = given if isinstance(given, str) or given is None else as_json(given)
    name, sent_name = _name(custom, names)
    return ToolCall(name, text, raw=kept(entry), kind="custom", sent_name=sent_name)


def _name(function: Any, names: Names) -> tuple[str | None, str | None]:
    """The tool's own name, and the name that was sent where that is another."""
    sent = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(sent, str) or not sent.strip():
        return None, None
    own = names.get(sent, sent)
    return own, sent if own != sent else None


def _said(call: ToolCall) -> tuple[str | None, str | None]:
    """What a call says, in whichever form its arguments came."""
    sent = read_arguments(call.arguments)
    return call.name, sent.text if sent.value is None else json.dumps(sent.value, sort_keys=True, default=str)
