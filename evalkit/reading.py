"""The rows of many runs, only the columns that are wanted, some hundred thousand rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from . import store
from .errors import SchemaError
from .runs import Problem, StoredRun
from .schema import NAMES, REQUIRED

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

Made = TypeVar("Made")
ROWS_AT_ONCE = 250_000
_RUN_TEXT = tuple(name for name in store.RUN_COLUMNS if name != "started_at")
_REPEATED = (*_RUN_TEXT, "case_id", "case_hash", "kind", "expected_tool", "actual_tool", "cluster", "tags", "outcome")


class Part(NamedTuple):
    """What was read of one run: a table, and columns that hold one value in all its rows."""

    run: StoredRun
    table: pa.Table
    known: dict[str, Any]


def frames_of(
    runs: Sequence[StoredRun], columns: Sequence[str] | None, problems: list[Problem], *, rows: int = ROWS_AT_ONCE
) -> Iterator[pd.DataFrame]:
    """The results of `runs` in their order, whole runs together, about `rows` rows a frame.

    `columns`: these and the key and verdict; None: all, columns that only some files have included. Runs without rows
    give none. A run whose rows cannot be read is left out and added to `problems`.
    """
    read = None if columns is None else named(columns)
    return made_of(runs, read, problems, lambda parts: frame_of_parts(parts, columns), rows)


def made_of(
    runs: Sequence[StoredRun],
    columns: Sequence[str] | None,
    problems: list[Problem],
    make: Callable[[list[Part]], Made],
    rows: int,
) -> Iterator[Made]:
    """What `make` makes of the parts of some runs at a time, see `frames_of`; only `columns` are read, if given."""
    import pyarrow as pa

    unreadable = (SchemaError, pa.ArrowException, OSError, LookupError)

    def leave_out(run: StoredRun, error: BaseException) -> None:
        path = run.path or run.journal
        what_to_do = getattr(error, "what_to_do", "") or store.RESTORE
        problems.append(Problem(path, f"its rows cannot be read: {error}", what_to_do))  # type: ignore[arg-type]

    for group in groups_of(runs, rows):
        parts: list[Part] = []
        for run in group:
            try:
                parts.append(part_of(run, columns))
            except unreadable as error:
                leave_out(run, error)
        try:
            if parts:
                yield make(parts)
        except unreadable:  # one of them is to blame
            for part in parts:
                try:
                    made = make([part])
                except unreadable as error:
                    leave_out(part.run, error)
                else:
                    yield made


def groups_of(runs: Sequence[StoredRun], rows: int = ROWS_AT_ONCE) -> Iterator[list[StoredRun]]:
    """Runs that are read together: those in files, up to about `rows` rows; a journal by itself."""
    group: list[StoredRun] = []
    held = 0
    for run in runs:
        if run.trials == 0:
            continue
        alone = run.journal is not None
        if group and (alone or held + run.trials > rows):
            yield group
            group, held = [], 0
        if alone:
            yield [run]
            continue
        group.append(run)
        held += run.trials
    if group:
        yield group


def one_run(run: StoredRun) -> pd.DataFrame:
    """The results of one run, whatever the version of its file."""
    if run.path is not None and run.journal is None:
        return store.read_run(run.path)
    try:
        return store.frame_of(_unfinished(run), run.rows())
    except FileNotFoundError:
        return one_run(run.ended())


def _unfinished(run: StoredRun) -> dict[str, Any]:
    """The description of a run in a journal, as its rows hold it."""
    return {**run.description, "status": "partial", "started_at": run.started_at}


def frame_of_parts(parts: Sequence[Part], columns: Sequence[str] | None) -> pd.DataFrame:
    """The results frame of several runs."""
    import pyarrow as pa

    tables = []
    for _, table, known in parts:
        for name, value in known.items():
            table = table.append_column(name, throughout(name, value, len(table)))
        tables.append(table)
    return store.to_frame(pa.concat_tables(tables, promote_options="permissive"), columns=columns)


def throughout(name: str, value: Any, rows: int) -> pa.Array:
    """A column that holds one value in all rows."""
    import pyarrow as pa

    kind = store.arrow_schema().field(name).type
    if kind != pa.string():
        return pa.repeat(pa.scalar(value, kind), rows)
    codes = pa.repeat(pa.scalar(None if value is None else 0, pa.int32()), rows)
    return pa.DictionaryArray.from_arrays(codes, pa.array([value], kind))


def part_of(run: StoredRun, columns: Sequence[str] | None) -> Part:
    """The wanted columns of one run as far as its file holds them.

    One thread and one file after another cost least processor time. Text is kept once per file and word, and what the
    footer says of the whole run is not read again from each row.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if run.journal is not None or run.path is None:
        try:
            table = store.table_of(_unfinished(run), run.rows())
        except FileNotFoundError:
            if run.journal is None:
                raise
            return part_of(run.ended(), columns)
        return Part(run, table if columns is None else table.select(columns), {})
    repeated = [name for name in _REPEATED if columns is None or name in columns]
    with pa.OSFile(str(run.path)) as source:
        try:
            file = pq.ParquetFile(source, read_dictionary=repeated)
        except LookupError:  # a column that the file does not have
            source.seek(0)
            held = pq.read_schema(source).names
            source.seek(0)
            file = pq.ParquetFile(source, read_dictionary=[name for name in repeated if name in held])
        known = _known(run, file.metadata, columns)
        rows = [name for name in columns or file.metadata.schema.names if name not in known]
        return Part(run, file.read(columns=rows, use_threads=False), known)


def _known(run: StoredRun, metadata: pq.FileMetaData, wanted: Sequence[str] | None) -> dict[str, Any]:
    """The columns that hold one value in all rows, as the footer says, so that they need not be read."""
    held = metadata.schema.names
    if wanted is None:
        known = {name: run.description.get(name) for name in _RUN_TEXT if name not in held}
    else:
        known = {name: run.description[name] for name in wanted if name in _RUN_TEXT and name in run.description}
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        for name, nothing in (("cluster", True), ("trial", False)):
            if name in wanted and name in held:
                place = held.index(name)
                found = [group.column(place).statistics for group in groups]
                known |= _constant(name, found, metadata.num_rows, nothing=nothing)
    if "started_at" not in held and (wanted is None or "started_at" in wanted):
        known["started_at"] = run.started_at
    return known


def _constant(name: str, found: Sequence[Any], rows: int, *, nothing: bool) -> dict[str, Any]:
    """The one value of a column by the statistics of its groups of rows; of text only whether all is missing."""
    if not found or not all(one is not None and one.has_null_count for one in found):
        return {}
    missing = sum(one.null_count for one in found)
    if missing == rows:
        return {name: None}
    if nothing or missing or not all(one.has_min_max for one in found):
        return {}
    values = [value for one in found for value in (one.min, one.max)]
    return {name: values[0]} if type(values[0]) is int and values.count(values[0]) == len(values) else {}


def named(columns: Sequence[str]) -> list[str]:
    """The columns of a frame with these, in order: the key and the verdict are always there."""
    return [name for name in NAMES if name in (*REQUIRED, *columns)]
