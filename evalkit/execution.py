"""The heart of a run: trials that are still to do are asked of a model, scored, written down and counted.

A fixed number of workers takes trials from one queue. Each finished trial is journaled before it is counted or shown.
Stops: an interrupt (what is finished stays), a full disk, the quota or key gone, too many errors, or a first
handful of requests that the endpoint refuses all for the same reason (a mistake of the settings). What an endpoint
refuses for a case's own text is that case's error, and stops nothing.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Protocol

from .datasets import Dataset, EvalCase
from .errors import SettingsError
from .evaluators import evaluate_answer, evaluate_tool_call
from .failure_words import is_about_case, names_endpoint, names_setting
from .jury import Bench, Jury, NoJudge, judges_of, reviews_in
from .loops import OneThread, to_the_end
from .models import Model, Session
from .prices import BATCH_SHARE, Prices, cost
from .records import Turn, Verdict
from .rows import Row, row_of, turn_of

APART_S = 0.002  # workers begin so far apart, else their replies come all at once, and each waits for the work on all
FIRST = 8  # requests that must not all be refused for one reason
HOPELESS = 50  # trials that may all end in errors before a run is given up
_REFUSALS = ("auth", "bad_request", "quota")
_FATAL = ("auth", "quota")
SAME = ("latency_s", "cost_usd", "attempts", "input_tokens", "output_tokens")  # what scoring again leaves as it was
_HINTS = {
    "auth": "Check OPENAI_API_KEY, and OPENAI_BASE_URL where you use a server of your own.",
    "quota": "Nothing more will be answered until the account has credit or another key is set.",
}


class Stop(Exception):
    """The run ends here, for the reason in its message; what is finished stays."""


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
    _first: list[tuple[EvalCase, Turn]] = field(default_factory=list)
    _held: list[Row] = field(default_factory=list)
    _answered: bool = False
    _asked: int = 0
    _texts: int = 0  # different texts among what is asked, counted up to FIRST
    _in_vain: int = 0  # errors of this pass that are not for what the case says
    _forbidden: set[str] = field(default_factory=set)  # cases with HTTP 403 since the last that had none
    _last_error: str = ""
    _scoring: OneThread = field(default_factory=OneThread)

    async def run(self) -> None:
        """Ask, score and write down every trial. Raises Stop, SettingsError, OSError, or CancelledError."""
        asked = [case for case, trial in self.todo if (case.id, trial) not in self.answered]
        self._asked, self._texts = len(asked), _different(asked, FIRST)
        self._answered = self.tally.passed + self.tally.failed > 0  # by an earlier pass over this run
        async with AsyncExitStack() as stack:
            stack.enter_context(self._scoring)
            session = await stack.enter_async_context(self.model.session()) if self._asked else None
            bench = await stack.enter_async_context(self.jury.open(session, self.prices)) if self.jury else None
            count = min(self.concurrency, len(self.todo))
            workers = [asyncio.create_task(self._work(session, bench, number * APART_S)) for number in range(count)]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)

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
        self._answered = self._answered or not _is_refused(turn)
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
            if len(self._first) < FIRST:
                self._first.append((case, turn))
                self._refuse_settings()
            known = self._answered or len(self._first) == FIRST
            if self.received is None and turn.error_kind in _FATAL and known and not _is_forbidden(turn):
                raise self._lost(turn)
        self._held.append(row)
        if turn is not None and _is_refused(turn) and not self._answered and len(self._first) < min(FIRST, self._asked):
            return  # a mistake of the settings shows in the first few; until then they are not part of the run
        held, self._held = self._held, []
        for one in held:
            self._record(one)
        if turn is not None and self.received is None:
            self._stop_where_forbidden(case, turn)
            self._in_vain += turn.error_kind is not None and not _is_about_case(turn)
        self._stop_for_errors()

    def _lost(self, turn: Turn) -> Stop:
        return Stop(f"the endpoint answers no more: {turn.error} {_HINTS[turn.error_kind or '']}")

    def _stop_where_forbidden(self, case: EvalCase, turn: Turn) -> None:
        """One 403 may be about its case; so many in a row, each for another case, are about the key.

        They are recorded as errors, so that the run can be taken up behind them.
        """
        if _is_forbidden(turn):
            self._forbidden.add(case.id)
            if len(self._forbidden) >= FIRST:
                raise self._lost(turn)
        elif turn.error_kind is None or _is_about_case(turn):
            self._forbidden.clear()

    def _record(self, row: Row) -> None:
        self.sink.append(row)
        self.tally.count(row)
        self.tally.waiting = ""
        self._last_error = row["error"] or self._last_error
        if self.on_trial is not None:
            self.on_trial(row)

    def _refuse_settings(self) -> None:
        """Raise where all of the first requests are refused for what is sent with every case.

        That is so where the endpoint says it (it names a setting, the key, the account, an address), or where it says
        the same of different texts.
        """
        if self._answered or len(self._first) < min(FIRST, self._asked):
            return
        cases, turns = zip(*self._first, strict=True)
        same = len({(turn.error_kind, _same_words(turn.error)) for turn in turns}) == 1
        is_said = all(map(self._names_what_all_share, turns))
        if is_said or (same and 1 < _different(cases, FIRST) >= self._texts):
            which = "the only request" if len(turns) == 1 else f"each of the first {len(turns)} requests"
            raise SettingsError(f"the endpoint refused {which}: {turns[0].error} {self._hint(turns[0])}")

    def _names_what_all_share(self, turn: Turn) -> bool:
        return turn.error_kind in _FATAL or names_endpoint(turn.error) or bool(names_setting(turn.error, self._sent()))

    def _sent(self) -> list[str]:
        """The names of what is sent with every case."""
        settings = self.model.settings
        extra = {name: value for name, value in (settings.get("extra") or {}).items() if not name.startswith("extra_")}
        extra |= (settings.get("extra") or {}).get("extra_body") or {}
        beside = ["temperature"] if settings.get("temperature") is not None else []
        tools = ["tools"] if self.dataset.tools else []
        return list(dict.fromkeys(["model", *beside, *extra, *tools]))

    def _hint(self, turn: Turn) -> str:
        named = names_setting(turn.error, self._sent())
        if not named and turn.error_kind in _HINTS:
            return _HINTS[turn.error_kind]
        if names_endpoint(turn.error) and not named:
            return ""
        if named:
            what = f"Change what is named there: {', '.join(named)}"
        else:
            what = f"It names no setting; these were sent: {', '.join(self._sent())}"
        return f"{what}. `evalkit check --model NAME` shows what the endpoint takes."

    def _stop_for_errors(self) -> None:
        tally, limit = self.tally, self.max_errors
        errors = tally.errors
        if limit is None:
            if self._in_vain >= HOPELESS and not tally.passed + tally.failed:
                raise Stop(f"all of the first {errors} trials ended in errors, the last one: {self._last_error}")
        elif errors > (limit * tally.planned if limit < 1 else limit):
            allowed = f"{limit:.0%} of {tally.planned}" if limit < 1 else f"{limit:.0f}"
            raise Stop(f"{errors} trials ended in errors, more than max_errors allows ({allowed}).")


def _is_about_case(turn: Turn) -> bool:
    return turn.error_kind == "bad_request" and is_about_case(turn.error)


def _is_refused(turn: Turn) -> bool:
    """Whether it is refused, and not for what the case says."""
    return turn.error_kind in _REFUSALS and not _is_about_case(turn)


def _is_forbidden(turn: Turn) -> bool:
    return turn.error_kind == "auth" and (turn.error or "").startswith("HTTP 403")


def _different(cases: Iterable[EvalCase], most: int) -> int:
    """How many different texts the cases hold, counted up to `most`."""
    texts: set[str] = set()
    for case in cases:
        texts.add(repr(case.input))
        if len(texts) == most:
            break
    return len(texts)


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


def _same_words(error: str | None) -> str:
    """An error text without what differs from request to request: numbers and ids."""
    return re.sub(r"\b(?:req|chatcmpl|resp)[\w-]*|\d+", "#", error or "")
