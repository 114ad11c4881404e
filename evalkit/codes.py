"""Rows of results as codes: per column a number for each row, which stands for one of the column's distinct values.

Counting and grouping need to know which rows are alike, not what they say: words are compared once per distinct value,
and grouping millions of rows is arithmetic on numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .jsontext import JsonTextError, read

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    Codes = NDArray[np.int64]
    Floats = NDArray[np.float64]

_DENSE = 4  # possible codes per row up to which a table of all of them costs less than hashing


class Coded(NamedTuple):
    """One column: a code per row, and the value of each code (distinct; a missing value is one)."""

    codes: Codes
    values: pd.Series[Any]

    def at(self, rows: Codes) -> pd.Series[Any]:
        """The values of these rows."""
        return self.values.take(self.codes[rows]).reset_index(drop=True)


@dataclass(frozen=True)
class CodedRows:
    """Rows of results. `passed` and `score` are NaN where a trial was not scored or has no score.

    `cases`: each row is known to be a case of its own within its run (and tag); no column need say which.
    """

    columns: Mapping[str, Coded]
    passed: Floats
    score: Floats
    cases: bool = False

    def __len__(self) -> int:
        return len(self.passed)

    def only(self, rows: Any, names: Iterable[str] | None = None) -> CodedRows:
        """Some of the rows, by place or by a mask; with `names` these columns alone."""
        kept = self.columns if names is None else dict.fromkeys(names)
        columns = {name: Coded(self.columns[name].codes[rows], self.columns[name].values) for name in kept}
        return CodedRows(columns, self.passed[rows], self.score[rows], self.cases)

    def having(self, name: str, column: Coded) -> CodedRows:
        """The same rows with another column of that name."""
        return CodedRows({**self.columns, name: column}, self.passed, self.score, self.cases)


def coded(rows: pd.DataFrame, names: Iterable[str]) -> CodedRows:
    """The rows of a conforming frame with these columns."""
    import numpy as np

    numbers = [
        rows[name].to_numpy("float64", na_value=np.nan) if name in rows else np.full(len(rows), np.nan)
        for name in ("passed", "score")
    ]
    return CodedRows({name: distinct(rows[name]) for name in dict.fromkeys(names)}, numbers[0], numbers[1])


def distinct(values: pd.Series[Any]) -> Coded:
    """A column's codes and values."""
    import pandas as pd

    codes, found = pd.factorize(values, use_na_sentinel=False)
    return Coded(codes, pd.Series(found))


def recoded(codes: Codes, values: pd.Series[Any]) -> Coded:
    """A column of codes whose values may be alike."""
    places, found = distinct(values)
    return Coded(codes, values) if len(found) == len(values) else Coded(places[codes], found)


def grouped(rows: CodedRows, names: Sequence[str]) -> tuple[Codes, Codes]:
    """Rows that are alike in all these columns: a code per row, and the first row of each group."""
    import numpy as np

    start = np.zeros(len(rows), dtype="int64")
    if not names:
        return start, np.zeros(min(1, len(rows)), dtype="int64")
    return refined(start, 1, rows, names)


def refined(codes: Codes, groups: int, rows: CodedRows, names: Sequence[str]) -> tuple[Codes, Codes]:
    """Groups split further by columns, as `grouped`."""
    first = codes
    for name in names:
        more, values = rows.columns[name]
        codes, first = compact(codes * max(1, len(values)) + more, groups * max(1, len(values)))
        groups = len(first)
    return codes, first


def compact(codes: Codes, bound: int) -> tuple[Codes, Codes]:
    """Codes below `bound` without gaps, and the first row of each."""
    import numpy as np
    import pandas as pd

    rows = len(codes)
    if bound > _DENSE * rows + 1000:
        codes, values = pd.factorize(codes)
        bound = len(values)
    first = np.full(bound, rows, dtype="int64")
    first[codes[::-1]] = np.arange(rows - 1, -1, -1)  # of several rows with one code the last one written stays
    there = np.flatnonzero(first < rows)
    if len(there) == bound:
        return codes, first
    place = np.empty(bound, dtype="int64")
    place[there] = np.arange(len(there))
    return place[codes], first[there]


def are_unlike(rows: CodedRows, names: Sequence[str]) -> bool:
    """Whether no two rows are alike in all these columns."""
    import numpy as np

    columns = [rows.columns[name] for name in names]
    bound = math.prod(len(values) for _, values in columns)
    if not len(rows) or bound > _DENSE * len(rows) + 1000:
        return len(grouped(rows, names)[1]) == len(rows)
    together = np.zeros(len(rows), dtype="int64")
    for codes, values in columns:
        together = together * len(values) + codes if len(values) > 1 else together
    return int(np.bincount(together).max()) == 1


def one_per_tag(rows: CodedRows) -> CodedRows:
    """Each row once for each of its tags, NA where it has none."""
    import numpy as np
    import pandas as pd

    column = rows.columns["tags"]
    lists = [tags_in(text) for text in column.values]
    tags = distinct(pd.Series([tag for some in lists for tag in some], dtype="str"))
    sizes = np.fromiter(map(len, lists), dtype="int64", count=len(lists))
    begins = np.cumsum(sizes) - sizes  # where the tags of each text begin
    times = sizes[column.codes]
    own = np.repeat(np.arange(len(rows)), times)
    nth = np.arange(len(own)) - np.repeat(np.cumsum(times) - times, times)
    return rows.only(own).having("tags", Coded(tags.codes[begins[column.codes][own] + nth], tags.values))


def tags_in(text: Any) -> list[str | None]:
    """The tags that a value of the column `tags` names, each once; [None] where there are none."""
    try:
        found = read(text) if isinstance(text, str) else []
    except JsonTextError:
        found = [text]  # another tool's plain word
    return list(dict.fromkeys(str(tag) for tag in found)) if isinstance(found, list) and found else [None]
