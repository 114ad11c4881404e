import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evalkit as ek
from evalkit import SchemaError, SettingsError
from evalkit.counts import RunCounts
from evalkit.lines import summary_lines
from evalkit.metrics import accuracy, rates, summarize, tool_accuracy
from evalkit.schema import conform
from evalkit.tallies import FINGERPRINTS
from frames import results, row

NA = math.nan
MEASURES = [
    "n", "passed", "errors", "accuracy", "ci_low", "ci_high", "bound_low", "bound_high", "mean_score", "n_effective",
]  # fmt: skip
CARRIED = ["dataset", "model", "label", "started_at", *FINGERPRINTS]


def small():
    """Two tools, an error, a secondary tool, and a tool of which nothing was scored."""
    return results(
        row("c1"), row("c2", passed=False), row("c3", score=0.5, outcome="secondary"),
        row("c4", expected_tool="read_file"), row("c5", expected_tool="read_file", passed=None),
        row("c6", expected_tool="none", passed=None),
    )  # fmt: skip


def test_tool_accuracy_has_a_row_per_tool_and_one_for_all():
    frame = tool_accuracy(small())
    assert list(frame.columns) == ["run_id", "expected_tool", *MEASURES, *CARRIED]
    expected = pd.DataFrame(
        [
            ("list_files", 3, 2.0, 0, 2 / 3, 0.2077, 0.9385, 2 / 3, 2 / 3, 0.5, 3.0),
            ("none", 0, 0.0, 1, NA, NA, NA, 0.0, 1.0, NA, 0.0),
            ("read_file", 1, 1.0, 1, 1.0, 0.2065, 1.0, 0.5, 1.0, 1.0, 1.0),
            ("(all)", 4, 3.0, 2, 0.75, 0.3006, 0.9544, 0.5, 5 / 6, 0.625, 4.0),
        ],
        columns=["expected_tool", *MEASURES],
    ).astype({"expected_tool": "str"})
    pd.testing.assert_frame_equal(frame[["expected_tool", *MEASURES]], expected, atol=6e-5, rtol=0)


def test_a_frame_by_run_carries_what_is_known_of_the_run():
    frame = tool_accuracy(results(row(), label="before", tools_hash="abc"))
    assert frame[["run_id", "dataset", "model", "label", "tools_hash"]].iloc[0].tolist() == [
        "r1", "file_tools", "lexical", "before", "abc",
    ]  # fmt: skip
    assert str(frame["started_at"].dtype) == "datetime64[us, UTC]"


def test_trials_are_averaged_within_their_case():
    frame = results(*(row(f"c{n}", trial, passed=n < 16) for n in range(20) for trial in range(1, 6)))
    whole = tool_accuracy(frame).iloc[-1]
    assert (whole["n"], whole["passed"]) == (20, 16)
    assert (whole["ci_low"], whole["ci_high"]) == pytest.approx((0.584, 0.919), abs=6e-4)


def test_a_case_with_errored_trials_counts_with_its_scored_ones():
    frame = results(row("c1", 1), row("c1", 2, passed=False), row("c1", 3, passed=None), row("c2", 1, passed=None))
    whole = tool_accuracy(frame).iloc[-1]
    assert (whole["n"], whole["passed"], whole["errors"], whole["accuracy"]) == (1, 0.5, 2, 0.5)
    assert (whole["bound_low"], whole["bound_high"]) == pytest.approx(((1 / 3 + 0) / 2, (2 / 3 + 1) / 2))


def test_the_bounds_of_a_rate_are_means_over_cases_as_the_rate_is():
    frame = results(row("c1"), row("c2", 1), row("c2", 2, passed=False), row("c3", 1))
    assert tool_accuracy(frame).iloc[-1][["accuracy", "bound_low", "bound_high"]].tolist() == pytest.approx([5 / 6] * 3)


