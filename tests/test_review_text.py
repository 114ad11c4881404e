"""Reviewers of the answer's text: exact, contains, similar, pattern."""

import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evalkit.reviewers import ReviewerError, exact_match, levenshtein, regex_match, string_contains

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("answer", "expected", "reason"),
    [
        ("10\u00a0kg", "10 kg", r"differs only in white space: from character 3 on expected ' kg', got '\xa0kg'"),
        ("It\u2019s", "It's", r"""differs only in punctuation: from character 3 on expected "'s", got '\u2019s'"""),
        ("\ufb01le", "file", r"differs only in Unicode form: from character 1 on expected 'file', got '\ufb01le'"),
        ("10²", "102", r"differs only in Unicode form: from character 3 on expected '2', got '\xb2'"),
        ("Paris\n", "Paris", r"differs only in white space: from character 6 on expected the end, got '\n'"),
        ("paris", "Paris", "differs only in letter case: from character 1 on expected 'Paris', got 'paris'"),
        ("paris ", "Paris", "differs only in form (letter case among others): from character 1 on"),
        ("a b\u200b", "ab", "differs only in form (white space among others)"),
        ('"Paris"', "Paris", "differs only in being written as JSON, quotes included"),
        ("2024/04/01", "2024-04-01", "differs only in the spelling of a date"),
        ("London", "Lisbon", "differs from what is expected: from character 2 on expected 'isbon', got 'ondon'"),
        ("abc", "abcd", "from character 4 on expected 'd', got the end; length 4 expected, 3 given"),
        ("5", "-5", "differs from what is expected: from character 1 on expected '-5', got '5'"),
        ("", "Paris", "the answer is empty, text is expected"),
        ("x" * 500, "y" * 500, "got 'xxxxxxxxxxxxxxxxxxxx'…; length 500 expected, 500 given"),
    ],
)
def test_a_text_that_is_not_the_expected_one_fails_and_the_reason_says_how(answer, expected, reason):
    verdict = exact_match(answer, expected)
    assert (verdict.passed, verdict.score) == (False, 0.0)
    assert reason in verdict.reason


@pytest.mark.parametrize(
    ("answer", "expected"), [("Paris", "Paris"), ("caf\u00e9", "cafe\u0301"), ("", ""), ("5", "5")]
)
def test_the_expected_text_passes_in_either_unicode_composition(answer, expected):
    verdict = exact_match(answer, expected)
    assert (verdict.passed, verdict.score) == (True, 1.0)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"b": 2.0, "a": 1}', {"a": 1, "b": 2}),
        ("5", 5),
        ("5.0", 5),
        (" [1, 2]\n", [1, 2]),
        ("null", None),
        ("true", True),
        ('{"$any": true}', {"$any": True}),
        ('{"x": {"$regex": "("}}', {"x": {"$regex": "("}}),
        ("9007199254740993", 9007199254740993),
    ],
)
def test_a_json_answer_passes_where_its_value_is_the_expected_one(answer, expected):
    assert exact_match(answer, expected).passed


@pytest.mark.parametrize(
    ("answer", "expected", "reason"),
    [
        ("null", {"amount": 100}, 'differs: the value: expected {"amount": 100}, got null (another type)'),
        ("", {"amount": 100}, "the answer is empty; a JSON value is expected"),
        ('"5"', 5, 'differs: the value: expected 5, got "5" (another type)'),
        ("1", True, "differs: the value: expected true, got 1 (another type)"),
        ('{"a": 1}', {"a": 1, "b": {"c": 2}}, "differs: b: not sent"),
        ('{"a": 1, "z": 0}', {"a": 1}, "differs: z: not expected, got 0"),
        ("3", {"$any": True}, "another type"),
        ("9007199254740992", 9007199254740993, "expected 9007199254740993, got 9007199254740992"),
        ("Paris", ["Paris"], "the answer is not JSON: Expecting value (line 1, column 1)"),
        ('{"a": 2, "a": 1}', {"a": 1}, "the answer is not JSON: the key 'a' appears twice in one object"),
        ("```json\n5\n```", 5, "the answer is not JSON: it stands in a Markdown fence"),
        ("[1, 2, 3, 4, 5, 6, 7]", [0, 0, 0, 0, 0, 0, 0], "; and 2 more"),
    ],
)
def test_a_json_answer_fails_where_its_value_is_another(answer, expected, reason):
    verdict = exact_match(answer, expected)
    assert (verdict.passed, verdict.score) == (False, 0.0)
    assert reason in verdict.reason


@given(st.text())
@settings(deadline=None)
def test_every_text_is_exactly_itself(text):
    assert exact_match(text, text).passed


@given(JSON)
@settings(deadline=None)
def test_every_json_value_is_exactly_itself(value):
    assume(not isinstance(value, str))
    assert exact_match(json.dumps(value), value).passed


