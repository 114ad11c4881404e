"""What a reviewer's parameter may be: one check per kind of value.

A check takes the value and returns None, or the rest of a sentence that begins with the parameter's name:
"must be true or false, got 'yes'".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from . import jsontext

Check = Callable[[Any], str | None]
_LONGEST = 60  # characters of a value that a message shows


def shown(value: Any) -> str:
    """A value as a message shows it: JSON where it has such a form, cut where it is long."""
    try:
        text = str(value) if isinstance(value, Decimal) else jsontext.write(value)
    except (TypeError, ValueError, RecursionError):
        text = f"{type(value).__name__} {value!r}" if value is not None else "null"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"


def anything(value: Any) -> str | None:
    """None: any value will do."""
    return None


def flag(value: Any) -> str | None:
    """None for true and false."""
    return None if isinstance(value, bool) else f"must be true or false, got {shown(value)}"


def text(value: Any) -> str | None:
    """None for text, empty text too."""
    if isinstance(value, str):
        return None
    hint = "" if number(value) else "; put quotation marks around it"
    return f"must be text, got {shown(value)}{hint}"


def some_text(value: Any) -> str | None:
    """None for text with something in it besides white space."""
    if not isinstance(value, str):
        return text(value)
    return None if value.strip() else f"must not be blank, got {shown(value)}"


def number(value: Any) -> str | None:
    """None for a finite number; a boolean is none."""
    if isinstance(value, Decimal):
        finite = value.is_finite()
    else:
        finite = not isinstance(value, bool) and (isinstance(value, int) or _is_finite_float(value))
    return None if finite else f"must be a number, got {shown(value)}"


def _is_finite_float(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def whole_number(value: Any) -> str | None:
    """None for an integer; a boolean is none."""
    return None if isinstance(value, int) and not isinstance(value, bool) else f"must be an integer, got {shown(value)}"


def not_negative(value: Any) -> str | None:
    """None for a finite number from 0 up."""
    return number(value) or (None if value >= 0 else f"must be 0 or more, got {shown(value)}")


def threshold_check(value: Any) -> str | None:
    """None for a number from 0 to 1."""
    return number(value) or (None if 0 <= value <= 1 else f"must be from 0 to 1, got {shown(value)}")


_OF_ANNOTATION: Mapping[Any, Check] = {bool: flag, str: text, int: whole_number, float: number}


def check_for(annotation: Any) -> Check:
    """The check that a function's annotation asks for; `anything` unless it is a plain bool, str, int or float."""
    try:
        return _OF_ANNOTATION.get(annotation, anything)
    except TypeError:  # an annotation that cannot be hashed
        return anything
