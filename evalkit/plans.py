"""What a run is before it starts: its cases, its model, its settings, and the description stored with it."""

from __future__ import annotations

import os
import subprocess
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .batch_parts import Batching, check_batch
from .datasets import Dataset, EvalCase, load_dataset
from .environment import JUDGE_MODEL, default_model
from .environment import load_env as load_env
from .errors import SettingsError
from .evaluators import SCORING_VERSION
from .given import words
from .jsontext import fingerprint
from .jury import JudgeSpec, Jury, judge_url, make_jury
from .lexical import LexicalBaseline
from .models import LEXICAL, Model, as_model
from .nearmiss import did_you_mean
from .paths import project_dir, slug
from .prices import Prices, load_prices
from .wire import called

LONGEST_LABEL = 200  # characters


@dataclass(frozen=True)
class Plan:
    """A run as asked for, checked, with nothing sent yet. Raises ValueError for numbers out of range."""

    dataset: Dataset
    model: Model
    trials: int
    concurrency: int
    max_errors: float | None
    prices: Prices
    label: str | None
    selection: dict[str, Any]
    jury: Jury | None = None
    batch: Batching | None = None

    def __post_init__(self) -> None:
        _at_least_one("trials", self.trials)
        _at_least_one("concurrency", self.concurrency)
        limit, label = self.max_errors, self.label
        is_limit = isinstance(limit, int | float) and not isinstance(limit, bool) and limit >= 0
        if limit is not None and not is_limit:
            raise ValueError(f"max_errors must be a share below 1 or a count, got {limit!r}")
        is_label = isinstance(label, str) and label.strip() and len(label) <= LONGEST_LABEL and label.isprintable()
        if label is not None and not is_label:
            raise ValueError(
                f"a label must be one line of 1 to {LONGEST_LABEL} printable characters, got {label!r:.220}"
            )

    def todo(self) -> deque[tuple[EvalCase, int]]:
        """Every (case, trial): each case once before any case twice."""
        return deque((case, trial) for trial in range(1, self.trials + 1) for case in self.dataset.cases)


def make_plan(
    dataset: Dataset | str | Path,
    *,
    model: Model | str | Callable[..., Any] | None = None,
    trials: int = 1,
    concurrency: int = 16,
    label: str | None = None,
    system_prompt: str | None = None,
    temperature: float | None = None,
    max_tokens: int | None = None,
    seed: int | None = None,
    tool_choice: str | Mapping[str, Any] | None = None,
    parallel_tool_calls: bool | None = None,
    reasoning_effort: str | None = None,
    base_url: str | None = None,
    api: str | None = None,
    extra: Mapping[str, Any] | None = None,
    tools: Any = None,
    cases: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
    limit: int | None = None,
    max_errors: float | None = None,
    prices: Mapping[str, Mapping[str, float]] | None = None,
    judge_model: JudgeSpec | None = None,
    judge_base_url: str | None = None,
    batch: bool | Batching = False,
    dry: bool = False,
) -> Plan:
    """Check everything that can be checked before a request is sent. A `dry` plan is never sent and needs no key.

    Raises DatasetError or SettingsError, ValueError for numbers out of range.
    """
    load_env()
    loaded = load_dataset(dataset, tools=tools)
    if system_prompt is not None:
        loaded = replace(loaded, system_prompt=system_prompt)
    selection: dict[str, Any] = {
        "cases": None if cases is None else words("cases", cases),
        "tags": None if tags is None else words("tags", tags),
        "limit": limit,
    }
    chosen = loaded.select(**selection)
    settings = {
        "temperature": temperature, "max_tokens": max_tokens, "seed": seed, "tool_choice": tool_choice,
        "parallel_tool_calls": parallel_tool_calls, "reasoning_effort": reasoning_effort, "base_url": base_url,
        "api": api, "extra": extra,
    }  # fmt: skip
    given = {name: value for name, value in settings.items() if value is not None}
    wanted = model or default_model()
    if dry and isinstance(wanted, str) and wanted != LEXICAL:
        given["api_key"] = "not needed"
    asked = as_model(wanted, **given)
    _check_choice(tool_choice, [tool.name for tool in chosen.tools])
    if batch:
        check_batch(asked)
    _refuse_baseline(asked, chosen)
    judge, url = judge_model or os.environ.get(JUDGE_MODEL) or None, judge_url(judge_base_url, base_url)
    return Plan(
        dataset=chosen,
        model=asked,
        trials=trials,
        concurrency=concurrency,
        max_errors=max_errors,
        prices=load_prices(prices),
        label=label,
        selection=selection,
        jury=None if dry else make_jury(chosen.cases, asked, judge_model=judge, base_url=url),
        batch=(batch if isinstance(batch, Batching) else Batching()) if batch else None,
    )


