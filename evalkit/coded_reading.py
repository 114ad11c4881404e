"""The rows of many runs as codes: from the dictionaries that Parquet keeps of words straight to numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .codes import Coded, CodedRows, are_unlike, coded, distinct, recoded
from .reading import ROWS_AT_ONCE, Part, frame_of_parts, made_of, named, part_of, throughout
from .runs import Problem, StoredRun
from .schema import COLUMNS, KEY

if TYPE_CHECKING:
    import pyarrow as pa

_TEXT = frozenset(column.name for column in COLUMNS if column.dtype == "str")
_NUMBERS = ("passed", "score")


def has_one_trial_a_case(run: StoredRun) -> bool:
    """Whether the footer of a run's file counts as many cases as trials."""
    return run.path is not None and run.journal is None and run.description["counts"]["cases"] == run.trials


def coded_rows_of(
    runs: Sequence[StoredRun], columns: Sequence[str], problems: list[Problem], *, one_trial: bool = False
) -> Iterator[CodedRows]:
    """The rows of `runs` with these columns, whole runs together, as `reading.frames_of` gives frames.

    With `one_trial` the runs must have one trial a case: the case and the trial are not read then, as each row is a
    case of its own. What is not laid out as this version writes it goes through a frame that conforms, and comes out
    the same.
    """
    whole = list(dict.fromkeys((*KEY, *columns)))
    names = [name for name in whole if name not in ("case_id", "trial")] if one_trial else whole
    read = named([*whole, *_NUMBERS])

    def make(parts: list[Part]) -> CodedRows:
        straight = _straight(parts, names)
        if straight is not None:
            return straight
        read_whole = [part_of(part.run, read) for part in parts] if one_trial else parts
        return coded(frame_of_parts(read_whole, read), whole)

    return made_of(runs, [*names, *_NUMBERS], problems, make, ROWS_AT_ONCE)


def _straight(parts: Sequence[Part], names: Sequence[str]) -> CodedRows | None:
    """The rows of tables that are all of today's types and repeat no key; None of others."""
    import pyarrow as pa

    everywhere = set.intersection(*(set(part.known) for part in parts))
    if not all(_are_todays(part.known) for part in parts):
        return None
    try:
        whole = pa.concat_tables([_with_known(part, everywhere) for part in parts])
    except pa.ArrowInvalid:  # columns of other names, types or in another order
        return None
    if not _is_todays(whole.schema, [name for name in names if name not in everywhere]):
        return None
    if "trial" in names and "trial" not in everywhere and whole["trial"].null_count:
        return None
    columns = {name: _of_runs(parts, name) if name in everywhere else _of_rows(whole[name]) for name in names}
    passed, score = (whole[name].cast(pa.float64()).to_numpy() for name in _NUMBERS)
    if "case_id" not in names:
        as_counted = all(len(part.table) == part.run.trials for part in parts)
        return CodedRows(columns, passed, score, cases=True) if as_counted else None
    rows = CodedRows(columns, passed, score)
    return rows if are_unlike(rows, KEY) else None


def _with_known(part: Part, everywhere: set[str]) -> pa.Table:
    """The rows of one part; with what holds in all of them as columns, unless it is known of every part."""
    table = part.table
    for name in sorted(part.known.keys() - everywhere):
        table = table.append_column(name, throughout(name, part.known[name], len(table)))
    return table.select(sorted(table.schema.names)) if len(part.known) > len(everywhere) else table


def _are_todays(known: Mapping[str, Any]) -> bool:
    return all(
        name == "trial" or (name in _TEXT and (value is None or isinstance(value, str)))
        for name, value in known.items()
    )


def _is_todays(schema: pa.Schema, names: Sequence[str]) -> bool:
    """Whether each column stands once, of the type that is written today."""
    import pyarrow as pa

    text = (pa.dictionary(pa.int32(), pa.string()), pa.string())
    allowed = {name: text for name in names if name in _TEXT} | {"passed": (pa.bool_(),), "score": (pa.float64(),)}
    if "trial" in names:
        allowed["trial"] = (pa.int64(),)
    places = {name: schema.get_field_index(name) for name in (*names, *_NUMBERS)}
    return all(name in allowed and at >= 0 and schema.field(at).type in allowed[name] for name, at in places.items())


def _of_runs(parts: Sequence[Part], name: str) -> Coded:
    """A column of which one value is known of each part."""
    import numpy as np
    import pandas as pd

    values = pd.Series([part.known[name] for part in parts], dtype="str" if name in _TEXT else "int64")
    return recoded(np.repeat(np.arange(len(parts)), [len(part.table) for part in parts]), values)


def _of_rows(column: pa.ChunkedArray) -> Coded:
    """A column that was read."""
    import pandas as pd
    import pyarrow as pa

    if column.type == pa.int64():
        return distinct(pd.Series(column.to_numpy()))
    column = column.dictionary_encode() if column.type == pa.string() else column.unify_dictionaries()
    if not column.num_chunks:
        return distinct(pd.Series([], dtype="str"))
    words = column.chunk(0).dictionary.to_pylist()
    places = pa.chunked_array([chunk.indices for chunk in column.chunks])
    if places.null_count:
        places, words = places.fill_null(len(words)), [*words, None]
    return recoded(places.to_numpy(), pd.Series(words, dtype="str"))
