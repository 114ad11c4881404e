"""The heart of a run: trials that are still to do are asked of a model, scored, written down and counted.

A fixed number of workers takes trials from one queue. Each finished trial is journaled before it is counted or shown.
Stops: an interrupt (what is finished stays), a full disk, the quota or key gone, too many errors, or a first
handful of requests that the endpoint refuses all for the same reason (a mistake of the settings). What an endpoint
refuses for a case's own text is that case's error, and stops nothing.
"""

from __future__ import annotations

import asyncio
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Protocol

from .datasets import Dataset, EvalCase
from .evaluators import evaluate_answer, evaluate_tool_call
from .jury import Bench, Jury, NoJudge, judges_of, reviews_in
from .loops import OneThread, to_the_end
from .models import Model, Session
from .open_files import room
from .prices import BATCH_SHARE, Prices, cost
from .records import Turn, Verdict
from .refusals import Refusals, Stop, concerns_case, names_of_sent
from .rows import Row, row_of, turn_of

APART_S = 0.002  # workers begin so far apart, else their replies come all at once, and each waits for the work on all
HOPELESS = 50  # trials that may all end in errors before a run is given up
SAME = ("latency_s", "cost_usd", "attempts", "input_tokens", "output_tokens")  # what scoring again leaves as it was


class Received(Protocol):
    """Where answers are that came by batch, not one by one."""

    def take(self, case_id: str, trial: int) -> Turn: ...


class Sink(Protocol):
    """Where finished trials go."""

    def append(self, record: Row) -> None: ...


@dataclass
class Tally:
    """Trials finished so far; `waiting` says what is being waited for."""

    planned: int
    passed: int = 0
    failed: int = 0
    errors: int = 0
    waiting: str = ""

    @property
    def finished(self) -> int:
        """Trials that ended, in whatever way."""
        return self.passed + self.failed + self.errors

    def count(self, row: Row, by: int = 1) -> None:
        """Add one trial's outcome."""
        if row["passed"] is None:
            self.errors += by
        elif row["passed"]:
            self.passed += by
        else:
            self.failed += by


OnTrial = Callable[[Row], None]


