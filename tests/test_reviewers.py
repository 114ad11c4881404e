"""The registry: names, specs, and parameters that are checked."""

import inspect
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evalkit as ek
from evalkit.review_checks import flag, some_text
from evalkit.reviewers import ReviewerError, is_judge, names, problems, reads_expected, register_judge, review

MISSING = [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT]
BUILT_IN = [
    "exact_match",
    "json_schema_match",
    "levenshtein",
    "numeric_match",
    "regex_match",
    "string_contains",
    "valid_json",
    "valid_xml",
]
SPECS = [
    "valid_json",
    "valid_xml",
    {"reviewer": "valid_json", "unique_keys": True, "strip_fences": True},
    {"reviewer": "exact_match", "expected": "Paris"},
    {"reviewer": "exact_match", "expected": {"capital": "Paris"}},
    {"reviewer": "levenshtein", "expected": "Hello World", "ignore_case": False, "threshold": 0.5},
    {"reviewer": "numeric_match", "expected": 42, "rel": 0.1, "abs": 1},
    {"reviewer": "regex_match", "pattern": r"\d+", "search": True},
    {"reviewer": "string_contains", "search_string": "paris", "ignore_case": True},
    {"reviewer": "json_schema_match", "schema": {"type": "object"}},
]


def test_all_reviewers_are_in_the_registry_and_in_the_module():
    assert [name for name in names() if not is_judge(name)] == BUILT_IN
    for name in BUILT_IN:
        assert callable(getattr(ek.reviewers, name))


def test_every_reviewer_shows_its_parameters_in_its_signature():
    shown = {name: list(inspect.signature(getattr(ek.reviewers, name)).parameters) for name in BUILT_IN}
    assert shown == {
        "exact_match": ["answer", "expected", "threshold"],
        "json_schema_match": ["answer", "expected", "schema", "strip_fences", "threshold"],
        "levenshtein": ["answer", "expected", "ignore_case", "threshold"],
        "numeric_match": ["answer", "expected", "rel", "abs", "threshold"],
        "regex_match": ["answer", "expected", "pattern", "search", "threshold"],
        "string_contains": ["answer", "expected", "search_string", "ignore_case", "threshold"],
        "valid_json": ["answer", "expected", "unique_keys", "strip_fences", "threshold"],
        "valid_xml": ["answer", "expected", "strip_fences", "threshold"],
    }


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_a_sound_spec_has_no_problems(spec):
    assert problems(spec) == []


@given(answer=st.text(), spec=st.sampled_from(SPECS))
@settings(deadline=None)
def test_every_score_is_from_0_to_1_and_passing_follows_from_it(answer, spec):
    verdict = review(spec, answer)
    assert 0 <= verdict.score <= 1
    threshold = spec.get("threshold", 1.0) if isinstance(spec, dict) else 1.0
    assert verdict.passed is (verdict.score >= threshold)
    assert verdict.reason


@pytest.mark.parametrize("missing", MISSING, ids=repr)
def test_a_missing_answer_meets_no_reviewer(missing):
    meets_everything = [
        *SPECS,
        {"reviewer": "exact_match", "expected": ""},
        {"reviewer": "levenshtein", "expected": "", "threshold": 0},
        {"reviewer": "regex_match", "pattern": ".*"},
        {"reviewer": "json_schema_match", "schema": True, "threshold": 0},
        {"reviewer": "string_contains", "search_string": "None"},
    ]
    for spec in meets_everything:
        verdict = review(spec, missing)
        assert (verdict.passed, verdict.score, verdict.reason) == (False, 0.0, "there is no answer"), spec
    assert not ek.reviewers.exact_match(missing, None).passed
    assert not ek.reviewers.exact_match(missing, "").passed


def test_empty_text_is_an_answer():
    assert ek.reviewers.exact_match("", "").passed
    assert ek.reviewers.levenshtein("", "").passed
    assert ek.reviewers.regex_match("", pattern=".*").passed
    assert ek.reviewers.exact_match("null", None).passed


@pytest.mark.parametrize(
    ("spec", "parameters"),
    [
        ("valid_json", {"unique_keys": False, "strip_fences": False, "threshold": 1.0}),
        ({"reviewer": "valid_xml", "strip_fences": True}, {"strip_fences": True, "threshold": 1.0}),
        ({"reviewer": "levenshtein", "expected": "x"}, {"ignore_case": True, "threshold": 0.8, "expected": "x"}),
        (
            {"reviewer": "levenshtein", "expected": "x", "ignore_case": False, "threshold": 0.5},
            {"ignore_case": False, "threshold": 0.5, "expected": "x"},
        ),
        ({"reviewer": "numeric_match", "expected": 1, "abs": 0.5}, {"abs": 0.5, "threshold": 1.0, "expected": 1}),
        (
            {"reviewer": "regex_match", "pattern": "a", "search": True},
            {"search": True, "threshold": 1.0, "pattern": "a"},
        ),
        (
            {"reviewer": "string_contains", "search_string": "a"},
            {"ignore_case": False, "threshold": 1.0, "search_string": "a"},
        ),
    ],
    ids=str,
)
def test_how_a_reviewer_judged_stands_with_its_verdict(spec, parameters):
    assert review(spec, "x").details == {"parameters": parameters}
    assert review(spec, None).details == {"parameters": parameters}


