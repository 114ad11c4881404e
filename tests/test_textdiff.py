import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.textdiff import ADDED, REMOVED, SAME, line_diff, unified, word_diff

TEXTS = st.text(alphabet="ab .\n", max_size=40)


@pytest.mark.parametrize(
    ("before", "after", "pieces"),
    [
        ("", "", []),
        ("a b", "a b", [("same", "a b")]),
        ("", "new", [("added", "new")]),
        ("It is Paris.", "It is Lyon.", [("same", "It is "), ("removed", "Paris"), ("added", "Lyon"), ("same", ".")]),
        ("a big dog", "a small cat", [("same", "a "), ("removed", "big dog"), ("added", "small cat")]),
        ("a b", "a  b", [("same", "a"), ("removed", " "), ("added", "  "), ("same", "b")]),
    ],
)
def test_words(before, after, pieces):
    assert [tuple(piece) for piece in word_diff(before, after)] == pieces


@pytest.mark.parametrize("compare", [word_diff, line_diff])
@given(before=TEXTS, after=TEXTS)
def test_nothing_of_either_text_is_lost(compare, before, after):
    pieces = compare(before, after)
    assert "".join(text for kind, text in pieces if kind != ADDED) == before
    assert "".join(text for kind, text in pieces if kind != REMOVED) == after
    assert all(text for _, text in pieces)
    assert (before == after) == all(kind == SAME for kind, _ in pieces)


def test_long_texts_without_a_common_word_are_not_compared_word_by_word():
    before, after = ("x1 " * 300_000)[:-1], ("y2 " * 300_000)[:-1]
    assert word_diff(before, after) == [(REMOVED, before), (ADDED, after)]


def test_changed_lines_with_what_is_around_them():
    before = "1\n2\n3\n4\n5\n6\n7\n8\n"
    assert unified(before, before.replace("5", "five")) == "…\n 3\n 4\n-5\n+five\n 6\n 7\n…"
    assert unified(before, before) == ""
    assert unified("a\n", "a") == "-a\n+a"
