"""How endpoints want to be asked: what they call the limit of tokens, told by their refusals, over real HTTP."""

import asyncio
import json

import pytest

from evalkit.models import OpenAIModel
from evalkit.terms import Terms
from fake_clock import FakeClock
from loopback_replies import Reply, always, calls, fails, pick_by_words, says

PLAIN, NEWER, OUTPUT = "max_tokens", "max_completion_tokens", "max_output_tokens"
BODY = {"model": "m", "messages": [], PLAIN: 50}


def error(message, **more):
    return {"error": {"message": message, "type": "invalid_request_error", **more}}


def forbidden(name):
    return {"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted", "input": 50}


# What servers say of a name that they do not take, `{}` in its place.
WORDS = [
    error("Unsupported parameter: '{}' is not supported with this model.", param="{}", code="unsupported_parameter"),
    error("Unknown parameter: '{}'.", param="{}", code="unknown_parameter"),
    error("Unrecognized request argument supplied: {}", param=None),
    error("Unsupported parameter: \\u0027{}\\u0027."),
    error("property '{}' is unsupported"),
    error("{}: Extra inputs are not permitted"),
    error("Extra inputs are not permitted, field: '{}', value: 50"),
    error("Malformed input request: #: extraneous key [{}] is not permitted, please reformat your input"),
    error('Invalid JSON payload received. Unknown name "{}": Cannot find field.'),
    error("Additional properties are not allowed ('{}' was unexpected)"),
    error("Argument not supported on this model: {}"),
    error('json: unknown field "{}"'),
    error("litellm.UnsupportedParamsError: o1 does not support parameters: ['{}'], for model=o1"),
    error("create() got an unexpected keyword argument '{}'"),
    error("The parameter `{}` is deprecated and has been removed."),
    error("`{}` isn't supported"),
    {"detail": "Unsupported parameter: {}"},
    {"detail": [forbidden("{}")]},
    {"object": "error", "message": {"detail": [forbidden("{}")]}},
    {"object": "error", "message": str([forbidden("{}")]), "type": "BadRequestError", "code": 400},
    {"message": "Invalid field: {}"},
]


def filled(words, name):
    return json.dumps(words).replace("{}", name).replace("\\\\u0027", "\\u0027").encode()


@pytest.mark.parametrize("words", WORDS, ids=str)
@pytest.mark.parametrize(("sent", "other"), [(PLAIN, NEWER), (NEWER, PLAIN), (OUTPUT, PLAIN)])
def test_a_name_that_is_not_taken_is_told_from_the_servers_words(words, sent, other):
    assert Terms(limit=sent).wanted(BODY, filled(words, sent)) == {"limit": other}
    assert Terms(limit=sent).wanted({"model": "m"}, filled(words, sent)) == {}  # it was not sent


@pytest.mark.parametrize(
    ("sent", "words", "other"),
    [
        (PLAIN, "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", NEWER),
        (PLAIN, "Please use max_completion_tokens.", NEWER),
        (PLAIN, "this parameter has moved to 'max_output_tokens'", OUTPUT),
        (NEWER, "unknown field `max_completion_tokens`, expected one of `model`, `max_output_tokens`", PLAIN),
        (OUTPUT, "max_output_tokens was renamed to max_tokens", PLAIN),
    ],
)
def test_the_name_that_the_server_advises_is_taken(sent, words, other):
    assert Terms(limit=sent).wanted(BODY, filled(error(words), sent)) == {"limit": other}


@pytest.mark.parametrize(
    "words",
    [
        "max_tokens is too large: 100000. This model supports at most 4096 completion tokens.",
        "'max_tokens' or 'max_completion_tokens' is too large: 4096. The maximum context length is 2048 tokens.",
        "max_tokens must be at least 1, got 0",
        "max_tokens: 9000 > 8192, which is the maximum allowed number of output tokens",
        "Range of max_tokens should be [1, 8192]",
        "Invalid value for 'max_tokens': 0 is not a valid integer",
        "Unsupported value: 'max_tokens' does not support 5 with this model.",
        "Input should be less than or equal to 4096: max_tokens",
        "max_tokens must not exceed 4096; longer replies are not supported",
        "Unsupported parameter: 'temperature' is not supported with this model.",
        "Unsupported parameter: max_tokens_per_page",
        "unknown field `seed`, expected one of `model`, `max_tokens`",
        "Unknown parameter: 'seed'. Supported parameters: model, messages, max_tokens",
        "Invalid schema for function 'read_file'",
        "This model's maximum context length is 40 tokens",
        "The model `m` does not exist",
        "Streaming is not supported by this model",
        "Unsupported value: 'stream' does not support true with this model. Supported values are: false.",
        "no healthy upstream must be found",
        "Content-Type must be application/octet-stream",
    ],
)
def test_what_is_about_something_else_changes_nothing(words):
    assert Terms().wanted(BODY, filled(error(words), PLAIN)) == {}


