"""One coroutine, driven from anywhere: a script, a notebook cell (whose loop already runs), a worker thread.

Nothing is patched: the coroutine gets a thread and an event loop of its own, and the calling thread waits in short
steps, so that Ctrl-C and the notebook's stop button reach it. `in_thread` and `to_the_end` are for what a coroutine
must not do itself (block) or leave undone (write down what was paid for).
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from queue import SimpleQueue
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


async def in_thread(function: Callable[..., Any], *given: Any) -> Any:
    """What the function returns, called in a daemon thread: one that hangs can keep neither loop nor process.

    Whatever it raises is raised here; what is no Exception (SystemExit) as a RuntimeError.
    """
    work, outcome = _job(function, given)
    threading.Thread(target=work, daemon=True, name="evalkit-call").start()
    return await outcome


class OneThread:
    """A daemon thread that calls functions one after another, for as long as its `with` block lasts."""

    def __enter__(self) -> OneThread:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        threading.Thread(target=self._work, daemon=True, name="evalkit-thread").start()
        return self

    def __exit__(self, *_: object) -> None:
        self._jobs.put(None)

    async def call(self, function: Callable[..., Any], *given: Any) -> Any:
        """What the function returns, or raises, as `in_thread` does."""
        work, outcome = _job(function, given)
        self._jobs.put(work)
        return await outcome

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


def _job(function: Callable[..., Any], given: tuple[Any, ...]) -> tuple[Callable[[], None], asyncio.Future[Any]]:
    """What a thread is to do, and the future of the running loop that will hold what comes of it."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(returned: Any, error: Exception | None) -> None:
        if outcome.done():
            return
        if error is None:
            outcome.set_result(returned)
        else:
            outcome.set_exception(error)

    def work() -> None:
        returned: Any = None
        failure: Exception | None = None
        try:
            returned = context.run(function, *given)
        except StopIteration as error:
            failure = RuntimeError(f"StopIteration: {error}")  # a future cannot hold one
        except Exception as error:
            failure = error
        except BaseException as error:
            failure = RuntimeError(f"{type(error).__name__}: {error}")  # SystemExit must not end the run
        # Where the loop has ended meanwhile, nobody waits for this any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, returned, failure)

    return work, outcome


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, which goes on to its end even where the task that awaits it is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # looked at, so that nobody is warned of it
        raise


def _wait(ended: threading.Event, tick: Callable[[], None]) -> None:
    """Wait in short steps. An event, since a `Thread.join` that a signal interrupts may take the thread for dead."""
    while not ended.wait(0.1):
        tick()


def _cancel(box: dict[str, Any]) -> None:
    """Cancel the coroutine; its loop may have just ended, and then there is nothing left to cancel."""
    with suppress(KeyError, RuntimeError):
        box["loop"].call_soon_threadsafe(box["task"].cancel)
