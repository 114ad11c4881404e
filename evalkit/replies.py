"""What an endpoint sent back, read into a `Turn`, whatever its shape.

Nothing here raises for what a server may send. One that says that the request failed is `Failed`, with the error as it
was sent. One that holds no answer at all (no choices, a page of HTML) becomes a Turn with `error_kind` "bad_response"
and the body's first words. What a gateway passes on in the form of Anthropic, Ollama or the older Completions is read
as that.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from . import jsontext
from .finish_reasons import CALLS, LENGTH, STOP, meaning, telling
from .records import ToolCall, Turn, Usage
from .reply_calls import SECOND_CALL, as_json, chat_calls, responses_calls
from .reply_errors import error_in, error_of_reason
from .thinking import is_blank
from .turns import at_token_limit, is_empty, is_filtered

FIRST_WORDS = 240  # characters of a body that are quoted

Mask = Callable[[str], str]


@dataclass(frozen=True)
class Failed:
    """A reply with status 200 that says that the request failed: `error` as it was sent, `why`: what was found."""

    error: Any
    why: str = "the body holds an error"


def read_reply(
    body: bytes | str,
    api: str = "chat",
    *,
    names: Mapping[str, str] | None = None,
    limit: int | None = None,
    mask: Mask = str,
) -> Turn | Failed:
    """The Turn in the body of a reply with status 200, or what it says went wrong.

    `api` is "chat" or "responses"; `names` maps names as sent to the tools' own; `limit` is the request's limit
    of output tokens; `mask` is applied to whatever an error quotes.
    """
    try:
        text = body if isinstance(body, str) else body.removeprefix(BOM_UTF8).decode()
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
) -> Turn | Failed:
    """The Turn in a parsed reply of Chat Completions; the first choice counts."""
    failed = error_in(payload)
    if failed is not None:
        return Failed(*failed)
    if not isinstance(payload, Mapping):
        return _bad("the body is not a JSON object", payload, mask)
    choice, message = _choice(payload)
    if not isinstance(message, Mapping):
        return _bad("no usable choice in the reply", payload, mask)
    content = message.get("content")
    calls, in_another_field = chat_calls(message, names or {})
    return _turn(
        calls=calls,
        texts=_texts(content),
        refusals=[message.get("refusal"), *_refusals(content)],
        finish_reason=_reason(choice),
        usage=_usage(payload),
        limit=limit,
        reasoning=next((message[key] for key in _REASONING if message.get(key)), None) or _thinking(content),
        notes=[SECOND_CALL] if in_another_field else [],
    )


def _choice(payload: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any]:
    """The choice that counts, and its message (None: there is none)."""
    choices = payload.get("choices")
    if isinstance(payload.get("message"), Mapping) and not choices:  # Ollama
        return payload, payload["message"]
    if isinstance(payload.get("content"), list) and not choices:  # Anthropic
        return payload, payload
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, Mapping):
        return {}, None
    if isinstance(choice.get("text"), str) and not choice.get("message"):  # legacy completions
        return choice, {"content": choice["text"]}
    if isinstance(choice.get("delta"), Mapping) and not choice.get("message"):  # of servers that only stream
        return choice, choice["delta"]
    is_bare = choice.get("message") is None and ("message" in choice or _reason(choice))  # a filter took the message
    return choice, {} if is_bare else choice.get("message")


def _reason(choice: Mapping[str, Any]) -> str | None:
    """Why the model stopped, in the word that tells most: the endpoint's, or its provider's own."""
    given = telling(map(_word, (choice.get("finish_reason"), choice.get("native_finish_reason"))))
    return given or telling(map(_word, (choice.get("stop_reason"), choice.get("done_reason"))))


def responses_turn(
    payload: Any, *, names: Mapping[str, str] | None = None, limit: int | None = None, mask: Mask = str
) -> Turn | Failed:
    """The Turn in a parsed reply of the Responses API. Its status is told in the words of Chat Completions."""
    failed = error_in(payload)
    if failed is not None:
        return Failed(*failed)
    output = payload.get("output") if isinstance(payload, Mapping) else None
    if not isinstance(output, list) or not all(isinstance(item, Mapping) for item in output):
        return _bad("no usable output in the reply", payload, mask)
    status = _word(payload.get("status")) or "completed"
    if status not in ("completed", "incomplete"):
        return _bad(f"the reply has status {status!r}", payload, mask)
    contents = [item.get("content") for item in output if item.get("type") == "message"]
    calls = responses_calls(output, names or {})
    return _turn(
        calls=calls,
        texts=[text for content in contents for text in _texts(content)],
        refusals=[words for content in contents for words in _refusals(content)],
        finish_reason=_responses_reason(status, payload.get("incomplete_details"), bool(calls)),
        usage=_usage(payload),
        limit=limit,
        reasoning=[item for item in output if item.get("type") == "reasoning"],
    )


def server_words(payload: Any, depth: int = 9) -> str | None:
    """The message in an error body, whichever server wrote it, with the fields that it is about; None without one."""
    if isinstance(payload, str):
        return _unwrapped(payload.strip(), depth) or None
    if isinstance(payload, list) and depth:
        found = [words for words in (server_words(one, depth - 1) for one in payload) if words]
        return "; ".join(found) or None
    if not isinstance(payload, Mapping) or not depth:
        return None
    named = (
        server_words(payload.get(key), depth - 1)
        for key in ("error", "message", "msg", "detail", "errors", "title", "description", "reason")
    )
    words = next((words for words in named if words), None)
    path = payload.get("path")
    place = (
        payload.get("loc") or payload.get("field") or payload.get("instancePath") or (path if _is_path(path) else "")
    )
    if words and place:
        where = ".".join(map(str, place[place[0] == "body" :])) if isinstance(place, list) else str(place)
        words = f"{where}: {words}" if where else words
    return _with_causes(words, payload, depth)


def _is_path(value: Any) -> bool:
    """Whether it is a way into the body that was sent (and no address)."""
    return isinstance(value, list) and all(isinstance(one, str | int) for one in value)


def _fields(errors: Any) -> list[dict[str, Any]]:
    """The errors of each field, where they are kept under its name."""
    found = errors.items() if isinstance(errors, Mapping) else ()
    return [{"loc": [name], "msg": told} for name, told in found if isinstance(told, list)]


def _with_causes(words: str | None, error: Mapping[str, Any], depth: int) -> str | None:
    """The words, then those of the provider behind a gateway, and of the fields that Google names."""
    metadata, details = error.get("metadata"), error.get("details")
    errors = error.get("errors")
    causes: list[str | None] = [server_words(errors if isinstance(errors, list) else _fields(errors), depth - 1)]
    if isinstance(metadata, Mapping):
        raw, provider = server_words(metadata.get("raw"), depth - 1), metadata.get("provider_name")
        reasons = metadata.get("reasons")
        causes += [f"{provider or 'provider'}: {raw}" if raw else provider and str(provider)]
        causes += [", ".join(map(str, reasons))] if isinstance(reasons, list) else []
    for detail in details if isinstance(details, list) else []:
        if isinstance(detail, Mapping):
            causes.append(server_words(detail.get("fieldViolations"), depth - 1))
    told = [cause for cause in causes if cause and cause not in (words or "")]
    return "; ".join([*([words] if words else []), *told]) or None


def _unwrapped(text: str, depth: int) -> str:
    """A message; where it holds the JSON of another error, as proxies write it, that one's message in its place."""
    begins = re.search(r"\[\s*\{|\{", text)
    if begins is None or not depth:
        return text
    start = begins.start()
    try:
        held, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return text
    words = server_words(held, depth - 1)
    return f"{text[:start]}{words}" if words else text


