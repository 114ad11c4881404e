"""Accuracy over time: one line per tool within each dataset and model, cut where the runs cannot be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .plot_dates import dates, lines_of_dates
from .plot_panels import Grid, head, panels
from .plot_series import Break, Series, named, series_of, timed
from .plot_style import (
    ALL,
    FAINT,
    FEW,
    GREY,
    INK,
    Look,
    cases_named,
    counted,
    drawable,
    figure_of,
    legend,
    looks,
    need,
    new_axes,
    note,
    nothing,
    percent,
    points,
    tidy,
)
from .plot_text import labels, listed, plain
from .tallies import cluster_note

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_NEEDED = ("started_at", "n", "accuracy", "ci_low", "ci_high")
_TOGETHER = 5  # series that one axes holds before their intervals hide one another
_MANY_RUNS = 60
_TOP = 1.22  # above 100 %: the names of breaks
_STRIP = 1.06


def accuracy_over_time(
    frame: pd.DataFrame, *, cases: str | None = None, most: int = 30, ax: Axes | None = None
) -> Axes:
    """The accuracy of each tool over the runs' start times, from the frame of `ek.tool_accuracy` (one row per run and
    tool); from `ek.accuracy(by=["run_id", …])` likewise.

    One series per dataset, model and tool, with its 95 % intervals. It breaks off, at a dashed line that names what
    changed, wherever the dataset, tools, prompt, settings or scoring of the runs changed, and where a run had no case
    of the tool. Points of fewer than 10 cases are hollow. Up to five series stand in the axes themselves; more stand
    in panels inside it (its `child_axes`), each dataset and model in rows of its own, `most` of them: those that moved
    furthest beyond their intervals. Times are UTC. What is not drawn (runs without a start, further tools) is named
    below the chart.

    `cases` says over which cases the rates were taken, "all" or "shared", where the frame does not know.

    Raises SchemaError where a column is missing, ValueError for another word as `cases`.
    """
    drawable(frame, most)
    named_cases = cases_named(frame, cases)
    if not len(frame):
        return nothing(new_axes(ax, 7.5, 3), "no runs")
    need(frame, _NEEDED, "ek.tool_accuracy(results)")
    rows, undated = timed(named(frame))
    if not len(rows):
        return nothing(new_axes(ax, 7.5, 3), f"no runs with a start time: {listed(undated)}")
    every = series_of(rows)
    shown, kept = (every, "") if len(every) <= _TOGETHER else _kept(every, most)
    dense = max(len(one.rows) for one in shown) > _MANY_RUNS
    if len(shown) <= (1 if dense else _TOGETHER):
        ax, width = new_axes(ax, 8.5, 4.2), 92
        _together(ax, shown)
    else:
        grid = _grid(shown, wide=dense and len(shown) <= _TOGETHER)
        ax, width = new_axes(ax, *grid.inches()), 120
        _apart(ax, shown, grid)
        kept = "  ·  ".join(
            filter(None, ["grey line: all tools" if any(one.tool == ALL for one in shown) else "", kept])
        )
    drawn = rows[rows["_tool"].isin({one.tool for one in shown})]
    note(ax.xaxis, f"start of run, UTC ({_span(rows)})", [*_notes(drawn, undated), kept], width=width)
    note(ax.yaxis, f"accuracy, {named_cases}\n(95 % intervals)")
    return ax


def _kept(every: list[Series], most: int) -> tuple[list[Series], str]:
    """The series worth seeing, in their own order, and the words that say which."""
    if len(every) <= most:
        return every, ""
    whole = [one for one in every if one.tool == ALL][:most]
    tools = sorted((one for one in every if one.tool != ALL), key=lambda one: (-one.separation(), one.key))
    chosen = {one.key for one in (*whole, *tools[: most - len(whole)])}
    words = f"{len(chosen)} of {len(every)} series shown: those that moved furthest beyond their intervals"
    return [one for one in every if one.key in chosen], words


def _together(ax: Axes, every: Sequence[Series]) -> None:
    styles = looks({one.key: one.tool for one in every})
    names = _names(every)
    latest = sorted(every, key=lambda one: -_last(one))
    for place, one in enumerate(every):
        _draw(ax, one, styles[one.key], shift=4.0 * (place - (len(every) - 1) / 2))
    _axes(ax, every)
    _draw_breaks(ax, every, _letters(ax, 6.9, beside=max(len(name) for name in names.values())))
    handles = [_handle(styles[one.key]) for one in latest]
    legend(ax, handles, [f"{names[one.key]}\n{counted(one.rows['n'])}{_errors(one.rows)}" for one in latest])


def _grid(every: Sequence[Series], *, wide: bool) -> Grid:
    """Rows of their own for each dataset and model, unless each has but one panel."""
    sizes = Counter(one.key[:2] for one in every)
    if len(sizes) in (1, len(every)):
        return Grid.of(len(every), wide=wide)
    return Grid.of(*sizes.values(), headed=True, wide=wide)


def _apart(host: Axes, every: Sequence[Series], grid: Grid) -> None:
    names, letters = _names(every), _letters(host, 5.8, columns=grid.columns)
    groups = {one.key[:2]: names[one.key].partition("\n")[2] for one in every}
    if grid.headed:
        names = {key: name.partition("\n")[0] for key, name in names.items()}
    lines = 2 if any("\n" in name for name in names.values()) else 1
    low, high = _ends(every)
    made = panels(host, grid, lines, lines_of_dates(_date(high) - _date(low)))
    if grid.headed:
        head(made, grid, list(groups.values()), lines)
    for panel, one in zip(made, every, strict=True):
        _draw(panel, one, looks({one.tool: one.tool})[one.tool], size=14, dense_size=1.5 if grid.columns > 1 else 4)
        for whole in every:
            if whole.key == (one.dataset, one.model, ALL) and one.tool != ALL:
                for part in whole.parts():
                    panel.plot(_times(part), part["accuracy"], color=FAINT, linewidth=1.2, zorder=1)
        _axes(panel, every)
        _draw_breaks(panel, [one], letters, "xx-small")
        title = panel.set_title("", fontsize="x-small", loc="left", pad=3)
        name, *where = names[one.key].split("\n")
        plain(title).set_text("\n".join([f"{name}  {counted(one.rows['n'])}{_errors(one.rows)}", *where]))


def _draw(ax: Axes, one: Series, look: Look, *, size: float = 30, dense_size: float = 4, shift: float = 0.0) -> None:
    """The series' lines (one `Line2D` per part), bands and points; `shift` moves it aside, in points."""
    from matplotlib.transforms import ScaledTranslation

    figure = figure_of(ax)
    aside = ax.transData + ScaledTranslation(shift / 72, 0, figure.dpi_scale_trans)
    few_runs = len(one.rows) <= _MANY_RUNS
    size, width = (size, 1.4) if few_runs else (dense_size, 0.5)
    for part in one.parts():
        times, zorder = _times(part), 2.2 if one.tool == ALL else 2.5
        line = ax.plot(
            times, part["accuracy"], color=look.colour, linestyle=look.dashes, linewidth=width, zorder=zorder
        )
        line[0].set_transform(aside)
        line[0].set_label(one.tool)
        if len(part) > 1:
            band = ax.fill_between(
                times, part["ci_low"], part["ci_high"], color=look.colour, alpha=0.15 if few_runs else 0.25, linewidth=0
            )
            band.set_transform(aside)
        if few_runs:
            bars = ax.vlines(times, part["ci_low"], part["ci_high"], colors=look.colour, linewidth=0.9, alpha=0.6)
            bars.set_transform(aside)
        points(ax, times, part["accuracy"], look, part["n"] < FEW, size, transform=aside)
    empty = one.rows[one.rows["n"] == 0]
    if len(empty):
        place = ax.get_xaxis_transform() + ScaledTranslation(shift / 72, 0, figure.dpi_scale_trans)
        ax.scatter(
            _times(empty), [0.0] * len(empty), s=22, marker="x", color=look.colour, transform=place, clip_on=False
        )
        if len(empty) == len(one.rows):
            ax.text(0.5, 0.4, "no cases", transform=ax.transAxes, ha="center", color=GREY, fontsize="small")


