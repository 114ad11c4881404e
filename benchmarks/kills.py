"""A run of 500 cases whose process is killed (SIGKILL) at 200 random moments, and resumed each time.

python benchmarks/kills.py [--kills 200] [--cases 500]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import evalkit as ek

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from killing import kill_again_and_again, make_project
from loopback import Endpoint

SAME = ["case_id", "trial", "outcome", "reason", "passed", "score", "actual_tool", "actual_arguments", "tool_calls"]


def main() -> None:
    """Kill, resume, compare with an undisturbed run, print a Markdown table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--cases", type=int, default=500)
    given = parser.parse_args()
    with Endpoint(delay_s=0.2) as endpoint, tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder), given.cases)
        found = kill_again_and_again(project, endpoint, given.kills)
        requests = sum(endpoint.asked.values())
        results = ek.load_run(found.run_id, results_dir=project / "results")
        dataset = ek.load_dataset(project / "eval_data" / "many.jsonl")
        undisturbed = ek.run(
            dataset, model=ek.OpenAIModel("mock-small", base_url=endpoint.url), save=False, progress=False
        )
    rows = {
        "cases": given.cases,
        "kills": found.kills,
        "journaled trials lost": len(found.lost),
        "journaled trials asked again": len(found.asked_again),
        "requests": requests,
        "exit code of the last resume": found.returncode,
        "the frame equals that of an undisturbed run": "yes" if results[SAME].equals(undisturbed[SAME]) else "no",
    }
    print("\n".join(["| what | count |", "| --- | ---: |", *(f"| {name} | {count} |" for name, count in rows.items())]))


if __name__ == "__main__":
    main()