@dataclass
class Execution:
    """One pass over the trials of a run that are still to do. Those in `answered` (their rows) are only reviewed.

    With `received`, the model is not asked: its answers are there, all of them paid for, so that none is left out for
    what another one is.
    """

    dataset: Dataset
    model: Model
    todo: deque[tuple[EvalCase, int]]
    sink: Sink
    tally: Tally
    concurrency: int = 16
    max_errors: float | None = None
    prices: Prices = field(default_factory=dict)
    on_trial: OnTrial | None = None
    earlier_attempts: dict[tuple[str, int], int] = field(default_factory=dict)
    jury: Jury | None = None
    answered: Mapping[tuple[str, int], Row] = field(default_factory=dict)
    received: Received | None = None
    _held: list[Row] = field(default_factory=list)
    _in_vain: int = 0  # errors of this pass that are not for what a case says
    _refusals: Refusals = field(init=False)
    _last_error: str = ""
    _scoring: OneThread = field(default_factory=OneThread)

    async def run(self) -> None:
        """Ask, score and write down every trial. Raises Stop, SettingsError, OSError, or CancelledError."""
        asked = [case for case, trial in self.todo if (case.id, trial) not in self.answered]
        sent = names_of_sent(self.model.settings, tools=bool(self.dataset.tools))
        before = self.tally.passed + self.tally.failed > 0  # answered in an earlier pass over this run
        self._refusals = Refusals(asked, sent, before, is_batch=self.received is not None)
        async with AsyncExitStack() as stack:
            stack.enter_context(self._scoring)
            session = await stack.enter_async_context(self.model.session()) if asked else None
            bench = await stack.enter_async_context(self.jury.open(session, self.prices)) if self.jury else None
            count = self._workers(bool(asked) + (self.jury is not None))
            workers = [asyncio.create_task(self._work(session, bench, number * APART_S)) for number in range(count)]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)

    def _workers(self, connections: int) -> int:
        """How many trials go on at once, where each takes so many connections."""
        wanted = min(self.concurrency, len(self.todo))
        left = room() / connections if connections and self.received is None else wanted
        if wanted <= left:
            return wanted
        fitting = max(1, int(left))
        text = f"this process may have only so many files open that {fitting} trials go on at once, not {wanted}"
        warnings.warn(f"{text}; `ulimit -n` raises the limit", stacklevel=2)
        return fitting

    async def _work(self, session: Session | None, bench: Bench | None, wait_s: float) -> None:
        await asyncio.sleep(wait_s)
        while self.todo:
            case, trial = self.todo.popleft()
            stored = self.answered.get((case.id, trial))
            if stored is not None:
                turn, known = turn_of(stored), {name: stored[name] for name in SAME}
            else:
                turn, known = await self._ask(case, trial, session)
            judged = await self._judged(case, trial, turn, known, bench) if bench and judges_of(case, turn) else None
            await to_the_end(self._settle(case, trial, turn, known, judged, is_new=stored is None))

    async def _settle(
        self,
        case: EvalCase,
        trial: int,
        turn: Turn,
        known: dict[str, Any],
        judged: Mapping[int, Verdict] | None,
        *,
        is_new: bool,
    ) -> None:
        """Score and write down one trial."""
        self._finish(case, await self._row(case, trial, turn, known, judged), turn if is_new else None)

    async def _row(
        self, case: EvalCase, trial: int, turn: Turn, known: dict[str, Any], judged: Mapping[int, Verdict] | None
    ) -> Row:
        """The row of a trial. It is scored beside the event loop, so that a slow reviewer holds up no request.

        One at a time: reviewers of one's own need not be made for threads.
        """
        verdict = await self._scoring.call(score_turn, case, turn, self.dataset.tools, judged)
        return row_of(case, trial, turn, verdict) | known

    async def _ask(self, case: EvalCase, trial: int, session: Session | None) -> tuple[Turn, dict[str, Any]]:
        """What the model sends back, and the row's values that only now can be known."""
        assert session is not None  # noqa: S101  # it is open while there is something to ask
        messages = case.messages(self.dataset.system_prompt)
        try:
            if self.received is not None:
                turn = self.received.take(case.id, trial)
            else:
                turn = await session.ask(messages, self.dataset.tools, notify=self._notify)
            if not isinstance(turn, Turn):
                raise TypeError(f"it returned a {type(turn).__name__}, not a Turn")
        except Exception as error:  # a model of one's own that does not keep to what a session promises
            turn = Turn(error_kind="model", error=f"the model failed: {type(error).__name__}: {error}", attempts=1)
        self._refusals.hear(turn)
        share = 1.0 if self.received is None else BATCH_SHARE
        known: dict[str, Any] = {"cost_usd": cost(turn.usage, self.model.name, self.prices, share=share)}
        if earlier := self.earlier_attempts.get((case.id, trial)):
            known["attempts"] = earlier + (turn.attempts or 0)
        return turn, known

    async def _judged(
        self, case: EvalCase, trial: int, turn: Turn, known: dict[str, Any], bench: Bench
    ) -> Mapping[int, Verdict]:
        """The judges' verdicts. The answer is written down before they are asked, so that it is paid for once."""

        async def keep(judged: Mapping[int, Verdict]) -> None:
            self.sink.append(await self._row(case, trial, turn, known, judged))

        stored = self.answered.get((case.id, trial))
        if stored is None:
            await to_the_end(keep({}))
        try:
            return await bench.judge(case, turn, reviews_in(stored or {}), notify=self._notify)
        except NoJudge as error:
            await to_the_end(keep(error.judged))
            raise Stop(f"{error} The answers are kept, and no model is asked again for them.") from None

    def _notify(self, text: str) -> None:
        self.tally.waiting = text

    def _finish(self, case: EvalCase, row: Row, turn: Turn | None) -> None:
        """Write the trial down, count it, and stop the run where there is reason to. `turn`: what came just now."""
        if turn is not None:
            self._refusals.look(case, turn)
        self._held.append(row)
        if turn is not None and self._refusals.is_open(turn):
            return
        held, self._held = self._held, []
        for one in held:
            self._record(one)
        if turn is not None:
            self._refusals.look_back(case, turn)
            self._in_vain += turn.error_kind is not None and not concerns_case(turn)
        self._stop_for_errors()

    def _record(self, row: Row) -> None:
        self.sink.append(row)
        self.tally.count(row)
        self.tally.waiting = ""
        self._last_error = row["error"] or self._last_error
        if self.on_trial is not None:
            self.on_trial(row)

    def _stop_for_errors(self) -> None:
        tally, limit = self.tally, self.max_errors
        errors = tally.errors
        if limit is None:
            if self.received is None and self._in_vain >= HOPELESS and not tally.passed + tally.failed:
                raise Stop(f"all of the first {errors} trials ended in errors, the last one: {self._last_error}")
        elif errors > (limit * tally.planned if limit < 1 else limit):
            allowed = f"{limit:.0%} of {tally.planned}" if limit < 1 else f"{limit:.0f}"
            raise Stop(f"{errors} trials ended in errors, more than max_errors allows ({allowed}).")


def score_turn(
    case: EvalCase, turn: Turn | str | None, tools: Iterable[Any], judged: Mapping[int, Verdict] | None = None
) -> Verdict:
    """The verdict on one turn, by the kind of its case; `judged` are the judges' verdicts on a final answer.

    A fault of the scoring itself is that trial's error.
    """
    try:
        if case.kind == "final_answer":
            return evaluate_answer(case, turn or Turn(), judged=judged)
        return evaluate_tool_call(case, turn, tuple(tools))
    except (Exception, SystemExit) as error:
        reason = f"the trial could not be scored: {type(error).__name__}: {error}"
        return Verdict(None, None, reason, outcome="error", error_kind="reviewer")
