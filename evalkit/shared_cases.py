"""The cases that every run holds: the only ones over which rates of several runs are a trend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .codes import CodedRows, coded, grouped, refined

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from .codes import Codes

CASE = ("dataset", "case_id", "case_hash")


def shared_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of cases that stand, with the same content (`case_hash`), in every run of their dataset.

    A case that ended in an error stands in the run all the same: it is among the errors of its rate.
    """
    return rows_of(rows, common_cases(presence(rows)))


def presence(rows: pd.DataFrame) -> pd.DataFrame:
    """In how many runs each case stands: one row per dataset, case and content; `of` counts the dataset's runs."""
    return coded_presence(coded(rows, (*CASE, "run_id")))[0]


def coded_presence(rows: CodedRows) -> tuple[pd.DataFrame, Codes]:
    """What `presence` gives, and for each row the place of its case in it."""
    import numpy as np
    import pandas as pd

    case, case_first = grouped(rows, CASE)
    _, pair_first = refined(case, len(case_first), rows, ["run_id"])
    home = rows.columns["dataset"].codes
    _, listed_first = grouped(rows, ["dataset", "run_id"])
    texts = {name: rows.columns[name].at(case_first) for name in CASE}
    runs = np.bincount(case[pair_first], minlength=len(case_first))
    of = np.bincount(home[listed_first])[home[case_first]] if len(rows) else runs
    return pd.DataFrame({**texts, "runs": runs, "of": of}), case


def together(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The `presence` of all parts, from that of each; they have no run in common."""
    import pandas as pd

    of = pd.concat([part[["dataset", "of"]].drop_duplicates() for part in parts])
    of = of.groupby("dataset", dropna=False)["of"].sum().reset_index()
    runs = pd.concat(parts).groupby(list(CASE), dropna=False, sort=False)["runs"].sum().reset_index()
    return runs.merge(of, on="dataset")


def common_cases(held: pd.DataFrame) -> pd.DataFrame:
    """The cases that stand in every run of their dataset, from their `presence`."""
    return held.loc[held["runs"] == held["of"], list(CASE)]


def rows_of(rows: pd.DataFrame, cases: pd.DataFrame) -> pd.DataFrame:
    """The rows whose case is one of `cases`."""
    held, case = coded_presence(coded(rows, (*CASE, "run_id")))
    return rows[are_among(held, cases)[case]]


def are_among(held: pd.DataFrame, cases: pd.DataFrame) -> NDArray[np.bool_]:
    """Which of the cases that are `held` are among `cases`."""
    found = held[list(CASE)].merge(cases.assign(_there=True), on=list(CASE), how="left")
    among: NDArray[np.bool_] = found["_there"].notna().to_numpy()
    return among
