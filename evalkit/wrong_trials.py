"""Why cases fail: the failed trials by what went wrong, and every argument that differs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .schema import NAMES, conform, needs_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

SHOWN = (
    "reason", "outcome", "kinds", "alike", "run_id", "case_id", "trial", "expected_tool", "actual_tool", "input",
    "expected_arguments", "actual_arguments", "expected", "answer", "score", "tags",
)  # fmt: skip


def failures(results: pd.DataFrame) -> pd.DataFrame:
    """The trials that failed, the commonest way of failing first: one row per failed trial.

    Columns: `reason`, `outcome`, `kinds` (of the arguments that differ, joined by commas; NA where no argument does),
    `alike` (failed trials with this outcome and these kinds), the key, and what was expected and what came. Errors
    are no failures: they have no verdict.
    """
    rows = _wanted(results, [*SHOWN, "mismatches"])
    rows = rows[~rows["passed"].fillna(True).astype("bool")]
    rows = rows.assign(kinds=_kinds(rows["mismatches"]))
    alike = rows.groupby(["outcome", "kinds"], dropna=False)["trial"].transform("size")
    rows = rows.assign(alike=alike.astype("int64")).sort_values(
        ["alike", "outcome", "kinds", "run_id", "case_id", "trial"], ascending=[False, *[True] * 5], kind="stable"
    )
    return rows[list(SHOWN)].reset_index(drop=True)


def failure_kinds(results: pd.DataFrame) -> pd.DataFrame:
    """The ways of failing, the commonest first: one row per outcome and kinds of arguments that differ.

    Columns: `outcome`, `kinds`, `trials`, `cases`, `share` (of the failed trials), `example` (a reason) and its
    `run_id` and `case_id`.
    """
    rows = failures(results)
    groups = rows.groupby(["outcome", "kinds"], dropna=False, sort=False)
    whole = groups.agg(trials=("trial", "size"), cases=("case_id", "nunique")).reset_index()
    first = groups.head(1).reset_index(drop=True)
    whole = whole.assign(share=whole["trials"] / max(1, len(rows)))
    return whole.assign(example=first["reason"], run_id=first["run_id"], case_id=first["case_id"])


def mismatches(results: pd.DataFrame) -> pd.DataFrame:
    """The arguments that differ from what was expected: one row per trial and path.

    Columns: the key, `expected_tool`, `actual_tool`, `path`, `kind`, `ok` (whether the difference is allowed),
    `expected` and `actual` (JSON text; NA where there is nothing), `note`.
    """
    import pandas as pd

    rows = _wanted(results, ["expected_tool", "actual_tool", "mismatches"])
    found = [
        (*row[:5], one.get("path"), one.get("kind"), bool(one.get("ok")), *_sides(one), one.get("note"))
        for row in rows[[*KEYED, "mismatches"]].itertuples(index=False, name=None)
        for one in _entries(row[5])
    ]
    names = [*KEYED, "path", "kind", "ok", "expected", "actual", "note"]
    frame = pd.DataFrame(found, columns=names)
    return frame.astype({name: "str" for name in names if name not in ("trial", "ok")} | {"trial": "int64", "ok": bool})


KEYED = ("run_id", "case_id", "trial", "expected_tool", "actual_tool")


def _wanted(results: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    wanted = ("run_id", "case_id", "trial", "passed", *(name for name in columns if name in NAMES))
    needs_frame(results)
    return conform(results[[name for name in results.columns if name in wanted]], columns=wanted)


def _kinds(texts: pd.Series[Any]) -> pd.Series[Any]:
    """For each trial the kinds of its mismatches that are not ok, each once."""
    import pandas as pd

    codes, distinct = pd.factorize(texts, use_na_sentinel=False)
    joined = [
        ", ".join(sorted({str(one.get("kind")) for one in _entries(text) if not one.get("ok")})) for text in distinct
    ]
    return pd.Series([joined[code] or None for code in codes], index=texts.index, dtype="str")


def _entries(text: Any) -> list[dict[str, Any]]:
    found = json.loads(text) if isinstance(text, str) and text else []
    return [one for one in found if isinstance(one, dict)]


def _sides(entry: dict[str, Any]) -> tuple[str | None, str | None]:
    """Both values as JSON; of a value that is missing on one side there is none there."""
    kind = str(entry.get("kind"))
    expected = None if kind.startswith("extra") else json.dumps(entry.get("expected"), ensure_ascii=False)
    actual = None if kind == "missing" else json.dumps(entry.get("actual"), ensure_ascii=False)
    return expected, actual
