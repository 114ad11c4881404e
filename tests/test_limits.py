"""What scoring may cost: comparisons that would take for ever make the trial an error, never a failure."""

import json

import pytest

from evalkit import limits, look_alikes, schema_check
from evalkit.arguments import compare_arguments
from evalkit.cases import EvalCase
from evalkit.dataset_advice import check_dataset
from evalkit.datasets import Dataset
from evalkit.differences import text_kind
from evalkit.errors import DatasetError
from evalkit.evaluators import evaluate_tool_call
from evalkit.look_alikes import near_pairs
from evalkit.records import ToolCall, Turn
from evalkit.reviewers import ReviewerError, levenshtein, review
from evalkit.tools import Tool
from evalkit.toolschema import tool_schema

SLOW = {"$regex": "(a|aa)+"}
LONG = "a" * 60 + "b"
LOOP = {"$ref": "#/$defs/loop", "$defs": {"loop": {"$ref": "#/$defs/loop"}}}


def judged(expected, sent, **fields):
    case = EvalCase.from_dict({"input": "x", "expected_tool": "t", "expected_arguments": {"x": expected}, **fields})
    return evaluate_tool_call(case, Turn(tool_calls=[ToolCall("t", json.dumps({"x": sent}))]))


def multiplying(levels):
    """A schema whose parts double with each level: 2 to the power of `levels` looks at one value."""
    parts = {f"p{n}": {"allOf": [{"$ref": f"#/$defs/p{n - 1}"}] * 2} for n in range(1, levels)}
    return {
        "type": "object",
        "properties": {"x": {"$ref": f"#/$defs/p{levels - 1}"}},
        "$defs": {"p0": {"minProperties": 1}, **parts},
    }


def test_a_pattern_that_does_not_end_is_an_error_not_a_failure():
    verdict = judged(SLOW, LONG)
    assert (verdict.passed, verdict.score, verdict.outcome, verdict.error_kind) == (None, None, "error", "reviewer")
    assert (verdict.tool_passed, verdict.actual_tool, verdict.arguments_passed) == (True, "t", None)
    assert "the pattern '(a|aa)+' was not done with a text of 61 characters" in verdict.reason


@pytest.mark.parametrize("matcher", [{"$one_of": [SLOW, "b"]}, {"$contains": SLOW}, {"$unordered": [SLOW]}, [SLOW]])
def test_the_first_such_pattern_ends_the_comparison_wherever_it_stands(matcher):
    assert judged(matcher, [LONG] if matcher != {"$one_of": [SLOW, "b"]} else LONG).error_kind == "reviewer"


@pytest.mark.parametrize("expected", [{"$unordered": [1, 2]}, {"$regex": "a"}])
def test_all_comparisons_of_a_trial_share_one_time(expected):
    with limits.within(0):
        verdict = judged(expected, [2, 3] if "$unordered" in expected else "a")
    assert (verdict.outcome, verdict.error_kind) == ("error", "reviewer")
    assert "Long lists of matchers and slow patterns are the usual cause" in verdict.reason
    assert judged("a", "a").passed


def test_an_inner_limit_never_gives_more_time_than_the_outer_one():
    with limits.within(0), limits.within(60), pytest.raises(limits.TooCostly):
        limits.left()
    assert limits.left() == float("inf")


def test_of_several_calls_one_that_is_right_counts_beside_one_that_could_not_be_compared():
    case = EvalCase.from_dict({"input": "x", "expected_tool": "t", "expected_arguments": {"x": SLOW}, "calls": "any"})
    turn = Turn(tool_calls=[ToolCall("t", {"x": LONG}), ToolCall("t", {"x": "aa"})])
    assert evaluate_tool_call(case, turn).outcome == "correct"


def test_long_texts_are_not_compared_letter_by_letter():
    one, other = "a" * 100_000, "b" * 100_000
    with pytest.raises(limits.TooCostly, match="texts of 100000 and 100000 characters take too long"):
        compare_arguments({"x": {"$similar": one}}, {"x": other})
    with pytest.raises(ReviewerError, match="levenshtein: texts of 100000 and 100000 characters"):
        review("levenshtein", one, other)
    assert levenshtein("a" * 1000, "a" * 999 + "b").score == 0.999
    assert compare_arguments({"x": {"$similar": one}}, {"x": one}).passed


@pytest.mark.parametrize(
    ("actual", "kind"),
    [("é" * 300_000 + " ", "whitespace"), ("É" * 300_000, "case"), ("e" * 300_000, "value")],
)
def test_of_very_long_texts_only_the_plain_differences_are_named(actual, kind):
    assert text_kind("é" * 300_000, actual) == kind


def test_a_tool_schema_that_refers_to_itself_without_end_is_refused():
    with pytest.raises(DatasetError, match="is not a sound JSON Schema: it refers to itself without end"):
        Tool("t", parameters={"type": "object", "properties": {"x": {"$ref": "#/$defs/loop"}}, "$defs": LOOP["$defs"]})


def test_a_tool_schema_that_takes_too_long_leaves_schema_valid_unknown(monkeypatch):
    monkeypatch.setattr(schema_check, "TIMEOUT_S", 0.5)
    assert tool_schema(multiplying(60)).valid({"x": {"a": 1}}) is None
    assert tool_schema(multiplying(8)).valid({"x": {"a": 1}}) is True
    assert tool_schema(multiplying(8)).valid({"x": {}}) is False


def test_a_pattern_in_a_tool_schema_that_goes_back_for_ever_leaves_schema_valid_unknown():
    schema = {"type": "object", "properties": {"x": {"pattern": r"^(a|a)*\1$"}}}
    assert tool_schema(schema).valid({"x": "a" * 40 + "b"}) is None
    assert tool_schema(schema).valid({"x": "aa"}) is True


def test_such_a_pattern_on_a_long_text_is_tried_in_a_process_of_its_own(monkeypatch):
    monkeypatch.setattr(schema_check, "_LONGEST_TRIED", 3)
    schema = {"type": "object", "properties": {"x": {"pattern": "^(?!secret)"}}}
    assert tool_schema(schema).valid({"x": "a secret"}) is True
    assert tool_schema(schema).valid({"x": "secrets"}) is False


def test_advice_leaves_a_schema_alone_that_takes_too_long_and_says_so(monkeypatch):
    monkeypatch.setattr(schema_check, "TIMEOUT_S", 0.5)
    tool = {"name": "t", "description": "Does it", "parameters": multiplying(60)}
    cases = [
        {"input": f"ask for {n}", "expected_tool": "t", "expected_arguments": {"x": {"a": n}}} for n in (1, 22, 333)
    ]
    found = check_dataset(Dataset(name="d", cases=cases, tools=[tool]))
    said = found[found["message"].str.contains("takes too long")]
    assert said["where"].tolist() == ["tool t"]


def test_texts_that_all_look_alike_each_name_the_first_one(monkeypatch):
    monkeypatch.setattr(look_alikes, "_BLOCK", 7)
    texts = [f"the same question for customer number {n}" for n in range(40)]
    other = "something else altogether, and much longer than any of the others are here"
    found = near_pairs([texts[0], other, *texts[1:], texts[3], other], 92)
    assert found.pairs == [*((0, n) for n in range(2, 41)), (1, 42), (4, 41)]
