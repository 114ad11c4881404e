"""Dates on an axis: as many as have room, whatever the size of the chart and of its letters, in UTC."""

from __future__ import annotations

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
_FORMS = ((900, "%Y-%m", 9.5), (330, "%b %Y", 10.5), (3, "%d %b", 7), (1, "%d %b\n%H:%M", 7), (0, "%H:%M", 7))


class _DatesThatFit(AutoDateLocator):
    def __init__(self, letters: float) -> None:
        super().__init__(tz=UTC, minticks=1)  # type: ignore[no-untyped-call]
        self._letters = letters
        longest = {YEARLY: 1000, MONTHLY: 12, DAILY: 31, HOURLY: 24, MINUTELY: 60, SECONDLY: 60}
        for unit, step in longest.items():  # else it warns where few dates have room
            self.intervald[unit] = [*self.intervald[unit], step]

    def get_locator(self, dmin: datetime, dmax: datetime) -> Any:
        axis: Any = self.axis
        axes = axis.axes
        dpi = figure_of(axes).dpi
        letter = axis.majorTicks[0].label1.get_fontsize() * 0.6 if axis.majorTicks else 6.0
        room = round(axes.bbox.width * 72 / dpi / (letter * self._letters))
        self.maxticks = dict.fromkeys(self.maxticks, max(2, min(8, room)))
        return super().get_locator(dmin, dmax)  # type: ignore[no-untyped-call]


def dates(axis: Axis, days: float) -> None:
    """Dates of a span of so many days along an axis."""
    _, form, letters = next(one for one in _FORMS if days >= one[0])
    axis.set_major_locator(_DatesThatFit(letters))
    axis.set_major_formatter(DateFormatter(form, tz=UTC))  # type: ignore[no-untyped-call]
