"""One finished or stopped run on disk: a Parquet file whose footer describes the run.

The footer holds two entries: the run's description (small: settings, counts, fingerprints; a picker over thousands of
runs reads nothing else) and the dataset as it was run, compressed, so that a run can be scored again when its dataset
file has moved on. Files are written aside, synced and renamed: a reader sees a whole file or none.
"""

from __future__ import annotations

import json
import os
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .counts import RunCounts
from .descriptions import fault_of
from .errors import SchemaError
from .footers import footer_entry
from .jsontext import read_again, write
from .schema import COLUMNS, NAMES, SCHEMA_VERSION, TIME, conform

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

SUFFIX = ".parquet"
RESTORE = "restore it from a copy, or delete it"
DESCRIPTION_KEY = b"evalkit"
DATASET_KEY = b"evalkit_dataset"
ROWS_PER_GROUP = 100_000
BYTES_PER_GROUP = 64 * 2**20
ROWS_PER_PART = 1000
BYTES_PER_PART = 4 * 2**20
LARGEST_DATASET = 512 * 2**20  # bytes of JSON: a few kilobytes of a foreign file could unpack to any size
RUN_COLUMNS = tuple(column.name for column in COLUMNS if column.level == "run")
_WIDE = ("input", "expected", "error", "reason", "answer", "reasoning", "tool_calls", "mismatches", "reviews")
_FILE_ORDER = tuple(name for name in NAMES if name not in _WIDE) + _WIDE


def save_run(
    path: Path, description: Mapping[str, Any], dataset: Mapping[str, Any] | None, rows: Iterable[Mapping[str, Any]]
) -> Path:
    """Write one run and return its path.

    `rows` are the case, trial and verdict values of each trial, all trials of a case after one another; the run's
    values come from `description`, to which the counts are added. Memory stays flat in the number of rows.

    Raises OSError (a full disk, a read-only folder); nothing is left half written then.
    """
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    counts = RunCounts()
    run_values = {name: description.get(name) for name in RUN_COLUMNS}
    try:
        aside.unlink(missing_ok=True)
        with open(aside, "xb") as file, pq.ParquetWriter(file, arrow_schema(), compression="zstd") as writer:
            for group in _groups(counts.counting(rows), run_values):
                writer.write_table(group, row_group_size=len(group))
            whole = {"schema_version": SCHEMA_VERSION, **description, "counts": counts.finish()}
            footer = {DESCRIPTION_KEY: write(whole).encode()}
            if dataset is not None:
                footer[DATASET_KEY] = b64encode(zlib.compress(write(dataset).encode(), 6))
            writer.add_key_value_metadata(footer)
            writer.close()
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
    _sync_folder(path.parent)
    return path


