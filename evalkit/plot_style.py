"""What all charts share: a tool's colour and marker, axes, intervals, notes, and charts of nothing."""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from matplotlib.ticker import PercentFormatter

from .errors import SchemaError, SettingsError
from .given import one_of, whole
from .nearmiss import did_you_mean
from .plot_text import plain
from .schema import needs_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

ALL = "(all)"
FEW = 10  # points with fewer cases are hollow
TIMES = "times: start of run, UTC"
INK, GREY, FAINT = "#222222", "#767676", "#d0d0d0"

# Okabe and Ito (2008) without yellow, which vanishes on paper, then four of Paul Tol's muted scheme (2021).
PALETTE = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00",
    "#56b4e9", "#332288", "#882255", "#999933", "#117733",
)  # fmt: skip
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "<")
DASHES = ("-", "--", ":", "-.")
_SALT = 10199  # with it, tools of one dataset that comes with evalkit differ in colour wherever colours suffice


class Look(NamedTuple):
    """How a series is drawn."""

    colour: str
    marker: str
    dashes: Any


def colour(name: object) -> str:
    """The colour of a tool: the same in every chart, whatever else is in it."""
    return INK if name == ALL else PALETTE[_hash(name) % len(PALETTE)]


def marker(name: object) -> str:
    """The marker of a tool: the same in every chart, unless `looks` has to tell two of one colour apart."""
    return "o" if name == ALL else MARKERS[_hash(name) // len(PALETTE) % len(MARKERS)]


def looks(series: Mapping[Any, object]) -> dict[Any, Look]:
    """A look for each series of one chart, given as key → tool; no two are alike.

    The colour is the tool's. Series of one colour differ in marker and dashes; which gets which depends on their
    keys alone, not on their order.
    """
    found: dict[Any, Look] = {}
    for key in sorted(series, key=lambda key: (_hash(key), str(key))):
        tool = series[key]
        alike = [look for look in found.values() if look.colour == colour(tool)]
        taken = {look.marker for look in alike}
        start = MARKERS.index(marker(tool))
        order = [*MARKERS[start:], *MARKERS[:start]]
        free = next((one for one in order if one not in taken), order[0])
        found[key] = Look(colour(tool), free, DASHES[len(alike) % len(DASHES)])
    return found


def figure_of(artist: Artist) -> Figure:
    """The figure that an artist stands in; ValueError where it was taken out of it."""
    if not hasattr(artist, "get_figure"):
        raise SettingsError(f"a chart is needed: the Axes that ek.plot gives, or a Figure; got {type(artist).__name__}")
    figure = artist.get_figure(root=True)
    if figure is None:
        raise ValueError("these axes were removed from their figure: draw the chart again")
    return figure


def new_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """`ax` itself, or the axes of a new pyplot figure (which a notebook shows once, and a script by `plt.show()`)."""
    from matplotlib.axes import Axes as AnyAxes

    if ax is not None:
        if not isinstance(ax, AnyAxes):
            raise SettingsError(f"ax must be matplotlib Axes, got {type(ax).__name__}: figure.subplots() gives some")
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def nothing(ax: Axes, words: str) -> Axes:
    """The axes with these words in the middle and nothing else."""
    ax.set_xticks([])
    ax.set_yticks([])
    tidy(ax, "top", "right", "left", "bottom")
    plain(ax.text(0.5, 0.5, words, transform=ax.transAxes, ha="center", va="center", color=GREY))
    return ax


def tidy(ax: Axes, *sides: str) -> None:
    """Take away the frame's lines on these sides."""
    for side in sides or ("top", "right"):
        ax.spines[side].set_visible(False)


def percent(axis: Axis) -> None:
    """A rate from 0 to 1 as 0 % to 100 %."""
    axis.set_ticks([0, 0.25, 0.5, 0.75, 1])
    axis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))


def row_labels(ax: Axes, names: Sequence[str]) -> None:
    """One row per name, the first on top."""
    ax.set_yticks(range(len(names)), names)
    for text in ax.get_yticklabels():
        plain(text)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)


