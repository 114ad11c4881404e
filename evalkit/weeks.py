"""Weeks and other spans of days, in UTC: a week is an ISO week, from Monday to Sunday, named `2026-W48`.

ISO weeks belong to the year of their Thursday: Monday, 29 December 2025 is in 2026-W01.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from .errors import SettingsError

_WEEK = re.compile(r"(\d{4})-?W(\d{1,2})", re.IGNORECASE)
_DAYS = {"since": "the first", "until": "the last"}


@dataclass(frozen=True)
class Span:
    """Whole days in UTC, `first` and `last` among them."""

    first: date
    last: date

    @property
    def is_week(self) -> bool:
        """Whether it is one ISO week."""
        return self.first.isoweekday() == 1 and (self.last - self.first).days == 6

    @property
    def name(self) -> str:
        """`2026-W48`, or of other spans `2026-11-01_to_2026-11-20`: a name for a folder."""
        if self.is_week:
            year, week, _ = self.first.isocalendar()
            return f"{year:04}-W{week:02}"
        return f"{self.first}_to_{self.last}"

    @property
    def words(self) -> str:
        """The span for people, its first day named."""
        kind = f"ISO week {self.name}, " if self.is_week else ""
        return f"{kind}{_day(self.first)} to {_day(self.last)}"

    @property
    def noun(self) -> str:
        """What to call it in a sentence."""
        return "week" if self.is_week else "period"

    @property
    def start(self) -> datetime:
        """Its first instant."""
        return datetime.combine(self.first, time(), UTC)

    @property
    def end(self) -> datetime:
        """The first instant after it."""
        return datetime.combine(self.last, time(), UTC) + timedelta(days=1)

    def holds(self, moment: datetime | None) -> bool:
        """Whether an instant lies in it."""
        return moment is not None and self.start <= moment < self.end

    def before(self) -> Span:
        """The span of the same length just before it."""
        days = timedelta((self.last - self.first).days + 1)
        return Span(self.first - days, self.last - days)


def week_of(moment: datetime | date) -> Span:
    """The ISO week, in UTC, that holds an instant or a day."""
    day = moment.astimezone(UTC).date() if isinstance(moment, datetime) else moment
    monday = day - timedelta(days=day.isoweekday() - 1)
    return Span(monday, monday + timedelta(days=6))


def read_week(text: str) -> Span:
    """The ISO week that `2026-W48` names.

    Raises SettingsError for anything else, and for a week that its year does not have.
    """
    found = _WEEK.fullmatch(text.strip()) if isinstance(text, str) else None
    if not found:
        raise SettingsError(f"a week is named like '2026-W48' (ISO weeks, Monday to Sunday), got {text!r}")
    year, week = int(found[1]), int(found[2])
    try:
        last = date(year, 12, 28).isocalendar().week  # always in the last week of its year
        if not 1 <= week <= last:
            raise SettingsError(f"{year} has the weeks W01 to W{last}, got {text!r}")
        return week_of(date.fromisocalendar(year, week, 1))
    except (ValueError, OverflowError) as error:
        if isinstance(error, SettingsError):
            raise
        raise SettingsError(f"a week is named like '2026-W48', got {text!r}: there is no year {year}") from None


def read_span(since: str | date, until: str | date) -> Span:
    """The days from `since` to `until`, both whole. Raises SettingsError where they are none."""
    first, last = _read_day("since", since), _read_day("until", until)
    if first > last:
        raise SettingsError(f"since must not be later than until, got since={str(since)!r}, until={str(until)!r}")
    return Span(first, last)


def _read_day(name: str, given: str | date) -> date:
    if isinstance(given, datetime):
        return given.astimezone(UTC).date()
    if isinstance(given, date):
        return given
    try:
        return date.fromisoformat(given.strip())
    except (ValueError, TypeError, AttributeError):  # no text at all
        raise SettingsError(
            f"{name} must be {_DAYS[name]} day of a review, such as '2026-11-30', got {given!r}"
        ) from None


def _day(day: date) -> str:
    return f"{_WEEKDAYS[day.weekday()]} {day.day} {_MONTHS[day.month - 1]} {day.year}"


_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
