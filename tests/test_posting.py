"""Requests that are made after the pattern of the client library's first one."""

import asyncio

import openai

from evalkit.models import OpenAIModel
from loopback import Endpoint
from loopback_replies import Reply, first, says


def the_same(request):
    return request.path, {name: value for name, value in request.headers.items() if name != "content-length"}


async def ask_in_turn(model, *texts):
    async with model.session() as session:
        return [await session.ask([{"role": "user", "content": text}]) for text in texts]


async def test_later_requests_go_out_as_the_first_one_did(endpoint, monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    extra = {"extra_headers": {"X-Team": "search"}, "extra_query": {"v": "2"}}
    model = OpenAIModel("mock-small", base_url=endpoint.url, api_key="key-PLACEHOLDER", extra=extra)
    turns = await ask_in_turn(model, "one", "two, a longer text", "three")
    assert [turn.answer for turn in turns] == ["You said: one", "You said: two, a longer text", "You said: three"]
    first_one, *later = map(the_same, endpoint.requests)
    assert later == [first_one, first_one]
    assert first_one[0] == "/v1/chat/completions?v=2"
    assert first_one[1]["authorization"] == "Bearer key-PLACEHOLDER"
    assert first_one[1]["openai-organization"] == "org-1"
    assert first_one[1]["x-team"] == "search"
    assert first_one[1]["user-agent"].startswith(f"AsyncOpenAI/Python {openai.__version__}")
    assert [request.body["messages"][0]["content"] for request in endpoint.requests][1] == "two, a longer text"


async def test_a_first_request_that_is_lost_leaves_the_next_to_the_client(endpoint):
    endpoint.script = first(Reply(reset=True))
    [turn] = await ask_in_turn(OpenAIModel("mock-small", base_url=endpoint.url), "one")
    assert (turn.answer, turn.attempts) == ("You said: one", 2)
    assert the_same(endpoint.requests[0]) == the_same(endpoint.requests[1])


async def test_redirects_are_followed_each_time_and_take_no_key_to_another_host(endpoint):
    with Endpoint() as elsewhere:
        endpoint.script = lambda request: Reply({}, 307, {"location": f"{elsewhere.url}/chat/completions"})
        model = OpenAIModel("mock-small", base_url=endpoint.url, api_key="key-PLACEHOLDER")
        turns = await ask_in_turn(model, "one", "two")
    assert [turn.answer for turn in turns] == ["You said: one", "You said: two"]
    assert len(endpoint.requests) == 2
    assert ["authorization" in request.headers for request in elsewhere.requests] == [False, False]


def test_a_timeout_of_the_model_holds_for_every_request(endpoint):
    endpoint.script = lambda request: says("late", delay_s=30) if request.text == "two" else says("soon")
    model = OpenAIModel("mock-small", base_url=endpoint.url, timeout=0.2, max_attempts=1)
    turns = asyncio.run(ask_in_turn(model, "one", "two", "three"))
    assert [turn.answer for turn in turns] == ["soon", None, "soon"]
    assert [turn.error_kind for turn in turns] == [None, "timeout", None]
