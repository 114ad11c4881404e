"""Every kind of reply in one run: from the socket to the stored row, its summary, and the row scored again."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import evalkit as ek
from evalkit.answers import evaluate_answer
from evalkit.lines import summary_lines
from evalkit.rows import row_of, turn_of
from evalkit.runs import find_run
from judge_replies import as_asked, is_for_judge
from loopback_replies import Reply, calls, says

TOOLS = [{"name": "read_file", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}]
READ = ("read_file", {"path": "a"})
THOUGHT = "<think>Could it be London?</think>"

# Per question: what is sent, and the outcome where no tool is expected and where the answer must contain "Paris".
KINDS = {
    "text": (says("It is Paris."), "correct", "passed"),
    "null": (says(None), "empty", "empty"),
    "blank": (says("\u200b \u00a0\n"), "empty", "empty"),
    "thought": (says(f"{THOUGHT}\n\nParis"), "correct", "passed"),
    "only-thought": (says("<think>It is Paris, no tool."), "empty", "empty"),
    "only-reasoning": (Reply(message={"content": None, "reasoning_content": "It is Paris."}), "empty", "empty"),
    "filtered": (says(None, finish_reason="content_filter"), "refused", "refused"),
    "safety": (says("It is Paris", finish_reason="FinishReason.SAFETY"), "refused", "refused"),
    "refusal": (Reply(message={"content": None, "refusal": "Not Paris."}), "correct", "refused"),
    "malformed": (says(None, finish_reason="MALFORMED_FUNCTION_CALL"), "unusable_call", "called_tool"),
    "nothing-left": (says(None, finish_reason="MAX_TOKENS"), "error", "error"),
    "odd": (says("It is Paris.", finish_reason="vanished"), "correct", "passed"),
    "call": (calls(READ), "unexpected_call", "called_tool"),
}


@pytest.fixture
def asked(endpoint, tmp_path):
    def run(script, cases, **more):
        endpoint.script = script
        dataset = ek.Dataset(name="kinds", cases=cases, tools=TOOLS)
        model = ek.OpenAIModel("mock-small", base_url=endpoint.url)
        return ek.run(dataset, model=model, results_dir=tmp_path, progress=False, **more)

    return run


def column(results, name):
    return dict(zip(results["case_id"], results[name], strict=True))


@pytest.mark.parametrize(
    ("expectation", "place"),
    [({"expected_tool": "none"}, 1), ({"reviewers": [{"reviewer": "string_contains", "search_string": "Paris"}]}, 2)],
)
def test_every_kind_of_reply_is_what_it_is(asked, tmp_path, expectation, place):
    cases = [{"id": kind, "input": kind, **expectation} for kind in KINDS]
    results = asked(lambda request: KINDS[request.text][0], cases)
    assert column(results, "outcome") == {kind: about[place] for kind, about in KINDS.items()}
    passing = results["outcome"].isin(["correct", "passed"])
    assert results["passed"].fillna(False).tolist() == passing.tolist()
    assert column(results, "error_kind")["nothing-left"] == "truncated"
    assert column(results, "answer")["thought"] == "Paris"
    assert column(results, "reasoning")["thought"] == THOUGHT
    assert column(results, "reasoning")["only-reasoning"] == "It is Paris."
    flagged = {kind for kind, flags in column(results, "flags").items() if "unknown_finish_reason" in json.loads(flags)}
    assert flagged == {"odd"}
    stored = find_run(results["run_id"].iloc[0], results_dir=tmp_path).description
    said = "Finish reasons not known here: 'vanished' (1 trial)."
    assert [line for line in summary_lines(stored) if said in line]
    again = ek.rescore("latest", results_dir=tmp_path, progress=False)
    verdicts = ["case_id", "outcome", "passed", "score", "reason", "error_kind", "flags", "answer", "reasoning"]
    pd.testing.assert_frame_equal(again[verdicts], results[verdicts])


def test_a_provider_that_gave_up_is_asked_again_and_is_an_error_where_it_never_answers(asked, endpoint, monkeypatch):
    monkeypatch.setattr("evalkit.retries.Clock.backoff", lambda self, earlier: 0.0)
    broken = {
        "reason": says(None, finish_reason="network_error"),
        "half": says("It is Par", finish_reason="ERROR"),
        "called": calls(READ, finish_reason="error"),
        "body": Reply({"error": {"code": 502, "message": "upstream failed"}, "choices": []}),
        "list": Reply([{"error": {"code": 503, "status": "UNAVAILABLE", "message": "overloaded"}}]),
    }

    def script(request):
        kind, _, lasts = request.text.partition("-")
        return broken[kind] if lasts or request.number == 1 else says("Hello.")

    cases = [{"id": kind, "input": kind, "expected_tool": "none"} for one in broken for kind in (one, f"{one}-always")]
    results = asked(script, cases)
    outcomes = column(results, "outcome")
    assert {kind: outcomes[kind] for kind in broken} == dict.fromkeys(broken, "correct")
    assert {kind: outcomes[f"{kind}-always"] for kind in broken} == dict.fromkeys(broken, "error")
    errors = results[results["outcome"] == "error"]
    assert errors["error_kind"].unique().tolist() == ["server"]
    assert "finish reason 'network_error'" in column(results, "error")["reason-always"]
    assert endpoint.asked["reason"] == 2


def test_a_judge_does_not_see_the_thinking(asked):
    shown = []

    def script(request):
        if not is_for_judge(request):
            return says(f"{THOUGHT}Paris")
        shown.append(json.dumps(request.body))
        return as_asked(request, "Y", "it does")

    results = asked(script, [{"id": "a", "input": "Which town?", "reviewers": ["closed_qa"]}])
    assert results["outcome"].tolist() == ["passed"]
    assert shown
    assert not [body for body in shown if "London" in body]


def test_a_stored_answer_with_thinking_in_it_is_scored_without_it():
    """As a run of an older version holds it."""
    case = ek.EvalCase.from_dict(
        {"id": "a", "input": "Town?", "reviewers": [{"reviewer": "string_contains", "search_string": "London"}]}
    )
    turn = ek.Turn(answer="Paris")
    old = {**row_of(case, 1, turn, evaluate_answer(case, turn)), "answer": f"{THOUGHT}Paris"}
    del old["reasoning"]
    turn = turn_of(old)
    assert (turn.answer, turn.reasoning, turn.flags) == ("Paris", THOUGHT, ("thinking",))
    assert evaluate_answer(case, turn).outcome == "failed"
