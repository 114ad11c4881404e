"""One coroutine, driven from anywhere: a script, a notebook cell (whose loop already runs), a worker thread.

Nothing is patched: the coroutine gets a thread and an event loop of its own, and the calling thread waits in short
steps, so that Ctrl-C and the notebook's stop button reach it.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


def drive(main: Callable[[], Coroutine[Any, Any, T]], tick: Callable[[], None] = lambda: None) -> T:
    """The result of `main()`. On KeyboardInterrupt it is cancelled once and asked for what it has finished.

    `tick` is called in the calling thread ten times a second (a progress bar). A second interrupt goes through to the
    caller. Exceptions of `main` are raised here.
    """
    box: dict[str, Any] = {}
    started, ended = threading.Event(), threading.Event()

    async def body() -> T:
        box["loop"], box["task"] = asyncio.get_running_loop(), asyncio.current_task()
        started.set()
        return await main()

    def target() -> None:
        try:
            box["result"] = asyncio.run(body())
        except BaseException as error:
            box["error"] = error
        finally:
            started.set()
            ended.set()

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(target,), name="evalkit-run", daemon=True).start()
    try:
        _wait(ended, tick)
    except KeyboardInterrupt:
        started.wait()
        _cancel(box)
        _wait(ended, tick)
    if "error" in box:
        raise box["error"]
    result: T = box["result"]
    return result


def _wait(ended: threading.Event, tick: Callable[[], None]) -> None:
    """Wait in short steps. An event, since a `Thread.join` that a signal interrupts may take the thread for dead."""
    while not ended.wait(0.1):
        tick()


def _cancel(box: dict[str, Any]) -> None:
    """Cancel the coroutine; its loop may have just ended, and then there is nothing left to cancel."""
    with suppress(KeyError, RuntimeError):
        box["loop"].call_soon_threadsafe(box["task"].cancel)
