"""Streamed replies, put together: odd streams of many servers, and over real HTTP where an endpoint only streams."""

import asyncio
import json

import pytest

import evalkit as ek
from evalkit.models import OpenAIModel
from evalkit.records import Usage
from evalkit.replies import Failed, read_reply
from evalkit.streaming import is_stream, whole_body
from fake_clock import FakeClock
from loopback_replies import Reply, fails, in_api, pick_by_words

SSE = {"content-type": "text/event-stream"}
DONE = "data: [DONE]\n\n"


def event(value, name=None):
    return (f"event: {name}\n" if name else "") + f"data: {json.dumps(value)}\n\n"


def chunk(delta=None, finish=None, **more):
    return event({"object": "chat.completion.chunk", "choices": [choice(delta, finish)], **more})


def choice(delta=None, finish=None, index=0, **more):
    return {"index": index, "delta": delta or {}, "finish_reason": finish, **more}


def piece(arguments=None, name=None, **more):
    said = {key: value for key, value in {"name": name, "arguments": arguments}.items() if value is not None}
    return {**more, "function": said}


def called(*pieces, finish="tool_calls"):
    """A stream of calls: each argument is what one chunk holds in `tool_calls`."""
    chunks = [chunk({"tool_calls": one if isinstance(one, list) else [one]}) for one in pieces]
    return "".join([*chunks, chunk(finish=finish), DONE])


def said(*texts, finish="stop"):
    return "".join([*(chunk({"content": text}) for text in texts), chunk(finish=finish), DONE])


A, B = ("list_files", '{"directory": "."}'), ("read_file", '{"path": "a"}')
MESSAGE = {"type": "message", "content": [{"type": "output_text", "text": "Hello"}]}
CALL = {"type": "function_call", "call_id": "c1", "name": A[0], "arguments": A[1]}
COUNTS = {"input_tokens": 5, "output_tokens": 2}


def item(value, place):
    return event({"type": "response.output_item.done", "output_index": place, "item": value})


def ended(kind, **response):
    return event({"type": f"response.{kind}", "response": response}, f"response.{kind}")


