import json
import os
import shutil
import warnings
from datetime import UTC, date, datetime, timedelta

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalkit import SchemaError, SettingsError, list_runs, load_annotations, load_history, load_run
from evalkit.history import problems
from evalkit.journal import Journal
from evalkit.runs import HistoryWarning
from evalkit.store import read_run, save_run
from frames import description, row


def save(folder, run_id, *rows, **values):
    return save_run(folder / f"{run_id}.parquet", description(run_id, **values), None, rows or [row()])


def ids(frame):
    return frame["run_id"].unique().tolist()


def truncated(folder):
    path = save(folder, "truncated")
    path.write_bytes(path.read_bytes()[:-40])


def foreign(folder):
    pq.write_table(pa.table({"a": [1]}), folder / "foreign.parquet")


def newer(folder):
    footer = {"evalkit": json.dumps({"schema_version": 99, "run_id": "n"})}
    pq.write_table(pa.table({"a": [1]}).replace_schema_metadata(footer), folder / "newer.parquet")


def strange_version(folder):
    footer = {"evalkit": json.dumps({"schema_version": "two", "run_id": "n"})}
    pq.write_table(pa.table({"a": [1]}).replace_schema_metadata(footer), folder / "strange.parquet")


def without_id(folder):
    footer = {"evalkit": json.dumps({"schema_version": 1, "run_id": 7})}
    pq.write_table(pa.table({"a": [1]}).replace_schema_metadata(footer), folder / "noid.parquet")


def duplicate(folder):
    shutil.copy(folder / "good-1.parquet", folder / "a copy.parquet")


def folder_named_as_a_run(folder):
    (folder / "directory.parquet").mkdir()


def dangling(folder):
    (folder / "gone.parquet").symlink_to(folder / "nowhere")


def torn_journal(folder):
    (folder / ".journal").mkdir()
    (folder / ".journal" / "torn.jsonl").write_text('{"evalkit_jour')


ODD = [
    (truncated, "not a whole Parquet file", "restore it from a copy, or delete it"),
    (foreign, "not an evalkit run", "move it out of the results folder"),
    (newer, "written by a newer evalkit", "update evalkit"),
    (strange_version, "not an evalkit run", "move it out of the results folder"),
    (without_id, "not an evalkit run", "move it out of the results folder"),
    (duplicate, "holds run 'good-1', which good-1.parquet holds too", "delete one of the two"),
    (folder_named_as_a_run, "not a whole Parquet file", "restore it from a copy, or delete it"),
    (dangling, "No such file", "restore it from a copy, or delete it"),
    (torn_journal, "does not begin as a journal", "delete it if nothing of that run is needed"),
]


@pytest.mark.parametrize(("spoil", "what", "what_to_do"), ODD, ids=[spoil.__name__ for spoil, _, _ in ODD])
def test_an_odd_file_is_a_row_and_a_warning_and_hides_no_other(tmp_path, spoil, what, what_to_do):
    for number in (1, 2):
        save(tmp_path, f"good-{number}")
    spoil(tmp_path)
    found = problems(results_dir=tmp_path)
    assert found[["what_to_do", "left_out"]].to_numpy().tolist() == [[what_to_do, True]]
    assert what in found["what"][0]
    assert os.path.lexists(found["path"][0])
    for read in (list_runs, load_history):
        with pytest.warns(HistoryWarning, match="1 files in .* left out"):
            assert sorted(ids(read(results_dir=tmp_path))) == ["good-1", "good-2"]


def test_a_run_without_trials_is_listed_and_named(tmp_path):
    save(tmp_path, "full")
    save_run(tmp_path / "zero.parquet", description("zero"), None, [])
    assert sorted(ids(list_runs(results_dir=tmp_path))) == ["full", "zero"]
    assert problems(results_dir=tmp_path)[["what", "left_out"]].to_numpy().tolist() == [
        ["run 'zero' holds no trial", False]
    ]
    with pytest.warns(HistoryWarning, match="run 'zero' holds no trial"):
        assert ids(load_history(results_dir=tmp_path)) == ["full"]


