"""A history to measure: runs whose files have the layout of real ones, made faster than a row at a time."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evalkit import store
from evalkit.counts import RunCounts
from evalkit.jsontext import write
from evalkit.schema import NAMES, SCHEMA_VERSION

TOOLS = 20


def make_history(folder: Path, runs: int, cases: int) -> None:
    """Write `runs` files of `cases` cases each. The cases are the same ones; what came of them differs."""
    folder.mkdir(parents=True, exist_ok=True)
    template = [_row(number) for number in range(cases)]
    table = store._table(template, {})
    tools = np.arange(cases) % TOOLS
    for number in range(runs):
        chance = np.random.default_rng(number)
        passed = chance.random(cases) < 0.7 + 0.2 * (number % 50) / 50
        counts = _counts(tools, passed)
        if number == 0:  # what every run counts of itself, a row at a time
            assert counts == _counted(template, passed)
        _write(folder, table, tools, passed, chance.gamma(2.0, 0.4, cases), counts, number)


def _write(
    folder: Path,
    table: pa.Table,
    tools: np.ndarray,
    passed: np.ndarray,
    latency: np.ndarray,
    counts: dict[str, object],
    number: int,
) -> None:
    began = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=6 * number)
    names = np.array([f"tool_{tool:02d}" for tool in range(TOOLS)])
    said = [f"Correct: selected {name}" for name in names]
    missed = [f"Wrong tool: expected {name}, got {names[0]}" for name in names]
    columns = {
        "passed": pa.array(passed),
        "score": pa.array(passed.astype("float64")),
        "outcome": pa.array(np.where(passed, "correct", "wrong_tool")),
        "actual_tool": pa.array(names[np.where(passed, tools, 0)]),
        "reason": pa.array(np.array(said + missed)[np.where(passed, tools, tools + TOOLS)]),
        "latency_s": pa.array(latency),
    }
    about = {
        "run_id": f"{began:%Y-%m-%dT%H-%M-%SZ}-model-{number % 2}",
        "dataset": "benchmark",
        "model": f"model-{number % 2}",
        "label": f"prompt {number % 7}",
        "status": "complete",
        "started_at": began.isoformat(),
        "evalkit_version": "0.1.0",
        "planned": len(passed),
        "trials": 1,
        **{f"{name}_hash": f"{number % 7:012x}" for name in ("dataset", "tools", "prompt", "settings", "scoring")},
    }
    for name in store.RUN_COLUMNS:
        kind = store.arrow_schema().field(name).type
        value = began if name == "started_at" else about.get(name)
        columns[name] = pa.repeat(pa.scalar(value, type=kind), len(passed))
    for name, values in columns.items():
        table = table.set_column(table.schema.get_field_index(name), store.arrow_schema().field(name), values)
    footer = write({"schema_version": SCHEMA_VERSION, **about, "counts": counts})
    path = folder / f"{about['run_id']}.parquet"
    with pq.ParquetWriter(path, store.arrow_schema(), compression="zstd") as writer:
        writer.write_table(table, row_group_size=len(table))
        writer.add_key_value_metadata({store.DESCRIPTION_KEY: footer.encode()})


def _counts(tools: np.ndarray, passed: np.ndarray) -> dict[str, object]:
    """What `RunCounts` counts of one scored trial a case without clusters."""

    def sums(chosen: np.ndarray) -> dict[str, float]:
        n, right = len(chosen), float(chosen.sum())
        return {
            "cases": n,
            "n": n,
            "passed": right,
            "score": right,
            "squares": right,
            "trials": n,
            "passed_trials": int(right),
            "errors": 0,
            "if_failed": right,
            "if_passed": right,
            "clusters": n,
            "cluster_squares": right,
            "cluster_products": right,
            "cluster_sizes": float(n),
        }

    by_tool = [{"expected_tool": f"tool_{tool:02d}", **sums(passed[tools == tool])} for tool in np.unique(tools)]
    outcomes = {"correct": int(passed.sum()), "wrong_tool": int((~passed).sum())}
    return {**sums(passed), "by_tool": by_tool, "outcomes": outcomes, "error_kinds": {}}


def _counted(template: list[dict[str, object]], passed: np.ndarray) -> dict[str, object]:
    counts = RunCounts()
    for row, ok in zip(template, passed.tolist(), strict=True):
        counts.add({**row, "passed": ok, "score": float(ok), "outcome": "correct" if ok else "wrong_tool"})
    return counts.finish()


def _row(number: int) -> dict[str, object]:
    chance = random.Random(number)
    tool = f"tool_{number % TOOLS:02d}"
    arguments = json.dumps({"path": f"src/{chance.randrange(10**6):x}.py", "limit": chance.randrange(100)})
    words = " ".join(f"{chance.randrange(10**5):x}" for _ in range(20))
    return dict.fromkeys(NAMES) | {
        "case_id": f"case-{number:05d}",
        "case_hash": f"{number:012x}",
        "kind": "tool_choice",
        "input": f"Please look at {words} and tell me what it does",
        "expected_tool": tool,
        "tags": json.dumps([f"area_{number % 5}", "daily"]),
        "secondary_tools": "[]",
        "expected_arguments": arguments,
        "trial": 1,
        "actual_arguments": arguments,
        "tool_calls": json.dumps([{"name": tool, "arguments": arguments}]),
        "flags": "[]",
        "attempts": 1,
        "input_tokens": 400 + number % 50,
        "output_tokens": 30,
        "mismatches": "[]",
        "reviews": "[]",
    }
