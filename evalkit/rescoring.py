"""A stored run scored again under today's rules and expectations: no model is asked, and no judge without need."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import journal, store
from .answers import UNJUDGED
from .datasets import Dataset, EvalCase, load_dataset
from .environment import JUDGE_MODEL
from .errors import SettingsError
from .execution import SAME, Tally, score_turn
from .journal import Journal
from .jury import (
    JudgeSpec,
    Jury,
    judge_of,
    judge_url,
    judges_of,
    kept_verdicts,
    make_jury,
    needs_default,
    reviews_in,
    stored_judge,
)
from .models import Model
from .paths import results_dir as find_results_dir
from .paths import run_path
from .plans import Plan, dataset_fingerprints, evalkit_version, git_commit, load_env, now, run_ids, scoring_hash
from .prices import load_prices
from .progress import say
from .recording import Memory, Recording
from .resuming import NotAsked, current_dataset, model_of, stored_dataset
from .reviewers import is_judge
from .rows import Row, row_of, turn_of
from .runs import JOURNAL_DIR, StoredRun, find_run, instant

if TYPE_CHECKING:
    import pandas as pd


def rescore(
    run: str | Path,
    *,
    dataset: Dataset | str | Path | None = None,
    judges: bool = True,
    judge_model: JudgeSpec | None = None,
    concurrency: int = 16,
    prices: Mapping[str, Mapping[str, float]] | None = None,
    results_dir: str | Path | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """The results of a stored run's turns under today's rules and expectations, stored beside it as a new run.

    `dataset` defaults to the run's own file as it is today, else to the dataset stored with the run. Cases are
    matched by id (else by input); those whose input changed or that are gone are left out and named in a warning. The
    model is not asked; the tools are those that it was offered. A judge is asked only where its prompt, its choices or
    its model (`judge_model`; default: the run's own judge) changed; with `judges=False` not even then, and such trials
    are left unjudged, which `resume` makes good.

    Raises SettingsError for an unknown run or where no case is left; RunStopped where the judges answer no more.
    """
    import warnings

    rescoring = start_rescoring(
        run, dataset=dataset, judges=judges, judge_model=judge_model, concurrency=concurrency, prices=prices,
        results_dir=results_dir,
    )  # fmt: skip
    if rescoring.left_out:
        listed = "; ".join(f"{case_id}: {why}" for case_id, why in list(rescoring.left_out.items())[:5])
        count = len(rescoring.left_out)
        warnings.warn(f"{count} cases left out of the new scoring: {listed}", UserWarning, stacklevel=2)
    done = rescoring.recording.drive(progress=progress)
    if done.interrupted:
        say(done.kept())
    return done.frame()


@dataclass(frozen=True)
class Rescoring:
    """A run about to be scored again: what is still to be judged, and the cases left out, each with the reason."""

    recording: Recording
    left_out: dict[str, str]


def start_rescoring(
    run: str | Path,
    *,
    dataset: Dataset | str | Path | None = None,
    judges: bool = True,
    judge_model: JudgeSpec | None = None,
    concurrency: int = 16,
    prices: Mapping[str, Mapping[str, float]] | None = None,
    results_dir: str | Path | None = None,
) -> Rescoring:
    """A new run with the turns of an old one, each scored again as far as that needs no judge."""
    if judge_model is not None and not judges:
        raise ValueError("judge_model names a judge, but judges=False asks none: give one of the two")
    load_env()
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
    names = judge_names(stored.description, scored, judge_model)
    rows = {(row["case_id"], row["trial"]): row for row in _scored_again(stored, scored, pairs, names)}
    unjudged = {key: row for key, row in rows.items() if row["error_kind"] == UNJUDGED}
    jury = rescoring_jury(stored.description, scored, judge_model) if judges and unjudged else None
    about = _describe(stored, scored, jury)
    folder = stored.folder if results_dir is None else find_results_dir(results_dir)
    sink, path = _place(about, scored, rows, journaled=jury is not None, folder=folder)
    model = NotAsked(about["model"], about.get("settings") or {})
    plan = Plan(
        scored, model if jury is None else jury.judged, about["trials"], concurrency, None, load_prices(prices),
        about.get("label"), {}, jury,
    )  # fmt: skip
    return Rescoring(review_only(plan, about, sink, path, rows, unjudged if jury else {}), left_out)


def review_only(
    plan: Plan,
    about: dict[str, Any],
    sink: Journal | Memory,
    path: Path | None,
    rows: Mapping[tuple[str, int], Row],
    unjudged: dict[tuple[str, int], Row],
) -> Recording:
    """A recording in which the unjudged rows are to be judged and nothing is asked of the model."""
    todo = deque((case, trial) for case, trial in plan.todo() if (case.id, trial) in unjudged)
    tally = Tally(planned=about["planned"])
    for key, row in rows.items():
        if key not in unjudged and row["error_kind"] != UNJUDGED:
            tally.count(row)
    return Recording(plan, about, sink, path, todo, tally, False, {}, unjudged)


def match_cases(before: Dataset, after: Dataset) -> tuple[dict[str, EvalCase], dict[str, str]]:
    """For each case of a run the case to score it by today, and why others have none.

    By id; else by the same input, under an id that the run did not have: the case of the same content, or where one is
    left on either side, that one.
    """
    by_id = {case.id: case for case in after.cases}
    known = {case.id for case in before.cases}
    free = _by_input(case for case in after.cases if case.id not in known)
    gone = _by_input(case for case in before.cases if case.id not in by_id)
    renamed: dict[str, EvalCase] = {}
    for asked, old in gone.items():
        renamed |= _renamed(old, free.get(asked, []))
    pairs, left_out = {}, {}
    for case in before.cases:
        if case.id in renamed:
            pairs[case.id] = renamed[case.id]
        elif case.id not in by_id:
            left_out[case.id] = "it is no longer in the dataset"
        elif _asked(by_id[case.id]) == _asked(case):
            pairs[case.id] = by_id[case.id]
        else:
            left_out[case.id] = "its input has changed"
    return pairs, left_out


def _renamed(old: list[EvalCase], new: list[EvalCase]) -> dict[str, EvalCase]:
    """Which of some cases with one input is which of the others: the same content, then the only one that is left."""
    by_content = {case.case_hash: case for case in reversed(new)}
    found: dict[str, EvalCase] = {}
    for case in old:
        same = by_content.pop(case.case_hash, None)
        if same is not None:
            found[case.id] = same
    left = [case for case in old if case.id not in found]
    taken = {case.id for case in found.values()}
    rest = [case for case in new if case.id not in taken]
    return found | ({left[0].id: rest[0]} if len(left) == len(rest) == 1 else {})


def _by_input(cases: Iterable[EvalCase]) -> dict[str, list[EvalCase]]:
    found: dict[str, list[EvalCase]] = {}
    for case in cases:
        found.setdefault(_asked(case), []).append(case)
    return found


def _asked(case: EvalCase) -> str:
    return repr(case.messages(None))


def judge_names(about: Mapping[str, Any], scored: Dataset, judge_model: JudgeSpec | None) -> dict[str | None, str]:
    """The names of the judges by which a run is scored again, under the names that reviewers give them."""
    wanted = {spec["model"] for case in scored.cases for spec in case.reviewers if is_judge(spec) and "model" in spec}
    default = (about.get("judges") or {}).get("default")
    if judge_model is not None:
        chosen = judge_of(judge_model, judge_url(None)).name
    elif default is not None:
        chosen = default["model"]
    else:
        chosen = os.environ.get(JUDGE_MODEL) or about["model"]
    return {None: chosen, **{name: name.strip() for name in wanted}}


def rescoring_jury(about: Mapping[str, Any], scored: Dataset, judge_model: JudgeSpec | None) -> Jury | None:
    """The jury by which a run is scored again: the given judge, else the run's own, else as for a new run."""
    own: Model = NotAsked(about["model"], about.get("settings") or {})
    chosen = judge_model
    if chosen is None and needs_default(scored.cases):
        had_one = (about.get("judges") or {}).get("default") is not None
        chosen = stored_judge(about) if had_one else os.environ.get(JUDGE_MODEL) or None
        own = model_of(about) if chosen is None else own
    return make_jury(scored.cases, own, judge_model=chosen, base_url=judge_url(None))


def _scored_again(
    stored: StoredRun, scored: Dataset, pairs: Mapping[str, EvalCase], names: Mapping[str | None, str]
) -> Iterator[Row]:
    """The rows of a run with new verdicts, case by case; verdicts of judges that stand are kept."""
    order = {old: place for place, old in enumerate(pairs)}
    rows = sorted(
        (row for row in stored.rows() if row["case_id"] in pairs), key=lambda row: (order[row["case_id"]], row["trial"])
    )
    for row in rows:
        case, turn = pairs[row["case_id"]], turn_of(row)
        judged = kept_verdicts(case, turn, reviews_in(row), names) if judges_of(case, turn) else None
        fresh = row_of(case, row["trial"], turn, score_turn(case, turn, scored.tools, judged))
        yield fresh | {name: row[name] for name in SAME}


def _describe(stored: StoredRun, scored: Dataset, jury: Jury | None) -> dict[str, Any]:
    """The new run's description, derived from its parent's; its id is still to be found."""
    parent = stored.description
    left = ("counts", "finished", "finished_at", "judges", "batches")
    has_judges = any(is_judge(spec) for case in scored.cases for spec in case.reviewers)
    judges = jury.settings() if jury else parent.get("judges") if has_judges else None
    return {
        **{name: value for name, value in parent.items() if name not in left},
        **({"judges": judges} if judges else {}),
        "rescored_from": stored.run_id, "scored_at": now().isoformat(), "status": "partial",
        "planned": parent["trials"] * len(scored.cases), "git_commit": git_commit(),
        "evalkit_version": evalkit_version(), **dataset_fingerprints(scored), "scoring_hash": scoring_hash(judges),
    }  # fmt: skip


def _place(
    about: dict[str, Any], scored: Dataset, rows: dict[tuple[str, int], Row], *, journaled: bool, folder: Path
) -> tuple[Journal | Memory, Path]:
    """Where the new run is kept, under a free id: in a journal with all rows in it where judges are to be paid for."""
    began = instant(about.get("started_at")) or now()
    for run_id in run_ids(began, f"{about['model']}-rescored"):
        path = run_path(folder, run_id, store.SUFFIX)
        journal_path = run_path(folder / JOURNAL_DIR, run_id, journal.SUFFIX)
        if path.exists() or journal_path.exists():
            continue
        about["run_id"] = run_id
        if not journaled:
            return Memory(rows), path
        return Journal.copied(journal_path, about, scored.as_dict(), rows.values()), path
    raise SettingsError(f"no free run id for a new scoring of {about['rescored_from']!r} in {folder}")