def first_words(text: str, mask: Mask = str) -> str:
    """The beginning of a text on one line, masked before it is cut."""
    line = " ".join(mask(text[: 50 * FIRST_WORDS]).split())
    return line if len(line) <= FIRST_WORDS else line[:FIRST_WORDS] + "…"


def _bad(why: str, body: Any, mask: Mask) -> Turn:
    text = body if isinstance(body, str) else as_json(body)
    words = first_words(text, mask)
    return Turn(error_kind="bad_response", error=f"HTTP 200, but {why}" + (f": {words}" if words else ""))


def _turn(
    *,
    calls: list[ToolCall],
    texts: list[str],
    refusals: Iterable[Any],
    finish_reason: str | None,
    usage: Usage,
    limit: int | None,
    reasoning: Any,
    notes: Iterable[str] = (),
) -> Turn | Failed:
    """The Turn, with its flags; Failed where its finish reason says that the provider did."""
    failed = error_of_reason(finish_reason)
    if failed is not None:
        return Failed(*failed)
    refused = " ".join(words for words in refusals if isinstance(words, str) and words)
    answer: str | None = "".join(texts) if texts else None
    if refused and is_blank(answer):
        answer = refused
    thinking = "\n\n".join(words for words in _words(reasoning) if not is_blank(words))
    turn = Turn(calls, answer, finish_reason, usage, reasoning=thinking or None)
    at_limit = limit is not None and usage.output_tokens is not None and usage.output_tokens >= limit
    flags = {
        "refused": bool(refused),
        "content_filter": is_filtered(turn),
        "empty": is_empty(turn),
        "token_limit": at_limit or at_token_limit(turn),
        "reasoning_only": is_empty(turn) and bool(turn.reasoning or reasoning),
    }
    return replace(turn, flags=[*turn.flags, *notes, *(flag for flag, is_set in flags.items() if is_set)])


