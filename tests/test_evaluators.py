"""From a case and a turn to a verdict: every row of the outcome table, and what is recorded beside it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.cases import EvalCase
from evalkit.errors import DatasetError
from evalkit.evaluators import (
    as_turn,
    evaluate_answer,
    evaluate_tool_call,
    mismatch_rows,
)
from evalkit.records import Mismatch, ToolCall, Turn
from evalkit.tools import as_tools
from evalkit.toolschema import tool_schema

TOOLS = as_tools(
    [
        {
            "name": "list_files",
            "parameters": {"type": "object", "properties": {"directory": {"type": "string", "default": "."}}},
        },
        {
            "name": "read_file",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        },
        {"name": "delete_file", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}},
    ]
)


def case(expected="list_files", **fields):
    return EvalCase.from_dict({"input": "What is there?", "expected_tool": expected, **fields})


def call(name="list_files", arguments="{}", **turn):
    return Turn(tool_calls=[ToolCall(name, arguments)], **turn)


def calls(*names, **turn):
    return Turn(tool_calls=[ToolCall(name, "{}") for name in names], **turn)


def judged(turn, expected="list_files", tools=TOOLS, **fields):
    return evaluate_tool_call(case(expected, **fields), turn, tools)


TEXT = Turn(answer="There are three files.")
AS_TEXT = "got the call as text: the endpoint does not return tool calls"
CALL_AS_TEXT = '{"name": "list_files", "arguments": {"directory": "src"}}'
WRONG = "Wrong tool: expected list_files, got"


@pytest.mark.parametrize(
    ("expected", "fields", "turn", "outcome", "passed", "score", "reason"),
    [
        ("list_files", {}, call(), "correct", True, 1.0, "Correct: selected list_files"),
        (
            "read_file",
            {"secondary_tools": ["list_files"]},
            call(),
            "secondary",
            True,
            0.5,
            "Acceptable: selected list_files (secondary)",
        ),
        ("none", {}, TEXT, "correct", True, 1.0, "Correct: no tool call"),
        ("none", {}, call("read_file"), "unexpected_call", False, 0.0, "Expected no tool call, got read_file"),
        ("none", {}, call("list_dir"), "unexpected_call", False, 0.0, "Expected no tool call, got list_dir"),
        ("none", {}, call("read_file", '{"pa'), "unexpected_call", False, 0.0, "Expected no tool call, got read_file"),
        ("none", {}, calls("read_file", "x"), "unexpected_call", False, 0.0, "Expected no tool call, got read_file"),
        (
            "none",
            {"secondary_tools": ["list_files"]},
            call(),
            "secondary",
            True,
            0.5,
            "Acceptable: selected list_files (secondary)",
        ),
        ("list_files", {}, call("read_file"), "wrong_tool", False, 0.0, f"{WRONG} read_file"),
        ("list_files", {}, call("read_file", '{"path'), "wrong_tool", False, 0.0, f"{WRONG} read_file"),
        (
            "list_files",
            {},
            call("list_dir"),
            "unknown_tool",
            False,
            0.0,
            f"{WRONG} list_dir, which was not offered (nearest: list_files)",
        ),
        ("list_files", {}, call("zzz"), "unknown_tool", False, 0.0, f"{WRONG} zzz, which was not offered"),
        ("list_files", {}, TEXT, "no_call", False, 0.0, "Expected list_files, got no tool call"),
        ("list_files", {}, None, "no_call", False, 0.0, "Expected list_files, got no tool call"),
        (
            "list_files",
            {"secondary_tools": ["none"]},
            TEXT,
            "secondary",
            True,
            0.5,
            "Acceptable: no tool call (secondary)",
        ),
        ("list_files", {}, Turn(answer=CALL_AS_TEXT), "call_in_text", False, 0.0, f"Expected list_files, {AS_TEXT}"),
        (
            "list_files",
            {},
            Turn(answer="I cannot.", flags=["refused"]),
            "refused",
            False,
            0.0,
            "Expected list_files, got a refusal",
        ),
        (
            "list_files",
            {},
            Turn(finish_reason="content_filter"),
            "refused",
            False,
            0.0,
            "Expected list_files, got a filtered reply (finish reason 'content_filter')",
        ),
        ("list_files", {}, Turn(answer=" \n"), "empty", False, 0.0, "Expected list_files, got an empty message"),
        ("none", {}, Turn(answer="No.", flags=["refused"]), "correct", True, 1.0, "Correct: no tool call"),
        ("none", {}, None, "correct", True, 1.0, "Correct: no tool call"),
        ("any", {}, call("delete_file"), "correct", True, 1.0, "Correct: selected delete_file"),
        ("any", {}, TEXT, "no_call", False, 0.0, "Expected any tool, got no tool call"),
        (
            "any",
            {},
            call("xyz"),
            "unknown_tool",
            False,
            0.0,
            "Wrong tool: expected any tool, got xyz, which was not offered",
        ),
        (
            "list_files",
            {},
            Turn(tool_calls=[ToolCall(None)]),
            "unusable_call",
            False,
            0.0,
            "Expected list_files, got a call without a usable name",
        ),
        (
            "list_files",
            {},
            Turn(tool_calls=[ToolCall("run_sql", "select 1", kind="custom")]),
            "unusable_call",
            False,
            0.0,
            "Expected list_files, got a custom call (run_sql), which has no arguments",
        ),
        (
            "none",
            {},
            Turn(tool_calls=[ToolCall(None)]),
            "unexpected_call",
            False,
            0.0,
            "Expected no tool call, got a call without a usable name",
        ),
        (
            "list_files",
            {"calls": "only"},
            calls("list_files", "list_files"),
            "extra_calls",
            False,
            0.0,
            "Expected one call, got 2",
        ),
        ("list_files", {"calls": "only"}, call(), "correct", True, 1.0, "Correct: selected list_files"),
        ("list_files", {"calls": "only"}, call("read_file"), "wrong_tool", False, 0.0, f"{WRONG} read_file"),
        (
            "list_files",
            {"expected_arguments": {"directory": "src"}},
            call(arguments={"directory": "SRC"}),
            "wrong_arguments",
            False,
            0.0,
            'Wrong arguments for list_files: directory: expected "src", got "SRC" (differs in letter case)',
        ),
        (
            "list_files",
            {},
            call(arguments='{"directory": "a" "b"}'),
            "unparsable",
            False,
            0.0,
            "Unparsable arguments for list_files: Expecting ',' delimiter (line 1, column 19)",
        ),
        (
            "list_files",
            {},
            Turn(error_kind="timeout", error="no answer in 120 s"),
            "error",
            None,
            None,
            "no answer in 120 s",
        ),
    ],
)
def test_a_turn_and_its_verdict(expected, fields, turn, outcome, passed, score, reason):
    verdict = judged(turn, expected, **fields)
    assert (verdict.outcome, verdict.passed, verdict.score, verdict.reason) == (outcome, passed, score, reason)


@pytest.mark.parametrize(
    ("turn", "expected", "fields", "tool", "tool_passed", "flags"),
    [
        (call(), "list_files", {}, "list_files", True, ()),
        (call("read_file"), "list_files", {}, "read_file", False, ()),
        (TEXT, "list_files", {}, "none", False, ()),
        (TEXT, "none", {}, "none", True, ()),
        (Turn(answer="No.", flags=["refused"]), "none", {}, "none", True, ("refused",)),
        (Turn(flags=["refused"]), "none", {}, "none", False, ("refused", "empty")),
        (Turn(finish_reason="content_filter", answer="…"), "none", {}, "none", False, ("refused",)),
        (Turn(finish_reason="xyz", answer="Hi"), "none", {}, "none", True, ("unknown_finish_reason",)),
        (Turn(), "list_files", {}, "none", False, ("empty",)),
        (Turn(tool_calls=[ToolCall(" ")]), "list_files", {}, None, False, ()),
        (Turn(tool_calls=[ToolCall(None)]), "list_files", {}, None, False, ()),
        (calls("read_file", "list_files"), "list_files", {}, "read_file", False, ("extra_calls",)),
        (calls("read_file", "list_files"), "list_files", {"calls": "any"}, "list_files", True, ("extra_calls",)),
        (calls("list_files", "read_file"), "list_files", {"calls": "only"}, "list_files", True, ("extra_calls",)),
        (Turn(answer=CALL_AS_TEXT), "list_files", {}, "list_files", False, ("call_in_text",)),
        (call(flags=["token_limit"]), "list_files", {}, "list_files", True, ("token_limit", "truncated")),
        (Turn(error_kind="timeout"), "list_files", {}, None, None, ()),
    ],
)
def test_what_is_recorded_beside_the_verdict(turn, expected, fields, tool, tool_passed, flags):
    verdict = judged(turn, expected, **fields)
    assert (verdict.actual_tool, verdict.tool_passed, verdict.flags) == (tool, tool_passed, flags)


SILENCE = [  # a turn without a call, and what it is where no tool was expected
    (Turn(), "empty", None),
    (Turn(answer=""), "empty", None),
    (Turn(answer=" \u00a0\u200b\ufeff"), "empty", None),
    (Turn(answer="<think>No tool fits."), "empty", None),
    (Turn(answer="No tool fits.</think>"), "empty", None),
    (Turn(reasoning="No tool fits."), "empty", None),
    (Turn(finish_reason="stop"), "empty", None),
    (Turn(finish_reason="xyz"), "empty", None),
    (Turn(flags=["refused"]), "refused", None),
    (Turn(finish_reason="refusal"), "refused", None),
    (Turn(finish_reason="content_filter"), "refused", None),
    (Turn(finish_reason="SAFETY"), "refused", None),
    (Turn(finish_reason="RECITATION", answer="Once"), "refused", None),
    (Turn(finish_reason="sensitive", answer="Once"), "refused", None),
    (Turn(finish_reason="MALFORMED_FUNCTION_CALL"), "unusable_call", None),
    (Turn(finish_reason="malformed_tool_use", answer="Let me look."), "unusable_call", None),
    (Turn(finish_reason="error"), "error", "server"),
    (Turn(finish_reason="network_error", answer="Once"), "error", "server"),
    (Turn(finish_reason="insufficient_system_resource"), "error", "server"),
    (Turn(finish_reason="MAX_TOKENS"), "error", "truncated"),
    (Turn(finish_reason="model_length", answer="<think>Which"), "error", "truncated"),
    (Turn(finish_reason="pause_turn", answer=""), "error", "truncated"),
]


@pytest.mark.parametrize(("turn", "outcome", "error_kind"), SILENCE)
@pytest.mark.parametrize(
    ("expected", "fields"),
    [("none", {}), ("list_files", {"secondary_tools": ["none"]}), ("list_files", {}), ("any", {})],
)
def test_silence_is_no_abstention(turn, outcome, error_kind, expected, fields):
    verdict = judged(turn, expected, **fields)
    assert (verdict.outcome, verdict.error_kind) == (outcome, error_kind)
    assert (verdict.passed, verdict.score) == ((None, None) if outcome == "error" else (False, 0.0))


def test_thinking_in_front_of_an_answer_is_no_part_of_it():
    turn = Turn(answer="<think>list_files?</think>Hello.")
    assert (turn.answer, turn.reasoning, turn.flags) == ("Hello.", "<think>list_files?</think>", ("thinking",))
    assert judged(turn, "none").outcome == "correct"


@pytest.mark.parametrize("finish_reason", ["error", "abort", "USER_CANCEL"])
def test_a_call_in_a_reply_that_the_provider_gave_up_is_not_scored(finish_reason):
    verdict = judged(call(finish_reason=finish_reason))
    assert (verdict.outcome, verdict.error_kind) == ("error", "server")
    assert verdict.reason == f"the provider gave up: finish reason {finish_reason!r}"


@pytest.mark.parametrize(
    ("mode", "names", "outcome", "score"),
    [
        ("first", ["list_files", "read_file"], "correct", 1.0),
        ("first", ["read_file", "list_files"], "wrong_tool", 0.0),
        ("any", ["read_file", "list_files"], "correct", 1.0),
        ("any", ["delete_file", "list_files"], "correct", 1.0),
        ("any", ["delete_file", "read_file"], "secondary", 0.5),
        ("any", ["read_file", "list_files"][::-1], "correct", 1.0),
        ("any", ["xyz", "xyz"], "unknown_tool", 0.0),
        ("only", ["list_files", "list_files"], "extra_calls", 0.0),
    ],
)
def test_which_of_several_calls_counts(mode, names, outcome, score):
    secondary = {"secondary_tools": ["read_file"]} if names == ["delete_file", "read_file"] else {}
    verdict = judged(calls(*names), calls=mode, **secondary)
    assert (verdict.outcome, verdict.score) == (outcome, score)
    assert "extra_calls" in verdict.flags


def test_with_calls_any_the_best_arguments_count():
    turn = Turn(tool_calls=[ToolCall("read_file", {"path": "a", "x": 1}), ToolCall("read_file", {"path": "b"})])
    verdict = judged(turn, "read_file", calls="any", expected_arguments={"path": "b"})
    assert (verdict.outcome, verdict.actual_arguments) == ("correct", '{"path": "b"}')
    verdict = judged(turn, "read_file", calls="any", expected_arguments={"path": "a"})
    assert (verdict.outcome, verdict.score, verdict.actual_arguments) == (
        "wrong_arguments",
        0.5,
        '{"path": "a", "x": 1}',
    )


def test_with_calls_any_a_cut_off_call_that_might_have_passed_is_an_error():
    turn = Turn(tool_calls=[ToolCall("read_file", "{}"), ToolCall("list_files", '{"dir')], finish_reason="length")
    assert judged(turn, calls="any").error_kind == "truncated"
    passing = Turn(tool_calls=[ToolCall("list_files", "{}"), ToolCall("list_files", '{"dir')], finish_reason="length")
    assert judged(passing, calls="any").outcome == "correct"


def test_without_tools_no_name_is_unknown():
    assert judged(call("list_dir"), tools=()).reason == "Wrong tool: expected list_files, got list_dir"
    assert judged(call("list_dir"), tools=()).outcome == "wrong_tool"
    assert judged(call("list_dir"), "any", tools=()).outcome == "correct"
    extra = judged(call(arguments={"a": 1}), tools=(), expected_arguments={"b": 2})
    assert [one.kind for one in extra.mismatches] == ["missing", "extra"]


@pytest.mark.parametrize(
    "tools", [list(TOOLS), [tool.chat() for tool in TOOLS], {"tools": [TOOLS[0].responses()]}, TOOLS[0]]
)
def test_tools_may_be_given_in_any_form(tools):
    assert judged(call("list_dir"), tools=tools).outcome == "unknown_tool"
    assert judged(call(arguments={"directory": 5}), tools=tools).schema_valid is False


@pytest.mark.parametrize(
    ("finish_reason", "flags"),
    [
        ("length", ()),
        ("max_tokens", ()),
        ("MAX_TOKENS", ()),
        ("model_length", ()),
        ("model_context_window_exceeded", ()),
        ("max_output_tokens", ()),
        ("incomplete", ()),
        ("tool_calls", ("token_limit",)),
    ],
)
@pytest.mark.parametrize("fields", [{}, {"expected_arguments": {"directory": "src"}}])
def test_arguments_cut_off_at_the_token_limit_are_an_error_not_a_failure(finish_reason, flags, fields):
    turn = call(arguments='{"directory": "annual rep', finish_reason=finish_reason, flags=flags)
    verdict = judged(turn, **fields)
    assert (verdict.outcome, verdict.error_kind) == ("error", "truncated")
    assert (verdict.passed, verdict.score, verdict.arguments_passed) == (None, None, None)
    assert (verdict.actual_tool, verdict.actual_arguments) == ("list_files", '{"directory": "annual rep')
    assert finish_reason in verdict.reason
    assert "truncated" in verdict.flags


def test_broken_arguments_at_the_limit_that_were_not_cut_off_are_unparsable():
    assert judged(call(arguments='{"a": 1,}', finish_reason="length")).outcome == "unparsable"


@pytest.mark.parametrize("expected", ["list_files", "none", "any"])
def test_an_empty_reply_at_the_token_limit_is_an_error_whatever_was_expected(expected):
    verdict = judged(Turn(answer="", finish_reason="length"), expected)
    assert (verdict.outcome, verdict.error_kind, verdict.score) == ("error", "truncated", None)


@pytest.mark.parametrize(
    ("turn", "expected", "outcome"),
    [
        (call(finish_reason="length"), "list_files", "correct"),
        (Turn(answer="The capital of", finish_reason="length"), "none", "correct"),
        (Turn(answer="The capital of", finish_reason="length"), "list_files", "no_call"),
        (call("read_file", '{"pa', finish_reason="length"), "list_files", "wrong_tool"),
        (call("read_file", '{"pa', finish_reason="length"), "none", "unexpected_call"),
    ],
)
def test_what_is_decided_at_the_token_limit_is_scored_as_it_is_and_flagged(turn, expected, outcome):
    verdict = judged(turn, expected)
    assert verdict.outcome == outcome
    assert "truncated" in verdict.flags


@pytest.mark.parametrize(
    "entry",
    [{}, "get_weather", None, 5, {"type": "function", "function": None}, {"type": "custom", "custom": {"name": "x"}}],
)
def test_an_entry_that_is_no_call_is_unusable_and_kept(entry):
    verdict = judged(Turn(tool_calls=[entry]))
    assert verdict.outcome == "unusable_call"
    assert verdict.details["entry"] == (
        entry if entry is not None else {"name": None, "arguments": None, "kind": "function"}
    )
    assert judged(Turn(tool_calls=[entry]), "none").outcome == "unexpected_call"


@pytest.mark.parametrize("tool_calls", [None, [], ()])
def test_no_entries_are_no_call(tool_calls):
    turn = Turn(tool_calls=tool_calls, answer="Hello")
    assert judged(turn).outcome == "no_call"
    assert judged(turn, "none").outcome == "correct"


def test_the_raw_entry_is_kept_as_text_where_it_has_no_json_form():
    verdict = judged(Turn(tool_calls=[ToolCall(None, raw={"a": {1}})]))
    assert verdict.details["entry"] == "{'a': {1}}"


def test_arguments_are_scored_by_their_share_and_listed():
    verdict = judged(
        call("read_file", '{"path": "cargo.toml", "encoding": "utf-8", "lines": "5"}'),
        "read_file",
        expected_arguments={"path": "Cargo.toml", "lines": 5, "start": 1, "encoding": "utf-8"},
    )
    assert (verdict.outcome, verdict.passed, verdict.tool_passed) == ("wrong_arguments", False, True)
    assert verdict.score == verdict.arguments_score == 0.25
    assert verdict.arguments_passed is False
    assert verdict.reason == (
        'Wrong arguments for read_file: path: expected "Cargo.toml", got "cargo.toml" (differs in letter case); '
        'lines: expected 5, got "5" (another type); start: not sent, expected 1'
    )
    assert verdict.mismatches[1] == Mismatch("lines", "type", 5, "5")


def test_a_reason_lists_twenty_mismatches_and_counts_the_rest():
    verdict = judged(call(arguments={}), tools=(), expected_arguments={f"a{n}": n for n in range(25)})
    assert len(verdict.mismatches) == 25
    assert verdict.reason.endswith("a19: not sent, expected 19; and 5 more")


@pytest.mark.parametrize(
    ("arguments", "outcome", "score", "passed"),
    [
        ({"path": "a"}, "secondary", 0.5, True),
        ({"path": "b"}, "wrong_arguments", 0.0, False),
        ({"path": "a", "x": 1}, "wrong_arguments", 0.25, False),
        ('{"path"', "unparsable", 0.0, False),
    ],
)
def test_a_secondary_tools_arguments_are_checked_where_the_case_gives_them(arguments, outcome, score, passed):
    secondary = [{"tool": "read_file", "arguments": {"path": "a"}}]
    verdict = judged(call("read_file", arguments), secondary_tools=secondary)
    assert (verdict.outcome, verdict.score, verdict.passed) == (outcome, score, passed)
    assert judged(call("read_file", {"path": "z"}), secondary_tools=["read_file"]).score == 0.5


def test_a_secondary_tool_may_stand_there_with_several_arguments():
    secondary = [{"tool": "read_file", "arguments": {"path": name}} for name in ("a", "b")]
    assert judged(call("read_file", {"path": "b"}), secondary_tools=secondary).passed
    assert judged(call("read_file", {"path": "c"}), secondary_tools=secondary).outcome == "wrong_arguments"


@pytest.mark.parametrize(
    ("extra", "outcome", "mismatches"),
    [
        (None, "correct", [("directory", "extra_optional", True)]),
        ("declared", "correct", [("directory", "extra_optional", True)]),
        ("none", "wrong_arguments", [("directory", "extra", False)]),
        ("any", "correct", [("directory", "extra_optional", True)]),
    ],
)
def test_extra_arguments_are_judged_by_the_case_and_the_schema(extra, outcome, mismatches):
    fields = {"extra_arguments": extra} if extra else {}
    verdict = judged(call(arguments={"directory": "b", "a": 1}), expected_arguments={"a": 1}, **fields)
    assert verdict.outcome == outcome
    assert [(one.path, one.kind, one.ok) for one in verdict.mismatches] == mismatches


def test_an_argument_not_sent_is_right_where_the_schema_declares_it_as_default():
    verdict = judged(call(), expected_arguments={"directory": "."})
    assert (verdict.outcome, verdict.arguments_score) == ("correct", 1.0)
    assert judged(call(), tools=(), expected_arguments={"directory": "."}).outcome == "wrong_arguments"


@pytest.mark.parametrize(
    ("turn", "expected", "score", "arguments_score", "arguments_passed"),
    [
        (call(), "list_files", 1.0, 1.0, True),
        (call(arguments={"verbose": True}), "list_files", 0.0, 0.0, False),
        (call(arguments={"directory": "."}), "list_files", 0.0, 0.0, False),
        (call("read_file"), "list_files", 0.0, None, None),
        (TEXT, "list_files", 0.0, None, None),
    ],
)
def test_no_expected_arguments_is_something_to_check_only_where_the_tool_is_right(
    turn, expected, score, arguments_score, arguments_passed
):
    verdict = judged(turn, expected, expected_arguments={})
    assert (verdict.score, verdict.arguments_score, verdict.arguments_passed) == (
        score,
        arguments_score,
        arguments_passed,
    )


def test_arguments_that_are_not_expected_are_not_checked():
    verdict = judged(call(arguments={"anything": 1}))
    assert (verdict.outcome, verdict.arguments_score, verdict.mismatches) == ("correct", None, ())


@pytest.mark.parametrize(
    ("name", "arguments", "valid"),
    [
        ("list_files", {"directory": "a"}, True),
        ("list_files", {"directory": 5}, False),
        ("read_file", {}, False),
        ("unknown", {}, None),
        ("list_files", "{", None),
        ("list_files", "", True),
    ],
)
def test_arguments_are_held_against_the_tools_own_schema_beside_the_verdict(name, arguments, valid):
    assert judged(call(name, arguments)).schema_valid is valid


def test_a_schema_that_cannot_be_judged_leaves_schema_valid_unknown():
    for broken in (
        {"$ref": "https://schemas.example.invalid/a.json"},
        {"$ref": "#/x"},
        {"type": "banana"},
        {"pattern": "("},
    ):
        assert tool_schema(broken).valid({"a": 1}) is None
    loop = {"$ref": "#/$defs/loop", "$defs": {"loop": {"$ref": "#/$defs/loop"}}}
    assert tool_schema(loop).valid({"a": 1}) is None


def test_a_bare_name_is_judged_by_the_tool_alone():
    verdict = judged("list_files", expected_arguments={"directory": "src"})
    assert (verdict.outcome, verdict.score, verdict.flags) == ("correct", 1.0, ("arguments_unknown",))
    assert (verdict.arguments_passed, verdict.arguments_score, verdict.actual_arguments) == (None, None, None)
    assert judged("read_file").outcome == "wrong_tool"
    assert judged("read_file", secondary_tools=["read_file"]).outcome == "secondary"
    assert judged("list_dir").outcome == "unknown_tool"
    assert judged("none").outcome == "no_call"
    assert judged(None, "none").outcome == "correct"


def test_a_turn_in_short_form_gives_the_same_verdict_when_it_is_stored_as_a_turn():
    for short in ("list_files", "read_file", "none", None):
        direct = judged(short, expected_arguments={"directory": "src"})
        stored = as_turn(short)
        again = Turn(tool_calls=stored.tool_calls, flags=(*stored.flags, *direct.flags))
        assert judged(again, expected_arguments={"directory": "src"}) == direct
    with pytest.raises(TypeError, match="a turn is a Turn, the name of the tool called, or None; got list"):
        as_turn([])


def test_flags_that_scoring_made_are_made_anew():
    turn = call(flags=["extra_calls", "empty", "call_in_text", "empty_arguments", "truncated", "mine"])
    assert judged(turn).flags == ("mine",)


@pytest.mark.parametrize(
    "kind", ["timeout", "rate_limit", "quota", "connection", "server", "bad_request", "auth", "bad_response", "model"]
)
def test_a_failed_request_is_an_error_not_a_failure(kind):
    for expected in ("list_files", "none", "any"):
        verdict = judged(Turn(error_kind=kind, error="what it said"), expected)
        assert (verdict.outcome, verdict.error_kind, verdict.reason) == ("error", kind, "what it said")
        assert (verdict.passed, verdict.score, verdict.tool_passed, verdict.actual_tool) == (None, None, None, None)


def test_a_case_may_be_a_mapping_and_is_checked_like_one_of_a_file():
    verdict = evaluate_tool_call({"input": "a", "expected_tool": "list_files"}, call())
    assert verdict.outcome == "correct"
    with pytest.raises(DatasetError, match="Did you mean 'expected_tool'"):
        evaluate_tool_call({"input": "a", "expected_tol": "list_files"}, call())


def test_each_kind_of_case_goes_to_its_own_function():
    answer = EvalCase.from_dict({"input": "a", "expected": "b", "id": "greet"})
    with pytest.raises(ValueError, match="case 'greet' expects no tool choice; use evaluate_answer"):
        evaluate_tool_call(answer, call())
    with pytest.raises(ValueError, match="has no reviewers; use evaluate_tool_call"):
        evaluate_answer(case(), "text")


json_scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6)
json_values = st.recursive(
    json_scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)
names = st.sampled_from(["list_files", "read_file", "List_files", "x", "", None])
sent = st.one_of(st.text(max_size=20), json_values, st.dictionaries(st.text(max_size=4), json_values, max_size=3))
entries = st.builds(ToolCall, names, sent, kind=st.sampled_from(["function", "custom"]))
turns = st.builds(
    Turn,
    tool_calls=st.lists(entries, max_size=3),
    answer=st.sampled_from([None, "", "text", CALL_AS_TEXT, "```json\n{}\n```"]),
    finish_reason=st.sampled_from([None, "stop", "length", "content_filter"]),
    flags=st.lists(st.sampled_from(["refused", "token_limit"]), max_size=2),
)


@settings(max_examples=200, deadline=None)
@given(turns, st.sampled_from(["list_files", "none", "any"]), st.sampled_from(["first", "any", "only"]), st.booleans())
def test_any_turn_has_a_verdict_with_a_reason(turn, expected, mode, with_arguments):
    fields = (
        {"expected_arguments": {"directory": "src", "deep": [{"a": 1}]}}
        if with_arguments and expected == "list_files"
        else {}
    )
    verdict = judged(turn, expected, calls=mode, **fields)
    assert verdict.reason
    assert (verdict.outcome == "error") is (verdict.passed is None) is (verdict.score is None)
    assert verdict.passed is None or (verdict.passed is (verdict.outcome in ("correct", "secondary")))
    assert verdict.score is None or 0 <= verdict.score <= 1
    json.dumps([mismatch_rows(verdict.mismatches), verdict.details], allow_nan=False)
    assert judged(turn, expected, calls=mode, **fields) == verdict
