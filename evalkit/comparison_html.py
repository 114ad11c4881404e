"""A comparison as HTML, view by view: verdict, what differs, per tool, chart, changed cases, one case."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .compare_words import MEASURES, p_text, rate, signed
from .html import Markup, block, diff, fold, image, inline, lines, page, table, tag

if TYPE_CHECKING:
    import pandas as pd

    from .case_comparison import ArgumentRow, CaseComparison
    from .comparison import Comparison

DETAILED = 20  # changed cases shown in full on a page
LISTED = 200  # changed cases listed on a page
BUDGET = 4_000_000  # characters of text in the details of one page
_SHORT = 110  # characters of an input in a list


def comparison_page(comparison: Comparison) -> Markup:
    """The whole comparison on one page: what `Comparison` shows of itself in a notebook."""
    return page(
        verdict_view(comparison),
        differences_view(comparison),
        tag("h3", "Per expected tool"),
        tools_view(comparison.tools, comparison.on),
        chart_view(comparison),
        tags_view(comparison),
        tag("h3", "Changed cases"),
        cases_view(comparison, comparison.changes),
    )


def case_page(case: CaseComparison) -> Markup:
    """One case on a page of its own: what `CaseComparison` shows of itself in a notebook."""
    return page(case_view(case))


def verdict_view(comparison: Comparison) -> Markup:
    """Which runs, the verdict in words, and what limits it."""
    kind = comparison.verdict.partition(" ")[0]
    opening, colon, rest = comparison.sentence.partition(":")
    badge = tag("span", opening, class_=f"ek-badge ek-{kind}")
    runs = table(
        ("", "run", "dataset", "model", "label"),
        [(side, *_run(about.run_id, about.description)) for side, about in _abouts(comparison)],
    )
    said = tag("p", badge, colon, inline(rest), class_="ek-verdict")
    warned = [tag("li", inline(text)) for text in comparison.warnings]
    warnings = tag("ul", *warned, class_="ek-warning") if warned else Markup("")
    return tag("div", said, warnings, runs)


def differences_view(comparison: Comparison) -> Markup:
    """In what the runs themselves differ, diffs folded."""
    found = comparison.differences
    if not len(found):
        return tag("p", "The runs do not differ in model, settings, prompt, tools, cases or rules, as far as is known.")
    rows = [
        (row["what"], block(row["baseline"], 400), block(row["candidate"], 400), _changed_lines(row["diff"]))
        for row in found.to_dict("records")
    ]
    few = len(rows) <= 6
    said = f"What differs between the runs ({len(rows)})"
    return fold(tag("b", said), table(("what", "baseline", "candidate", "changed lines"), rows), open=few)


def tools_view(tools: pd.DataFrame, on: str, name: str = "expected_tool") -> Markup:
    """One row per tool (or tag) with both rates, their intervals, the difference, and its verdict."""
    measure = MEASURES[on]
    heads = (
        name.replace("_", " "), "n", f"baseline {measure}", f"candidate {measure}", "difference (95 % interval)",
        "p (Holm)", "improved, regressed", "errors", "verdict",
    )  # fmt: skip
    rows = [
        (
            row[name] if isinstance(row[name], str) else tag("i", "final answers"),
            row["n"],
            _with_interval(row["baseline"], row["baseline_low"], row["baseline_high"]),
            _with_interval(row["candidate"], row["candidate_low"], row["candidate_high"]),
            f"{signed(row['difference'])} ({signed(row['ci_low'])} to {signed(row['ci_high'])})" if row["n"] else "–",
            p_text(row["p_holm"]).removeprefix("p ").removeprefix("= "),
            f"{row['improved']:,}, {row['regressed']:,}",
            row["errors"],
            _verdict(row["verdict"]),
        )
        for row in tools.to_dict("records")
    ]
    return table(heads, rows, numbers=range(1, 8))


def chart_view(comparison: Comparison) -> Markup:
    """The chart as a picture in the page."""
    from matplotlib.figure import Figure

    from .plot_comparison import WIDTH, height, row_count
    from .plot_comparison import comparison as draw

    tall = height(row_count(comparison))
    figure = Figure(figsize=(WIDTH, tall))
    ax = draw(comparison, figure.subplots())
    letters = max((len(text.get_text()) for text in ax.get_yticklabels()), default=0)
    left = min(0.5, (0.3 + 0.085 * letters) / WIDTH)  # measuring the letters would draw everything twice
    figure.subplots_adjust(left=left, right=0.78, top=1 - 0.35 / tall, bottom=0.75 / tall)
    return tag("div", image(figure, f"Both runs per expected tool. {comparison.sentence}"))


def cases_view(comparison: Comparison, cases: pd.DataFrame) -> Markup:
    """Some of the comparison's cases as a list, the first of them in full, folded."""
    if not len(cases):
        return tag("p", "No such case.")
    parts = [case_list(cases.head(LISTED))]
    if len(cases) > LISTED:
        parts.append(tag("p", f"{len(cases) - LISTED:,} more are in comparison.cases.", class_="ek-faint"))
    spent = 0
    for place, case_id in enumerate(cases["case_id"]):
        case = comparison.case(case_id)
        spent += _size(case)
        if place >= DETAILED or (spent > BUDGET and place):
            rest = f"{len(cases) - place:,} more in full: comparison.case(case_id)"
            parts.append(tag("p", rest, class_="ek-faint"))
            break
        parts.append(fold(_summary(case.row), case_view(case)))
    return tag("div", *parts)


