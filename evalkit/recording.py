"""A run from its first trial to its file: the journal while it lasts, the Parquet file when it ends or is stopped."""

from __future__ import annotations

import asyncio
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import journal, store
from .answers import UNJUDGED
from .batch_parts import Part
from .batches import BatchRun
from .datasets import EvalCase
from .errors import RunStopped, SettingsError
from .execution import Execution, OnTrial, Received, Tally
from .journal import Journal
from .loops import drive
from .paths import results_dir as find_results_dir
from .paths import run_path
from .plans import Plan, describe, now, run_ids
from .progress import Bar, say
from .refusals import Stop
from .rows import Row, cases_in_order
from .runs import JOURNAL_DIR, going_on, how_to_resume, instant

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class Memory:
    """Where the trials of a run go that is not saved."""

    records: dict[tuple[str, int], Row] = field(default_factory=dict)

    def append(self, record: Row) -> None:
        """Keep one trial."""
        self.records[record["case_id"], record["trial"]] = record

    def note(self, value: Mapping[str, Any]) -> None:
        """Nothing: what is not saved is not taken up again."""

    def rows(self, order: Mapping[str, int]) -> Iterator[Row]:
        """The trials case by case, as a journal gives them."""
        for key in sorted(self.records, key=lambda key: (order[key[0]], key[1])):
            yield self.records[key]


@dataclass(frozen=True)
class Done:
    """A run that ended or was interrupted: its description with counts, and its file, or its rows where it was not
    saved.
    """

    description: dict[str, Any]
    path: Path | None
    rows: tuple[Row, ...] = ()
    interrupted: bool = False

    def frame(self) -> pd.DataFrame:
        """The results frame."""
        return store.read_run(self.path) if self.path else store.frame_of(self.description, self.rows)

    def kept(self) -> str:
        """A sentence on what an interrupted run has kept."""
        return _kept(self.description, saved=self.path is not None)


@dataclass
class Recording:
    """A run in progress. `carry_out` does what is still to do and closes it; `drive` does so from anywhere."""

    plan: Plan
    description: dict[str, Any]
    sink: Journal | Memory
    path: Path | None
    todo: deque[tuple[EvalCase, int]]
    tally: Tally
    is_new: bool = True
    earlier_attempts: dict[tuple[str, int], int] = field(default_factory=dict)
    answered: dict[tuple[str, int], Row] = field(default_factory=dict)  # trials that are only to be reviewed
    parts: list[Part] = field(default_factory=list)  # the batches that there are of it already
    quiet: bool = False

    def drive(self, *, progress: bool | None = None, on_trial: OnTrial | None = None) -> Done:
        """`carry_out` in a loop of its own, from a script, a notebook cell or a worker thread."""
        self.quiet = progress is False
        with Bar(self.tally, shown=progress) as bar:
            return drive(lambda: self._carry_out(on_trial), tick=bar.refresh)

    async def carry_out(self, *, progress: bool | None = None, on_trial: OnTrial | None = None) -> Done:
        """Ask what is to do and close the run. Cancelled, it closes the run with what is finished.

        Raises SettingsError where the endpoint refuses everything alike, RunStopped where the run ended early.
        """
        self.quiet = progress is False
        with Bar(self.tally, shown=progress) as bar:

            def both(row: Row) -> None:
                if on_trial is not None:
                    on_trial(row)
                bar.refresh()

            return await self._carry_out(both)

    async def _carry_out(self, on_trial: OnTrial | None) -> Done:
        try:
            await self._ask(on_trial)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None:
                task.uncancel()
            return self._close(interrupted=True)
        except Stop as stop:
            raise self._stopped(str(stop)) from None
        except SettingsError:
            self._abandon()
            raise
        except OSError as error:
            raise self._stopped(f"a finished trial could not be written: {error}") from error
        except BaseException:
            self._abandon(keep=True)
            raise
        return self._close()

    async def _ask(self, on_trial: OnTrial | None) -> None:
        """Ask what is to do: one by one, or by batch, where only what is stored but not judged needs no batch."""
        plan = self.plan

        def execution(todo: deque[tuple[EvalCase, int]], received: Received | None = None) -> Execution:
            return Execution(
                plan.dataset, plan.model, todo, self.sink, self.tally, plan.concurrency, plan.max_errors, plan.prices,
                on_trial, self.earlier_attempts, plan.jury, self.answered, received,
            )  # fmt: skip

        if plan.batch is None:
            return await execution(self.todo).run()
        by_batch = deque((case, trial) for case, trial in self.todo if (case.id, trial) not in self.answered)
        stored = deque((case, trial) for case, trial in self.todo if (case.id, trial) in self.answered)
        if stored:
            await execution(stored).run()
        if by_batch:
            batches = BatchRun(
                plan.dataset, plan.model, plan.batch, self.description, self.tally, self.parts, self.sink.note,
                (lambda text: None) if self.quiet or self.path is None else say, frozenset(self.earlier_attempts),
            )  # fmt: skip
            await batches.run(by_batch, execution)

    def _close(self, *, interrupted: bool = False) -> Done:
        """Turn the journal into the run's file."""
        order = cases_in_order(self.plan.dataset.cases)
        finished = self.tally.finished
        if finished < self.tally.planned and not self.is_new:  # trials to be asked again still stand as they were
            finished = sum(row["error_kind"] != UNJUDGED for row in self.sink.rows(order))
        self.description |= {
            "status": "complete" if finished >= self.tally.planned else "partial",
            "finished": finished,
            "finished_at": self._ended_at().isoformat(),
        }
        if self.path is None:
            return Done(self.description, None, tuple(self.sink.rows(order)), interrupted)
        try:
            store.save_run(self.path, self.description, self.plan.dataset.as_dict(), self.sink.rows(order))
        except OSError as error:
            where = self._kept_elsewhere(self.path)
            self._abandon(keep=True)
            raise RunStopped(
                f"{self.tally.finished} trials finished, but the run's file could not be written ({error}): {where}",
                self.description["run_id"],
            ) from error
        except BaseException:
            self._abandon(keep=True)
            raise
        if isinstance(self.sink, Journal):
            self.sink.discard()
        return Done(store.read_footer(self.path), self.path, interrupted=interrupted)

    def _kept_elsewhere(self, path: Path) -> str:
        """Where the trials are when the run's file cannot be written, in words."""
        if not isinstance(self.sink, Journal) or self.sink.path.exists():
            return f"the journal keeps them; free the disk, then `{how_to_resume(self.description)}`"
        # The journal was deleted with its folder; what is in it can be read while it is open.
        dataset = self.plan.dataset
        try:
            kept = Path(tempfile.mkdtemp(prefix="evalkit-"), path.name)
            store.save_run(kept, self.description, dataset.as_dict(), self.sink.rows(cases_in_order(dataset.cases)))
        except OSError as error:
            return f"their journal was deleted meanwhile, and they cannot be kept elsewhere either ({error})"
        return f"their journal was deleted meanwhile, so they are kept in {kept}. Move that file to {path.parent}"

    def _ended_at(self) -> datetime:
        """The present moment, or that of the start where the clock was set back meanwhile."""
        ended = now()
        return max(ended, instant(self.description["started_at"]) or ended)

    def _stopped(self, reason: str) -> RunStopped:
        """The run closed with what is finished, as an error for the caller."""
        self._close()
        return RunStopped(
            f"{reason} {_kept(self.description, saved=self.path is not None)}", self.description["run_id"]
        )

    def _abandon(self, *, keep: bool = False) -> None:
        """Let go of the journal: deleted where the run is new and never began."""
        if isinstance(self.sink, Journal):
            if self.is_new and not keep:
                self.sink.discard()
            else:
                self.sink.close()


