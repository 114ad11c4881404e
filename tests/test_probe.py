"""What `evalkit check --model` finds out about an endpoint."""

import json

import pytest

from evalkit.evaluators import evaluate_tool_call
from evalkit.lexical import LexicalBaseline
from evalkit.models import OpenAIModel
from evalkit.probe import TOOLS, probe
from loopback_replies import calls, fails, says


def capable(request):
    if "response_format" in request.body:
        return says(json.dumps({"colour": "blue"}))
    if request.tools and ("tool_choice" in request.body or request.text.startswith("List")):
        return calls(("list_files", {"directory": "src"}))
    return says("Hello")


def without(setting):
    def script(request):
        return fails(400, f"'{setting}' is not supported") if setting in request.body else capable(request)

    return script


def talkative(request):
    """No tools, no settings kept: text whatever is asked, and prompt tokens that do not grow."""
    return says("Sure!", usage={"prompt_tokens": 9, "completion_tokens": 2})


def writes(text):
    return lambda request: says(text) if request.tools else capable(request)


async def answer_of(endpoint):
    async with OpenAIModel("m", base_url=endpoint.url, max_attempts=1).session() as session:
        return await session.ask([{"role": "user", "content": "List them"}], TOOLS)


async def findings(endpoint, script):
    endpoint.script = script
    found = await probe(OpenAIModel("m", base_url=endpoint.url, max_attempts=1))
    return {finding.name: finding for finding in found}


async def test_a_capable_endpoint_passes_everything(endpoint):
    found = await findings(endpoint, capable)
    settings = ["temperature", "max_tokens", "parallel_tool_calls", "seed", "tool_choice", "response_format"]
    names = ["answers", "sees tools", "calls tools", *settings]
    assert {name: finding.ok for name, finding in found.items()} == dict.fromkeys(names, True)
    assert found["sees tools"].sentence == ("The model is shown the tools: 7 prompt tokens without tools, 47 with 2.")
    assert "got list_files" in found["calls tools"].sentence
    assert found["max_tokens"].sentence == "It takes max_tokens = 512."
    assert len(endpoint.requests) == 8


async def test_the_name_of_the_limit_and_that_it_only_streams_are_told(endpoint):
    def script(request):
        if "stream" not in request.body:
            return fails(400, "This model only supports streaming.")
        return fails(400, "Unsupported parameter: 'max_tokens'") if "max_tokens" in request.body else capable(request)

    found = await findings(endpoint, script)
    assert [name for name, finding in found.items() if finding.ok is not True] == []
    assert found["streams"].sentence == "It only streams: replies are asked for as streams, and put together."
    assert found["max_tokens"].sentence == "It takes max_tokens = 512 (as max_completion_tokens)."
    assert len(endpoint.requests) == 8 + 2


async def test_an_endpoint_that_does_not_answer_ends_the_probe(endpoint):
    found = await findings(endpoint, lambda request: fails(404, "no such model"))
    assert list(found) == ["answers"]
    assert found["answers"].ok is False
    assert found["answers"].sentence.endswith("no such model.")
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("setting", ["temperature", "parallel_tool_calls", "seed", "tool_choice", "response_format"])
async def test_a_refused_setting_is_named_with_the_servers_words(endpoint, setting):
    found = await findings(endpoint, without(setting))
    assert [name for name, finding in found.items() if finding.ok is not True] == [setting]
    assert found[setting].ok is False
    assert f"'{setting}' is not supported" in found[setting].sentence


