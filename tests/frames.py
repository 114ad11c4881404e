"""One builder for the rows and frames that tests are made of."""

from __future__ import annotations

from typing import Any

import pandas as pd

from evalkit.schema import NAMES, conform
from evalkit.store import RUN_COLUMNS


def row(case_id: str = "c1", trial: int = 1, passed: bool | None = True, **values: Any) -> dict[str, Any]:
    """The case, trial and verdict values of one trial; score and outcome follow from `passed` unless given."""
    empty = {name: None for name in NAMES if name not in RUN_COLUMNS}
    scored = passed is not None
    judged = {
        "score": float(passed) if scored else None,
        "outcome": "error" if not scored else "correct" if passed else "wrong_tool",
        "error_kind": None if scored else "timeout",
        "reason": "because",
        "kind": "tool_choice",
        "expected_tool": "list_files",
        "input": "What files are here?",
    }
    return empty | judged | {"case_id": case_id, "trial": trial, "passed": passed} | values


def description(run_id: str = "r1", **values: Any) -> dict[str, Any]:
    """The description of a run."""
    return {
        "run_id": run_id, "dataset": "file_tools", "model": "lexical", "label": None, "status": "complete",
        "started_at": "2026-11-30T10:00:00+00:00", "planned": 1, "trials": 1,
    } | values  # fmt: skip


def results(*rows: dict[str, Any], **run: Any) -> pd.DataFrame:
    """A results frame of one run with these rows."""
    about = description(**run)
    return conform(pd.DataFrame([{**{name: about.get(name) for name in RUN_COLUMNS}, **one} for one in rows]))
