"""What it costs to compare two large runs, beside a bare pandas merge of the same columns of the same files.

    python benchmarks/compare.py [--cases 100000] [--repeats 5]

Prints Markdown. Each measurement is a process of its own; of several rounds in turn the one with least processor time
counts. Imports are left out of the seconds. The memory is that of the whole process.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from make_history import make_history
from measuring import best_of, machine, measured

READ = ["passed", "score", "trial", "outcome", "actual_tool", "reason", "answer", "error", "actual_arguments"]
READ += ["mismatches", "reviews", "case_hash", "kind", "expected_tool", "tags", "cluster", "input", "expected"]
READ += ["expected_arguments", "secondary_tools"]


def ours(folder: Path) -> Any:
    import evalkit as ek

    baseline, candidate = sorted(folder.glob("*.parquet"))
    return ek.compare(baseline, candidate).summary


def bare(folder: Path) -> Any:
    import pandas as pd

    sides = [pd.read_parquet(path, columns=["case_id", *READ]) for path in sorted(folder.glob("*.parquet"))]
    merged = sides[0].merge(sides[1], on="case_id", how="outer", suffixes=("_baseline", "_candidate"))
    return (merged["score_candidate"] - merged["score_baseline"]).mean()


def ours_of_frames(folder: Path) -> Any:
    import evalkit as ek

    frames = [ek.load_run(path) for path in sorted(folder.glob("*.parquet"))]
    return measured(lambda: ek.compare(*frames, results_dir=folder).summary)


def bare_of_frames(folder: Path) -> Any:
    import pandas as pd

    sides = [pd.read_parquet(path, columns=["case_id", *READ]) for path in sorted(folder.glob("*.parquet"))]
    return measured(lambda: sides[0].merge(sides[1], on="case_id", how="outer"))


WAYS = {
    "compare(…), files read": lambda folder: measured(lambda: ours(folder)),
    "bare pandas merge, files read": lambda folder: measured(lambda: bare(folder)),
    "compare(…) of two frames": ours_of_frames,
    "bare pandas merge of two frames": bare_of_frames,
}


def main() -> None:
    """Make two runs, measure every way in turn, print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        import pandas  # noqa: F401
        import pyarrow.parquet  # noqa: F401
        import scipy.stats  # noqa: F401

        import evalkit.comparison  # noqa: F401

        print(json.dumps(WAYS[given.measure[0]](Path(given.measure[1]))))
        return
    with tempfile.TemporaryDirectory() as folder:
        make_history(Path(folder), 2, given.cases)
        names = list(WAYS)
        found = best_of(__file__, [["--measure", name, folder] for name in names], given.repeats)
    print(f"Two runs of {given.cases:,} cases; best of {given.repeats}")
    print(f"{os.cpu_count()} cores, {machine('evalkit-notebooks', 'pandas', 'pyarrow')}\n")
    print("| way | CPU s | × bare | wall s | peak MB |\n| --- | ---: | ---: | ---: | ---: |")
    for place, (name, one) in enumerate(zip(names, found, strict=True)):
        ratio = one["cpu"] / found[place | 1]["cpu"]  # each is followed by its bare counterpart
        print(f"| `{name}` | {one['cpu']:.2f} | {ratio:.2f} | {one['wall']:.2f} | {one['peak']:.0f} |")


if __name__ == "__main__":
    main()
