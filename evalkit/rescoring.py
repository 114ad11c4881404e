"""Verdicts without asking the model: recorded turns scored, and a stored run scored again under today's rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import store
from .datasets import Dataset, EvalCase, load_dataset
from .errors import SettingsError
from .execution import score_turn
from .paths import results_dir as find_results_dir
from .paths import run_path
from .plans import dataset_fingerprints, evalkit_version, git_commit, now, run_ids, scoring_hash
from .records import ToolCall, Turn
from .resuming import current_dataset, stored_dataset
from .rows import Row, row_of, turn_of
from .runs import StoredRun, find_run

if TYPE_CHECKING:
    import pandas as pd

SAME = ("latency_s", "cost_usd", "attempts", "input_tokens", "output_tokens")  # what scoring again leaves as it was
RecordedTurn = Turn | str | None


def score(
    dataset: Dataset | str | Path,
    turns: Mapping[str, RecordedTurn | Sequence[RecordedTurn]] | Sequence[RecordedTurn],
    *,
    model: str = "recorded",
    label: str | None = None,
) -> pd.DataFrame:
    """The results of turns that were recorded elsewhere, no model asked: one row per case and trial; nothing is stored.

    `turns` is one per case in the dataset's order, or a mapping of case id to a turn or to a list of turns (trials).
    A turn is a Turn, a tool's name, or None for an answer in text.

    Raises ValueError where turns and cases do not match.
    """
    loaded = dataset if isinstance(dataset, Dataset) else load_dataset(dataset)
    by_case = _turns_by_case(loaded, turns)
    rows = [
        row_of(case, trial, _as_stored(turn), score_turn(case, turn, loaded.tools))
        for case in loaded.cases
        for trial, turn in enumerate(by_case.get(case.id, ()), start=1)
    ]
    began = now()
    about = {
        "run_id": next(run_ids(began, model)), "dataset": loaded.name, "model": model, "label": label,
        "status": "complete", "started_at": began.isoformat(), "git_commit": git_commit(),
        "evalkit_version": evalkit_version(),
        **dataset_fingerprints(loaded), "scoring_hash": scoring_hash(),
    }  # fmt: skip
    return store.frame_of(about, rows)


@dataclass(frozen=True)
class Rescored:
    """A run scored again: its description and file, and the cases that were left out, each with the reason."""

    description: dict[str, Any]
    path: Path
    left_out: dict[str, str]


def rescore(
    run: str | Path,
    *,
    dataset: Dataset | str | Path | None = None,
    results_dir: str | Path | None = None,
) -> pd.DataFrame:
    """The results of a stored run's turns under today's rules and expectations, stored as a new run derived from it.

    `dataset` defaults to the run's own file as it is today, else to the dataset stored with the run. Cases are
    matched by id (else by input); those whose input changed or that are gone are left out and named in a warning. The
    model is not asked; the tools are those that it was offered.

    Raises SettingsError for an unknown run or where no case is left.
    """
    import warnings

    done = rescore_run(run, dataset=dataset, results_dir=results_dir)
    if done.left_out:
        listed = "; ".join(f"{case_id}: {why}" for case_id, why in list(done.left_out.items())[:5])
        warnings.warn(f"{len(done.left_out)} cases left out of the new scoring: {listed}", UserWarning, stacklevel=2)
    return store.read_run(done.path)


def rescore_run(
    run: str | Path, *, dataset: Dataset | str | Path | None = None, results_dir: str | Path | None = None
) -> Rescored:
    """What `rescore` does, without the frame."""
    stored = find_run(run, results_dir=results_dir)
    before = stored_dataset(stored)
    if dataset is None:
        after = current_dataset(before, stored.description) or before
    else:
        after = dataset if isinstance(dataset, Dataset) else load_dataset(dataset, tools=before.tools)
    pairs, left_out = match_cases(before, after)
    if not pairs:
        raise SettingsError(
            f"no case of run {stored.run_id!r} is in {after.name!r} with the same input: nothing to score again"
        )
    scored = Dataset(
        name=before.name, cases=list(pairs.values()), tools=before.tools, system_prompt=before.system_prompt
    )
    about, path = _describe(stored, scored, find_results_dir(results_dir))
    store.save_run(path, about, scored.as_dict(), _scored_again(stored, scored, pairs))
    return Rescored(store.read_footer(path), path, left_out)


def match_cases(before: Dataset, after: Dataset) -> tuple[dict[str, EvalCase], dict[str, str]]:
    """For each case of a run the case to score it by today: by id, else by the same input; and why others have none."""
    by_id = {case.id: case for case in after.cases}
    by_input: dict[Any, list[EvalCase]] = {}
    for case in after.cases:
        by_input.setdefault(_asked(case), []).append(case)
    pairs, left_out = {}, {}
    for case in before.cases:
        same_input = by_input.get(_asked(case), [])
        if case.id in by_id and _asked(by_id[case.id]) == _asked(case):
            pairs[case.id] = by_id[case.id]
        elif case.id in by_id:
            left_out[case.id] = "its input has changed"
        elif len(same_input) == 1 and same_input[0].id not in {known.id for known in before.cases}:
            pairs[case.id] = same_input[0]
        else:
            left_out[case.id] = "it is no longer in the dataset"
    return pairs, left_out


def _asked(case: EvalCase) -> str:
    return repr(case.messages(None))


def _scored_again(stored: StoredRun, scored: Dataset, pairs: Mapping[str, EvalCase]) -> Iterator[Row]:
    """The rows of a run with new verdicts, case by case."""
    order = {old: place for place, old in enumerate(pairs)}
    rows = sorted(
        (row for row in stored.rows() if row["case_id"] in pairs), key=lambda row: (order[row["case_id"]], row["trial"])
    )
    for row in rows:
        case, turn = pairs[row["case_id"]], turn_of(row)
        fresh = row_of(case, row["trial"], turn, score_turn(case, turn, scored.tools))
        yield fresh | {name: row[name] for name in SAME}


def _describe(stored: StoredRun, scored: Dataset, folder: Path) -> tuple[dict[str, Any], Path]:
    """The new run's description, derived from its parent's, and a free path for it."""
    parent = stored.description
    began = datetime.fromisoformat(parent["started_at"])
    paths = (
        (run_id, run_path(folder, run_id, store.SUFFIX)) for run_id in run_ids(began, f"{parent['model']}-rescored")
    )
    run_id, path = next((run_id, path) for run_id, path in paths if not path.exists())
    changed = {
        "run_id": run_id, "rescored_from": stored.run_id, "scored_at": now().isoformat(), "git_commit": git_commit(),
        "evalkit_version": evalkit_version(), **dataset_fingerprints(scored), "scoring_hash": scoring_hash(),
    }  # fmt: skip
    return {**parent, **changed}, path


def _turns_by_case(dataset: Dataset, turns: Any) -> dict[str, list[RecordedTurn]]:
    if isinstance(turns, Mapping):
        ids = {case.id for case in dataset.cases}
        unknown = [name for name in turns if name not in ids]
        if unknown:
            raise ValueError(
                f"turns are given for cases that the dataset does not have: {', '.join(map(repr, unknown[:5]))}"
            )
        return {name: [_as_turn(one) for one in _listed(given)] for name, given in turns.items()}
    if len(turns) != len(dataset.cases):
        raise ValueError(
            f"{len(turns)} turns for {len(dataset.cases)} cases: give one turn per case in the dataset's order, "
            "or a mapping of case id to turn"
        )
    return {case.id: [_as_turn(turn)] for case, turn in zip(dataset.cases, turns, strict=True)}


def _listed(given: Any) -> Sequence[Any]:
    return given if isinstance(given, list | tuple) else [given]


def _as_turn(given: Any) -> RecordedTurn:
    if given is None or isinstance(given, Turn | str):
        return given
    raise TypeError(f"a recorded turn must be a Turn, a tool's name or None, got {type(given).__name__}")


def _as_stored(given: RecordedTurn) -> Turn:
    """A recorded turn as a row keeps it: a bare tool's name as a call whose arguments are not known."""
    if isinstance(given, Turn):
        return given
    return Turn() if given is None or given == "none" else Turn(tool_calls=[ToolCall(given)])
