"""The rows of many runs, only the columns that are wanted, some hundred thousand rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from . import store
from .errors import SchemaError
from .runs import Problem, StoredRun
from .schema import NAMES, REQUIRED, conform

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

ROWS_AT_ONCE = 250_000
_REPEATED = (
    *store.RUN_COLUMNS, "case_id", "case_hash", "kind", "expected_tool", "actual_tool", "cluster", "tags", "outcome",
)  # fmt: skip


def frames_of(
    runs: Sequence[StoredRun], columns: Sequence[str] | None, problems: list[Problem], *, rows: int = ROWS_AT_ONCE
) -> Iterator[pd.DataFrame]:
    """The results of `runs` in their order, whole runs together, about `rows` rows a frame, without index.

    `columns`: these and the key and verdict; None: all, columns that only some files have included. Runs without rows
    give none. A run whose rows cannot be read is left out and added to `problems`.
    """
    import pyarrow as pa

    unreadable = (SchemaError, pa.ArrowException, OSError, LookupError)
    for group in groups_of(runs, rows):
        if len(group) > 1:
            try:
                yield _together(group, columns)
                continue
            except unreadable:
                pass  # one of them is to blame: they are read one by one
        for run in group:
            try:
                frame = one_run(run, columns)
            except unreadable as error:
                path = run.path or run.journal
                what_to_do = getattr(error, "what_to_do", "") or store.RESTORE
                problems.append(Problem(path, f"its rows cannot be read: {error}", what_to_do))  # type: ignore[arg-type]
                continue
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


def one_run(run: StoredRun, columns: Sequence[str] | None) -> pd.DataFrame:
    """The results of one run, whatever the version of its file."""
    if run.journal is not None or run.path is None:
        frame = store.frame_of({**run.description, "status": "partial"}, run.rows())
    elif columns is None:
        return store.read_run(run.path)
    else:
        frame = store.read_run(run.path, columns=_named(columns))
    return frame if columns is None else conform(frame[_named(columns)], columns=columns)


def _together(runs: Sequence[StoredRun], columns: Sequence[str] | None) -> pd.DataFrame:
    """The results of several files in one go, which is several times faster than file by file."""
    import pyarrow.dataset as ds
    from pyarrow.fs import LocalFileSystem

    schema = _schema(runs, columns)
    text = [name for name in schema.names if name in _REPEATED and name != "started_at"]
    reading = ds.ParquetFileFormat(read_options=ds.ParquetReadOptions(dictionary_columns=text))
    files = ds.FileSystemDataset.from_paths(
        [str(run.path) for run in runs], schema=schema, format=reading, filesystem=LocalFileSystem()
    )
    return store.to_frame(files.to_table(), columns=columns)


def _schema(runs: Sequence[StoredRun], columns: Sequence[str] | None) -> pa.Schema:
    """The columns to read: of today's schema, and of files that hold others also those."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    known = store.arrow_schema()
    if columns is not None:
        return pa.schema([known.field(name) for name in _named(columns)])
    others: dict[str, Any] = {}
    for run in runs:
        held = pq.read_schema(run.path)
        others |= {name: held.field(name).type for name in held.names if name not in known.names}
    return pa.schema([*known, *(pa.field(name, kind) for name, kind in others.items())])


def _named(columns: Sequence[str]) -> list[str]:
    return [name for name in NAMES if name in (*REQUIRED, *columns)]
