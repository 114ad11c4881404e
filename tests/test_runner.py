import asyncio
import json
import subprocess
import sys
import threading

import pandas as pd
import pytest

import evalkit as ek
from evalkit.execution import HOPELESS
from evalkit.refusals import FIRST
from evalkit.resuming import reopen
from loopback_replies import Reply, always, by_name, fails, pick_by_words, says

TOOLS = [
    {"name": "list_files", "parameters": {"type": "object", "properties": {"directory": {"type": "string"}}}},
    {"name": "read_file", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}},
]  # fmt: skip
CASES = [
    {"id": "list", "input": "list the files", "expected_tool": "list_files"},
    {"id": "read", "input": "read it", "expected_tool": "read_file", "secondary_tools": ["list_files"]},
    {"id": "joke", "input": "Tell me a joke", "expected_tool": "none"},
]


def small(**fields):
    return ek.Dataset(**({"name": "small", "cases": CASES, "tools": TOOLS, "system_prompt": "Use the tools."} | fields))


def numbered(count):
    cases = [{"id": f"c{n:03}", "input": f"list {n}", "expected_tool": "list_files"} for n in range(count)]
    return small(cases=cases)


def model_at(endpoint, name="mock-small", **settings):
    return ek.OpenAIModel(name, base_url=endpoint.url, **settings)


def by_case(results, column):
    return dict(zip(results["case_id"], results[column], strict=True))


