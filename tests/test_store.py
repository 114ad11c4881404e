import json
import os
import zlib
from base64 import b64encode

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalkit import SchemaError, store
from evalkit.store import frame_of, read_dataset, read_footer, read_run, rows_of, save_run
from frames import description, row

AWKWARD = [
    "5", "5.0", '"5"', "true", "null", "-0.0", "9007199254740993", "{}", '{"order_id": 1234567890123456789}', "a\x00b",
    "\\ud83d", "x" * 1_000_000, "", "NA", "nan", "שלום", "🌧",
]  # fmt: skip


def test_a_run_read_back_is_the_fresh_frame(tmp_path):
    rows = [row(f"c{n}", actual_arguments=text, answer=text) for n, text in enumerate(AWKWARD)]
    saved = read_run(save_run(tmp_path / "r1.parquet", description(), None, rows))
    fresh = frame_of(description(), rows)
    pd.testing.assert_frame_equal(saved, fresh)
    assert saved["actual_arguments"].tolist() == AWKWARD


@pytest.mark.parametrize(
    "rows",
    [
        [row("c1", passed=None), row("c2", passed=None)],
        [row("c1", actual_arguments=None, tool_calls="[]")],
        [row(f"c{n}", actual_arguments="{}") for n in range(3)],
        [],
    ],
    ids=["all errors", "no arguments", "empty arguments in every row", "no rows"],
)
def test_dtypes_survive_whatever_the_rows_hold(tmp_path, rows):
    saved = read_run(save_run(tmp_path / "r1.parquet", description(), None, rows))
    fresh = frame_of(description(), rows)
    pd.testing.assert_frame_equal(saved, fresh)
    assert str(saved["passed"].dtype) == "boolean"
    assert str(saved["started_at"].dtype) == "datetime64[us, UTC]"


def test_reading_as_rows_gives_what_was_saved(tmp_path):
    rows = [row("c1", passed=None, attempts=3), row("c2", latency_s=0.25)]
    assert list(rows_of(save_run(tmp_path / "r1.parquet", description(), None, rows))) == rows


def test_the_footer_describes_the_run_without_its_rows(tmp_path):
    rows = [row("c1"), row("c2", passed=False), row("c3", passed=None), row("c4", expected_tool="read_file")]
    footer = read_footer(save_run(tmp_path / "r1.parquet", description(label="before"), {"cases": []}, rows))
    counts = footer["counts"]
    assert footer["label"] == "before"
    assert (counts["cases"], counts["n"], counts["passed"], counts["errors"]) == (4, 3, 2.0, 1)
    assert [(tool["expected_tool"], tool["n"], tool["passed"]) for tool in counts["by_tool"]] == [
        ("list_files", 2, 1.0),
        ("read_file", 1, 1.0),
    ]
    assert counts["error_kinds"] == {"timeout": 1}


def test_the_dataset_as_run_comes_back(tmp_path):
    dataset = {"name": "d", "cases": [{"input": "Wetter in Köln? 🌧", "id": "w1"}]}
    assert read_dataset(save_run(tmp_path / "r1.parquet", description(), dataset, [row()])) == dataset


@pytest.mark.parametrize(
    ("spoilt", "words"),
    [
        (lambda packed: packed[:-8], "holds a dataset that cannot be read"),
        (lambda packed: b"nonsense", "holds a dataset that cannot be read"),
        (lambda packed: b64encode(zlib.compress(b" " * 5_000_000)), "it is cut off, or larger than"),
    ],
    ids=["cut off", "not packed", "a bomb"],
)
def test_a_stored_dataset_that_cannot_be_unpacked_is_refused(tmp_path, monkeypatch, spoilt, words):
    monkeypatch.setattr(store, "LARGEST_DATASET", 1_000_000)
    path = save_run(tmp_path / "r1.parquet", description(), {"cases": ["a"]}, [row("c1")])
    table = pq.read_table(path)
    metadata = pq.read_metadata(path).metadata
    spoilt_metadata = {**metadata, store.DATASET_KEY: spoilt(metadata[store.DATASET_KEY])}
    pq.write_table(table.replace_schema_metadata(spoilt_metadata), path)
    with pytest.raises(SchemaError, match=words):
        read_dataset(path)


