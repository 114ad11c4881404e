"""Text files as people have them: with or without a byte-order mark, LF or CRLF, and never in the locale's code page.

`read_text` gives the text, `items_of` the items of a JSON list (or of a list inside an object) each with
its line, so that a message can say where to look.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import jsontext
from .errors import DatasetError

_OTHER_ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


@dataclass(frozen=True)
class Item:
    """One item of a file: its number from 1, its first line, and its value or what is wrong with it."""

    number: int
    line: int
    value: Any = None
    problem: str | None = None


@dataclass
class Document:
    """A JSON file taken apart: the items of its list, and for an object the other members with their lines."""

    items: list[Item] = field(default_factory=list)
    members: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    is_object: bool = False
    has_list: bool = False


def read_text(path: Path, shown: str | None = None) -> str:
    """The text of a UTF-8 file, its byte-order mark gone and its line ends LF.

    Raises DatasetError, with the position of the first bad byte, for a file in another encoding, and OSError
    where the file cannot be read.
    """
    raw = path.read_bytes()
    name = shown or str(path)
    if raw[:2] in _OTHER_ENCODINGS:
        raise DatasetError(f"{name}: byte 0: this is {_OTHER_ENCODINGS[raw[:2]]}, not UTF-8. Save it as UTF-8.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = error.start + (3 if raw.startswith(b"\xef\xbb\xbf") else 0)
        line = raw.count(b"\n", 0, place) + 1
        found = f"byte {place} (line {line}) is 0x{raw[place]:02x}, which is not UTF-8"
        raise DatasetError(f"{name}: {found}: the file is in another encoding. Save it as UTF-8.") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_document(text: str, list_key: str) -> Document:
    """A JSON text that is a list, or an object that holds a list under `list_key`, taken apart.

    Each item is read on its own: a key that stands twice is that item's problem. Raises JsonTextError where
    the text as a whole is not JSON.
    """
    jsontext.read(text, unique_keys=False)
    document = Document()
    start = _skip(text, 0)
    if text[start] == "[":
        document.has_list = True
        document.items = list(_items(text, start))
    elif text[start] == "{":
        document.is_object = True
        _read_members(text, start, list_key, document)
    return document


def _read_members(text: str, start: int, list_key: str, document: Document) -> None:
    for key, where in _members(text, start):
        line = text.count("\n", 0, where) + 1
        if key in document.lines:
            document.problems.append(f"line {line}: the key {key!r} appears twice (also on line {document.lines[key]})")
            continue
        document.lines[key] = line
        if key == list_key and text[where] == "[":
            document.has_list = True
            document.items = list(_items(text, where))
            continue
        try:
            document.members[key] = jsontext.read(text[where : _end(text, where)])
        except jsontext.JsonTextError as error:
            document.problems.append(f"line {line}: in {key!r}, {error.message}")


# What follows walks text that is known to be JSON; it looks for places only, values are read by `jsontext`.
_DECODER = json.JSONDecoder(parse_int=len, parse_float=len)


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in " \t\n\r":
        place += 1
    return place


def _end(text: str, start: int) -> int:
    return _DECODER.raw_decode(text, start)[1]


def _items(text: str, start: int) -> Iterator[Item]:
    place, line, counted, number = _skip(text, start + 1), 1, 0, 0
    while text[place] != "]":
        number += 1
        line += text.count("\n", counted, place)
        counted, end = place, _end(text, place)
        try:
            yield Item(number, line, jsontext.read(text[place:end]))
        except jsontext.JsonTextError as error:
            yield Item(number, line, problem=error.message)
        place = _skip(text, end)
        if text[place] == ",":
            place = _skip(text, place + 1)


def _members(text: str, start: int) -> Iterator[tuple[str, int]]:
    place = _skip(text, start + 1)
    while text[place] != "}":
        key, end = _DECODER.raw_decode(text, place)
        value = _skip(text, _skip(text, end) + 1)
        yield key, value
        place = _skip(text, _end(text, value))
        if text[place] == ",":
            place = _skip(text, place + 1)
