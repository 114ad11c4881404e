"""Two runs, case by case: which cases are pairs, and what became of each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .jsontext import fingerprint, read

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

STATUSES = (
    "regressed", "improved", "changed failure", "errored", "changed case", "removed", "added", "unchanged",
)  # fmt: skip
_CASE = ("kind", "expected_tool", "tags", "cluster", "input", "expected", "expected_arguments", "secondary_tools")
_SHOWN = {
    "outcome": "outcome", "actual_tool": "tool", "reason": "reason", "answer": "answer", "error": "error",
    "actual_arguments": "arguments", "mismatches": "mismatches", "reviews": "reviews",
}  # fmt: skip
_NUMBERS = ("score", "passed", "trials", "errors", "trial")
_CONTENT = ("input", "expected_tool", "expected", "expected_arguments")


def one_row_per_case(results: pd.DataFrame) -> pd.DataFrame:
    """The results of one run, one row per case, indexed by `case_id`.

    `score` and `passed` are means over the scored trials (a trial without a score counts as 1 or 0), `trials` scored
    ones, `errors` the others, `trial` the one whose texts are shown: the first with the lowest score.
    """
    import numpy as np
    import pandas as pd

    passed = results["passed"].to_numpy("float64", na_value=np.nan)
    scored = ~np.isnan(passed)
    score = np.where(scored, results["score"].fillna(pd.Series(passed, index=results.index)), np.nan)
    trial = results["trial"].to_numpy()
    ids = results["case_id"]
    if ids.duplicated().any():
        codes, names = pd.factorize(ids)
        order = np.lexsort((trial, score, codes))  # NaN sorts last: an error is shown only where nothing else is
        shown = order[np.searchsorted(codes[order], np.arange(len(names)))]
        trials = np.bincount(codes, weights=scored, minlength=len(names))
        errors = np.bincount(codes, minlength=len(names)) - trials
        score, passed = (_means(values, codes, scored, trials) for values in (score, passed))
        results, trial = results.iloc[shown], trial[shown]
    else:
        trials, errors = scored.astype("float64"), (~scored).astype("float64")
    numbers = {
        "score": score, "passed": passed, "trials": trials.astype("int64"), "errors": errors.astype("int64"),
        "trial": trial,
    }  # fmt: skip
    texts = {name: results[name].array for name in ("case_hash", *_CASE, *_SHOWN)}
    return pd.DataFrame(numbers | texts, index=pd.Index(results["case_id"], name="case_id"))


def pair_cases(baseline: pd.DataFrame, candidate: pd.DataFrame, *, on: str) -> pd.DataFrame:
    """One row per case of either run (frames of `one_row_per_case`), in the baseline's order, new cases behind.

    `status` is a word of `STATUSES`; `difference` is that of `on` (candidate minus baseline) where the case is a pair;
    `flipped`: passed in all scored trials on one side and not on the other. Numbers and texts come once for each side,
    as `baseline_score` and `candidate_score`; texts of the case itself once, as the candidate has them.
    """
    import numpy as np
    import pandas as pd

    places = candidate.index.get_indexer(baseline.index)
    new = np.setdiff1d(np.arange(len(candidate)), places[places >= 0], assume_unique=True)
    left = np.concatenate((np.arange(len(baseline)), np.full(len(new), -1)))
    right = np.concatenate((places, new))
    ids = np.concatenate((baseline.index.to_numpy(object), candidate.index[new].to_numpy(object)))
    sides = {"baseline": (baseline, left), "candidate": (candidate, right)}
    columns: dict[str, Any] = {"case_id": pd.array(ids, dtype=baseline.index.dtype)}
    taken = {
        side: {name: _take(frame[name].array, rows) for name in (*_NUMBERS, *_SHOWN)}
        for side, (frame, rows) in sides.items()
    }
    before, after = taken["baseline"], taken["candidate"]
    here, there = left >= 0, right >= 0
    edited = np.zeros(len(ids), dtype=bool)
    both = here & there
    edited[both] = _is_edited(baseline.iloc[left[both]], candidate.iloc[right[both]])
    difference = np.where(both & ~edited, np.round(after[on] - before[on], 12), np.nan)
    status = _statuses(difference, here, there, edited, before, after)
    columns["status"] = pd.array(status, dtype=baseline.index.dtype)
    all_passed = [np.asarray(values["passed"]) == 1 for values in (before, after)]
    columns["flipped"] = ~np.isnan(difference) & (all_passed[0] != all_passed[1])
    columns["difference"] = difference
    for name in _NUMBERS:
        for side, values in taken.items():
            whole = name not in ("score", "passed")
            columns[f"{side}_{name}"] = pd.array(values[name], dtype="Int64") if whole else values[name]
    own = np.where(there, right, 0), np.where(there, 0, left)
    for name in _CASE:
        columns[name] = _either(candidate[name].array, baseline[name].array, there, *own)
    for name, called in _SHOWN.items():
        for side, values in taken.items():
            columns[f"{side}_{called}"] = values[name]
    return pd.DataFrame(columns)


def edited_ids(baseline: pd.DataFrame, candidate: pd.DataFrame) -> dict[str, str]:
    """Ids of the baseline → ids of the candidate, of cases whose edited content changed the id that was made of it.

    Of cases without an id of their own that share an input the id is made of all their content, so that an edited one
    stands under another; so does one that was given an id, or lost it. Such cases, each in one of the runs only, are
    paired by their input, in their order; two that both have ids of their own are two cases.
    """
    places = candidate.index.get_indexer(baseline.index)
    gone, new = baseline[places < 0], candidate.drop(baseline.index[places >= 0])
    moved = set(gone["case_hash"].dropna()) & set(new["case_hash"].dropna())  # of the same content: not edited
    waiting: dict[tuple[str, bool], list[str]] = {}
    for case_id, asked, is_made in _edited(new, moved):
        waiting.setdefault((asked, is_made), []).append(case_id)
    pairs = {}
    for case_id, asked, is_made in _edited(gone, moved):
        alike = [(asked, True), (asked, False)] if is_made else [(asked, True)]
        found = next((waiting[one] for one in alike if waiting.get(one)), None)
        if found:
            pairs[case_id] = found.pop(0)
    return pairs


def _edited(cases: pd.DataFrame, moved: set[str]) -> Iterator[tuple[str, str, bool]]:
    """Id and input of these cases, and whether the id is made of their content or of their input."""
    for case_id, mark, asked in zip(cases.index, cases["case_hash"], cases["input"], strict=True):
        if not isinstance(mark, str) or not isinstance(asked, str) or mark in moved:
            continue
        marks = [mark, fingerprint(asked), *([fingerprint(read(asked))] if asked.startswith("[{") else [])]
        yield case_id, asked, case_id.rpartition("-")[2] in [one[:8] for one in marks]


def renamed_cases(cases: pd.DataFrame, baseline: pd.DataFrame, candidate: pd.DataFrame) -> list[tuple[str, str]]:
    """Pairs of a removed and an added case of the same content: a case under a new id."""
    gone = baseline.loc[cases.loc[cases["status"] == "removed", "case_id"], "case_hash"].dropna()
    new = candidate.loc[cases.loc[cases["status"] == "added", "case_id"], "case_hash"].dropna()
    gone, new = gone[~gone.duplicated(keep=False)], new[~new.duplicated(keep=False)]
    by_hash = dict(zip(new, new.index, strict=True))
    return [(old, by_hash[content]) for old, content in gone.items() if content in by_hash]


def _means(values: NDArray[Any], codes: NDArray[Any], scored: NDArray[Any], trials: NDArray[Any]) -> NDArray[Any]:
    import numpy as np

    sums = np.bincount(codes, weights=np.where(scored, values, 0.0), minlength=len(trials))
    with np.errstate(invalid="ignore"):
        return np.where(trials > 0, sums / trials, np.nan)


def _take(values: Any, rows: NDArray[Any]) -> Any:
    """The values at these places, missing for -1."""
    import numpy as np
    import pandas as pd

    numbers = np.asarray(values) if values.dtype.kind in "if" else None
    if numbers is not None and not (rows < 0).any():
        return numbers[rows]
    return pd.api.extensions.take(values if numbers is None else numbers.astype("float64"), rows, allow_fill=True)


def _either(candidate: Any, baseline: Any, there: NDArray[Any], right: NDArray[Any], left: NDArray[Any]) -> Any:
    """The candidate's text of each case, where it has the case; else the baseline's."""
    if there.all():
        return candidate.take(right)
    if not len(candidate):
        return baseline.take(left)
    values = candidate.take(right)
    values[~there] = baseline.take(left[~there])
    return values


def _is_edited(before: pd.DataFrame, after: pd.DataFrame) -> NDArray[Any]:
    """Whether what a case asks or expects is another: by fingerprint; without one, by the texts that both hold."""
    import numpy as np

    old, new = before["case_hash"].array, after["case_hash"].array
    known = ~(np.asarray(old.isna()) | np.asarray(new.isna()))
    edited = known & np.asarray(old != new)
    if not known.all():
        for name in _CONTENT:
            one, other = before[name].array, after[name].array
            present = ~(np.asarray(one.isna()) | np.asarray(other.isna()))
            edited |= ~known & present & np.asarray(one != other)
    return np.asarray(edited, dtype=bool)


def _statuses(
    difference: NDArray[Any],
    here: NDArray[Any],
    there: NDArray[Any],
    edited: NDArray[Any],
    before: dict[str, Any],
    after: dict[str, Any],
) -> NDArray[Any]:
    import numpy as np

    failing = (difference == 0) & (np.asarray(before["passed"]) < 1) & (np.asarray(after["passed"]) < 1)
    otherwise = np.zeros(len(difference), dtype=bool)
    places = np.flatnonzero(failing)
    otherwise[places] = _fails_otherwise(before, after, places)
    words = ["removed", "added", "changed case", "errored", "improved", "regressed", "changed failure"]
    tests = [
        ~there, ~here, edited, np.isnan(difference), difference > 0, difference < 0, otherwise
    ]  # fmt: skip
    return np.select(tests, np.array(words, dtype=object), default="unchanged")


def _fails_otherwise(before: dict[str, Any], after: dict[str, Any], places: NDArray[Any]) -> NDArray[Any]:
    """Whether these cases fail in another way: another outcome, tool or mismatch, or by other reviewers."""
    import numpy as np

    differs = np.zeros(len(places), dtype=bool)
    for name in ("outcome", "actual_tool", "mismatches"):
        one, other = (side[name].take(places).fillna("") for side in (before, after))
        differs |= np.asarray(one != other)
    reviews = [side["reviews"].take(places).fillna("[]") for side in (before, after)]
    for place in np.flatnonzero(np.asarray(reviews[0] != reviews[1]) & ~differs):
        differs[place] = _verdicts(reviews[0][place]) != _verdicts(reviews[1][place])
    return differs


def _verdicts(reviews: str) -> list[Any]:
    try:
        return [(one.get("reviewer"), one.get("passed")) for one in json.loads(reviews)]
    except (ValueError, TypeError, AttributeError):
        return [reviews]
