"""Whatever a server sends becomes a Turn: odd shapes one by one, then arbitrary JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.records import ToolCall, Turn, Usage
from evalkit.replies import Failed, chat_turn, first_words, read_reply, responses_turn, server_words

TWO = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a"}'}}


def chat(message, finish_reason="stop", **more):
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish_reason}], **more}


def with_calls(*entries, **more):
    return chat({"role": "assistant", "content": None, "tool_calls": list(entries)}, "tool_calls", **more)


def function(**fields):
    return {"id": "c", "type": "function", "function": fields}


def test_text_is_the_answer():
    turn = chat_turn(chat({"content": "Hello"}, usage={"prompt_tokens": 3, "completion_tokens": 1}))
    assert turn == Turn(answer="Hello", finish_reason="stop", usage=Usage(3, 1))


def test_what_llama_cpp_had_cached_stands_beside_the_usage():
    turn = chat_turn(
        chat({"content": "Hi"}, usage={"prompt_tokens": 9, "completion_tokens": 1}, timings={"cache_n": 7})
    )
    assert turn.usage == Usage(9, 1, 7)


def test_calls_keep_their_order_and_raw_arguments():
    turn = chat_turn(with_calls(TWO, function(name="list_files", arguments=' {"directory" : "."}')))
    assert [(call.name, call.arguments) for call in turn.tool_calls] == [
        ("read_file", '{"path": "a"}'),
        ("list_files", ' {"directory" : "."}'),
    ]
    assert turn.answer is None
    assert turn.flags == ()


def test_names_are_mapped_back_and_others_left_alone():
    turn = chat_turn(with_calls(TWO, function(name="other")), names={"read_file": "files.read"})
    assert [(call.name, call.sent_name) for call in turn.tool_calls] == [("files.read", "read_file"), ("other", None)]


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ({"arguments": ""}, ""),
        ({"arguments": "   "}, "   "),
        ({"arguments": None}, None),
        ({}, None),
        ({"arguments": "null"}, "null"),
        ({"arguments": "{}"}, "{}"),
        ({"arguments": {"a": 1}}, {"a": 1}),
        ({"arguments": {}}, {}),
        ({"arguments": [1, 2]}, "[1, 2]"),
        ({"arguments": True}, "true"),
        ({"arguments": {"a": float("nan")}}, '{"a": NaN}'),
        ({"arguments": '{"q": "annual rep'}, '{"q": "annual rep'),
    ],
)
def test_arguments_are_kept_as_they_came(fields, kept):
    (call,) = chat_turn(with_calls(function(name="list_open_tickets", **fields))).tool_calls
    assert (call.name, call.arguments, call.kind) == ("list_open_tickets", kept, "function")


@pytest.mark.parametrize("absent", [{"tool_calls": None}, {"tool_calls": []}, {}])
def test_no_tool_calls_is_no_call(absent):
    turn = chat_turn(chat({"content": "Hi", **absent}))
    assert turn.tool_calls == ()
    assert turn.answer == "Hi"


@pytest.mark.parametrize(
    "entry",
    [
        {},
        "get_weather",
        None,
        7,
        [],
        {"type": "function", "function": None},
        {"type": "function", "function": {"name": None, "arguments": "{}"}},
        {"type": "function", "function": {"name": "", "arguments": "{}"}},
        {"type": "function", "function": {"name": {"a": 1}}},
        {"type": "function", "function": "get_weather"},
    ],
)
def test_an_entry_without_a_usable_name_is_a_call_all_the_same(entry):
    turn = chat_turn(with_calls(entry))
    (call,) = turn.tool_calls
    assert call.name is None
    assert call.raw == entry
    assert "empty" not in turn.flags


def test_a_custom_call_keeps_its_text_and_entry():
    entry = {"type": "custom", "custom": {"name": "run_sql", "input": "select 1"}}
    (call,) = chat_turn(with_calls(entry)).tool_calls
    assert (call.name, call.arguments, call.kind, call.raw) == ("run_sql", "select 1", "custom", entry)


def test_a_call_needs_neither_id_nor_type():
    (call,) = chat_turn(with_calls({"function": {"name": "read_file", "arguments": "{}"}})).tool_calls
    assert (call.name, call.kind) == ("read_file", "function")


@pytest.mark.parametrize(
    "nothing",
    [
        {"tool_calls": {}},
        {"tool_calls": []},
        {"tool_calls": ""},
        {"function_call": ""},
        {"function_call": {"name": "", "arguments": ""}},
        {"tool_calls": None, "function_call": {"name": None, "arguments": None}},
    ],
)
def test_an_empty_field_for_calls_holds_none(nothing):
    turn = chat_turn(chat({"content": "Hello", **nothing}))
    assert (turn.tool_calls, turn.answer) == ((), "Hello")


def test_the_legacy_function_call_is_a_call():
    turn = chat_turn(chat({"content": None, "function_call": {"name": "read_file", "arguments": "{}"}}))
    assert [call.name for call in turn.tool_calls] == ["read_file"]
    assert turn.flags == ()


@pytest.mark.parametrize(
    ("second", "kept"),
    [
        ({"function_call": {"name": "read_file", "arguments": '{"path":"a"}'}}, False),
        ({"function_call": {"name": "read_file", "arguments": {"path": "a"}}}, False),
        ({"function_call": {"name": "read_file", "arguments": '{"path": "b"}'}}, True),
        ({"function_call": {"name": "list_files", "arguments": '{"path": "a"}'}}, True),
        ({"function_call": {"name": "read_file", "arguments": '{"path": "a'}}, True),
        ({"function_call": {"arguments": "{}"}}, True),
        ({"function_call": "read_file"}, True),
        ({"function_call": None}, False),
        ({"function_call": {}}, False),
        ({"function_call": {"name": "", "arguments": ""}}, False),
        ({"function_call": {"name": None, "arguments": None}}, False),
        ({"content": [{"type": "tool_use", "name": "read_file", "input": {"path": "a"}}]}, False),
        ({"content": [{"type": "tool_use", "name": "read_file", "input": {"path": "b"}}]}, True),
    ],
)
def test_a_second_call_in_another_field_is_kept_and_flagged_unless_it_is_the_same(second, kept):
    turn = chat_turn(chat({"content": None, "tool_calls": [TWO], **second}, "tool_calls"))
    assert turn.tool_calls[0] == ToolCall("read_file", '{"path": "a"}')
    assert len(turn.tool_calls) == 1 + kept
    assert turn.flags == (("second_call",) if kept else ())
    if kept:
        (entry,) = [second["function_call"]] if "function_call" in second else second["content"]
        assert turn.tool_calls[1].raw == entry


def test_a_null_message_is_an_empty_answer():
    turn = chat_turn(chat(None))
    assert (turn.error_kind, turn.answer, turn.flags) == (None, None, ("empty",))


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ({"content": [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]}, "Hello"),
        ({"content": ["Hel", "lo"]}, "Hello"),
        ({"content": [{"type": "thinking", "text": "hm"}, {"type": "text", "text": "Hello"}]}, "Hello"),
        ({"content": {"capital": "Paris"}}, '{"capital": "Paris"}'),
        ({"content": {"type": "text", "text": "Hello"}}, "Hello"),
        ({"content": 5}, "5"),
        ({"content": "Hello", "reasoning_content": "They greet me."}, "Hello"),
    ],
)
def test_content_of_any_kind_becomes_text(message, answer):
    assert chat_turn(chat(message)).answer == answer


def test_empty_content_beside_a_call_is_kept_and_not_empty():
    turn = chat_turn(chat({"content": "", "tool_calls": [TWO]}))
    assert turn.answer == ""
    assert turn.flags == ()


@pytest.mark.parametrize(
    ("message", "reason", "flags"),
    [
        ({"content": None, "refusal": "No."}, "stop", ("refused",)),
        ({"content": [{"type": "refusal", "refusal": "No."}]}, "stop", ("refused",)),
        ({"content": None}, "content_filter", ("content_filter", "empty")),
        ({"content": "  \n"}, "stop", ("empty",)),
        ({"content": ""}, "length", ("empty", "token_limit")),
        ({"content": "Once upon"}, "length", ("token_limit",)),
        ({"content": None, "reasoning_content": "Let me see"}, "stop", ("empty", "reasoning_only")),
        ({"content": "<think>Let me see"}, "stop", ("thinking", "empty", "reasoning_only")),
        ({"content": "<think>Let me see</think>Hi"}, "stop", ("thinking",)),
        ({"content": "\u200b\u00a0"}, "stop", ("empty",)),
        ({"content": None}, "SAFETY", ("content_filter", "empty")),
        ({"content": None}, "FinishReason.MAX_TOKENS", ("empty", "token_limit")),
        ({"content": "Hi"}, "stop", ()),
        ({"content": "Hi"}, "xyz", ()),
    ],
)
def test_flags_tell_the_shape_of_the_reply(message, reason, flags):
    assert chat_turn(chat(message, reason)).flags == flags


@pytest.mark.parametrize(
    ("message", "reasoning"),
    [
        ({"reasoning_content": "hm"}, "hm"),
        ({"reasoning_text": "hm"}, "hm"),
        ({"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}, "hm"),
        ({"reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}, {"text": "so"}]}, "hm\n\nso"),
        ({"thinking": "hm"}, "hm"),
        ({"content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "Hi"}]}, "hm"),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"text": "Hi"}]}, "hm"),
        ({"content": "<think>so</think>Hi", "reasoning_content": "hm"}, "hm\n\n<think>so</think>"),
        ({"reasoning_content": " "}, None),
        ({"reasoning": {}}, None),
        ({}, None),
    ],
)
def test_thinking_is_kept_apart_from_the_answer(message, reasoning):
    turn = chat_turn(chat({"content": "Hi", **message}))
    assert (turn.answer, turn.reasoning) == ("Hi", reasoning)


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        ({"finish_reason": None, "native_finish_reason": "MAX_TOKENS"}, "MAX_TOKENS"),
        ({"native_finish_reason": "SAFETY", "finish_reason": "stop"}, "SAFETY"),
        ({"native_finish_reason": "end_turn", "finish_reason": "xyz"}, "end_turn"),
        ({"native_finish_reason": "STOP", "finish_reason": "tool_calls"}, "tool_calls"),
        ({"finish_reason": "stop", "stop_reason": "error"}, "stop"),
        ({"finish_reason": "stop", "stop_reason": 128001}, "stop"),
        ({"stop_reason": "max_tokens"}, "max_tokens"),
        ({"finish_reason": {"type": "length", "length": 9}}, "length"),
        ({"finish_reason": 7}, "7"),
        ({"finish_reason": "eos_token", "native_finish_reason": None}, "eos_token"),
        ({}, None),
    ],
)
def test_the_finish_reason_is_the_word_that_tells_most(choice, reason):
    assert chat_turn({"choices": [{"message": {"content": "Hi"}, **choice}]}).finish_reason == reason


CITY = {"type": "tool_use", "id": "t", "name": "get_weather", "input": {"city": "Oslo"}}
OLLAMA = {"model": "q", "done": True, "prompt_eval_count": 3, "eval_count": 5}


@pytest.mark.parametrize(
    ("payload", "answer", "calls", "reason"),
    [
        ({"choices": [{"text": "Hi", "finish_reason": "stop"}]}, "Hi", [], "stop"),
        ({**OLLAMA, "message": {"role": "assistant", "content": "Hi"}, "done_reason": "stop"}, "Hi", [], "stop"),
        (
            {
                **OLLAMA,
                "message": {"tool_calls": [{"function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}]},
            },
            None,
            ["get_weather"],
            None,
        ),
        ({"type": "message", "content": [{"type": "text", "text": "Hi"}, CITY]}, "Hi", ["get_weather"], None),
        ({"type": "message", "content": [], "stop_reason": "end_turn"}, None, [], "end_turn"),
        (chat({"content": [{"type": "text", "text": "Hi"}, CITY]}, "tool_use"), "Hi", ["get_weather"], "tool_use"),
        (chat({"content": [CITY, CITY]}, "tool_use"), None, ["get_weather"] * 2, "tool_use"),
        (chat({"content": None, "tool_calls": [CITY]}, "tool_use"), None, ["get_weather"], "tool_use"),
    ],
)
def test_forms_that_gateways_pass_on_are_read_as_what_they_are(payload, answer, calls, reason):
    turn = chat_turn(payload)
    assert (turn.answer, [call.name for call in turn.tool_calls], turn.finish_reason) == (answer, calls, reason)
    assert all(call.arguments == {"city": "Oslo"} for call in turn.tool_calls)
    assert "second_call" not in turn.flags


def test_a_choice_without_its_message_was_filtered():
    turn = chat_turn({"choices": [{"finish_reason": "content_filter", "content_filter_results": {"hate": {}}}]})
    assert (turn.error_kind, turn.finish_reason, turn.flags) == (None, "content_filter", ("content_filter", "empty"))


def test_the_tokens_that_ollama_counts_are_read():
    assert chat_turn({**OLLAMA, "message": {"content": "Hi"}}).usage == Usage(3, 5)


def test_the_refusal_is_the_answer_where_there_is_no_other():
    assert chat_turn(chat({"content": None, "refusal": "No."})).answer == "No."
    assert chat_turn(chat({"content": "Sorry", "refusal": "No."})).answer == "Sorry"


@pytest.mark.parametrize(("tokens", "limit", "flagged"), [(8, 8, True), (9, 8, True), (7, 8, False), (8, None, False)])
def test_the_token_limit_is_noticed_by_the_count_whatever_the_reason_says(tokens, limit, flagged):
    turn = chat_turn(with_calls(TWO, usage={"prompt_tokens": 5, "completion_tokens": tokens}), limit=limit)
    assert ("token_limit" in turn.flags) is flagged
    assert turn.finish_reason == "tool_calls"


@pytest.mark.parametrize("count", [-1, 2**60, 1.5, "8", True, None])
def test_a_nonsense_token_count_is_no_count(count):
    assert chat_turn(chat({"content": "Hi"}, usage={"prompt_tokens": count, "completion_tokens": 1})).usage == Usage(
        None, 1
    )


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("<html>Please log in</html>", "the body is not JSON (Expecting value): <html>Please log in</html>"),
        ("", "the body is empty"),
        ('{"choices": [{"ind', 'the body is not JSON (Unterminated string starting at): {"choices": [{"ind'),
        (b'{"choices": "\xff"}', 'the body is not UTF-8: {"choices": "\\xff"}'),
        ('{"choices": null}', 'no usable choice in the reply: {"choices": null}'),
        ('{"choices": []}', "no usable choice"),
        ('{"choices": [null]}', "no usable choice"),
        ('{"choices": [{}]}', "no usable choice"),
        ('{"choices": [{"message": "Hi"}]}', "no usable choice"),
        ("[]", "not a JSON object: []"),
        ('"Hi"', "not a JSON object"),
        ("null", "not a JSON object"),
        ("[" * 100_000, "not JSON (nested deeper"),
    ],
)
def test_a_reply_without_an_answer_is_a_bad_response_with_its_first_words(body, why):
    turn = read_reply(body)
    assert turn.error_kind == "bad_response"
    assert turn.error.startswith("HTTP 200, but ")
    assert why in turn.error
    assert len(turn.error) < 400


BOOM = {"message": "boom", "code": 502}
SAYS_HI = {"message": {"content": "Hi"}, "finish_reason": "stop"}


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        ({"error": BOOM}, BOOM),
        ({"error": "boom"}, {"error": "boom"}),
        ({"error": "boom", "code": 429, "choices": []}, {"error": "boom", "code": 429}),
        ({"error": {"message": "boom"}, "status": 429}, {"message": "boom", "status": 429}),
        ({"error": BOOM, "choices": [SAYS_HI]}, BOOM),
        ({"choices": [{"message": None, "error": BOOM}]}, BOOM),
        ({"choices": [{**SAYS_HI, "error": BOOM, "finish_reason": "error"}]}, BOOM),
        ({"choices": [{"message": {"content": "", "error": BOOM}}]}, BOOM),
        ([{"error": BOOM}], BOOM),
        ({"type": "error", "error": {"type": "overloaded_error"}}, {"type": "overloaded_error"}),
        ({"type": "error", "message": "boom"}, {"type": "error", "message": "boom"}),
        ({"object": "error", "message": "boom", "code": 400}, {"object": "error", "message": "boom", "code": 400}),
        ({"code": 500, "message": "boom"}, {"code": 500, "message": "boom"}),
        ({"code": 1302, "msg": "boom", "success": False}, {"code": 1302, "msg": "boom", "success": False}),
        ({"detail": "boom"}, {"detail": "boom"}),
        ({"detail": [{"loc": ["body"], "msg": "boom"}]}, {"detail": [{"loc": ["body"], "msg": "boom"}]}),
        ({"errors": [{"message": "boom"}], "success": False, "result": None}, [{"message": "boom"}]),
        ({"success": False, "choices": [SAYS_HI]}, {"success": False}),
        (
            {"base_resp": {"status_code": 1002, "status_msg": "boom"}, "choices": None},
            {"status_code": 1002, "status_msg": "boom"},
        ),
        ({"error_code": 17, "error_msg": "boom"}, {"error_code": 17, "error_msg": "boom"}),
        ({"__type": "ThrottlingException", "Message": "boom"}, {"__type": "ThrottlingException", "Message": "boom"}),
        ({"choices": [], "message": "boom"}, {"message": "boom"}),
        ({"status": "error", "message": "boom"}, {"status": "error", "message": "boom"}),
        ({"status": "failed"}, {"message": "status 'failed'", "code": 503}),
    ],
)
def test_an_error_with_status_200_is_handed_on_as_it_was_sent(payload, error):
    failed = read_reply(json.dumps(payload))
    assert isinstance(failed, Failed)
    assert failed.error == error


@pytest.mark.parametrize(
    "nothing",
    [
        {"error": None},
        {"error": {}},
        {"error": ""},
        {"error": False},
        {"error": []},
        {"error": {"code": 0, "message": ""}},
        {"error": {"code": None, "message": None}},
        {"errors": []},
        {"code": 200, "message": "success"},
        {"base_resp": {"status_code": 0, "status_msg": "success"}},
        {"success": True},
        {"detail": "cached"},
        {"status": "completed"},
        {"type": "chat"},
    ],
)
def test_no_error_is_no_error(nothing):
    assert chat_turn({**nothing, "choices": [SAYS_HI]}).answer == "Hi"
    assert chat_turn({"choices": [{**nothing, **SAYS_HI}]}).answer == "Hi"


@pytest.mark.parametrize(
    "reason", ["error", "network_error", "ERROR", "abort", "USER_CANCEL", "insufficient_system_resource"]
)
@pytest.mark.parametrize("message", [{"content": None}, {"content": "Hel"}, {"tool_calls": [TWO]}])
def test_a_finish_reason_of_the_provider_s_own_failure_is_an_error_to_be_retried(message, reason):
    failed = chat_turn(chat(message, reason))
    assert failed == Failed({"message": f"finish reason {reason!r}", "code": 503}, "the provider gave up")


def test_a_byte_order_mark_and_repeated_keys_do_no_harm():
    assert read_reply(b'\xef\xbb\xbf{"id": 1, "id": 2, "choices": [{"message": {"content": "Hi"}}]}').answer == "Hi"


def test_a_lone_surrogate_is_kept_as_an_escape():
    assert read_reply('{"choices": [{"message": {"content": "a\\ud83d"}}]}').answer == "a\\ud83d"


def test_what_an_error_quotes_is_masked_before_it_is_cut():
    secret = "sk-test-PLACEHOLDER-0001"
    turn = read_reply("x" * 230 + secret, mask=lambda text: text.replace(secret, "***"))
    assert "sk-" not in turn.error
    assert "***" in turn.error


def responses(*output, status="completed", **more):
    return {"object": "response", "status": status, "output": list(output), **more}


SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]}
CALLED = {"type": "function_call", "call_id": "c", "name": "read_file", "arguments": '{"path": "a"}'}


def test_responses_text_and_calls():
    turn = responses_turn(responses({"type": "reasoning"}, SAID, CALLED, usage={"input_tokens": 3, "output_tokens": 5}))
    assert turn.answer == "Hello"
    assert [(call.name, call.arguments) for call in turn.tool_calls] == [("read_file", '{"path": "a"}')]
    assert (turn.finish_reason, turn.usage, turn.flags) == ("tool_calls", Usage(3, 5), ())


@pytest.mark.parametrize(
    ("payload", "reason", "flags"),
    [
        (responses(SAID), "stop", ()),
        (responses(), "stop", ("empty",)),
        (responses({"type": "reasoning"}), "stop", ("empty", "reasoning_only")),
        (
            responses(SAID, status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
            "length",
            ("token_limit",),
        ),
        (
            responses(SAID, status="incomplete", incomplete_details={"reason": "banana"}),
            "incomplete: banana",
            ("token_limit",),
        ),
        (
            responses(SAID, status="incomplete", incomplete_details={"reason": "stop"}),
            "incomplete: stop",
            ("token_limit",),
        ),
        (
            responses(status="incomplete", incomplete_details={"reason": "content_filter"}),
            "content_filter",
            ("content_filter", "empty"),
        ),
        (
            responses({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}),
            "stop",
            ("refused",),
        ),
    ],
)
def test_responses_statuses_are_told_in_the_words_of_chat(payload, reason, flags):
    turn = responses_turn(payload)
    assert (turn.finish_reason, turn.flags) == (reason, flags)


@pytest.mark.parametrize(
    "payload",
    [
        responses(SAID, status="in_progress"),
        {"output": None},
        {"choices": []},
        {"output": ["Hi"]},
        [],
    ],
)
def test_responses_without_an_answer_are_bad_responses(payload):
    assert responses_turn(payload).error_kind == "bad_response"


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        (responses(status="failed", error={"code": "server_error", "message": "boom"}), "boom"),
        (responses(SAID, status="failed", error=None), "status 'failed'"),
        (responses(status="cancelled"), "status 'cancelled'"),
        (responses(SAID, status="incomplete", incomplete_details={"reason": "error"}), "finish reason 'error'"),
        ({"output": None, "message": "boom"}, "boom"),
    ],
)
def test_responses_that_failed_are_handed_on(payload, error):
    failed = responses_turn(payload)
    assert isinstance(failed, Failed)
    assert failed.error["message"] == error


def test_summaries_of_reasoning_are_kept_apart_from_the_answer():
    reasoning = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "x"}
    turn = responses_turn(responses(reasoning, SAID))
    assert (turn.answer, turn.reasoning, turn.flags) == ("Hello", "hm", ())


def test_responses_custom_and_unknown_calls_stay_calls():
    custom = {"type": "custom_tool_call", "name": "run_sql", "input": "select 1"}
    other = {"type": "web_search_call", "id": "w"}
    calls = responses_turn(responses(custom, other)).tool_calls
    assert [(call.name, call.arguments, call.kind, call.raw) for call in calls] == [
        ("run_sql", "select 1", "custom", custom),
        (None, None, "custom", other),
    ]


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ({"error": {"message": "no"}}, "no"),
        ({"error": "no"}, "no"),
        ({"message": "no"}, "no"),
        ({"object": "error", "message": "no", "code": 400}, "no"),
        ({"detail": "no"}, "no"),
        ({"detail": [{"loc": ["body"], "msg": "no"}, {"msg": "never"}]}, "no; never"),
        ({"error": {"code": 5}}, None),
        ({}, None),
        (None, None),
    ],
)
def test_server_words_are_found_in_every_form(payload, words):
    assert server_words(payload) == words


def test_first_words_are_one_line():
    assert first_words("a\n\n  b") == "a b"
    assert first_words("x" * 1000) == "x" * 240 + "…"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FIELDS = """
