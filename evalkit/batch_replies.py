"""What a batch brought back: its output and error files, read line by line into Turns.

The files stay on disk; in memory is only where each trial's line stands. A line is a request's reply, or says why there
is none; of several for one request the first counts. A request without a line is an error.
"""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import IO, Any

from . import jsontext
from .endpoints import Address
from .masking import Mask
from .outcomes import outcome_of, read_outcome
from .records import Turn
from .replies import chat_turn, responses_turn
from .request_failures import unanswered

CANCELLED, EXPIRED = "batch_cancelled", "batch_expired"  # codes of requests that were not sent
_BREATH = 500  # lines after which others have their turn


@dataclass(frozen=True)
class Reading:
    """How replies are read: which API, the tools' own names, the output limit, where they come from, what to hide."""

    api: str
    names: Mapping[str, str]
    limit: int | None
    address: Address
    mask: Mask


@dataclass
class Received:
    """The replies of one batch. `custom_ids` maps each trial's custom id to the trial; `file` holds the lines."""

    custom_ids: Mapping[str, tuple[str, int]]
    file: IO[bytes]
    reading: Reading
    status: str
    unsent: set[tuple[str, int]] = field(
        default_factory=set
    )  # trials that nobody was asked for: the batch was cancelled
    _lines: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    _refused: set[tuple[str, int]] = field(default_factory=set)
    _odd: list[str] = field(default_factory=list)

    async def read(self) -> None:
        """Find each trial's line. Lines that belong to no request are left out with a warning."""
        self.file.seek(0)
        offset = 0
        for number, line in enumerate(self.file, 1):
            if number % _BREATH == 0:
                await asyncio.sleep(0)
            if line.strip():
                self._take_in(line, offset, number)
            offset += len(line)
        if self.status == "cancelled":
            self.unsent |= self.custom_ids.values() - self._lines.keys()
        if self._odd:
            shown = "; ".join(self._odd[:3]) + (f" and {len(self._odd) - 3} more" if len(self._odd) > 3 else "")
            warnings.warn(f"the batch's files hold lines that answer no request of it: {shown}", stacklevel=2)

    def ended(self) -> list[tuple[str, int]]:
        """The trials that have ended, those with a reply first."""
        keys = [key for key in self.custom_ids.values() if key not in self.unsent]
        return sorted(keys, key=lambda key: key not in self._lines or key in self._refused)

    def take(self, case_id: str, trial: int) -> Turn:
        """The Turn of one trial."""
        key = (case_id, trial)
        if key not in self._lines:
            return self._missing()
        offset, length = self._lines[key]
        self.file.seek(offset)
        return self._turn(jsontext.read(self.file.read(length).decode(), unique_keys=False))

    def _take_in(self, line: bytes, offset: int, number: int) -> None:
        try:
            entry = jsontext.read(line.decode(), unique_keys=False)
        except ValueError as error:
            self._odd.append(f"line {number} is not JSON ({error})")
            return
        custom_id = entry.get("custom_id") if isinstance(entry, Mapping) else None
        key = self.custom_ids.get(custom_id) if isinstance(custom_id, str) else None
        if key is None:
            self._odd.append(f"line {number} is for {_shown(custom_id)}")
        elif key not in self._lines and key not in self.unsent:
            if _code(entry) == CANCELLED:
                self.unsent.add(key)
                return
            self._lines[key] = (offset, len(line))
            if _status(entry) != 200:
                self._refused.add(key)

    def _turn(self, entry: Mapping[str, Any]) -> Turn:
        reading, response = self.reading, entry.get("response")
        if not isinstance(response, Mapping):
            error = entry.get("error")
            if _code(entry) == EXPIRED:
                return self._expired()
            return _failed(*unanswered(error, reading.address.host, mask=reading.mask))
        body, status = response.get("body"), response.get("status_code")
        if not isinstance(status, int) or isinstance(status, bool):
            return _failed("bad_response", f"the batch's line has no status: {_shown(dict(response))}.")
        known: Any = {"names": reading.names, "limit": reading.limit, "mask": reading.mask}
        if status == 200 and not isinstance(body, str):
            read = responses_turn if reading.api == "responses" else chat_turn
            outcome = read_outcome(read(body, **known), reading.address, reading.mask)
        else:
            outcome = outcome_of(_Response(status, body), reading.address, reading.api, **known, now=0.0)
        return replace(outcome, attempts=1) if isinstance(outcome, Turn) else _failed(outcome.kind, outcome.error)

    def _missing(self) -> Turn:
        if self.status == "expired":
            return self._expired()
        return _failed(
            "bad_response", f"the files of the batch at {self.reading.address.host} hold no line for this request."
        )

    def _expired(self) -> Turn:
        return _failed("timeout", f"the batch expired: no answer from {self.reading.address.host} within its 24 hours.")


class _Response:
    """A line's status and body, as a response that could have come over the wire."""

    def __init__(self, status: int, body: Any):
        self.status_code, self.headers = status, dict[str, str]()
        self.content = (body if isinstance(body, str) else json.dumps(body, default=str)).encode("utf-8", "replace")


def _failed(kind: str, error: str) -> Turn:
    return Turn(error_kind=kind, error=error, attempts=1)


def _status(entry: Mapping[str, Any]) -> Any:
    response = entry.get("response")
    return response.get("status_code") if isinstance(response, Mapping) else None


def _code(entry: Mapping[str, Any]) -> Any:
    error = entry.get("error")
    return error.get("code") if isinstance(error, Mapping) and not entry.get("response") else None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"
