"""A run whose model is asked by batch: submitted, waited for, scored as each batch ends, taken up again later.

A batch lives at the endpoint, for up to a day. Whatever becomes of this process meanwhile, the run's journal (or its
file, once it is stopped) says which batches there are and which trials each holds; `resume` looks at those and submits
only what is in none of them.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import IO, Any

from . import wire
from .batch_client import BatchClient, BatchFailure, FileGone
from .batch_parts import Batching, Key, Part, Trials, check_batch
from .batch_replies import Reading, Received
from .datasets import Dataset, EvalCase
from .errors import SettingsError
from .execution import Execution, Tally
from .masking import printable
from .models import Model, OpenAISession
from .refusals import Stop
from .replies import first_words
from .runs import how_to_resume

MOST_MISSED = 60  # looks in a row that are not answered before waiting is given up
ENDED = ("completed", "expired", "cancelled", "failed")
_GROWTH = 1.5
_BREATH = 200  # requests written before others have their turn

Todo = deque[tuple[EvalCase, int]]


@dataclass
class BatchRun:
    """The batches of one run. `parts` are those there are already; `note` writes one down for good."""

    dataset: Dataset
    model: Model
    batching: Batching
    description: dict[str, Any]
    tally: Tally
    parts: list[Part]
    note: Callable[[Mapping[str, Any]], None]
    say: Callable[[str], None]
    again: frozenset[Key] = frozenset()  # trials that have ended in an error before
    _trials: Trials = field(init=False)
    _problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._trials = Trials([case.id for case in self.dataset.cases])

    async def run(self, todo: Todo, execute: Callable[[Todo, Received], Execution]) -> None:
        """Have every trial answered and scored. Raises SettingsError, Stop, OSError, or CancelledError."""
        model = check_batch(self.model)
        wanted = {(case.id, trial): (case, trial) for case, trial in todo}
        async with model.session() as session:
            client = BatchClient(model, session, self.description["run_id"])
            try:
                await self._submit(wanted, client, session)
                async with aclosing(self._ends(wanted, client, session)) as ends:
                    async for part, received in ends:
                        await self._score(part, received, wanted, execute)
            except BatchFailure as failure:
                raise self._error(f"the batch could not be carried out: {failure}") from None
        if self._problems:
            raise self._error(" ".join(self._problems))

    async def _score(
        self, part: Part, received: Received, wanted: Mapping[Key, Any], execute: Callable[[Todo, Received], Execution]
    ) -> None:
        """One pass over the trials of a batch that has ended."""
        held, before = self._held(part), self.tally.finished
        todo = deque(wanted[key] for key in received.ended() if key in wanted and key in held)
        try:
            await execute(todo, received).run()
        except SettingsError as error:  # every request was refused alike
            if not before and self._open() == [part]:
                raise
            self._problems.append(str(error))
        if received.unsent:
            done = len(part.trials) - len(received.unsent)
            self._problems.append(f"{part.name} was cancelled with {done:,} of {len(part.trials):,} requests done.")
        self._settle(part)

    # Submitting

    async def _submit(self, wanted: Mapping[Key, tuple[EvalCase, int]], client: BatchClient, session: Any) -> None:
        """Have every wanted trial in a batch, each in one."""
        for part in self._open():
            if wanted.keys().isdisjoint(self._held(part)):
                self._settle(part)
            elif part.batch_id is None:
                await self._take_up(part, client, session)
        held = {key for part in self._open() for key in self._held(part)}
        rest = sorted(self._trials.place(key) for key in wanted if key not in held)
        while rest:
            with TemporaryFile(prefix="evalkit-batch-") as file:
                count = await self._fill(file, rest, session)
                part = self._plan(rest[:count])
                rest = rest[count:]
                await self._send(part, file, client)

    async def _take_up(self, part: Part, client: BatchClient, session: Any) -> None:
        """Make the batch of a part that was planned by an earlier process, and perhaps uploaded."""
        if part.file_id is not None:
            try:
                return await self._create(part, client, may_exist=True)
            except FileGone:
                self.say(f"the endpoint does not take the input file of {part.name} any more: it is uploaded anew.")
        with TemporaryFile(prefix="evalkit-batch-") as file:
            await self._fill(file, part.trials, session, whole=True)
            await self._send(part, file, client)

    def _plan(self, places: Iterable[int]) -> Part:
        held = tuple(places)
        again = any(self._trials.key(place) in self.again for place in held)
        number = 1 + max((part.number for part in self.parts), default=0)
        part = Part(number, uuid.uuid4().hex, held, client_time(self.model), again)
        self.parts.append(part)
        self._write_down(part)
        return part

    async def _send(self, part: Part, file: IO[bytes], client: BatchClient) -> None:
        self.tally.waiting = f"uploading {len(part.trials):,} requests"
        part.file_id = await client.upload(part, file)
        self._write_down(part)
        await self._create(part, client, may_exist=False)

    async def _create(self, part: Part, client: BatchClient, *, may_exist: bool) -> None:
        def keep(batch_id: str) -> None:
            part.batch_id = batch_id
            self._write_down(part)

        await client.create(part, keep, may_exist=may_exist)
        self.say(
            f"{part.name} holds {len(part.trials):,} requests. It goes on at {client.host} whatever becomes of this "
            f"process; `{how_to_resume(self.description)}` takes it up again."
        )

    async def _fill(
        self, file: IO[bytes], places: Iterable[int], session: OpenAISession, *, whole: bool = False
    ) -> int:
        """Write as many requests as one batch may hold, at least one; how many. `whole`: all of them."""
        url, prompt = f"/v1{wire.PATHS[check_batch(self.model).api]}", self.dataset.system_prompt
        count = size = 0
        cases = self.dataset.cases
        for place in places:
            case = cases[place % len(cases)]
            body, _ = session.request(case.messages(prompt), self.dataset.tools)
            request = {"custom_id": self._trials.custom_id(place), "method": "POST", "url": url, "body": body}
            line = json.dumps(request).encode() + b"\n"
            full = count >= self.batching.most_requests or size + len(line) > self.batching.most_bytes
            if full and count and not whole:
                break
            file.write(line)
            count, size = count + 1, size + len(line)
            if count % _BREATH == 0:
                await asyncio.sleep(0)
        file.flush()
        return count

    # Waiting

    async def _ends(
        self, wanted: Mapping[Key, Any], client: BatchClient, session: OpenAISession
    ) -> AsyncGenerator[tuple[Part, Received]]:
        """Each batch that holds a wanted trial, when it has ended, with what it brought back."""
        waiting = self._open()
        wait, missed = self.batching.poll_s, 0
        while waiting:
            for part in list(waiting):
                try:
                    batch = await client.look(part)
                    missed = 0
                except BatchFailure as error:
                    missed += 1
                    if not error.failure.retry or missed >= MOST_MISSED:
                        raise self._lost(part, error) from None
                    self.tally.waiting = printable(f"{part.name}: {error} Looking again in {wait:.0f} s")
                    continue
                self.tally.waiting = _progress(part, batch)
                if batch.status not in ENDED:
                    continue
                waiting.remove(part)
                if batch.status == "failed":
                    self._fail(part, batch, client)
                    continue
                with TemporaryFile(prefix="evalkit-batch-") as file:
                    received = await self._receive(part, batch, file, client, session)
                    if received is not None:
                        yield part, received
            if waiting:
                await client.clock.sleep(wait)
                wait = min(max(wait, 0.001) * _GROWTH, self.batching.longest_poll_s)

    async def _receive(
        self, part: Part, batch: Any, file: IO[bytes], client: BatchClient, session: OpenAISession
    ) -> Received | None:
        """What a batch brought back; None where the endpoint has it no more."""
        try:
            for file_id in filter(None, (batch.output_file_id, batch.error_file_id)):
                await client.download(file_id, file)
        except BatchFailure as error:
            if error.status != 404:
                raise
            self._problems.append(f"what {part.name} brought back is gone, and has to be asked again: {error}")
            self._settle(part)
            return None
        body, offer = session.request([], self.dataset.tools)
        reading = Reading(client.model.api, offer.own, wire.limit_of(body), client.address, client.mask)
        ids = {self._trials.custom_id(place): self._trials.key(place) for place in part.trials}
        received = Received(ids, file, reading, batch.status)
        await received.read()
        return received

    def _fail(self, part: Part, batch: Any, client: BatchClient) -> None:
        """The endpoint took the input file for none: nothing of it was asked."""
        told = getattr(getattr(batch, "errors", None), "data", None) or []
        said = [
            first_words(f"{error.message or error.code}", client.mask)
            + (f" (line {error.line} of the input file)" if error.line else "")
            for error in told[:3]
        ]
        more = f" and {len(told) - 3} more errors" if len(told) > 3 else ""
        self._problems.append(
            f"{client.host} did not begin {part.name}: {'; '.join(said) or 'it does not say why'}{more}."
        )
        self._settle(part)

    # What is written down

    def _open(self) -> list[Part]:
        return [part for part in self.parts if not part.settled]

    def _held(self, part: Part) -> set[Key]:
        """The trials that are to be taken from a part: not those that it answered with an error once already."""
        keys = {self._trials.key(place) for place in part.trials}
        return keys if part.again else keys - self.again

    def _settle(self, part: Part) -> None:
        part.settled = True
        self._write_down(part)

    def _write_down(self, part: Part) -> None:
        self.note(part.as_dict())
        self.description["batches"] = [one.as_dict() for one in self.parts]

    def _lost(self, part: Part, error: BatchFailure) -> Exception:
        hint = f" Is this the key that {part.name} was made with?" if error.status in (401, 403, 404) else ""
        return self._error(f"{part.name} cannot be looked at: {error}{hint}")

    def _error(self, text: str) -> Exception:
        """The end of a run that has nothing to keep, else its stop."""
        if self.tally.finished or any(part.batch_id and not part.settled for part in self.parts):
            return Stop(text)
        return SettingsError(text)


def client_time(model: Model) -> float:
    """The time of day by the model's clock, in seconds since 1970."""
    return check_batch(model).clock.time_of_day()


def _progress(part: Part, batch: Any) -> str:
    counts, total = getattr(batch, "request_counts", None), len(part.trials)
    done = 0 if counts is None else (counts.completed or 0) + (counts.failed or 0)
    doing = "" if batch.status in ("in_progress", "completed") else f" ({batch.status})"
    return printable(f"{part.name}: {done:,} of {total:,} done{doing}")