role content tool_calls function_call refusal function name arguments type custom text input call_id id message
finish_reason index error reasoning_content
"""
NAMES = st.sampled_from(FIELDS.split())
NEAR = st.recursive(
    JSON
    | st.sampled_from(["text", "function", "message", "function_call", "custom_tool_call", "refusal", "output_text"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=15,
)
PAYLOADS = JSON | st.fixed_dictionaries(
    {},
    optional={
        "choices": st.lists(st.fixed_dictionaries({"message": NEAR}) | NEAR, max_size=2) | JSON,
        "output": st.lists(st.dictionaries(NAMES, NEAR, max_size=4) | NEAR, max_size=3) | JSON,
        "status": st.sampled_from(["completed", "incomplete", "failed"]) | JSON,
        "usage": st.dictionaries(st.sampled_from(["prompt_tokens", "output_tokens"]), JSON) | JSON,
        "incomplete_details": JSON,
        "error": st.none() | JSON,
    },
)


@given(PAYLOADS, st.none() | st.integers(0, 10))
def test_any_json_becomes_a_turn_that_can_be_stored(payload, limit):
    for read in (chat_turn, responses_turn):
        turn = read(payload, names={"a": "b"}, limit=limit)
        if isinstance(turn, Failed):
            continue
        assert turn.error_kind in (None, "bad_response")
        for text in (turn.answer, turn.finish_reason, turn.error, turn.reasoning):
            assert text is None or text.encode("utf-8") is not None
        for call in turn.tool_calls:
            assert call.name is None or call.name.strip()
            json.dumps([call.arguments, call.raw], allow_nan=False)


@given(st.binary(max_size=60) | st.text(max_size=60))
def test_any_body_becomes_a_turn(body):
    for api in ("chat", "responses"):
        assert isinstance(read_reply(body, api), Turn | Failed)
