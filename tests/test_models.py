"""Models asked over real HTTP: every odd reply and fault, names, keys, settings; and functions as models."""

import asyncio
import functools
import json
import threading

import pytest

from evalkit.errors import DatasetError, SettingsError
from evalkit.models import CallableModel, LexicalBaseline, Model, OpenAIModel, as_model
from evalkit.records import ToolCall, Turn, Usage
from evalkit.tools import Tool
from fake_clock import FakeClock
from loopback import Endpoint
from loopback_replies import Reply, always, calls, fails, says

TOOLS = (Tool("list_files", "List the files in a directory"), Tool("read_file", "Read a file"))
KEY = "sk-test-PLACEHOLDER-0001"


def user(text):
    return [{"role": "user", "content": text}]


async def ask(model, text="List the files", tools=TOOLS, **more):
    if isinstance(model, OpenAIModel):
        model.clock = FakeClock()
    async with model.session() as session:
        return await session.ask(user(text) if isinstance(text, str) else text, tools, **more)


@pytest.fixture(params=["chat", "responses"])
def api(request):
    return request.param


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("name", "call", "attempts"),
    [
        ("mock-small", ("list_files", '{"directory": "."}'), 1),
        ("429-then-answer", ("list_files", '{"directory": "."}'), 2),
        ("429-seconds", ("list_files", '{"directory": "."}'), 2),
        ("429-garbage", ("list_files", '{"directory": "."}'), 2),
        ("500-then-answer", ("list_files", '{"directory": "."}'), 2),
        ("cut", ("list_files", '{"directory": "."}'), 2),
        ("reset", ("list_files", '{"directory": "."}'), 2),
        ("dict-arguments", ("list_files", {"directory": "."}), 1),
        ("null-arguments", ("list_files", None), 1),
        ("empty-arguments", ("list_files", ""), 1),
        ("no-arguments", ("list_files", None), 1),
        ("no-id", ("list_files", "{}"), 1),
        ("empty-content", ("list_files", "{}"), 1),
        ("cut-arguments", ("read_file", '{"path": "annual rep'), 1),
        ("custom-call", ("run_sql", "select 1"), 1),
        ("no-function", (None, None), 1),
    ],
)
async def test_a_call_arrives_whatever_its_shape(endpoint, api, name, call, attempts):
    turn = await ask(OpenAIModel(name, base_url=endpoint.url, api=api))
    assert [(made.name, made.arguments) for made in turn.tool_calls] == [call]
    assert (turn.error_kind, turn.attempts) == (None, attempts)
    assert turn.latency_s is not None
    assert turn.usage.input_tokens >= 30
    assert endpoint.asked["List the files"] == attempts


@pytest.mark.parametrize(
    ("name", "answer", "flags"),
    [
        ("mock-small", "You said: What is Rust?", ()),
        ("refusal", "I can't help with that.", ("refused",)),
        ("content-filter", None, ("content_filter", "empty")),
        ("length", None, ("empty", "token_limit")),
        ("reasoning", "Hi", ()),
        ("parts", "Hello", ()),
        ("slow", "at last", ()),
    ],
)
async def test_text_arrives_with_its_flags(endpoint, api, name, answer, flags):
    turn = await ask(OpenAIModel(name, base_url=endpoint.url, api=api), "What is Rust?")
    assert (turn.answer or None, turn.flags, turn.tool_calls, turn.error_kind) == (answer, flags, (), None)


async def test_legacy_function_calls_and_null_messages_arrive(endpoint):
    turn = await ask(OpenAIModel("function-call", base_url=endpoint.url))
    assert [call.name for call in turn.tool_calls] == ["list_files"]
    turn = await ask(OpenAIModel("null-message", base_url=endpoint.url))
    assert (turn.flags, turn.error_kind) == (("empty",), None)


@pytest.mark.parametrize(
    ("name", "kind", "words", "attempts"),
    [
        ("429-huge", "rate_limit", "come back tomorrow. It asks to wait 198300 s (55 h)", 1),
        ("quota", "quota", "You exceeded your current quota", 1),
        ("500", "server", "HTTP 500 from 127.0.0.1:", 6),
        ("503-html", "server", "<html><body>bad gateway</body></html>", 6),
        ("400", "bad_request", "Invalid schema for function 'read_file'.", 1),
        ("404", "bad_request", "The model `404` does not exist.", 1),
        ("html-200", "bad_response", "<html>Please log in</html>", 1),
        ("truncated-json", "bad_response", '{"id": "x", "choices": [{"index": 0, "mess', 1),
        ("error-200", "server", "upstream failed", 6),
        ("null-choices", "bad_response", '{"id": "x", "choices": null}', 1),
        ("no-choices", "bad_response", '{"id": "x", "choices": []}', 1),
    ],
)
async def test_a_fault_is_an_error_with_the_servers_words(endpoint, api, name, kind, words, attempts):
    turn = await ask(OpenAIModel(name, base_url=endpoint.url, api=api))
    assert turn.error_kind == kind
    assert words in turn.error
    assert (turn.attempts, turn.tool_calls, turn.answer) == (attempts, (), None)
    assert (turn.latency_s is None) is (kind != "bad_response")


