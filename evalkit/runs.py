"""Which runs a results folder holds, and which of them a person means.

Finished and stopped runs are Parquet files in the folder; a run that a crash left unfinished is a journal in
`.journal/` beneath it. Files are found by their own names only: no run id leads out of the folder.
"""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from . import journal, store
from .counts import LATER, RunCounts, ToolCounts
from .errors import SettingsError
from .masking import printable
from .nearmiss import nearest
from .paths import leads_out, run_path
from .paths import results_dir as find_results_dir

JOURNAL_DIR = ".journal"
_LATEST = re.compile(r"latest(?:~(\d+))?")

EARLIEST = datetime.min.replace(tzinfo=UTC)
FIRST = datetime(2000, 1, 1, tzinfo=UTC)  # no run is older; what is dated so was made by a clock that nobody had set
AHEAD = timedelta(days=1)  # so far may the clocks of those who share a folder differ
_SUMS = frozenset({"by_tool", "outcomes", "error_kinds", *asdict(ToolCounts())} - LATER)  # what lists of runs need


class HistoryWarning(UserWarning):
    """Files in a results folder that were left out of what was read."""


@dataclass(frozen=True)
class Problem:
    """Something odd about a file in a results folder. One that is `left_out` cannot be read as a run."""

    path: Path
    what: str
    what_to_do: str
    left_out: bool = True
    is_date: bool = False  # of a run whose date says that it is still to come


@dataclass(frozen=True)
class StoredRun:
    """One run as it lies on disk: its description, its Parquet file or None, its journal or None."""

    run_id: str
    description: dict[str, Any]
    path: Path | None = None
    journal: Path | None = None

    @cached_property
    def started_at(self) -> datetime | None:
        """When it started, in UTC (a time without a zone is UTC); None where that is not known."""
        return instant(self.description.get("started_at"))

    @cached_property
    def scored_at(self) -> datetime:
        """When it was scored, which is when it started unless it was scored again."""
        return instant(self.description.get("scored_at")) or self.started_at or EARLIEST

    @cached_property
    def is_to_come(self) -> bool:
        """Whether it is dated more than a day ahead of this machine's clock, so that it cannot count as the newest."""
        return max(self.started_at or EARLIEST, self.scored_at) - datetime.now(UTC) > AHEAD

    @property
    def trials(self) -> int:
        """How many trials are finished."""
        counts = self.description["counts"]
        return int(counts["trials"] + counts["errors"])

    @property
    def folder(self) -> Path:
        """The results folder that it lies in."""
        return self.path.parent if self.path is not None else self.journal.parent.parent  # type: ignore[union-attr]

    def ended(self) -> StoredRun:
        """The run as its file holds it, where its journal is gone: another process has ended it since it was found.

        Raises FileNotFoundError where there is no such file either, SchemaError where it cannot be read.
        """
        path = run_path(self.folder, self.run_id, store.SUFFIX)
        return StoredRun(self.run_id, store.read_footer(path), path)

    def dataset(self) -> dict[str, Any] | None:
        """The dataset as it was run, as a mapping."""
        if self.journal is not None:
            try:
                return journal.read_head(self.journal)[1]
            except FileNotFoundError:
                return self.ended().dataset()
        return store.read_dataset(self.path) if self.path is not None else None

    def rows(self) -> Iterator[dict[str, Any]]:
        """The case, trial and verdict values of every finished trial."""
        if self.journal is not None:
            yield from journal.read_records(self.journal).values()  # FileNotFoundError: see `ended`
        elif self.path is not None:
            yield from store.rows_of(self.path)


def how_to_resume(description: Mapping[str, Any]) -> str:
    """What to type to finish a run: the command, or the call where a Python function was asked."""
    run_id, settings = description["run_id"], description.get("settings") or {}
    if settings.get("kind") == "callable":
        return f"ek.resume({run_id!r}, model={description.get('model') or '...'})"
    return f"evalkit resume {shlex.quote(run_id)}"  # a file may say anything of itself, and people copy commands


def going_on(description: Mapping[str, Any]) -> str:
    """A sentence on the batches of a run whose answers are still to be fetched; "" where there are none."""
    parts = description.get("batches") or ()
    ids = [part["batch_id"] for part in parts if part.get("batch_id") and not part.get("settled")]
    if not ids:
        return ""
    named = ids[0] if len(ids) == 1 else f"{ids[0]} and {len(ids) - 1} more"
    return f" Batch {named} {'goes' if len(ids) == 1 else 'go'} on at the endpoint meanwhile."


