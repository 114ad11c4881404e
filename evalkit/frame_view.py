"""A frame as a table to be read: whole texts on the left, rates with two decimals, a dash where nothing is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .given import whole
from .html import block, page, table, tag
from .masking import printable
from .schema import NAMES, needs_frame
from .tallies import cluster_note

if TYPE_CHECKING:
    import pandas as pd

LONG = 500  # characters of a text; the rest is folded
NOT_KNOWN = "–"
_OURS = frozenset({"run_id", "case_id", "expected_tool", "actual_tool", "tool_calls", "mismatches"})
COUNTS = frozenset({"passed", "failed", "count", "n_effective"})  # of cases: with trials they need not be whole


class FrameView:
    """What `show` gives: a notebook shows it as a table, anything else as text."""

    def __init__(self, frame: pd.DataFrame, rows: int) -> None:
        self._total = len(frame)
        self._frame = frame.head(rows)

    def _repr_html_(self) -> str:
        frame = self._frame
        if not self._total:
            heads = ", ".join(map(str, frame.columns))
            return str(page(tag("p", f"No rows to show ({heads}).", class_="ek-faint")))
        columns = [_cells(frame.iloc[:, place]) for place in range(frame.shape[1])]
        numbers = [place for place in range(frame.shape[1]) if _is_number(frame.iloc[:, place])]
        shown = table([str(name) for name in frame.columns], zip(*columns, strict=True), numbers=numbers)
        more = f"{len(frame):,} of {self._total:,} rows" if len(frame) < self._total else ""
        notes = (tag("p", words, class_="ek-faint") for words in (more, cluster_note(frame)) if words)
        return str(page(shown, *notes))

    def __repr__(self) -> str:
        return printable("\n".join(filter(None, (repr(self._frame), cluster_note(self._frame)))), lines=True)


def show(frame: pd.DataFrame, *, rows: int = 50) -> FrameView:
    """A view of the first `rows` rows of a frame, for reading: texts whole (long ones fold), on the left; rates
    with two decimals (four where all are small); times to the minute; – where nothing is known. A named
    index becomes columns, any other is left out.
    """
    needs_frame(frame, "a frame")
    whole("rows", rows)
    named = [name for name in frame.index.names if name is not None]
    return FrameView(frame.reset_index(named) if named else frame, rows)


def bare_html(frame: pd.DataFrame) -> str | None:
    """What a notebook shows of any frame that ends a cell, which is pandas' own table.

    A `$` in texts of our frames, which their columns tell, begins no formula.
    """
    import pandas as pd

    some_of_ours = len(frame.columns) > 1 and set(frame.columns) <= set(NAMES)  # one word alone may be anybody's
    if not some_of_ours and not _OURS.intersection((*frame.columns, *frame.index.names)):
        return frame._repr_html_()  # type: ignore[no-any-return]
    with pd.option_context("display.html.use_mathjax", False):
        return frame._repr_html_()  # type: ignore[no-any-return]


def _cells(values: pd.Series[Any]) -> list[Any]:
    import pandas as pd

    known = values.notna().tolist()
    if isinstance(values.dtype, pd.DatetimeTZDtype) or values.dtype.kind == "M":
        texts = [f"{value:%Y-%m-%d %H:%M}" if there else "" for value, there in zip(values, known, strict=True)]
    elif _is_number(values):
        texts = _numbers(values)
    else:
        texts = [str(value) for value in values]
    return [_cell(text) if there else _MISSING for text, there in zip(texts, known, strict=True)]


_MISSING = tag("span", NOT_KNOWN, class_="ek-faint")


def _cell(text: str) -> Any:
    return block(text, LONG) if "\n" in text or len(text) > LONG else text


def _is_number(values: pd.Series[Any]) -> bool:
    return str(values.dtype).lower().startswith(("int", "uint", "float"))


def _numbers(values: pd.Series[Any]) -> list[str]:
    """Integers, and counts that are whole, without decimals; everything else with them, a rate of 1 too."""
    whole = not str(values.dtype).lower().startswith("float")
    numbers = values.astype("float64")
    decimals = 4 if numbers.abs().max() < 0.1 else 2
    counts = whole or str(values.name) in COUNTS
    return ["" if one != one else _number(one, 0 if counts and one % 1 == 0 else decimals) for one in numbers]


def _number(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}"
