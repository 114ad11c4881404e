"""Who is asked: an OpenAI-compatible endpoint, a baseline, or a function of yours. Whatever happens, a Turn comes back.

A Model is a description (a name, settings without secrets); its `session()` does the asking. A session belongs to
the event loop that it is opened in, and never raises for what an endpoint or a function does: such a Turn has
an `error_kind` and an `error`.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from . import request_failures, wire
from .callables import CallableModel
from .endpoints import Address, address_of, mask_log
from .errors import SettingsError
from .lexical import LexicalBaseline
from .masking import STARS, Mask, masked_fields, secrets_in_environment, secrets_in_fields
from .nearmiss import did_you_mean
from .outcomes import outcome_of
from .posting import Post
from .records import Turn
from .request_failures import Failure
from .retries import MAX_ATTEMPTS, Asking, Clock, Gate, Notify
from .tools import Tool

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

__all__ = ["CallableModel", "LexicalBaseline", "Model", "OpenAIModel", "Session", "as_model"]

APIS = tuple(wire.PATHS)
LEXICAL = "lexical"
_SENT_BESIDE = ("extra_headers", "extra_query", "extra_body")
_CONNECT_S = 15.0


class Session(Protocol):
    """Asks a model, one request at a time or many at once."""

    async def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Tool] = (),
        *,
        extra: Mapping[str, Any] | None = None,
        notify: Notify | None = None,
    ) -> Turn:
        """The Turn that answers the messages. `extra`: fields of this request only; `notify` is told of waits."""


@runtime_checkable
class Model(Protocol):
    """Who is asked. `settings` can be written as JSON and hold no secret."""

    @property
    def name(self) -> str: ...
    @property
    def settings(self) -> Mapping[str, Any]: ...

    def session(self) -> AbstractAsyncContextManager[Session]:
        """A session, opened and closed by `async with`."""


class OpenAIModel:
    """A model behind an OpenAI-compatible endpoint.

    Parameters
    ----------
    base_url : default: the environment's OPENAI_BASE_URL, else OpenAI's own. Credentials in it are sent, never shown.
    temperature : None leaves it to the endpoint.
    api : "chat" (Chat Completions) or "responses".
    extra : further fields of the request (`seed`, `max_tokens`, `tool_choice`, …; None leaves one out). As in the
        client library, `extra_headers`, `extra_query` and `extra_body` are sent beside them.
    api_key : default: OPENAI_API_KEY. A server of your own needs none.
    timeout : seconds from sending a request to the end of its answer.
    max_attempts : requests for one case where it fails; those refused for their rate do not count. 1: never again.

    Raises SettingsError where it cannot be asked as it stands.
    """

    def __init__(
        self,
        name: str,
        base_url: str | None = None,
        temperature: float | None = None,
        api: str = "chat",
        extra: Mapping[str, Any] | None = None,
        api_key: str | None = None,
        timeout: float = 120.0,
        max_attempts: int = MAX_ATTEMPTS,
    ):
        _check(name, temperature, api, extra, timeout, max_attempts)
        self.name, self.api, self.timeout, self.max_attempts = name.strip(), api, timeout, max_attempts
        self.temperature = None if temperature is None else float(temperature)
        self.clock = Clock()
        self._extra = dict(extra or {})
        self._address = address_of(base_url, api_key)
        secrets = (*self._address.secrets, *secrets_in_fields(self._extra), *secrets_in_environment())
        self._mask = Mask.of(*secrets)
        self.settings: Mapping[str, Any] = {
            "kind": "openai",
            "api": api,
            "base_url": self._address.shown,
            "temperature": self.temperature,
            "extra": masked_fields(self._extra) or None,
        }

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r}, base_url={self._address.shown!r})"

    @asynccontextmanager
    async def session(self) -> AsyncIterator[OpenAISession]:
        """A session with its own connections, which are closed at its end."""
        client, http = _client(self._address, self.timeout, self._extra)
        try:
            post = Post(client, http, wire.PATHS[self.api])
            yield OpenAISession(self, post, self._address, self._mask, self._extra)
        finally:
            await client.close()


class OpenAISession:
    """Asks an endpoint; all of its requests share one gate."""

    def __init__(self, model: OpenAIModel, post: Post, address: Address, mask: Mask, extra: Mapping[str, Any]) -> None:
        self._model, self._post, self._address, self._mask = model, post, address, mask
        beside = extra.get("extra_body") or {}
        own = {name: value for name, value in extra.items() if name not in _SENT_BESIDE}
        self._settings = {"temperature": model.temperature, **own, **beside}
        self._gate = Gate(model.clock)
        self._offered: tuple[Sequence[Tool], wire.Offer] = ((), wire.Offer())

    async def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Tool] = (),
        *,
        extra: Mapping[str, Any] | None = None,
        notify: Notify | None = None,
    ) -> Turn:
        """The Turn that answers the messages, after as many attempts as it takes."""
        body, offer = self.request(messages, tools, extra)
        send = partial(self._send, json.dumps(body).encode(), offer.own, wire.limit_of(body))
        asking = Asking(send, self._gate, self._model.max_attempts, notify or (lambda text: None))
        return await asking.run()

    @property
    def way(self) -> tuple[AsyncOpenAI, Address, Mask]:
        """The client, the address and what hides secrets: for what is asked of the endpoint in another way."""
        return self._post.client, self._address, self._mask

    def request(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Tool] = (),
        extra: Mapping[str, Any] | None = None,
    ) -> tuple[dict[str, Any], wire.Offer]:
        """The body that is sent for the messages, and the tools as it offers them."""
        offer = self._offer(tools)
        settings = {**self._settings, **(extra or {})}
        return wire.body_of(self._model.name, messages, offer, settings, self._model.api), offer

    def _offer(self, tools: Sequence[Tool]) -> wire.Offer:
        """Definitions and names of the tools, worked out once for as long as they stay the same."""
        if tools is not self._offered[0]:
            self._offered = (tools, wire.offer_of(tools, self._model.api))
        return self._offered[1]

    async def _send(self, body: bytes, names: Mapping[str, str], limit: int | None) -> Turn | Failure:
        model = self._model
        try:
            async with asyncio.timeout(model.timeout):
                response = await self._post.send(body)
        except Exception as error:
            failure = request_failures.lost(error, self._address.host, timeout_s=model.timeout, mask=self._mask)
            return replace(failure, error=f"{failure.error} {self._address.scheme_advice(failure.error)}".rstrip())
        return outcome_of(
            response, self._address, model.api,
            names=names, limit=limit, mask=self._mask, now=model.clock.time_of_day(),
        )  # fmt: skip


def as_model(spec: Model | str | Callable[..., Any], **settings: Any) -> Model:
    """The Model meant by a name, a Model or a function. "lexical" is the baseline.

    `settings` are those of OpenAIModel (or of the baseline). Raises SettingsError where they cannot apply.
    """
    if isinstance(spec, str):
        made: type[LexicalBaseline | OpenAIModel] = LexicalBaseline if spec.strip() == LEXICAL else OpenAIModel
        allowed = [name for name in inspect.signature(made).parameters if name != "name"]
        unknown = [name for name in settings if name not in allowed]
        if unknown:
            offer = f"It takes: {', '.join(allowed)}.{did_you_mean(unknown[0], allowed)}"
            raise SettingsError(f"the model {spec!r} takes no setting {unknown[0]!r}. {offer}")
        return LexicalBaseline(**settings) if made is LexicalBaseline else OpenAIModel(spec, **settings)
    if settings:
        raise SettingsError(f"{', '.join(settings)}: such settings belong to the model object itself, {spec!r}")
    if isinstance(spec, type) and hasattr(spec, "session"):
        raise SettingsError(f"{spec.__name__} is a kind of model; give one of it, such as {spec.__name__}(…)")
    if isinstance(spec, Model):
        return spec
    if callable(spec):
        return CallableModel(spec)
    raise SettingsError(f"a model is a name, a Model or a function of messages and tools, got {spec!r}")


def _client(address: Address, timeout_s: float, extra: Mapping[str, Any]) -> tuple[AsyncOpenAI, httpx2.AsyncClient]:
    """A client for the running event loop and what it sends with: aiohttp where that is there, which takes half the
    time.
    """
    import httpx2
    import openai

    mask_log(httpx2.__name__)
    limit = httpx2.Timeout(timeout_s, connect=min(timeout_s, _CONNECT_S), pool=None)
    try:
        http = openai.DefaultAioHttpClient(timeout=limit)
    except RuntimeError:
        http = openai.DefaultAsyncHttpxClient(timeout=limit)
    client = openai.AsyncOpenAI(
        api_key=address.key,
        base_url=address.url,
        timeout=limit,
        max_retries=0,
        default_headers={**address.headers, **(extra.get("extra_headers") or {})},
        default_query={**address.query, **(extra.get("extra_query") or {})},
        http_client=http,
    )
    return client, http


def _check(name: Any, temperature: Any, api: Any, extra: Any, timeout: Any, max_attempts: Any) -> None:
    if not isinstance(name, str) or not name.strip():
        raise SettingsError(f"a model's name must be text, got {name!r}")
    if temperature is not None and not _is_number(temperature):
        raise SettingsError(f"temperature must be a number of 0 or more, got {temperature!r}")
    if api not in APIS:
        raise SettingsError(f"api must be 'chat' or 'responses', got {api!r}.{did_you_mean(str(api), APIS)}")
    if not _is_number(timeout) or timeout == 0:
        raise SettingsError(f"timeout must be a number of seconds above 0, got {timeout!r}")
    if isinstance(max_attempts, bool) or not isinstance(max_attempts, int) or max_attempts < 1:
        raise SettingsError(f"max_attempts must be at least 1, got {max_attempts!r}")
    if extra is not None:
        _check_extra(extra)


def _check_extra(extra: Any) -> None:
    if not isinstance(extra, Mapping):
        raise SettingsError(f"extra must be a mapping of request fields, such as {{'seed': 7}}, got {extra!r}")
    try:
        text = json.dumps(extra, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"extra must hold JSON values alone: {error}") from None
    for name in (*wire.OWN_FIELDS, "temperature"):
        if name in extra:
            raise SettingsError(f"extra cannot set {name!r}: evalkit sets it itself")
    for name in _SENT_BESIDE:
        if not isinstance(extra.get(name) or {}, Mapping):
            raise SettingsError(f"{name} must be a mapping, got {extra[name]!r}")
    for name, value in (extra.get("extra_headers") or {}).items():
        if not isinstance(value, str) or not (name + value).isprintable() or not (name + value).isascii():
            raise SettingsError(f"the header {name!r} must be plain text on one line")
    if json.dumps(STARS) in text:
        raise SettingsError(f"extra holds a masked value ({STARS}): a secret is not stored with a run. Give it anew.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
