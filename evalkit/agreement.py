"""Judges as instruments: how far they agree with people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from .errors import SchemaError
from .nearmiss import did_you_mean
from .stats import agreement, independent

if TYPE_CHECKING:
    import pandas as pd

KEY = ["run_id", "case_id", "trial"]
MEASURES = ("agreement", "agreement_low", "agreement_high", "kappa", "kappa_low", "kappa_high")


def judge_agreement(
    reviews: pd.DataFrame, annotations: pd.DataFrame, *, by: str | Sequence[str] = "reviewer"
) -> pd.DataFrame:
    """How far reviewers agree with people: one row per reviewer, or per group of other columns of `reviews`.

    `reviews` is what `ek.reviews(results)` gives, `annotations` what `ek.load_annotations(results)` gives. Each verdict
    of a reviewer meets each person's verdict on the same trial. Columns: those of `by`, `n` (pairs), `both_passed`,
    `only_reviewer_passed`, `only_person_passed`, `both_failed`, `errors` (annotated answers on which the reviewer
    reached no verdict), `agreement` and Cohen's `kappa`, each with a 95 % interval (`…_low`, `…_high`) in which the
    pairs of one case count as a cluster. `kappa` is NA where reviewer and people gave one and the same verdict
    throughout.

    Raises SchemaError where a column is missing.
    """
    import pandas as pd

    keys = [by] if isinstance(by, str) else list(dict.fromkeys(by))
    _check("reviews", reviews, [*KEY, "passed", *keys])
    _check("annotations", annotations, [*KEY, "passed"])
    people = annotations[annotations["passed"].notna()][[*KEY, "passed"]]
    pairs = reviews[[*KEY, "passed", *(key for key in keys if key not in KEY)]].merge(
        people, on=KEY, suffixes=("", "_person")
    )
    counts = ["n", "both_passed", "only_reviewer_passed", "only_person_passed", "both_failed", "errors"]
    rows = [
        {**dict(zip(keys, name, strict=True)), **_measured(group)}
        for name, group in pairs.groupby(keys, dropna=False, sort=True)
    ]
    frame = pd.DataFrame(rows, columns=[*keys, *counts, *MEASURES])
    return frame.astype(dict.fromkeys(counts, "int64") | dict.fromkeys(MEASURES, "float64"))


def _measured(pairs: pd.DataFrame) -> dict[str, float]:
    scored = pairs[pairs["passed"].notna()]
    judge, person = scored["passed"].astype("bool"), scored["passed_person"].astype("bool")
    cells = (
        int((judge & person).sum()), int((judge & ~person).sum()), int((~judge & person).sum()),
        int((~judge & ~person).sum()),
    )  # fmt: skip
    names = ("both_passed", "only_reviewer_passed", "only_person_passed", "both_failed")
    size = independent((judge == person).to_numpy("float64"), scored["case_id"])
    measured = asdict(agreement(*cells, size=size))
    return {**measured, **dict(zip(names, cells, strict=True)), "errors": len(pairs) - len(scored)}


def _check(what: str, frame: pd.DataFrame, columns: Sequence[str]) -> None:
    for name in columns:
        if name not in frame.columns:
            hint = did_you_mean(name, [str(column) for column in frame.columns])
            raise SchemaError(f"{what} must have a column {name!r}.{hint}")