def files_in(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_dataset_in_a_scored_frame_out_and_the_run_on_disk(endpoint, tmp_path):
    results = ek.run(small(), model=model_at(endpoint), results_dir=tmp_path, label="first")
    assert by_case(results, "outcome") == {"list": "correct", "read": "correct", "joke": "correct"}
    assert list(results["case_id"]) == ["list", "read", "joke"]
    assert results["status"].unique().tolist() == ["complete"]
    pd.testing.assert_frame_equal(ek.load_run("latest", results_dir=tmp_path), results)
    assert files_in(tmp_path) == [f"{results['run_id'].iloc[0]}.parquet"]


def test_the_request_holds_prompt_message_tools_and_settings(endpoint, tmp_path):
    ek.run(small(), model=model_at(endpoint, temperature=0.5, extra={"seed": 7}), cases=["list"], results_dir=tmp_path)
    body = endpoint.requests[-1].body
    assert body["messages"] == [
        {"role": "system", "content": "Use the tools."},
        {"role": "user", "content": "list the files"},
    ]
    assert [tool["function"]["name"] for tool in body["tools"]] == ["list_files", "read_file"]
    assert (body["temperature"], body["seed"], body["model"]) == (0.5, 7, "mock-small")


def test_a_dataset_without_tools_sends_no_tools_field(endpoint, tmp_path):
    talk = ek.Dataset(name="talk", cases=[{"input": "Hello", "expected_tool": "none"}])
    ek.run(talk, model=model_at(endpoint), results_dir=tmp_path)
    assert "tools" not in endpoint.requests[-1].body


def test_a_system_prompt_of_the_run_replaces_the_datasets(endpoint, tmp_path):
    first = ek.run(small(), model=model_at(endpoint), results_dir=tmp_path)
    second = ek.run(small(), model=model_at(endpoint), system_prompt="Be brief.", results_dir=tmp_path)
    assert endpoint.requests[-1].body["messages"][0]["content"] == "Be brief."
    assert first["prompt_hash"].iloc[0] != second["prompt_hash"].iloc[0]
    assert first["dataset_hash"].iloc[0] == second["dataset_hash"].iloc[0]


def test_both_apis_give_the_same_verdicts(endpoint, tmp_path):
    chat = ek.run(small(), model=model_at(endpoint), results_dir=tmp_path)
    responses = ek.run(small(), model=model_at(endpoint, api="responses"), results_dir=tmp_path)
    assert endpoint.requests[-1].path == "/v1/responses"
    verdicts = ["case_id", "actual_tool", "outcome", "passed", "score", "reason"]
    pd.testing.assert_frame_equal(chat[verdicts], responses[verdicts])


def test_trials_are_rows_of_their_own_and_each_is_asked(endpoint, tmp_path):
    results = ek.run(small(), model=model_at(endpoint), trials=3, results_dir=tmp_path)
    assert list(zip(results["case_id"], results["trial"], strict=True))[:4] == [
        ("list", 1),
        ("list", 2),
        ("list", 3),
        ("read", 1),
    ]
    assert endpoint.asked == {case["input"]: 3 for case in CASES}


def test_no_more_requests_at_once_than_asked_for(endpoint, tmp_path):
    endpoint.delay_s = 0.01
    ek.run(numbered(20), model=model_at(endpoint), concurrency=3, results_dir=tmp_path)
    assert endpoint.most_at_once == 3


def test_a_failed_request_is_an_error_and_not_a_failure(endpoint, tmp_path):
    endpoint.script = lambda request: fails(400, "too long") if request.text == "read it" else pick_by_words(request)
    results = ek.run(small(), model=model_at(endpoint), results_dir=tmp_path)
    assert by_case(results, "outcome") == {"list": "correct", "read": "error", "joke": "correct"}
    assert by_case(results, "error_kind")["read"] == "bad_request"
    assert results.loc[results["case_id"] == "read", ["passed", "score"]].isna().all(axis=None)
    summary = ek.EvalSummary.from_results(results)
    assert (summary.total, summary.passed, summary.failed, summary.errors, summary.pass_rate) == (3, 2, 0, 1, 1.0)


@pytest.mark.parametrize(
    ("selection", "ids"),
    [
        ({"limit": 2}, ["list", "read"]),
        ({"cases": ["joke", "list"]}, ["list", "joke"]),
        ({"tags": ["talk"]}, ["joke"]),
    ],
)
def test_cases_are_selected_by_id_tag_and_number(endpoint, tmp_path, selection, ids):
    tagged = [*CASES[:2], CASES[2] | {"tags": ["talk"]}]
    results = ek.run(small(cases=tagged), model=model_at(endpoint), results_dir=tmp_path, **selection)
    assert list(results["case_id"]) == ids


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"cases": ["jokes"]}, "jokes"),
        ({"tags": ["none-has-it"]}, "none-has-it"),
        ({"limit": 0}, "limit"),
        ({"trials": 0}, "trials must be at least 1, got 0"),
        ({"concurrency": 0}, "concurrency must be at least 1, got 0"),
        ({"max_errors": -1}, "max_errors must be"),
        ({"label": "two\nlines"}, "label must be one line"),
    ],
)
def test_a_run_that_cannot_be_as_asked_is_refused_before_any_request(endpoint, tmp_path, settings, words):
    with pytest.raises(ValueError, match=words):
        ek.run(small(), model=model_at(endpoint), results_dir=tmp_path, **settings)
    assert (endpoint.asked, files_in(tmp_path)) == ({}, [])


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("no-temperature", {"temperature": 0.0}, "temperature"),
        ("404", {}, "does not exist"),
        ("401", {}, "OPENAI_API_KEY"),
        ("quota", {}, "quota"),
    ],
)
def test_settings_that_the_endpoint_refuses_stop_the_run_at_once(endpoint, tmp_path, name, settings, words):
    with pytest.raises(ek.SettingsError) as caught:
        ek.run(numbered(100), model=model_at(endpoint, name, **settings), concurrency=4, results_dir=tmp_path)
    assert "refused each of the first 8 requests" in str(caught.value)
    assert words in str(caught.value)
    assert sum(endpoint.asked.values()) < 20
    assert files_in(tmp_path) == []


def test_one_case_that_is_refused_alone_is_that_cases_error(endpoint, tmp_path):
    endpoint.script = lambda request: fails(400, "too long") if request.text == "list 0" else pick_by_words(request)
    results = ek.run(numbered(12), model=model_at(endpoint), results_dir=tmp_path)
    assert results["error_kind"].notna().sum() == 1


MODERATED = Reply(
    {"error": {"code": 403, "message": "Input flagged", "metadata": {"reasons": ["hate"], "flagged_input": "x"}}}, 403
)
REFUSALS = {
    "moderated": MODERATED,
    "filtered": fails(400, "The response was filtered due to the prompt triggering a policy", "content_filter"),
    "too long": fails(400, "the request exceeds the available context size"),
    "too large": Reply("<html>413 Request Entity Too Large</html>", 413),
}


def refused_at(places, reply):
    """The reply for the cases at these places."""
    refused = {f"list {place}" for place in places}
    return lambda request: reply if request.text in refused else pick_by_words(request)


