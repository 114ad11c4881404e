import json

import pandas as pd
import pytest

from evalkit import failure_kinds, failures, mismatches
from evalkit.wrong_trials import SHOWN
from frames import results, row


def entry(path, kind, expected=None, actual=None, ok=False, note=None):
    return {"path": path, "kind": kind, "expected": expected, "actual": actual, "ok": ok, "note": note}


def wrong(case_id, *entries, **values):
    return row(case_id, passed=False, outcome="wrong_arguments", mismatches=json.dumps(entries), **values)


def trials():
    return results(
        row("c1"),
        row("c2", passed=None),
        row("c3", passed=False, reason="Wrong tool", mismatches="[]"),
        wrong("c4", entry("city", "case", "Paris", "paris")),
        wrong("c5", entry("city", "case", "Oslo", "oslo"), entry("unit", "extra_optional", actual="C", ok=True)),
        wrong("c6", entry("n", "type", 5, "5"), entry("city", "missing", "Rome"), entry("x", "type", 1, "1")),
    )


def test_failures_come_by_what_went_wrong_the_commonest_first():
    found = failures(trials())
    assert list(found.columns) == list(SHOWN)
    shown = found[["outcome", "kinds", "alike", "case_id"]].astype(object)
    assert shown.where(found.notna(), None).to_numpy().tolist() == [
        ["wrong_arguments", "case", 2, "c4"], ["wrong_arguments", "case", 2, "c5"],
        ["wrong_arguments", "missing, type", 1, "c6"], ["wrong_tool", None, 1, "c3"],
    ]  # fmt: skip


def test_errors_are_no_failures():
    assert "c2" not in failures(trials())["case_id"].tolist()


def test_kinds_of_failures_have_their_share_and_an_example():
    found = failure_kinds(trials())
    assert found[["outcome", "trials", "cases", "share", "case_id"]].to_numpy().tolist() == [
        ["wrong_arguments", 2, 2, 0.5, "c4"], ["wrong_arguments", 1, 1, 0.25, "c6"], ["wrong_tool", 1, 1, 0.25, "c3"],
    ]  # fmt: skip


def test_mismatches_have_a_row_per_path():
    found = mismatches(trials())
    shown = found[["case_id", "path", "kind", "ok", "expected", "actual"]].astype(object)
    assert shown.where(found.notna(), None).to_numpy().tolist() == [
        ["c4", "city", "case", False, '"Paris"', '"paris"'],
        ["c5", "city", "case", False, '"Oslo"', '"oslo"'],
        ["c5", "unit", "extra_optional", True, None, '"C"'],
        ["c6", "n", "type", False, "5", '"5"'],
        ["c6", "city", "missing", False, '"Rome"', None],
        ["c6", "x", "type", False, "1", '"1"'],
    ]


def test_large_numbers_keep_their_value():
    found = mismatches(results(wrong("c1", entry("id", "value", 1234567890123456789, 1234567890123456788))))
    assert found[["expected", "actual"]].to_numpy().tolist() == [["1234567890123456789", "1234567890123456788"]]


@pytest.mark.parametrize("function", [failures, failure_kinds, mismatches])
def test_without_failures_there_are_no_rows_and_all_columns(function):
    empty = function(results(row()))
    assert len(empty) == 0
    pd.testing.assert_series_equal(empty.dtypes, function(trials()).dtypes)


@pytest.mark.parametrize("function", [failures, failure_kinds, mismatches])
def test_nothing_changes_what_it_is_given(function):
    given = trials()
    before = given.copy(deep=True)
    function(given)
    pd.testing.assert_frame_equal(given, before)
