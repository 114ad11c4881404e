"""Which two runs to compare: a widget that keeps its choice by run id, whatever happens to the list of runs."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import ipywidgets as W
import traitlets

from .errors import SettingsError
from .html import Markup, table, tag
from .lines import number
from .masking import printable
from .nearmiss import did_you_mean
from .paths import results_dir as find_results_dir
from .runs import HistoryWarning, StoredRun, newest_scorings, stored_runs
from .widget_base import LiveWidget, wide

SIDES = ("baseline", "candidate")
NOTHING = ""
Pair = tuple[str | None, str | None]


class RunPicker(LiveWidget):
    """Choose a baseline and a candidate among the runs of a results folder, newest first.

    `baseline` and `candidate` are run ids, or None; they can be set too. At first they are the newest two runs of one
    dataset. Typing in a search field leaves only the runs that hold all the words; it never changes the choice.
    `pair` is both ids, for observers: it changes once per choice, swap or refresh. `refresh()` reads the folder again.
    """

    pair = traitlets.Tuple((None, None))
    refreshed = traitlets.Int(0)

    def __init__(
        self,
        baseline: str | None = None,
        candidate: str | None = None,
        *,
        results_dir: str | Path | None = None,
        dataset: str | None = None,
    ) -> None:
        super().__init__()
        self._folder = find_results_dir(results_dir)
        if dataset is not None and not isinstance(dataset, str):
            raise SettingsError(f"dataset must be a name or None, got {dataset!r:.80}")
        self._dataset = dataset
        self._quiet = False
        self._left_out = ""
        self.runs: dict[str, StoredRun] = {}
        self._search = {side: wide(W.Text, placeholder=f"search the {side}: words of id, label, …") for side in SIDES}
        self._choice = {side: wide(W.Dropdown, description=side) for side in SIDES}
        self.swap_button = W.Button(description="⇄ swap", tooltip="Exchange baseline and candidate")
        self.refresh_button = W.Button(description="refresh", tooltip="Read the results folder again")
        self._read()
        first = _first_pair(list(self.runs.values()))
        wanted = [self._found(run) for run in (baseline, candidate)]
        self._choose((wanted[0] or first[0], wanted[1] or first[1]))
        for side in SIDES:
            self._search[side].observe(self.guarded(self._fill), "value")
            self._choice[side].observe(self.guarded(self._chosen), "value")
        self.swap_button.on_click(self.guarded(self.swap))
        self.refresh_button.on_click(self.guarded(self.refresh))
        controls = [control for side in SIDES for control in (self._search[side], self._choice[side])]
        self.children = (*controls, W.HBox([self.swap_button, self.refresh_button]), self._told)

    @property
    def baseline(self) -> str | None:
        """The id of the run on the baseline's side, or None."""
        return self._choice["baseline"].value or None

    @baseline.setter
    def baseline(self, run: str | None) -> None:
        self._choose((self._found(run), self.candidate))

    @property
    def candidate(self) -> str | None:
        """The id of the run on the candidate's side, or None."""
        return self._choice["candidate"].value or None

    @candidate.setter
    def candidate(self, run: str | None) -> None:
        self._choose((self.baseline, self._found(run)))

    def choose(self, baseline: str | None, candidate: str | None) -> None:
        """Set both sides at once."""
        self._choose((self._found(baseline), self._found(candidate)))

    def swap(self) -> None:
        """Exchange the two sides."""
        self._choose((self.candidate, self.baseline))

    def refresh(self) -> None:
        """Read the folder again. The choice stays what it is; a run that is gone is said to be."""
        chosen = (self.baseline, self.candidate)
        self._read()
        if chosen == (None, None):
            self._choose(_first_pair(list(self.runs.values())))
        else:
            gone = [run for run in dict.fromkeys(chosen) if run and run not in self.runs]
            kept = [run if run in self.runs else None for run in chosen]
            self._choose((kept[0], kept[1]), gone)
        self.refreshed += 1

    def static_view(self) -> Markup:
        """Both runs, as a table."""
        rows = [(side, run or "no run chosen") for side, run in zip(SIDES, self.pair, strict=True)]
        return tag("div", table(("", "run"), rows))

    def _read(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", HistoryWarning)
            runs = stored_runs(self._folder)
        self._left_out = next((str(one.message) for one in caught if issubclass(one.category, HistoryWarning)), "")
        named = (run for run in runs if self._dataset in (None, run.description.get("dataset")))
        self.runs = {run.run_id: run for run in named}
        self._labels = {run_id: _label(run) for run_id, run in self.runs.items()}

    def _found(self, run: str | None) -> str | None:
        if run is not None and not isinstance(run, str):
            raise SettingsError(f"a run's id is text, got {run!r:.80}")
        if not run or run in self.runs:
            return run or None
        beginning = [run_id for run_id in self.runs if run_id.startswith(run)]
        if len(beginning) == 1:
            return beginning[0]
        said = f"no run {run!r} in {self._folder.name}/" if not beginning else f"{run!r} begins {len(beginning)} runs"
        raise SettingsError(f"{said}.{did_you_mean(run, self.runs)} `picker.refresh()` reads the folder again.")

    def _choose(self, chosen: Pair, gone: list[str] | None = None) -> None:
        self._fill(chosen)
        self._publish(gone or [])

    def _chosen(self) -> None:
        if not self._quiet:
            self._publish([])

    def _fill(self, chosen: Pair | None = None) -> None:
        """Offer the runs that the searches leave, the chosen ones always; change no choice, and tell nobody."""
        self._quiet = True
        try:
            for side, run in zip(SIDES, chosen or (self.baseline, self.candidate), strict=True):
                words = self._search[side].value.casefold().split()
                left = [one for one, text in self._labels.items() if all(word in text.casefold() for word in words)]
                if run and run not in left:
                    left.insert(0, run)
                options = [(f"choose a run ({len(left)})", NOTHING), *((self._labels[one], one) for one in left)]
                choice = self._choice[side]
                with choice.hold_sync():
                    choice.options = options
                    choice.value = run or NOTHING
        finally:
            self._quiet = False

    def _publish(self, gone: list[str]) -> None:
        self.tell(*(f"Run {run!r} is gone from {self._folder.name}/. Choose another." for run in gone), *self._advice())
        self.pair = (self.baseline, self.candidate)

    def _advice(self) -> list[str]:
        said = [self._left_out]
        if not self.runs:
            said.append(f"No runs in {self._folder.name}/ yet: `evalkit run` makes one.")
        elif len(self.runs) == 1:
            said.append(f"There is only one run in {self._folder.name}/: a comparison takes two.")
        elif self.baseline and self.baseline == self.candidate:
            said.append("Baseline and candidate are the same run: choose another.")
        return said


def _first_pair(runs: list[StoredRun]) -> Pair:
    """The newest two runs of one dataset, else the newest two; of a run scored again only the newest scoring.

    Runs without a scored trial, such as one that has just begun, come last.
    """
    newest = sorted(newest_scorings(runs), key=lambda run: not (run.description.get("counts") or {}).get("n"))
    for run in newest:
        alike = [one for one in newest if one.description.get("dataset") == run.description.get("dataset")]
        if len(alike) > 1:
            return alike[1].run_id, alike[0].run_id
    ids = [run.run_id for run in newest[:2]]
    return (ids[1] if len(ids) > 1 else None, ids[0] if ids else None)


def _label(run: StoredRun) -> str:
    about: dict[str, Any] = run.description
    counts = about.get("counts") or {}
    passed = f"{number(counts.get('passed') or 0)}/{counts.get('n', 0)} passed"
    partial = "PARTIAL" if run.journal is not None or about.get("status") == "partial" else None
    words = (run.run_id, about.get("dataset"), passed, partial, about.get("label"))
    return printable(" · ".join(str(word) for word in words if word))
