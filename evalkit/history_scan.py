"""The accuracy of a whole history, without holding the history: from footers, or some runs at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from .coded_reading import coded_rows_of, has_one_trial_a_case
from .codes import CodedRows, one_per_tag
from .counts import LATER
from .errors import SchemaError
from .nearmiss import did_you_mean
from .runs import Problem, StoredRun, instant, warn_of
from .schema import NAMES, TIME
from .selection import Moment, Wanted, Words
from .shared_cases import CASE, are_among, coded_presence, common_cases, together
from .tallies import (
    ALL,
    CARRIED,
    FINAL_ANSWER,
    SUMS,
    are_shared,
    by_run,
    coded_sums,
    coded_tool_sums,
    counted_by,
    grouping,
    sums_frame,
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
    keys, shared = list(dict.fromkeys(["run_id", *grouping(by)])), are_shared(cases)
    for key in keys:
        if key not in NAMES:
            raise SchemaError(f"no column {key!r} to count by.{did_you_mean(key, NAMES)} ek.columns() lists them.")
    chosen, folder = Wanted(since, until, dataset, model, runs, all_scorings).choose(results_dir)
    chosen = [run for run in chosen if run.trials]
    problems: list[Problem] = []
    if not shared and keys == ["run_id", "expected_tool"]:
        sums = _tool_sums(chosen, keys, problems)
    else:
        sums = (_shared_sums if shared else _sums_of)(chosen, keys, problems)
    warn_of(problems, folder, stacklevel=3)
    frame = by_run(with_rates(sums, keys), _facts(chosen), keys)
    frame.attrs["cases"] = cases  # which charts name
    return frame


def _tool_sums(runs: Sequence[StoredRun], keys: list[str], problems: list[Problem]) -> pd.DataFrame:
    """The sums of each tool from the footers; of runs whose footers lack some of today's sums, from their rows."""
    import pandas as pd

    whole = [run for run in runs if run.description["counts"].keys() >= LATER]
    older = [run for run in runs if not run.description["counts"].keys() >= LATER]
    return pd.concat([sums_frame(_footer_sums(whole), keys), _sums_of(older, keys, problems)], ignore_index=True)


def _footer_sums(runs: Sequence[StoredRun]) -> Iterator[tuple[object, ...]]:
    sums = itemgetter(*SUMS)
    for run in runs:
        counts = run.description["counts"]
        for tool in counts["by_tool"]:
            yield run.run_id, tool["expected_tool"] or FINAL_ANSWER, *sums(tool)
        yield run.run_id, ALL, *sums(counts)


def _sums_of(runs: Sequence[StoredRun], keys: list[str], problems: list[Problem]) -> pd.DataFrame:
    """The sums of all runs from their rows. Those that hold one trial of each case are read apart: it takes less."""
    import pandas as pd

    columns = [*keys, *counted_by(keys)]
    rows_count = not {"case_id", "trial"} & set(keys)
    plain = [run for run in runs if rows_count and has_one_trial_a_case(run)]
    others = [run for run in runs if not (rows_count and has_one_trial_a_case(run))]
    sums = [_sums(rows, keys) for rows in coded_rows_of(plain, columns, problems, one_trial=True)]
    sums += [_sums(rows, keys) for rows in coded_rows_of(others, columns, problems)]
    return pd.concat(sums, ignore_index=True) if sums else sums_frame([], keys)


def _shared_sums(runs: Sequence[StoredRun], keys: list[str], problems: list[Problem]) -> pd.DataFrame:
    """The sums over the cases that stand in every run.

    Which these are is known at the end only. Until then those count that are shared so far; what was counted with more
    than are left at the end is read and counted again, which is rare: most runs hold the same cases.
    """
    import pandas as pd

    by_id = {run.run_id: run for run in runs}
    columns = [*keys, *counted_by(keys), *CASE]
    counted: list[tuple[pd.DataFrame, pd.DataFrame, list[StoredRun]]] = []
    so_far: pd.DataFrame | None = None
    for rows in coded_rows_of(runs, columns, problems):
        presence, case = coded_presence(rows)
        so_far = presence if so_far is None else together([so_far, presence])
        among = are_among(presence, common_cases(so_far))
        some = [by_id[run] for run in rows.columns["run_id"].values]
        counted.append((_sums(rows.only(among[case]), keys), presence[among], some))
    if so_far is None:
        return sums_frame([], keys)
    everywhere = common_cases(so_far)
    still = [bool(are_among(kept, everywhere).all()) for _, kept, _ in counted]
    again = [run for (_, _, some), holds in zip(counted, still, strict=True) if not holds for run in some]
    sums = [one for (one, _, _), holds in zip(counted, still, strict=True) if holds]
    for rows in coded_rows_of(again, columns, problems):
        presence, case = coded_presence(rows)
        sums.append(_sums(rows.only(are_among(presence, everywhere)[case]), keys))
    return pd.concat(sums, ignore_index=True)


def _sums(rows: CodedRows, keys: list[str]) -> pd.DataFrame:
    rows = rows.only(slice(None), [name for name in dict.fromkeys((*counted_by(keys), *keys)) if name in rows.columns])
    tagged = one_per_tag(rows) if "tags" in keys else rows
    return coded_tool_sums(tagged, keys) if keys == ["run_id", "expected_tool"] else coded_sums(tagged, keys)


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
