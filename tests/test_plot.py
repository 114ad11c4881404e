import io

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PathCollection

import evalkit as ek
from evalkit.errors import SchemaError
from evalkit.plot_style import ALL, MARKERS, PALETTE, colour, looks, marker
from evalkit.plot_text import label, labels
from frames import results, row
from plotting import AWKWARD, rate, rates, words

mpl.use("Agg")

RUNS = (("a", 1), ("b", 2))


@pytest.fixture(autouse=True)
def _no_figure_is_left():
    from matplotlib import pyplot

    yield
    pyplot.close("all")


def _png(ax):
    target = io.BytesIO()
    ax.figure.savefig(target, format="png")
    return target.getvalue()


def _dots(ax):
    return [tuple(found.get_offsets()[0].tolist()) for found in ax.collections if isinstance(found, PathCollection)]


def _marks(ax):
    """The colours and shapes of dots."""
    dots = [found for found in ax.collections if isinstance(found, PathCollection)]
    return {(str(dot.get_edgecolor()[0]), str(dot.get_paths()[0].vertices)) for dot in dots}


def _segments(ax):
    found = [one for one in ax.collections if isinstance(one, LineCollection)]
    return [segment[:, 0].tolist() for one in found for segment in one.get_segments()]


def _row_names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_the_charts_are_all_that_there_is_to_be_seen():
    assert [name for name in dir(ek.plot) if not name.startswith("_")] == sorted(ek.plot.__all__)


# Looks


def test_a_tool_has_one_colour_and_marker_whatever_else_is_in_the_chart():
    whole = looks({name: name for name in ("list_files", "read_file", "none", ALL)})
    assert whole == looks({name: name for name in (ALL, "none", "read_file", "list_files")})
    assert looks({"read_file": "read_file"})["read_file"] == whole["read_file"]
    assert whole["read_file"].colour == colour("read_file")
    assert whole["read_file"].marker == marker("read_file")


