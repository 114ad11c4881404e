"""What a review rests on: the runs of its week, what each is compared with, and the frames that come of it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .comparison import Comparison, compare
from .errors import SchemaError, SettingsError
from .given import words
from .history import load_stored
from .history_scan import history_accuracy
from .jsontext import fingerprint
from .nearmiss import did_you_mean
from .paths import slug
from .runs import AHEAD, HistoryWarning, Problem, StoredRun, find_run, instant, newest_scorings, scan
from .weeks import Span, read_span, read_week, week_of

if TYPE_CHECKING:
    import pandas as pd

TREND_WEEKS = 12  # of accuracy over time, this one among them
_DATED = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d-\d\d-\d\d)Z-")  # how the id of a run begins, and so its file


@dataclass(frozen=True)
class Pair:
    """The newest complete run of a dataset and model in the week, and what it is compared with, if anything."""

    candidate: StoredRun
    results: pd.DataFrame
    baseline: StoredRun | None = None
    baseline_results: pd.DataFrame | None = None
    comparison: Comparison | None = None

    @property
    def dataset(self) -> str:
        """The dataset's name."""
        return str(self.candidate.description.get("dataset"))

    @property
    def model(self) -> str:
        """The model's name."""
        return str(self.candidate.description.get("model"))

    @property
    def name(self) -> str:
        """Dataset and model, as sentences call them."""
        return f"{self.dataset} with {self.model}"


@dataclass(frozen=True)
class WeekRuns:
    """The runs of a results folder as a review sees them: those of the span, their pairs, and odd files."""

    span: Span
    folder: Path
    runs: tuple[StoredRun, ...]  # of the span, newest first, unfinished ones too
    pairs: tuple[Pair, ...]
    last_before: StoredRun | None  # the newest complete run before the span
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]  # what limits the review, one sentence each

    @cached_property
    def mark(self) -> str:
        """A word for the days and the runs that it shows: what is made of other ones has another."""
        sides = [side for pair in self.pairs for side in (pair.candidate, pair.baseline)]
        return f"{self.span.name}_{fingerprint([side and [side.run_id, side.description] for side in sides])}"


def choose_span(
    week: str | None, since: str | date | None, until: str | date | None, runs: Sequence[StoredRun]
) -> Span:
    """The days that are meant: a week, or `since` to `until`; else the week of the newest of `runs`, or of today.

    Without `until` a span ends with the newest run's day, or today where there is none after `since`.
    """
    if week is not None and (since is not None or until is not None):
        raise SettingsError("a review is of a week, or of the days from since to until: give one of them, not both")
    if week is not None:
        return read_week(week)
    dates = [run.started_at for run in runs if run.started_at is not None and not run.is_to_come]
    newest = max(dates, default=None) or datetime.now(UTC)
    if since is None:
        if until is not None:
            raise SettingsError("until needs since: a review is of the days from since to until, or of a week")
        return week_of(newest)
    return read_span(since, until if until is not None else max(newest.date(), read_span(since, since).first))


def collect(
    folder: Path,
    *,
    week: str | None = None,
    since: str | date | None = None,
    until: str | date | None = None,
    dataset: str | Sequence[str] | None = None,
    baseline: str | None = None,
) -> WeekRuns:
    """The runs of a week, paired with those they are compared with.

    Raises SettingsError for days that are none and for a dataset or baseline that is not there, SchemaError where the
    rows of a newest run, or of the baseline, cannot be read: an older one is not shown in its place.
    """
    found, problems = scan(folder)
    runs = _of_datasets(newest_scorings(found), dataset, found, folder)
    complete = [run for run in runs if run.journal is None and run.description.get("status") == "complete"]
    span = choose_span(week, since, until, complete or runs)
    wanted = find_run(baseline, results_dir=folder) if baseline is not None else None
    notes: list[str] = []
    pairs = tuple(_pairs(complete, span, wanted, folder, problems))
    _refuse_unreadable(problems, pairs, span, whichever=week is None and since is None)
    if wanted is not None and not any(pair.baseline is wanted for pair in pairs):
        notes.append(f"The baseline {wanted.run_id!r} is of a dataset that no run of the {span.noun} is of.")
    earlier = [run for run in complete if run.started_at is not None and run.started_at < span.start]
    return WeekRuns(
        span=span,
        folder=folder,
        runs=tuple(run for run in runs if span.holds(run.started_at)),
        pairs=pairs,
        last_before=earlier[0] if earlier else None,
        problems=tuple(problems),
        notes=tuple(notes),
    )


