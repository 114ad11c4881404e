import io

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from evalkit.errors import SchemaError
from evalkit.plot import accuracy_over_time
from evalkit.plot_style import ALL, INK, colour
from plotting import AWKWARD, rate, rates, words

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _no_figure_is_left():
    from matplotlib import pyplot

    yield
    pyplot.close("all")


def test_a_line_holds_the_accuracies_at_the_starts_of_the_runs():
    frame = rates(rate("b", "list_files", 3, 4, day=3), rate("a", "list_files", 1, 4, day=1))
    line = accuracy_over_time(frame).lines[0]
    assert line.get_ydata().tolist() == [0.25, 0.75]
    assert line.get_xdata().tolist() == np.array(["2026-11-01T09", "2026-11-03T09"], "datetime64[us]").tolist()


def test_each_tool_and_all_of_them_have_a_line():
    frame = rates(*(rate(run, tool, 2, 4, day) for run, day in (("a", 1), ("b", 2)) for tool in ("x", "y", ALL)))
    lines = accuracy_over_time(frame).lines
    assert [line.get_label() for line in lines] == ["x", "y", ALL]
    assert [line.get_color() for line in lines] == [colour("x"), colour("y"), INK]


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"dataset_hash": "2"}, "dataset"),
        ({"tools_hash": "2"}, "tools"),
        ({"prompt_hash": "2"}, "prompt"),
        ({"settings_hash": "2"}, "settings"),
        ({"scoring_hash": "2"}, "scoring"),
        ({"prompt_hash": "2", "settings_hash": "2"}, "prompt, settings"),
        ({"prompt_hash": None}, "prompt?"),
    ],
)
def test_a_line_breaks_off_where_something_changed_and_says_what(changed, word):
    frame = rates(
        rate("a", "x", 1, 12, 1), rate("b", "x", 2, 12, 2), rate("c", "x", 3, 12, 3, **changed),
        rate("d", "x", 4, 12, 4, **changed),
    )  # fmt: skip
    ax = accuracy_over_time(frame)
    assert [(line.get_ydata() * 12).round().tolist() for line in ax.lines] == [[1, 2], [3, 4]]
    assert word in words(ax).split("\n")


def test_runs_of_which_nothing_is_known_are_joined():
    frame = rates(rate("a", "x", 1, 12, 1), rate("b", "x", 2, 12, 2))
    frame = frame.drop(columns=[name for name in frame if name.endswith("_hash")])
    assert len(accuracy_over_time(frame).lines) == 1


def test_models_and_datasets_are_never_joined():
    frame = rates(
        rate("a", "x", 1, 12, 1, model="m"), rate("b", "x", 2, 12, 2, model="n"), rate("c", "x", 3, 12, 3, model="m"),
        rate("d", "x", 4, 12, 4, dataset="other", model="m"),
    )  # fmt: skip
    ax = accuracy_over_time(frame)
    assert [(line.get_ydata() * 12).round().tolist() for line in ax.lines] == [[1, 3], [2], [4]]
    looks = {(line.get_color(), line.get_linestyle()) for line in ax.lines}
    assert len(looks) == 3
    assert {line.get_color() for line in ax.lines} == {colour("x")}
    assert "file_tools · m" in words(ax)


def test_a_run_without_cases_of_the_tool_interrupts_the_line_and_is_marked():
    frame = rates(rate("a", "x", 1, 12, 1), rate("b", "x", 0, 0, 2), rate("c", "x", 3, 12, 3))
    ax = accuracy_over_time(frame)
    assert [len(line.get_ydata()) for line in ax.lines] == [1, 1]
    assert "×: no cases" in words(ax)


def test_a_tool_that_never_had_a_case_says_so():
    ax = accuracy_over_time(rates(rate("a", "x", 0, 0)))
    assert len(ax.lines) == 0
    assert "no cases" in words(ax).split("\n")


