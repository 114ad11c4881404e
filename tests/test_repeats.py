import pandas as pd
import pytest

from evalkit import SettingsError, flaky
from frames import results, row


def trials():
    verdicts = {
        "sure": [True] * 4,
        "never": [False] * 4,
        "half": [True, False, True, False],
        "torn": [True, None, False, None],
    }
    return results(*(row(case, n, passed=one) for case, given in verdicts.items() for n, one in enumerate(given, 1)))


def test_each_case_has_its_share_of_passing_trials():
    found = flaky(trials(), k=2)
    assert found[["case_id", "trials", "passed", "errors", "pass_share", "flaky"]].to_numpy().tolist() == [
        ["half", 4, 2, 0, 0.5, True], ["torn", 2, 1, 2, 0.5, True], ["never", 4, 0, 0, 0.0, False],
        ["sure", 4, 4, 0, 1.0, False],
    ]  # fmt: skip
    assert found["pass_at_k"].tolist() == pytest.approx([5 / 6, 1.0, 0.0, 1.0])
    assert found["pass_all_k"].tolist() == pytest.approx([1 / 6, 0.0, 0.0, 1.0])


def test_k_is_by_default_the_trials_of_the_run_and_unknown_where_fewer_were_scored():
    found = flaky(trials()).set_index("case_id")
    assert found["k"].unique().tolist() == [4]
    assert found["pass_at_k"].isna().to_dict() == {"half": False, "torn": True, "never": False, "sure": False}
    assert found.loc["half", ["pass_at_k", "pass_all_k"]].tolist() == [1.0, 0.0]


def test_a_case_of_errors_only_has_no_share():
    found = flaky(results(row("c1", passed=None)))
    assert found["pass_share"].isna().tolist() == [True]
    assert found["flaky"].tolist() == [False]


def test_runs_are_told_apart():
    both = pd.concat([results(row("c1"), run_id="a"), results(row("c1", passed=False), run_id="b")])
    assert flaky(both)["flaky"].tolist() == [False, False]


def test_k_is_a_number_of_trials():
    for k in (0, -1, True, 1.5):
        with pytest.raises(SettingsError, match="k must be a whole number of trials from 1"):
            flaky(trials(), k=k)
