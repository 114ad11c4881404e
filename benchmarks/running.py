"""What a run costs beside bare clients that only fetch the replies; each measurement in a process of its own.

    python benchmarks/running.py [--cases 2000] [--only cost latency overload memory start] [--inspect]

All ask the same server on loopback (`tests/loopback.py`, in a process of its own) the same tool-choice cases with six
tools, 64 at once. Imports and making the dataset are left out of the seconds. `--inspect` adds inspect_ai, which must
then be installed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

ROOT = Path(__file__).parent.parent
AT_ONCE = 64
MODEL = "mock-small"
NAMES = ("list_files", "read_file", "write_file", "search_text", "send_email", "get_weather")
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"Use {name.replace('_', ' ')} where somebody asks for that.",
            "parameters": {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Relative to the project."},
                    "directory": {"type": "string", "description": "Relative to the project; '.' is the project."},
                    "limit": {"type": "integer", "minimum": 1},
                    "mode": {"type": "string", "enum": ["short", "long"]},
                },
            },
        },
    }
    for name in NAMES
]


def text_of(number: int) -> str:
    return f"Please list the files number {number}"


async def at_once(ask: Callable[[int], Coroutine[Any, Any, None]], cases: int) -> None:
    """Ask for every case, 64 at a time."""
    numbers = iter(range(cases))

    async def work() -> None:
        for number in numbers:
            await ask(number)

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))


# What is measured: each takes the server's URL and the number of cases, and returns what to call and what is lost.


def with_evalkit(url: str, cases: int) -> Callable[[], dict[str, Any]]:
    import evalkit as ek

    dataset = ek.Dataset(name="benchmark", tools=TOOLS, cases=made_cases(cases))
    model = ek.OpenAIModel(MODEL, base_url=url)

    def work() -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            results = ek.run(dataset, model=model, concurrency=AT_ONCE, results_dir=folder, progress=False)
        return {"lost": int(results["passed"].isna().sum())}

    ek.run(dataset.select(limit=AT_ONCE), model=model, concurrency=AT_ONCE, save=False, progress=False)
    return work


def made_cases(cases: int) -> list[dict[str, Any]]:
    return [{"id": f"case-{n}", "input": text_of(n), "expected_tool": "list_files"} for n in range(cases)]


def with_bare_client(url: str, cases: int, *, over_aiohttp: bool = False) -> Callable[[], dict[str, Any]]:
    """`openai.AsyncOpenAI` as its documentation has it; over aiohttp with replies left raw, what it can do at best."""
    import openai

    async def fetch(count: int) -> dict[str, Any]:
        lost = 0
        transport = openai.DefaultAioHttpClient() if over_aiohttp else None
        async with openai.AsyncOpenAI(api_key="none", base_url=url, http_client=transport) as client:

            async def ask(number: int) -> None:
                nonlocal lost
                body: dict[str, Any] = {
                    "model": MODEL,
                    "messages": [{"role": "user", "content": text_of(number)}],
                    "tools": TOOLS,
                }
                try:
                    if over_aiohttp:
                        await client.post("/chat/completions", body=body, cast_to=object)
                    else:
                        await client.chat.completions.create(**body)
                except openai.APIError:
                    lost += 1

            await at_once(ask, count)
        return {"lost": lost}

    asyncio.run(fetch(AT_ONCE))
    return lambda: asyncio.run(fetch(cases))


def with_aiohttp_client(url: str, cases: int) -> Callable[[], dict[str, Any]]:
    return with_bare_client(url, cases, over_aiohttp=True)


def with_inspect(url: str, cases: int) -> Callable[[], dict[str, Any]]:
    from inspect_task import evaluate

    def work(count: int = cases) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            return {"lost": evaluate(url, MODEL, [text_of(number) for number in range(count)], NAMES, folder)}

    work(AT_ONCE)
    return work


MEASURED = {
    "evalkit": with_evalkit,
    "AsyncOpenAI, default transport": with_bare_client,
    "AsyncOpenAI over aiohttp, raw replies": with_aiohttp_client,
    "inspect_ai": with_inspect,
}


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(name: str, url: str, cases: int) -> None:
    """In a child: do the work once, print its cost as JSON."""
    work = MEASURED[name](url, cases)
    before_mib, wall, cpu = peak_mib(), time.perf_counter(), time.process_time()
    said = work()
    cost = {"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall}
    print(json.dumps({**cost, "over_imports_mib": peak_mib() - before_mib, "peak_mib": peak_mib(), **said}))


@contextmanager
def server(*options: str) -> Iterator[str]:
    """The URL of the server, in a process of its own."""
    command = [sys.executable, str(ROOT / "tests" / "loopback.py"), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def measured(name: str, cases: int, *options: str) -> dict[str, Any]:
    """The cost of one piece of work against a fresh server, and how many requests the server counted."""
    with server(*options) as url:
        command = [sys.executable, __file__, "--measure", name, "--url", url, "--cases", str(cases)]
        keyed = {**os.environ, "OPENAI_API_KEY": "none", "INSPECT_DISABLE_UPDATE_CHECK": "1"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=keyed)
        if done.returncode:
            raise SystemExit(f"{name}: {done.stderr.strip().splitlines()[-1]}")
        with urlopen(f"{url.removesuffix('/v1')}/count") as reply:
            asked = sum(json.load(reply).values()) - AT_ONCE  # the first so many warm up
    return {**json.loads(done.stdout.splitlines()[-1]), "requests": asked}


def show(title: str, heads: list[str], rows: list[list[Any]]) -> None:
    """Print a Markdown table."""
    lines = [f"\n### {title}\n", f"| {' | '.join(heads)} |", "| --- |" + " ---: |" * (len(heads) - 1)]
    for row in rows:
        cells = [f"{cell:,.2f}" if isinstance(cell, float) else str(cell) for cell in row]
        lines.append(f"| {' | '.join(cells)} |")
    print("\n".join(lines), flush=True)


def cost(cases: int, names: list[str]) -> None:
    found = {name: measured(name, cases) for name in names}
    if any(one["lost"] for one in found.values()):
        raise SystemExit(f"not all cases were answered: { {name: one['lost'] for name, one in found.items()} }")
    base = found["AsyncOpenAI, default transport"]["cpu_s"]
    show(
        f"A server that answers at once, {cases:,} cases",
        ["who", "CPU ms a case", "times the bare client", "wall s", "MiB over its imports"],
        [
            [name, one["cpu_s"] / cases * 1e3, one["cpu_s"] / base, one["wall_s"], round(one["over_imports_mib"])]
            for name, one in found.items()
        ],
    )


def latency(cases: int) -> None:
    cases -= cases % AT_ONCE  # whole rounds
    ideal = cases * 0.3 / AT_ONCE
    found = {name: measured(name, cases, "--delay", "0.3") for name in list(MEASURED)[:3]}
    show(
        f"A server that takes 300 ms, {cases:,} cases, ideally {ideal:.1f} s",
        ["who", "wall s", "share of the ideal rate"],
        [[name, one["wall_s"], ideal / one["wall_s"]] for name, one in found.items()],
    )


def overload(cases: int) -> None:
    ideal = cases * 0.3 / 32
    rows = []
    for name in list(MEASURED)[:2]:
        one = measured(name, cases, "--delay", "0.3", "--allow", "32")
        rows.append([name, one["lost"], one["wall_s"], ideal / one["wall_s"], one["requests"] / cases])
    show(
        f"A server that takes 300 ms and allows 32 at once, asked by 64; {cases:,} cases",
        ["who", "cases lost", "wall s", "share of the rate of 32", "requests a case"],
        rows,
    )


def growth(_: int) -> None:
    """Processor seconds and memory of `evalkit run`, the command, by the number of cases."""
    rows = []
    for cases in (2_000, 10_000, 100_000):
        with server() as url, tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "many.json"
            source.write_text(json.dumps({"name": "many", "tools": TOOLS, "cases": made_cases(cases)}))
            command = [sys.executable, "-m", "evalkit", "run", str(source), "--model", MODEL, "--base-url", url,
                       "--concurrency", str(AT_ONCE), "--results-dir", folder]  # fmt: skip
            code, used = of_command(command)
            assert code == 0
        rows.append(
            [
                f"{cases:,}",
                used.ru_utime + used.ru_stime,
                (used.ru_utime + used.ru_stime) / cases * 1e3,
                round(used.ru_maxrss / 1024),
            ]
        )
    show("`evalkit run` by the number of cases", ["cases", "CPU s", "CPU ms a case", "MiB in all"], rows)


def of_command(command: list[str]) -> tuple[int, Any]:
    """Exit code and resources of a command whose output is thrown away."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "OPENAI_API_KEY": "none"})
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used


