"""Runs a dataset against a model and returns the results frame; finishes a run that was interrupted.

`run_async` is the one implementation; `run` drives it from scripts, notebooks and worker threads. While a run lasts
its trials are in a journal; at its end, or when it is stopped, they become its Parquet file and only then does the
journal go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .batch_parts import Batching
from .datasets import Dataset
from .jury import JudgeSpec
from .loops import drive
from .messages import messages_of
from .models import Model, as_model
from .plans import load_env, make_plan
from .progress import say
from .recording import Done, start_recording
from .records import Turn
from .resuming import reopen
from .tools import as_tools

if TYPE_CHECKING:
    import pandas as pd


def run(
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
    results_dir: str | Path | None = None,
    save: bool = True,
    progress: bool | None = None,
) -> pd.DataFrame:
    """The results of asking a model every case: one row per case and trial. Works wherever Python does.

    Parameters
    ----------
    dataset : a name in `eval_data/`, a path, or a Dataset.
    model : a model's name (EVALKIT_MODEL, else gpt-4.1-mini), "lexical", a Model, or a callable
        `messages, tools -> Turn | str | ToolCall`.
    trials, concurrency : attempts at each case; requests at once.
    system_prompt, temperature, max_tokens, seed, tool_choice, parallel_tool_calls, reasoning_effort, base_url, api,
        extra : settings as OpenAIModel has them; `extra` holds any other fields of the request.
    cases, tags, limit : select by case id, by tag, the first so many.
    max_errors : stop when more trials end in errors: a share of the planned ones below 1, a count from 1 on.
    prices : USD per million tokens, `{model: {"input": …, "output": …}}`; default: the project's pyproject.toml.
    judge_model, judge_base_url : who judges final answers and where (EVALKIT_JUDGE_MODEL, EVALKIT_JUDGE_BASE_URL);
        default: the model itself, which each trial notes as `self_judged`.
    batch : have the model asked through OpenAI's Batch API, at half the price (`cost_usd` is half of what `prices`
        say) and within a day: True, or a `Batching` for other limits. Judges are asked one by one as ever. The batch
        goes on where this process ends; `resume` fetches its answers and asks nothing twice. `latency_s` is NA.
    results_dir, save : where the run is kept; whether it is.
    progress : show a bar; default: where somebody is looking.

    Interrupted (Ctrl-C, the stop button), it returns what is finished, with status `partial`; `resume` does the rest.

    Raises
    ------
    DatasetError, SettingsError, ValueError : the run cannot start as asked for; no run is stored.
    RunStopped : the run ended early (quota gone, too many errors, disk full); what was finished is stored.
    """
    plan = make_plan(
        dataset, model=model, trials=trials, concurrency=concurrency, label=label, system_prompt=system_prompt,
        temperature=temperature, max_tokens=max_tokens, seed=seed, tool_choice=tool_choice,
        parallel_tool_calls=parallel_tool_calls, reasoning_effort=reasoning_effort,
        base_url=base_url, api=api, extra=extra, tools=tools, cases=cases, tags=tags, limit=limit,
        max_errors=max_errors, prices=prices, judge_model=judge_model, judge_base_url=judge_base_url,
        batch=batch,
    )  # fmt: skip
    return _told(start_recording(plan, results_dir=results_dir, save=save).drive(progress=progress))


async def run_async(
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
    results_dir: str | Path | None = None,
    save: bool = True,
    progress: bool | None = None,
) -> pd.DataFrame:
    """The same as `run`, awaited in the caller's event loop, so that widgets stay alive meanwhile.

    Cancelled, it returns what is finished.
    """
    plan = make_plan(
        dataset, model=model, trials=trials, concurrency=concurrency, label=label, system_prompt=system_prompt,
        temperature=temperature, max_tokens=max_tokens, seed=seed, tool_choice=tool_choice,
        parallel_tool_calls=parallel_tool_calls, reasoning_effort=reasoning_effort,
        base_url=base_url, api=api, extra=extra, tools=tools, cases=cases, tags=tags, limit=limit,
        max_errors=max_errors, prices=prices, judge_model=judge_model, judge_base_url=judge_base_url,
        batch=batch,
    )  # fmt: skip
    return _told(await start_recording(plan, results_dir=results_dir, save=save).carry_out(progress=progress))


def resume(
    run: str | Path,
    *,
    errors: bool = False,
    model: Model | Callable[..., Any] | None = None,
    judge_model: JudgeSpec | None = None,
    concurrency: int | None = None,
    max_errors: float | None = None,
    prices: Mapping[str, Mapping[str, float]] | None = None,
    results_dir: str | Path | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """The results of an interrupted run after asking what is missing: one row per case and trial.

    Settings, dataset, model and judge are those of the run; `model` is needed where it was a callable, `judge_model`
    where that was one or answers no more. With `errors`, trials that ended in an error are asked again and their
    attempts counted on. A trial whose answer is stored is only reviewed again: its model is not asked.

    Raises SettingsError for an unknown run, one that another process writes, or one whose dataset file has changed;
    RunStopped as `run`.
    """
    recording = reopen(
        run,
        errors=errors,
        model=model,
        judge_model=judge_model,
        concurrency=concurrency,
        max_errors=max_errors,
        prices=prices,
        results_dir=results_dir,
    )
    return _told(recording.drive(progress=progress))


def run_single_turn(
    model: Model | str | Callable[..., Any],
    input: str | Sequence[Mapping[str, Any]],
    *,
    tools: Any = (),
    system_prompt: str | None = None,
) -> Turn:
    """What a model sends back for one message (or dialogue): one request, no scoring, nothing stored.

    `tools` is anything that a dataset takes as tools, or a Dataset, whose system prompt then counts too. A request
    that fails is a Turn with `error_kind` and `error`.
    """
    load_env()
    asked = as_model(model)
    if isinstance(tools, Dataset):
        system_prompt = tools.system_prompt if system_prompt is None else system_prompt
        tools = tools.tools
    offered = as_tools(tools)
    messages = messages_of(input, system_prompt)

    async def ask() -> Turn:
        async with asked.session() as session:
            return await session.ask(messages, offered)

    return drive(ask)


def _told(done: Done) -> pd.DataFrame:
    """The frame of a run; where it was interrupted, one line says what is kept and how to go on."""
    if done.interrupted:
        say(done.kept())
    return done.frame()
