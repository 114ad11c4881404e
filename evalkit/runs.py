"""Which runs a results folder holds, and which of them a person means.

Finished and stopped runs are Parquet files in the folder; a run that a crash left unfinished is a journal in
`.journal/` beneath it. Files are found by their own names only: no run id leads out of the folder.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import journal, store
from .counts import RunCounts
from .errors import SchemaError, SettingsError
from .nearmiss import nearest
from .paths import results_dir as find_results_dir

JOURNAL_DIR = ".journal"


class HistoryWarning(UserWarning):
    """Files in a results folder that were left out of what was read."""


@dataclass(frozen=True)
class StoredRun:
    """One run as it lies on disk: its description, its Parquet file or None, its journal or None."""

    run_id: str
    description: dict[str, Any]
    path: Path | None = None
    journal: Path | None = None

    @property
    def folder(self) -> Path:
        """The results folder that it lies in."""
        return self.path.parent if self.path is not None else self.journal.parent.parent  # type: ignore[union-attr]

    def dataset(self) -> dict[str, Any] | None:
        """The dataset as it was run, as a mapping."""
        if self.journal is not None:
            return journal.read_head(self.journal)[1]
        return store.read_dataset(self.path) if self.path is not None else None

    def rows(self) -> Iterator[dict[str, Any]]:
        """The case, trial and verdict values of every finished trial."""
        if self.journal is not None:
            yield from journal.read_records(self.journal).values()
        elif self.path is not None:
            yield from store.rows_of(self.path)


def find_run(run: str | Path, *, results_dir: str | Path | None = None) -> StoredRun:
    """The run that a person means by an id, the beginning of one, `latest`, `latest~N` or a file's path.

    Raises SettingsError with the nearest id where there is none, and with the candidates where there are several.
    """
    if str(run).endswith(store.SUFFIX):
        path = Path(run)
        return StoredRun(path.stem, store.read_footer(path), path)
    folder = find_results_dir(results_dir)
    word = str(run)
    runs = stored_runs(folder)
    if match := re.fullmatch(r"latest(?:~(\d+))?", word):
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
    """The runs of a results folder, newest first; files that are none are left out with a HistoryWarning."""
    found: dict[str, StoredRun] = {}
    left_out: list[str] = []
    folder = find_results_dir(results_dir)
    for path in sorted(folder.glob(f"*{store.SUFFIX}")):
        if path.name.startswith("."):
            continue
        try:
            description = store.read_footer(path)
        except (SchemaError, OSError) as error:
            left_out.append(str(error))
            continue
        run_id = description["run_id"]
        if run_id in found:
            left_out.append(f"{path.name} holds run {run_id!r}, which another file holds too: delete one")
            continue
        found[run_id] = StoredRun(run_id, description, path)
    for run_id, description, path in _journaled(folder, left_out):
        stored = found.get(run_id)
        found[run_id] = StoredRun(run_id, description, stored.path if stored else None, path)
    if left_out:
        listed = "; ".join(left_out[:3]) + (" …" if len(left_out) > 3 else "")
        warnings.warn(f"{len(left_out)} files in {folder.name}/ left out: {listed}", HistoryWarning, stacklevel=3)
    return sorted(found.values(), key=lambda run: (run.description.get("started_at") or "", run.run_id), reverse=True)


def newest_scorings(runs: list[StoredRun]) -> list[StoredRun]:
    """Of each run and its rescorings only the one scored last, in the order given."""
    by_id = {run.run_id: run for run in runs}
    newest: dict[str, StoredRun] = {}
    for run in runs:
        origin, seen = run, set()
        while (parent := origin.description.get("rescored_from")) in by_id and parent not in seen:
            seen.add(parent)
            origin = by_id[parent]
        root = origin.description.get("rescored_from") or origin.run_id
        if root not in newest or _scored_at(run) > _scored_at(newest[root]):
            newest[root] = run
    kept = {run.run_id for run in newest.values()}
    return [run for run in runs if run.run_id in kept]


def _scored_at(run: StoredRun) -> tuple[str, str]:
    description = run.description
    return (description.get("scored_at") or description.get("started_at") or "", run.run_id)


def _journaled(folder: Path, left_out: list[str]) -> Iterator[tuple[str, dict[str, Any], Path]]:
    for path in sorted((folder / JOURNAL_DIR).glob(f"*{journal.SUFFIX}")):
        try:
            description, _ = journal.read_head(path)
            counts = _count(path)
        except (journal.JournalError, OSError) as error:
            left_out.append(str(error))
            continue
        yield description["run_id"], {**description, "status": "partial", "counts": counts}, path


def _count(path: Path) -> dict[str, Any]:
    counts = RunCounts()
    for _, record in sorted(journal.read_records(path).items()):
        counts.add(record)
    return counts.finish()


def _latest(runs: list[StoredRun], back: int, folder: Path) -> StoredRun:
    if back < len(runs):
        return runs[back]
    raise SettingsError(f"there is no run {back} before the latest: {folder.name}/ holds {len(runs)}")
