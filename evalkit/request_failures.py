"""What went wrong with a request: its kind, a sentence with the server's own words, whether asking again can help."""

from __future__ import annotations

import json
import math
import re
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

from . import failure_words
from .masking import Mask
from .open_files import is_full
from .replies import first_words, server_words

_MAY_PASS = ("rate_limit", "server", "timeout")  # kinds of failures after which asking again can help
_NUMBER = re.compile(r"[+-]?\d{1,15}(\.\d*)?")


@dataclass(frozen=True)
class Failure:
    """One request that was not answered.

    `kind` is a Turn's `error_kind`. `asked_s` is how many seconds the server asked to wait (0: none; None: it did
    not ask, or not readably); `asked` is whether it asked at all. `is_unsent`: this process had no connection left.
    """

    kind: str
    error: str
    retry: bool = False
    asked_s: float | None = None
    asked: bool = False
    is_unsent: bool = False


class Response(Protocol):
    """What is read of an HTTP response."""

    @property
    def status_code(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def content(self) -> bytes: ...


def refused(response: Response, host: str, *, mask: Mask, now: float) -> Failure:
    """The Failure told by a response whose status is an error. `now` is the time of day, in seconds since 1970."""
    status, headers = response.status_code, response.headers
    text = response.content.decode("utf-8", "backslashreplace")
    body = _parsed(text)
    said = "" if is_page(response) else failure_words.told(body) or text
    kind, error = _told(status, said, body if body is not None else text, f"HTTP {status} from {host}", mask)
    advised = headers.get("x-should-retry")
    retry = advised == "true" if advised in ("true", "false") else kind in _MAY_PASS
    asked = "retry-after" in headers or "retry-after-ms" in headers
    return Failure(kind, error, retry, asked_wait(headers, now), asked)


def within_ok(error: Any, host: str, *, mask: Mask, why: str = "the body holds an error") -> Failure:
    """The Failure told by an error inside a reply with status 200: what the status that it names would make of it."""
    status = failure_words.status_of(error)
    kind, said = _told(status, failure_words.told(error), error, f"HTTP 200 from {host}, but {why}", mask)
    return Failure(kind, said, kind in _MAY_PASS)


def is_page(response: Response) -> bool:
    """Whether a web page came in place of an API's answer."""
    start = response.content[:1000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    is_html = "html" in response.headers.get("content-type", "") and start.startswith(b"<")
    return is_html or start.startswith((b"<!doctype html", b"<html", b"<head", b"<body", b"<script", b"<title"))


def lost(error: BaseException, host: str, *, timeout_s: float, mask: Mask) -> Failure:
    """The Failure behind an exception that came in place of a response: a time-out, or no connection."""
    chain = list(_causes(error))
    innermost = chain[-1]
    if is_full(*chain):
        return Failure("connection", f"nothing was sent to {host}: too many open files.", retry=True, is_unsent=True)
    # On aiohttp, a connection that is refused or reset is raised as a time-out: the cause tells them apart.
    is_timeout = any(isinstance(one, TimeoutError) for one in chain) or "Timeout" in type(innermost).__name__
    if is_timeout:
        return Failure("timeout", f"no answer from {host} within {timeout_s:g} s.", retry=True)
    said = first_words(str(innermost), mask)
    cause = type(innermost).__name__ + (f": {said}" if said else "")
    retry = not any(isinstance(one, ssl.SSLCertVerificationError | UnicodeError) for one in chain)
    return Failure("connection", _sentence(f"no complete answer from {host}: {cause}"), retry)


def unanswered(error: Any, host: str, *, mask: Mask) -> tuple[str, str]:
    """Kind and sentence for a request of a batch that has no response, but an error in the batch's own words."""
    begin = f"the batch at {host} did not answer this request"
    return _told(failure_words.status_of(error) or 500, failure_words.told(error), error, begin, mask)


def asked_wait(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that the headers ask to wait, 0 for a moment that has passed; None where they do not, or not readably.

    A date counts from the server's own Date header, since its clock and ours may differ.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return max(milliseconds / 1000, 0.0)
    asked = headers.get("retry-after")
    seconds = _number(asked)
    if seconds is None:
        moment = _moment(asked)
        if moment is None:
            return None
        server_now = _moment(headers.get("date"))
        seconds = moment - (now if server_now is None else server_now)
    return max(seconds, 0.0)


def _number(text: str | None) -> float | None:
    return float(text) if text is not None and _NUMBER.fullmatch(text.strip()) else None


def _moment(text: str | None) -> float | None:
    try:
        moment = parsedate_to_datetime(text or "").timestamp()
    except (TypeError, ValueError, OverflowError, OSError):
        return None
    return moment if math.isfinite(moment) else None


def _told(status: int | None, said: str, body: Any, begin: str, mask: Mask) -> tuple[str, str]:
    """The kind of a failure and the sentence on it: the server's message, then the names that it gives beside it."""
    kind, told_by = failure_words.kind_of(status, said)
    message = server_words(body)
    words = first_words(message or (body if isinstance(body, str) else said), mask)
    error = _sentence(begin + (f": {words}" if words else ""))
    named = _named(body) if message else []
    if kind == failure_words.CASE:
        kind = "bad_request"
        named += [] if failure_words.is_about_case(f"{error} {named}") else [told_by]
    beside = "; ".join(one for one in named if one.rpartition(": ")[2].lower() not in error.lower())
    return kind, error + (f" ({first_words(beside, mask)})" if beside else "")


def _named(body: Any) -> list[str]:
    """The parameter and the code that an error object names."""
    error = body.get("error") if isinstance(body, Mapping) else None
    error = error if isinstance(error, Mapping) else body
    if not isinstance(error, Mapping):
        return []
    return [f"{key}: {error[key]}" for key in ("param", "code") if isinstance(error.get(key), str) and error[key]]


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…", ">")) else text + "."


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exception and what caused it, the innermost last."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