@pytest.mark.parametrize("name", ["stall", "slow"])
async def test_no_whole_answer_in_time_is_a_timeout(endpoint, name):
    turn = await ask(OpenAIModel(name, base_url=endpoint.url, timeout=0.1))
    assert (turn.error_kind, turn.attempts) == ("timeout", 3)
    assert turn.error == f"no answer from {endpoint.url[7:-3]} within 0.1 s."


async def test_an_answer_that_trickles_is_a_timeout_too(endpoint):
    endpoint.script = always(says("Hello", drip_s=0.02))
    turn = await ask(OpenAIModel("m", base_url=endpoint.url, timeout=0.3, max_attempts=1))
    assert (turn.error_kind, turn.attempts) == ("timeout", 1)


async def test_a_reset_connection_is_told_from_a_timeout(endpoint):
    endpoint.script = always(says("", reset=True))
    turn = await ask(OpenAIModel("m", base_url=endpoint.url, max_attempts=1))
    assert turn.error_kind == "connection"
    assert turn.error.startswith(f"no complete answer from {endpoint.url[7:-3]}: ")


async def test_a_refused_connection_names_its_cause():
    with Endpoint() as gone:
        url = gone.url
    turn = await ask(OpenAIModel("m", base_url=url, max_attempts=2))
    assert (turn.error_kind, turn.attempts) == ("connection", 2)
    assert "ConnectionRefusedError" in turn.error


async def test_without_aiohttp_the_same_faults_are_told_alike(endpoint, monkeypatch):
    def missing(**_):
        raise RuntimeError("To use the aiohttp client you must have installed the package with the `aiohttp` extra")

    monkeypatch.setattr("openai.DefaultAioHttpClient", missing)
    kinds = {"reset": None, "cut": None, "stall": "timeout", "500": "server", "mock-small": None}
    found = {name: await ask(OpenAIModel(name, base_url=endpoint.url, timeout=0.2)) for name in kinds}
    assert {name: turn.error_kind for name, turn in found.items()} == kinds
    assert (found["reset"].attempts, found["cut"].attempts) == (2, 2)


async def test_a_stalled_request_can_be_cancelled(endpoint):
    task = asyncio.create_task(ask(OpenAIModel("stall", base_url=endpoint.url)))
    while not endpoint.requests:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_wait_can_be_cancelled(endpoint):
    told = []
    model = OpenAIModel("429-seconds", base_url=endpoint.url)
    async with model.session() as session:
        task = asyncio.create_task(session.ask(user("Hi"), notify=told.append))
        while not told:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert told == ["rate limited: waiting 2 s, as the server asks"]
    assert len(endpoint.requests) == 1


def test_one_model_serves_several_event_loops(endpoint):
    model = OpenAIModel("mock-small", base_url=endpoint.url)
    assert [asyncio.run(ask(model)).attempts for _ in range(3)] == [1, 1, 1]


async def test_the_request_is_what_the_api_takes(endpoint):
    model = OpenAIModel("mock-small", base_url=endpoint.url, temperature=0, extra={"seed": 7, "top_p": None})
    await ask(model, extra={"tool_choice": "auto"})
    (request,) = endpoint.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["authorization"] == "Bearer none"
    assert request.body == {
        "model": "mock-small",
        "messages": [{"role": "user", "content": "List the files"}],
        "tools": [tool.chat() for tool in TOOLS],
        "temperature": 0.0,
        "seed": 7,
        "tool_choice": "auto",
    }


async def test_the_request_is_what_the_responses_api_takes(endpoint):
    model = OpenAIModel("mock-small", base_url=endpoint.url, api="responses", extra={"max_tokens": 50})
    schema = {"name": "a", "schema": {"type": "object"}, "strict": True}
    await ask(model, extra={"response_format": {"type": "json_schema", "json_schema": schema}})
    (request,) = endpoint.requests
    assert request.path == "/v1/responses"
    assert request.body == {
        "model": "mock-small",
        "input": [{"role": "user", "content": "List the files"}],
        "tools": [tool.responses() for tool in TOOLS],
        "max_output_tokens": 50,
        "text": {"format": {"type": "json_schema", **schema}},
    }


