"""Frames as files that go into a spreadsheet, a merge request or a page: safe to open, same frame, same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .exports import safe_cells
from .given import words
from .masking import printable, unlinked
from .nearmiss import did_you_mean
from .paths import check_file_name, results_part, write_whole
from .schema import needs_frame

if TYPE_CHECKING:
    import pandas as pd

ENDINGS = {"csv": ".csv", "markdown": ".md", "html": ".html"}
# What Markdown or the HTML inside it would take for markup. A line break becomes a space: cells have one line.
_MARKUP = {ord(mark): f"\\{mark}" for mark in "\\`*_{}[]()#+!|~$^@"} | {
    ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;",
    **dict.fromkeys(map(ord, "\r\n\t\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " "),
}  # fmt: skip


def export_table(
    frame: pd.DataFrame,
    name: str,
    *,
    formats: Sequence[str] = ("csv", "markdown", "html"),
    folder: str | Path | None = None,
    bom: bool = False,
    index: bool | None = None,
) -> tuple[Path, ...]:
    """The paths of the table's files, one per format: "csv", "markdown" (`.md`) and "html" (a `<table>`), in UTF-8.

    In CSV, text that a spreadsheet would take for a formula gets an apostrophe in front, numbers are never touched, and
    `bom=True` puts the mark in front that some spreadsheets need to read UTF-8. In Markdown and HTML all text is
    escaped. The index is written where it has a name, or as `index` says. Files are written to `folder` (the project's
    `results/tables/`), over those of the same name.

    Raises ValueError for an unknown format and for a name that is no plain file name.
    """
    needs_frame(frame, "a frame to write")
    check_file_name(name, "a table's name")
    formats = tuple(words("formats", formats))
    for form in formats:
        if form not in ENDINGS:
            raise ValueError(f"unknown format {form!r}: {', '.join(ENDINGS)}.{did_you_mean(str(form), ENDINGS)}")
    into = Path(folder).expanduser() if folder is not None else results_part("tables")
    into.mkdir(parents=True, exist_ok=True)
    named = any(level is not None for level in frame.index.names)
    table = _flat(frame, with_index=named if index is None else index)
    paths = []
    for form in formats:
        paths.append(into / f"{name.removesuffix(ENDINGS[form])}{ENDINGS[form]}")
        write_whole(paths[-1], table_text(table, form).encode("utf-8-sig" if bom and form == "csv" else "utf-8"))
    return tuple(paths)


def table_text(frame: pd.DataFrame, form: str) -> str:
    """The columns of a frame as text in the form "csv", "markdown" or "html"."""
    if form == "csv":
        return _csv(frame)
    if form == "markdown":
        return _markdown(frame)
    import pandas as pd

    shown = frame.map(lambda value: printable(value, lines=True) if isinstance(value, str) else value)
    with pd.option_context("display.html.use_mathjax", False):  # a $ in a text begins no formula
        return str(shown.rename(columns=printable).to_html(index=False, escape=True, border=0, na_rep="")) + "\n"


def _flat(frame: pd.DataFrame, *, with_index: bool) -> pd.DataFrame:
    """The frame with its index as columns, or without it; names of several levels in one."""
    table = frame.reset_index() if with_index else frame.reset_index(drop=True)
    names = [
        " ".join(str(part) for part in name if part != "") if isinstance(name, tuple) else str(name) for name in table
    ]
    return table.set_axis(names, axis=1)


def _csv(frame: pd.DataFrame) -> str:
    import pandas as pd

    kinds = {place: "object" for place, kind in enumerate(frame.dtypes) if isinstance(kind, pd.CategoricalDtype)}
    numbered = frame.set_axis(range(frame.shape[1]), axis=1).astype(kinds)
    safe = safe_cells(numbered.rename(columns=str))
    header: list[str] = safe_cells(pd.DataFrame({"name": list(frame.columns)}, dtype="str"))["name"].tolist()
    return str(safe.to_csv(index=False, header=header, lineterminator="\n"))


def _markdown(frame: pd.DataFrame) -> str:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    numbers = [is_numeric_dtype(kind) and not is_bool_dtype(kind) for kind in frame.dtypes]
    lines = ["| " + " | ".join(_cell(name) for name in frame.columns) + " |"]
    lines.append("| " + " | ".join("---:" if number else "---" for number in numbers) + " |")
    for row in frame.itertuples(index=False, name=None):
        lines.append("| " + " | ".join(_cell(value) for value in row) + " |")
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    import pandas as pd

    if pd.api.types.is_scalar(value) and pd.isna(value):
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return unlinked(printable(str(value).translate(_MARKUP).strip()))
