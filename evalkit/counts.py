"""What a run counts per expected tool, small enough for a Parquet footer.

The sums suffice for every rate, bound and interval of a tool's accuracy (cluster sums included), so that
the accuracy of thousands of runs is known without reading a row.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from . import finish_reasons

_LONGEST_REASON = 40
_MOST_REASONS = 5

Row = Mapping[str, Any]


@dataclass
class ToolCounts:
    """Sums over the cases of one expected tool. A case's value is its mean over the scored trials.

    `cases` in all, `n` cases with a scored trial, `passed` and `score` their summed means, `squares` of the passed
    means; `trials` scored, `passed_trials` among them, `errors` errored trials. `if_failed`, `if_passed`: the summed
    means of all cases over all of their trials, had every errored one failed, or passed. Over clusters c with n_c cases
    and sum S_c: `clusters`, `cluster_squares` ΣS_c², `cluster_products` Σn_c·S_c, `cluster_sizes` Σn_c².
    """

    cases: int = 0
    n: int = 0
    passed: float = 0.0
    score: float = 0.0
    squares: float = 0.0
    trials: int = 0
    passed_trials: int = 0
    errors: int = 0
    if_failed: float = 0.0
    if_passed: float = 0.0
    clusters: int = 0
    cluster_squares: float = 0.0
    cluster_products: float = 0.0
    cluster_sizes: float = 0.0


@dataclass
class _Case:
    tool: str | None
    cluster: str | None
    scores: list[float] = field(default_factory=list)
    passes: list[bool] = field(default_factory=list)
    errors: int = 0


ALL = "all"
LATER = frozenset({"if_failed", "if_passed"})  # sums that footers of older versions lack


class RunCounts:
    """Adds up trials that arrive case by case: all trials of a case must follow one another.

    Finish reasons whose meaning is not known are counted too (`unknown_finish_reasons`, where there are any).
    """

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str | None], ToolCounts] = defaultdict(ToolCounts)
        self._clusters: dict[tuple[tuple[str, str | None], str], list[float]] = defaultdict(lambda: [0.0, 0.0])
        self._case = _Case(None, None)
        self._case_id: str | None = None
        self._outcomes: Counter[str] = Counter()
        self._error_kinds: Counter[str] = Counter()
        self._unknown_reasons: Counter[str] = Counter()

    def add(self, row: Row) -> None:
        """Count one trial, given as a row of the results frame."""
        if row["case_id"] != self._case_id:
            self._close_case()
            self._case_id = row["case_id"]
            self._case = _Case(row.get("expected_tool"), row.get("cluster"))
        self._outcomes[row.get("outcome") or "unknown"] += 1
        reason = row.get("finish_reason")
        if isinstance(reason, str) and reason and finish_reasons.meaning(reason) is None:
            self._unknown_reasons[reason[:_LONGEST_REASON]] += 1
        if row["passed"] is None:
            self._error_kinds[row.get("error_kind") or "unknown"] += 1
            self._case.errors += 1
        else:
            self._case.passes.append(row["passed"])
            self._case.scores.append(math.nan if row["score"] is None else row["score"])

    def counting(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows, each counted as it passes."""
        for row in rows:
            self.add(row)
            yield row

    def finish(self) -> dict[str, Any]:
        """JSON-able totals: the sums of `ToolCounts` over all, `by_tool` (one entry per expected tool), and how many
        trials had each outcome (`outcomes`) and each kind of error (`error_kinds`).
        """
        self._close_case()
        for (group, _), (size, total) in self._clusters.items():
            _add_cluster(self._groups[group], size, total)
        self._clusters.clear()
        tools = [(tool, counts) for (kind, tool), counts in self._groups.items() if kind == "tool"]
        tools.sort(key=lambda entry: (entry[0] is None, entry[0] or ""))  # final answers, which expect no tool, last
        by_tool = [{"expected_tool": tool, **asdict(counts)} for tool, counts in tools]
        kinds = {"outcomes": dict(self._outcomes), "error_kinds": dict(self._error_kinds)}
        if self._unknown_reasons:
            kinds["unknown_finish_reasons"] = dict(self._unknown_reasons.most_common(_MOST_REASONS))
        return {**asdict(self._groups[ALL, None]), "by_tool": by_tool, **kinds}

    def _close_case(self) -> None:
        if self._case_id is not None:
            for group in ((ALL, None), ("tool", self._case.tool)):
                self._add_case(group, self._case)
        self._case_id = None

    def _add_case(self, group: tuple[str, str | None], case: _Case) -> None:
        counts = self._groups[group]
        passes, all_trials = sum(case.passes), len(case.passes) + case.errors
        counts.cases += 1
        counts.errors += case.errors
        counts.if_failed += passes / all_trials
        counts.if_passed += (passes + case.errors) / all_trials
        if not case.passes:
            return
        mean = passes / len(case.passes)
        counts.n += 1
        counts.passed += mean
        counts.squares += mean * mean
        counts.score += sum(case.scores) / len(case.scores)
        counts.trials += len(case.passes)
        counts.passed_trials += passes
        if case.cluster is None:
            _add_cluster(counts, 1, mean)
        else:
            sums = self._clusters[group, case.cluster]
            sums[0] += 1
            sums[1] += mean


def _add_cluster(counts: ToolCounts, size: float, total: float) -> None:
    counts.clusters += 1
    counts.cluster_squares += total * total
    counts.cluster_products += size * total
    counts.cluster_sizes += size * size
