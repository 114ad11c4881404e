"""Matchers: objects with one `$` key that stand where an expected value would.

Each matcher is a question put to the value that was sent; the answer is None (met) or a `Difference`. A matcher
may hold values that are matchers again: how those are compared is handed in by the caller. What a matcher may
look like is checked when a dataset loads (`problems`); one that is broken all the same is met by nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from . import dates, limits, patterns
from .differences import (
    composed,
    is_integral,
    json_type,
    text_kind,
    type_kind,
    within,
)
from .matcher_checks import REL_DEFAULT, SIMILAR_DEFAULT, problems
from .pairing import unpaired

__all__ = ["Difference", "difference", "is_matcher", "may_be_absent", "must_be_sent", "nearest_difference", "problems"]

# From the most harmless kind to the plainest failure: which of several differences to name.
_NEAREST_FIRST = (
    *("whitespace", "unicode", "case", "punctuation", "date", "number", "list_order", "list_length"),
    *("double_encoded", "extra", "missing", "value", "type"),
)
_CLOSEST = 10  # values on either side that are looked at to name the nearest difference


class Difference(NamedTuple):
    """How a value differs from what was expected; `note` says why where the kind does not."""

    kind: str
    note: str = ""


Compare = Callable[[Any, Any], "Difference | None"]


class Comparing(Protocol):
    """How nested values are compared: in the matcher's own place (`whole`), or inside a list there (`element`).

    The `meets_` forms only tell whether there is a difference, which is quicker.
    """

    def whole(self, expected: Any, actual: Any) -> Difference | None: ...
    def element(self, expected: Any, actual: Any) -> Difference | None: ...
    def meets_whole(self, expected: Any, actual: Any) -> bool: ...
    def meets_element(self, expected: Any, actual: Any) -> bool: ...


def is_matcher(value: Mapping[Any, Any]) -> bool:
    """Whether an expected object is meant as a matcher: it has a key that begins with `$`."""
    for key in value:  # noqa: SIM110  (a generator takes three times as long, and every object is asked)
        if isinstance(key, str) and key.startswith("$"):
            return True
    return False


def may_be_absent(value: Any) -> bool:
    """Whether an expected value is met by nothing sent."""
    if not isinstance(value, Mapping) or not is_matcher(value):
        return False
    if "$one_of" in value:
        options = value["$one_of"]
        return isinstance(options, list | tuple) and any(may_be_absent(option) for option in options)
    return "$absent" in value or "$optional" in value


def must_be_sent(value: Any) -> bool:
    """Whether a declared default cannot stand in for the value: `$any` asks that something is sent."""
    return isinstance(value, Mapping) and "$any" in value


def difference(matcher: Mapping[str, Any], actual: Any, comparing: Comparing) -> Difference | None:
    """How `actual`, which was sent, fails the matcher; None where it meets it. Raises TooCostly (see `limits`)."""
    name = next(key for key in matcher if isinstance(key, str) and key.startswith("$"))
    if name not in _QUESTIONS or (len(matcher) > 1 and name not in ("$approx", "$similar")):
        return Difference("value", _first(problems(matcher)))
    try:
        return _QUESTIONS[name](matcher, actual, comparing)
    except limits.TooCostly:
        raise
    except Exception:
        found = problems(matcher)
        if not found:
            raise
        return Difference("value", _first(found))


def nearest_difference(found: Sequence[Difference]) -> Difference:
    """The difference that is nearest to being none."""
    return min(found, key=lambda one: _NEAREST_FIRST.index(one.kind))


def _first(found: Sequence[str]) -> str:
    return f"the expectation is broken: {found[0]}" if found else ""


def _one_of(matcher: Mapping[str, Any], actual: Any, comparing: Comparing) -> Difference | None:
    options = matcher["$one_of"]
    if any(comparing.meets_whole(option, actual) for option in options):
        return None
    return Difference(_nearest(options, [actual], comparing.whole))


def _nearest(wanted: Sequence[Any], sent: Sequence[Any], compare: Compare) -> str:
    """The kind of the nearest difference of any of the first few expected and sent values."""
    pairs = [(one, other) for one in wanted[:_CLOSEST] for other in sent[:_CLOSEST]]
    return nearest_difference([found for pair in pairs if (found := compare(*pair)) is not None]).kind


def _any(matcher: Mapping[str, Any], actual: Any, comparing: Comparing) -> Difference | None:
    return None


def _absent(matcher: Mapping[str, Any], actual: Any, comparing: Comparing) -> Difference | None:
    return Difference("extra", "must not be sent")


def _type(matcher: Mapping[str, Any], actual: Any, comparing: Comparing) -> Difference | None:
    wanted = matcher["$type"]
    sent = json_type(actual)
    for name in [wanted] if isinstance(wanted, str) else wanted:
        if name == sent or (name == "integer" and sent == "number" and is_integral(actual)):
            return None
    encoded = isinstance(wanted, str) and type_kind(wanted, actual) == "double_encoded"
    return Difference("double_encoded" if encoded else "type")


def _text(matcher: Mapping[str, Any], actual: Any, comparing: Comparing) -> Difference | None:
    if not isinstance(actual, str):
        return Difference("type")
    wanted, sent = _folded(matcher["$text"]), _folded(actual)
    return None if wanted == sent else Difference(text_kind(wanted, sent))


def _folded(text: str) -> str:
    return composed(composed(" ".join(text.split())).casefold())


def _regex(matcher: Mapping[str, Any], actual: Any, comparing: Comparing) -> Difference | None:
    if not isinstance(actual, str):
        return Difference("type")
    return None if patterns.found(matcher["$regex"], composed(actual)) else Difference("value")


def _contains(matcher: Mapping[str, Any], actual: Any, comparing: Comparing) -> Difference | None:
    wanted = matcher["$contains"]
    if isinstance(actual, list | tuple):
        if any(comparing.meets_element(wanted, element) for element in actual):
            return None
        return Difference(_nearest([wanted], actual, comparing.element) if actual else "value", "no element is that")
    if not isinstance(actual, str) or not isinstance(wanted, str):
        return Difference("type")
    if composed(wanted) in composed(actual):
        return None
    return Difference(text_kind(wanted, actual, lambda part, text: part in text))


def _approx(matcher: Mapping[str, Any], actual: Any, comparing: Comparing) -> Difference | None:
    if json_type(actual) != "number":
        return Difference("type")
    absolute = matcher.get("abs", 0)
    relative = matcher.get("rel", 0 if "abs" in matcher else REL_DEFAULT)
    wanted = matcher["$approx"]
    return None if wanted == actual or within(wanted, actual, relative, absolute) else Difference("number")


def _unordered(matcher: Mapping[str, Any], actual: Any, comparing: Comparing) -> Difference | None:
    wanted = matcher["$unordered"]
    if not isinstance(actual, list | tuple):
        return Difference(type_kind("array", actual))
    if len(wanted) != len(actual):
        return Difference("list_length", f"{len(wanted)} elements expected, got {len(actual)}")
    left, over = unpaired(wanted, actual, comparing.meets_element)
    if not left:
        return None
    kind = _nearest([wanted[place] for place in left], [actual[place] for place in over], comparing.element)
    return Difference(kind, f"{len(left)} of {len(wanted)} elements differ")


def _date(matcher: Mapping[str, Any], actual: Any, comparing: Comparing) -> Difference | None:
    if not isinstance(actual, str):
        return Difference("type")
    text = matcher["$date"]
    wanted, sent = dates.read_iso(text), dates.read_iso(actual)
    if wanted is None:
        raise ValueError("not an ISO date")
    if sent is None:
        return _not_iso(text, actual)
    same = dates.same_moment(wanted, sent)
    if same is None:
        return Difference("date", "only one of the two times has a UTC offset")
    return None if same else Difference("value")


def _not_iso(wanted: str, actual: str) -> Difference:
    meant = dates.readings(actual)
    if len(meant) > 1:
        return Difference("date", f"ambiguous: {dates.in_words(meant)}; only ISO spellings such as 2024-04-01 count")
    kind = text_kind(wanted, actual)
    return Difference(kind, "not an ISO spelling" if meant else "not a date")


def _similar(matcher: Mapping[str, Any], actual: Any, comparing: Comparing) -> Difference | None:
    if not isinstance(actual, str):
        return Difference("type")
    least = matcher.get("min", SIMILAR_DEFAULT)
    wanted, sent = composed(matcher["$similar"]), composed(actual)
    found = 1 - limits.edits(wanted, sent) / max(len(wanted), len(sent), 1)
    if found >= least - 1e-9:
        return None
    return Difference(text_kind(wanted, sent), f"similarity {found:.2f}, at least {least:g} expected")


def _optional(matcher: Mapping[str, Any], actual: Any, comparing: Comparing) -> Difference | None:
    return comparing.whole(matcher["$optional"], actual)


def _literal(matcher: Mapping[str, Any], actual: Any, comparing: Comparing) -> Difference | None:
    return comparing.whole(Literal(matcher["$literal"]), actual)


class Literal(NamedTuple):
    """A value in which nothing is a matcher, whatever its keys begin with."""

    value: Any


_QUESTIONS: dict[str, Callable[[Mapping[str, Any], Any, Comparing], Difference | None]] = {
    "$one_of": _one_of,
    "$any": _any,
    "$absent": _absent,
    "$type": _type,
    "$text": _text,
    "$regex": _regex,
    "$contains": _contains,
    "$approx": _approx,
    "$unordered": _unordered,
    "$date": _date,
    "$similar": _similar,
    "$optional": _optional,
    "$literal": _literal,
}
