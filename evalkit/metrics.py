"""Results in, a frame of numbers out; every rate carries its n, its errors and its interval."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from .counts import RunCounts, ToolCounts
from .schema import conform
from .stats import effective_size, wilson

if TYPE_CHECKING:
    import pandas as pd

RUN_VALUES = (
    "dataset", "model", "label", "status", "started_at", "rescored_from",
    "dataset_hash", "tools_hash", "prompt_hash", "settings_hash", "scoring_hash",
)  # fmt: skip
COUNTED = ("case_id", "expected_tool", "cluster", "passed", "score", "outcome", "error_kind")


def rates(sums: dict[str, Any]) -> dict[str, Any]:
    """The rate of `counts.ToolCounts` sums with everything a reader needs to believe it.

    Keys: `n`, `passed`, `failed`, `errors`, `pass_rate`, `ci_low`, `ci_high` (95 %), `bound_low`, `bound_high` (by
    trial, if every errored trial had failed or passed), `average_score`. Rates are NaN where nothing was scored.
    """
    nan = float("nan")
    n, passed, trials, errors = sums["n"], sums["passed"], sums["trials"], sums["errors"]
    rate = passed / n if n else nan
    size = effective_size(
        n,
        rate,
        sums["squares"],
        sums["clusters"],
        sums["cluster_squares"],
        sums["cluster_products"],
        sums["cluster_sizes"],
    )
    low, high = wilson(rate, size)
    everything = trials + errors
    return {
        "n": n,
        "passed": passed,
        "failed": n - passed,
        "errors": errors,
        "pass_rate": rate,
        "ci_low": low,
        "ci_high": high,
        "bound_low": sums["passed_trials"] / everything if everything else nan,
        "bound_high": (sums["passed_trials"] + errors) / everything if everything else nan,
        "average_score": sums["score"] / n if n else nan,
    }


def summarize(results: pd.DataFrame) -> pd.DataFrame:
    """The totals of each run: one row per run, in order of start.

    Columns: `run_id`, the run's values and fingerprints, `total` (cases), `n` (cases with a scored trial), `passed`
    and `failed` (cases; with trials the means over a case's trials, summed), `errors` (errored trials), `pass_rate`
    with `ci_low` and `ci_high` (Wilson, 95 %, by case or cluster), `bound_low` and `bound_high` (if every errored
    trial had failed or passed), `average_score`, `trials` (finished ones), and `truncated`, `call_in_text`: how many
    trials were of that kind.

    Rates are NA for a run without a scored trial.
    """
    import pandas as pd

    results = conform(results)
    rows = [_summary_row(run_id, group) for run_id, group in results.groupby("run_id", sort=False)]
    names = ["run_id", *RUN_VALUES, "total", *rates(_no_sums()), "trials", "truncated", "call_in_text"]
    frame = pd.DataFrame(rows, columns=names)
    counts = dict.fromkeys(("total", "n", "errors", "trials", "truncated", "call_in_text"), "int64")
    floats = {name: "float64" for name in rates(_no_sums()) if name not in counts}
    frame = frame.astype(counts | floats)
    return frame.sort_values(["started_at", "run_id"], ignore_index=True)


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
        names = ("pass_rate", "average_score", "ci_low", "ci_high")
        known = {name: None if row[name] != row[name] else float(row[name]) for name in names}
        return cls(
            total=int(row["total"]), passed=_whole(row["passed"]), failed=_whole(row["failed"]),
            errors=int(row["errors"]), results=results, **known,
        )  # fmt: skip


def _summary_row(run_id: Any, group: pd.DataFrame) -> dict[str, Any]:
    counts = RunCounts()
    wanted = group.sort_values("case_id", kind="stable")[list(COUNTED)]
    for row in wanted.astype(object).where(wanted.notna(), None).to_dict("records"):
        counts.add(row)
    sums = counts.finish()
    first = group.iloc[0]
    return {
        "run_id": run_id,
        **{name: first[name] for name in RUN_VALUES},
        "total": sums["cases"],
        **rates(sums),
        "trials": sums["trials"] + sums["errors"],
        "truncated": sums["error_kinds"].get("truncated", 0),
        "call_in_text": sums["outcomes"].get("call_in_text", 0),
    }


def _no_sums() -> dict[str, Any]:
    return asdict(ToolCounts())


def _whole(number: float) -> float:
    """A count as an int where it is one."""
    return int(number) if float(number).is_integer() else float(number)
