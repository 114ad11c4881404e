"""What an HTTP response comes to: a Turn, or a Failure that says what was asked where and what to set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urljoin, urlsplit

from . import streaming, wire
from .endpoints import A_PAGE, Address, base_of
from .failure_words import names_setting
from .masking import Mask, masked_url
from .records import Turn
from .replies import Failed, first_words, read_reply
from .request_failures import Failure, Response, is_page, lost, refused, within_ok


def outcome_of(
    response: Response,
    address: Address,
    api: str,
    *,
    names: Mapping[str, str],
    limit: int | None,
    mask: Mask,
    now: float,
) -> Turn | Failure:
    """The Turn in a response, or its Failure. `now` is the time of day; for the others see `read_reply`."""
    if 300 <= response.status_code < 400:
        return redirected(response, address, wire.PATHS[api], mask)
    if not 200 <= response.status_code < 300:
        return _refused(response, address, wire.PATHS[api], mask, now)
    nothing = _nothing(response, address, wire.PATHS[api], mask)
    if nothing is not None:
        return Turn(error_kind="bad_response", error=nothing)
    content = response.content
    if streaming.is_stream(response.headers.get("content-type", ""), content):
        try:
            content = streaming.whole_body(content, api)
        except ConnectionError as error:
            return lost(error, address.host, timeout_s=0, mask=mask)  # which is no time-out
    return read_outcome(read_reply(content, api, names=names, limit=limit, mask=mask), address, mask)


def read_outcome(reply: Turn | Failed, address: Address, mask: Mask) -> Turn | Failure:
    """What was read of a body with status 200; an error within it is a Failure."""
    return within_ok(reply.error, address.host, mask=mask, why=reply.why) if isinstance(reply, Failed) else reply


def _refused(response: Response, address: Address, path: str, mask: Mask, now: float) -> Failure:
    failure = refused(response, address.host, mask=mask, now=now)
    page = is_page(response)
    no_path = response.status_code in (404, 405, *((501,) if page else ())) and not names_setting(failure.error)
    if page or no_path:
        failure = refused(response, f"POST {address.asked(path)}", mask=mask, now=now)
    advice = [address.scheme_advice(failure.error) or (A_PAGE if page else ""), address.advice(path) if no_path else ""]
    return replace(failure, error=" ".join(filter(None, (failure.error, *advice))))


def redirected(response: Response, address: Address, path: str, mask: Mask) -> Failure:
    """An answer that sends elsewhere. What would be sent there is a prompt and a key, so that is for people to say."""
    said = f"HTTP {response.status_code} from {address.host}: it sends elsewhere"
    location, asked = response.headers.get("location", "").strip(), address.asked(path)
    try:
        there = masked_url(urljoin(asked, location))
    except ValueError:
        return Failure("bad_request", f"{said}, to no address that can be read.")
    if not location or there == asked:
        where = "to where it was asked" if location else "and does not say where"
        return Failure("bad_request", f"{said}, {where}: POST {asked}. {address.advice(path)}")
    is_api = urlsplit(base_of(there)).path != urlsplit(there).path.rstrip("/")
    found = f"If that address is right, the base URL is {mask(base_of(there))}." if is_api else address.advice(path)
    advice = f"Requests are not sent on. {found}"
    return Failure("bad_request", f"{first_words(f'{said}, to {there}.', mask)} {advice}")


def _nothing(response: Response, address: Address, path: str, mask: Mask) -> str | None:
    """What is said of a good status with nothing behind it, or with a web page."""
    status, content = response.status_code, response.content
    if not content.strip():
        what = ", no content" if status in (204, 205) else " with an empty body"
        return f"HTTP {status}{what}, from POST {address.asked(path)}. {address.advice(path)}"
    if not is_page(response):
        return None
    words = first_words(content.decode("utf-8", "backslashreplace"), mask)
    return f"HTTP {status}, but a web page, from POST {address.asked(path)}: {words} {A_PAGE} {address.advice(path)}"