def test_a_long_parameter_is_stored_as_its_fingerprint_and_a_secret_not_at_all():
    @ek.reviewer
    def asks_a_service(answer, *, url="x", api_key="the-default-key"):
        return True

    schemas = [{"type": "object", "required": [f"field_{n}" for n in range(size)]} for size in (30, 31, 30)]
    stored = [review({"reviewer": "json_schema_match", "schema": one}, "{}").details["parameters"] for one in schemas]
    assert [len(one["schema"]) for one in stored] == [12] * 3
    assert stored[0] == stored[2] != stored[1]
    own = review({"reviewer": "asks_a_service", "api_key": "sk-secret"}, "a").details
    assert own == {"parameters": {"threshold": 0.8, "api_key": "***"}}


def test_reviews_show_how_each_reviewer_judged():
    cases = [{"id": "c", "input": "Capital?", "expected": "Paris", "reviewers": ["levenshtein", "exact_match"]}]
    results = ek.score(ek.Dataset(name="d", cases=cases), ["paris"])
    assert ek.reviews(results)["parameters"].tolist() == [
        '{"ignore_case": true, "threshold": 0.8}',
        '{"threshold": 1.0}',
    ]


@pytest.mark.parametrize(
    ("spec", "expected", "found"),
    [
        (
            "exact_mach",
            "x",
            "unknown reviewer 'exact_mach'. Did you mean 'exact_match'? Known: closed_qa, exact_match,",
        ),
        ("", "x", "unknown reviewer ''. Known: closed_qa, exact_match,"),
        (["exact_match"], "x", 'a reviewer is a name or {"reviewer": name, …parameters}, got ["exact_match"]'),
        ({"review": "exact_match"}, "x", 'a reviewer is a name or {"reviewer": name, …parameters}, got'),
        (None, "x", "got null"),
        (
            {"reviewer": "string_contains", "search_string": "x", "search_sting": "x"},
            None,
            "string_contains: unknown parameter 'search_sting'. Did you mean 'search_string'? "
            "It takes: ignore_case, search_string, threshold",
        ),
        (
            {"reviewer": "string_contains", "search_string": "x", "Search string": "x"},
            None,
            "unknown parameter 'Search string'. Did you mean 'search_string'?",
        ),
        ({"reviewer": "valid_json", "expected": 1}, None, "valid_json: unknown parameter 'expected'."),
        ("string_contains", None, "string_contains: search_string is missing"),
        ({"reviewer": "string_contains", "search_string": ""}, None, 'search_string must not be blank, got ""'),
        ({"reviewer": "string_contains", "search_string": "   "}, None, 'search_string must not be blank, got "   "'),
        ({"reviewer": "string_contains", "search_string": []}, None, "search_string must be text, got []"),
        (
            {"reviewer": "string_contains", "search_string": 7},
            None,
            "search_string must be text, got 7; put quotation marks around it",
        ),
        ({"reviewer": "string_contains", "search_string": None}, None, "search_string must be text, got null"),
        (
            {"reviewer": "string_contains", "search_string": "x", "ignore_case": "yes"},
            None,
            'ignore_case must be true or false, got "yes"',
        ),
        ({"reviewer": "valid_json", "unique_keys": 1}, None, "unique_keys must be true or false, got 1"),
        ({"reviewer": "levenshtein", "threshold": 1.5}, "x", "threshold must be from 0 to 1, got 1.5"),
        ({"reviewer": "levenshtein", "threshold": -0.1}, "x", "threshold must be from 0 to 1, got -0.1"),
        ({"reviewer": "levenshtein", "threshold": math.nan}, "x", "threshold must be a number, got float nan"),
        ({"reviewer": "levenshtein", "threshold": True}, "x", "threshold must be a number, got true"),
        ({"reviewer": "levenshtein", "threshold": "0.8"}, "x", 'threshold must be a number, got "0.8"'),
        ("levenshtein", None, "levenshtein: expected is missing: the case, or the reviewer itself, must say what"),
        ("exact_match", None, "exact_match: expected is missing"),
        ("numeric_match", None, "numeric_match: expected is missing"),
        ("levenshtein", {"a": 1}, 'levenshtein: expected must be text, got {"a": 1}'),
        (
            {"reviewer": "levenshtein", "expected": 5},
            "x",
            "levenshtein: expected must be text, got 5; put quotation marks around it",
        ),
        ("numeric_match", "five", 'numeric_match: expected must be a number, got "five"'),
        ("numeric_match", True, "numeric_match: expected must be a number, got true"),
        ("numeric_match", [5], "numeric_match: expected must be a number, got [5]"),
        ({"reviewer": "numeric_match", "rel": -0.1}, 5, "numeric_match: rel must be 0 or more, got -0.1"),
        ({"reviewer": "numeric_match", "abs": -1}, 5, "numeric_match: abs must be 0 or more, got -1"),
        ({"reviewer": "numeric_match", "abs": math.inf}, 5, "numeric_match: abs must be a number, got float inf"),
        ({"reviewer": "numeric_match", "rel": "1 %"}, 5, 'numeric_match: rel must be a number, got "1 %"'),
        ("regex_match", None, "regex_match: pattern is missing"),
        ({"reviewer": "regex_match", "pattern": ""}, None, 'pattern must be a regular expression, got ""'),
        ({"reviewer": "regex_match", "pattern": 5}, None, "pattern must be a regular expression, got 5"),
        (
            {"reviewer": "regex_match", "pattern": "(a"},
            None,
            'pattern "(a" is no regular expression that can be used: ',
        ),
        ({"reviewer": "regex_match", "pattern": "(?:a{9999}){9999}"}, None, "unroll to more than 10000 parts"),
        ("json_schema_match", None, "json_schema_match: schema is missing"),
        ({"reviewer": "json_schema_match", "schema": [1]}, None, "it must be an object, or true or false"),
        ({"reviewer": "json_schema_match", "schema": {"type": "strng"}}, None, "schema cannot be used: at type:"),
    ],
)
def test_a_wrong_spec_is_described(spec, expected, found):
    every = problems(spec, expected)
    assert len(every) == 1
    assert found in every[0]


