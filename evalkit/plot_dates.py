"""Dates on an axis: as many as have room, whatever the size of the chart and of its letters, in UTC."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from matplotlib.dates import (
    DAILY,
    HOURLY,
    MINUTELY,
    MONTHLY,
    SECONDLY,
    YEARLY,
    AutoDateLocator,
    DateFormatter,
)

from .plot_style import figure_of

if TYPE_CHECKING:
    from matplotlib.axis import Axis

# From so many days on: how a date is written, and the letters that it takes, its distance to the next included.
_FORMS = (
    (900, "%Y-%m", 9.5), (330, "%b %Y", 10.5), (3, "%d %b", 7), (0.9, "%d %b\n%H:%M", 7), (0.0014, "%H:%M", 7),
    (0, "%H:%M:%S", 10.5),
)  # fmt: skip
_FEWEST = 3  # dates that have room; with fewer those at both ends would reach into what stands beside the axis
_MONTHS = 330  # days from which on dates are written without their day
_SECOND = 1 / 86_400
_STEPS = (
    *(_SECOND * step for step in (1, 2, 5, 10, 15, 30)),
    *(60 * _SECOND * step for step in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720)),
    1, 2, 3, 5, 7, 10, 14, 21, 28, 60, 90, 120, 180,
)  # fmt: skip


class _DatesThatFit(AutoDateLocator):
    def __init__(self, letters: float) -> None:
        super().__init__(tz=UTC, minticks=1)  # type: ignore[no-untyped-call]
        self._letters = letters
        longest = {YEARLY: 1000, MONTHLY: 12, DAILY: 31, HOURLY: 24, MINUTELY: 60, SECONDLY: 60}
        for unit, step in longest.items():  # else it warns where few dates have room
            self.intervald[unit] = [*self.intervald[unit], step]

    def __call__(self) -> Any:
        """The dates; where the calendar's own steps would leave a single one, those of an even step."""
        found = super().__call__()  # type: ignore[no-untyped-call]
        axis: Any = self.axis
        low, high = sorted(axis.get_view_interval())
        room, edge = self._room(), (high - low) / 100
        inside = [date for date in found if low + edge < date < high - edge]  # without any, it gives both ends
        if high - low >= _MONTHS or len(inside) > 1:
            return found
        if room < _FEWEST:
            return inside or [(low + high) / 2]
        evenly = _evenly(low, high, room)
        return evenly if len(evenly) > 1 else found

    def get_locator(self, dmin: datetime, dmax: datetime) -> Any:
        self.maxticks = dict.fromkeys(self.maxticks, max(2, min(8, round(self._room()))))
        return super().get_locator(dmin, dmax)  # type: ignore[no-untyped-call]

    def _room(self) -> float:
        """How many times as long as a date the axis is."""
        axis: Any = self.axis
        axes = axis.axes
        letter = axis.majorTicks[0].label1.get_fontsize() * 0.6 if axis.majorTicks else 6.0
        return float(axes.bbox.width * 72 / figure_of(axes).dpi / (letter * self._letters))


class _NoDateTwice(DateFormatter):
    def format_ticks(self, values: Any) -> list[str]:
        """The dates as text; empty where the one before reads the same."""
        texts: list[str] = super().format_ticks(values)
        return [text if not place or text != texts[place - 1] else "" for place, text in enumerate(texts)]


def _evenly(low: float, high: float, room: float) -> Sequence[float]:
    """Dates between two, in days since 1970: multiples of the first step that leaves room for each."""
    step = next((step for step in _STEPS if step * min(room, 8) >= high - low), None)
    if step is None:
        return []
    return [place * step for place in range(math.ceil(low / step), math.floor(high / step) + 1)]


def dates(axis: Axis, days: float) -> None:
    """Dates of a span of so many days along an axis."""
    _, form, letters = _form(days)
    axis.set_major_locator(_DatesThatFit(letters))
    axis.set_major_formatter(_NoDateTwice(form, tz=UTC))  # type: ignore[no-untyped-call]


def lines_of_dates(days: float) -> int:
    """How many lines the dates of such a span take."""
    return 1 + _form(days)[1].count("\n")


def _form(days: float) -> tuple[float, str, float]:
    return next(one for one in _FORMS if days >= one[0])