def test_points_of_few_cases_are_hollow():
    ax = accuracy_over_time(rates(rate("a", "x", 5, 10, 1), rate("b", "x", 5, 9, 2)))
    points = next(found for found in ax.collections if len(found.get_facecolors()) == 2)
    assert points.get_facecolors()[1].tolist() == [1, 1, 1, 1]
    assert points.get_facecolors()[0].tolist() == list(mpl.colors.to_rgba(colour("x")))
    assert "hollow: fewer than 10 cases" in words(ax)


def test_intervals_are_drawn_and_n_and_errors_are_shown():
    frame = rates(rate("a", "x", 6, 12, 1, errors=2), rate("b", "x", 6, 14, 2, errors=1))
    ax = accuracy_over_time(frame)
    ends = {round(float(y), 4) for found in ax.collections for path in found.get_paths() for y in path.vertices[:, 1]}
    assert {round(value, 4) for value in [*frame["ci_low"], *frame["ci_high"]]} <= ends
    assert "x\nn 12–14, 3 errors" in words(ax)


def test_a_lone_run_has_an_interval_too():
    frame = rates(rate("a", "x", 6, 12))
    ax = accuracy_over_time(frame)
    segments = [one.tolist() for found in ax.collections for one in getattr(found, "get_segments", list)()]
    assert [[y for _, y in one] for one in segments] == [[frame["ci_low"][0], frame["ci_high"][0]]]


def test_the_axes_say_utc_and_the_days_and_percent():
    ax = accuracy_over_time(rates(rate("a", "x", 6, 12, 1), rate("b", "x", 6, 12, 20)))
    assert ax.get_xlabel() == "start of run, UTC (2026-11-01 to 2026-11-20)"
    assert "100 %" in words(ax).split("\n")


@pytest.mark.parametrize(
    ("attribute", "said", "expected"),
    [
        (None, None, "all cases"),
        ("all", None, "all cases"),
        ("shared", None, "cases shared by all runs shown"),
        (None, "shared", "cases shared by all runs shown"),
    ],
)
def test_the_chart_names_the_cases(attribute, said, expected):
    frame = rates(rate("a", "x", 6, 12))
    if attribute:
        frame.attrs["cases"] = attribute
    assert accuracy_over_time(frame, cases=said).get_ylabel() == f"accuracy, {expected}\n(95 % intervals)"


def test_another_word_for_the_cases_is_refused():
    with pytest.raises(ValueError, match=r"cases must be 'all' or 'shared', got 'sharde'. Did you mean 'shared'"):
        accuracy_over_time(rates(), cases="sharde")


def test_starts_of_every_kind_are_put_in_order_in_utc_and_missing_ones_are_listed():
    starts = ["2026-03-02 09:00", "2026-03-02T08:00:00Z", "2026-03-01T23:30:00-08:00", None, "soon"]
    frame = rates(*(rate(f"r{place}", "x", place, 12) for place in range(5))).assign(started_at=starts)
    ax = accuracy_over_time(frame)
    assert (ax.lines[0].get_ydata() * 12).round().tolist() == [2, 1, 0]
    assert ax.lines[0].get_xdata()[0] == np.datetime64("2026-03-02T07:30")
    assert "without a start time, not drawn: r3, r4" in words(ax).replace("\n", " ")


def test_runs_that_stopped_early_are_named():
    ax = accuracy_over_time(rates(rate("a", "x", 6, 12, status="partial")))
    assert "stopped early: a" in words(ax)


@pytest.mark.parametrize("frame", [pd.DataFrame(), rates(rate("a", "x", 1, 2))[:0]])
def test_no_runs_are_drawn_as_such(frame):
    assert words(accuracy_over_time(frame)) == "no runs"


def test_runs_without_any_start_are_named():
    frame = rates(rate("a", "x", 1, 2)).assign(started_at=pd.NaT)
    assert words(accuracy_over_time(frame)) == "no runs with a start time: a"


