"""Measuring some work in a process of its own: processor seconds, wall seconds, and the memory at its highest."""

from __future__ import annotations

import json
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any


def measured(work: Callable[[], Any]) -> dict[str, float]:
    """Seconds that `work` took in this process and its threads, and the peak memory in MB: before it, and in all."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    took = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    return took | {"before": before, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def best_of(script: str, arguments: Sequence[Sequence[str]], repeats: int) -> list[dict[str, float]]:
    """For each list of arguments what `script` prints as JSON, of the run that took least processor time.

    All are run in turn, `repeats` times over, so that whatever else the machine does meets all of them.
    """
    best: list[dict[str, float]] = [{} for _ in arguments]
    for _ in range(repeats):
        for place, given in enumerate(arguments):
            done = subprocess.run([sys.executable, script, *given], capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{' '.join(given)}: {done.stderr[-2000:]}")
            found = json.loads(done.stdout)
            if not best[place] or found["cpu"] < best[place]["cpu"]:
                best[place] = found
    return best


def machine(*packages: str) -> str:
    """The machine and the versions of what is measured."""
    named = ", ".join(f"{name} {version(name)}" for name in packages)
    return f"{platform.machine()}, Python {platform.python_version()}, {named}"
