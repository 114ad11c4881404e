"""Reading many results back: inspect_ai's `samples_df` on logs of its own, and `history_accuracy` on runs of ours.

    python benchmarks/inspect_logs.py [--cases 1000] [--logs 4] [--runs 300]

The logs are made here by asking a server on loopback; the runs, as many as a history has, are made as for history.py.
inspect_ai must be installed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inspect_ai.analysis import samples_df
from inspect_task import evaluate
from make_history import make_history
from running import MODEL, NAMES, server, text_of

import evalkit as ek


def cpu_of(read: Callable[[], Any]) -> float:
    """Processor seconds, the best of three."""
    costs = []
    for _ in range(3):
        began = time.process_time()
        read()
        costs.append(time.process_time() - began)
    return min(costs)


def main() -> None:
    """Make both, read both, print a Markdown table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--logs", type=int, default=4)
    parser.add_argument("--runs", type=int, default=300)
    given = parser.parse_args()
    with server() as url, tempfile.TemporaryDirectory() as folder:
        logs, results = Path(folder) / "logs", Path(folder) / "results"
        for _ in range(given.logs):
            evaluate(url, MODEL, [text_of(number) for number in range(given.cases)], NAMES, str(logs))
        make_history(results, given.runs, given.cases)
        theirs = cpu_of(lambda: samples_df(str(logs))) / (given.logs * given.cases)
        by = ["expected_tool", "model"]  # not in the footers
        ours = cpu_of(lambda: ek.history_accuracy(by, results_dir=results)) / (given.runs * given.cases)
    print("| reading | µs of CPU a row | times ours |\n| --- | ---: | ---: |")
    print(f"| `samples_df` | {theirs * 1e6:,.1f} | {theirs / ours:,.0f} |")
    print(f"| `history_accuracy`, from rows | {ours * 1e6:,.1f} | 1 |")


if __name__ == "__main__":
    main()