_TRIALS = st.lists(
    st.tuples(
        st.integers(0, 5), st.sampled_from((True, False, None)), st.sampled_from((0.5, None)),
        st.sampled_from(("a", "b", None)), st.sampled_from((None, "k", "l")), st.sampled_from(("r1", "r2")),
    ),
    min_size=1, max_size=25,
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(_TRIALS)
def test_a_rate_lies_between_its_bounds_in_every_frame(trials):
    rows = {"r1": [], "r2": []}
    for case, passed, score, tool, cluster, run in trials:
        more = {} if passed is None else {"score": score}
        fixed = {"expected_tool": tool, "cluster": cluster, "tags": '["x", "y"]' if case % 2 else None}
        first = next((one for one in rows[run] if one["case_id"] == f"c{case}"), fixed)
        fixed = {name: first[name] for name in fixed}  # of a case, all trials expect the same
        rows[run].append(row(f"c{case}", len(rows[run]) + 1, passed, case_hash=f"h{case}", **fixed, **more))
    whole = pd.concat([results(*some, run_id=run) for run, some in rows.items() if some])
    frames = [summarize(whole).rename(columns={"pass_rate": "accuracy"})]
    frames += [tool_accuracy(whole, by=by, cases=cases) for by in ("run_id", []) for cases in ("all", "shared")]
    frames += [accuracy(whole, by=by) for by in ("tags", "cluster", "model", ["run_id", "case_id"], "outcome")]
    frames += [ek.calling_rates(whole).rename(columns={"rate": "accuracy"})]
    for some in filter(None, rows.values()):
        counts = RunCounts()
        for one in sorted(some, key=lambda one: one["case_id"]):
            counts.add(one)
        totals = counts.finish()
        frames.append(pd.DataFrame([rates(one) for one in (totals, *totals["by_tool"])]))
        frames[-1] = frames[-1].rename(columns={"pass_rate": "accuracy"})
    for frame in frames:
        known = frame[frame["n"] > 0]
        assert (known["bound_low"] <= known["accuracy"]).all()
        assert (known["accuracy"] <= known["bound_high"]).all()
        sure = frame[frame["errors"] == 0]
        assert (sure["bound_low"] == sure["accuracy"]).all()
        assert (sure["bound_high"] == sure["accuracy"]).all()
        assert frame[["bound_low", "bound_high"]].stack().between(0, 1).all()
        assert (frame["n_effective"] <= frame["n"]).all()


def test_errors_are_shown_and_not_absorbed():
    frame = results(*(row(f"p{n}") for n in range(90)), *(row(f"e{n}", passed=None) for n in range(10)))
    whole = tool_accuracy(frame).iloc[-1]
    assert (whole["accuracy"], whole["n"], whole["errors"]) == (1.0, 90, 10)
    assert (whole["bound_low"], whole["bound_high"]) == (0.9, 1.0)


@pytest.mark.parametrize(
    ("passed", "n", "low", "high"),
    [(10, 10, 0.7225, 1), (0, 10, 0, 0.2775), (1, 1, 0.2065, 1), (17, 20, 0.6396, 0.9476), (50, 50, 0.9287, 1)],
)
def test_every_rate_has_a_wilson_interval(passed, n, low, high):
    whole = tool_accuracy(results(*(row(f"c{number}", passed=number < passed) for number in range(n)))).iloc[-1]
    assert (whole["ci_low"], whole["ci_high"]) == pytest.approx((low, high), abs=6e-5)


def test_cases_that_agree_within_their_clusters_count_as_clusters():
    frame = results(*(row(f"c{n}", passed=n % 4 < 2, cluster=f"k{n % 4}") for n in range(40)))
    whole = tool_accuracy(frame).iloc[-1]
    alone = tool_accuracy(results(*(row(f"c{n}", passed=n < 2) for n in range(4)))).iloc[-1]
    assert (whole["n"], whole["n_effective"], alone["n_effective"]) == (40, 4, 4)
    assert (whole["ci_low"], whole["ci_high"]) == pytest.approx((alone["ci_low"], alone["ci_high"]))


def test_final_answers_stand_under_a_name_of_their_own():
    frame = tool_accuracy(results(row("c1"), row("c2", kind="final_answer", expected_tool=None)))
    assert frame["expected_tool"].tolist() == ["list_files", "(final answer)", "(all)"]
    assert frame["n"].tolist() == [1, 1, 2]


def test_runs_come_in_order_of_start():
    late = results(row(), run_id="a", started_at="2026-03-02T07:00:00Z")
    early = results(row(), run_id="b", started_at="2026-03-01T22:30:00-08:00")
    assert tool_accuracy(pd.concat([late, early]))["run_id"].unique().tolist() == ["b", "a"]
    assert summarize(pd.concat([late, early]))["run_id"].tolist() == ["b", "a"]


def test_accuracy_by_tags_counts_a_case_in_each_of_them():
    frame = results(
        row("c1", tags='["a", "b"]'), row("c2", tags='["a"]', passed=False), row("c3", tags="[]"), row("c4"),
    )  # fmt: skip
    found = accuracy(frame, by="tags")
    assert list(found.columns) == ["tags", *MEASURES]
    assert found["tags"].isna().tolist() == [False, False, True]
    assert found["tags"].tolist()[:2] == ["a", "b"]
    assert found["n"].tolist() == [2, 1, 2]
    assert found["accuracy"].tolist() == [0.5, 1.0, 1.0]


def test_a_case_in_several_runs_of_a_model_is_one_case():
    first = results(*(row(f"c{n}", passed=n < 5) for n in range(10)), run_id="r1")
    second = results(*(row(f"c{n}", passed=n < 7) for n in range(10)), run_id="r2")
    found = accuracy(pd.concat([first, second]), by="model")
    assert found[["model", "n", "passed"]].to_numpy().tolist() == [["lexical", 10, 6.0]]


def test_cases_of_one_id_in_two_datasets_are_two():
    frames = [results(row("c1"), run_id=name, dataset=name) for name in ("one", "two")]
    assert accuracy(pd.concat(frames), by="model")["n"].tolist() == [2]


def test_within_a_cluster_the_cases_are_the_units():
    frame = results(*(row(f"c{n}", passed=n < 8, cluster="k") for n in range(10)))
    found = accuracy(frame, by="cluster").iloc[0]
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((0.4902, 0.9433), abs=6e-5)


def test_without_grouping_columns_there_is_one_row():
    assert accuracy(small(), by=[])[["n", "errors"]].to_numpy().tolist() == [[4, 2]]
    assert tool_accuracy(small(), by=[])["expected_tool"].tolist() == ["list_files", "none", "read_file", "(all)"]


def test_shared_cases_are_those_of_every_run_of_the_dataset_with_the_same_content():
    first = results(row("c1", case_hash="x"), row("c2", case_hash="y"), row("c3", case_hash="z"), run_id="r1")
    second = results(
        row("c1", case_hash="x", passed=False), row("c2", case_hash="changed"), row("c3", case_hash="z", passed=None),
        run_id="r2",
    )  # fmt: skip
    other = results(row("d1", case_hash="o"), run_id="r3", dataset="other")
    found = tool_accuracy(pd.concat([first, second, other]), cases="shared")
    whole = found[found["expected_tool"] == "(all)"].set_index("run_id")
    assert whole["n"].to_dict() == {"r1": 2, "r2": 1, "r3": 1}
    assert whole["errors"].to_dict() == {"r1": 0, "r2": 1, "r3": 0}


def test_no_results_give_no_rows_and_the_same_columns():
    empty = results(row()).iloc[:0]
    for frame, full in [
        (tool_accuracy(empty), tool_accuracy(small())),
        (accuracy(empty, by=["tags"]), accuracy(small(), by=["tags"])),
        (summarize(empty), summarize(small())),
    ]:
        assert len(frame) == 0
        pd.testing.assert_series_equal(frame.dtypes, full.dtypes)


def test_a_run_of_errors_only_stays_with_na_rates():
    frame = results(row("c1", passed=None), row("c2", passed=None))
    for found in (tool_accuracy(frame), accuracy(frame, by="run_id"), summarize(frame)):
        assert found["n"].unique().tolist() == [0]
        assert found[["ci_low", "ci_high"]].isna().all(axis=None)
        assert found[["bound_low", "bound_high"]].iloc[0].tolist() == [0.0, 1.0]


def test_logs_of_another_tool_with_only_key_and_verdict_are_counted():
    foreign = pd.DataFrame({"run_id": "x", "case_id": [1, 2, 3], "trial": 1, "passed": [True, False, True]})
    assert summarize(foreign)["pass_rate"].tolist() == pytest.approx([2 / 3])
    assert accuracy(foreign, by="run_id")["mean_score"].isna().all()
    assert accuracy(foreign.assign(team=["a", "b", "a"]), by="team")["n"].tolist() == [2, 1]


@pytest.mark.parametrize("metric", ["summarize", "tool_accuracy", "accuracy", "shared"])
def test_nothing_changes_what_it_is_given(metric):
    frame = small().assign(tags='["a"]').sample(frac=1, random_state=1)
    before = frame.copy(deep=True)
    {
        "summarize": lambda: summarize(frame),
        "tool_accuracy": lambda: tool_accuracy(frame),
        "accuracy": lambda: accuracy(frame, by=["tags", "model"]),
        "shared": lambda: tool_accuracy(frame, cases="shared"),
    }[metric]()
    pd.testing.assert_frame_equal(frame, before)


def test_summarize_has_the_totals_of_each_run():
    frame = summarize(small().assign(error_kind=[None, None, None, None, "truncated", "timeout"]))
    row_ = frame.iloc[0]
    totals = row_[["total", "n", "passed", "failed", "errors", "trials", "truncated", "call_in_text"]].tolist()
    assert totals == [6, 4, 3.0, 1.0, 2, 6, 1, 0]
    assert row_["pass_rate"] == 0.75
    assert row_["average_score"] == 0.625


def test_a_frame_gives_the_sums_that_stand_in_footers():
    rows = [
        row(f"c{n:02d}", trial, passed=None if (n + trial) % 7 == 0 else (n * trial) % 3 > 0, cluster=cluster)
        for n in range(30)
        for cluster in [f"k{n % 4}" if n % 3 else None]
        for trial in (1, 2, 3)
    ]
    counts = RunCounts()
    for one in rows:
        counts.add(one)
    from_footer = rates(counts.finish())
    from_frame = summarize(results(*rows)).iloc[0]
    for name, value in from_footer.items():
        assert from_frame[name] == pytest.approx(value), name


def test_what_cannot_be_grouped_is_refused_with_the_near_miss():
    with pytest.raises(SchemaError, match=r"no column 'tag' to group by. Did you mean 'tags'"):
        accuracy(small(), by="tag")
    with pytest.raises(SettingsError, match=r"cases must be 'all' or 'shared', got 'share'. Did you mean 'shared'"):
        tool_accuracy(small(), cases="share")
    with pytest.raises(SchemaError, match="not a results frame"):
        tool_accuracy(pd.DataFrame({"a": [1]}))


def test_a_narrow_frame_is_counted_like_a_whole_one():
    narrow = small()[["run_id", "case_id", "trial", "passed", "score", "expected_tool"]]
    pd.testing.assert_frame_equal(tool_accuracy(narrow)[MEASURES], tool_accuracy(conform(narrow))[MEASURES])


def test_the_front_door_leads_to_functions():
    for name in ("tool_accuracy", "accuracy", "failures", "mismatches", "flaky", "tool_confusion", "annotate"):
        assert callable(getattr(ek, name)), name


def test_the_summary_of_a_run_says_where_its_cases_share_clusters():
    for cluster, said in ((None, []), ("k", ["Intervals are wider where cases share a cluster: 12 cases count as 1."])):
        counts = RunCounts()
        for n in range(12):
            counts.add(row(f"c{n:02d}", passed=n > 3, cluster=cluster))
        lines = summary_lines({"counts": counts.finish(), "status": "complete", "run_id": "r1", "planned": 12})
        assert [line for line in lines if "cluster" in line] == said


def test_the_summary_of_a_run_gives_the_bounds_of_its_rate():
    counts = RunCounts()
    for one in (row("c1", 1), row("c1", 2, None), row("c2", 1, False), row("c3", 1, None)):
        counts.add(one)
    lines = summary_lines({"counts": counts.finish(), "status": "complete", "run_id": "r1", "planned": 4, "trials": 2})
    assert "Errors are not failures: had every errored trial failed or passed, it would be 17–67 %." in lines
