"""The reviewer that looks for one number in the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from . import jsontext
from .differences import REL_TOLERANCE, is_integral, within
from .records import Verdict
from .review_checks import not_negative, number, shown
from .review_own import built_in

_MOST_LISTED = 5  # numbers that a reason lists
_LONGEST_POWER = 8  # digits of an exponent
_PLAIN = str.maketrans("−⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "-0123456789-+")
_BREAKS = ",'’_\u00a0\u202f\u2009"  # what may stand between groups of three digits
_NUMBER = re.compile(
    rf"""(?:(?<!\w)(?P<sign>[-+−]))?(?<!\w)(?<![0-9]\.)
        (?P<core>(?:[0-9]|[.{_BREAKS}](?=[0-9]))++)
        (?:[eE](?P<power>[-+−]?[0-9]+)
          |\s?[×·x*]\s?10(?:(?:\^|\*\*)\{{?(?P<raised>[-+−]?[0-9]+)\}}?|(?P<above>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)))?
        (?P<odd>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)?(?P<percent>\s?%)?""",
    re.VERBOSE,
)
_CORE = re.compile(rf"(?:[0-9]+|[0-9]{{1,3}}(?:(?P<by>[{_BREAKS}])[0-9]{{3}}(?:(?P=by)[0-9]{{3}})*+))?(?:\.[0-9]+)?\Z")
_UNBROKEN = str.maketrans("", "", _BREAKS)


def _expected_number(value: Any) -> str | None:
    return None if _as_number(value) is not None else f"must be a number, got {shown(value)}"


def _as_number(value: Any) -> Any:
    """The number that a case expects: itself, or the one that a text such as "3.5" holds (a CSV file has no other)."""
    if isinstance(value, str):
        try:
            value = jsontext.read(value)
        except jsontext.JsonTextError:
            return None
    return None if number(value) is not None else value


@built_in(checks={"rel": not_negative, "abs": not_negative}, needs_expected=True, check_expected=_expected_number)
def numeric_match(answer: str, expected: Any, *, rel: float | None = None, abs: float | None = None) -> Verdict:
    """1 where the answer holds one number, and that is the expected one.

    Within `rel` times the expected number, or within `abs` of it, whichever is more; without either, whole
    numbers must be equal and others within 1e-9 relative. A number may be written 1234.5, 1,234.5 (also with ',
    _ or a no-break space), 1.2e3, 1.2×10^3 or −5, with a unit or currency beside it; a comma never begins decimals.
    With a percent sign, 12 % is taken as 12 or as 0.12. The same number given twice is one number; an answer
    with several numbers fails, since which one is meant would be a guess.
    """
    found: dict[Decimal | str, _Number] = {}
    for one in _numbers(answer):
        found.setdefault(one.readings[0] if one.readings else one.written, one)
    if not found:
        return Verdict(None, 0.0, "the answer is empty" if not answer.strip() else "the answer holds no number")
    if len(found) > 1:
        listed = [number.written for number in found.values()][:_MOST_LISTED] + ["…"] * (len(found) > _MOST_LISTED)
        said = f"the answer holds {len(found)} different numbers ({', '.join(listed)}), so none is the one"
        return Verdict(None, 0.0, said)
    (only,) = found.values()
    if not only.readings:
        return Verdict(None, 0.0, f"the answer's only number, {shown(only.written)}, can be read in more ways than one")
    wanted = _as_number(expected)
    right = any(_meets(wanted, reading, rel, abs) for reading in only.readings)
    allowed = ", ".join(f"{name} {given:g}" for name, given in (("rel", rel), ("abs", abs)) if given is not None)
    said = f"{shown(only.written)} is {'' if right else 'not '}{shown(wanted)}"
    return Verdict(None, 1.0 if right else 0.0, f"{said} within {allowed}" if allowed else said)


def _meets(wanted: Any, value: Decimal, rel: float | None, absolute: float | None) -> bool:
    exact = Decimal(repr(wanted)) if isinstance(wanted, float) else wanted  # as it is written, not as it is stored
    if rel is not None or absolute is not None:
        return within(exact, value, rel or 0, absolute or 0)
    if isinstance(wanted, int) and is_integral(value):
        return bool(value == wanted)
    return within(exact, value, REL_TOLERANCE, 0)


class _Number(NamedTuple):
    """A number as the answer writes it, and what it can be read as: nothing, itself, or with % a hundredth too."""

    written: str
    readings: tuple[Decimal, ...]


def _numbers(answer: str) -> Iterator[_Number]:
    for match in _NUMBER.finditer(answer):
        power = (match["power"] or match["raised"] or match["above"] or "0").translate(_PLAIN)
        if match["odd"] or not _CORE.match(match["core"]) or len(power) > _LONGEST_POWER:
            yield _Number(match.group().strip(), ())
            continue
        digits = f"{match['sign'] or ''}{match['core']}".translate(_PLAIN).translate(_UNBROKEN)
        powers = (int(power), int(power) - 2) if match["percent"] else (int(power),)
        yield _Number(match.group().strip(), tuple(Decimal(f"{digits}e{one}") for one in powers))
