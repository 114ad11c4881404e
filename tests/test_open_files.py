"""A process that may open few files loses no case: it asks fewer at once, and says so once."""

import errno
import os
import resource
import subprocess
import sys

import pytest

from evalkit.masking import Mask
from evalkit.open_files import is_full, room
from evalkit.records import Turn
from evalkit.request_failures import Failure, lost
from evalkit.retries import Asking, Gate
from fake_clock import FakeClock
from loopback import Endpoint
from loopback_replies import pick_by_words

FULL = Failure("connection", "nothing was sent.", retry=True, is_unsent=True)
BEYOND = """
import asyncio, evalkit as ek
from evalkit.execution import Execution
Execution._workers = lambda self, connections: 60
cases = [{"id": f"c{n:03}", "input": f"list {n}", "expected_tool": "list_files"} for n in range(120)]
dataset = ek.Dataset(name="many", cases=cases, tools=[{"name": "list_files"}])
results = ek.run(dataset, model=ek.OpenAIModel("m"), save=False, progress=False)
print("passed", results["passed"].sum(), "attempts", results["attempts"].max())
"""


def limited(files, words, folder, url):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    return subprocess.run(
        [sys.executable, *words], cwd=folder, preexec_fn=limit, capture_output=True, text=True, check=False,
        env=os.environ | {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"},
    )  # fmt: skip


def test_a_run_adapts_to_the_limit_of_open_files_and_says_so_once(tmp_path):
    lines = [f'{{"id": "c{n}", "input": "list {n}", "expected_tool": "list_files"}}' for n in range(150)]
    (tmp_path / "many.jsonl").write_text("\n".join(lines))
    (tmp_path / "many.tools.json").write_text('[{"name": "list_files"}]')
    with Endpoint(pick_by_words, delay_s=0.02) as endpoint:
        words = ["-m", "evalkit", "run", "many.jsonl", "--model", "m", "--concurrency", "100", "--results-dir", "r"]
        done = limited(48, words, tmp_path, endpoint.url)
        assert "Passed: 150/150" in done.stdout
        assert done.stderr.count("trials go on at once, not 100; `ulimit -n` raises the limit") == 1
        assert 2 <= endpoint.most_at_once <= 32
        assert len(endpoint.requests) == 150


def test_files_that_run_out_in_mid_run_are_no_cases_error(tmp_path):
    with Endpoint(pick_by_words, delay_s=0.4) as endpoint:  # long enough that all workers ask at the same time
        done = limited(48, ["-c", BEYOND], tmp_path, endpoint.url)
        assert "passed 120 attempts 1" in done.stdout
        assert done.stderr.count("too many open files: requests wait, and fewer go out at once") == 1
        assert len(endpoint.requests) == 120


async def test_a_request_that_was_not_sent_is_no_attempt():
    left = [FULL] * 4 + [Turn(answer="Hi")]

    async def send():
        return left.pop(0)

    clock = FakeClock()
    with pytest.warns(UserWarning, match="too many open files"):
        turn = await Asking(send, Gate(clock), max_attempts=1).run()
    assert (turn.answer, turn.attempts, clock.slept) == ("Hi", 1, [0.5, 1, 2, 4])


async def test_files_that_never_come_free_are_not_waited_for_without_end():
    async def send():
        return FULL

    clock = FakeClock()
    with pytest.warns(UserWarning, match="too many open files"):
        turn = await Asking(send, Gate(clock)).run()
    assert (turn.error_kind, turn.attempts) == ("connection", 0)
    assert 300 <= sum(clock.slept) < 310


def test_the_want_of_files_is_told_from_other_faults():
    outer = ConnectionError("cannot connect")
    outer.__cause__ = OSError(errno.EMFILE, "Too many open files")
    assert lost(outer, "host", timeout_s=5, mask=Mask()).is_unsent
    assert not lost(OSError(errno.ECONNREFUSED, "no"), "host", timeout_s=5, mask=Mask()).is_unsent
    assert (is_full(OSError(errno.ENFILE, "x")), is_full(OSError(errno.ENOSPC, "x"), ValueError())) == (True, False)
    assert room() >= 1