def case_list(cases: pd.DataFrame) -> Markup:
    """One line per case: what became of it, both outcomes and tools, the beginning of its input."""
    rows = [
        (
            _status(row), row["case_id"], _side(row, "baseline"), _side(row, "candidate"),
            signed(row["difference"]), _text(row["expected_tool"]), inline(_text(row["input"]), _SHORT),
        )
        for row in cases.to_dict("records")
    ]  # fmt: skip
    return table(
        ("status", "case", "baseline", "candidate", "difference", "expected tool", "input"), rows, numbers=(4,)
    )


def case_view(case: CaseComparison) -> Markup:
    """One case in full: what was asked, and both sides' calls, arguments, answers, reasons and reviews."""
    row = case.row
    sides = ("baseline", "candidate")
    facts = [
        ("", *sides),
        ("score", *(_score(row, side) for side in sides)),
        ("outcome", *(_text(row[f"{side}_outcome"]) for side in sides)),
        ("tool", *(_text(row[f"{side}_tool"]) for side in sides)),
        ("reason", *(block(_text(row[f"{side}_reason"])) for side in sides)),
        ("error", *(block(_text(row[f"{side}_error"])) for side in sides)),
    ]
    told = [fact for fact in facts[1:] if fact[0] != "error" or any(_text(row[f"{side}_error"]) for side in sides)]
    expected = ", ".join(filter(None, (_text(row["expected_tool"]), _secondary(row))))
    parts = [
        tag("p", _status(row), " ", tag("b", inline(case.case_id))),
        tag("div", tag("span", "Input ", class_="ek-faint"), block(_text(row["input"]))),
        tag("p", tag("span", "Expected tool ", class_="ek-faint"), inline(expected)) if expected else "",
        table(facts[0], told),
    ]
    if _text(row["expected"]):
        parts.append(tag("div", tag("span", "Expected answer ", class_="ek-faint"), block(row["expected"])))
    if case.content:
        parts += [tag("h4", "The case itself changed"), table(("", "change"), [(n, diff(d)) for n, d in case.content])]
    if case.arguments:
        heads = ("argument", "expected", "baseline", "", "candidate", "")
        parts += [tag("h4", "Arguments"), table(heads, [_argument(one) for one in case.arguments])]
    if case.answer:
        parts += [tag("h4", "Answer: ", tag("del", "baseline"), " ", tag("ins", "candidate")), diff(case.answer)]
    if case.reviews:
        said = [(one.reviewer, _review(one.baseline), _review(one.candidate)) for one in case.reviews]
        parts += [tag("h4", "Reviews"), table(("reviewer", *sides), said)]
    return tag("div", *parts)


