import pandas as pd
import pytest

from evalkit import calling_rates, tool_confusion
from frames import results, row


def trials():
    return results(
        row("c1", actual_tool="list_files"),
        row("c2", actual_tool="read_file", passed=False),
        row("c3", actual_tool="read_file", outcome="secondary", score=0.5),
        row("c4", actual_tool="none", passed=False, outcome="no_call"),
        row("c5", actual_tool="list_dir", passed=False, outcome="unknown_tool"),
        row("c6", actual_tool="list_files", passed=False, outcome="unparsable"),
        row("c7", actual_tool=None, passed=False, outcome="unusable_call"),
        row("c8", actual_tool="list_files", passed=False, outcome="call_in_text"),
        row("c9", actual_tool=None, passed=None),
        row("n1", expected_tool="none", actual_tool="none"),
        row("n2", expected_tool="none", actual_tool="read_file", passed=False, outcome="unexpected_call"),
        row("a1", expected_tool="any", actual_tool="move_file"),
        row("f1", expected_tool=None, kind="final_answer", actual_tool="none", outcome="passed"),
    )


def test_expected_tools_stand_down_and_called_ones_across():
    expected = pd.DataFrame(
        [[1, 0, 2, 1, 1, 2, 1], [0, 1, 0, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0, 0]],
        index=pd.Index(["list_files", "any", "none"], name="expected_tool", dtype="str"),
        columns=pd.Index(
            ["list_files", "move_file", "read_file", "none", "(unknown)", "(unparsable)", "(call in text)"],
            name="actual_tool", dtype="str",
        ),
        dtype="int64",
    )  # fmt: skip
    found = tool_confusion(trials())
    pd.testing.assert_frame_equal(found, expected, check_index_type=False, check_column_type=False)


def test_the_cells_add_up_to_the_scored_tool_choices():
    frame = trials()
    scored = frame["passed"].notna() & (frame["kind"] == "tool_choice")
    assert tool_confusion(frame).to_numpy().sum() == scored.sum()


def test_cells_of_secondary_tools_are_marked():
    assert tool_confusion(trials()).attrs["secondary"] == [["list_files", "read_file"]]


def test_each_cell_knows_how_many_of_its_trials_passed():
    more = [row("c3", trial, False, actual_tool="read_file", outcome="wrong_tool") for trial in (2, 3, 4)]
    frame = pd.concat([trials(), results(*more, row("c10", passed=False, actual_tool="list_files"))])
    found = tool_confusion(frame)
    passed = pd.DataFrame(found.attrs["passed"]).T
    assert passed.shape == found.shape
    assert (passed <= found).all(axis=None)
    assert passed.to_numpy().sum() == frame[frame["kind"] == "tool_choice"]["passed"].sum()
    cells = [(found.loc["list_files", tool], passed.loc["list_files", tool]) for tool in ("list_files", "read_file")]
    assert cells == [(2, 1), (5, 1)]


def test_none_unknown_and_unparsable_are_columns_even_where_they_do_not_occur():
    found = tool_confusion(results(row(actual_tool="list_files")))
    assert list(found.columns) == ["list_files", "none", "(unknown)", "(unparsable)"]
    assert tool_confusion(results(row(passed=None))).shape == (0, 3)


def test_over_and_under_calling_are_rates_of_cases():
    found = calling_rates(trials())
    assert list(found.columns)[:10] == [
        "run_id", "what", "n", "count", "errors", "rate", "ci_low", "ci_high", "bound_low", "bound_high",
    ]  # fmt: skip
    assert found[["what", "n", "count", "errors"]].to_numpy().tolist() == [
        ["over-calling", 2, 1.0, 0], ["under-calling", 9, 1.0, 1],
    ]  # fmt: skip
    assert found["ci_low"].tolist() == pytest.approx([0.0945, 0.0199], abs=1e-3)
    assert found["dataset"].tolist() == ["file_tools"] * 2


def test_an_accepted_abstention_is_no_under_calling():
    frame = results(row(actual_tool="none", outcome="secondary", score=0.5))
    assert calling_rates(frame, by=[])[["what", "count"]].to_numpy().tolist() == [["under-calling", 0.0]]


@pytest.mark.parametrize("outcome", ["empty", "refused"])
def test_silence_where_no_tool_was_expected_is_neither_an_abstention_nor_over_calling(outcome):
    frame = results(
        row("n1", expected_tool="none", actual_tool="none"),
        row("n2", expected_tool="none", actual_tool="none", passed=False, outcome=outcome),
        row("c1", actual_tool="none", passed=False, outcome=outcome),
    )
    assert tool_confusion(frame).loc["none"].to_dict() == {
        "list_files": 0, "none": 1, "(unknown)": 0, "(unparsable)": 0, "(no answer)": 1,
    }  # fmt: skip
    assert calling_rates(frame, by=[])[["what", "n", "count"]].to_numpy().tolist() == [
        ["over-calling", 2, 0.0], ["under-calling", 1, 1.0],
    ]  # fmt: skip


def test_nothing_changes_what_it_is_given():
    given = trials()
    before = given.copy(deep=True)
    tool_confusion(given)
    calling_rates(given)
    pd.testing.assert_frame_equal(given, before)
