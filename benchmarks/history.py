"""How fast a large history is read, against bare engines that answer the same question from the same files.

    python benchmarks/history.py [--runs 1000] [--cases 1000] [--folder FOLDER] [--repeats 5]
    python benchmarks/history.py --growth [--folder FOLDER]

Prints Markdown. Each measurement is a process of its own on files that are in the disk's cache; of several rounds in
turn the one with least processor time counts. Imports are left out of the seconds and named in the memory. The files
are made first (and kept, where a folder is given).
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bare_engines as bare
from make_history import make_history
from measuring import best_of, machine, measured

COLUMNS = ("expected_tool", "model", "label", "started_at", "tools_hash", "prompt_hash")
READING = ("pandas", "pyarrow.parquet", "pyarrow.pandas_compat")
OURS = (*READING, "evalkit.coded_reading", "evalkit.history_scan", "evalkit.metrics")
PACKAGES = {"duckdb": ("duckdb", "pyarrow"), "polars": ("polars",), "pyarrow": ("pyarrow.dataset",)}


def history_accuracy(folder: Path, *by: Any, **given: Any) -> Any:
    import evalkit as ek

    return ek.history_accuracy(*by, results_dir=folder, **given)


def list_runs(folder: Path) -> Any:
    import evalkit as ek

    return ek.list_runs(results_dir=folder)


def load_history(folder: Path) -> Any:
    import evalkit as ek

    return ek.load_history(columns=COLUMNS, results_dir=folder)


def tool_accuracy(folder: Path) -> Any:
    import evalkit as ek

    return ek.tool_accuracy(load_history(folder))


def per_tool_and_model(folder: Path) -> Any:
    """By two columns, for which the footers do not suffice."""
    return history_accuracy(folder, ["expected_tool", "model"])


TOOL_AND_MODEL = 'history_accuracy(["expected_tool", "model"])'
Way = Callable[[Path], Any]
PER_TOOL: dict[str, Way] = {
    "bare duckdb": bare.duckdb_per_tool,
    "bare polars": bare.polars_per_tool,
    "bare polars, streaming": bare.polars_per_tool_streaming,
    "bare pyarrow": bare.pyarrow_per_tool,
}
# Question → ours and the bare engines; what is compared with what.
QUESTIONS: dict[str, tuple[dict[str, Way], dict[str, Way]]] = {
    "the list of runs": ({"list_runs()": list_runs}, {"bare pyarrow, footers": bare.pyarrow_footers}),
    "rates per run and tool": (
        {
            "history_accuracy()": history_accuracy,
            TOOL_AND_MODEL: per_tool_and_model,
            "tool_accuracy(load_history(columns=…))": tool_accuracy,
        },
        PER_TOOL | {"bare pandas": bare.pandas_per_tool},
    ),
    "the same, taking each row for a case": (
        {TOOL_AND_MODEL: per_tool_and_model},
        {"bare duckdb": bare.duckdb_rows, "bare polars": bare.polars_rows},
    ),
    "rates per run and tag": (
        {'history_accuracy("tags")': lambda folder: history_accuracy(folder, "tags")},
        {"bare duckdb": bare.duckdb_per_tag, "bare polars": bare.polars_per_tag},
    ),
    "rates per run and tool, shared cases": (
        {'history_accuracy(cases="shared")': lambda folder: history_accuracy(folder, cases="shared")},
        {"bare duckdb": bare.duckdb_shared, "bare polars": bare.polars_shared},
    ),
    "rows in a frame": ({"load_history(columns=…)": load_history}, {}),
}
GROWING = ("history_accuracy()", TOOL_AND_MODEL, 'history_accuracy("tags")')
GROWING += ('history_accuracy(cases="shared")', "list_runs()")
SIZES = ((100, 1000), (300, 1000), (1000, 1000), (1000, 300), (1000, 100))


def main() -> None:
    """Make the history, measure every way in turn, print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--growth", action="store_true", help="how the costs grow with runs and cases")
    parser.add_argument("--without", nargs="*", default=[], help="leave out what has one of these words in its name")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(*given.measure, given.folder)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        if given.growth:
            growth(folder, given.repeats)
        else:
            compare(folder, given.runs, given.cases, given.repeats, given.without)


def compare(folder: Path, runs: int, cases: int, repeats: int, without: list[str]) -> None:
    """Print a table of all questions, each way with its ratio to the best bare engine."""
    if not any(folder.glob("*.parquet")):
        make_history(folder, runs, cases)
    size = sum(path.stat().st_size for path in folder.glob("*.parquet")) / 2**20
    print(f"{runs:,} runs × {cases:,} cases, {size:,.0f} MB in {runs:,} files; best of {repeats}")
    print(f"{os.cpu_count()} cores, {machine('evalkit-notebooks', 'pandas', 'pyarrow', 'duckdb', 'polars')}\n")
    print("| question | way | CPU s | × best bare | wall s | peak MB | of it imports |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for question, (ours, engines) in QUESTIONS.items():
        names = [name for name in (*ours, *engines) if not any(word in name for word in without)]
        each = [["--measure", question, name, "--folder", str(folder)] for name in names]
        found = dict(zip(names, best_of(__file__, each, repeats), strict=True))
        bare_cpu = min((found[name]["cpu"] for name in engines if name in found), default=None)
        for name, one in found.items():
            ratio = "" if bare_cpu is None else f"{one['cpu'] / bare_cpu:.2f}"
            numbers = f"{one['cpu']:.2f} | {ratio} | {one['wall']:.2f} | {one['peak']:.0f} | {one['before']:.0f}"
            print(f"| {question} | `{name}` | {numbers} |", flush=True)


def growth(folder: Path, repeats: int) -> None:
    """Print what each way costs per run in histories of several sizes."""
    print(f"{os.cpu_count()} cores, {machine('evalkit-notebooks', 'pandas', 'pyarrow')}; best of {repeats}\n")
    print(f"| way | {' | '.join(f'{runs:,} × {cases:,}' for runs, cases in SIZES)} |")
    print(f"| --- |{' ---: |' * len(SIZES)}")
    places = {size: folder / f"{size[0]}x{size[1]}" for size in SIZES}
    for (runs, cases), place in places.items():
        if not any(place.glob("*.parquet")):
            make_history(place, runs, cases)
    questions = {name: question for question, (ours, _) in QUESTIONS.items() for name in ours}
    for name in GROWING:
        each = [["--measure", questions[name], name, "--folder", str(places[size])] for size in SIZES]
        found = best_of(__file__, each, repeats)
        cells = [
            f"{one['cpu']:.2f} s, {one['cpu'] / runs * 1000:.2f}" for one, (runs, _) in zip(found, SIZES, strict=True)
        ]
        print(f"| `{name}` | {' | '.join(cells)} |", flush=True)


def measure(question: str, name: str, folder: Path) -> dict[str, float]:
    """One way, on files that are in the disk's cache; what it imports is imported before."""
    ours, engines = QUESTIONS[question]
    work = (ours | engines)[name]
    imports = OURS if name in ours else PACKAGES.get(name.split(",")[0].split()[1], ("pandas", "pyarrow.dataset"))
    for module in imports:
        __import__(module)
    for path in folder.glob("*.parquet"):
        with open(path, "rb") as file:
            while file.read(2**20):
                pass
    return measured(lambda: work(folder))


if __name__ == "__main__":
    main()
