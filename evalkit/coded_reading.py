"""The rows of many runs as codes: from the dictionaries that Parquet keeps of words straight to numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .codes import Coded, CodedRows, are_unlike, coded, distinct, recoded
from .reading import ROWS_AT_ONCE, Part, frame_of_parts, made_of, throughout
from .runs import Problem, StoredRun
from .schema import COLUMNS, KEY

_TEXT = frozenset(column.name for column in COLUMNS if column.dtype == "str")
_NUMBERS = ("passed", "score")


def coded_rows_of(runs: Sequence[StoredRun], columns: Sequence[str], problems: list[Problem]) -> Iterator[CodedRows]:
    """The rows of `runs` with these columns, whole runs together, as `reading.frames_of` gives frames.

    What is not laid out as this version writes it goes through a frame that conforms, and comes out the same.
    """
    names = list(dict.fromkeys((*KEY, *columns)))
    wanted = [*names, *_NUMBERS]

    def make(parts: list[Part]) -> CodedRows:
        straight = _straight(parts, names)
        return coded(frame_of_parts(parts, wanted), names) if straight is None else straight

    return made_of(runs, wanted, problems, make, ROWS_AT_ONCE)


def _straight(parts: Sequence[Part], names: Sequence[str]) -> CodedRows | None:
    """The rows of tables that are all of today's types and repeat no key; None of others."""
    import pyarrow as pa

    if not all(_is_todays(part, names) for part in parts):
        return None
    numbers = [
        pa.chunked_array([chunk for part in parts for chunk in part.table[name].chunks], kind)
        for name, kind in zip(_NUMBERS, (pa.bool_(), pa.float64()), strict=True)
    ]
    columns = {name: _coded(parts, name) for name in names}
    rows = CodedRows(columns, *(values.cast(pa.float64()).to_numpy() for values in numbers))
    return rows if are_unlike(rows, KEY) else None


def _is_todays(part: Part, names: Sequence[str]) -> bool:
    """Whether a column stands once, of the type that is written today, wherever it was read."""
    import pyarrow as pa

    text = (pa.dictionary(pa.int32(), pa.string()), pa.string())
    allowed = dict.fromkeys(names, text) | {"trial": (pa.int64(),), "passed": (pa.bool_(),), "score": (pa.float64(),)}
    for name, types in allowed.items():
        if name in part.known:
            value = part.known[name]
            if not (name == "trial" or (name in _TEXT and (value is None or isinstance(value, str)))):
                return False
            continue
        place = part.table.schema.get_field_index(name)
        if place < 0 or part.table.schema.field(place).type not in types:
            return False
        if name == "trial" and part.table.column(place).null_count:
            return False
    return all(name in _TEXT or name == "trial" for name in names)


def _coded(parts: Sequence[Part], name: str) -> Coded:
    """One column of all parts."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    dtype = "str" if name in _TEXT else "int64"
    if all(name in part.known for part in parts):
        values = pd.Series([part.known[name] for part in parts], dtype=dtype)
        return recoded(np.repeat(np.arange(len(parts)), [len(part.table) for part in parts]), values)
    chunks = [chunk for part in parts for chunk in _chunks(part, name)]
    if dtype == "int64":
        return distinct(pd.Series(np.concatenate([chunk.to_numpy() for chunk in chunks])))
    whole = pa.chunked_array(chunks).unify_dictionaries()
    words = whole.chunk(0).dictionary.to_pylist()
    if whole.null_count:
        places = [chunk.indices.fill_null(len(words)) for chunk in whole.chunks]
        words = [*words, None]
    else:
        places = [chunk.indices for chunk in whole.chunks]
    codes = np.concatenate([place.to_numpy() for place in places])
    return recoded(codes, pd.Series(words, dtype="str"))


def _chunks(part: Part, name: str) -> list[Any]:
    """The column of one part, text as codes and words."""
    import pyarrow as pa

    if name in part.known:
        return [throughout(name, part.known[name], len(part.table))]
    column = part.table[name]
    return (column.dictionary_encode() if column.type == pa.string() else column).chunks  # type: ignore[no-any-return]
