"""Two JSON values that should be the same: are they, and if not, how do they differ.

The kind of a difference between two texts is the first of these that alone makes them equal: `whitespace` (all of
it left out), `unicode` (compatibility forms, accents, invisible characters), `case`, `punctuation` (typographic
variants, then what is not part of a number), `date` (the same day or instant in another spelling). Where several
are needed at once, it is the first one needed of case, whitespace, unicode, punctuation. Otherwise: `value`.
Of a text over 100,000 characters only `whitespace` and `case` are told apart from `value`.
"""

from __future__ import annotations

import math
import operator
import re
import unicodedata
from collections.abc import Callable, Mapping
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any

from .dates import same_day_otherwise_spelt
from .jsontext import JsonTextError, read

REL_TOLERANCE = 1e-9  # two floats closer than this, relative to the larger, are the same number
_LONGEST_FOLDED = 100_000  # characters of a text that is looked at in every way to name its difference
_SLACK = 1 + 1e-9  # so that 0.4 lies within 0.1 of 0.3
_DECIMAL = Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
_TYPES = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
    dict: "object",
    list: "array",
    tuple: "array",
    Decimal: "number",
}
_VARIANTS = str.maketrans(
    dict.fromkeys("‘’‚‛′´`ʼ", "'")
    | dict.fromkeys("“”„‟″«»", '"')
    | dict.fromkeys("‐‑‒–—―−", "-")
    | {"…": "...", "，": ",", "。": ".", "：": ":", "；": ";", "！": "!", "？": "?", "、": ","}
)


def json_type(value: Any) -> str:
    """The JSON type of a Python value: string, number, boolean, null, object or array; else the type's own name."""
    found = _TYPES.get(type(value))
    if found is not None:
        return found
    for kind, name in ((bool, "boolean"), (int, "number"), (float, "number"), (str, "string"), (Mapping, "object")):
        if isinstance(value, kind):
            return name
    return "array" if isinstance(value, list | tuple) else type(value).__name__


def is_integral(value: Any) -> bool:
    """Whether a JSON number has no fraction, as 1, 1.0 and 1e3 have none."""
    if isinstance(value, float):
        return value.is_integer()
    if isinstance(value, Decimal):
        return value == value.to_integral_value()
    return True


def same_number(expected: Any, actual: Any) -> bool:
    """Whether two JSON numbers are equal by value: whole numbers exactly at any size, floats within 1e-9 relative.

    A whole number against a float is compared exactly where the float is whole too.
    """
    if expected == actual:
        return True
    if isinstance(expected, float) and isinstance(actual, float):
        return math.isclose(expected, actual, rel_tol=REL_TOLERANCE)
    if is_integral(expected) and is_integral(actual):
        return False
    if expected != expected or actual != actual:  # NaN, which only Python values hold
        return False
    return _close(expected, actual, max(_size(expected), _size(actual)), REL_TOLERANCE, 0)


def within(expected: Any, actual: Any, rel: Any, absolute: Any) -> bool:
    """Whether `actual` lies within `rel` times the expected number, or within `absolute`, of it."""
    return _close(expected, actual, _size(expected), rel * _SLACK, absolute * _SLACK)


def same_text(expected: str, actual: str) -> bool:
    """Whether two texts are equal after Unicode NFC."""
    return expected == actual or composed(expected) == composed(actual)


