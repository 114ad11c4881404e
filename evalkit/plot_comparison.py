"""Two runs side by side: one row per expected tool, both rates with their intervals, and the difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import SettingsError
from .plot_style import ALL, FEW, GREY, PALETTE, new_axes, note, nothing, percent, row_labels, tidy
from .plot_text import labels, plain

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from .comparison import Comparison

MOST_ROWS = 30
WIDTH = 8.2  # inches
_APART = 0.17  # of a row: how far the two points stand from its middle
_MEASURES = {"score": "mean score", "passed": "pass rate"}


def comparison(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """The axes with both runs' rates per tool: the baseline as grey circles, the candidate as blue diamonds.

    The row `(all)` stands on top. Lines are 95 % intervals, points with fewer than 10 cases are hollow; on the right
    stands the difference with its own interval. Of more than 30 tools those are drawn that differ most.
    """
    if not hasattr(comparison, "tools"):
        raise SettingsError(f"a comparison is needed, as ek.compare gives it, got {type(comparison).__name__}")
    rows, left_out = _rows(comparison)
    ax = new_axes(ax, WIDTH, height(len(rows)))
    if not rows or not rows[0]["n"]:
        return nothing(ax, "No case was scored in both runs")
    names = labels(row["name"] for row in rows)
    row_labels(ax, [f"{names[row['name']]}  (n {row['n']})" for row in rows])
    _side(ax, rows, "baseline", [GREY] * len(rows), "o", -_APART)
    _side(ax, rows, "candidate", [PALETTE[0]] * len(rows), "D", _APART)
    for place, row in enumerate(rows):
        plain(ax.text(1.03, place, _difference(row), va="center", fontsize="small", transform=ax.get_yaxis_transform()))
    ax.set_xlim(-0.01, 1.01)
    ax.grid(axis="x", color="#d0d0d0", linewidth=0.6, zorder=0)
    if comparison.on == "passed":
        percent(ax.xaxis)
    plain(ax.text(1.03, -0.75, "difference", fontsize="small", color=GREY, transform=ax.get_yaxis_transform()))
    tidy(ax, "top", "right", "left")
    notes = ["○ baseline, ◇ candidate", "lines: 95 % intervals", f"hollow: n < {FEW}"]
    if any(row["units"] < row["n"] for row in rows):
        notes.append("intervals are wider where cases share a cluster")
    if left_out:
        notes.append(f"{left_out} tools that differ less are left out")
    note(ax.xaxis, _MEASURES[comparison.on], notes)
    return ax


def _side(ax: Axes, rows: list[dict[str, Any]], side: str, colours: list[str], marker: str, shift: float) -> None:
    """One run's points and intervals, all rows at once: many small artists are slow to draw."""
    low, value, high = ([row[f"{side}{end}"] for row in rows] for end in ("_low", "", "_high"))
    y = [place + shift for place in range(len(rows))]
    faces = ["white" if row["n"] < FEW else shade for row, shade in zip(rows, colours, strict=True)]
    ax.hlines(y, low, high, colors=colours, linewidth=1.8, alpha=0.75, zorder=2)
    ax.scatter(
        value, y, s=36, marker=marker, facecolors=faces, edgecolors=colours, linewidths=1.2, zorder=3, clip_on=False
    )


def height(rows: int) -> float:
    """The height of a chart of so many rows, in inches."""
    return 1.3 + 0.42 * max(rows, 2)


def row_count(comparison: Comparison) -> int:
    """How many rows the chart has."""
    return 1 + min(int((comparison.tools["n"] > 0).sum()), MOST_ROWS)


def _rows(comparison: Comparison) -> tuple[list[dict[str, Any]], int]:
    tools: pd.DataFrame = comparison.tools
    tools = tools[tools["n"] > 0]
    most = tools["difference"].abs().sort_values(ascending=False, kind="stable").index[:MOST_ROWS]
    shown = tools.loc[sorted(most)]
    named = shown.assign(name=shown["expected_tool"].fillna("(final answers)"))
    everything = comparison.summary.assign(name=ALL)
    rows: list[dict[str, Any]] = [*everything.to_dict("records"), *named.to_dict("records")]
    return rows, len(tools) - len(shown)


def _difference(row: dict[str, Any]) -> str:
    texts = [f"{row[name]:+.2f}".replace("-", "−") for name in ("difference", "ci_low", "ci_high")]
    return f"{texts[0]} [{texts[1]}, {texts[2]}]"
