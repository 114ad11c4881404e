"""Who is asked: an OpenAI-compatible endpoint, a baseline, or a function of yours. Whatever happens, a Turn comes back.

A Model is a description (a name, settings without secrets); its `session()` does the asking. A session belongs to
the event loop that it is opened in, and never raises for what an endpoint or a function does: such a Turn has
an `error_kind` and an `error`.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from . import model_settings, request_failures, wire
from .callables import CallableModel
from .endpoints import Address, address_of, mask_log
from .errors import SettingsError
from .lexical import LexicalBaseline
from .masking import Mask, masked_fields, secrets_in_environment, secrets_in_fields
from .nearmiss import did_you_mean
from .outcomes import outcome_of
from .posting import Post
from .records import Turn
from .request_failures import Failure
from .retries import MAX_ATTEMPTS, Asking, Clock, Gate, Notify
from .terms import Terms
from .tools import Tool

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

__all__ = ["CallableModel", "LexicalBaseline", "Model", "OpenAIModel", "Session", "as_model"]

LEXICAL = "lexical"
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
        extra : further fields of the request (`top_p`, …; None leaves one out). As in the client library,
            `extra_headers`, `extra_query` and `extra_body` are sent beside them.
        api_key : default: OPENAI_API_KEY. A server of your own needs none.
        timeout : seconds from sending a request to the end of its answer.
        max_attempts : requests for one case where it fails; those refused for their rate do not count. 1: never again.
        max_tokens : the longest reply, under whichever name the endpoint takes (`max_completion_tokens`, …).
        seed, parallel_tool_calls, reasoning_effort : sent as the API spells them.
        tool_choice : "auto", "none", "required", a tool's name, or a mapping as the APIs have it.

    Settings are kept as fields of `extra`. An endpoint that says that it only streams is asked for streams.
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
        *,
        max_tokens: int | None = None,
        seed: int | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        parallel_tool_calls: bool | None = None,
        reasoning_effort: str | None = None,
    ):
        given = {
            "max_tokens": max_tokens, "seed": seed, "tool_choice": tool_choice,
            "parallel_tool_calls": parallel_tool_calls, "reasoning_effort": reasoning_effort,
        }  # fmt: skip
        model_settings.check(name, api, temperature=temperature, timeout=timeout, max_attempts=max_attempts)
        self._extra = model_settings.merged(given, extra)
        self.name, self.api, self.timeout, self.max_attempts = name.strip(), api, timeout, max_attempts
        self.temperature = None if temperature is None else float(temperature)
        self.clock = Clock()
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
            post = Post(client, http, wire.PATHS[self.api], self._address.key)
            yield OpenAISession(self, post, self._address, self._mask, self._extra)
        finally:
            await client.close()


class OpenAISession:
    """Asks an endpoint; all of its requests share one gate."""

    def __init__(self, model: OpenAIModel, post: Post, address: Address, mask: Mask, extra: Mapping[str, Any]) -> None:
        self._model, self._post, self._address, self._mask = model, post, address, mask
        sent = {name: value for name, value in model_settings.fields(extra) if value is not None}
        self._settings = {"temperature": model.temperature, **wire.plain(sent)}
        self._first_limit = _first_limit(model.api, sent, address)
        self.terms = Terms(self._first_limit)
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
        body, offer = self._body(messages, tools, extra)
        send = partial(self._send, body, offer.own, {})
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
        """The body that is sent for the messages where it is not streamed, and the tools as it offers them."""
        body, offer = self._body(messages, tools, extra)
        return replace(self.terms, streams=False).put(body, counts=False), offer

    def _body(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Tool], extra: Mapping[str, Any] | None
    ) -> tuple[dict[str, Any], wire.Offer]:
        offer = self._offer(tools)
        settings = {**self._settings, **wire.plain(extra or {})}
        return wire.body_of(self._model.name, messages, offer, settings, self._model.api), offer

    def _offer(self, tools: Sequence[Tool]) -> wire.Offer:
        """Definitions and names of the tools, worked out once for as long as they stay the same."""
        if tools is not self._offered[0]:
            self._offered = (tools, wire.offer_of(tools, self._model.api))
        return self._offered[1]

    async def _send(
        self, body: Mapping[str, Any], names: Mapping[str, str], refused: dict[Terms, Turn | Failure]
    ) -> Turn | Failure | None:
        """What came back; None where the endpoint is to be asked again, on the terms that it told. `refused`: on which
        terms it was asked so far, in vain.
        """
        model, terms = self._model, self.terms
        sent = json.dumps(terms.put(body, counts=model.api == "chat")).encode()
        try:
            async with asyncio.timeout(model.timeout):
                response = await self._post.send(sent)
        except Exception as error:
            failure = request_failures.lost(error, self._address.host, timeout_s=model.timeout, mask=self._mask)
            return replace(failure, error=f"{failure.error} {self._address.scheme_advice(failure.error)}".rstrip())
        outcome = outcome_of(
            response, self._address, model.api,
            names=names, limit=wire.limit_of(body), mask=self._mask, now=model.clock.time_of_day(),
        )  # fmt: skip
        wanted = terms.wanted(body, response.content) if _is_refusal(response, outcome) else {}
        if not wanted:
            return outcome
        refused[terms] = outcome
        self.terms = replace(self.terms, **wanted)
        if self.terms not in refused:
            return None
        outcome = refused[self.terms]  # none of its names is taken
        self.terms = replace(self.terms, limit=self._first_limit)
        return outcome


def _is_refusal(response: httpx2.Response, outcome: Turn | Failure) -> bool:
    """Whether a response can be about how a request was put. Of a body with status 200, only one that is an error from
    its beginning: the rest is the model's own words.
    """
    if response.is_success:
        return not (isinstance(outcome, Turn) and outcome.error_kind is None) and b'"error"' in response.content[:200]
    kind = outcome.kind if isinstance(outcome, Failure) else outcome.error_kind
    return kind == "bad_request" or response.status_code in (500, 501)


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
        http = openai.DefaultAioHttpClient(timeout=limit, follow_redirects=False)
    except RuntimeError:
        http = openai.DefaultAsyncHttpxClient(timeout=limit, follow_redirects=False)
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


def _first_limit(api: str, settings: Mapping[str, Any], address: Address) -> str:
    """The name of the limit that is tried first: what the API calls it, or the newer name that was given, or that all
    models of OpenAI's own endpoint take.
    """
    newer, output = wire.LIMITS[1:]
    if api == "responses":
        return output
    return newer if newer in settings or address.host == "api.openai.com" else wire.LIMIT
