"""Runs by the Batch API, against a real HTTP server that speaks it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evalkit as ek
from evalkit.batch_parts import Batching, Part, Trials
from evalkit.journal import Journal, read_records
from evalkit.plans import make_plan
from evalkit.recording import start_recording
from evalkit.run_differences import RunAbout, run_differences, stored_by_id
from fake_clock import FakeClock
from judge_replies import as_asked, is_for_judge
from loopback_replies import Reply, always, fails, pick_by_words, says

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


def stored(project):
    """The runs that there are, finished or not."""
    return [*(project / "results").glob("*.parquet"), *(project / "results").glob(".journal/*.jsonl")]


def resume(server, run_id="latest", **more):
    return ek.resume(run_id, model=model(server), progress=False, **more)


def held(server):
    """What each batch asks, as the texts of its requests."""
    return [[entry["body"]["messages"][-1]["content"] for entry in inputs] for inputs in server.inputs()]


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


# Parts


def test_a_run_beyond_the_limits_of_a_batch_goes_in_several(server, project):
    results = run(server, batch=Batching(most_requests=5))
    assert [len(texts) for texts in held(server)] == [5, 5, 2]
    assert (len(server.uploads), set(server.asked_by_batch.values())) == (3, {1})
    assert (results["passed"].all(), results["status"].iloc[0]) == (True, "complete")


def test_no_input_file_is_larger_than_allowed(server, project):
    run(server, batch=Batching(most_bytes=1500))
    sizes = [len(text) for name, text in server.files.items() if "output" not in name]
    assert len(sizes) > 2
    assert max(sizes) <= 1500
    assert sum(server.asked_by_batch.values()) == CASES


def test_the_custom_ids_stand_for_cases_of_any_name(server, project):
    names = ["a", "1-trial-1", 'ä 中文 "quoted" \\u0000 {}', "x" * 200, "case-1-trial-2"]
    dataset = ek.Dataset(
        name="odd", tools=ek.load_dataset("many").tools,
        cases=[{"id": name, "input": f"list {n} files", "expected_tool": "list_files"} for n, name in enumerate(names)],
    )  # fmt: skip
    server.script = lambda request: says(f"got {request.text}")
    results = run(server, dataset, trials=2)
    assert [*zip(results["case_id"], results["answer"], strict=True)] == [
        (name, f"got list {n} files") for n, name in enumerate(names) for _ in range(2)
    ]
    assert max(len(entry["custom_id"]) for entry in server.inputs()[0]) <= 64


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"most_requests": 50_001}, "most_requests must be from 1 to 50000, got 50001"),
        ({"most_bytes": 0}, "most_bytes must be from 1 to 200000000, got 0"),
        ({"poll_s": 90}, "poll_s must be 0 or more seconds, and no more than longest_poll_s; got 90 and 60.0"),
    ],
)
def test_limits_that_make_no_sense_are_refused(limits, said):
    with pytest.raises(ek.SettingsError, match=said):
        Batching(**limits)


@given(st.lists(st.integers(0, 300), unique=True).map(sorted), st.integers(1, 7))
def test_a_part_is_the_same_after_it_was_written_down(places, case_count):
    part = Part(3, "token", tuple(places), 1.5, True, "file-1", "batch-1")
    assert Part.from_dict(json.loads(json.dumps(part.as_dict()))) == part
    trials = Trials([f"c{n}" for n in range(case_count)])
    assert [trials.place(trials.key(place)) for place in places] == places
    assert len({trials.custom_id(place) for place in places}) == len(places)


def test_a_journal_keeps_notes_beside_trials(tmp_path):
    with Journal.create(tmp_path / "r.jsonl", {"run_id": "r"}, {}) as journal:
        journal.note({"number": 1})
        journal.append({"case_id": "a", "trial": 1})
        journal.note({"number": 2})
        assert journal.notes() == [{"number": 1}, {"number": 2}]
        journal.append({"case_id": "b", "trial": 1})
        assert [row["case_id"] for row in journal.rows({"a": 0, "b": 1})] == ["a", "b"]
    assert list(read_records(tmp_path / "r.jsonl")) == [("a", 1), ("b", 1)]


# How batches end


def test_what_a_batch_did_before_it_expired_is_scored_and_the_rest_can_be_asked_again(server, project):
    server.ends, server.share = "expired", 0.5
    results = run(server)
    assert (results["passed"][:6].all(), results["passed"][6:].isna().all()) == (True, True)
    late = results[results["passed"].isna()]
    assert set(late["error_kind"]) == {"timeout"}
    assert "the batch expired: no answer from 127.0.0.1" in late["error"].iloc[0]
    assert results["status"].iloc[0] == "complete"
    server.ends, server.share = "completed", 1.0
    again = resume(server, errors=True)
    assert held(server)[1] == [f"list {n}" for n in range(6, CASES)]
    assert (again["passed"].all(), again["attempts"].tolist()) == (True, [1] * 6 + [2] * 6)


def test_lines_that_an_expired_batch_lacks_altogether_are_errors_too(server, project):
    server.ends, server.share = "expired", 0.5
    server.edit = lambda output, errors: errors.clear()
    assert run(server)["error_kind"].dropna().tolist() == ["timeout"] * 6


def test_an_input_file_that_is_refused_stores_nothing_and_says_what_the_endpoint_says(server, project):
    server.ends = "failed"
    server.errors = [{"code": "invalid_json_line", "message": "This line is not parseable.", "line": 3, "param": None}]
    with pytest.raises(ek.SettingsError, match=r"did not begin batch batch-1: This line is not parseable. \(line 3 of"):
        run(server)
    assert stored(project) == []


def test_a_second_batch_that_is_refused_keeps_the_first_and_is_submitted_anew(server, project):
    server.endings = {"batch-2": "failed"}
    server.errors = [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached.", "line": None}]
    with pytest.raises(ek.RunStopped, match=r"Enqueued token limit reached.*6 of 12 trials are kept.*evalkit resume"):
        run(server, batch=Batching(most_requests=6))
    results = resume(server)
    assert (len(server.batches), held(server)[2]) == (3, held(server)[1])
    assert (results["passed"].all(), set(server.asked_by_batch.values())) == (True, {1})


def test_a_batch_that_is_cancelled_keeps_what_was_done_and_the_rest_is_still_to_do(server, project):
    server.ends, server.share, server.looks = "cancelled", 0.25, 2
    with pytest.raises(ek.RunStopped, match=r"batch-1 was cancelled with 3 of 12 requests done. 3 of 12 trials"):
        run(server)
    server.ends, server.share = "completed", 1.0
    results = resume(server)
    assert held(server)[1] == [f"list {n}" for n in range(3, CASES)]
    assert (len(results), results["passed"].all(), set(results["attempts"])) == (CASES, True, {1})


MOODS = """
400 404 500 503-html 429-for-ever 429-huge html-200 truncated-json error-200 null-choices no-choices null-message
dict-arguments null-arguments empty-arguments no-arguments cut-arguments custom-call no-id no-function refusal
content-filter length reasoning empty-content parts function-call call-in-text
""".split()


def test_lines_of_any_kind_are_read_as_replies_of_that_kind(server, project):
    wanted = [{"id": name, "input": f"list [{name}]", "expected_tool": "list_files"} for name in MOODS]
    dataset = ek.Dataset(name="moods", cases=[*cases(1), *wanted], tools=ek.load_dataset("many").tools)
    by_batch = run(server, dataset).set_index("case_id")
    live = ek.run(dataset, model=model(server), progress=False, save=False).set_index("case_id")
    rest = [name for name in live.columns if name not in (*BATCH_COLUMNS, "attempts", "error", "reason")]
    assert by_batch[rest].equals(live[rest])
    same = live.index.drop("429-huge")  # where a request says why it is not asked again
    assert by_batch.loc[same, ["error", "reason"]].equals(live.loc[same, ["error", "reason"]])
    assert by_batch["attempts"].eq(1).all()


def test_lines_without_credit_or_key_are_errors_and_stop_nothing(server, project):
    wanted = [{"id": name, "input": f"list [{name}]", "expected_tool": "list_files"} for name in ("quota", "401")]
    dataset = ek.Dataset(name="gone", cases=[*wanted, *cases(1)], tools=ek.load_dataset("many").tools)
    results = run(server, dataset)
    assert results["error_kind"].fillna("").tolist() == ["quota", "auth", ""]
    assert results["status"].iloc[0] == "complete"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": "server_error", "message": "It broke."}, "server"),
        ({"code": "rate_limit_exceeded", "message": "Slow down."}, "rate_limit"),
        ({"code": "insufficient_quota", "message": "No credit."}, "quota"),
        (None, "server"),
    ],
)
def test_lines_without_a_response_are_errors_in_the_words_of_the_batch(server, project, error, kind):
    def edit(output, errors):
        errors.append(json.dumps({**json.loads(output.pop(2)), "response": None, "error": error}))

    server.edit = edit
    failed = run(server).iloc[2]
    assert failed["error_kind"] == kind
    assert failed["error"].startswith("the batch at 127.0.0.1")
    assert (error or {}).get("message", "") in failed["error"]


def test_requests_that_are_all_refused_alike_are_a_mistake_of_the_settings(server, project):
    server.script = always(fails(400, "Unsupported parameter: 'temperature'"))
    with pytest.raises(ek.SettingsError, match=r"refused each of the first 8 requests: HTTP 400 .*'temperature'"):
        run(server)
    assert stored(project) == []


def test_a_batch_of_errors_is_recorded_whole(server, project):
    server.script = always(fails(500, "boom"))
    many = ek.Dataset(name="more", cases=cases(70), tools=ek.load_dataset("many").tools)
    assert run(server, many)["error_kind"].tolist() == ["server"] * 70


def test_odd_lines_are_left_out_and_what_has_no_line_is_an_error(server, project):
    def edit(output, errors):
        first, stranger = json.loads(output[0]), json.loads(output[1])
        first["response"]["body"]["choices"][0]["message"] = {"content": "a later line"}
        output[1] = "{garbage"
        output[2] = json.dumps(stranger | {"custom_id": "somebody-else"})
        output += [json.dumps(first), "", '"text"', json.dumps({"custom_id": 5})]

    server.edit = edit
    with pytest.warns(UserWarning, match=r"answer no request of it: line 2 is not JSON.*line 3 is for 'somebody-else'"):
        results = run(server)
    assert results["error_kind"].fillna("").tolist() == ["", "bad_response", "bad_response", *[""] * 9]
    assert "hold no line for this request" in results["error"].iloc[1]
    assert results["actual_tool"].iloc[0] == "list_files"


# Judges


def quiz():
    wanted = [{"id": f"q{n}", "input": f"Question {n}", "reviewers": ["closed_qa"]} for n in range(4)]
    return ek.Dataset(name="quiz", cases=wanted)


def school(request):
    return as_asked(request, "Y") if is_for_judge(request) else says(f"Answer to {request.text}")


def test_answers_come_by_batch_and_judges_are_asked_at_once(server, project, monkeypatch):
    monkeypatch.delenv("EVALKIT_JUDGE_MODEL", raising=False)
    server.script = school
    by_batch, live = run(server, quiz()), ek.run(quiz(), model=model(server), progress=False)
    rest = [name for name in by_batch.columns if name not in (*BATCH_COLUMNS, "reviews")]
    assert by_batch[rest].equals(live[rest])
    assert by_batch["passed"].all()
    assert sum(server.asked_by_batch.values()) == 4
    assert sum(map(is_for_judge, server.requests)) == 8


def test_answers_that_were_not_judged_are_judged_later_without_a_batch(server, project):
    server.script = lambda request: fails(401, "wrong key") if is_for_judge(request) else school(request)
    with pytest.raises(ek.RunStopped, match=r"the judge answers no more"):
        run(server, quiz())
    server.script = school
    results = resume(server)
    assert (results["passed"].all(), len(results)) == (True, 4)
    assert (len(server.batches), set(server.asked_by_batch.values())) == (1, {1})


# Closing the laptop


def start(project, server, *words):
    environment = os.environ | {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"}
    return subprocess.Popen(
        [sys.executable, "-m", "evalkit", *words], cwd=project, env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def wait_for(is_so):
    while not is_so():
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("stall", "uploads"), [("POST /files", 2), ("POST /batches", 1), ("GET /batches", 1), ("GET /files/content", 1)]
)
def test_a_run_killed_at_any_step_is_taken_up_with_nothing_asked_twice(server, project, stall, uploads):
    server.stalls = {stall}
    process = start(project, server, "run", "many", "--model", "mock-small", "--batch")
    wait_for(lambda: server.seen[stall])
    wait_for(lambda: stall != "POST /files" or server.uploads)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    server.stalls.clear()
    run_id = stored(project)[0].stem
    output, errors = start(project, server, "resume", run_id).communicate()
    assert errors == ""
    assert "Passed: 12/12" in output
    assert (len(server.batches), len(server.uploads)) == (1, uploads)
    assert set(server.asked_by_batch.values()) == {1}
    assert len(ek.load_run(run_id)) == CASES
    assert server.requests == []


@pytest.mark.parametrize("status", [400, 404, 422])
def test_a_batch_whose_input_file_is_gone_before_it_was_made_is_made_anew(server, project, status):
    server.faults = {"POST /batches": [Reply({}, stall=True)]}
    process = start(project, server, "run", "many", "--model", "mock-small", "--batch")
    wait_for(lambda: server.seen["POST /batches"])
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    server.files.clear()
    create = server._create

    def checked(request):
        known = request.body["input_file_id"] in server.files
        return create(request) if known else fails(status, "No such File object: file-1")

    server._create = checked
    results = resume(server, stored(project)[0].stem)
    assert results["passed"].all()
    assert (len(server.batches), len(server.uploads), set(server.asked_by_batch.values())) == (1, 2, {1})


def test_a_batch_is_found_again_among_the_many_of_an_account(server, project):
    server.stalls = {"POST /batches"}
    process = start(project, server, "run", "many", "--model", "mock-small", "--batch")
    wait_for(lambda: server.batches)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    others = {f"batch-x{n}": {**server.batches["batch-1"], "id": f"batch-x{n}", "metadata": None} for n in range(5)}
    server.batches |= others
    results = resume(server, stored(project)[0].stem)
    assert (results["passed"].all(), len(server.batches), server.seen["POST /batches"]) == (True, 6, 1)


def test_a_run_killed_while_judges_are_asked_asks_no_model_again(server, project):
    wanted = [{"id": f"q{n}", "input": f"Question {n}", "reviewers": ["closed_qa"]} for n in range(6)]
    (project / "eval_data" / "quiz.json").write_text(json.dumps({"cases": wanted}))

    def script(request):
        judged = sum(map(is_for_judge, server.requests))
        return Reply(stall=True, body="{}") if is_for_judge(request) and judged > 3 else school(request)

    server.script = script
    process = start(project, server, "run", "quiz", "--model", "mock-small", "--batch", "--concurrency", "2")
    wait_for(lambda: sum(map(is_for_judge, server.requests)) > 4)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert len(read_records(stored(project)[0])) >= 3
    server.script = school
    results = resume(server, stored(project)[0].stem)
    assert (results["passed"].all(), len(results), len(server.batches)) == (True, 6, 1)
    assert set(server.asked_by_batch.values()) == {1}


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_a_wait_that_is_interrupted_leaves_the_batch_to_the_endpoint_and_says_so(server, project, signal_number):
    server.looks = 1_000_000
    process = start(project, server, "run", "many", "--model", "mock-small", "--batch")
    wait_for(lambda: server.seen["GET /batches"])
    process.send_signal(signal_number)
    output, errors = process.communicate()
    assert (process.returncode, errors) == (3, "")
    assert "PARTIAL: 0/12 trials." in output
    assert "Batch batch-1 goes on at the endpoint meanwhile." in output
    run_id = stored(project)[0].stem
    assert f"`evalkit resume {run_id}`" in output
    server.looks = 0
    output, errors = start(project, server, "resume", run_id).communicate()
    assert "Passed: 12/12" in output
    assert (len(server.batches), len(server.uploads)) == (1, 1)
    assert set(server.asked_by_batch.values()) == {1}


def test_an_interrupted_wait_returns_what_other_batches_brought(server, project):
    server.looks = 1_000_000

    async def interrupted():
        asked = model(server)
        asked.clock.sleep = asyncio.sleep
        task = asyncio.create_task(
            ek.run_async("many", model=asked, batch=Batching(most_requests=6, poll_s=0.01), progress=False)
        )
        while server.seen["GET /batches"] < 3:
            await asyncio.sleep(0.01)
        server._end(server.batches["batch-1"] | {"status": "completed"})
        server.batches["batch-1"] |= {"status": "completed", "output_file_id": "file-output-batch-1"}
        while server.seen["GET /files/content"] < 1 or len(server.batches) < 2:
            await asyncio.sleep(0.01)
        seen = server.seen["GET /batches"]
        while server.seen["GET /batches"] < seen + 3:
            await asyncio.sleep(0.01)
        task.cancel()
        return await task

    results = asyncio.run(interrupted())
    assert (len(results), results["status"].iloc[0]) == (6, "partial")
    server.looks = 0
    assert len(resume(server, results["run_id"].iloc[0])) == CASES
    assert (len(server.batches), set(server.asked_by_batch.values())) == (2, {1})


def test_trials_asked_again_by_a_batch_are_taken_from_it_by_a_plain_resume(server, project):
    server.script = lambda request: fails(500, "boom") if request.text.endswith("3") else pick_by_words(request)
    run_id = run(server)["run_id"].iloc[0]
    server.script, server.looks = pick_by_words, 1_000_000
    process = start(project, server, "resume", run_id, "--errors")
    wait_for(lambda: "batch-2" in server.batches and server.batches["batch-2"]["looks"])
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    server.looks = 0
    results = resume(server, run_id)
    assert (results["passed"].all(), results["attempts"].tolist()) == (True, [1, 1, 1, 2, *[1] * 8])
    assert [len(texts) for texts in held(server)] == [12, 1]


def test_runs_of_several_datasets_wait_for_their_batches_together(server, project):
    (project / "eval_data" / "few.json").write_text(json.dumps(cases(3)))
    (project / "eval_data" / "few.tools.json").write_bytes((project / "eval_data" / "many.tools.json").read_bytes())
    server.looks = 2
    words = ("run", "many", "few", "--model", "mock-small", "--batch")
    process = start(project, server, *words)
    output, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert ("Passed: 12/12" in output, "Passed: 3/3" in output, len(stored(project))) == (True, True, 2)
    assert {batch["looks"] for batch in server.batches.values()} == {3}
    server.endings, server.errors = {"batch-3": "failed"}, [{"message": "no such model", "line": 1}]
    process = start(project, server, *words)
    output, errors = process.communicate()
    assert (process.returncode, output.count("Passed: "), len(stored(project))) == (2, 1, 3)
    assert "did not begin batch batch-3: no such model" in errors


# The endpoint's moods


@pytest.mark.parametrize("status", [404, 405, 501])
@pytest.mark.parametrize("what", ["POST /files", "POST /batches"])
def test_an_endpoint_without_a_batch_api_is_told_from_one_that_fails(server, project, status, what):
    server.faults = {what: [fails(status, "no such page", x_should_retry="false")]}
    with pytest.raises(ek.SettingsError, match=rf"has no Batch API: HTTP {status} for .*Leave --batch"):
        run(server)
    assert stored(project) == []


def test_faults_that_pass_are_waited_for(server, project):
    server.looks = 2
    server.faults = {
        "POST /files": [fails(500, "boom"), fails(429, "slow down", retry_after="3"), Reply(reset=True)],
        "POST /batches": [fails(503, "boom")],
        "GET /batches": [Reply({"data": []}), fails(502, "boom"), Reply(reset=True), Reply("<html>")],
        "GET /files/content": [fails(500, "boom"), Reply("half", cut=2, headers={"content-length": "4"})],
    }
    results = run(server)
    assert (results["passed"].all(), len(results), len(server.batches)) == (True, CASES, 1)
    assert all(not left for left in server.faults.values())


def test_a_batch_that_was_made_though_the_endpoint_said_otherwise_is_not_made_again(server, project):
    server.lies = {"POST /batches"}
    assert run(server)["passed"].all()
    assert (len(server.batches), server.seen["POST /batches"]) == (1, 1)


def test_a_batch_that_its_key_cannot_see_stops_the_run_and_keeps_it(server, project):
    server.looks = 3
    server.faults = {"GET /batches": [fails(401, "wrong key")]}
    with pytest.raises(
        ek.RunStopped, match=r"Is this the key that batch batch-1 was made with.*goes on at the endpoint"
    ):
        run(server)
    assert resume(server)["passed"].all()
    assert len(server.batches) == 1


def test_what_the_endpoint_keeps_no_more_can_only_be_asked_again(server, project):
    server.faults = {"GET /batches": [fails(401, "wrong key")], "GET /files/content": [fails(404, "No such File")]}
    with pytest.raises(ek.RunStopped):
        run(server)
    with pytest.raises(ek.SettingsError, match=r"what batch batch-1 brought back is gone, and has to be asked again"):
        resume(server)
    assert resume(server)["passed"].all()
    assert len(server.batches) == 2


def test_an_id_that_would_move_the_cursor_is_no_id(server, project):
    server.faults = {"POST /files": [Reply({"id": "file-\x1b[2J"})]}
    with pytest.raises(ek.SettingsError, match=r"answered without an id"):
        run(server)
    assert server.batches == {}


def test_a_second_upload_that_fails_keeps_the_first_batch(server, project):
    upload, server._upload = server._upload, lambda request: upload(request) if not server.uploads else fails(403, "no")
    with pytest.raises(ek.RunStopped, match=r"the batch could not be carried out: HTTP 403.*0 of 12 trials are kept"):
        run(server, batch=Batching(most_requests=6))
    server._upload = upload
    assert resume(server)["passed"].all()
    assert (len(server.batches), set(server.asked_by_batch.values())) == (2, {1})


def test_the_key_is_nowhere(server, project):
    secret = "sk-planted-0123456789"
    server.faults = {"POST /files": [fails(400, f"bad file from {secret}")]}
    with pytest.raises(ek.SettingsError, match=r"bad file from \*\*\*"):
        run(server, model=model(server, api_key=secret))
    run(server, model=model(server, api_key=secret))
    assert stored(project)
    assert not any(secret.encode() in path.read_bytes() for path in stored(project))
    assert not any(secret in json.dumps(batch) for batch in server.batches.values())


def test_looks_grow_apart_and_say_how_far_it_is(server, project):
    server.looks, said = 9, []
    asked = model(server)
    recording = start_recording(make_plan("many", model=asked, batch=True))
    sleep = asked.clock.sleep

    async def noting(seconds):
        said.append(recording.tally.waiting)
        await sleep(seconds)

    asked.clock.sleep = noting
    recording.drive(progress=False)
    assert asked.clock.slept == pytest.approx([5, 7.5, 11.25, 16.875, 25.3125, 37.96875, 56.953125, 60, 60])
    assert set(said) == {"batch batch-1: 0 of 12 done"}


# What is stored and said


def test_a_batch_is_part_of_the_description_and_not_of_the_settings(server, project):
    by_batch, live = run(server), ek.run("many", model=model(server), progress=False)
    assert by_batch["settings_hash"].iloc[0] == live["settings_hash"].iloc[0]
    about = [
        RunAbout(run_id, {}, stored_by_id(run_id, None))
        for run_id in (live["run_id"].iloc[0], by_batch["run_id"].iloc[0])
    ]
    assert run_differences(*about)[["what", "baseline", "candidate"]].to_numpy().tolist() == [
        ["batch", "not set", "true"]
    ]


def test_a_run_that_is_not_saved_goes_by_batch_too(server, project):
    assert run(server, save=False)["passed"].all()
    assert stored(project) == []


def test_only_an_endpoint_is_asked_by_batch(project, capfd):
    for asked in ("lexical", lambda messages, tools: "text"):
        with pytest.raises(ek.SettingsError, match=r"cannot be asked by batch: .* Leave --batch"):
            ek.run("many", model=asked, batch=True)
    command = [sys.executable, "-m", "evalkit", "run", "many", "--model", "lexical", "--batch"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "evalkit: lexical cannot be asked by batch" in done.stderr


def test_a_dry_run_says_how_many_batches_at_what_price(project):
    (project / "pyproject.toml").write_text("[tool.evalkit.prices]\nnobody = { input = 2.0, output = 8.0 }\n")

    def dry(*words):
        command = [sys.executable, "-m", "evalkit", "run", "many", "--model", "nobody", "--dry-run", *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def price(text):
        return float(text.partition("USD ")[2].split()[0])

    assert "12 requests to nobody" in dry("--batch")
    assert "They would go in 1 batch, at half the price." in dry("--batch")
    assert price(dry("--batch")) == pytest.approx(price(dry()) / 2, abs=1e-4)
