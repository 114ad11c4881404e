"""Turns that were recorded elsewhere, scored: no model is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import store
from .answers import UNJUDGED
from .datasets import Dataset, EvalCase, load_dataset
from .execution import score_turn
from .jury import JudgeSpec, judge_url, make_jury
from .plans import Plan, dataset_fingerprints, evalkit_version, git_commit, now, run_ids, scoring_hash
from .prices import load_prices
from .recording import Memory
from .records import ToolCall, Turn
from .replies import Failed, chat_turn
from .rescoring import review_only
from .resuming import NotAsked
from .rows import row_of
from .tools import wire_names

if TYPE_CHECKING:
    import pandas as pd

RecordedTurn = Turn | ToolCall | Mapping[str, Any] | str | None
_ALLOWED = (
    'a Turn, a ToolCall, an assistant\'s message ({"role": "assistant", "content": …, "tool_calls": […]}; of an object '
    "give .model_dump()), a tool's name, or None for an answer in text"
)
_SAYS_SOMETHING = ("content", "tool_calls", "function_call", "refusal")


def score(
    dataset: Dataset | str | Path,
    turns: Mapping[str, RecordedTurn | Sequence[RecordedTurn]] | Sequence[RecordedTurn],
    *,
    model: str = "recorded",
    label: str | None = None,
    judge_model: JudgeSpec | None = None,
    concurrency: int = 16,
) -> pd.DataFrame:
    """The results of turns that were recorded elsewhere, no model asked: one row per case and trial; nothing is stored.

    `turns` is one per case in the dataset's order, or a mapping of case id to a turn or to a list of turns (trials).
    A turn is a Turn, a ToolCall, an assistant's message as Chat Completions sends it, a tool's name (its arguments are
    then not checked), or None for an answer in text. The text of a final answer goes in `Turn(answer=…)`; for a case
    that wants one, a string is that text. Judges are asked where `judge_model` names one; else their cases stay
    unjudged, which is an error and no failure.

    Raises ValueError where turns and cases do not match or a message is not an assistant's, TypeError for other turns.
    """
    loaded = dataset if isinstance(dataset, Dataset) else load_dataset(dataset)
    by_case = _turns_by_case(loaded, turns)
    rows = {
        (case.id, trial): row_of(case, trial, _as_stored(turn), score_turn(case, turn, loaded.tools))
        for case in loaded.cases
        for trial, turn in enumerate(by_case.get(case.id, ()), start=1)
    }
    began = now()
    asked = NotAsked(model, {})
    jury = (
        None if judge_model is None else make_jury(loaded.cases, asked, judge_model=judge_model, base_url=judge_url())
    )
    judges = jury.settings() if jury else None
    about = {
        "run_id": next(run_ids(began, model)), "dataset": loaded.name, "model": model, "label": label,
        "status": "complete", "started_at": began.isoformat(), "git_commit": git_commit(),
        "evalkit_version": evalkit_version(), "planned": len(rows), **({"judges": judges} if judges else {}),
        **dataset_fingerprints(loaded), "scoring_hash": scoring_hash(judges),
    }  # fmt: skip
    if jury is None:
        return store.frame_of(about, rows.values())
    trials = max((trial for _, trial in rows), default=1)
    plan = Plan(loaded, asked, trials, concurrency, None, load_prices(None), label, {}, jury)
    unjudged = {key: row for key, row in rows.items() if row["error_kind"] == UNJUDGED}
    return review_only(plan, about, Memory(rows), None, rows, unjudged).drive().frame()


def _turns_by_case(dataset: Dataset, turns: Any) -> dict[str, list[Turn | str | None]]:
    names = {sent: name for name, sent in wire_names(dataset.tools).items()}
    if isinstance(turns, Mapping):
        cases = {case.id: case for case in dataset.cases}
        unknown = [name for name in turns if name not in cases]
        if unknown:
            raise ValueError(
                f"turns are given for cases that the dataset does not have: {', '.join(map(repr, unknown[:5]))}"
            )
        return {name: [_as_turn(one, cases[name], names) for one in _listed(given)] for name, given in turns.items()}
    listed = list(turns) if isinstance(turns, Iterable) and not isinstance(turns, str | bytes | set) else None
    if listed is None or getattr(turns, "ndim", 1) != 1:
        raise TypeError(f"turns must be a list, or a mapping of case id to turn, got {type(turns).__name__}")
    if len(listed) != len(dataset.cases):
        raise ValueError(
            f"{len(listed)} turns for {len(dataset.cases)} cases: give one turn per case in the dataset's order, "
            "or a mapping of case id to turn"
        )
    return {case.id: [_as_turn(turn, case, names)] for case, turn in zip(dataset.cases, listed, strict=True)}


def _listed(given: Any) -> Sequence[Any]:
    return given if isinstance(given, list | tuple) else [given]


def _as_turn(given: Any, case: EvalCase, names: Mapping[str, str]) -> Turn | str | None:
    """A recorded turn in a form that is scored; `names` maps names as they were sent to the tools' own."""
    if isinstance(given, str) and case.kind == "final_answer":
        return Turn(answer=given)
    if given is None or isinstance(given, Turn | str):
        return given
    if isinstance(given, ToolCall):
        return Turn(tool_calls=[given])
    if not isinstance(given, Mapping):
        raise TypeError(f"case {case.id!r}: a recorded turn must be {_ALLOWED}; got {type(given).__name__}")
    if given.get("role", "assistant") != "assistant" or not any(key in given for key in _SAYS_SOMETHING):
        raise ValueError(f"case {case.id!r}: a recorded turn must be {_ALLOWED}; got {dict(given)!r:.120}")
    read = chat_turn({"choices": [{"message": given}]}, names=names)
    return Turn(error_kind="server", error=f"{read.why}: {read.error!r:.200}") if isinstance(read, Failed) else read


def _as_stored(given: Turn | str | None) -> Turn:
    """A recorded turn as a row keeps it: a bare tool's name as a call whose arguments are not known."""
    if isinstance(given, Turn):
        return given
    return Turn() if given is None or given == "none" else Turn(tool_calls=[ToolCall(given)])
