"""Final answers: reviews made, handed in and combined; turns that are no answer."""

from __future__ import annotations

import json

import pytest

from evalkit.cases import EvalCase
from evalkit.evaluators import combine, evaluate_answer, review_row, without_review
from evalkit.records import ToolCall, Turn, Verdict


def answer_case(*reviewers, **fields):
    return EvalCase.from_dict({"input": "Capital of France?", "reviewers": list(reviewers), **fields})


CONTAINS = {"reviewer": "string_contains", "search_string": "Paris"}
EXACT = {"reviewer": "exact_match", "expected": "Paris"}


@pytest.mark.parametrize(
    ("reviewers", "answer", "outcome", "passed", "score"),
    [
        ([CONTAINS], "It is Paris.", "passed", True, 1.0),
        ([CONTAINS], "It is Rome.", "failed", False, 0.0),
        ([CONTAINS, EXACT], "Paris", "passed", True, 1.0),
        ([CONTAINS, EXACT], "It is Paris.", "failed", False, 0.5),
    ],
)
def test_an_answer_passes_when_all_its_reviewers_pass_and_scores_their_mean(reviewers, answer, outcome, passed, score):
    verdict = evaluate_answer(answer_case(*reviewers), Turn(answer=answer))
    assert (verdict.outcome, verdict.passed, verdict.score) == (outcome, passed, score)
    assert verdict.actual_tool == "none"
    assert [one["reviewer"] for one in verdict.details["reviews"]] == [spec["reviewer"] for spec in reviewers]
    json.dumps(verdict.details, allow_nan=False)
    assert verdict.flags == ()


def test_a_reason_names_each_reviewer_and_failed_ones_first():
    verdict = evaluate_answer(answer_case(CONTAINS, EXACT), "It is Paris.")
    assert verdict.reason.startswith("1 of 2 reviewers passed. exact_match: ")
    assert verdict.reason.index("exact_match") < verdict.reason.index("string_contains")
    assert evaluate_answer(answer_case(CONTAINS), "Rome").reason.startswith("string_contains: ")


@pytest.mark.parametrize("answer", [None, "Let me look."])
def test_a_tool_call_in_place_of_an_answer_fails_and_says_so(answer):
    verdict = evaluate_answer(answer_case(CONTAINS), Turn(tool_calls=[ToolCall("read_file", "{}")], answer=answer))
    assert (verdict.outcome, verdict.passed, verdict.score) == ("called_tool", False, 0.0)
    assert (verdict.reason, verdict.actual_tool) == ("Expected an answer, got a tool call: read_file", "read_file")
    nameless = evaluate_answer(answer_case(CONTAINS), Turn(tool_calls=[ToolCall(None)]))
    assert nameless.reason == "Expected an answer, got a tool call: a call without a usable name"


def ended(finish_reason, answer=None, **fields):
    return Turn(answer=answer, finish_reason=finish_reason, **fields)


