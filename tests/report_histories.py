"""Histories that a review must cope with: each a function that fills a results folder."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from evalkit.store import save_run
from frames import description, row

MONDAY = datetime(2026, 11, 23, 9, tzinfo=UTC)  # of 2026-W48
EARLIER = MONDAY - timedelta(days=7)


def save(folder: Path, run_id: str, rows: list[dict[str, Any]], *, at: datetime = MONDAY, **about: Any) -> Path:
    """A complete run with these rows, started then."""
    values = {"started_at": at.isoformat(), "planned": len(rows)} | about
    return save_run(folder / f"{run_id}.parquet", description(run_id, **values), None, rows)


def cases(passing: int, of: int = 20, **values: Any) -> list[dict[str, Any]]:
    """So many cases, the first of which pass."""
    return [
        row(
            f"case-{number:02}", 1, number < passing, case_hash=f"{number:012x}", latency_s=0.5 + number / 100, **values
        )
        for number in range(of)
    ]


def none(folder: Path) -> None:
    """No run at all."""


def one_run(folder: Path) -> None:
    """One run, and nothing before it."""
    save(folder, "only", cases(12))


def two_weeks(folder: Path) -> None:
    """A run that is much worse than the one of the week before."""
    save(folder, "before", cases(20), at=EARLIER)
    save(folder, "after", cases(8), at=MONDAY)


def all_errors(folder: Path) -> None:
    """Every trial of this week ended in an error."""
    save(folder, "before", cases(20), at=EARLIER)
    broken = [
        row(f"case-{number:02}", 1, None, error="no answer in 60 s", case_hash=f"{number:012x}") for number in range(9)
    ]
    save(folder, "after", broken)


def sixty_tools(folder: Path) -> None:
    """Sixty tools with two cases each, in both weeks."""
    for run_id, at, wrong in (("before", EARLIER, 7), ("after", MONDAY, 5)):
        rows = [
            row(
                f"case-{number:03}",
                1,
                number % wrong != 0,
                case_hash=f"{number:012x}",
                expected_tool=f"tool_{number // 2}",
            )
            for number in range(120)
        ]
        save(folder, run_id, rows, at=at)


def many_runs(folder: Path) -> None:
    """Five hundred runs of four models over ten weeks."""
    first = MONDAY - timedelta(weeks=9)
    for number in range(500):
        at = first + timedelta(hours=3.3 * number)
        save(folder, f"run-{number:03}", cases(3 + number % 3, of=6), at=at, model=f"model-{number % 4}")


HISTORIES = {
    "none": none, "one run": one_run, "two weeks": two_weeks, "all errors": all_errors, "60 tools": sixty_tools,
    "500 runs": many_runs,
}  # fmt: skip
