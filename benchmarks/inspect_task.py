"""The cases of running.py as inspect_ai has them: tools offered, one reply generated, the called tool scored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import get_model
from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, scorer
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import ToolDef

AT_ONCE = 64
TOLD = dict.fromkeys(("path", "directory", "limit", "mode"), "Relative to the project.")


def tool_of(name: str) -> Any:
    async def call(path: str = "", directory: str = "", limit: int = 1, mode: str = "short") -> str:
        return ""

    return ToolDef(call, name=name, description=f"Use {name}.", parameters=TOLD)


@scorer(metrics=[accuracy()])
def called() -> Any:
    async def score(state: Any, target: Any) -> Any:
        calls = state.output.message.tool_calls or []
        return Score(value=CORRECT if [call.function for call in calls] == [target.text] else INCORRECT)

    return score


def evaluate(url: str, name: str, texts: Sequence[str], tools: Sequence[str], log_dir: str) -> int:
    """How many of the texts did not get the right call; the log is written to `log_dir`."""
    samples = [Sample(id=f"case-{n}", input=text, target="list_files") for n, text in enumerate(texts)]
    solver = [use_tools([tool_of(tool) for tool in tools]), generate(tool_calls="none")]
    model = get_model(f"openai/{name}", base_url=url, api_key="none", responses_api=False)
    task = Task(dataset=samples, solver=solver, scorer=called())
    logs = eval(task, model=model, max_connections=AT_ONCE, max_samples=AT_ONCE, log_dir=log_dir, display="none")
    right = logs[0].results.scores[0].metrics["accuracy"].value if logs[0].results else 0.0
    return round((1 - right) * len(texts))
