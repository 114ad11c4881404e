"""Days and instants as text: ISO 8601 read in all its spellings, other spellings only recognised.

`read_iso` is what counts as right. `readings` tells what somebody who wrote another spelling may have
meant, so that a difference can be named; two readings mean that the text is ambiguous.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta

_DATE = re.compile(r"(\d{4}-\d\d-\d\d|\d{8}|\d{4}-?W\d\d-?\d|\d{4}-?\d{3})(?:[Tt ](.+))?\Z")
_ORDINAL = re.compile(r"(\d{4})-?(\d{3})\Z")
_MIDNIGHT_AFTER = re.compile(r"24(:?00){0,2}(\.0+)?(?=\Z|[Z+-])")
_YEAR_FIRST = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})\Z")
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})\Z")
_DAY_MONTH = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?[ -](?:of )?([a-z]{3,9})\.?,?[ -](\d{4})\Z", re.IGNORECASE)
_MONTH_DAY = re.compile(r"([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})\Z", re.IGNORECASE)
_MONTHS = "january february march april may june july august september october november december".split()
_LONGEST = 40  # characters; no spelling of a day or an instant is longer


def read_iso(text: str) -> date | datetime | None:
    """The day, or the instant, that `text` spells in ISO 8601; None where it does not.

    Calendar, week and ordinal dates, extended and basic form, `24:00`, fractions of a second (to the
    microsecond), with or without a UTC offset. A month or a week alone is not a day.
    """
    if len(text) > _LONGEST or not text.isascii() or not (found := _DATE.match(text)):
        return None
    day_text, time_text = found.groups()
    try:
        day = _ordinal_day(day_text) if _ORDINAL.match(day_text) else date.fromisoformat(day_text)
        return day if time_text is None else _instant(day, time_text.upper())
    except (ValueError, OverflowError):
        return None


def same_moment(one: date | datetime, other: date | datetime) -> bool | None:
    """Whether both are the same day or instant; None where only one of two times has a UTC offset.

    A day is the same as midnight of that day as it is written, whatever the offset.
    """
    first = one if isinstance(one, datetime) else None
    second = other if isinstance(other, datetime) else None
    if first is None or second is None:
        return _day_at_midnight(one) is not None and _day_at_midnight(one) == _day_at_midnight(other)
    if (first.tzinfo is None) is not (second.tzinfo is None):
        return None
    return first == second


def readings(text: str) -> tuple[date, ...]:
    """The days that a spelling other than ISO may mean, each once; () where it is no date.

    Year first is year, month, day. Year last (04/05/2024) is read both ways. Month names are English.
    """
    if len(text) > _LONGEST or not text.isascii():
        return ()
    text = text.strip()
    if found := _YEAR_FIRST.match(text):
        return _days((int(found[1]), int(found[3]), int(found[4])))
    if found := _YEAR_LAST.match(text):
        year, first, second = int(found[4]), int(found[1]), int(found[3])
        return _days((year, second, first), (year, first, second))
    if found := _DAY_MONTH.match(text):
        return _days((int(found[3]), _month(found[2]), int(found[1])))
    if found := _MONTH_DAY.match(text):
        return _days((int(found[3]), _month(found[1]), int(found[2])))
    return ()


def same_day_otherwise_spelt(one: str, other: str) -> bool:
    """Whether two texts mean, or may mean, the same day or instant in two spellings."""
    first, second = _meanings(one), _meanings(other)
    return any(same_moment(a, b) for a in first for b in second)


def in_words(days: tuple[date, ...]) -> str:
    """Days for a reader: "4 May 2024 or 5 April 2024"."""
    return " or ".join(f"{day.day} {_MONTHS[day.month - 1].capitalize()} {day.year}" for day in days)


def _meanings(text: str) -> tuple[date | datetime, ...]:
    moment = read_iso(text)
    return (moment,) if moment is not None else readings(text)


def _ordinal_day(text: str) -> date:
    year, count = int(text[:4]), int(text[-3:])
    day = date(year, 1, 1) + timedelta(days=count - 1)
    if day.year != year or count == 0:
        raise ValueError("no such day in that year")
    return day


def _instant(day: date, text: str) -> datetime:
    if after := _MIDNIGHT_AFTER.match(text):
        day, text = day + timedelta(days=1), "00:00" + text[after.end() :]
    return datetime.combine(day, time.fromisoformat(text))


def _day_at_midnight(moment: date | datetime) -> date | None:
    if not isinstance(moment, datetime):
        return moment
    return moment.date() if moment.time() == time() else None


def _month(name: str) -> int:
    found = [place for place, month in enumerate(_MONTHS, 1) if month.startswith(name.lower())]
    return found[0] if found else 9 if name.lower() == "sept" else 0


def _days(*parts: tuple[int, int, int]) -> tuple[date, ...]:
    found: list[date] = []
    for year, month, day in parts:
        try:
            found.append(date(year, month, day))
        except ValueError:
            continue
    return tuple(dict.fromkeys(found))
