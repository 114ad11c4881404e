"""What would make a dataset better: advice that stops nothing, beside the problems that do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .argument_advice import call_advice, default_advice
from .cases import EvalCase
from .dataset_files import Located
from .datasets import Dataset, load_dataset
from .errors import DatasetError
from .look_alikes import near_pairs
from .schema_check import SlowSchemaError

if TYPE_CHECKING:
    import pandas as pd

FEW_CASES = 10  # below, the interval of a tool's rate spans more than half of the scale
NEAR_INPUTS = 92  # rapidfuzz ratio from which two inputs are nearly the same
NEAR_DESCRIPTIONS = 85
MOST_PAIRS = 50  # rows about near duplicates; the rest is counted
_SLOW = "its schema takes too long to check, so expected arguments were not (all) held against it. Make it simpler"
COLUMNS = ("level", "case_id", "where", "message")


class Advice(NamedTuple):
    """One row: `level` is "problem" or "advice"; `where` a case, a tool or the dataset."""

    level: str
    case_id: str | None
    where: str
    message: str


def check_dataset(source: str | Path | Dataset, tools: Any = None) -> pd.DataFrame:
    """One row per problem or piece of advice, problems first; no row where there is neither.

    A dataset with problems cannot be run; advice is about what it can show: expected arguments and defaults that
    break the tool's own schema, inputs that are nearly the same, tools with few cases, no negative cases,
    descriptions that look alike.

    Raises FileNotFoundError where there is no such dataset.

    Returns
    -------
    Frame with the columns `level` ("problem" or "advice"), `case_id`, `where` and `message`.
    """
    import pandas as pd

    rows = [*_rows(source, tools)]
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype="str")


def advice(dataset: Dataset) -> Iterator[Advice]:
    """Every piece of advice on a dataset that can be run."""
    yield from _about_schemas(dataset)
    yield from _about_inputs(dataset)
    yield from _about_counts(dataset)
    yield from _about_descriptions(dataset)


def _rows(source: str | Path | Dataset, tools: Any) -> Iterator[Advice]:
    try:
        dataset = load_dataset(source, tools)
    except FileNotFoundError:
        raise
    except DatasetError as error:
        for problem in error.problems:
            located = problem if isinstance(problem, Located) else Located(str(source), problem)
            yield Advice("problem", located.case_id, located.where, located.message)
        return
    yield from advice(dataset)


def _of_tool(name: str, message: str) -> Advice:
    return Advice("advice", None, f"tool {name}", message)


def _of_case(dataset: Dataset, number: int, message: str) -> Advice:
    return Advice("advice", dataset.cases[number].id, f"case {number + 1}", message)


def _about_schemas(dataset: Dataset) -> Iterator[Advice]:
    """Defaults and expected arguments that break the schema of their tool; one that takes too long is left alone."""
    by_name = {tool.name: tool for tool in dataset.tools}
    for tool in dataset.tools:
        try:
            yield from [_of_tool(tool.name, message) for message in default_advice(tool)]
        except SlowSchemaError:
            yield _of_tool(by_name.pop(tool.name).name, _SLOW)
    for number, case in enumerate(dataset.cases):
        wanted = [(case.expected_tool, case.expected_arguments)]
        wanted += [(tool.tool, tool.arguments) for tool in case.secondary_tools]
        for name, arguments in wanted:
            if arguments is None or name not in by_name:
                continue
            try:
                yield from [_of_case(dataset, number, message) for message in call_advice(by_name[name], arguments)]
            except SlowSchemaError:
                yield _of_tool(by_name.pop(name).name, _SLOW)


def _about_inputs(dataset: Dataset) -> Iterator[Advice]:
    cases: list[EvalCase] = list(dataset.cases)
    found = near_pairs([case.text for case in cases], NEAR_INPUTS)
    told = 0
    for earlier, later in found.pairs:
        first, second = cases[earlier], cases[later]
        if first.cluster is not None and first.cluster == second.cluster:
            continue
        told += 1
        if told <= MOST_PAIRS:
            yield _of_case(dataset, later, _near_message(first, second))
    if told > MOST_PAIRS:
        yield Advice("advice", None, "dataset", f"{told - MOST_PAIRS} more cases have inputs nearly like another's")
    if found.left_out:
        message = f"{found.left_out} cases were not compared with the others: only the first {found.looked_at} were"
        yield Advice("advice", None, "dataset", message)


def _near_message(first: EvalCase, second: EvalCase) -> str:
    if first.input == second.input and first.expected_tool != second.expected_tool:
        return f"the same input as case {first.id!r}, but another tool is expected: one of them can never pass"
    if first.input == second.input:
        return f"the same input as case {first.id!r}. Keep one, or give both the same `cluster`"
    said = f"nearly the same input as case {first.id!r}"
    return f"{said}. Give both the same `cluster` if they are meant to be, so that they count as one question"


def _about_counts(dataset: Dataset) -> Iterator[Advice]:
    expected = Counter(case.expected_tool for case in dataset.cases if case.kind == "tool_choice")
    if not expected:
        return
    for tool in dataset.tools:
        count = expected[tool.name]
        if count == 0:
            yield _of_tool(tool.name, "no case expects it, so nothing is known of when it is missed")
        elif count < FEW_CASES:
            yield _of_tool(
                tool.name, f"{_cases(count)}: {_interval(count)}. From {FEW_CASES} on a rate begins to say something"
            )
    if not expected["none"]:
        message = 'no negative cases: a model that always calls a tool would not be noticed. Add some with "none"'
        yield Advice("advice", None, "dataset", message)


def _cases(count: int) -> str:
    return "1 case expects it" if count == 1 else f"{count} cases expect it"


def _interval(count: int) -> str:
    """How little a rate near the middle says with so few cases: Wilson's 95 % interval at one half."""
    z = 1.96
    half = 100 * z * ((0.25 / count + z * z / (4 * count * count)) ** 0.5) / (1 + z * z / count)
    return f"with half of them passed its rate is known to ± {half:.0f} points"


def _about_descriptions(dataset: Dataset) -> Iterator[Advice]:
    tools = [tool for tool in dataset.tools if tool.description.strip()]
    for tool in dataset.tools:
        if not tool.description.strip():
            yield _of_tool(tool.name, "it has no description, so a model has only its name to go by")
    for earlier, later in near_pairs([tool.description for tool in tools], NEAR_DESCRIPTIONS).pairs:
        other = tools[earlier].name
        yield _of_tool(tools[later].name, f"its description looks like that of {other}: say what tells them apart")
