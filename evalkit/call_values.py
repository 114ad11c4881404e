"""A value that stands somewhere in a text: JSON, Python's literals and calls, Gemma's unquoted JSON, text between tags.

Python is parsed and never run. Nothing here looks at a text twice: whoever tries many places is told what each cost.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from .differences import json_type
from .jsontext import JsonTextError, read, write
from .toolschema import Declared

_DEEPEST, _LONGEST = 100, 200_000  # brackets and characters of Python
_JSON = json.JSONDecoder(strict=False, parse_int=float)  # says where a value ends; `read` says what it is
_CONSTANTS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_QUOTED = r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z)'
_BRACKETS = re.compile(
    rf'"""(?:[^"\\]|\\.|"(?!""))*(?:"""|\Z)|{_QUOTED}|' r"'[^'\\]*(?:\\.[^'\\]*)*(?:'|\Z)|[\[({]|[\])}]", re.DOTALL
)
_DELIMITED = re.compile(r'<escape>(.*?)(?:<escape>|\Z)|<\|"\|>(.*?)(?:<\|"\|>|\Z)', re.DOTALL)
_UNQUOTED = re.compile(_QUOTED + r'|([^\W\d][\w.-]*)(?=\s*:)|(?<=[:\[,])\s*([^\W\d][^,{}\[\]":]*)', re.DOTALL)
_CDATA = re.compile(r"\s*<!\[CDATA\[(.*)\]\]>\s*\Z", re.DOTALL)


class NoValue(ValueError):
    """Where a value was looked for, none stands; `cost` characters were read to find that out."""

    def __init__(self, cost: int):
        self.cost = cost
        super().__init__(f"no value in {cost} characters")


@dataclass(frozen=True)
class Value:
    """A value and where it ends. `text` is it as written where that is JSON, sound or not (say, with a key twice)."""

    value: Any
    end: int
    text: str | None = None
    sound: bool = True


@dataclass(frozen=True)
class PythonCall:
    """A call in Python: its dotted name and its arguments, None where they are no literals."""

    name: str
    arguments: Mapping[str, Any] | None
    positional: tuple[Any, ...]
    text: str


def value_at(text: str, start: int) -> Value:
    """The JSON value from `start` on, or the Python literal or list of calls. Raises NoValue where there is neither."""
    try:
        value, end = _JSON.raw_decode(text, start)
    except RecursionError:
        raise NoValue(len(text) - start) from None
    except json.JSONDecodeError as error:
        cost = (len(text) if error.msg.startswith("Unterminated") else error.pos) - start
        return python_at(text, start, cost)
    said = text[start:end]
    try:
        return Value(read(said), end, said)
    except JsonTextError:
        return Value(value, end, said, sound=False)


def python_at(text: str, start: int, cost: int = 0, name: str = "") -> Value:
    """The Python expression from `start` to its closing bracket: literals, and PythonCall for a call of any name.

    With a `name` that Python cannot have (get-weather), `start` is where the brackets begin that stand behind it.
    """
    depth = 0
    for found in _BRACKETS.finditer(text, start):
        if found[0] in "[({":
            depth += 1
        elif found[0] in "])}":
            depth -= 1
        if depth > _DEEPEST or found.end() - start > _LONGEST:
            raise NoValue(cost + found.end() - start)
        if depth <= 0 and found[0] in "])}":
            value = _parsed("_" * bool(name) + text[start : found.end()], cost + found.end() - start)
            return Value(replace(value, name=name) if name else value, found.end())
    raise NoValue(cost + len(text) - start)


def _parsed(source: str, cost: int) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an escape that Python does not know is the model's business
            return _python(ast.parse(source.strip(), mode="eval").body, source)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise NoValue(cost) from None


def _python(node: ast.expr, source: str) -> Any:
    if isinstance(node, ast.Call):
        return _call(node, source)
    if isinstance(node, ast.List | ast.Tuple) and any(isinstance(one, ast.Call) for one in node.elts):
        return [_python(one, source) for one in node.elts]
    return _literal(node)


def _call(node: ast.Call, source: str) -> Any:
    name = ast.unparse(node.func)
    if name == "print" and len(node.args) == 1 and isinstance(node.args[0], ast.Call):
        return _call(node.args[0], source)  # as Gemini has it
    said = ast.get_source_segment(source.strip(), node) or source
    try:
        arguments: dict[str, Any] = {}
        for keyword in node.keywords:
            value = keyword.value
            if keyword.arg is None:
                arguments |= _literal(value)
            elif isinstance(value, ast.Name) and value.id not in _CONSTANTS:
                arguments[keyword.arg] = value.id  # city=Oslo, the quotes forgotten
            else:
                arguments[keyword.arg] = _literal(value)
        return PythonCall(name, arguments, tuple(map(_literal, node.args)), said)
    except (ValueError, TypeError):
        return PythonCall(name, None, (), said)


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | None):
        return node.value
    if isinstance(node, ast.Name) and node.id in _CONSTANTS:
        return _CONSTANTS[node.id]
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [_literal(one) for one in node.elts]
    if isinstance(node, ast.Dict) and None not in node.keys:
        keys = [key.id if isinstance(key, ast.Name) else _literal(key) for key in node.keys if key]  # JavaScript's too
        return dict(zip(keys, map(_literal, node.values), strict=True))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        number = node.operand.value
        if isinstance(number, int | float):
            return -number
    raise ValueError("not a literal")


def delimited_at(text: str, start: int, end: int) -> Value:
    """Gemma's arguments, `{city:<escape>Oslo<escape>,days:3}`, whose keys have no quotes. Raises NoValue."""
    quoted = _DELIMITED.sub(lambda found: json.dumps(found[1] or found[2] or ""), text[start:end])
    try:
        return Value(value_at(_UNQUOTED.sub(_in_quotes, quoted), 0).value, end)
    except NoValue:
        raise NoValue(end - start) from None


def _in_quotes(found: re.Match[str]) -> str:
    word = (found[1] or found[2] or "").strip()
    return found[0] if not word or word in _CONSTANTS else json.dumps(word)


def typed(said: str, declared: Declared | None) -> Any:
    """The value that text between argument tags stands for (see `call_forms`), by what its schema declares."""
    found = _CDATA.match(said)
    text = found[1] if found else said.removeprefix("\n").removesuffix("\n")
    types = declared.types if declared is not None else frozenset()
    if types == {"string"}:
        return text
    word = text.strip()
    try:
        value = _CONSTANTS[word] if word in _CONSTANTS else _whole(word)
    except NoValue:
        return text
    fits = json_type(value) in {"number" if one == "integer" else one for one in types}
    return value if not types or (fits and not isinstance(value, str)) else text


def _whole(text: str) -> Any:
    found = value_at(text, 0)
    if found.end < len(text) or not found.sound:
        raise NoValue(len(text))
    try:
        write(found.value)
    except (TypeError, ValueError, RecursionError):  # Python's: a call, 1e999, a key that is no text
        raise NoValue(len(text)) from None
    return found.value
