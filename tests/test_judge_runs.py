import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

import evalkit as ek
from evalkit.journal import read_records
from judge_replies import as_asked, is_for_judge, quoted_text
from loopback_replies import calls, fails, says

ANSWERS = {"capital of France": "Paris", "capital of Norway": "Oslo", "capital of Peru": "Cusco"}
CASES = [
    {
        "id": "france", "input": "Name the capital of France", "expected": "Paris",
        "reviewers": ["exact_match", "closed_qa"],
    },
    {"id": "norway", "input": "Name the capital of Norway", "reviewers": ["closed_qa"]},
    {"id": "peru", "input": "Name the capital of Peru", "expected": "Lima", "reviewers": ["factuality", "tone"]},
]  # fmt: skip
CHANGING = ["run_id", "started_at", "latency_s", "rescored_from"]


def quiz(cases=CASES, **fields):
    return ek.Dataset(name="quiz", cases=cases, **fields)


def at(endpoint, name="student", **settings):
    return ek.OpenAIModel(name, base_url=endpoint.url, **settings)


def answer_to(request):
    return says(next((said for asked, said in ANSWERS.items() if asked in request.text), "I do not know"))


def judge_of_choices(request):
    """Y for Paris and Oslo; factuality D, tone A."""
    choices = request.body["response_format"]["json_schema"]["schema"]["properties"]["choice"]["enum"]
    right = quoted_text(request, "answer") in ("Paris", "Oslo")
    if choices == ["Y", "N"]:
        return as_asked(request, "Y" if right else "N")
    return as_asked(request, "D" if len(choices) == 5 else "A")


def school(request):
    return judge_of_choices(request) if is_for_judge(request) else answer_to(request)


def asked(endpoint, judge=None):
    """How many requests there were: of the model, of judges, or of both."""
    return sum(judge is None or is_for_judge(request) is judge for request in endpoint.requests)


def by_case(results, column):
    return dict(zip(results["case_id"], results[column], strict=True))


def journal_in(folder):
    found = list((folder / ".journal").glob("*.jsonl"))
    return found[0] if found else None