@pytest.mark.parametrize("concurrency", [1, 16])
@pytest.mark.parametrize("places", [range(8), [17], range(22, 30)])
@pytest.mark.parametrize("name", REFUSALS)
def test_cases_whose_own_text_is_refused_are_errors_wherever_they_stand(endpoint, tmp_path, name, places, concurrency):
    endpoint.script = refused_at(places, REFUSALS[name])
    results = ek.run(numbered(30), model=model_at(endpoint), concurrency=concurrency, results_dir=tmp_path)
    kinds = ["bad_request" if place in places else "" for place in range(30)]
    assert results["error_kind"].fillna("").tolist() == kinds
    assert results["status"].unique().tolist() == ["complete"]
    assert set(endpoint.asked.values()) == {1}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_dataset_whose_every_text_is_refused_is_recorded_whole(endpoint, tmp_path, name):
    endpoint.script = always(REFUSALS[name])
    for count in (1, 3, HOPELESS + 10):
        results = ek.run(numbered(count), model=model_at(endpoint), results_dir=tmp_path)
        assert results["error_kind"].tolist() == ["bad_request"] * count


def test_words_that_name_nothing_are_about_the_settings_only_where_different_texts_get_them(endpoint, tmp_path):
    endpoint.script = always(fails(400, "No."))
    alike = [{"id": f"c{n}", "input": "list", "expected_tool": "list_files"} for n in range(20)]
    results = ek.run(small(cases=alike), model=model_at(endpoint), results_dir=tmp_path)
    assert results["error_kind"].tolist() == ["bad_request"] * 20
    sent = {"temperature": 0.5, "extra": {"seed": 7, "extra_body": {"top_k": 3}}}
    with pytest.raises(ek.SettingsError) as caught:
        ek.run(numbered(3), model=model_at(endpoint, **sent), results_dir=tmp_path)
    assert "refused each of the first 3 requests: HTTP 400" in str(caught.value)
    assert "It names no setting; these were sent: model, temperature, seed, top_k, tools." in str(caught.value)


def test_a_setting_that_is_named_is_said(endpoint, tmp_path):
    endpoint.script = always(fails(400, "Unsupported value: 'seed' must be even."))
    with pytest.raises(ek.SettingsError, match="Change what is named there: seed"):
        ek.run(numbered(1), model=model_at(endpoint, extra={"seed": 7}), results_dir=tmp_path)


def test_one_403_stops_nothing_and_many_in_a_row_stop_the_run_which_goes_on_behind_them(endpoint, tmp_path):
    endpoint.script = refused_at([3, 5, 6, 7, *range(20, 40)], fails(403, "Permission denied"))
    with pytest.raises(ek.RunStopped, match="the endpoint answers no more: HTTP 403") as caught:
        ek.run(numbered(41), model=model_at(endpoint), concurrency=1, results_dir=tmp_path)
    run_id = caught.value.run_id
    assert ek.load_run(run_id, results_dir=tmp_path)["error_kind"].fillna("").tolist()[20:] == ["auth"] * FIRST
    with pytest.raises(ek.RunStopped):
        ek.resume(run_id, model=model_at(endpoint), concurrency=1, results_dir=tmp_path)
    results = ek.resume(run_id, model=model_at(endpoint), concurrency=1, results_dir=tmp_path)
    assert results["passed"].sum() == 41 - 24
    assert set(endpoint.asked.values()) == {1}


def test_a_lost_key_stops_the_run_at_once_and_its_case_is_asked_again(endpoint, tmp_path):
    endpoint.script = refused_at([5], fails(401, "no key"))
    with pytest.raises(ek.RunStopped, match="the endpoint answers no more: HTTP 401") as caught:
        ek.run(numbered(20), model=model_at(endpoint), concurrency=1, results_dir=tmp_path)
    endpoint.script = pick_by_words
    assert ek.resume(caught.value.run_id, model=model_at(endpoint), results_dir=tmp_path)["passed"].sum() == 20


def test_a_quota_that_ends_in_mid_run_stops_it_and_keeps_what_was_paid_for(endpoint, tmp_path):
    def script(request):
        return by_name(request) if sum(endpoint.asked.values()) <= 20 else fails(429, "gone", "insufficient_quota")

    endpoint.script = script
    with pytest.raises(ek.RunStopped) as caught:
        ek.run(numbered(100), model=model_at(endpoint), concurrency=4, results_dir=tmp_path)
    assert f"evalkit resume {caught.value.run_id}" in str(caught.value)
    kept = ek.load_run(caught.value.run_id, results_dir=tmp_path)
    assert len(kept) == 20
    assert kept["status"].unique().tolist() == ["partial"]
    assert kept["passed"].all()


