"""Results frames that are larger than a machine: counted run by run where dask holds them.

A partition of `load_history(engine="dask")` holds whole runs. Where a frame was cut otherwise, its rows are brought
together by run first, so that no case is ever counted in halves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .shared_cases import common_cases, presence, rows_of, together
from .tallies import counted_rows

if TYPE_CHECKING:
    import pandas as pd


def per_run(results: Any, count: Callable[..., pd.DataFrame], *given: Any) -> pd.DataFrame:
    """What `count(partition, *given)` gives over all partitions: rows that each belong to one run."""
    parts = _counted(results, count, *given)
    if not _each_run_once(parts):
        parts = _counted(_by_run(results), count, *given)
    return _together(parts)


def keep_shared(results: Any) -> Any:
    """The rows of cases that stand in every run of their dataset (see `shared_cases.shared_rows`)."""
    parts = _counted(results, _presence)
    if not _each_run_once([runs for runs, _ in parts]):
        results = _by_run(results)
        parts = _counted(results, _presence)
    shared = common_cases(together([held for _, held in parts if len(held)] or [parts[0][1]]))
    return results.map_partitions(_only, shared, meta=results._meta)


def _counted(results: Any, count: Callable[..., Any], *given: Any) -> list[Any]:
    from dask.base import compute
    from dask.delayed import delayed

    tasks = [delayed(count)(part, *given) for part in results.to_delayed()]
    return list(compute(*tasks))  # type: ignore[no-untyped-call]


def _by_run(results: Any) -> Any:
    return results.shuffle("run_id")


def _each_run_once(parts: list[pd.DataFrame]) -> bool:
    runs = [run for part in parts for run in part["run_id"].unique()]
    return len(runs) == len(set(runs))


def _together(parts: list[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def _presence(part: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The runs of a partition, and in how many of them each case stands: no row per run and case leaves a worker."""
    rows = counted_rows(part, [])
    return rows[["run_id"]].drop_duplicates(), presence(rows)


def _only(part: pd.DataFrame, shared: pd.DataFrame) -> pd.DataFrame:
    kept = rows_of(counted_rows(part, []), shared)
    return part.iloc[kept.index]
