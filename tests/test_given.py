"""What no function can use is refused in words that name the argument and say what is allowed."""

import traceback
from datetime import date
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

import evalkit as ek
from frames import results, row

RESULTS = results(row("c1"), row("c2", passed=False), row("c3", kind="final_answer", expected_tool=None, reviews="[]"))
RATES, REVIEWS = ek.tool_accuracy(RESULTS), ek.reviews(RESULTS)
PEOPLE = pd.DataFrame({"run_id": [], "case_id": [], "trial": [], "passed": []})
OTHER = pd.DataFrame({"a": ["x"]})
NO_FRAMES = ("latest", 5, None, [1], {}, pd.Series([1]), OTHER.to_numpy())
ANY = "is needed|must be|must have a column|not a results frame|no column"

OF_RESULTS = {
    name: getattr(ek, name)
    for name in (
        "calling_rates", "failure_kinds", "failures", "flaky", "mismatches", "reviews", "run_changes", "summarize",
        "tool_accuracy", "tool_confusion", "with_annotations",
    )
} | {
    "accuracy": partial(ek.accuracy, by="model"),
    "compare": partial(ek.compare, RESULTS),
    "conform": ek.schema.conform,
    "EvalSummary": ek.EvalSummary.from_results,
    "judge_agreement, reviews": lambda frame: ek.judge_agreement(frame, PEOPLE),
    "judge_agreement, annotations": lambda frame: ek.judge_agreement(REVIEWS, frame),
    "CaseBrowser": lambda frame: ek.widgets.CaseBrowser(frame),
} | {f"plot.{name}": getattr(ek.plot, name) for name in ek.plot.__all__}  # fmt: skip
GROUPED = {
    "accuracy": partial(ek.accuracy, RESULTS),
    "tool_accuracy": partial(ek.tool_accuracy, RESULTS),
    "calling_rates": partial(ek.calling_rates, RESULTS),
    "history_accuracy": lambda by: ek.history_accuracy(by, results_dir="results/sample"),
    "judge_agreement": partial(ek.judge_agreement, REVIEWS, PEOPLE),
}
OF_FOLDERS = {
    "list_runs": ek.list_runs, "load_history": ek.load_history, "history_accuracy": ek.history_accuracy,
    "load_annotations": ek.load_annotations, "problems": ek.history.problems,
    "load_run": partial(ek.load_run, "latest"), "compare": partial(ek.compare, "latest", "latest~1"),
    "resume": partial(ek.resume, "latest"), "rescore": partial(ek.rescore, "latest"),
    "annotate": partial(ek.annotate, "run", "case", passed=True), "run_changes": partial(ek.run_changes, RATES),
    "with_annotations": partial(ek.with_annotations, RESULTS), "RunPicker": lambda results_dir: ek.widgets.RunPicker(
        results_dir=results_dir
    ),
    "CompareRuns": lambda results_dir: ek.widgets.CompareRuns(results_dir=results_dir),
    "CaseBrowser": lambda results_dir: ek.widgets.CaseBrowser(RESULTS, results_dir=results_dir),
    "Review": ek.report.Review,
}  # fmt: skip
DRAWN = {
    "tool_accuracy": RATES, "accuracy_over_time": RATES, "tool_confusion": ek.tool_confusion(RESULTS),
    "outcomes": RESULTS, "scores": RESULTS, "latency_and_cost": RESULTS,
}  # fmt: skip
CASES = "cases must be 'all' or 'shared', got"
DATASET = ek.load_dataset("file_tools")
REVIEW = partial(ek.report.Review, results_dir="results/sample")
PICKER = partial(ek.widgets.RunPicker, results_dir="results/sample")
COMPARING = partial(ek.widgets.CompareRuns, results_dir="results/sample")
HISTORY = partial(ek.load_history, results_dir="results/sample")


def refused(call, words):
    """The error of a call is raised on purpose by evalkit's own code, and says these words."""
    with pytest.raises((TypeError, ValueError), match=words) as caught:
        call()
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert Path(last.filename).parent == Path(ek.__file__).parent
    assert last.line.startswith("raise ")


@pytest.mark.parametrize("name", OF_RESULTS)
def test_what_is_no_frame_or_of_another_kind_is_refused(name):
    for given in (*NO_FRAMES, OTHER):
        if (name, type(given)) != ("compare", str):  # which may be a run's id
            refused(partial(OF_RESULTS[name], given), ANY)


@pytest.mark.parametrize("name", GROUPED)
def test_what_is_no_column_to_group_by_is_refused(name):
    for by in (5, None, [5], [None], b"model", {"model": 1}, True, [["model"]]):
        refused(partial(GROUPED[name], by=by), "by must be a name or a list of names, got")
    for by in ("nope", "", ["model", "nope"], "modle"):
        refused(partial(GROUPED[name], by=by), "no column|must have a column")
    for by in ("passed", "score", ["model", "passed"]):
        if name != "judge_agreement":
            refused(partial(GROUPED[name], by=by), "cannot group: it is what is counted")


@pytest.mark.parametrize("name", OF_FOLDERS)
def test_what_is_no_folder_is_refused(name):
    for given in (5, True, ["results"], b"results", {}):
        refused(partial(OF_FOLDERS[name], results_dir=given), "results_dir must be the path of a folder, got")


