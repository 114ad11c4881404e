"""What the fields of a case mean together: its kind, and the expectations that make no sense or can never be met."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from . import reviewers
from .nearmiss import did_you_mean

TOOL_FIELDS = ("expected_tool", "secondary_tools", "expected_arguments", "extra_arguments", "calls", "text_calls")
ANSWER_FIELDS = ("expected", "reviewers")
_CHECKS_NOTHING = (
    'it checks nothing. Give `expected_tool` (a name, "none" for no call, "any" for whichever), '
    "or `expected` or `reviewers` for a final answer"
)


def settle(fields: dict[str, Any], shared: Iterable[Mapping[str, Any]] = ()) -> None:
    """Complete a case: its kind, the reviewers that all cases share, `exact_match` where `expected` stands alone."""
    tool_choice = _given(fields, TOOL_FIELDS)
    if not tool_choice:
        own = fields.get("reviewers", ())
        every = [*(spec for spec in shared if spec not in own), *own]
        if "expected" in fields and not own and not _readers(every):
            every.append({"reviewer": "exact_match"})
        fields["reviewers"] = tuple(every)
    fields.setdefault("kind", "tool_choice" if tool_choice else "final_answer")


def problems_of(fields: Mapping[str, Any], *, whole: bool = True) -> list[str]:
    """Everything that is wrong with a settled case as a whole, each a sentence.

    Where it is not `whole` (a field could not be read), nothing is said of what is missing.
    """
    tool_choice, answer = _given(fields, TOOL_FIELDS), _given(fields, ANSWER_FIELDS)
    if tool_choice and answer:
        both = f"`{tool_choice[0]}` (tool choice) and `{answer[0]}` (final answer)"
        return [f"both kinds of case in one: {both}. Make two cases of it"]
    if not tool_choice and not answer:
        return [_CHECKS_NOTHING] if whole else []
    found = "tool_choice" if tool_choice else "final_answer"
    if fields["kind"] != found:
        return [f"its `kind` is {fields['kind']}, but `{(tool_choice or answer)[0]}` belongs to {found}"]
    return _tool_choice_problems(fields, whole) if tool_choice else _answer_problems(fields, whole)


def undefined_tools(
    expected: str | None, secondary: Iterable[str], names: Collection[str], *, beside: str | None = None
) -> list[str]:
    """The tools that a case names and the dataset does not define, each a sentence.

    `beside` is the file in which the tools of this dataset would stand.
    """
    wanted = {"`expected_tool`": expected, **{f"`secondary_tools` {n}": name for n, name in enumerate(secondary, 1)}}
    return [
        f"{field}: {_not_defined(name, names, beside)}"
        for field, name in wanted.items()
        if name is not None and name != "none" and name not in names and not (name == "any" and names)
    ]


def _not_defined(name: str, names: Collection[str], beside: str | None) -> str:
    what = "some tool is expected" if name == "any" else f"the tool {name!r} is not defined"
    if names:
        return f"{what}.{did_you_mean(name, (*names, 'none', 'any'))} Defined: {', '.join(names)}"
    where = f" in {beside} or" if beside else ""
    return f"{what}, and the dataset has no tools. Give them{where} with `tools`"


def _given(fields: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """The fields that say something: an empty list of tools or reviewers says nothing."""
    return [name for name in names if name in fields and fields[name] != ()]


def _tool_choice_problems(fields: Mapping[str, Any], whole: bool) -> list[str]:
    expected = fields.get("expected_tool")
    if expected is None and not whole:
        return []
    if expected is None:
        others = " and ".join(f"`{name}`" for name in _given(fields, TOOL_FIELDS))
        return [f'{others} without `expected_tool`. Give a tool\'s name, "none" or "any"']
    problems = []
    if "expected_arguments" in fields and expected == "none":
        problems.append('`expected_arguments` can never be met where `expected_tool` is "none": no call, no arguments')
    if "expected_arguments" in fields and expected == "any":
        problems.append('`expected_arguments` belong to one tool, but `expected_tool` is "any"')
    return problems + _secondary_problems(expected, fields.get("secondary_tools", ()))


def _secondary_problems(expected: str, secondary: Iterable[Mapping[str, Any]]) -> list[str]:
    problems = []
    seen: list[Mapping[str, Any]] = []
    for number, tool in enumerate(secondary, 1):
        field, name = f"`secondary_tools` {number}", tool["tool"]
        if name == expected:
            problems.append(f"{field}: {name!r} is the expected tool itself, so it can never be met")
        elif name == "any":
            problems.append(f'{field}: "any" would make every tool acceptable. Name the tools')
        elif expected == "any" and name != "none":
            problems.append(f'{field}: {name!r} can never be met, since `expected_tool` "any" takes every tool')
        elif name == "none" and tool["arguments"] is not None:
            problems.append(f'{field}: "none" is no call, so it has no arguments')
        elif any(name == other["tool"] and _hides(other, tool) for other in seen):
            problems.append(f"{field}: {name!r} stands there twice")
        seen.append(tool)
    return problems


def _hides(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether two entries of one tool leave one of them without effect: equal ones, or one that takes any arguments."""
    return None in (first["arguments"], second["arguments"]) or first == second


def _answer_problems(fields: Mapping[str, Any], whole: bool) -> list[str]:
    expected, specs = fields.get("expected"), fields["reviewers"]
    problems = [problem for spec in specs for problem in reviewers.problems(spec, expected)]
    if whole and expected is not None and not problems and not _readers(specs):
        named = ", ".join(spec["reviewer"] for spec in specs)
        problems.append(f"`expected` is read by none of its reviewers ({named}). Add one that does, or leave it out")
    return problems


def _readers(specs: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [spec for spec in specs if reviewers.reads_expected(spec)]
