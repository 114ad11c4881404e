"""A run in a process of its own that is killed at random moments and resumed each time, and what came of it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from evalkit.journal import read_records
from loopback import Endpoint

AT_ONCE = 4


@dataclass
class Found:
    """`lost`: journaled trials that a later journal lacks; `asked_again`: texts asked although their trial stood."""

    run_id: str = ""
    kills: int = 0
    lost: set[tuple[str, int]] = field(default_factory=set)
    asked_again: set[str] = field(default_factory=set)
    returncode: int | None = None
    errors: str = ""


def text_of(case_id: str) -> str:
    return f"list {int(case_id[1:])}"


def make_project(folder: Path, cases: int) -> Path:
    """A project with the dataset `many`."""
    (folder / "eval_data").mkdir()
    lines = [json.dumps({"id": f"c{n:03}", "input": f"list {n}", "expected_tool": "list_files"}) for n in range(cases)]
    (folder / "eval_data" / "many.jsonl").write_text("\n".join(lines))
    (folder / "eval_data" / "many.tools.json").write_text('[{"name": "list_files"}]')
    return folder


def start(project: Path, endpoint: Endpoint, *words: str) -> subprocess.Popen[str]:
    """The command, in a group of its own."""
    environment = os.environ | {"OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": "none"}
    command = [sys.executable, "-m", "evalkit", *words, "--concurrency", str(AT_ONCE)]
    return subprocess.Popen(
        command, cwd=project, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


def journal_of(project: Path) -> Path | None:
    return next((project / "results" / ".journal").glob("*.jsonl"), None)


def journaled(project: Path) -> set[tuple[str, int]] | None:
    """The trials in the journal; None where there is none (any more)."""
    journal = journal_of(project)
    try:
        return None if journal is None else set(read_records(journal))
    except FileNotFoundError:
        return None


def kill_again_and_again(project: Path, endpoint: Endpoint, kills: int, seed: int = 7) -> Found:
    """Run `many`, killing it after a few more trials each time, so often; then let it end."""
    chance, found = random.Random(seed), Found()
    process = start(project, endpoint, "run", "many", "--model", "mock-small")
    while (journal := journal_of(project)) is None:
        time.sleep(0.01)
    found.run_id, known = journal.stem, set[tuple[str, int]]()
    stood: dict[str, int] = {}  # how often each text had been asked when its trial was first seen in the journal
    while found.kills < kills:
        enough = len(known) + chance.randint(0, 3)
        while process.poll() is None and (now := journaled(project)) is not None and len(now) < enough:
            time.sleep(chance.random() / 100)
        time.sleep(chance.random() / 20)
        if process.poll() is not None:
            break
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        found.kills += 1
        standing = journaled(project)
        if standing is None:  # it was killed after its file was written
            found.returncode = 0
            return _with_asked_again(found, stood, endpoint)
        found.lost |= known - standing
        known = standing
        for case_id, _ in known:
            stood.setdefault(text_of(case_id), endpoint.asked[text_of(case_id)])
        process = start(project, endpoint, "resume", found.run_id)
    _, found.errors = process.communicate()
    found.returncode = process.returncode
    return _with_asked_again(found, stood, endpoint)


def _with_asked_again(found: Found, stood: dict[str, int], endpoint: Endpoint) -> Found:
    found.asked_again = {text for text, asked in stood.items() if endpoint.asked[text] > asked}
    return found
