"""Regular expressions that people write, in bounds: compiling cannot fill the memory, matching ends in time.

The `regex` package unrolls what a pattern repeats (`(?:a{9999}){9999}` takes gigabytes before it meets any
text), so what a pattern unrolls to is counted before it is compiled. Matching that goes back for ever,
as `^(a+)+$` does, is stopped after `TIMEOUT_S`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from . import limits

TIMEOUT_S = 1.0  # for one pattern on one text
LONGEST = 10_000  # characters of a pattern
LARGEST = 10_000  # parts that a pattern unrolls to; up to here compiling stays below about 100 MB and 0.3 s

_PART = re.compile(
    r"""(?P<one>\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[^()\\\[*+?{])|(?P<open>\()|(?P<close>\))
      |(?P<times>\{(?P<least>[0-9]*)(?:(?P<range>,)(?P<most>[0-9]*))?\}|[*+?])|(?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)


class SlowPattern(limits.TooCostly):
    """A pattern that was not done with a text in time."""


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Any:
    """The pattern, compiled. Raises ValueError, with a sentence, for one that is broken or unrolls too far."""
    import regex

    if len(pattern) > LONGEST:
        raise ValueError(f"it has {len(pattern)} characters; up to {LONGEST} are taken")
    if unrolled(pattern) > LARGEST:
        raise ValueError(f"its repetitions unroll to more than {LARGEST} parts. Repeat fewer times, or use * or +")
    try:
        return regex.compile(pattern)
    except regex.error as error:
        place = "" if error.pos is None else f" at character {error.pos + 1}"
        raise ValueError(f"{error.msg}{place}") from None
    except RecursionError:
        raise ValueError("its groups are nested too deeply") from None
    except (OverflowError, ValueError) as error:
        raise ValueError(f"it cannot be compiled: {error}") from None


def found(pattern: str, text: str, *, search: bool = False) -> bool:
    """Whether the whole text matches, or with `search` any part of it. Raises SlowPattern where that takes too long."""
    ready = compiled(pattern)
    seconds = min(TIMEOUT_S, limits.left())
    try:
        return bool((ready.search if search else ready.fullmatch)(text, timeout=seconds))
    except TimeoutError:
        raise SlowPattern(
            f"the pattern {pattern!r} was not done with a text of {len(text)} characters after {seconds:.3g} s. "
            "Nested repetitions such as (a+)+ are the usual cause"
        ) from None


def unrolled(pattern: str) -> int:
    """About how many parts the pattern has once its counted repetitions are written out."""
    sizes, last, is_group = [0], 0, False  # one size per open group; the part that a repetition would repeat
    for part in _PART.finditer(pattern):
        if part["open"]:
            sizes.append(0)
            last = 0
        elif part["close"] and len(sizes) > 1:
            last, is_group = sizes.pop() + 1, True
            sizes[-1] += last
        elif part["times"]:
            more = last * _copies(part, is_group) - last
            sizes[-1], last, is_group = sizes[-1] + more, last + more, True
        else:
            last, is_group = 1, False
            sizes[-1] += 1
    return sum(sizes)


def _copies(part: re.Match[str], is_group: bool) -> int:
    """How often what stands before a repetition is written out: x{3} three times, (x){3,} and (x)+ once more."""
    if part["times"] in "*?":
        return 1
    digits = "1" if part["times"] == "+" else part["least"] or "0"
    least = int(digits) if len(digits) < 9 else LARGEST + 1
    unbounded = part["times"] == "+" or (part["range"] is not None and part["most"] != part["least"])
    return max(least + (unbounded and is_group and least > 0), 1)
