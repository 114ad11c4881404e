"""A run's results as text for other programs: CSV that a spreadsheet opens safely, JSON, JSON Lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .jsontext import JsonTextError, read, write
from .masking import printable

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
# What a spreadsheet computes, also behind blanks, which some take off, and in the wide letters of East Asian keyboards.
_FORMULA = re.compile(r"[\s\u200b\u2060]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
_OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def results_text(results: pd.DataFrame, form: str) -> str:
    """The results as text in the form "csv", "json" (a list of objects) or "jsonl".

    In JSON, columns that hold JSON text become the values themselves and NA becomes null. In CSV every text cell that
    a spreadsheet would take for a formula gets an apostrophe in front, and what a terminal would obey (control
    characters, marks of direction) is written as a visible escape, in JSON as JSON's own; numbers are untouched.
    Whoever needs the text itself reads the Parquet file, or JSON.
    """
    if form == "csv":
        text: str = safe_cells(results).to_csv(index=False)
        return text
    lines = [_OBEYED.sub(_escape, write(record)) for record in _records(results)]
    return "[\n" + ",\n".join(lines) + "\n]\n" if form == "json" else "".join(f"{line}\n" for line in lines)


def safe_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with text cells that a spreadsheet would compute, or a terminal obey, made harmless."""
    texts = {name: _harmless(frame[name]) for name in frame.columns if frame[name].dtype in ("str", object)}
    return frame.assign(**texts)


def _harmless(column: pd.Series[Any]) -> pd.Series[Any]:
    return column.map(lambda value: _harmless_text(value) if isinstance(value, str) else value)


def _harmless_text(text: str) -> str:
    shown = printable(text.replace("\r\n", "\n"), lines=True)
    return f"'{shown}" if _FORMULA.match(text) else shown


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found.group()):04x}"  # within JSON these stand in texts only


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