def find_run(run: str | Path, *, results_dir: str | Path | None = None) -> StoredRun:
    """The run that a person means by an id, the beginning of one, `latest`, `latest~N` or a file's path.

    Raises SettingsError with the nearest id where there is none, and with the candidates where there are several.
    """
    if str(run).endswith(store.SUFFIX):
        path = Path(run)
        if not path.is_file():
            raise SettingsError(f"there is no file {path}. `evalkit runs` lists the runs of the results folder.")
        return StoredRun(path.stem, store.read_footer(path), path)
    folder = find_results_dir(results_dir)
    runs, problems = scan(folder)
    warn_of([one for one in problems if one.left_out or (one.is_date and _LATEST.fullmatch(str(run)))], folder, 4)
    return meant(str(run), runs, folder)


def meant(word: str, runs: Sequence[StoredRun], folder: Path) -> StoredRun:
    """Of `runs`, newest first, the one that a person means; raises as `find_run`."""
    if match := _LATEST.fullmatch(word):
        return _latest(newest_scorings(runs), int(match[1] or 0), folder)
    exact = [found for found in runs if found.run_id == word]
    found = exact or [found for found in runs if word and found.run_id.startswith(word)]
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(repr(one.run_id) for one in found[:5])
        raise SettingsError(f"{word!r} is the beginning of {len(found)} runs: {listed}. Give more of the id.")
    near = nearest(word, [one.run_id for one in runs]) or (runs[0].run_id if runs else None)
    hint = f" Nearest: {near!r}." if near else " There are no runs yet: `evalkit run` makes one."
    raise SettingsError(f"no run {word!r} in {folder.name}/.{hint} `evalkit runs` lists all.")


def stored_runs(results_dir: str | Path | None = None) -> list[StoredRun]:
    """The runs of a results folder, newest first, those of a day to come last.

    These are named in a HistoryWarning, and so are files that are no runs, which are left out.
    """
    folder = find_results_dir(results_dir)
    runs, problems = scan(folder)
    warn_of([problem for problem in problems if problem.left_out or problem.is_date], folder, stacklevel=4)
    return runs


def scan(folder: Path) -> tuple[list[StoredRun], list[Problem]]:
    """The runs of a results folder, newest first (those of a day to come last), and what is odd about its files.

    Reads footers and journals only.

    Of two files that hold one run, the one named after it counts, else the first by name. A run whose journal became a
    file while the folder was looked through is there too.
    """
    found: dict[str, StoredRun] = {}
    problems: list[Problem] = []
    begun = _journals(folder)
    listed = [*_stored(sorted(folder.glob(f"*{store.SUFFIX}")), problems), *_journaled(folder, problems)]
    ended = {path.stem for path in begun} - {run.run_id for run in listed}
    listed += _stored([folder / f"{name}{store.SUFFIX}" for name in sorted(ended)], problems)
    for run in listed:
        other = found.get(run.run_id)
        if other is None:
            found[run.run_id] = run
        elif run.journal is not None and other.journal is None:
            found[run.run_id] = StoredRun(run.run_id, run.description, other.path, run.journal)
        else:
            kept, path = other.path or other.journal, run.path or run.journal
            what = f"holds run {run.run_id!r}, which {kept.name} holds too"  # type: ignore[union-attr]
            problems.append(Problem(path, what, "delete one of the two"))  # type: ignore[arg-type]
    for run in found.values():
        problems += _oddities(run)
    problems.sort(key=lambda problem: (not problem.left_out, str(problem.path)))
    return sorted(found.values(), key=_newest_last, reverse=True), problems


def warn_of(problems: Sequence[Problem], folder: Path, stacklevel: int) -> None:
    """One HistoryWarning for all problems, naming the first three."""
    if problems:
        listed = "; ".join(
            problem.what if problem.path.name in problem.what else f"{problem.path.name}: {problem.what}"
            for problem in problems[:3]
        )
        more = " …" if len(problems) > 3 else ""
        left_out = sum(problem.left_out for problem in problems)
        head = (
            f"{left_out} files in {folder.name}/ left out"
            if left_out
            else f"{len(problems)} odd files in {folder.name}/"
        )
        text = f"{head}: {listed}{more}. evalkit.history.problems() says what to do."
        warnings.warn(printable(text), HistoryWarning, stacklevel=stacklevel)