@pytest.mark.parametrize(
    ("limit", "words", "kept"), [(5, "max_errors allows (5)", 7), (0.1, "max_errors allows (10% of 60)", 8)]
)
def test_too_many_errors_stop_the_run(endpoint, tmp_path, limit, words, kept):
    endpoint.script = lambda request: pick_by_words(request) if request.text == "list 0" else fails(400, request.text)
    with pytest.raises(ek.RunStopped) as caught:
        ek.run(numbered(60), model=model_at(endpoint), max_errors=limit, concurrency=1, results_dir=tmp_path)
    assert words in str(caught.value)
    assert len(ek.load_run(caught.value.run_id, results_dir=tmp_path)) == kept


def test_a_run_in_which_nothing_works_is_given_up(endpoint, tmp_path):
    endpoint.script = lambda request: Reply({"choices": None})
    with pytest.raises(ek.RunStopped, match=f"all of the first {HOPELESS} trials ended in errors"):
        ek.run(numbered(200), model=model_at(endpoint), results_dir=tmp_path)


@pytest.mark.parametrize("page", ["<html>log in</html>", "<!DOCTYPE html><title>Open WebUI</title>", "<HEAD></HEAD>"])
def test_a_web_page_in_place_of_an_api_ends_a_run_with_its_first_requests(endpoint, tmp_path, page):
    endpoint.script = lambda request: Reply(page, headers={"content-type": "text/html"})
    with pytest.raises(ek.SettingsError, match="each of the first 8 requests: HTTP 200, but a web page, from POST"):
        ek.run(numbered(200), model=model_at(endpoint), concurrency=4, results_dir=tmp_path)
    assert sum(endpoint.asked.values()) < 20


def test_a_callable_is_a_model(tmp_path):
    def echo(messages, tools):
        if "joke" in messages[-1]["content"]:
            raise RuntimeError("no jokes today")
        return ek.ToolCall(tools[0].name, {"directory": "."})

    results = ek.run(small(), model=echo, results_dir=tmp_path)
    assert results["model"].unique().tolist() == ["echo"]
    assert by_case(results, "error_kind")["joke"] == "model"
    assert by_case(results, "outcome")["read"] == "secondary"


def test_save_false_leaves_nothing_behind(endpoint, tmp_path):
    results = ek.run(small(), model=model_at(endpoint), results_dir=tmp_path, save=False)
    assert len(results) == 3
    assert files_in(tmp_path) == []


def test_a_saved_and_an_unsaved_run_have_the_same_verdicts(endpoint, tmp_path):
    saved = ek.run(small(), model=model_at(endpoint), results_dir=tmp_path)
    unsaved = ek.run(small(), model=model_at(endpoint), results_dir=tmp_path, save=False)
    changing = ["run_id", "started_at", "latency_s"]
    pd.testing.assert_frame_equal(saved.drop(columns=changing), unsaved.drop(columns=changing))


def test_runs_of_the_same_second_get_different_ids(tmp_path):
    runs = [ek.run(small(), model="lexical", results_dir=tmp_path) for _ in range(4)]
    assert len({run["run_id"].iloc[0] for run in runs}) == 4
    assert len(ek.list_runs(results_dir=tmp_path)) == 4


def test_costs_come_from_the_users_prices(endpoint, tmp_path):
    prices = {"mock-small": {"input": 1_000_000, "output": 0}}
    results = ek.run(small(), model=model_at(endpoint), results_dir=tmp_path, prices=prices)
    assert results["cost_usd"].tolist() == results["input_tokens"].tolist()
    assert ek.run(small(), model=model_at(endpoint), results_dir=tmp_path)["cost_usd"].isna().all()


async def test_run_works_where_a_loop_is_running_and_again(endpoint, tmp_path):
    for _ in range(2):
        assert len(ek.run(small(), model=model_at(endpoint), results_dir=tmp_path)) == 3
        assert len(await ek.run_async(small(), model=model_at(endpoint), results_dir=tmp_path)) == 3


def test_run_works_in_worker_threads(endpoint, tmp_path):
    found = []

    def ask():
        found.append(ek.run(small(), model=model_at(endpoint), results_dir=tmp_path))

    work = [threading.Thread(target=ask) for _ in range(2)]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert [len(results) for results in found] == [3, 3]


