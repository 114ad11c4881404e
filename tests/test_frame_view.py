"""Frames shown for reading: whole texts, rates with decimals, a dash for what is not known, no markup from data."""

import pandas as pd

import evalkit as ek
from frames import results, row


def html(frame, **options):
    return ek.show(frame, **options)._repr_html_()


def cells(frame, **options):
    body = html(frame, **options).split("<tbody>")[1].split("</tbody>")[0]
    texts = [cell.split(">", 1)[1] for cell in body.split("<td")[1:]]
    return [
        text.replace('<bdi dir="auto">', "").split("</")[0].removeprefix('<span class="ek-faint">') for text in texts
    ]


def test_rates_have_two_decimals_and_counts_none():
    frame = pd.DataFrame({"n": [1200, 7], "passed": [13.0, 48.5], "rate": [1.0, 1 / 3], "cost": [0.01, 0.00051]})
    frame = frame.assign(score=[1.0, 0.0])
    assert cells(frame) == ["1,200", "13", "1.00", "0.0100", "1.00", "7", "48.50", "0.33", "0.0005", "0.00"]


def test_what_is_not_known_is_a_dash_in_every_type():
    frame = pd.DataFrame(
        {
            "text": pd.Series(["x", None], dtype="str"),
            "flag": pd.Series([True, None], dtype="boolean"),
            "whole": pd.Series([3, None], dtype="Int64"),
            "rate": [0.5, None],
            "time": pd.to_datetime(["2026-11-30T10:00:59Z", None], utc=True),
        }
    )
    assert cells(frame) == ["x", "True", "3", "0.50", "2026-11-30 10:00", *["–"] * 5]


def test_a_column_in_which_nothing_is_known_is_shown():
    assert cells(pd.DataFrame({"rate": [float("nan")]})) == ["–"]


def test_texts_are_whole_and_long_ones_fold():
    text = "word " * 60
    assert text in html(pd.DataFrame({"reason": [text]}))
    long = "word " * 600
    assert f"{len(long):,} characters" in html(pd.DataFrame({"reason": [long]}))
    assert long in html(pd.DataFrame({"reason": [long]}))


def test_markup_in_data_is_text():
    hostile = "<img src=x onerror=alert(1)>"
    shown = html(pd.DataFrame({hostile: [hostile]}))
    assert "<img" not in shown
    assert shown.count("&lt;img") == 2


def test_rows_left_out_are_counted():
    frame = pd.DataFrame({"n": range(1000)})
    assert "2 of 1,000 rows" in html(frame, rows=2)
    assert cells(frame, rows=2) == ["0", "1"]


def test_a_frame_without_rows_says_so():
    assert "No rows to show (reviewer, n)." in html(pd.DataFrame(columns=["reviewer", "n"]))


def test_a_named_index_becomes_columns_and_the_frame_stays_as_it_was():
    frame = pd.DataFrame({"n": [2]}, index=pd.Index(["tone"], name="reviewer"))
    before = frame.copy()
    assert cells(frame) == ["tone", "2"]
    pd.testing.assert_frame_equal(frame, before)


def test_outside_a_notebook_it_reads_as_the_frame():
    assert repr(ek.show(pd.DataFrame({"n": [2]}))) == repr(pd.DataFrame({"n": [2]}))


def test_a_table_says_where_intervals_are_wider_because_cases_share_a_cluster():
    clustered = ek.accuracy(results(*(row(f"c{n}", passed=n % 4 < 2, cluster=f"k{n % 4}") for n in range(40))), by=[])
    alone = ek.accuracy(results(*(row(f"c{n}", passed=n % 4 < 2) for n in range(40))), by=[])
    note = "intervals are wider where cases share a cluster: 40 cases count as 4"
    for shown in (clustered, clustered[["n", "accuracy"]], clustered[clustered["n"] > 1]):
        assert note in html(shown)
        assert note in repr(ek.show(shown))
    assert "cluster" not in html(alone[["n", "accuracy"]])
    assert cells(clustered[["n", "n_effective"]]) == ["40", "4"]
