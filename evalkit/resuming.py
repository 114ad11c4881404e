"""A stored run, opened again so that what is missing of it can be asked: its own settings, dataset and model."""

from __future__ import annotations

import os
import warnings
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import journal
from .answers import UNJUDGED
from .batch_parts import Batching, Key, Part, Trials, parts_of
from .datasets import Dataset, EvalCase, load_dataset
from .endpoints import refuse_foreign
from .errors import DatasetError, SettingsError
from .execution import Tally
from .journal import Journal
from .jury import JudgeSpec, judge_url, make_jury, needs_default, reviews_in, stored_judge
from .masking import printable
from .models import Model, Session, as_model
from .paths import leads_out, project_dir, run_path
from .plans import Plan, load_env, scoring_hash
from .prices import load_prices
from .recording import Recording, cannot_write
from .rows import Row, cases_in_order
from .runs import JOURNAL_DIR, StoredRun, find_run
from .store import SUFFIX


def reopen(
    run: str | Path,
    *,
    errors: bool = False,
    model: Model | Callable[..., Any] | None = None,
    judge_model: JudgeSpec | None = None,
    concurrency: int | None = None,
    max_errors: float | None = None,
    prices: Mapping[str, Mapping[str, float]] | None = None,
    results_dir: str | Path | None = None,
) -> Recording:
    """A stored run with what is missing of it still to do; with `errors`, errored trials too.

    A trial whose answer is stored, but not its reviews, is only reviewed: no model is asked for it again.

    Raises SettingsError for an unknown run, one that another process writes, one whose dataset file has changed, or one
    whose model or judge cannot be made again from its settings.
    """
    load_env()
    stored = find_run(run, results_dir=results_dir)
    about = stored.description
    dataset = stored_dataset(stored)
    is_rescored = bool(about.get("rescored_from"))
    if not is_rescored:
        refuse_changed(dataset, about)
    sink = _reopened_journal(stored)
    try:
        done = {(row["case_id"], row["trial"]): row for row in sink.rows(cases_in_order(dataset.cases))}
        parts = [] if is_rescored else parts_of(about, sink.notes())
        under_way = _asked_again(parts, dataset)
        again = {
            key: row
            for key, row in done.items()
            if row["error_kind"] == UNJUDGED or (_failed(row) and (errors or key in under_way))
        }
        answered = {key: row for key, row in again.items() if reviews_in(row)}
        plan = Plan(
            dataset, NotAsked(about["model"], about.get("settings") or {}), about["trials"],
            (about.get("concurrency") or 16) if concurrency is None else concurrency,
            max_errors, load_prices(prices), about.get("label"),
            about.get("selection") or {}, batch=Batching() if about.get("batch") and not is_rescored else None,
        )  # fmt: skip
        todo = deque(
            (case, trial) for case, trial in plan.todo() if (case.id, trial) not in done or (case.id, trial) in again
        )
        if is_rescored:  # the model was not asked for it, and is not asked now
            todo = deque((case, trial) for case, trial in todo if (case.id, trial) in answered)
        plan = _with_models(plan, about, todo, answered, done, model, judge_model)
    except BaseException:
        if stored.journal is None:
            sink.discard()  # a copy of the run's file, made just now
        else:
            sink.close()
        raise
    tally = Tally(planned=about["planned"])
    for key, row in done.items():
        if key not in again:
            tally.count(row)
    attempts = {key: row["attempts"] or 0 for key, row in again.items() if key not in answered}
    path = run_path(stored.folder, stored.run_id, SUFFIX)
    described = dict(about) | ({"batches": [part.as_dict() for part in parts]} if parts else {})
    if plan.jury is not None and plan.jury.settings() != about.get("judges"):  # the journal is to say so too
        judges = plan.jury.settings()
        described |= {"judges": judges, "scoring_hash": scoring_hash(judges)}
        sink = Journal.copied(sink.path, described, dataset.as_dict(), done.values(), over=sink)
    return Recording(plan, described, sink, path, todo, tally, False, attempts, answered, parts)


