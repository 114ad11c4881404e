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
from urllib.parse import urljoin

from .masking import Mask, masked_url
from .replies import first_words, server_words

# What servers call an account without credit; it comes as 429, and asking again is in vain.
_NO_CREDIT = frozenset(
    {
        "insufficient_quota",
        "insufficient_credits",
        "exceeded_current_quota_error",
        "billing_hard_limit_reached",
        "billing_not_active",
    }
)
_BY_STATUS = {401: "auth", 402: "quota", 403: "auth", 408: "timeout", 409: "server", 429: "rate_limit"}
_NUMBER = re.compile(r"[+-]?\d{1,15}(\.\d*)?")


@dataclass(frozen=True)
class Failure:
    """One request that was not answered.

    `kind` is a Turn's `error_kind`. `asked_s` is how many seconds the server asked to wait (0: none; None: it did
    not ask, or not readably); `asked` is whether it asked at all.
    """

    kind: str
    error: str
    retry: bool = False
    asked_s: float | None = None
    asked: bool = False


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
    kind = _kind(status, body)
    words = first_words(server_words(body) or text, mask)
    advised = headers.get("x-should-retry")
    retry = advised == "true" if advised in ("true", "false") else _may_pass(status) and kind != "quota"
    error = f"HTTP {status} from {host}" + (f": {words}" if words else "")
    asked = "retry-after" in headers or "retry-after-ms" in headers
    return Failure(kind, _sentence(error), retry, asked_wait(headers, now), asked)


def redirected(response: Response, url: str, host: str, *, mask: Mask) -> Failure:
    """An answer that sends elsewhere. What would be sent there is a prompt and a key, so that is for people to say."""
    said = f"HTTP {response.status_code} from {host}"
    try:
        address = masked_url(urljoin(url, response.headers.get("location", "")))
    except ValueError:
        return Failure("bad_request", f"{said}: it sends elsewhere, to no address that can be read.")
    base = re.sub(r"(/chat/completions|/responses)?/?(\?.*)?$", "", address)
    advice = f"Requests are not sent on. If that address is right, the base URL is {base}."
    return Failure("bad_request", first_words(f"{said}: it sends elsewhere, to {address}.", mask) + f" {mask(advice)}")


def lost(error: BaseException, host: str, *, timeout_s: float, mask: Mask) -> Failure:
    """The Failure behind an exception that came in place of a response: a time-out, or no connection."""
    chain = list(_causes(error))
    innermost = chain[-1]
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
    code = str(error.get("code")) if isinstance(error, Mapping) else ""
    kind = "quota" if code in _NO_CREDIT else "rate_limit" if code.startswith("rate_limit") else "server"
    words = first_words(server_words(error) or code, mask)
    return kind, _sentence(f"the batch at {host} did not answer this request" + (f": {words}" if words else ""))


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


def _kind(status: int, body: Any) -> str:
    named = body.get("error", body) if isinstance(body, Mapping) else None
    codes = {str(named.get("code")), str(named.get("type"))} if isinstance(named, Mapping) else set()
    if status == 429 and codes & _NO_CREDIT:
        return "quota"
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        return "server"
    return "bad_request" if status >= 400 else "bad_response"


def _may_pass(status: int) -> bool:
    return status in (408, 409, 429) or status >= 500


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
