"""Expected against actual arguments: every difference, and the share of what was checked that is right.

Checked are the leaves of the expected value (a scalar, a matcher, a list and an empty object are one leaf each;
an object that is missing or of another type fails all of its leaves) and each argument sent that should not
have been. Objects are compared without regard to key order, lists in order, numbers by value, text after Unicode
NFC. Differences inside a list are listed one by one with their own paths, but the list is one leaf: it is right
or it is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .differences import kind_of_difference, same_value, type_kind
from .matcher_checks import argument_problems, problems
from .matchers import (
    Difference,
    Literal,
    difference,
    is_matcher,
    may_be_absent,
    must_be_sent,
    nearest_difference,
)
from .mismatch_forms import describe, mismatch_rows
from .nearmiss import did_you_mean
from .pairing import unpaired
from .records import Mismatch
from .toolschema import ABSENT, Declared, ToolSchema, tool_schema
from .valuepaths import inside, place_of

EXTRA = ("declared", "none", "any")
_SCALARS = frozenset({str, int, float, bool, type(None)})
_MOST_COMPARED = 200  # elements of a list, each with each, to find out whether only the order differs

matcher_problems = problems


@dataclass(frozen=True)
class ArgumentsCheck:
    """All mismatches (those that are allowed too), and how many checked paths there were and are right."""

    mismatches: tuple[Mismatch, ...]
    checked: int
    right: int

    @property
    def score(self) -> float:
        """The share of checked paths that are right; 1 where none was checked."""
        return self.right / self.checked if self.checked else 1.0

    @property
    def passed(self) -> bool:
        """Whether every checked path is right."""
        return self.right == self.checked


def compare_arguments(
    expected: Mapping[str, Any],
    actual: Mapping[str, Any],
    *,
    parameters: Mapping[str, Any] | ToolSchema | None = None,
    extra: str = "declared",
) -> ArgumentsCheck:
    """How the arguments of a call differ from the expected ones.

    `parameters` is the tool's JSON Schema: an expected argument that was not sent is right where its declared
    default is the expected value, and an argument that was not expected is allowed where it is declared
    (`extra="declared"`), never ("none") or always ("any"). Allowed ones are listed too, with `ok`. Expecting
    `{}` asks for exactly no arguments, so there "declared" refuses any. Without `parameters` nothing is declared.

    Raises ValueError for another `extra`.
    """
    if extra not in EXTRA:
        raise ValueError(f"extra must be one of {', '.join(EXTRA)}; got {extra!r}.{did_you_mean(str(extra), EXTRA)}")
    schema = parameters if isinstance(parameters, ToolSchema) else tool_schema(parameters)
    comparison = _Comparison("none" if not expected and extra == "declared" else extra)
    comparison.keys(expected, actual, "", schema.declared if schema is not None else None)
    return comparison.result()


def compare_values(expected: Any, actual: Any, path: str = "", *, literal: bool = False) -> ArgumentsCheck:
    """How one JSON value differs from the expected one, in which matchers may stand unless it is `literal`."""
    comparison = _Comparison("declared", literal=literal)
    comparison.value(expected, actual, path, None)
    return comparison.result()


class _Comparison:
    """One walk over an expected value; `quick` ends at the first difference and looks for no explanation."""

    def __init__(self, extra: str, *, literal: bool = False, quick: bool = False):
        self.extra, self.literal, self.quick = extra, literal, quick
        self.mismatches: list[Mismatch] = []
        self.checked = self.right = 0

    def result(self) -> ArgumentsCheck:
        return ArgumentsCheck(tuple(self.mismatches), self.checked, self.right)

    def value(self, expected: Any, actual: Any, path: str, schema: Declared | None) -> None:
        """Compare a value that was sent."""
        if type(expected) in _SCALARS:
            self._scalar(expected, actual, path)
        elif type(expected) is Literal:
            before, self.literal = self.literal, True
            self.value(expected.value, actual, path, schema)
            self.literal = before
        elif isinstance(expected, Mapping):
            if not self.literal and is_matcher(expected):
                self._matcher(expected, actual, path, schema)
            elif not isinstance(actual, Mapping):
                self._wrong(type_kind("object", actual), expected, actual, path, leaves=self._leaves(expected))
            elif expected:
                self.keys(expected, actual, path, schema)
            else:
                self._right()
                self._extras(expected, actual, path, schema)
        elif isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
            self._list(expected, actual, path, schema)
        else:
            self._scalar(expected, actual, path)

    def _scalar(self, expected: Any, actual: Any, path: str) -> None:
        if same_value(expected, actual):
            self._right()
        else:
            kind = "value" if self.quick else kind_of_difference(expected, actual)
            self._wrong(kind or "value", expected, actual, path)

    def keys(self, expected: Mapping[str, Any], actual: Mapping[str, Any], path: str, schema: Declared | None) -> None:
        """Compare two objects key by key."""
        for key, wanted in expected.items():
            if self.quick and self.right < self.checked:
                return
            declared = schema.property(key) if schema is not None else None
            if key in actual:
                self.value(wanted, actual[key], inside(path, key), declared)
            else:
                self._missing(wanted, inside(path, key), declared)
        self._extras(expected, actual, path, schema)

    def _missing(self, expected: Any, path: str, declared: Declared | None) -> None:
        if not self.literal and may_be_absent(expected):
            self._right()
            return
        default = declared.default if declared is not None else ABSENT
        if default is not ABSENT and not must_be_sent(expected) and self.meets(expected, default, declared):
            leaves = self._leaves(expected)
            self._right(leaves)
            self._note(path, "missing", expected, None, "it is the declared default")
        else:
            self._wrong("missing", expected, None, path, leaves=self._leaves(expected))

    def _extras(
        self, expected: Mapping[str, Any], actual: Mapping[str, Any], path: str, schema: Declared | None
    ) -> None:
        if actual.keys() <= expected.keys():
            return
        for key, sent in actual.items():
            if key in expected:
                continue
            declared = schema.property(key) if schema is not None else None
            kind = _extra_kind(sent, declared)
            if self.extra == "any" or (self.extra == "declared" and kind != "extra"):
                self._note(inside(path, key), kind, None, sent)
            else:
                self._wrong("extra", None, sent, inside(path, key))

    def _list(self, expected: Sequence[Any], actual: Sequence[Any], path: str, schema: Declared | None) -> None:
        if len(expected) != len(actual):
            self._wrong("list_length", expected, actual, path)
            return
        declared = schema.element() if schema is not None else None
        nested = _Comparison(self.extra, literal=self.literal, quick=self.quick)
        right = []
        for index, (wanted, sent) in enumerate(zip(expected, actual, strict=True)):
            wrong_before = nested.checked - nested.right
            nested.value(wanted, sent, place_of(path, index), declared)
            right.append(nested.checked - nested.right == wrong_before)
            if self.quick and not right[-1]:
                self._wrong("value", expected, actual, path)
                return
        if all(right):
            self._right()
            self.mismatches += nested.mismatches
        elif self._reordered(expected, actual, right, declared):
            self._wrong("list_order", expected, actual, path)
        else:
            self.checked += 1
            self.mismatches += nested.mismatches

    def _reordered(
        self, expected: Sequence[Any], actual: Sequence[Any], right: list[bool], declared: Declared | None
    ) -> bool:
        """Whether the elements that differ are the same ones in another order."""
        places = [index for index, one in enumerate(right) if not one]
        if len(places) < 2:
            return False
        wanted, sent = [expected[index] for index in places], [actual[index] for index in places]
        left, _ = unpaired(wanted, sent, lambda one, other: self.meets(one, other, declared), _MOST_COMPARED)
        return not left

    def _matcher(self, matcher: Mapping[str, Any], actual: Any, path: str, schema: Declared | None) -> None:
        found = difference(matcher, actual, _Inside(self, schema))
        if found is None:
            self._right()
        else:
            self._wrong(found.kind, matcher, actual, path, found.note)

    def meets(self, expected: Any, actual: Any, schema: Declared | None) -> bool:
        """Whether a nested value is right."""
        if type(expected) in _SCALARS:
            return same_value(expected, actual)
        nested = _Comparison(self.extra, literal=self.literal, quick=True)
        nested.value(expected, actual, "", schema)
        return nested.right == nested.checked

    def _leaves(self, expected: Any) -> int:
        if isinstance(expected, Mapping) and expected and (self.literal or not is_matcher(expected)):
            return sum(self._leaves(inner) for inner in expected.values())
        return 1

    def _right(self, leaves: int = 1) -> None:
        self.checked += leaves
        self.right += leaves

    def _wrong(self, kind: str, expected: Any, actual: Any, path: str, note: str = "", leaves: int = 1) -> None:
        self.checked += leaves
        self.mismatches.append(Mismatch(path, kind, expected, actual, False, note))

    def _note(self, path: str, kind: str, expected: Any, actual: Any, note: str = "") -> None:
        self.mismatches.append(Mismatch(path, kind, expected, actual, True, note))


class _Inside:
    """How a matcher compares the values that it holds: as the comparison around it does."""

    def __init__(self, comparison: _Comparison, schema: Declared | None):
        self._comparison, self._schema = comparison, schema

    def whole(self, expected: Any, actual: Any) -> Difference | None:
        return self._difference(expected, actual, self._schema)

    def element(self, expected: Any, actual: Any) -> Difference | None:
        return self._difference(expected, actual, self._element())

    def meets_whole(self, expected: Any, actual: Any) -> bool:
        return self._comparison.meets(expected, actual, self._schema)

    def meets_element(self, expected: Any, actual: Any) -> bool:
        return self._comparison.meets(expected, actual, self._element())

    def _element(self) -> Declared | None:
        return self._schema.element() if self._schema is not None else None

    def _difference(self, expected: Any, actual: Any, schema: Declared | None) -> Difference | None:
        """The nearest difference of a nested value; a matcher is one leaf as a whole."""
        around = self._comparison
        nested = _Comparison(around.extra, literal=around.literal, quick=around.quick)
        nested.value(expected, actual, "", schema)
        if nested.right == nested.checked:
            return None
        wrong = [Difference(one.kind, one.note) for one in nested.mismatches if not one.ok]
        return wrong[0] if len(wrong) == 1 else Difference(nearest_difference(wrong).kind)


def _extra_kind(sent: Any, declared: Declared | None) -> str:
    if declared is None:
        return "extra"
    if declared.default is not ABSENT and compare_values(declared.default, sent, literal=True).passed:
        return "extra_default"
    return "extra_optional"


__all__ = [
    "ArgumentsCheck",
    "argument_problems",
    "compare_arguments",
    "compare_values",
    "describe",
    "matcher_problems",
    "mismatch_rows",
]
