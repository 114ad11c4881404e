"""Which tool was called where another was expected, as a table of counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import SchemaError
from .plot_style import FAINT, GREY, INK, drawable, new_axes, note, nothing, tidy
from .plot_text import labels, plain

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_OTHERS = "(other tools)"
_PASSED, _FAILED = "#0072b2", "#d55e00"
_LOST = "grey: how many passed is not known (the frame of ek.tool_confusion says it in its attrs)"


def tool_confusion(frame: pd.DataFrame, *, most: int = 30, ax: Axes | None = None) -> Axes:
    """How often each tool was called where each was expected, from the table of `ek.tool_confusion`: expected tools
    down, called ones across, passed trials of all in the cells.

    A cell is split as its trials are: blue for those that passed, hatched orange for those that did not (the right tool
    with wrong arguments among them); the deeper, the larger its share of its row. Beside each row n, its scored trials.
    Of more than `most` expected tools those with the most failed trials are shown, and the chart says so.
    """
    drawable(frame, most)
    if any(kind.kind not in "iuf" for kind in frame.dtypes):
        raise SchemaError("a table of counts is needed, as ek.tool_confusion(results) makes it")
    asked = _without_empty_any(frame)
    if not asked.size:
        return nothing(new_axes(ax, 7, 3), "no cases")
    table, passed, kept = _worst(asked, _passed(asked), most)
    down, across = [str(name) for name in table.index], [str(name) for name in table.columns]
    texts = _texts(table, passed)
    ax = new_axes(ax, 2.8 + (0.22 + 0.07 * max(map(len, texts.values()))) * len(across), 2.2 + 0.36 * len(down))
    _draw(ax, table, passed, texts)
    _name(ax, down, across)
    totals = table.sum(axis=1).tolist()
    for place, total in enumerate(totals):
        text = ax.text(1.01, place, f"n {total:g}", transform=ax.get_yaxis_transform(), va="center", fontsize="small")
        text.set_color(INK)
    tidy(ax, "top", "right", "left", "bottom")
    colours = _LOST if passed is None else "passed/trials, blue: passed, hatched: failed"
    meaning = ["n: scored trials", colours, kept]
    note(ax.xaxis, "tool called", meaning, width=max(40, 24 + 7 * len(across)))
    note(ax.yaxis, "tool expected")
    return ax


def _without_empty_any(frame: pd.DataFrame) -> pd.DataFrame:
    """The table without a row `any` that no trial is in: it names no tool that could be missed."""
    return frame[[name != "any" or total > 0 for name, total in zip(frame.index, frame.sum(axis=1), strict=True)]]


def _passed(table: pd.DataFrame) -> pd.DataFrame | None:
    """How many trials of each cell passed; None of a frame that has lost it."""
    import pandas as pd

    if "passed" not in table.attrs:
        return None
    known = table.attrs["passed"]
    cells = [[known.get(str(row), {}).get(str(name), 0) for name in table.columns] for row in table.index]
    return pd.DataFrame(cells, index=table.index, columns=table.columns)


def _worst(table: pd.DataFrame, passed: Any, most: int) -> tuple[pd.DataFrame, Any, str]:
    """The rows with the most failed trials, tools that are then only called put together; the same of `passed`."""
    import numpy as np

    if len(table) <= most:
        return table, passed, ""
    right = np.equal.outer(table.index.astype("str"), table.columns.astype("str")) if passed is None else None
    failed = (table - passed if right is None else table.where(~right, 0)).sum(axis=1)
    order = sorted(range(len(table)), key=lambda place: (-failed.iloc[place], place))[:most]
    shown = [one if one is None else _other_tools_together(one.iloc[sorted(order)]) for one in (table, passed)]
    words = "failed trials" if right is None else "wrong calls"
    return shown[0], shown[1], f"{most} of {len(table)} expected tools: those with the most {words}"


def _other_tools_together(table: pd.DataFrame) -> pd.DataFrame:
    others = [name for name in table.columns if name not in table.index and not _no_tool(name)]
    rest = table[others].sum(axis=1)
    table = table.drop(columns=others)
    table.insert(sum(not _no_tool(name) for name in table.columns), _OTHERS, rest)
    return table


def _texts(table: pd.DataFrame, passed: pd.DataFrame | None) -> dict[tuple[int, int], str]:
    """What stands in each cell that has trials, by row and column: passed trials of all."""
    import numpy as np

    every = np.ndenumerate(table.to_numpy())
    return {
        (row, column): f"{count}" if passed is None else f"{passed.iat[row, column]}/{count}"
        for (row, column), count in every
        if count
    }


def _draw(ax: Axes, table: pd.DataFrame, passed: pd.DataFrame | None, texts: dict[tuple[int, int], str]) -> None:
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Rectangle
    from matplotlib.patheffects import withStroke

    totals = table.sum(axis=1).to_numpy()
    for (row, column), text in texts.items():
        count = table.iat[row, column]
        depth = 1 - 0.8 * (1 - count / totals[row])
        share = 1.0 if passed is None else passed.iat[row, column] / count
        parts = [(share, GREY if passed is None else _PASSED, None), (1 - share, _FAILED, "////")]
        left = column - 0.5
        for width, colour, hatch in parts:
            if width:
                face = to_rgba(colour, depth)
                patch = Rectangle((left, row - 0.5), width, 1, facecolor=face, edgecolor=INK, hatch=hatch, linewidth=0)
                ax.add_patch(patch)
            left += width
        said = ax.text(column, row, text, ha="center", va="center", fontsize="small", color=INK)
        said.set_path_effects([withStroke(linewidth=2.5, foreground="white")])
    ax.set_xlim(-0.5, table.shape[1] - 0.5)
    ax.set_ylim(table.shape[0] - 0.5, -0.5)


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
