"""Small multiples inside one axes: panels that keep their place when the figure is resized."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .plot_style import figure_of, tidy
from .plot_text import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

_MOST_COLUMNS = 6


class Spot(NamedTuple):
    """A panel's row and column, the headings above it or beside it, and whether its group begins with it."""

    row: int
    column: int
    headings: int
    first: bool


@dataclass(frozen=True)
class Grid:
    """The rows of panels: every group begins a new one. `headed`: above each group stands what it is called."""

    groups: tuple[int, ...]
    columns: int
    headed: bool

    @classmethod
    def of(cls, *groups: int, headed: bool = False, wide: bool = False) -> Grid:
        """The grid of groups of so many panels, wider than high; `wide` panels stand below one another."""
        fewest = min(_MOST_COLUMNS, max(1, math.ceil(math.sqrt(sum(groups)))))
        choice = range(min(fewest, max(groups)), min(_MOST_COLUMNS, max(groups)) + 1 if len(groups) > 1 else fewest + 1)
        columns = 1 if wide else min(choice, key=lambda columns: (columns * _rows(groups, columns), columns))
        return cls(tuple(groups), columns, headed)

    @property
    def rows(self) -> int:
        return _rows(self.groups, self.columns)

    @property
    def headings(self) -> int:
        return len(self.groups) if self.headed else 0

    def spots(self) -> list[Spot]:
        """Where each panel stands, group by group."""
        found, above = [], 0
        for number, size in enumerate(self.groups, 1):
            for place in range(size):
                row, column = divmod(place, self.columns)
                found.append(Spot(above + row, column, number if self.headed else 0, not place))
            above += _rows([size], self.columns)
        return found

    def inches(self) -> tuple[float, float]:
        """Width and height of a figure in which the panels are large enough to read."""
        return max(8.0, 1.0 + 1.75 * self.columns), 0.9 + 1.65 * self.rows + 0.25 * self.headings


@dataclass(frozen=True)
class _Cell:
    """Where a panel stands: a locator that matplotlib asks whenever it draws. Gaps grow with the text in them."""

    host: Axes
    grid: Grid
    spot: Spot
    lines: int
    lines_below: int

    def __call__(self, panel: Any, renderer: Any) -> Bbox:
        from matplotlib.transforms import Bbox

        grid, spot = self.grid, self.spot
        letter = float(panel.title.get_fontsize()) * figure_of(panel).dpi / 72
        box = self.host.get_window_extent()
        left, between, heading = 4.6 * letter, 1.6 * letter, 1.7 * letter
        above, below = (0.8 + 1.3 * self.lines) * letter, (0.8 + 1.3 * self.lines_below) * letter
        width = max(1.0, (box.width - left - between * (grid.columns - 1)) / grid.columns)
        height = max(1.0, (box.height - heading * grid.headings) / grid.rows - above - below)
        x = box.x0 + left + spot.column * (width + between)
        y = box.y1 - heading * spot.headings - spot.row * (above + height + below) - above - height
        return Bbox.from_bounds(x, y, width, height).transformed(panel.get_figure(root=False).transSubfigure.inverted())


def panels(host: Axes, grid: Grid, lines: int = 1, lines_below: int = 1) -> list[Axes]:
    """The panels of a grid inside `host`, row by row, whose own lines vanish; rates only at the left ones.

    `lines`: how many lines their titles (set at the left) have; `lines_below`: those of what their x-axes say.
    """
    tidy(host, "top", "right", "left", "bottom")
    host.set_xticks([])
    host.set_yticks([])
    host.patch.set_visible(False)
    made = []
    for spot in grid.spots():
        panel = host.inset_axes((0, 0, 1, 1))
        panel.set_axes_locator(_Cell(host, grid, spot, lines, lines_below))
        panel.tick_params(labelsize="x-small", length=2)
        panel.title.set_fontsize("x-small")  # what the gaps are measured in
        panel.tick_params(axis="y", labelleft=not spot.column)
        tidy(panel)
        made.append(panel)
    return made


def head(every: Sequence[Axes], grid: Grid, names: Sequence[str], lines: int = 1) -> None:
    """Write above each group of panels what it is called."""
    first = [panel for panel, spot in zip(every, grid.spots(), strict=True) if spot.first]
    for panel, name in zip(first, names, strict=True):
        place: Any = {"xycoords": "axes fraction", "textcoords": "offset fontsize"}
        text = panel.annotate("", (0, 1), (0, 0.7 + 1.3 * lines), fontsize="x-small", fontweight="bold", **place)
        plain(text).set_text(name)


def _rows(groups: Sequence[int], columns: int) -> int:
    return sum(math.ceil(size / columns) for size in groups)