def test_a_run_that_does_not_say_when_it_started_is_named(tmp_path):
    save(tmp_path, "dated")
    save(tmp_path, "undated", started_at=None)
    assert "does not say when it started" in problems(results_dir=tmp_path)["what"][0]
    with pytest.warns(HistoryWarning, match="does not say when it started"):
        assert ids(load_history(since="2026-01-01", results_dir=tmp_path)) == ["dated"]


def test_rows_that_cannot_be_read_leave_out_their_run_alone(tmp_path):
    save(tmp_path, "good", *(row(f"c{n}") for n in range(50)))
    path = save(tmp_path, "spoilt", *(row(f"c{n}", answer="x" * n) for n in range(50)))
    content = bytearray(path.read_bytes())
    content[10:1500] = bytes(1490)
    path.write_bytes(content)
    assert problems(results_dir=tmp_path, rows=False).empty
    found = problems(results_dir=tmp_path)
    assert [os.path.basename(one) for one in found["path"]] == ["spoilt.parquet"]
    with pytest.warns(HistoryWarning, match="spoilt"):
        assert ids(load_history(results_dir=tmp_path)) == ["good"]


def test_a_file_with_a_trial_twice_leaves_out_its_run_alone(tmp_path):
    save(tmp_path, "good")
    save(tmp_path, "twice", row("c1"), row("c1"))
    with pytest.warns(HistoryWarning, match="repeat the key"):
        assert ids(load_history(results_dir=tmp_path)) == ["good"]


def to_come(folder):
    save(folder, "to-come", started_at="9999-12-31T23:59:59+00:00")


def scored_in_the_future(folder):
    save(folder, "again", scored_at=f"{datetime.now(UTC) + timedelta(days=30)}", rescored_from="good")


def of_the_epoch(folder):
    save(folder, "epoch", started_at="1970-01-01T00:00:00+00:00")


def of_no_date(folder):
    save(folder, "undated", started_at="9999-12-31T23:59:59-12:00")


def empty(folder):
    save_run(folder / "zero.parquet", description("zero"), None, [])


def renamed(folder):
    save(folder, "one").rename(folder / "another.parquet")


def rows_spoilt(folder):
    path = save(folder, "spoilt", *(row(f"c{n}", answer="x" * n) for n in range(50)))
    content = bytearray(path.read_bytes())
    content[10:1500] = bytes(1490)
    path.write_bytes(content)


def a_trial_twice(folder):
    save(folder, "twice", row("c1"), row("c1"))