def interval(ax: Axes, low: float, value: float, high: float, y: float, look: Look, *, hollow: bool = False) -> None:
    """A point at `value` with its interval, lying in row `y`; hollow for few cases."""
    if value != value:
        return
    ax.hlines(y, low, high, colors=look.colour, linewidth=1.8, alpha=0.75, zorder=2)
    points(ax, [value], [y], look, [hollow])


def points(ax: Axes, x: Any, y: Any, look: Look, hollow: Iterable[bool], size: float = 36, **place: Any) -> None:
    """Points in a series' look, the hollow ones white inside; `place` may hold a transform."""
    faces = ["white" if one else look.colour for one in hollow]
    ax.scatter(
        x, y, s=size, marker=look.marker, facecolors=faces, edgecolors=look.colour, linewidths=1.2, zorder=3,
        clip_on=False, **place,
    )  # fmt: skip


def legend(
    ax: Axes, handles: Sequence[Any], names: Sequence[str], title: str | None = None, *, row: bool = False
) -> None:
    """A legend to the right of the axes (or in a row above); names are shown as they are, `_` and `$` included."""
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
    if row:
        columns = max(1, min(4, 76 // (max(map(len, names)) + 7)))
        place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": columns, "columnspacing": 1.2}
        _push_title_above(ax, -(-len(names) // columns))
    box = ax.legend(
        handles, ["name"] * len(names), title=title, frameon=False, fontsize="small", title_fontsize="small",
        borderaxespad=0.2, handlelength=1.6, **place,
    )  # fmt: skip
    for text, name in zip(box.get_texts(), names, strict=True):
        plain(text).set_text(name)


def _push_title_above(ax: Axes, lines: int) -> None:
    """Keep a title, which callers may set, clear of a legend of so many lines: titles evade labels, not legends."""
    spacer = ax.secondary_xaxis("top")
    spacer.set_ticks([])
    spacer.spines["top"].set_visible(False)
    spacer.set_xlabel("\n".join([" "] * lines), fontsize="large", labelpad=4)


def note(axis: Axis, title: str, notes: Iterable[str] = (), *, width: int = 92) -> None:
    """The axis' label, with notes in lines of their own below it."""
    lines = [title] if title else []
    lines += textwrap.wrap("  ·  ".join(filter(None, notes)), width, break_on_hyphens=False)
    plain(axis.get_label()).set_text("\n".join(lines))
    axis.get_label().set_fontsize("small")


def counted(values: Iterable[float], word: str = "n") -> str:
    """Counts in short: "n 12", or "n 8–14" where they differ."""
    every = [int(value) for value in values]
    if not every:
        return f"{word} 0"
    low, high = min(every), max(every)
    return f"{word} {low}" if low == high else f"{word} {low}–{high}"


def drawable(frame: Any, most: int) -> None:
    """Raise SchemaError for what is no frame, SettingsError where `most` is no number of rows."""
    needs_frame(frame, "a frame to draw")
    whole("most", most)


def need(frame: pd.DataFrame, columns: Iterable[str], made_by: str) -> None:
    """Raise SchemaError where the frame lacks a column, with what makes such a frame."""
    given = [str(name) for name in frame.columns]
    missing = [name for name in columns if name not in given]
    if missing:
        words = ", ".join(map(repr, missing))
        raise SchemaError(f"the frame has no column {words}.{did_you_mean(missing[0], given)} {made_by} makes one.")


def cases_named(frame: pd.DataFrame, cases: str | None) -> str:
    """Over which cases rates were taken, in words: as the caller says, else as the frame says, else all."""
    allowed = {"all": "all cases", "shared": "cases shared by all runs shown"}
    said = cases if cases is not None else str(frame.attrs.get("cases", "all"))
    return allowed[one_of("cases", said, tuple(allowed))]


def _hash(name: Hashable) -> int:
    return int.from_bytes(hashlib.sha256(f"{_SALT}:{name}".encode("utf-8", "surrogatepass")).digest()[:4], "big")
