"""Judges as instruments: how far they agree with people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from .annotations import reviewer_again
from .errors import SchemaError
from .given import words
from .nearmiss import did_you_mean
from .schema import needs_frame
from .stats import agreement, independent

if TYPE_CHECKING:
    import pandas as pd

KEY = ["run_id", "case_id", "trial"]
CASE = "(case)"
MEASURES = ("agreement", "agreement_low", "agreement_high", "kappa", "kappa_low", "kappa_high")


def judge_agreement(
    reviews: pd.DataFrame, annotations: pd.DataFrame, *, by: str | Sequence[str] = "reviewer"
) -> pd.DataFrame:
    """How far reviewers agree with people: one row per reviewer, or per group of other columns of `reviews`.

    `reviews` is what `ek.reviews(results)` gives, `annotations` what `ek.load_annotations(results)` gives. Verdicts
    meet where they answer the same question: a person's verdict that names a reviewer meets that reviewer's on the same
    trial; one that names none is of the whole answer and meets the case's verdict, in a row `(case)` (where `by` has
    `reviewer`). Columns: those of `by`, `n` (pairs), `both_passed`, `only_reviewer_passed`, `only_person_passed`,
    `both_failed`, `errors` (annotated answers on which there is no verdict of the reviewer), `agreement` and Cohen's
    `kappa`, each with a 95 % interval (`…_low`, `…_high`) in which the pairs of one case count as a cluster, and
    `cases`. `kappa` is NA where reviewer and people gave one and the same verdict throughout.

    Raises SchemaError where a column is missing.
    """
    import pandas as pd

    keys = words("by", by)
    _check("reviews", reviews, [*KEY, "passed", "reviewer", *keys])
    _check("annotations", annotations, [*KEY, "passed"])
    people = annotations[annotations["passed"].notna()]
    asked = people["reviewer"] if "reviewer" in people else pd.Series(None, index=people.index, dtype="str")
    people = people[[*KEY, "passed"]].rename(columns={"passed": "passed_person"}).assign(question=asked)
    of_answers = people[people["question"].isna()].drop(columns="question")
    pairs = reviews.assign(question=_questions(reviews)).merge(people.dropna(subset="question"), on=[*KEY, "question"])
    if "reviewer" in keys:
        pairs = pd.concat([pairs, _of_cases(reviews).merge(of_answers, on=KEY).astype({"passed": "boolean"})])
    counts = ["n", "both_passed", "only_reviewer_passed", "only_person_passed", "both_failed", "errors"]
    rows = [
        {**dict(zip(keys, name, strict=True)), **_measured(group)}
        for name, group in pairs.groupby(keys, dropna=False, sort=True)
    ]
    frame = pd.DataFrame(rows, columns=[*keys, *counts, *MEASURES, "cases"])
    return frame.astype(dict.fromkeys((*counts, "cases"), "int64") | dict.fromkeys(MEASURES, "float64"))


def _questions(reviews: pd.DataFrame) -> pd.Series[str]:
    """What annotations call each review: its reviewer, numbered where one reviews an answer several times."""
    again = reviews.groupby([*KEY, "reviewer"]).cumcount() + 1
    return reviews["reviewer"].where(again == 1, reviewer_again(reviews["reviewer"], again.astype("str")))


def _of_cases(reviews: pd.DataFrame) -> pd.DataFrame:
    """The verdict on each answer as a whole: one row per trial. Without `case_passed` it is that of all its reviews."""
    trials = reviews.groupby(KEY, sort=False)
    if "case_passed" in reviews:
        verdicts = trials["case_passed"].first()
    else:
        verdicts = trials["passed"].agg("all").astype("boolean").where(trials["passed"].count() == trials.size())
    return verdicts.rename("passed").reset_index().assign(reviewer=CASE)


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
    return {
        **measured, **dict(zip(names, cells, strict=True)), "errors": len(pairs) - len(scored),
        "cases": scored["case_id"].nunique(),
    }  # fmt: skip


def _check(what: str, frame: pd.DataFrame, columns: Sequence[str]) -> None:
    needs_frame(frame, f"{what} must be a frame: one")
    for name in columns:
        if name not in frame.columns:
            hint = did_you_mean(name, [str(column) for column in frame.columns])
            raise SchemaError(f"{what} must have a column {name!r}.{hint}")
