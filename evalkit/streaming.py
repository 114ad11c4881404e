"""A streamed reply, put together: its events become the body that the same reply has where it is not streamed.

Streams differ from server to server: pieces of a call with and without `index`, names and ids that are repeated, whole
calls in one event, counts of tokens in an event of their own. What was cut off is no reply.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import jsontext

_LINE = re.compile(r"\r\n|\n|\r")  # and no other: JSON may hold what splitlines takes for the end of a line
_BEGINNINGS = (b"data:", b"event:", b"id:", b"retry:", b":")
_DONE = "[DONE]"
_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")
_ARGUMENTS = {"function": "arguments", "custom": "input"}


def is_stream(content_type: str, body: bytes) -> bool:
    """Whether the body of a reply is a stream of events, whatever the server calls it."""
    begins = body[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
    return begins.startswith(_BEGINNINGS) or ("event-stream" in content_type and begins[:1] not in (b"{", b"[", b"<"))


def whole_body(stream: bytes, api: str) -> bytes:
    """The JSON body that the streamed reply has in one piece; an error that came in the middle is a body with an error.

    Raises ConnectionError for a stream that ends before the reply does, or that holds what is not JSON.
    """
    try:
        text = stream.removeprefix(BOM_UTF8).decode()
    except UnicodeDecodeError:
        return stream  # which is said where replies are read
    put_together = _responses if api == "responses" else _chat
    return jsontext.write(put_together(_events(text))).encode()


def _events(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and value of each event; the end that a server marks is an event of that name."""
    name, lines = "", list[str]()
    for line in (*_LINE.split(text), ""):
        if not line:
            yield from ((name, value) for value in _values(lines))
            name, lines = "", []
        field_name, _, value = ("data", "", line) if line[:1] in ("{", "[") else line.partition(":")
        if field_name == "data" and value.strip().startswith(_DONE):
            yield from ((name, value) for value in _values(lines))
            yield _DONE, {}
            return
        if field_name == "data":
            lines.append(value.strip())
        elif field_name == "event":
            name = value.strip()


def _values(lines: list[str]) -> Iterator[dict[str, Any]]:
    """The objects in the data of an event: one over all lines, or one a line where no empty line parts the events."""
    data = "\n".join(lines)
    if not data.startswith(("{", "[")):
        return  # a sign of life
    for text in lines if all(line.startswith("{") and line.endswith("}") for line in lines) else [data]:
        try:
            value = jsontext.read(text, unique_keys=False)
        except jsontext.JsonTextError as error:
            raise ConnectionError(f"an event of the stream is not JSON: {error.message}") from None
        yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict))


def _failed(name: str, event: Mapping[str, Any], choice: Mapping[str, Any]) -> dict[str, Any] | None:
    """The body of an error that came in mid-stream; None where the event tells none."""
    told = event.get("error") or choice.get("error")
    if not told and (name == "error" or "error" in (event.get("type"), event.get("object"))):
        told = event
    return {"error": told} if told else None