async def test_fields_headers_and_query_can_be_sent_beside_the_settings(endpoint):
    extra = {"extra_body": {"chat_template": "x"}, "extra_headers": {"X-Team": "a"}, "extra_query": {"v": "2"}}
    await ask(OpenAIModel("m", base_url=endpoint.url, extra=extra), tools=())
    (request,) = endpoint.requests
    assert request.body["chat_template"] == "x"
    assert (request.headers["x-team"], request.path) == ("a", "/v1/chat/completions?v=2")


ALL = {
    "max_tokens": 50, "seed": 7, "tool_choice": "read_file", "parallel_tool_calls": False, "reasoning_effort": "low",
}  # fmt: skip


@pytest.mark.parametrize("given", [ALL, {"extra": ALL}, {"extra": {"extra_body": ALL}}], ids=["own", "extra", "body"])
async def test_settings_are_spelled_as_the_api_has_them(endpoint, api, given):
    await ask(OpenAIModel("m", base_url=endpoint.url, api=api, **given))
    body = {
        name: value for name, value in endpoint.requests[0].body.items() if name not in ("input", "messages", "tools")
    }
    spelled = {
        "chat": {
            "max_tokens": 50,
            "tool_choice": {"type": "function", "function": {"name": "read_file"}},
            "reasoning_effort": "low",
        },
        "responses": {
            "max_output_tokens": 50,
            "tool_choice": {"type": "function", "name": "read_file"},
            "reasoning": {"effort": "low"},
        },
    }
    assert body == {"model": "m", "seed": 7, "parallel_tool_calls": False, **spelled[api]}


@pytest.mark.parametrize(
    ("choice", "chat", "responses"),
    [
        *((word, word, word) for word in ("auto", "none", "required", "any")),
        *(
            (choice, {"type": "function", "function": {"name": "read_file"}}, {"type": "function", "name": "read_file"})
            for choice in (
                "read_file",
                {"type": "function", "name": "read_file"},
                {"type": "function", "function": {"name": "read_file"}},
            )
        ),
        ({"type": "allowed_tools", "mode": "auto"},) * 3,
    ],
)
async def test_a_tool_choice_goes_out_in_the_form_of_the_api(endpoint, choice, chat, responses):
    for api, form in (("chat", chat), ("responses", responses)):
        await ask(OpenAIModel("m", base_url=endpoint.url, api=api, tool_choice=choice))
        assert endpoint.requests[-1].body["tool_choice"] == form


async def test_reasoning_keeps_what_else_is_said_of_it(endpoint):
    extra = {"reasoning": {"summary": "auto"}}
    await ask(OpenAIModel("m", base_url=endpoint.url, api="responses", extra=extra, reasoning_effort="high"))
    assert endpoint.requests[0].body["reasoning"] == {"summary": "auto", "effort": "high"}


async def test_without_tools_nothing_is_said_of_tools(endpoint, api):
    model = OpenAIModel(
        "m", base_url=endpoint.url, api=api, extra={"tool_choice": "auto", "parallel_tool_calls": False}
    )
    await ask(model, tools=())
    assert set(endpoint.requests[0].body) == {"model", "messages" if api == "chat" else "input"}


async def test_names_that_the_api_refuses_are_mapped_both_ways(endpoint, api):
    tools = (Tool("files.list all", "List"), Tool("read_file", "Read"))

    def script(request):
        return calls((request.tools[0], {}), ("read_file", {}))

    endpoint.script = script
    choice = {"type": "function", "function": {"name": "files.list all"}}
    dialogue = [
        {"role": "user", "content": "List"},
        {
            "role": "assistant",
            "content": "Looking.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "files.list all", "arguments": {"directory": "."}},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "a.txt"},
    ]
    before = json.dumps(dialogue)
    turn = await ask(OpenAIModel("m", base_url=endpoint.url, api=api), dialogue, tools, extra={"tool_choice": choice})
    assert [call.name for call in turn.tool_calls] == ["files.list all", "read_file"]
    body = endpoint.requests[0].body
    sent = "files_list_all"
    assert endpoint.requests[0].tools == [sent, "read_file"]
    if api == "chat":
        assert body["tool_choice"] == {"type": "function", "function": {"name": sent}}
        assert body["messages"][1]["tool_calls"][0]["function"] == {"name": sent, "arguments": '{"directory": "."}'}
        assert body["messages"][2] == dialogue[2]
    else:
        assert body["tool_choice"] == {"type": "function", "name": sent}
        assert body["input"] == [
            {"role": "user", "content": "List"},
            {"role": "assistant", "content": "Looking."},
            {"type": "function_call", "call_id": "c1", "name": sent, "arguments": '{"directory": "."}'},
            {"type": "function_call_output", "call_id": "c1", "output": "a.txt"},
        ]
    assert json.dumps(dialogue) == before


async def test_a_dialogue_in_parts_becomes_input_items(endpoint):
    image = {"type": "image_url", "image_url": {"url": "data:,x", "detail": "low"}}
    dialogue = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "What is it?"}, image]},
        {"role": "assistant", "content": [{"type": "text", "text": "A cat."}]},
    ]
    await ask(OpenAIModel("m", base_url=endpoint.url, api="responses"), dialogue, ())
    assert endpoint.requests[0].body["input"] == [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What is it?"},
                {"type": "input_image", "image_url": "data:,x", "detail": "low"},
            ],
        },
        {"role": "assistant", "content": [{"type": "output_text", "text": "A cat."}]},
    ]