def test_all_problems_of_a_spec_are_listed_at_once():
    spec = {"reviewer": "string_contains", "search_string": " ", "ignore_case": 1, "serch": 2}
    assert len(problems(spec)) == 3


def test_a_long_value_is_cut_in_a_message():
    (problem,) = problems({"reviewer": "string_contains", "search_string": ["x" * 1000]})
    assert "… (1004 characters)" in problem
    assert len(problem) < 200


def test_what_is_expected_may_stand_in_the_spec_and_goes_before_the_case():
    spec = {"reviewer": "exact_match", "expected": "Paris"}
    assert review(spec, "Paris", "Rome").passed
    assert not review(spec, "Rome", "Rome").passed
    assert problems({"reviewer": "exact_match", "expected": None}, None) == []
    assert review({"reviewer": "exact_match", "expected": None}, "null").passed


def test_who_reads_what_the_case_expects():
    readers = [name for name in BUILT_IN if reads_expected(name)]
    assert readers == ["exact_match", "levenshtein", "numeric_match"]
    assert not reads_expected({"reviewer": "exact_match", "expected": "x"})
    assert reads_expected({"reviewer": "levenshtein", "ignore_case": False})
    assert not reads_expected("no_such_reviewer")


def test_a_reviewer_that_reads_no_expected_value_is_not_disturbed_by_one():
    assert review("valid_json", "{}", {"a": 1}).passed
    assert ek.reviewers.valid_json("{}", {"a": 1}).passed


def test_a_wrong_spec_cannot_be_reviewed():
    with pytest.raises(ReviewerError, match=r"unknown reviewer 'exact_mach'\. Did you mean 'exact_match'"):
        review("exact_mach", "x", "x")
    with pytest.raises(ReviewerError, match="search_string is missing"):
        review("string_contains", "x")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda r: r.levenshtein("a"), TypeError, "expected is missing"),
        (lambda r: r.string_contains("a"), TypeError, "search_string is missing"),
        (lambda r: r.string_contains("a", search_sting="b"), TypeError, "Did you mean 'search_string'"),
        (lambda r: r.string_contains("a", search_string=" "), ValueError, "must not be blank"),
        (lambda r: r.levenshtein("a", "b", threshold=2), ValueError, "threshold must be from 0 to 1, got 2"),
        (lambda r: r.levenshtein(5, "b"), TypeError, "the answer must be text or None, got 5"),
        (lambda r: r.regex_match("a", pattern="("), ValueError, "is no regular expression"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call(ek.reviewers)


def test_a_threshold_decides_what_passes():
    assert ek.reviewers.levenshtein("hello borld", "Hello World").passed
    assert not ek.reviewers.levenshtein("hello borld", "Hello World", threshold=0.95).passed
    assert "passes from 0.95" in ek.reviewers.levenshtein("hello borld", "Hello World", threshold=0.95).reason
    assert ek.reviewers.exact_match("a", "b", threshold=0).passed


def test_a_judge_has_rules_but_is_not_asked_here():
    def together(parameters):
        return ["strict asks for a prompt"] if parameters.get("strict") and "prompt" not in parameters else []

    checks = {"prompt": some_text, "strict": flag}
    register_judge("umpire", checks, needs_expected=True, together=together)
    assert is_judge("umpire")
    assert is_judge({"reviewer": "umpire", "prompt": "…"})
    assert not is_judge("exact_match")
    assert not is_judge("no_such_reviewer")
    assert reads_expected("umpire")
    assert problems("umpire") == [
        "umpire: expected is missing: the case, or the reviewer itself, must say what is expected"
    ]
    assert problems({"reviewer": "umpire", "prompt": ""}, "x") == ['umpire: prompt must not be blank, got ""']
    assert problems({"reviewer": "umpire", "strict": True}, "x") == ["umpire: strict asks for a prompt"]
    with pytest.raises(ReviewerError, match="umpire is a judge: it has to ask a model"):
        review("umpire", "x", "y")
