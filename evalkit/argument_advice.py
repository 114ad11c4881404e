"""Whether what a case expects to be sent, and what a tool declares as defaults, keeps to the tool's own schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .jsonschemas import Fault
from .jsontext import write
from .nearmiss import did_you_mean
from .schema_check import SlowSchemaError, prepare
from .tools import Tool
from .toolschema import tool_schema

_TEXT_MATCHERS = ("$text", "$date", "$similar")
_MOST_VARIANTS = 50  # of one call: each alternative of its matchers once
_MOST_FAULTS = 100  # of one variant

Path = tuple[str | int, ...]


def default_advice(tool: Tool) -> Iterator[str]:
    """Defaults that a tool declares and its own schema refuses, and required parameters that it does not declare."""
    properties = tool.parameters.get("properties", {})
    for name in tool.parameters.get("required", ()):
        if name not in properties:
            yield f"it requires {name!r}, which it does not declare.{did_you_mean(name, properties)}"
    yield from _default_faults(tool.parameters, tool.parameters, "")


def _default_faults(schema: Any, root: Mapping[str, Any], path: str) -> Iterator[str]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        where = f"{path}.{name}" if path else name
        if isinstance(inner, dict) and "default" in inner:
            definitions = {key: root[key] for key in ("$defs", "definitions", "$schema") if key in root}
            for fault in _faults({**definitions, "properties": {"it": inner}}, {"it": inner["default"]}):
                yield f"the default of {where!r} breaks its own schema: {fault.message}"
        yield from _default_faults(inner, root, where)


def call_advice(tool: Tool, arguments: Mapping[str, Any]) -> Iterator[str]:
    """How arguments that a case expects break the schema of the tool. Matchers stand for what meets them."""
    properties = tool.parameters.get("properties", {})
    schema = tool_schema(tool.parameters)
    says_what_else = {"additionalProperties", "patternProperties"} & set(tool.parameters)
    for name in arguments:
        if not says_what_else and schema is not None and schema.declared.property(name) is None:
            declared = f" It declares: {', '.join(properties)}" if properties else " It declares no parameters"
            hint = did_you_mean(name, properties) or declared
            yield f"{tool.name} does not declare the expected argument {name!r}.{hint}"
    told: set[str] = set()
    for value, unknown in _variants(arguments):
        for fault in _faults(tool.parameters, value):
            message = _call_message(tool, arguments, fault)
            if not _touches(fault.path, unknown) and message not in told:
                told.add(message)
                yield message


def _call_message(tool: Tool, arguments: Mapping[str, Any], fault: Fault) -> str:
    missing = [name for name in tool.parameters.get("required", ()) if f'"{name}" is a required' in fault.message]
    if missing and not fault.path:
        if missing[0] in arguments:
            return f"{tool.name} requires {missing[0]!r}, which this case expects not to be sent"
        said = f"{tool.name} requires {missing[0]!r}, but the case says nothing of it"
        return f'{said}. Write {{"$any": true}} if any value will do'
    place = ".".join(map(str, fault.path))
    at = f" at {place}" if place else ""
    return f"the expected arguments break the schema of {tool.name}{at}: {fault.message}"


def _faults(schema: Mapping[str, Any], value: Any) -> list[Fault]:
    try:
        return prepare(schema, formats=None).faults(write(value), value, _MOST_FAULTS)
    except SlowSchemaError:
        raise
    except (ValueError, TypeError):  # a schema or number beyond what the validator takes: nothing can be said
        return []


def _touches(path: Path, unknown: set[Path]) -> bool:
    """Whether a fault lies at a value that is not known, or inside or around one."""
    return any(path[: len(place)] == place for place in unknown)


_ABSENT = object()


def _variants(arguments: Mapping[str, Any]) -> Iterator[tuple[Any, set[Path]]]:
    """Calls that would meet the expectation, each with the places whose value is only known by its kind."""
    choices: dict[Path, int] = {}
    _count_choices(arguments, (), choices)
    picks = [(place, pick) for place, count in choices.items() for pick in range(1, count)]
    for place, pick in [((), 0), *picks[: _MOST_VARIANTS - 1]]:
        unknown: set[Path] = set()
        yield (
            {
                name: value
                for name, inner in arguments.items()
                if (value := _concrete(inner, (name,), {place: pick}, unknown)) is not _ABSENT
            },
            unknown,
        )


def _count_choices(value: Any, path: Path, choices: dict[Path, int]) -> None:
    options = value.get("$one_of") if isinstance(value, dict) else None
    if isinstance(options, list):
        choices[path] = len(options)
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        if key not in ("$literal", "$one_of"):
            _count_choices(part, path if str(key).startswith("$") else (*path, key), choices)


def _concrete(value: Any, path: Path, picked: Mapping[Path, int], unknown: set[Path]) -> Any:
    """A value that meets the expectation as far as it says; `unknown` gains the places where it does not."""
    if isinstance(value, list):
        return [_concrete(part, (*path, place), picked, unknown) for place, part in enumerate(value)]
    if not isinstance(value, dict):
        return value
    name = next((key for key in value if key.startswith("$")), None)
    if name is None:
        parts = {key: _concrete(part, (*path, key), picked, unknown) for key, part in value.items()}
        return {key: part for key, part in parts.items() if part is not _ABSENT}
    return _of_matcher(name, value[name], path, picked, unknown)


def _of_matcher(name: str, operand: Any, path: Path, picked: Mapping[Path, int], unknown: set[Path]) -> Any:
    if name == "$absent":
        return _ABSENT
    if name == "$literal":
        return operand
    if name == "$one_of" and isinstance(operand, list) and operand:
        return _concrete(operand[picked.get(path, 0)], path, picked, unknown)
    if name in ("$optional", "$unordered", "$approx"):
        return _concrete(operand, path, picked, unknown)
    if name in _TEXT_MATCHERS:
        # The text itself is one that meets it: for `$text` and `$date` in the case's own spelling.
        return operand
    unknown.add(path)
    return None