async def test_two_names_that_would_be_sent_as_one_are_refused(endpoint):
    with pytest.raises(DatasetError, match=r"'a\.b' and 'a b' would both be sent as 'a_b'"):
        await ask(OpenAIModel("m", base_url=endpoint.url), tools=(Tool("a.b"), Tool("a b")))
    assert endpoint.requests == []


async def test_text_that_no_encoding_holds_can_be_asked(endpoint):
    turn = await ask(OpenAIModel("m", base_url=endpoint.url), "odd \ud83d text")
    assert turn.answer == "You said: odd \\ud83d text"


async def test_the_token_limit_of_the_request_is_known_to_the_reply(endpoint, api):
    usage = {"prompt_tokens": 5, "completion_tokens": 8}
    endpoint.script = always(calls(("read_file", '{"path": "annual rep'), usage=usage))
    model = OpenAIModel("m", base_url=endpoint.url, api=api, extra={"max_completion_tokens": 8})
    turn = await ask(model)
    assert (turn.finish_reason, turn.flags, turn.usage) == ("tool_calls", ("token_limit",), Usage(5, 8))


async def test_no_secret_is_shown_and_the_host_is(endpoint, api, monkeypatch):
    secrets = [KEY, "pw-PLACEHOLDER", "tk-PLACEHOLDER", "hk-PLACEHOLDER", "ek-PLACEHOLDER"]
    monkeypatch.setenv("GATEWAY_TOKEN", "ek-PLACEHOLDER")
    url = endpoint.url.replace("http://", "http://bob:pw-PLACEHOLDER@") + "?token=tk-PLACEHOLDER"
    extra = {"extra_headers": {"X-Api-Key": "hk-PLACEHOLDER", "X-Team": "search"}}
    model = OpenAIModel("m", base_url=url, api=api, api_key=KEY, extra=extra)

    def script(request):
        everything = [request.path, *request.headers.values(), KEY, "ek-PLACEHOLDER", url]
        return fails(int(request.text), " ".join(everything), "invalid_api_key")

    endpoint.script = script
    turns = [await ask(model, status) for status in ("401", "400", "500", "429")]
    endpoint.script = lambda request: says("", delay_s=5)
    model.timeout = 0.05
    turns.append(await ask(model, "late"))
    shown = json.dumps(model.settings) + repr(model) + str(vars(model)["_address"]) + repr(turns)
    assert [secret for secret in secrets if secret in shown] == []
    assert "Ym9iOnB3LVBMQUNFSE9MREVS" not in shown  # user and password as a header has them
    assert "127.0.0.1" in repr(model)
    assert "127.0.0.1" in model.settings["base_url"]
    assert all("127.0.0.1" in turn.error for turn in turns)
    assert model.settings["extra"] == {"extra_headers": {"X-Api-Key": "***", "X-Team": "search"}}
    request = endpoint.requests[0]
    assert request.headers["x-api-key"] == "hk-PLACEHOLDER"
    assert request.headers["authorization"] == "Basic Ym9iOnB3LVBMQUNFSE9MREVS"
    assert request.path.endswith("?token=tk-PLACEHOLDER")


async def test_masking_leaves_the_answer_alone(endpoint):
    endpoint.script = always(says(f"Your key is {KEY}"))
    turn = await ask(OpenAIModel("m", base_url=endpoint.url, api_key=KEY))
    assert turn.answer == f"Your key is {KEY}"


