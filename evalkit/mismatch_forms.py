"""Mismatches told to a reader, and made plain to be stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from .differences import json_type
from .jsontext import write
from .records import Mismatch

_IN_WORDS = {
    "type": "another type",
    "double_encoded": "JSON text in place of the value",
    "case": "differs in letter case",
    "whitespace": "differs in white space",
    "unicode": "differs in Unicode form",
    "punctuation": "differs in punctuation",
    "date": "another spelling of a date",
    "list_order": "another order",
    "list_length": "another length",
}
_LONGEST_SHOWN = 80  # characters of a value in a reason; the mismatch itself holds all of it


def describe(mismatch: Mismatch) -> str:
    """One mismatch as a phrase for a reader: `limit: expected 5, got "5" (another type)`."""
    where = mismatch.path or "the value"
    if mismatch.kind == "missing":
        said = f"{where}: not sent, expected {_shown(mismatch.expected)}"
    elif mismatch.kind.startswith("extra"):
        said = f"{where}: not expected, got {_shown(mismatch.actual)}"
    else:
        hidden = mismatch.kind in ("whitespace", "unicode")
        said = f"{where}: expected {_shown(mismatch.expected, hidden)}, got {_shown(mismatch.actual, hidden)}"
    about = "; ".join(part for part in (_IN_WORDS.get(mismatch.kind), mismatch.note) if part)
    return f"{said} ({about})" if about else said


def mismatch_rows(mismatches: Sequence[Mismatch]) -> list[dict[str, Any]]:
    """One plain dictionary per mismatch, JSON-able: path, kind, expected, actual, ok, note."""
    return [
        {
            "path": one.path,
            "kind": one.kind,
            "expected": _jsonable(one.expected),
            "actual": _jsonable(one.actual),
            "ok": one.ok,
            "note": one.note,
        }
        for one in mismatches
    ]


def _shown(value: Any, hidden: bool = False) -> str:
    """A value as JSON, cut where it is long; `hidden`: with escapes for what cannot be told apart by eye."""
    try:
        text = write(value)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    if hidden:
        text = "".join(char if " " <= char <= "~" else _escape(char) for char in text[: _LONGEST_SHOWN + 1])
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _escape(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


def _jsonable(value: Any) -> Any:
    """The value with only what JSON holds; a number too large for a float, or a foreign object, as text."""
    if isinstance(value, Mapping):
        return {str(key): _jsonable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(inner) for inner in value]
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, float) and value - value != 0:
        return str(value)
    return value if json_type(value) in ("string", "number", "boolean", "null") else repr(value)
