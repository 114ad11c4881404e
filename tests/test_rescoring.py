import json

import pandas as pd
import pytest

import evalkit as ek
from evalkit.rescoring import match_cases
from loopback_replies import calls, fails, pick_by_words
from test_runner import CASES, TOOLS, by_case, model_at, small

VERDICT = ["case_id", "trial", "outcome", "reason", "passed", "score", "actual_tool", "actual_arguments", "mismatches"]


def test_recorded_turns_are_scored_without_a_model():
    turns = [ek.Turn(tool_calls=[ek.ToolCall("list_files", "{}")]), "list_files", None]
    results = ek.score(small(), turns)
    assert by_case(results, "outcome") == {"list": "correct", "read": "secondary", "joke": "correct"}
    assert results["model"].unique().tolist() == ["recorded"]
    assert ek.summarize(results)["average_score"].tolist() == [pytest.approx(2.5 / 3)]


def test_turns_may_be_given_by_case_with_several_trials():
    results = ek.score(small(), {"joke": [None, "read_file"], "list": "list_files"})
    assert [(r.case_id, r.trial, r.outcome) for r in results.itertuples()] == [
        ("list", 1, "correct"),
        ("joke", 1, "correct"),
        ("joke", 2, "unexpected_call"),
    ]


def message(*tool_calls, content=None):
    entries = [{"id": "c1", "type": "function", "function": {"name": n, "arguments": a}} for n, a in tool_calls]
    return {"role": "assistant", "content": content, "tool_calls": entries or None}


def test_calls_and_messages_as_they_were_sent_are_turns():
    turns = [message(("list_files", '{"directory": "."}')), ek.ToolCall("list_files", {}), message(content="Ha.")]
    results = ek.score(small(), turns).set_index("case_id")
    assert results["outcome"].to_dict() == {"list": "correct", "read": "secondary", "joke": "correct"}
    assert results.loc["list", "actual_arguments"] == '{"directory": "."}'
    assert results.loc["read", "actual_arguments"] == "{}"
    assert results.loc["joke", "answer"] == "Ha."


def test_messages_may_be_trials_and_name_tools_as_they_were_sent():
    cases = [{"id": "a", "input": "read it", "expected_tool": "files.read"}]
    dataset = small(cases=cases, tools=[{"name": "files.read"}])
    results = ek.score(dataset, {"a": [message(("files_read", "{}")), message(content="no"), ek.ToolCall("other")]})
    assert results["outcome"].tolist() == ["correct", "no_call", "unknown_tool"]


def test_the_text_of_a_final_answer_is_scored_and_kept():
    cases = [{"id": "a", "input": "Capital of France?", "expected": "Paris"}]
    for turn in ("Paris", ek.Turn(answer="Paris"), message(content="Paris")):
        (row,) = ek.score(small(cases=cases), [turn]).itertuples()
        assert (row.outcome, row.answer, row.tool_calls) == ("passed", "Paris", "[]")


@pytest.mark.parametrize(
    ("turns", "words"),
    [
        ([None], "1 turns for 3 cases"),
        ({"jokes": None}, "'jokes'"),
        ([1, 2, 3], "case 'list': a recorded turn must be a Turn, a ToolCall, an assistant's message"),
        ({"joke": {"role": "user", "content": "Hi"}}, "case 'joke': a recorded turn must be a Turn, a ToolCall"),
        ({"joke": {"name": "list_files"}}, "got {'name': 'list_files'}"),
    ],
)
def test_turns_that_do_not_fit_are_refused(turns, words):
    with pytest.raises((ValueError, TypeError)) as caught:
        ek.score(small(), turns)
    assert words in str(caught.value)


def test_under_unchanged_rules_rescoring_reproduces_every_verdict(endpoint, tmp_path):
    awkward = iter(
        ['{"directory": 5.0, "b": [9007199254740993, -0.0]}', "", "not json", '{"x": NaN}', '"text"', "{}"] * 9
    )

    def script(request):
        if "read" in request.text:
            return fails(400, "no")
        return (
            calls(("list_files", next(awkward)), ("read_file", "{}"))
            if "list" in request.text
            else pick_by_words(request)
        )

    endpoint.script = script
    cases = [CASES[0] | {"expected_arguments": {"directory": 5}}, *CASES[1:]]
    before = ek.run(small(cases=cases), model=model_at(endpoint), trials=6, results_dir=tmp_path)
    asked = sum(endpoint.asked.values())
    after = ek.rescore("latest", results_dir=tmp_path)
    pd.testing.assert_frame_equal(after[VERDICT], before[VERDICT])
    own = ["run_id", "rescored_from"]
    pd.testing.assert_frame_equal(after.drop(columns=own), before.drop(columns=own))
    assert sum(endpoint.asked.values()) == asked
    assert after["rescored_from"].unique().tolist() == before["run_id"].unique().tolist()
    assert set(before["outcome"]) > {"error", "unparsable"}


