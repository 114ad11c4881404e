"""Runs under one another: the outcomes, scores, latency and cost of each, from results frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .plot_rates import run_names
from .plot_style import (
    FAINT,
    FEW,
    GREY,
    INK,
    PALETTE,
    TIMES,
    drawable,
    legend,
    need,
    new_axes,
    note,
    nothing,
    percent,
    row_labels,
    tidy,
)
from .plot_text import label, plain
from .schema import KEY, conform
from .stats import independent, wilson
from .tallies import cluster_note, counted_rows, group_sums, with_rates

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_ABOUT = ("dataset", "model", "label", "started_at")
# What happened → colour and hatch: passing in blues, an error in no colour at all, failures in warm ones.
_OUTCOMES = {
    "correct": ("#0072b2", ""),
    "passed": ("#0072b2", ""),
    "secondary": ("#56b4e9", ""),
    "wrong_arguments": ("#e69f00", ""),
    "wrong_tool": ("#d55e00", ""),
    "failed": ("#d55e00", ""),
    "no_call": ("#cc79a7", ""),
    "unexpected_call": ("#882255", ""),
    "called_tool": ("#882255", ""),
    "unknown_tool": ("#999933", ""),
    "unparsable": ("#117733", ""),
    "call_in_text": ("#332288", "///"),
    "unusable_call": ("#999933", "///"),
    "extra_calls": ("#e69f00", "///"),
    "refused": ("#cc79a7", "///"),
    "empty": ("#882255", "///"),
    "error": ("#ffffff", "xxx"),
}


def outcomes(results: pd.DataFrame, *, most: int = 30, ax: Axes | None = None) -> Axes:
    """What became of each run's trials, as shares: one bar per run of a results frame, the newest on top.

    Beside it the rate of passed cases with its 95 % interval, n (cases with a scored trial) and errors. Of more than
    `most` runs the newest are shown, and the chart says so.

    Raises SchemaError where `results` is no results frame.
    """
    drawable(results, most)
    if not len(results):
        return nothing(new_axes(ax, 8, 3), "no runs")
    frame, runs, kept = _newest(results, ("outcome", "dataset", "case_hash", "cluster", "score"), most)
    counts = _outcome_counts(frame, runs)
    ax = new_axes(ax, 9, 1.5 + 0.32 * len(runs))
    row_labels(ax, run_names(runs))
    start = [0.0] * len(runs)
    handles = []
    for name in counts.columns:
        shares = (counts[name] / counts.sum(axis=1)).tolist()
        face, hatch = _OUTCOMES.get(name, ("#bbbbbb", "..."))
        edge = GREY if name == "error" else "white"
        bar = ax.barh(
            range(len(runs)), shares, left=start, height=0.72, color=face, hatch=hatch, edgecolor=edge, linewidth=0.6
        )
        _write_shares(ax, shares, start, name)
        start = [before + share for before, share in zip(start, shares, strict=True)]
        handles.append(bar)
    rates = with_rates(group_sums(counted_rows(frame, ["run_id"]), ["run_id"]), ["run_id"]).set_index("run_id")
    _beside(ax, [_pass_rate(one) for one in rates.loc[runs["run_id"]].to_dict("records")])
    tidy(ax, "top", "right", "left")
    percent(ax.xaxis)
    ax.set_xlim(0, 1)
    names = [label(str(name).replace("_", " "), 20) for name in counts.columns]
    legend(ax, handles, names, row=True)
    note(
        ax.xaxis,
        "share of trials  ·  beside it: cases passed (95 % interval), n cases",
        [TIMES, cluster_note(rates), kept],
    )
    return ax


def scores(results: pd.DataFrame, *, most: int = 30, ax: Axes | None = None) -> Axes:
    """How the scores of each run's cases are spread: one row per run of a results frame, the newest on top.

    A case's score is the mean over its scored trials; the area of a disc is the share of cases within 0.05 of it. The
    line is the mean with its 95 % interval, hollow for fewer than 10 cases. Of more than `most` runs the newest are
    shown, and the chart says so.

    Raises SchemaError where `results` is no results frame.
    """
    import pandas as pd

    drawable(results, most)
    if not len(results):
        return nothing(new_axes(ax, 8, 3), "no runs")
    frame, runs, kept = _newest(results, ("score", "cluster"), most)
    ax = new_axes(ax, 8, 1.2 + 0.4 * len(runs))
    row_labels(ax, run_names(runs))
    scored = frame[frame["score"].notna()]
    means = scored.groupby(["run_id", "case_id"], sort=True).agg({"score": "mean", "cluster": "first"}).reset_index()
    beside, sizes = [], []
    for place, run_id in enumerate(runs["run_id"]):
        known = means[means["run_id"] == run_id]
        values = known["score"].to_numpy()
        sizes.append((len(known), independent(values, known["cluster"])))
        errors = int(frame.loc[frame["run_id"] == run_id, "score"].isna().sum())
        beside.append(_score_row(ax, place, values, sizes[-1][1]) + _errors(errors))
    _beside(ax, beside)
    tidy(ax, "top", "right", "left")
    percent(ax.xaxis)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_xlim(-0.04, 1.04)
    few = means.groupby("run_id").size().lt(FEW).any()
    clusters = cluster_note(pd.DataFrame(sizes, columns=["n", "n_effective"]))
    hollow = f"hollow: fewer than {FEW} cases" if few else ""
    note(
        ax.xaxis,
        "score of a case (area: share of the run's cases)  ·  line: mean, 95 % interval",
        [TIMES, hollow, clusters, kept],
    )
    return ax


def latency_and_cost(results: pd.DataFrame, *, most: int = 30, ax: Axes | None = None) -> Axes:
    """How long each run's requests took and what they cost: one row per run of a results frame, the newest on top.

    The dot is the median latency in seconds, the line goes from the 10th to the 90th percentile. Beside it n (trials
    with a known latency) and the cost in US dollars, per trial and in all, where prices were known. Of more than
    `most` runs the newest are shown, and the chart says so.

    Raises SchemaError where `results` is no results frame.
    """
    drawable(results, most)
    if not len(results):
        return nothing(new_axes(ax, 8, 3), "no runs")
    frame, runs, kept = _newest(results, ("latency_s", "cost_usd", "judge_cost_usd"), most)
    ax = new_axes(ax, 8, 1.2 + 0.34 * len(runs))
    row_labels(ax, run_names(runs))
    beside, ends = [], []
    for place, run_id in enumerate(runs["run_id"]):
        rows = frame[frame["run_id"] == run_id]
        known = rows["latency_s"].dropna()
        if len(known):
            low, middle, high = (float(known.quantile(share)) for share in (0.1, 0.5, 0.9))
            ax.hlines(place, low, high, colors=PALETTE[0], linewidth=2, alpha=0.7)
            faces = "white" if len(known) < FEW else PALETTE[0]
            ax.scatter([middle], [place], s=36, facecolors=faces, edgecolors=PALETTE[0], linewidths=1.2, zorder=3)
            ends += [low, high]
        beside.append(f"n {len(known)}  ·  {_cost(rows)}")
    _beside(ax, beside)
    tidy(ax, "top", "right", "left")
    ax.grid(axis="x", color=FAINT, linewidth=0.5)
    ax.set_axisbelow(True)
    _seconds(ax, ends)
    few = frame.groupby("run_id")["latency_s"].count().between(1, FEW - 1).any()
    hollow = f"hollow: fewer than {FEW} trials" if few else ""
    note(ax.xaxis, "latency of a request in seconds (median, 10th to 90th percentile)", [TIMES, hollow, kept])
    return ax


def _newest(results: pd.DataFrame, columns: Sequence[str], most: int) -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """The rows of the newest runs, these runs (one row each, newest first), and the words that say which."""
    need(results, (*KEY, "passed"), "ek.load_run(run_id)")
    wanted = {*KEY, "passed", *_ABOUT, *columns}
    frame = conform(results[[name for name in results.columns if name in wanted]], columns=wanted)
    runs = frame.drop_duplicates("run_id")[["run_id", *_ABOUT]]
    runs = runs.sort_values(["started_at", "run_id"], ascending=False, na_position="last", ignore_index=True)
    kept = f"{most} of {len(runs)} runs: the newest" if len(runs) > most else ""
    runs = runs.head(most)
    return frame[frame["run_id"].isin(runs["run_id"])], runs, kept


def _outcome_counts(frame: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """How many trials of each run (down) had each outcome (across), in the order of the legend."""
    kinds = frame["outcome"].astype(object).where(frame["passed"].notna(), "error")
    kinds = kinds.where(kinds.notna(), "unknown")
    counts = kinds.groupby([frame["run_id"], kinds]).size().unstack(fill_value=0).loc[runs["run_id"]]
    order = list(_OUTCOMES)
    names = sorted(
        counts.columns,
        key=lambda name: (name == "error", name not in order, order.index(name) if name in order else 0, name),
    )
    return counts[names]


def _pass_rate(one: dict[str, Any]) -> str:
    rate = "no cases"
    if one["n"]:
        middle, low, high = (100 * one[name] for name in ("accuracy", "ci_low", "ci_high"))
        rate = f"{middle:.0f} % ({low:.0f}–{high:.0f} %), n {one['n']}"
    return rate + _errors(int(one["errors"]))


def _write_shares(ax: Axes, shares: Sequence[float], start: Sequence[float], name: str) -> None:
    ink = "white" if name not in ("secondary", "wrong_arguments", "no_call", "error") else INK
    for place, (share, before) in enumerate(zip(shares, start, strict=True)):
        if share >= 0.07 and not _OUTCOMES.get(name, ("", "..."))[1]:
            ax.text(
                before + share / 2,
                place,
                f"{share:.0%}".replace("%", " %"),
                ha="center",
                va="center",
                color=ink,
                fontsize="x-small",
            )


def _score_row(ax: Axes, place: int, known: Any, size: float) -> str:
    import numpy as np

    if not len(known):
        ax.text(0.0, place, "no cases", va="center", fontsize="small", color=GREY)
        return "n 0"
    bins, counts = np.unique(np.round(known, 1), return_counts=True)
    ax.scatter(bins, [place] * len(bins), s=320 * counts / len(known), color=PALETTE[5], alpha=0.55, linewidths=0)
    mean = float(known.mean())
    low, high = wilson(min(1.0, max(0.0, mean)), size)
    ax.hlines(place, low, high, colors=INK, linewidth=1.2, zorder=3)
    faces = "white" if len(known) < FEW else INK
    ax.scatter([mean], [place], s=26, marker="D", facecolors=faces, edgecolors=INK, linewidths=1, zorder=4)
    return f"{mean:.2f} ({low:.2f}–{high:.2f}), n {len(known)}"


def _cost(rows: pd.DataFrame) -> str:
    paid = rows[["cost_usd", "judge_cost_usd"]].sum(axis=1, min_count=1).dropna()
    if not len(paid):
        return "cost not known"
    part = "" if len(paid) == len(rows) else f" ({len(paid)} of {len(rows)} trials)"
    return f"${paid.sum():.3g}, ${paid.mean():.2g} a trial{part}"


def _seconds(ax: Axes, ends: Sequence[float]) -> None:
    if ends and min(ends) > 0 and max(ends) / min(ends) > 20:
        from matplotlib.ticker import LogLocator, NullLocator

        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter("{x:g}")
    elif ends:
        ax.set_xlim(0, max(ends) * 1.08 or 1)
    else:
        ax.set_xticks([])


def _beside(ax: Axes, words: Sequence[str]) -> None:
    for place, text in enumerate(words):
        plain(ax.text(1.02, place, text, transform=ax.get_yaxis_transform(), va="center", fontsize="small", color=INK))


def _errors(count: int) -> str:
    return f", {count} error{'s' if count > 1 else ''}" if count else ""