def _chat(events: Iterator[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    reply: dict[str, Any] = {}
    message = _Message()
    finish: Any = None
    for name, chunk in events:
        given = chunk.get("choices")
        choices = [one for one in given if isinstance(one, Mapping)] if isinstance(given, list) else []
        choice = next((one for one in choices if one.get("index") in (0, None)), {})
        if failed := _failed(name, chunk, choice):
            return failed
        for holder in (chunk, choice, chunk.get("x_groq")):
            if isinstance(holder, Mapping) and holder.get("usage"):
                reply["usage"] = holder["usage"]
        message.add(choice)
        finish = choice.get("finish_reason") or finish
        if name == _DONE:
            break
    else:
        if finish is None:
            raise _cut_off()
    ended = {"index": 0, "message": message.whole(), "finish_reason": finish}
    return {**reply, "choices": [ended] if message.begun or finish else []}


def _responses(events: Iterator[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    items: list[Any] = []
    for name, event in events:
        if failed := _failed(name, event, {}):
            return failed
        kind, response = event.get("type") or name, event.get("response")
        if kind == "response.output_item.done":
            items.append(event.get("item"))
        elif kind in _ENDS and isinstance(response, Mapping):
            output = response.get("output") or items
            return {"status": kind.rpartition(".")[2], **response, "output": output}
        elif kind == _DONE and items:
            return {"status": "completed", "output": items}
    raise _cut_off()


def _cut_off() -> ConnectionError:
    return ConnectionError("the stream ended before the reply did")


@dataclass
class _Message:
    """The message of a streamed choice, as far as it has come."""

    begun: bool = False
    _pieces: dict[str, list[Any]] = field(default_factory=dict)
    _calls: list[_Call] = field(default_factory=list)
    _legacy: list[_Call] = field(default_factory=list)  # `function_call`, at most one

    def add(self, choice: Mapping[str, Any]) -> None:
        """What a chunk's choice adds; a whole message stands in place of what came before it."""
        delta = choice.get("delta")
        if isinstance(choice.get("message"), Mapping):
            self._pieces, self._calls, self._legacy, delta = {}, [], [], choice["message"]
        for name, value in delta.items() if isinstance(delta, Mapping) else ():
            self.begun = True
            if name == "tool_calls":
                for part in value if isinstance(value, list) else [value] if value else []:
                    _add_call(self._calls, part)
            elif name == "function_call" and value:
                _add_call(self._legacy, {"index": 0, "function": value})
            elif value is not None and name != "role":
                self._pieces.setdefault(name, []).extend(value if isinstance(value, list) else [value])

    def whole(self) -> dict[str, Any]:
        """The message as an unstreamed reply has it."""
        texts = {
            name: "".join(pieces) if all(isinstance(piece, str) for piece in pieces) else pieces
            for name, pieces in self._pieces.items()
        }
        calls = {"tool_calls": [call.entry() for call in self._calls]} if self._calls else {}
        legacy = {"function_call": self._legacy[0].entry()["function"]} if self._legacy else {}
        return {"role": "assistant", **texts, **calls, **legacy}


@dataclass
class _Call:
    """A call as far as it has come. `given` are arguments that came as a value, not as text."""

    index: Any
    kind: str
    id: Any = None
    name: str = ""
    given: Any = None
    pieces: list[str] = field(default_factory=list)

    def is_over(self, call_id: Any, name: Any, piece: Any) -> bool:
        """Whether what has come now, under the same index or none, is the beginning of another call."""
        if not name or (call_id and call_id == self.id):
            return False
        text, is_other, has_other_name = "".join(self.pieces), bool(call_id and self.id), bool(name != self.name)
        if is_other and (self.index is None or has_other_name):
            return True
        if not text and self.given is None:  # names come in pieces, and ids may be new with every piece
            return self.index is None and has_other_name
        if text and not _is_object(text):
            return has_other_name
        return is_other or has_other_name or bool(piece and (self.index is None or piece != text))

    def extend(self, call_id: Any, name: Any, piece: Any) -> None:
        """Add what has come; names and whole arguments may come again."""
        self.id = self.id or call_id
        if isinstance(name, str) and (name.startswith(self.name) or not self.pieces):
            self.name = name if name.startswith(self.name) else self.name + name
        if not isinstance(piece, str):
            self.given = self.given if piece is None else piece
            return
        if piece.startswith("{") and (text := "".join(self.pieces)) in ("{}", piece) and _is_object(text):
            self.pieces = []  # what stood there was a placeholder, or comes again
        self.pieces.append(piece)

    def entry(self) -> dict[str, Any]:
        """The entry of `tool_calls`."""
        text = "".join(self.pieces) if self.pieces else None
        said = {"name": self.name or None, _ARGUMENTS[self.kind]: text if self.given is None else self.given}
        return {"id": self.id, "type": self.kind, self.kind: said}


def _add_call(calls: list[_Call], part: Any) -> None:
    """Put a piece to the call that it belongs to, or begin one with it."""
    part = part if isinstance(part, Mapping) else {}
    kind = "custom" if isinstance(part.get("custom"), Mapping) else "function"
    said = part[kind] if isinstance(part.get(kind), Mapping) else {}
    index, call_id = part.get("index"), part.get("id")
    name, piece = said.get("name"), said.get(_ARGUMENTS[kind])
    same = [one for one in calls if (one.index == index if index is not None else call_id and one.id == call_id)]
    if index is None:
        same = same or calls
    if not same or same[-1].is_over(call_id, name, piece):
        calls.append(_Call(index, kind))
        same = calls
    same[-1].extend(call_id, name, piece)


def _is_object(text: str) -> bool:
    try:
        return text.rstrip().endswith("}") and isinstance(jsontext.read(text, unique_keys=False), dict)
    except jsontext.JsonTextError:
        return False
