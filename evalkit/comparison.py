"""Two runs compared by their cases: what changed, is it real, and in what do the runs themselves differ.

Pairs are made by `case_id`; a case whose content changed (`case_hash`) is told apart, also where its id was made of
that content. Trials are averaged within a case, and all statistics are those of `paired`. Nothing is compared that was
matched by position.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .case_comparison import CaseComparison, compare_case
from .compare_pairs import STATUSES, edited_ids, one_row_per_case, pair_cases, renamed_cases
from .compare_tests import ROW, by_tag, by_tool, compared, turned_by_errors
from .compare_words import MEASURES, notes, sentence
from .given import one_of, share
from .history import load_stored
from .masking import printable
from .nearmiss import did_you_mean
from .run_differences import RunAbout, run_differences, stored_by_id
from .runs import StoredRun, find_run
from .schema import COLUMNS, conform

if TYPE_CHECKING:
    import pandas as pd

_RUN_VALUES = tuple(column.name for column in COLUMNS if column.level == "run")


@dataclass(frozen=True, repr=False)
class Comparison:
    """Two runs compared. Shows itself in a notebook: verdict, warnings, per tool, chart, changed cases, differences.

    `baseline` and `candidate` are run ids, `on` is what was compared (`score` or `passed`). `verdict` is `better`,
    `worse`, `too few cases` or `no evidence of a difference`; `sentence` says it with its numbers.

    `cases`: one row per case of either run. `status` (improved, regressed, unchanged, changed failure, added, removed,
    changed case, errored), `flipped`, `difference`; then for each side, as `baseline_…` and `candidate_…`: `score` and
    `passed` (means over scored trials), `trials` (scored), `errors`, and of the trial with the lowest score `trial`,
    `outcome`, `tool`, `arguments`, `answer`, `reason`, `error`, `mismatches`, `reviews`.

    `tools`, `tags`: one row per expected tool and per tag. `n` (pairs), `baseline` and `candidate` (means of what is
    compared, with `…_low` and `…_high`), `difference` with `ci_low` and `ci_high`, `p_value`, `p_holm` (adjusted for
    all rows), `improved`, `regressed`, `smallest_detectable`, `verdict`, `baseline_accuracy`, `candidate_accuracy`
    (pass rates), `errors` (trials), `flipped`, `units`, `nonzero`, `method`. `summary`: one row of the same for all
    cases, and the number of cases of each status.

    `differences`: one row per thing in which the runs differ (`what`, `baseline`, `candidate`, `diff`). `warnings`:
    sentences on what limits the comparison.
    """

    baseline: str
    candidate: str
    on: str
    worth_knowing: float
    cases: pd.DataFrame
    summary: pd.DataFrame
    verdict: str
    sentence: str
    warnings: tuple[str, ...]
    _sides: tuple[pd.DataFrame, pd.DataFrame] = field(compare=False)
    _abouts: tuple[RunAbout, RunAbout] = field(compare=False)

    @cached_property
    def tools(self) -> pd.DataFrame:
        """One row per expected tool, final answers last."""
        return by_tool(self.cases, self.on, self.worth_knowing)

    @cached_property
    def tags(self) -> pd.DataFrame:
        """One row per tag; a case with several counts in each."""
        return by_tag(self.cases, self.on, self.worth_knowing)

    @cached_property
    def differences(self) -> pd.DataFrame:
        """One row per thing in which the runs differ: `what`, `baseline`, `candidate`, `diff` (changed lines)."""
        return run_differences(*self._abouts)

    @property
    def changes(self) -> pd.DataFrame:
        """The cases that are not `unchanged`, flipped ones first, then by status and size of the difference."""
        changed = self.cases[self.cases["status"] != "unchanged"]
        rank = changed["status"].map({word: place for place, word in enumerate(STATUSES)})
        keys = {"_rank": rank, "_kept": ~changed["flipped"], "_size": -changed["difference"].abs()}
        ordered = changed.assign(**keys).sort_values(["_rank", "_kept", "_size", "case_id"], kind="stable")
        return ordered.drop(columns=list(keys)).reset_index(drop=True)

    def case(self, case_id: str) -> CaseComparison:
        """One case side by side: each argument with its mismatch, the answers, the reviews.

        Raises KeyError, with the nearest id, for a case of neither run.
        """
        found = self.cases.index[self.cases["case_id"] == str(case_id)]
        if not len(found):
            raise KeyError(f"no case {case_id!r} in either run.{did_you_mean(str(case_id), self.cases['case_id'])}")
        return compare_case(self.cases.loc[found[0]], *(_row(side, case_id) for side in self._sides))

    def __repr__(self) -> str:
        return printable(f"<Comparison of {self.baseline!r} with {self.candidate!r}: {self.sentence}>")

    def _repr_html_(self) -> str:
        from .comparison_html import comparison_page

        return str(comparison_page(self))


def compare(
    baseline: pd.DataFrame | str | Path,
    candidate: pd.DataFrame | str | Path,
    *,
    on: str = "score",
    worth_knowing: float = 0.10,
    results_dir: str | Path | None = None,
) -> Comparison:
    """What changed from one run to another, as a `Comparison`.

    Each side is a run's id (or the beginning of one, `latest`, `latest~1`, a file's path) or the results frame of one
    run. `on` is what is compared: `score`, or `passed` for pass rates. A difference below `worth_knowing` (0 to 1) is
    not worth more cases: it decides between `too few cases` and `no evidence of a difference`.

    Raises SettingsError for a run that is not there, SchemaError for a frame that holds no results, ValueError for a
    frame of several runs.
    """
    one_of("on", on, tuple(MEASURES))
    worth_knowing = share("worth_knowing", worth_knowing)
    sides = [
        _side(name, run, results_dir) for name, run in (("baseline", baseline), ("candidate", candidate))
    ]  # fmt: skip
    return _compare(*sides, on=on, worth_knowing=worth_knowing)


def compare_stored(
    baseline: StoredRun, candidate: StoredRun, *, on: str = "score", worth_knowing: float = 0.10
) -> Comparison:
    """What `compare` gives, of runs that were already found."""
    sides = [(load_stored(run), RunAbout(run.run_id, {}, run)) for run in (baseline, candidate)]
    return _compare(*sides, on=on, worth_knowing=worth_knowing)


_Side = tuple["pd.DataFrame", RunAbout]


def _side(name: str, run: pd.DataFrame | str | Path | None, results_dir: str | Path | None) -> _Side:
    if run is None:
        raise ValueError(f"{name} must be a run's id or its results, got None: no run is chosen")
    if isinstance(run, str | Path):
        stored = find_run(run, results_dir=results_dir)
        return load_stored(stored), RunAbout(stored.run_id, {}, stored)
    if isinstance(run, StoredRun):
        return load_stored(run), RunAbout(run.run_id, {}, run)
    results = conform(run)
    ids = results["run_id"].unique()
    if len(ids) > 1:
        few = ", ".join(map(repr, ids[:3]))
        raise ValueError(
            f"{name} must be the results of one run, got {len(ids)}: {few}{' …' if len(ids) > 3 else ''}. "
            "Choose one: results[results['run_id'] == …]"
        )
    if not len(ids):
        return results, RunAbout("(no results)")
    values = {key: value for key, value in results.iloc[0][list(_RUN_VALUES)].items() if value == value}
    return results, RunAbout(str(ids[0]), values, stored_by_id(str(ids[0]), results_dir))


def _compare(baseline: _Side, candidate: _Side, *, on: str, worth_knowing: float) -> Comparison:
    import pandas as pd

    one, other = one_row_per_case(baseline[0]), one_row_per_case(candidate[0])
    edited = edited_ids(one, other)
    one = one.rename(index=edited)
    cases = pair_cases(one, other, on=on)
    row, test = compared(cases, on, worth_knowing)
    turning = turned_by_errors(cases, on, worth_knowing, row["verdict"])
    counts = {word.replace(" ", "_"): int((cases["status"] == word).sum()) for word in STATUSES}
    ids = {"baseline_run": baseline[1].run_id, "candidate_run": candidate[1].run_id}
    summary = pd.DataFrame([{**{name: row[name] for name in ROW}, **counts, **ids}])
    warnings = notes(
        cases, baseline[1], candidate[1], turning=turning, renamed=renamed_cases(cases, one, other), edited=edited
    )  # fmt: skip
    return Comparison(
        baseline=baseline[1].run_id,
        candidate=candidate[1].run_id,
        on=on,
        worth_knowing=worth_knowing,
        cases=cases,
        summary=summary,
        verdict=row["verdict"],
        sentence=sentence(row, test, on=on, worth_knowing=worth_knowing, turning=len(turning)),
        warnings=tuple(warnings),
        _sides=(one, other),
        _abouts=(baseline[1], candidate[1]),
    )


def _row(side: pd.DataFrame, case_id: str) -> dict[str, Any] | None:
    if case_id not in side.index:
        return None
    row: dict[str, Any] = side.loc[case_id].to_dict()
    return row