async def test_a_cancelled_run_returns_what_is_finished_and_resumes(endpoint, tmp_path):
    reached = asyncio.Event()
    loop = asyncio.get_running_loop()

    def script(request):
        if sum(endpoint.asked.values()) > 14:
            loop.call_soon_threadsafe(reached.set)
            return says("too late", delay_s=60)
        return pick_by_words(request)

    endpoint.script = script
    task = asyncio.create_task(
        ek.run_async(numbered(20), model=model_at(endpoint), concurrency=2, results_dir=tmp_path)
    )
    await reached.wait()
    while not list((tmp_path / ".journal").glob("*.jsonl")) or _lines(tmp_path) < 15:
        await asyncio.sleep(0.01)
    task.cancel()
    results = await task
    assert (len(results), results["status"].iloc[0]) == (14, "partial")
    listed = ek.list_runs(results_dir=tmp_path).iloc[0]
    assert (listed["trials"], listed["planned"], listed["partial"]) == (14, 20, True)
    endpoint.script = pick_by_words
    run_id = results["run_id"].iloc[0]
    whole = ek.resume(run_id, results_dir=tmp_path, model=model_at(endpoint))
    assert (len(whole), whole["status"].iloc[0], whole["run_id"].iloc[0]) == (20, "complete", run_id)
    assert list(whole["case_id"]) == sorted(whole["case_id"])
    assert max(endpoint.asked[text] for text in list(endpoint.asked)[:14]) == 1


def _lines(folder):
    return sum(path.read_bytes().count(b"\n") for path in (folder / ".journal").glob("*.jsonl"))


def test_resuming_with_errors_asks_errored_trials_again_and_counts_attempts(endpoint, tmp_path):
    endpoint.script = lambda request: fails(400, "not now") if "read" in request.text else pick_by_words(request)
    first = ek.run(small(), model=model_at(endpoint), results_dir=tmp_path)
    endpoint.script = pick_by_words
    run_id = first["run_id"].iloc[0]
    assert by_case(ek.resume(run_id, results_dir=tmp_path, model=model_at(endpoint)), "outcome")["read"] == "error"
    again = ek.resume(run_id, errors=True, results_dir=tmp_path, model=model_at(endpoint))
    assert by_case(again, "outcome")["read"] == "correct"
    assert by_case(again, "attempts") == {"list": 1, "read": 2, "joke": 1}
    assert endpoint.asked == {"list the files": 1, "read it": 2, "Tell me a joke": 1}


def test_resume_refuses_when_the_dataset_file_has_changed(endpoint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "eval_data" / "small.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"cases": CASES, "tools": TOOLS}))
    endpoint.script = lambda request: fails(400, "no") if "read" in request.text else pick_by_words(request)
    run_id = ek.run("small", model=model_at(endpoint), results_dir=tmp_path)["run_id"].iloc[0]
    path.write_text(json.dumps({"cases": [CASES[0], CASES[1] | {"input": "read that"}, CASES[2]], "tools": TOOLS}))
    with pytest.raises(ek.SettingsError) as caught:
        ek.resume(run_id, errors=True, results_dir=tmp_path, model=model_at(endpoint))
    assert "eval_data/small.json has changed" in str(caught.value)
    assert "'read' differ" in str(caught.value)


def test_resume_makes_the_model_again_from_the_stored_settings(endpoint, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    endpoint.script = lambda request: fails(400, "no") if "read" in request.text else pick_by_words(request)
    run_id = ek.run(small(), model=model_at(endpoint, temperature=0.25), results_dir=tmp_path)["run_id"].iloc[0]
    results = ek.resume(run_id, errors=True, results_dir=tmp_path)
    assert endpoint.requests[-1].body["temperature"] == 0.25
    assert by_case(results, "error_kind")["read"] == "bad_request"


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"max_tokens": 50, "seed": 7}, {"max_tokens": 50, "seed": 7}),
        ({"extra": {"max_tokens": 50, "top_p": 0.5}}, {"max_tokens": 50, "top_p": 0.5}),
        ({"extra": {"max_completion_tokens": 50}}, {"max_completion_tokens": 50}),
        (dict.fromkeys(("reasoning_effort", "tool_choice"), "none"),) * 2,
    ],
)  # fmt: skip
def test_resume_sends_the_settings_of_the_run(endpoint, tmp_path, monkeypatch, given, sent):
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    endpoint.script = lambda request: fails(500, "boom")
    monkeypatch.setattr("evalkit.retries.Clock.backoff", lambda self, earlier: 0.0)
    ek.run(small(), model="mock-small", results_dir=tmp_path, progress=False, **given)
    first = endpoint.requests[0].body
    endpoint.script = pick_by_words
    results = ek.resume("latest", errors=True, results_dir=tmp_path, progress=False)
    assert results["error_kind"].isna().all()
    assert {name: endpoint.requests[-1].body.get(name) for name in sent} == sent
    assert endpoint.requests[-1].body.keys() == first.keys()


