"""The trials of a results frame one by one: filtered, read, and judged by a person, in one widget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as W

from .annotations import annotate, load_annotations, reviewers_of
from .case_html import case_part, cases_part
from .case_view import CaseView, read_list, views_of
from .errors import SettingsError
from .html import Markup, page, tag
from .masking import printable
from .nearmiss import did_you_mean
from .paths import results_dir as find_results_dir
from .run_differences import stored_by_id
from .schema import conform
from .widget_base import LiveWidget

if TYPE_CHECKING:
    import pandas as pd

ALL = "(all)"
WHOLE = "the whole answer"
NOT_PASSED = "(not passed)"
FINAL_ANSWER = "(final answer)"
SEARCHED = ("case_id", "input", "answer", "reason")
NO_TRIAL = "No trial passes these filters."
_KEY = ["run_id", "case_id", "trial"]


class CaseBrowser(LiveWidget):
    """Read the trials of `results` one by one: what was asked, expected and sent, and why it scored so.

    `tool`, `tag`, `outcome` and `text` (words to be found in case id, input, answer or reason) are the filters,
    `position` is the place, from 0, of the trial on view among those that pass them; all read as plain values and can
    be set. `shown` is the frame of the trials that pass, `row` the row on view (None where there is none). At first the
    trials are shown that did not pass. `static()` gives what is shown as plain HTML.

    A person's verdict and note, on the whole answer or on what one of its reviewers judges, are written as
    `ek.annotate` writes them. `results_dir` is where the annotations are
    and where the system prompts of the runs are read.
    """

    def __init__(self, results: pd.DataFrame, *, results_dir: str | Path | None = None) -> None:
        super().__init__()
        self._results = conform(results)
        self._results_dir = find_results_dir(results_dir)
        self._prompts: dict[str, str | None] = {}
        self._said: dict[Any, list[dict[str, Any]]] = {}
        self._shown, self._position = self._results, 0
        self._tools = self._results["expected_tool"].fillna(FINAL_ANSWER)
        self._tags = [[str(tag) for tag in read_list(text)] for text in self._results["tags"]]
        self._passed = self._results["passed"].fillna(False).astype("bool")
        self._make_filters()
        self._make_moves()
        self._make_verdict()
        self._detail = W.HTML()
        self.children = (self._told, self._filters, self._moves, self._detail, self._verdict)
        self.guarded(self._read_annotations)()
        self._refresh()

    @property
    def tool(self) -> str:
        """The expected tool whose cases are shown, `(final answer)` or `(all)`."""
        return str(self._tool.value)

    @tool.setter
    def tool(self, name: str) -> None:
        _choose(self._tool, name)

    @property
    def tag(self) -> str:
        """The tag whose cases are shown, or `(all)`."""
        return str(self._tag.value)

    @tag.setter
    def tag(self, name: str) -> None:
        _choose(self._tag, name)

    @property
    def outcome(self) -> str:
        """The outcome that is shown, `(not passed)` or `(all)`."""
        return str(self._outcome.value)

    @outcome.setter
    def outcome(self, name: str) -> None:
        _choose(self._outcome, name)

    @property
    def text(self) -> str:
        """The words that are looked for."""
        return str(self._text.value)

    @text.setter
    def text(self, words: str) -> None:
        self._text.value = words

    @property
    def shown(self) -> pd.DataFrame:
        """The trials that pass the filters: a results frame."""
        return self._shown.copy()

    @property
    def position(self) -> int:
        """The place of the trial on view among those shown, from 0."""
        return self._position

    @position.setter
    def position(self, place: int) -> None:
        last = max(0, len(self._shown) - 1)
        if not 0 <= place <= last:
            raise SettingsError(f"position must be from 0 to {last}, got {place!r}")
        self._position = place
        self._show()

    @property
    def row(self) -> pd.Series[Any] | None:
        """The row of the trial on view; None where no trial passes the filters."""
        return self._shown.iloc[self._position].copy() if len(self._shown) else None

    def static_view(self) -> Markup:
        """The trials that pass the filters, the first of them in full, beginning with the one on view."""
        from_here = self._shown.iloc[self._position :]
        return cases_part(self._views(from_here), len(self._shown), self._position, self._words())

    def _make_filters(self) -> None:
        counts = Counter(self._results["outcome"].dropna())
        failed = int((~self._passed).sum())
        self._tool = _dropdown("tool", Counter(self._tools))
        self._tag = _dropdown("tag", Counter(tag for tags in self._tags for tag in dict.fromkeys(tags)))
        self._outcome = _dropdown("outcome", counts, {NOT_PASSED: failed})
        self._outcome.value = NOT_PASSED if failed else ALL
        self._text = W.Text(description="text", placeholder="in id, input, answer, reason", **_narrow())
        controls = [self._tool, self._tag, self._outcome, self._text]
        for control in controls:
            control.observe(self.guarded(self._refresh), "value")
        self._filters = W.Box(controls, layout=W.Layout(flex_flow="row wrap"))

    def _make_moves(self) -> None:
        self._back, self._on = (W.Button(description=words) for words in ("‹ previous", "next ›"))
        self._place = W.Label()
        self._back.on_click(self.guarded(lambda: self._move(-1)))
        self._on.on_click(self.guarded(lambda: self._move(1)))
        self._moves = W.HBox([self._back, self._on, self._place])

    def _make_verdict(self) -> None:
        self._author = W.Text(description="author", placeholder="your name", **_narrow())
        self._note = W.Text(description="note", placeholder="why", layout=W.Layout(width="28em"))
        self._pass, self._fail = (W.Button(description=words) for words in ("✓ I pass it", "✗ I fail it"))
        self._pass.on_click(self.guarded(lambda: self._annotate(True)))
        self._fail.on_click(self.guarded(lambda: self._annotate(False)))
        self._question = W.Dropdown(description="judge", options=[(WHOLE, None)], **_narrow())
        controls = [self._author, self._question, self._note, self._pass, self._fail]
        self._verdict = W.Box(controls, layout=W.Layout(flex_flow="row wrap"))

    def _refresh(self) -> None:
        self.tell()
        self._shown = self._results[self._passing()].reset_index(drop=True)
        self._position = 0
        self._show()

    def _passing(self) -> pd.Series[bool]:
        import pandas as pd

        keep = pd.Series(True, index=self._results.index)
        if self.tool != ALL:
            keep &= self._tools == self.tool
        if self.tag != ALL:
            keep &= pd.Series([self.tag in tags for tags in self._tags], index=keep.index, dtype="bool")
        if self.outcome == NOT_PASSED:
            keep &= ~self._passed
        elif self.outcome != ALL:
            keep &= self._results["outcome"] == self.outcome
        if words := self.text.casefold().split():
            texts = self._results[list(SEARCHED)].fillna("").agg("\n".join, axis=1).str.casefold()
            for word in words:
                keep &= texts.str.contains(word, regex=False)
        return keep

    def _move(self, steps: int) -> None:
        self.tell()
        if 0 <= self._position + steps < len(self._shown):
            self.position = self._position + steps

    def _show(self) -> None:
        count = len(self._shown)
        self._place.value = f"{self._position + 1:,} of {count:,}" if count else NO_TRIAL
        self._back.disabled, self._on.disabled = self._position == 0, self._position + 1 >= count
        self._pass.disabled = self._fail.disabled = not count
        row, kept = self.row, self._question.value
        asked = [] if row is None else reviewers_of(row["reviews"])
        self._question.options = [(WHOLE, None), *((f"what {printable(name)} judges", name) for name in asked)]
        self._question.value = kept if kept in asked else None
        views = list(self._views(self._shown.iloc[self._position : self._position + 1]))
        self._detail.value = str(page(case_part(views[0]) if views else tag("p", NO_TRIAL)))

    def _views(self, rows: pd.DataFrame) -> Iterable[CaseView]:
        return views_of(rows, self._prompt, self._said)

    def _prompt(self, run_id: str) -> str | None:
        """The system prompt of a run whose file is there."""
        if run_id not in self._prompts:
            run = stored_by_id(run_id, self._results_dir)
            self._prompts[run_id] = None if run is None else run.description.get("system_prompt")
        return self._prompts[run_id]

    def _words(self) -> str:
        """The filters in words."""
        chosen = {"expected tool": self.tool, "tag": self.tag, "outcome": self.outcome, "text": self.text or ALL}
        return ", ".join(f"{name} {value}" for name, value in chosen.items() if value != ALL)

    def _annotate(self, passed: bool) -> None:
        row = self.row
        if row is None:
            return
        author, note = self._author.value.strip() or None, self._note.value.strip() or None
        key = (row["run_id"], row["case_id"], int(row["trial"]))
        said = {"passed": passed, "note": note, "author": author, "reviewer": self._question.value}
        path = annotate(*key, **said, results_dir=self._results_dir)
        self._note.value = ""
        self._read_annotations()
        self._show()
        self.tell(f"Written to {path.name}.", kind="ek-faint")

    def _read_annotations(self) -> None:
        found = load_annotations(self._results, results_dir=self._results_dir)
        self._said = {key: group.to_dict("records") for key, group in found.groupby(_KEY, sort=False)}


def _dropdown(name: str, counts: Counter[str], first: dict[str, int] | None = None) -> W.Dropdown:
    """All values that occur with how often they do, the most frequent first."""
    listed = [*(first or {}).items(), *sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    options = [(ALL, ALL), *((f"{printable(value)} · {count:,}", value) for value, count in listed)]
    return W.Dropdown(description=name, options=options, value=ALL, **_narrow())


def _narrow() -> dict[str, Any]:
    """So wide that the four filters stand in one row on a laptop."""
    return {"layout": W.Layout(width="19.5em"), "style": {"description_width": "4.5em"}}


def _choose(dropdown: W.Dropdown, wanted: str) -> None:
    allowed = [value for _, value in dropdown.options]
    if wanted not in allowed:
        listed = ", ".join(map(repr, allowed[:8])) + (" …" if len(allowed) > 8 else "")
        near = did_you_mean(str(wanted), allowed) or f" There are {listed}."
        raise SettingsError(f"no trial here has the {dropdown.description} {wanted!r}.{near}")
    dropdown.value = wanted