def test_a_frame_of_another_kind_is_refused():
    with pytest.raises(SchemaError, match=r"no column 'started_at'.* Did you mean 'start_at'.* ek.tool_accuracy"):
        accuracy_over_time(rates(rate("a", "x", 1, 2)).rename(columns={"started_at": "start_at"}))


def _many(tools, runs):
    return rates(
        *(rate(f"r{run:03}", f"tool_{tool:02}", 6, 12, 1 + run) for run in range(runs) for tool in range(tools))
    )


@pytest.mark.parametrize(("tools", "runs"), [(25, 2), (2, 61)])
def test_what_one_axes_cannot_hold_stands_in_panels_named_by_their_tool(tools, runs):
    ax = accuracy_over_time(_many(tools, runs))
    panels = [panel for panel in ax.child_axes if panel.lines]
    assert [panel.get_title("left") for panel in panels] == [f"tool_{tool:02}  n 12" for tool in range(tools)]
    assert all(len(panel.lines[0].get_ydata()) == runs for panel in panels)


def test_panels_lie_inside_their_axes_and_apart_at_any_size():
    ax = accuracy_over_time(_many(7, 2))
    for size in ((5, 4), (12, 6)):
        ax.figure.set_size_inches(*size)
        ax.figure.draw_without_rendering()
        host, boxes = ax.get_window_extent(), [panel.get_window_extent() for panel in ax.child_axes]
        assert all(host.x0 <= box.x0 and box.x1 <= host.x1 + 1 and host.y0 <= box.y0 for box in boxes)
        assert not any(one.overlaps(other) for place, one in enumerate(boxes) for other in boxes[:place])


def _of_models(models, tools):
    runs = ((f"{model}-{day}", model, day) for model in models for day in (1, 20))
    names = [f"tool_{tool:02}" for tool in range(tools)]
    return rates(*(rate(run, name, 6, 12, day, model=model) for run, model, day in runs for name in names))


def test_every_model_has_rows_of_its_own_below_its_name():
    ax = accuracy_over_time(_of_models("ab", 7))
    ax.figure.draw_without_rendering()
    panels = ax.child_axes
    rows = [round(panel.get_window_extent().y0) for panel in panels]
    assert max(rows[7:]) < min(rows[:7])
    assert round(panels[7].get_window_extent().x0) == round(panels[0].get_window_extent().x0)
    headed = [(place, text.get_text()) for place, panel in enumerate(panels) for text in panel.texts]
    assert headed == [(0, "a"), (7, "b")]


def test_models_of_a_single_series_share_rows_and_are_named_in_their_titles():
    ax = accuracy_over_time(_of_models("abcdefghi", 1))
    assert [panel.get_title("left") for panel in ax.child_axes][:2] == ["tool_00  n 12\na", "tool_00  n 12\nb"]
    ax.figure.draw_without_rendering()
    assert len({round(panel.get_window_extent().y0) for panel in ax.child_axes}) == 3


@pytest.mark.parametrize("inches", [(8, 6), (12, 9)])
def test_titles_headings_and_dates_of_panels_keep_clear_of_other_panels(inches):
    ax = accuracy_over_time(_of_models("ab", 7))
    ax.figure.set_size_inches(*inches)
    ax.figure.draw_without_rendering()
    boxes = [panel.get_window_extent() for panel in ax.child_axes]
    texts = [text for panel in ax.child_axes for text in (*panel.texts, panel._left_title, *panel.get_xticklabels())]
    shown = [text.get_window_extent() for text in texts if text.get_text()]
    assert len(shown) > 3 * len(boxes)
    assert not any(text.overlaps(box) for text in shown for box in boxes)
    below = [tick for panel in ax.child_axes for tick in panel.get_xticklabels() if tick.get_text()]
    above = [text for panel in ax.child_axes for text in (*panel.texts, panel._left_title) if text.get_text()]
    ends = [text.get_window_extent() for text in above]
    assert not any(tick.get_window_extent().overlaps(end) for tick in below for end in ends)


