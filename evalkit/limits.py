"""What the scoring of one trial may cost: a time that all of its comparisons share, and work that is not begun.

Datasets hold patterns and matchers that people write, replies hold whatever a model writes; together they can make a
comparison that takes hours. Such a one is given up with `TooCostly`, which makes the trial an error, not a failure.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

SCORING_S = 5.0  # for all comparisons of one trial
_MOST_EDITS = 5e9  # characters of one text times those of the other: about half a second

_end: ContextVar[float] = ContextVar("evalkit_scoring_end", default=math.inf)


class TooCostly(ValueError):
    """A comparison that was not done in time, or would take too long to begin."""


@contextmanager
def within(seconds: float = SCORING_S) -> Iterator[None]:
    """Within the block, `left` counts down from so many seconds (or from what an outer block has left)."""
    token = _end.set(min(_end.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _end.reset(token)


def left() -> float:
    """Seconds that are left for comparing; infinite outside of any `within`. Raises TooCostly where none are."""
    seconds = _end.get() - time.monotonic()
    if seconds <= 0:
        raise TooCostly(
            f"comparing what was sent with what is expected was not done after {SCORING_S:g} s. "
            "Long lists of matchers and slow patterns are the usual cause"
        )
    return seconds


def edits(one: str, other: str) -> int:
    """The Levenshtein distance of two texts, in characters. Raises TooCostly where both are very long."""
    from rapidfuzz.distance import Levenshtein

    if len(one) * len(other) > _MOST_EDITS and one != other:
        raise TooCostly(f"texts of {len(one)} and {len(other)} characters take too long to compare letter by letter")
    return int(Levenshtein.distance(one, other))
