"""Accuracy per tool as dots with intervals, the lowest on top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .plot_series import named, timed
from .plot_style import (
    ALL,
    FAINT,
    FEW,
    GREY,
    INK,
    MARKERS,
    PALETTE,
    TIMES,
    Look,
    cases_named,
    counted,
    drawable,
    interval,
    legend,
    need,
    new_axes,
    note,
    nothing,
    percent,
    row_labels,
    tidy,
)
from .plot_text import labels, plain
from .tallies import cluster_note

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_GROUPS = 4  # runs side by side in a row


def tool_accuracy(frame: pd.DataFrame, *, cases: str | None = None, most: int = 30, ax: Axes | None = None) -> Axes:
    """The accuracy of each tool with its 95 % interval, from the frame of `ek.tool_accuracy` (one row per run and
    tool); from `ek.accuracy(by=…)` likewise.

    One row of the chart per tool, the lowest accuracy on top and `(all)` at the bottom; beside it n (of several runs
    its range) and errors. Each run has one colour and marker. Dots of fewer than 10 cases are hollow. Where trials
    ended in errors a dotted line goes to the rates if all of them had failed or passed. Of more than four runs the
    newest of each dataset and model is shown, of more than `most` tools the lowest; the chart says so.

    `cases` says over which cases the rates were taken, "all" or "shared", where the frame does not know.

    Raises SchemaError where a column is missing, ValueError for another word as `cases`.
    """
    drawable(frame, most)
    named_cases = cases_named(frame, cases)
    if not len(frame):
        return nothing(new_axes(ax, 7, 3), "no cases")
    need(frame, ("n", "accuracy", "ci_low", "ci_high"), "ek.tool_accuracy(results)")
    rows, which = _of_few_groups(named(frame))
    tools, kept = _sorted_tools(rows, most)
    groups = list(dict.fromkeys(rows["_group"]))
    ax = new_axes(ax, 7.5, 1.1 + 0.3 * len(tools) * max(1.0, len(groups) * 0.6))
    _draw(ax, rows, tools, groups)
    tidy(ax, "top", "right", "left")
    percent(ax.xaxis)
    ax.set_xlim(-0.02, 1.02)
    hollow = f"hollow: fewer than {FEW} cases" if ((rows["n"] > 0) & (rows["n"] < FEW)).any() else ""
    dotted = "dotted: if every errored trial had failed or passed" if _errors(rows).any() else ""
    starts = TIMES if len(groups) > 1 and "started_at" in rows else ""
    notes = [hollow, dotted, cluster_note(rows), which, starts, kept]
    note(ax.xaxis, f"accuracy, {named_cases} (95 % intervals)", notes)
    return ax


def _of_few_groups(rows: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The rows with `_group`, what stands side by side, and `_name`, what a row is called; the newest if too many."""
    if "started_at" not in rows or "run_id" not in rows:
        groups = [" · ".join(filter(None, words)) for words in zip(rows["_dataset"], rows["_model"], strict=True)]
        return rows.assign(_group=groups, _row=rows["_tool"]), ""
    dated, _ = timed(rows)
    undated = rows[~rows.index.isin(dated.index)]
    order = dict.fromkeys([*undated["run_id"].astype("str"), *dated["run_id"]])
    rows = rows.assign(_group=rows["run_id"].astype("str"))
    runs = rows.drop_duplicates("_group").set_index("_group").loc[list(order)]
    which = ""
    if len(runs) > _GROUPS:
        newest = runs.groupby(["_dataset", "_model"], sort=False).tail(1).tail(_GROUPS)
        which = f"{len(newest)} of {len(runs)} runs: the newest of each dataset and model"
        runs = newest
    several = runs["_dataset"].nunique() > 1
    shown = rows[rows["_group"].isin(runs.index)]
    shown = shown.assign(_order=shown["_group"].map({run: place for place, run in enumerate(runs.index)}))
    prefix = shown["_dataset"] + " · " if several else ""
    return shown.assign(_row=prefix + shown["_tool"]).sort_values("_order", kind="stable"), which