def _draw_breaks(ax: Axes, every: Sequence[Series], letters: int, size: str = "x-small") -> None:
    """A dashed line between the runs that differ, and above it what changed, where about so many letters fit across."""
    breaks = sorted({(_date(cut.before) + _date(cut.after)) / 2: cut for one in every for cut in one.breaks}.items())
    if not breaks:
        return
    ax.vlines([place for place, _ in breaks], 0, 1.03, colors=GREY, linestyles=(0, (3, 3)), linewidth=0.8, zorder=1)
    low, high = ax.get_xlim()
    letter = (high - low) / max(letters, 1)
    spots: list[tuple[float, float, list[Break]]] = []
    for place, cut in breaks:
        cuts = [cut]
        spot = _spot(place, low, high, letter, cuts)
        while spots and spot[0] < spots[-1][1] + letter:
            cuts = spots[-1][2] + cuts
            spot = _spot(spots.pop()[0], low, high, letter, cuts)
        spots.append(spot)
    for start, _, cuts in spots:
        plain(ax.text(start, _STRIP, _words(cuts), fontsize=size, color=INK, va="bottom"))


def _spot(place: float, low: float, high: float, letter: float, cuts: list[Break]) -> tuple[float, float, list[Break]]:
    """Where words begin and end that should begin at `place` but not leave the axes."""
    width = letter * len(_words(cuts))
    start = max(low, min(place, high - width))
    return start, start + width, cuts


