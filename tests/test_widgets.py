import ipywidgets
import matplotlib.pyplot as plt
import pytest
from ipywidgets.widgets.widget import _instances

import evalkit as ek
from evalkit.store import save_run
from frames import description, row

DAY = "2026-11-{:02d}T10:00:00+00:00"


def save(folder, day, passing=lambda n: n % 5 > 0, dataset="file_tools", cases=20, **about):
    run_id = f"run-{day:02d}"
    rows = [
        row(
            f"case-{n:03d}", 1, passing(n), case_hash=str(n), expected_tool=None if n == 0 else f"tool-{n % 2}",
            input=f"question {n}", tags='["odd"]' if n % 2 else "[]", answer="words" if n == 3 else None,
        )
        for n in range(cases)
    ]  # fmt: skip
    about = {"started_at": DAY.format(day), "dataset": dataset, "label": f"label {day}"} | about
    return save_run(folder / f"{run_id}.parquet", description(run_id, **about), None, rows)


@pytest.fixture
def folder(tmp_path):
    for day in (1, 2, 3):
        save(tmp_path, day)
    save(tmp_path, 4, lambda n: n % 5 > 0 and n % 2 > 0)
    return tmp_path


def drawn(widget):
    """How often the comparison is drawn anew, counted by its values."""
    seen = []
    widget._top.observe(lambda change: seen.append(change["new"]) if change["new"] else None, "value")
    return seen


def test_the_newest_two_runs_of_one_dataset_are_chosen_at_first(folder):
    save(folder, 9, dataset="another")
    picker = ek.widgets.RunPicker(results_dir=folder)
    assert (picker.baseline, picker.candidate, picker.pair) == ("run-03", "run-04", ("run-03", "run-04"))
    assert ek.widgets.RunPicker(results_dir=folder, dataset="another").pair == (None, "run-09")
    assert ek.widgets.RunPicker("run-01", results_dir=folder).pair == ("run-01", "run-04")


def test_a_run_that_has_just_begun_is_not_chosen_at_first(folder):
    save(folder, 9, cases=0)
    assert ek.widgets.RunPicker(results_dir=folder).pair == ("run-03", "run-04")


def test_a_newer_scoring_stands_for_its_run(folder):
    save(folder, 5, started_at=DAY.format(4), rescored_from="run-04", scored_at=DAY.format(5))
    assert ek.widgets.RunPicker(results_dir=folder).pair == ("run-03", "run-05")


def test_searching_offers_fewer_runs_and_never_changes_the_choice(folder):
    picker = ek.widgets.RunPicker(results_dir=folder)
    heard = []
    picker.observe(heard.append, "pair")
    picker._search["baseline"].value = "RUN-01 label"
    assert [value for _, value in picker._choice["baseline"].options] == ["", "run-03", "run-01"]
    assert (picker.baseline, heard) == ("run-03", [])
    picker._search["baseline"].value = "no such run"
    assert [value for _, value in picker._choice["baseline"].options] == ["", "run-03"]
    picker._search["baseline"].value = ""
    assert len(picker._choice["baseline"].options) == 5


def test_a_run_of_a_day_to_come_is_chosen_by_nobody_but_a_person(folder):
    save(folder, 9, started_at="2999-01-01T00:00:00+00:00")
    picker = ek.widgets.RunPicker(results_dir=folder)
    assert picker.pair == ("run-03", "run-04")
    assert "is dated 2999-01-01, in the future" in picker._told.value
    picker.candidate = "run-09"
    assert picker.pair == ("run-03", "run-09")


def test_a_thousand_runs_can_be_searched(folder, monkeypatch):
    from evalkit import run_picker
    from evalkit.runs import StoredRun

    runs = [StoredRun(f"run-{n}", {"dataset": "d", "label": f"label {n}"}, folder / "x") for n in range(1000)]
    monkeypatch.setattr(run_picker, "stored_runs", lambda folder: runs)
    picker = ek.widgets.RunPicker(results_dir=folder)
    picker._search["candidate"].value = "label 777"
    assert [value for _, value in picker._choice["candidate"].options] == ["", "run-0", "run-777"]


def test_each_change_is_told_once(folder):
    picker = ek.widgets.RunPicker(results_dir=folder)
    heard = []
    picker.observe(lambda change: heard.append(change["new"]), "pair")
    picker._choice["baseline"].value = "run-01"
    picker.swap_button.click()
    picker.choose("run-02", "run-03")
    picker.refresh_button.click()
    assert heard == [("run-01", "run-04"), ("run-04", "run-01"), ("run-02", "run-03")]


