"""Tool definitions: the forms they come in, what is refused, and the names under which they are sent."""

from __future__ import annotations

import datetime
import enum
import functools
import json
import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, Optional, TypedDict, Union

import pytest

from evalkit.errors import DatasetError
from evalkit.hint_schemas import schema_of
from evalkit.tool_functions import read_docstring
from evalkit.tools import Tool, as_tools, wire_names

if TYPE_CHECKING:
    from nowhere import Frame

PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = Tool("read_file", "Read a file.", PATH)


# --- definitions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "definition",
    [
        {"type": "function", "function": {"name": "read_file", "description": "Read a file.", "parameters": PATH}},
        {"function": {"name": "read_file", "description": "Read a file.", "parameters": PATH}},
        {"type": "function", "name": "read_file", "description": "Read a file.", "parameters": PATH},
        {"name": "read_file", "description": "Read a file.", "parameters": PATH},
        {"name": "read_file", "description": "Read a file.", "parameters": PATH, "strict": None},
    ],
)
def test_the_three_forms_give_one_tool(definition: dict[str, Any]) -> None:
    assert Tool.from_definition(definition) == READ


def test_a_tool_is_written_in_both_forms_of_the_api() -> None:
    function = {"name": "read_file", "description": "Read a file.", "parameters": PATH}
    assert READ.chat() == {"type": "function", "function": function}
    assert READ.responses() == {"type": "function", **function, "strict": False}
    assert READ.chat("read")["function"]["name"] == "read"


def test_strict_is_passed_on() -> None:
    tool = Tool.from_definition({"type": "function", "function": {"name": "a", "strict": True}})
    assert tool.chat()["function"]["strict"] is True
    assert tool.responses()["strict"] is True


@pytest.mark.parametrize("definition", [{"name": "ping"}, {"name": "ping", "parameters": None}, Tool("ping", "", {})])
def test_a_tool_without_parameters_takes_an_empty_object(definition: Any) -> None:
    (tool,) = as_tools([definition])
    assert tool.chat() == {
        "type": "function",
        "function": {"name": "ping", "parameters": {"type": "object", "properties": {}}},
    }


def test_what_was_given_is_copied() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    tool = Tool("x", "", schema)
    schema["properties"]["b"] = {}  # type: ignore[index]
    tool.chat()["function"]["parameters"]["properties"].clear()
    assert list(tool.parameters["properties"]) == ["a"]


def test_tools_can_be_kept_in_a_set() -> None:
    assert {READ, Tool("read_file", "Read a file.", dict(PATH))} == {READ}


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ({}, "it needs a `name`"),
        ({"name": ""}, "it needs a `name`, got ''"),
        ({"name": "   "}, "it needs a `name`"),
        ({"name": 7}, "it needs a `name`, got 7"),
        ({"name": "read_file "}, "white space around it"),
        ({"name": "read\nfile"}, "a control character in it"),
        ({"name": "none"}, 'in a case, "none" stands for no tool. Rename it.'),
        ({"name": "Any"}, 'in a case, "any" stands for whichever tool'),
        ({"name": "a", "description": 7}, "`description` must be text, got 7"),
        ({"name": "a", "strict": "yes"}, "`strict` must be true or false, got 'yes'"),
        ({"name": "a", "parameters": []}, "must be a JSON Schema of an object, got []"),
        ({"name": "a", "parameters": "path"}, 'must be a JSON Schema of an object, got "path"'),
        ({"name": "a", "parameters": {"type": "string"}}, "got type 'string'"),
        ({"name": "a", "parameters": {"properties": {}}}, 'but it has no "type"'),
        ({"name": "a", "parameters": {"type": "object", "properties": []}}, "not a sound JSON Schema: at properties"),
        (
            {"name": "a", "parameters": {"type": "object", "properties": {"p": {"type": "strng"}}}},
            "not a sound JSON Schema: at properties.p.type",
        ),
        ({"name": "a", "parameters": {"type": "object", "required": True}}, "not a sound JSON Schema: at required"),
        ({"name": "a", "parameters": {"type": "object", "properties": {"p": {"pattern": "("}}}}, "not a sound"),
        ({"name": "a", "parameters": {"type": "object", "properties": {"p": {"$ref": "#/$defs/x"}}}}, "not a sound"),
        ({"name": "a", "parameters": {"type": "object", "default": float("nan")}}, "is not JSON: at default"),
        ({"name": "a", "parameters": {"type": "object", "$schema": "http://x.example/s"}}, "Leave $schema out"),
        ({"name": "a", "input_schema": {}}, "unknown key 'input_schema'"),
        ({"name": "a", "parameter": {}}, "unknown key 'parameter'. Did you mean 'parameters'?"),
        ({"type": "custom", "name": "a"}, "only tools of type \"function\" can be evaluated, got 'custom'"),
        ({"type": "function", "function": None}, "`function` must be an object"),
        ("read_file", "a tool is a definition (an object), a function or a Tool, got 'read_file'"),
        (None, "a tool is a definition"),
    ],
)
def test_a_broken_definition_is_refused_in_a_sentence(definition: Any, message: str) -> None:
    with pytest.raises(DatasetError, match=re.escape(message)) as caught:
        as_tools([READ, definition])
    assert str(caught.value).startswith("tool 2: ")


