"""The Batch API of an endpoint: files up and down, batches made, looked at and found again.

What may pass is asked again, with one exception: a batch is created once. Where it is not known whether that came
through, it is looked for first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import IO, Any
from urllib.parse import urlsplit

from . import request_failures, wire
from .batch_parts import Part
from .errors import SettingsError
from .loops import to_the_end
from .models import OpenAIModel, OpenAISession
from .outcomes import redirected
from .request_failures import Failure
from .retries import LONGEST_WAIT, MAX_ATTEMPTS

WINDOW = "24h"
_TRANSFER_S = 3600.0  # for a file of 200 MB over a slow line
_ABSENT = (404, 405, 501)
_GONE = (400, 404, 410, 422)  # what an endpoint answers that does not know the input file of a batch
_A_DAY = 86_400.0
_RUN, _PART, _TOKEN = "evalkit_run", "evalkit_part", "evalkit_token"


class BatchFailure(Exception):
    """A request about a batch that was not answered; `status` is that of the response, where there was one."""

    def __init__(self, failure: Failure, status: int | None):
        super().__init__(failure.error)
        self.failure, self.status = failure, status


class FileGone(Exception):
    """A batch is refused whose input file was uploaded by an earlier process, so that it may be kept no more."""


class BatchClient:
    """Speaks the Batch API in a model's session. Its methods raise BatchFailure."""

    def __init__(self, model: OpenAIModel, session: OpenAISession, run_id: str):
        self.model, self.clock, self._run_id = model, model.clock, run_id
        client, address, self.mask = session.way
        self._client: Any = client
        self.address, self.host = address, address.host
        self._bare = not address.url.partition("://")[2].partition("/")[2]

    async def upload(self, part: Part, file: IO[bytes]) -> str:
        """The id of the input file. Raises SettingsError where the endpoint takes none."""
        name = f"{self._run_id}-part-{part.number}.jsonl"

        async def send() -> str:
            file.seek(0)
            return _id(await self._client.files.create(file=(name, file), purpose="batch", timeout=_TRANSFER_S))

        try:
            made: str = await self._insist(send, timeout_s=_TRANSFER_S)
        except BatchFailure as error:
            raise self._none(error, "/files") or error from None
        return made

    async def create(self, part: Part, keep: Callable[[str], None], *, may_exist: bool) -> None:
        """Make a batch of the uploaded file, or find the one that an earlier try made unnoticed; `keep` gets its id.

        Raises FileGone where that file was uploaded before (`may_exist`), and the endpoint refuses it now.
        """

        async def make() -> None:
            keep(await self._once(partial(self._create, part), self.model.timeout))

        for attempt in range(MAX_ATTEMPTS):
            if (may_exist or attempt) and (known := await self.find(part)) is not None:
                return keep(known)
            try:
                return await to_the_end(make())  # an interrupt waits until the id is written down
            except BatchFailure as error:
                if may_exist and error.status in _GONE:
                    raise FileGone from None
                if not error.failure.retry or attempt + 1 == MAX_ATTEMPTS:
                    raise self._none(error, "/batches") or error from None
                wait = self._wait(error.failure, attempt)
            await self.clock.sleep(wait)
        raise AssertionError("not reached")

    async def find(self, part: Part) -> str | None:
        """The id of the batch that was made for a part, if there is one. Looks back to when the part was planned."""
        after: str | None = None
        while True:
            page = await self._insist(partial(self._page, after))
            for batch in page:
                if (getattr(batch, "metadata", None) or {}).get(_TOKEN) == part.token:
                    return _id(batch)
            created = getattr(page[-1], "created_at", None) if page else None
            if not page or page[-1].id == after or (created is not None and created < part.planned_at - _A_DAY):
                return None
            after = page[-1].id

    async def look(self, part: Part) -> Any:
        """The batch as it stands."""
        retrieve = partial(self._client.batches.retrieve, part.batch_id)
        batch = await self._once(retrieve, self.model.timeout)
        if not isinstance(getattr(batch, "status", None), str):
            raise BatchFailure(Failure("bad_response", f"{self.host} did not say how {part.name} stands.", True), 200)
        return batch

    async def download(self, file_id: str, into: IO[bytes]) -> None:
        """Append a file's content, which ends in a line break then."""
        start = into.seek(0, 2)

        async def fetch() -> None:
            into.seek(start)
            into.truncate()
            streaming = self._client.files.with_streaming_response
            async with streaming.content(file_id, timeout=_TRANSFER_S) as response:
                async for chunk in response.iter_bytes():
                    into.write(chunk)

        await self._insist(fetch, timeout_s=_TRANSFER_S)
        into.write(b"\n")

    async def _create(self, part: Part) -> str:
        metadata = {_RUN: self._run_id[:512], _PART: str(part.number), _TOKEN: part.token}
        return _id(
            await self._client.batches.create(
                input_file_id=part.file_id,
                endpoint=f"/v1{wire.PATHS[self.model.api]}",
                completion_window=WINDOW,
                metadata=metadata,
            )
        )

    async def _page(self, after: str | None) -> list[Any]:
        import openai

        page = await self._client.batches.list(limit=100, after=after or openai.omit)
        return list(getattr(page, "data", None) or [])

    async def _insist(self, ask: Callable[[], Awaitable[Any]], timeout_s: float | None = None) -> Any:
        """What the endpoint says, after as many attempts as it takes."""
        for attempt in range(MAX_ATTEMPTS):
            try:
                return await self._once(ask, timeout_s or self.model.timeout)
            except BatchFailure as error:
                if not error.failure.retry or attempt + 1 == MAX_ATTEMPTS:
                    raise
                wait = self._wait(error.failure, attempt)
            await self.clock.sleep(wait)
        raise AssertionError("not reached")

    async def _once(self, ask: Callable[[], Awaitable[Any]], timeout_s: float) -> Any:
        import openai

        try:
            async with asyncio.timeout(timeout_s):
                return await ask()
        except openai.APIStatusError as error:
            now = self.clock.time_of_day()
            failure = request_failures.refused(error.response, self.host, mask=self.mask, now=now)
            if 300 <= error.status_code < 400:
                path = error.request.url.path.removeprefix(urlsplit(self.address.url).path.rstrip("/"))
                failure = redirected(error.response, self.address, path, self.mask)
            raise BatchFailure(failure, error.status_code) from None
        except OSError as error:
            if error.filename is not None or error.errno == 28:  # our own file, a full disk
                raise
            raise self._lost(error, timeout_s) from None
        except _NoId:
            raise BatchFailure(
                Failure("bad_response", f"{self.host} answered without an id. {self.address.advice('/files')}"), 200
            ) from None
        except Exception as error:
            raise self._lost(error, timeout_s) from None

    def _lost(self, error: Exception, timeout_s: float) -> BatchFailure:
        return BatchFailure(request_failures.lost(error, self.host, timeout_s=timeout_s, mask=self.mask), None)

    def _wait(self, failure: Failure, attempt: int) -> float:
        return self.clock.backoff(attempt) if failure.asked_s is None else min(failure.asked_s, LONGEST_WAIT)

    def _none(self, error: BatchFailure, path: str) -> SettingsError | None:
        """The error of an endpoint that has no Batch API."""
        if error.status not in _ABSENT:
            return None
        bare = " (or its base URL lacks a path such as /v1)" if self._bare else ""
        return SettingsError(
            f"{self.host} has no Batch API{bare}: HTTP {error.status} for {path}. Leave --batch (batch=True) out, and "
            "the cases are asked one by one."
        )


class _NoId(Exception):
    """A reply that names nothing, or by a name that no terminal should see."""


def _id(made: Any) -> str:
    found = getattr(made, "id", None)
    if not isinstance(found, str) or not found or not (found.isascii() and found.isprintable()):
        raise _NoId
    return found