async def test_key_and_address_come_from_the_environment(endpoint, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    await ask(OpenAIModel("mock-small"))
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_without_a_key_the_error_names_the_variable_and_two_ways_out():
    with pytest.raises(SettingsError) as caught:
        OpenAIModel("gpt-4.1-mini")
    for word in ("OPENAI_API_KEY", "--model lexical", "OPENAI_BASE_URL", "Ollama", "llama.cpp", "vLLM", "LM Studio"):
        assert word in str(caught.value)


async def test_a_bare_address_gets_the_advice_to_add_v1(endpoint):
    endpoint.script = always(fails(404, "page not found"))
    bare = endpoint.url.removesuffix("/v1")
    turn = await ask(OpenAIModel("m", base_url=bare))
    assert turn.error.endswith(f"page not found. OpenAI-compatible servers mostly answer under /v1: try {bare}/v1.")
    turn = await ask(OpenAIModel("m", base_url=f"{bare}/api"))  # as Ollama's own API is reached
    assert turn.error.endswith(f"mostly answer under /v1: try {bare}/api/v1 or {bare}/v1.")


PAGE = "<!DOCTYPE html>\n<html><title>Open WebUI</title></html>"
RIGHT = "OPENAI_BASE_URL is to be what stands before"
SITE = "A web page comes where the base URL leads to a site and not to its API"


@pytest.mark.parametrize(
    ("path", "reply", "kind", "words"),
    [
        ("/v1/v1", fails(404, "Not Found"), "bad_request", ["HTTP 404 from POST {}/v1/v1{path}: Not Found. ", RIGHT]),
        ("/v1//", fails(404, "Not Found"), "bad_request", ["from POST {}/v1{path}: Not Found."]),
        (
            "/api",
            fails(405, "no"),
            "bad_request",
            ["HTTP 405 from POST {0}/api{path}: no. ", "try {0}/api/v1 or {0}/v1."],
        ),
        ("?token=abcdefgh", fails(404, "no"), "bad_request", ["from POST {}{path}?token=***: no", "{}/v1?token=***."]),
        ("", Reply(PAGE), "bad_response", ["HTTP 200, but a web page, from POST {}{path}: <!DOC", SITE, "try {}/v1."]),
        ("/v1", Reply(PAGE), "bad_response", ["from POST {}/v1{path}: <!DOCTYPE html> <html>", SITE, RIGHT]),
        ("", Reply(PAGE, 405), "bad_request", ["HTTP 405 from POST {}{path}: <!DOCTYPE", SITE, "try {}/v1."]),
        ("/v1", Reply("\n <html>Log in</html>", 403), "auth", ["HTTP 403 from POST {}/v1{path}: <html>", SITE]),
        ("/v1", Reply("", 204), "bad_response", ["HTTP 204, no content, from POST {}/v1{path}. ", RIGHT]),
        ("/v1", Reply(" "), "bad_response", ["HTTP 200 with an empty body, from POST {}/v1{path}. ", RIGHT]),
        (
            "/v1",
            fails(404, "The model `x` does not exist"),
            "bad_request",
            ["HTTP 404 from {host}: The model `x` does"],
        ),
        (
            "/v1",
            Reply("<html>The plain HTTP request was sent to HTTPS port</html>", 400),
            "bad_request",
            ["It seems to speak https: try https://{host}/v1."],
        ),
        (
            "/v1",
            Reply("Client sent an HTTP request to an HTTPS server.", 400),
            "bad_request",
            ["try https://{host}/v1."],
        ),
    ],
)
async def test_where_no_api_answers_the_url_that_was_asked_and_the_one_to_set_are_said(
    endpoint, api, path, reply, kind, words
):
    endpoint.script = always(reply)
    bare = endpoint.url.removesuffix("/v1")
    turn = await ask(OpenAIModel("m", base_url=bare + path, api=api))
    assert (turn.error_kind, turn.attempts) == (kind, 1)
    asked = "/responses" if api == "responses" else "/chat/completions"
    for one in words:
        assert one.format(bare, path=asked, host=bare.removeprefix("http://")) in turn.error


@pytest.mark.parametrize("name", ["502", "529", "cloudflare"])
async def test_a_server_that_fails_by_a_page_is_asked_again(endpoint, name):
    failing = {"502": Reply(PAGE, 502), "529": fails(529, "Overloaded"), "cloudflare": Reply(PAGE, 522)}[name]
    endpoint.script = lambda request: failing if request.number == 1 else says("Hi")
    turn = await ask(OpenAIModel("m", base_url=endpoint.url))
    assert (turn.answer, turn.attempts) == ("Hi", 2)


@pytest.mark.parametrize(
    ("given", "base"),
    [
        ("http://host/v1/chat/completions", "http://host/v1"),
        ("http://host/v1/chat/completions/", "http://host/v1"),
        ("http://host/v1/responses", "http://host/v1"),
        ("http://host/v1/completions//", "http://host/v1"),
        ("http://host/v1/models", "http://host/v1"),
        ("http://host/v1/chat", "http://host/v1"),
        ("http://host/v1/messages", "http://host/v1"),
        ("http://host/v1/embeddings/", "http://host/v1"),
        ("http://host/chat/completions", "http://host"),
        ("https://u:pw-secret@host/v1/chat/completions?token=t", "https://***@host/v1?token=***"),
        (
            "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=1",
            "https://x.openai.azure.com/openai/deployments/d?api-version=***",
        ),
    ],
)
def test_the_address_of_single_requests_is_no_base_url(given, base):
    with pytest.raises(SettingsError) as caught:
        OpenAIModel("m", base_url=given)
    assert str(caught.value).endswith(f"is added to a base URL. Set OPENAI_BASE_URL (base_url) to '{base}'.")
    assert "pw-secret" not in str(caught.value)


@pytest.mark.parametrize(
    "given", ["http://host/models", "http://host/v1/", "http://host/v1//", " http://host/v1\n", "http://h/responses/v1"]
)
def test_an_address_that_may_work_is_taken(given):
    assert OpenAIModel("m", base_url=given).settings["base_url"] == given.strip()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": ""}, "a model's name must be text, got ''"),
        (
            {"base_url": "localhost:11434/v1"},
            "not a base URL such as http://localhost:8080/v1. Did you mean 'http://local",
        ),
        (
            {"base_url": '"http://host/v1"'},
            "is not a base URL such as http://localhost:8080/v1. Did you mean 'http://host/v1'?",
        ),
        ({"base_url": "http://host/#/chat"}, "Did you mean 'http://host/'?"),
        ({"base_url": "http://host/v1 http://other"}, "is not a base URL"),
        ({"base_url": "ftp://host/v1"}, "'ftp://host/v1' is not a base URL"),
        ({"base_url": "http://[::1"}, "is not a base URL"),
        (
            {"base_url": "https://***@gw.example/v1"},
            "is masked, as its credentials are stored nowhere. Set OPENAI_BASE_URL",
        ),
        ({"api": "response"}, "api must be 'chat' or 'responses', got 'response'. Did you mean 'responses'?"),
        ({"temperature": "hot"}, "temperature must be a number of 0 or more, got 'hot'"),
        ({"temperature": float("nan")}, "temperature must be a number"),
        ({"timeout": 0}, "timeout must be a number of seconds above 0, got 0"),
        ({"max_attempts": 0}, "max_attempts must be at least 1, got 0"),
        ({"max_tokens": 0}, "max_tokens must be a whole number of 1 or more, got 0"),
        ({"max_tokens": True}, "max_tokens must be a whole number of 1 or more, got True"),
        ({"max_tokens": "50"}, "max_tokens must be a whole number of 1 or more, got '50'"),
        ({"seed": 1.5}, "seed must be a whole number, got 1.5"),
        ({"tool_choice": ""}, "tool_choice must be 'auto', 'none', 'required', a tool's name, or a mapping"),
        ({"tool_choice": True}, "tool_choice must be 'auto', 'none', 'required', a tool's name, or a mapping"),
        ({"tool_choice": {"type": {1}}}, "must hold JSON values alone"),
        ({"parallel_tool_calls": "no"}, "parallel_tool_calls must be True or False, got 'no'"),
        ({"reasoning_effort": 3}, "reasoning_effort must be a word such as 'low', got 3"),
        ({"extra": [1]}, "extra must be a mapping"),
        *(
            ({"extra": extra}, f"{where} cannot set {name!r}: evalkit sets it itself")
            for name in (
                "model",
                "messages",
                "input",
                "tools",
                "functions",
                "stream",
                "stream_options",
                "n",
                "temperature",
                "Stream",
                "MODEL",
                "streamOptions",
                "N",
            )
            for where, extra in (("extra", {name: 1}), ("extra_body", {"extra_body": {name: 1}}))
        ),
        ({"extra": {"a": float("nan")}}, "extra must hold JSON values alone"),
        ({"extra": {"extra_headers": "x"}}, "extra_headers must be a mapping, got 'x'"),
        ({"extra": {"extra_headers": {"X-A": "a\nb"}}}, "the header 'X-A' must be plain text on one line"),
        ({"extra": {"extra_headers": {"X-Api-Key": "***"}}}, "extra holds a masked value (***)"),
        ({"api_key": "sk-“quoted”"}, "OPENAI_API_KEY holds a character that cannot be sent"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(given, words):
    with pytest.raises(SettingsError) as caught:
        OpenAIModel(**{"name": "m", "base_url": "http://localhost:1/v1", **given})
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"max_tokens": 50, "extra": {"max_tokens": 60}}, "max_tokens is given twice, 50 and 60 (in extra, as"),
        ({"max_tokens": 50, "extra": {"max_completion_tokens": 50}}, "(in extra, as 'max_completion_tokens'): give it"),
        ({"max_tokens": 50, "extra": {"extra_body": {"max_output_tokens": 6}}}, "(in extra, as 'max_output_tokens')"),
        ({"max_tokens": 50, "extra": {"maxTokens": 6}}, "max_tokens is given twice"),
        ({"extra": {"max_tokens": 50, "max_completion_tokens": 60}}, "max_tokens is given twice, 50 and 60"),
        ({"extra": {"max_tokens": 50, "extra_body": {"max_tokens": 60}}}, "max_tokens is given twice, 50 and 60"),
        ({"seed": 7, "extra": {"seed": 8}}, "seed is given twice"),
        ({"tool_choice": "auto", "extra": {"tool_choice": "none"}}, "tool_choice is given twice"),
        ({"tool_choice": "auto", "extra": {"function_call": "none"}}, "tool_choice is given twice"),
        ({"parallel_tool_calls": True, "extra": {"parallel_tool_calls": False}}, "parallel_tool_calls is given twice"),
        ({"reasoning_effort": "low", "extra": {"reasoning": {"effort": "high"}}}, "reasoning_effort is given twice"),
    ],
)  # fmt: skip
def test_a_setting_that_is_given_twice_is_refused(given, words):
    with pytest.raises(SettingsError) as caught:
        OpenAIModel("m", base_url="http://localhost:1/v1", **given)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        {"max_tokens": 50, "extra": {"max_tokens": None}},
        {"extra": {"max_tokens": 50, "max_completion_tokens": 50}},
        {"reasoning_effort": "low", "extra": {"reasoning": {"summary": "auto"}}},
        {"max_tokens": 50, "extra": {"max_tokens_per_page": 3}},
    ],
)
def test_what_is_no_second_value_is_taken(given):
    OpenAIModel("m", base_url="http://localhost:1/v1", **given)


