"""How the parts of a JSON Schema hang together: where it runs in circles, and how much work it can make.

A part is applied either to the same value as the part that names it (`allOf`, `$ref`, …: *here*) or to
something inside that value (`properties`, `items`, …: *below*). A circle of parts that are all applied here
never ends. Parts that are named several times multiply, with every `here` and, in a schema that refers to
itself, with every level of the value: `work` bounds how often any one value is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

MOST_PARTS = 10_000
_HERE = ("not", "if", "then", "else", "allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies")
_BELOW = (
    *("patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames"),
    *("prefixItems", "items", "additionalItems", "unevaluatedItems", "contains"),
)
_KIND_OF = dict.fromkeys(_HERE, "here") | dict.fromkeys(_BELOW, "below") | {"properties": "named"}
_KIND_OF |= dict.fromkeys(("$defs", "definitions"), "held")
_BY_NAME = ("properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_REFERENCE_ALONE = ("draft-04", "draft-06", "draft-07")  # drafts in which nothing beside a `$ref` counts
_LOOKED_AT_AGAIN = ("unevaluatedProperties", "unevaluatedItems")  # these go through what is applied here once more


@dataclass(eq=False)
class Part:
    """One subschema: what it applies here, below under one name each, and below to anything."""

    schema: dict[str, Any]
    base: str
    number: int
    here: list[Part] = field(default_factory=list)
    named: list[Part] = field(default_factory=list)
    below: list[Part] = field(default_factory=list)
    references: dict[int, str] = field(default_factory=dict)  # by the number of the part referred to

    @property
    def again(self) -> int:
        """How often what is applied here is gone through."""
        return 2 if any(key in self.schema for key in _LOOKED_AT_AGAIN) else 1


class Graph:
    """All parts of a schema as JSON holds it. Raises ValueError where they are too many or run in a circle."""

    def __init__(self, schema: Any):
        self.patterns: set[str] = set()
        self._parts: dict[int, Part] = {}
        self._places: dict[tuple[str, str], Any] = {("", ""): schema}
        self._alone = isinstance(schema, dict) and any(d in str(schema.get("$schema")) for d in _REFERENCE_ALONE)
        self._add(schema, "")
        self._connect()
        self._order = list(self._here_first())
        self._levels: list[tuple[int, int]] = []
        self._work = self._height = [0] * len(self._parts)

    def bounds(self, depth: int, most_work: int, most_height: int) -> tuple[int, int]:
        """How often one value can be looked at, and how many parts deep, in a value nested `depth` levels.

        Counting stops where either is more than asked about.
        """
        if not self._parts:
            return 1, 1
        while len(self._levels) <= depth:
            if self._levels and (self._levels[-1][0] > most_work or self._levels[-1][1] > most_height):
                break
            work, height = self._one_level_more()
            if (work, height) == (self._work, self._height):
                break
            self._work, self._height = work, height
            self._levels.append((work[0], height[0]))  # the root is the first part
        return self._levels[min(depth, len(self._levels) - 1)]

    def _one_level_more(self) -> tuple[list[int], list[int]]:
        before_work, before_height = self._work, self._height
        work, height = [0] * len(before_work), [0] * len(before_work)
        for part in self._order:
            here = sum(work[one.number] for one in part.here)
            named = max((before_work[one.number] for one in part.named), default=0)
            below = sum(before_work[one.number] for one in part.below)
            work[part.number] = 1 + part.again * here + named + below
            deepest = [height[one.number] for one in part.here]
            deepest += [before_height[one.number] for one in (*part.named, *part.below)]
            height[part.number] = 1 + max(deepest, default=0)
        return work, height

    def _add(self, schema: Any, base: str) -> list[Part]:
        """The parts that are new from one schema on, each with its base address, its anchors and its patterns."""
        waiting, new = [(schema, base)], []
        while waiting:
            schema, base = waiting.pop()
            if not isinstance(schema, dict) or id(schema) in self._parts:
                continue
            base = self._named_base(schema, base)
            new.append(Part(schema, base, len(self._parts)))
            self._parts[id(schema)] = new[-1]
            if len(self._parts) > MOST_PARTS:
                raise ValueError(f"it has more than {MOST_PARTS} parts")
            if isinstance(schema.get("pattern"), str):
                self.patterns.add(schema["pattern"])
            if isinstance(schema.get("patternProperties"), dict):
                self.patterns.update(schema["patternProperties"])
            waiting += [(inner, base) for _, inner in _inner(schema)]
        return new

    def _named_base(self, schema: dict[str, Any], base: str) -> str:
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
                if isinstance(target, dict):
                    waiting += self._add(target, part.base)
                    found = self._parts[id(target)]
                    part.here.append(found)
                    part.references[found.number] = str(reference)
            if self._alone and "$ref" in part.schema:
                continue
            for kind, inner in _inner(part.schema):
                if kind != "held":
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
                found = found.get(step) if isinstance(found, dict) else None
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
    through = [part.references[after.number] for part, after in steps if after.number in part.references]
    named = " → ".join(repr(reference) for reference in dict.fromkeys(through))
    return f"it refers to itself without end ({named}): no step leads further into the value"


def _inner(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every subschema that stands directly in one: whether it applies here, below, below under a name, or is held."""
    for key, value in schema.items():
        kind = _KIND_OF.get(key)
        if kind is None:
            continue
        if isinstance(value, dict):
            inner = list(value.values()) if key in _BY_NAME else [value]
        else:
            inner = value if isinstance(value, list) else []
        yield from ((kind, one) for one in inner if isinstance(one, dict))