def instant(text: Any) -> datetime | None:
    """A time as a description holds it, in UTC; None where it is none. Without a zone it is UTC."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None


def newest_scorings(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """Of each run and its rescorings only the one scored last, in the order given."""
    by_id = {run.run_id: run for run in runs}
    newest: dict[str, StoredRun] = {}
    for run in runs:
        origin, seen = run, set()
        while (parent := origin.description.get("rescored_from")) in by_id and parent not in seen:
            seen.add(parent)
            origin = by_id[parent]
        root = origin.description.get("rescored_from") or origin.run_id
        if root not in newest or _scored_last(run) > _scored_last(newest[root]):
            newest[root] = run
    kept = {run.run_id for run in newest.values()}
    return [run for run in runs if run.run_id in kept]


def _scored_last(run: StoredRun) -> tuple[bool, datetime, str]:
    return (not run.is_to_come, run.scored_at, run.run_id)


def in_order(run: StoredRun) -> tuple[datetime, str]:
    """By what runs are sorted in order of start."""
    return (run.started_at or EARLIEST, run.run_id)


def _newest_last(run: StoredRun) -> tuple[bool, datetime, str]:
    return (not run.is_to_come, *in_order(run))


def _journals(folder: Path) -> list[Path]:
    return sorted((folder / JOURNAL_DIR).glob(f"*{journal.SUFFIX}"))


def _is_gone(path: Path, error: BaseException) -> bool:
    """Whether a file was deleted since it was listed (and is no link that leads nowhere)."""
    return isinstance(error, FileNotFoundError) and not path.is_symlink()


def _stored(paths: Iterable[Path], problems: list[Problem]) -> Iterator[StoredRun]:
    """The runs in Parquet files, those named after their run first."""
    renamed = []
    for path in paths:
        if path.name.startswith("."):
            continue
        try:
            description = store.read_footer(path)
            if not (description.get("counts") or {}).keys() >= _SUMS:
                description["counts"] = _count(store.rows_of(path))
        except (ValueError, LookupError, TypeError, AttributeError, OSError) as error:
            if _is_gone(path, error):
                continue
            problems.append(Problem(path, str(error), getattr(error, "what_to_do", "") or store.RESTORE))
            continue
        run = StoredRun(description["run_id"], description, path)
        if path.stem == run.run_id:
            yield run
        else:
            renamed.append(run)
    yield from renamed


def _journaled(folder: Path, problems: list[Problem]) -> Iterator[StoredRun]:
    for path in _journals(folder):
        if leads_out(path, folder):
            problems.append(Problem(path, "it leads out of the results folder by a link", "put the file in its place"))
            continue
        try:
            description, _ = journal.read_head(path)
            counts = _count(journal.read_records(path).values())
            run_id = description["run_id"]
        except (ValueError, LookupError, TypeError, OSError) as error:
            if _is_gone(path, error):
                continue
            problems.append(Problem(path, str(error), "delete it if nothing of that run is needed"))
            continue
        yield StoredRun(run_id, {**description, "status": "partial", "counts": counts}, None, path)


def _count(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The counts of a run whose footer holds none, or not all that are counted today."""
    counts = RunCounts()
    for row in sorted(rows, key=lambda row: (row["case_id"], row["trial"])):
        counts.add(row)
    return counts.finish()


def _oddities(run: StoredRun) -> Iterator[Problem]:
    path = run.journal or run.path
    if path is None:
        return
    if run.trials == 0 and run.journal is None:  # a journal without trials is a run that has just begun
        yield Problem(path, f"run {run.run_id!r} holds no trial", "resume it if it is unfinished, or delete it", False)
    if run.started_at is None:
        what = f"run {run.run_id!r} does not say when it started ({run.description.get('started_at')!r})"
        yield Problem(path, what, "run it again; `since` and `until` leave it out", False)
    elif run.started_at < FIRST:
        what = f"run {run.run_id!r} is dated {run.started_at:%Y-%m-%d}, which is before any run"
        yield Problem(path, what, "run it again on a machine whose clock is set", False)
    if run.is_to_come:
        date = max(run.started_at or EARLIEST, run.scored_at)
        what = f"run {run.run_id!r} is dated {date:%Y-%m-%d}, in the future, so it does not count as the latest"
        to_do = "set this machine's clock if that is wrong, else run it again where the clock is right"
        yield Problem(path, what, to_do, False, is_date=True)
    if path.stem != run.run_id:
        what = f"holds run {run.run_id!r}, whose name is another than the file's"
        yield Problem(path, what, f"rename it to {run.run_id}{path.suffix}", False)
    if run.journal is not None and (damaged := journal.damaged_lines(run.journal)):
        listed = ", ".join(map(str, damaged[:5])) + (" …" if len(damaged) > 5 else "")
        what = f"{len(damaged)} lines of run {run.run_id!r} cannot be read ({listed}): their trials count as not asked"
        yield Problem(path, what, "restore it from a copy, or resume the run, which asks them again", False)


def _latest(runs: Sequence[StoredRun], back: int, folder: Path) -> StoredRun:
    if back < len(runs):
        return runs[back]
    if not runs:
        raise SettingsError(f"there are no runs in {folder.name}/ yet: `evalkit run` makes one")
    raise SettingsError(f"there is no run {back} before the latest: {folder.name}/ holds {len(runs)}")
