import math

import pandas as pd
import pytest

from evalkit import SchemaError, judge_agreement
from evalkit.stats import agreement


def reviews(*verdicts, reviewer="tone"):
    rows = [("r1", f"c{n}", 1, reviewer, one) for n, one in enumerate(verdicts)]
    frame = pd.DataFrame(rows, columns=["run_id", "case_id", "trial", "reviewer", "passed"])
    return frame.astype({"passed": "boolean"})


def people(*verdicts, author="ann", reviewer="tone"):
    rows = [("r1", f"c{n}", 1, author, one, reviewer) for n, one in enumerate(verdicts)]
    frame = pd.DataFrame(rows, columns=["run_id", "case_id", "trial", "author", "passed", "reviewer"])
    return frame.astype({"passed": "boolean", "reviewer": "str"})


CELLS = ["n", "both_passed", "only_reviewer_passed", "only_person_passed", "both_failed", "errors"]


def test_each_reviewer_has_its_confusion_with_people_who_judged_what_it_judges():
    judged = pd.concat(
        [reviews(True, True, False, False, None), reviews(True, True, True, True, True, reviewer="facts")]
    )
    said = (True, False, True, False, True)
    found = judge_agreement(judged, pd.concat([people(*said), people(*said, reviewer="facts")])).set_index("reviewer")
    assert found.loc["tone", CELLS].tolist() == [4, 1, 1, 1, 1, 1]
    assert found.loc["facts", CELLS].tolist() == [5, 3, 2, 0, 0, 0]
    assert found.loc["tone", "kappa"] == 0.0
    assert found.loc["facts", "agreement"] == 0.6
    alone = judge_agreement(judged, people(*said))
    assert alone["reviewer"].tolist() == ["tone"]


def test_a_verdict_on_the_whole_answer_meets_that_of_the_case_and_of_no_judge():
    judged = pd.concat([reviews(True, True, False), reviews(True, False, None, reviewer="facts")])
    whole = people(True, True, False, reviewer=None)
    for given in (judged, judged.assign(case_passed=pd.array([True, False, None] * 2, dtype="boolean"))):
        for said in (whole, whole.drop(columns="reviewer")):
            found = judge_agreement(given, said)
            assert found["reviewer"].tolist() == ["(case)"]
            assert found[CELLS].iloc[0].tolist() == [2, 1, 0, 1, 0, 1]
    assert judge_agreement(judged, whole, by=["trial"]).empty


def test_the_verdict_of_a_case_holds_though_only_its_judges_are_asked_about():
    judged = reviews(True, True).assign(case_passed=pd.array([True, False], dtype="boolean"))
    assert judge_agreement(judged, people(True, False, reviewer=None))["agreement"].tolist() == [1.0]


def test_one_reviewer_that_reviews_an_answer_twice_is_two():
    judged = pd.concat([reviews(True, True), reviews(False, False)])
    first, second = (judge_agreement(judged, people(True, True, reviewer=name)) for name in ("tone", "tone (2)"))
    assert (first["agreement"].tolist(), second["agreement"].tolist()) == ([1.0], [0.0])


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
