"""The frames of a review, as its page shows them and its tables hold them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .agreement import judge_agreement
from .annotations import load_annotations
from .metrics import summarize, tool_accuracy
from .repeats import flaky
from .report_data import Pair, WeekRuns
from .review_table import reviews
from .tallies import ALL, FINAL_ANSWER
from .wrong_trials import failure_kinds

if TYPE_CHECKING:
    import pandas as pd

_SIDES = ("last", "this")
_TOOL = (
    "dataset", "model", "expected_tool", "n", "last_score", "this_score", "difference", "ci_low", "ci_high", "p_holm",
    "improved", "regressed", "errors", "verdict",
)  # fmt: skip
_PAIR = (
    "dataset", "model", "last_run", "this_run", "verdict", "n", "last_score", "this_score", "difference", "ci_low",
    "ci_high", "p_value", "improved", "regressed", "errors", "smallest_detectable", "sentence",
)  # fmt: skip
_CHANGE = (
    "dataset", "model", "case_id", "status", "flipped", "difference", "expected_tool", "last_outcome", "this_outcome",
    "last_tool", "this_tool", "this_reason", "input",
)  # fmt: skip
_COST = (
    "dataset", "model", "run_id", "side", "trials", "median_s", "p90_s", "input_tokens", "output_tokens", "cost_usd",
    "judge_cost_usd",
)  # fmt: skip
_RUN = (
    "run_id", "started_at", "dataset", "model", "label", "status", "rescored_from", "dataset_hash", "tools_hash",
    "prompt_hash", "settings_hash", "scoring_hash", "git_commit", "evalkit_version",
)  # fmt: skip


def comparisons(pairs: Sequence[Pair]) -> pd.DataFrame:
    """One row per dataset and model: both runs, the verdict, the difference with its interval, the sentence."""
    return _frame((_compared(pair) for pair in pairs), _PAIR)


def tools(pairs: Sequence[Pair]) -> pd.DataFrame:
    """One row per dataset, model and expected tool: the score before, now, the difference, interval, n, errors."""
    rows: list[dict[str, Any]] = []
    for pair in pairs:
        told = _tools_compared(pair) if pair.comparison is not None else _tools_alone(pair)
        rows += [{"dataset": pair.dataset, "model": pair.model, **row} for row in told]
    return _frame(rows, _TOOL)


def changes(pairs: Sequence[Pair]) -> pd.DataFrame:
    """One row per case that regressed or improved: regressed first, the worst first."""
    rows: list[dict[str, Any]] = []
    for pair in pairs:
        if pair.comparison is not None:
            moved = moved_cases(pair).rename(columns=lambda name: name.replace("baseline_", "last_"))
            moved = moved.rename(columns=lambda name: name.replace("candidate_", "this_"))
            rows += [{"dataset": pair.dataset, "model": pair.model, **row} for row in moved.to_dict("records")]
    frame = _frame(rows, _CHANGE)
    rank = {"status": lambda values: values.map({"regressed": 0, "improved": 1})}
    by = ["status", "difference", "case_id"]
    return frame.sort_values(
        by, key=lambda values: rank.get(str(values.name), lambda same: same)(values), kind="stable", ignore_index=True
    )


def moved_cases(pair: Pair) -> pd.DataFrame:
    """The cases of a comparison that regressed, the worst first, then those that improved, the largest step first."""
    import pandas as pd

    if pair.comparison is None:
        raise ValueError(f"{pair.name} is compared with nothing")
    cases = pair.comparison.cases
    down = cases[cases["status"] == "regressed"].sort_values(["difference", "case_id"], kind="stable")
    up = cases[cases["status"] == "improved"].sort_values(["difference", "case_id"], ascending=[False, True])
    return pd.concat([down, up], ignore_index=True)


def results_of(pairs: Sequence[Pair], *, both: bool = False) -> pd.DataFrame:
    """The results of this week's newest runs, with `both` also of those they are compared with."""
    import pandas as pd

    from .store import frame_of

    frames = {}
    for pair in pairs:
        if both and pair.baseline is not None and pair.baseline_results is not None:
            frames[pair.baseline.run_id] = pair.baseline_results
        frames[pair.candidate.run_id] = pair.results
    return pd.concat(list(frames.values()), ignore_index=True) if frames else frame_of({}, [])


def errors(results: pd.DataFrame) -> pd.DataFrame:
    """One row per dataset, model and kind of error: its trials, its cases, and an example of what was said."""
    wrong = results[results["error_kind"].notna() & results["passed"].isna()]
    keys = ["dataset", "model", "error_kind"]
    counted = wrong.groupby(keys, sort=True).agg(
        trials=("trial", "size"), cases=("case_id", "nunique"), example=("error", "first")
    )
    return counted.reset_index().sort_values(["trials", *keys], ascending=[False, True, True, True], ignore_index=True)