def damaged_journal(folder, started_at="2026-03-01T00:00:00+00:00"):
    (folder / ".journal").mkdir()
    path = folder / ".journal" / "begun.jsonl"
    with Journal.create(path, description("begun", started_at=started_at), {"cases": []}) as journal:
        for number in range(3):
            journal.append(row(f"c{number}"))
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2][: len(lines[2]) // 2] + b"\n"
    path.write_bytes(b"".join(lines))


def odd_annotation(folder):
    (folder / "annotations").mkdir()
    (folder / "annotations" / "ann.jsonl").write_text('{"annotation": 1, "passed": "maybe"}\n', encoding="utf-8")


def linked_annotations(folder):
    (folder.parent / "elsewhere.jsonl").write_text("{}\n", encoding="utf-8")
    (folder / "annotations").mkdir()
    (folder / "annotations" / "eve.jsonl").symlink_to(folder.parent / "elsewhere.jsonl")


NAMED = [
    *(spoil for spoil, _, _ in ODD if spoil is not duplicate), to_come, scored_in_the_future, of_the_epoch, of_no_date,
    empty, renamed, rows_spoilt, a_trial_twice, damaged_journal, odd_annotation, linked_annotations,
]  # fmt: skip


@pytest.mark.parametrize("spoil", NAMED, ids=[spoil.__name__ for spoil in NAMED])
def test_whatever_a_warning_names_stands_among_the_problems(tmp_path, spoil):
    folder = tmp_path / "results"
    folder.mkdir()
    save(folder, "good", started_at="2026-03-01T00:00:00+00:00")
    spoil(folder)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load_history(results_dir=folder)
        load_annotations(results_dir=folder)
    assert len(caught) == 1
    found = problems(results_dir=folder)
    assert len(found) == 1
    assert os.path.basename(found["path"][0]).partition(".")[0] in str(caught[0].message)
    assert os.path.lexists(found["path"][0])
    assert found["what_to_do"][0]


@pytest.mark.parametrize("date", ["9999-12-31T23:59:59+00:00", "2999-01-01T00:00:00"])
def test_a_run_of_a_day_to_come_is_never_the_latest(tmp_path, date):
    save(tmp_path, "old", started_at="2026-03-01T00:00:00")
    save(tmp_path, "new", started_at="2026-03-01T02:00:00+01:00")
    save(tmp_path, "wrong", started_at=date)
    for word, run_id in (("latest", "new"), ("latest~1", "old"), ("latest~2", "wrong")):
        with pytest.warns(HistoryWarning, match="in the future, so it does not count as the latest"):
            assert ids(load_run(word, results_dir=tmp_path)) == [run_id]
    with pytest.warns(HistoryWarning, match="wrong"):
        assert ids(list_runs(results_dir=tmp_path)) == ["new", "old", "wrong"]
    with pytest.warns(HistoryWarning, match="wrong"):
        assert ids(load_history(results_dir=tmp_path, runs=["latest", "wrong"])) == ["new", "wrong"]
    assert ids(load_run("wrong", results_dir=tmp_path)) == ["wrong"]
    assert ids(load_run("old", results_dir=tmp_path)) == ["old"]


def test_a_clock_that_goes_an_hour_ahead_is_no_matter(tmp_path):
    save(tmp_path, "here", started_at=f"{datetime.now(UTC)}")
    save(tmp_path, "there", started_at=f"{datetime.now(UTC) + timedelta(hours=1)}")
    assert ids(load_run("latest", results_dir=tmp_path)) == ["there"]
    assert problems(results_dir=tmp_path).empty


def test_a_scoring_of_a_day_to_come_takes_no_other_ones_place(tmp_path):
    save(tmp_path, "first", started_at="2026-03-01T00:00:00+00:00")
    for run_id, scored_at in (("wrong", "2999-01-01T00:00:00"), ("evening", "2026-03-02T20:00:00-08:00"),
                              ("morning", "2026-03-03T01:00:00+00:00")):  # fmt: skip
        save(tmp_path, run_id, started_at="2026-03-01T00:00:00+00:00", scored_at=scored_at, rescored_from="first")
    with pytest.warns(HistoryWarning, match="run 'wrong' is dated 2999-01-01, in the future"):
        assert ids(load_run("latest", results_dir=tmp_path)) == ["evening"]


@pytest.mark.parametrize("date", [None, "yesterday", "2026-03-01T00:00:00", "2026-03-01T00:00:00+14:00", "0"])
def test_an_unfinished_run_of_any_date_is_read(tmp_path, date):
    save(tmp_path, "good", started_at="2026-03-02T00:00:00+00:00")
    damaged_journal(tmp_path, started_at=date)
    with pytest.warns(HistoryWarning, match=r"1 lines of run 'begun' cannot be read \(3\)"):
        assert ids(load_history(results_dir=tmp_path)) == ["begun", "good"]
    assert len(load_run("begun", results_dir=tmp_path)) == 2
    assert ids(list_runs(results_dir=tmp_path)) == ["good", "begun"]


def test_a_history_is_its_runs_one_after_another(tmp_path):
    first = save(tmp_path, "b", row("c1"), row("c2", passed=None), started_at="2026-03-01T00:00:00+00:00")
    second = save(tmp_path, "a", row("c1", tags='["x"]'), started_at="2026-03-02T00:00:00+00:00")
    expected = pd.concat([read_run(first), read_run(second)], ignore_index=True)
    pd.testing.assert_frame_equal(load_history(results_dir=tmp_path), expected)


def test_only_the_wanted_columns_are_there_and_what_rates_need(tmp_path):
    save(tmp_path, "r1", row("c1", answer="yes"))
    frame = load_history(columns=["answer", "model"], results_dir=tmp_path)
    assert set(frame.columns) == {
        "answer", "model", "run_id", "case_id", "trial", "passed", "score", "cluster", "case_hash", "dataset",
    }  # fmt: skip
    whole = load_history(results_dir=tmp_path)
    pd.testing.assert_frame_equal(frame, whole[list(frame.columns)])


def test_an_unknown_column_is_refused_with_the_near_miss(tmp_path):
    with pytest.raises(SchemaError, match=r"no column 'anwser' in a results frame. Did you mean 'answer'"):
        load_history(columns=["anwser"], results_dir=tmp_path)


def test_a_column_that_is_all_missing_in_the_first_file_is_there(tmp_path):
    save(tmp_path, "a", row(answer=None, cost_usd=None), started_at="2026-03-01T00:00:00+00:00")
    save(tmp_path, "b", row(answer="yes", cost_usd=0.5), started_at="2026-03-02T00:00:00+00:00")
    frame = load_history(results_dir=tmp_path)
    assert frame["answer"].tolist()[1] == "yes"
    assert frame["cost_usd"].tolist()[1] == 0.5


def older(folder, run_id="old", **columns):
    """A file from before most columns, with other types and a time without a zone."""
    table = pa.table(
        {
            "run_id": [run_id] * 2,
            "case_id": ["c1", "c2"],
            "trial": pa.array([1, 1], pa.int32()),
            "passed": [True, False],
        }
        | columns
    )
    footer = {"evalkit": json.dumps({"schema_version": 0, "run_id": run_id, "started_at": "2026-03-02 09:00"})}
    pq.write_table(table.replace_schema_metadata(footer), folder / f"{run_id}.parquet")


def test_files_of_older_versions_load_and_are_counted(tmp_path):
    older(tmp_path)
    save(tmp_path, "new", started_at="2026-03-03T09:00:00+00:00")
    frame = load_history(results_dir=tmp_path)
    assert frame["run_id"].tolist() == ["old", "old", "new"]
    assert frame["score"].isna().tolist() == [True, True, False]
    listed = list_runs(results_dir=tmp_path).set_index("run_id").loc["old"]
    assert (listed["cases"], listed["passed"], listed["trials"]) == (2, 1.0, 2)
    assert listed["started_at"] == pd.Timestamp("2026-03-02T09:00Z")


def test_columns_that_only_some_files_have_are_there(tmp_path):
    older(tmp_path, temperature=[0.5, 0.7])
    save(tmp_path, "new", started_at="2026-03-03T09:00:00+00:00")
    frame = load_history(results_dir=tmp_path)
    assert frame["temperature"].isna().tolist() == [False, False, True]


def test_a_folder_with_an_equals_sign_adds_no_column(tmp_path):
    folder = tmp_path / "kind=weekly"
    save(folder, "r1")
    assert "weekly" not in load_run("r1", results_dir=folder)["kind"].tolist()


def several(folder):
    starts = {
        "naive": "2026-03-02 09:00", "utc": "2026-03-02T09:30:00Z", "west": "2026-03-01T23:30:00-08:00",
        "east": "2026-03-29T02:30:00+01:00", "last": "2026-03-31T23:59:59.5+00:00",
    }  # fmt: skip
    for run_id, start in starts.items():
        save(folder, run_id, started_at=start, dataset="other" if run_id == "east" else "file_tools")


def test_runs_are_in_order_of_the_instant_they_started(tmp_path):
    several(tmp_path)
    assert ids(load_history(results_dir=tmp_path)) == ["west", "naive", "utc", "east", "last"]
    assert list_runs(results_dir=tmp_path)["run_id"].tolist() == ["last", "east", "utc", "naive", "west"]
    assert load_run("latest~4", results_dir=tmp_path)["run_id"].tolist() == ["west"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"since": "2026-03-29"}, ["east", "last"]),
        ({"until": "2026-03-02"}, ["west", "naive", "utc"]),
        ({"since": "2026-03-02T09:00", "until": "2026-03-02T09:00"}, ["naive"]),
        ({"since": "2026-03-02T10:00+01:00", "until": date(2026, 3, 29)}, ["naive", "utc", "east"]),
        ({"since": datetime(2026, 3, 2, 9, 15, tzinfo=UTC)}, ["utc", "east", "last"]),
        ({"since": pd.Timestamp("2026-03-02T09:15")}, ["utc", "east", "last"]),
        ({"since": "2026-W13-7", "until": "2026-03-31"}, ["east", "last"]),
        ({"since": "2027-01-01"}, []),
        ({"dataset": "other"}, ["east"]),
        ({"dataset": ["other", "file_tools"], "until": "2026-03-29"}, ["west", "naive", "utc", "east"]),
        ({"model": "lexical", "since": "2026-03-30"}, ["last"]),
        ({"runs": ["wes", "latest"]}, ["west", "last"]),
        ({"runs": "utc"}, ["utc"]),
    ],
)
def test_runs_are_chosen_by_day_instant_dataset_model_and_id(tmp_path, given, expected):
    several(tmp_path)
    assert ids(load_history(**given, results_dir=tmp_path)) == expected


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"since": "yesterday"}, "since must be a day such as '2026-11-30'"),
        ({"until": "2026-03"}, "until must be a day"),
        ({"since": 5}, "since must be a day"),
        ({"since": "2026-04-01", "until": "2026-03-01"}, "since must not be later than until"),
        ({"dataset": "file_tool"}, r"no run of dataset 'file_tool' in .*Did you mean 'file_tools'"),
        ({"model": "zzz"}, r"no run of model 'zzz' in .* There are 'lexical'"),
        ({"runs": ["nothing"]}, "no run 'nothing'"),
        ({"engine": "daks"}, r"engine must be 'pandas' or 'dask', got 'daks'. Did you mean 'dask'"),
    ],
)
def test_what_no_run_can_be_is_refused(tmp_path, given, words):
    several(tmp_path)
    with pytest.raises(SettingsError, match=words):
        load_history(**given, results_dir=tmp_path)


