"""What each reviewer said of each answer, as a frame."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .jsontext import write
from .schema import conform

if TYPE_CHECKING:
    import pandas as pd

TYPES = {
    "run_id": "str", "case_id": "str", "trial": "int64", "reviewer": "str", "position": "int64",
    "score": "float64", "passed": "boolean", "reason": "str", "parameters": "str", "choice": "str",
    "error_kind": "str", "error": "str",
    "judge_model": "str", "self_judged": "boolean", "prompt_hash": "str", "form": "str", "reply": "str",
    "attempts": "Int64", "input_tokens": "Int64", "output_tokens": "Int64", "cost_usd": "float64",
    "case_passed": "boolean",
}  # fmt: skip


def reviews(results: pd.DataFrame) -> pd.DataFrame:
    """What reviewers said of final answers: one row per run, case, trial and reviewer.

    Columns: the key; `reviewer` and its `position` among the case's (from 1); `score`, `passed` and `reason`, NA where
    it reached no verdict, which `error_kind` and `error` then say; `parameters`, JSON, by which it judged (of long ones
    the fingerprint; NA in older runs). Of judges also the `choice`, `judge_model`,
    whether the model judged itself (`self_judged`), `prompt_hash` (equal for cases that are judged alike), the `form`
    of the reply (json_schema, tool_call, text), the `reply` as it came, and `attempts`, tokens and `cost_usd`. Last
    `case_passed`: the case's verdict, which all its reviewers make together.

    A trial without reviews (a failed request, a tool call in place of an answer) has no row.
    """
    import pandas as pd

    results = conform(results)
    columns = results[["run_id", "case_id", "trial", "passed", "reviews"]].itertuples(index=False)
    rows = [
        {**_row((run_id, case_id, trial), position, review), "case_passed": passed}
        for run_id, case_id, trial, passed, text in columns
        if isinstance(text, str)
        for position, review in enumerate(json.loads(text), start=1)
    ]
    frame = pd.DataFrame(rows, columns=list(TYPES))
    return frame.astype({name: kind for name, kind in TYPES.items() if kind != "str"}).astype(
        {name: pd.StringDtype(na_value=float("nan")) for name, kind in TYPES.items() if kind == "str"}
    )


def _row(key: tuple[str, str, int], position: int, review: dict[str, Any]) -> dict[str, Any]:
    run_id, case_id, trial = key
    failed = bool(review.get("error_kind"))
    said = review.get("reason")
    told = {name: review.get(name) for name in TYPES}
    own = {"run_id": run_id, "case_id": case_id, "trial": trial, "position": position}
    own["parameters"] = write(review["parameters"]) if review.get("parameters") else None
    return {**told, **own, "reason": None if failed else said, "error": said if failed else None}
