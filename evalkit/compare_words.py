"""What a comparison says in words: the sentence of its verdict, and what a reader must know beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .compare_tests import BETTER, NO_EVIDENCE, TOO_FEW, WORSE
from .paired import PairedTest, cases_needed
from .run_differences import RunAbout

if TYPE_CHECKING:
    import pandas as pd

MEASURES = {"score": "mean score", "passed": "pass rate"}
_OPENINGS = {
    BETTER: "Better", WORSE: "Worse", TOO_FEW: "Too few cases to tell", NO_EVIDENCE: "No evidence of a difference"
}  # fmt: skip
_NAMED = 8  # so many case ids are named in a sentence


def sentence(row: Mapping[str, Any], test: PairedTest, *, on: str, worth_knowing: float, turning: int = 0) -> str:
    """The verdict in a sentence or three: size, interval, p value, and what such data can show at all."""
    opening = _OPENINGS[row["verdict"]]
    if not row["n"]:
        text = f"{opening}: the runs share no case that was scored in both."
    else:
        text = (
            f"{opening}: the {MEASURES[on]} {_moved(row)} over {counted(row['n'], 'shared case')} "
            f"({signed(row['difference'])}, 95 % interval {signed(row['ci_low'])} to {signed(row['ci_high'])}, "
            f"{p_text(row['p_value'])}): {row['improved']:,} improved, {row['regressed']:,} regressed."
        )
        if row["verdict"] in (TOO_FEW, NO_EVIDENCE) and min(row["improved"], row["regressed"]) >= 2:
            means = "equal" if abs(row["difference"]) < 1e-12 else "close"
            moved = row["improved"] + row["regressed"]
            text += (
                f" The means are {means}, and yet {moved:,} cases changed, in both directions: this is not the same "
                "behaviour. Read the changed cases."
            )
        text += f" {_reach(test, worth_knowing)}"
    if turning:
        text += f" The verdict depends on {counted(turning, 'errored case')}."
    return text


def notes(
    cases: pd.DataFrame,
    baseline: RunAbout,
    candidate: RunAbout,
    *,
    turning: Sequence[str] = (),
    renamed: Sequence[tuple[str, str]] = (),
    edited: Mapping[str, str] | None = None,
) -> list[str]:
    """What limits a comparison, one sentence each, the gravest first."""
    found = [*_about_runs(baseline, candidate), *_about_pairs(cases, renamed, edited), *_about_trials(cases)]
    if turning:
        found.append(f"Errors could turn the verdict. Cases with errored trials: {listed(turning)}.")
    return found


def _about_runs(baseline: RunAbout, candidate: RunAbout) -> list[str]:
    one, other = baseline.description, candidate.description
    found = []
    if baseline.run_id == candidate.run_id:
        found.append(f"Both sides are the same run, {baseline.run_id!r}: no difference can show.")
    elif baseline.run_id in _origins(candidate) or candidate.run_id in _origins(baseline):
        found.append("One run is the other scored again: differences come from the scoring alone.")
    rules = [about.get("scoring_hash") for about in (one, other)]
    if None not in rules and rules[0] == rules[0] and rules[1] == rules[1] and rules[0] != rules[1]:
        ids = " and ".join(f"`evalkit rescore {about.run_id}`" for about in (baseline, candidate))
        found.append(
            "The runs were scored by different rules: their scores are not comparable. "
            f"Score the stored turns again by today's: {ids}, and compare the new runs."
        )
    for side, about in (("baseline", baseline), ("candidate", candidate)):
        if about.description.get("status") == "partial":
            found.append(f"The {side} is partial: `evalkit resume {about.run_id}` does the rest.")
    names = [about.get("dataset") for about in (one, other)]
    if all(isinstance(name, str) for name in names) and names[0] != names[1]:
        found.append(f"The runs are of different datasets: {names[0]!r} and {names[1]!r}.")
    return found


def _origins(about: RunAbout) -> set[Any]:
    return {about.description.get("rescored_from")} - {None}


def _about_pairs(
    cases: pd.DataFrame, renamed: Sequence[tuple[str, str]], edited: Mapping[str, str] | None
) -> list[str]:
    found = []
    added, removed, changed = (
        cases.loc[cases["status"] == word, "case_id"].tolist() for word in ("added", "removed", "changed case")
    )
    shared = len(cases) - len(added) - len(removed)
    if len(cases) and not shared:
        found.append("The runs have no case in common: nothing is compared.")
    elif shared * 2 < len(cases):
        found.append(
            f"Only {shared} of {len(cases)} cases are in both runs ({len(removed)} only in the baseline, "
            f"{len(added)} only in the candidate): the difference is that of the shared ones."
        )
    if changed:
        known = "" if edited else ", under the same id"
        found.append(
            f"{counted(len(changed), 'case')} changed in what is asked or expected{known}, and "
            f"{'is' if len(changed) == 1 else 'are'} not compared: {listed(changed)}."
        )
    if renamed:
        pairs = listed([f"{old} → {new}" for old, new in renamed])
        found.append(f"{counted(len(renamed), 'case')} of the same content under another id, not compared: {pairs}.")
    return found


def _about_trials(cases: pd.DataFrame) -> list[str]:
    found = []
    both = cases["baseline_trial"].notna() & cases["candidate_trial"].notna()
    one, other = (
        cases.loc[both, f"{side}_trials"] + cases.loc[both, f"{side}_errors"] for side in ("baseline", "candidate")
    )
    if len(one) and (one != other).any():
        means = [f"{attempts.mean():.3g}" for attempts in (one, other)]
        found.append(
            f"Unequal trials: {means[0]} a case in the baseline, {means[1]} in the candidate (means); each case counts "
            "once, with the mean of its trials."
        )
    errors = [int(cases[f"{side}_errors"].sum()) for side in ("baseline", "candidate")]
    errored = int((cases["status"] == "errored").sum())
    if sum(errors):
        without = f"; {counted(errored, 'case')} without a scored trial not compared" if errored else ""
        found.append(f"Errored trials: {errors[0]} in the baseline, {errors[1]} in the candidate{without}.")
    pairs = cases[cases["difference"].notna() & cases["cluster"].notna()]
    if len(pairs) > (clusters := pairs["cluster"].nunique()):
        found.append(
            f"{counted(len(pairs), 'compared case')} stand in {counted(clusters, 'cluster')}, and a cluster counts as "
            "one: intervals are wider than that number of separate cases would make them."
        )
    return found


def _moved(row: Mapping[str, Any]) -> str:
    before, after = rate(row["baseline"]), rate(row["candidate"])
    if abs(row["difference"]) < 1e-12:
        return f"stayed at {after}"
    return f"{'rose' if row['difference'] > 0 else 'fell'} from {before} to {after}"


def _reach(test: PairedTest, worth_knowing: float) -> str:
    """The smallest difference that these data could have shown, and the cases needed for a smaller one."""
    smallest = test.smallest_detectable
    target = worth_knowing if smallest > worth_knowing else _rounded_down(smallest / 2)
    needed = cases_needed(test, target)
    seen = f"differences from {rate(min(smallest, 1.0))} up" if smallest < 1 else "no difference at all"
    return f"Data like these show {seen} (power 80 %); to see {_short(target)} takes about {needed:,} cases."


def _rounded_down(number: float) -> float:
    """The number to one significant digit, not above it."""
    unit = 10.0 ** math.floor(math.log10(number))
    return math.floor(number / unit + 1e-9) * unit


def _short(number: float) -> str:
    return f"{number:.2g}"


def rate(value: float) -> str:
    """A rate or a mean with three decimals; – where it is not known."""
    return "–" if math.isnan(value) else f"{value:.3f}"


def signed(value: float) -> str:
    """A difference with its sign and three decimals."""
    if math.isnan(value):
        return "–"
    text = f"{value:+.3f}".replace("-", "−")
    return "0.000" if text[1:] == "0.000" and value == 0 else text


def p_text(p: float) -> str:
    """A p value that never rounds across 0.05: `p = 0.0498`, `p < 0.0001`."""
    if math.isnan(p):
        return "p –"
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.3g}"


def counted(number: int, thing: str) -> str:
    """`1 case`, `1,200 cases`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def listed(words: Sequence[str]) -> str:
    """The first few of many, and how many more there are."""
    rest = len(words) - _NAMED
    return ", ".join(map(str, words[:_NAMED])) + (f" and {rest} more" if rest > 0 else "")