@pytest.mark.parametrize(
    ("stream", "calls"),
    [
        # ids and names in the first piece alone, arguments in pieces
        (called(piece("", A[0], index=0, id="c1"), piece('{"direc', index=0), piece('tory": "."}', index=0)), [A]),
        # two calls, their pieces in turn
        (
            called(
                piece('{"direc', A[0], index=0, id="c1"),
                piece('{"path"', B[0], index=1, id="c2"),
                [piece('tory": "."}', index=0), piece(': "a"}', index=1)],
            ),
            [A, B],
        ),
        # whole calls in one chunk, or one chunk each, with no index
        (called([piece(A[1], A[0], id="c1"), piece(B[1], B[0], id="c2")]), [A, B]),
        (called(piece(A[1], A[0]), piece(B[1], B[0])), [A, B]),
        (called([piece(A[1], A[0]), piece(A[1], A[0])]), [A, A]),
        # pieces with no index, known by id, or by nothing
        (called(piece('{"direc', A[0], id="c1"), piece('tory": "."}', id="c1"), piece(B[1], B[0], id="c2")), [A, B]),
        (called(piece('{"direc', A[0]), piece('tory": "."}')), [A]),
        (called(piece("", A[0], id="c1"), piece("", A[0], id="c2")), [(A[0], ""), (A[0], "")]),
        # every call under index 0
        (called(piece(A[1], A[0], index=0, id="c1"), piece(B[1], B[0], index=0, id="c2")), [A, B]),
        (called(piece(A[1], A[0], index=0), piece(B[1], B[0], index=0)), [A, B]),
        (called(piece(A[1], A[0], index=0, id="c1"), piece(A[1], A[0], index=0, id="c2")), [A, A]),
        # arguments that the model left unfinished, before another call
        (called(piece('{"dir', A[0], id="c1"), piece(B[1], B[0], id="c2")), [(A[0], '{"dir'), B]),
        (called(piece('{"dir', A[0], id="c1"), piece(A[1], A[0], id="c2")), [(A[0], '{"dir'), A]),
        (called(piece('{"dir', A[0]), piece(B[1], B[0])), [(A[0], '{"dir'), B]),
        (called(piece('{"dir', A[0], index=0), piece(B[1], B[0], index=1)), [(A[0], '{"dir'), B]),
        # names and ids repeated with every piece, new ids with every piece
        (called(*(piece(part, A[0], index=0, id="c1") for part in ("", '{"directory"', ': "."}'))), [A]),
        (called(*(piece(part, A[0], index=0, id=f"c{part}") for part in ("", '{"directory"', ': "."}'))), [A]),
        (called(piece('{"directory"', A[0], index=0, id="c1"), piece(': "."}', name="", index=0, id="")), [A]),
        # a name in pieces; a name that grows
        (called(piece(None, "list_", index=0, id="c1"), piece(A[1], "files", index=0)), [A]),
        (called(piece(None, "list_", index=0, id="c1"), piece(A[1], "list_files", index=0)), [A]),
        # a placeholder before the arguments; the whole call once more at the end
        (called(piece("{}", A[0], index=0, id="c1"), piece('{"directory"', index=0), piece(': "."}', index=0)), [A]),
        (
            called(
                piece('{"dire', A[0], index=0, id="c1"),
                piece('ctory": "."}', index=0),
                piece(A[1], A[0], index=0, id="c1"),
            ),
            [A],
        ),
        # arguments as an object, none at all, and a call of free text
        (called(piece({"directory": "."}, A[0], index=0, id="c1")), [(A[0], {"directory": "."})]),
        (called(piece(None, A[0], index=0, id="c1")), [(A[0], None)]),
        (
            called(
                {"index": 0, "id": "c1", "type": "custom", "custom": {"name": "run_sql", "input": "select"}},
                {"index": 0, "custom": {"input": " 1"}},
            ),
            [("run_sql", "select 1")],
        ),
        # the older field
        (
            chunk({"function_call": {"name": A[0], "arguments": ""}})
            + chunk({"function_call": {"arguments": A[1]}}, "function_call"),
            [A],
        ),
        # a message in one piece, and one after its pieces
        (chunk() + event({"choices": [choice(message={"tool_calls": [piece(*A[::-1])]}, finish="stop")]}), [A]),
        (
            chunk({"tool_calls": [piece('{"dir', A[0], index=0)]})
            + event({"choices": [choice(message={"tool_calls": [piece(A[1], A[0])]}, finish="stop")]}),
            [A],
        ),
        # a call that cannot be used stays one
        (called({"index": 0}), [(None, None)]),
    ],
)  # fmt: skip
def test_calls_are_put_together(stream, calls):
    turn = read_reply(whole_body(stream.encode(), "chat"))
    assert [(call.name, call.arguments) for call in turn.tool_calls] == calls
    assert turn.error_kind is None


USAGE = {"prompt_tokens": 5, "completion_tokens": 2}


