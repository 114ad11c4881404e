"""The reviewer that looks for one number in the answer."""

import math
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.reviewers import numeric_match


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("42", 42),
        ("It is 42.", 42),
        ("**42**", 42),
        ("42.0", 42),
        ("42 it is, yes: 42.0", 42),
        ("+7", 7),
        ("-5", -5),
        ("−5 °C", -5),
        ("(-5)", -5),
        ("5-", 5),
        (".5", 0.5),
        ("-0", 0),
        ("0.0", 0),
        ("5kg", 5),
        ("$1,234.50", 1234.5),
        ("1'234'567", 1234567),
        ("1_000", 1000),
        ("1\u00a0234\u00a0567", 1234567),
        ("1\u202f234", 1234),
        ("1e3", 1000),
        ("1.5E-4", 0.00015),
        ("6.02×10^23", 6.02e23),
        ("6.02 x 10^{23}", 6.02e23),
        ("2·10⁻³", 0.002),
        ("50%", 50),
        ("50 %", 0.5),
        ("No.5", 5),
        ("H2O boils at 100", 100),
        ("0.30000000000000004", 0.3),
        ("9007199254740993", 9007199254740993),
        ("3.5", "3.5"),
        ("1e400", Decimal("1e400")),
    ],
)
def test_one_number_is_found_however_it_is_written(answer, expected):
    verdict = numeric_match(answer, expected)
    assert (verdict.passed, verdict.score) == (True, 1.0), verdict.reason


@pytest.mark.parametrize(
    ("answer", "expected", "reason"),
    [
        ("", 1, "the answer is empty"),
        (None, 1, "the answer is empty"),
        ("none at all", 1, "the answer holds no number"),
        ("H2O", 2, "the answer holds no number"),
        ("v1.2", 1.2, "the answer holds no number"),
        ("gpt4", 4, "the answer holds no number"),
        ("43", 42, '"43" is not 42'),
        ("-5", 5, '"-5" is not 5'),
        ("1 of 2", 1, "the answer holds 2 different numbers (1, 2), so none is the one"),
        ("5-3", 3, "the answer holds 2 different numbers (5, 3)"),
        ("2024-04-01", 4, "the answer holds 3 different numbers (2024, 04, 01)"),
        ("1 2 3 4 5 6 7", 1, "the answer holds 7 different numbers (1, 2, 3, 4, 5, …)"),
        ("3,14", 3.14, 'the answer\'s only number, "3,14", can be read in more ways than one'),
        ("1,23,456", 123456, "can be read in more ways than one"),
        ("1,234,56", 1234.56, "can be read in more ways than one"),
        ("1.2.3", 1.2, 'the answer\'s only number, "1.2.3", can be read in more ways than one'),
        ("10²", 10, "can be read in more ways than one"),
        ("10²", 102, "can be read in more ways than one"),
        ("1e999999999", 5, "can be read in more ways than one"),
        ("1e99999999", 5, '"1e99999999" is not 5'),
        ("9" * 5000, 5, "is not 5"),
        ("9007199254740992", 9007199254740993, '"9007199254740992" is not 9007199254740993'),
        ("3 million", 3_000_000, '"3" is not 3000000'),
        ("true", 1, "the answer holds no number"),
        ("٣", 3, "the answer holds no number"),
    ],
)
def test_what_is_not_one_number_or_another_one_fails(answer, expected, reason):
    verdict = numeric_match(answer, expected)
    assert (verdict.passed, verdict.score) == (False, 0.0)
    assert reason in verdict.reason


@pytest.mark.parametrize(
    ("answer", "tolerance", "passed"),
    [
        ("101", {"rel": 0.01}, True),
        ("99", {"rel": 0.01}, True),
        ("101.1", {"rel": 0.01}, False),
        ("103", {"abs": 3}, True),
        ("103.1", {"abs": 3}, False),
        ("103", {"rel": 0.01, "abs": 3}, True),
        ("100", {"rel": 0}, True),
        ("100.00000001", {}, True),
        ("100.001", {}, False),
        ("101", {}, False),
    ],
)
def test_tolerance_around_100(answer, tolerance, passed):
    assert numeric_match(answer, 100, **tolerance).passed is passed


def test_tolerance_is_decimal_where_floats_would_miss_by_a_hair():
    assert abs(0.4 - 0.3) > 0.1 - 1e-17
    assert numeric_match("0.4", 0.3, abs=0.1).reason == '"0.4" is 0.3 within abs 0.1'


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(deadline=None)
def test_every_float_is_found_as_python_writes_it(number):
    assert numeric_match(f"The result is {number!r}.", number).passed


@given(st.integers())
@settings(deadline=None)
def test_every_integer_is_found_with_and_without_thousands_separators(number):
    for written in (str(number), f"{number:,}", f"{number:_}"):
        assert numeric_match(f"It is {written}, I think", number).passed
        assert not numeric_match(f"It is {written}, I think", number + 1).passed


@given(st.text("0123456789.,-+eE%×^10² '\u00a0x*", max_size=30), st.floats(-1e9, 1e9))
@settings(deadline=None)
def test_no_text_of_digits_and_signs_upsets_it(answer, expected):
    verdict = numeric_match(answer, expected, rel=0.1)
    assert verdict.score in (0.0, 1.0)
    assert math.isfinite(verdict.score)
