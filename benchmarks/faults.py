"""A long run against a server that fails one request in five: what becomes of its cases.

    python benchmarks/faults.py [--cases 10000]

The server (`tests/unreliable.py`) knows which fault befell which request, and so what must become of each case.
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
from unreliable import FAULTS, faults_of, to_be_expected, unreliable

TIMEOUT_S = 5


def main() -> None:
    """Run, compare with what must be, print a Markdown table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=10_000)
    texts = [f"list files {number}" for number in range(parser.parse_args().cases)]
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
    print("\n".join(["| what | count |", "| --- | ---: |", *(f"| {name} | {count} |" for name, count in rows.items())]))


if __name__ == "__main__":
    main()
