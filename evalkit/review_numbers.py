"""The reviewer that looks for one number in the answer."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from . import jsontext
from .differences import REL_TOLERANCE, is_integral, within
from .number_text import Number, numbers_in
from .records import Verdict
from .review_checks import not_negative, number, shown
from .review_own import built_in

_MOST_LISTED = 5  # numbers that a reason lists
_DOUBT = "can be read in more ways than one"


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
    _ or spaces), 1.2e3, 1.2×10^3, 3 million or −5, in the digits of any script, with a unit or currency beside it; any
    dash before it is its sign, and a comma never begins decimals. With a percent sign, 12 % is taken as 12 or as 0.12.
    The same number given twice is one number; an answer with several numbers fails, since which one is meant would be a
    guess, and so does one that has no plain reading (`12,68`, `1.2.3`, `10²`, `5k`). Where another reading is possible
    (`1.234`, `1,234`, `(5)`, `- 5`), the plain one counts and the reason says so.
    """
    found: dict[Decimal | str, Number] = {}
    for one in numbers_in(answer):
        found.setdefault(one.readings[0] if one.readings else one.written, one)
    if not found:
        return Verdict(None, 0.0, "the answer is empty" if not answer.strip() else "the answer holds no number")
    if len(found) > 1:
        listed = [number.written for number in found.values()][:_MOST_LISTED] + ["…"] * (len(found) > _MOST_LISTED)
        said = f"the answer holds {len(found)} different numbers ({', '.join(listed)}), so none is the one"
        return Verdict(None, 0.0, said)
    (only,) = found.values()
    if not only.readings:
        return Verdict(None, 0.0, f"the answer's only number, {shown(only.written)}, {_DOUBT}")
    wanted = _as_number(expected)
    right = any(_meets(wanted, reading, rel, abs) for reading in only.readings)
    allowed = ", ".join(f"{name} {given:g}" for name, given in (("rel", rel), ("abs", abs)) if given is not None)
    said = f"{shown(only.written)} is {'' if right else 'not '}{shown(wanted)}"
    said += f" within {allowed}" if allowed else ""
    return Verdict(None, 1.0 if right else 0.0, f"{said}; it {_DOUBT}" if only.doubt else said)


def _meets(wanted: Any, value: Decimal, rel: float | None, absolute: float | None) -> bool:
    exact = Decimal(repr(wanted)) if isinstance(wanted, float) else wanted  # as it is written, not as it is stored
    if rel is not None or absolute is not None:
        return within(exact, value, rel or 0, absolute or 0)
    if isinstance(wanted, int) and is_integral(value):
        return bool(value == wanted)
    return within(exact, value, REL_TOLERANCE, 0)