@pytest.mark.parametrize(
    ("stream", "answer", "usage"),
    [
        (said("Hel", "lo"), "Hello", Usage()),
        (said("Hel", "lo").replace("\n", "\r\n"), "Hello", Usage()),
        (said("Hel", "lo").replace("\n", "\r"), "Hello", Usage()),
        (said("Hel", "lo").replace("\n\n", "\n"), "Hello", Usage()),  # no line between events
        ("\ufeff: ping\n\n" + said("Hel", "lo").replace("data: ", ": keep-alive\ndata:"), "Hello", Usage()),
        ("data: ping\n\nretry: 3\n\nid: 1\n" + said("Hel", "lo"), "Hello", Usage()),
        (said("a\u2028b\x85", "\x0c\ud83d").replace("\\u2028", "\u2028"), "a\u2028b\x85\x0c\\ud83d", Usage()),
        (said("Hello").replace(DONE, ""), "Hello", Usage()),
        (said("Hello", finish=None), "Hello", Usage()),  # the end is marked, a reason is not given
        (said("Hello").rstrip(), "Hello", Usage()),
        (chunk({"content": "Hello"}) + chunk(finish="stop") + event({"choices": [], "usage": USAGE}) + DONE, "Hello",
         Usage(5, 2)),
        (chunk({"content": "Hello"}, "stop", usage=USAGE) + DONE, "Hello", Usage(5, 2)),
        (chunk({"content": "Hello"}, usage={"prompt_tokens": 5}) + chunk(finish="stop", usage=USAGE), "Hello",
         Usage(5, 2)),
        (chunk({"content": "Hello"}, "stop", x_groq={"usage": USAGE}) + DONE, "Hello", Usage(5, 2)),
        (event({"choices": [choice({"content": "Hello"}, "stop", usage=USAGE)]}) + DONE, "Hello", Usage(5, 2)),
        (event({"choices": [choice({"content": "no"}, index=1), choice({"content": "Hello"}, "stop")]}), "Hello",
         Usage()),
        (chunk({"role": "assistant", "content": None}) + chunk({"role": "assistant", "content": "Hello"}, "stop"),
         "Hello", Usage()),
        (chunk({"content": [{"type": "thinking", "thinking": "Hm"}]}) + said("Hello"), "Hello", Usage()),
        (chunk({"content": "Hel"}, "") + chunk({"content": "lo"}, "stop"), "Hello", Usage()),
        ("data: {\ndata: \"choices\": [{\"delta\": {\"content\": \"Hello\"},\ndata: \"finish_reason\": \"stop\"}]}\n\n",
         "Hello", Usage()),
    ],
)  # fmt: skip
def test_texts_and_counts_are_put_together(stream, answer, usage):
    turn = read_reply(whole_body(stream.encode("utf-8", "surrogatepass"), "chat"))
    assert (turn.answer, turn.usage, turn.error_kind, turn.flags) == (answer, usage, None, ())


def test_reasons_refusals_and_reasoning_are_kept():
    stream = (
        chunk({"reasoning_content": "They "}) + chunk({"reasoning_content": "greet."}) + chunk(finish="length") + DONE
    )
    turn = read_reply(whole_body(stream.encode(), "chat"))
    assert (turn.finish_reason, turn.flags) == ("length", ("empty", "token_limit", "reasoning_only"))
    stream = chunk({"refusal": "I can"}) + chunk({"refusal": "not."}, "stop")
    assert read_reply(whole_body(stream.encode(), "chat")).answer == "I cannot."


@pytest.mark.parametrize(
    ("api", "stream", "words"),
    [
        ("chat", chunk({"content": "Hel"}) + event({"error": {"message": "overloaded"}}) + DONE, "overloaded"),
        ("chat", chunk({"content": "Hel"}) + event({"message": "overloaded"}, "error"), "overloaded"),
        ("chat", chunk({"content": "Hel"}) + event({"object": "error", "message": "overloaded"}) + DONE, "overloaded"),
        ("chat", chunk({"content": "Hel"}) + '{"error": {"message": "overloaded"}}', "overloaded"),
        ("chat", event([{"error": {"message": "overloaded"}}]), "overloaded"),
        ("chat", event({"choices": [choice({}, "error", error={"message": "overloaded"})]}), "overloaded"),
        ("responses", event({"type": "error", "code": "server_error", "message": "overloaded"}, "error"), "overloaded"),
        ("responses", ended("failed", error={"message": "overloaded"}), "overloaded"),
    ],
)  # fmt: skip
def test_an_error_in_mid_stream_is_no_reply(api, stream, words):
    reply = read_reply(whole_body(stream.encode(), api), api)
    assert isinstance(reply, Failed)
    assert words in json.dumps(reply.error)


def test_a_stream_of_nothing_is_a_bad_reply():
    turn = read_reply(whole_body(DONE.encode(), "chat"), "chat")
    assert (turn.error_kind, "no usable choice in the reply" in turn.error) == ("bad_response", True)


