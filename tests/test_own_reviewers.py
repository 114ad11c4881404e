"""Reviewers of one's own: functions that datasets can name."""

import math

import pandas as pd
import pytest

import evalkit as ek
from evalkit import review_registry
from evalkit.reviewers import ReviewerError, names, problems, reads_expected, review


@pytest.fixture(autouse=True)
def _only_built_in_reviewers_stay(monkeypatch):
    monkeypatch.setattr(review_registry, "_known", dict(review_registry._known))


MISSING = [None, float("nan"), pd.NA]


def test_a_function_becomes_a_reviewer_with_its_own_parameters():
    @ek.reviewer
    def polite(answer, expected, *, words: int = 1, word: str):
        """Whether the answer holds a word often enough."""
        return answer.count(word) >= words

    assert "polite" in names()
    assert problems({"reviewer": "polite", "word": "please"}) == []
    assert problems("polite") == ["polite: word is missing"]
    assert problems({"reviewer": "polite", "word": 5, "words": 1.5}) == [
        "polite: words must be an integer, got 1.5",
        "polite: word must be text, got 5; put quotation marks around it",
    ]
    assert problems({"reviewer": "polite", "word": "x", "wrds": 2}) == [
        "polite: unknown parameter 'wrds'. Did you mean 'words'? It takes: expected, threshold, word, words"
    ]
    verdict = review({"reviewer": "polite", "word": "please"}, "please wait")
    assert (verdict.passed, verdict.score, verdict.reason) == (True, 1.0, "polite returned True")
    assert not polite("wait", word="please").passed
    assert polite.__doc__ == "Whether the answer holds a word often enough."


def test_a_dataset_that_names_one_before_it_is_defined_says_how_to_define_it():
    cases = [{"input": "Hi", "reviewers": ["polite"]}]
    with pytest.raises(ek.DatasetError) as caught:
        ek.Dataset(name="d", cases=cases)
    advice = "Your own? Define it with @ek.reviewer in Python before the dataset loads, and run it with ek.run."
    assert advice in str(caught.value)

    @ek.reviewer
    def polite(answer, expected=None):
        return "please" in answer

    assert len(ek.Dataset(name="d", cases=cases)) == 1


def test_a_reviewer_can_have_a_name_and_a_threshold():
    @ek.reviewer(name="half right", threshold=0.5)
    def some_function(answer):
        return 0.5

    verdict = review("half right", "x", "expected, which it does not read")
    assert (verdict.passed, verdict.score, verdict.reason) == (True, 0.5, "half right returned 0.5; passes from 0.5")
    assert not reads_expected("half right")
    assert not some_function("x", threshold=0.6).passed


def test_a_reviewer_gets_the_expected_value_or_none_and_is_not_asked_about_no_answer():
    asked = []

    @ek.reviewer
    def sees(answer, expected):
        asked.append(answer)
        return ek.Verdict(True, None, f"{answer!r} {expected!r}")

    assert review("sees", "").reason == "'' None"
    assert [review("sees", missing).reason for missing in MISSING] == ["there is no answer"] * len(MISSING)
    assert [sees(missing).passed for missing in MISSING] == [False] * len(MISSING)
    assert review("sees", "a", [1]).reason == "'a' [1]"
    assert review("sees", "a").score == 1.0
    assert asked == ["", "a", "a"]


@pytest.mark.parametrize(
    ("result", "passed", "score"),
    [
        (True, True, 1.0),
        (False, False, 0.0),
        (1, True, 1.0),
        (0.8, True, 0.8),
        (0.79, False, 0.79),
        (ek.Verdict(True, 0.1, "so it is"), True, 0.1),
        (ek.Verdict(False, 0.9, "no"), False, 0.9),
        (ek.Verdict(None, 0.9, "by the threshold"), True, 0.9),
        (ek.Verdict(False, None, "no"), False, 0.0),
    ],
)
def test_what_a_reviewer_may_return(result, passed, score):
    ek.reviewer(name="mine")(lambda answer, expected: result)
    verdict = review("mine", "x")
    assert (verdict.passed, verdict.score) == (passed, score)


def test_numbers_of_numpy_are_numbers():
    numpy = pytest.importorskip("numpy")
    ek.reviewer(name="mine")(lambda answer: numpy.float64(0.9))
    assert review("mine", "x").score == 0.9
    ek.reviewer(name="mine")(lambda answer: numpy.bool_(True))
    assert review("mine", "x").passed is True


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (1.5, "mine returned 1.5; a score must be from 0 to 1"),
        (-0.01, "mine returned -0.01; a score must be from 0 to 1"),
        (math.nan, "mine returned nan; a score must be from 0 to 1"),
        (math.inf, "mine returned inf; a score must be from 0 to 1"),
        (None, "mine returned null; a reviewer returns True or False, a score from 0 to 1, or a Verdict"),
        ("yes", 'mine returned "yes"; a reviewer returns'),
        (ek.Verdict(None, None, "could not tell"), "mine reached no verdict: could not tell"),
    ],
)
def test_a_reviewer_without_a_score_from_0_to_1_is_an_error(result, message):
    ek.reviewer(name="mine")(lambda answer, expected: result)
    with pytest.raises(ReviewerError) as caught:
        review("mine", "x")
    assert message in str(caught.value)


def test_a_reviewer_that_raises_is_an_error_with_what_it_raised():
    @ek.reviewer
    def broken(answer):
        return 1 / 0

    with pytest.raises(ReviewerError, match="broken raised ZeroDivisionError: division by zero") as caught:
        review("broken", "x")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(ZeroDivisionError):
        broken("x")


def test_a_cell_that_defines_a_reviewer_can_be_run_twice():
    for result in (True, False):
        ek.reviewer(name="mine")(lambda answer, result=result: result)
    assert review("mine", "x").passed is False


def test_a_reviewer_may_take_any_parameters():
    @ek.reviewer
    def loose(answer, expected, **parameters):
        return parameters == {"a": 1}

    assert problems({"reviewer": "loose", "a": 1}) == []
    assert review({"reviewer": "loose", "a": 1}, "x").passed
    assert loose("x", a=1).passed


async def _later(answer):
    return True


@pytest.mark.parametrize(
    ("function", "name", "error", "message"),
    [
        (lambda answer: True, "exact_match", ValueError, "the reviewer 'exact_match' comes with evalkit"),
        (lambda answer: True, " mine ", ValueError, "without white space around it, got ' mine '"),
        (lambda: True, "mine", TypeError, r"must take \(answer, expected, \*\*parameters\), got mine\(\)"),
        (lambda answer, limit, expected: True, "mine", TypeError, "must take"),
        (lambda *everything: True, "mine", TypeError, "must take"),
        (lambda answer, reviewer: True, "mine", TypeError, "must not have a parameter called 'reviewer'"),
        (_later, "mine", TypeError, "a reviewer is a plain function"),
        (5, "mine", TypeError, "a reviewer is a plain function"),
    ],
)
def test_what_cannot_be_a_reviewer_is_refused_where_it_is_defined(function, name, error, message):
    with pytest.raises(error, match=message):
        ek.reviewer(name=name)(function)


def test_a_threshold_outside_0_to_1_is_refused_where_the_reviewer_is_defined():
    with pytest.raises(ValueError, match="threshold must be from 0 to 1, got 8"):
        ek.reviewer(threshold=8)(lambda answer: True)
