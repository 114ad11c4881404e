import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pandas as pd
import pytest

from evalkit import SettingsError, annotate, load_annotations, load_run, with_annotations
from evalkit.runs import HistoryWarning
from evalkit.store import save_run
from frames import description, row


def call(name, **arguments):
    return json.dumps([{"name": name, "arguments": json.dumps(arguments)}])


def save(folder, run_id="r1", *rows):
    given = rows or (
        row("c1", case_hash="h1", tool_calls=call("list_files", path=".")),
        row("c2", 1, case_hash="h2", kind="final_answer", expected_tool=None, answer="Paris", tool_calls="[]"),
        row("c2", 2, case_hash="h2", kind="final_answer", expected_tool=None, answer="paris!", tool_calls="[]"),
    )
    save_run(folder / f"{run_id}.parquet", description(run_id), None, given)


def test_the_beginning_of_a_case_id_names_the_only_case_that_begins_so(tmp_path):
    save(tmp_path, "r1", row("what-files-are-in-the-current-directory-0a1b2c3d"), row("what-2"))
    with pytest.raises(ValueError, match="Did you mean 'what-files-are-in-the-current-directory-0a1b2c3d'"):
        annotate("r1", "what-files", passed=True, results_dir=tmp_path)


def test_an_annotation_is_a_line_in_the_authors_file(tmp_path):
    save(tmp_path)
    path = annotate("r1", "c2", 2, passed=False, note="shouts; é 🌧 \ud83d", author="ann", results_dir=tmp_path)
    assert path == tmp_path / "annotations" / "ann.jsonl"
    (line,) = path.read_text(encoding="utf-8").splitlines()
    kept = json.loads(line)
    assert (kept["run_id"], kept["case_id"], kept["trial"], kept["passed"]) == ("r1", "c2", 2, False)
    assert kept["note"] == "shouts; é 🌧 \\ud83d"


def test_annotations_come_back_as_a_frame(tmp_path):
    save(tmp_path)
    annotate("r1", "c1", 1, passed=True, author="ann", results_dir=tmp_path)
    annotate("r1", "c2", 1, note="hm", author="bob", results_dir=tmp_path)
    frame = load_annotations(results_dir=tmp_path)
    assert frame[["case_id", "trial", "author", "annotated_run"]].to_numpy().tolist() == [
        ["c1", 1, "ann", "r1"], ["c2", 1, "bob", "r1"],
    ]  # fmt: skip
    assert frame["passed"].tolist() == [True, pd.NA]
    assert str(frame["annotated_at"].dtype) == "datetime64[us, UTC]"


def test_the_last_word_of_an_author_counts_and_authors_do_not_collide(tmp_path):
    save(tmp_path)
    for author, passed in [("ann", True), ("bob", False), ("ann", False)]:
        annotate("r1", "c1", passed=passed, author=author, results_dir=tmp_path)
    frame = load_annotations(results_dir=tmp_path)
    assert frame[["author", "passed"]].to_numpy().tolist() == [["ann", False], ["bob", False]]


def test_an_annotation_is_carried_where_case_and_answer_are_the_same(tmp_path):
    save(tmp_path)
    annotate("r1", "c1", 1, passed=True, author="ann", results_dir=tmp_path)
    annotate("r1", "c2", 1, passed=True, author="ann", results_dir=tmp_path)
    answer = {"case_hash": "h2", "kind": "final_answer", "expected_tool": None, "tool_calls": "[]"}
    save(
        tmp_path, "r2",
        row("renamed", case_hash="h1", tool_calls=call("list_files", path="."), answer="I look."),
        row("other call", case_hash="h1", tool_calls=call("list_files", path="/")),
        row("c1", case_hash="changed", tool_calls=call("list_files", path=".")),
        row("same", answer="Paris", **answer), row("other", answer="Rome", **answer),
        row("nothing", answer=None, **answer),
    )  # fmt: skip
    found = load_annotations(load_run("r2", results_dir=tmp_path), results_dir=tmp_path)
    assert found[["run_id", "case_id", "annotated_run"]].to_numpy().tolist() == [
        ["r2", "renamed", "r1"], ["r2", "same", "r1"],
    ]  # fmt: skip


def test_results_are_joined_with_what_people_said_and_no_row_multiplies(tmp_path):
    save(tmp_path)
    for author, passed in [("ann", True), ("bob", True)]:
        annotate("r1", "c1", passed=passed, note=f"so {author}", author=author, results_dir=tmp_path)
    annotate("r1", "c2", 1, passed=True, author="ann", results_dir=tmp_path)
    annotate("r1", "c2", 1, passed=False, author="bob", results_dir=tmp_path)
    results = load_run("r1", results_dir=tmp_path)
    before = results.copy(deep=True)
    joined = with_annotations(results, results_dir=tmp_path)
    pd.testing.assert_frame_equal(results, before)
    pd.testing.assert_frame_equal(joined[list(results.columns)], results)
    assert joined["human_passed"].tolist() == [True, pd.NA, pd.NA]
    assert joined["human_by"].isna().tolist() == [False, False, True]
    assert joined["human_note"][0] == "ann: so ann\nbob: so bob"
    assert with_annotations(joined, results_dir=tmp_path)["human_passed"].tolist() == [True, pd.NA, pd.NA]


def reviewed(folder):
    said = [{"reviewer": name, "passed": True} for name in ("tone", "factuality", "string_contains", "tone")]
    answer = {"kind": "final_answer", "expected_tool": None, "answer": "Paris", "tool_calls": "[]"}
    save(folder, "r1", row("c2", case_hash="h2", reviews=json.dumps(said), **answer), row("c3", **answer))


