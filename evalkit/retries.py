"""Asking again: which failures are asked again and when, and how many requests an endpoint gets at once.

A request that fails waits alone before it is sent again. Only a 429 that says how long to wait holds back every
new request to that endpoint. An endpoint that refuses because too many ask at once is asked by fewer: the `Gate`
lowers its limit to what the endpoint did serve, and tries one more from time to time.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
import warnings
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from .records import Turn
from .request_failures import Failure

LONGEST_WAIT = 120.0  # seconds; what a server asks beyond it is not slept through
FIRST_BACKOFF, LONGEST_BACKOFF = 0.5, 8.0  # seconds
MAX_ATTEMPTS = 6  # requests for one case, not counting those refused for their rate
MAX_TIMEOUTS = 3  # of them, requests that ran into the time limit
PATIENCE = 300.0  # seconds that one case may be refused for its rate …
MIN_REFUSALS = 10  # … and at least so many times, before it is given up
_TRUSTED_REFUSALS = 3  # so often the wait that a server asks is believed; then our own is added to it
_SUCCESSES_TO_GROW = 20
_WINDOW = 50  # requests over which refusals are looked at
_BY_CHANCE = 0.1  # refusals up to this share are no sign of too many at once

Notify = Callable[[str], None]
Send = Callable[[], Awaitable[Turn | Failure | None]]  # None: to be sent again at once, as it is asked otherwise now


@dataclass
class Clock:
    """Where time comes from, and chance. Tests have their own."""

    now: Callable[[], float] = time.monotonic
    time_of_day: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random

    def backoff(self, earlier: int) -> float:
        """Seconds to wait after `earlier` failures: doubling, less up to a quarter by chance."""
        return min(FIRST_BACKOFF * 2.0 ** min(earlier, 10), LONGEST_BACKOFF) * (1 - 0.25 * self.chance())


@dataclass
class Pass:
    """One request's passage through a Gate; its holder says what became of the request."""

    round: int
    answered: bool = False
    refused: bool = False


class Gate:
    """Lets requests through to one endpoint: as many at once as it serves, and none while it asks to wait.

    The limit begins where it hinders nobody. When more than a few requests in a hundred are refused, it falls to what
    is still in flight (those the endpoint did accept), but in one round of refusals no lower than half. It rises by
    one after a series of answers at the limit; each rise that is refused makes the next series longer.
    """

    def __init__(self, clock: Clock | None = None):
        self.clock = clock or Clock()
        self.limit = math.inf
        self.in_flight = 0
        self._held_until = -math.inf
        self._queue: deque[asyncio.Future[None]] = deque()
        self._round, self._floor = 0, 1
        self._successes, self._series, self._rose = 0, 0, False
        self._share = 0.0  # of the last requests that ended, how many were refused
        self._said_full = False
        self._most = 0  # in flight at once since the limit fell

    @asynccontextmanager
    async def enter(self, notify: Notify) -> AsyncIterator[Pass]:
        """Wait for the turn of one request; within the block it is in flight."""
        await self._wait(notify)
        self._most = max(self._most, self.in_flight)
        request = Pass(self._round)
        try:
            yield request
        finally:
            self.in_flight -= 1
            if request.refused or request.answered:
                self._share += (request.refused - self._share) / _WINDOW
            if request.refused:
                self._fall(request.round)
            elif request.answered:
                self._rise()
            self._admit()

    def hold(self, seconds: float) -> None:
        """Let nobody in for so long."""
        self._held_until = max(self._held_until, self.clock.now() + seconds)

    def say_full(self) -> None:
        """Warn, once, that this process can open no more connections."""
        if not self._said_full:
            self._said_full = True
            warnings.warn("too many open files: requests wait, and fewer go out at once", stacklevel=2)

    async def _wait(self, notify: Notify) -> None:
        while True:
            while (left := self._held_until - self.clock.now()) > 0:
                notify(f"rate limited: new requests wait {seconds_text(left)}, as the server asks")
                await self.clock.sleep(left)
            await self._take_place()
            if self._held_until <= self.clock.now():
                return
            self._give_back()

    async def _take_place(self) -> None:
        if self.in_flight < self.limit and not self._queue:
            self.in_flight += 1
            return
        place = asyncio.get_running_loop().create_future()
        self._queue.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():
                self._give_back()
            raise

    def _give_back(self) -> None:
        self.in_flight -= 1
        self._admit()

    def _admit(self) -> None:
        while self._queue and self.in_flight < self.limit:
            place = self._queue.popleft()
            if not place.done():
                self.in_flight += 1
                place.set_result(None)

    def _fall(self, round_of_request: int) -> None:
        if self._share < _BY_CHANCE:
            return
        if round_of_request == self._round:
            self._round += 1
            self._floor, self._most = math.ceil(self._most / 2), 0
            self.limit = self.in_flight + 1
            shortest = max(_SUCCESSES_TO_GROW, self.in_flight)
            self._series = min(2 * self._series, 8 * shortest) if self._rose else max(self._series, shortest)
            self._rose = False
        self.limit = max(self._floor, min(self.limit, self.in_flight))
        self._successes = 0

    def _rise(self) -> None:
        if self.in_flight + 1 < self.limit:
            return
        self._successes += 1
        if self._successes >= self._series:
            self._series = max(_SUCCESSES_TO_GROW, int(self.limit)) if self._rose else self._series
            self.limit, self._successes, self._rose = self.limit + 1, 0, True


