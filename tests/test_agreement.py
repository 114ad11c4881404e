import math

import pandas as pd
import pytest

from evalkit import SchemaError, judge_agreement
from evalkit.stats import agreement


def reviews(*verdicts, reviewer="tone"):
    rows = [("r1", f"c{n}", 1, reviewer, one) for n, one in enumerate(verdicts)]
    frame = pd.DataFrame(rows, columns=["run_id", "case_id", "trial", "reviewer", "passed"])
    return frame.astype({"passed": "boolean"})


def people(*verdicts, author="ann"):
    rows = [("r1", f"c{n}", 1, author, one) for n, one in enumerate(verdicts)]
    frame = pd.DataFrame(rows, columns=["run_id", "case_id", "trial", "author", "passed"])
    return frame.astype({"passed": "boolean"})


def test_each_reviewer_has_its_confusion_with_people():
    judged = pd.concat(
        [reviews(True, True, False, False, None), reviews(True, True, True, True, True, reviewer="facts")]
    )
    found = judge_agreement(judged, people(True, False, True, False, True)).set_index("reviewer")
    cells = ["n", "both_passed", "only_reviewer_passed", "only_person_passed", "both_failed", "errors"]
    assert found.loc["tone", cells].tolist() == [4, 1, 1, 1, 1, 1]
    assert found.loc["facts", cells].tolist() == [5, 3, 2, 0, 0, 0]
    assert found.loc["tone", "kappa"] == 0.0
    assert found.loc["facts", "agreement"] == 0.6


def test_measures_and_intervals_are_those_of_the_four_cells():
    judged, said = [True] * 25 + [False] * 25, [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15
    found = judge_agreement(reviews(*judged), people(*said)).iloc[0]
    expected = agreement(20, 5, 10, 15)
    assert found["kappa"] == pytest.approx(0.4)
    assert (found["kappa_low"], found["kappa_high"]) == pytest.approx((expected.kappa_low, expected.kappa_high))


def test_what_two_people_say_of_one_answer_is_not_two_answers():
    judged, said = reviews(*[True, False] * 10), [True, False] * 8 + [False, True] * 2
    once = judge_agreement(judged, people(*said)).iloc[0]
    twice = judge_agreement(judged, pd.concat([people(*said), people(*said, author="bob")])).iloc[0]
    assert twice["n"] == 2 * once["n"]
    assert (twice["agreement_low"], twice["agreement_high"]) == pytest.approx(
        (once["agreement_low"], once["agreement_high"])
    )


def test_notes_without_a_verdict_are_no_verdict():
    found = judge_agreement(reviews(True, True), people(None, True))
    assert found["n"].tolist() == [1]


def test_one_verdict_throughout_has_no_kappa():
    found = judge_agreement(reviews(True, True), people(True, True)).iloc[0]
    assert found["agreement"] == 1.0
    assert math.isnan(found["kappa"])


def test_without_annotations_there_are_no_rows():
    found = judge_agreement(reviews(True), people())
    assert len(found) == 0
    assert "kappa_high" in found.columns


def test_a_missing_column_is_named():
    with pytest.raises(SchemaError, match=r"reviews must have a column 'reviewr'. Did you mean 'reviewer'"):
        judge_agreement(reviews(True), people(True), by="reviewr")
    with pytest.raises(SchemaError, match="annotations must have a column 'passed'"):
        judge_agreement(reviews(True), people(True).drop(columns="passed"))
