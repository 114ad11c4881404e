"""The results frame: what its columns are, and how any frame becomes one.

`EvalResult` is the schema. Every frame that evalkit hands out or reads has gone through `conform`, so
that a fresh frame, one read from disk and one made from another tool's logs are of the same shape.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import SchemaError
from .jsontext import write
from .nearmiss import did_you_mean
from .records import clean_text

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1
KEY = ("run_id", "case_id", "trial")
REQUIRED = (*KEY, "passed")
TIME = "datetime64[us, UTC]"


class Column(NamedTuple):
    """One column of the results frame."""

    name: str
    level: str
    dtype: str
    meaning: str


def _column(level: str, dtype: str, meaning: str) -> Any:
    return field(default=None, metadata={"level": level, "dtype": dtype, "meaning": meaning})


@dataclass(frozen=True, kw_only=True)
class EvalResult:
    """One row of a results frame: one trial of one case in one run. None is NA: not known, or not checked.

    Nested values (marked JSON) are JSON text: dictionaries in a Parquet column come back with other rows' keys.
    """

    run_id: str = _column("run", "str", "which run; a legal file name")
    dataset: str | None = _column("run", "str", "the dataset's name")
    model: str | None = _column("run", "str", "what was asked")
    label: str | None = _column("run", "str", "what its author called the run")
    status: str | None = _column("run", "str", "complete, or partial where the run was stopped")
    rescored_from: str | None = _column("run", "str", "the run whose stored turns were scored again here")
    started_at: Any = _column("run", TIME, "when the first request could be sent, UTC")
    git_commit: str | None = _column("run", "str", "the project's commit, with + where files differed from it")
    evalkit_version: str | None = _column("run", "str", "the version that made the run")
    dataset_hash: str | None = _column("run", "str", "fingerprint of the cases")
    tools_hash: str | None = _column("run", "str", "fingerprint of the tool definitions")
    prompt_hash: str | None = _column("run", "str", "fingerprint of the system prompt")
    settings_hash: str | None = _column("run", "str", "fingerprint of the model's settings")
    scoring_hash: str | None = _column("run", "str", "fingerprint of what the scores depend on beside the cases")
    case_id: str = _column("case", "str", "which case")
    case_hash: str | None = _column("case", "str", "fingerprint of what the case asks and expects")
    kind: str | None = _column("case", "str", "tool_choice or final_answer")
    input: str | None = _column("case", "str", "the message; JSON where it is a dialogue")
    expected_tool: str | None = _column("case", "str", "a tool's name, none, or any")
    expected: str | None = _column("case", "str", "the expected answer; JSON where it is not text")
    cluster: str | None = _column("case", "str", "cases that stand or fall together")
    tags: str | None = _column("case", "str", "JSON list")
    secondary_tools: str | None = _column("case", "str", "JSON list of tools that pass with half the score")
    expected_arguments: str | None = _column("case", "str", "JSON object; NA where arguments are not checked")
    trial: int = _column("trial", "int64", "which attempt at the case, from 1")
    actual_tool: str | None = _column("trial", "str", "the tool called; none: answered in text; NA: not known")
    answer: str | None = _column("trial", "str", "the text of the reply")
    reasoning: str | None = _column("trial", "str", "thinking that came with the answer, set aside")
    finish_reason: str | None = _column("trial", "str", "why the model stopped, as the endpoint says")
    error_kind: str | None = _column("trial", "str", "why the trial could not be scored")
    error: str | None = _column("trial", "str", "the same in words")
    actual_arguments: str | None = _column(
        "trial", "str", "of the call that counts, as sent: JSON, or what could not be read"
    )
    tool_calls: str | None = _column("trial", "str", "JSON list of every call, as it came")
    flags: str | None = _column("trial", "str", "JSON list of notes on the reply")
    latency_s: float | None = _column("trial", "float64", "seconds that the answered request took")
    cost_usd: float | None = _column("trial", "float64", "price of the answer; NA without a price table")
    judge_cost_usd: float | None = _column("trial", "float64", "price of judging it")
    attempts: int | None = _column("trial", "Int64", "requests sent for the answer, retries included")
    input_tokens: int | None = _column("trial", "Int64", "as the endpoint counts, cached ones among them")
    output_tokens: int | None = _column("trial", "Int64", "as the endpoint counts, reasoning among them")
    cached_tokens: int | None = _column("trial", "Int64", "of the input tokens, those that the endpoint had cached")
    reasoning_tokens: int | None = _column("trial", "Int64", "of the output tokens, those that were thought")
    judge_input_tokens: int | None = _column("trial", "Int64", "of all judges of the trial")
    judge_output_tokens: int | None = _column("trial", "Int64", "of all judges of the trial")
    outcome: str | None = _column("verdict", "str", "the kind of what happened")
    reason: str | None = _column("verdict", "str", "the verdict in a sentence")
    passed: bool | None = _column("verdict", "boolean", "NA: an error, not a failure")
    tool_passed: bool | None = _column("verdict", "boolean", "the tool alone")
    arguments_passed: bool | None = _column("verdict", "boolean", "the arguments alone; NA: not checked")
    schema_valid: bool | None = _column("verdict", "boolean", "the arguments keep to the tool's own schema")
    score: float | None = _column("verdict", "float64", "0 to 1; NA: an error")
    arguments_score: float | None = _column("verdict", "float64", "share of checked paths that are right")
    mismatches: str | None = _column("verdict", "str", "JSON list, one entry per differing path")
    reviews: str | None = _column("verdict", "str", "JSON list, one entry per reviewer of a final answer")


COLUMNS: tuple[Column, ...] = tuple(Column(f.name, **f.metadata) for f in fields(EvalResult))
NAMES: tuple[str, ...] = tuple(column.name for column in COLUMNS)


def columns() -> pd.DataFrame:
    """The columns of a results frame, one row per column: `name`, `level`, `dtype`, `meaning`."""
    import pandas as pd

    return pd.DataFrame(COLUMNS)


def needs_frame(given: Any, what: str = "a results frame") -> None:
    """Raise SchemaError for what is no frame at all, such as a run's name in place of its results."""
    if not hasattr(given, "columns"):
        hint = f": ek.load_run({given!r:.80}) gives one" if isinstance(given, str) and "results" in what else ""
        raise SchemaError(f"{what} is needed, got {type(given).__name__}{hint}")


