"""The batches of a run and which trials each holds: what is written down so that nothing is asked twice.

A part is one batch: first planned (its trials are named), then uploaded (it has a file), then created (it has a batch),
at last settled. Each step is in the run's journal before the next one is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .errors import SettingsError
from .models import Model, OpenAIModel

Key = tuple[str, int]  # a case's id and a trial

MOST_REQUESTS = 50_000  # in one batch, as the API allows
MOST_BYTES = 200_000_000  # in one input file, as the API allows


@dataclass(frozen=True)
class Batching:
    """How a run is asked in batches: seconds between two looks at a batch (the wait grows from `poll_s` to
    `longest_poll_s`), and how many requests and bytes go into one batch.
    """

    poll_s: float = 5.0
    longest_poll_s: float = 60.0
    most_requests: int = MOST_REQUESTS
    most_bytes: int = MOST_BYTES

    def __post_init__(self) -> None:
        if not 0 <= self.poll_s <= self.longest_poll_s:
            raise SettingsError(
                "poll_s must be 0 or more seconds, and no more than longest_poll_s; got "
                f"{self.poll_s!r} and {self.longest_poll_s!r}"
            )
        for name, most in (("most_requests", MOST_REQUESTS), ("most_bytes", MOST_BYTES)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
                raise SettingsError(f"{name} must be from 1 to {most}, got {value!r}")


def check_batch(model: Model) -> OpenAIModel:
    """The model as one that can be asked by batch. Raises SettingsError for one that cannot."""
    if isinstance(model, OpenAIModel):
        return model
    raise SettingsError(
        f"{model.name} cannot be asked by batch: a batch is made of requests to an OpenAI-compatible endpoint. "
        "Leave --batch (batch=True) out, or name a model of such an endpoint."
    )


@dataclass
class Part:
    """One batch of a run. `trials` are places in the run's order of trials; `again`: they had ended in errors before.

    `token` is what the batch is known by at the endpoint, beside the run's id and its number.
    """

    number: int
    token: str
    trials: tuple[int, ...]
    planned_at: float  # seconds since 1970
    again: bool = False
    file_id: str | None = None
    batch_id: str | None = None
    settled: bool = False

    def as_dict(self) -> dict[str, Any]:
        """What is stored; the trials as ranges."""
        return {**vars(self), "trials": [list(pair) for pair in _ranges(self.trials)]}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Part:
        """A part as it was stored."""
        trials = tuple(place for first, last in stored["trials"] for place in range(first, last + 1))
        return cls(**{**stored, "trials": trials})

    @property
    def name(self) -> str:
        """How it is called in messages."""
        return f"batch {self.batch_id or self.number}"


@dataclass(frozen=True)
class Trials:
    """The trials of a run in their order: all cases once, then all cases twice, … Each has its place, from 0."""

    case_ids: Sequence[str]
    _places: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._places.update((case_id, place) for place, case_id in enumerate(self.case_ids))

    def place(self, key: Key) -> int:
        """The place of a trial."""
        return (key[1] - 1) * len(self.case_ids) + self._places[key[0]]

    def key(self, place: int) -> Key:
        """The trial at a place."""
        trial, case = divmod(place, len(self.case_ids))
        return self.case_ids[case], trial + 1

    def custom_id(self, place: int) -> str:
        """What a request is called within a batch, whatever its case is called: its case's place and its trial."""
        trial, case = divmod(place, len(self.case_ids))
        return f"case-{case + 1}-trial-{trial + 1}"


def parts_of(description: Mapping[str, Any], noted: Iterable[Mapping[str, Any]] = ()) -> list[Part]:
    """The parts of a stored run: those in its description, then what its journal noted of them since."""
    found: dict[int, Part] = {}
    for stored in (*(description.get("batches") or ()), *noted):
        part = Part.from_dict(stored)
        found[part.number] = part
    return [found[number] for number in sorted(found)]


def _ranges(places: Iterable[int]) -> Iterator[tuple[int, int]]:
    """First and last of each series of places that follow one another."""
    first: int | None = None
    last = 0
    for place in places:
        if first is not None and place == last + 1:
            last = place
            continue
        if first is not None:
            yield first, last
        first = last = place
    if first is not None:
        yield first, last