def test_a_refused_address_shows_no_password():
    with pytest.raises(SettingsError) as caught:
        OpenAIModel("m", base_url="ftp://bob:pw-PLACEHOLDER@gw.example/?token=tk-PLACEHOLDER")
    assert "PLACEHOLDER" not in str(caught.value)
    assert "gw.example" in str(caught.value)


def test_settings_make_the_same_model_again():
    model = OpenAIModel("m", base_url="http://localhost:1/v1", temperature=0.5, api="responses", extra={"seed": 1})
    kept = json.loads(json.dumps(model.settings))
    assert kept.pop("kind") == "openai"
    assert as_model("m", **kept).settings == model.settings


def test_settings_are_stored_the_same_whether_in_extra_or_beside_it_so_that_old_runs_stay_comparable():
    address = {"base_url": "http://localhost:1/v1"}
    assert OpenAIModel("m", **address, **ALL).settings == OpenAIModel("m", **address, extra=ALL).settings
    assert OpenAIModel("m", **address).settings["extra"] is None


def test_as_model_takes_names_models_and_functions():
    def my_agent(messages, tools):
        return "Hi"

    assert isinstance(as_model("lexical"), LexicalBaseline)
    assert as_model("m", base_url="http://localhost:1/v1").name == "m"
    function = as_model(my_agent)
    assert (function.name, function.settings["kind"]) == ("my_agent", "callable")
    assert as_model(function) is function
    assert all(isinstance(one, Model) for one in (as_model("lexical"), function))