@pytest.mark.parametrize(
    ("turn", "outcome", "error_kind", "reason"),
    [
        (Turn(), "empty", None, "Expected an answer, got an empty message"),
        (Turn(answer=""), "empty", None, "Expected an answer, got an empty message"),
        (Turn(answer="\u00a0\u200b\n"), "empty", None, "Expected an answer, got an empty message"),
        (Turn(answer="<think>Paris it is."), "empty", None, "Expected an answer, got an empty message"),
        (Turn(reasoning="Paris it is."), "empty", None, "Expected an answer, got an empty message"),
        (ended("xyz"), "empty", None, "Expected an answer, got an empty message"),
        (Turn(answer="Not Paris.", flags=["refused"]), "refused", None, "Expected an answer, got a refusal"),
        (ended("refusal", "Paris? No."), "refused", None, "Expected an answer, got a refusal"),
        (ended("SAFETY", "Paris"), "refused", None, "got a filtered reply (finish reason 'SAFETY')"),
        (ended("content_filter"), "refused", None, "got a filtered reply (finish reason 'content_filter')"),
        (ended("guardrail_intervened", "Paris"), "refused", None, "got a filtered reply"),
        (ended("network_error", "Paris"), "error", "server", "the provider gave up: finish reason 'network_error'"),
        (ended("ERROR"), "error", "server", "the provider gave up: finish reason 'ERROR'"),
        (ended("MALFORMED_FUNCTION_CALL"), "called_tool", None, "a tool call that the provider could not read"),
        (ended("model_length", "Paris is the cap"), "error", "truncated", "The answer was cut off"),
        (ended("MAX_TOKENS", "Paris is the cap"), "error", "truncated", "The answer was cut off"),
        (ended("FinishReason.MAX_TOKENS", "Paris is"), "error", "truncated", "The answer was cut off"),
        (ended("pause_turn", "Paris"), "error", "truncated", "The answer was cut off"),
        (ended("ERROR_LIMIT", "Paris"), "error", "truncated", "The answer was cut off"),
        (
            Turn(answer='<tool_call>{"name": "map", "arguments": {"of": "Paris"}}</tool_call>'),
            "called_tool",
            None,
            "map",
        ),
        (Turn(answer='I look.\n[TOOL_CALLS]map{"of": "Paris"}'), "called_tool", None, "a tool call as text: map"),
        (Turn(answer="<function=map><parameter=of>Paris</parameter></function>"), "called_tool", None, "as text: map"),
        (
            Turn(answer='<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>map<｜tool▁sep｜>{"of": "Paris"}'),
            "called_tool",
            None,
            "map",
        ),
        (Turn(answer='<tools><tool name="map">Paris</tool></tools>'), "passed", None, "string_contains"),
        (Turn(answer='{"name": "map", "arguments": {"of": "Paris"}}'), "passed", None, "string_contains"),
        (Turn(answer='map(of="Paris")'), "passed", None, "string_contains"),
        (Turn(answer="Paris. Qwen calls by <tool_call>."), "passed", None, "string_contains"),
        (ended("stop", "Paris"), "passed", None, "string_contains"),
        (ended("xyz", "Paris"), "passed", None, "string_contains"),
        (ended("end_turn", "<think>Rome?</think>Paris"), "passed", None, "string_contains"),
    ],
)
def test_a_reply_that_is_no_whole_answer_meets_no_reviewer(turn, outcome, error_kind, reason):
    verdict = evaluate_answer(answer_case(CONTAINS), turn)
    assert (verdict.outcome, verdict.error_kind) == (outcome, error_kind)
    assert verdict.passed is {"passed": True, "error": None}.get(outcome, False)
    assert reason in verdict.reason
    assert ("unknown_finish_reason" in verdict.flags) is (turn.finish_reason == "xyz")
    assert {"empty", "refused"} & set(verdict.flags) == {outcome} & {"empty", "refused"}


@pytest.mark.parametrize(
    "reviewer",
    [
        {"reviewer": "regex_match", "pattern": "(?!.*London).*"},
        {"reviewer": "exact_match", "expected": "None"},
        {"reviewer": "levenshtein", "expected": "x", "threshold": 0.0},
        {"reviewer": "string_contains", "search_string": "Paris"},
    ],
)
@pytest.mark.parametrize("answer", [None, "", "<think>Paris x"])
def test_a_missing_answer_passes_no_reviewer(reviewer, answer):
    verdict = evaluate_answer(answer_case(reviewer), Turn(answer=answer))
    assert (verdict.outcome, verdict.passed, verdict.score) == ("empty", False, 0.0)


