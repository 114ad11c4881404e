"""The cases that every run holds: the only ones over which rates of several runs are a trend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

CASE = ("dataset", "case_id", "case_hash")


def shared_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of cases that stand, with the same content (`case_hash`), in every run of their dataset.

    A case that ended in an error stands in the run all the same: it is among the errors of its rate.
    """
    return rows_of(rows, common_cases([presence(rows)]))


def presence(rows: pd.DataFrame) -> pd.DataFrame:
    """In how many runs each case stands: one row per dataset, case and content; `of` counts the dataset's runs."""
    pairs = rows[[*CASE, "run_id"]].drop_duplicates()
    runs = pairs.groupby(list(CASE), dropna=False, sort=False).size().rename("runs").reset_index()
    of = pairs[["dataset", "run_id"]].drop_duplicates().groupby("dataset", dropna=False).size().rename("of")
    return runs.merge(of.reset_index(), on="dataset")


def common_cases(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The cases that stand in every run, from the `presence` of parts that have no run in common."""
    import pandas as pd

    of = pd.concat([part[["dataset", "of"]].drop_duplicates() for part in parts])
    of = of.groupby("dataset", dropna=False)["of"].sum().reset_index()
    everywhere = pd.concat(parts).groupby(list(CASE), dropna=False, sort=False)["runs"].sum().reset_index()
    everywhere = everywhere.merge(of, on="dataset")
    return everywhere.loc[everywhere["runs"] == everywhere["of"], list(CASE)]


def rows_of(rows: pd.DataFrame, cases: pd.DataFrame) -> pd.DataFrame:
    """The rows whose case is one of `cases`."""
    found = rows[list(CASE)].merge(cases.assign(_there=True), on=list(CASE), how="left")
    return rows[found["_there"].notna().to_numpy()]