@dataclass
class Asking:
    """The requests for one case, until it is answered or given up."""

    send: Send
    gate: Gate
    max_attempts: int = MAX_ATTEMPTS
    notify: Notify = field(default=lambda text: None)
    _otherwise: int = 0
    _refusals: int = 0
    _timeouts: int = 0
    _others: int = 0
    _unsent: int = 0  # of the refusals, those that this process met before anything was sent
    _refused_since: float = 0.0

    async def run(self) -> Turn:
        """The Turn, with `attempts` and the `latency_s` of the request that was answered."""
        clock = self.gate.clock
        while True:
            async with self.gate.enter(self.notify) as request:
                started = clock.now()
                outcome = await self.send()
                latency = clock.now() - started
                request.answered = isinstance(outcome, Turn)
                request.refused = isinstance(outcome, Failure) and _is_too_many(outcome)
            if outcome is None:
                self._otherwise += 1
                continue
            if isinstance(outcome, Turn):
                attempts = 1 + self._otherwise + self._refusals + self._timeouts + self._others - self._unsent
                return replace(outcome, attempts=attempts, latency_s=latency)
            self._count(outcome)
            if self._is_last(outcome):
                return Turn(
                    error_kind=outcome.kind,
                    error=outcome.error + _too_long(outcome.asked_s),
                    attempts=self._otherwise + self._refusals + self._timeouts + self._others - self._unsent,
                )
            wait = self._wait_s(outcome)
            if wait > 0 or outcome.asked:
                self.notify(_reason(outcome, wait))
            await clock.sleep(wait)

    def _count(self, failure: Failure) -> None:
        if _is_too_many(failure):
            self._refused_since = self._refused_since if self._refusals else self.gate.clock.now()
            self._refusals += 1
            self._unsent += failure.is_unsent
            if failure.is_unsent:
                self.gate.say_full()
        elif failure.kind == "timeout":
            self._timeouts += 1
        else:
            self._others += 1

    def _is_last(self, failure: Failure) -> bool:
        once = self.max_attempts == 1 and not failure.is_unsent
        if not failure.retry or once or _too_long(failure.asked_s):
            return True
        if _is_too_many(failure):
            waited = self.gate.clock.now() - self._refused_since
            return self._refusals >= MIN_REFUSALS and waited >= PATIENCE
        return self._timeouts + self._others >= self.max_attempts or self._timeouts >= MAX_TIMEOUTS

    def _wait_s(self, failure: Failure) -> float:
        """Seconds before this case is asked again; a 429 with a wait holds the gate as well."""
        clock, asked = self.gate.clock, failure.asked_s
        if failure.is_unsent:
            return clock.backoff(self._unsent - 1)
        if failure.kind != "rate_limit":
            return clock.backoff(self._timeouts + self._others - 1) if asked is None else asked
        if asked is None:
            # Where others are being served, too many asked at once: the place in the gate's queue is wait enough.
            is_overload = not failure.asked and self._refusals == 1 and self.gate.in_flight > 0
            return 0.0 if is_overload else clock.backoff(self._refusals - 1)
        self.gate.hold(asked)
        beyond = self._refusals - _TRUSTED_REFUSALS
        return asked if beyond <= 0 else max(asked, clock.backoff(beyond - 1))


def seconds_text(seconds: float) -> str:
    """Seconds for reading: "0.4 s", "12 s", "198300 s (55 h)"."""
    if seconds < 10:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    return f"{seconds:.0f} s" + (f" ({seconds / 3600:.0f} h)" if seconds >= 7200 else "")


def _is_too_many(failure: Failure) -> bool:
    """Whether fewer at once would have been let through: by the endpoint, or by this process's limit of files."""
    return failure.kind == "rate_limit" or failure.is_unsent


def _too_long(asked: float | None) -> str:
    if asked is None or asked <= LONGEST_WAIT:
        return ""
    return f" It asks to wait {seconds_text(asked)}, and no wait beyond {LONGEST_WAIT:.0f} s is slept through."


def _reason(failure: Failure, wait: float) -> str:
    what = {"rate_limit": "rate limited", "timeout": "timed out", "connection": "connection lost"}
    begun = "too many open files" if failure.is_unsent else what.get(failure.kind, "the server failed")
    if failure.asked_s is not None and wait == failure.asked_s:
        return f"{begun}: waiting {seconds_text(wait)}, as the server asks"
    return f"{begun}: asking again in {seconds_text(wait)}"