def test_a_remote_reference_is_refused_and_never_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/schema.json"
        for schema in ({"$ref": address}, {"$schema": address}, {"$id": address, "allOf": [{"$ref": "other"}]}):
            with pytest.raises(DatasetError, match="not a sound JSON Schema"):
                Tool("a", "", {"type": "object", "properties": {"p": schema}, **schema})
        with pytest.raises(TimeoutError):
            listener.accept()


def test_a_reference_inside_the_schema_is_allowed() -> None:
    schema = {"type": "object", "properties": {"p": {"$ref": "#/$defs/p"}}, "$defs": {"p": {"type": "string"}}}
    assert Tool("a", "", schema).parameters == schema


@pytest.mark.parametrize("levels", [150, 300, 20_000])
def test_deep_nesting_is_taken_or_refused_but_never_a_crash(levels: int) -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "not": schema}
    if levels < 200:
        assert Tool("a", "", schema).name == "a"
    else:
        with pytest.raises(DatasetError, match="nested deeper than 200 levels"):
            Tool("a", "", schema)


# --- collections of tools --------------------------------------------------------------------------------------


def list_files(directory: str = ".") -> list[str]:
    """List the files in a directory."""
    return [directory]


def test_a_list_may_mix_definitions_functions_and_tools() -> None:
    assert [tool.name for tool in as_tools([list_files, READ, {"name": "ping"}])] == ["list_files", "read_file", "ping"]


@pytest.mark.parametrize("source", [None, [], (), {"tools": []}])
def test_no_tools_are_no_tools(source: Any) -> None:
    assert as_tools(source) == ()


@pytest.mark.parametrize("source", [list_files, {"name": "list_files"}, Tool("list_files"), {"tools": [list_files]}])
def test_a_single_tool_is_taken_as_it_is(source: Any) -> None:
    assert [tool.name for tool in as_tools(source)] == ["list_files"]


def test_a_source_that_names_no_tools_is_refused() -> None:
    with pytest.raises(DatasetError, match="tools are a list of definitions or functions, or the path of a JSON file"):
        as_tools(7)


def test_every_fault_of_every_tool_is_listed() -> None:
    with pytest.raises(DatasetError) as caught:
        as_tools([{"name": "none"}, READ, {"name": "read_file"}, {"name": "x", "strict": 1, "description": 2}])
    assert [problem.split(": ")[0] for problem in caught.value.problems] == ["tool 1", "tool 3", "tool 4", "tool 4"]
    assert "the tool 'read_file' is already defined (tool 2)" in str(caught.value)


@pytest.mark.parametrize("wrap", [lambda tools: tools, lambda tools: {"tools": tools}])
@pytest.mark.parametrize("prefix", [b"", b"\xef\xbb\xbf"])
def test_tools_are_read_from_a_file(wrap: Callable[[Any], Any], prefix: bytes, tmp_path: Path) -> None:
    path = tmp_path / "my.tools.json"
    path.write_bytes(prefix + json.dumps(wrap([READ.chat(), {"name": "größe"}]), indent=1).encode())
    assert (
        [tool.name for tool in as_tools(path)] == [tool.name for tool in as_tools(str(path))] == ["read_file", "größe"]
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'[{"name": "a"},\n {"name": "a"}]', ", tool 2 (line 2): the tool 'a' is already defined ("),
        (b'[\n{"name": "a", "name": "b"}]', ", tool 1 (line 2): the key 'name' appears twice in one object"),
        (b'[{"name": "a"}\n{}]', ", line 2, column 1: Expecting ',' delimiter"),
        (b'{"name": "a"}', ": tools are a list of definitions, or an object"),
        (b'"a"', ": tools are a list of definitions, or an object"),
        (b"", ", line 1, column 1: Expecting value"),
        (b'[{"name": "k\xf6ln"}]', ": byte 12 (line 1) is 0xf6, which is not UTF-8"),
        (b"[" * 100_000, "nested deeper than 200 levels"),
        (b'{"tools": [{"name": "a"}], "tools": []}', "the key 'tools' appears twice"),
    ],
)
def test_a_broken_file_of_tools_is_refused_with_its_place(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=re.escape(message)) as caught:
        as_tools(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_of_tools_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"nowhere.json: the tools cannot be read: No such file or directory"):
        as_tools(tmp_path / "nowhere.json")


