"""The weekly review: what the team should know about a week, of a history alone. No model is asked, nothing is fetched.

`Review` holds what the page of a week shows, part by part: `notebooks/06_weekly_review.ipynb` is made of it. `evalkit
review` executes that notebook and writes the page, its charts and its tables (`report_files.write_review`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from . import report_frames as frames
from . import report_views as views
from .paths import results_dir as find_results_dir
from .report_data import Pair, WeekRuns, collect, trend
from .report_words import headlines
from .tallies import ALL
from .weeks import Span

if TYPE_CHECKING:
    import pandas as pd

    from .frame_view import FrameView
    from .report_views import View

_COST = [
    "dataset", "model", "side", "trials", "median_s", "p90_s", "input_tokens", "output_tokens", "cost_usd",
    "judge_cost_usd",
]  # fmt: skip


class Review:
    """A week of a history: for each dataset and model its newest complete run against the newest of an earlier week.

    `week` is an ISO week such as `2026-W48`, or `since` and `until` are days, both whole; all are in UTC. Without
    either it is the week of the newest complete run. `dataset` is one name or several. `baseline` is a run to compare
    with instead, for the datasets that it is of.

    The parts of the page show themselves in a notebook: `headlines`, `verdicts`, `per_tool`, `moved`, `failing`,
    `errors`, `flaky`, `judges`, `costs`, `notes`, `data`. Frames: `totals` and `rates` (accuracy over time), `results`
    (of the newest runs), `tools`, `comparisons`, `changes`, `kinds`.

    Raises SettingsError for days that are none, and for a dataset or run that is not there; SchemaError where the rows
    of a newest run cannot be read.
    """

    def __init__(
        self,
        week: str | None = None,
        *,
        since: str | date | None = None,
        until: str | date | None = None,
        dataset: str | Sequence[str] | None = None,
        baseline: str | None = None,
        results_dir: str | Path | None = None,
    ) -> None:
        self.folder = find_results_dir(results_dir)
        self.week: WeekRuns = collect(
            self.folder, week=week, since=since, until=until, dataset=dataset, baseline=baseline
        )
        self._datasets = [dataset] if isinstance(dataset, str) else dataset

    def __repr__(self) -> str:
        return f"<Review of {self.span.name}: {len(self.week.runs)} runs, {len(self.pairs)} compared or scored>"

    @property
    def span(self) -> Span:
        """The days that it is of."""
        return self.week.span

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """One per dataset and model with a complete run in the week."""
        return self.week.pairs

    @cached_property
    def results(self) -> pd.DataFrame:
        """The results of the newest runs of the week."""
        return frames.results_of(self.pairs)

    @cached_property
    def both_results(self) -> pd.DataFrame:
        """The results of the newest runs and of those they are compared with."""
        return frames.results_of(self.pairs, both=True)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """One row per newest run: what `ek.summarize` gives."""
        return frames.totals(self.results)

    @cached_property
    def rates(self) -> pd.DataFrame:
        """One row per run and tool of the weeks up to this one: what `ek.history_accuracy` gives."""
        return trend(self.folder, self.span, self._datasets)

    @property
    def totals(self) -> pd.DataFrame:
        """The accuracy over all tools: one row per run of the weeks up to this one."""
        return self.rates[self.rates["expected_tool"] == ALL]

    @property
    def main_rates(self) -> pd.DataFrame:
        """The rows of `rates` of the dataset and model whose newest run has the most cases."""
        if not self.pairs:
            return self.rates.head(0)
        return self.rates_of(max(self.pairs, key=lambda pair: pair.results["case_id"].nunique()))

    def rates_of(self, pair: Pair) -> pd.DataFrame:
        """The rows of `rates` of one dataset and model."""
        return self.rates[(self.rates["dataset"] == pair.dataset) & (self.rates["model"] == pair.model)]

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """One row per dataset and model: runs, verdict, difference with its interval, the sentence."""
        return frames.comparisons(self.pairs)

    @cached_property
    def tools(self) -> pd.DataFrame:
        """One row per dataset, model and expected tool."""
        return frames.tools(self.pairs)

    @cached_property
    def changes(self) -> pd.DataFrame:
        """One row per case that regressed or improved, the worst first."""
        return frames.changes(self.pairs)

    @cached_property
    def kinds(self) -> pd.DataFrame:
        """The ways in which the newest runs fail, the commonest first."""
        return frames.kinds(self.results)

    @cached_property
    def sentences(self) -> list[tuple[str, str]]:
        """The headlines: a word and its sentences, each."""
        return headlines(self.week, self.summary, self.kinds)

    @property
    def headlines(self) -> View:
        """The week, and what one needs to know of it in three sentences."""
        return views.opening(self.week, self.sentences)

    @property
    def verdicts(self) -> View:
        """Every dataset and model: verdict, interval, what limits it."""
        return views.verdicts(self.week)

    @property
    def per_tool(self) -> View:
        """Tables and charts of every comparison, per expected tool."""
        return views.per_tool(self.week, self.tools)

    @property
    def moved(self) -> View:
        """Regressions and improvements, the worst first, each in full."""
        return views.moved(self.week)

    @property
    def failing(self) -> View:
        """Failures worth reading, by kind."""
        return views.failing(self.week, self.results, self.kinds)

    @property
    def errors(self) -> View | FrameView:
        """The errors of the newest runs by kind."""
        return views.shown(frames.errors(self.results), "No trial of the newest runs ended in an error.")

    @property
    def flaky(self) -> View | FrameView:
        """Cases that pass in some trials and fail in others."""
        otherwise = "No case passed in some trials and failed in others, as far as there were several trials."
        return views.shown(frames.flaky_cases(self.results), otherwise)

    @property
    def judges(self) -> View | FrameView:
        """How far judges agree with people."""
        otherwise = "Nobody has annotated an answer of these runs that a judge has judged: agreement is not known."
        return views.shown(frames.agreement(self.results, self.folder), otherwise)

    @property
    def costs(self) -> View | FrameView:
        """Seconds, tokens and cost of the newest runs, and of those they are compared with."""
        return views.shown(frames.costs(self.pairs)[_COST], "No complete run, no cost.")

    @property
    def notes(self) -> View:
        """What people wrote about this week, and about the one before."""
        return views.notes(self.week)

    @property
    def data(self) -> View:
        """What the review rests on: runs, fingerprints, files left out."""
        return views.rests_on(self.week)