def tags_view(comparison: Comparison) -> Markup:
    """One row per tag, folded; nothing without tags."""
    if not len(comparison.tags):
        return Markup("")
    return fold(tag("b", f"Per tag ({len(comparison.tags)})"), tools_view(comparison.tags, comparison.on, "tag"))


def _abouts(comparison: Comparison) -> list[tuple[str, Any]]:
    return list(zip(("baseline", "candidate"), comparison._abouts, strict=True))


def _run(run_id: str, about: Mapping[str, Any]) -> tuple[str, ...]:
    return run_id, *(_text(about.get(name)) for name in ("dataset", "model", "label"))


def _changed_lines(text: Any) -> Markup:
    if not isinstance(text, str) or not text:
        return Markup("")
    count = text.count("\n") + 1
    return lines(text) if count <= 12 else fold(f"{count} lines", lines(text))


def _with_interval(value: float, low: float, high: float) -> str:
    return "–" if math.isnan(value) else f"{rate(value)} ({low:.2f}–{high:.2f})"


def _verdict(verdict: str) -> Markup:
    kind = verdict.partition(" ")[0]
    return tag("span", verdict, class_=f"ek-badge ek-{kind}" if kind in ("better", "worse") else "ek-faint")


def _status(row: Mapping[str, Any]) -> Markup:
    kind = row["status"] if row["status"] in ("improved", "regressed") else "other"
    flipped = " (flipped)" if row["flipped"] else ""
    return tag("span", row["status"] + flipped, class_=f"ek-badge ek-{kind}")


def _summary(row: Mapping[str, Any]) -> Markup:
    return tag("span", _status(row), " ", inline(row["case_id"]), " ", inline(_text(row["input"]), _SHORT))


def _side(row: Mapping[str, Any], side: str) -> str:
    words = [_text(row[f"{side}_outcome"]), _text(row[f"{side}_tool"])]
    return f"{_score(row, side)} · " + " · ".join(filter(None, words)) if any(words) else _score(row, side)


def _score(row: Mapping[str, Any], side: str) -> str:
    import pandas as pd

    score, trials, errors = row[f"{side}_score"], row[f"{side}_trials"], row[f"{side}_errors"]
    if pd.isna(trials):
        return "not in the run"
    said = "error" if math.isnan(score) else f"{score:.2f}"
    counts = [f"{trials} trials"] if trials > 1 else []
    counts += [f"{errors} errors"] if errors and trials else []
    return f"{said} ({', '.join(counts)})" if counts else said


def _secondary(row: Mapping[str, Any]) -> str:
    held = _text(row["secondary_tools"])
    return f"or {held}" if held not in ("", "[]") else ""


def _argument(one: ArgumentRow) -> tuple[Any, ...]:
    cells: list[Any] = [one.path or "(all)", block(_text(one.expected), 400)]
    for value, kind in ((one.baseline, one.baseline_kind), (one.candidate, one.candidate_kind)):
        wrong = one.is_wrong(kind)
        shown = tag("span", "not sent", class_="ek-faint") if value is None else block(value, 400)
        cells += [shown, tag("span", inline(kind), class_="ek-badge ek-regressed" if wrong else "ek-faint")]
    return tuple(cells)


def _review(said: tuple[bool | None, float | None, str] | None) -> Markup:
    if said is None:
        return tag("span", "not asked", class_="ek-faint")
    passed, score, reason = said
    word = "could not judge" if passed is None else "passed" if passed else "failed"
    number = f" {score:.2f}" if isinstance(score, int | float) else ""
    return tag("div", tag("b", word + number), block(reason))


def _size(case: CaseComparison) -> int:
    texts = [len(piece.text) for piece in case.answer]
    texts += [len(_text(case.row[name])) for name in ("input", "expected", "baseline_reason", "candidate_reason")]
    texts += [len(value or "") for one in case.arguments for value in (one.expected, one.baseline, one.candidate)]
    texts += [len(side[2]) for one in case.reviews for side in (one.baseline, one.candidate) if side]
    return 2 * sum(texts)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
