"""One case in two runs, side by side: the arguments path by path, the answers word by word, the reviews."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .jsontext import JsonTextError, read, write
from .textdiff import Piece, word_diff
from .valuepaths import inside, place_of

if TYPE_CHECKING:
    import pandas as pd

MATCHING, UNCHECKED, ALLOWED = "", "not checked", ", allowed"


class ArgumentRow(NamedTuple):
    """One place in the arguments: what was expected and what each side sent (JSON text; None: nothing), and how each
    differs: a mismatch's kind, or "" where it does not.
    """

    path: str
    expected: str | None
    baseline: str | None
    baseline_kind: str
    candidate: str | None
    candidate_kind: str

    @staticmethod
    def is_wrong(kind: str) -> bool:
        """Whether a kind is one that counts against the call."""
        return kind not in (MATCHING, UNCHECKED) and not kind.endswith(ALLOWED)


class ReviewRow(NamedTuple):
    """What one reviewer or judge said of each side's answer: `(passed, score, reason)`, or None where not asked."""

    reviewer: str
    baseline: tuple[bool | None, float | None, str] | None
    candidate: tuple[bool | None, float | None, str] | None


@dataclass(frozen=True)
class CaseComparison:
    """One case side by side. `row` is its row of `Comparison.cases`; texts are those of the trial shown there."""

    row: pd.Series[Any]
    arguments: tuple[ArgumentRow, ...]
    answer: tuple[Piece, ...]
    reviews: tuple[ReviewRow, ...]
    content: tuple[tuple[str, tuple[Piece, ...]], ...]

    @property
    def case_id(self) -> str:
        return str(self.row["case_id"])

    @property
    def status(self) -> str:
        """What became of the case."""
        return str(self.row["status"])

    def _repr_html_(self) -> str:
        from .comparison_html import case_page

        return str(case_page(self))


def compare_case(
    row: pd.Series[Any], baseline: Mapping[str, Any] | None, candidate: Mapping[str, Any] | None
) -> CaseComparison:
    """One case from its row of a comparison and its rows of the two runs (None where a run lacks it)."""
    return CaseComparison(
        row=row,
        arguments=tuple(_arguments(baseline or {}, candidate or {})),
        answer=tuple(word_diff(_text(baseline, "answer"), _text(candidate, "answer"))),
        reviews=tuple(_reviews(_list(baseline, "reviews"), _list(candidate, "reviews"))),
        content=tuple(_content(baseline, candidate)) if row["status"] == "changed case" else (),
    )


_NOTHING = object()


def _arguments(baseline: Mapping[str, Any], candidate: Mapping[str, Any]) -> Iterator[ArgumentRow]:
    expected = _json(candidate or baseline, "expected_arguments", _NOTHING)
    sides = [_sent(side) for side in (baseline, candidate)]
    found = [
        {str(one.get("path", "")): one for one in _list(side, "mismatches") if isinstance(one, dict)}
        for side in (baseline, candidate)
    ]
    if expected is _NOTHING and sides == [_NOTHING, _NOTHING]:
        return
    stops = set(found[0]) | set(found[1])
    told: set[str] = set()
    for path, values in _walk("", (expected, *sides), stops):
        told.add(path)
        kinds = [
            _kind(mismatches.get(path), values[0], value) for mismatches, value in zip(found, values[1:], strict=True)
        ]
        yield ArgumentRow(
            path, _shown(values[0]), _shown(values[1]), kinds[0], _shown(values[2]), kinds[1]
        )  # fmt: skip
    for path in sorted(stops - told):  # of a secondary tool's own expectations, or of another of several calls
        entries = [mismatches.get(path) for mismatches in found]
        held = next(entry for entry in entries if entry is not None)
        texts = [None if entry is None else _shown(entry.get("actual")) for entry in entries]
        kinds = ["" if entry is None else str(entry.get("kind", "")) for entry in entries]
        yield ArgumentRow(path, _shown(held.get("expected")), texts[0], kinds[0], texts[1], kinds[1])


