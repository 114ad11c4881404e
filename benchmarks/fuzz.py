"""Gives whatever reads text of others a million hostile inputs an area, and counts what it should not have let through.

    python benchmarks/fuzz.py                       # all areas, a million inputs each: half an hour and more
    python benchmarks/fuzz.py --inputs 20000 --only xml json

Areas, inputs and checks are those of tests/fuzzing.py. A share of the inputs comes from Hypothesis (thorough, a
millisecond and more each); the others are made by mutating a corpus, to which Hypothesis' inputs are added. Each area
runs in a process of its own, its numbers are printed as soon as they are there. An input that takes more than ten
seconds counts as hanging; where even that cannot be noticed from within, the process is ended after two minutes.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import math
import os
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from fuzzing import AREAS
from mutating import Mutator

HANGS_S = 10.0  # for one input
STUCK_S = 120.0  # for a thousand of them
BY_HYPOTHESIS = 0.02  # of the inputs
AT_ONCE = 1_000  # inputs that Hypothesis makes in one go; it remembers them all
MOST_SHOWN = 5  # different faults, with their inputs
HEADINGS = (
    "area", "inputs", "by Hypothesis", "exceptions not ours", "processor time, s", "slowest single input, ms (wall)",
    "memory at 10 %, MiB", "at the end, MiB",
)  # fmt: skip


class Hanging(BaseException):
    """Raised in an input that takes too long."""


class Watch:
    """Checks inputs of one area one by one, and keeps what went wrong and what was slowest."""

    def __init__(self, area: str):
        self.check = AREAS[area].check
        self.inputs = self.wrong = 0
        self.slowest = 0.0
        self.faults: dict[str, str] = {}
        self.began = math.inf
        signal.signal(signal.SIGALRM, self.look)
        signal.setitimer(signal.ITIMER_REAL, HANGS_S / 2, HANGS_S / 2)

    def look(self, *_: object) -> None:
        """Give up an input that takes too long; the timer comes round."""
        if time.perf_counter() - self.began > HANGS_S:
            self.began = math.inf
            raise Hanging(f"not done after {HANGS_S:g} s")

    def __call__(self, given: Any) -> None:
        """Check one input."""
        if self.inputs % 1_000 == 0:
            faulthandler.dump_traceback_later(STUCK_S, exit=True)
        self.inputs += 1
        began = self.began = time.perf_counter()
        try:
            self.check(given)
        except (Exception, Hanging) as error:
            self.wrong += 1
            where = traceback.extract_tb(error.__traceback__)[-1]
            fault = f"{type(error).__name__} in {Path(where.filename).name}, {where.name}: {str(error)[:120]!a}"
            self.faults.setdefault(
                f"{type(error).__name__} {where.filename} {where.lineno}", f"{fault}: {given!a:.600}"
            )
        finally:
            self.began = math.inf
        self.slowest = max(self.slowest, time.perf_counter() - began)


def fuzz(area: str, inputs: int, seed: int) -> dict[str, Any]:
    """What came of so many inputs in this process."""
    watch, kind = Watch(area), AREAS[area]
    source = Mutator(Random(f"{area} {seed}"), kind.corpus(), kind.words)
    tenth = None
    by_hypothesis = int(inputs * BY_HYPOTHESIS)
    for start in range(0, by_hypothesis, AT_ONCE):
        for given in _by_hypothesis(kind.strategy, min(AT_ONCE, by_hypothesis - start), seed + start):
            watch(given)
            source.keep(kind.document(given))
    made = watch.inputs
    while watch.inputs < inputs:
        watch(kind.cheap(source))
        if watch.inputs >= inputs // 10 and tenth is None:
            tenth = _memory()
    faulthandler.cancel_dump_traceback_later()
    signal.setitimer(signal.ITIMER_REAL, 0)
    return {
        "inputs": watch.inputs, "hypothesis": made, "wrong": watch.wrong, "cpu": time.process_time(),
        "slowest": watch.slowest * 1000, "tenth": tenth or _memory(), "end": _memory(),
        "faults": list(watch.faults.values()),
    }  # fmt: skip


def _by_hypothesis(strategy: Any, count: int, number: int) -> list[Any]:
    from hypothesis import HealthCheck, Phase, given, seed, settings

    found: list[Any] = []

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def take(one: Any) -> None:
        found.append(one)

    take()
    return found


def _memory() -> float:
    """MiB that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> int:
    """Every area in a process of its own, a line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="+", choices=list(AREAS), default=list(AREAS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        print(json.dumps(fuzz(asked.only[0], asked.inputs, asked.seed)))
        return 0
    print(f"| {' | '.join(HEADINGS)} |\n|{'---|' * len(HEADINGS)}", flush=True)
    faults: list[str] = []
    for area in asked.only:
        command = [sys.executable, __file__, "--child", "--only", area, "--inputs", str(asked.inputs)]
        done = subprocess.run([*command, "--seed", str(asked.seed)], capture_output=True, text=True)
        if done.returncode:
            print(f"| {area} | ended: {' '.join(done.stderr[-1500:].split())} |", flush=True)
            faults.append(f"{area}: its process ended with {done.returncode}")
            continue
        found = json.loads(done.stdout)
        cells = (
            area, f"{found['inputs']:,}", f"{found['hypothesis']:,}", f"{found['wrong']:,}", f"{found['cpu']:.0f}",
            f"{found['slowest']:.1f}", f"{found['tenth']:.0f}", f"{found['end']:.0f}",
        )  # fmt: skip
        print(f"| {' | '.join(cells)} |", flush=True)
        faults += [f"{area}: {fault}" for fault in found["faults"][:MOST_SHOWN]]
    print("\n".join(["", *faults]), flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
