"""A case and what a model answered → a verdict. This module judges tool choices; `answers` judges final answers.

The tool decides first: where it is wrong, its arguments are not applicable (NA), and garbled or cut-off arguments
do not change that. Where it is right, arguments that are no JSON object fail, whether or not the case checks them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from . import limits
from .answers import combine, evaluate_answer, review_row, without_review
from .arguments import ArgumentsCheck, compare_arguments, describe, mismatch_rows
from .calls import Arguments, about_unknown, as_call, is_usable, read_arguments
from .datasets import EvalCase
from .jsontext import write
from .offered import Offered, offered_tools
from .records import ToolCall, Turn, Verdict
from .text_calls import calls_in_text
from .turns import (
    ARGUMENTS_UNKNOWN,
    as_turn,
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

__all__ = [
    "SCORING_VERSION",
    "as_turn",
    "combine",
    "evaluate_answer",
    "evaluate_tool_call",
    "mismatch_rows",
    "review_row",
    "without_review",
]

SCORING_VERSION = 2  # goes up when a rule changes that moves a number
SECONDARY_SCORE = 0.5
_MOST_SAID = 20  # mismatches in a reason; the verdict itself holds all
_AS_TEXT = "the endpoint does not return tool calls"


def evaluate_tool_call(
    case: EvalCase | Mapping[str, Any], turn: Turn | str | None, tools: Iterable[Any] = ()
) -> Verdict:
    """The verdict on a tool choice: its outcome, score and reason, the call that counted, and every mismatch.

    `turn` may be the name of the tool that was called (its arguments are then not checked, flag
    `arguments_unknown`), or None for an answer in text. Without `tools` no name counts as not offered, and any
    argument that was not expected is `extra`.

    Raises ValueError for a case that checks a final answer.
    """
    case = case if isinstance(case, EvalCase) else EvalCase.from_dict(case)
    if case.expected_tool is None:
        raise ValueError(f"case {case.case_id!r} expects no tool choice; use evaluate_answer for a final answer")
    turn = as_turn(turn)
    failed = request_error(turn)
    if failed is not None:
        return failed
    with limits.within():
        return _Judging(case, turn, offered_tools(tools)).verdict()


@dataclass
class _Judging:
    """One case and one turn."""

    case: EvalCase
    turn: Turn
    tools: Offered

    def __post_init__(self) -> None:
        self.secondary = [one.tool for one in self.case.secondary_tools]
        self.wanted = self.case.expected_tool
        self.notes: tuple[str, ...] = ("truncated",) if at_token_limit(self.turn) else ()

    @property
    def wanted_in_words(self) -> str:
        return {"any": "any tool", "none": "no tool call"}.get(str(self.wanted), str(self.wanted))

    def verdict(self) -> Verdict:
        calls = [as_call(entry) for entry in self.turn.tool_calls]
        if not calls:
            calls = list(calls_in_text(self.turn.answer, self._names(), self.tools.schema))
            if not calls:
                return self._no_call()
            if self.case.text_calls != "accept":
                return self._call_in_text(calls[0])
            self.notes += ("call_in_text",)
        if len(calls) > 1:
            self.notes += ("extra_calls",)
        return self._of_calls(calls)

    def _names(self) -> tuple[str, ...]:
        """The names that a call written as text may have: the tools, or without any, those that the case names."""
        if self.tools.names:
            return self.tools.names
        return tuple(name for name in (self.wanted, *self.secondary) if name not in (None, "none", "any"))

    def _of_calls(self, calls: list[ToolCall]) -> Verdict:
        if self.case.calls == "only" and len(calls) > 1 and self.wanted != "none":
            first = self._of_call(calls[0])
            reason = f"Expected one call, got {len(calls)}"
            return self._failed("extra_calls", reason, calls[0], tool_passed=first.tool_passed)
        if self.case.calls != "any":
            return self._of_call(calls[0])
        return _best([self._of_call(call) for call in calls])

    def _of_call(self, call: ToolCall) -> Verdict:
        if not is_usable(call):
            return self._unusable(call)
        name = str(call.name)
        if name == self.wanted or (self.wanted == "any" and (not self.tools.names or name in self.tools)):
            return self._right_tool(call, self.case.expected_arguments, secondary=False)
        if name in self.secondary:
            entries = [one for one in self.case.secondary_tools if one.tool == name]
            return _best([self._right_tool(call, one.arguments, secondary=True) for one in entries])
        if self.wanted == "none":
            return self._failed("unexpected_call", f"Expected no tool call, got {name}", call)
        got = f"Wrong tool: expected {self.wanted_in_words}, got {name}"
        if self.tools.names and name not in self.tools:
            return self._failed("unknown_tool", f"{got}, {about_unknown(name, self.tools.names, call)}", call)
        return self._failed("wrong_tool", got, call)

    def _right_tool(self, call: ToolCall, expected: Mapping[str, Any] | None, *, secondary: bool) -> Verdict:
        full = SECONDARY_SCORE if secondary else 1.0
        name = str(call.name)
        right = f"Acceptable: selected {name} (secondary)" if secondary else f"Correct: selected {name}"
        outcome = "secondary" if secondary else "correct"
        if ARGUMENTS_UNKNOWN in self.turn.flags and call.arguments is None:
            return self._verdict(True, full, right, outcome, actual_tool=name, tool_passed=True)
        sent = read_arguments(call.arguments)
        if sent.value is None:
            return self._unreadable(name, sent, checked=expected is not None)
        schema = self.tools.schema(name)
        known: dict[str, Any] = {
            "actual_tool": name,
            "actual_arguments": sent.text,
            "tool_passed": True,
            "schema_valid": schema.valid(sent.value, sent.text) if schema is not None else None,
        }
        notes = ("empty_arguments",) if sent.empty else ()
        if expected is None:
            return self._verdict(True, full, right, outcome, notes, **known)
        extra = self.case.extra_arguments or "declared"
        try:
            check = compare_arguments(expected, sent.value, parameters=schema, extra=extra)
        except limits.TooCostly as error:
            reason = f"The arguments for {name} could not be compared: {error}"
            return self._verdict(None, None, reason, "error", notes, error_kind="reviewer", **known)
        known |= {
            "mismatches": check.mismatches,
            "arguments_passed": check.passed,
            "arguments_score": check.score,
        }
        if check.passed:
            return self._verdict(True, full, right, outcome, notes, **known)
        reason = _wrong_arguments(name, check)
        return self._verdict(False, full * check.score, reason, "wrong_arguments", notes, **known)

    def _unreadable(self, name: str, sent: Arguments, *, checked: bool) -> Verdict:
        """The right tool, with arguments that are cut off or no JSON object."""
        if sent.cut and at_token_limit(self.turn):
            what = f"The arguments for {name} were cut off at the token limit"
            return truncated(self.turn, what, actual_tool=name, actual_arguments=sent.text, tool_passed=None)
        return self._verdict(
            False,
            0.0,
            f"Unparsable arguments for {name}: {sent.problem}",
            "unparsable",
            actual_tool=name,
            actual_arguments=sent.text,
            tool_passed=True,
            arguments_passed=False if checked else None,
            arguments_score=0.0 if checked else None,
        )

    def _unusable(self, call: ToolCall) -> Verdict:
        named = isinstance(call.name, str) and bool(call.name.strip())
        got = f"a {call.kind} call ({call.name}), which has no arguments" if named else "a call without a usable name"
        details = {"entry": _jsonable_entry(call)}
        if self.wanted == "none":
            return self._failed("unexpected_call", f"Expected no tool call, got {got}", call, details=details)
        return self._failed("unusable_call", f"Expected {self.wanted_in_words}, got {got}", call, details=details)

    def _call_in_text(self, call: ToolCall) -> Verdict:
        self.notes += ("call_in_text",)
        named = "a call without a usable name" if call.name is None else f"a call of {call.name}"
        what = "the call" if call.name is not None and self.wanted in (call.name, "any") else named
        reason = f"Expected {self.wanted_in_words}, got {what} as text: {_AS_TEXT}"
        return self._failed("call_in_text", reason, call)

    def _no_call(self) -> Verdict:
        """An answer in text, or in its place a refusal, silence or a call that the provider could not read."""
        empty, refused, filtered = is_empty(self.turn), is_refusal(self.turn), is_filtered(self.turn)
        if is_malformed(self.turn):
            reason = f"Expected {self.wanted_in_words}, got a call that the provider could not read"
            return self._verdict(False, 0.0, f"{reason} ({ended(self.turn)})", "unusable_call", tool_passed=False)
        if empty and not refused and at_token_limit(self.turn):
            return truncated(self.turn, "The reply is empty: it reached the token limit")
        notes = tuple(flag for flag, there in (("refused", refused), ("empty", empty)) if there)
        known: dict[str, Any] = {"actual_tool": "none", "notes": notes}
        if not empty and not filtered and self.wanted == "none":
            return self._verdict(True, 1.0, "Correct: no tool call", "correct", tool_passed=True, **known)
        if not empty and not filtered and "none" in self.secondary:
            reason = "Acceptable: no tool call (secondary)"
            return self._verdict(True, SECONDARY_SCORE, reason, "secondary", tool_passed=True, **known)
        outcome, got = "no_call", "no tool call"
        if refused:
            outcome, got = "refused", f"a filtered reply ({ended(self.turn)})" if filtered else "a refusal"
        elif empty:
            outcome, got = "empty", "an empty message"
        wanted = "an answer in text" if self.wanted == "none" else self.wanted_in_words
        return self._verdict(False, 0.0, f"Expected {wanted}, got {got}", outcome, tool_passed=False, **known)

    def _failed(
        self,
        outcome: str,
        reason: str,
        call: ToolCall,
        *,
        tool_passed: bool | None = False,
        details: Mapping[str, Any] | None = None,
    ) -> Verdict:
        """A verdict that the choice of tool alone decides; what was sent is kept, and judged by its own schema."""
        unsaid = call.arguments is None and (not call.name or ARGUMENTS_UNKNOWN in self.turn.flags)
        unknown = unsaid or call.kind != "function"
        sent = Arguments(None, None) if unknown else read_arguments(call.arguments)
        schema = self.tools.schema(str(call.name))
        return self._verdict(
            False,
            0.0,
            reason,
            outcome,
            actual_tool=call.name if isinstance(call.name, str) and call.name.strip() else None,
            actual_arguments=sent.text,
            tool_passed=tool_passed,
            schema_valid=schema.valid(sent.value, sent.text) if schema is not None and sent.value is not None else None,
            details=details or {},
        )

    def _verdict(
        self,
        passed: bool | None,
        score: float | None,
        reason: str,
        outcome: str,
        notes: tuple[str, ...] = (),
        **known: Any,
    ) -> Verdict:
        flags = flags_of(self.turn, *self.notes, *notes)
        return Verdict(passed, score, reason, outcome=outcome, flags=flags, **known)


def _best(found: list[Verdict]) -> Verdict:
    """A pass before all; then what was cut off, since it might have passed; then the failure with the best score."""
    return max(found, key=lambda one: (one.passed is True, one.passed is None, one.score or 0.0))


def _wrong_arguments(name: str, check: ArgumentsCheck) -> str:
    wrong = [describe(one) for one in check.mismatches if not one.ok]
    said = "; ".join(wrong[:_MOST_SAID])
    more = f"; and {len(wrong) - _MOST_SAID} more" if len(wrong) > _MOST_SAID else ""
    return f"Wrong arguments for {name}: {said}{more}"


def _jsonable_entry(call: ToolCall) -> Any:
    """The entry as it came, or its parts; as text where it has no JSON form."""
    entry = call.raw if call.raw is not None else {"name": call.name, "arguments": call.arguments, "kind": call.kind}
    try:
        write(entry)
    except (TypeError, ValueError, RecursionError):
        return repr(entry)
    return entry
