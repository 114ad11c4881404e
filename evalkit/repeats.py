"""What repeats of a case tell: how often it passes, and how reliably."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .given import whole
from .stats import pass_at_k, pass_hat_k
from .tallies import counted_rows, group_sums

if TYPE_CHECKING:
    import pandas as pd


def flaky(results: pd.DataFrame, *, k: int | None = None) -> pd.DataFrame:
    """How reliably each case passes: one row per run and case, the least decided first.

    Columns: `run_id`, `case_id`, `expected_tool`, `trials` (scored), `passed` (trials), `errors`, `pass_share`,
    `flaky` (whether some trials passed and some failed), `k`, `pass_at_k` (the chance that any of k trials passes) and
    `pass_all_k` (that all do: pass^k), both unbiased. `k` defaults to the most trials that a case of the run has; a
    case with fewer than k scored trials has NA, since nothing is known of k trials then.

    Raises SettingsError for a k below 1.
    """
    import numpy as np

    if k is not None:
        whole("k", k, " of trials")
    rows = counted_rows(results, ["run_id", "case_id", "expected_tool"])
    sums = group_sums(rows, ["run_id", "case_id"]).rename(columns={"passed": "pass_share"})
    tools = rows.drop_duplicates(["run_id", "case_id"])[["run_id", "case_id", "expected_tool"]]
    frame = sums.merge(tools, on=["run_id", "case_id"])
    tried = frame["trials"]
    most = frame.assign(all=tried + frame["errors"]).groupby("run_id")["all"].transform("max")
    wanted = most.to_numpy() if k is None else np.full(len(frame), k)
    share = frame["pass_share"].where(tried > 0)
    frame = frame.assign(
        passed=frame["passed_trials"],
        pass_share=share,
        flaky=(share > 0) & (share < 1),
        k=wanted.astype("int64"),
        pass_at_k=pass_at_k(frame["passed_trials"], tried, wanted),
        pass_all_k=pass_hat_k(frame["passed_trials"], tried, wanted),
        undecided=(share - 0.5).abs(),
    ).sort_values(["undecided", "run_id", "case_id"], kind="stable", ignore_index=True)
    names = ("trials", "passed", "errors", "pass_share", "flaky", "k", "pass_at_k", "pass_all_k")
    return frame[["run_id", "case_id", "expected_tool", *names]]
