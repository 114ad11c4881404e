"""A stored run, opened again so that what is missing of it can be asked: its own settings, dataset and model."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import journal
from .datasets import Dataset, load_dataset
from .errors import DatasetError, SettingsError
from .execution import Tally
from .journal import Journal
from .models import Model, as_model
from .paths import project_dir, run_path
from .plans import Plan, load_env
from .prices import load_prices
from .recording import Recording
from .runs import JOURNAL_DIR, StoredRun, find_run
from .store import SUFFIX


def reopen(
    run: str | Path,
    *,
    errors: bool = False,
    model: Model | Callable[..., Any] | None = None,
    concurrency: int | None = None,
    max_errors: float | None = None,
    prices: Mapping[str, Mapping[str, float]] | None = None,
    results_dir: str | Path | None = None,
) -> Recording:
    """A stored run with what is missing of it still to do; with `errors`, errored trials too.

    Raises SettingsError for an unknown run, one that another process writes, one whose dataset file has changed, or one
    whose model cannot be made again from its settings.
    """
    load_env()
    stored = find_run(run, results_dir=results_dir)
    about = stored.description
    dataset = stored_dataset(stored)
    refuse_changed(dataset, about)
    plan = Plan(
        dataset, model_of(about) if model is None else as_model(model), about["trials"],
        concurrency or about.get("concurrency") or 16, max_errors, load_prices(prices), about.get("label"),
        about.get("selection") or {},
    )  # fmt: skip
    sink = _reopened_journal(stored)
    done = {
        (row["case_id"], row["trial"]): row for row in sink.rows({case.id: n for n, case in enumerate(dataset.cases)})
    }
    again = {key for key, row in done.items() if errors and row["passed"] is None}
    tally = Tally(planned=about["planned"])
    for key, row in done.items():
        if key not in again:
            tally.count(row)
    todo = deque(
        (case, trial) for case, trial in plan.todo() if (case.id, trial) not in done or (case.id, trial) in again
    )
    attempts = {key: done[key]["attempts"] or 0 for key in again}
    path = run_path(stored.folder, stored.run_id, SUFFIX)
    return Recording(plan, dict(about), sink, path, todo, tally, is_new=False, earlier_attempts=attempts)


def stored_dataset(run: StoredRun) -> Dataset:
    """The dataset as it was run. Raises SettingsError where the run's file holds none."""
    values = run.dataset()
    if values is None:
        raise SettingsError(f"run {run.run_id!r} does not hold its dataset, so it cannot be resumed or scored again")
    return Dataset.from_dict(values)


def current_dataset(stored: Dataset, about: Mapping[str, Any]) -> Dataset | None:
    """The run's dataset file as it is today, with the run's selection; None where it had no file or that is gone.

    Raises DatasetError where the file no longer loads or lacks cases that the run selected.
    """
    if not about.get("dataset_path"):
        return None
    path = Path(project_dir() or ".") / about["dataset_path"]
    if not path.is_file():
        return None
    try:
        loaded = load_dataset(path)
    except DatasetError:
        loaded = load_dataset(path, tools=stored.tools)  # the run was given its tools apart from the file
    return loaded.select(**(about.get("selection") or {}))


def refuse_changed(stored: Dataset, about: Mapping[str, Any]) -> None:
    """Raise SettingsError where the dataset file is no longer the one that was run."""
    try:
        current = current_dataset(stored, about)
    except (DatasetError, ValueError) as error:
        raise SettingsError(f"{_changed(about)} it no longer loads: {error}") from None
    if current is None or current.dataset_hash == stored.dataset_hash:
        return
    before = {case.id: case.case_hash for case in stored.cases}
    after = {case.id: case.case_hash for case in current.cases}
    which = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    named = ", ".join(map(repr, which[:3])) + (f" and {len(which) - 3} more" if len(which) > 3 else "")
    raise SettingsError(f"{_changed(about)} {f'cases {named} differ' if which else 'tags or order differ'}.")


def _changed(about: Mapping[str, Any]) -> str:
    return (
        f"{about['dataset_path']} has changed since run {about['run_id']!r} began, so the rest of it would not "
        "belong to the same run. Undo the change to resume, or start a new run. What differs:"
    )


def model_of(about: Mapping[str, Any]) -> Model:
    """The model of a run, made again from the run's description; keys and endpoints come from the environment."""
    settings = dict(about.get("settings") or {})
    kind = settings.pop("kind", None)
    if kind == "callable":
        raise SettingsError(
            f"run {about['run_id']!r} asked a Python callable, {about['model']!r}: resume it in Python, "
            f"with ek.resume({about['run_id']!r}, model=...)"
        )
    if os.environ.get("OPENAI_BASE_URL"):
        settings.pop("base_url", None)
    return as_model(about["model"], **{name: value for name, value in settings.items() if value is not None})


def _reopened_journal(stored: StoredRun) -> Journal:
    """The run's journal; where its file took its place, a journal made of that file."""
    if stored.journal is not None:
        return Journal.reopen(stored.journal)
    path = run_path(stored.folder / JOURNAL_DIR, stored.run_id, journal.SUFFIX)
    return Journal.copied(path, stored.description, stored.dataset() or {}, stored.rows())
