"""A run's results as text for other programs: CSV that a spreadsheet opens safely, JSON, JSON Lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .jsontext import JsonTextError, read, write

if TYPE_CHECKING:
    import pandas as pd

_NESTED = (
    "tags",
    "secondary_tools",
    "expected_arguments",
    "actual_arguments",
    "tool_calls",
    "flags",
    "mismatches",
    "reviews",
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def results_text(results: pd.DataFrame, form: str) -> str:
    """The results as text in the form "csv", "json" (a list of objects) or "jsonl".

    In JSON, columns that hold JSON text become the values themselves and NA becomes null. In CSV every text cell that
    a spreadsheet would take for a formula gets an apostrophe in front; numbers are untouched. Whoever needs the text
    itself reads the Parquet file.
    """
    if form == "csv":
        text: str = safe_cells(results).to_csv(index=False)
        return text
    lines = [write(record) for record in _records(results)]
    return "[\n" + ",\n".join(lines) + "\n]\n" if form == "json" else "".join(f"{line}\n" for line in lines)


def safe_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with text cells that a spreadsheet would take for a formula made harmless."""
    texts = {name: _harmless(frame[name]) for name in frame.columns if frame[name].dtype in ("str", object)}
    return frame.assign(**texts)


def _harmless(column: pd.Series[Any]) -> pd.Series[Any]:
    return column.map(lambda value: f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value)


def _records(results: pd.DataFrame) -> list[dict[str, Any]]:
    times = {"started_at": results["started_at"].map(lambda time: time.isoformat(), na_action="ignore")}
    plain = results.assign(**times).astype(object)
    records: list[dict[str, Any]] = plain.where(plain.notna(), None).to_dict("records")
    for record in records:
        for name in _NESTED:
            record[name] = _value(record.get(name))
    return records


def _value(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return read(text, unique_keys=False)
    except JsonTextError:  # text of another tool's making
        return text
