"""From a dataset as it was written to its parts: cases, tools and options, with every fault of it at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import case_rules
from .cases import EvalCase, build_case, told_apart
from .dataset_files import Located, RawDataset, shown_path, tools_beside, tools_path
from .dataset_options import Options, read_options
from .errors import DatasetError
from .textfiles import Item
from .tools import Tool, as_tools, read_tools


@dataclass(frozen=True)
class Parts:
    """What a dataset is made of, checked."""

    options: Options
    cases: tuple[EvalCase, ...]
    tools: tuple[Tool, ...]


def build(raw: RawDataset, tools: Any = None) -> Parts:
    """The parts of a dataset; `tools` go before its own. Raises DatasetError with everything that is wrong."""
    options = read_options(raw.options)
    problems = [*raw.problems, *(Located(raw.place_of_option(key), text) for key, text in options.problems)]
    if not raw.has_cases:
        problems.append(Located(raw.label, "it has no list of `cases`"))
    cases, found = _build_cases(raw, options)
    problems += found
    offered: tuple[Tool, ...] | None = None
    try:
        offered = _tools_of(raw, options, tools)
    except DatasetError as error:
        problems += [p if isinstance(p, Located) else Located("", p) for p in error.problems]
    if raw.has_cases:
        problems += _problems_together(raw, cases, offered)
    if problems or offered is None:
        raise DatasetError(list(problems))
    return Parts(options, tuple(case for case in cases if case is not None), offered)


def items_of(cases: Any) -> list[Item]:
    """Cases given in Python, numbered."""
    if hasattr(cases, "columns"):
        raise DatasetError("`cases` is a frame. Use Dataset.from_frame(frame, name=…, tools=…)")
    if isinstance(cases, str | Mapping) or not isinstance(cases, Iterable):
        raise DatasetError(f"`cases` must be a list of cases, got {cases!r:.60}")
    return [Item(number, 0, case) for number, case in enumerate(cases, 1)]


def _build_cases(raw: RawDataset, options: Options) -> tuple[list[EvalCase | None], list[Located]]:
    """Each item's case, or None where it has none, and what is wrong with those."""
    cases: list[EvalCase | None] = []
    problems = []
    for item in raw.items:
        case = None
        found = [] if item.problem is None else [item.problem]
        try:
            if isinstance(item.value, EvalCase):
                case = item.value
            elif item.problem is None:
                case = build_case(item.value, options.defaults, options.reviewers)
        except DatasetError as error:
            found = error.problems
        problems += [Located(raw.place(item), problem, _id_of(item)) for problem in found]
        cases.append(case)
    return told_apart(cases), problems


def _problems_together(raw: RawDataset, cases: list[EvalCase | None], tools: Sequence[Tool] | None) -> list[Located]:
    """What is wrong with cases as a set: none at all, ids that stand twice, tools that are not defined."""
    if not raw.items:
        return [Located(raw.label, "it has no cases")]
    problems = []
    first: dict[str, Item] = {}
    beside = tools_beside(raw.path).name if raw.path else None
    names = [tool.name for tool in tools] if tools is not None else None
    for item, case in zip(raw.items, cases, strict=True):
        case_id = case.id if case is not None else _id_of(item)
        if case_id is not None and first.setdefault(case_id, item) is not item:
            problems.append(Located(raw.place(item), _twice(case_id, item, first[case_id]), case_id))
        if case is not None and names is not None:
            secondary = [tool.tool for tool in case.secondary_tools]
            undefined = case_rules.undefined_tools(case.expected_tool, secondary, names, beside=beside)
            problems += [Located(raw.place(item), problem, case.id) for problem in undefined]
    return problems


def _twice(case_id: str, item: Item, other: Item) -> str:
    where = f"case {other.number}" + (f" (line {other.line})" if other.line else "")
    if _id_of(item) is None and _id_of(other) is None:
        return f"it is {where} once more, word for word (id {case_id!r}). Remove one, or give each an `id`"
    return f"the id {case_id!r} is that of {where} too. Each case needs an id of its own"


def _id_of(item: Item) -> str | None:
    """The id that an item itself gives, however broken the rest of it may be."""
    if isinstance(item.value, EvalCase):
        return item.value.id
    given = item.value.get("id") if isinstance(item.value, Mapping) else None
    return str(given).strip() if isinstance(given, str | int) and not isinstance(given, bool) else None


def _tools_of(raw: RawDataset, options: Options, tools: Any) -> tuple[Tool, ...]:
    if tools is not None:
        return as_tools(tools)
    if isinstance(options.tools, str) and raw.path is not None:
        try:
            path = tools_path(raw.path, options.tools)
        except DatasetError as error:
            raise DatasetError(f"{raw.place_of_option('tools')}: {error}") from None
        return read_tools(path, shown_path(raw.path.parent / options.tools))
    if options.tools is not None and not isinstance(options.tools, list | tuple):
        said = "a list of definitions, or the path of a JSON file relative to this one"
        raise DatasetError(Located(raw.place_of_option("tools"), f"`tools` must be {said}, got {options.tools!r:.60}"))
    if options.tools is not None:
        try:
            return as_tools(options.tools)
        except DatasetError as error:
            where = raw.place_of_option("tools")
            raise DatasetError([Located(where, problem) for problem in error.problems]) from None
    if raw.path is not None and tools_beside(raw.path).is_file():
        return read_tools(tools_beside(raw.path), shown_path(tools_beside(raw.path)))
    return ()