@pytest.mark.parametrize(
    ("spec", "settings", "words"),
    [
        (None, {}, "a model is a name, a Model or a function of messages and tools, got None"),
        (5, {}, "got 5"),
        ("lexical", {"temperature": 0}, "the model 'lexical' takes no setting 'temperature'. It takes: threshold."),
        ("m", {"temprature": 0}, "Did you mean 'temperature'?"),
        (
            lambda messages, tools: "",
            {"temperature": 0},
            "temperature: such settings belong to the model object itself",
        ),
        (lambda: "", {}, "it must take messages and tools"),
    ],
)
def test_as_model_says_what_it_cannot_take(spec, settings, words):
    with pytest.raises(SettingsError) as caught:
        as_model(spec, **settings)
    assert words in str(caught.value)


def sync_text(messages, tools):
    return f"{messages[-1]['content']} {len(tools)}"


async def async_text(messages, tools):
    await asyncio.sleep(0)
    return sync_text(messages, tools)


class Agent:
    def __call__(self, messages, tools):
        return sync_text(messages, tools)


class AsyncAgent:
    async def __call__(self, messages, tools):
        return sync_text(messages, tools)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (sync_text, "sync_text"),
        (async_text, "async_text"),
        (Agent(), "Agent"),
        (AsyncAgent(), "AsyncAgent"),
        (lambda messages, tools: async_text(messages, tools), "<lambda>"),
        (functools.partial(sync_text), "sync_text"),
    ],
)
async def test_functions_of_every_kind_are_models(function, name):
    model = CallableModel(function)
    turn = await ask(model, "Hi")
    assert (model.name, turn.answer, turn.attempts, turn.error_kind) == (name, "Hi 2", 1, None)
    assert turn.latency_s is not None


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ("Hi", Turn(answer="Hi")),
        (ToolCall("read_file", {"path": "a"}), Turn(tool_calls=[ToolCall("read_file", {"path": "a"})])),
        ([ToolCall("a"), ToolCall("b")], Turn(tool_calls=[ToolCall("a"), ToolCall("b")])),
        ([], Turn()),
        ("", Turn(answer="")),
        ("<think>x</think>Hi", Turn(answer="Hi", reasoning="<think>x</think>", flags=["thinking"])),
        (Turn(answer="Hi", usage={"input_tokens": 1}), Turn(answer="Hi", usage=Usage(1, None))),
    ],
)
async def test_what_a_function_returns_becomes_a_turn(returned, expected):
    turn = await ask(CallableModel(lambda messages, tools: returned))
    seen = (turn.tool_calls, turn.answer, turn.flags, turn.usage, turn.error_kind)
    assert seen == (expected.tool_calls, expected.answer, expected.flags, expected.usage, None)


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (
            None,
            "it returned a NoneType; a model function returns a Turn, a str (the answer), a ToolCall or a list of them",
        ),
        ({"role": "assistant"}, "it returned a dict;"),
        (["read_file"], "it returned a list;"),
        (Turn(tool_calls=["read_file"]), "it returned a Turn whose tool_calls are not all ToolCall(name, arguments)"),
    ],
)
async def test_what_is_no_turn_is_an_error_that_says_what_is_allowed(returned, words):
    turn = await ask(CallableModel(lambda messages, tools: returned))
    assert turn.error_kind == "model"
    assert words in turn.error


