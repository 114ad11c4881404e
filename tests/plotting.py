"""What the tests of charts share: a frame of rates as `ek.tool_accuracy` makes it, and what stands in a chart."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.text import Text

from evalkit.stats import wilson

AWKWARD = (
    "_private", "a$b$c", r"$\frac", "שלום", "天気", "🌧", "x" * 5000, "\x1b[31m\n\t\x00", "\u202eevil", "", "a&<b>",
)  # fmt: skip


def rate(run_id: str, tool: str, passed: float, n: int, day: int = 1, **values: Any) -> dict[str, Any]:
    """One row of a frame of rates."""
    share = passed / n if n else float("nan")
    low, high = wilson(share, n)
    start = pd.Timestamp("2026-11-01 09:00", tz="UTC") + pd.Timedelta(days=day - 1)
    row = {
        "run_id": run_id, "expected_tool": tool, "n": n, "passed": passed, "errors": 0, "accuracy": share,
        "ci_low": low, "ci_high": high, "bound_low": share, "bound_high": share, "mean_score": share,
        "dataset": "file_tools", "model": "lexical", "label": None, "status": "complete", "started_at": start,
        "dataset_hash": "d", "tools_hash": "t", "prompt_hash": "p", "settings_hash": "s", "scoring_hash": "c",
    }  # fmt: skip
    return row | values


def rates(*rows: dict[str, Any]) -> pd.DataFrame:
    """The frame of these rows."""
    return pd.DataFrame(list(rows))


def words(ax: Any) -> str:
    """Everything that is written in a chart, a piece a line."""
    figure = ax.get_figure(root=True)
    figure.draw_without_rendering()
    return "\n".join(text.get_text() for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible())