def read_run(path: Path) -> pd.DataFrame:
    """The results frame of one run: one row per case and trial.

    Raises SchemaError where the file is not a run's or of a newer version, FileNotFoundError where there is none.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    read_footer(path)
    try:
        table = pq.read_table(path, partitioning=None)  # a folder called `model=x` above it is no column
    except (pa.ArrowException, OSError) as error:
        raise SchemaError(f"{path.name} cannot be read as Parquet: {error}", what_to_do=RESTORE) from None
    return to_frame(table)


def frame_of(description: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """The results frame of a run that is not on disk; the same as writing it and reading it back."""
    return to_frame(table_of(description, rows))


def table_of(description: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """The same as `frame_of`, before it is a frame."""
    import pyarrow as pa

    run_values = {name: description.get(name) for name in RUN_COLUMNS}
    tables = list(_groups(rows, run_values))
    return pa.concat_tables(tables) if tables else arrow_schema().empty_table()


def read_footer(path: Path) -> dict[str, Any]:
    """The description of the run in a file, from its footer alone.

    Raises SchemaError where the file is not a run's, is truncated, or was written by a newer version.
    """
    try:
        text = footer_entry(path, DESCRIPTION_KEY)
        if text is not None:
            return _described(path, text)
    except (SchemaError, OSError):
        pass  # said below, in the words of a parser that has read all of it
    return _described(path, _metadata(path).get(DESCRIPTION_KEY))


def read_dataset(path: Path) -> dict[str, Any] | None:
    """The dataset as it was run, as a mapping; None where the file holds none. Errors as `read_footer`."""
    stored = _metadata(path).get(DATASET_KEY)
    if stored is None:
        return None
    try:
        unpacking = zlib.decompressobj()
        text = unpacking.decompress(b64decode(stored), LARGEST_DATASET)
        if not unpacking.eof:
            raise ValueError(f"it is cut off, or larger than {LARGEST_DATASET // 2**20} MB")
        dataset: dict[str, Any] = read_again(text)
    except (zlib.error, ValueError, RecursionError) as error:
        raise SchemaError(f"{path.name} holds a dataset that cannot be read: {error}") from None
    return dataset


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """The case, trial and verdict values of each row in a file, as `save_run` took them."""
    import pyarrow.parquet as pq

    names = [name for name in NAMES if name not in RUN_COLUMNS]
    with pq.ParquetFile(path) as file:
        held = [name for name in names if name in file.schema_arrow.names]
        for batch in file.iter_batches(batch_size=200, columns=held):  # rows may hold megabytes each
            for row in batch.to_pylist():
                yield {name: row.get(name) for name in names}


def to_frame(table: pa.Table, *, columns: Iterable[str] | None = None) -> pd.DataFrame:
    """A results frame from an Arrow table with (some of) its columns; with `columns` only these and the key."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    text = pd.StringDtype(na_value=np.nan)
    types = {pa.string(): text, pa.large_string(): text, pa.bool_(): pd.BooleanDtype(), pa.int64(): pd.Int64Dtype()}
    plain = [
        pa.field(field.name, pa.large_string()) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    whole = table.cast(pa.schema(plain))
    return conform(whole.to_pandas(types_mapper=types.get, ignore_metadata=True), columns=columns)


@cache
def arrow_schema() -> pa.Schema:
    """The columns of a run's file: those of the results frame, the widest last."""
    import pyarrow as pa

    types = {
        "str": pa.string(), "int64": pa.int64(), "Int64": pa.int64(), "float64": pa.float64(), "boolean": pa.bool_(),
        TIME: pa.timestamp("us", tz="UTC"),
    }  # fmt: skip
    by_name = {column.name: column for column in COLUMNS}
    return pa.schema([pa.field(name, types[by_name[name].dtype]) for name in _FILE_ORDER])


def _groups(rows: Iterable[Mapping[str, Any]], run_values: Mapping[str, Any]) -> Iterator[pa.Table]:
    """The rows as tables that fit in memory, one for each row group; few rows at a time are Python's objects, which
    take ten times the room. Whole cases are not kept together, which no reader needs.
    """
    import pyarrow as pa

    group: list[pa.Table] = []
    for part in _parts(rows):
        group.append(_table(part, run_values))
        if sum(map(len, group)) >= ROWS_PER_GROUP or sum(table.nbytes for table in group) >= BYTES_PER_GROUP:
            yield pa.concat_tables(group)
            group = []
    if group:
        yield pa.concat_tables(group)


def _parts(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    part: list[Mapping[str, Any]] = []
    size = 0
    for row in rows:
        part.append(row)
        size += sum(len(row.get(name) or "") for name in _WIDE)
        if len(part) >= ROWS_PER_PART or size >= BYTES_PER_PART:
            yield part
            part, size = [], 0
    if part:
        yield part


def _table(rows: Sequence[Mapping[str, Any]], run_values: Mapping[str, Any]) -> pa.Table:
    import pyarrow as pa

    arrays = []
    for column in arrow_schema():
        if column.name in run_values:
            value = run_values[column.name]
            if column.name == "started_at" and isinstance(value, str):
                value = datetime.fromisoformat(value)
            arrays.append(pa.repeat(pa.scalar(value, type=column.type), len(rows)))
        else:
            arrays.append(pa.array([row.get(column.name) for row in rows], type=column.type))
    return pa.Table.from_arrays(arrays, schema=arrow_schema())


def _metadata(path: Path) -> dict[bytes, bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_metadata(path).metadata or {}
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise SchemaError(f"{path.name} is not a whole Parquet file: {error}", what_to_do=RESTORE) from None


def _described(path: Path, text: bytes | None) -> dict[str, Any]:
    try:
        description: dict[str, Any] = json.loads(text or b"")
        version = int(description["schema_version"])
        if not isinstance(description["run_id"], str):
            raise TypeError("a run id is text")
    except (KeyError, ValueError, TypeError):
        raise SchemaError(
            f"{path.name} is a Parquet file, but not an evalkit run: its footer describes none",
            what_to_do="move it out of the results folder",
        ) from None
    fault = fault_of(description)
    if fault is not None and version <= SCHEMA_VERSION:
        raise SchemaError(f"{path.name} {fault}", what_to_do=RESTORE)
    if version > SCHEMA_VERSION:
        raise SchemaError(
            f"{path.name} was written by a newer evalkit (file version {version}, this one reads up to "
            f"{SCHEMA_VERSION}): update evalkit to read it",
            what_to_do="update evalkit",
        )
    return description


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":  # Windows has no handle for a folder
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