@pytest.fixture(autouse=True)
def no_judge_in_the_environment(monkeypatch):
    for name in ("EVALKIT_JUDGE_MODEL", "EVALKIT_JUDGE_BASE_URL", "EVALKIT_JUDGE_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def test_answers_are_reviewed_by_programs_and_judges(endpoint, tmp_path):
    endpoint.script = school
    results = ek.run(quiz(), model=at(endpoint), judge_model=at(endpoint, "teacher"), results_dir=tmp_path)
    assert by_case(results, "outcome") == {"france": "passed", "norway": "passed", "peru": "failed"}
    assert by_case(results, "score") == {"france": 1.0, "norway": 1.0, "peru": 0.5}
    assert by_case(results, "reason")["peru"] == (
        "1 of 2 reviewers passed. factuality: D (0): It is so.; tone: A (1): It is so."
    )
    assert {request.model for request in endpoint.requests if is_for_judge(request)} == {"teacher"}
    assert (asked(endpoint, judge=False), asked(endpoint, judge=True)) == (3, 4)
    assert results["flags"].tolist() == ["[]"] * 3
    pd.testing.assert_frame_equal(ek.load_run("latest", results_dir=tmp_path), results)


def test_reviews_are_a_row_per_case_trial_and_reviewer(endpoint, tmp_path):
    endpoint.script = school
    results = ek.run(quiz(), model=at(endpoint), judge_model=at(endpoint, "teacher"), trials=2, results_dir=tmp_path)
    frame = ek.reviews(results)
    first = frame[frame["trial"] == 1].set_index(["case_id", "position"])
    assert first["reviewer"].to_dict() == {
        ("france", 1): "exact_match", ("france", 2): "closed_qa", ("norway", 1): "closed_qa",
        ("peru", 1): "factuality", ("peru", 2): "tone",
    }  # fmt: skip
    assert first.loc[("peru", 1), ["choice", "score", "passed", "judge_model", "form"]].tolist() == [
        "D", 0.0, False, "teacher", "json_schema",
    ]  # fmt: skip
    assert json.loads(first.loc[("peru", 1), "parameters"]) == {"threshold": 0.4}
    assert first.loc[("france", 1), ["choice", "judge_model", "prompt_hash", "input_tokens"]].isna().all()
    assert len(frame) == 10
    assert frame["error_kind"].isna().all()
    hashes = frame.groupby("reviewer")["prompt_hash"].nunique().to_dict()
    assert hashes == {"closed_qa": 2, "exact_match": 0, "factuality": 1, "tone": 1}  # with and without `expected`


def test_reviews_of_a_frame_without_answers_are_an_empty_frame():
    frame = ek.reviews(pd.DataFrame({"run_id": ["r"], "case_id": ["c"], "trial": [1], "passed": [True]}))
    assert (len(frame), frame["score"].dtype, frame["passed"].dtype) == (0, "float64", "boolean")


def test_tokens_and_cost_of_judging_are_counted_apart(endpoint, tmp_path):
    endpoint.script = school
    prices = {"student": {"input": 1_000_000, "output": 0}, "teacher": {"input": 0, "output": 1_000_000}}
    results = ek.run(
        quiz(), model=at(endpoint), judge_model=at(endpoint, "teacher"), prices=prices, results_dir=tmp_path
    )
    frame = ek.reviews(results)
    assert results["cost_usd"].tolist() == results["input_tokens"].tolist() == [5, 5, 5]
    assert results["judge_output_tokens"].sum() == frame["output_tokens"].sum() > 0
    assert results["judge_cost_usd"].tolist() == results["judge_output_tokens"].tolist()
    assert frame.loc[frame["reviewer"] == "closed_qa", "cost_usd"].notna().all()


def test_a_model_that_judges_itself_is_noted(endpoint, tmp_path):
    endpoint.script = school
    results = ek.run(quiz(), model=at(endpoint, temperature=0.7, extra={"max_tokens": 50}), results_dir=tmp_path)
    assert results["flags"].tolist() == ['["self_judged"]'] * 3
    assert ek.reviews(results)["self_judged"].dropna().all()
    bodies = [request.body for request in endpoint.requests if is_for_judge(request)]
    assert {(body["temperature"], body["max_tokens"]) for body in bodies} == {(0.0, 1024)}
    assert {body["temperature"] for body in (r.body for r in endpoint.requests if not is_for_judge(r))} == {0.7}


def test_the_judge_comes_from_the_environment_and_a_reviewers_own_goes_first(endpoint, tmp_path, monkeypatch):
    endpoint.script = school
    monkeypatch.setenv("EVALKIT_JUDGE_MODEL", "head")
    monkeypatch.setenv("EVALKIT_JUDGE_BASE_URL", endpoint.url)
    own = {"id": "own", "input": "Say hello", "reviewers": ["tone", {"reviewer": "closed_qa", "model": "deputy"}]}
    results = ek.run(quiz([own]), model=at(endpoint), results_dir=tmp_path)
    assert ek.reviews(results)["judge_model"].tolist() == ["head", "deputy"]
    about = ek.history.find_run("latest", results_dir=tmp_path).description["judges"]
    assert (about["default"]["model"], list(about["named"])) == ("head", ["deputy"])


def test_judges_change_the_fingerprint_of_the_scoring(endpoint, tmp_path):
    endpoint.script = school
    hashes = [
        ek.run(quiz(), model=at(endpoint), judge_model=judge, save=False)["scoring_hash"].iloc[0]
        for judge in (at(endpoint, "teacher"), at(endpoint, "teacher"), at(endpoint, "head"), None)
    ]
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3


def test_no_key_of_a_judge_is_stored(endpoint, tmp_path):
    endpoint.script = school
    judge = at(endpoint, "teacher", api_key="secret-key-of-the-judge")
    ek.run(quiz(), model=at(endpoint), judge_model=judge, results_dir=tmp_path)
    assert endpoint.requests[-1].headers["authorization"] == "Bearer secret-key-of-the-judge"
    assert all(b"secret-key-of-the-judge" not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_judging_keeps_to_the_same_limit_of_requests_at_once(endpoint, tmp_path):
    endpoint.script, endpoint.delay_s = school, 0.01
    cases = [{"id": f"c{n}", "input": f"Question {n}", "reviewers": ["tone", "closed_qa"]} for n in range(12)]
    ek.run(quiz(cases), model=at(endpoint), concurrency=3, results_dir=tmp_path)
    assert endpoint.most_at_once == 3
    assert asked(endpoint, judge=True) == 24


def test_a_rate_limited_judge_is_asked_again(endpoint, tmp_path):
    def script(request):
        if is_for_judge(request) and request.number == 1:
            return fails(429, "slow down", retry_after="0")
        return school(request)

    endpoint.script = script
    results = ek.run(quiz(), model=at(endpoint), results_dir=tmp_path)
    assert results["error_kind"].isna().all()


@pytest.mark.parametrize("model", ["lexical", ek.LexicalBaseline()])
def test_the_baseline_cannot_answer_in_text(tmp_path, model):
    mixed = [*CASES, {"input": "hello", "expected_tool": "none"}]
    with pytest.raises(ek.SettingsError) as caught:
        ek.run(quiz(mixed), model=model, results_dir=tmp_path)
    assert "lexical cannot answer in text, and 3 of 4 cases of 'quiz' want a final answer" in str(caught.value)
    assert "OPENAI_BASE_URL" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_baseline_cannot_judge(endpoint, tmp_path):
    with pytest.raises(ek.SettingsError, match="lexical cannot judge"):
        ek.run(quiz(), model=at(endpoint), judge_model="lexical", results_dir=tmp_path)
    assert endpoint.asked == {}


def test_a_tool_call_in_place_of_an_answer_is_not_judged(endpoint, tmp_path):
    endpoint.script = lambda request: school(request) if is_for_judge(request) else calls(("search", {}))
    tools = [{"name": "search"}]
    results = ek.run(quiz(tools=tools), model=at(endpoint), results_dir=tmp_path)
    assert results["outcome"].unique().tolist() == ["called_tool"]
    assert (asked(endpoint, judge=True), len(ek.reviews(results))) == (0, 0)


def test_no_answer_is_not_judged(endpoint, tmp_path):
    endpoint.script = lambda request: says(None)
    results = ek.run(quiz(), model=at(endpoint), judge_model=at(endpoint, "teacher"), results_dir=tmp_path)
    assert asked(endpoint, judge=True) == 0
    assert results["passed"].tolist() == [False] * len(results)


def test_a_dialogue_that_ends_in_a_tools_message_is_answered_and_judged(endpoint, tmp_path):
    endpoint.script = school
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": {"q": "capital of Norway"}}}
    dialogue = [
        {"role": "user", "content": "What is the capital of Norway?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "Oslo, since 1814"},
    ]
    case = {"input": dialogue, "reviewers": ["closed_qa", {"reviewer": "string_contains", "search_string": "Oslo"}]}
    results = ek.run(quiz([case]), model=at(endpoint), results_dir=tmp_path)
    assert results["passed"].tolist() == [True]
    assert "tool: Oslo, since 1814" in quoted_text(endpoint.requests[-1], "input")


def test_an_unreadable_judge_makes_the_trial_an_error_and_the_others_stand(endpoint, tmp_path):
    replies = {"a": "A", "b": "B", "c": "I cannot rate this.", "d": "A"}

    def script(request):
        if not is_for_judge(request):
            return says("x")
        letter = quoted_text(request, "input")
        if letter == "e":
            return says('{"reason": "It goes on', finish_reason="length")
        return says(replies[letter])

    endpoint.script = script
    cases = [{"id": letter, "input": letter, "reviewers": ["tone"]} for letter in "abcde"]
    results = ek.run(quiz(cases), model=at(endpoint), results_dir=tmp_path)
    summary = ek.summarize(results).iloc[0]
    assert (summary["n"], summary["errors"]) == (3, 2)
    assert summary["average_score"] == pytest.approx(2.5 / 3)
    assert by_case(results, "error_kind")["c"] == by_case(results, "error_kind")["e"] == "judge_unreadable"
    frame = ek.reviews(results).set_index("case_id")
    assert frame.loc["c", "reply"] == "I cannot rate this."
    assert "states no choice" in frame.loc["c", "error"]
    assert pd.isna(frame.loc["c", "score"])


def test_judging_again_after_errors_asks_the_judge_alone(endpoint, tmp_path):
    def script(request):
        mute = is_for_judge(request) and "Lima" in str(request.messages)
        return says("Hm.") if mute else school(request)

    endpoint.script = script
    first = ek.run(quiz(), model=at(endpoint), judge_model=at(endpoint, "teacher"), results_dir=tmp_path)
    assert by_case(first, "error_kind")["peru"] == "judge_unreadable"
    kept = ek.reviews(first).set_index(["case_id", "reviewer"]).loc[("peru", "tone")]
    assert (kept["choice"], kept["score"]) == ("A", 1.0)
    endpoint.script, before = school, len(endpoint.requests)
    again = ek.resume("latest", errors=True, results_dir=tmp_path)
    assert [is_for_judge(request) for request in endpoint.requests[before:]] == [True]
    assert by_case(again, "score")["peru"] == 0.5
    assert by_case(again, "attempts") == {"france": 1, "norway": 1, "peru": 1}
    tokens = [by_case(frame, "judge_input_tokens")["peru"] for frame in (first, again)]
    assert tokens[1] > tokens[0]
    same = ["latency_s", "input_tokens", "answer", "flags"]
    pd.testing.assert_frame_equal(first[same], again[same])


def no_judge(reply):
    return lambda request: reply if is_for_judge(request) else answer_to(request)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (fails(401, "Incorrect key"), "the judge answers no more: HTTP 401"),
        (fails(429, "no credit", "insufficient_quota"), "the judge answers no more: HTTP 429"),
    ],
)
def test_a_judge_that_answers_no_more_stops_the_run_and_no_answer_is_paid_for_twice(endpoint, tmp_path, reply, words):
    endpoint.script = no_judge(reply)
    with pytest.raises(ek.RunStopped) as caught:
        ek.run(quiz(), model=at(endpoint), judge_model=at(endpoint, "teacher"), concurrency=1, results_dir=tmp_path)
    assert words in str(caught.value)
    assert f"evalkit resume {caught.value.run_id}" in str(caught.value)
    kept = ek.load_run(caught.value.run_id, results_dir=tmp_path)
    assert by_case(kept, "error_kind") == {"france": "unjudged"}
    assert kept["answer"].tolist() == ["Paris"]
    assert ek.reviews(kept)["passed"].tolist() == [True, pd.NA]
    listed = ek.list_runs(results_dir=tmp_path).iloc[0]
    assert (listed["trials"], listed["planned"], listed["partial"]) == (0, 3, True)
    endpoint.script = school
    whole = ek.resume(caught.value.run_id, results_dir=tmp_path)
    assert by_case(whole, "score") == {"france": 1.0, "norway": 1.0, "peru": 0.5}
    assert whole["status"].unique().tolist() == ["complete"]
    assert asked(endpoint, judge=False) == 3


def test_a_judge_that_refuses_everything_stops_the_run(endpoint, tmp_path):
    endpoint.script = no_judge(fails(404, "no such model"))
    cases = [{"id": f"c{n:02}", "input": f"Question {n}", "reviewers": ["tone"]} for n in range(40)]
    with pytest.raises(ek.RunStopped, match="the judge refused each of the first 8 requests: HTTP 404"):
        ek.run(quiz(cases), model=at(endpoint), judge_model=at(endpoint, "techer"), concurrency=1, results_dir=tmp_path)
    answered = asked(endpoint, judge=False)
    assert answered < 12
    endpoint.script = school
    whole = ek.resume("latest", errors=True, judge_model=at(endpoint, "teacher"), results_dir=tmp_path)
    assert whole["passed"].all()
    assert asked(endpoint, judge=False) == 40
    assert whole["scoring_hash"].nunique() == 1


def test_one_answer_that_a_judge_may_not_see_is_that_cases_error_and_eight_in_a_row_stop_the_run(endpoint, tmp_path):
    forbidden = {2}

    def script(request):
        if not is_for_judge(request):
            return says(request.text)
        number = int(quoted_text(request, "input").split()[1])
        return fails(403, "Forbidden") if number in forbidden else as_asked(request, "A")

    endpoint.script = script
    cases = [{"id": f"c{n}", "input": f"Question {n}", "reviewers": ["tone"]} for n in range(12)]
    settings = {"judge_model": at(endpoint, "teacher"), "concurrency": 1, "results_dir": tmp_path}
    one = ek.run(quiz(cases), model=at(endpoint), **settings)
    assert one["error_kind"].dropna().to_dict() == {2: "judge_auth"}
    forbidden.update(range(1, 7), range(8, 12))  # 7 is answered
    ek.run(quiz(cases), model=at(endpoint), **settings)
    forbidden.update(range(12))
    with pytest.raises(ek.RunStopped, match="the judge answers no more: HTTP 403"):
        ek.run(quiz(cases), model=at(endpoint), **settings)
    forbidden.clear()
    assert ek.resume("latest", errors=True, results_dir=tmp_path)["passed"].all()


def test_a_run_is_not_finished_by_another_judge_than_it_was_begun_by(endpoint, tmp_path):
    def script(request):
        gone = is_for_judge(request) and quoted_text(request, "input").endswith("Norway")
        return fails(401, "key expired") if gone else school(request)

    endpoint.script = script
    with pytest.raises(ek.RunStopped):
        ek.run(quiz(), model=at(endpoint), judge_model=at(endpoint, "teacher"), concurrency=1, results_dir=tmp_path)
    with pytest.raises(ek.SettingsError) as caught:
        ek.resume("latest", judge_model=at(endpoint, "head"), results_dir=tmp_path)
    assert "judged by 'teacher'" in str(caught.value)
    assert "evalkit rescore" in str(caught.value)
    endpoint.script = school
    assert len(ek.resume("latest", judge_model=at(endpoint, "teacher"), results_dir=tmp_path)) == 3


def test_a_process_killed_while_its_judge_thinks_has_lost_no_answer(endpoint, tmp_path):
    project = tmp_path
    (project / "eval_data").mkdir()
    cases = [{"id": f"c{n:02}", "input": f"Question {n}", "reviewers": ["tone"]} for n in range(20)]
    (project / "eval_data" / "quiz.json").write_text(json.dumps(cases))

    def script(request):
        slow = is_for_judge(request) and asked(endpoint, judge=True) > 6
        return says("too late", delay_s=60) if slow else school(request)

    endpoint.script = script
    environment = os.environ | {"OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": "none"}

    def start(*words):
        command = [sys.executable, "-m", "evalkit", *words, "--concurrency", "4"]
        return subprocess.Popen(
            command, cwd=project, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip

    process = start("run", "quiz", "--model", "student", "--judge-model", "teacher")
    results = project / "results"
    while journal_in(results) is None or len(read_records(journal_in(results))) < 10:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    run_id = journal_in(results).stem
    journaled = read_records(journal_in(results))
    assert (len(journaled), _unjudged(results)) == (10, 4)
    answered = {f"Question {int(case_id[1:])}" for case_id, _ in journaled}
    endpoint.script = school
    output, errors = start("resume", run_id).communicate()
    assert errors == ""
    assert "Passed: 20/20" in output
    assert {text: endpoint.asked[text] for text in answered} == dict.fromkeys(answered, 1)
    assert asked(endpoint, judge=False) == 20
    assert len(ek.load_run(run_id, results_dir=results)) == 20


def _unjudged(results):
    rows = read_records(journal_in(results)).values()
    return sum(row["error_kind"] == "unjudged" for row in rows)


def test_resuming_what_a_function_answered_needs_no_function_where_only_the_judge_is_missing(endpoint, tmp_path):
    endpoint.script = no_judge(fails(401, "no key"))
    with pytest.raises(ek.RunStopped):
        ek.run(
            quiz(CASES[:1]), model=lambda messages, tools: "Paris", judge_model=at(endpoint, "t"), results_dir=tmp_path
        )
    endpoint.script = school
    assert ek.resume("latest", results_dir=tmp_path)["passed"].tolist() == [True]


def test_resuming_what_a_function_judged_needs_the_function(endpoint, tmp_path):
    def mute(messages, tools):
        return "Hm."

    endpoint.script = school
    ek.run(quiz(CASES[:1]), model=at(endpoint), judge_model=mute, results_dir=tmp_path)
    with pytest.raises(ek.SettingsError, match="name a judge anew with judge_model="):
        ek.resume("latest", errors=True, results_dir=tmp_path)
    again = ek.resume("latest", errors=True, judge_model=lambda messages, tools: "Y", results_dir=tmp_path)
    assert again["passed"].tolist() == [True]


def test_rescoring_unchanged_asks_nobody_and_reproduces_everything(endpoint, tmp_path):
    endpoint.script = school
    before = ek.run(quiz(), model=at(endpoint), trials=2, results_dir=tmp_path)
    count = len(endpoint.requests)
    after = ek.rescore("latest", results_dir=tmp_path)
    assert len(endpoint.requests) == count
    pd.testing.assert_frame_equal(after.drop(columns=CHANGING), before.drop(columns=CHANGING))
    assert after["rescored_from"].unique().tolist() == before["run_id"].unique().tolist()


def changed(place, **spec):
    """The cases with one reviewer changed."""
    cases = json.loads(json.dumps(CASES))
    case, position = place
    before = cases[case]["reviewers"][position]
    cases[case]["reviewers"][position] = {"reviewer": before, **spec}
    return quiz(cases)


@pytest.mark.parametrize(
    ("dataset", "judged", "score"),
    [
        (changed((2, 0), choice_scores={"A": 1, "B": 1, "C": 1, "D": 0.5, "E": 1}), 0, {"peru": 0.75}),
        (changed((2, 0), threshold=0), 0, {"peru": 0.5}),
        (changed((2, 1), criteria="formal"), 1, {"peru": 0.5}),
        (changed((1, 0), prompt="Is this answer to judge right? {answer} Y: yes N: no"), 1, {"norway": 1.0}),
        (changed((0, 0), expected="London"), 0, {"france": 0.5}),
        (quiz([CASES[0] | {"expected": "Paris!"}, *CASES[1:]]), 1, {"france": 0.5}),
    ],
)
def test_rescoring_asks_a_judge_only_where_what_it_is_asked_changed(endpoint, tmp_path, dataset, judged, score):
    endpoint.script = school
    ek.run(quiz(), model=at(endpoint), judge_model=at(endpoint, "teacher"), results_dir=tmp_path)
    count = len(endpoint.requests)
    after = ek.rescore("latest", dataset=dataset, results_dir=tmp_path)
    assert [is_for_judge(request) for request in endpoint.requests[count:]] == [True] * judged
    assert after["status"].unique().tolist() == ["complete"]
    assert {case_id: by_case(after, "score")[case_id] for case_id in score} == score


def test_rescoring_by_another_judge_asks_it_about_every_answer(endpoint, tmp_path):
    endpoint.script = school
    before = ek.run(quiz(), model=at(endpoint), judge_model=at(endpoint, "teacher"), results_dir=tmp_path)
    count = len(endpoint.requests)
    after = ek.rescore("latest", judge_model=at(endpoint, "head"), results_dir=tmp_path)
    assert [request.model for request in endpoint.requests[count:]] == ["head"] * 4
    assert ek.reviews(after)["judge_model"].dropna().unique().tolist() == ["head"]
    assert after["scoring_hash"].iloc[0] != before["scoring_hash"].iloc[0]
    assert after["started_at"].equals(before["started_at"])


def test_rescoring_without_judges_leaves_what_changed_unjudged_and_resume_makes_it_good(endpoint, tmp_path):
    endpoint.script = school
    ek.run(quiz(), model=at(endpoint), judge_model=at(endpoint, "teacher"), results_dir=tmp_path)
    count = len(endpoint.requests)
    dataset = changed((2, 1), criteria="formal")
    after = ek.rescore("latest", dataset=dataset, judges=False, results_dir=tmp_path)
    assert len(endpoint.requests) == count
    assert by_case(after, "error_kind")["peru"] == "unjudged"
    assert by_case(after, "score")["norway"] == 1.0
    assert after["status"].unique().tolist() == ["partial"]
    whole = ek.resume(after["run_id"].iloc[0], results_dir=tmp_path)
    assert [request.model for request in endpoint.requests[count:]] == ["teacher"]
    assert (whole["status"].unique().tolist(), by_case(whole, "score")["peru"]) == (["complete"], 0.5)
    with pytest.raises(ValueError, match="give one of the two"):
        ek.rescore("latest", judges=False, judge_model="x", results_dir=tmp_path)


def test_a_rescoring_whose_judge_fails_is_kept_and_resumed(endpoint, tmp_path):
    endpoint.script = school
    ek.run(quiz(), model=at(endpoint), judge_model=at(endpoint, "teacher"), results_dir=tmp_path)
    models = asked(endpoint, judge=False)
    endpoint.script = no_judge(fails(401, "key expired"))
    with pytest.raises(ek.RunStopped) as caught:
        ek.rescore("latest", judge_model=at(endpoint, "head"), results_dir=tmp_path)
    endpoint.script = school
    whole = ek.resume(caught.value.run_id, results_dir=tmp_path)
    assert by_case(whole, "score") == {"france": 1.0, "norway": 1.0, "peru": 0.5}
    assert ek.reviews(whole)["judge_model"].dropna().unique().tolist() == ["head"]
    assert asked(endpoint, judge=False) == models


def test_recorded_answers_are_judged_by_the_judge_that_is_named(endpoint):
    endpoint.script = school
    turns = [ek.Turn(answer=answer) for answer in ("Paris", "Oslo", "Lima")]
    unjudged = ek.score(quiz(), turns)
    assert unjudged["error_kind"].tolist() == ["unjudged"] * 3
    judged = ek.score(quiz(), turns, judge_model=at(endpoint, "teacher"))
    assert by_case(judged, "score") == {"france": 1.0, "norway": 1.0, "peru": 0.5}
    assert (asked(endpoint, judge=False), asked(endpoint, judge=True)) == (0, 4)


def command(endpoint, folder, *words):
    environment = os.environ | {"OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": "none"}
    done = subprocess.run(
        [sys.executable, "-m", "evalkit", *words], cwd=folder, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def test_the_command_line_judges_shows_reasons_and_rescores(endpoint, tmp_path):
    endpoint.script = school
    (tmp_path / "eval_data").mkdir()
    path = tmp_path / "eval_data" / "quiz.json"
    path.write_text(json.dumps({"name": "quiz", "cases": CASES}))
    code, output, errors = command(endpoint, tmp_path, "run", "quiz", "--model", "student", "--judge-model", "teacher")
    assert (code, errors) == (0, "")
    assert '[PASS] "Name the capital of Norway" → closed_qa: Y (1): It is so.' in output
    assert '[FAIL] "Name the capital of Peru" → 1 of 2 reviewers passed. factuality: D (0): It is so.;' in output
    assert "  closed_qa: 2/2 passed, average 1.00" in output
    assert "self_judged" not in output
    count = len(endpoint.requests)
    cases = json.loads(path.read_text())["cases"]
    cases[2]["reviewers"] = ["factuality", {"reviewer": "tone", "criteria": "formal"}]
    path.write_text(json.dumps({"name": "quiz", "cases": cases}))
    code, output, errors = command(endpoint, tmp_path, "rescore", "latest", "--no-judges")
    assert (code, errors, len(endpoint.requests)) == (0, "", count)
    assert "1 answers are stored, but not judged" in output
    code, output, errors = command(endpoint, tmp_path, "rescore", "latest")
    assert (code, errors) == (0, "")
    assert [request.model for request in endpoint.requests[count:]] == ["teacher"]
    code, output, errors = command(endpoint, tmp_path, "run", "quiz", "--model", "student", "--dry-run")
    assert "Beside them 4 requests to judges" in output
    code, output, errors = command(endpoint, tmp_path, "run", "quiz", "--model", "lexical")
    assert (code, output) == (2, "")
    assert re.search(r"lexical cannot answer in text.*Use a model", errors)
    code, output, errors = command(endpoint, tmp_path, "run", "quiz", "--model", "student")
    assert "The model judged its own answers (self_judged)" in output


def test_the_final_answer_set_uses_every_reviewer_and_judge():
    dataset = ek.load_dataset(Path(__file__).parent.parent / "eval_data" / "final_answers.json")
    used = {spec["reviewer"] for case in dataset.cases for spec in case.reviewers}
    assert used == BUILT_IN
    assert len(dataset) >= 40
    assert {case.kind for case in dataset.cases} == {"final_answer"}
    assert sum(case.input[-1]["role"] == "tool" for case in dataset.cases if not isinstance(case.input, str)) >= 4


BUILT_IN = {
    "exact_match", "valid_json", "valid_xml", "string_contains", "json_schema_match", "levenshtein", "regex_match",
    "numeric_match", "tone", "factuality", "closed_qa", "judge",
}  # fmt: skip
