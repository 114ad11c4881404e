"""What differs between two texts, by words or by lines: numbers of work bounded, nothing of either text lost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

SAME, REMOVED, ADDED = "same", "removed", "added"
MOST_WORK = 25_000_000  # pairs of tokens to be compared; beyond, the next coarser comparison does
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


class Piece(NamedTuple):
    """A stretch of text that both have (`same`), or only the first (`removed`) or the second (`added`)."""

    kind: str
    text: str


def word_diff(before: str, after: str) -> list[Piece]:
    """The pieces of both texts in order, by words, white space and signs.

    The `same` and `removed` pieces make `before`, the `same` and `added` ones `after`. Very long texts that differ
    much are compared by lines, and where even those are too many, given as one removed and one added piece.
    """
    tokens = _WORDS.findall(before), _WORDS.findall(after)
    pieces = _diff(*tokens)
    return line_diff(before, after) if pieces is None else pieces


def line_diff(before: str, after: str) -> list[Piece]:
    """The pieces of both texts in order, by lines with their line ends."""
    pieces = _diff(before.splitlines(keepends=True), after.splitlines(keepends=True))
    return [Piece(REMOVED, before), Piece(ADDED, after)] if pieces is None else pieces


def unified(before: str, after: str, *, context: int = 2) -> str:
    """The changed lines, marked `-` and `+`, with `context` lines around them; "" where nothing differs."""
    marks = {SAME: " ", REMOVED: "-", ADDED: "+"}
    marked = [(piece.kind, line) for piece in line_diff(before, after) for line in piece.text.splitlines()]
    changed = [place for place, (kind, _) in enumerate(marked) if kind != SAME]
    if not changed:
        return "(only line ends differ)" if before != after else ""
    shown = {near for place in changed for near in range(place - context, place + context + 1)}
    lines: list[str] = []
    last = -1
    for place, (kind, line) in enumerate(marked):
        if place in shown:
            if place > last + 1:
                lines.append("…")
            lines.append(marks[kind] + line)
            last = place
    return "\n".join([*lines, "…"] if last < len(marked) - 1 else lines)


def _diff(before: Sequence[str], after: Sequence[str]) -> list[Piece] | None:
    """The pieces, or None where finding them would take too long."""
    from rapidfuzz.distance import LCSseq

    start = _common_start(before, after)
    end = _common_start(before[start:][::-1], after[start:][::-1])
    one, other = before[start : len(before) - end], after[start : len(after) - end]
    if len(one) * len(other) > MOST_WORK:
        return None
    pieces = [Piece(SAME, "".join(before[:start]))]
    if one and other:
        for step in LCSseq.opcodes(one, other):
            gone = "".join(one[step.src_start : step.src_end])
            new = "".join(other[step.dest_start : step.dest_end])
            if step.tag == "equal":
                pieces.append(Piece(SAME, gone))
            else:
                pieces += [Piece(REMOVED, gone), Piece(ADDED, new)]
    else:
        pieces += [Piece(REMOVED, "".join(one)), Piece(ADDED, "".join(other))]
    pieces.append(Piece(SAME, "".join(before[len(before) - end :])))
    return _joined(pieces)


def _common_start(one: Sequence[str], other: Sequence[str]) -> int:
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))


def _joined(pieces: list[Piece]) -> list[Piece]:
    """The pieces without empty ones; between two stretches of same text first all that is gone, then all that is new.

    A lone blank between two changes is changed with them: word by word they would be harder to read.
    """
    joined: list[Piece] = []
    gone = new = ""
    kept = [piece for piece in pieces if piece.text]
    for place, (kind, text) in enumerate(kept):
        between = 0 < place < len(kept) - 1 and (gone or new)
        if kind == SAME and not (between and text.isspace() and "\n" not in text and gone and new):
            joined += [Piece(k, t) for k, t in ((REMOVED, gone), (ADDED, new)) if t]
            gone = new = ""
            if joined and joined[-1].kind == SAME:
                joined[-1] = Piece(SAME, joined[-1].text + text)
            else:
                joined.append(Piece(SAME, text))
        else:
            gone += text if kind != ADDED else ""
            new += text if kind != REMOVED else ""
    return joined + [Piece(k, t) for k, t in ((REMOVED, gone), (ADDED, new)) if t]
