"""A long run against a server that fails one request in five, and one against a server that says all that endpoints
have been seen to say: what becomes of their cases.

    python benchmarks/faults.py [--cases 10000] [--odd 300] [--seed 12]

The servers (`tests/unreliable.py`, `tests/odd_endpoint.py`) know what befell which request, and so what must become of
each case.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

import evalkit as ek

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from loopback import Endpoint
from odd_endpoint import TOOLS, cases_of, drawn, script, wrongly_named
from unreliable import FAULTS, faults_of, to_be_expected, unreliable

TIMEOUT_S = 5


def main() -> None:
    """Run, compare with what must be, print a Markdown table of each run."""
    parser = argparse.ArgumentParser(description="What becomes of cases that endpoints fail, or answer oddly.")
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--odd", type=int, default=300, help="cases that are answered oddly")
    parser.add_argument("--seed", type=int, default=12, help="which odd answers")
    given = parser.parse_args()
    odd(given.odd, given.seed)
    failing(given.cases)


def show(rows: dict[str, object]) -> None:
    """Print a Markdown table."""
    print("\n".join(["| what | count |", "| --- | ---: |", *(f"| {name} | {count} |" for name, count in rows.items())]))


def odd(count: int, seed: int) -> None:
    """Odd answers of every kind, by chance."""
    kinds = drawn(count, seed)
    dataset = ek.Dataset(name="odd", cases=cases_of(kinds), tools=TOOLS)
    with Endpoint(script) as endpoint:
        model = ek.OpenAIModel("mock-small", base_url=endpoint.url)
        results = ek.run(dataset, model=model, concurrency=64, save=False, progress=False)
    ended = Counter(results["error_kind"].fillna(results["outcome"]))
    wrong = wrongly_named(kinds, results)
    found = {"cases": count, "kinds of answers": len(set(map(id, kinds)))}
    show(found | {f"ended as {kind}": times for kind, times in ended.most_common()} | {"wrongly named": len(wrong)})
    print("\n".join(wrong), flush=True)


def failing(count: int) -> None:
    """Faults that mostly pass when a request is sent again."""
    texts = [f"list files {number}" for number in range(count)]
    cases = [{"id": text, "input": text, "expected_tool": "list_files"} for text in texts]
    dataset = ek.Dataset(name="unreliable", cases=cases, tools=[{"name": "list_files"}])
    with Endpoint(unreliable) as endpoint, tempfile.TemporaryDirectory() as folder:
        model = ek.OpenAIModel("mock-small", base_url=endpoint.url, timeout=TIMEOUT_S)
        results = ek.run(dataset, model=model, concurrency=64, results_dir=folder, progress=False)
        asked = dict(endpoint.asked)
    expected = [to_be_expected(text) for text in texts]
    befallen = Counter(fault for text in texts for fault in faults_of(text, asked.get(text, 0)))
    kinds = results["error_kind"].fillna("scored").tolist()
    rows = {
        "cases": len(texts),
        "rows, each case once": len(results) if results["case_id"].is_unique else "no",
        "requests": sum(asked.values()),
        "requests that failed or were slow": sum(befallen.values()),
        **{f"… {name}": befallen[name] for name, *_ in FAULTS},
        **{f"ended as {kind}": count for kind, count in Counter(kinds).most_common()},
        "cases that ended otherwise than they must": sum(
            (kind, one) != (must or "scored", count)
            for kind, one, (count, must) in zip(kinds, results["attempts"], expected, strict=True)
        ),
        "requests beyond the stated retries": sum(
            max(0, asked[text] - count) for text, (count, _) in zip(texts, expected, strict=True)
        ),
    }
    show(rows)


if __name__ == "__main__":
    main()