@pytest.mark.parametrize(
    "words",
    [
        "This model only supports streaming",
        "This model only support stream mode, please enable the stream parameter to access the model.",
        "stream must be set to true",
        "Stream must be true",
        "'stream' is required to be true",
        "streaming is required for this model",
        "This model requires stream=true",
        "Please set \"stream\": true",
        "Non-streaming is not supported",
        "non stream mode is unavailable for this model",
        "parameter.enable_thinking must be set to false for non-streaming calls",
        "Unsupported value: 'stream' does not support false with this model. Supported values are: true.",
        "stream=false is not supported",
        "The model can only be used with streaming responses",
        "This endpoint must be called with stream enabled",
        "Only streaming requests are accepted",
        "该模型仅支持流式调用",
    ],
)  # fmt: skip
def test_an_endpoint_that_only_streams_is_told_from_its_words(words):
    assert Terms().wanted(BODY, filled(error(words), PLAIN)) == {"streams": True}
    assert Terms(streams=True).wanted(BODY, filled(error(words), PLAIN)) == {}


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"[" * 100_000, b"null", b'"only streams"'])
def test_a_refusal_may_be_anything(body):
    assert Terms().wanted(BODY, body) in ({}, {"streams": True})


# Over HTTP


async def ask(model, *texts):
    model.clock = FakeClock()
    async with model.session() as session:
        return [await session.ask([{"role": "user", "content": text}]) for text in texts]


def takes(name, words="Unsupported parameter: '{}' is not supported with this model.", status=400):
    """An endpoint that takes the limit under one name alone; None: under none."""

    def script(request):
        wrong = [other for other in (PLAIN, NEWER, OUTPUT) if other in request.body and other != name]
        return fails(status, words.format(wrong[0])) if wrong else pick_by_words(request)

    return script


def sent(endpoint):
    return [{name for name in (PLAIN, NEWER, OUTPUT) if name in request.body} for request in endpoint.requests]


@pytest.mark.parametrize(
    ("api", "name", "asked"),
    [
        ("chat", PLAIN, [PLAIN]),
        ("chat", NEWER, [PLAIN, NEWER]),
        ("responses", OUTPUT, [OUTPUT]),
        ("responses", PLAIN, [OUTPUT, PLAIN]),
    ],
)
@pytest.mark.parametrize("given", [{"max_tokens": 50}, {"extra": {"max_tokens": 50}}], ids=["setting", "extra"])
async def test_the_limit_goes_out_under_the_name_that_the_endpoint_takes(endpoint, api, name, asked, given):
    endpoint.script = takes(name)
    turns = await ask(OpenAIModel("m", base_url=endpoint.url, api=api, max_attempts=1, **given), "one", "two")
    assert [(turn.answer, turn.attempts) for turn in turns] == [("You said: one", len(asked)), ("You said: two", 1)]
    assert sent(endpoint) == [{one} for one in [*asked, name]]
    assert {request.body[name] for request in endpoint.requests if name in request.body} == {50}


@pytest.mark.parametrize(
    ("words", "status"), [("Unsupported parameter: '{}'", 422), ("unexpected keyword '{}'", 500), ("unknown: {}", 200)]
)
async def test_a_refusal_counts_whatever_its_status(endpoint, words, status):
    endpoint.script = takes(NEWER, words, status)
    [turn] = await ask(OpenAIModel("m", base_url=endpoint.url, max_tokens=50), "one")
    assert (turn.answer, turn.attempts) == ("You said: one", 2)


