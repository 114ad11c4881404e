"""Between records and rows: a case, a turn and a verdict become one row of the results frame, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any

from .calls import as_call, read_arguments
from .datasets import EvalCase
from .evaluators import mismatch_rows
from .jsontext import write
from .records import REQUEST_ERRORS, ToolCall, Turn, Usage, Verdict, clean_text

Row = dict[str, Any]


def case_values(case: EvalCase) -> Row:
    """The case-level columns of every row of `case`."""
    secondary = [
        {"tool": s.tool, "arguments": s.arguments} if s.arguments is not None else s.tool for s in case.secondary_tools
    ]
    return {
        "case_id": case.id,
        "case_hash": case.case_hash,
        "kind": case.kind,
        "input": case.input if isinstance(case.input, str) else write(case.input),
        "expected_tool": case.expected_tool,
        "expected": case.expected if case.expected is None or isinstance(case.expected, str) else write(case.expected),
        "cluster": case.cluster,
        "tags": write(list(case.tags)),
        "secondary_tools": write(secondary),
        "expected_arguments": None if case.expected_arguments is None else write(case.expected_arguments),
    }


def row_of(case: EvalCase, trial: int, turn: Turn, verdict: Verdict, *, cost_usd: float | None = None) -> Row:
    """The case, trial and verdict values of one trial: what the journal and `store.save_run` take."""
    usage = Usage.of(turn.usage)
    error_kind = verdict.error_kind or turn.error_kind
    self_judged = any(review.get(SELF_JUDGED) for review in verdict.details.get("reviews", []))
    notes = (SELF_JUDGED,) if self_judged else ()
    return (
        case_values(case)
        | {
            "trial": trial,
            "actual_tool": verdict.actual_tool,
            "answer": turn.answer,
            "reasoning": turn.reasoning,
            "finish_reason": turn.finish_reason,
            "error_kind": error_kind,
            "error": (turn.error or verdict.reason) if error_kind else None,
            "actual_arguments": verdict.actual_arguments,
            "tool_calls": write([_call_entry(call) for call in turn.tool_calls]),
            "flags": write(list(dict.fromkeys((*turn.flags, *verdict.flags, *notes)))),
            "latency_s": turn.latency_s,
            "cost_usd": cost_usd,
            "attempts": turn.attempts,
            **asdict(usage),
            "outcome": verdict.outcome,
            "reason": verdict.reason,
            "passed": verdict.passed,
            "tool_passed": verdict.tool_passed,
            "arguments_passed": verdict.arguments_passed,
            "schema_valid": verdict.schema_valid,
            "score": None if verdict.score is None else float(verdict.score),
            "arguments_score": verdict.arguments_score,
            "mismatches": write(mismatch_rows(verdict.mismatches)),
            "reviews": _as_json(verdict.details.get("reviews", [])),
        }
        | {f"judge_{name}": _sum(name, verdict.details.get("reviews", [])) for name in JUDGE_VALUES}
    )


JUDGE_VALUES = ("cost_usd", "input_tokens", "output_tokens")
SELF_JUDGED = "self_judged"  # flag of a trial that a judge reviewed which is the model itself


def turn_of(row: Mapping[str, Any]) -> Turn:
    """The turn that a row was made of, as far as scoring needs it."""
    calls = json.loads(row["tool_calls"] or "[]")
    failed = row["error_kind"] if row["outcome"] == "error" and row["error_kind"] in REQUEST_ERRORS else None
    return Turn(
        tool_calls=[ToolCall(**entry) for entry in calls],
        answer=row["answer"],
        reasoning=row.get("reasoning"),
        finish_reason=row["finish_reason"],
        usage={one.name: row.get(one.name) for one in fields(Usage)},  # older rows lack the newer counts
        flags=[flag for flag in json.loads(row["flags"] or "[]") if flag != SELF_JUDGED],
        error_kind=failed,
        error=row["error"] if failed else None,
        attempts=row["attempts"],
        latency_s=row["latency_s"],
    )


def cases_in_order(cases: Iterable[EvalCase]) -> dict[str, int]:
    """Each case id with its place in the dataset."""
    return {case.id: place for place, case in enumerate(cases)}


def _call_entry(given: Any) -> Row:
    """One call as it came; what has no JSON form (a recorded NaN) becomes the text that Python writes for it.

    Arguments without one become text that is no JSON, so that they are found unparsable when they are scored again.
    """
    call = as_call(given)
    arguments: Any = call.arguments
    if arguments is not None and not isinstance(arguments, str):
        sent = read_arguments(arguments)
        arguments = sent.text if sent.value is None else dict(arguments)
    entry: Row = {"name": call.name, "arguments": arguments}
    if call.kind != "function":
        entry["kind"] = call.kind
    if call.raw is not None:
        entry["raw"] = call.raw
    if call.sent_name is not None:
        entry["sent_name"] = call.sent_name
    try:
        write(entry)
    except (TypeError, ValueError, RecursionError):
        entry = {
            name: value if value is None or isinstance(value, str) else _as_json(value) for name, value in entry.items()
        }
    return entry


def _sum(name: str, reviews: Iterable[Mapping[str, Any]]) -> Any:
    """The sum over the judges of a trial; None where none of them counted it."""
    counted = [review[name] for review in reviews if review.get("judge_model") and review.get(name) is not None]
    return sum(counted) if counted else None


def _as_json(value: Any) -> str:
    try:
        return write(value)
    except (TypeError, ValueError, RecursionError):
        pass
    try:
        return clean_text(json.dumps(value, ensure_ascii=False, default=str))
    except (TypeError, ValueError, RecursionError):
        return clean_text(repr(value))