def _asked_again(parts: Iterable[Part], dataset: Dataset) -> set[Key]:
    """The trials that an unsettled batch asks again, since they had ended in an error."""
    trials = Trials([case.id for case in dataset.cases])
    return {trials.key(place) for part in parts if part.again and not part.settled for place in part.trials}


def _failed(row: Row) -> bool:
    return row["passed"] is None


def _with_models(
    plan: Plan,
    about: Mapping[str, Any],
    todo: Collection[tuple[EvalCase, int]],
    answered: Mapping[tuple[str, int], Row],
    done: Mapping[tuple[str, int], Row],
    model: Model | Callable[..., Any] | None,
    judge_model: JudgeSpec | None,
) -> Plan:
    """The plan with the models that are needed for what is to do: none that is not."""
    cases = plan.dataset.cases
    chosen = judge_model
    if chosen is None and todo and needs_default(cases):
        chosen = stored_judge(about)
    judges_itself = bool(todo) and chosen is None and needs_default(cases)
    if model is not None:
        asked = as_model(model)
    elif judges_itself or any((case.id, trial) not in answered for case, trial in todo):
        asked = model_of(about)
    else:
        asked = plan.model
    jury = make_jury(cases, asked, judge_model=chosen, base_url=judge_url(None)) if todo else None
    if judge_model is not None and jury is not None and jury.default is not None:
        before = (about.get("judges") or {}).get("default") or {}
        if before.get("model") != jury.default.name and any(_is_judged(row) for row in done.values()):
            raise SettingsError(
                f"run {about['run_id']!r} is judged by {before.get('model')!r}, and some of it is judged already: the "
                f"rest by {jury.default.name!r} would not be comparable. Resume it without another judge, or judge all "
                f"of it anew: `evalkit rescore {about['run_id']} --judge-model {jury.default.name}`."
            )
    return replace(plan, model=asked, jury=jury)


def _is_judged(row: Row) -> bool:
    return any(review.get("choice") is not None for review in reviews_in(row))


@dataclass(frozen=True)
class NotAsked:
    """Stands for the model of a run whose answers are all there."""

    name: str
    settings: Mapping[str, Any]

    def session(self) -> AbstractAsyncContextManager[Session]:
        """Never called."""
        raise RuntimeError(f"the model {self.name!r} is not to be asked")


def stored_dataset(run: StoredRun) -> Dataset:
    """The dataset as it was run. Raises SettingsError where the run's file holds none."""
    values = run.dataset()
    if values is None:
        raise SettingsError(f"run {run.run_id!r} does not hold its dataset, so it cannot be resumed or scored again")
    return Dataset.from_dict(values)


def current_dataset(stored: Dataset, about: Mapping[str, Any]) -> Dataset | None:
    """The run's dataset file as it is today, with the run's selection; None where it had no file or that is gone.

    A file that is neither in the project nor in the working folder is not read, as a run's file may come from anybody
    and name any; a warning says so.

    Raises DatasetError where the file no longer loads or lacks cases that the run selected.
    """
    if not isinstance(about.get("dataset_path"), str) or "\x00" in about["dataset_path"]:
        return None
    project = Path(project_dir() or ".")
    path = project / about["dataset_path"]
    if all(leads_out(path, folder) for folder in (project, project / "eval_data", Path())):
        text = (
            f"{about['dataset_path']} lies outside this project, so it is not read on the word of a run's file: the "
            "dataset stored with the run stands. Rescoring by the file itself: `--dataset FILE`"
        )
        warnings.warn(printable(text), stacklevel=2)
        return None
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
    refuse_foreign(about["run_id"], settings.get("base_url"))
    return as_model(about["model"], **{name: value for name, value in settings.items() if value is not None})


def _reopened_journal(stored: StoredRun) -> Journal:
    """The run's journal; where its file took its place, a journal made of that file."""
    try:
        if stored.journal is not None:
            return Journal.reopen(stored.journal)
        path = run_path(stored.folder / JOURNAL_DIR, stored.run_id, journal.SUFFIX)
        return Journal.copied(path, stored.description, stored.dataset() or {}, stored.rows())
    except FileNotFoundError:
        raise SettingsError(f"the run {stored.run_id!r} was ended by another process just now: try again") from None
    except OSError as error:
        raise cannot_write(stored.folder, error) from None
