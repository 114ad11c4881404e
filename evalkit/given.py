"""Arguments as they were given, checked in words: what it is called, what is allowed, what came."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

from .errors import SettingsError
from .nearmiss import did_you_mean


def words(name: str, given: Any) -> list[str]:
    """One word or several as a list, each once. Raises SettingsError for anything else."""
    several = [given] if isinstance(given, str) else given
    known = isinstance(several, Iterable) and not isinstance(several, bytes | dict)
    listed: list[Any] = list(several) if known else [None]
    wrong = [word for word in listed if not isinstance(word, str)]
    if wrong:
        raise SettingsError(f"{name} must be a name or a list of names, got {given!r:.80}")
    return list(dict.fromkeys(listed))


def one_of(name: str, given: Any, allowed: Sequence[str]) -> str:
    """One of a few words. Raises SettingsError for another."""
    if isinstance(given, str) and given in allowed:
        return given
    listed = " or ".join(map(repr, allowed))
    raise SettingsError(f"{name} must be {listed}, got {given!r:.80}.{did_you_mean(str(given), allowed)}")


def share(name: str, given: Any) -> float:
    """A number above 0 and at most 1. Raises SettingsError for anything else."""
    if isinstance(given, bool) or not isinstance(given, Real) or not 0 < float(given) <= 1:
        raise SettingsError(f"{name} must be above 0 and at most 1, got {given!r:.80}")
    return float(given)


def whole(name: str, given: Any, of: str = "") -> int:
    """A whole number from 1. Raises SettingsError for anything else."""
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise SettingsError(f"{name} must be a whole number{of} from 1, got {given!r:.80}")
    return given
