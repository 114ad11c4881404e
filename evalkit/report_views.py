"""The parts of a review as HTML: no script, readable on paper, every case in full behind the line that names it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .case_html import case_part
from .case_view import content_of, messages_of, views_of
from .compare_words import counted, p_text, rate, signed
from .comparison_html import case_view, chart_view, differences_view
from .frame_view import FrameView
from .html import Markup, block, fold, inline, page, table, tag
from .report_data import TREND_WEEKS, Pair, WeekRuns
from .report_frames import moved_cases, run_table
from .report_notes import NOTES, REVIEWS, earlier_notes, read_notes
from .report_words import compared_to, full_sentence

if TYPE_CHECKING:
    import pandas as pd

CHARTED = 6  # comparisons that are drawn
IN_FULL = 40  # moved cases of one comparison that are shown in full
BUDGET = 1_500_000  # characters of cases shown in full, over the whole page
KINDS = 6  # ways of failing that are shown with cases
EXAMPLES = 3  # cases of each
_SHORT = 110
MARK = "data-review"  # the attribute that says of which week a part of the page is


class View:
    """A part of the page: HTML where that is shown, marked with the week that it is of; a word elsewhere."""

    def __init__(self, name: str, *content: Any, week: WeekRuns | None = None) -> None:
        self._name = name
        self._content = content
        self._mark = week.mark if week is not None else None

    def _repr_html_(self) -> str:
        return str(page(tag("div", *self._content, **{MARK: self._mark})))

    def __repr__(self) -> str:
        return f"<{self._name}>"


def opening(week: WeekRuns, headlines: Sequence[tuple[str, str]]) -> View:
    """Which week, in UTC, and the headlines."""
    span = week.span
    said = f"{span.words}. Days are those of UTC"
    said += ", weeks are ISO weeks (Monday to Sunday)." if span.is_week else "."
    items = [tag("p", tag("b", f"{word}. "), inline(text), class_="ek-verdict") for word, text in headlines]
    warned = [tag("li", inline(text)) for text in week.notes]
    more = tag("ul", *warned, class_="ek-warning") if warned else ""
    return View("headlines", tag("p", tag("b", inline(said))), *items, more, week=week)


def verdicts(week: WeekRuns) -> View:
    """Every dataset and model in a sentence, with what limits it."""
    if not week.pairs:
        return View("verdicts", _nothing("No complete run, no verdict."), week=week)
    return View("verdicts", *(_verdict(pair, week) for pair in week.pairs), week=week)


def per_tool(week: WeekRuns, tools: pd.DataFrame) -> View:
    """For each dataset and model the table of tools, and the chart of its comparison."""
    parts: list[Any] = []
    for place, pair in enumerate(week.pairs):
        rows = tools[(tools["dataset"] == pair.dataset) & (tools["model"] == pair.model)]
        parts += [tag("h3", inline(pair.name)), _tools(rows, week.span.noun)]
        if pair.comparison is not None and place < CHARTED:
            parts.append(chart_view(pair.comparison))
    if len(week.pairs) > CHARTED:
        parts.append(_nothing(f"Charts of the first {CHARTED} of {len(week.pairs)} comparisons are shown."))
    return View("per tool", *(parts or [_nothing("No complete run, no tools.")]), week=week)


def moved(week: WeekRuns) -> View:
    """The cases that regressed and improved, the worst first, each in full behind its line."""
    parts: list[Any] = []
    room = BUDGET
    for pair in week.pairs:
        cases = moved_cases(pair) if pair.comparison is not None else None
        if cases is None or pair.comparison is None or not len(cases):
            continue
        parts += [tag("h3", inline(pair.name)), differences_view(pair.comparison)]
        shown = 0
        for row in cases.head(IN_FULL).to_dict("records"):
            part = fold(_moved_line(row), case_view(pair.comparison.case(row["case_id"])))
            room -= len(part)
            if room < 0:
                break
            parts.append(part)
            shown += 1
        if shown < len(cases):
            rest = f"{len(cases) - shown:,} of {len(cases):,} are not shown here: tables/changes.csv names them all."
            parts.append(_nothing(rest))
    nothing = _nothing("No case regressed or improved, as far as runs could be compared.")
    return View("moved", *(parts or [nothing]), week=week)


def failing(week: WeekRuns, results: pd.DataFrame, kinds: pd.DataFrame) -> View:
    """The commonest ways to fail, each with a few cases in full."""
    if not len(kinds):
        return View("failures", _nothing("No trial of the newest runs failed."), week=week)
    prompts = {pair.candidate.run_id: pair.candidate.description.get("system_prompt") for pair in week.pairs}
    parts: list[Any] = []
    for row in kinds.head(KINDS).to_dict("records"):
        cases = _of_kind(results, row)
        name = str(row["outcome"]).replace("_", " ")
        name += f": {row['kinds']}" if isinstance(row["kinds"], str) else ""
        counts = f"{counted(row['trials'], 'trial')} of {counted(row['cases'], 'case')}"
        counts += f", {100 * row['share']:.0f} % of what failed"
        parts.append(tag("h3", inline(name), " ", tag("span", inline(counts), class_="ek-faint")))
        parts += [fold(_failed_line(view.row), case_part(view)) for view in views_of(cases, prompts.get, {})]
    if len(kinds) > KINDS:
        parts.append(_nothing(f"{len(kinds) - KINDS} rarer ways are in tables/failures.csv."))
    return View("failures", *parts, week=week)


def shown(frame: pd.DataFrame, otherwise: str, rows: int = 40) -> View | FrameView:
    """A frame as a table, or a sentence where it has no rows."""
    if not len(frame):
        return View("nothing", _nothing(otherwise))
    return FrameView(frame, rows)


def notes(week: WeekRuns) -> View:
    """What people wrote about this week, and under it about the last one that has notes."""
    where = f"{REVIEWS}/{week.span.name}/{NOTES}"
    text = read_notes(week.folder, week.span)
    empty = f"Nobody has written notes yet. They go into {where} of the results folder; the next review shows them."
    parts: list[Any] = [block(text, 20_000) if text else _nothing(empty)]
    earlier = earlier_notes(week.folder, week.span)
    if earlier is not None:
        parts += [tag("h3", f"From {earlier[0].name}"), block(earlier[1], 20_000)]
    return View("notes", *parts, week=week)


def rests_on(week: WeekRuns) -> View:
    """Runs, fingerprints, and files that were left out."""
    runs = run_table(week)
    newest = {pair.candidate.run_id for pair in week.pairs}
    met = {pair.baseline.run_id for pair in week.pairs if pair.baseline is not None}
    rows = [
        (
            row["run_id"], row["dataset"], _text(row["label"]), _role(row["run_id"], newest, met), row["status"],
            _fingerprints(row), _text(row["evalkit_version"]),
        )
        for row in runs.head(60).to_dict("records")
    ]  # fmt: skip
    heads = ("run", "dataset", "label", "role", "status", "fingerprints", "evalkit")
    said = (
        "Runs are named by their start (UTC). Fingerprints are equal where the same cases, tools, prompt, settings or "
        f"rules were used. The charts over time show the last {TREND_WEEKS} weeks."
    )
    more = f"{len(runs) - 60:,} older runs are in tables/runs.csv." if len(runs) > 60 else ""
    odd = [tag("li", inline(f"{one.path.name}: {one.what}")) for one in week.problems[:20]]
    parts = [tag("p", inline(said)), table(heads, rows) if rows else _nothing("No run."), _nothing(more)]
    if odd:
        parts += [tag("h3", "Files that are odd or were left out"), tag("ul", *odd, class_="ek-warning")]
    return View("data", *parts, week=week)


def _verdict(pair: Pair, week: WeekRuns) -> Markup:
    kind = "" if pair.comparison is None else pair.comparison.verdict.partition(" ")[0]
    first, colon, rest = full_sentence(pair).partition(":")
    badge = tag("span", inline(first), class_=f"ek-badge ek-{kind}" if kind in ("better", "worse") else "ek-badge")
    warned = () if pair.comparison is None else pair.comparison.warnings
    limits = tag("ul", *(tag("li", inline(text)) for text in warned), class_="ek-warning") if warned else ""
    return tag(
        "div",
        tag("h3", inline(pair.name)),
        tag("p", badge, colon, inline(rest)) if colon else tag("p", inline(first)),
        tag("p", inline(compared_to(pair, week)), class_="ek-faint"),
        limits,
    )


def _tools(rows: pd.DataFrame, noun: str) -> Markup:
    heads = (
        "expected tool", "n", "before", f"this {noun}", "difference (95 % interval)", "p (Holm)",
        "improved, regressed", "errors", "verdict",
    )  # fmt: skip
    return table(heads, _tool_rows(rows), numbers=range(1, 8))


def _tool_rows(rows: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    for row in rows.to_dict("records"):
        known = row["difference"] == row["difference"]
        interval = f"{signed(row['difference'])} ({signed(row['ci_low'])} to {signed(row['ci_high'])})"
        yield (
            row["expected_tool"], row["n"], rate(row["last_score"]), rate(row["this_score"]),
            interval if known else "–", p_text(row["p_holm"]).removeprefix("p ").removeprefix("= "),
            f"{row['improved']}, {row['regressed']}" if known else "–", row["errors"], row["verdict"],
        )  # fmt: skip


def _moved_line(row: Mapping[str, Any]) -> Markup:
    status = row["status"] + (" (flipped)" if row["flipped"] else "")
    badge = tag("span", status, class_=f"ek-badge ek-{row['status']}")
    step = f" score {row['candidate_score']:.2f}, was {row['baseline_score']:.2f}  "
    return tag("span", badge, " ", tag("b", inline(row["case_id"])), step, inline(_asked(row["input"]), _SHORT))


def _asked(input: Any) -> str:
    """The last message that was sent."""
    messages = messages_of(_text(input), None)
    return content_of(messages[-1]) if messages else ""


def _failed_line(row: Mapping[str, Any]) -> Markup:
    named = tag("b", inline(row["case_id"]))
    return tag("span", named, " ", inline(_text(row.get("model"))), "  ", inline(_text(row.get("reason")), _SHORT))


def _of_kind(results: pd.DataFrame, kind: Mapping[str, Any]) -> pd.DataFrame:
    """A few failed trials of a kind, each of another case."""
    from .wrong_trials import failures

    found = failures(results)
    same = found["outcome"] == kind["outcome"]
    same &= found["kinds"].isna() if not isinstance(kind["kinds"], str) else found["kinds"] == kind["kinds"]
    key = ["run_id", "case_id", "trial"]
    chosen = found.loc[same, key].drop_duplicates("case_id").head(EXAMPLES)
    return results.merge(chosen, on=key)


def _nothing(text: str) -> Markup:
    return tag("p", inline(text), class_="ek-faint")


def _role(run_id: str, newest: set[str], met: set[str]) -> str:
    roles = ["newest" if run_id in newest else "", "compared with" if run_id in met else ""]
    return " and ".join(filter(None, roles))


def _fingerprints(row: Mapping[str, Any]) -> str:
    """What was asked, by which tools, prompt, settings and rules: short enough to be compared by eye."""
    names = {"dataset": "cases", "tools": "tools", "prompt": "prompt", "settings": "settings", "scoring": "scoring"}
    held = {said: row[f"{name}_hash"] for name, said in names.items()}
    return ", ".join(f"{said} {value[:6]}" for said, value in held.items() if isinstance(value, str))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