async def test_ignored_tools_and_settings_show(endpoint):
    found = await findings(endpoint, talkative)
    ok = {name: finding.ok for name, finding in found.items()}
    assert (ok["sees tools"], ok["calls tools"], ok["tool_choice"], ok["response_format"]) == (False,) * 4
    assert "The tools are ignored: 9 prompt tokens without tools, 9 with 2." in found["sees tools"].sentence
    assert found["calls tools"].sentence.endswith('"Sure!"')
    assert "does not keep to it" in found["tool_choice"].sentence
    assert "does not keep to it" in found["response_format"].sentence


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"name": "list_files", "arguments": {"directory": "src"}}\n```',
        '[list_files(directory="src")]',
        "<tool_call>\n<function=list_files>\n<parameter=directory>\nsrc\n</parameter>\n</function>\n</tool_call>",
        '[TOOL_CALLS]list_files{"directory": "src"}',
        '<|channel|>commentary to=functions.list_files <|constrain|>json<|message|>{"directory": "src"}<|call|>',
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>list_files<｜tool▁sep｜>{"directory": "src"}<｜tool▁call▁end｜>',
    ],
)
async def test_calls_written_as_text_are_told_and_scored_as_foretold(endpoint, text):
    found = (await findings(endpoint, writes(text)))["calls tools"]
    assert found.ok is False
    assert found.sentence.startswith("It writes calls as text: no `tool_calls`, but a call in the answer, ")
    assert "scored `call_in_text`" in found.sentence
    assert '"text_calls": "accept", which reads it as a call of list_files' in found.sentence
    case = {"input": "List them", "expected_tool": "list_files", "expected_arguments": {"directory": "src"}}
    turn = await answer_of(endpoint)
    assert evaluate_tool_call(case, turn, TOOLS).outcome == "call_in_text"
    assert evaluate_tool_call({**case, "text_calls": "accept"}, turn, TOOLS).outcome == "correct"


async def test_a_call_as_text_of_a_tool_that_was_not_offered_is_told(endpoint):
    found = await findings(endpoint, writes('<tool_call>{"name": "ls", "arguments": {}}</tool_call>'))
    assert '"accept", which finds no call of an offered tool in it' in found["calls tools"].sentence


@pytest.mark.parametrize(
    ("called", "outcome"),
    [
        (("functions.list_files", {"directory": "src"}), "unknown_tool"),
        (("ls", {}), "unknown_tool"),
        (("list_files", '{"directory": "src"'), "unparsable"),
        (("list_files", "src"), "unparsable"),
        (("", {}), "unusable_call"),
        ((None, {}), "unusable_call"),
    ],
)
async def test_calls_that_a_run_cannot_count_are_told(endpoint, called, outcome):
    found = await findings(endpoint, lambda request: calls(called) if request.tools else capable(request))
    verdict = evaluate_tool_call({"input": "List them", "expected_tool": "any"}, await answer_of(endpoint), TOOLS)
    assert verdict.outcome == outcome
    assert found["calls tools"].ok is False
    assert found["calls tools"].sentence.endswith(f"A run cannot count them: {verdict.reason}.")


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (says(None), "empty"),
        (says("<think>list_files it is."), "empty"),
        (says(None, finish_reason="MALFORMED_FUNCTION_CALL"), "unusable_call"),
        (says("I will", finish_reason="content_filter"), "refused"),
        (says(None, finish_reason="length"), "error"),
    ],
)
async def test_why_no_tool_was_called_is_told_as_a_run_tells_it(endpoint, reply, outcome):
    found = await findings(endpoint, lambda request: reply if request.tools else capable(request))
    verdict = evaluate_tool_call({"input": "List them", "expected_tool": "any"}, await answer_of(endpoint), TOOLS)
    assert verdict.outcome == outcome
    assert found["calls tools"].ok is False
    assert found["calls tools"].sentence == f"It called no tool where one was plainly wanted: {verdict.reason}"


async def test_a_sentence_about_a_tool_is_no_call(endpoint):
    found = await findings(endpoint, writes("I would use list_files(directory) for that."))
    assert found["calls tools"].sentence.startswith("It called no tool where one was plainly wanted")


async def test_an_endpoint_that_refuses_tools_is_told(endpoint):
    found = await findings(endpoint, without("tools"))
    assert found["sees tools"].ok is False
    assert "'tools' is not supported" in found["sees tools"].sentence
    assert found["calls tools"].ok is None


async def test_without_token_counts_it_cannot_be_told(endpoint):
    body = {"choices": [{"message": {"content": "Hi"}}]}
    found = await findings(endpoint, lambda request: type(says("Hi"))(body))
    assert found["sees tools"].ok is None


async def test_a_failure_in_between_leaves_that_finding_open(endpoint):
    found = await findings(endpoint, lambda r: fails(500, "boom") if "seed" in r.body else capable(r))
    assert found["seed"].ok is None
    assert "boom" in found["seed"].sentence
    assert found["response_format"].ok is True


async def test_a_model_that_is_no_endpoint_is_not_asked_for_settings():
    found = await probe(LexicalBaseline())
    assert [(finding.name, finding.ok) for finding in found] == [
        ("answers", True),
        ("sees tools", None),
        ("calls tools", True),
    ]
