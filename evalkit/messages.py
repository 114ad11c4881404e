"""What is sent to a model: one message, or a dialogue that ends where the model is to go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import jsontext
from .errors import DatasetError
from .jsonvalues import NotJsonError, plain
from .nearmiss import did_you_mean

ROLES = ("system", "developer", "user", "assistant", "tool")
PROMPT_ROLES = ("system", "developer")
_LAST_ROLES = ("user", "tool", "assistant")

Messages = str | tuple[dict[str, Any], ...]


def messages_of(input: str | Sequence[Mapping[str, Any]], system_prompt: str | None = None) -> list[dict[str, Any]]:
    """The messages to send for an input. Raises DatasetError where it is neither text nor a dialogue."""
    value, problems = read_input(input)
    if problems:
        raise DatasetError(problems)
    return with_prompt(value, system_prompt)


def with_prompt(input: Messages, system_prompt: str | None) -> list[dict[str, Any]]:
    """The messages of a checked input, copied, the system prompt first.

    A dialogue that begins with a system or developer message of its own keeps that one instead.
    """
    messages = [{"role": "user", "content": input}] if isinstance(input, str) else plain(input)
    if system_prompt is None or messages[0]["role"] in PROMPT_ROLES:
        return messages
    return [{"role": "system", "content": system_prompt}, *messages]


def text_of(input: Messages) -> str:
    """The words of an input: the text, or what the user says in a dialogue, one message a line."""
    if isinstance(input, str):
        return input
    said = [_words(message["content"]) for message in input if message["role"] == "user"]
    return "\n".join(said) or "\n".join(_words(message.get("content")) for message in input)


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return " ".join(str(part["text"]) for part in parts if isinstance(part.get("text"), str))


def read_input(value: Any) -> tuple[Messages, list[str]]:
    """An input in plain values, and everything that is wrong with it."""
    if isinstance(value, str):
        return plain(value), [] if value.strip() else ["`input` is blank"]
    if not isinstance(value, list | tuple):
        return "", [f"`input` must be text or a list of messages, got {shown(value)}"]
    if not value:
        return "", ["`input` is an empty list of messages"]
    messages: list[dict[str, Any]] = []
    problems: list[str] = []
    calls: list[str] = []
    for number, given in enumerate(value, 1):
        message, found = _read_message(given, calls)
        messages.append(message)
        problems += [f"`input`, message {number}: {problem}" for problem in found]
    last = messages[-1].get("role")
    if not problems and last not in _LAST_ROLES:
        problems.append(f"`input` must end in a message of a user, tool or assistant, got one of {last!r}")
    return tuple(messages), problems


def _read_message(given: Any, calls: list[str]) -> tuple[dict[str, Any], list[str]]:
    if not isinstance(given, Mapping):
        return {}, [f"a message is an object with `role` and `content`, got {shown(given)}"]
    try:
        message = plain(given)
    except NotJsonError as error:
        return {}, [str(error)]
    role = message.get("role")
    if not isinstance(role, str) or role not in ROLES:
        allowed = f"Roles: {', '.join(ROLES)}"
        hint = did_you_mean(role, ROLES) if isinstance(role, str) else ""
        return message, [
            f"unknown role {role!r}.{hint} {allowed}" if role is not None else f"it has no `role`. {allowed}"
        ]
    if role == "assistant":
        return message, _assistant_problems(message, calls)
    problems = _content_problems(message, may_be_empty=role == "tool")
    return message, problems + (_answer_problems(message, calls) if role == "tool" else [])


def _content_problems(message: dict[str, Any], *, may_be_empty: bool) -> list[str]:
    if message.get("content") is None:
        others = [key for key in message if key != "role"]
        typo = next((key for key in others if did_you_mean(key, ["content"])), None)
        return [f"it has no `content`{f', but {typo!r}. Did you mean `content`?' if typo else ''}"]
    content = message["content"]
    if isinstance(content, str):
        return [] if may_be_empty or content.strip() else ["its `content` is blank"]
    if isinstance(content, list) and content and all(_is_part(part) for part in content):
        return []
    return [f"`content` must be text or a list of parts, each with a `type`, got {shown(content)}"]


def _is_part(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("type"), str) and bool(part["type"].strip())


def _assistant_problems(message: dict[str, Any], calls: list[str]) -> list[str]:
    if message.get("tool_calls") is None:
        return _content_problems(message, may_be_empty=False)
    if not isinstance(message["tool_calls"], list) or not message["tool_calls"]:
        return [f"`tool_calls` must be a list of calls, got {shown(message['tool_calls'])}"]
    content = message.get("content")
    problems = [] if content is None else _content_problems(message, may_be_empty=True)
    for number, call in enumerate(message["tool_calls"], 1):
        problems += [f"call {number} {problem}" for problem in _call_problems(call, calls)]
    return problems


def _call_problems(call: Any, calls: list[str]) -> list[str]:
    """What is wrong with a recorded call; its id joins `calls`, its arguments become text as the API takes them."""
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not function["name"].strip():
        return ['must be {"id": …, "type": "function", "function": {"name": …, "arguments": …}}']
    call.setdefault("type", "function")
    arguments = function.setdefault("arguments", "{}")
    if isinstance(arguments, dict):
        function["arguments"] = jsontext.write(arguments)
    elif not isinstance(arguments, str):
        return [f"has `arguments` that are neither text nor an object: {shown(arguments)}"]
    if not isinstance(call.get("id"), str) or not call["id"].strip():
        return ["has no `id` that the tool's message could name"]
    if call["id"] in calls:
        return [f"has the id {call['id']!r} of an earlier call"]
    calls.append(call["id"])
    return []


def _answer_problems(message: dict[str, Any], calls: list[str]) -> list[str]:
    answered = message.get("tool_call_id")
    if not isinstance(answered, str) or not answered.strip():
        return ["a tool's message needs the `tool_call_id` of the call that it answers"]
    if answered not in calls:
        known = f"Calls so far: {', '.join(calls)}" if calls else "There is no call before it"
        return [f"`tool_call_id` {answered!r} is not the id of an earlier call.{did_you_mean(answered, calls)} {known}"]
    return []


def shown(value: Any) -> str:
    """A value as a message shows it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
