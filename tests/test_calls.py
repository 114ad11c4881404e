"""Tool calls as they come: arguments in every form, names nearly right, what a call written as text is worth."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from evalkit.cases import EvalCase
from evalkit.evaluators import evaluate_tool_call
from evalkit.records import ToolCall, Turn
from evalkit.tools import as_tools

TOOLS = as_tools(
    [
        {"name": "list_files", "parameters": {"type": "object", "properties": {"directory": {"type": "string"}}}},
        {"name": "read_file", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}},
    ]
)
CALL_AS_TEXT = '{"name": "list_files", "arguments": {"directory": "src"}}'


def judged(turn, expected="list_files", tools=TOOLS, **fields):
    case = EvalCase.from_dict({"input": "What is there?", "expected_tool": expected, **fields})
    return evaluate_tool_call(case, turn, tools)


def call(name="list_files", arguments="{}"):
    return Turn(tool_calls=[ToolCall(name, arguments)])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("List_Files", "nearest: list_files, which differs only in letter case"),
        ("functions.list_files", "nearest: list_files, which differs only in the prefix 'functions.'"),
        ("default_api:list_files", "nearest: list_files, which differs only in the prefix 'default_api:'"),
        ("mcp__files__list_files", "nearest: list_files, which differs only in the prefix 'mcp__files__'"),
        ("tools/List_files", "nearest: list_files, which differs only in the prefix 'tools/' and letter case"),
        (" list_files", "nearest: list_files, which differs only in white space"),
        ("listfiles", "nearest: list_files"),
    ],
)
def test_a_name_nearly_right_is_still_unknown_and_the_reason_says_how_near(name, said):
    verdict = judged(call(name))
    assert (verdict.outcome, verdict.score) == ("unknown_tool", 0.0)
    assert verdict.reason == f"Wrong tool: expected list_files, got {name}, which was not offered ({said})"


def test_a_wrapper_around_parallel_calls_is_unknown_and_says_what_it_holds():
    inner = {"tool_uses": [{"recipient_name": "functions.list_files", "parameters": {}}]}
    verdict = judged(call("multi_tool_use.parallel", inner))
    assert verdict.outcome == "unknown_tool"
    assert verdict.reason.endswith("which was not offered (a wrapper around parallel calls: functions.list_files)")


@pytest.mark.parametrize("arguments", ["", "   ", "\n", None, "null", " null "])
def test_empty_arguments_mean_no_arguments_and_are_flagged(arguments):
    verdict = judged(call(arguments=arguments), expected_arguments={})
    assert (verdict.outcome, verdict.arguments_score, verdict.flags) == ("correct", 1.0, ("empty_arguments",))
    assert verdict.actual_arguments == "{}"
    assert verdict.schema_valid is True


@pytest.mark.parametrize("arguments", ["{}", {}, " {} "])
def test_no_arguments_spelt_out_are_not_flagged(arguments):
    verdict = judged(call(arguments=arguments), expected_arguments={})
    assert (verdict.outcome, verdict.flags) == ("correct", ())


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ('{"a": 1, "a": 2}', "the key 'a' appears twice in one object"),
        ('{"a": {"b": 1, "b": 1}}', "the key 'b' appears twice in one object"),
        ('{"a": NaN}', "NaN is not JSON (line 1, column 7)"),
        ('{"a": -Infinity}', "-Infinity is not JSON"),
        ("{'a': 1}", "Expecting property name enclosed in double quotes (line 1, column 2)"),
        ('{"a": 1} {"b": 2}', "Extra data (line 1, column 10)"),
        ('{"directory": "sr', "Unterminated string starting at (line 1, column 15)"),
        ("[1]", "they are a JSON list, not a JSON object"),
        ('"{}"', "they are a JSON text, not a JSON object"),
        ("5", "they are the JSON value 5, not a JSON object"),
        ("src", "Expecting value (line 1, column 1)"),
        ("[" * 300, "nested deeper than 200 levels"),
        ('{"a": 1e99999999999999999999999}', "the exponent of 1e99999999999999999999999 is too large to hold"),
        ({"a": float("nan")}, "they are not JSON: at a: nan is not JSON"),
        ({"a": {1, 2}}, "they are not JSON: at a: a set has no JSON form"),
        ({"a": [object]}, "they are not JSON: at a[0]: a type has no JSON form"),
        ({1: 2}, "they are not JSON: the key 1 is not text"),
        ([1], "they are a JSON list, not a JSON object"),
        (5, "they are the JSON value 5, not a JSON object"),
    ],
)
def test_arguments_that_are_no_json_object_fail_and_the_reason_says_why(arguments, problem):
    for fields in ({}, {"expected_arguments": {"directory": "src"}}):
        verdict = judged(call(arguments=arguments), **fields)
        assert (verdict.outcome, verdict.passed, verdict.score) == ("unparsable", False, 0.0)
        assert verdict.reason.startswith(f"Unparsable arguments for list_files: {problem}")
        assert (verdict.tool_passed, verdict.schema_valid) == (True, None)
        assert verdict.arguments_passed is (False if fields else None)
        assert verdict.actual_arguments == (arguments if isinstance(arguments, str) else verdict.actual_arguments)


def test_a_mapping_that_holds_itself_is_unparsable():
    arguments = {}
    arguments["a"] = arguments
    assert judged(call(arguments=arguments)).outcome == "unparsable"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"a": (1, 2)}, {"a": [1, 2]}),
        ({"a": Decimal("1.50")}, {"a": 1.5}),
        ({"a": Decimal("5")}, {"a": 5}),
        ({"a": 1.0}, {"a": 1}),
        ({"a": 2**80}, {"a": 2**80}),
        ('{"a": 1234567890123456789}', {"a": 1234567890123456789}),
        ('{"a": 1e400}', {"a": Decimal("1e400")}),
        ('{"a": "\\ud83d"}', {"a": "\ud83d"}),
        ('{"a": "\\u00e9"}', {"a": "é"}),
    ],
)
def test_python_values_and_json_text_mean_the_same(arguments, expected):
    verdict = judged(call(arguments=arguments), tools=(), expected_arguments=expected)
    assert verdict.outcome == "correct", verdict.reason
    json.loads(verdict.actual_arguments)


def test_a_call_of_another_tool_as_text_is_named():
    turn = Turn(answer='{"name": "read_file", "arguments": {"path": "a"}}')
    verdict = judged(turn)
    assert verdict.outcome == "call_in_text"
    assert verdict.reason == (
        "Expected list_files, got a call of read_file as text: the endpoint does not return tool calls"
    )
    assert judged(turn, "none", secondary_tools=["read_file"]).outcome == "call_in_text"
    assert judged(turn, secondary_tools=["none"]).outcome == "call_in_text"


def test_text_calls_accept_scores_the_text_as_a_call_and_notes_it():
    turn = Turn(answer=CALL_AS_TEXT)
    fields = {"text_calls": "accept", "expected_arguments": {"directory": "src"}}
    verdict = judged(turn, **fields)
    assert (verdict.outcome, verdict.passed, verdict.score) == ("correct", True, 1.0)
    assert verdict.reason == "Correct: selected list_files"
    assert (verdict.actual_arguments, verdict.flags) == ('{"directory": "src"}', ("call_in_text",))
    assert judged(turn, "read_file", text_calls="accept").outcome == "wrong_tool"
    assert judged(turn, "none", text_calls="accept").outcome == "unexpected_call"
    assert judged(Turn(answer="Three files."), text_calls="accept").outcome == "no_call"
