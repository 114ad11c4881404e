"""Any Python function as a model: `messages, tools -> Turn | str | ToolCall | list of ToolCall`, sync or async."""

from __future__ import annotations

import asyncio
import copy
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from .errors import SettingsError
from .jsontext import fingerprint
from .loops import in_thread
from .records import ToolCall, Turn
from .retries import Notify
from .tools import Tool

ALLOWED = "a model function returns a Turn, a str (the answer), a ToolCall or a list of them"


class CallableModel:
    """A model that is a function of yours. What it raises, or returns amiss, is that case's error ("model").

    A function that is not async runs in a thread of its own for each call, so that an interrupt never waits for it.
    Its name is the model's name; its source is part of the settings' fingerprint, so that a changed function shows.
    Raises SettingsError where it cannot be called with messages and tools.
    """

    def __init__(self, function: Callable[..., Any], name: str | None = None):
        if not callable(function):
            raise SettingsError(f"a model is a name, a Model or a function, got {function!r}")
        _check_signature(function)
        self.function = function
        self.name = name or _name(function)
        self.settings: Mapping[str, Any] = {"kind": "callable", "function": self.name, "source": _source(function)}

    def __repr__(self) -> str:
        return f"CallableModel({self.name})"

    @asynccontextmanager
    async def session(self) -> AsyncIterator[CallableSession]:
        """A session, which needs no closing."""
        yield CallableSession(self.function)


class CallableSession:
    """Asks the function."""

    def __init__(self, function: Callable[..., Any]):
        self._function = function

    async def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Tool] = (),
        *,
        extra: Mapping[str, Any] | None = None,
        notify: Notify | None = None,
    ) -> Turn:
        """The Turn that the function gives for copies of the messages. `extra` and `notify` mean nothing to it."""
        started = time.monotonic()
        given = (copy.deepcopy(list(messages)), tuple(tools))
        try:
            if inspect.iscoroutinefunction(self._function):
                returned = self._function(*given)
            else:
                returned = await in_thread(self._function, *given)
            if isinstance(returned, Awaitable):
                returned = await returned
            turn = _turn_of(returned)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise  # from outside: the run is being stopped
            turn = _failed("CancelledError: the function was cancelled from within")
        except Exception as error:
            turn = _failed(f"{type(error).__name__}: {error}")
        latency = time.monotonic() - started if turn.latency_s is None and turn.error_kind is None else turn.latency_s
        return replace(turn, attempts=turn.attempts or 1, latency_s=latency)


def _turn_of(returned: Any) -> Turn:
    if isinstance(returned, str):
        returned = Turn(answer=returned)
    elif isinstance(returned, ToolCall):
        returned = Turn(tool_calls=[returned])
    elif isinstance(returned, list | tuple) and all(isinstance(call, ToolCall) for call in returned):
        returned = Turn(tool_calls=returned)
    if not isinstance(returned, Turn):
        return _failed(f"it returned a {type(returned).__name__}; {ALLOWED}")
    if not all(isinstance(call, ToolCall) for call in returned.tool_calls):
        return _failed("it returned a Turn whose tool_calls are not all ToolCall(name, arguments)")
    return returned


def _failed(what: str) -> Turn:
    return Turn(error_kind="model", error=f"the model function failed: {what}")


def _check_signature(function: Callable[..., Any]) -> None:
    try:
        inspect.signature(function).bind([], ())
    except TypeError as error:
        raise SettingsError(
            f"the function {_name(function)} cannot be a model: it must take messages and tools ({error})"
        ) from None
    except ValueError:
        return  # a builtin that does not tell its signature


def _name(function: Callable[..., Any]) -> str:
    inner = getattr(function, "func", function)  # of functools.partial
    return getattr(inner, "__name__", type(inner).__name__)


def _source(function: Callable[..., Any]) -> str | None:
    """Twelve digits that change with the function's source; None where it cannot be read."""
    try:
        return fingerprint(inspect.getsource(getattr(function, "func", function)))
    except (OSError, TypeError):
        return None
