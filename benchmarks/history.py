"""How fast a large history is read, against plain scans of the same files; each measurement in a process of its own.

    python benchmarks/history.py [--runs 1000] [--cases 1000] [--folder FOLDER] [--markdown]

Prints wall and processor seconds and the peak memory of each, imports and the reading of the package left out of the
seconds. The files are made first (and kept, where a folder is given).
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from make_history import make_history

NEEDED = ("run_id", "case_id", "expected_tool", "trial", "passed", "score", "cluster")
COLUMNS = ("expected_tool", "model", "label", "started_at", "tools_hash", "prompt_hash")


def list_runs(folder: Path) -> Any:
    import evalkit as ek

    return ek.list_runs(results_dir=folder)


def history_accuracy(folder: Path) -> Any:
    import evalkit as ek

    return ek.history_accuracy(results_dir=folder)


def history_accuracy_by_tag(folder: Path) -> Any:
    import evalkit as ek

    return ek.history_accuracy("tags", results_dir=folder)


def history_accuracy_shared(folder: Path) -> Any:
    import evalkit as ek

    return ek.history_accuracy(cases="shared", results_dir=folder)


def load_history_columns(folder: Path) -> Any:
    import evalkit as ek

    return ek.load_history(columns=COLUMNS, results_dir=folder)


def tool_accuracy_of_history(folder: Path) -> Any:
    import evalkit as ek

    return ek.tool_accuracy(ek.load_history(columns=COLUMNS, results_dir=folder))


def plain_footers(folder: Path) -> Any:
    import pyarrow.parquet as pq

    return [json.loads(pq.read_metadata(path).metadata[b"evalkit"]) for path in sorted(folder.glob("*.parquet"))]


def plain_duckdb(folder: Path) -> Any:
    import duckdb

    # Cases first, as everywhere: the mean of a case's trials.
    query = """
        select run_id, expected_tool, count(*), avg(share) from (
            select run_id, case_id, expected_tool, avg(passed::double) as share, avg(score) as score, any_value(cluster)
            from read_parquet(?) where passed is not null group by all
        ) group by all
    """
    return duckdb.execute(query, [f"{folder}/*.parquet"]).fetchall()


def plain_polars(folder: Path) -> Any:
    import polars as pl

    rows = pl.scan_parquet(f"{folder}/*.parquet").select(NEEDED)
    cases = rows.group_by("run_id", "case_id", "expected_tool").agg(pl.col("passed").mean(), pl.col("score").mean())
    return cases.group_by("run_id", "expected_tool").agg(pl.len(), pl.col("passed").mean()).collect()


def plain_pyarrow(folder: Path) -> Any:
    import pyarrow.dataset as ds

    rows = ds.dataset(folder).to_table(columns=list(NEEDED))
    return rows.group_by(["run_id", "expected_tool"]).aggregate([("passed", "count"), ("passed", "sum")])


def plain_pandas(folder: Path) -> Any:
    import pandas as pd

    rows = pd.read_parquet(folder, columns=list(NEEDED))
    cases = rows.groupby(["run_id", "case_id", "expected_tool"])["passed"].mean()
    return cases.groupby(["run_id", "expected_tool"]).agg(["size", "mean"])


WAYS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "list_runs()": (list_runs, "footers"),
    "plain pyarrow, footers parsed": (plain_footers, "footers"),
    "history_accuracy()": (history_accuracy, "footers"),
    "history_accuracy('tags')": (history_accuracy_by_tag, "rows"),
    "history_accuracy(cases='shared')": (history_accuracy_shared, "rows, twice"),
    "load_history(columns=…)": (load_history_columns, "rows"),
    "tool_accuracy(load_history(columns=…))": (tool_accuracy_of_history, "rows"),
    "plain duckdb, rates per run and tool": (plain_duckdb, "rows"),
    "plain polars, rates per run and tool": (plain_polars, "rows"),
    "plain pyarrow, sums per run and tool": (plain_pyarrow, "rows"),
    "plain pandas, rates per run and tool": (plain_pandas, "rows"),
}
IMPORTS = ("pandas", "pyarrow.dataset", "duckdb", "polars", "evalkit.history_scan", "evalkit.metrics")


def main() -> None:
    """Make the history, measure every way in turn, print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure, arguments.folder)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        if not any(folder.glob("*.parquet")):
            make_history(folder, arguments.runs, arguments.cases)
        size = sum(path.stat().st_size for path in folder.glob("*.parquet")) / 2**20
        print(f"{arguments.runs:,} runs × {arguments.cases:,} cases, {size:.0f} MB in {arguments.runs:,} files")
        print(f"{platform.machine()}, Python {platform.python_version()}, {versions()}\n")
        print("| what | reads | wall s | CPU s | peak MB |\n| --- | --- | ---: | ---: | ---: |")
        for name, (_, reads) in WAYS.items():
            command = [sys.executable, __file__, "--folder", str(folder), "--measure", name]
            found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            print(f"| `{name}` | {reads} | {found['wall']:.2f} | {found['cpu']:.2f} | {found['peak']:.0f} |")


def measure(name: str, folder: Path) -> dict[str, float]:
    """Seconds of one way on files that are in the cache of the disk, and the memory beyond the imports' in MB."""
    function = WAYS[name][0]
    wanted = [module for module in IMPORTS if not name.startswith("plain") or module.startswith(name.split(",")[0][6:])]
    for module in wanted:
        __import__(module)
    for path in folder.glob("*.parquet"):
        path.read_bytes()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = time.perf_counter(), time.process_time()
    function(folder)
    took = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    return took | {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "imports": before / 1024}


def versions() -> str:
    """The versions of what is measured."""
    return ", ".join(f"{name} {version(name)}" for name in ("pandas", "pyarrow", "duckdb", "polars"))


if __name__ == "__main__":
    main()
