"""What a tool's parameters declare: which arguments, with which defaults, and whether a call keeps to them.

Read from the JSON Schema through local references and through `allOf`, `anyOf` and `oneOf`; nothing is
ever fetched. A schema is prepared once for its content, so that scoring many calls stays quick.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from .jsontext import write
from .schema_check import Prepared, prepare

ABSENT: Any = object()  # stands for a default that is not declared, since null may be one
_CHOICES = ("allOf", "anyOf", "oneOf")


class Declared:
    """What a schema says about one value: its properties or elements, and its default."""

    def __init__(self, schemas: tuple[Any, ...], root: Any):
        self._root = root
        self._schemas = schemas
        self._branches = tuple(_branches(schemas, root))
        self._properties: dict[str, Declared | None] = {}
        self._elements: Declared | None = None
        self.default = next(_defaults(schemas, root), ABSENT)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the properties, in the order in which they are declared."""
        held = [branch["properties"] for branch in self._branches if isinstance(branch.get("properties"), dict)]
        return tuple(dict.fromkeys(name for properties in held for name in properties))

    @property
    def types(self) -> frozenset[str]:
        """The JSON types that the value may have, in whichever branch; none where none is declared."""
        found: set[str] = set()
        for branch in self._branches:
            said = branch.get("type")
            found |= {one for one in (said if isinstance(said, list) else [said]) if isinstance(one, str)}
            if isinstance(choices := branch.get("enum"), list) and all(isinstance(one, str) for one in choices):
                found.add("string")
        return frozenset(found)

    def property(self, name: str) -> Declared | None:
        """What is declared for the property `name`, in whichever branch; None where none declares it."""
        if name not in self._properties:
            found = tuple(
                branch["properties"][name]
                for branch in self._branches
                if isinstance(branch.get("properties"), dict) and name in branch["properties"]
            )
            self._properties[name] = Declared(found, self._root) if found else None
        return self._properties[name]

    def element(self) -> Declared:
        """What is declared for the elements of a list."""
        if self._elements is None:
            found = tuple(branch["items"] for branch in self._branches if isinstance(branch.get("items"), dict))
            self._elements = Declared(found, self._root)
        return self._elements


class ToolSchema:
    """A tool's parameters, prepared: what they declare, and a validator."""

    def __init__(self, schema: Any):
        self.declared = Declared((schema,), schema)
        self._ready = _ready(schema)

    def valid(self, arguments: Mapping[str, Any], text: str | None = None) -> bool | None:
        """Whether the arguments (of this JSON `text`) keep to the schema; None where that cannot be judged, or not in
        time.
        """
        if self._ready is None:
            return None
        try:
            return self._ready.valid(write(arguments) if text is None else text, arguments)
        except (ValueError, TypeError, OverflowError, RecursionError):  # SlowSchemaError among them
            return None


def _ready(schema: Any) -> Prepared | None:
    try:
        return prepare(schema, formats=None)
    except ValueError:
        return None


def tool_schema(parameters: Mapping[str, Any] | None) -> ToolSchema | None:
    """The prepared form of a tool's parameters; None without any, or where they have no JSON form."""
    if parameters is None:
        return None
    try:
        return _prepared(json.dumps(parameters, default=dict))
    except (TypeError, ValueError, RecursionError):
        return None


@lru_cache(maxsize=1024)
def _prepared(text: str) -> ToolSchema:
    return ToolSchema(json.loads(text))


def _branches(schemas: tuple[Any, ...], root: Any) -> Iterator[dict[str, Any]]:
    """Every object schema that may apply, each once: the schemas, what they refer to, and their alternatives."""
    waiting, seen = list(schemas), set[int]()
    while waiting:
        schema = waiting.pop(0)
        if not isinstance(schema, dict) or id(schema) in seen:
            continue
        seen.add(id(schema))
        yield schema
        if "$ref" in schema:
            waiting.append(_target(schema["$ref"], root))
        for word in _CHOICES:
            if isinstance(schema.get(word), list):
                waiting += schema[word]


def _defaults(schemas: tuple[Any, ...], root: Any) -> Iterator[Any]:
    """Defaults in the order in which they count: a schema's own, then what it refers to and builds on.

    A default inside one alternative of several is that alternative's, not the value's.
    """
    waiting, seen = list(schemas), set[int]()
    while waiting:
        schema = waiting.pop(0)
        if not isinstance(schema, dict) or id(schema) in seen:
            continue
        seen.add(id(schema))
        if "default" in schema:
            yield schema["default"]
        if "$ref" in schema:
            waiting.append(_target(schema["$ref"], root))
        if isinstance(schema.get("allOf"), list):
            waiting += schema["allOf"]


def _target(reference: Any, root: Any) -> Any:
    """What a reference inside the same schema points to; None for any other, or one that points nowhere."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    found = root
    for part in unquote(reference[1:]).split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and key in found:
            found = found[key]
        elif isinstance(found, list) and key.isdigit() and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
    return found
