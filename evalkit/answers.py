"""Final answers: each reviewer's verdict, and the case's verdict made of them.

The score is the mean of the reviewers' scores; the case passes when all of them pass. A reviewer that could not
judge makes the trial an error, with the other reviews kept. Judges ask a model, so they are not run here: their
verdicts are handed in, and a judge that has not been asked yet leaves the trial unjudged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .datasets import EvalCase
from .records import Turn, Verdict
from .reviewers import ReviewerError, is_judge, review
from .text_calls import calls_in_text
from .turns import (
    at_token_limit,
    ended,
    flags_of,
    is_empty,
    is_filtered,
    is_malformed,
    is_refusal,
    request_error,
    truncated,
)

Review = dict[str, Any]
# What stands in no answer that is XML or code of its own: a call is looked for behind nothing less.
_CALL_MARK = re.compile(
    r"\[TOOL_CALLS\]|<(?:[\w|｜]{1,20}[:_|｜])?(?:tool|function)[_▁]?calls?\b|<function=|<[|｜](?:tool|python_tag)"
    r"|to=functions\."
)
UNJUDGED = "unjudged"  # error kind of a judge that has not been asked


def evaluate_answer(
    case: EvalCase | Mapping[str, Any], turn: Turn | str, *, judged: Mapping[int, Verdict] | None = None
) -> Verdict:
    """The verdict on a final answer: outcome `passed`, `failed`, `called_tool`, `refused`, `empty` or `error`.

    `judged` holds the verdicts of judges by their place among the case's reviewers (from 0). What each reviewer
    said is in `details["reviews"]`: dictionaries with reviewer, passed, score, reason, error_kind and its details.

    Raises ValueError for a case that checks a tool choice.
    """
    case = case if isinstance(case, EvalCase) else EvalCase.from_dict(case)
    if not case.reviewers:
        raise ValueError(f"case {case.case_id!r} has no reviewers; use evaluate_tool_call for a tool choice")
    turn = Turn(answer=turn) if isinstance(turn, str) else turn
    unreviewed = without_review(turn)
    if unreviewed is not None:
        return unreviewed
    reviews = [_review(spec, case, turn, (judged or {}).get(place)) for place, spec in enumerate(case.reviewers)]
    return combine(reviews, flags=flags_of(turn))


def without_review(turn: Turn) -> Verdict | None:
    """The verdict on a turn that holds no whole answer to review; None where it does."""
    failed = request_error(turn)
    if failed is not None:
        return failed
    if turn.tool_calls:
        name = getattr(turn.tool_calls[0], "name", None)
        return _failed(turn, "called_tool", f"a tool call: {name or 'a call without a usable name'}", name)
    if is_malformed(turn):
        return _failed(turn, "called_tool", f"a tool call that the provider could not read ({ended(turn)})", None)
    if is_filtered(turn):
        return _failed(turn, "refused", f"a filtered reply ({ended(turn)})")
    if at_token_limit(turn):
        return replace(truncated(turn, "The answer was cut off at the token limit"), actual_tool="none")
    if is_refusal(turn):
        return _failed(turn, "refused", "a refusal")
    if _CALL_MARK.search(turn.answer or "") and (written := calls_in_text(turn.answer)):
        name = written[0].name
        failed = _failed(turn, "called_tool", f"a tool call as text: {name or 'a call without a usable name'}", name)
        return replace(failed, flags=(*failed.flags, "call_in_text"))
    return _failed(turn, "empty", "an empty message") if is_empty(turn) else None


def _failed(turn: Turn, outcome: str, got: str, called: str | None = "none") -> Verdict:
    flags = flags_of(turn, *((outcome,) if called == "none" else ()))
    return Verdict(False, 0.0, f"Expected an answer, got {got}", outcome=outcome, actual_tool=called, flags=flags)


def review_row(spec: Mapping[str, Any], verdict: Verdict) -> Review:
    """One review as it is stored: reviewer, passed, score, reason, error_kind, and the verdict's details."""
    return {
        "reviewer": spec["reviewer"],
        "passed": verdict.passed,
        "score": verdict.score,
        "reason": verdict.reason,
        "error_kind": verdict.error_kind,
        **verdict.details,
    }


def combine(reviews: Sequence[Mapping[str, Any]], *, flags: Sequence[str] = ()) -> Verdict:
    """The case's verdict from its reviews (see `review_row`), in their order.

    Raises ValueError without any.
    """
    if not reviews:
        raise ValueError("a final answer needs at least one review, got none")
    details = {"reviews": [dict(one) for one in reviews]}
    broken = [one for one in reviews if one["error_kind"] or one["passed"] is None or one["score"] is None]
    if broken:
        said = "; ".join(f"{one['reviewer']} could not judge: {one['reason']}" for one in broken)
        kind = next((one["error_kind"] for one in broken if one["error_kind"] != UNJUDGED), UNJUDGED) or "reviewer"
        return Verdict(
            None, None, said, outcome="error", error_kind=kind, actual_tool="none", flags=tuple(flags), details=details
        )
    passed = [one for one in reviews if one["passed"]]
    score = min(1.0, max(0.0, sum(one["score"] for one in reviews) / len(reviews)))
    return Verdict(
        passed=len(passed) == len(reviews),
        score=score,
        reason=_reason(reviews, len(passed)),
        outcome="passed" if len(passed) == len(reviews) else "failed",
        actual_tool="none",
        flags=tuple(flags),
        details=details,
    )


def _reason(reviews: Sequence[Mapping[str, Any]], passed: int) -> str:
    if len(reviews) == 1:
        return f"{reviews[0]['reviewer']}: {reviews[0]['reason']}"
    failed_first = sorted(reviews, key=lambda one: bool(one["passed"]))
    said = "; ".join(f"{one['reviewer']}: {one['reason']}" for one in failed_first)
    return f"{passed} of {len(reviews)} reviewers passed. {said}"


def _review(spec: Mapping[str, Any], case: EvalCase, turn: Turn, judged: Verdict | None) -> Review:
    if judged is not None:
        return review_row(spec, judged)
    if is_judge(spec):
        return review_row(spec, Verdict(None, None, "it has not been asked yet", error_kind=UNJUDGED))
    try:
        return review_row(spec, review(spec, turn.answer, case.expected))
    except ReviewerError as error:
        return review_row(spec, Verdict(None, None, str(error), error_kind="reviewer"))