async def test_the_newer_name_that_was_given_is_tried_first(endpoint):
    endpoint.script = takes(PLAIN)
    turns = await ask(OpenAIModel("m", base_url=endpoint.url, extra={"max_completion_tokens": 50}), "one", "two")
    assert [turn.attempts for turn in turns] == [2, 1]
    assert sent(endpoint) == [{NEWER}, {PLAIN}, {PLAIN}]


@pytest.mark.parametrize(("api", "name"), [("chat", NEWER), ("responses", OUTPUT)])
async def test_openais_own_endpoint_is_asked_by_the_name_that_all_of_its_models_take_so_that_batches_are(api, name):
    model = OpenAIModel("gpt-5-mini", "https://api.openai.com/v1", api=api, api_key="sk-PLACEHOLDER", max_tokens=50)
    async with model.session() as session:
        body, _ = session.request([{"role": "user", "content": "Hello"}])
    assert {one: body[one] for one in (PLAIN, NEWER, OUTPUT) if one in body} == {name: 50}


async def test_an_endpoint_that_takes_no_limit_is_an_error_in_its_first_words(endpoint):
    endpoint.script = takes(None)
    turns = await ask(OpenAIModel("m", base_url=endpoint.url, max_tokens=50), "one", "two")
    assert [(turn.error_kind, turn.attempts) for turn in turns] == [("bad_request", 2)] * 2
    assert all("'max_tokens' is not supported" in turn.error for turn in turns)


async def test_a_value_that_the_other_name_is_refused_for_is_told(endpoint):
    def script(request):
        if PLAIN in request.body:
            return fails(400, "'max_tokens' is not supported. Use 'max_completion_tokens' instead.")
        return fails(400, "max_completion_tokens is too large: 99999")

    endpoint.script = script
    [turn] = await ask(OpenAIModel("m", base_url=endpoint.url, max_tokens=99999), "one")
    assert turn.error.endswith("max_completion_tokens is too large: 99999.")


async def test_first_requests_that_go_out_at_once_each_recover_and_no_more_is_asked(endpoint):
    endpoint.script = takes(NEWER)
    model = OpenAIModel("m", base_url=endpoint.url, max_tokens=50, max_attempts=1)
    async with model.session() as session:
        asked = [session.ask([{"role": "user", "content": f"text {number}"}]) for number in range(20)]
        turns = await asyncio.gather(*asked)
        again = await session.ask([{"role": "user", "content": "later"}])
    assert [turn.answer for turn in turns] == [f"You said: text {number}" for number in range(20)]
    assert (max(turn.attempts for turn in turns), again.attempts) == (2, 1)


async def test_the_limit_is_known_to_the_reply_by_whichever_name_it_was_sent(endpoint):
    usage = {"prompt_tokens": 5, "completion_tokens": 8}
    cut = calls(("read_file", '{"path": "annual rep'), usage=usage)
    endpoint.script = lambda request: cut if NEWER in request.body else takes(NEWER)(request)
    [turn] = await ask(OpenAIModel("m", base_url=endpoint.url, max_tokens=8), "one")
    assert (turn.flags, turn.attempts) == (("token_limit",), 2)


@pytest.mark.parametrize(
    "reply",
    [
        fails(401, "unknown key max_tokens"),
        fails(503, "max_tokens is not supported"),
        says("max_tokens is deprecated"),
        Reply('{"choices": [{"message": {"content": "\\"error\\" max_tokens is not supported, only stream'),
        Reply("<html>max_tokens is not supported</html>"),
    ],
    ids=["401", "503", "answer", "cut answer", "page"],
)
async def test_what_is_no_refusal_of_the_request_is_not_read_as_one(endpoint, reply):
    endpoint.script = always(reply)
    await ask(OpenAIModel("m", base_url=endpoint.url, max_tokens=8, max_attempts=1), "one")
    assert len(endpoint.requests) == 1


async def test_a_refused_setting_that_is_not_the_limit_stays_an_error(endpoint):
    endpoint.script = always(Reply(error("Unsupported parameter: 'seed'"), 400))
    [turn] = await ask(OpenAIModel("m", base_url=endpoint.url, max_tokens=8, seed=7), "one")
    assert (turn.error_kind, turn.attempts) == ("bad_request", 1)
