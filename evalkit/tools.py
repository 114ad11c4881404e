"""Tool definitions: read from JSON in any of three forms or from Python functions, checked, and written for the API.

A definition that cannot be sent is refused here, in a sentence, before anything is asked of a model. Names may be
any text; `wire_names` maps those that the API does not take.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import jsontext, textfiles
from .errors import DatasetError
from .jsonvalues import NotJsonError, plain
from .nearmiss import did_you_mean
from .paths import eval_data_dir
from .schema_check import prepare
from .tool_functions import definition_of

RESERVED = ("none", "any")  # words of `expected_tool` that stand for no tool and for whichever tool
LONGEST_WIRE_NAME = 64
_LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
_KEYS = ("name", "description", "parameters", "strict")


def _no_parameters() -> dict[str, Any]:
    return {"type": "object", "properties": {}}


@dataclass(frozen=True)
class Tool:
    """One tool that a model is offered. `parameters` is a JSON Schema of an object; `strict` None leaves it unsaid.

    Raises DatasetError, with every fault, where it has no usable name or its parameters are no sound schema.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=_no_parameters, hash=False)
    strict: bool | None = None

    def __post_init__(self) -> None:
        problems = [*_name_problems(self.name), *_kind_problems(self.description, self.strict)]
        given = _no_parameters() if self.parameters is None or self.parameters == {} else self.parameters
        try:
            object.__setattr__(self, "parameters", plain(given))
            problems += _parameter_problems(self.parameters)
        except NotJsonError as error:
            problems.append(f"`parameters` is not JSON: {error}")
        if problems:
            named = f"the tool {self.name!r}: " if isinstance(self.name, str) and self.name.strip() else "a tool: "
            raise DatasetError([named + problem for problem in problems])
        object.__setattr__(self, "name", plain(self.name))
        object.__setattr__(self, "description", plain(self.description or ""))

    @classmethod
    def from_definition(cls, definition: Mapping[str, Any]) -> Tool:
        """A tool from the Chat Completions form, the flat form of the Responses API, or bare name and parameters."""
        if not isinstance(definition, Mapping):
            raise DatasetError(f"a tool definition is an object with a name, got {definition!r}")
        kind = definition.get("type", "function")
        if kind != "function":
            raise DatasetError(f'only tools of type "function" can be evaluated, got {kind!r}')
        flat = {key: value for key, value in definition.items() if key != "type"}
        if "function" in flat:
            if not isinstance(flat["function"], Mapping):
                raise DatasetError(f"`function` must be an object with a name, got {flat['function']!r}")
            flat = {**flat["function"], **{key: value for key, value in flat.items() if key != "function"}}
        unknown = [key for key in flat if key not in _KEYS]
        if unknown:
            named = f"the tool {flat['name']!r}" if flat.get("name") else "a tool"
            allowed = f"It takes: {', '.join(_KEYS)}"
            raise DatasetError(
                [f"{named}: unknown key {key!r}.{did_you_mean(str(key), _KEYS)} {allowed}" for key in unknown]
            )
        return cls(**{"name": "", **{key: value for key, value in flat.items() if value is not None}})

    @classmethod
    def from_function(cls, function: Callable[..., Any]) -> Tool:
        """A tool from a function's signature, type hints and docstring (see `tool_functions.definition_of`)."""
        return cls(**definition_of(function))

    def chat(self, name: str | None = None) -> dict[str, Any]:
        """The definition as Chat Completions takes it, under another name where one is given."""
        said = {"name": name or self.name, **({"description": self.description} if self.description else {})}
        strict = {} if self.strict is None else {"strict": self.strict}
        return {"type": "function", "function": {**said, "parameters": plain(self.parameters), **strict}}

    def responses(self, name: str | None = None) -> dict[str, Any]:
        """The definition as the Responses API takes it. `strict` is always said: that API takes silence for true."""
        return {"type": "function", **self.chat(name)["function"], "strict": bool(self.strict)}


def as_tools(source: Any) -> tuple[Tool, ...]:
    """Tools from whatever names them: a JSON file, a list of definitions, functions and Tools, {"tools": […]}, or None.

    Of a Dataset, they are its own.

    Raises DatasetError with every fault of every tool; two tools of one name are a fault, as are two names that
    become one on the way to the API.
    """
    if source is None:
        return ()
    if isinstance(source, str | Path):
        return read_tools(Path(source))
    if isinstance(source, Mapping) and isinstance(source.get("tools"), list | tuple):
        source = source["tools"]
    if isinstance(getattr(source, "tools", None), tuple):  # a Dataset
        source = source.tools
    if isinstance(source, Tool | Mapping) or callable(source):
        source = [source]
    if not isinstance(source, Iterable):
        raise DatasetError(f"tools are a list of definitions or functions, or the path of a JSON file, got {source!r}")
    return _collect([(f"tool {number}", item) for number, item in enumerate(source, 1)])


