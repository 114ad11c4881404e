"""Results in, a frame of rates out; every rate carries its n, its errors and its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from .errors import SettingsError
from .shared_cases import shared_rows
from .stats import effective_size, wilson
from .tallies import (
    CLUSTERED,
    RUN_FACTS,
    are_shared,
    by_run,
    counted_rows,
    group_sums,
    grouping,
    in_order,
    run_facts,
    tool_sums,
    with_rates,
)

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas as pd

    Results: TypeAlias = pd.DataFrame | dd.DataFrame

SHARES = ("pass_rate", "ci_low", "ci_high", "bound_low", "bound_high", "average_score")
COUNTS = ("trials", "truncated", "call_in_text")


def summarize(results: Results) -> pd.DataFrame:
    """The totals of each run: one row per run, in order of start.

    Columns: `run_id`, the run's values and fingerprints, `total` (cases), `n` (cases with a scored trial), `passed`
    and `failed` (cases; with trials the means over a case's trials, summed), `errors` (errored trials), `pass_rate`
    with `ci_low` and `ci_high` (Wilson, 95 %, by case or cluster), `bound_low` and `bound_high` (the same mean over all
    cases, if every errored trial had failed or passed), `average_score`, `trials` (finished ones), `truncated` and
    `call_in_text` (how many trials were of that kind), and `n_effective` (see `tool_accuracy`).

    Rates are NA for a run without a scored trial. `results` may be a dask DataFrame (`load_history(engine="dask")`).
    """
    return in_order(_whole_runs(results, _totals), ["started_at", "run_id"])


def tool_accuracy(results: Results, *, by: str | Sequence[str] = "run_id", cases: str = "all") -> pd.DataFrame:
    """The accuracy per expected tool: one row per group of `by` and expected tool, and one for all: `(all)`.

    Columns: those of `by`, `expected_tool`, `n` (cases with a scored trial), `passed` (with trials: the means over a
    case's trials, summed), `errors` (errored trials), `accuracy` with `ci_low` and `ci_high` (Wilson, 95 %, by case or
    cluster), `bound_low` and `bound_high` (the same mean over all cases, if every errored trial had failed or passed),
    `mean_score`, `n_effective` (how many independent cases the interval rests on: n, or fewer where cases share a
    cluster and stand or fall together). By `run_id` also the run's `dataset`, `model`, `label`, `started_at` and
    fingerprints. Final answers, which expect no tool, are counted under `(final answer)`.

    `cases="shared"` counts only cases that stand with the same content in every run of their dataset. `results` may
    be a dask DataFrame as long as `by` has `run_id`. Rates are NA where nothing was scored.

    Raises SchemaError for an unknown column, SettingsError for another word as `cases`.
    """
    keys = [key for key in grouping(by) if key != "expected_tool"]
    return _rates(results, keys, [*keys, "expected_tool"], are_shared(cases), _tool_sums)


def accuracy(results: Results, *, by: str | Sequence[str], cases: str = "all") -> pd.DataFrame:
    """The accuracy of each group: one row per group of `by`, which may name any columns of the results frame.

    Columns: those of `by`, then as `tool_accuracy`. By `tags` a case counts in the group of each of its tags; what has
    no value (no tag, no cluster) is a group of its own with NA. A case that stands in several runs of a group is one
    case, the mean of all its trials there. By `cluster` the cases are the units, else clusters are.

    Raises as `tool_accuracy`.
    """
    keys = grouping(by)
    return _rates(results, keys, keys, are_shared(cases), _group_sums)


def rates(sums: dict[str, Any]) -> dict[str, Any]:
    """The rate of `counts.ToolCounts` sums with everything a reader needs to believe it.

    Keys: `n`, `passed`, `failed`, `errors`, `pass_rate`, `ci_low`, `ci_high` (95 %), `bound_low`, `bound_high` (if
    every errored trial had failed or passed), `average_score`, `n_effective`. Rates are NaN where nothing was scored.
    """
    nan = float("nan")
    n, passed, cases = sums["n"], sums["passed"], sums["cases"]
    rate = passed / n if n else nan
    size = effective_size(n, rate, sums["squares"], *(sums[name] for name in CLUSTERED)) if n else 0
    low, high = wilson(rate, size)
    return {
        "n": n,
        "passed": passed,
        "failed": n - passed,
        "errors": sums["errors"],
        "pass_rate": rate,
        "ci_low": low,
        "ci_high": high,
        "bound_low": sums["if_failed"] / cases if cases else nan,
        "bound_high": sums["if_passed"] / cases if cases else nan,
        "average_score": sums["score"] / n if n else nan,
        "n_effective": size,
    }


@dataclass(frozen=True)
class EvalSummary:
    """The totals of one run. `passed` and `failed` count cases (with trials: means over a case's trials, summed)."""

    total: int
    passed: float
    failed: float
    errors: int
    pass_rate: float | None
    average_score: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    bound_low: float | None = None
    bound_high: float | None = None
    results: pd.DataFrame = field(repr=False, compare=False, default=None)

    @classmethod
    def from_results(cls, results: pd.DataFrame) -> EvalSummary:
        """The totals of the one run in `results`. Raises ValueError where it holds none or several."""
        table = summarize(results)
        if len(table) != 1:
            raise ValueError(
                f"EvalSummary is of one run, got results of {len(table)} runs: ek.summarize gives a row for each"
            )
        row = table.iloc[0]
        names = ("pass_rate", "average_score", "ci_low", "ci_high", "bound_low", "bound_high")
        known = {name: None if row[name] != row[name] else float(row[name]) for name in names}
        return cls(
            total=int(row["total"]), passed=_whole(row["passed"]), failed=_whole(row["failed"]),
            errors=int(row["errors"]), results=results, **known,
        )  # fmt: skip


def _rates(results: Results, by: list[str], keys: list[str], shared: bool, sums: Any) -> pd.DataFrame:
    if _is_dask(results):
        if "run_id" not in by:
            raise SettingsError(
                f"of a dask frame rates are counted per run, got by={by!r}: add 'run_id', or count what "
                ".compute() gives"
            )
        from .dask_frames import keep_shared

        whole = _whole_runs(keep_shared(results) if shared else results, sums, keys)
    else:
        whole = sums(results, keys, shared)
    rates = with_rates(whole, keys)
    frame = by_run(rates, whole.drop_duplicates("run_id"), keys) if "run_id" in by else in_order(rates, keys)
    frame.attrs["cases"] = "shared" if shared else "all"  # which charts name
    return frame


def _tool_sums(results: pd.DataFrame, keys: list[str], shared: bool = False) -> pd.DataFrame:
    rows = counted_rows(results, [*keys, *run_facts(keys)])
    return _with_facts(rows, tool_sums(shared_rows(rows) if shared else rows, keys), keys)


def _group_sums(results: pd.DataFrame, keys: list[str], shared: bool = False) -> pd.DataFrame:
    rows = counted_rows(results, [*keys, *run_facts(keys)])
    return _with_facts(rows, group_sums(shared_rows(rows) if shared else rows, keys), keys)


def _with_facts(rows: pd.DataFrame, sums: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """The sums with the values of their runs, which the first row of each run holds."""
    facts = run_facts(keys)
    if not facts:
        return sums
    return sums.merge(rows.drop_duplicates("run_id")[["run_id", *facts]], on="run_id", how="left")


def _totals(results: pd.DataFrame) -> pd.DataFrame:
    """The rows of `summarize`, in any order."""
    import pandas as pd

    rows = counted_rows(results, ["run_id", *RUN_FACTS, "outcome", "error_kind"])
    sums = group_sums(rows, ["run_id"])
    given = with_rates(sums, ["run_id"]).rename(columns={"accuracy": "pass_rate", "mean_score": "average_score"})
    given = given.assign(total=sums["cases"], failed=given["n"] - given["passed"])
    kinds = {
        "trials": pd.Series(1, index=rows.index),
        "truncated": rows["error_kind"] == "truncated",
        "call_in_text": rows["outcome"] == "call_in_text",
    }
    counts = pd.DataFrame(kinds).astype("int64").groupby(rows["run_id"], sort=False).sum().reset_index()
    facts = rows.drop_duplicates("run_id")[["run_id", *RUN_FACTS]]
    frame = facts.merge(given, on="run_id").merge(counts, on="run_id")
    return frame[["run_id", *RUN_FACTS, "total", "n", "passed", "failed", "errors", *SHARES, *COUNTS, "n_effective"]]


def _whole_runs(results: Results, count: Any, *given: Any) -> pd.DataFrame:
    """What `count` makes of all runs: at once, or of a dask frame partition by partition."""
    if not _is_dask(results):
        whole: pd.DataFrame = count(results, *given)
        return whole
    from .dask_frames import per_run

    return per_run(results, count, *given)


def _is_dask(results: Any) -> bool:
    return type(results).__module__.startswith("dask")


def _whole(number: float) -> float:
    """A count as an int where it is one."""
    return int(number) if float(number).is_integer() else float(number)
