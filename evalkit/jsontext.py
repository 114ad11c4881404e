"""JSON as text: read to the letter of RFC 8259, written so that it can be read back unchanged.

`json.loads` alone takes NaN, keeps the last of two equal keys, crashes on deep nesting and turns
1e400 into infinity. `read` does none of that; `write` is its inverse and never produces text that
cannot enter a DataFrame or a Parquet file.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import secrets
from collections import Counter
from decimal import Decimal, InvalidOperation
from typing import Any

from .records import clean_text

DEEPEST = 200  # levels of nesting that are held; RFC 8259 section 9 lets a reader set such a limit
LONGEST_INT = 4000  # digits; CPython refuses to convert longer text to int

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[{]|[\]}]|NaN|-?Infinity', re.DOTALL)
_NUMBER = f"number-{secrets.token_hex(8)}:"  # before the digits of a Decimal until the text around them is there
_WRITTEN_NUMBER = re.compile(f'"{_NUMBER}([^"]*)"')
_CUT_VALUE = re.compile(r"(?:t|tr|tru|f|fa|fal|fals|n|nu|nul|-|\\|\\u[0-9a-fA-F]{0,3})\Z")


class JsonTextError(ValueError):
    """Text that is not JSON.

    `message` says what is wrong, `line` and `column` (from 1) where; `unterminated` is True where the text
    is the beginning of JSON that was cut off.
    """

    def __init__(self, message: str, text: str, position: int, *, unterminated: bool = False):
        self.message, self.position, self.unterminated = message, position, unterminated
        self.line = text.count("\n", 0, position) + 1
        self.column = position - text.rfind("\n", 0, position)
        super().__init__(f"{message} (line {self.line}, column {self.column})")


def read(text: str, *, unique_keys: bool = True) -> Any:
    """The value that `text` holds. Integers are exact at any size; a float too large for one is a Decimal.

    Raises JsonTextError for anything that RFC 8259 refuses, for nesting beyond `DEEPEST`, and, unless
    `unique_keys` is False, for an object that has a key twice.
    """
    if text.startswith("\ufeff"):
        raise JsonTextError("begins with a byte-order mark", text, 0)
    _refuse_depth(text)
    try:
        return json.loads(
            text,
            object_pairs_hook=_unique_object if unique_keys else None,
            parse_constant=_refuse_constant,
            parse_float=_float,
            parse_int=_int,
        )
    except json.JSONDecodeError as error:
        raise JsonTextError(error.msg, text, error.pos, unterminated=_is_cut(text, error)) from None
    except _Refused as error:
        raise JsonTextError(str(error), text, _place_of(error.token, text)) from None


def read_again(text: str | bytes) -> Any:
    """The value that `write` made `text` of, however deep. Raises ValueError where the text is not JSON."""
    return json.loads(text, parse_float=_float, parse_int=_int)


def write(value: Any) -> str:
    """JSON text of `value`, characters as they are, lone surrogates as escapes, a Decimal as the number that it is.

    Raises ValueError or TypeError where the value has no JSON form (NaN, infinity, other types).
    """
    return _with_numbers(json.dumps(value, ensure_ascii=False, allow_nan=False, default=_decimal_text))


def canonical(value: Any) -> str:
    """JSON text that is the same for equal content: sorted keys, no spaces. What fingerprints are made of."""
    return _with_numbers(
        json.dumps(value, ensure_ascii=False, sort_keys=True, default=_decimal_text, separators=(",", ":"))
    )


def fingerprint(value: Any) -> str:
    """Twelve hexadecimal digits that are equal for equal content."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:12]


class _Refused(ValueError):
    """Raised by a hook of the decoder, which does not know where it is; `token` is looked up afterwards."""

    def __init__(self, message: str, token: str | None = None):
        super().__init__(message)
        self.token = token


def _unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise _Refused(f"the key {next(key for key in counts if counts[key] > 1)!r} appears twice in one object")
    return found


def _refuse_constant(name: str) -> Any:
    raise _Refused(f"{name} is not JSON", name)


def _float(text: str) -> float | Decimal:
    number = float(text)
    if math.isfinite(number):
        return number
    try:
        return Decimal(text)
    except InvalidOperation:
        raise _Refused(f"the exponent of {text[:30]} is too large to hold") from None


def _int(text: str) -> int | Decimal:
    return int(text) if len(text) <= LONGEST_INT else Decimal(text)


def _decimal_text(value: Any) -> str:
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"{value} is not JSON")
        return f"{_NUMBER}{value}"
    raise TypeError(f"a {type(value).__name__} has no JSON form")


def _with_numbers(text: str) -> str:
    """The text with Decimals, which the encoder can only write as text, as numbers."""
    return clean_text(_WRITTEN_NUMBER.sub(r"\1", text) if _NUMBER in text else text)


def _place_of(token: str | None, text: str) -> int:
    if token is None:
        return 0
    return next((match.start() for match in _TOKEN.finditer(text) if match.group() == token), 0)


def _refuse_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= DEEPEST:
        return
    depth = 0
    for match in _TOKEN.finditer(text):
        if match.group() in "[{":
            depth += 1
            if depth > DEEPEST:
                raise JsonTextError(f"nested deeper than {DEEPEST} levels", text, match.start())
        elif match.group() in "]}":
            depth -= 1


def _is_cut(text: str, error: json.JSONDecodeError) -> bool:
    if not text.strip():
        return False
    at_end = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
    return at_end or any(_CUT_VALUE.match(text, max(place, 0)) for place in (error.pos, error.pos - 1))