def start(_: int) -> None:
    """What it takes to begin: the best of five."""
    python = [sys.executable]
    with server() as url, tempfile.TemporaryDirectory() as folder:
        six = [*python, "-m", "evalkit", "run", str(ROOT / "eval_data" / "file_tools.json"), "--model", MODEL,
               "--base-url", url, "--results-dir", folder]  # fmt: skip
        commands = {
            "bare Python": [*python, "-c", "pass"],
            "`import evalkit`": [*python, "-c", "import evalkit"],
            "`evalkit --help`": [*python, "-m", "evalkit", "--help"],
            "`import openai`": [*python, "-c", "import openai"],
            "`evalkit run`, six cases": six,
        }
        rows = []
        for name, command in commands.items():
            of_command(command)  # so that its files are in the disk's cache
            costs = [of_command(command)[1] for _ in range(5)]
            rows.append([name, min(used.ru_utime + used.ru_stime for used in costs)])
    show("Starting, the best of five", ["what", "CPU s"], rows)


PARTS: dict[str, Callable[[int], None]] = {
    "latency": latency, "overload": overload, "growth": growth, "start": start,
}  # fmt: skip


def main() -> None:
    """Measure what is asked for and print a Markdown table of each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=2_000)
    parser.add_argument("--only", nargs="+", choices=["cost", *PARTS], default=["cost", *PARTS])
    parser.add_argument("--inspect", action="store_true", help="inspect_ai too")
    parser.add_argument("--measure", choices=MEASURED, help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        return measure(given.measure, given.url, given.cases)
    for part in given.only:
        if part == "cost":
            cost(given.cases, list(MEASURED) if given.inspect else list(MEASURED)[:3])
        else:
            PARTS[part](given.cases)
    return None


if __name__ == "__main__":
    main()