@pytest.mark.parametrize("name", DRAWN)
def test_charts_refuse_what_are_no_axes_and_no_number_of_rows(name):
    chart = partial(getattr(ek.plot, name), DRAWN[name])
    for ax in ("ax", 5, [1], OTHER):
        refused(partial(chart, ax=ax), "ax must be matplotlib Axes, got")
    for most in (0, -1, 1.5, "2", True, [1], None):
        refused(partial(chart, most=most), "most must be a whole number from 1, got")


@pytest.mark.parametrize(
    ("call", "allowed", "given"),
    [
        (lambda k: ek.flaky(RESULTS, k=k), "k must be a whole number of trials from 1", (0, -1, 1.5, "2", True, [1])),
        (lambda rows: ek.show(RESULTS, rows=rows), "rows must be a whole number from 1", (0, -1, 1.5, "2", True, None)),
        (ek.show, "a frame is needed", NO_FRAMES),
        (lambda frame: ek.export_table(frame, "x"), "a frame to write is needed", NO_FRAMES),
        (lambda forms: ek.export_table(OTHER, "x", formats=forms), "formats must be|unknown format", (5, "cvs", [5])),
        (lambda chart: ek.export_chart(chart, "x"), "a chart is needed", (*NO_FRAMES, OTHER)),
        (lambda on: ek.compare(RESULTS, RESULTS, on=on), "on must be 'score' or 'passed'", ("x", 5, None, ["score"])),
        (
            lambda worth: ek.compare(RESULTS, RESULTS, worth_knowing=worth),
            "worth_knowing must be above 0 and at most 1", (-1, 0, 2, "x", None, True, float("nan"), [0.1]),
        ),
        (lambda cases: ek.tool_accuracy(RESULTS, cases=cases), CASES, ("al", 5, None, ["all"])),
        (lambda cases: ek.accuracy(RESULTS, by="model", cases=cases), CASES, ("al", 5, True)),
        (lambda cases: ek.history_accuracy(cases=cases), CASES, ("al", 5, None, ["all"])),
        (lambda cases: ek.plot.tool_accuracy(RATES, cases=cases), CASES, ("al", 5, ["all"])),
        (lambda engine: ek.load_history(engine=engine), "engine must be 'pandas' or 'dask'", ("duck", 5, None)),
        (lambda words: HISTORY(dataset=words), "dataset must be a name or|no run", (5, {}, [5], "nope")),
        (lambda words: HISTORY(model=words), "model must be a name or|no run", (5, {}, [None], "nope")),
        (lambda words: HISTORY(runs=words), "runs must be a name or|no run", (5, {}, [5], "nope")),
        (lambda words: HISTORY(columns=words), "columns must be a name or|no column", (5, {}, [5], "x")),
        (lambda since: HISTORY(since=since), "since must be a day such as", (5, [1], True, "nonsense", OTHER)),
        (REVIEW, "a week is named like '2026-W48'", (5, [1], True, b"2026-W48", OTHER, "48", date(2026, 11, 23))),
        (lambda since: REVIEW(since=since), "since must be the first day", (5, [1], True, b"x", OTHER, "x")),
        (lambda until: REVIEW(until=until, since="2026-11-01"), "until must be the last day", (5, [1], True, OTHER)),
        (lambda words: REVIEW(dataset=words), "dataset must be a name or|no run", (5, [5], "nope")),
        (PICKER, "a run's id is text", (5, [1], True, OTHER, RESULTS)),
        (lambda side: PICKER(candidate=side), "a run's id is text|no run", (5, {"a": 1}, RESULTS, "nope")),
        (lambda name: PICKER(dataset=name), "dataset must be a name", (5, ["a"], OTHER)),
        (lambda on: COMPARING(on=on), "on must be 'score' or 'passed'", ("x", 5, None, ["score"])),
        (lambda worth: COMPARING(worth_knowing=worth), "worth_knowing must be above 0", (-1, 0, 2, "x", None, True)),
        (lambda words: ek.run(DATASET, cases=words), "cases must be a name or|no case", (5, True, [5], {}, "nope")),
        (lambda words: ek.run(DATASET, tags=words), "tags must be a name or|no tag", (5, True, [None], b"x", "nope")),
        (lambda words: DATASET.select(cases=words), "cases must be a name or|no case", (5, [5], {}, [], "nope")),
        (ek.Dataset.from_frame, "a DataFrame of cases is needed", (5, None, "x", [1], {})),
        (lambda url: ek.run(DATASET, model="m", base_url=url), "base_url must be text", (5, True, b"http://x", ["x"])),
        (lambda url: ek.OpenAIModel("m", base_url=url), "base_url must be text", (5, True, b"http://x", Path("x"))),
        (lambda key: ek.OpenAIModel("m", api_key=key), "api_key must be text, got", (5, b"key", ["key"])),
        (lambda turns: ek.score(DATASET, turns), "turns must be a list, or", (5, None, "abcdef", {"a"}, OTHER)),
        (lambda reason: ek.Verdict(True, 1.0, reason), "reason must be text, got", (5, None, b"x", ["x"])),
        (lambda score: ek.Verdict(True, score, "x"), "a score must be from 0 to 1, got", ("1", 2, [1], {}, 1j)),
        (lambda note: ek.annotate("run", "case", note=note), "note must be text or None, got", (5, True, b"x", ["x"])),
    ],
)  # fmt: skip
def test_other_arguments_are_refused_in_words(call, allowed, given):
    for one in given:
        refused(partial(call, one), allowed)


def test_a_case_that_is_no_text_is_no_case():
    comparison = ek.compare(RESULTS, RESULTS)
    for case_id in (5, None, [1], OTHER):
        with pytest.raises(KeyError, match="in either run"):
            comparison.case(case_id)
