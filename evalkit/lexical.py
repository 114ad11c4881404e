"""A baseline that a real model has to beat: it picks a tool by the likeness of words, and understands nothing.

No key, no network, no weights, the same answer every time. It shows what a dataset gives away to mere word
matching, and lets everything else be tried at once.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from .errors import SettingsError
from .records import ToolCall, Turn
from .retries import Notify
from .tools import Tool

THRESHOLD = 40.0
ANSWER = "None of the tools is near enough to this message."
ALIKE = 82.0  # from here on two words count as alike (rapidfuzz ratio): file/files, not file/title
_PARTS = (("name", 1.0), ("description", 0.9), ("parameters", 0.8))  # how much a likeness counts by where it is found
_COMMON_WORDS = """
a about all am an and any are as at be been but by can could did do does for from get give had has have hello help her
hey hi him his how i if in into is it its just let like may me might mine must my need no not now of on one or our out
over please shall she should so some tell than thanks that the their them then there these they this to under up us
want was we were what when where which who why will with would you your
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_QUOTED = re.compile(r'"([^"\n]+)"|“([^”\n]+)”|`([^`\n]+)`|(?<!\w)\'([^\'\n]+)\'(?!\w)')
_READABLE = {
    "url": re.compile(r"https?://[^\s\"'<>]+[^\s\"'<>.,;!?)]"),
    "email": re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    "date": re.compile(r"\b\d{4}-\d{2}-\d{2}\b"),
    "path": re.compile(r"(?<![\w/.@:-])(?:[\w.~-]*/[\w./-]*\w|[\w-]+(?:\.[A-Za-z]\w{0,5})+|\.[A-Za-z]\w+)(?![\w/@])"),
    "number": re.compile(r"(?<![\w.-])-?\d+(?:\.\d+)?(?![\w-]|\.\d)"),
}
_FOLDER = re.compile(r"\b(?:the|my|our)\s+[\"'`]?([\w.-]+)[\"'`]?\s+(?:directory|folder|dir)\b", re.IGNORECASE)
_NO_FOLDERS = frozenset({"current", "working", "same", "whole", "entire", "this", "home", "root", "parent"})
_HINTS = {
    "email": ("email", "mail", "recipient"),
    "url": ("url", "uri", "link", "website"),
    "date": ("date", "day"),
    "path": ("path", "file", "filename", "directory", "dir", "folder"),
}


class LexicalBaseline:
    """A baseline, not a language model: the tool whose words are nearest the last user message, above a threshold.

    A message scores from 0 to 100 against a tool: the mean, over the message's own words, of the best likeness to a
    word of the tool's name (counting in full), description (0.9) or parameters (0.8). Arguments are filled only
    with what can be read off the message: quoted text, paths, numbers, dates, e-mail addresses, allowed values.
    """

    name = "lexical"

    def __init__(self, threshold: float = THRESHOLD):
        if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold <= 100:
            raise SettingsError(f"threshold must be from 0 to 100, got {threshold!r}")
        self.threshold = float(threshold)
        self.settings: Mapping[str, Any] = {"kind": "lexical baseline", "threshold": self.threshold}

    def __repr__(self) -> str:
        return f"LexicalBaseline(threshold={self.threshold:g})"

    @asynccontextmanager
    async def session(self) -> AsyncIterator[LexicalSession]:
        """A session, which needs no closing."""
        yield LexicalSession(self.threshold)


class LexicalSession:
    """Answers by likeness of words."""

    def __init__(self, threshold: float):
        self._threshold = threshold

    async def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Tool] = (),
        *,
        extra: Mapping[str, Any] | None = None,
        notify: Notify | None = None,
    ) -> Turn:
        """A call of the nearest tool, or a fixed sentence. `extra` and `notify` mean nothing to it."""
        started = time.monotonic()
        turn = pick(last_user_text(messages), tools, self._threshold)
        return replace(turn, attempts=1, latency_s=time.monotonic() - started)