@pytest.mark.parametrize(
    ("api", "stream"),
    [
        ("chat", ""),
        ("chat", chunk({"content": "Hel"})),
        ("chat", called(piece('{"dir', A[0], index=0))[:-120]),
        ("chat", said("Hel", "lo")[:100]),
        ("chat", "data: {not JSON}\n\n" + said("Hello")),
        ("responses", event({"type": "response.created", "response": {"status": "in_progress", "output": []}})),
        ("responses", event({"type": "response.output_item.done", "item": {"type": "message"}})),
    ],
)
def test_what_was_cut_off_is_no_reply(api, stream):
    with pytest.raises(
        ConnectionError, match=r"the stream ended before the reply did|an event of the stream is not JSON"
    ):
        whole_body(stream.encode(), api)


@pytest.mark.parametrize(
    ("stream", "seen"),
    [
        (ended("created", status="in_progress", output=[])
         + ended("completed", status="completed", output=[MESSAGE, CALL], usage=COUNTS),
         ("Hello", [A], "tool_calls", Usage(5, 2))),
        (item(MESSAGE, 0) + item(CALL, 1) + ended("completed", output=[], usage=COUNTS),
         ("Hello", [A], "tool_calls", Usage(5, 2))),
        (item(MESSAGE, 0) + ended("incomplete", incomplete_details={"reason": "max_output_tokens"}),
         ("Hello", [], "length", Usage())),
        (item(MESSAGE, 0) + item(CALL, 1) + DONE, ("Hello", [A], "tool_calls", Usage())),
        (item(MESSAGE, 0).replace('"type": "response.output_item.done", ', "").replace("data", "event: "
         "response.output_item.done\ndata", 1) + DONE, ("Hello", [], "stop", Usage())),
    ],
)  # fmt: skip
def test_events_of_the_responses_api_are_put_together(stream, seen):
    turn = read_reply(whole_body(stream.encode(), "responses"), "responses")
    assert (turn.answer, [(one.name, one.arguments) for one in turn.tool_calls], turn.finish_reason, turn.usage) == seen


@pytest.mark.parametrize(
    ("kind", "body", "streamed"),
    [
        ("text/event-stream", b"data: {}\n\n", True),
        ("text/event-stream; charset=utf-8", b"", True),
        ("application/json", b"\xef\xbb\xbf\n: OPENROUTER PROCESSING\n\ndata: {}", True),
        ("text/plain", b"event: x\ndata: {}", True),
        ("", b"id: 1\ndata: {}", True),
        ("text/event-stream", b' {"choices": []}', False),
        ("text/event-stream", b"<html>", False),
        ("application/json", b'{"data": 1}', False),
        ("application/json", b"", False),
        ("text/html", b"database is down", False),
    ],
)
def test_a_stream_is_known_by_what_it_is(kind, body, streamed):
    assert is_stream(kind, body) is streamed


# Over HTTP


def streamed(reply, request):
    """A whole reply of the loopback server, sent as the stream that its API has."""
    body = in_api(reply, request)
    if request.responses_api:
        return Reply(ended("completed", **body), headers=SSE)
    one, counts = body["choices"][0], event({"choices": [], "usage": body["usage"]})
    calls = [{"index": place, **call} for place, call in enumerate(one["message"].get("tool_calls") or [])]
    delta = {**one["message"], **({"tool_calls": calls} if calls else {})}
    return Reply(chunk(delta) + chunk(finish=one["finish_reason"]) + counts + DONE, headers=SSE)


REFUSALS = [
    (400, "This model only support stream mode, please enable the stream parameter to access the model."),
    (400, "stream must be set to true"),
    (422, "Non-streaming requests are not supported"),
    (400, "Unsupported value: 'stream' does not support false with this model. Supported values are: true."),
    (200, "This model only supports streaming."),
]


def only_streams(status, words, **also):
    def script(request):
        if not request.body.get("stream"):
            return fails(status, words)
        for name, why in also.items():
            if name in request.body:
                return fails(400, why)
        return streamed(pick_by_words(request), request)

    return script


async def ask_in_turn(model, *texts):
    model.clock = FakeClock()
    async with model.session() as session:
        return [await session.ask([{"role": "user", "content": text}]) for text in texts]


