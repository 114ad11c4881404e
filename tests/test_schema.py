import numpy as np
import pandas as pd
import pytest

import evalkit as ek
from evalkit import SchemaError, columns
from evalkit.schema import COLUMNS, NAMES, conform

MINIMAL = {"run_id": ["a"], "case_id": ["c"], "trial": [1], "passed": [True]}


def test_columns_has_one_row_per_column_in_the_frames_order():
    table = columns()
    assert list(table.columns) == ["name", "level", "dtype", "meaning"]
    assert list(table["name"]) == list(conform(pd.DataFrame(MINIMAL)).columns)
    assert (table["meaning"].str.len() > 5).all()


def test_every_column_has_the_dtype_that_the_schema_names():
    frame = conform(pd.DataFrame(MINIMAL))
    assert {name: str(frame[name].dtype) for name in frame} == {column.name: column.dtype for column in COLUMNS}


def test_an_empty_frame_has_the_same_dtypes_as_a_full_one():
    empty = conform(pd.DataFrame(columns=["run_id", "case_id", "trial", "passed"]))
    pd.testing.assert_series_equal(empty.dtypes, conform(pd.DataFrame(MINIMAL)).dtypes)


def test_missing_columns_become_na():
    frame = conform(pd.DataFrame(MINIMAL))
    assert frame.drop(columns=["run_id", "case_id", "trial", "passed"]).isna().all(axis=None)


def test_an_unknown_column_is_kept_behind_the_known_ones():
    frame = conform(pd.DataFrame(MINIMAL | {"mine": [3]}))
    assert list(frame.columns) == [*NAMES, "mine"]


def test_conform_leaves_its_argument_as_it_was():
    given = pd.DataFrame(MINIMAL)
    before = given.copy(deep=True)
    conform(given)
    pd.testing.assert_frame_equal(given, before)


def test_conform_twice_is_conform_once():
    once = conform(pd.DataFrame(MINIMAL | {"started_at": ["2026-03-02 09:00"]}))
    pd.testing.assert_frame_equal(conform(once), once)


@pytest.mark.parametrize("case_id", ["007", "1e3", "true", "NA", "12345678901234567890"])
def test_ids_stay_text(case_id):
    assert conform(pd.DataFrame(MINIMAL | {"case_id": [case_id]}))["case_id"].tolist() == [case_id]


def test_numbers_given_as_ids_become_text():
    assert conform(pd.DataFrame(MINIMAL | {"case_id": [7]}))["case_id"].tolist() == ["7"]


def test_a_lone_surrogate_becomes_its_escape():
    frame = pd.DataFrame(MINIMAL)
    frame["answer"] = pd.Series([["\ud83d"]], dtype=object)
    assert conform(frame)["answer"].tolist() == ['["\\ud83d"]']


def test_lists_and_dictionaries_of_another_tool_become_json_text():
    given = pd.DataFrame(MINIMAL | {"tags": [["a", "b"]], "actual_arguments": [{"n": 1234567890123456789}]})
    frame = conform(given)
    assert frame["tags"].tolist() == ['["a", "b"]']
    assert frame["actual_arguments"].tolist() == ['{"n": 1234567890123456789}']


@pytest.mark.parametrize(
    ("given", "utc"),
    [
        ("2026-03-02 09:00", "2026-03-02T09:00:00+00:00"),
        ("2026-03-02T09:00:00Z", "2026-03-02T09:00:00+00:00"),
        ("2026-03-01T23:30:00-08:00", "2026-03-02T07:30:00+00:00"),
        ("2026-03-29T02:30:00+01:00", "2026-03-29T01:30:00+00:00"),
    ],
)
def test_times_are_utc_and_naive_ones_are_taken_as_utc(given, utc):
    frame = conform(pd.DataFrame(MINIMAL | {"started_at": [given]}))
    assert frame["started_at"].iloc[0].isoformat() == utc


def test_naive_and_aware_times_and_missing_ones_live_in_one_frame():
    times = ["2026-03-02 09:00", "2026-03-01T23:30:00-08:00", None]
    given = pd.DataFrame({"run_id": list("abc"), "case_id": "c", "trial": 1, "passed": True, "started_at": times})
    assert conform(given)["started_at"].isna().tolist() == [False, False, True]


def test_a_verdict_that_is_missing_stays_missing():
    given = pd.DataFrame(
        {"run_id": "a", "case_id": ["x", "y"], "trial": 1, "passed": [np.nan, True], "score": [None, 1]}
    )
    frame = conform(given)
    assert frame["passed"].tolist() == [pd.NA, True]
    assert frame["score"].isna().tolist() == [True, False]


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame({"run": ["a"]}), "no column 'run_id', 'case_id', 'trial', 'passed'"),
        (pd.DataFrame({"runid": ["a"], "case_id": ["c"], "trial": [1], "passed": [True]}), "Did you mean 'runid'"),
        (pd.DataFrame(MINIMAL | {"trial": ["first"]}), "column 'trial' must hold int64"),
        (pd.DataFrame(MINIMAL | {"trial": [None]}), "column 'trial' must hold int64"),
        (pd.DataFrame(MINIMAL | {"passed": [0.5]}), "column 'passed' must hold boolean"),
        (pd.DataFrame(MINIMAL | {"started_at": ["yesterday"]}), "column 'started_at' must hold"),
        (pd.concat([pd.DataFrame(MINIMAL)] * 2), "1 rows repeat the key"),
    ],
)
def test_what_is_no_results_frame_is_refused_with_the_reason(frame, words):
    with pytest.raises(SchemaError) as caught:
        conform(frame)
    assert words in str(caught.value)


@pytest.mark.parametrize("function", [ek.summarize, ek.tool_accuracy, ek.failures, ek.reviews, ek.flaky, ek.mismatches])
def test_a_runs_name_in_place_of_a_frame_is_met_with_what_to_call(function):
    with pytest.raises(SchemaError, match=r"a results frame is needed, got str: ek\.load_run\('latest'\) gives one"):
        function("latest")


def test_text_as_dask_holds_it_is_the_same_text():
    given = pd.DataFrame(
        {"run_id": ["a", "a"], "case_id": ["x", "ü"], "trial": 1, "passed": True, "label": ["b", None]}
    )
    text = ["run_id", "case_id", "label"]
    held = given.astype(dict.fromkeys(text, pd.StringDtype("pyarrow")))
    pd.testing.assert_frame_equal(conform(held), conform(given))
