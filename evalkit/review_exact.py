"""The reviewer that wants exactly what is expected, and says how an answer that looks the same differs."""

from __future__ import annotations

from typing import Any

from . import jsontext
from .arguments import compare_values, describe
from .differences import composed, same_text
from .fences import unfenced
from .records import Verdict
from .review_own import built_in

_MOST_LISTED = 5  # differences that a reason lists
_AROUND = 20  # characters shown from the first difference on
_IN_WORDS = {
    "whitespace": "white space",
    "unicode": "Unicode form",
    "case": "letter case",
    "punctuation": "punctuation",
    "date": "the spelling of a date",
    "double_encoded": "being written as JSON, quotes included",
}


@built_in(needs_expected=True)
def exact_match(answer: str, expected: Any) -> Verdict:
    """1 where the answer is what is expected.

    Text to text exactly, after Unicode NFC. Where something else than text is expected, the answer is read as
    JSON and compared as a value: key order is no difference, 1 is 1.0, true is not 1. What is expected is taken
    as it stands: a key that begins with `$` is a key.
    """
    if isinstance(expected, str):
        return _text(answer, expected)
    try:
        value = jsontext.read(answer)
    except jsontext.JsonTextError as error:
        fenced = "it stands in a Markdown fence" if unfenced(answer) is not None else str(error)
        said = "the answer is empty" if not answer.strip() else f"the answer is not JSON: {fenced}"
        return Verdict(None, 0.0, f"{said}; a JSON value is expected")
    wrong = compare_values(expected, value, literal=True).mismatches
    if not wrong:
        return Verdict(None, 1.0, "the same JSON value as expected")
    said = "; ".join(describe(one) for one in wrong[:_MOST_LISTED])
    more = f"; and {len(wrong) - _MOST_LISTED} more" if len(wrong) > _MOST_LISTED else ""
    return Verdict(None, 0.0, f"differs: {said}{more}")


def _text(answer: str, expected: str) -> Verdict:
    wrong = compare_values(expected, answer, literal=True).mismatches
    if not wrong:
        return Verdict(None, 1.0, "the same text as expected")
    if not answer:
        return Verdict(None, 0.0, "the answer is empty, text is expected")
    wanted, got = composed(expected), composed(answer)
    start = next((n for n, (a, b) in enumerate(zip(wanted, got, strict=False)) if a != b), min(len(wanted), len(got)))
    place = f"from character {start + 1} on expected {_piece(wanted, start)}, got {_piece(got, start)}"
    lengths = f"length {len(wanted)} expected, {len(got)} given"
    return Verdict(None, 0.0, f"{_how(wrong[0].kind, wanted, got)}: {place}; {lengths}")


def _how(kind: str, wanted: str, got: str) -> str:
    if kind not in _IN_WORDS:
        return "differs from what is expected"
    one, other = (_folded(kind, text) for text in (wanted, got))
    several = kind in ("case", "whitespace") and not same_text(one, other)
    return f"differs only in form ({_IN_WORDS[kind]} among others)" if several else f"differs only in {_IN_WORDS[kind]}"


def _folded(kind: str, text: str) -> str:
    return text.casefold() if kind == "case" else "".join(text.split())


def _piece(text: str, start: int) -> str:
    """A piece of text from a place on, with escapes for all that is not plain to see; "the end" behind its end."""
    piece = text[start : start + _AROUND]
    return f"{piece!a}{'…' if len(text) > start + _AROUND else ''}" if piece else "the end"