def test_a_run_given_by_its_file_is_scored_again_beside_it(tmp_path, monkeypatch):
    ek.run(small(), model=lambda messages, tools: "a joke", results_dir=tmp_path / "theirs")
    (file,) = (tmp_path / "theirs").glob("*.parquet")
    (tmp_path / "ours").mkdir()
    monkeypatch.setenv("EVALKIT_RESULTS", str(tmp_path / "ours"))
    again = ek.rescore(file)
    assert (tmp_path / "theirs" / f"{again['run_id'].iloc[0]}.parquet").is_file()
    assert list((tmp_path / "ours").iterdir()) == []


def test_a_changed_expectation_is_scored_by_what_the_file_says_now(endpoint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "eval_data" / "small.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"cases": CASES, "tools": TOOLS}))
    ek.run("small", model=model_at(endpoint), results_dir=tmp_path)
    changed = [CASES[0] | {"expected_tool": "read_file"}, CASES[1] | {"input": "read this one"}, CASES[2]]
    path.write_text(json.dumps({"cases": changed, "tools": TOOLS}))
    with pytest.warns(UserWarning, match="1 cases left out of the new scoring: read: its input has changed"):
        after = ek.rescore("latest", results_dir=tmp_path)
    assert by_case(after, "outcome") == {"list": "wrong_tool", "joke": "correct"}
    runs = ek.list_runs(results_dir=tmp_path, all_scorings=False)
    assert runs["run_id"].tolist() == after["run_id"].unique().tolist()
    assert ek.load_run("latest", results_dir=tmp_path)["run_id"].iloc[0] == after["run_id"].iloc[0]


def run_from_file(path, cases, endpoint):
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"cases": cases, "tools": TOOLS}))
    return ek.run("small", model=model_at(endpoint))


def without_ids(*cases):
    return [{name: value for name, value in case.items() if name != "id"} for case in cases]


def test_an_edited_expectation_of_a_case_without_id_is_a_changed_case(endpoint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "eval_data" / "small.json"
    cases = without_ids(*CASES)
    before = run_from_file(path, cases, endpoint)
    path.write_text(json.dumps({"cases": [cases[0] | {"expected_tool": "read_file"}, *cases[1:]], "tools": TOOLS}))
    after = ek.rescore("latest")
    changed = before["case_id"][before["input"] == cases[0]["input"]].unique().tolist()
    assert by_case(after, "outcome")[changed[0]] == "wrong_tool"
    compared = ek.compare(before, after).cases.set_index("case_id")["status"]
    assert compared.drop(changed).unique().tolist() == ["unchanged"]
    assert compared[changed].tolist() == ["changed case"]


def test_cases_that_come_to_share_an_input_still_find_their_turns(endpoint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "eval_data" / "small.json"
    cases = without_ids(*CASES)
    run_from_file(path, cases, endpoint)
    other = cases[0] | {"expected_tool": "read_file"}
    path.write_text(json.dumps({"cases": [other, *cases], "tools": TOOLS}))
    after = ek.rescore("latest")
    assert sorted(after["outcome"]) == ["correct", "correct", "correct"]
    assert after["case_id"].isin([case.id for case in ek.load_dataset("small").cases]).all()


def match(before, after):
    datasets = [ek.Dataset(name="d", cases=cases, tools=TOOLS) for cases in (before, after)]
    pairs, left_out = match_cases(*datasets)
    found = {case.id: pairs[case.id].expected_tool for case in datasets[0].cases if case.id in pairs}
    return [found.get(case.id, left_out.get(case.id)) for case in datasets[0].cases]


def expecting(tool, **more):
    return {"input": "list it", "expected_tool": tool, **more}


GONE = "it is no longer in the dataset"


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (["list_files", "none"], ["none", "list_files"], ["list_files", "none"]),
        (["list_files", "none"], ["any", "none"], ["any", "none"]),
        (["list_files", "none"], ["none"], [GONE, "none"]),
        (["list_files", "none"], ["any"], [GONE, GONE]),
        (["list_files", "none"], ["any", "read_file"], [GONE, GONE]),
        (["list_files"], ["any", "list_files"], ["list_files"]),
        (["list_files"], ["any", "none"], [GONE]),
    ],
)
def test_cases_of_one_input_are_matched_by_content_then_by_what_is_left(before, after, found):
    assert match([expecting(tool) for tool in before], [expecting(tool) for tool in after]) == found


def test_a_case_under_another_id_is_matched_by_its_input():
    assert match([expecting("none", id="a")], [expecting("any", id="b")]) == ["any"]
    assert match([expecting("none", id="a")], [expecting("any", id="a")]) == ["any"]


def test_rescoring_where_no_case_is_left_is_refused(endpoint, tmp_path):
    ek.run(small(), model=model_at(endpoint), results_dir=tmp_path)
    other = small(cases=[{"input": "something else", "expected_tool": "none"}])
    with pytest.raises(ek.SettingsError, match="nothing to score again"):
        ek.rescore("latest", dataset=other, results_dir=tmp_path)
