"""What scoring costs without any request, beside the libraries called bare; each measurement in a process of its own.

    python benchmarks/scoring.py [--count 100000]

`jsonschema`, which JupyterLab brings, is called as its documentation has it: `validate()` for each document.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

SLOWER = 100  # jsonschema.validate() is asked for one document in so many: all of them would take minutes
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "age": {"type": "integer", "minimum": 0},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 5},
        "address": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}


def documents(count: int) -> list[str]:
    return [
        json.dumps({"name": f"n{n}", "age": n % 90, "tags": ["a", "b"], "address": {"city": "x"}}) for n in range(count)
    ]


def pairs(count: int) -> list[tuple[str, str]]:
    dice = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz "

    def text() -> str:
        return "".join(dice.choices(letters, k=80))

    return [(text(), text()) for _ in range(count)]


def tool_calls(count: int) -> Callable[[], Any]:
    import evalkit as ek

    names = ("path", "mode", "limit", "recursive")
    kinds = ("string", "string", "integer", "boolean")
    properties = {name: {"type": kind} for name, kind in zip(names, kinds, strict=True)}
    dataset = ek.Dataset(
        name="recorded",
        tools=[{"name": "list_files", "parameters": {"type": "object", "properties": properties}}],
        cases=[
            {
                "id": f"case-{n}",
                "input": f"List folder {n}",
                "expected_tool": "list_files",
                "expected_arguments": {"path": f"folder/{n}", "mode": "long", "limit": n % 50, "recursive": n % 2 == 0},
            }
            for n in range(count)
        ],
    )
    turns = [
        ek.Turn(tool_calls=[ek.ToolCall("list_files", json.dumps({**case.expected_arguments, "limit": 7}))])
        for case in dataset.cases
    ]

    def work() -> None:
        for case, turn in zip(dataset.cases, turns, strict=True):
            ek.evaluate_tool_call(case, turn, dataset.tools)

    return work


def levenshtein(count: int) -> Callable[[], Any]:
    import evalkit as ek

    given, review = pairs(count), ek.reviewers.levenshtein
    return lambda: [review(a, b).score for a, b in given]


def bare_rapidfuzz(count: int) -> Callable[[], Any]:
    from rapidfuzz.distance import Levenshtein

    given, similarity = pairs(count), Levenshtein.normalized_similarity
    return lambda: [similarity(a, b) for a, b in given]


def json_schema(count: int) -> Callable[[], Any]:
    import evalkit as ek

    given, review = documents(count), ek.reviewers.json_schema_match
    return lambda: [review(text, schema=SCHEMA).passed for text in given]


def bare_jsonschema(count: int) -> Callable[[], Any]:
    import jsonschema

    given = documents(count // SLOWER)

    def work() -> None:
        for text in given:
            jsonschema.validate(json.loads(text), SCHEMA)

    return work


MEASURED: dict[str, tuple[Callable[[int], Callable[[], Any]], int]] = {
    "tool calls with four arguments": (tool_calls, 1),
    "`levenshtein`, 80 characters each": (levenshtein, 1),
    "rapidfuzz called bare": (bare_rapidfuzz, 1),
    "`json_schema_match`": (json_schema, 1),
    "`jsonschema.validate()` each": (bare_jsonschema, SLOWER),
}


def measured(name: str, count: int) -> float:
    """Processor seconds for so many, in a process of its own."""
    command = [sys.executable, __file__, "--measure", name, "--count", str(count)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) * MEASURED[name][1]


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--measure", choices=MEASURED, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        make, _ = MEASURED[given.measure]
        make(100)()  # imports, and what is built once
        work = make(given.count)
        began = time.process_time()
        work()
        print(time.process_time() - began)
        return
    lines = [f"| {given.count:,} of | CPU s | µs each |", "| --- | ---: | ---: |"]
    for name in MEASURED:
        seconds = measured(name, given.count)
        lines.append(f"| {name} | {seconds:.2f} | {seconds / given.count * 1e6:.1f} |")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
