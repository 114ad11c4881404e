"""Which texts are nearly the same: each with the first one before it that it resembles, at a bounded cost."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

BUDGET = 1.2e10  # of work, in pairs times characters: some seconds; enough for 10,000 short texts
LONGEST = 400  # characters of a text that are compared
_BLOCK = 256  # texts compared at a time: bounds the memory


class NearPairs(NamedTuple):
    """Pairs (earlier, later) of places, at most one for each later text; how many were looked at and left out."""

    pairs: list[tuple[int, int]]
    looked_at: int
    left_out: int


def near_pairs(texts: Sequence[str], least: float) -> NearPairs:
    """Texts that resemble an earlier one by a rapidfuzz ratio of `least` (0–100) or more.

    White space and letter case do not count, nor what stands after the first 400 characters. Where the texts are
    too many or too long for a few seconds, the last ones are left out.
    """
    compared = [" ".join(text[: LONGEST * 4].casefold().split())[:LONGEST] for text in texts]
    compared = compared[: _affordable(compared)]
    first: dict[int, int] = {}
    seen: dict[str, int] = {}
    for place, text in enumerate(compared):
        if seen.setdefault(text, place) != place:
            first[place] = seen[text]
    for earlier, later in _similar(compared, list(seen.values()), least):
        first[later] = min(earlier, first.get(later, earlier))
    pairs = sorted((earlier, later) for later, earlier in first.items())
    return NearPairs(pairs, len(compared), len(texts) - len(compared))


def _affordable(texts: Sequence[str]) -> int:
    """How many of the texts can be compared with each other; equal ones cost nothing."""
    work, distinct = 0, set[str]()
    for count, text in enumerate(texts):
        if text not in distinct:
            distinct.add(text)
            work += len(text) * (len(text) // 64 + 1)
        if len(distinct) * work > BUDGET:
            return count
    return len(texts)


def _similar(texts: Sequence[str], places: list[int], least: float) -> Iterator[tuple[int, int]]:
    """Each pair (earlier, later) of the texts at `places` that is similar enough."""
    from rapidfuzz import fuzz, process

    # Only texts of like length can be that similar, so they are compared in order of their length.
    order = sorted(places, key=lambda place: len(texts[place]))
    lengths = [len(texts[place]) for place in order]
    for start in range(0, len(order), _BLOCK):
        block = order[start : start + _BLOCK]
        others = order[start : _end(lengths, start + len(block) - 1, least)]
        scores = process.cdist(
            [texts[place] for place in block],
            [texts[place] for place in others],
            scorer=fuzz.ratio,
            score_cutoff=least,
            dtype="uint8",
        )
        for row, column in zip(*scores.nonzero(), strict=True):
            if block[row] != others[column]:
                earlier, later = sorted((block[row], others[column]))
                yield earlier, later


def _end(lengths: list[int], last: int, least: float) -> int:
    """One past the longest text that can still be as similar as `least` to the one at `last`."""
    # ratio = 200 · common / (a + b) is at most 200 · a / (a + b)
    longest = lengths[last] * (200 / max(least, 1) - 1)
    return bisect_right(lengths, longest)
