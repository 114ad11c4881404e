"""Which tool was called where another was expected, and how often a call came or failed to come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .schema import conform, needs_frame
from .tallies import by_run, counted_rows, group_sums, grouping, in_order, run_facts, with_rates

if TYPE_CHECKING:
    import pandas as pd

NONE = "none"
UNKNOWN = "(unknown)"
UNPARSABLE = "(unparsable)"
IN_TEXT = "(call in text)"
NO_ANSWER = "(no answer)"  # no tool was expected and none was called, but nothing was said either: not `none`
NOT_KNOWN = "(not known)"
_SILENT = ("empty", "refused")
_INSTEAD = {"unknown_tool": UNKNOWN, "unparsable": UNPARSABLE, "unusable_call": UNPARSABLE, "call_in_text": IN_TEXT}
_NEEDED = ("expected_tool", "actual_tool", "outcome")
OVER, UNDER = "over-calling", "under-calling"


def tool_confusion(results: pd.DataFrame) -> pd.DataFrame:
    """How often each tool was called where each was expected: expected tools down, what was called across, in trials.

    Behind the tools stand `none`, `(unknown)` (a name that was not offered) and `(unparsable)` (no readable call), and
    where they occur `(call in text)` and `(not known)`. The cells add up to the scored tool-choice trials.

    How many trials of a cell passed stands in `.attrs["passed"][expected][actual]`; the others did not: the right tool
    may have had wrong arguments, another one may have been acceptable. Cells in which a call passed as a secondary tool
    are listed in `.attrs["secondary"]`, as [expected, actual] pairs.
    """
    import pandas as pd

    needs_frame(results)
    rows = conform(results[[name for name in results.columns if name in _USED]], columns=_NEEDED)
    rows = rows[rows["passed"].notna() & rows["expected_tool"].notna()]
    called = rows["outcome"].map(_INSTEAD).fillna(rows["actual_tool"]).fillna(NOT_KNOWN).astype("str")
    called = called.mask((rows["expected_tool"] == NONE) & rows["outcome"].isin(_SILENT), NO_ANSWER)
    table = pd.crosstab(rows["expected_tool"], called)
    last = (NONE, UNKNOWN, UNPARSABLE)
    rare = [name for name in (IN_TEXT, NO_ANSWER, NOT_KNOWN) if name in table.columns]
    tools = sorted({*table.index, *table.columns} - {*last, *rare, "any"})
    down = [*tools_in(tools, table.index), *(word for word in ("any", NONE) if word in table.index)]
    table = table.reindex(index=down, columns=[*tools, *last, *rare], fill_value=0).astype("int64")
    table.index.name, table.columns.name = "expected_tool", "actual_tool"
    accepted = pd.DataFrame({"expected": rows["expected_tool"], "actual": called})[rows["outcome"] == "secondary"]
    table.attrs["secondary"] = sorted([str(one), str(other)] for one, other in set(accepted.itertuples(index=False)))
    passed = pd.crosstab(rows["expected_tool"], called, rows["passed"].astype("int64"), aggfunc="sum")
    passed = passed.reindex(index=table.index, columns=table.columns).fillna(0).astype("int64")
    table.attrs["passed"] = {str(name): cells for name, cells in passed.to_dict("index").items()}
    return table


def calling_rates(results: pd.DataFrame, *, by: str | Sequence[str] = "run_id") -> pd.DataFrame:
    """How often a tool was called where none was wanted, and none where one was: two rows per group of `by`.

    Columns: those of `by`, `what` (`over-calling`, of the cases that expect no tool; `under-calling`, of those that
    expect one), `n` (cases with a scored trial), `count` (of them, with trials the means summed), `errors`, `rate` with
    `ci_low` and `ci_high`, `bound_low` and `bound_high`, `n_effective`; by `run_id` also the run's values, as
    `tool_accuracy`. What a secondary tool allows is neither; a call of the wrong tool, or one written as text, is no
    under-calling.
    """

    keys = grouping(by)
    facts = run_facts(keys)
    rows = counted_rows(results, [*keys, *(name for name in _NEEDED if name not in keys), *facts])
    rows = rows[rows["expected_tool"].notna()]
    wants_none, silent = rows["expected_tool"] == NONE, rows["actual_tool"].fillna(NOT_KNOWN) == NONE
    failed = ~rows["passed"].fillna(True).astype("bool")
    event = failed & (wants_none & ~rows["outcome"].isin(_SILENT) | ~wants_none & silent)
    asked = rows.assign(passed=event.astype("boolean").where(rows["passed"].notna()), score=0.0)
    asked = asked.assign(what=wants_none.map({True: OVER, False: UNDER}).astype("str"))
    sums = group_sums(asked, [*keys, "what"])
    rates = with_rates(sums, [*keys, "what"]).drop(columns="mean_score")
    rates = rates.rename(columns={"passed": "count", "accuracy": "rate"})
    if "run_id" not in keys:
        return in_order(rates, [*keys, "what"])
    known: pd.DataFrame = rows.drop_duplicates("run_id")[["run_id", *facts]]
    return by_run(rates, known, [*keys, "what"])


_USED = ("run_id", "case_id", "trial", "passed", *_NEEDED)


def tools_in(tools: Sequence[str], index: Any) -> list[str]:
    """The tools, in their order, that stand in an index."""
    return [tool for tool in tools if tool in index]