@pytest.mark.parametrize("days", [8e-4, 0.002, 0.01, 0.3, 1.5, 5, 26, 40, 200])
def test_dates_are_two_or_more_and_no_two_read_the_same(days):
    first = pd.Timestamp("2026-02-11 11:17:03", tz="UTC")
    frame = rates(rate("a", "x", 1, 2), rate("b", "x", 1, 2))
    ax = accuracy_over_time(frame.assign(started_at=[first, first + pd.Timedelta(days=days)]))
    for inches in (6, 8.5):
        ax.figure.set_size_inches(inches, 4)
        ax.figure.draw_without_rendering()
        low, high = ax.get_xlim()
        shown = [tick.label1.get_text() for tick in ax.xaxis.get_major_ticks() if low <= tick.get_loc() <= high]
        assert len(shown) > 1
        assert "" not in shown
        assert len(set(shown)) == len(shown)


def test_of_very_many_tools_those_that_moved_are_shown_and_the_chart_says_so():
    still = [rate(run, f"still_{tool:02}", 50, 100, day) for run, day in (("a", 1), ("b", 2)) for tool in range(40)]
    moved = [rate("a", "moved", 10, 100, 1), rate("b", "moved", 90, 100, 2)]
    ax = accuracy_over_time(rates(*still, *moved), most=6)
    assert len(ax.child_axes) == 6
    assert "moved  n 100" in words(ax)
    assert "6 of 41 series shown: those that moved furthest beyond their intervals" in words(ax).replace("\n", " ")


def test_other_groups_than_tools_have_lines_of_their_own():
    frame = rates(rate("a", "x", 1, 2), rate("a", "y", 2, 2)).rename(columns={"expected_tool": "tags"})
    assert [line.get_label() for line in accuracy_over_time(frame).lines] == ["x", "y"]
    whole = rates(rate("a", "x", 1, 2)).drop(columns="expected_tool")
    assert [line.get_label() for line in accuracy_over_time(whole).lines] == [ALL]


@pytest.mark.parametrize("names", [[name] for name in AWKWARD] + [list(AWKWARD)])
def test_awkward_names_are_drawn_without_a_warning(names):
    frame = rates(*(rate(run, name, 1, 2, day) for run, day in (("a", 1), ("b", 2)) for name in names))
    frame = frame.assign(model=names[-1], dataset=names[0])
    target = io.BytesIO()
    accuracy_over_time(frame).figure.savefig(target, format="png")
    assert target.getvalue().startswith(b"\x89PNG")


@pytest.mark.parametrize("days", [0, 1e-5, 0.01, 0.3, 1.5, 5, 40, 200, 400, 2000])
@pytest.mark.parametrize("inches", [2.5, 12])
def test_any_span_of_time_has_dates_that_do_not_overlap(days, inches):
    first = pd.Timestamp("2026-02-11 11:17", tz="UTC")
    frame = rates(rate("a", "x", 1, 2), rate("b", "x", 1, 2))
    frame = frame.assign(started_at=[first, first + pd.Timedelta(days=days)])
    ax = accuracy_over_time(frame)
    ax.figure.set_size_inches(inches, 3)
    ax.figure.draw_without_rendering()
    low, high = ax.get_xlim()
    shown = [tick.label1 for tick in ax.xaxis.get_major_ticks() if low <= tick.get_loc() <= high]
    boxes = [label.get_window_extent() for label in shown if label.get_text()]
    assert not any(one.overlaps(other) for place, one in enumerate(boxes) for other in boxes[:place])


def test_nothing_given_is_changed_and_the_given_axes_are_used():
    from matplotlib import pyplot
    from matplotlib.figure import Figure

    frame = rates(rate("a", "x", 1, 2))
    before = frame.copy()
    ax = Figure().subplots()
    assert accuracy_over_time(frame, ax=ax) is ax
    assert pyplot.get_fignums() == []
    pd.testing.assert_frame_equal(frame, before)
