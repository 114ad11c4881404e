"""Cases out of tables: a CSV text, a DataFrame.

A cell of a list or object column holds JSON (in a frame also a real list or dict), an empty or missing cell is
absent, and everything else is text: ids `007`, `1e3`, `true` and `NA` stay what they are.

Parquet gives every object the keys of all rows, with nulls for its own lack of them, and a null that was meant looks
the same. So in a frame a key whose value is missing is absent at any depth, and an object of nothing else is `{}`.
Missing values also make floats of the integers beside them, so a number without a fraction is an integer.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from . import jsontext
from .errors import DatasetError
from .jsonvalues import is_missing
from .nearmiss import did_you_mean
from .textfiles import Item

if TYPE_CHECKING:
    import pandas as pd

_OBJECT_COLUMNS = ("expected_arguments", "expected_parameters")
JSON_COLUMNS = (*_OBJECT_COLUMNS, "secondary_tools", "reviewers", "tags")
MAYBE_JSON_COLUMNS = ("expected", "input")  # text, unless the cell is a whole JSON object or list
_TEXT_COLUMNS = ("id", "cluster", "expected_tool", "kind", "notes", "calls", "extra_arguments", "text_calls")


def csv_items(text: str, label: str) -> Iterator[Item]:
    """The rows of a CSV text, each the fields of a case, numbered from 1 with the line on which they begin.

    Raises DatasetError where the table itself is broken: its header, its quotes, a row with too many cells.
    """
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] = []
    number = 0
    while True:
        line = rows.line_num + 1
        try:
            cells = next(rows, None)
        except csv.Error as error:
            raise DatasetError(f"{label}, line {line}: the CSV breaks here: {error}") from None
        if cells is None:
            return
        if not any(cell.strip() for cell in cells):
            continue
        if not header:
            header = _header(cells, f"{label}, line {line}")
            continue
        number += 1
        yield _row(header, cells, number, line)


def frame_items(frame: pd.DataFrame) -> Iterator[Item]:
    """The rows of a frame, each the fields of a case, numbered from 1. NaN, None, NA and NaT are absent.

    Raises DatasetError where two columns have one name, and for what is no frame.
    """
    if not hasattr(frame, "columns"):
        raise DatasetError(f"a DataFrame of cases is needed, got {type(frame).__name__}")
    names = [str(name) for name in frame.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DatasetError(f"the frame has two columns called {twice!r}")
    columns = [frame[column].tolist() for column in frame.columns]
    for number, values in enumerate(zip(*columns, strict=True), 1):
        cells = {name: value for name, value in zip(names, values, strict=True) if not _is_empty(value)}
        yield _item(cells, number, 0)


def _header(cells: list[str], where: str) -> list[str]:
    names = [cell.strip() for cell in cells]
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice is not None:
        raise DatasetError(f"{where}: two columns are called {twice!r}")
    if len(names) == 1 and (";" in names[0] or "\t" in names[0]):
        raise DatasetError(f"{where}: the columns are not separated by commas: {names[0]!r}. Save it with commas.")
    return names


def _row(header: list[str], cells: list[str], number: int, line: int) -> Item:
    over = [place for place, cell in enumerate(cells) if cell.strip() and (place >= len(header) or not header[place])]
    if over:
        found = f"cell {over[0] + 1} ({cells[over[0]]!r:.40}) stands under no column"
        return Item(number, line, problem=f"{found}. Quote cells that hold commas.")
    return _item({name: cell for name, cell in zip(header, cells, strict=False) if cell.strip()}, number, line)


def _item(cells: Mapping[str, Any], number: int, line: int) -> Item:
    fields: dict[str, Any] = {}
    problems = []
    for name, cell in cells.items():
        try:
            fields[name] = _value(name, cell)
        except jsontext.JsonTextError as error:
            example = _example(name, cell)
            problems.append(f"`{name}` must be JSON{example}, got {cell!r:.60} ({error.message})")
        except RecursionError:
            problems.append(f"`{name}` is nested without end")
    return Item(number, line, fields, "; ".join(problems) or None)


def _value(name: str, cell: Any) -> Any:
    cell = _present(cell)
    if name in _OBJECT_COLUMNS and isinstance(cell, list) and all(_is_pair(one) for one in cell):
        cell = dict(cell)  # what Parquet makes of a map; it has no keys but its own, so a null in it is meant
    if not isinstance(cell, str):
        return _as_text(cell) if name in _TEXT_COLUMNS else cell
    if name in JSON_COLUMNS:
        return jsontext.read(cell)
    if name in MAYBE_JSON_COLUMNS and cell.lstrip()[:1] in ("{", "["):
        return _object_or_text(name, cell)
    return cell


def _present(value: Any) -> Any:
    """The value in plain lists and dicts, without the keys whose values are missing; in a list those are null."""
    if hasattr(value, "tolist"):  # NumPy's: what Parquet makes of a list
        if getattr(getattr(value, "dtype", None), "kind", "") == "M":
            value = value.astype("datetime64[us]")  # of nanoseconds, integers would become
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key: _present(inner) for key, inner in value.items() if not is_missing(inner)}
    if isinstance(value, list | tuple):
        present = [None if is_missing(inner) else _present(inner) for inner in value]
        return tuple(present) if isinstance(value, tuple) else present
    if isinstance(value, float | Decimal) and -(2**53) < value < 2**53 and value == int(value):
        return int(value)
    return value


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2


def _object_or_text(name: str, cell: str) -> Any:
    try:
        value = jsontext.read(cell)
    except jsontext.JsonTextError:
        return cell
    is_dialogue = isinstance(value, list) and value and all(isinstance(m, dict) and "role" in m for m in value)
    return value if name == "expected" or is_dialogue else cell


def _example(name: str, cell: str) -> str:
    words = [word.strip() for word in cell.split(",") if word.strip()]
    if name in ("expected_arguments", "expected_parameters") or not words or did_you_mean(cell[:1], '[{"'):
        return ""
    return f" such as {jsontext.write(words)}"


def _as_text(value: Any) -> Any:
    """A number in a text column as its digits: pandas makes a number of the id `7`."""
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return str(value) if is_number else value


def _is_empty(cell: Any) -> bool:
    return is_missing(cell) or (isinstance(cell, str) and not cell.strip())
