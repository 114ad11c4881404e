"""What is sent: messages, tools and settings as the body of a request, in either API.

Tools go out under names that the API takes, wherever a dialogue or a setting names them too. A dialogue is
otherwise sent as it is; for the Responses API its messages become input items.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .tools import Tool, wire_names

PATHS = {"chat": "/chat/completions", "responses": "/responses"}
LIMIT = "max_tokens"  # what the limit of output tokens is called here, by whichever of its names it is sent
LIMITS = (LIMIT, "max_completion_tokens", "max_output_tokens")
CHOICES = ("auto", "none", "required", "any")  # "any" is what some servers call "required"
_ABOUT_TOOLS = ("tool_choice", "parallel_tool_calls")


@dataclass(frozen=True)
class Offer:
    """Tools as they are offered: their definitions, and names both ways."""

    definitions: tuple[dict[str, Any], ...] = ()
    sent: Mapping[str, str] = field(default_factory=dict)  # a tool's name → the name that is sent
    own: Mapping[str, str] = field(default_factory=dict)  # a name that was sent → the tool's name


def offer_of(tools: Sequence[Tool], api: str) -> Offer:
    """The tools as `api` takes them. Raises DatasetError where two would be sent under one name."""
    sent = wire_names(tools)
    form = Tool.responses if api == "responses" else Tool.chat
    definitions = tuple(form(tool, sent[tool.name]) for tool in tools)
    return Offer(definitions, sent, {wire: name for name, wire in sent.items()})


def body_of(
    model: str, messages: Sequence[Mapping[str, Any]], offer: Offer, settings: Mapping[str, Any], api: str
) -> dict[str, Any]:
    """The body of a request, its limit under the name that it has here. A setting of None is left out; settings about
    tools are left out without tools.
    """
    chosen = {name: value for name, value in settings.items() if value is not None}
    if api == "responses":
        chosen = _as_responses_settings(chosen)
        body = {"model": model, "input": [item for message in messages for item in _items(message, offer)]}
    else:
        body = {"model": model, "messages": [_chat_message(message, offer) for message in messages]}
    if offer.definitions:
        body["tools"] = list(offer.definitions)
        if "tool_choice" in chosen:
            chosen["tool_choice"] = _choice(chosen["tool_choice"], offer, api)
    else:
        chosen = {name: value for name, value in chosen.items() if name not in _ABOUT_TOOLS}
    return {**body, **chosen}


def plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with the limit of tokens under one name."""
    return {LIMIT if name in LIMITS else name: value for name, value in settings.items()}


def called(choice: Any) -> str | None:
    """The tool that a `tool_choice` demands by name; None where it leaves that open."""
    if isinstance(choice, str):
        return None if choice in CHOICES else choice
    named = choice.get("function", choice) if isinstance(choice, Mapping) and choice.get("type") == "function" else None
    name = named.get("name") if isinstance(named, Mapping) else named
    return name if isinstance(name, str) else None


def limit_of(body: Mapping[str, Any]) -> int | None:
    """How many output tokens the request allows; None where it does not say."""
    given = [body[name] for name in LIMITS if name in body]
    return min((n for n in given if isinstance(n, int) and not isinstance(n, bool)), default=None)


def _choice(choice: Any, offer: Offer, api: str) -> Any:
    """A `tool_choice` as the API spells it; a tool is named as it is sent."""
    name = called(choice)
    if name is None:
        return choice
    named = {"name": offer.sent.get(name, name)}
    return {"type": "function", **named} if api == "responses" else {"type": "function", "function": named}


def _renamed(named: Mapping[str, Any], offer: Offer) -> dict[str, Any]:
    name = named.get("name")
    return {**named, "name": offer.sent.get(name, name)} if isinstance(name, str) else dict(named)


def _function(function: Any, offer: Offer) -> Any:
    """A call within a dialogue, under the name that is sent; its arguments as text, as the APIs demand."""
    if not isinstance(function, Mapping):
        return function
    arguments = function.get("arguments")
    text = {"arguments": json.dumps(arguments)} if isinstance(arguments, Mapping) else {}
    return {**_renamed(function, offer), **text}


def _chat_message(message: Mapping[str, Any], offer: Offer) -> Mapping[str, Any]:
    changed: dict[str, Any] = {}
    if isinstance(message.get("tool_calls"), Sequence):
        calls = message["tool_calls"]
        changed["tool_calls"] = [
            {**call, "function": _function(call["function"], offer)} if isinstance(call, Mapping) and "function" in call
            else call
            for call in calls
        ]  # fmt: skip
    if message.get("function_call") is not None:
        changed["function_call"] = _function(message["function_call"], offer)
    if message.get("role") in ("tool", "function") and "name" in message:
        changed = {**changed, "name": _renamed(message, offer)["name"]}
    return {**message, **changed} if changed else message


def _items(message: Mapping[str, Any], offer: Offer) -> list[Mapping[str, Any]]:
    """A chat message as input items of the Responses API."""
    role, content = message.get("role"), message.get("content")
    if role == "tool":
        output = content if isinstance(content, str) else _parts(content, "input")
        return [{"type": "function_call_output", "call_id": message.get("tool_call_id"), "output": output}]
    if role is None:
        return [message]  # an input item already
    side = "output" if role == "assistant" else "input"
    said = content if isinstance(content, str) else _parts(content, side)
    items: list[Mapping[str, Any]] = [{"role": role, "content": said}] if said or role != "assistant" else []
    return [*items, *(_call_item(call, offer) for call in message.get("tool_calls") or [])]


def _call_item(call: Mapping[str, Any], offer: Offer) -> dict[str, Any]:
    function = _function(call.get("function") or {}, offer)
    named = {"name": function.get("name"), "arguments": function.get("arguments") or "{}"}
    return {"type": "function_call", "call_id": call.get("id"), **named}


def _parts(content: Any, side: str) -> list[Any]:
    if not isinstance(content, Sequence):
        return []
    return [_part(part, side) for part in content]


def _part(part: Any, side: str) -> Any:
    if not isinstance(part, Mapping):
        return part
    if part.get("type") == "text":
        return {"type": f"{side}_text", "text": part.get("text")}
    if part.get("type") == "image_url" and isinstance(part.get("image_url"), Mapping):
        image = part["image_url"]
        detail = {"detail": image["detail"]} if "detail" in image else {}
        return {"type": "input_image", "image_url": image.get("url"), **detail}
    return part


def _as_responses_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings in the spelling of the Responses API, whichever they were given in."""
    found = dict(settings)
    if effort := found.pop("reasoning_effort", None):
        found["reasoning"] = {**(found.get("reasoning") or {}), "effort": effort}
    wanted = found.pop("response_format", None)
    if isinstance(wanted, Mapping):
        flat = {"type": wanted.get("type"), **(wanted.get("json_schema") or {})}
        found["text"] = {**(found.get("text") or {}), "format": flat}
    return found
