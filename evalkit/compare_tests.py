"""The numbers of a comparison: rates of both sides, the paired test, the verdict; for all cases and for groups."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .paired import ALPHA, PairedTest, paired_test
from .stats import holm, independent, wilson

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BETTER, WORSE, TOO_FEW, NO_EVIDENCE = "better", "worse", "too few cases", "no evidence of a difference"
FEWEST_UNITS = 6  # with five, not even 5 to 0 has p < 0.05
ROW = (
    "n", "baseline", "candidate", "difference", "ci_low", "ci_high", "p_value", "improved", "regressed",
    "smallest_detectable", "verdict", "baseline_low", "baseline_high", "candidate_low", "candidate_high",
    "baseline_accuracy", "candidate_accuracy", "errors", "flipped", "units", "nonzero", "method",
)  # fmt: skip
_COUNTS = ("n", "improved", "regressed", "errors", "flipped", "units", "nonzero")
_TEXTS = ("verdict", "method")


def verdict_of(test: PairedTest, worth_knowing: float, p_value: float | None = None) -> str:
    """One of the four verdicts; `p_value` replaces the test's own where it was adjusted."""
    p = test.p_value if p_value is None else p_value
    if p < ALPHA:
        return BETTER if test.difference > 0 else WORSE
    if test.units < FEWEST_UNITS or not test.smallest_detectable <= worth_knowing:
        return TOO_FEW
    return NO_EVIDENCE


@dataclass(frozen=True)
class Pairs:
    """The scored pairs among the rows of a comparison, as arrays: both sides' values of what is compared."""

    before: Floats
    after: Floats
    before_passed: Floats
    after_passed: Floats
    flipped: NDArray[np.bool_]
    clusters: NDArray[Any] | None

    @classmethod
    def of(cls, cases: pd.DataFrame, on: str) -> Pairs:
        """The pairs among the rows of `Comparison.cases`; rows that are none are NaN on both sides."""
        import numpy as np

        no_pair = cases["difference"].isna().to_numpy()
        sides = [cases[f"{side}_{name}"].to_numpy() for name in (on, "passed") for side in ("baseline", "candidate")]
        clusters = cases["cluster"].to_numpy(object) if cases["cluster"].notna().any() else None
        values = (np.where(no_pair, np.nan, side) for side in sides)
        before, after, before_passed, after_passed = values
        return cls(before, after, before_passed, after_passed, cases["flipped"].to_numpy(), clusters)

    def take(self, rows: NDArray[Any]) -> Pairs:
        """The pairs among these rows alone."""
        rows = rows[self.before[rows] == self.before[rows]]
        clusters = None if self.clusters is None else self.clusters[rows]
        passed = self.before_passed[rows], self.after_passed[rows]
        return Pairs(self.before[rows], self.after[rows], *passed, self.flipped[rows], clusters)

    def test(self) -> PairedTest:
        """The paired test; all rows must be pairs."""
        return paired_test(self.before, self.after, clusters=self.clusters)


def compared(cases: pd.DataFrame, on: str, worth_knowing: float) -> tuple[dict[str, Any], PairedTest]:
    """The numbers of `ROW` for these cases, and the test."""
    import numpy as np

    return _numbers(Pairs.of(cases, on).take(np.arange(len(cases))), int(_errors(cases).sum()), worth_knowing)


def _numbers(pairs: Pairs, errors: int, worth_knowing: float) -> tuple[dict[str, Any], PairedTest]:
    test = pairs.test()
    before, after = _rate(pairs.before, pairs.clusters), _rate(pairs.after, pairs.clusters)
    change = (pairs.after - pairs.before).round(12)
    row: dict[str, Any] = {
        "n": test.n,
        "baseline": before[0],
        "candidate": after[0],
        "difference": test.difference,
        "ci_low": test.ci_low,
        "ci_high": test.ci_high,
        "p_value": test.p_value,
        "improved": int((change > 0).sum()),
        "regressed": int((change < 0).sum()),
        "smallest_detectable": test.smallest_detectable,
        "verdict": verdict_of(test, worth_knowing),
        "baseline_low": before[1],
        "baseline_high": before[2],
        "candidate_low": after[1],
        "candidate_high": after[2],
        "baseline_accuracy": float(pairs.before_passed.mean()) if test.n else math.nan,
        "candidate_accuracy": float(pairs.after_passed.mean()) if test.n else math.nan,
        "errors": errors,
        "flipped": int(pairs.flipped.sum()),
        "units": test.units,
        "nonzero": test.nonzero,
        "method": test.method,
    }
    return row, test


def _errors(cases: pd.DataFrame) -> NDArray[Any]:
    one, other = (cases[f"{side}_errors"].to_numpy("int64", na_value=0) for side in ("baseline", "candidate"))
    both: NDArray[Any] = one + other
    return both


