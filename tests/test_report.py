"""What a review of a week says, of the histories that there are."""

import html
import re
from datetime import timedelta

import pytest

from evalkit import SettingsError, annotate
from evalkit.report import Review
from evalkit.report_notes import create_notes, review_folder
from evalkit.weeks import read_week
from frames import row
from report_histories import EARLIER, HISTORIES, MONDAY, cases, save, two_weeks

PARTS = ("headlines", "verdicts", "per_tool", "moved", "failing", "errors", "flaky", "judges", "costs", "notes", "data")
WEEK = "2026-W48"


def text_of(part):
    markup = re.sub(r"<style>.*?</style>|</?(td|th|p)[^>]*>", " ", part._repr_html_(), flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", markup)))


def said(review):
    return dict(review.sentences)


@pytest.mark.parametrize("name", [name for name in HISTORIES if name != "500 runs"])
def test_every_part_shows_itself_for_every_history(name, tmp_path):
    HISTORIES[name](tmp_path)
    review = Review(WEEK, results_dir=tmp_path)
    for part in PARTS:
        assert text_of(getattr(review, part)).strip()
    assert "ISO week 2026-W48, Monday 23 November 2026 to Sunday 29 November 2026" in text_of(review.headlines)
    assert "Days are those of UTC" in text_of(review.headlines)


def test_three_sentences_say_what_is_scored_what_moved_and_what_to_read(tmp_path):
    two_weeks(tmp_path)
    review = Review(WEEK, results_dir=tmp_path)
    assert list(said(review)) == ["Score", "Change", "Look at"]
    assert "file_tools with lexical passes 8 of 20 cases (40 %, 95 % interval 22 % to 61 %)" in said(review)["Score"]
    assert re.search(
        r"Of 1 comparison with the newest complete run of 2026-W47: 1 worse\. file_tools with lexical: Worse: the mean "
        r"score fell from 1\.000 to 0\.400 over 20 shared cases \(−0\.600, 95 % interval −0\.\d+ to −0\.\d+, p = ",
        said(review)["Change"],
    )
    assert "The 12 cases that regressed in file_tools with lexical" in said(review)["Look at"]
    assert "wrong tool, the commonest way to fail: 12 of 12 failed trials" in said(review)["Look at"]


def test_a_week_without_runs_says_so_and_what_ran_last(tmp_path):
    two_weeks(tmp_path)
    review = Review("2026-W52", results_dir=tmp_path)
    assert said(review) == {
        "No runs": "There is no complete run in ISO week 2026-W52, Monday 21 December 2026 to Sunday 27 December 2026, "
        "so there is nothing to score or to compare. "
        "The last complete run before it is after (file_tools with lexical)."
    }
    assert "No complete run, no verdict." in text_of(review.verdicts)


def test_the_newest_complete_run_meets_the_newest_complete_one_of_an_earlier_week(tmp_path):
    save(tmp_path, "long ago", cases(3), at=EARLIER - timedelta(days=21))
    save(tmp_path, "last", cases(5), at=EARLIER - timedelta(days=7))
    save(tmp_path, "stopped", cases(6), at=EARLIER, status="partial")
    save(tmp_path, "first this week", cases(7), at=MONDAY)
    save(tmp_path, "second this week", cases(9), at=MONDAY + timedelta(days=2))
    save(tmp_path, "stopped this week", cases(9), at=MONDAY + timedelta(days=3), status="partial")
    save(tmp_path, "another model", cases(9), model="other")
    save(tmp_path, "next week", cases(1), at=MONDAY + timedelta(days=7))
    pairs = Review(WEEK, results_dir=tmp_path).pairs
    found = [(pair.model, pair.candidate.run_id, pair.baseline and pair.baseline.run_id) for pair in pairs]
    assert found == [("lexical", "second this week", "last"), ("other", "another model", None)]


def test_a_baseline_of_ones_own_takes_the_place_of_the_earlier_week(tmp_path):
    save(tmp_path, "release", cases(3), at=EARLIER - timedelta(days=70), model="old")
    two_weeks(tmp_path)
    save(tmp_path, "elsewhere", cases(3), dataset="support")
    review = Review(WEEK, baseline="release", results_dir=tmp_path)
    assert [pair.baseline and pair.baseline.run_id for pair in review.pairs] == ["release", None]
    unmet = Review(WEEK, baseline="release", dataset="support", results_dir=tmp_path)
    assert "'release' is of a dataset that no run of the week is of" in text_of(unmet.headlines)
    with pytest.raises(SettingsError, match="no run 'releese'"):
        Review(WEEK, baseline="releese", results_dir=tmp_path)


def test_without_a_week_it_is_that_of_the_newest_complete_run(tmp_path):
    two_weeks(tmp_path)
    save(tmp_path, "begun", cases(1), at=MONDAY + timedelta(days=9), status="partial")
    assert Review(results_dir=tmp_path).span == read_week(WEEK)


def test_a_run_of_a_day_to_come_settles_neither_week_nor_period(tmp_path):
    two_weeks(tmp_path)
    save(tmp_path, "wrong clock", cases(3), at=MONDAY + timedelta(weeks=3000))
    review = Review(results_dir=tmp_path)
    assert (review.span, [pair.candidate.run_id for pair in review.pairs]) == (read_week(WEEK), ["after"])
    assert "'wrong clock' is dated 2084-05-22, in the future" in text_of(review.data)
    assert Review(since="2026-11-17", results_dir=tmp_path).span.name == "2026-11-17_to_2026-11-23"
    far = Review("2084-W21", results_dir=tmp_path)
    assert [(pair.candidate.run_id, pair.baseline.run_id) for pair in far.pairs] == [("wrong clock", "after")]


def test_days_of_ones_own_are_a_period(tmp_path):
    two_weeks(tmp_path)
    review = Review(since="2026-11-17", results_dir=tmp_path)
    assert review.span.name == "2026-11-17_to_2026-11-23"
    assert [pair.baseline.run_id for pair in review.pairs] == ["before"]
    with pytest.raises(SettingsError, match="give one of them, not both"):
        Review(WEEK, since="2026-11-17", results_dir=tmp_path)
    with pytest.raises(SettingsError, match="until needs since"):
        Review(until="2026-11-17", results_dir=tmp_path)


def test_a_dataset_that_no_run_has_is_refused_with_the_nearest_one(tmp_path):
    two_weeks(tmp_path)
    with pytest.raises(SettingsError, match="Did you mean 'file_tools'"):
        Review(WEEK, dataset="file_tool", results_dir=tmp_path)


def test_changes_are_the_regressed_cases_first_and_the_worst_first(tmp_path):
    scores = {"a": (1.0, 0.5), "b": (1.0, 0.0), "c": (0.0, 1.0), "d": (1.0, 1.0)}
    for place, (run_id, at) in enumerate((("before", EARLIER), ("after", MONDAY))):
        rows = [row(name, 1, step[place] > 0, score=step[place], case_hash=name * 12) for name, step in scores.items()]
        save(tmp_path, run_id, rows, at=at)
    review = Review(WEEK, results_dir=tmp_path)
    assert list(zip(review.changes["case_id"], review.changes["status"], strict=True)) == [
        ("b", "regressed"), ("a", "regressed"), ("c", "improved"),
    ]  # fmt: skip
    shown = text_of(review.moved)
    assert "b score 0.00, was 1.00" in shown
    assert shown.index("score 0.00, was 1.00") < shown.index("score 0.50, was 1.00")


def test_each_tool_has_both_weeks_its_difference_and_interval(tmp_path):
    two_weeks(tmp_path)
    row = Review(WEEK, results_dir=tmp_path).tools.iloc[0]
    assert (row["expected_tool"], row["n"], row["last_score"], row["this_score"]) == ("list_files", 20, 1.0, 0.4)
    assert row["ci_low"] < row["difference"] < row["ci_high"] < 0
    assert row["verdict"] == "worse"


def test_errors_are_counted_apart(tmp_path):
    HISTORIES["all errors"](tmp_path)
    review = Review(WEEK, results_dir=tmp_path)
    assert "has no scored trial (9 errors)" in said(review)["Score"]
    assert "9 trials that ended in an error and are in no rate" in said(review)["Look at"]
    assert "timeout" in text_of(review.errors)


def test_cases_that_pass_now_and_then_are_listed(tmp_path):
    save(tmp_path, "run", [row("steady", 1), row("steady", 2), row("now and then", 1), row("now and then", 2, False)])
    shown = text_of(Review(WEEK, results_dir=tmp_path).flaky)
    assert "now and then" in shown
    assert "steady" not in shown


def test_the_score_of_cases_that_share_clusters_says_how_many_they_count_as(tmp_path):
    save(tmp_path, "run", cases(8, cluster="k"))
    assert (
        "8 of 20 cases (40 %, 95 % interval 4 % to 92 %, as wide as of 1 cases, since some share a cluster)"
        in (said(Review(WEEK, results_dir=tmp_path))["Score"])
    )


def test_judges_are_measured_where_people_have_annotated(tmp_path):
    verdict = '[{"reviewer": "tone", "passed": true, "score": 1.0, "judge_model": "judge", "reason": "fine"}]'
    answers = [
        row(f"case-{number}", kind="final_answer", answer="Dear reader", reviews=verdict, case_hash=f"{number:012x}")
        for number in range(3)
    ]
    save(tmp_path, "run", answers)
    assert "Nobody has annotated an answer" in text_of(Review(WEEK, results_dir=tmp_path).judges)
    annotate("run", "case-1", passed=True, author="ana", reviewer="tone", results_dir=tmp_path)
    annotate("run", "case-2", passed=False, author="ana", results_dir=tmp_path)
    shown = text_of(Review(WEEK, results_dir=tmp_path).judges).replace("  ", " ")
    assert "(case) – 1 0 1" in shown
    assert "tone judge 1 1 0" in shown


def test_a_file_that_cannot_be_read_is_named_and_left_out(tmp_path):
    two_weeks(tmp_path)
    path = tmp_path / "after.parquet"
    path.write_bytes(path.read_bytes()[:-40])
    review = Review(WEEK, results_dir=tmp_path)
    assert list(said(review)) == ["No runs"]
    assert "after.parquet" in text_of(review.data)


def test_notes_are_made_once_and_shown_with_those_of_the_week_before(tmp_path):
    span, before = read_week(WEEK), read_week("2026-W47")
    path = create_notes(review_folder(tmp_path, span), span)
    assert "Nobody has written notes yet" in text_of(Review(WEEK, results_dir=tmp_path).notes)
    path.write_text("We tried <b>a shorter prompt</b>.", encoding="utf-8")
    create_notes(review_folder(tmp_path, before), before).write_text("Judges moved.", encoding="utf-8")
    assert create_notes(review_folder(tmp_path, span), span).read_text(encoding="utf-8").startswith("We tried")
    shown = Review(WEEK, results_dir=tmp_path).notes._repr_html_()
    assert "&lt;b&gt;a shorter prompt&lt;/b&gt;" in shown
    assert shown.index("a shorter prompt") < shown.index("From 2026-W47") < shown.index("Judges moved.")


def test_what_models_said_is_text_on_the_page(tmp_path):
    payload = "<img src=x onerror=alert(1)>"
    save(tmp_path, "before", cases(20, reason=payload, input=payload, answer=payload), at=EARLIER)
    save(tmp_path, "after", cases(3, reason=payload, input=payload, answer=payload, actual_tool=payload), label=payload)
    review = Review(WEEK, results_dir=tmp_path)
    for part in PARTS:
        assert "<img src=x" not in getattr(review, part)._repr_html_()
    assert "&lt;img src=x" in review.moved._repr_html_()