def test_no_two_series_of_a_chart_look_alike():
    many = looks({f"tool_{place}": f"tool_{place}" for place in range(len(PALETTE) * len(MARKERS) // 2)})
    assert len(set(many.values())) == len(many)
    models = looks({("tool", model): "tool" for model in "abcd"})
    assert len(set(models.values())) == 4
    assert {look.colour for look in models.values()} == {colour("tool")}


@pytest.mark.parametrize("dataset", ["file_tools", "support_desk"])
def test_the_tools_of_the_datasets_that_come_along_differ_in_colour(dataset):
    names = {case.expected_tool for case in ek.load_dataset(dataset).cases if case.expected_tool}
    assert len({colour(name) for name in names}) == len(names)


# Text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("list_files", "list_files"),
        ("a$b", "a$b"),
        ("שלום", "שלום"),
        ("a\nb\x1b", r"a\nb\x1b"),
        ("\u202eevil", r"\u202eevil"),
        ("\ud83d", r"\ud83d"),
        ("x" * 300_000, "x" * 21 + "…" + "x" * 10),
        ("", ""),
    ],
)
def test_a_name_is_shown_as_it_is_but_for_what_has_no_shape_and_for_its_middle(name, shown):
    assert label(name) == shown


def test_a_letter_that_no_font_has_is_shown_as_its_escape():
    assert label("a\U000e0fff") == r"a\U000e0fff"


def test_names_that_shortening_would_make_equal_show_where_they_differ():
    names = ["qwen2.5-coder-0.5b-instruct", "qwen2.5-coder-1.5b-instruct", "lexical"]
    assert list(labels(names, 14).values()) == ["…0.5b…", "…1.5b…", "lexical"]


def test_names_that_shortening_makes_equal_are_numbered():
    names = [f"{'a' * 40}{middle}{'b' * 40}" for middle in "123"]
    assert len(set(labels(names).values())) == 3


# Accuracy per tool


def test_tools_are_sorted_from_the_lowest_accuracy_with_all_of_them_last():
    frame = rates(rate("a", "good", 9, 10), rate("a", "bad", 1, 10), rate("a", "new", 0, 0), rate("a", ALL, 10, 20))
    ax = ek.plot.tool_accuracy(frame)
    assert _row_names(ax) == ["bad", "good", "new", ALL]
    assert _dots(ax) == [(0.1, 0.0), (0.9, 1.0), (0.5, 3.0)]
    expected = frame.set_index("expected_tool").loc[["bad", "good", ALL], ["ci_low", "ci_high"]]
    assert _segments(ax) == expected.to_numpy().tolist()
    assert {"no cases", "n 10", "n 0", "n 20"} <= set(words(ax).split("\n"))


def test_errors_are_counted_and_their_bounds_drawn():
    ax = ek.plot.tool_accuracy(rates(rate("a", "x", 6, 12, errors=3, bound_low=0.4, bound_high=0.6)))
    assert [0.4, 0.6] in _segments(ax)
    assert "n 12, 3 errors" in words(ax)
    assert "dotted: if every errored trial had failed or passed" in words(ax)


def test_beside_several_runs_stand_the_range_of_n_and_all_errors():
    frame = rates(
        rate("a", "x", 6, 77), rate("b", "x", 6, 74, 2, errors=2), rate("a", "y", 1, 12), rate("b", "y", 1, 12, 2)
    )  # fmt: skip
    shown = words(ek.plot.tool_accuracy(frame)).split("\n")
    assert {"n 74–77, 2 errors", "n 12"} <= set(shown)


def test_a_run_has_one_colour_and_marker_and_runs_differ():
    tools = ["list_files", "read_file", "search", ALL]
    one = ek.plot.tool_accuracy(rates(*(rate("a", tool, 6, 12) for tool in tools)))
    assert len(_marks(one)) == 1
    two = ek.plot.tool_accuracy(rates(*(rate(run, tool, 6, 12, day) for run, day in RUNS for tool in tools)))
    assert len(_marks(two)) == 2
    handles = {(handle.get_color(), handle.get_marker()) for handle in two.get_legend().legend_handles}
    assert handles == {(PALETTE[0], MARKERS[0]), (PALETTE[1], MARKERS[1])}


def test_dots_of_few_cases_are_hollow():
    ax = ek.plot.tool_accuracy(rates(rate("a", "x", 6, 12), rate("a", "y", 1, 2)))
    faces = [found.get_facecolor()[0].tolist() for found in ax.collections if isinstance(found, PathCollection)]
    assert faces == [list(mpl.colors.to_rgba(PALETTE[0])), [1, 1, 1, 1]]


def test_a_few_runs_stand_side_by_side_and_of_more_the_newest_of_each_dataset_and_model():
    two = rates(rate("a", "x", 6, 12, 1, label="old"), rate("b", "x", 3, 12, 2, label="new"))
    ax = ek.plot.tool_accuracy(two)
    assert [x for x, _ in _dots(ax)] == [0.5, 0.25]
    assert "2026-11-01 09:00  old" in words(ax)
    many = rates(*(rate(f"r{day}", "x", day, 12, day, model=f"m{day % 2}") for day in range(1, 9)))
    ax = ek.plot.tool_accuracy(many)
    assert [round(x * 12) for x, _ in _dots(ax)] == [7, 8]
    assert "2 of 8 runs: the newest of each dataset and model" in words(ax)


def test_of_many_tools_the_lowest_are_shown_and_the_chart_says_so():
    ax = ek.plot.tool_accuracy(rates(*(rate("a", f"t{place:02}", place, 60) for place in range(60))))
    assert _row_names(ax) == [f"t{place:02}" for place in range(30)]
    assert "30 of 60 tools: the lowest" in words(ax)


def test_accuracies_of_other_groups_are_drawn_too():
    frame = rates(rate("a", "x", 6, 12), rate("a", "y", 3, 12)).rename(columns={"expected_tool": "tags"})
    frame = frame[["tags", "n", "passed", "errors", "accuracy", "ci_low", "ci_high", "bound_low", "bound_high"]]
    assert _row_names(ek.plot.tool_accuracy(frame)) == ["y", "x"]


def test_frames_of_results_make_both_charts_of_accuracy():
    frame = results(row("c1"), row("c2", passed=False), row("c3", passed=None), row("c4", expected_tool=None))
    table = ek.tool_accuracy(frame, cases="shared")
    assert "cases shared by all runs shown" in words(ek.plot.tool_accuracy(table))
    assert "cases shared by all runs shown" in words(ek.plot.accuracy_over_time(table))
    assert _row_names(ek.plot.tool_accuracy(table)) == ["list_files", "(final answer)", ALL]


# Runs


def _two_runs():
    old = results(
        row("c1"), row("c2", passed=False), row("c3", passed=None), row("c4", outcome="secondary", score=0.5),
        run_id="old", started_at="2026-11-01T10:00:00+00:00",
    )  # fmt: skip
    new = results(row("c1"), row("c2"), run_id="new", label="v2", started_at="2026-11-02T10:00:00+00:00")
    return pd.concat([old, new], ignore_index=True)


def test_outcomes_are_shares_of_trials_that_add_up_with_errors_apart():
    ax = ek.plot.outcomes(_two_runs())
    assert _row_names(ax) == ["2026-11-02 10:00  v2", "2026-11-01 10:00  lexical"]
    widths = {bar.get_label(): [patch.get_width() for patch in bar] for bar in ax.containers}
    assert np.array(list(widths.values())).T.tolist() == [[1.0, 0.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["correct", "secondary", "wrong tool", "error"]
    assert "67 % (21–94 %), n 3, 1 error" in words(ax)


def test_scores_show_their_mean_with_its_interval():
    ax = ek.plot.scores(_two_runs())
    assert "0.50 (0.13–0.87), n 3, 1 error" in words(ax)
    assert (0.5, 1.0) in _dots(ax)
    assert "hollow: fewer than 10 cases" in words(ax)


def test_trials_are_averaged_within_a_case_before_scores_are():
    frame = results(row("c1", 1), row("c1", 2, passed=False), row("c2"))
    assert "0.75 (0.20–0.97), n 2" in words(ek.plot.scores(frame))


def test_latency_and_cost_show_percentiles_and_what_is_known_of_the_cost():
    rows = [row(f"c{place}", latency_s=float(place), cost_usd=0.01 if place < 6 else None) for place in range(1, 12)]
    ax = ek.plot.latency_and_cost(results(*rows))
    assert _dots(ax) == [(6.0, 0.0)]
    assert _segments(ax) == [[2.0, 10.0]]
    assert "n 11  ·  $0.05, $0.01 a trial (5 of 11 trials)" in words(ax)
    assert "n 2  ·  cost not known" in words(
        ek.plot.latency_and_cost(results(*(row(f"c{n}", latency_s=1.0) for n in "ab")))
    )


def test_latencies_far_apart_are_drawn_on_a_log_scale():
    ax = ek.plot.latency_and_cost(results(*(row(f"c{n}", latency_s=0.01 * 3**n) for n in range(9))))
    assert ax.get_xscale() == "log"


@pytest.mark.parametrize("chart", [ek.plot.outcomes, ek.plot.scores, ek.plot.latency_and_cost])
def test_of_many_runs_the_newest_are_shown_and_the_chart_says_so(chart):
    starts = pd.date_range("2026-01-01", periods=300, tz="UTC")
    frame = pd.concat([results(row(), run_id=f"r{place:03}", started_at=start) for place, start in enumerate(starts)])
    ax = chart(frame)
    assert len(_row_names(ax)) == 30
    assert _row_names(ax)[0].startswith("2026-10-27")
    assert "30 of 300 runs: the newest" in words(ax)


@pytest.mark.parametrize("chart", [ek.plot.outcomes, ek.plot.scores, ek.plot.latency_and_cost])
def test_runs_of_errors_alone_without_start_or_model_are_drawn(chart):
    frame = results(row("c1", passed=None), row("c2", passed=None), started_at=None, model=None, dataset=None)
    ax = chart(frame)
    assert _row_names(ax) == ["r1"]
    assert "n 0" in words(ax) or "no cases" in words(ax)


# Confusion


def test_a_confusion_shows_in_each_cell_how_many_of_its_trials_passed():
    frame = results(
        row("c1", actual_tool="list_files"), row("c2", actual_tool="list_files"),
        row("c3", actual_tool="read_file", passed=False),
        row("c4", actual_tool="list_files", expected_tool="read_file", outcome="secondary", score=0.5),
        row("c5", actual_tool="none", expected_tool="none"),
        row("c6", actual_tool="read_file", expected_tool="read_file", passed=False, outcome="wrong_arguments"),
        *(row("c4", trial, False, actual_tool="list_files", expected_tool="read_file") for trial in (2, 3, 4)),
    )  # fmt: skip
    ax = ek.plot.tool_confusion(ek.tool_confusion(frame))
    cells = {text.get_position(): text.get_text() for text in ax.texts if not text.get_text().startswith("n ")}
    assert cells == {(0, 0): "2/2", (1, 0): "0/1", (0, 1): "1/4", (1, 1): "0/1", (2, 2): "1/1"}
    assert _row_names(ax) == ["list_files", "read_file", "none"]
    assert [text.get_text() for text in ax.texts if text.get_text().startswith("n ")] == ["n 3", "n 5", "n 1"]
    assert "passed/trials, blue: passed, hatched: failed" in words(ax).replace("\n", " ")
    parts = [(patch.get_x() + 0.5, patch.get_y() + 0.5, patch.get_width(), patch.get_hatch()) for patch in ax.patches]
    assert sorted(parts, key=lambda part: (part[1], part[0])) == [
        (0, 0, 1.0, None), (1, 0, 1.0, "////"), (0, 1, 0.25, None), (0.25, 1, 0.75, "////"), (1, 1, 1.0, "////"),
        (2, 2, 1.0, None),
    ]  # fmt: skip


def test_a_confusion_that_lost_what_passed_claims_nothing():
    frame = ek.tool_confusion(results(row("c1", actual_tool="list_files")))
    frame.attrs.clear()
    ax = ek.plot.tool_confusion(frame)
    assert [text.get_text() for text in ax.texts] == ["1", "n 1"]
    assert "how many passed is not known" in words(ax).replace("\n", " ")
    assert "blue" not in words(ax)


def test_of_many_tools_a_confusion_shows_those_that_failed_most():
    wrong = {"wrong_tool": "list_files", "secondary": "list_files", "wrong_arguments": None}
    frame = results(
        *(
            row(f"{outcome}{n}", expected_tool=outcome, actual_tool=tool or outcome, outcome=outcome,
                passed=outcome == "secondary")
            for outcome, tool in wrong.items() for n in range(3)
        )
    )  # fmt: skip
    ax = ek.plot.tool_confusion(ek.tool_confusion(frame), most=2)
    assert _row_names(ax) == ["wrong_arguments", "wrong_tool"]
    assert "2 of 3 expected tools: those with the most failed trials" in words(ax).replace("\n", " ")


def test_of_rows_without_trials_a_confusion_leaves_out_any_alone():
    names = ["any", "list_files", "read_file"]
    frame = pd.DataFrame([[0, 0, 0], [0, 2, 1], [0, 0, 0]], index=names, columns=names)
    assert _row_names(ek.plot.tool_confusion(frame)) == ["list_files", "read_file"]
    frame.loc["any", "list_files"] = 1
    assert _row_names(ek.plot.tool_confusion(frame)) == names


def test_of_many_tools_a_confusion_shows_the_worst_and_no_trial_is_lost():
    names = [f"t{place:02}" for place in range(40)]
    counts = np.diag([5] * 40) + np.eye(40, k=1, dtype=int) * np.arange(40)[:, None]
    frame = pd.DataFrame(counts, index=names, columns=names).assign(none=1)
    ax = ek.plot.tool_confusion(frame, most=10)
    assert _row_names(ax) == names[29:39]
    totals = [text.get_text() for text in ax.texts if text.get_text().startswith("n ")]
    assert totals == [f"n {5 + place + 1}" for place in range(29, 39)]
    assert "(other tools)" in words(ax)


# All of them


def _results_named(names):
    return pd.concat(
        [
            results(
                row("c1", expected_tool=name, actual_tool=name, outcome=name, latency_s=1.0),
                run_id=f"r{place}", model=name, dataset=name, label=name,
            )
            for place, name in enumerate(names)
        ]
    )  # fmt: skip


@pytest.mark.parametrize("names", [[name] for name in AWKWARD] + [list(AWKWARD)])
def test_awkward_names_are_drawn_without_a_warning(names):
    frame = _results_named(names)
    for chart in (ek.plot.outcomes, ek.plot.scores, ek.plot.latency_and_cost):
        assert _png(chart(frame))
    assert _png(ek.plot.tool_accuracy(ek.tool_accuracy(frame)))
    assert _png(ek.plot.tool_confusion(ek.tool_confusion(frame)))


@pytest.mark.parametrize(
    ("chart", "frame", "said"),
    [
        (ek.plot.tool_accuracy, rates(rate("a", "x", 1, 2))[:0], "no cases"),
        (ek.plot.tool_accuracy, pd.DataFrame(), "no cases"),
        (ek.plot.outcomes, results(row())[:0], "no runs"),
        (ek.plot.scores, pd.DataFrame(), "no runs"),
        (ek.plot.latency_and_cost, results(row())[:0], "no runs"),
        (ek.plot.tool_confusion, ek.tool_confusion(results(row())[:0]), "no cases"),
        (ek.plot.tool_confusion, pd.DataFrame(), "no cases"),
    ],
)
def test_frames_without_rows_are_drawn_as_such(chart, frame, said):
    assert words(chart(frame)) == said


@pytest.mark.parametrize("chart", [ek.plot.tool_accuracy, ek.plot.outcomes, ek.plot.scores, ek.plot.latency_and_cost])
def test_frames_of_another_kind_are_refused(chart):
    with pytest.raises(SchemaError, match=r"the frame has no column '.*makes one"):
        chart(pd.DataFrame({"a": [1]}))


@pytest.mark.parametrize("chart", [ek.plot.outcomes, ek.plot.scores, ek.plot.latency_and_cost])
def test_nothing_given_is_changed_and_the_given_axes_are_used(chart):
    from matplotlib import pyplot
    from matplotlib.figure import Figure

    frame = _two_runs()
    before = frame.copy()
    ax = Figure().subplots()
    assert chart(frame, ax=ax) is ax
    assert pyplot.get_fignums() == []
    pd.testing.assert_frame_equal(frame, before)


def test_a_title_of_the_caller_stands_clear_of_the_legend():
    ax = ek.plot.outcomes(_two_runs())
    ax.set_title("What became of it")
    ax.figure.draw_without_rendering()
    assert ax.title.get_window_extent().y0 >= ax.get_legend().get_window_extent().y1 - 3


def test_charts_say_where_intervals_are_wider_because_cases_share_a_cluster():
    def frame(**values):
        return results(*(row(f"c{n}", passed=n % 4 < 2, score=float(n % 4 < 2), **values) for n in range(40)))

    note = "intervals are wider where cases share a cluster: 40 cases count as 1"
    for chart in (
        lambda frame: ek.plot.tool_accuracy(ek.accuracy(frame, by=["run_id", "expected_tool"])),
        lambda frame: ek.plot.accuracy_over_time(ek.accuracy(frame, by=["run_id", "expected_tool"])),
        ek.plot.outcomes,
        ek.plot.scores,
    ):
        assert note in words(chart(frame(cluster="k"))).replace("\n", " ")
        assert "cluster" not in words(chart(frame()))
    both = [frame(cluster="k"), frame(cluster="k").assign(run_id="r2")]
    assert "wider where cases share a cluster" in words(ek.plot.comparison(ek.compare(*both))).replace("\n", " ")
    assert "cluster" not in words(ek.plot.comparison(ek.compare(frame(), frame().assign(run_id="r2"))))


def test_the_interval_of_a_mean_score_takes_clusters_for_its_units():
    rows = [row(f"c{n}", score=(n % 4) / 4, cluster=f"k{n % 4}") for n in range(40)]
    one = ek.plot.scores(results(*rows))
    alone = ek.plot.scores(results(*(row(f"c{n}", score=n / 4) for n in range(4))))
    said = [next(text.get_text() for text in ax.texts if ", n " in text.get_text()) for ax in (one, alone)]
    assert said[0].partition(", n ")[0] == said[1].partition(", n ")[0]
