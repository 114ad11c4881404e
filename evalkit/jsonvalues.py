"""Python values that stand for JSON, made plain: what a case or a tool definition may hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from numbers import Number
from typing import Any

from .jsontext import DEEPEST
from .records import clean_text
from .valuepaths import inside, place_of


class NotJsonError(ValueError):
    """A value without a JSON form; `path` is where it stands ("cities[2]", "" for the value itself)."""

    def __init__(self, message: str, path: str):
        self.message, self.path = message, path
        super().__init__(f"at {path}: {message}" if path else message)


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: None, NaN of whatever kind, pandas' NA and NaT. Empty text is a value."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, Number) and value != value  # NaN alone is not itself


def plain(value: Any, path: str = "") -> Any:
    """The same value in plain dicts, lists, str, int, float, Decimal, bool and None, copied through and through.

    Tuples become lists, NumPy's values Python's; a lone surrogate becomes its escape, since such text cannot
    be sent. Raises NotJsonError for anything else: NaN, a set, a date, a key that is not text, endless nesting.
    """
    return _plain(value, path, 0)


def _plain(value: Any, path: str, depth: int) -> Any:
    if depth > DEEPEST:
        raise NotJsonError(f"nested deeper than {DEEPEST} levels", f"{path[:60]}…")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean_text(str.__str__(value))
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float | Decimal):
        if not (value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)):
            raise NotJsonError(f"{value} is not JSON", path)
        return float(value) if isinstance(value, float) else value
    if isinstance(value, Mapping):
        return {_key(key, path): _plain(inner, inside(path, key), depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, place_of(path, index), depth + 1) for index, inner in enumerate(value)]
    if hasattr(value, "tolist"):  # NumPy's scalars and arrays
        return _plain(value.tolist(), path, depth + 1)
    raise NotJsonError(f"a {type(value).__name__} has no JSON form", path)


def _key(key: Any, path: str) -> str:
    if not isinstance(key, str):
        raise NotJsonError(f"the key {key!r} is not text", path)
    return clean_text(str.__str__(key))