def test_a_verdict_is_on_the_whole_answer_or_on_what_a_reviewer_judges(tmp_path):
    reviewed(tmp_path)
    for reviewer, passed in ((None, True), ("tone", True), ("tone (2)", False), ("tone", False)):
        path = annotate(
            "r1", "c2", passed=passed, note="so", author="ann", reviewer=reviewer, results_dir=tmp_path
        )  # fmt: skip
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [(line["annotation"], line.get("reviewer")) for line in lines] == [
        (1, None), (2, "tone"), (2, "tone (2)"), (2, "tone"),
    ]  # fmt: skip
    results = load_run("r1", results_dir=tmp_path)
    found = load_annotations(results, results_dir=tmp_path)
    assert found["reviewer"].fillna("").tolist() == ["tone", "tone (2)", ""]
    assert found["passed"].tolist() == [False, False, True]
    joined = with_annotations(results, results_dir=tmp_path).iloc[0]
    assert joined["human_passed"]
    assert joined["human_note"].splitlines() == ["ann on tone: so", "ann on tone (2): so", "ann: so"]


@pytest.mark.parametrize(
    ("case", "reviewer", "words"),
    [
        ("c2", "factualty", "no reviewer 'factualty' reviewed this answer. Did you mean 'factuality'"),
        ("c2", "regex", r"Its reviewers: tone, factuality, string_contains, tone \(2\)."),
        ("c2", "", "no reviewer '' reviewed this answer"),
        ("c2", 5, "no reviewer 5 reviewed this answer"),
        ("c3", "tone", "It has none: leave `reviewer` out"),
    ],
)
def test_a_verdict_names_a_reviewer_that_reviewed_the_answer(tmp_path, case, reviewer, words):
    reviewed(tmp_path)
    with pytest.raises(ValueError, match=words):
        annotate("r1", case, passed=True, author="ann", reviewer=reviewer, results_dir=tmp_path)
    assert not (tmp_path / "annotations").exists()


def test_results_without_annotations_get_empty_columns(tmp_path):
    save(tmp_path)
    joined = with_annotations(load_run("r1", results_dir=tmp_path), results_dir=tmp_path)
    assert joined[["human_passed", "human_note", "human_by", "human_from"]].isna().all(axis=None)
    assert len(load_annotations(results_dir=tmp_path / "none")) == 0


def _write_many(folder, author):
    for number in range(20):
        annotate("r1", "c1", passed=number % 2 == 0, note="x" * 5000, author=author, results_dir=folder)


def test_several_processes_write_whole_lines(tmp_path):
    save(tmp_path)
    with ProcessPoolExecutor(3, mp_context=get_context("spawn")) as pool:
        list(pool.map(_write_many, [tmp_path] * 3, ["ann"] * 3))
    lines = (tmp_path / "annotations" / "ann.jsonl").read_text().splitlines()
    assert len([json.loads(line) for line in lines]) == 60


def test_lines_that_cannot_be_read_are_named_and_left_out(tmp_path):
    save(tmp_path)
    path = annotate("r1", "c1", passed=True, author="ann", results_dir=tmp_path)
    with open(path, "a") as file:
        file.write('<<<<<<< HEAD\n{"annotation": 9}\n{"torn": ')
    annotate("r1", "c2", passed=True, author="ann", results_dir=tmp_path)
    with pytest.warns(HistoryWarning, match=r"3 lines of annotations .*ann.jsonl, line 2, ann.jsonl, line 3"):
        assert load_annotations(results_dir=tmp_path)["case_id"].tolist() == ["c1", "c2"]


@pytest.mark.parametrize("author", ["", "../x", "a/b", "nul", ".hidden", "a:b", "x" * 300])
def test_an_author_is_a_legal_file_name(tmp_path, author):
    save(tmp_path)
    with pytest.raises(ValueError, match=r"author's name .*It becomes the name of a file"):
        annotate("r1", "c1", passed=True, author=author, results_dir=tmp_path)
    assert not (tmp_path / "annotations").exists()


def test_the_author_is_taken_from_the_environment(tmp_path, monkeypatch):
    save(tmp_path)
    monkeypatch.setenv("EVALKIT_AUTHOR", "Zoë")
    assert annotate("r1", "c1", passed=True, results_dir=tmp_path).name == "Zoë.jsonl"


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"run_id": "r9"}, SettingsError, "no run 'r9'"),
        ({"case_id": "c11"}, ValueError, "run 'r1' has no case 'c11'. Did you mean 'c1'"),
        ({"case_id": "weather"}, ValueError, "run 'r1' has no case 'weather'. It has: c1"),
        ({"trial": 4}, ValueError, r"case 'c1' of run 'r1' has the trials \[1\], not 4"),
        *[({"trial": one}, ValueError, r"has the trials \[1\], not") for one in ([], [1], True, "1", None, 1.5)],
        ({"note": 5}, ValueError, "note must be text or None, got 5"),
        ({"passed": None}, ValueError, "an annotation says something"),
        ({"passed": "yes"}, ValueError, "passed must be True, False or None, got 'yes'"),
    ],
)
def test_what_cannot_be_annotated_is_refused(tmp_path, given, error, words):
    save(tmp_path)
    with pytest.raises(error, match=words):
        annotate(**{"run_id": "r1", "case_id": "c1", "passed": True, "author": "ann"} | given, results_dir=tmp_path)