def composed(text: str) -> str:
    """The text in Unicode's composed form (NFC)."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def same_value(expected: Any, actual: Any) -> bool:
    """Whether two values that are not both objects or both lists are the same JSON value."""
    if type(expected) is type(actual) and expected == actual:
        return True
    wanted = json_type(expected)
    if wanted != json_type(actual):
        return False
    if wanted == "string":
        return same_text(expected, actual)
    return same_number(expected, actual) if wanted == "number" else bool(expected == actual)


def kind_of_difference(expected: Any, actual: Any) -> str | None:
    """How two values that are not both objects or both lists differ; None where they are the same JSON value."""
    if same_value(expected, actual):
        return None
    wanted = json_type(expected)
    if wanted != json_type(actual):
        return type_kind(wanted, actual)
    if wanted == "string":
        return text_kind(expected, actual)
    return "number" if wanted == "number" else "value"


def type_kind(wanted: str, actual: Any) -> str:
    """The kind for a value not of the type `wanted`: `double_encoded` for an object or list sent as JSON text."""
    if isinstance(actual, str) and wanted in ("object", "array"):
        try:
            return "double_encoded" if json_type(read(actual)) == wanted else "type"
        except JsonTextError:
            return "type"
    return "type"


Test = Callable[[str, str], bool]


def text_kind(expected: str, actual: str, test: Test = operator.eq) -> str:
    """The kind of the difference between two texts for which `test` does not hold as they are.

    A text sent as JSON text of itself, quotes included, is `double_encoded`.
    """
    expected, actual = composed(expected), composed(actual)
    if _is_json_text_of(expected, actual):
        return "double_encoded"
    is_long = max(len(expected), len(actual)) > _LONGEST_FOLDED
    for kind in _QUICK if is_long else _FOLDS:
        if test(_FOLDS[kind](expected), _FOLDS[kind](actual)):
            return kind
    if is_long:
        return "value"
    if same_day_otherwise_spelt(expected, actual):
        return "date"
    return _first_needed(expected, actual, test)


def _first_needed(expected: str, actual: str, test: Test) -> str:
    """The first fold without which the texts would differ, where all folds together make them equal."""

    def equal_without(left_out: str | None) -> bool:
        one, other = expected, actual
        for kind in _ALL_FOLDS:
            if kind != left_out:
                one, other = _FOLDS[kind](one), _FOLDS[kind](other)
        return test(one, other)

    if not equal_without(None):
        return "value"
    return next((kind for kind in _NAMED_FIRST if not equal_without(kind)), "unicode")


def _without_space(text: str) -> str:
    return "".join(text.split())


def _plain_forms(text: str) -> str:
    """Compatibility forms made plain, accents and invisible characters left out."""
    if text.isascii():
        return text
    taken_apart = unicodedata.normalize("NFKD", text)
    return "".join(char for char in taken_apart if unicodedata.category(char) not in ("Mn", "Cf"))


def _without_punctuation(text: str) -> str:
    """Typographic variants made plain; then punctuation left out, but not before a digit (-5, 1.5), nor a percent sign.

    A text of nothing but punctuation stays: "?" is not "!".
    """
    text = text.translate(_VARIANTS)
    if not any(char.isalnum() for char in text):
        return text
    text = _ASCII_PUNCTUATION.sub("", text)
    if text.isascii():
        return text
    followed = zip(text, text[1:] + " ", strict=True)
    return "".join(
        char for char, after in followed if char.isascii() or after.isdigit() or unicodedata.category(char)[0] != "P"
    )


_ASCII_PUNCTUATION = re.compile(r"""[!"#&'()*,\-./:;?@\[\\\]_{}](?!\d)""")
_FOLDS: dict[str, Callable[[str], str]] = {
    "whitespace": _without_space,
    "unicode": _plain_forms,
    "case": str.casefold,
    "punctuation": _without_punctuation,
}
_ALL_FOLDS = ("unicode", "case", "punctuation", "whitespace")  # white space last: it tells a "5, 6" from a "5,6"
_QUICK = ("whitespace", "case")  # the folds that take no time worth naming, however long a text is
_NAMED_FIRST = ("case", "whitespace", "unicode", "punctuation")


def _is_json_text_of(expected: str, actual: str) -> bool:
    if not actual.startswith('"'):
        return False
    try:
        return bool(read(actual) == expected)
    except JsonTextError:
        return False


def _size(number: Any) -> Decimal:
    return _DECIMAL.create_decimal(number).copy_abs()


def _close(expected: Any, actual: Any, size: Decimal, rel: Any, absolute: Any) -> bool:
    distance = _DECIMAL.subtract(_DECIMAL.create_decimal(expected), _DECIMAL.create_decimal(actual)).copy_abs()
    allowed = max(_DECIMAL.multiply(size, _DECIMAL.create_decimal(rel)), _DECIMAL.create_decimal(absolute))
    return not distance.is_nan() and distance <= allowed