def _sorted_tools(rows: pd.DataFrame, most: int) -> tuple[list[tuple[str, str]], str]:
    """(row, tool) from the lowest accuracy of the newest run up, tools without cases and `(all)` last."""
    latest = rows.drop_duplicates("_row", keep="last")
    order = sorted(
        zip(latest["_row"], latest["_tool"], latest["n"], latest["accuracy"], strict=True),
        key=lambda one: (one[1] == ALL, one[2] == 0, one[3] if one[2] else 0, one[0]),
    )
    tools = [(row, tool) for row, tool, _, _ in order if tool != ALL]
    whole = [(row, tool) for row, tool, _, _ in order if tool == ALL]
    kept = f"{most} of {len(tools)} tools: the lowest" if len(tools) > most else ""
    return tools[:most] + whole, kept


def _draw(ax: Axes, rows: pd.DataFrame, tools: Sequence[tuple[str, str]], groups: Sequence[str]) -> None:
    row_labels(ax, list(labels([row for row, _ in tools], 34).values()))
    by_place = {
        (row, group): one for row, group, one in zip(rows["_row"], rows["_group"], rows.to_dict("records"), strict=True)
    }
    width = 0.7 / len(groups)
    styles = _looks(groups)
    for place, (row, _) in enumerate(tools):
        if place % 2:
            ax.axhspan(place - 0.5, place + 0.5, color=FAINT, alpha=0.3, linewidth=0, zorder=0)
        found = [(number, by_place[row, group]) for number, group in enumerate(groups) if (row, group) in by_place]
        for number, one in found:
            _dot(ax, one, place + (number - (len(groups) - 1) / 2) * width, styles[number], 0.19 * width)
        words = _count([one for _, one in found])
        plain(ax.text(1.03, place, words, transform=ax.get_yaxis_transform(), va="center", fontsize="small", color=INK))
    if len(groups) > 1:
        _name_groups(ax, rows, groups)


def _looks(groups: Sequence[str]) -> list[Look]:
    return [Look(PALETTE[number], MARKERS[number], "-") for number in range(len(groups))]


def _dot(ax: Axes, one: dict[str, Any], y: float, look: Look, below: float) -> None:
    """The dot of a row with its interval, and `below` it what errors could have made of it."""
    if not one["n"]:
        ax.text(0.0, y, "no cases", va="center", fontsize="small", color=GREY)
        return
    if one.get("errors") and one.get("bound_low") is not None:
        ax.hlines(y + below, one["bound_low"], one["bound_high"], colors=GREY, linestyles=":", linewidth=1.2, zorder=1)
    interval(ax, one["ci_low"], one["accuracy"], one["ci_high"], y, look, hollow=one["n"] < FEW)


def _name_groups(ax: Axes, rows: pd.DataFrame, groups: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=look.colour, marker=look.marker) for look in _looks(groups)]
    runs = rows.drop_duplicates("_group").set_index("_group")
    names = run_names(runs.loc[list(groups)].reset_index(names="_id")) if "run_id" in runs else labels(groups).values()
    legend(ax, handles, list(names), row=True)


def run_names(runs: pd.DataFrame) -> list[str]:
    """How a chart calls each run of a frame (one row per run): its label, else its model, and its start."""
    names = []
    every = runs.to_dict("records")
    texts = [_first_text(one, ("label", "model", "run_id")) for one in every]
    short = labels(texts, 24)
    sets = labels([_first_text(one, ("dataset",)) for one in every], 20)
    for one, text in zip(every, texts, strict=True):
        words = short[text]
        if len(sets) > 1:
            words = f"{sets[_first_text(one, ('dataset',))]} · {words}"
        start = one.get("started_at")
        when = f"{start:%Y-%m-%d %H:%M}  " if start is not None and start == start and hasattr(start, "year") else ""
        names.append(when + words)
    return numbered(names)


def _first_text(one: dict[str, Any], columns: Sequence[str]) -> str:
    """The first of these values that is known, as text."""
    return next((str(one[name]) for name in columns if name in one and one[name] == one[name] and one[name]), "?")


def numbered(names: Sequence[str]) -> list[str]:
    """The names with a number where one repeats."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def _count(every: Sequence[dict[str, Any]]) -> str:
    errors = sum(int(one.get("errors") or 0) for one in every)
    return counted(one["n"] for one in every) + (f", {errors} error{'s' if errors > 1 else ''}" if errors else "")


def _errors(rows: pd.DataFrame) -> pd.Series[Any]:
    return rows["errors"] > 0 if "errors" in rows else rows["n"] < 0
