"""A server that fails one request in five, by chance that is the same each time, and what must become of each case."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from evalkit.retries import MAX_ATTEMPTS, MAX_TIMEOUTS
from loopback_replies import Reply, Request, fails, pick_by_words

SHARE = 0.2
_PAGE = {"content-type": "text/html"}
# A name, the reply, and what it must be taken for: a kind of error, whether it is asked again.
FAULTS: list[tuple[str, Reply | None, str | None, bool]] = [
    ("429 without a wait", fails(429, "slow down"), "rate_limit", True),
    ("429 with a wait", fails(429, "slow down", retry_after_ms="20"), "rate_limit", True),
    ("500", fails(500, "boom"), "server", True),
    ("503 as a page", Reply("<html><body>busy</body></html>", 503, _PAGE), "server", True),
    ("reset", Reply({}, reset=True), "connection", True),
    ("cut body", Reply({"id": "chatcmpl-1", "choices": []}, cut=12), "connection", True),
    ("stall", Reply({"id": "chatcmpl-1", "choices": []}, stall=True), "timeout", True),
    ("a page with 200", Reply("<html>Please log in</html>", 200, _PAGE), "bad_response", False),
    ("another content type", None, None, False),
    ("slow drip", None, None, False),
]


def fault_of(text: str, number: int) -> int | None:
    """Which fault befalls the n-th request for a text; None: none."""
    chance = hashlib.sha256(f"{number} {text}".encode()).digest()
    if int.from_bytes(chance[:4], "big") / 2**32 >= SHARE:
        return None
    return chance[4] % len(FAULTS)


def unreliable(request: Request) -> Reply:
    """The reply, or the fault that befalls it."""
    fault = fault_of(request.text, request.number)
    if fault is None:
        return pick_by_words(request)
    name, reply, _, _ = FAULTS[fault]
    if reply is not None:
        return reply
    answer = pick_by_words(request)
    if name == "slow drip":
        answer.drip_s = 0.0005
    else:
        answer.headers = {"content-type": "text/plain; charset=latin-1"}
    return answer


def faults_of(text: str, requests: int) -> Iterator[str]:
    """The faults that befell so many requests for a text."""
    found = (fault_of(text, number) for number in range(1, requests + 1))
    return (FAULTS[fault][0] for fault in found if fault is not None)


def to_be_expected(text: str) -> tuple[int, str | None]:
    """How many requests a case must take by the stated retries, and the kind of its error; None: it is answered."""
    timeouts = others = number = 0
    while True:
        number += 1
        fault = fault_of(text, number)
        _, _, kind, again = FAULTS[fault] if fault is not None else ("", None, None, False)
        timeouts += kind == "timeout"
        others += kind not in (None, "timeout", "rate_limit")
        given_up = kind != "rate_limit" and (timeouts + others >= MAX_ATTEMPTS or timeouts >= MAX_TIMEOUTS)
        if kind is None or not again or given_up:
            return number, kind
