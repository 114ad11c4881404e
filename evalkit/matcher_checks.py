"""What is wrong with the matchers in an expected value, each fault a sentence with its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .dates import read_iso
from .differences import json_type
from .nearmiss import did_you_mean
from .patterns import compiled
from .valuepaths import inside, place_of

REL_DEFAULT = 1e-6  # `$approx` with neither "rel" nor "abs"
SIMILAR_DEFAULT = 0.8  # `$similar` without "min"
JSON_TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
_OPTIONS: Mapping[str, tuple[str, ...]] = {"$approx": ("rel", "abs"), "$similar": ("min",)}

Say = Callable[[str], None]


def problems(value: Any, path: str = "") -> list[str]:
    """Every broken matcher in an expected value; [] where there is none. Sentences begin with the place."""
    found: list[str] = []
    _look(value, path, found, in_list=False)
    return found


def argument_problems(expected_arguments: Mapping[str, Any], path: str = "") -> list[str]:
    """Every broken matcher in a case's expected arguments, whose own keys are names, whatever they begin with.

    A matcher in place of the arguments as a whole is a problem too.
    """
    found: list[str] = []
    for name, value in expected_arguments.items():
        if name in NAMES:
            where = f"{path}: " if path else ""
            found.append(f"{where}{name} stands in place of the arguments. A matcher stands where one value would")
        else:
            _look(value, inside(path, name), found, in_list=False)
    return found


def _look(value: Any, path: str, found: list[str], *, in_list: bool) -> None:
    if isinstance(value, list | tuple):
        for index, element in enumerate(value):
            _look(element, place_of(path, index), found, in_list=True)
    elif isinstance(value, Mapping):
        dollars = [key for key in value if isinstance(key, str) and key.startswith("$")]
        if dollars:
            _look_at_matcher(value, dollars, path, found, in_list=in_list)
        else:
            for key, inner in value.items():
                _look(inner, inside(path, key), found, in_list=False)


def _look_at_matcher(
    value: Mapping[str, Any], dollars: list[str], path: str, found: list[str], *, in_list: bool
) -> None:
    def say(sentence: str) -> None:
        found.append(f"{path}: {sentence}" if path else sentence)

    name = dollars[0]
    if len(dollars) > 1:
        say(f"{' and '.join(dollars)} in one object: a matcher has one `$` key. {_LITERAL}")
    elif name not in _CHECKS:
        say(f"unknown matcher {name!r}.{did_you_mean(name, NAMES)} Known: {', '.join(NAMES)}. {_LITERAL}")
    else:
        allowed = _OPTIONS.get(name, ())
        for key in value:
            if key != name and key not in allowed:
                takes = f"{name} takes {' and '.join(allowed)}" if allowed else f"{name} stands alone"
                say(f"unknown key {key!r} beside {name}.{did_you_mean(str(key), allowed)} {takes}")
        if in_list and name in ("$absent", "$optional"):
            say(f"{name} has no place inside a list, where every element is sent")
        _CHECKS[name](value[name], value, say)
        _look_within(name, value[name], path, found, in_list=in_list)


_LITERAL = 'An object that itself begins with `$` is written {"$literal": …}'


def _look_within(name: str, operand: Any, path: str, found: list[str], *, in_list: bool) -> None:
    if name == "$one_of" and isinstance(operand, list | tuple):
        for option in operand:
            _look(option, path, found, in_list=in_list)
    elif name in ("$optional", "$contains", "$unordered"):
        _look(operand, path, found, in_list=name == "$contains")


def _anything(operand: Any, matcher: Mapping[str, Any], say: Say) -> None:
    """Any operand will do, or is looked at by itself."""


def _true(operand: Any, matcher: Mapping[str, Any], say: Say) -> None:
    if operand is not True:
        name = next(key for key in matcher if key.startswith("$"))
        say(f'{name} is written {{"{name}": true}}, got {operand!r}')


def _options(operand: Any, matcher: Mapping[str, Any], say: Say) -> None:
    if not isinstance(operand, list | tuple) or not operand:
        say(f"$one_of takes a list of at least one value, got {operand!r}")


def _list(operand: Any, matcher: Mapping[str, Any], say: Say) -> None:
    if not isinstance(operand, list | tuple):
        say(f"$unordered takes a list, got {operand!r}")


def _type(operand: Any, matcher: Mapping[str, Any], say: Say) -> None:
    given = operand if isinstance(operand, list | tuple) and operand else [operand]
    for name in given:
        if not isinstance(name, str) or name not in JSON_TYPES:
            hint = did_you_mean(name, JSON_TYPES) if isinstance(name, str) else ""
            say(f"$type takes a JSON type, got {name!r}.{hint} Types: {', '.join(JSON_TYPES)}")


def _text(operand: Any, matcher: Mapping[str, Any], say: Say) -> None:
    if not isinstance(operand, str):
        name = next(key for key in matcher if key.startswith("$"))
        say(f"{name} takes text, got {operand!r}")


def _pattern(operand: Any, matcher: Mapping[str, Any], say: Say) -> None:
    _text(operand, matcher, say)
    try:
        compiled(str(operand))
    except ValueError as error:
        say(f"$regex: the pattern {str(operand)[:60]!r} cannot be used: {error}")


def _part(operand: Any, matcher: Mapping[str, Any], say: Say) -> None:
    if operand == "":
        say("$contains with empty text is met by every text")


def _number(operand: Any, matcher: Mapping[str, Any], say: Say) -> None:
    if not _is_number(operand):
        say(f"$approx takes a number, got {operand!r}")
    for option in ("rel", "abs"):
        if option in matcher and not (_is_number(matcher[option]) and matcher[option] >= 0):
            say(f"{option!r} beside $approx must be a number from 0 up, got {matcher[option]!r}")


def _day(operand: Any, matcher: Mapping[str, Any], say: Say) -> None:
    if not isinstance(operand, str) or read_iso(operand) is None:
        say(f"$date takes an ISO date or time such as 2024-04-01 or 2024-04-01T09:00Z, got {operand!r}")


def _similar(operand: Any, matcher: Mapping[str, Any], say: Say) -> None:
    _text(operand, matcher, say)
    least = matcher.get("min", SIMILAR_DEFAULT)
    if not _is_number(least) or not 0 < least <= 1:
        say(f"'min' beside $similar must be above 0 and at most 1, got {least!r}")


def _is_number(value: Any) -> bool:
    return json_type(value) == "number" and bool(value - value == 0)  # neither NaN nor infinite, at any size


_CHECKS: Mapping[str, Callable[[Any, Mapping[str, Any], Say], None]] = {
    "$one_of": _options,
    "$any": _true,
    "$absent": _true,
    "$type": _type,
    "$text": _text,
    "$regex": _pattern,
    "$contains": _part,
    "$approx": _number,
    "$unordered": _list,
    "$date": _day,
    "$similar": _similar,
    "$optional": _anything,
    "$literal": _anything,
}
NAMES = tuple(_CHECKS)