def _words(cuts: Sequence[Break]) -> str:
    each = [", ".join(cut.changed) for cut in cuts]
    if len(each) <= 3 and len(set(each)) > 1:
        return " | ".join(each)
    words = ", ".join(dict.fromkeys(word for cut in cuts for word in cut.changed))
    return words if len(cuts) == 1 else f"{words} ({len(cuts)}×)"


def _letters(ax: Axes, size: float, *, columns: int = 1, beside: int = 0) -> int:
    """How many letters of a size (in points) fit across a panel, with `beside` small letters to the right of the axes.

    Half of them to spare, for charts that are exported with larger letters.
    """
    points = figure_of(ax).get_figwidth() * ax.get_position().width / 0.775 * 72
    return int((points - 70 - 5 * beside) / columns / (0.9 * size))


def _axes(ax: Axes, every: Sequence[Series]) -> None:
    tidy(ax)
    ax.grid(axis="y", color=FAINT, linewidth=0.5)
    ax.set_axisbelow(True)
    percent(ax.yaxis)
    ax.set_ylim(-0.03, _TOP if any(one.breaks for one in every) else 1.05)
    ax.spines["left"].set_bounds(0, 1)
    first, last = _ends(every)
    low, high = _date(first), _date(last)
    edge = (high - low) * 0.03 if high > low else 0.5
    ax.set_xlim(low - edge, high + edge)
    if low == high:
        ax.set_xticks([low], [f"{first:%Y-%m-%d %H:%M}"])
        return
    dates(ax.xaxis, high - low)


def _ends(every: Sequence[Series]) -> tuple[pd.Timestamp, pd.Timestamp]:
    """The first and the last start of a run."""
    starts = [one.rows["started_at"] for one in every]
    return min(rows.min() for rows in starts), max(rows.max() for rows in starts)


def _names(every: Sequence[Series]) -> dict[Any, str]:
    """Each series' name: its tool, and in a second line its dataset and model where there are several."""
    several = [len({one.dataset for one in every}) > 1, len({one.model for one in every}) > 1]
    room = 28 // max(1, sum(several))
    datasets, models = labels([one.dataset for one in every], room), labels([one.model for one in every], room)
    tools, names = labels([one.tool for one in every], 26), {}
    for one in every:
        words = (datasets[one.dataset], models[one.model])
        where = " · ".join(word for word, wanted in zip(words, several, strict=True) if wanted)
        names[one.key] = "\n".join(filter(None, [tools[one.tool] or " ", where]))
    return names


def _handle(look: Look) -> Line2D:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=look.colour, linestyle=look.dashes, marker=look.marker, markersize=5)


def _notes(rows: pd.DataFrame, undated: Sequence[str]) -> list[str]:
    hollow = (rows["n"] > 0) & (rows["n"] < FEW)
    partial = rows.loc[rows["status"] == "partial", "run_id"].unique() if "status" in rows else []
    return [
        f"hollow: fewer than {FEW} cases" if hollow.any() else "",
        "×: no cases" if (rows["n"] == 0).any() else "",
        f"stopped early: {listed(partial)}" if len(partial) else "",
        f"without a start time, not drawn: {listed(undated)}" if undated else "",
        cluster_note(rows),
    ]


def _errors(rows: pd.DataFrame) -> str:
    errors = int(rows["errors"].sum()) if "errors" in rows else 0
    return f", {errors} error{'s' if errors > 1 else ''}" if errors else ""


def _last(one: Series) -> float:
    known = one.rows.loc[one.rows["n"] > 0, "accuracy"]
    return float(known.iloc[-1]) if len(known) else -1.0


def _span(rows: pd.DataFrame) -> str:
    first, last = (f"{time:%Y-%m-%d}" for time in (rows["started_at"].min(), rows["started_at"].max()))
    return first if first == last else f"{first} to {last}"


def _times(rows: pd.DataFrame) -> np.ndarray[Any, Any]:
    times: np.ndarray[Any, Any] = rows["started_at"].dt.tz_convert(None).to_numpy()
    return times


def _date(time: pd.Timestamp) -> float:
    from matplotlib.dates import date2num

    return float(date2num(time.to_pydatetime()))  # type: ignore[no-untyped-call]
