"""A tool definition read from a Python function: its signature, type hints and docstring."""

from __future__ import annotations

import functools
import inspect
import itertools
import re
import typing
from collections.abc import Callable, Mapping
from typing import Any

from .errors import DatasetError
from .hint_schemas import json_of, note_of, schema_of
from .jsonvalues import NotJsonError

_VARIADIC = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def definition_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Name, description and parameters (JSON Schema) of a function, as a bare tool definition.

    A parameter's hint gives its schema, its default the schema's `default` (it is then not required), and
    `Annotated[…, "text"]` or the docstring (numpydoc, Google or Sphinx style) its description.

    Raises DatasetError for a lambda, a class, `*args` or `**kwargs`, and hints or defaults without a JSON form.
    """
    name = _name_of(function)
    parameters = _parameters_of(function, name)
    description, described = read_docstring(inspect.getdoc(_bare(function)) or "")
    schema = _schema_of(name, parameters, _hints_of(function, parameters, name), described)
    return {"name": name, "description": description, "parameters": schema}


def _bare(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.unwrap(function)


def _name_of(function: Callable[..., Any]) -> str:
    name = getattr(_bare(function), "__name__", None)
    if inspect.isclass(function) or not name:
        raise DatasetError(f"{function!r} is not a function with a name. Give a function, a definition or a Tool.")
    if name == "<lambda>":
        raise DatasetError("a lambda has no name, so it cannot be a tool. Define it with def.")
    return str(name)


def _parameters_of(function: Callable[..., Any], name: str) -> list[inspect.Parameter]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise DatasetError(f"the tool function {name!r} has no signature that can be read. Give a Tool.") from None
    problems = [
        f"the tool function {name!r} takes {_VARIADIC[p.kind]}{p.name}, which has no JSON Schema. Name each parameter."
        for p in parameters
        if p.kind in _VARIADIC
    ]
    if parameters and parameters[0].name in ("self", "cls"):
        problems.append(f"the tool function {name!r} is a method without its object. Give the bound method.")
    if problems:
        raise DatasetError(problems)
    return parameters


def _hints_of(function: Callable[..., Any], parameters: list[inspect.Parameter], name: str) -> dict[str, Any]:
    """Hints of the parameters alone: what a function returns may name a type that only a type checker sees."""

    def holder() -> None: ...

    holder.__annotations__ = {p.name: p.annotation for p in parameters if p.annotation is not p.empty}
    names = getattr(_bare(function), "__globals__", {})
    try:
        return typing.get_type_hints(holder, globalns=names, include_extras=True)
    except Exception as error:  # a hint may be any expression
        raise DatasetError(f"the type hints of the tool function {name!r} cannot be read: {error}") from None


def _schema_of(
    name: str, parameters: list[inspect.Parameter], hints: Mapping[str, Any], described: Mapping[str, str]
) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    problems = []
    for parameter in parameters:
        text = described.get(parameter.name, "")
        try:
            properties[parameter.name] = _property(parameter, hints.get(parameter.name, Any), text)
        except (ValueError, TypeError) as error:
            problems.append(f"the parameter {parameter.name!r} of the tool function {name!r}: {error}")
    if problems:
        raise DatasetError(problems)
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    required = [p.name for p in parameters if p.default is p.empty]
    return {**schema, "required": required} if required else schema


def _property(parameter: inspect.Parameter, hint: Any, described: str) -> dict[str, Any]:
    schema = schema_of(typing.Optional[hint] if parameter.default is None else hint)  # noqa: UP045
    description = note_of(hint) or described
    if description:
        schema["description"] = description
    if parameter.default is not parameter.empty:
        try:
            schema["default"] = json_of(parameter.default)
        except NotJsonError:
            raise ValueError(f"its default {parameter.default!r} has no JSON form") from None
    return schema


_PARAMETER_SECTIONS = {
    "args",
    "arguments",
    "params",
    "parameters",
    "keyword arguments",
    "keyword args",
    "other parameters",
}
_SECTIONS = _PARAMETER_SECTIONS | {
    *("returns", "return", "yields", "yield", "raises", "raise", "warns", "warnings", "receives", "attributes"),
    *("see also", "notes", "note", "references", "examples", "example", "todo"),
}
_SPHINX_PARAMETER = ("param", "parameter", "arg", "argument", "key", "keyword")
_SPHINX = re.compile(rf":({'|'.join(_SPHINX_PARAMETER)}|type|returns?|rtype|raises?|yields?)(?:\s+([^:]*))?:\s*(.*)")
_GOOGLE_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """What a docstring says of the whole function, and of each parameter by name."""
    lines = text.split("\n")
    starts = [place for place in range(len(lines)) if _section(lines, place)]
    end = starts[0] if starts else len(lines)
    described: dict[str, str] = {}
    for start, stop in itertools.pairwise([*starts, len(lines)]):
        described.update(_described(lines, start, stop))
    return "\n".join(lines[:end]).strip(), described


def _section(lines: list[str], place: int) -> str | None:
    """The kind of section that begins at this line ("numpy", "google", "sphinx"), or None."""
    line = lines[place].strip()
    below = lines[place + 1].strip() if place + 1 < len(lines) else ""
    if line.lower().rstrip(":") in _SECTIONS and len(below) >= 3 and not below.strip("-="):
        return "numpy"
    if line.endswith(":") and line[:-1].lower() in _SECTIONS and lines[place][:1] not in (" ", "\t"):
        return "google"
    return "sphinx" if _SPHINX.fullmatch(line) else None


def _described(lines: list[str], start: int, stop: int) -> dict[str, str]:
    kind = _section(lines, start)
    if kind == "sphinx":
        match = _SPHINX.fullmatch(lines[start].strip())
        if match is None or match.group(1) not in _SPHINX_PARAMETER:
            return {}
        named = (match.group(2) or "").split()
        return _joined({named[-1]: [match.group(3), *lines[start + 1 : stop]]}) if named else {}
    if lines[start].strip().rstrip(":").lower() not in _PARAMETER_SECTIONS:
        return {}
    if kind == "numpy":
        return _entries(lines[start + 2 : stop], numpy=True)
    indented = itertools.takewhile(lambda line: not line.strip() or line[0] in " \t", lines[start + 1 : stop])
    return _entries(list(indented), numpy=False)


def _entries(lines: list[str], *, numpy: bool) -> dict[str, str]:
    """Each entry begins at the section's own indentation; what is indented deeper goes on with it."""
    filled = [line for line in lines if line.strip()]
    edge = min((len(line) - len(line.lstrip()) for line in filled), default=0)
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in filled:
        if len(line) - len(line.lstrip()) > edge:
            for name in current:
                found[name].append(line)
            continue
        head = line.strip()
        match = None if numpy else _GOOGLE_ENTRY.fullmatch(head)
        names = head.partition(":")[0].split(",") if numpy else ([match.group(1)] if match else [])
        current = [name.strip().lstrip("*") for name in names]
        found.update({name: [match.group(2)] if match else [] for name in current})
    return _joined(found)


def _joined(parts: Mapping[str, list[str]]) -> dict[str, str]:
    texts = {name: " ".join(" ".join(lines).split()) for name, lines in parts.items()}
    return {name: text for name, text in texts.items() if text}
