"""A review in sentences: what is scored, what moved, what to look at; every claim with its numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .compare_tests import BETTER, NO_EVIDENCE, TOO_FEW, WORSE
from .compare_words import counted
from .report_data import Pair, WeekRuns

if TYPE_CHECKING:
    import pandas as pd

NAMED = 3  # so many datasets and models are named in a headline
_RANK = {WORSE: 0, BETTER: 1, NO_EVIDENCE: 2, TOO_FEW: 3}
_NEVER = "no earlier complete run of the same dataset and model"


def headlines(week: WeekRuns, totals: pd.DataFrame, kinds: pd.DataFrame) -> list[tuple[str, str]]:
    """Three headlines, each a word and its sentences; of a week without complete runs one that says so."""
    if not week.pairs:
        return [("No runs", nothing_ran(week))]
    return [
        ("Score", scored(week, totals)),
        ("Change", moved(week)),
        ("Look at", to_look_at(week, totals, kinds)),
    ]


def nothing_ran(week: WeekRuns) -> str:
    """That nothing was finished in the week, what was begun, and what ran last before it."""
    said = [f"There is no complete run in {week.span.words}, so there is nothing to score or to compare."]
    if week.runs:
        begun = ", ".join(run.run_id for run in week.runs[:NAMED])
        said.append(f"{counted(len(week.runs), 'run')} began and did not finish: {begun}; `evalkit resume` goes on.")
    if week.last_before is not None:
        about = week.last_before.description
        said.append(
            f"The last complete run before it is {week.last_before.run_id} "
            f"({about.get('dataset')} with {about.get('model')})."
        )
    return " ".join(said)


def scored(week: WeekRuns, totals: pd.DataFrame) -> str:
    """What the newest runs pass, the largest first."""
    rows = {row["run_id"]: row for row in totals.to_dict("records")}
    ordered = sorted(week.pairs, key=lambda pair: -rows.get(pair.candidate.run_id, {}).get("n", 0))
    told = [f"{pair.name} {_passes(rows.get(pair.candidate.run_id))}" for pair in ordered[:NAMED]]
    more = len(ordered) - NAMED
    said = "; ".join(told) + (f"; {more} more in the list below" if more > 0 else "")
    return f"In the newest complete runs, {said}."


def moved(week: WeekRuns) -> str:
    """What the comparisons say: how many of each verdict, and the gravest in words."""
    compared = [pair for pair in week.pairs if pair.comparison is not None]
    if not compared:
        return f"Nothing can be compared: there is {_NEVER}."
    counts = Counter(pair.comparison.verdict for pair in compared if pair.comparison is not None)
    words = ", ".join(f"{counts[verdict]} {_saying(verdict)}" for verdict in _RANK if counts[verdict])
    alone = len(week.pairs) - len(compared)
    without = f"; {alone} had nothing to be compared with" if alone else ""
    first = min(compared, key=_gravity)
    lead = f"Of {counted(len(compared), 'comparison')} with {_compared_with(compared)}: {words}{without}."
    return f"{lead} {first.name}: {short_sentence(first)}"


def to_look_at(week: WeekRuns, totals: pd.DataFrame, kinds: pd.DataFrame) -> str:
    """Where a reader's time is best spent: regressed cases, the commonest way to fail, errors."""
    said = []
    worst = max(week.pairs, key=lambda pair: _count(pair, "regressed"))
    if _count(worst, "regressed"):
        number = _count(worst, "regressed")
        cases = "case" if number == 1 else f"{number:,} cases"
        said.append(f"the {cases} that regressed in {worst.name}")
    if len(kinds):
        row = kinds.iloc[0]
        kind = f" ({row['kinds']})" if isinstance(row["kinds"], str) else ""
        failed = int(kinds["trials"].sum())
        name = str(row["outcome"]).replace("_", " ")
        said.append(f"{name}{kind}, the commonest way to fail: {row['trials']} of {counted(failed, 'failed trial')}")
    errors = int(totals["errors"].sum()) if len(totals) else 0
    if errors:
        said.append(f"{counted(errors, 'trial')} that ended in an error and are in no rate")
    if not said:
        return "Nothing failed and nothing regressed in the newest runs."
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}."


def short_sentence(pair: Pair) -> str:
    """The verdict with size, interval and p value, without what other data could show."""
    if pair.comparison is None:
        return f"Not compared: there is {_NEVER}."
    whole = pair.comparison.sentence
    head, stop, _ = whole.partition(" Data like these")
    depends = " The verdict depends" + whole.partition(" The verdict depends")[2]
    return head + (depends if stop and "The verdict depends" in whole else "")


def full_sentence(pair: Pair) -> str:
    """All that the comparison says of itself."""
    return short_sentence(pair) if pair.comparison is None else pair.comparison.sentence


def compared_to(pair: Pair, week: WeekRuns) -> str:
    """Which two runs a comparison is of, in words."""
    from .weeks import week_of

    now = f"{pair.candidate.run_id}, the newest complete run of the {week.span.noun}"
    if pair.baseline is None or pair.baseline.started_at is None:
        return now
    held = week_of(pair.baseline.started_at).name
    return f"{now}, against {pair.baseline.run_id} (week {held})"


def _passes(row: Any) -> str:
    if not row or not row["n"]:
        errors = f" ({counted(int(row['errors']), 'error')})" if row else ""
        return f"has no scored trial{errors}"
    errors = f", {counted(int(row['errors']), 'errored trial')} apart" if row["errors"] else ""
    size = row["n_effective"]
    shared = f", as wide as of {size:,.3g} cases, since some share a cluster" if size < row["n"] - 1e-9 else ""
    return (
        f"passes {row['passed']:,.4g} of {counted(int(row['n']), 'case')} ({row['pass_rate']:.0%}, 95 % interval "
        f"{row['ci_low']:.0%} to {row['ci_high']:.0%}{shared}{errors})"
    ).replace("%", " %").replace("  %", " %")  # fmt: skip


def _gravity(pair: Pair) -> tuple[int, float, str]:
    comparison = pair.comparison
    if comparison is None:
        return len(_RANK), 1.0, pair.name
    p = float(comparison.summary["p_value"].iloc[0])
    return _RANK.get(comparison.verdict, len(_RANK)), p if p == p else 1.0, pair.name


def _saying(verdict: str) -> str:
    return {NO_EVIDENCE: "without evidence of a difference", TOO_FEW: "with too few cases to tell"}.get(
        verdict, verdict
    )


def _compared_with(pairs: Sequence[Pair]) -> str:
    from .weeks import week_of

    moments = [pair.baseline.started_at for pair in pairs if pair.baseline is not None]
    weeks = sorted({week_of(moment).name for moment in moments if moment is not None})
    if len(weeks) == 1:
        return f"the newest complete run of {weeks[0]}"
    return f"the newest earlier complete runs ({', '.join(weeks[-NAMED:])})"


def _count(pair: Pair, status: str) -> int:
    return 0 if pair.comparison is None else int(pair.comparison.summary[status].iloc[0])
