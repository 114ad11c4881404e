import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalkit import (
    SchemaError,
    SettingsError,
    accuracy,
    coded_reading,
    history_accuracy,
    list_runs,
    load_history,
    reading,
    store,
    tool_accuracy,
)
from evalkit.journal import Journal
from evalkit.runs import HistoryWarning
from evalkit.store import save_run
from frames import description, row

TOOLS = ("list_files", "read_file", "none", None)


@pytest.fixture
def folder(tmp_path):
    """Runs of two datasets and two models, with trials, errors, clusters, tags, secondary scores and odd runs."""
    rng = np.random.default_rng(7)
    for number in range(9):
        rows = [trial for n in range(14 + number % 3) for trial in _case(rng, n, number)]
        about = description(
            f"run-{number}", started_at=f"2026-03-{10 - number:02d}T09:00:00+01:00", model=f"m{number % 2}",
            dataset="one" if number < 6 else "two", label=None if number % 2 else f"try {number}",
            tools_hash=f"t{number % 3}",
        )  # fmt: skip
        save_run(tmp_path / f"run-{number}.parquet", about, None, rows)
    again = description("again", rescored_from="run-3", scored_at="2026-12-01T00:00:00+00:00", dataset="one")
    save_run(tmp_path / "again.parquet", again, None, [row("c01", passed=False, case_hash="h1")])
    errors = description("errors", dataset="two")
    save_run(tmp_path / "errors.parquet", errors, None, [row(f"c0{n}", passed=None, case_hash=f"h{n}") for n in (0, 1)])
    with Journal.create(tmp_path / ".journal" / "open.jsonl", description("open", dataset="one"), {}) as journal:
        journal.append(row("c01", case_hash="h1"))
    return tmp_path


def _case(rng, n, run):
    tool = TOOLS[n % 4]
    for trial in range(1, 1 + rng.integers(1, 4)):
        passed = [True, False, None][rng.choice(3, p=[0.6, 0.3, 0.1])]
        yield row(
            f"c{n:02d}", trial, passed=passed, score=None if passed is None else [0.0, 0.5, 1.0][rng.integers(3)],
            expected_tool=tool, kind="final_answer" if tool is None else "tool_choice",
            case_hash=f"h{n}" if n != 5 or run % 2 else "changed",
            cluster=f"k{n % 3}" if n % 4 else None, tags=['["a", "b"]', '["b"]', "[]"][n % 3],
        )  # fmt: skip


GIVEN = [
    {}, {"since": "2026-03-05"}, {"until": "2026-03-05"}, {"dataset": "one"}, {"model": ["m0"]},
    {"runs": ["run-3", "run-8"]}, {"all_scorings": True}, {"since": "2027-01-01"},
]  # fmt: skip


@pytest.mark.parametrize("cases", ["all", "shared"])
@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_history_accuracy_is_the_tool_accuracy_of_the_history(folder, given, cases):
    expected = tool_accuracy(load_history(**given, results_dir=folder), cases=cases)
    found = history_accuracy(**given, cases=cases, results_dir=folder)
    pd.testing.assert_frame_equal(found, expected)
    if given != {"since": "2027-01-01"}:
        assert len(found) > 1
        assert found["errors"].sum() > 0


@pytest.mark.parametrize(
    "by", ["tags", "kind", ["tags", "expected_tool"], "cluster", "actual_tool", "case_id", "trial", "started_at"]
)
@pytest.mark.parametrize("cases", ["all", "shared"])
def test_by_other_columns_it_is_the_accuracy_of_the_history(folder, by, cases):
    keys = ["run_id", *([by] if isinstance(by, str) else by)]
    expected = accuracy(load_history(results_dir=folder), by=keys, cases=cases)
    pd.testing.assert_frame_equal(history_accuracy(by, cases=cases, results_dir=folder), expected)


def test_reading_a_few_rows_at_a_time_changes_nothing(folder, monkeypatch):
    whole = history_accuracy("tags", cases="shared", results_dir=folder)
    monkeypatch.setattr(coded_reading, "ROWS_AT_ONCE", 20)
    pd.testing.assert_frame_equal(history_accuracy("tags", cases="shared", results_dir=folder), whole)


def test_over_all_cases_no_row_is_read(folder, monkeypatch):
    expected = history_accuracy(results_dir=folder)

    def fail(*_):
        raise AssertionError("rows were read")

    monkeypatch.setattr(reading, "part_of", fail)
    pd.testing.assert_frame_equal(history_accuracy(results_dir=folder), expected)


def test_shared_cases_leave_out_what_is_not_in_every_run(folder):
    found = history_accuracy(cases="shared", dataset="two", runs=["run-6", "run-7"], results_dir=folder)
    whole = found[found["expected_tool"] == "(all)"]
    listed = load_history(runs=["run-6", "run-7"], results_dir=folder).groupby("run_id")["case_hash"].agg(set)
    assert len(listed["run-6"] & listed["run-7"]) == 13
    assert (whole["n"] <= 13).all()


def test_an_odd_file_is_named_and_left_out(folder):
    (folder / "odd.parquet").write_text("no run")
    with pytest.warns(HistoryWarning, match="odd"):
        found = history_accuracy(results_dir=folder)
    assert "run-1" in set(found["run_id"])


def test_no_runs_give_an_empty_frame_with_all_columns(tmp_path, folder):
    empty = history_accuracy(results_dir=tmp_path / "nothing")
    assert len(empty) == 0
    pd.testing.assert_series_equal(empty.dtypes, history_accuracy(results_dir=folder).dtypes)