def read_tools(path: Path, shown: str | None = None) -> tuple[Tool, ...]:
    """The tools of a JSON file: a list of definitions, or an object with a list `tools`.

    Raises DatasetError where there is no such file or it is not that, naming the file and the line.
    """
    name = shown or str(path)
    try:
        document = textfiles.read_document(textfiles.read_text(path, name), "tools")
    except OSError as error:
        why = error.strerror or error
        raise DatasetError(f"{name}: the tools cannot be read: {why}{_if_dataset(path)}") from None
    except jsontext.JsonTextError as error:
        raise DatasetError(f"{name}, line {error.line}, column {error.column}: {error.message}") from None
    if document.problems:
        raise DatasetError([f"{name}, {problem}" for problem in document.problems])
    if not document.has_list:
        raise DatasetError(f'{name}: tools are a list of definitions, or an object {{"tools": […]}}')
    places = [(f"{name}, tool {item.number} (line {item.line})", item) for item in document.items]
    broken = [f"{place}: {item.problem}" for place, item in places if item.problem]
    return _collect([(place, item.value) for place, item in places if not item.problem], broken)


def wire_names(tools: Iterable[Tool]) -> dict[str, str]:
    """For each tool's name the one to send: itself where the API takes it, else the nearest legal one.

    Other characters become `_`; a name over 64 characters is cut and ends in a hash of the whole. The same
    names always give the same result. Raises DatasetError where two tools would be sent under one name.
    """
    found: dict[str, str] = {}
    taken: dict[str, str] = {}
    problems = []
    for name in (tool.name for tool in tools):
        sent = name if _LEGAL.fullmatch(name) else _legal(name)
        other = taken.setdefault(sent, name)
        if other != name:
            both = f"the tools {other!r} and {name!r} would both be sent as {sent!r}"
            problems.append(f"{both}, as the API takes only letters, digits, _ and -. Rename one.")
        found[name] = sent
    if problems:
        raise DatasetError(problems)
    return found


def _if_dataset(path: Path) -> str:
    """What to give in place of a dataset's name, as a sentence after a full stop; "" where it is none."""
    try:
        files = [file for file in eval_data_dir().iterdir() if not file.name.endswith(".tools.json")]
    except OSError:
        return ""
    named = len(path.parts) == 1 and any(path.name in (file.stem, file.name) for file in files)
    text = json.dumps(str(path), ensure_ascii=False)
    return f". {path.name!r} is a dataset; for its tools give ek.load_dataset({text})" if named else ""


def _legal(name: str) -> str:
    mark = hashlib.sha256(name.encode()).hexdigest()[:8]
    letters = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    legal = re.sub(r"[^A-Za-z0-9_-]", "_", letters) if re.search(r"[A-Za-z0-9]", letters) else f"tool_{mark}"
    return legal if len(legal) <= LONGEST_WIRE_NAME else f"{legal[: LONGEST_WIRE_NAME - 9]}_{mark}"


def _collect(items: list[tuple[str, Any]], problems: Iterable[str] = ()) -> tuple[Tool, ...]:
    found: dict[str, Tool] = {}
    places: dict[str, str] = {}
    problems = list(problems)
    for place, item in items:
        try:
            tool = _as_tool(item)
        except DatasetError as error:
            problems += [f"{place}: {problem}" for problem in error.problems]
            continue
        if tool.name in found:
            problems.append(f"{place}: the tool {tool.name!r} is already defined ({places[tool.name]})")
        found.setdefault(tool.name, tool)
        places.setdefault(tool.name, place)
    if problems:
        raise DatasetError(problems)
    wire_names(found.values())
    return tuple(found.values())


def _as_tool(item: Any) -> Tool:
    if isinstance(item, Tool):
        return item
    if isinstance(item, Mapping):
        return Tool.from_definition(item)
    if callable(item):
        return Tool.from_function(item)
    raise DatasetError(f"a tool is a definition (an object), a function or a Tool, got {item!r}")


def _name_problems(name: Any) -> Iterable[str]:
    if not isinstance(name, str) or not name.strip():
        yield f"it needs a `name`, got {name!r}"
    elif name != name.strip() or any(unicodedata.category(letter) == "Cc" for letter in name):
        yield "its name has white space around it or a control character in it"
    elif name.casefold() in RESERVED:
        meaning = "no tool" if name.casefold() == "none" else "whichever tool"
        yield f'it cannot be called that: in a case, "{name.casefold()}" stands for {meaning}. Rename it.'


def _kind_problems(description: Any, strict: Any) -> Iterable[str]:
    if description is not None and not isinstance(description, str):
        yield f"`description` must be text, got {description!r}"
    if strict is not None and not isinstance(strict, bool):
        yield f"`strict` must be true or false, got {strict!r}"


def _parameter_problems(parameters: Any) -> Iterable[str]:
    if not isinstance(parameters, dict):
        yield f"`parameters` must be a JSON Schema of an object, got {json.dumps(parameters)[:60]}"
        return
    if parameters.get("type") != "object":
        found = f"got type {parameters['type']!r}" if "type" in parameters else 'but it has no "type"'
        yield f'`parameters` must be a JSON Schema of an object ("type": "object"), {found}'
    try:
        prepare(parameters, formats=None)
    except ValueError as error:
        yield f"`parameters` is not a sound JSON Schema: {error}"
