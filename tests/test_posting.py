"""Requests as they go out: with their key each time, whatever came before, and to nobody else."""

import asyncio

import openai
import pytest

from evalkit import posting
from evalkit.models import OpenAIModel
from loopback import Endpoint
from loopback_replies import Reply, fails, first, says

OF_THE_CLIENTS_BOOKKEEPING = {"connection", "content-length", "x-stainless-retry-count", "x-stainless-read-timeout"}


def the_same(request):
    left_out = OF_THE_CLIENTS_BOOKKEEPING
    return request.path, {name: value for name, value in request.headers.items() if name not in left_out}


async def ask_in_turn(model, *texts):
    async with model.session() as session:
        return [await session.ask([{"role": "user", "content": text}]) for text in texts]


def keys_of(requests):
    return [request.headers.get("authorization") for request in requests]


@pytest.mark.parametrize(
    ("address", "settings", "environment"),
    [
        ("{url}", {}, {}),
        ("{url}/", {"api_key": "key-PLACEHOLDER"}, {"OPENAI_ORG_ID": "org-1", "OPENAI_PROJECT_ID": "proj-1"}),
        ("{url}?api-version=2024-10-21&a=b%20c", {"api_key": "key-PLACEHOLDER"}, {}),
        ("{url}/a%20b", {"extra": {"extra_headers": {"X-Team": "search"}, "extra_query": {"v": "2"}}}, {}),
        ("{url}", {"api_key": "key-PLACEHOLDER", "extra": {"extra_headers": {"api-key": "key-OTHER"}}}, {}),
        ("{url}", {"extra": {"extra_headers": {"Authorization": "Token t-PLACEHOLDER"}}}, {}),
    ],
)
async def test_a_request_goes_out_as_the_client_itself_would_send_it(
    endpoint, monkeypatch, address, settings, environment
):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    url = address.format(url=endpoint.url)
    async with OpenAIModel("mock-small", base_url=url, **settings).session() as session:
        client = session.way[0]
        await session.ask([{"role": "user", "content": "one"}])
        await session.ask([{"role": "user", "content": "two, a longer text"}])
        await client.chat.completions.create(model="mock-small", messages=[{"role": "user", "content": "three"}])
    ours, later, theirs = map(the_same, endpoint.requests)
    assert ours == later == theirs
    assert theirs[1]["user-agent"].startswith(f"AsyncOpenAI/Python {openai.__version__}")


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
async def test_every_request_carries_the_key_whatever_the_first_was_answered(endpoint, status):
    endpoint.script = first(fails(status, "the proxy is just starting", retry_after="0"))
    model = OpenAIModel("mock-small", base_url=endpoint.url, api_key="key-PLACEHOLDER")
    turns = await ask_in_turn(model, "one", "one")
    assert turns[-1].answer == "You said: one"
    assert set(keys_of(endpoint.requests)) == {"Bearer key-PLACEHOLDER"}


async def test_a_request_that_is_lost_is_sent_again_as_it_was(endpoint):
    endpoint.script = first(Reply(reset=True))
    [turn] = await ask_in_turn(OpenAIModel("mock-small", base_url=endpoint.url), "one")
    assert (turn.answer, turn.attempts) == ("You said: one", 2)
    assert the_same(endpoint.requests[0]) == the_same(endpoint.requests[1])


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_redirect_takes_prompt_or_key_to_another_origin(endpoint, status, api):
    with Endpoint() as elsewhere:
        endpoint.script = lambda request: Reply({}, status, {"location": f"{elsewhere.url}/chat/completions"})
        extra = {"extra_headers": {"api-key": "key-OTHER"}}
        model = OpenAIModel("mock-small", base_url=endpoint.url, api_key="key-PLACEHOLDER", extra=extra, api=api)
        turns = await ask_in_turn(model, "one", "two")
        assert elsewhere.requests == []
    for turn in turns:
        assert (turn.error_kind, turn.attempts) == ("bad_request", 1)
        assert f"HTTP {status}" in turn.error
        assert f"{elsewhere.url}/chat/completions" in turn.error
        assert f"If that address is right, the base URL is {elsewhere.url}." in turn.error