@pytest.mark.parametrize(
    ("answer", "search_string", "ignore_case", "passed"),
    [
        ("The capital is Paris.", "Paris", False, True),
        ("The capital is Paris.", "paris", False, False),
        ("The capital is Paris.", "paris", True, True),
        ("27", "7", False, True),
        ("STRASSE", "straße", True, True),
        ("STRASSE", "straße", False, False),
        ("caf\u00e9", "cafe\u0301", False, True),
        ("Totally unrelated.", "refund,", False, False),
        ("refund, please", "refund,", False, True),
        ("a b", " ", False, None),
        ("", "x", False, False),
        (None, "x", True, False),
    ],
)
def test_contains(answer, search_string, ignore_case, passed):
    if passed is None:
        with pytest.raises(ValueError, match="search_string must not be blank"):
            string_contains(answer, search_string=search_string, ignore_case=ignore_case)
        return
    verdict = string_contains(answer, search_string=search_string, ignore_case=ignore_case)
    assert (verdict.passed, verdict.score) == (passed, float(passed))


def test_what_is_missing_says_whether_only_letter_case_keeps_it_from_being_there():
    assert string_contains("PARIS", search_string="Paris").reason == (
        'does not contain "Paris", but it does in other letter case (ignore_case: true accepts that)'
    )
    assert string_contains("Rome", search_string="Paris").reason == 'does not contain "Paris"'
    assert string_contains("", search_string="Paris").reason == 'does not contain "Paris": the answer is empty'


def test_hello_borld_is_ten_elevenths_of_hello_world():
    verdict = levenshtein("hello borld", "Hello World")
    assert verdict.score == 10 / 11
    assert verdict.passed
    assert verdict.reason == "1 edit in 11 characters: similarity 0.9091, letter case ignored; passes from 0.8"


@pytest.mark.parametrize(
    ("answer", "expected", "ignore_case", "score"),
    [
        ("", "", True, 1.0),
        (None, "abcd", True, 0.0),
        ("hello borld", "Hello World", False, 9 / 11),
        ("kitten", "sitting", True, 4 / 7),
        ("Straße", "STRASSE", True, 1.0),
        ("😀", "😁", True, 0.0),
        ("caf\u00e9", "cafe\u0301", True, 3 / 5),
        ("abc", "xyz", True, 0.0),
        ("12345678", "1234567890", True, 0.8),
    ],
)
def test_similarity(answer, expected, ignore_case, score):
    verdict = levenshtein(answer, expected, ignore_case=ignore_case)
    assert verdict.score == score
    assert verdict.passed is (score >= 0.8)


def _distance(one, other):
    """Levenshtein's distance by plain dynamic programming."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


@given(st.text("abAB é", max_size=12) | st.text(max_size=12), st.text("abAB é", max_size=12), st.booleans())
@settings(deadline=None)
def test_similarity_is_the_formula_and_symmetric(one, other, ignore_case):
    score = levenshtein(one, other, ignore_case=ignore_case).score
    assert score == levenshtein(other, one, ignore_case=ignore_case).score
    if ignore_case:
        one, other = one.casefold(), other.casefold()
    longest = max(len(one), len(other))
    assert score == pytest.approx(1 - _distance(one, other) / longest if longest else 1, abs=1e-12)


@pytest.mark.parametrize(
    ("answer", "pattern", "search", "passed"),
    [
        ("2024-04-01", r"\d{4}-\d{2}-\d{2}", False, True),
        ("on 2024-04-01", r"\d{4}-\d{2}-\d{2}", False, False),
        ("on 2024-04-01", r"\d{4}-\d{2}-\d{2}", True, True),
        ("PARIS", r"(?i)paris", False, True),
        ("a\nb", r"a.b", False, False),
        ("a\nb", r"(?s)a.b", False, True),
        ("cafe\u0301", "caf.", False, True),
        ("Добрый", r"\p{Cyrillic}+", False, True),
        ("", r"x?", False, True),
        (None, r".+", False, False),
    ],
)
def test_patterns(answer, pattern, search, passed):
    verdict = regex_match(answer, pattern=pattern, search=search)
    assert (verdict.passed, verdict.score) == (passed, float(passed))


def test_a_pattern_that_matches_a_part_only_says_so():
    verdict = regex_match("on 2024-04-01", pattern=r"\d{4}-\d{2}-\d{2}")
    assert verdict.reason.endswith("does not match the whole answer, but a part of it (search: true accepts that)")


def test_a_pattern_that_would_run_for_ever_is_an_error_of_the_reviewer():
    with pytest.raises(ReviewerError, match=r"regex_match: the pattern '\(a\|aa\)\+\$' was not done with a text of 41"):
        regex_match("a" * 40 + "b", pattern="(a|aa)+$")


def test_nested_repetitions_end():
    assert not regex_match("a" * 40 + "b", pattern="^(a+)+$").passed
