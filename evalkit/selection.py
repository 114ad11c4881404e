"""Which runs of a history are wanted: by time, dataset, model or id, and of a run scored again the newest scoring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from .dates import read_iso
from .errors import SettingsError
from .given import words
from .nearmiss import did_you_mean
from .paths import results_dir as find_results_dir
from .runs import Problem, StoredRun, in_order, meant, newest_scorings, scan, warn_of

Moment = str | date | datetime
Words = str | Sequence[str]


@dataclass(frozen=True)
class Wanted:
    """What a history is asked for.

    `since` and `until` are both inclusive: a day (`2026-11-30`) from its beginning to its end, or an instant; without
    a zone they are UTC. `runs` are run ids, their beginnings, or `latest`, `latest~1`, …
    """

    since: Moment | None = None
    until: Moment | None = None
    dataset: Words | None = None
    model: Words | None = None
    runs: Words | None = None
    all_scorings: bool = False

    def choose(self, results_dir: str | Path | None) -> tuple[list[StoredRun], Path]:
        """The runs, in order of start, and their folder; what cannot be read or is odd is named in a HistoryWarning.

        Raises SettingsError for a time that is none and for a run, dataset or model that no run has.
        """
        first, after = _bounds(self.since, self.until)
        folder = find_results_dir(results_dir)
        found, problems = scan(folder)
        if self.runs is not None:
            named = {run.run_id: run for run in (meant(word, found, folder) for word in words("runs", self.runs))}
            chosen = list(named.values())
            problems = [problem for problem in problems if problem.left_out or _is_of(problem, chosen)]
        else:
            chosen = found if self.all_scorings else newest_scorings(found)
        for name, given in (("dataset", self.dataset), ("model", self.model)):
            if given is not None:
                chosen = _having(name, words(name, given), chosen, found, folder)
        if first is not None:
            chosen = [run for run in chosen if run.started_at is not None and run.started_at >= first]
        if after is not None:
            chosen = [run for run in chosen if run.started_at is not None and run.started_at < after]
        warn_of(problems, folder, stacklevel=4)
        return sorted(chosen, key=in_order), folder


def _bounds(since: Moment | None, until: Moment | None) -> tuple[datetime | None, datetime | None]:
    """The first instant that is wanted, and the first that is no longer."""
    first = None if since is None else _moment("since", since)[0]
    after = None if until is None else _moment("until", until)[1]
    if first is not None and after is not None and first >= after:
        raise SettingsError(f"since must not be later than until, got since={since!r}, until={until!r}")
    return first, after


def _moment(name: str, given: Moment) -> tuple[datetime, datetime]:
    """The beginning of a day or an instant, and what comes right after it."""
    moment = read_iso(given.strip()) if isinstance(given, str) else given
    if isinstance(moment, datetime):
        start = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        return start, start + timedelta(microseconds=1)
    if isinstance(moment, date):
        start = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
        return start, start + timedelta(days=1)
    raise SettingsError(
        f"{name} must be a day such as '2026-11-30' or a time such as '2026-11-30T09:00+01:00', got {given!r}"
    )


def _having(
    name: str, words: list[str], chosen: list[StoredRun], found: list[StoredRun], folder: Path
) -> list[StoredRun]:
    """The runs with one of `words` as their `name`; an empty folder has none, and that is no mistake."""
    known = {str(run.description.get(name)) for run in found}
    for word in words:
        if known and word not in known:
            listed = ", ".join(repr(one) for one in sorted(known)[:5])
            hint = did_you_mean(word, known) or f" There are {listed}."
            raise SettingsError(f"no run of {name} {word!r} in {folder.name}/.{hint}")
    return [run for run in chosen if run.description.get(name) in words]


def _is_of(problem: Problem, chosen: list[StoredRun]) -> bool:
    return any(problem.path in (run.path, run.journal) for run in chosen)
