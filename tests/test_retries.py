"""When a failed request is asked again, and how many requests go out at once."""

import asyncio
import math
import random
from email.utils import formatdate

import pytest

from evalkit.masking import Mask
from evalkit.models import OpenAIModel
from evalkit.records import Turn
from evalkit.request_failures import Failure, asked_wait, lost, refused
from evalkit.retries import Asking, Clock, Gate, seconds_text
from fake_clock import FakeClock
from loopback import Endpoint
from loopback_replies import fails, pick_by_words, says

NOW = 1_772_442_000.0
BUSY = Failure("rate_limit", "slow down.", retry=True)


def busy(seconds):
    return Failure("rate_limit", "slow down.", retry=True, asked_s=seconds, asked=True)


async def asked(*outcomes, clock=None, **options):
    """The Turn that comes of these outcomes of requests, and what was told meanwhile."""
    left, told = list(outcomes), []

    async def send():
        outcome = left.pop(0) if len(left) > 1 else left[0]
        return outcome

    clock = clock or FakeClock()
    turn = await Asking(send, Gate(clock), notify=told.append, **options).run()
    return turn, clock.slept, told


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "Mon, 02 Mar 2026 09:00:30 GMT", "date": "Mon, 02 Mar 2026 09:00:00 GMT"}, 30),
        ({"retry-after": formatdate(NOW + 7, usegmt=True)}, 7),
        ({"retry-after": "Mon, 02 Mar 2026 08:00:00 GMT", "date": "Mon, 02 Mar 2026 09:00:00 GMT"}, 0),
        ({"retry-after": "Mon, 02 Mar 2020 09:00:05 GMT", "date": "Mon, 02 Mar 2020 09:00:00 GMT"}, 5),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "-1"}, 0),
        ({"retry-after": "198300"}, 198300),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1" * 40}, None),
        ({"retry-after": "Mon, 99 Foo 2026 09:00:30 GMT"}, None),
        ({"retry-after-ms": "300", "retry-after": "9"}, 0.3),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(headers, seconds):
    assert asked_wait(headers, NOW) == seconds


async def test_an_answer_at_once_is_one_attempt():
    turn, slept, told = await asked(Turn(answer="Hi"))
    assert (turn.answer, turn.attempts, turn.latency_s, slept, told) == ("Hi", 1, 0.0, [], [])


@pytest.mark.parametrize(
    ("failure", "wait", "words"),
    [
        (busy(12.0), 12.0, "rate limited: waiting 12 s, as the server asks"),
        (busy(120.0), 120.0, "rate limited: waiting 120 s, as the server asks"),
        (busy(0.0), 0.0, "rate limited: waiting 0 s, as the server asks"),
        (BUSY, 0.5, "rate limited: asking again in 0.5 s"),
        (Failure("server", "boom", retry=True), 0.5, "the server failed: asking again in 0.5 s"),
        (
            Failure("server", "boom", retry=True, asked_s=3.0, asked=True),
            3.0,
            "the server failed: waiting 3 s, as the server asks",
        ),
        (Failure("timeout", "late", retry=True), 0.5, "timed out: asking again in 0.5 s"),
        (Failure("connection", "gone", retry=True), 0.5, "connection lost: asking again in 0.5 s"),
    ],
)
async def test_a_wait_is_told_and_then_the_case_is_asked_again(failure, wait, words):
    turn, slept, told = await asked(failure, Turn(answer="Hi"))
    assert (turn.answer, turn.attempts) == ("Hi", 2)
    assert (slept, told) == ([wait], [words])


async def test_own_waits_double_up_to_eight_seconds():
    _, slept, _ = await asked(Failure("server", "boom", retry=True), max_attempts=8)
    assert slept == [0.5, 1, 2, 4, 8, 8, 8]


def test_chance_shortens_an_own_wait_by_at_most_a_quarter():
    assert Clock(chance=lambda: 1.0).backoff(0) == 0.375
    assert Clock(chance=lambda: 0.0).backoff(100) == 8.0