@pytest.mark.parametrize(("status", "words"), REFUSALS)
@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_an_endpoint_that_only_streams_is_asked_for_streams_from_then_on(endpoint, api, status, words):
    endpoint.script = only_streams(status, words)
    turns = await ask_in_turn(OpenAIModel("m", base_url=endpoint.url, api=api, max_attempts=1), "one", "two")
    assert [(turn.answer, turn.attempts) for turn in turns] == [("You said: one", 2), ("You said: two", 1)]
    assert all(turn.usage.input_tokens for turn in turns)
    plain, *later = (request.body for request in endpoint.requests)
    options = {"stream": True} | ({"stream_options": {"include_usage": True}} if api == "chat" else {})
    assert [{name: body.get(name) for name in options} for body in later] == [options] * 2
    assert "stream" not in plain


async def test_a_stream_is_asked_for_no_counts_where_those_are_refused(endpoint):
    endpoint.script = only_streams(*REFUSALS[0], stream_options="Unrecognized request argument: stream_options")
    [turn] = await ask_in_turn(OpenAIModel("m", base_url=endpoint.url), "one")
    assert (turn.answer, turn.attempts) == ("You said: one", 3)


async def test_both_the_name_of_the_limit_and_the_stream_are_found_out(endpoint):
    endpoint.script = only_streams(*REFUSALS[0], max_tokens="Unsupported parameter: 'max_tokens'")
    turns = await ask_in_turn(OpenAIModel("m", base_url=endpoint.url, max_tokens=50), "one", "two")
    assert [(turn.answer, turn.attempts) for turn in turns] == [("You said: one", 3), ("You said: two", 1)]
    assert endpoint.requests[-1].body["max_completion_tokens"] == 50


async def test_a_stream_that_nobody_asked_for_is_put_together(endpoint):
    endpoint.script = lambda request: streamed(pick_by_words(request), request)
    [turn] = await ask_in_turn(OpenAIModel("m", base_url=endpoint.url), "one")
    assert (turn.answer, turn.attempts) == ("You said: one", 1)


async def test_a_stream_that_is_cut_off_is_asked_for_again(endpoint):
    whole = said("You ", "said")

    def script(request):
        return Reply(whole if request.number > 1 else whole[:90], headers=SSE)

    endpoint.script = script
    [turn] = await ask_in_turn(OpenAIModel("m", base_url=endpoint.url), "one")
    assert (turn.answer, turn.attempts) == ("You said", 2)
    [turn] = await ask_in_turn(OpenAIModel("m", base_url=endpoint.url, max_attempts=1), "two")
    assert turn.error_kind == "connection"
    assert "ConnectionError: " in turn.error


async def test_the_time_out_holds_for_the_whole_stream(endpoint):
    endpoint.script = lambda request: Reply(said(*"Hello"), headers=SSE, drip_s=0.02)
    [turn] = await ask_in_turn(OpenAIModel("m", base_url=endpoint.url, timeout=0.3, max_attempts=1), "one")
    assert turn.error_kind == "timeout"


def test_a_run_of_an_endpoint_that_only_streams_is_a_run_like_any_other(endpoint, tmp_path):
    def script(request):
        return streamed(pick_by_words(request), request) if "stream" in request.body else fails(*REFUSALS[0])

    endpoint.script = script
    model = OpenAIModel("m", base_url=endpoint.url)
    results = ek.run("file_tools", model=model, concurrency=6, results_dir=tmp_path, progress=False)
    assert results["passed"].tolist().count(True) == 5
    assert results["error_kind"].isna().all()


async def test_first_requests_that_go_out_at_once_each_recover(endpoint):
    endpoint.script = only_streams(*REFUSALS[0], max_tokens="Unknown parameter: max_tokens")
    model = OpenAIModel("m", base_url=endpoint.url, max_tokens=50, max_attempts=1)
    async with model.session() as session:
        asked = (session.ask([{"role": "user", "content": f"text {number}"}]) for number in range(12))
        turns = await asyncio.gather(*asked)
    assert [turn.answer for turn in turns] == [f"You said: text {number}" for number in range(12)]
    assert max(turn.attempts for turn in turns) <= 3