def test_refreshing_keeps_the_choice_by_id(folder):
    chooser = ek.widgets.CompareRuns("run-02", "run-04", results_dir=folder)
    draws = drawn(chooser)
    save(folder, 6)
    chooser.picker.refresh_button.click()
    assert (chooser.baseline, chooser.candidate, draws) == ("run-02", "run-04", [])
    assert "run-06" in [value for _, value in chooser.picker._choice["baseline"].options]


def test_a_run_that_vanished_is_said_to_have(folder):
    chooser = ek.widgets.CompareRuns("run-02", "run-04", results_dir=folder)
    (folder / "run-02.parquet").unlink()
    chooser.picker.refresh_button.click()
    assert (chooser.baseline, chooser.candidate, chooser.comparison) == (None, "run-04", None)
    assert "Run &#39;run-02&#39; is gone from" in chooser.picker._told.value
    assert chooser.problem is None


def test_a_run_is_not_compared_with_itself(folder):
    chooser = ek.widgets.CompareRuns("run-02", "run-04", results_dir=folder)
    chooser.picker._choice["baseline"].value = "run-04"
    assert chooser.comparison is None
    assert "Baseline and candidate are the same run: choose another." in chooser.picker._told.value
    assert chooser.selected_case is None
    assert "Nothing is compared" in chooser.static()
    chooser.baseline = "run-01"
    assert chooser.comparison.baseline == "run-01"
    assert "same run" not in chooser.picker._told.value


@pytest.mark.parametrize(("runs", "words"), [(0, "No runs in"), (1, "There is only one run in")])
def test_a_folder_with_too_few_runs_says_so(tmp_path, runs, words):
    for day in range(runs):
        save(tmp_path, day + 1)
    chooser = ek.widgets.CompareRuns(results_dir=tmp_path)
    assert (chooser.comparison, chooser.problem) == (None, None)
    assert words in chooser.picker._told.value
    save(tmp_path, 8)
    save(tmp_path, 9)
    chooser.picker.refresh_button.click()
    assert chooser.candidate == ("run-09" if not runs else "run-01")


def test_equal_labels_are_told_apart_and_files_that_are_no_runs_are_named(folder):
    save(folder, 5, label="label 4")
    (folder / "broken.parquet").write_bytes(b"no")
    picker = ek.widgets.RunPicker(results_dir=folder)
    labels = [label for label, _ in picker._choice["baseline"].options]
    assert len(set(labels)) == len(labels) == 6
    assert "broken.parquet" in picker._told.value


def test_an_unknown_run_is_refused_with_the_nearest(folder):
    chooser = ek.widgets.CompareRuns(results_dir=folder)
    with pytest.raises(ek.errors.SettingsError, match=r"no run 'run-44' in .*Did you mean 'run-04'\?"):
        chooser.baseline = "run-44"
    with pytest.raises(ek.errors.SettingsError, match="'run' begins 4 runs"):
        chooser.candidate = "run"
    chooser.baseline = None
    assert chooser.comparison is None


def test_the_comparison_and_the_open_case_read_as_plain_values(folder):
    chooser = ek.widgets.CompareRuns("run-03", "run-04", results_dir=folder)
    assert chooser.comparison.verdict == "worse"
    assert chooser.selected_case == chooser.comparison.changes.loc[0, "case_id"]
    chooser.selected_case = "case-001"  # unchanged, so not among those shown
    assert (chooser.selected_case, chooser.status.value) == ("case-001", "everything")
    assert "case-001" in chooser._detail.value
    with pytest.raises(KeyError, match="no case 'case-0001' in this comparison"):
        chooser.selected_case = "case-0001"


def test_filters_leave_the_cases_that_meet_all_of_them(folder):
    chooser = ek.widgets.CompareRuns("run-03", "run-04", results_dir=folder)
    ids = chooser._shown_ids
    assert len(ids()) == 8
    chooser.status.value = "everything"
    assert len(ids()) == 20
    chooser.tag.value = "odd"
    assert ids() == [f"case-{n:03d}" for n in range(1, 20, 2)]
    chooser.text.value = "WORDS"
    assert ids() == ["case-003"]
    assert chooser.selected_case == "case-003"
    chooser.tool.value = "tool-0"
    assert (ids(), chooser.selected_case) == ([], None)
    assert "0 cases" in chooser._count.value
    chooser.tool.value, chooser.text.value, chooser.tag.value = "", "", ""
    chooser.tool.value = dict(chooser.tool.options)["(final answers)"]
    assert ids() == ["case-000"]
    chooser.status.value = "flipped"
    chooser.tool.value = ""
    assert len(ids()) == 8