def trend(folder: Path, span: Span, datasets: Sequence[str] | None) -> pd.DataFrame:
    """The accuracy per run and tool of the weeks up to the span's end: the frame of `ek.history_accuracy`."""
    first = span.first - timedelta(weeks=TREND_WEEKS - 1)
    with warnings.catch_warnings():  # the page lists what cannot be read
        warnings.simplefilter("ignore", HistoryWarning)
        named = list(datasets) if datasets is not None else None
        return history_accuracy(since=first, until=span.last, dataset=named, results_dir=folder)


def _of_datasets(
    runs: Sequence[StoredRun], dataset: str | Sequence[str] | None, found: Sequence[StoredRun], folder: Path
) -> list[StoredRun]:
    if dataset is None:
        return list(runs)
    known = {str(run.description.get("dataset")) for run in found}
    names = words("dataset", dataset)
    for word in names:
        if known and word not in known:
            hint = did_you_mean(word, known) or f" There are {', '.join(map(repr, sorted(known)[:5]))}."
            raise SettingsError(f"no run of dataset {word!r} in {folder.name}/.{hint}")
    return [run for run in runs if run.description.get("dataset") in names]


def _pairs(
    complete: Sequence[StoredRun], span: Span, wanted: StoredRun | None, folder: Path, problems: list[Problem]
) -> Iterator[Pair]:
    """One pair per dataset and model with a complete run in the span, in order of their names."""
    groups: dict[tuple[str, str], list[StoredRun]] = {}
    for run in complete:
        key = str(run.description.get("dataset")), str(run.description.get("model"))
        groups.setdefault(key, []).append(run)
    for key in sorted(groups):
        newest = next((run for run in groups[key] if span.holds(run.started_at)), None)
        if newest is not None:
            yield _pair(newest, _rows_of(newest), groups[key], span, wanted, folder, problems)


def _pair(
    run: StoredRun, results: pd.DataFrame, alike: Sequence[StoredRun], span: Span, wanted: StoredRun | None,
    folder: Path, problems: list[Problem],
) -> Pair:  # fmt: skip
    if wanted is not None and wanted.description.get("dataset") == run.description.get("dataset"):
        before = _rows_of(wanted)
        return Pair(run, results, wanted, before, compare(before, results, results_dir=folder))
    for other in (one for one in alike if one.started_at is not None and one.started_at < span.start):
        before = _results(other, problems)
        if before is not None:
            return Pair(run, results, other, before, compare(before, results, results_dir=folder))
    return Pair(run, results)


def _refuse_unreadable(problems: Sequence[Problem], pairs: Sequence[Pair], span: Span, *, whichever: bool) -> None:
    """Raise SchemaError where a file that cannot be read is, by its name, of a newer run than those to be shown."""
    for path in (problem.path for problem in problems if problem.left_out):
        named = _DATED.match(path.name)
        started = instant(f"{named[1]} {named[2].replace('-', ':')}") if named else None
        if started is None or started - datetime.now(UTC) > AHEAD:
            continue
        older = [pair for pair in pairs if pair.candidate.started_at < started and slug(pair.model) in path.stem]  # type: ignore[operator]
        if (older and span.holds(started)) or (whichever and started >= span.end):
            raise SchemaError(
                f"{path.name} cannot be read, and no older run is shown in its place. Restore it from a copy, or "
                "delete it. evalkit.history.problems() says what is wrong with it"
            )


def _rows_of(run: StoredRun) -> pd.DataFrame:
    """The results of a run that nothing may stand in for. Raises SchemaError where they cannot be read."""
    try:
        return load_stored(run)
    except (SchemaError, OSError) as error:
        raise SchemaError(
            f"the rows of run {run.run_id!r} cannot be read, and no older run is shown in its place: "
            f"{' '.join(str(error).split()).rstrip(' .')}. Restore its file from a copy, or delete it"
        ) from None


def _results(run: StoredRun, problems: list[Problem]) -> Any:
    """The results of a run; None, and a problem more, where its rows cannot be read."""
    try:
        return load_stored(run)
    except (SchemaError, OSError) as error:
        path = run.path or run.journal
        if path is not None and not any(problem.path == path for problem in problems):
            problems.append(Problem(path, str(error), "restore the file, or run it again"))
        return None
