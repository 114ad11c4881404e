"""One trial of one case as HTML, and many of them as lines that open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .case_comparison import ALLOWED, UNCHECKED, ArgumentRow
from .case_view import CaseView, content_of, text_of
from .html import Markup, block, fold, inline, table, tag

IN_FULL = 20  # cases shown on a page that a reader cannot leaf through
BUDGET = 2_000_000  # characters of HTML on such a page
_SHORT = 110  # characters of an input in a line
_LONG = 600  # characters of a value in a table
_BADGES = {"passed": "ek-badge ek-better", "failed": "ek-badge ek-worse", "error": "ek-badge"}


def cases_part(views: Iterable[CaseView], total: int, position: int, filters: str) -> Markup:
    """So many cases of `total`, from `position` on, each behind a line that opens it, the first one open."""
    parts: list[Markup] = []
    spent = 0
    for view in views:
        if len(parts) == IN_FULL:
            break
        part = fold(_line(view), case_part(view), open=not parts)
        spent += len(part)
        if parts and spent > BUDGET:
            break
        parts.append(part)
    said = f"{total:,} {'trial' if total == 1 else 'trials'}" + (f": {filters}" if filters else "")
    if len(parts) < total:
        said += f". Here {position + 1:,} to {position + len(parts):,}"
    return tag("div", tag("p", inline(said), class_="ek-faint"), *parts)


def case_part(view: CaseView) -> Markup:
    """What was asked, expected and sent, why it scored so, and what reviewers and people said."""
    return tag(
        "div",
        _heading(view),
        _messages(view),
        _sides(view),
        _calls(view),
        _answer(view),
        _reviews(view),
        _annotations(view),
        _facts(view),
    )


def _line(view: CaseView) -> Markup:
    return tag("span", _badge(view), " ", inline(view.row["case_id"]), " ", inline(_asked(view), _SHORT))


def _asked(view: CaseView) -> str:
    return content_of(view.messages[-1]) if view.messages else ""


def _badge(view: CaseView) -> Markup:
    return tag("span", view.verdict, class_=_BADGES[view.verdict])


def _heading(view: CaseView) -> Markup:
    row = view.row
    score = row.get("score")
    facts = [text_of(row.get("outcome")), f"score {score:.2f}" if score is not None else "", f"trial {row['trial']}"]
    facts += view.tags
    said = tag("p", _badge(view), " ", tag("b", inline(row["case_id"])), "  ", inline(" · ".join(filter(None, facts))))
    return tag("div", said, block(text_of(row.get("reason"))))


def _messages(view: CaseView) -> Markup:
    """What was sent; of a dialogue every message, a system prompt behind a line that opens it."""
    rows = []
    for message in view.messages:
        said = content_of(message)
        shown = fold(f"{len(said):,} characters", block(said)) if _is_prompt(message) else block(said)
        rows.append((text_of(message.get("role")), shown))
    return tag("div", tag("h4", "Messages sent"), table(("from", "message"), rows)) if rows else Markup("")


def _is_prompt(message: Mapping[str, Any]) -> bool:
    return message.get("role") in ("system", "developer")


def _sides(view: CaseView) -> Markup:
    """Expected and actual side by side: the tool (or the answer), then every argument."""
    what = "answer" if view.is_answer else "tool"
    rows: list[tuple[Any, ...]] = [
        (tag("b", what), block(view.expected, _LONG), block(view.actual, _LONG), _choice(view))
    ]
    rows += [
        (
            one.path or "(arguments)",
            _value(one.expected, "nothing"),
            _value(one.candidate, "not sent"),
            _kind(view, one),
        )
        for one in view.arguments
    ]
    return tag("div", tag("h4", "Expected and actual"), table(("", "expected", "actual", ""), rows))


def _choice(view: CaseView) -> Markup:
    right = view.row.get("tool_passed")
    if view.is_answer or right is None:
        return Markup("")
    return tag("span", "right" if right else "wrong", class_="ek-faint" if right else "ek-badge ek-worse")


def _value(text: str | None, missing: str) -> Markup:
    return tag("span", missing, class_="ek-faint") if text is None else block(text, _LONG)


def _kind(view: CaseView, one: ArgumentRow) -> Markup:
    if not one.candidate_kind or one.candidate_kind == UNCHECKED:
        compared = view.row.get("arguments_passed") is not None
        return tag("span", one.candidate_kind or ("right" if compared else "not compared"), class_="ek-faint")
    wrong = not one.candidate_kind.endswith(ALLOWED)
    return tag("span", inline(one.candidate_kind), class_="ek-badge ek-worse" if wrong else "ek-faint")


def _calls(view: CaseView) -> Markup:
    """All calls, where there are several or the one that counts could not be read."""
    if len(view.calls) < 2 and view.row.get("outcome") not in ("unparsable", "unusable_call", "unknown_tool"):
        return Markup("")
    items = [tag("li", block(call, _LONG)) for call in view.calls]
    return tag("div", tag("h4", "Calls as they came"), tag("ol", *items)) if items else Markup("")


def _answer(view: CaseView) -> Markup:
    """What was said beside a call, and why a request failed; a final answer stands beside the expected one."""
    answer, error = text_of(view.row.get("answer")), text_of(view.row.get("error"))
    parts = [tag("h4", "Answer"), block(answer)] if answer.strip() and not view.is_answer else []
    parts += [tag("h4", "Error"), block(error)] if error else []
    return tag("div", *parts) if parts else Markup("")


def _reviews(view: CaseView) -> Markup:
    rows = [
        (
            text_of(one.get("reviewer")),
            text_of(one.get("judge_model")),
            _word(one.get("passed")),
            text_of(one.get("choice")),
            block(text_of(one.get("reason")), _LONG),
        )
        for one in view.reviews
    ]
    heads = ("reviewer", "judge", "verdict", "choice", "reason")
    return tag("div", tag("h4", "Reviews"), table(heads, rows)) if rows else Markup("")


def _annotations(view: CaseView) -> Markup:
    rows = [
        (
            text_of(one.get("author")), text_of(one.get("reviewer")) or "the whole answer", _word(one.get("passed")),
            block(text_of(one.get("note")), _LONG),
        )
        for one in view.annotations
    ]  # fmt: skip
    heads = ("author", "judges", "verdict", "note")
    return tag("div", tag("h4", "What people said"), table(heads, rows)) if rows else Markup("")


def _word(passed: Any) -> str:
    return ("passed" if passed else "failed") if isinstance(passed, bool) else "no verdict"


def _facts(view: CaseView) -> Markup:
    row = view.row
    latency, tokens = row.get("latency_s"), (row.get("input_tokens"), row.get("output_tokens"))
    facts = [
        f"{latency:.2f} s" if latency is not None else "",
        f"{tokens[0]} tokens in, {tokens[1]} out" if None not in tokens else "",
        f"{row['attempts']} attempts" if (row.get("attempts") or 0) > 1 else "",
        f"finish reason {row['finish_reason']}" if row.get("finish_reason") else "",
        f"run {row['run_id']}",
    ]
    return tag("p", inline(" · ".join(filter(None, facts))), class_="ek-faint")