# --- names on the wire -----------------------------------------------------------------------------------------


def names_of(*names: str) -> dict[str, str]:
    return wire_names([Tool(name) for name in names])


def test_legal_names_are_sent_as_they_are() -> None:
    assert names_of("list_files", "A-1", "x" * 64) == {name: name for name in ("list_files", "A-1", "x" * 64)}


@pytest.mark.parametrize(
    ("name", "sent"),
    [("files.read", "files_read"), ("read file", "read_file"), ("Übermaß", "Uberma_")],
)
def test_other_characters_are_replaced(name: str, sent: str) -> None:
    assert names_of(name) == {name: sent}


@pytest.mark.parametrize("name", ["x" * 65, "読む", "🌧", "a.b" * 100, "files/read?now", "ü", "-", "\ud83d"])
def test_every_name_becomes_a_legal_one_and_always_the_same(name: str) -> None:
    (sent,) = names_of(name).values()
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", sent)
    assert list(names_of(name).values()) == [sent]


def test_long_names_that_begin_alike_stay_apart() -> None:
    assert len(set(names_of("x" * 80, "x" * 81, "読む", "書く").values())) == 4


def test_names_that_become_one_are_refused() -> None:
    message = "the tools 'files.read' and 'files_read' would both be sent as 'files_read'"
    with pytest.raises(DatasetError, match=re.escape(message)):
        as_tools([Tool("files.read"), Tool("files_read")])


# --- Python functions ------------------------------------------------------------------------------------------


class Colour(enum.Enum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


class Options(TypedDict):
    """Options with a property called title."""

    title: str
    size: NotRequired[Annotated[int, "in bytes"]]


@dataclass
class Point:
    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)


@dataclass
class Node:
    inner: Node | None = None


POINT = {
    "type": "object",
    "properties": {
        "x": {"type": "integer"},
        "y": {"type": "integer", "default": 0},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["x"],
}
OPTIONS = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "size": {"type": "integer", "description": "in bytes"}},
    "required": ["title"],
}


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (Any, {}),
        (list, {"type": "array"}),
        (dict, {"type": "object"}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (Sequence[int], {"type": "array", "items": {"type": "integer"}}),
        (list[list[float]], {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}),
        (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (
            tuple[int, str],
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
        ),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (dict[str, Any], {"type": "object"}),
        (str | None, {"type": ["string", "null"]}),
        (Optional[int], {"type": ["integer", "null"]}),  # noqa: UP045
        (Union[int, str], {"type": ["integer", "string"]}),  # noqa: UP007
        (list[str] | None, {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a", 1, None], {"type": ["string", "integer", "null"], "enum": ["a", 1, None]}),
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
        (Annotated[int, "how many"], {"type": "integer", "description": "how many"}),
        (datetime.date, {"type": "string", "format": "date"}),
        (Options, OPTIONS),
        (Point, POINT),
        (list[Point], {"type": "array", "items": POINT}),
    ],
)
def test_a_hint_becomes_a_plain_schema(hint: Any, schema: dict[str, Any]) -> None:
    assert schema_of(hint) == schema


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        (Callable[[int], str], "has no JSON Schema"),
        (socket.socket, "has no JSON Schema"),
        (dict[int, str], "are not text"),
        (Node, "its type Node contains itself"),
        (list[socket.socket], "has no JSON Schema"),
    ],
)
def test_a_hint_without_a_schema_is_refused(hint: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        schema_of(hint)


def search(
    query: Annotated[str, "what to look for"],
    limit: int = 10,
    *,
    colour: Colour = Colour.RED,
    since: datetime.date = datetime.date(2026, 3, 1),
    folder: str = None,  # type: ignore[assignment]  # noqa: RUF013
    anything=None,  # type: ignore[no-untyped-def]
) -> Frame:
    """Search the archive.

    Everything since the beginning.
    """
    raise AssertionError((query, limit, colour, since, folder, anything))


def test_a_function_becomes_a_definition() -> None:
    assert Tool.from_function(search) == Tool(
        "search",
        "Search the archive.\n\nEverything since the beginning.",
        {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "what to look for"},
                "limit": {"type": "integer", "default": 10},
                "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                "since": {"type": "string", "format": "date", "default": "2026-03-01"},
                "folder": {"type": ["string", "null"], "default": None},
                "anything": {"default": None},
            },
            "required": ["query"],
        },
    )