def _walk(path: str, values: tuple[Any, ...], stops: set[str]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The places at which values stand, deepest first come: objects and lists of one length are gone into."""
    there = [value for value in values if value is not _NOTHING]
    stopped = path in stops and path != ""
    if not stopped and all(isinstance(value, dict) for value in there) and not _is_matcher(values[0]):
        keys = dict.fromkeys(key for value in there for key in value)
        if keys:
            for key in keys:
                inner = tuple(v.get(key, _NOTHING) if isinstance(v, dict) else _NOTHING for v in values)
                yield from _walk(inside(path, key), inner, stops)
            return
    lists = not stopped and path and all(isinstance(value, list) for value in there)
    if lists and len({len(value) for value in there}) == 1 and there[0]:
        for index in range(len(there[0])):
            inner = tuple(v[index] if isinstance(v, list) else _NOTHING for v in values)
            yield from _walk(place_of(path, index), inner, stops)
        return
    if path or not all(isinstance(value, dict) for value in there):
        yield path, values


def _is_matcher(value: Any) -> bool:
    return isinstance(value, dict) and any(str(key).startswith("$") for key in value)


def _kind(mismatch: Mapping[str, Any] | None, expected: Any, actual: Any) -> str:
    if mismatch is None:
        return UNCHECKED if expected is _NOTHING and actual is not _NOTHING else MATCHING
    note = mismatch.get("note")
    allowed = ALLOWED if mismatch.get("ok") else ""
    return str(mismatch.get("kind", "")) + (f" ({note})" if note else "") + allowed


def _sent(side: Mapping[str, Any]) -> Any:
    """The arguments as sent: the value where they are JSON, else the text itself; nothing where there was no call."""
    text = side.get("actual_arguments")
    if not isinstance(text, str):
        return _NOTHING
    try:
        return read(text, unique_keys=False)
    except JsonTextError:
        return text


def _shown(value: Any) -> str | None:
    return None if value is _NOTHING else write(value)


def _reviews(baseline: list[Any], candidate: list[Any]) -> Iterator[ReviewRow]:
    """Reviews of one reviewer side by side, its first with its first, its second with its second."""
    sides = [_numbered(baseline), _numbered(candidate)]
    for name, number in dict.fromkeys((*sides[0], *sides[1])):
        said = [None if (one := side.get((name, number))) is None else _said(one) for side in sides]
        yield ReviewRow(name if number == 1 else f"{name} ({number})", said[0], said[1])


def _numbered(reviews: list[Any]) -> dict[tuple[str, int], Mapping[str, Any]]:
    found: dict[tuple[str, int], Mapping[str, Any]] = {}
    for one in reviews:
        if isinstance(one, dict):
            name = str(one.get("reviewer"))
            found[name, sum(1 for known, _ in found if known == name) + 1] = one
    return found


def _said(review: Mapping[str, Any]) -> tuple[bool | None, float | None, str]:
    return review.get("passed"), review.get("score"), str(review.get("reason") or "")


def _content(
    baseline: Mapping[str, Any] | None, candidate: Mapping[str, Any] | None
) -> Iterator[tuple[str, tuple[Piece, ...]]]:
    for name in ("input", "expected_tool", "secondary_tools", "expected_arguments", "expected"):
        before, after = _text(baseline, name), _text(candidate, name)
        if before != after:
            yield name, tuple(word_diff(before, after))


def _text(side: Mapping[str, Any] | None, name: str) -> str:
    value = (side or {}).get(name)
    return value if isinstance(value, str) else ""


def _json(side: Mapping[str, Any] | None, name: str, otherwise: Any) -> Any:
    text = (side or {}).get(name)
    if not isinstance(text, str):
        return otherwise
    try:
        return read(text, unique_keys=False)
    except JsonTextError:
        return otherwise


def _list(side: Mapping[str, Any] | None, name: str) -> list[Any]:
    found = _json(side, name, [])
    return found if isinstance(found, list) else []