def _texts(content: Any) -> list[str]:
    """The texts in a message's content: itself, or those of its parts (not the parts that hold reasoning)."""
    if isinstance(content, str):
        return [content]
    if isinstance(content, Mapping) and content.get("type") in _TEXT_PARTS:
        content = [content]
    if isinstance(content, list):
        parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
        shown = [part for part in parts if isinstance(part, Mapping) and part.get("type", "text") in _TEXT_PARTS]
        return [part["text"] for part in shown if isinstance(part.get("text"), str)]
    return [] if content is None else [as_json(content)]


_TEXT_PARTS = ("text", "output_text")
_REASONING = ("reasoning_content", "reasoning", "reasoning_text", "thinking", "reasoning_details")


def _refusals(content: Any) -> list[Any]:
    return [part.get("refusal") for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []


def _thinking(content: Any) -> list[Any]:
    """The parts of a message's content that hold thinking."""
    parts = content if isinstance(content, list) else []
    return [part for part in parts if isinstance(part, Mapping) and str(part.get("type")) in _REASONING]


def _words(reasoning: Any) -> Iterator[str]:
    """The texts in a field or an item of reasoning, however deep they lie."""
    if isinstance(reasoning, str):
        yield reasoning
    elif isinstance(reasoning, list):
        for part in reasoning:
            yield from _words(part)
    elif isinstance(reasoning, Mapping):
        for key in ("summary", "text", "thinking", "reasoning", "content"):
            yield from _words(reasoning.get(key))


def _responses_reason(status: str, details: Any, has_calls: bool) -> str:
    if status == "completed":
        return "tool_calls" if has_calls else "stop"
    reason = _word(details.get("reason")) if isinstance(details, Mapping) else None
    if meaning(reason) in (None, STOP, CALLS):  # it is not whole, whatever the word
        return f"{status}: {reason}" if reason else status
    return "length" if meaning(reason) == LENGTH else str(reason)


def _usage(payload: Mapping[str, Any]) -> Usage:
    ollama = {"prompt_tokens": payload.get("prompt_eval_count"), "completion_tokens": payload.get("eval_count")}
    given = payload.get("usage") or ollama
    timings = {"timings": payload.get("timings")}  # where llama.cpp says what it had cached
    return Usage.of(timings | dict(given) if isinstance(given, Mapping) else None)


def _word(value: Any) -> str | None:
    if isinstance(value, Mapping) and isinstance(value.get("type"), str):  # as SGLang writes it
        return str(value["type"])
    return value if isinstance(value, str) or value is None else as_json(value)
