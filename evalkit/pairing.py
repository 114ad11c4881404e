"""Expected elements paired with the elements of a list, each with at most one: as many pairs as there can be."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from . import limits
from .jsontext import canonical


def unpaired(
    expected: Sequence[Any], actual: Sequence[Any], meets: Callable[[Any, Any], bool], most: int | None = None
) -> tuple[list[int], list[int]]:
    """The places of the elements left over, expected and actual, in a best pairing of both lists.

    Elements written the same are paired first, which never costs another pair; the rest by augmenting paths
    (a maximum bipartite matching), not greedily: where one element meets several, it goes to the one that needs it.
    With more than `most` elements to pair in that second way, none of them is paired. Raises TooCostly
    (see `limits`) where the time to compare runs out.
    """
    pairs = _written_the_same(expected, actual, meets)
    owner = {place: wanted for wanted, place in pairs.items()}
    rest = [place for place in range(len(actual)) if place not in owner]
    known: dict[tuple[int, int], bool] = {}

    def edge(wanted: int, place: int) -> bool:
        if (wanted, place) not in known:
            limits.left()
            known[wanted, place] = meets(expected[wanted], actual[place])
        return known[wanted, place]

    if most is None or len(rest) <= most:
        for wanted in [place for place in range(len(expected)) if place not in pairs]:
            _augment(wanted, rest, owner, pairs, edge)
    left = [wanted for wanted in range(len(expected)) if wanted not in pairs]
    return left, [place for place in rest if place not in owner]


def _augment(
    start: int,
    places: Sequence[int],
    owner: dict[int, int],
    pairs: dict[int, int],
    edge: Callable[[int, int], bool],
) -> None:
    """Pair `start` as well, moving others to where they fit too, if that is possible at all."""
    came_from: dict[int, int] = {}
    waiting = deque([start])
    while waiting:
        wanted = waiting.popleft()
        limits.left()
        for place in places:
            if place in came_from or not edge(wanted, place):
                continue
            came_from[place] = wanted
            if place in owner:
                waiting.append(owner[place])
                continue
            while True:
                mover = came_from[place]
                before = pairs.get(mover)
                owner[place], pairs[mover] = mover, place
                if before is None:
                    return
                place = before


def _written_the_same(
    expected: Sequence[Any], actual: Sequence[Any], meets: Callable[[Any, Any], bool]
) -> dict[int, int]:
    """Pairs of elements that have the same JSON text and do meet; matchers are left to the pairing proper."""
    by_text: dict[str, list[int]] = {}
    for place in reversed(range(len(actual))):
        text = _text(actual[place])
        if text is not None:
            by_text.setdefault(text, []).append(place)
    pairs: dict[int, int] = {}
    for wanted, value in enumerate(expected):
        places = by_text.get(_text(value) or "")
        if places and meets(value, actual[places[-1]]):
            pairs[wanted] = places.pop()
    return pairs


def _text(value: Any) -> str | None:
    try:
        text = canonical(value)
    except (TypeError, ValueError):
        return None
    return None if '"$' in text else text
