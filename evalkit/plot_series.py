"""A frame of rates as series: one per dataset, model and tool, cut wherever something changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .plot_style import ALL
from .tallies import FINGERPRINTS

if TYPE_CHECKING:
    import pandas as pd

GROUP = ("dataset", "model")
_FACTS = ("run_id", *GROUP, "label", "status", "started_at", "rescored_from", *FINGERPRINTS)


class Break(NamedTuple):
    """Where a series breaks off: between the runs `before` and `after`, since `changed` are no longer the same."""

    before: Any
    after: Any
    changed: tuple[str, ...]


@dataclass(frozen=True)
class Series:
    """The rates of one tool in one dataset by one model, in order of start; `parts` may each be joined by a line."""

    dataset: str
    model: str
    tool: str
    rows: pd.DataFrame
    breaks: tuple[Break, ...]

    @property
    def key(self) -> tuple[str, str, str]:
        return self.dataset, self.model, self.tool

    def parts(self) -> Iterator[pd.DataFrame]:
        """Runs between which nothing changed and none was without a scored case."""
        scored = self.rows["n"] > 0
        part = self.rows["_stretch"] + (~scored).cumsum() * (1 + self.rows["_stretch"].max())
        for _, rows in self.rows[scored].groupby(part[scored], sort=True):
            yield rows

    def separation(self) -> float:
        """How far the tool moved beyond its intervals: the distance between its highest and lowest; negative: none."""
        scored = self.rows[self.rows["n"] > 0]
        return float(scored["ci_low"].max() - scored["ci_high"].min()) if len(scored) else -2.0


def timed(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The rows with a start, in UTC and in order, and the runs that have none. Times without a zone are UTC."""
    import pandas as pd

    starts = frame["started_at"]
    if isinstance(starts.dtype, pd.DatetimeTZDtype) or starts.dtype.kind == "M":
        starts = pd.to_datetime(starts, utc=True)
    else:
        starts = pd.Series([_instant(value) for value in starts], index=frame.index)
        starts = pd.to_datetime(starts, utc=True)
    frame = frame.assign(started_at=starts.astype("datetime64[us, UTC]"))
    undated = starts.isna()
    runs = frame["run_id"] if "run_id" in frame else frame["started_at"].astype("str")
    dated = frame.assign(run_id=runs.astype("str"))[~undated]
    return dated.sort_values(["started_at", "run_id"], kind="stable"), sorted(set(runs[undated].astype("str")))


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with `_tool`, `_dataset` and `_model` as text: what its rows are rates of.

    `_tool` is the expected tool, or whatever else the frame was grouped by beside its runs (the columns before `n`).
    """
    import pandas as pd

    grouped = [str(name) for name in frame.columns[: list(frame.columns).index("n")]]
    grouped = [name for name in grouped if name not in _FACTS]
    if not grouped and "expected_tool" in frame:
        grouped = ["expected_tool"]
    parts = [frame[name].map(_text).tolist() for name in grouped]
    tools = [" · ".join(words) for words in zip(*parts, strict=True)] if parts else [ALL] * len(frame)
    text = {"_tool": tools} | {f"_{name}": _words(frame, name) for name in GROUP}
    return frame.assign(**{name: pd.Series(words, index=frame.index, dtype=object) for name, words in text.items()})


def series_of(frame: pd.DataFrame) -> list[Series]:
    """The series of a frame that `timed` and `named` gave, by dataset, model and tool, each with `(all)` last."""
    found = []
    for (dataset, model), group in frame.groupby([f"_{name}" for name in GROUP], sort=True):
        breaks, stretches = _breaks(group)
        group = group.assign(_stretch=group["run_id"].map(stretches))
        names = sorted(set(group["_tool"]), key=lambda name: (name == ALL, name))
        for name in names:
            rows = group[group["_tool"] == name]
            found.append(Series(dataset, model, name, rows, breaks))
    return found


def _breaks(group: pd.DataFrame) -> tuple[tuple[Break, ...], dict[str, int]]:
    runs = group.drop_duplicates("run_id")
    prints = [name for name in FINGERPRINTS if name in runs]
    values = runs[prints].astype(object).where(runs[prints].notna(), None).to_numpy().tolist()
    starts, ids = list(runs["started_at"]), list(runs["run_id"])
    breaks: list[Break] = []
    stretches: dict[str, int] = {}
    for place, run_id in enumerate(ids):
        changed = _changed(prints, values[place - 1], values[place]) if place else ()
        if changed:
            breaks.append(Break(starts[place - 1], starts[place], changed))
        stretches[run_id] = len(breaks)
    return tuple(breaks), stretches


def _changed(prints: list[str], before: list[Any], after: list[Any]) -> tuple[str, ...]:
    words = []
    for name, old, new in zip(prints, before, after, strict=True):
        if old != new:
            known = old is not None and new is not None
            words.append(name.removesuffix("_hash") + ("" if known else "?"))
    return tuple(words)


def _words(frame: pd.DataFrame, name: str) -> list[str]:
    return [_text(value) for value in frame[name]] if name in frame else [""] * len(frame)


def _text(value: Any) -> str:
    return "(none given)" if value is None or value != value else str(value)


def _instant(value: Any) -> Any:
    import pandas as pd

    found = pd.to_datetime(value, errors="coerce", utc=True)
    return found if isinstance(found, pd.Timestamp) else pd.NaT