def test_no_runs_give_an_empty_frame_of_the_same_shape(tmp_path):
    save(tmp_path / "full", "r1")
    full = load_history(results_dir=tmp_path / "full")
    for folder in (tmp_path / "none", tmp_path):
        empty = load_history(dataset="file_tools", results_dir=folder)
        assert len(empty) == 0
        pd.testing.assert_series_equal(empty.dtypes, full.dtypes)
    assert problems(results_dir=tmp_path / "none").empty


def test_a_run_scored_again_is_there_once_unless_all_scorings_are_wanted(tmp_path):
    save(tmp_path, "first")
    save(tmp_path, "again", rescored_from="first", scored_at="2026-12-01T00:00:00+00:00")
    assert ids(load_history(results_dir=tmp_path)) == ["again"]
    assert sorted(ids(load_history(results_dir=tmp_path, all_scorings=True))) == ["again", "first"]
    assert ids(load_history(runs=["first"], results_dir=tmp_path)) == ["first"]


def test_an_unfinished_run_is_there_as_partial(tmp_path):
    save(tmp_path, "done", started_at="2026-03-01T00:00:00+00:00")
    with Journal.create(tmp_path / ".journal" / "open.jsonl", description("open"), {"cases": []}) as journal:
        journal.append(row("c1"))
        journal.append(row("c2", passed=False))
    frame = load_history(results_dir=tmp_path)
    assert frame[["run_id", "status"]].to_numpy().tolist() == [["done", "complete"], *[["open", "partial"]] * 2]


def test_the_sample_is_read_only_where_it_is_asked_for(tmp_path):
    save(tmp_path / "results", "mine")
    save(tmp_path / "results" / "sample", "sample-1")
    assert ids(load_history(results_dir=tmp_path / "results")) == ["mine"]
    assert ids(load_history(results_dir=tmp_path / "results" / "sample")) == ["sample-1"]


def test_a_thousand_files_with_odd_ones_among_them(tmp_path):
    for number in range(994):
        save(tmp_path, f"run-{number:04d}", row("c1", passed=number % 2 == 0), row("c2"))
    save(tmp_path, "good-1")
    save_run(tmp_path / "zero.parquet", description("zero"), None, [])
    for spoil in (truncated, foreign, newer, duplicate):
        spoil(tmp_path)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        frame = load_history(columns=["expected_tool"], results_dir=tmp_path)
    assert len(frame) == 994 * 2 + 1
    assert [str(one.message)[:22] for one in said] == [f"4 files in {tmp_path.name[:11]}"]
    assert len(problems(results_dir=tmp_path)) == 5
