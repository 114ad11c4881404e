"""What changed from each run to the next of its dataset and model: why a chart over time breaks off."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import SchemaError
from .paths import results_dir as find_results_dir
from .run_differences import RunAbout, run_differences, stored_by_id
from .schema import needs_frame
from .tallies import FINGERPRINTS

if TYPE_CHECKING:
    import pandas as pd

GROUP = ("dataset", "model")
NEEDED = ("run_id", *GROUP, "started_at", *FINGERPRINTS)
COLUMNS = ("started_at", *GROUP, "run_id", "label", "previous", "what", "before", "after", "diff")


def run_changes(runs: pd.DataFrame, *, results_dir: str | Path | None = None) -> pd.DataFrame:
    """What was changed from one run to the next of its dataset and model: one row per run and thing, in order of start.

    `runs` is any frame with a run's values: of `ek.list_runs`, `ek.tool_accuracy`, or results. Only runs whose
    fingerprints differ from those of the run before them are there: where `ek.plot.accuracy_over_time` breaks off.

    Columns: `started_at`, `dataset`, `model`, `run_id` and `label` of the later run, `previous` (the earlier run's id),
    `what`, `before`, `after`, and `diff` (changed lines of a prompt or a tool's definition). What the runs' files in
    `results_dir` do not tell is named by its fingerprint.

    Raises SchemaError where a column is missing.
    """
    import pandas as pd

    needs_frame(runs, "a frame of runs")
    results_dir = find_results_dir(results_dir)
    missing = [name for name in NEEDED if name not in runs.columns]
    if missing:
        raise SchemaError(f"the frame has no column {', '.join(map(repr, missing))}: ek.list_runs() gives one that has")
    kept = [name for name in (*NEEDED, "label") if name in runs.columns]
    each = runs[kept].drop_duplicates("run_id").sort_values(["started_at", "run_id"], kind="stable")
    rows = [row for _, group in each.groupby(list(GROUP), dropna=False) for row in _rows(group, results_dir)]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    text = frame.astype(dict.fromkeys(COLUMNS[1:], "str"))
    text["started_at"] = pd.to_datetime(text["started_at"], utc=True).astype("datetime64[us, UTC]")
    return text.sort_values("started_at", kind="stable", ignore_index=True)


def _rows(group: pd.DataFrame, results_dir: str | Path | None) -> Iterator[dict[str, Any]]:
    runs = group.astype(object).where(group.notna(), None).to_dict("records")
    for earlier, later in pairwise(runs):
        if all(earlier[name] == later[name] for name in FINGERPRINTS):
            continue
        differences = run_differences(_about(earlier, results_dir), _about(later, results_dir))
        for found in differences.to_dict("records"):
            yield {
                **{name: later.get(name) for name in ("started_at", *GROUP, "run_id", "label")},
                "previous": earlier["run_id"],
                "what": found["what"],
                "before": found["baseline"],
                "after": found["candidate"],
                "diff": found["diff"],
            }


def _about(run: dict[str, Any], results_dir: str | Path | None) -> RunAbout:
    return RunAbout(run["run_id"], run, stored_by_id(run["run_id"], results_dir))
