"""A reviewer that takes its time holds up no request, and an interrupt loses no answer that was paid for."""

import asyncio
import threading

import pytest

import evalkit as ek
from evalkit import review_registry
from evalkit.loops import to_the_end
from evalkit.progress import Bar

PATIENCE_S = 60  # a kill switch: nothing comes near it unless it hangs


@pytest.fixture
def gate(monkeypatch):
    """A reviewer `gated` that begins, says so, and waits to be released."""
    monkeypatch.setattr(review_registry, "_known", dict(review_registry._known))
    begun, released = threading.Event(), threading.Event()

    @ek.reviewer
    def gated(answer):
        begun.set()
        return released.wait(PATIENCE_S)

    yield begun, released
    released.set()


def dataset(count):
    cases = [{"id": f"c{n}", "input": f"question {n}", "reviewers": ["gated"]} for n in range(count)]
    return ek.Dataset(name="gated", cases=cases)


def test_others_are_asked_while_a_reviewer_takes_its_time(gate, tmp_path):
    begun, released = gate

    async def model(messages, tools):
        if messages[-1]["content"] == "question 1":
            await asyncio.to_thread(begun.wait, PATIENCE_S)
            released.set()  # only the event loop, were it free, could come here
        return "fine"

    results = ek.run(dataset(2), model=model, concurrency=2, results_dir=tmp_path, progress=False)
    assert results["passed"].tolist() == [True, True]


async def test_an_answer_that_is_being_reviewed_when_the_run_is_stopped_is_kept(gate, tmp_path):
    begun, released = gate
    running = asyncio.create_task(
        ek.run_async(dataset(5), model=lambda messages, tools: "fine", concurrency=1, results_dir=tmp_path)
    )
    await asyncio.to_thread(begun.wait, PATIENCE_S)
    running.cancel()
    await asyncio.sleep(0)
    released.set()
    results = await running
    assert results["case_id"].tolist() == ["c0"]
    assert (results["passed"].tolist(), results["status"].tolist()) == ([True], ["partial"])


async def test_work_that_must_be_done_is_done_however_often_it_is_cancelled():
    steps = []
    released = asyncio.Event()

    async def work():
        await released.wait()
        steps.append("done")
        raise ValueError("nobody is told of this twice")

    async def awaits():
        await to_the_end(work())

    task = asyncio.create_task(awaits())
    for _ in range(3):
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.sleep(0)
    released.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert steps == ["done"]


def test_a_reviewer_that_leaves_by_the_back_door_is_that_trials_error(monkeypatch):
    monkeypatch.setattr(review_registry, "_known", dict(review_registry._known))

    @ek.reviewer
    def leaves(answer):
        raise SystemExit(3)

    cases = [{"input": "a", "reviewers": ["leaves"]}, {"input": "b", "expected": "fine"}]
    made = ek.Dataset(name="d", cases=cases)
    results = ek.run(made, model=lambda messages, tools: "fine", save=False, progress=False)
    assert results["outcome"].tolist() == ["error", "passed"]
    assert results["error_kind"].iloc[0] == "reviewer"


def test_no_bar_is_drawn_where_nobody_looks_though_a_kernel_is_installed(monkeypatch):
    pytest.importorskip("ipykernel")
    monkeypatch.delenv("EVALKIT_NO_PROGRESS", raising=False)
    assert Bar(None)._shown is False
