"""What a judge replied: the one choice that it states, in whatever clothes, or why it cannot be counted.

A choice is stated in structured output, by a line such as `Choice: A`, by a reply that is nothing else, or at the
beginning of a line as `A) …`. A letter inside a sentence is not a choice; two different ones are none.
"""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from . import jsontext
from .judge_prompts import TOOL_NAME
from .records import ToolCall, Turn
from .turns import at_token_limit, is_refusal

_OPEN = r"[\s\"'“”‘’«»(\[{*_`#]*"
_CLOSE = r"[\"'“”‘’«»*_`]*"
_STATED = re.compile(
    r"[\s*_#`\"-]*(?:(?:my|the|final|overall)\s+)*(?:choice|answer|verdict|grade|rating|judg(?:e)?ment|option)\s*"
    r"[*_`\"]*\s*[:=]\s*(?P<rest>\S.*)",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\A[\s,;/&]*(?:(?:or|and)\b)?", re.IGNORECASE)
_LINE_WITH_OBJECT, _LINE_END = re.compile(r"^[ \t`*]*\{", re.MULTILINE), re.compile(r"[ \t`*]*(?:\n|\Z)")
_LONGEST_REPLY = 100_000  # characters that are looked through
_MOST_OBJECTS = 50
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Reading:
    """What was read of a reply: the choice (None: `why` says what is wrong), the reason, and the form it came in."""

    choice: str | None
    reason: str = ""
    form: str = "text"
    why: str = ""
    retry: bool = True  # whether asking again may help


def read_verdict(turn: Turn, choices: Sequence[str], *, structured: bool = True) -> Reading:
    """The choice that a reply states. `structured`: it was asked for as JSON, so that JSON counts as that form."""
    if at_token_limit(turn):
        return Reading(None, why="it was cut off at the token limit (max_tokens)", retry=False)
    if is_refusal(turn):
        return Reading(None, why="the judge refused", retry=False)
    if turn.tool_calls:
        return _of_calls(turn.tool_calls, choices)
    text = (turn.answer or "")[:_LONGEST_REPLY]
    if not text.strip():
        return Reading(None, why="it is empty")
    objects, beside = _objects(text)
    if objects:
        return _of_objects(objects, choices, "json_schema" if structured else "text", beside)
    return _of_text(unicodedata.normalize("NFKC", text), choices)


def _of_calls(calls: Sequence[ToolCall], choices: Sequence[str]) -> Reading:
    values = []
    for call in calls:
        arguments = call.arguments
        if isinstance(arguments, str):
            try:
                arguments = jsontext.read(arguments)
            except jsontext.JsonTextError:
                arguments = None
        if isinstance(arguments, Mapping) and call.name in (TOOL_NAME, None):
            values.append(arguments)
    if len(values) < len(calls):
        return Reading(None, why="its call cannot be read", form="tool_call")
    return _of_objects(values, choices, "tool_call")


def _of_objects(objects: Sequence[Mapping[str, Any]], choices: Sequence[str], form: str, beside: str = "") -> Reading:
    """The choice that the objects state, where the text beside them declares no other one."""
    found = {_choice_in(value.get("choice"), choices) for value in objects}
    found |= _declared(unicodedata.normalize("NFKC", beside), choices) or set()
    reason = next((value["reason"] for value in objects if isinstance(value.get("reason"), str)), "")
    return _only(found, choices, _flat(reason), form)


def _choice_in(value: Any, choices: Sequence[str]) -> str | None:
    """The choice that a JSON value states. A number may stand for a choice of digits, a boolean for none."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        return None
    found = _stated_first(unicodedata.normalize("NFKC", value), choices)
    return found.pop() if len(found) == 1 else None


def _of_text(text: str, choices: Sequence[str]) -> Reading:
    lines = [line for line in text.splitlines() if line.strip()]
    declared = _declared(text, choices)
    if declared is not None:
        return _only(declared, choices, _flat(" ".join(line for line in lines if not _STATED.match(line))))
    begun = {choice for line in lines for choice in _stated_first(line, choices)}
    more_than_the_choice = _letters(text) > max((_letters(choice or "") for choice in begun), default=0)
    return _only(begun or {None}, choices, _flat(text) if more_than_the_choice else "")


def _declared(text: str, choices: Sequence[str]) -> set[str | None] | None:
    """The choices in lines such as `Choice: A` (None among them for one that names none); None without such lines."""
    rests = [match["rest"] for line in text.splitlines() if (match := _STATED.match(line))]
    found: set[str | None] = set()
    for rest in rests:
        found |= _stated_first(rest, choices) or {None}
    return found if rests else None


def _only(found: Collection[str | None], choices: Sequence[str], reason: str, form: str = "text") -> Reading:
    named = [choice for choice in choices if choice in found]
    if len(named) == 1 and None not in found:
        return Reading(named[0], reason, form)
    why = f"it names several choices ({', '.join(named)})" if len(named) > 1 else "it states no choice"
    return Reading(None, reason, form, why)


def _stated_first(line: str, choices: Sequence[str]) -> set[str | None]:
    """The choices with which a line begins, as `A`, `(A)`, `**A**:` or `A) The …`; several for `A or B`."""
    found: set[str | None] = set()
    label, rest = _label(tuple(choices)), line
    while match := label.match(rest):
        found.add(choices[int(str(match.lastgroup)[1:])])
        rest = _BETWEEN.sub("", rest[match.end() :], count=1)
    return found


@cache
def _label(choices: tuple[str, ...]) -> re.Pattern[str]:
    """A choice at the beginning of a line and what makes it a statement: brackets, a mark after it, or the end."""
    order = sorted(range(len(choices)), key=lambda place: -len(choices[place]))
    words = [unicodedata.normalize("NFKC", choice).split() for choice in choices]
    names = [r"\s+".join(map(re.escape, parts)) for parts in words]
    labels = "|".join(f"(?P<c{place}>{names[place]})" for place in order)
    other = "|".join(names)
    after = (
        rf"{_CLOSE}[)\]}}]+{_CLOSE}",
        rf"{_CLOSE}\s*[.:;,!=。]{_CLOSE}(?=\s|\Z)",
        rf"{_CLOSE}\s+(?:[-–—]\s|(?=[(]))",
        rf"{_CLOSE}\s*\Z",
        rf"(?={_CLOSE}\s*(?:/|&|\bor\b|\band\b){_OPEN}(?:{other}){_CLOSE}\s*(?:[.,;:)]|\Z))",
    )
    return re.compile(rf"{_OPEN}(?:[-•]\s+)?{_OPEN}(?:{labels})(?:{'|'.join(after)})", re.IGNORECASE)


def _objects(text: str) -> tuple[list[Mapping[str, Any]], str]:
    """The JSON objects with a `choice` that stand on lines of their own, and the text beside them."""
    found: list[Mapping[str, Any]] = []
    beside, done = [], 0
    for match in itertools.islice(_LINE_WITH_OBJECT.finditer(text), _MOST_OBJECTS):
        start = match.end() - 1
        if start < done:
            continue
        try:
            _, end = _DECODER.raw_decode(text, start)
            value = jsontext.read(text[start:end])  # refuses an object that states a choice twice
        except (ValueError, RecursionError):
            continue
        if "choice" in value and _LINE_END.match(text, end):
            found.append(value)
            beside.append(text[done:start])
            done = end
    return found, "\n".join([*beside, text[done:]])


def _letters(text: str) -> int:
    return sum(letter.isalnum() for letter in text)


def _flat(text: str) -> str:
    return " ".join(text.split())