def test_rows_of_megabytes_are_written_a_few_at_a_time(monkeypatch):
    monkeypatch.setattr(store, "BYTES_PER_PART", 10)
    monkeypatch.setattr(store, "BYTES_PER_GROUP", 10)
    rows = [row(f"c{n}", answer="x" * 6, reason=None) for n in range(5)]
    assert [len(group) for group in store._groups(rows, {})] == [1, 1, 1, 1, 1]


def test_a_run_of_few_rows_is_one_row_group_however_it_was_put_together(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "ROWS_PER_PART", 3)
    path = save_run(tmp_path / "r.parquet", description("r"), None, [row(f"c{n}", 1, True) for n in range(10)])
    assert [pq.read_metadata(path).num_row_groups, len(read_run(path))] == [1, 10]


def test_trials_are_averaged_within_their_case(tmp_path):
    rows = [row("c1", 1), row("c1", 2, passed=False), row("c2", 1), row("c2", 2, passed=None)]
    counts = read_footer(save_run(tmp_path / "r1.parquet", description(), None, rows))["counts"]
    assert (counts["n"], counts["passed"], counts["trials"], counts["passed_trials"], counts["errors"]) == (
        2,
        1.5,
        3,
        2,
        1,
    )


def test_a_failed_write_leaves_neither_a_file_nor_a_scrap(tmp_path):
    def rows():
        yield row("c1")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        save_run(tmp_path / "r1.parquet", description(), None, rows())
    assert os.listdir(tmp_path) == []


def test_writing_again_replaces_the_file_whole(tmp_path):
    path = save_run(tmp_path / "r1.parquet", description(), None, [row("c1")])
    save_run(path, description(), None, [row("c1"), row("c2")])
    assert len(read_run(path)) == 2
    assert os.listdir(tmp_path) == ["r1.parquet"]


def test_a_file_of_an_older_version_loads_with_its_missing_columns_na(tmp_path):
    path = tmp_path / "old.parquet"
    table = pa.table({"run_id": ["r0"], "case_id": ["c1"], "trial": [1], "passed": [True], "score": [1.0]})
    footer = {"evalkit": json.dumps({"schema_version": 0, "run_id": "r0"})}
    pq.write_table(table.replace_schema_metadata(footer), path)
    frame = read_run(path)
    assert frame["passed"].tolist() == [True]
    assert frame["reviews"].isna().all()


def _truncated(path):
    save_run(path, description(), None, [row()])
    path.write_bytes(path.read_bytes()[:-40])


def _foreign(path):
    pq.write_table(pa.table({"a": [1]}), path)


def _newer(path):
    footer = {"evalkit": json.dumps({"schema_version": 99, "run_id": "r9"})}
    pq.write_table(pa.table({"a": [1]}).replace_schema_metadata(footer), path)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_truncated, "not a whole Parquet file"),
        (_foreign, "not an evalkit run"),
        (_newer, "written by a newer evalkit"),
        (lambda path: path.write_text("no run at all"), "not a whole Parquet file"),
        (lambda path: path.write_bytes(b""), "not a whole Parquet file"),
    ],
    ids=["truncated", "foreign", "newer", "text", "empty"],
)
def test_a_file_that_is_no_run_is_refused_by_name(tmp_path, spoil, words):
    path = tmp_path / "odd.parquet"
    spoil(path)
    for read in (read_run, read_footer):
        with pytest.raises(SchemaError) as caught:
            read(path)
        assert "odd.parquet" in str(caught.value)
        assert words in str(caught.value)