@pytest.mark.parametrize(("kind", "attempts"), [("server", 6), ("connection", 6), ("timeout", 3)])
async def test_failures_are_given_up_after_so_many_attempts(kind, attempts):
    turn, _, _ = await asked(Failure(kind, "the reason.", retry=True))
    assert (turn.error_kind, turn.error, turn.attempts, turn.latency_s) == (kind, "the reason.", attempts, None)


@pytest.mark.parametrize("kind", ["bad_request", "auth", "quota", "connection"])
async def test_what_cannot_pass_is_not_asked_again(kind):
    turn, slept, _ = await asked(Failure(kind, "no.", retry=False))
    assert (turn.error_kind, turn.attempts, slept) == (kind, 1, [])


async def test_one_attempt_means_never_again():
    turn, slept, _ = await asked(BUSY, max_attempts=1)
    assert (turn.error_kind, turn.attempts, slept) == ("rate_limit", 1, [])


async def test_a_wait_beyond_the_limit_is_not_slept_through():
    turn, slept, told = await asked(busy(198300.0))
    assert turn.error == "slow down. It asks to wait 198300 s (55 h), and no wait beyond 120 s is slept through."
    assert (turn.error_kind, turn.attempts, slept, told) == ("rate_limit", 1, [], [])


async def test_refusals_for_the_rate_do_not_count_as_failures():
    turn, _, _ = await asked(*[BUSY] * 9, Failure("server", "boom", retry=True), Turn(answer="Hi"), max_attempts=2)
    assert (turn.answer, turn.attempts) == ("Hi", 11)


async def test_endless_refusals_are_given_up_after_five_minutes():
    turn, slept, _ = await asked(BUSY)
    assert turn.error_kind == "rate_limit"
    assert 300 <= sum(slept) < 310


async def test_a_server_that_always_says_at_once_is_not_hammered():
    _, slept, _ = await asked(busy(0.0))
    assert slept[:5] == [0, 0, 0, 0.5, 1]
    assert sum(slept) >= 300


async def test_others_wait_while_the_endpoint_asks_to_wait():
    clock = FakeClock()
    gate, order = Gate(clock), []
    told: dict[str, list[str]] = {"a": [], "b": []}

    def sender(name, *outcomes):
        left = list(outcomes)

        async def send():
            order.append((name, clock.now() - 1000))
            return left.pop(0)

        return send

    first = Asking(sender("a", busy(12.0), Turn(answer="A")), gate, notify=told["a"].append)
    second = Asking(sender("b", Turn(answer="B")), gate, notify=told["b"].append)

    async def later():
        while not order:
            await asyncio.sleep(0)
        return await second.run()

    turns = await asyncio.gather(first.run(), later())
    assert [turn.answer for turn in turns] == ["A", "B"]
    assert order[0] == ("a", 0)
    assert all(moment == 12 for _, moment in order[1:])
    assert told["b"] == ["rate limited: new requests wait 12 s, as the server asks"]


async def test_who_queues_already_waits_as_well_when_the_endpoint_asks_to_wait():
    clock = FakeClock()
    gate, moments = Gate(clock), []
    gate.limit = 1
    left = [busy(12.0), Turn(answer="A")]

    async def refused_once():
        await asyncio.sleep(0)
        return left.pop(0)

    async def fine():
        moments.append(clock.now() - 1000)
        return Turn(answer="B")

    await asyncio.gather(Asking(refused_once, gate).run(), Asking(fine, gate).run())
    assert moments == [12]


async def test_a_failing_server_holds_back_nobody_else():
    clock = FakeClock()
    gate = Gate(clock)
    down = Failure("server", "boom", retry=True, asked_s=60.0, asked=True)
    left = [down, Turn(answer="A")]
    moments = []

    async def failing():
        return left.pop(0)

    async def fine():
        moments.append(clock.now())
        return Turn(answer="B")

    waiting = asyncio.create_task(Asking(failing, gate).run())
    while len(left) == 2:
        await asyncio.sleep(0)
    await Asking(fine, gate).run()
    assert moments == [1000]
    assert (await waiting).attempts == 2