def test_a_function_without_parameters_or_docstring_is_a_tool() -> None:
    def ping():  # type: ignore[no-untyped-def]
        return None

    assert Tool.from_function(ping) == Tool("ping")


async def fetch(url: str) -> str:
    """Fetch it."""
    return url


class Shop:
    def order(self, item: str) -> str:
        """Order an item."""
        return item


@functools.wraps(list_files)
def wrapped(*args: Any, **kwargs: Any) -> Any:
    return list_files(*args, **kwargs)


@pytest.mark.parametrize(
    ("function", "name", "properties"),
    [
        (fetch, "fetch", ["url"]),
        (Shop().order, "order", ["item"]),
        (wrapped, "list_files", ["directory"]),
        (functools.partial(list_files, directory="src"), "list_files", ["directory"]),
    ],
)
def test_other_callables_are_functions_too(function: Any, name: str, properties: list[str]) -> None:
    (tool,) = as_tools([function])
    assert (tool.name, list(tool.parameters["properties"])) == (name, properties)


def takes_args(*paths: str) -> None: ...
def takes_kwargs(**options: str) -> None: ...
def odd_default(path: str = socket) -> None: ...  # type: ignore[assignment]
def odd_type(handle: socket.socket) -> None: ...
def unknown_type(handle: Unheard) -> None: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (takes_args, "the tool function 'takes_args' takes *paths, which has no JSON Schema"),
        (takes_kwargs, "the tool function 'takes_kwargs' takes **options"),
        (odd_default, "the parameter 'path' of the tool function 'odd_default': its default <module"),
        (odd_type, "the parameter 'handle' of the tool function 'odd_type': its type <class 'socket.socket'>"),
        (unknown_type, "the type hints of the tool function 'unknown_type' cannot be read: name 'Unheard'"),
        (lambda path: path, "a lambda has no name"),
        (Shop, "is not a function with a name"),
        (Shop.order, "is a method without its object. Give the bound method."),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused(function: Any, message: str) -> None:
    with pytest.raises(DatasetError, match=re.escape(message)):
        as_tools([function])


NUMPY = """Read a file.

It may be long.

Parameters
----------
path : str
    Where it is,
    relative to here.
first, last : int, optional
    Line numbers.
encoding

Returns
-------
path : str
    Not a parameter.
"""
GOOGLE = """Read a file.

It may be long.

Args:
    path (str): Where it is,
        relative to here.
    first: Line numbers.
    last (int, optional): Line numbers.

Returns:
    path: Not a parameter.
"""
SPHINX = """Read a file.

It may be long.

:param path: Where it is,
    relative to here.
:type path: str
:param int first: Line numbers.
:param last: Line numbers.
:returns: path: not a parameter
"""


@pytest.mark.parametrize("text", [NUMPY, GOOGLE, SPHINX])
def test_three_styles_of_docstring_say_the_same(text: str) -> None:
    described = {"path": "Where it is, relative to here.", "first": "Line numbers.", "last": "Line numbers."}
    assert read_docstring(text) == ("Read a file.\n\nIt may be long.", described)


@pytest.mark.parametrize(
    "text", ["", "One line.", "Say: it is plain.", "Note this: the args: are plain.\n    indented: too", "a\n-\nb"]
)
def test_a_plain_docstring_stays_whole(text: str) -> None:
    assert read_docstring(text) == (text, {})


def test_text_after_the_arguments_ends_them() -> None:
    assert read_docstring("Go.\n\nArgs:\n    path: where\n\nAfterwards: nothing.") == ("Go.", {"path": "where"})


def test_a_docstring_describes_the_parameters_that_carry_no_note_of_their_own() -> None:
    def read(path: Annotated[str, "its own note"], first: int = 1) -> None:
        """Read.

        Args:
            path: from the docstring
            first: from the docstring
            nowhere: no such parameter
        """

    properties = Tool.from_function(read).parameters["properties"]
    assert {name: schema["description"] for name, schema in properties.items()} == {
        "path": "its own note",
        "first": "from the docstring",
    }