@pytest.mark.parametrize(
    ("reviewer", "answer", "passed"),
    [
        ({"reviewer": "string_contains", "search_string": "London"}, "<think>London? No.</think>Paris", False),
        ({"reviewer": "exact_match", "expected": "Paris"}, "<think>London? No.</think>\nParis", True),
        ({"reviewer": "valid_json"}, "<think>x</think>\n{}", True),
        ({"reviewer": "numeric_match", "expected": 42}, "<think>Maybe 41?</think>42", True),
        ({"reviewer": "numeric_match", "expected": 41}, "Maybe 41?\n</think>\n42", False),
    ],
)
def test_reviewers_do_not_see_the_thinking(reviewer, answer, passed):
    turn = Turn(answer=answer)
    assert evaluate_answer(answer_case(reviewer), turn).passed is passed
    assert "thinking" in turn.flags
    assert "</think>" in turn.reasoning


@pytest.mark.parametrize(
    "turn", [Turn(answer="It is Par", finish_reason="length"), Turn(answer="It", flags=["token_limit"])]
)
def test_a_final_answer_cut_off_is_an_error(turn):
    verdict = evaluate_answer(answer_case(CONTAINS), turn)
    assert (verdict.outcome, verdict.error_kind, verdict.score) == ("error", "truncated", None)
    assert verdict.reason.startswith("The answer was cut off at the token limit")


def test_a_failed_request_is_an_error_for_a_final_answer_too():
    verdict = evaluate_answer(answer_case(CONTAINS), Turn(error_kind="server", error="HTTP 500"))
    assert (verdict.outcome, verdict.error_kind, verdict.reason) == ("error", "server", "HTTP 500")


def test_a_reviewer_that_raises_makes_an_error_and_the_others_are_kept():
    slow = {"reviewer": "regex_match", "pattern": "(a|aa)+"}
    verdict = evaluate_answer(answer_case(CONTAINS, slow), "a" * 60 + "Paris")
    assert (verdict.outcome, verdict.error_kind, verdict.score) == ("error", "reviewer", None)
    assert verdict.reason.startswith("regex_match could not judge: ")
    contains, regex = verdict.details["reviews"]
    assert (contains["passed"], contains["score"], contains["error_kind"]) == (True, 1.0, None)
    assert (regex["passed"], regex["score"], regex["error_kind"]) == (None, None, "reviewer")


def test_verdicts_of_judges_are_handed_in_by_their_place():
    by_hand = {1: Verdict(False, 0.4, "subset", details={"choice": "A", "judge_model": "m"})}
    verdict = evaluate_answer(answer_case(CONTAINS, EXACT), "It is Paris.", judged=by_hand)
    assert (verdict.score, verdict.passed) == (0.7, False)
    assert verdict.details["reviews"][1] == {
        "reviewer": "exact_match",
        "passed": False,
        "score": 0.4,
        "reason": "subset",
        "error_kind": None,
        "choice": "A",
        "judge_model": "m",
    }


def test_an_unreadable_judge_makes_an_error_of_its_own_kind():
    unreadable = Verdict(None, None, "named no choice", error_kind="judge_unreadable")
    verdict = evaluate_answer(answer_case(CONTAINS, EXACT), "Paris", judged={1: unreadable})
    assert (verdict.error_kind, verdict.reason) == ("judge_unreadable", "exact_match could not judge: named no choice")


def test_reviews_combine_into_the_cases_verdict():
    rows = [
        review_row({"reviewer": name}, Verdict(score >= 0.8, score, "r")) for name, score in (("a", 0.9), ("b", 0.6))
    ]
    verdict = combine(rows, flags=["refused"])
    assert (verdict.outcome, verdict.score, verdict.flags) == ("failed", 0.75, ("refused",))
    assert verdict.reason == "1 of 2 reviewers passed. b: r; a: r"
    with pytest.raises(ValueError, match="needs at least one review"):
        combine([])


def test_a_turn_worth_reviewing_has_no_verdict_yet():
    assert without_review(Turn(answer="Paris")) is None
    assert without_review(Turn(tool_calls=[ToolCall("read_file", "{}")])).outcome == "called_tool"
