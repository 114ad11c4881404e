"""What a judge replied: the one choice that it states, in whatever clothes, or why it cannot be counted.

A choice is stated in structured output, by a line such as `Choice: A`, by a reply that is nothing else, or at the
beginning of a line as `A) …`. A letter inside a sentence is not a choice; two different ones are none.

What a judge repeats of the answer states nothing: lines quoted with `>`, and statements that the answer itself makes. A
heading with no choice behind it (`Grade: see below`) states nothing either.
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
from .thinking import set_aside
from .turns import at_token_limit, is_refusal

_OPEN = r"[\s\"'“”‘’«»(\[{*_`#]*"
_CLOSE = r"[\"'“”‘’«»*_`]*"
_STATED = re.compile(
    r"[\s*_#`\"-]*(?:(?:my|the|final|overall|selected|chosen)\s+)*(?P<heading>choice|answer|verdict|grade|rating|"
    r"judg(?:e)?ment|option|score|decision|selection)\s*[*_`\"]*\s*[:=–—-]\s*(?P<rest>\S.*)",
    re.IGNORECASE,
)
_LATER = re.compile(r"\b(?:below|follow(?:s|ing)?|pending|later|tb[ad])\b", re.IGNORECASE)  # a heading's, for a choice
_BETWEEN = re.compile(r"\A[\s,;/&]*(?:(?:or|and)\b)?", re.IGNORECASE)
_LINE_WITH_OBJECT, _LINE_END = re.compile(r"^[ \t`*]*\{", re.MULTILINE), re.compile(r"[ \t`*]*(?:\n|\Z)")
_MARKUP = re.compile(r"[*_`\"'“”‘’«»#>()\[\]{}\\\u00ad\u200b-\u200f\u2060\ufeff]")
_GOES_ON = r"(?! ?\w)|(?= (?:because|since|as|for|with)\b)"  # behind a statement, so that it is one
_LONGEST_REPLY = 100_000  # characters that are looked through
_LONGEST_BEGINNING = 300  # characters of a line in which a choice is looked for
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


def read_verdict(turn: Turn, choices: Sequence[str], *, structured: bool = True, answer: str = "") -> Reading:
    """The choice that a reply states. `structured`: it was asked for as JSON, so that JSON counts as that form.

    `answer` is what was judged.
    """
    if at_token_limit(turn):
        return Reading(None, why="it was cut off at the token limit (max_tokens)", retry=False)
    if is_refusal(turn):
        return Reading(None, why="the judge refused", retry=False)
    if turn.tool_calls:
        return _of_calls(turn.tool_calls, choices)
    text = set_aside((turn.answer or "").strip())[1][:_LONGEST_REPLY]
    if not text.strip():
        return Reading(None, why="it is empty")
    said = _form(answer)
    objects, beside = _objects(text, said)
    lines = _own_lines(unicodedata.normalize("NFKC", beside), choices, said)
    if objects:
        found = {_choice_in(value.get("choice"), choices) for value in objects} | _declared(lines, choices)[0]
        return _only(found, choices, _reason(objects), "json_schema" if structured else "text")
    return _of_text(lines, choices)


def _own_lines(text: str, choices: Sequence[str], said: str) -> list[str]:
    """The lines of a reply that do not repeat the answer, which `said` this. A choice alone is the judge's own."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and any(_letters(lines[0]) == _letters(one) for one in _stated_first(lines[0], choices) if one):
        return lines
    quotes = () if any(choice.startswith(">") for choice in choices) else (">", "&gt;")
    return [line for line in lines if not line.lstrip().startswith(quotes) and not _repeats(line, choices, said)]


def _repeats(line: str, choices: Sequence[str], said: str) -> bool:
    """Whether what a line states is what the answer said, on a line or at the end of a sentence of its own."""
    stated = _form(line).strip(" .,;!?-")
    match = _STATED.match(line)
    if match and match["heading"].lower() == "answer" and _form(match["rest"]).strip(" .") == said.strip(" ."):
        return True
    if not stated or stated not in said:
        return False
    if any(_form(choice) == stated for choice in choices):  # a word of the answer is no statement
        return re.search(rf"^\W*{re.escape(stated)}\W*$", said, re.MULTILINE) is not None
    return re.search(rf"(?<!\w){re.escape(stated)}(?:{_GOES_ON})", said) is not None


