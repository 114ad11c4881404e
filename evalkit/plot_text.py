"""Names out of data as text in a chart: of any length and script, never markup, never a missing glyph.

What no installed font can draw, and what has no shape of its own (control characters, direction marks), is written as
its escape, so that two names never look the same.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any, TypeVar

import matplotlib as mpl
from matplotlib import font_manager
from matplotlib.text import Text

_OTHER_SCRIPTS = (
    "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans JP", "Noto Sans SC", "Source Han Sans", "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei", "Droid Sans Fallback", "IPAGothic", "Hiragino Sans", "PingFang SC", "Yu Gothic",
    "Microsoft YaHei", "Malgun Gothic", "Apple SD Gothic Neo", "Noto Sans Hebrew", "Noto Sans Arabic",
    "Noto Sans Devanagari", "Noto Sans Thai", "Arial Unicode MS", "Segoe UI Symbol",
)  # fmt: skip
_SHAPELESS = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
_GAP = "…"
_BETWEEN_WORDS = " -_/:,;|@"

T = TypeVar("T", bound=Text)


def plain(text: T) -> T:
    """The same text artist, its `$` no longer mathematics and its fonts with fallbacks for other scripts."""
    text.set_parse_math(False)
    text.set_fontfamily(list(families()))
    return text


def families() -> tuple[str, ...]:
    """The font families that charts are written in: the user's, then those installed for other scripts."""
    return (*mpl.rcParams["font.family"], *_installed())


def label(name: object, longest: int = 32) -> str:
    """A name as a chart shows it: at most `longest` letters wide, shortened in the middle."""
    text = str(name)
    whole = [_shown(letter) for letter in (text if len(text) <= longest else text[:longest])]
    if len(text) <= longest and _width(whole) <= longest:
        return "".join(whole)
    head = _fitting(whole, longest - longest // 3 - 1)
    tail = _fitting([_shown(letter) for letter in reversed(text[-longest:])], longest // 3)
    return "".join(head) + _GAP + "".join(reversed(tail))


def labels(names: Iterable[object], longest: int = 32) -> dict[str, str]:
    """Each name and how a chart shows it; no two alike.

    Where shortening makes names equal, they are shortened to where they differ, and numbered if need be.
    """
    every = list(dict.fromkeys(str(name) for name in names))
    found = {name: label(name, longest) for name in every}
    for short in {short for short in found.values() if list(found.values()).count(short) > 1}:
        alike = [name for name in every if found[name] == short]
        found |= {name: label(core, longest) for name, core in zip(alike, _cores(alike), strict=True)}
    seen: dict[str, int] = {}
    for name, short in found.items():
        seen[short] = seen.get(short, 0) + 1
        found[name] = short if seen[short] == 1 else f"{short} ({seen[short]})"
    return found


def _cores(names: list[str]) -> list[str]:
    """The names without what all begin and end with, cut between words."""
    before = _alike(names)
    after = min(_alike([name[::-1] for name in names]), min(map(len, names)) - before)
    while before and names[0][before - 1] not in _BETWEEN_WORDS:
        before -= 1
    while after and names[0][len(names[0]) - after] not in _BETWEEN_WORDS:
        after -= 1
    return [(_GAP if before else "") + name[before : len(name) - after] + (_GAP if after else "") for name in names]


def _alike(names: list[str]) -> int:
    """How many letters the names begin with in common."""
    columns = enumerate(zip(*names, strict=False))
    return next((place for place, letters in columns if len(set(letters)) > 1), min(map(len, names)))


def listed(names: Iterable[object], most: int = 4, longest: int = 40) -> str:
    """Names in a sentence: the first few, and how many more there are."""
    every = [str(name) for name in names]
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(label(name, longest) for name in every[:most]) + more


def _fitting(units: list[str], width: int) -> list[str]:
    kept: list[str] = []
    for unit in units:
        if _width([*kept, unit]) > width:
            break
        kept.append(unit)
    return kept


def _width(units: Iterable[str]) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for unit in units for letter in unit)


def _shown(letter: str) -> str:
    if unicodedata.category(letter) in _SHAPELESS or not _has_glyph(ord(letter), families()):
        return letter.encode("unicode_escape", "surrogatepass").decode("ascii")
    return letter


@lru_cache(maxsize=4096)
def _has_glyph(code: int, wanted: tuple[str, ...]) -> bool:
    return any(_font(family).get_char_index(code) for family in wanted)


@cache
def _font(family: str) -> Any:
    return font_manager.get_font(font_manager.findfont(font_manager.FontProperties(family=[family])))


@cache
def _installed() -> tuple[str, ...]:
    there = set(font_manager.get_font_names())
    return tuple(family for family in _OTHER_SCRIPTS if family in there)