def flaky_cases(results: pd.DataFrame) -> pd.DataFrame:
    """One row per case of which some trials passed and some failed, the least decided first."""
    frame = flaky(results)
    names = results.drop_duplicates("run_id")[["run_id", "dataset", "model"]]
    told = frame[frame["flaky"]].merge(names, on="run_id", how="left")
    wanted = ["dataset", "model", "case_id", "expected_tool", "trials", "passed", "errors", "pass_share"]
    return told[wanted].reset_index(drop=True)


def agreement(results: pd.DataFrame, folder: Any) -> pd.DataFrame:
    """How far judges agree with people, one row per reviewer and judge; no row without annotations."""
    judged = reviews(results)
    judged = judged[judged["judge_model"].notna()]
    people = load_annotations(results, results_dir=folder)
    return judge_agreement(judged, people, by=["reviewer", "judge_model"])


def costs(pairs: Sequence[Pair]) -> pd.DataFrame:
    """One row per run: seconds (median, 90th percentile), tokens, and cost where prices were known."""
    rows: list[dict[str, Any]] = []
    for pair in pairs:
        sides = (("before", pair.baseline_results), ("this", pair.results))
        rows += [
            {"dataset": pair.dataset, "model": pair.model, "side": side, **_cost(results)}
            for side, results in sides
            if results is not None
        ]
    return _frame(rows, _COST)


def run_table(week: WeekRuns) -> pd.DataFrame:
    """One row per run that the review rests on, with its fingerprints: those of the week, and what they meet."""
    runs = {run.run_id: run for run in week.runs}
    runs |= {pair.baseline.run_id: pair.baseline for pair in week.pairs if pair.baseline is not None}
    rows = [{name: run.description.get(name) for name in _RUN} for run in runs.values()]
    partial = {run.run_id for run in runs.values() if run.journal is not None}
    for row in rows:
        row["status"] = "partial" if row["run_id"] in partial else row["status"]
    frame = _frame(rows, _RUN)
    return frame.sort_values(["started_at", "run_id"], ascending=False, ignore_index=True)


def kinds(results: pd.DataFrame) -> pd.DataFrame:
    """The ways of failing, the commonest first."""
    return failure_kinds(results)


def totals(results: pd.DataFrame) -> pd.DataFrame:
    """One row per newest run of the week."""
    return summarize(results)


def _compared(pair: Pair) -> dict[str, Any]:
    row: dict[str, Any] = {"dataset": pair.dataset, "model": pair.model, "this_run": pair.candidate.run_id}
    if pair.comparison is None or pair.baseline is None:
        return {**row, "verdict": "nothing to compare with", "sentence": "There is no earlier complete run."}
    told = pair.comparison.summary.iloc[0]
    names = ("n", "difference", "ci_low", "ci_high", "p_value", "improved", "regressed", "errors")
    return {
        **row, "last_run": pair.baseline.run_id, "verdict": pair.comparison.verdict,
        "last_score": told["baseline"], "this_score": told["candidate"],
        "smallest_detectable": told["smallest_detectable"], "sentence": pair.comparison.sentence,
        **{name: told[name] for name in names},
    }  # fmt: skip


def _tools_compared(pair: Pair) -> list[dict[str, Any]]:
    if pair.comparison is None:
        return []
    table = pair.comparison.tools.rename(columns={"baseline": "last_score", "candidate": "this_score"})
    named = table.assign(expected_tool=table["expected_tool"].fillna(FINAL_ANSWER))
    rows: list[dict[str, Any]] = named[list(_TOOL[2:])].to_dict("records")
    return rows


def _tools_alone(pair: Pair) -> list[dict[str, Any]]:
    table = tool_accuracy(pair.results)
    alone = table[table["expected_tool"] != ALL].rename(columns={"mean_score": "this_score"})
    return [
        {**row, "verdict": "nothing to compare with"}
        for row in alone[["expected_tool", "n", "this_score", "errors"]].to_dict("records")
    ]


def _cost(results: pd.DataFrame) -> dict[str, Any]:
    known = results["latency_s"].dropna()
    sums = {
        name: results[name].sum(min_count=1) for name in ("input_tokens", "output_tokens", "cost_usd", "judge_cost_usd")
    }
    return {
        "run_id": results["run_id"].iloc[0] if len(results) else None, "trials": len(results),
        "median_s": known.median(), "p90_s": known.quantile(0.9), **sums,
    }  # fmt: skip


def _frame(rows: Any, names: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(list(rows), columns=list(names))
    whole = [name for name in ("n", "improved", "regressed", "errors", "trials", "input_tokens") if name in frame]
    return frame.astype(dict.fromkeys([*whole, *({"output_tokens"} & set(frame))], "Int64"))