@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize("location", ["/v2/chat/completions", "../v2/chat/completions", "{url}/../v2/chat/completions"])
async def test_a_redirect_within_the_origin_is_followed_with_body_and_method(endpoint, status, location):
    def script(request):
        assert request.method == "POST"
        moved = Reply({}, status, {"location": location.format(url=endpoint.url)})
        return moved if request.path.startswith("/v1/chat") else says(request.text)

    endpoint.script = script
    [turn] = await ask_in_turn(OpenAIModel("mock-small", base_url=endpoint.url, api_key="key-PLACEHOLDER"), "one")
    assert turn.answer == "one"
    begun, onward = [request.path for request in endpoint.requests]
    assert begun == "/v1/chat/completions"
    assert onward.endswith("/v2/chat/completions")
    assert set(keys_of(endpoint.requests)) == {"Bearer key-PLACEHOLDER"}


@pytest.mark.parametrize("status", [301, 302, 303])
async def test_a_redirect_that_would_ask_by_get_is_not_followed(endpoint, status):
    endpoint.script = lambda request: Reply({}, status, {"location": "/v2/chat/completions"})
    [turn] = await ask_in_turn(OpenAIModel("mock-small", base_url=endpoint.url), "one")
    assert [(request.method, request.path) for request in endpoint.requests] == [("POST", "/v1/chat/completions")]
    assert f"the base URL is {endpoint.url.replace('/v1', '/v2')}." in turn.error


@pytest.mark.parametrize(
    "location", [None, "", "http://", "//[", "http://127.0.0.1:99999/", "javascript:alert(1)", "\x7f"]
)
async def test_a_redirect_to_nowhere_is_an_error_too(endpoint, location):
    headers = {} if location is None else {"location": location}
    endpoint.script = lambda request: Reply({}, 307, headers)
    [turn] = await ask_in_turn(OpenAIModel("mock-small", base_url=endpoint.url), "one")
    assert turn.error_kind == "bad_request"
    assert "HTTP 307" in turn.error
    assert location or "and does not say where" in turn.error
    assert "If that address is right" not in turn.error


async def test_a_redirect_with_a_name_and_a_password_is_not_followed(endpoint):
    endpoint.script = lambda request: Reply({}, 307, {"location": endpoint.url.replace("//", "//me:pass@") + "/x"})
    [turn] = await ask_in_turn(OpenAIModel("mock-small", base_url=endpoint.url), "one")
    assert (turn.error_kind, turn.attempts, len(endpoint.requests)) == ("bad_request", 1, 1)


async def test_a_redirect_in_a_circle_ends(endpoint):
    endpoint.script = lambda request: Reply({}, 307, {"location": request.path})
    [turn] = await ask_in_turn(OpenAIModel("mock-small", base_url=endpoint.url), "one")
    assert len(endpoint.requests) == 1 + posting.MOST_REDIRECTS
    assert (turn.error_kind, turn.attempts) == ("bad_request", 1)


async def test_an_address_in_a_redirect_shows_no_secret(endpoint):
    endpoint.script = lambda request: Reply(
        {}, 302, {"location": "https://me:key-PLACEHOLDER@other.test/v1?api_key=k-1"}
    )
    [turn] = await ask_in_turn(OpenAIModel("mock-small", base_url=endpoint.url, api_key="key-PLACEHOLDER"), "one")
    assert "other.test" in turn.error
    assert "key-PLACEHOLDER" not in turn.error
    assert "k-1" not in turn.error


def test_a_timeout_of_the_model_holds_for_every_request(endpoint):
    endpoint.script = lambda request: says("late", delay_s=30) if request.text == "two" else says("soon")
    model = OpenAIModel("mock-small", base_url=endpoint.url, timeout=0.2, max_attempts=1)
    turns = asyncio.run(ask_in_turn(model, "one", "two", "three"))
    assert [turn.answer for turn in turns] == ["soon", None, "soon"]
    assert [turn.error_kind for turn in turns] == [None, "timeout", None]