@pytest.mark.parametrize(
    "error", [ValueError("no"), StopIteration("no"), SystemExit("no"), asyncio.CancelledError("no")]
)
async def test_what_a_function_raises_is_that_cases_error(error):
    def raising(messages, tools):
        raise error

    async def raising_async(messages, tools):
        raise error

    turns = [await ask(CallableModel(raising))]
    if isinstance(error, ValueError | asyncio.CancelledError):
        turns.append(await ask(CallableModel(raising_async)))
    for turn in turns:
        assert turn.error_kind == "model"
        assert type(error).__name__ in turn.error


async def test_a_function_cannot_change_the_messages_it_is_given():
    def greedy(messages, tools):
        messages[0]["content"] = "changed"
        messages.append({})
        return "Hi"

    messages = user("Hello")
    await ask(CallableModel(greedy), messages)
    assert messages == user("Hello")


async def test_a_function_that_hangs_can_be_cancelled():
    entered, release = threading.Event(), threading.Event()

    def hanging(messages, tools):
        entered.set()
        release.wait()
        return "late"

    task = asyncio.create_task(ask(CallableModel(hanging)))
    await asyncio.to_thread(entered.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    release.set()


def test_a_function_that_returns_after_its_loop_has_ended_does_no_harm():
    entered, release = threading.Event(), threading.Event()

    def hanging(messages, tools):
        entered.set()
        release.wait()
        return "late"

    async def give_up():
        task = asyncio.create_task(ask(CallableModel(hanging)))
        await asyncio.to_thread(entered.wait)
        task.cancel()

    asyncio.run(give_up())
    (thread,) = [one for one in threading.enumerate() if one.name == "evalkit-call"]
    release.set()
    thread.join()


def test_a_changed_function_has_other_settings():
    one, two = CallableModel(sync_text), CallableModel(async_text)
    assert one.settings == CallableModel(sync_text).settings
    assert one.settings["source"] != two.settings["source"]