class Served:
    """An endpoint of numbers: so many at once are served, the others refused."""

    def __init__(self, gate, allow):
        self.gate, self.allow, self.now, self.refused, self.sent, self.most = gate, allow, 0, 0, 0, 0

    async def request(self):
        async with self.gate.enter(lambda text: None) as passed:
            self.sent += 1
            self.most = max(self.most, self.gate.in_flight)
            if self.now >= self.allow:
                self.refused += 1
                await asyncio.sleep(0)
                passed.refused = True
                return False
            self.now += 1
            for _ in range(5):
                await asyncio.sleep(0)
            self.now -= 1
            passed.answered = True
            return True

    async def case(self):
        while not await self.request():
            pass


async def run_cases(served, workers, cases):
    left = list(range(cases))

    async def work():
        while left:
            left.pop()
            await served.case()

    await asyncio.gather(*(work() for _ in range(workers)))


@pytest.mark.parametrize(("allow", "workers"), [(32, 64), (32, 40), (10, 16), (50, 64)])
async def test_the_gate_finds_how_many_are_served_at_once(allow, workers):
    gate = Gate(FakeClock())
    served = Served(gate, allow)
    await run_cases(served, workers, 1000)
    assert abs(gate.limit - allow) <= 1
    assert served.sent <= 1.2 * 1000


async def test_the_gate_hinders_nobody_where_nothing_is_refused():
    gate = Gate(FakeClock())
    served = Served(gate, 1000)
    await run_cases(served, 64, 300)
    assert (gate.limit, served.most, served.sent) == (math.inf, 64, 300)


async def test_the_gate_rises_again_when_the_endpoint_serves_more():
    gate = Gate(FakeClock())
    served = Served(gate, 4)
    await run_cases(served, 16, 200)
    low = gate.limit
    served.allow = 1000
    await run_cases(served, 16, 3000)
    assert low <= 5
    assert gate.limit >= 16


async def test_a_refusal_now_and_then_slows_nobody_down():
    gate = Gate(FakeClock())
    served, chance = Served(gate, 1000), random.Random(1)
    in_flight = []

    async def request():
        async with gate.enter(lambda text: None) as passed:
            in_flight.append(gate.in_flight)
            passed.refused = chance.random() < 0.02
            await asyncio.sleep(0)
            passed.answered = not passed.refused
            return passed.answered

    served.request = request
    await run_cases(served, 64, 3000)
    assert sum(in_flight) / len(in_flight) > 60


async def test_one_round_of_refusals_lowers_the_limit_no_further_than_half():
    gate = Gate(FakeClock())

    async def refused_request():
        async with gate.enter(lambda text: None) as passed:
            await asyncio.sleep(0)
            passed.refused = True

    await asyncio.gather(*(refused_request() for _ in range(16)))
    assert gate.limit == 8
    assert gate.in_flight == 0


async def test_a_cancelled_request_gives_its_place_back():
    gate = Gate(FakeClock())
    gate.limit = 1
    inside = asyncio.Event()

    async def stay():
        async with gate.enter(lambda text: None):
            inside.set()
            await asyncio.Event().wait()

    async def pass_through():
        async with gate.enter(lambda text: None):
            return True

    staying = asyncio.create_task(stay())
    await inside.wait()
    queued = [asyncio.create_task(pass_through()) for _ in range(3)]
    await asyncio.sleep(0)
    queued[0].cancel()
    staying.cancel()
    results = await asyncio.gather(staying, *queued, return_exceptions=True)
    assert [isinstance(result, asyncio.CancelledError) for result in results] == [True, True, False, False]
    assert gate.in_flight == 0


