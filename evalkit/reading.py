"""The rows of many runs, only the columns that are wanted, some hundred thousand rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from . import store
from .errors import SchemaError
from .runs import Problem, StoredRun
from .schema import NAMES, REQUIRED

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

ROWS_AT_ONCE = 250_000
_RUN_TEXT = tuple(name for name in store.RUN_COLUMNS if name != "started_at")
_REPEATED = (*_RUN_TEXT, "case_id", "case_hash", "kind", "expected_tool", "actual_tool", "cluster", "tags", "outcome")


def frames_of(
    runs: Sequence[StoredRun], columns: Sequence[str] | None, problems: list[Problem], *, rows: int = ROWS_AT_ONCE
) -> Iterator[pd.DataFrame]:
    """The results of `runs` in their order, whole runs together, about `rows` rows a frame.

    `columns`: these and the key and verdict; None: all, columns that only some files have included. Runs without rows
    give none. A run whose rows cannot be read is left out and added to `problems`.
    """
    import pyarrow as pa

    unreadable = (SchemaError, pa.ArrowException, OSError, LookupError)

    def leave_out(run: StoredRun, error: BaseException) -> None:
        path = run.path or run.journal
        what_to_do = getattr(error, "what_to_do", "") or store.RESTORE
        problems.append(Problem(path, f"its rows cannot be read: {error}", what_to_do))  # type: ignore[arg-type]

    for group in groups_of(runs, rows):
        tables: list[tuple[StoredRun, pa.Table]] = []
        for run in group:
            try:
                tables.append((run, _table(run, columns)))
            except unreadable as error:
                leave_out(run, error)
        try:
            if tables:
                yield _frame([table for _, table in tables], columns)
        except unreadable:  # one of them is to blame
            for run, table in tables:
                try:
                    frame = _frame([table], columns)
                except unreadable as error:
                    leave_out(run, error)
                else:
                    yield frame


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
    return store.frame_of({**run.description, "status": "partial"}, run.rows())


def _table(run: StoredRun, columns: Sequence[str] | None) -> pa.Table:
    """The wanted columns of one run as far as its file holds them.

    One thread and one file after another cost least processor time. Text is kept once per file and word, and what the
    footer says of the whole run is not read again from each row.
    """
    import pyarrow.parquet as pq

    if run.journal is not None or run.path is None:
        table = store.table_of({**run.description, "status": "partial"}, run.rows())
        return table if columns is None else table.select(_named(columns))
    metadata = pq.read_metadata(run.path)
    held = metadata.schema.names
    repeated = [name for name in _REPEATED if name in held]
    if columns is None:
        rows = held
        known = [name for name in store.RUN_COLUMNS if name not in held]
    else:
        wanted = _named(columns)
        known = [name for name in wanted if name in _RUN_TEXT and name in run.description]
        rows = [name for name in wanted if name in held and name not in known]
        known += [name for name in wanted if name == "started_at" and name not in held]
    with pq.ParquetFile(run.path, metadata=metadata, read_dictionary=repeated) as file:
        table = file.read(columns=rows, use_threads=False)
    for name in known:
        value = run.started_at if name == "started_at" else run.description.get(name)
        table = table.append_column(name, _throughout(name, value, len(table)))
    return table


def _throughout(name: str, value: Any, rows: int) -> pa.Array:
    """A column that holds one value in all rows."""
    import pyarrow as pa

    kind = store.arrow_schema().field(name).type
    codes = pa.repeat(pa.scalar(None if value is None else 0, pa.int32()), rows)
    whole = pa.DictionaryArray.from_arrays(codes, pa.array([value], kind))
    return whole if kind == pa.string() else whole.cast(kind)


def _frame(tables: Sequence[pa.Table], columns: Sequence[str] | None) -> pd.DataFrame:
    import pyarrow as pa

    return store.to_frame(pa.concat_tables(tables, promote_options="permissive"), columns=columns)


def _named(columns: Sequence[str]) -> list[str]:
    return [name for name in NAMES if name in (*REQUIRED, *columns)]