def test_an_open_case_stays_open_while_the_filters_leave_it(folder):
    chooser = ek.widgets.CompareRuns("run-03", "run-04", results_dir=folder)
    chooser.selected_case = "case-008"
    chooser.text.value = "question"
    assert chooser.selected_case == "case-008"
    chooser.text.value = "question 2"
    assert chooser.selected_case == "case-002"


def test_long_lists_come_in_pages(tmp_path):
    save(tmp_path, 1, lambda n: True, cases=120)
    save(tmp_path, 2, lambda n: False, cases=120)
    chooser = ek.widgets.CompareRuns(results_dir=tmp_path)
    assert (len(chooser.case_list.options), chooser.back.disabled, chooser.on_.disabled) == (50, True, False)
    chooser.on_.click()
    assert (chooser.selected_case, chooser.back.disabled) == ("case-050", False)
    chooser.on_.click()
    assert (len(chooser.case_list.options), chooser.on_.disabled) == (20, True)
    chooser.selected_case = "case-007"
    assert (chooser._page, chooser.selected_case) == (0, "case-007")


def test_each_choice_draws_once_and_no_figure_is_left(folder):
    chooser = ek.widgets.CompareRuns("run-03", "run-04", results_dir=folder)
    draws = drawn(chooser)
    for run in ("run-01", "run-02", "run-03") * 3:
        chooser.baseline = run
    chooser.picker.swap_button.click()
    assert (len(draws), plt.get_fignums()) == (10, [])
    assert chooser._picture.value.count("<img") == 1


def test_widgets_made_again_do_not_hear_one_anothers_changes(folder):
    choosers = [ek.widgets.CompareRuns("run-03", "run-04", results_dir=folder) for _ in range(50)]
    draws = [drawn(chooser) for chooser in choosers]
    choosers[-1].baseline = "run-01"
    assert [len(seen) for seen in draws] == [0] * 49 + [1]
    assert plt.get_fignums() == []


def test_a_closed_widget_leaves_nothing_behind(folder):
    before = set(_instances)
    chooser = ek.widgets.CompareRuns(results_dir=folder)
    assert chooser.model_id in _instances
    chooser.close()
    left = [_instances[key] for key in set(_instances) - before]
    assert [one for one in left if isinstance(one, ipywidgets.DOMWidget)] == []


def test_what_a_callback_raises_is_shown_and_kept(folder):
    chooser = ek.widgets.CompareRuns("run-03", "run-04", results_dir=folder)
    (folder / "run-01.parquet").write_bytes(b"<img src=x onerror=alert(1)>")
    chooser.picker._choice["baseline"].value = "run-01"
    assert isinstance(chooser.problem, ek.SchemaError)
    assert "SchemaError" in chooser._told.value
    assert "<img" not in chooser._told.value
    assert (chooser.comparison, chooser.selected_case, chooser._top.value) == (None, None, "")
    chooser.baseline = "run-02"
    assert (chooser.problem, chooser._told.value) == (None, "")
    assert chooser.comparison.verdict == "worse"


def test_the_static_twin_stands_beside_the_widget_and_says_the_same(folder):
    chooser = ek.widgets.CompareRuns("run-03", "run-04", results_dir=folder)
    chooser.selected_case = "case-012"
    chooser.text.value = "question 1"
    static = chooser.static()
    assert static == static._repr_html_() == chooser._repr_mimebundle_()["text/html"]
    assert chooser._repr_mimebundle_()["text/plain"] == "<CompareRuns>"
    assert chooser.comparison.sentence.partition(": ")[2] in static
    assert "question 12" in static.partition("Case shown")[2].partition("<h")[0]
    assert "“question 1”: 4 cases" in static
    assert static.count("<img") == 1
    assert "case-002" not in static
    for word in ("<script", "http:", "https:", "javascript:"):
        assert word not in static
    assert "run-03" in ek.widgets.RunPicker(results_dir=folder).static()


def test_another_measure_can_be_compared(folder):
    chooser = ek.widgets.CompareRuns("run-03", "run-04", results_dir=folder, on="passed", worth_knowing=0.5)
    assert (chooser.comparison.on, chooser.comparison.worth_knowing) == ("passed", 0.5)
    assert "pass rate fell" in chooser._top.value
