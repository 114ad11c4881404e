"""Which tool was called where another was expected, as a table of counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .plot_style import FAINT, INK, new_axes, note, nothing, tidy
from .plot_text import labels, plain

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_OTHERS = "(other tools)"
_WRONG, _RIGHT, _ACCEPTED = "#d55e00", "#0072b2", "#56b4e9"


def tool_confusion(frame: pd.DataFrame, *, most: int = 30, ax: Axes | None = None) -> Axes:
    """How often each tool was called where each was expected, from the table of `ek.tool_confusion`: expected tools
    down, called ones across, trials in the cells.

    A cell's depth is its share of its row: blue where the call was the expected one, light blue with a dot where it
    passed as a secondary tool, orange otherwise. Beside each row n, its scored trials. Of more than `most` expected
    tools those with the most wrong calls are shown, and the chart says so.
    """
    asked = _without_empty_any(frame)
    if not asked.size:
        return nothing(new_axes(ax, 7, 3), "no cases")
    table, kept = _worst(asked, most)
    down, across = [str(name) for name in table.index], [str(name) for name in table.columns]
    ax = new_axes(ax, 2.8 + 0.42 * len(across), 2.2 + 0.36 * len(down))
    accepted = {(str(one), str(other)) for one, other in frame.attrs.get("secondary", ())}
    dots = _draw(ax, table, down, across, accepted)
    _name(ax, down, across)
    totals = table.sum(axis=1).tolist()
    for place, total in enumerate(totals):
        text = ax.text(1.01, place, f"n {total:g}", transform=ax.get_yaxis_transform(), va="center", fontsize="small")
        text.set_color(INK)
    tidy(ax, "top", "right", "left", "bottom")
    meaning = ["n: scored trials", "• passed as a secondary tool" if dots else "", kept]
    note(ax.xaxis, "tool called", meaning, width=max(40, 24 + 7 * len(across)))
    note(ax.yaxis, "tool expected")
    return ax


def _without_empty_any(frame: pd.DataFrame) -> pd.DataFrame:
    """The table without a row `any` that no trial is in: it names no tool that could be missed."""
    return frame[[name != "any" or total > 0 for name, total in zip(frame.index, frame.sum(axis=1), strict=True)]]


def _worst(frame: pd.DataFrame, most: int) -> tuple[pd.DataFrame, str]:
    if len(frame) <= most:
        return frame, ""
    wrong = [-(frame.loc[name].sum() - (frame.loc[name, name] if name in frame.columns else 0)) for name in frame.index]
    order = sorted(range(len(frame)), key=lambda place: (wrong[place], place))[:most]
    table = frame.iloc[sorted(order)]
    others = [name for name in table.columns if name not in table.index and not _no_tool(name)]
    rest = table[others].sum(axis=1)
    table = table.drop(columns=others)
    place = sum(not _no_tool(name) for name in table.columns)
    table.insert(place, _OTHERS, rest)
    return table, f"{most} of {len(frame)} expected tools: those with the most wrong calls"


def _draw(ax: Axes, table: pd.DataFrame, down: list[str], across: list[str], accepted: set[tuple[str, str]]) -> bool:
    """Fill the cells; whether any of them passed as a secondary tool."""
    import numpy as np
    from matplotlib.colors import to_rgb

    counts = table.to_numpy("float64")
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    picture = np.ones((*counts.shape, 3))
    dots = False
    for (row, column), count in np.ndenumerate(counts):
        if not count:
            continue
        pair = (down[row], across[column])
        right = pair[0] == pair[1] or (pair[0] == "any" and not _no_tool(pair[1]))
        colour = _RIGHT if right else _ACCEPTED if pair in accepted else _WRONG
        depth = 0.15 + 0.85 * count / totals[row, 0]
        picture[row, column] = 1 - depth * (1 - np.array(to_rgb(colour)))
        ink = "white" if depth > 0.6 and colour != _ACCEPTED else INK
        dot = " •" if pair in accepted else ""
        dots = dots or bool(dot)
        ax.text(column, row, f"{count:g}{dot}", ha="center", va="center", fontsize="small", color=ink)
    ax.imshow(picture, aspect="auto", interpolation="nearest", zorder=0)
    return dots


def _name(ax: Axes, down: list[str], across: list[str]) -> None:
    for axis, names in ((ax.yaxis, down), (ax.xaxis, across)):
        short = labels(names, 26)
        axis.set_ticks(range(len(names)), [short[name] for name in names])
        for text in axis.get_ticklabels():
            plain(text)
    for text in ax.get_xticklabels():
        text.set(rotation=45, ha="right", rotation_mode="anchor")
    ax.tick_params(length=0)
    ax.set_xticks([place - 0.5 for place in range(1, len(across))], minor=True)
    ax.set_yticks([place - 0.5 for place in range(1, len(down))], minor=True)
    ax.grid(which="minor", color=FAINT, linewidth=0.6)
    ax.tick_params(which="minor", length=0)


def _no_tool(name: Any) -> bool:
    return str(name) == "none" or str(name).startswith("(")
