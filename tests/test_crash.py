"""A real process, killed at random moments: nothing that was answered and journaled is lost or asked again."""

import os
import resource
import signal
import subprocess
import sys
import time

import pytest

import evalkit as ek
from evalkit.journal import read_records
from killing import journal_of, kill_again_and_again, make_project, start
from loopback_replies import Reply, pick_by_words

KILLS = 20
CASES = 120


@pytest.fixture
def project(tmp_path):
    return make_project(tmp_path, CASES)


@pytest.mark.slow
def test_a_run_killed_again_and_again_ends_as_an_undisturbed_one(endpoint, project):
    endpoint.delay_s = 0.05
    found = kill_again_and_again(project, endpoint, KILLS)
    assert (found.lost, found.asked_again) == (set(), set())
    assert (found.returncode, found.errors) == (0, "")
    assert found.kills >= 10
    results = ek.load_run(found.run_id, results_dir=project / "results")
    assert (len(results), results["status"].iloc[0], results["passed"].all()) == (CASES, "complete", True)
    dataset = ek.load_dataset(project / "eval_data" / "many.jsonl")
    undisturbed = ek.run(dataset, model=ek.OpenAIModel("mock-small", base_url=endpoint.url), save=False)
    same = ["case_id", "trial", "outcome", "reason", "passed", "score", "actual_tool", "actual_arguments", "tool_calls"]
    assert results[same].equals(undisturbed[same])


def test_trials_journaled_before_a_kill_are_in_the_result_and_not_asked_again(endpoint, project):
    def script(request):
        return Reply(delay_s=60) if sum(endpoint.asked.values()) > 30 else pick_by_words(request)

    endpoint.script = script
    process = start(project, endpoint, "run", "many", "--model", "mock-small")
    while journal_of(project) is None or len(read_records(journal_of(project))) < 30:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    run_id = journal_of(project).stem
    finished = {f"list {int(case_id[1:])}" for case_id, _ in read_records(journal_of(project))}
    listed = ek.list_runs(results_dir=project / "results").iloc[0]
    assert (listed["trials"], listed["planned"], listed["resume"]) == (30, CASES, f"evalkit resume {run_id}")
    endpoint.script = pick_by_words
    process = start(project, endpoint, "resume", run_id)
    _, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert len(ek.load_run(run_id, results_dir=project / "results")) == CASES
    assert {text: endpoint.asked[text] for text in finished} == dict.fromkeys(finished, 1)
    assert journal_of(project) is None


def test_a_disk_that_fills_up_stops_the_run_with_everything_finished_readable(endpoint, project):
    def fill_up():  # no file of the command may grow beyond this
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))

    environment = os.environ | {"OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": "none"}
    command = [sys.executable, "-m", "evalkit", "run", "many", "--model", "mock-small"]
    stopped = subprocess.run(
        command, cwd=project, env=environment, preexec_fn=fill_up, capture_output=True, text=True, check=False
    )  # fmt: skip
    run_id = next((project / "results").glob("*.parquet")).stem
    assert stopped.returncode == 3
    assert "a finished trial could not be written" in stopped.stderr
    assert f"evalkit resume {run_id}" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    kept = ek.load_run(run_id, results_dir=project / "results")
    assert 0 < len(kept) < CASES
    process = start(project, endpoint, "resume", run_id)
    process.communicate()
    assert len(ek.load_run(run_id, results_dir=project / "results")) == CASES
    assert all(endpoint.asked[f"list {int(case_id[1:])}"] == 1 for case_id in kept["case_id"])


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_command_stores_what_is_finished_and_says_how_to_go_on(endpoint, project, signal_number):
    def script(request):
        return Reply(delay_s=60) if sum(endpoint.asked.values()) > 14 else pick_by_words(request)

    endpoint.script = script
    environment = os.environ | {"OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": "none"}
    process = subprocess.Popen(
        [sys.executable, "-m", "evalkit", "run", "many", "--model", "mock-small", "--limit", "20"],
        cwd=project, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while journal_of(project) is None or len(read_records(journal_of(project))) < 14:
        time.sleep(0.01)
    process.send_signal(signal_number)
    output, errors = process.communicate()
    assert process.returncode == 3, errors
    run_id = next((project / "results").glob("*.parquet")).stem
    assert f"PARTIAL: 14/20 trials. `evalkit resume {run_id}` does the rest." in output
    assert "Traceback" not in errors
    assert journal_of(project) is None
