"""Two runs chosen, compared, filtered and read case by case, in one widget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from .compare_pairs import STATUSES
from .compare_tests import tags_of
from .compare_words import MEASURES
from .comparison import Comparison, compare_stored
from .comparison_html import (
    case_view,
    cases_view,
    chart_view,
    differences_view,
    tags_view,
    tools_view,
    verdict_view,
)  # fmt: skip
from .given import one_of, share
from .html import Markup, inline, page, tag
from .masking import printable
from .nearmiss import did_you_mean
from .run_picker import RunPicker
from .widget_base import LiveWidget, wide

if TYPE_CHECKING:
    import pandas as pd

PAGE = 50  # cases in the list at once
CHANGES, FLIPPED, EVERYTHING, ANY = "changes", "flipped", "everything", ""
_FINAL = "\x00final answers"
_SEARCHED = ("input", "baseline_answer", "candidate_answer", "baseline_reason", "candidate_reason")


class CompareRuns(LiveWidget):
    """Compare two runs: choose them, read the verdict, filter the cases that changed, open one.

    `baseline`, `candidate` (run ids), `comparison` (None until two different runs are chosen) and `selected_case` (a
    case id) read as plain values; all but the comparison can be set. `static()` gives what is shown as plain HTML.
    """

    def __init__(
        self,
        baseline: str | None = None,
        candidate: str | None = None,
        *,
        results_dir: str | Path | None = None,
        dataset: str | None = None,
        on: str = "score",
        worth_knowing: float = 0.10,
    ) -> None:
        super().__init__()
        self._on, self._worth_knowing = one_of("on", on, tuple(MEASURES)), share("worth_knowing", worth_knowing)
        self.comparison: Comparison | None = None
        self._cases: pd.DataFrame | None = None
        self._compared: Any = None
        self._chart = Markup("")
        self._page = 0
        self._quiet = False
        self.picker = RunPicker(baseline, candidate, results_dir=results_dir, dataset=dataset)
        self._top, self._picture, self._count, self._detail = (W.HTML() for _ in range(4))
        self.status = W.Dropdown(description="cases", options=[("all changes", CHANGES)])
        self.tool = W.Dropdown(description="tool", options=[("all tools", ANY)])
        self.tag = W.Dropdown(description="tag", options=[("all tags", ANY)])
        self.text = W.Text(description="text", placeholder="in id, input, answers, reasons")
        self.case_list = wide(W.Select, description="case", rows=10)
        self.back, self.on_ = (W.Button(description=words) for words in ("‹ previous", "next ›"))
        pages = W.HBox([self.back, self.on_, self._count])
        filters = W.Box([self.status, self.tool, self.tag, self.text], layout=W.Layout(flex_flow="row wrap"))
        self._body = W.VBox([self._top, self._picture, filters, self.case_list, pages, self._detail])
        self.children = (self.picker, self._told, self._body)
        self.picker.observe(self.guarded(self._redraw), ["pair", "refreshed"])
        for control in (self.status, self.tool, self.tag, self.text):
            control.observe(self.guarded(self._filtered), "value")
        self.case_list.observe(self.guarded(self._opened), "value")
        self.back.on_click(self.guarded(lambda: self._turn(-1)))
        self.on_.on_click(self.guarded(lambda: self._turn(1)))
        self.guarded(self._redraw)()

    @property
    def baseline(self) -> str | None:
        """The baseline's run id, or None."""
        return self.picker.baseline

    @baseline.setter
    def baseline(self, run: str | None) -> None:
        self.picker.baseline = run

    @property
    def candidate(self) -> str | None:
        """The candidate's run id, or None."""
        return self.picker.candidate

    @candidate.setter
    def candidate(self, run: str | None) -> None:
        self.picker.candidate = run

    @property
    def selected_case(self) -> str | None:
        """The id of the case that is open, or None."""
        case_id: str | None = self.case_list.value
        return case_id

    @selected_case.setter
    def selected_case(self, case_id: str) -> None:
        known = [] if self.comparison is None else self.comparison.cases["case_id"].tolist()
        if case_id not in known:
            raise KeyError(f"no case {case_id!r} in this comparison.{did_you_mean(str(case_id), known)}")
        if case_id not in self._shown_ids():
            self._reset_filters(EVERYTHING)
        self._page = self._shown_ids().index(case_id) // PAGE
        self._list(case_id)

    def static_view(self) -> Markup:
        """Verdict, differences, tables, chart, the cases that the filters leave, and the open case."""
        if self.comparison is None or self._cases is None:
            return tag("div", self.picker.static_view(), tag("p", "Nothing is compared: choose two different runs."))
        parts = [*_head(self.comparison), self._chart, tags_view(self.comparison), tag("h3", self._heading())]
        if self.selected_case is not None:
            parts += [tag("h4", "Case shown"), case_view(self.comparison.case(self.selected_case))]
        return tag("div", *parts, cases_view(self.comparison, self._cases))

    def _redraw(self) -> None:
        pair = [self.picker.runs.get(run or "") for run in self.picker.pair]
        key = [run and (run.run_id, run.description.get("counts"), run.path, run.journal) for run in pair]
        if key == self._compared:
            return
        self._compared = key
        self.tell()
        self.comparison, self._cases, self._chart = None, None, Markup("")
        self._top.value = self._picture.value = ""
        baseline, candidate = pair
        try:
            if baseline is not None and candidate is not None and baseline.run_id != candidate.run_id:
                self.comparison = compare_stored(baseline, candidate, on=self._on, worth_knowing=self._worth_knowing)
                self._top.value = str(page(*_head(self.comparison)))
        finally:
            self._body.layout.display = None if self.comparison is not None else "none"
            self._reset_filters(CHANGES)
            self._list(None)
        if self.comparison is not None:  # last, as drawing takes longer than all the rest
            self._chart = chart_view(self.comparison)
            self._picture.value = str(page(self._chart))

    def _reset_filters(self, status: str) -> None:
        """Offer what these runs have; keep a tool and a tag that both comparisons have, unless all is to be shown."""
        self._quiet = True
        try:
            cases = None if self.comparison is None else self.comparison.cases
            tools, tags = ([], []) if cases is None else _choices(cases)
            for control, every, choices in ((self.tool, "all tools", tools), (self.tag, "all tags", tags)):
                kept = control.value if control.value in [value for _, value in choices] else ANY
                control.options = [(every, ANY), *choices]
                control.value = kept if status != EVERYTHING else ANY
            if cases is not None:
                counts = cases["status"].value_counts()
                changed, flipped = len(cases) - counts.get("unchanged", 0), int(cases["flipped"].sum())
                words = [(f"{word} ({counts[word]})", word) for word in STATUSES if word in counts]
                first = [(f"all changes ({changed})", CHANGES), (f"flipped ({flipped})", FLIPPED)]
                self.status.options = [*first, *words, (f"all cases ({len(cases)})", EVERYTHING)]
            self.status.value = status
            if status == EVERYTHING:
                self.text.value = ""
        finally:
            self._quiet = False
        self._select()
        self._page = 0

    def _filtered(self) -> None:
        if not self._quiet:
            self._select()
            self._page = 0
            self._list(self.selected_case)

    def _select(self) -> None:
        if self.comparison is None:
            self._cases = None
            return
        status, found = self.status.value, self.comparison.changes
        if status not in (CHANGES, FLIPPED):
            found = self.comparison.cases if status in (EVERYTHING, "unchanged") else found
            found = found if status == EVERYTHING else found[found["status"] == status]
        elif status == FLIPPED:
            found = found[found["flipped"]]
        if self.tool.value != ANY:
            tools = found["expected_tool"]
            found = found[tools.isna() if self.tool.value == _FINAL else tools == self.tool.value]
        if self.tag.value != ANY:
            tagged = {text for text in found["tags"].dropna().unique() if self.tag.value in tags_of(text)}
            found = found[found["tags"].isin(tagged)]
        if words := self.text.value.casefold().split():
            others = [found[name] for name in _SEARCHED]
            texts = found["case_id"].str.cat(others, sep="\n", na_rep="").str.casefold()
            for word in words:
                found = found[texts.loc[found.index].str.contains(word, regex=False)]
        self._cases = found

    def _shown_ids(self) -> list[str]:
        return [] if self._cases is None else self._cases["case_id"].tolist()

    def _turn(self, by: int) -> None:
        self._page += by
        self._list(None)

    def _list(self, wanted: str | None) -> None:
        """Fill the list with the page's cases and open `wanted`, or the first one."""
        ids = self._shown_ids()
        pages = max(1, -(-len(ids) // PAGE))
        self._page = min(max(self._page, 0), pages - 1)
        here = slice(self._page * PAGE, (self._page + 1) * PAGE)
        rows = [] if self._cases is None else self._cases.iloc[here].to_dict("records")
        self._quiet = True
        try:
            self.case_list.options = [(_line(row), row["case_id"]) for row in rows]
            self.case_list.value = wanted if wanted in ids[here] else next(iter(ids[here]), None)
        finally:
            self._quiet = False
        self.back.disabled, self.on_.disabled = self._page == 0, self._page == pages - 1
        self._count.value = str(page(tag("p", f"{self._heading()}, page {self._page + 1} of {pages}")))
        self._open()

    def _heading(self) -> str:
        words = [self.status.label or "cases"]
        words += [control.label for control in (self.tool, self.tag) if control.value != ANY]
        words += [f"“{self.text.value}”"] if self.text.value.strip() else []
        return f"{', '.join(words)}: {len(self._shown_ids()):,} cases"

    def _opened(self) -> None:
        if not self._quiet:
            self._open()

    def _open(self) -> None:
        case_id = self.selected_case
        shown = case_view(self.comparison.case(case_id)) if self.comparison is not None and case_id is not None else ""
        self._detail.value = str(page(shown or tag("p", inline("No case to show."))))


def _head(comparison: Comparison) -> list[Markup]:
    tools = tools_view(comparison.tools, comparison.on)
    return [verdict_view(comparison), differences_view(comparison), tag("h3", "Per expected tool"), tools]


def _choices(cases: pd.DataFrame) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The tools and the tags that can be asked for, each as shown and as meant."""
    tools = [(printable(str(tool)), str(tool)) for tool in sorted(cases["expected_tool"].dropna().unique())]
    if cases["expected_tool"].isna().any():
        tools.append(("(final answers)", _FINAL))
    tags = sorted({tag for text in cases["tags"].dropna().unique() for tag in tags_of(text)})
    return tools, [(printable(tag), tag) for tag in tags]


def _line(row: dict[str, Any]) -> str:
    sides = [row[f"{side}_tool"] if isinstance(row[f"{side}_tool"], str) else "–" for side in ("baseline", "candidate")]
    asked = " ".join(row["input"].split())[:90] if isinstance(row["input"], str) else ""
    status = row["status"] + (" (flipped)" if row["flipped"] else "")
    return printable(f"{status} · {row['case_id']} · {sides[0][:40]} → {sides[1][:40]} · {asked}")