def drive_together(recordings: Sequence[Recording], on_trial: OnTrial | None = None) -> list[Done | BaseException]:
    """`drive` for several runs at once: how each ended, or what it raised."""

    async def together() -> list[Done | BaseException]:
        tasks = [asyncio.ensure_future(one._carry_out(on_trial)) for one in recordings]
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        return [task.exception() or task.result() for task in tasks]

    with ExitStack() as stack:
        bars = [stack.enter_context(Bar(one.tally)) for one in recordings]

        def refresh() -> None:
            for bar in bars:
                bar.refresh()

        return drive(together, tick=refresh)


def start_recording(plan: Plan, *, results_dir: str | Path | None = None, save: bool = True) -> Recording:
    """A new run, its journal opened, nothing asked yet. Raises SettingsError where results cannot be written."""
    began = now()
    tally = Tally(planned=plan.trials * len(plan.dataset.cases))
    if not save:
        description = describe(plan, next(run_ids(began, plan.model.name)), began)
        return Recording(plan, description, Memory(), None, plan.todo(), tally)
    folder = find_results_dir(results_dir)
    dataset = plan.dataset.as_dict()
    for run_id in run_ids(began, plan.model.name):
        path = run_path(folder, run_id, store.SUFFIX)
        if path.exists():
            continue
        description = describe(plan, run_id, began)
        try:
            sink = Journal.create(run_path(folder / JOURNAL_DIR, run_id, journal.SUFFIX), description, dataset)
        except FileExistsError:
            continue
        except OSError as error:
            raise cannot_write(folder, error) from None
        if path.exists():  # another process finished a run of this id between the two looks
            sink.discard()
            continue
        return Recording(plan, description, sink, path, plan.todo(), tally)
    raise SettingsError(f"no free run id for {began.isoformat()} in {folder}")


def cannot_write(folder: Path, error: OSError) -> SettingsError:
    """What a person is told where a run cannot begin, or go on, for want of a place to write it to."""
    return SettingsError(
        f"results cannot be written to {folder}: {error}. Nothing was asked. "
        "Make room there, or choose another folder with --results-dir."
    )


def _kept(description: Mapping[str, Any], *, saved: bool) -> str:
    run_id, planned = description["run_id"], description["planned"]
    finished = description["finished"]
    if not saved:
        return f"{finished} of {planned} trials are finished."
    return (
        f"{finished} of {planned} trials are kept as {run_id}; `{how_to_resume(description)}` does the rest."
        f"{going_on(description)}"
    )
