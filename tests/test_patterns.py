"""Regular expressions in bounds."""

import pytest

from evalkit import patterns


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        ("abc", 3),
        (r"\d\[[^]x]", 3),
        (r"[()\]{9}]", 1),
        ("a{5}", 5),
        ("a{2,7}", 2),
        ("a{,7}", 1),
        ("a*b+c?", 3),
        ("(?:ab){3}", 11),
        ("(ab)+", 6),
        ("(ab){2,}", 9),
        ("((a{10}){10}){10}", 1120),
        (")(", 0),
        ("", 0),
    ],
)
def test_what_a_pattern_unrolls_to(pattern, parts):
    assert patterns.unrolled(pattern) == pytest.approx(parts, rel=0.15, abs=2)


@pytest.mark.parametrize(
    "pattern",
    [
        "(?:a{9999}){9999}",
        "[ab]{9999999}",
        "a{" + "9" * 5000 + "}",
        "(((a{1000}){1000}){1000}){1000}",
        "(" * 90 + "a" + ")+" * 90,
        "(?:" * 14 + "a" + "){2}" * 14,
    ],
    ids=lambda pattern: pattern[:24],
)
def test_a_pattern_that_would_fill_the_memory_is_refused_before_it_is_compiled(pattern):
    with pytest.raises(ValueError, match=r"its repetitions unroll to more than 10000 parts\. Repeat fewer times"):
        patterns.compiled(pattern)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(a", "missing ) at character 3"),
        ("a" * 10_001, "it has 10001 characters; up to 10000 are taken"),
        ("(" * 2000 + ")" * 2000, "its groups are nested too deeply"),
        ("*a", "nothing to repeat at character 1"),
        ("[a", "unterminated character set"),
    ],
    ids=lambda text: text[:24],
)
def test_a_broken_pattern_says_where(pattern, message):
    with pytest.raises(ValueError) as caught:
        patterns.compiled(pattern)
    assert message in str(caught.value)


@pytest.mark.parametrize("pattern", [r"^(?=.*\d)(?=.*[a-z]).{8,}$", "(?:a{50}b){100}", "[^]]{3,}", r"(\w+\s?)*", "x{"])
def test_ordinary_patterns_are_taken(pattern):
    assert patterns.compiled(pattern)


def test_matching_is_stopped():
    with pytest.raises(patterns.SlowPattern, match="was not done with a text of 41 characters after 1 s"):
        patterns.found("(a|aa)+$", "a" * 40 + "b")
