"""The accuracy of a whole history, without holding the history: from footers, or some runs at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import SchemaError, SettingsError
from .nearmiss import did_you_mean
from .reading import frames_of
from .runs import Problem, StoredRun, instant, warn_of
from .schema import NAMES, TIME
from .selection import Moment, Wanted, Words
from .shared_cases import CASE, common_cases, presence, rows_of
from .tallies import (
    ALL,
    CARRIED,
    COUNTED,
    FINAL_ANSWER,
    by_run,
    counted_rows,
    group_sums,
    sums_frame,
    tool_sums,
    with_rates,
)

if TYPE_CHECKING:
    import pandas as pd


def history_accuracy(
    by: str | Sequence[str] = "expected_tool",
    *,
    since: Moment | None = None,
    until: Moment | None = None,
    dataset: Words | None = None,
    model: Words | None = None,
    runs: Words | None = None,
    cases: str = "all",
    results_dir: str | Path | None = None,
    all_scorings: bool = False,
) -> pd.DataFrame:
    """The accuracy of each run of a history: one row per run and value of `by`.

    By `expected_tool` this is `tool_accuracy(load_history(…))`, with its columns and its row `(all)`; by other columns
    (`tags`, `kind`, …) `accuracy(load_history(…), by=["run_id", …])`. The runs are chosen as by `load_history`. Memory
    does not grow with the history: over all cases the accuracy per tool stands in the files' footers; else the needed
    columns are read some runs at a time.

    Raises SettingsError and SchemaError as `load_history` and `tool_accuracy`.
    """
    keys = ["run_id", *dict.fromkeys([by] if isinstance(by, str) else by)]
    _check(keys, cases)
    chosen, folder = Wanted(since, until, dataset, model, runs, all_scorings).choose(results_dir)
    chosen = [run for run in chosen if run.trials]
    if cases == "all" and keys == ["run_id", "expected_tool"]:
        sums = sums_frame(_footer_sums(chosen), keys)
    else:
        problems: list[Problem] = []
        sums = _read_sums(chosen, keys, cases == "shared", problems)
        warn_of(problems, folder, stacklevel=3)
    frame = by_run(with_rates(sums, keys), _facts(chosen), keys)
    frame.attrs["cases"] = cases  # which charts name
    return frame


def _check(keys: Sequence[str], cases: str) -> None:
    for key in keys:
        if key not in NAMES:
            raise SchemaError(f"no column {key!r} to count by.{did_you_mean(key, NAMES)} ek.columns() lists them.")
    if cases not in ("all", "shared"):
        hint = did_you_mean(str(cases), ("all", "shared"))
        raise SettingsError(f"cases must be 'all' or 'shared', got {cases!r}.{hint}")


def _footer_sums(runs: Sequence[StoredRun]) -> Iterator[dict[str, object]]:
    for run in runs:
        counts = run.description["counts"]
        for tool in counts["by_tool"]:
            yield {"run_id": run.run_id, **tool, "expected_tool": tool["expected_tool"] or FINAL_ANSWER}
        yield {"run_id": run.run_id, **counts, "expected_tool": ALL}


def _read_sums(runs: Sequence[StoredRun], keys: list[str], shared: bool, problems: list[Problem]) -> pd.DataFrame:
    import pandas as pd

    everywhere = None
    if shared:
        held = [presence(frame) for frame in frames_of(runs, CASE, problems)]
        everywhere = common_cases(held) if held else None
        left_out = {problem.path for problem in problems}
        runs = [run for run in runs if (run.path or run.journal) not in left_out]
    sums = []
    for frame in frames_of(runs, [*COUNTED, *keys], problems):
        kept = frame if everywhere is None else rows_of(frame, everywhere)
        rows = counted_rows(kept, keys)
        sums.append(tool_sums(rows, keys) if keys == ["run_id", "expected_tool"] else group_sums(rows, keys))
    return pd.concat(sums, ignore_index=True) if sums else sums_frame([], keys)


def _facts(runs: Sequence[StoredRun]) -> pd.DataFrame:
    """What the descriptions say of the runs: one row per run."""
    import pandas as pd

    names = ["run_id", *CARRIED]
    rows = [
        {
            **{name: run.description.get(name) for name in names},
            "started_at": instant(run.description.get("started_at")),
        }
        for run in runs
    ]
    frame = pd.DataFrame(rows, columns=names)
    frame["started_at"] = pd.to_datetime(frame["started_at"], utc=True).astype(TIME)
    return frame.astype({name: "str" for name in names if name != "started_at"})
