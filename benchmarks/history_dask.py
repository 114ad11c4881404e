"""A history larger than one process wants to hold, counted on a local cluster of two worker processes.

    python benchmarks/history_dask.py --folder FOLDER [--runs 2000] [--cases 5000]

Prints Markdown: wall seconds, processor seconds of the client and of both workers, and the peak memory of each, for
metrics of `load_history(engine="dask")`. Files that are not there are made first.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from make_history import make_history
from measuring import machine

COLUMNS = ["expected_tool", "model", "label", "started_at", "tools_hash", "prompt_hash"]
METRICS = {
    "tool_accuracy(…)": lambda ek, rows: ek.tool_accuracy(rows),
    'tool_accuracy(…, cases="shared")': lambda ek, rows: ek.tool_accuracy(rows, cases="shared"),
    'accuracy(…, by=["run_id", "tags"])': lambda ek, rows: ek.accuracy(rows, by=["run_id", "tags"]),
    "summarize(…)": lambda ek, rows: ek.summarize(rows),
}


def main() -> None:
    """Measure each metric on a cluster of its own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--all-columns", action="store_true", help="load every column, not those that are counted")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    given = parser.parse_args()
    columns = None if given.all_columns else [*COLUMNS, "tags", "status", "rescored_from", "outcome", "error_kind"]
    if given.measure:
        print(json.dumps(measure(given.measure, given.folder, columns)))
        return
    if not any(given.folder.glob("*.parquet")):
        make_history(given.folder, given.runs, given.cases)
    print(f"{given.runs:,} runs × {given.cases:,} cases; {'all columns' if columns is None else 'columns=…'}")
    print(f"{os.cpu_count()} cores, {machine('evalkit-notebooks', 'pandas', 'pyarrow', 'dask', 'distributed')}\n")
    print("| metric | wall s | CPU s, client | CPU s, workers | peak MB, client | peak MB, each worker |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in METRICS:
        command = [sys.executable, __file__, "--folder", str(given.folder), "--measure", name]
        command += ["--all-columns"] * given.all_columns
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{name}: {done.stderr[-3000:]}")
        one = json.loads(done.stdout.splitlines()[-1])
        cells = [f"{one['wall']:.1f}", f"{one['cpu']:.1f}", f"{one['workers']:.1f}", f"{one['peak']:.0f}"]
        peaks = ", ".join(f"{peak:.0f}" for peak in one["peaks"])
        print(f"| `{name}` | {' | '.join(cells)} | {peaks} |", flush=True)


def measure(name: str, folder: Path, columns: list[str] | None) -> dict[str, Any]:
    """One metric of the whole history, on two workers of one thread each."""
    from distributed import Client, LocalCluster

    import evalkit as ek

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, Client(cluster) as client:
        client.run(_warm)
        before = sum(cpu for cpu, _ in client.run(_used).values())
        wall, cpu = time.perf_counter(), time.process_time()
        METRICS[name](ek, ek.load_history(engine="dask", columns=columns, results_dir=folder))
        took = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        used = list(client.run(_used).values())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return took | {"workers": sum(cpu for cpu, _ in used) - before, "peaks": [mb for _, mb in used], "peak": peak}


def _warm() -> None:
    import evalkit.history
    import evalkit.metrics  # noqa: F401


def _used() -> tuple[float, float]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


if __name__ == "__main__":
    main()