def test_what_cannot_be_counted_is_refused(folder):
    with pytest.raises(SchemaError, match=r"no column 'tag' to count by. Did you mean 'tags'"):
        history_accuracy("tag", results_dir=folder)
    with pytest.raises(SettingsError, match="cases must be 'all' or 'shared'"):
        history_accuracy(cases="none", results_dir=folder)


def test_the_sums_of_an_older_footer_are_counted_again(folder, tmp_path):
    path = folder / "run-1.parquet"
    about = store.read_footer(path)
    rows = list(store.rows_of(path))
    expected = history_accuracy(results_dir=folder)
    del about["counts"]["by_tool"]
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({"evalkit": json.dumps(about)}), path)
    assert list(store.rows_of(path)) == rows
    pd.testing.assert_frame_equal(history_accuracy(results_dir=folder), expected)


def test_a_footer_without_todays_bounds_is_made_up_for_by_its_rows(folder, monkeypatch):
    expected = history_accuracy(results_dir=folder)
    for number in (1, 4):
        path = folder / f"run-{number}.parquet"
        about = store.read_footer(path)
        for sums in (about["counts"], *about["counts"]["by_tool"]):
            del sums["if_failed"], sums["if_passed"]
        pq.write_table(pq.read_table(path).replace_schema_metadata({"evalkit": json.dumps(about)}), path)
    pd.testing.assert_frame_equal(history_accuracy(results_dir=folder), expected)
    monkeypatch.setattr(store, "rows_of", None)
    assert len(list_runs(results_dir=folder)) == 12  # which needs no row of theirs


@pytest.fixture
def plain(tmp_path):
    """Runs with one trial a case, one of them with clusters."""
    for number in range(4):
        rows = [
            row(
                f"c{n}", passed=None if n == number else n % 3 > 0, case_hash=f"h{n}", tags=f'["t{n % 2}", "all"]',
                expected_tool=TOOLS[n % 4], cluster=f"k{n % 2}" if number == 1 else None,
            )
            for n in range(8)
        ]  # fmt: skip
        about = description(f"run-{number}", started_at=f"2026-03-0{number + 1}T09:00:00+00:00", dataset="one")
        save_run(tmp_path / f"run-{number}.parquet", about, None, rows)
    return tmp_path


BY = ["tags", "kind", "case_id", ["tags", "expected_tool"], ["expected_tool", "model"], "latency_s", "cluster"]


@pytest.mark.parametrize("by", BY, ids=str)
def test_runs_with_one_trial_a_case_are_counted_alike(plain, by):
    keys = ["run_id", *([by] if isinstance(by, str) else by)]
    expected = accuracy(load_history(results_dir=plain), by=keys)
    pd.testing.assert_frame_equal(history_accuracy(by, results_dir=plain), expected)


def test_of_runs_with_one_trial_a_case_no_case_is_read(plain, monkeypatch):
    read = []
    whole = reading.part_of
    monkeypatch.setattr(reading, "part_of", lambda run, columns: read.append(columns) or whole(run, columns))
    history_accuracy("tags", results_dir=plain)
    assert {name for columns in read for name in columns} == {"run_id", "tags", "cluster", "passed", "score"}


def _rewritten(path, change):
    """The file with other rows and the same footer."""
    footer = pq.read_metadata(path).metadata[store.DESCRIPTION_KEY]
    pq.write_table(change(pq.read_table(path)).replace_schema_metadata({store.DESCRIPTION_KEY: footer}), path)


REWRITTEN = {
    "fewer rows than counted": lambda table: table.slice(0, 5),
    "words as large strings": lambda table: table.set_column(
        table.schema.get_field_index("tags"), "tags", table["tags"].cast(pa.large_string())
    ),
    "numbers as 32 bits": lambda table: table.set_column(
        table.schema.get_field_index("trial"), "trial", table["trial"].cast(pa.int32())
    ),
    "no score": lambda table: table.drop_columns("score"),
    "no cluster": lambda table: table.drop_columns("cluster"),
    "columns in another order": lambda table: table.select(sorted(table.schema.names)),
}  # fmt: skip


@pytest.mark.parametrize("change", REWRITTEN.values(), ids=REWRITTEN)
@pytest.mark.parametrize("cases", ["all", "shared"])
def test_a_file_that_is_laid_out_otherwise_is_counted_alike(plain, change, cases):
    _rewritten(plain / "run-2.parquet", change)
    expected = accuracy(load_history(results_dir=plain), by=["run_id", "tags"], cases=cases)
    pd.testing.assert_frame_equal(history_accuracy("tags", cases=cases, results_dir=plain), expected)


def test_a_file_with_a_trial_twice_is_left_out_of_the_shared_cases(plain):
    _rewritten(plain / "run-2.parquet", lambda table: pa.concat_tables([table.slice(0, 4), table.slice(0, 4)]))
    with pytest.warns(HistoryWarning, match="repeat the key"):
        found = history_accuracy(cases="shared", results_dir=plain)
    assert set(found["run_id"]) == {"run-0", "run-1", "run-3"}


def test_cases_that_stop_being_shared_late_are_not_counted_in_early_runs(plain, monkeypatch):
    monkeypatch.setattr(coded_reading, "ROWS_AT_ONCE", 8)
    _rewritten(plain / "run-3.parquet", lambda table: table.slice(2, 6))
    expected = tool_accuracy(load_history(results_dir=plain), cases="shared")
    found = history_accuracy(cases="shared", results_dir=plain)
    pd.testing.assert_frame_equal(found, expected)
    assert (found.loc[found["expected_tool"] == "(all)", ["n", "errors"]].sum(axis=1) == 6).all()
