"""Which texts are nearly the same: each with the first one before it that it resembles, at a bounded cost."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
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
    for later, earlier in _first_similar(compared, list(seen.values()), least).items():
        first[later] = earlier
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


def _first_similar(texts: Sequence[str], places: list[int], least: float) -> dict[int, int]:
    """For each of the texts at `places` that resembles an earlier one, the first such."""
    import numpy as np
    from rapidfuzz import fuzz, process

    # Only texts of like length can be that similar, so they are compared in order of their length.
    order = np.array(sorted(places, key=lambda place: len(texts[place])), dtype=np.int64)
    lengths = [len(texts[place]) for place in order]
    first = np.arange(len(texts), dtype=np.int64)
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
        alike = scores > 0
        for these, those, of_these in ((block, others, alike), (others, block, alike.T)):
            earliest = np.where(of_these, those, len(texts)).min(axis=1, initial=len(texts))
            first[these] = np.minimum(first[these], earliest)
    return {int(place): int(first[place]) for place in order if first[place] < place}


def _end(lengths: list[int], last: int, least: float) -> int:
    """One past the longest text that can still be as similar as `least` to the one at `last`."""
    # ratio = 200 · common / (a + b) is at most 200 · a / (a + b)
    longest = lengths[last] * (200 / max(least, 1) - 1)
    return bisect_right(lengths, longest)