def describe(plan: Plan, run_id: str, started_at: datetime) -> dict[str, Any]:
    """The description stored with a run: no key, no header, no environment value."""
    dataset, judges = plan.dataset, plan.jury.settings() if plan.jury else None
    return {
        "run_id": run_id,
        "dataset": dataset.name,
        "dataset_path": _stored_path(dataset.path),
        "selection": plan.selection,
        "model": plan.model.name,
        "settings": dict(plan.model.settings),
        "system_prompt": dataset.system_prompt,
        "label": plan.label,
        "status": "partial",
        "rescored_from": None,
        "started_at": started_at.isoformat(),
        "trials": plan.trials,
        "planned": plan.trials * len(dataset.cases),
        "concurrency": plan.concurrency,
        **({"batch": True} if plan.batch else {}),  # how it is asked, not what: no part of the settings' fingerprint
        **({"judges": judges} if judges else {}),
        "git_commit": git_commit(),
        "evalkit_version": evalkit_version(),
        **dataset_fingerprints(dataset),
        "settings_hash": fingerprint({k: v for k, v in plan.model.settings.items() if k != "base_url"}),
        "scoring_hash": scoring_hash(judges),
    }


def dataset_fingerprints(dataset: Dataset) -> dict[str, str]:
    """The three fingerprints of a dataset: its cases, its tools, its system prompt."""
    return {"dataset_hash": dataset.dataset_hash, "tools_hash": dataset.tools_hash, "prompt_hash": dataset.prompt_hash}


def scoring_hash(judges: Mapping[str, Any] | None = None) -> str:
    """Fingerprint of what scores depend on beside the cases: the version of the rules, and the `judges` of the
    description. Where a judge is asked does not count, as with models.
    """
    if judges is None:
        return fingerprint({"scoring": SCORING_VERSION})
    asked = [
        [judge["model"], {name: value for name, value in judge["settings"].items() if name != "base_url"}]
        for judge in (judges["default"], *judges["named"].values())
        if judge is not None
    ]
    return fingerprint({"scoring": SCORING_VERSION, "judges": asked})


def run_ids(started_at: datetime, model: str) -> Iterator[str]:
    """Candidate ids for a run, the plainest first: legal file names on every system, in order of time."""
    base = f"{started_at.astimezone(UTC):%Y-%m-%dT%H-%M-%SZ}-{slug(model) or 'model'}"
    yield base
    for number in range(2, 10_000):
        yield f"{base}-{number}"


def now() -> datetime:
    """The present moment, UTC."""
    return datetime.now(UTC)


def evalkit_version() -> str:
    """The installed version of evalkit."""
    try:
        return version("evalkit-notebooks")
    except PackageNotFoundError:
        return "not installed"


def git_commit() -> str | None:
    """The commit of the project around the working folder, with + where files differ from it; None without git."""
    try:
        commit = _git("rev-parse", "--short=12", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return None
    return commit + ("+" if changed else "")


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], capture_output=True, text=True, timeout=10, check=True)  # noqa: S603, S607
    return done.stdout.strip()


def _stored_path(path: Path | None) -> str | None:
    """A dataset's path as stored: relative to the project where it lies inside, so that a team can share runs."""
    if path is None:
        return None
    project = project_dir(path.parent)
    resolved = path.resolve()
    if project is not None and resolved.is_relative_to(project.resolve()):
        return resolved.relative_to(project.resolve()).as_posix()
    return str(resolved)


def _refuse_baseline(model: Model, dataset: Dataset) -> None:
    """Raise SettingsError where the baseline, which only picks tools, would have to answer in text."""
    answers = [case.id for case in dataset.cases if case.kind == "final_answer"]
    if isinstance(model, LexicalBaseline) and answers:
        some = f"{len(answers)} of {len(dataset.cases)} cases of {dataset.name!r} want"
        raise SettingsError(
            f"lexical cannot answer in text, and {some} a final answer (such as {answers[0]!r}). Use a model: "
            "`--model gpt-4.1-mini` with OPENAI_API_KEY, or one on a server of your own with OPENAI_BASE_URL "
            "(Ollama, llama.cpp, vLLM). In Python a function `messages, tools -> str` will do too."
        )


def _check_choice(choice: Any, tools: Sequence[str]) -> None:
    """Raise SettingsError where `tool_choice` names what is no tool of the dataset."""
    name = called(choice)
    if name is not None and name not in tools:
        allowed = f"'auto', 'none', 'required' or one of {', '.join(tools) or 'no tools'}"
        raise SettingsError(f"tool_choice must be {allowed}, got {name!r}.{did_you_mean(name, tools)}")


def _at_least_one(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be at least 1, got {value!r}")
