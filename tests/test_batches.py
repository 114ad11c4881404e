"""Runs by the Batch API, against a real HTTP server that speaks it."""

import json

import pytest

import evalkit as ek
from evalkit.batch_parts import Batching
from fake_clock import FakeClock
from loopback_replies import fails, pick_by_words

CASES = 12
BATCH_COLUMNS = ["run_id", "started_at", "latency_s", "cost_usd"]
PRICES = {"mock-small": {"input": 2.0, "output": 8.0}}


def cases(count=CASES):
    return [{"id": f"c{n:02}", "input": f"list {n}", "expected_tool": "list_files"} for n in range(count)]


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "eval_data").mkdir()
    (tmp_path / "eval_data" / "many.jsonl").write_text("\n".join(json.dumps(case) for case in cases()))
    (tmp_path / "eval_data" / "many.tools.json").write_text('[{"name": "list_files"}, {"name": "read_file"}]')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def model(server, **more):
    asked = ek.OpenAIModel("mock-small", base_url=server.url, **more)
    asked.clock = FakeClock()
    return asked


def run(server, dataset="many", batch=True, **more):
    return ek.run(dataset, model=more.pop("model", None) or model(server), batch=batch, progress=False, **more)


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_run_by_batch_equals_a_run_one_by_one(server, project, api):
    server.looks = 3
    settings = {"api": api, "temperature": 0.5, "extra": {"seed": 7, "max_tokens": 50}}
    asked = {"model": model(server, **settings), "trials": 2, "prices": PRICES}
    by_batch, live = run(server, **asked), ek.run("many", **asked, progress=False)
    rest = [name for name in by_batch.columns if name not in BATCH_COLUMNS]
    assert by_batch[rest].equals(live[rest])
    assert by_batch["latency_s"].isna().all()
    assert live["latency_s"].notna().all()
    assert by_batch["cost_usd"].tolist() == pytest.approx((live["cost_usd"] / 2).tolist())
    sent = [entry["body"] for entry in server.inputs()[0]]
    assert sorted(map(json.dumps, sent)) == sorted(json.dumps(request.body) for request in server.requests)
    assert {entry["url"] for entry in server.inputs()[0]} == {request.path for request in server.requests}
    assert next(iter(server.batches.values()))["endpoint"] == server.requests[0].path