def conform(frame: pd.DataFrame, *, columns: Iterable[str] | None = None) -> pd.DataFrame:
    """A results frame with the rows of `frame`: every column there, in order, in its dtype; missing ones NA.

    Columns that evalkit does not know are kept behind the known ones. Times without a zone are UTC. With `columns`,
    only these and the required ones are made.

    Raises SchemaError where the key (`run_id`, `case_id`, `trial`) or `passed` is missing, a key repeats, or
    values do not fit their column.
    """
    import pandas as pd

    needs_frame(frame)
    missing = [name for name in REQUIRED if name not in frame.columns]
    if missing:
        hints = "".join(did_you_mean(name, [str(c) for c in frame.columns]) for name in missing)
        raise SchemaError(
            f"not a results frame: no column {', '.join(map(repr, missing))}.{hints} ek.columns() lists them."
        )
    wanted = NAMES if columns is None else {*REQUIRED, *columns}
    series = {column.name: _cast(frame, column) for column in COLUMNS if column.name in wanted}
    extra = {str(name): frame[name] for name in frame.columns if name not in NAMES}
    result = pd.DataFrame(series | extra).reset_index(drop=True)
    repeated = result.duplicated(list(KEY))
    if repeated.any():
        first = result.loc[repeated, list(KEY)].iloc[0]
        raise SchemaError(
            f"{int(repeated.sum())} rows repeat the key (run_id, case_id, trial), the first for run "
            f"{first['run_id']!r}, case {first['case_id']!r}, trial {first['trial']}. "
            "One row per run, case and trial is allowed."
        )
    return result


def _cast(frame: pd.DataFrame, column: Column) -> pd.Series[Any]:
    import pandas as pd

    if column.name not in frame.columns:
        nothing = pd.Series([None], dtype=_dtype(column.dtype))
        return nothing.take([0] * len(frame)).set_axis(frame.index)
    values = frame[column.name]
    if isinstance(values, pd.DataFrame):
        raise SchemaError(f"column {column.name!r} stands in the frame twice")
    try:
        if column.dtype == "str":
            return _as_text(values)
        if column.dtype == TIME:
            return pd.to_datetime(
                values, utc=True, format="ISO8601" if values.dtype in ("str", object) else None
            ).astype(TIME)
        return values.astype(_dtype(column.dtype))
    except (TypeError, ValueError, OverflowError) as error:
        raise SchemaError(f"column {column.name!r} must hold {column.dtype} ({column.meaning}): {error}") from None


def _as_text(values: pd.Series[Any]) -> pd.Series[Any]:
    import pandas as pd

    if values.dtype == "str":
        return values
    if isinstance(values.dtype, pd.StringDtype) and values.dtype.storage == "pyarrow":  # as dask holds text
        return values.astype(_dtype("str"))
    return pd.Series([_text(value) for value in values], index=values.index, dtype=_dtype("str"))


def _text(value: Any) -> str | None:
    import pandas as pd

    if isinstance(value, list | tuple | dict):
        return write(value)
    if pd.isna(value):
        return None
    return clean_text(value if isinstance(value, str) else str(value))


@cache
def _dtype(name: str) -> Any:
    import numpy as np
    import pandas as pd

    return pd.StringDtype(na_value=np.nan) if name == "str" else pd.api.types.pandas_dtype(name)
