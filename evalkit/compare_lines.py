"""A comparison as text for a terminal, as Markdown for a merge request, and as JSON for machines."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .compare_tests import TOO_FEW, WORSE
from .compare_words import MEASURES, p_text, rate, signed
from .masking import printable, unlinked

if TYPE_CHECKING:
    import pandas as pd

    from .comparison import Comparison

LISTED = 30  # cases shown in text
DIFF_LINES = 10  # changed lines shown of a prompt or a tool's definition
_LONGEST = 70  # characters of a text in a table
_HEADS = ("expected tool", "n", "baseline", "candidate", "difference (95 % interval)", "p (Holm)", "verdict")
_CASE_HEADS = ("case", "baseline", "candidate", "input")


def comparison_lines(comparison: Comparison, form: str = "text") -> list[str]:
    """The comparison as lines, in the form `text`, `markdown` or `json`."""
    return {"text": _text_lines, "markdown": _markdown_lines, "json": _json_lines}[form](comparison)


def gate_lines(comparison: Comparison) -> tuple[bool, list[str]]:
    """Whether a gate against `worse` fails, and what to say of it: a comparison that cannot tell is no pass."""
    if comparison.verdict == WORSE:
        return True, [f"the candidate is worse: {comparison.sentence}"]
    if comparison.verdict == TOO_FEW:
        return False, [f"not shown to be worse, but this is not a pass: {comparison.sentence}"]
    return False, []


def _text_lines(comparison: Comparison) -> list[str]:
    lines = [
        f"baseline   {comparison.baseline}", f"candidate  {comparison.candidate}", "", comparison.sentence
    ]  # fmt: skip
    lines += [f"! {warning}" for warning in comparison.warnings]
    differences = comparison.differences
    if len(differences):
        lines += ["", "What differs between the runs:"]
        lines += [line for row in differences.to_dict("records") for line in _difference(row)]
    lines += ["", f"Per expected tool ({MEASURES[comparison.on]}):"]
    lines += _aligned([_HEADS, *map(_tool_cells, comparison.tools.to_dict("records"))])
    changes = comparison.changes
    for status, cases in _by_status(changes.head(LISTED)):
        lines += ["", f"{status} ({int((changes['status'] == status).sum())}):"]
        lines += _aligned([_case_cells(row) for row in cases.to_dict("records")])
    if len(changes) > LISTED:
        lines += ["", f"{len(changes) - LISTED} more cases changed: `--format json` has them all."]
    return [printable(line) for line in lines]


def _markdown_lines(comparison: Comparison) -> list[str]:
    lines = [
        f"**{comparison.verdict}**: {_plain(comparison.sentence)}", "",
        f"Baseline {_code(comparison.baseline)}, candidate {_code(comparison.candidate)}.",
    ]  # fmt: skip
    if comparison.warnings:
        lines += ["", *(f"- {_plain(warning)}" for warning in comparison.warnings)]
    differences = comparison.differences
    if len(differences):
        rows = [
            (_code(row["what"]), _code(row["baseline"]), _code(row["candidate"]))
            for row in differences.to_dict("records")
        ]
        lines += ["", *_markdown_table(("what differs", "baseline", "candidate"), rows)]
    tools = [_tool_cells(row) for row in comparison.tools.to_dict("records")]
    lines += ["", *_markdown_table(_HEADS, [(_code(tool), *rest) for tool, *rest in tools])]
    changes = comparison.changes
    rows = [
        (row["status"] + (" (flipped)" if row["flipped"] else ""), *map(_code, _case_cells(row)))
        for row in changes.head(LISTED).to_dict("records")
    ]
    if rows:
        lines += ["", *_markdown_table(("status", *_CASE_HEADS), rows)]
    if len(changes) > LISTED:
        lines += ["", f"{len(changes) - LISTED} more cases changed."]
    return lines


def _json_lines(comparison: Comparison) -> list[str]:
    whole = {
        "baseline": comparison.baseline,
        "candidate": comparison.candidate,
        "on": comparison.on,
        "worth_knowing": comparison.worth_knowing,
        "verdict": comparison.verdict,
        "sentence": comparison.sentence,
        "warnings": list(comparison.warnings),
        "summary": _records(comparison.summary)[0],
        "tools": _records(comparison.tools),
        "tags": _records(comparison.tags),
        "differences": _records(comparison.differences),
        "changes": _records(comparison.changes),
    }
    return [json.dumps(whole, ensure_ascii=True, allow_nan=False, indent=1)]


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [
        {str(name): value.item() if hasattr(value, "item") else value for name, value in row.items()} for row in rows
    ]


def _by_status(changes: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    return [(status, changes[changes["status"] == status]) for status in changes["status"].unique()]


def _tool_cells(row: dict[str, Any]) -> tuple[str, ...]:
    difference = f"{signed(row['difference'])} ({signed(row['ci_low'])} to {signed(row['ci_high'])})"
    return (
        row["expected_tool"] if isinstance(row["expected_tool"], str) else "(final answers)",
        str(row["n"]),
        _interval(row, "baseline"),
        _interval(row, "candidate"),
        difference if row["n"] else "–",
        p_text(row["p_holm"]).removeprefix("p ").removeprefix("= "),
        row["verdict"],
    )


def _interval(row: dict[str, Any], side: str) -> str:
    value, low, high = (row[f"{side}{end}"] for end in ("", "_low", "_high"))
    return "–" if math.isnan(value) else f"{rate(value)} ({low:.2f}–{high:.2f})"


def _case_cells(row: dict[str, Any]) -> tuple[str, ...]:
    return row["case_id"], _side(row, "baseline"), _side(row, "candidate"), _cut(row["input"])


def _side(row: dict[str, Any], side: str) -> str:
    words = [row[f"{side}_{name}"] for name in ("outcome", "tool")]
    score = row[f"{side}_score"]
    shown = [] if math.isnan(score) else [f"{score:.2f}"]
    return " ".join([*shown, *(_cut(word) for word in words if isinstance(word, str))]) or "–"


def _difference(row: dict[str, Any]) -> list[str]:
    diff = row["diff"].split("\n") if isinstance(row["diff"], str) and row["diff"] else []
    more = [f"      … {len(diff) - DIFF_LINES} more lines"] if len(diff) > DIFF_LINES else []
    shown = [f"      {line}" for line in diff[:DIFF_LINES]]
    return [f"  {row['what']}: {_cut(row['baseline'])} → {_cut(row['candidate'])}", *shown, *more]


def _cut(text: Any) -> str:
    words = " ".join(text.split()) if isinstance(text, str) else ""
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    shown = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(cells[place]) for cells in shown) for place in range(len(shown[0]))] if shown else []
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in shown
    ]


def _markdown_table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    return [_markdown_row(heads), _markdown_row(("---",) * len(heads)), *map(_markdown_row, rows)]


def _markdown_row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _code(text: Any) -> str:
    """A text as Markdown code: nothing in it is markup, a mention, or mathematics; it cannot leave its cell."""
    shown = printable(_cut(text)).replace("|", "\\|")
    if not shown:
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def _plain(text: str) -> str:
    """A sentence of ours that may hold ids: with whatever Markdown reads as markup escaped."""
    return unlinked(re.sub(r"([\\`*_{}\[\]<>#$|~@&])", r"\\\1", printable(text)))
