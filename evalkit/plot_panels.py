"""Small multiples inside one axes: panels that keep their place when the figure is resized."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .plot_style import figure_of, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox


@dataclass(frozen=True)
class Grid:
    """How many rows and columns a number of panels takes, wider than high."""

    rows: int
    columns: int

    @classmethod
    def of(cls, panels: int, *, wide: bool = False) -> Grid:
        """The grid of so many panels; `wide` ones stand below one another."""
        columns = 1 if wide else min(6, max(1, math.ceil(math.sqrt(panels))))
        return cls(math.ceil(panels / columns), columns)

    def inches(self) -> tuple[float, float]:
        """Width and height of a figure in which the panels are large enough to read."""
        return max(8.0, 1.0 + 1.75 * self.columns), 1.0 + 1.45 * self.rows


@dataclass(frozen=True)
class _Cell:
    """Where a panel stands: a locator that matplotlib asks whenever it draws. Gaps grow with the text in them."""

    host: Axes
    grid: Grid
    place: int
    lines: int

    def __call__(self, panel: Any, renderer: Any) -> Bbox:
        from matplotlib.transforms import Bbox

        letter = float(panel.title.get_fontsize()) * figure_of(panel).dpi / 72
        box = self.host.get_window_extent()
        left, below, above, between = 4.6 * letter, 2 * letter, (0.8 + 1.3 * self.lines) * letter, 1.6 * letter
        row, column = divmod(self.place, self.grid.columns)
        width = max(1.0, (box.width - left - between * (self.grid.columns - 1)) / self.grid.columns)
        height = max(1.0, (box.height - below - above * self.grid.rows) / self.grid.rows)
        x = box.x0 + left + column * (width + between)
        y = box.y1 - (row + 1) * (height + above)
        return Bbox.from_bounds(x, y, width, height).transformed(panel.get_figure(root=False).transSubfigure.inverted())


def panels(host: Axes, grid: Grid, count: int, lines: int = 1) -> list[Axes]:
    """`count` panels inside `host`, row by row, whose own lines vanish; labels only at the outer ones.

    `lines`: how many lines their titles (set at the left) have.
    """
    tidy(host, "top", "right", "left", "bottom")
    host.set_xticks([])
    host.set_yticks([])
    host.patch.set_visible(False)
    made = []
    for place in range(count):
        panel = host.inset_axes((0, 0, 1, 1))
        panel.set_axes_locator(_Cell(host, grid, place, lines))
        panel.tick_params(labelsize="x-small", length=2)
        panel.title.set_fontsize("x-small")  # what the gaps are measured in
        panel.tick_params(axis="x", labelbottom=place + grid.columns >= count)
        panel.tick_params(axis="y", labelleft=place % grid.columns == 0)
        tidy(panel)
        made.append(panel)
    return made
