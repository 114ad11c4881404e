"""How the parts of a JSON Schema hang together: where it runs in circles, and how much work it can make.

A part is applied either to the same value as the part that names it (`allOf`, `$ref`, …: *here*) or to
something inside that value (`properties`, `items`, …: *below*). A circle of parts that are all applied here
never ends. Parts that are named several times multiply, with every `here` and, in a schema that refers to
itself, with every level of the value: `work` bounds how often any one value is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

MOST_PARTS = 20_000
_HERE_ONE, _HERE_LIST, _HERE_MAP = ("not", "if", "then", "else"), ("allOf", "anyOf", "oneOf"), ("dependentSchemas",)
_BELOW_ONE = (
    *("additionalProperties", "unevaluatedProperties", "propertyNames"),
    *("items", "additionalItems", "unevaluatedItems", "contains"),
)
_BELOW_LIST, _BELOW_MAP, _HELD = ("prefixItems", "items"), ("patternProperties",), ("$defs", "definitions")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_REFERENCE_ALONE = ("draft-04", "draft-06", "draft-07")  # drafts in which nothing beside a `$ref` counts
_LOOKED_AT_AGAIN = ("unevaluatedProperties", "unevaluatedItems")  # these go through what is applied here once more


@dataclass(eq=False)
class Part:
    """One subschema: what it applies here, below under one name each, and below to anything."""

    schema: Mapping[str, Any]
    base: str
    here: list[Part] = field(default_factory=list)
    named: list[Part] = field(default_factory=list)
    below: list[Part] = field(default_factory=list)
    references: dict[int, str] = field(default_factory=dict)

    @property
    def again(self) -> int:
        """How often what is applied here is gone through."""
        return 2 if any(key in self.schema for key in _LOOKED_AT_AGAIN) else 1


class Graph:
    """All parts of a schema. Raises ValueError, with a sentence, where they are too many or run in a circle."""

    def __init__(self, schema: Any):
        self.patterns: set[str] = set()
        self._parts: dict[int, Part] = {}
        self._places: dict[tuple[str, str], Any] = {("", ""): schema}
        self._alone = isinstance(schema, Mapping) and any(d in str(schema.get("$schema")) for d in _REFERENCE_ALONE)
        self._add(schema, "")
        self._connect()
        self.root = self._parts.get(id(schema))
        self.order = list(self._here_first())
        self._bounds: list[tuple[int, int]] = []
        self._state: tuple[dict[int, int], dict[int, int]] = ({}, {})

    def bounds(self, depth: int, most: int) -> tuple[int, int]:
        """How often one value can be looked at, and how deep in one another, in a value nested `depth` levels.

        Counting stops where it exceeds `most`.
        """
        while len(self._bounds) <= depth and (not self._bounds or self._bounds[-1][0] <= most):
            before = self._state
            self._state = self._one_level_more(*before)
            if self.root is None or self._state == before:
                return self._bounds[-1] if self._bounds else (1, 1)
            self._bounds.append((self._state[0][id(self.root)], self._state[1][id(self.root)]))
        return self._bounds[min(depth, len(self._bounds) - 1)]

    def _one_level_more(self, work: dict[int, int], height: dict[int, int]) -> tuple[dict[int, int], dict[int, int]]:
        new_work: dict[int, int] = {}
        new_height: dict[int, int] = {}
        for part in self.order:
            here = sum(new_work[id(one)] for one in part.here)
            named = max((work.get(id(one), 0) for one in part.named), default=0)
            below = sum(work.get(id(one), 0) for one in part.below)
            new_work[id(part)] = 1 + part.again * here + named + below
            deepest = [new_height[id(one)] for one in part.here]
            deepest += [height.get(id(one), 0) for one in (*part.named, *part.below)]
            new_height[id(part)] = 1 + max(deepest, default=0)
        return new_work, new_height

    def _add(self, schema: Any, base: str) -> None:
        """Find all parts from one schema on, each with its base address, its anchors and its patterns."""
        waiting = [(schema, base)]
        while waiting:
            schema, base = waiting.pop()
            if not isinstance(schema, Mapping) or id(schema) in self._parts:
                continue
            base = self._named_base(schema, base)
            self._parts[id(schema)] = Part(schema, base)
            if len(self._parts) > MOST_PARTS:
                raise ValueError(f"it has more than {MOST_PARTS} parts")
            if isinstance(schema.get("pattern"), str):
                self.patterns.add(schema["pattern"])
            if isinstance(schema.get("patternProperties"), Mapping):
                self.patterns.update(str(key) for key in schema["patternProperties"])
            waiting += [(inner, base) for _, inner in _inner(schema)]

    def _named_base(self, schema: Mapping[str, Any], base: str) -> str:
        own = schema.get("$id", schema.get("id"))
        if isinstance(own, str) and not (self._alone and "$ref" in schema):
            address, anchor = urldefrag(own)
            if address:
                base = urljoin(base, address)
                self._places[base, ""] = schema
            if anchor:
                self._places[base, anchor] = schema
        for key in ("$anchor", "$dynamicAnchor"):
            if isinstance(schema.get(key), str):
                self._places[base, schema[key]] = schema
        return base

    def _connect(self) -> None:
        waiting = list(self._parts.values())
        while waiting:
            part = waiting.pop()
            for key in _REFERENCES:
                reference = part.schema.get(key)
                target = self._target(reference, part.base) if isinstance(reference, str) else None
                if isinstance(target, Mapping):
                    known = len(self._parts)
                    self._add(target, part.base)
                    waiting += list(self._parts.values())[known:]
                    part.here.append(self._parts[id(target)])
                    part.references[id(target)] = str(reference)
            if self._alone and "$ref" in part.schema:
                continue
            for kind, inner in _inner(part.schema):
                if isinstance(inner, Mapping) and kind != "held":
                    getattr(part, kind).append(self._parts[id(inner)])

    def _target(self, reference: str, base: str) -> Any:
        if reference.startswith("#"):
            address, fragment = base, reference[1:]
        else:
            address, fragment = urldefrag(urljoin(base, reference))
        fragment = unquote(fragment)
        if not fragment.startswith("/"):
            return self._places.get((address, fragment), self._places["", ""] if address == fragment == "" else None)
        found = self._places.get((address, ""))
        for step in fragment[1:].split("/"):
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and step.isascii() and step.isdigit() and int(step[:9]) < len(found):
                found = found[int(step[:9])]
            else:
                found = found.get(step) if isinstance(found, Mapping) else None
        return found

    def _here_first(self) -> Iterator[Part]:
        """Every part after all that it applies here. Raises ValueError for a circle."""
        done: set[int] = set()
        for start in self._parts.values():
            path, waiting = {id(start): start}, [iter(start.here)]
            if id(start) in done:
                continue
            while waiting:
                part = next(reversed(path.values()))
                inner = next(waiting[-1], None)
                if inner is None:
                    waiting.pop()
                    path.popitem()
                    done.add(id(part))
                    yield part
                elif id(inner) in path:
                    raise ValueError(_circle(list(path.values()), inner))
                elif id(inner) not in done:
                    path[id(inner)] = inner
                    waiting.append(iter(inner.here))


def _circle(path: list[Part], start: Part) -> str:
    circle = path[path.index(start) :]
    steps = zip(circle, [*circle[1:], start], strict=True)
    through = [part.references[id(after.schema)] for part, after in steps if id(after.schema) in part.references]
    named = " → ".join(repr(reference) for reference in dict.fromkeys(through))
    return f"it refers to itself without end ({named}): no step leads further into the value"


def _inner(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every subschema that stands directly in one: whether it applies here, below, below under a name, or is held."""
    for kind, ones, lists, maps in (
        ("here", _HERE_ONE, _HERE_LIST, (*_HERE_MAP, "dependencies")),
        ("below", _BELOW_ONE, _BELOW_LIST, _BELOW_MAP),
        ("named", (), (), ("properties",)),
        ("held", (), (), _HELD),
    ):
        for key in ones:
            yield kind, schema.get(key)
        for key in lists:
            if isinstance(schema.get(key), list | tuple):
                yield from ((kind, one) for one in schema[key])
        for key in maps:
            if isinstance(schema.get(key), Mapping):
                yield from ((kind, one) for one in schema[key].values())
