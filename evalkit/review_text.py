"""Reviewers that look at the answer's text: contains, resembles, matches a pattern."""

from __future__ import annotations

from typing import Any

from . import limits, patterns
from .differences import composed
from .records import Verdict
from .review_checks import shown, some_text, text
from .review_own import built_in
from .review_registry import ReviewerError


@built_in(checks={"search_string": some_text})
def string_contains(answer: str, *, search_string: str, ignore_case: bool = False) -> Verdict:
    """1 where the answer contains `search_string`, as a plain part of it: "7" is contained in "27".

    Both are compared in Unicode's composed form (NFC); with `ignore_case` after case folding, so that
    "straße" is contained in "STRASSE".
    """
    whole, part = composed(answer), composed(search_string)
    folded = composed(part.casefold()) in composed(whole.casefold())
    if folded if ignore_case else part in whole:
        return Verdict(None, 1.0, f"contains {shown(search_string)}")
    said = f"does not contain {shown(search_string)}"
    if folded:
        said += ", but it does in other letter case (ignore_case: true accepts that)"
    elif not answer:
        said += ": the answer is empty"
    return Verdict(None, 0.0, said)


@built_in(needs_expected=True, check_expected=text, threshold=0.8)
def levenshtein(answer: str, expected: Any, *, ignore_case: bool = True) -> Verdict:
    """How alike two texts are: 1 − edits / length of the longer, counted in code points; two empty texts are alike.

    An edit inserts, deletes or replaces one code point (Levenshtein 1966). With `ignore_case` both are case
    folded first, and it is the folded texts that are counted.

    Raises TooCostly (a reviewer's error) where both texts are very long.
    """
    one, other = (answer.casefold(), expected.casefold()) if ignore_case else (answer, expected)
    length = max(len(one), len(other))
    if not length:
        return Verdict(None, 1.0, "both texts are empty")
    edits = limits.edits(one, other)
    score = (length - edits) / length
    said = f"{edits} {'edit' if edits == 1 else 'edits'} in {length} characters: similarity {score:.4g}"
    return Verdict(None, score, said + (", letter case ignored" if ignore_case else ""))


def _pattern(value: Any) -> str | None:
    if not isinstance(value, str) or not value:
        return f"must be a regular expression, got {shown(value)}"
    try:
        patterns.compiled(value)
    except ValueError as error:
        return f"{shown(value)} is no regular expression that can be used: {error}"
    return None


@built_in(checks={"pattern": _pattern})
def regex_match(answer: str, *, pattern: str, search: bool = False) -> Verdict:
    """1 where the whole answer matches the regular expression, or with `search` any part of it.

    Patterns are those of the `regex` package; `(?i)` at the start ignores case, `(?s)` lets the dot match
    line ends. The answer is compared in Unicode's composed form (NFC).

    Raises ReviewerError for a pattern that is not done after a second.
    """
    where = "anywhere in the answer" if search else "the whole answer"
    try:
        found = patterns.found(pattern, composed(answer), search=search)
    except limits.TooCostly as error:
        raise ReviewerError(f"regex_match: {error}") from None
    if found:
        return Verdict(None, 1.0, f"{shown(pattern)} matches {where}")
    said = f"{shown(pattern)} does not match {where}"
    if not search and _found_inside(pattern, answer):
        said += ", but a part of it (search: true accepts that)"
    return Verdict(None, 0.0, said)


def _found_inside(pattern: str, answer: str) -> bool:
    try:
        return patterns.found(pattern, composed(answer), search=True)
    except limits.TooCostly:
        return False
