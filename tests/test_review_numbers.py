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
        (None, 1, "there is no answer"),
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
        ("3 million", 3, '"3 million" is not 3'),
        ("true", 1, "the answer holds no number"),
    ],
)
def test_what_is_not_one_number_or_another_one_fails(answer, expected, reason):
    verdict = numeric_match(answer, expected)
    assert (verdict.passed, verdict.score) == (False, 0.0)
    assert reason in verdict.reason


DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d\u207b\u208b\u2796\u02d7\u00ad\u058a\u2e3a\ufe31"
SIGNED = [
    "{}5", "{} 5", "{}\u00a05", "{}$5", "{} $5", "${}5", "{}US$5", "{}€ 5", "{}EUR 5", "{}Rs. 5", "({}5)", "{}(5)",
    "{}\u200e5", "x = {}5", "**{}5**", "It is {}5 °C.",
]  # fmt: skip


@pytest.mark.parametrize("dash", DASHES, ids=ascii)
def test_every_dash_before_a_number_is_its_sign(dash):
    for written in SIGNED:
        answer = written.format(dash)
        assert numeric_match(answer, -5).passed, answer
        assert not numeric_match(answer, 5).passed, answer
    assert "holds 2 different numbers (5, 3)" in numeric_match(f"5{dash}3", 3).reason
    assert not numeric_match(f"gpt{dash}5", 5).passed
    assert not numeric_match(f"5{dash}5", 5).passed


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("３.５", 3.5), ("３．５", 3.5), ("٣٫٥", 3.5), ("١٬٢٣٤٫٥", 1234.5), ("۱۲۳", 123), ("१२३", 123), ("১২৩", 123),
        ("๕", 5), ("𝟝𝟞", 56), ("\u061c-٥", -5), ("٪٥٠", 50), ("٥٠٪", 0.5), ("５０％", 0.5), ("−１，２３４", -1234),
        ("1 234 567", 1234567), ("1\u2009234", 1234), ("1\u2007234.5", 1234.5), ("1’234.5", 1234.5),
        ("1'234.5", 1234.5), ("1 × 10³", 1000), ("1×10^3", 1000), ("1 x 10^{-3}", 0.001), ("1e+3", 1000),
        ("5 \\times 10^{2}", 500), ("3 million", 3_000_000), ("$1.5 billion", 1.5e9),
        ("2 hundred thousand", 200_000), ("5 lakh", 500_000), ("5-million", 5_000_000), ("minus 5", -5),
        ("negative 5", -5), ("5 percent", 0.05), ("5 per cent", 5), ("5‰", 0.005), ("'42'", 42), ("‘42’", 42),
        ("is\u00a042", 42), ("is...5", 5), ("5m", 5), ("5 m2", 5), ("20 km", 20), ("5 kg", 5), ("-.5", -0.5),
        ("1st", 1), ("<b>5</b>", 5), ("5 = 5.0", 5), ("5!", 5), ("x -> 5", 5), ("\\(5\\)", 5), ("$5$", 5),
        ("- the total is 5", 5), ("1,234,567.89", 1234567.89), ("293 K", 293), ("5 MB", 5), ("007", 7), ("5 Grad", 5),
        ("½", 0.5), ("−½", -0.5), ("⅓", 1 / 3), ("½ million", 500_000), ("⑤", 5), ("Ⅻ", 12),
    ],
)  # fmt: skip
def test_numbers_as_people_write_them(answer, expected):
    verdict = numeric_match(answer, expected)
    assert verdict.passed, verdict.reason


@pytest.mark.parametrize(
    ("answer", "not_silently"),
    [
        ("12,68", 12), ("1.234,56", 1.234), ("0,125", 125), (",5", 5), ("1.2.3", 1.2), ("5k", 5), ("5K", 5), ("5M", 5),
        ("5 k", 5), ("$5m", 5), ("EUR 5m", 5), ("£5 bn", 5), ("5bn", 5), ("5 Mio.", 5), ("5 Millionen", 5),
        ("5 millones", 5), ("5万", 5), ("5 млн", 5), ("5 dozen", 5), ("5 thousandths", 5), ("5 hundredths", 5),
        ("5½", 5), ("5 ½", 5), ("5²", 5), ("5₂", 5), ("2^2", 2), ("2 ** 2", 2), ("5^n", 5), ("√5", 5), ("-√5", 5),
        ("±5", 5), ("≥5", 5), ("≠ 5", 5), (">= 5", 5), ("--5", 5), ("+-5", 5), ("5/5", 5), ("5 / 5", 5), ("5:5", 5),
        ("05:05", 5), ("5-5", 5), ("5 – 5", 5), ("5+5", 5), ("5 + 5", 5), ("5×5", 5), ("5x5", 5), ("1920x1080", 1920),
        ("1h30m", 1), ("0x10", 0), ("0b11", 0), ("5 and a half", 5), ("3.(3)", 3), ("555-555-555", 555), ("1/1/1", 1),
        ("192.168.0.1", 192.168), ("mid-2020", 2020), ("COVID-19", 19), ("Total - 42", 42), ("the total – 42", -42),
        ("x^5", 5), ("1e3.5", 1000), ("3f2a9", 3), ("0.3\u0305", 0.3), ("1·5", 1), ("5 crore rupees", 5),
        ("10 000", 10), ("100 100", 100), ("12 minus 12", 12), ("5 or ½", 5), ("Ⅵ or 5", 5), ("½½", 0.5),
    ],
)  # fmt: skip
def test_what_changes_a_number_is_never_passed_over(answer, not_silently):
    verdict = numeric_match(answer, not_silently)
    assert not verdict.passed, verdict.reason


@pytest.mark.parametrize(
    ("answer", "plain", "other"),
    [
        ("1.234", 1.234, 1234),
        ("1,234", 1234, 1.234),
        ("16,000", 16000, 16),
        ("1 234", 1234, 234),
        ("-1.234", -1.234, -1234),
        ("(5)", 5, -5),
        ("($5)", 5, -5),
        ("- 5", -5, 5),
        ("Answer: – 5", -5, 5),
    ],
)
def test_what_reads_two_ways_is_read_the_plain_way_and_says_so(answer, plain, other):
    assert numeric_match(answer, plain).passed
    assert not numeric_match(answer, other).passed
    for expected in (plain, other):
        assert "it can be read in more ways than one" in numeric_match(answer, expected).reason


@pytest.mark.parametrize("answer", ["1.5", "1234", "1,234,567", "-5", "0.125", "1.234e3", "(-5)", "−5", "12.3456"])
def test_what_reads_one_way_says_nothing_of_it(answer):
    assert "more ways" not in numeric_match(answer, 1).reason


@pytest.mark.parametrize(
    "text", ["-" * 50_000, "- " * 50_000, "1 111" * 20_000, "(" * 50_000 + "5", "1'" * 50_000, "－$" * 50_000]
)
def test_long_runs_of_signs_are_read_in_linear_steps(text):
    assert numeric_match(text, 5, abs=0).score in (0.0, 1.0)


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