def test_settings_given_apart_and_in_extra_make_runs_of_one_kind(endpoint, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    asked = {"model": "mock-small", "results_dir": tmp_path, "progress": False}
    extra = {"max_tokens": 50, "seed": 7}
    hashes = [ek.run(small(), **asked, **more)["settings_hash"].iloc[0] for more in (extra, {"extra": extra}, {}, {})]
    assert hashes == ["ceeaf1a7ea4a"] * 2 + ["a22061ea0943"] * 2  # as they were before there were such settings


def test_resuming_a_callables_run_needs_the_callable(tmp_path):
    def silent(messages, tools):
        raise RuntimeError("later")

    run_id = ek.run(small(), model=silent, results_dir=tmp_path)["run_id"].iloc[0]
    with pytest.raises(ek.SettingsError, match=r"ek\.resume"):
        ek.resume(run_id, errors=True, results_dir=tmp_path)
    answered = ek.resume(run_id, errors=True, model=lambda messages, tools: "text", results_dir=tmp_path)
    assert answered["passed"].notna().all()


def test_an_unknown_run_is_refused_with_the_nearest(endpoint, tmp_path):
    run_id = ek.run(small(), model=model_at(endpoint), results_dir=tmp_path)["run_id"].iloc[0]
    with pytest.raises(ek.SettingsError) as caught:
        ek.load_run(run_id[:-1] + "x", results_dir=tmp_path)
    assert f"Nearest: '{run_id}'" in str(caught.value)


def test_results_that_cannot_be_written_are_found_before_the_first_request(endpoint, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ek.SettingsError, match="results cannot be written"):
        ek.run(small(), model=model_at(endpoint), results_dir=tmp_path / "file")
    assert endpoint.asked == {}


def test_run_single_turn_gives_the_turn(endpoint):
    turn = ek.run_single_turn(model_at(endpoint), "list the files", tools=TOOLS, system_prompt="Go.")
    assert [call.name for call in turn.tool_calls] == ["list_files"]
    assert endpoint.requests[-1].body["messages"][0] == {"role": "system", "content": "Go."}
    assert ek.run_single_turn(model_at(endpoint), "hello", tools=small()).tool_calls == ()
    assert endpoint.requests[-1].body["messages"][0]["content"] == "Use the tools."


def test_run_single_turn_reports_a_dead_server_as_a_turn():
    turn = ek.run_single_turn(ek.OpenAIModel("m", base_url="http://127.0.0.1:9/v1", max_attempts=1), "hello")
    assert turn.error_kind == "connection"


def test_importing_evalkit_loads_nothing_heavy_and_touches_no_loop():
    code = (
        "import sys, evalkit, evalkit.cli\n"
        "heavy = {'pandas', 'numpy', 'openai', 'pyarrow', 'matplotlib', 'ipywidgets', 'asyncio', 'scipy'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


async def test_a_run_stays_complete_when_asking_its_errors_again_is_interrupted(endpoint, tmp_path):
    endpoint.script = lambda request: fails(400, "not now") if "read" in request.text else pick_by_words(request)
    run_id = ek.run(small(), model=model_at(endpoint), results_dir=tmp_path)["run_id"].iloc[0]
    asked, loop = asyncio.Event(), asyncio.get_running_loop()

    def never(request):
        loop.call_soon_threadsafe(asked.set)
        return says("too late", delay_s=60)

    endpoint.script = never
    recording = reopen(run_id, errors=True, model=model_at(endpoint), results_dir=tmp_path)
    task = asyncio.create_task(recording.carry_out(progress=False))
    await asked.wait()
    task.cancel()
    await task
    results = ek.load_run(run_id, results_dir=tmp_path)
    assert (len(results), results["status"].unique().tolist()) == (3, ["complete"])
    assert by_case(results, "error_kind")["read"] == "bad_request"