def _form(text: str) -> str:
    """A text as it is looked for in another: without case, markup and the width of white space."""
    text = _MARKUP.sub("", unicodedata.normalize("NFKC", text)).casefold()
    lines = (" ".join(line.split()) for line in text.splitlines())
    return re.sub(r" ?[:=] ?", ": ", "\n".join(lines)).strip()


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
    return _only({_choice_in(value.get("choice"), choices) for value in values}, choices, _reason(values), "tool_call")


def _reason(objects: Sequence[Mapping[str, Any]]) -> str:
    return _flat(next((value["reason"] for value in objects if isinstance(value.get("reason"), str)), ""))


def _choice_in(value: Any, choices: Sequence[str]) -> str | None:
    """The choice that a JSON value states. A number may stand for a choice of digits, a boolean for none."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        return None
    found = _stated_first(unicodedata.normalize("NFKC", value), choices)
    return found.pop() if len(found) == 1 else None


def _of_text(lines: Sequence[str], choices: Sequence[str]) -> Reading:
    declared, other = _declared(lines, choices)
    if declared:
        return _only(declared, choices, _flat(" ".join(line for line in lines if not _STATED.match(line))))
    if other:
        return _only({None}, choices, _flat(" ".join(lines)))
    begun = {choice for line in lines for choice in _stated_first(line, choices)}
    more_than_the_choice = _letters("".join(lines)) > max((_letters(choice or "") for choice in begun), default=0)
    return _only(begun or {None}, choices, _flat(" ".join(lines)) if more_than_the_choice else "")


def _declared(lines: Sequence[str], choices: Sequence[str]) -> tuple[set[str | None], bool]:
    """The choices in lines such as `Choice: A`, and whether one names something else in a choice's place."""
    rests = [match["rest"] for line in lines if (match := _STATED.match(line))]
    stated = {rest: _stated_first(rest, choices) for rest in rests}
    other = any(
        not found and len(rest.split()) == 1 and _letters(rest) and not _LATER.search(rest)
        for rest, found in stated.items()
    )
    return {choice for found in stated.values() for choice in found}, other


def _only(found: Collection[str | None], choices: Sequence[str], reason: str, form: str = "text") -> Reading:
    named = [choice for choice in choices if choice in found]
    if len(named) == 1 and None not in found:
        return Reading(named[0], reason, form)
    why = f"it names several choices ({', '.join(named)})" if len(named) > 1 else "it states no choice"
    return Reading(None, reason, form, why)


def _stated_first(line: str, choices: Sequence[str]) -> set[str | None]:
    """The choices with which a line begins, as `A`, `(A)`, `**A**:` or `A) The …`; several for `A or B`."""
    found: set[str | None] = set()
    label, rest = _label(tuple(choices)), line[:_LONGEST_BEGINNING]
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
        rf"{_CLOSE}\s+(?=(?:because|since|as)\b)",
        rf"(?={_CLOSE}\s*(?:/|&|\bor\b|\band\b){_OPEN}(?:{other}){_CLOSE}\s*(?:[.,;:)]|\Z))",
    )
    return re.compile(rf"{_OPEN}(?:[-•]\s+)?{_OPEN}(?:{labels})(?:{'|'.join(after)})", re.IGNORECASE)


def _objects(text: str, said: str) -> tuple[list[Mapping[str, Any]], str]:
    """The JSON objects with a `choice` that stand on lines of their own, but for the answer's, and the text beside."""
    found: list[Mapping[str, Any]] = []
    beside, done, inside = [], 0, 0
    for match in itertools.islice(_LINE_WITH_OBJECT.finditer(text), _MOST_OBJECTS):
        start = match.end() - 1
        if start < inside:
            continue
        try:
            _, end = _DECODER.raw_decode(text, start)
            value = jsontext.read(text[start:end])  # refuses an object that states a choice twice
        except (ValueError, RecursionError):
            continue
        inside = end
        if "choice" in value and _LINE_END.match(text, end):
            if not _repeats_object(value, text[start:end], said):
                found.append(value)
            beside.append(text[done:start])
            done = end
    return found, "\n".join([*beside, text[done:]])


def _repeats_object(value: Mapping[str, Any], written: str, said: str) -> bool:
    reason = value.get("reason")
    stated = _form(f"choice: {value['choice']}")
    if stated not in said:
        return False
    same = re.search(rf"(?<!\w){re.escape(stated)}(?!\w)", said) is not None
    return (same and (not isinstance(reason, str) or _form(reason) in said)) or _form(written) in said


def _letters(text: str) -> int:
    return sum(letter.isalnum() for letter in text)


def _flat(text: str) -> str:
    return " ".join(text.split())