def by_tool(cases: pd.DataFrame, on: str, worth_knowing: float) -> pd.DataFrame:
    """One row per expected tool, the final answers (which expect none) last, with p values adjusted as one family."""
    return _family(cases, "expected_tool", cases["expected_tool"], on, worth_knowing)


def by_tag(cases: pd.DataFrame, on: str, worth_knowing: float) -> pd.DataFrame:
    """One row per tag; a case with several tags counts in each; p values adjusted as one family."""
    import numpy as np
    import pandas as pd

    codes, texts = pd.factorize(cases["tags"])
    lists = [_tags(text) for text in texts]
    lengths = np.array([*map(len, lists), 0])[codes]
    rows = np.repeat(np.arange(len(cases)), lengths)
    tags = pd.Series([tag for code in codes if code >= 0 for tag in lists[code]], dtype="str")
    return _family(cases, "tag", tags, on, worth_knowing, rows)


def tags_of(text: Any) -> list[str]:
    """The tags that a cell of the results frame holds."""
    return _tags(text) if isinstance(text, str) else []


def turned_by_errors(cases: pd.DataFrame, on: str, worth_knowing: float, verdict: str) -> list[str]:
    """The cases with an errored trial, where the verdict would be another if all of these had gone one way.

    Each errored trial is taken to have failed for one side and passed for the other, and the reverse.
    """
    both = cases["baseline_trials"].notna() & cases["candidate_trials"].notna() & (cases["status"] != "changed case")
    touched = both & ((cases["baseline_errors"] > 0) | (cases["candidate_errors"] > 0)).fillna(False).astype(bool)
    if not touched.any():
        return []
    for good_side in ("baseline", "candidate"):
        guess = cases[both].copy()
        for side in ("baseline", "candidate"):
            trials = guess[f"{side}_trials"].to_numpy("float64")
            errors = guess[f"{side}_errors"].to_numpy("float64")
            known = (guess[f"{side}_{on}"].fillna(0.0)).to_numpy() * trials
            guess[f"{side}_{on}"] = (known + (errors if side == good_side else 0.0)) / (trials + errors)
        guess["difference"] = (guess[f"candidate_{on}"] - guess[f"baseline_{on}"]).round(12)
        if compared(guess, on, worth_knowing)[0]["verdict"] != verdict:
            return [str(case_id) for case_id in cases.loc[touched, "case_id"]]
    return []


def _family(
    cases: pd.DataFrame,
    name: str,
    groups: pd.Series[Any],
    on: str,
    worth_knowing: float,
    rows_of_groups: NDArray[Any] | None = None,
) -> pd.DataFrame:
    """One row per group; `groups` names the group of each case, or of each of `rows_of_groups`."""
    import numpy as np
    import pandas as pd

    codes, names = pd.factorize(groups, sort=True, use_na_sentinel=True)
    codes = np.where(codes < 0, len(names), codes)
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(len(names) + 2))
    pairs, errors = Pairs.of(cases, on), _errors(cases)
    rows, tests = [], []
    for place, group in enumerate([*names, None]):
        chosen = order[bounds[place] : bounds[place + 1]]
        if group is None and not len(chosen):
            continue
        chosen = chosen if rows_of_groups is None else rows_of_groups[chosen]
        row, test = _numbers(pairs.take(chosen), int(errors[chosen].sum()), worth_knowing)
        rows.append({name: group, **row})
        tests.append(test)
    frame = pd.DataFrame(rows, columns=[name, *ROW])
    types: dict[str, str] = {column: "float64" for column in ROW if column not in (*_COUNTS, *_TEXTS)}
    frame = frame.astype(types | dict.fromkeys(_COUNTS, "int64") | dict.fromkeys((name, *_TEXTS), "str"))
    adjusted = holm(frame["p_value"])
    frame.insert(frame.columns.get_loc("p_value") + 1, "p_holm", adjusted)
    frame["verdict"] = pd.array(
        [verdict_of(test, worth_knowing, p) for test, p in zip(tests, adjusted, strict=True)], dtype="str"
    )
    return frame


def _rate(values: Floats, clusters: Any) -> tuple[float, float, float]:
    """The mean and its Wilson interval, over as many cases as clustered ones are worth."""
    n = len(values)
    if n == 0:
        return math.nan, math.nan, math.nan
    mean = float(values.mean())
    return mean, *wilson(mean, n if clusters is None else independent(values, clusters))


def _tags(text: str) -> list[str]:
    try:
        held = json.loads(text)
    except ValueError:
        return []
    return list(dict.fromkeys(str(tag) for tag in held)) if isinstance(held, list) else []
