"""The JSON Schema that a Python type hint stands for: plain keywords only, nothing to look up elsewhere."""

from __future__ import annotations

import collections.abc as abc
import dataclasses
import datetime
import decimal
import enum
import inspect
import pathlib
import types
import typing
import uuid
from typing import Any

from .jsonvalues import NotJsonError, plain

_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    decimal.Decimal: {"type": "number"},
    bool: {"type": "boolean"},
    None: {"type": "null"},
    type(None): {"type": "null"},
    list: {"type": "array"},
    tuple: {"type": "array"},
    dict: {"type": "object"},
    Any: {},
    object: {},
    inspect.Parameter.empty: {},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
    datetime.time: {"type": "string", "format": "time"},
    pathlib.Path: {"type": "string"},
    uuid.UUID: {"type": "string", "format": "uuid"},
}
_LISTS = (list, abc.Sequence, abc.MutableSequence, abc.Iterable, abc.Collection)
_SETS = (set, frozenset, abc.Set, abc.MutableSet)
_OBJECTS = (dict, abc.Mapping, abc.MutableMapping)
_JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def schema_of(hint: Any, inside: tuple[Any, ...] = ()) -> dict[str, Any]:
    """The JSON Schema of a resolved hint; text in `Annotated[…, "text"]` becomes its description.

    Raises ValueError, with a sentence, for a hint without one: an arbitrary class, a type that contains itself.
    """
    hint = _unwrapped(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        description = note_of(hint)
        return {**schema_of(arguments[0], inside), **({"description": description} if description else {})}
    if origin is None and _hashable(hint) and hint in _PLAIN:
        return dict(_PLAIN[hint])
    if origin in (typing.Union, types.UnionType):
        return _union([schema_of(argument, inside) for argument in arguments])
    if origin is typing.Literal:
        return _choice([value.value if isinstance(value, enum.Enum) else value for value in arguments])
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _choice([member.value for member in hint])
    if typing.is_typeddict(hint) or (isinstance(hint, type) and dataclasses.is_dataclass(hint)):
        return _record(hint, inside)
    return _container(hint, origin or hint, arguments, inside)


def note_of(hint: Any) -> str:
    """The description that an `Annotated` hint carries, or ""."""
    notes = hint.__metadata__ if typing.get_origin(hint) is typing.Annotated else ()
    texts = [note if isinstance(note, str) else getattr(note, "description", None) for note in notes]
    return " ".join(inspect.cleandoc(text) for text in texts if isinstance(text, str))


def json_of(value: Any) -> Any:
    """The JSON value of a default, or of anything inside one. Raises NotJsonError where it has none."""
    if isinstance(value, enum.Enum):
        return json_of(value.value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: json_of(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, pathlib.PurePath | uuid.UUID):
        return str(value)
    if isinstance(value, dict):
        return plain({key: json_of(inner) for key, inner in value.items()})
    if isinstance(value, list | tuple):
        return [json_of(inner) for inner in value]
    if isinstance(value, set | frozenset):
        return sorted((json_of(inner) for inner in value), key=repr)
    return plain(value)


def _unwrapped(hint: Any) -> Any:
    while True:
        if isinstance(hint, typing.NewType):
            hint = hint.__supertype__
        elif hasattr(hint, "__value__"):  # `type Name = …`, from Python 3.12 on
            hint = hint.__value__
        elif typing.get_origin(hint) in (typing.Required, typing.NotRequired, typing.Final):
            hint = typing.get_args(hint)[0]
        else:
            return hint


def _hashable(hint: Any) -> bool:
    try:
        hash(hint)
    except TypeError:
        return False
    return True


def _union(members: list[dict[str, Any]]) -> dict[str, Any]:
    distinct = [member for place, member in enumerate(members) if member not in members[:place]]
    if {} in distinct:
        return {}
    if len(distinct) == 1:
        return distinct[0]
    if all(set(member) == {"type"} and isinstance(member["type"], str) for member in distinct):
        return {"type": [member["type"] for member in distinct]}
    return {"anyOf": distinct}


def _choice(values: list[Any]) -> dict[str, Any]:
    try:
        allowed = [plain(value) for value in values]
    except NotJsonError as error:
        raise ValueError(f"one of its choices is not JSON: {error}") from None
    kinds = list(dict.fromkeys(_JSON_TYPES.get(type(value), "") for value in allowed))
    if not allowed or "" in kinds:
        return {"enum": allowed}
    return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": allowed}


def _record(hint: Any, inside: tuple[Any, ...]) -> dict[str, Any]:
    if hint in inside:
        raise ValueError(f"its type {hint.__name__} contains itself, which a tool definition cannot say")
    try:
        hints = typing.get_type_hints(hint, include_extras=True)
    except Exception as error:  # a hint may be any expression
        raise ValueError(f"the hints of its type {hint.__name__} cannot be read: {error}") from None
    defaults: dict[str, Any] = {}
    if typing.is_typeddict(hint):
        marks = {name: typing.get_origin(inner) for name, inner in hints.items()}
        always = hint.__required_keys__  # wrong about marks that are text, hence those first
        required = [
            name
            for name in hints
            if marks[name] is typing.Required or (marks[name] is not typing.NotRequired and name in always)
        ]
    else:
        fields = [field for field in dataclasses.fields(hint) if field.init]
        hints = {field.name: hints[field.name] for field in fields}
        defaults = {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
        made = {field.name for field in fields if field.default_factory is not dataclasses.MISSING}
        required = [name for name in hints if name not in defaults and name not in made]
    properties = {name: schema_of(inner, (*inside, hint)) for name, inner in hints.items()}
    for name, value in defaults.items():
        properties[name]["default"] = json_of(value)
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return {**schema, "required": required} if required else schema


def _container(hint: Any, kind: Any, arguments: tuple[Any, ...], inside: tuple[Any, ...]) -> dict[str, Any]:
    if isinstance(hint, typing.TypeVar):
        return schema_of(hint.__bound__, inside) if hint.__bound__ is not None else {}
    if kind in _LISTS or kind in _SETS or (kind is tuple and arguments[1:] == (Ellipsis,)):
        each = schema_of(arguments[0], inside) if arguments else {}
        unique = {"uniqueItems": True} if kind in _SETS else {}
        return {"type": "array", **({"items": each} if each else {}), **unique}
    if kind is tuple:
        items = [schema_of(argument, inside) for argument in arguments if argument != ()]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if kind in _OBJECTS:
        if arguments and _unwrapped(arguments[0]) not in (str, Any):
            raise ValueError(f"the keys of its type {hint!r} are not text, as those of a JSON object are")
        values = schema_of(arguments[1], inside) if arguments else {}
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    raise ValueError(f"its type {hint!r} has no JSON Schema. Use plain types, lists, dicts, a TypedDict or a dataclass")
