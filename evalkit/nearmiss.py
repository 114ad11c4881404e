"""Which allowed word somebody probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, allowed: Iterable[str]) -> str | None:
    """The allowed word closest to `word`, or None where none is close. Letter case does not count."""
    by_folded = {name.casefold(): name for name in allowed}
    found = difflib.get_close_matches(str(word).casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def did_you_mean(word: str, allowed: Iterable[str]) -> str:
    """The sentence " Did you mean 'x'?" (with its leading space), or "" where nothing is close."""
    found = nearest(word, allowed)
    return f" Did you mean {found!r}?" if found is not None else ""
