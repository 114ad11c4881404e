"""What an endpoint sent back, read into a `Turn`, whatever its shape.

Nothing here raises for what a server may send. A reply that holds no answer at all (an error body with
status 200, no choices, a page of HTML) becomes a Turn with `error_kind` "bad_response" and the body's first
words. A call that cannot be used (no name, free text in place of arguments) stays a call, so that it is never
taken for an abstention; its entry is kept as it came.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import jsontext
from .records import ToolCall, Turn, Usage

FIRST_WORDS = 240  # characters of a body that are quoted
LENGTH_REASONS = frozenset({"length", "max_tokens", "max_output_tokens"})

Mask = Callable[[str], str]


def read_reply(
    body: bytes | str,
    api: str = "chat",
    *,
    names: Mapping[str, str] | None = None,
    limit: int | None = None,
    mask: Mask = str,
) -> Turn:
    """The Turn in the body of a reply with status 200.

    `api` is "chat" or "responses"; `names` maps names as sent to the tools' own; `limit` is the request's limit
    of output tokens; `mask` is applied to whatever an error quotes.
    """
    try:
        text = body if isinstance(body, str) else body.decode("utf-8-sig")
        payload = jsontext.read(text, unique_keys=False)
    except UnicodeDecodeError as error:
        return _bad("the body is not UTF-8", error.object.decode("utf-8", "backslashreplace"), mask)
    except jsontext.JsonTextError as error:
        why = "the body is empty" if not text.strip() else f"the body is not JSON ({error.message})"
        return _bad(why, text, mask)
    read = responses_turn if api == "responses" else chat_turn
    return read(payload, names=names, limit=limit, mask=mask)


def chat_turn(
    payload: Any, *, names: Mapping[str, str] | None = None, limit: int | None = None, mask: Mask = str
) -> Turn:
    """The Turn in a parsed reply of Chat Completions; the first choice counts."""
    choices = payload.get("choices") if isinstance(payload, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    failed = _error_within(payload, choice)
    if failed:
        return _bad(failed, payload, mask)
    if not isinstance(choice, Mapping) or not isinstance(choice.get("message", ""), Mapping | None):
        return _bad("no usable choice in the reply", payload, mask)
    message = choice.get("message") or {}
    return _turn(
        calls=_chat_calls(message, names or {}),
        texts=_texts(message.get("content")),
        refusals=[message.get("refusal"), *_refusals(message.get("content"))],
        finish_reason=_word(choice.get("finish_reason")),
        usage=_usage(payload),
        limit=limit,
        reasoned=bool(message.get("reasoning_content") or message.get("reasoning")),
    )


def responses_turn(
    payload: Any, *, names: Mapping[str, str] | None = None, limit: int | None = None, mask: Mask = str
) -> Turn:
    """The Turn in a parsed reply of the Responses API. Its status is told in the words of Chat Completions."""
    output = payload.get("output") if isinstance(payload, Mapping) else None
    failed = _error_within(payload)
    if failed:
        return _bad(failed, payload, mask)
    if not isinstance(output, list) or not all(isinstance(item, Mapping) for item in output):
        return _bad("no usable output in the reply", payload, mask)
    status = _word(payload.get("status")) or "completed"
    if status not in ("completed", "incomplete"):
        return _bad(f"the reply has status {status!r}", payload, mask)
    contents = [item.get("content") for item in output if item.get("type") == "message"]
    calls = [_responses_call(item, names or {}) for item in output if str(item.get("type")).endswith("_call")]
    return _turn(
        calls=calls,
        texts=[text for content in contents for text in _texts(content)],
        refusals=[words for content in contents for words in _refusals(content)],
        finish_reason=_responses_reason(status, payload.get("incomplete_details"), bool(calls)),
        usage=_usage(payload),
        limit=limit,
        reasoned=any(item.get("type") == "reasoning" for item in output),
    )


def server_words(payload: Any) -> str | None:
    """The message in an error body, whichever server wrote it; None where there is none."""
    if isinstance(payload, str):
        return payload.strip() or None
    if isinstance(payload, list):
        found = [words for words in map(server_words, payload) if words]
        return "; ".join(found) or None
    if isinstance(payload, Mapping):
        named = (server_words(payload.get(key)) for key in ("error", "message", "msg", "detail", "errors", "title"))
        return next((words for words in named if words), None)
    return None


def first_words(text: str, mask: Mask = str) -> str:
    """The beginning of a text on one line, masked before it is cut."""
    line = " ".join(mask(text[: 50 * FIRST_WORDS]).split())
    return line if len(line) <= FIRST_WORDS else line[:FIRST_WORDS] + "…"


def _bad(why: str, body: Any, mask: Mask) -> Turn:
    text = body if isinstance(body, str) else _json(body)
    words = first_words(text, mask)
    return Turn(error_kind="bad_response", error=f"HTTP 200, but {why}" + (f": {words}" if words else ""))


def _error_within(payload: Any, choice: Any = None) -> str | None:
    if not isinstance(payload, Mapping):
        return "the body is not a JSON object"
    for holder in (payload, choice):
        if isinstance(holder, Mapping) and holder.get("error"):
            return "the body holds an error"
    return None


def _turn(
    *,
    calls: list[ToolCall],
    texts: list[str],
    refusals: Iterable[Any],
    finish_reason: str | None,
    usage: Usage,
    limit: int | None,
    reasoned: bool,
) -> Turn:
    """The Turn, with its flags."""
    refused = " ".join(words for words in refusals if isinstance(words, str) and words)
    answer: str | None = "".join(texts) if texts else None
    if refused and not (answer or "").strip():
        answer = refused
    empty = not calls and not (answer or "").strip()
    at_limit = limit is not None and usage.output_tokens is not None and usage.output_tokens >= limit
    flags = {
        "refused": bool(refused),
        "content_filter": finish_reason == "content_filter",
        "empty": empty,
        "token_limit": at_limit or finish_reason in LENGTH_REASONS,
        "reasoning_only": empty and reasoned,
    }
    return Turn(
        tool_calls=calls,
        answer=answer,
        finish_reason=finish_reason,
        usage=usage,
        flags=[flag for flag, is_set in flags.items() if is_set],
    )


def _chat_calls(message: Mapping[str, Any], names: Mapping[str, str]) -> list[ToolCall]:
    entries = message.get("tool_calls")
    if entries is None or entries == []:
        legacy = message.get("function_call")
        return [_named_call(legacy, legacy, names)] if legacy else []
    return [_chat_call(entry, names) for entry in (entries if isinstance(entries, list) else [entries])]


def _chat_call(entry: Any, names: Mapping[str, str]) -> ToolCall:
    if isinstance(entry, Mapping) and entry.get("function") is None and isinstance(entry.get("custom"), Mapping):
        return _custom_call(entry["custom"], entry, names)
    return _named_call(entry.get("function") if isinstance(entry, Mapping) else None, entry, names)


def _responses_call(item: Mapping[str, Any], names: Mapping[str, str]) -> ToolCall:
    if item.get("type") == "custom_tool_call":
        return _custom_call(item, item, names)
    return _named_call(item if item.get("type") == "function_call" else None, item, names)


def _named_call(function: Any, entry: Any, names: Mapping[str, str]) -> ToolCall:
    name = _name(function, names)
    if name is None:
        return ToolCall(name=None, raw=_kept(entry), kind="custom")
    arguments = _kept(function.get("arguments"))
    if arguments is not None and not isinstance(arguments, str | Mapping):
        arguments = _json(arguments)
    return ToolCall(name, arguments)


def _custom_call(custom: Mapping[str, Any], entry: Any, names: Mapping[str, str]) -> ToolCall:
    given = custom.get("input")
    text = given if isinstance(given, str) or given is None else _json(given)
    return ToolCall(_name(custom, names), text, raw=_kept(entry), kind="custom")


def _name(function: Any, names: Mapping[str, str]) -> str | None:
    name = function.get("name") if isinstance(function, Mapping) else None
    return names.get(name, name) if isinstance(name, str) and name.strip() else None


def _texts(content: Any) -> list[str]:
    """The texts in a message's content: itself, or those of its parts (not the parts that hold reasoning)."""
    if isinstance(content, str):
        return [content]
    if isinstance(content, list):
        parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
        shown = [part for part in parts if isinstance(part, Mapping) and part.get("type", "text") in _TEXT_PARTS]
        return [part["text"] for part in shown if isinstance(part.get("text"), str)]
    return [] if content is None else [_json(content)]


_TEXT_PARTS = ("text", "output_text")


def _refusals(content: Any) -> list[Any]:
    return [part.get("refusal") for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []


def _responses_reason(status: str, details: Any, has_calls: bool) -> str:
    if status == "completed":
        return "tool_calls" if has_calls else "stop"
    reason = _word(details.get("reason")) if isinstance(details, Mapping) else None
    return "length" if reason in LENGTH_REASONS else reason or status


def _usage(payload: Mapping[str, Any]) -> Usage:
    given = payload.get("usage")
    timings = {"timings": payload.get("timings")}  # where llama.cpp says what it had cached
    return Usage.of(timings | dict(given) if isinstance(given, Mapping) else None)


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) or value is None else _json(value)


def _kept(value: Any) -> Any:
    """The value, or its text where it holds what JSON has no form for (NaN) or is nested too deeply."""
    if value is None or isinstance(value, str):
        return value
    try:
        jsontext.write(value)
    except (TypeError, ValueError, RecursionError):
        return _json(value)
    return value


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return "(nested too deeply to be shown)"