async def test_a_request_that_is_cancelled_as_its_turn_comes_gives_its_place_back():
    gate = Gate(FakeClock())
    gate.limit = 1

    async def pass_through():
        async with gate.enter(lambda text: None):
            return True

    async with gate.enter(lambda text: None):
        queued = [asyncio.create_task(pass_through()) for _ in range(2)]
        await asyncio.sleep(0)
    queued[0].cancel()
    results = await asyncio.gather(*queued, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert results[1] is True
    assert gate.in_flight == 0


async def test_an_overloaded_endpoint_loses_no_case():
    with Endpoint(pick_by_words, allow=16, delay_s=0.02) as endpoint:
        model = OpenAIModel("mock-small", base_url=endpoint.url)
        left, turns = list(range(300)), []

        async def work(session):
            while left:
                turns.append(await session.ask([{"role": "user", "content": f"question {left.pop()}"}]))

        async with model.session() as session:
            await asyncio.gather(*(work(session) for _ in range(32)))
        assert [turn.error for turn in turns if turn.error_kind] == []
        assert len(endpoint.asked) == 300
        assert len(endpoint.requests) <= 1.2 * 300
        assert sum(turn.attempts for turn in turns) == len(endpoint.requests)


@pytest.mark.parametrize(
    ("reply", "wait"),
    [
        (fails(429, retry_after="2"), 2.0),
        (fails(503, retry_after="3"), 3.0),
        (fails(500, x_should_retry="false"), None),
        (fails(400, x_should_retry="true"), 0.5),
        (fails(429, x_should_retry="false"), None),
        (fails(408), 0.5),
        (fails(409), 0.5),
        (fails(422), None),
        (fails(402), None),
    ],
)
async def test_the_server_says_whether_to_ask_again(endpoint, reply, wait):
    endpoint.script = lambda request: reply if request.number == 1 else says("Hi")
    model = OpenAIModel("m", base_url=endpoint.url)
    model.clock = FakeClock()
    async with model.session() as session:
        turn = await session.ask([{"role": "user", "content": "Hello"}])
    assert model.clock.slept == ([] if wait is None else [wait])
    assert (turn.answer, turn.attempts) == ((None, 1) if wait is None else ("Hi", 2))


class Response:
    def __init__(self, status_code, content=b"", headers=None):
        self.status_code, self.content, self.headers = status_code, content, headers or {}


@pytest.mark.parametrize(
    ("status", "content", "kind"),
    [
        (400, b"{}", "bad_request"),
        (404, b'{"error": "no such model"}', "bad_request"),
        (401, b"", "auth"),
        (403, b"", "auth"),
        (402, b"", "quota"),
        (429, b'{"error": {"code": "insufficient_quota"}}', "quota"),
        (429, b'{"error": {"type": "insufficient_quota"}}', "quota"),
        (429, b'{"error": {"code": 429}}', "rate_limit"),
        (429, b"not json", "rate_limit"),
        (408, b"", "timeout"),
        (500, b"[]", "server"),
        (529, b"", "server"),
        (304, b"", "bad_response"),
    ],
)
def test_the_status_and_the_code_tell_the_kind(status, content, kind):
    assert refused(Response(status, content), "host", mask=Mask(), now=NOW).kind == kind


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b'{"error": {"message": "Too long"}}', "HTTP 400 from host: Too long."),
        (b"<html>\n<p>no</p></html>", "HTTP 400 from host: <html> <p>no</p></html>"),
        (b"", "HTTP 400 from host."),
        (b"\xff", "HTTP 400 from host: \\xff."),
    ],
)
def test_an_error_is_a_sentence_with_the_servers_words(content, error):
    assert refused(Response(400, content), "host", mask=Mask(), now=NOW).error == error


def test_a_lost_connection_names_the_innermost_cause():
    error = OSError("outer")
    error.__cause__ = ConnectionResetError(104, "Connection reset by peer")
    failure = lost(error, "host", timeout_s=5, mask=Mask())
    assert (failure.kind, failure.retry) == ("connection", True)
    assert failure.error == "no complete answer from host: ConnectionResetError: [Errno 104] Connection reset by peer."


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (0.44, "0.4 s"), (9, "9 s"), (12.4, "12 s"), (7200, "7200 s (2 h)")]
)
def test_seconds_are_written_for_reading(seconds, text):
    assert seconds_text(seconds) == text