def pick(text: str, tools: Sequence[Tool], threshold: float = THRESHOLD) -> Turn:
    """The Turn for a message: a call of the nearest tool from the threshold on, else the fixed sentence."""
    words = _own_words(text)
    nearest = max(tools, key=lambda tool: likeness(words, tool), default=None)
    if nearest is None or not words or likeness(words, nearest) < threshold:
        return Turn(answer=ANSWER, finish_reason="stop")
    arguments = readable_arguments(text, nearest.parameters)
    return Turn(tool_calls=[ToolCall(nearest.name, arguments)], finish_reason="tool_calls")


def likeness(words: Sequence[str], tool: Tool) -> float:
    """0–100: how near the words are to the tool's own."""
    from rapidfuzz import fuzz, process

    of_tool = {"name": _words(tool.name), "description": _words(tool.description), "parameters": _words(_told(tool))}
    best = []
    for word in words:
        found = (
            (process.extractOne(word, of_tool[part], scorer=fuzz.ratio, score_cutoff=ALIKE), weight)
            for part, weight in _PARTS
        )
        best.append(max((match[1] * weight for match, weight in found if match), default=0.0))
    return sum(best) / len(best) if best else 0.0


def last_user_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """The text of the last user message; "" where there is none."""
    for message in reversed(messages):
        if message.get("role") == "user":
            content = message.get("content")
            if isinstance(content, str):
                return content
            parts = content if isinstance(content, list) else []
            return " ".join(str(part["text"]) for part in parts if isinstance(part, Mapping) and "text" in part)
    return ""


def readable_arguments(text: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that stand in the message itself, each for the first parameter that it fits."""
    found = _found(text)
    arguments: dict[str, Any] = {}
    properties = parameters.get("properties")
    for name, schema in properties.items() if isinstance(properties, Mapping) else ():
        value = _read(name, schema if isinstance(schema, Mapping) else {}, text, found)
        if value is not None:
            arguments[name] = value
    return arguments


def _found(text: str) -> dict[str, list[str]]:
    """What can be read off a message, by kind, each piece once: the inside of a quotation is that alone."""
    found = {"quoted": [next(filter(None, groups)) for groups in _QUOTED.findall(text)]}
    rest = _QUOTED.sub(" ", text)
    for kind, pattern in _READABLE.items():
        found[kind] = pattern.findall(rest)
        rest = pattern.sub(" ", rest)
    return found


def _read(name: str, schema: Mapping[str, Any], text: str, found: dict[str, list[str]]) -> Any:
    if isinstance(schema.get("enum"), list):
        named = (value for value in schema["enum"] if isinstance(value, str) and _is_said(value, text))
        return next(named, None)
    kind = schema.get("type")
    if kind in ("integer", "number"):
        fitting = [number for number in found["number"] if kind == "number" or "." not in number]
        if not fitting:
            return None
        found["number"].remove(fitting[0])
        return int(fitting[0]) if "." not in fitting[0] else float(fitting[0])
    if kind != "string":
        return None
    wanted = _kind_of_text(name, schema)
    if wanted == "path" and not found["path"]:
        folder = _FOLDER.search(text)
        return folder[1] if folder and folder[1].casefold() not in _NO_FOLDERS else _next(found["quoted"])
    return _next(found[wanted]) if wanted and found[wanted] else _next(found["quoted"])


def _next(pieces: list[str]) -> str | None:
    return pieces.pop(0) if pieces else None


def _kind_of_text(name: str, schema: Mapping[str, Any]) -> str | None:
    told = [*_words(name), str(schema.get("format", "")).casefold()]
    return next((kind for kind, hints in _HINTS.items() if any(word in hints for word in told)), None)


def _is_said(value: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE) is not None


def _told(tool: Tool) -> str:
    properties = tool.parameters.get("properties")
    if not isinstance(properties, Mapping):
        return ""
    described = (schema.get("description", "") if isinstance(schema, Mapping) else "" for schema in properties.values())
    return " ".join([*properties, *map(str, described)])


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(_HUMP.sub(" ", text))]


def _own_words(text: str) -> list[str]:
    """The words of a message that say something; what stands in quotes or is a path, number or address says nothing."""
    rest = _QUOTED.sub(" ", text)
    for pattern in _READABLE.values():
        rest = pattern.sub(" ", rest)
    return [word for word in _words(rest) if word not in _COMMON]
