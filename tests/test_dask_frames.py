import numpy as np
import pandas as pd
import pytest

from evalkit import SettingsError, load_history, summarize, tool_accuracy
from evalkit.metrics import accuracy
from evalkit.store import save_run
from frames import description, row

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr("evalkit.history.ROWS_PER_PARTITION", 25)
    rng = np.random.default_rng(3)
    for number in range(8):
        rows = [
            row(
                f"c{n}", trial, passed=[True, False, None][rng.integers(3)], case_hash=f"h{n}", cluster=f"k{n % 3}",
                expected_tool=["list_files", None][n % 2], tags='["a"]', answer="x" * n,
            )
            for n in range(6 + number % 2) for trial in (1, 2)
        ]  # fmt: skip
        about = description(f"run-{number}", started_at=f"2026-03-0{number + 1}T00:00:00+00:00", label=f"l{number}")
        save_run(tmp_path / f"run-{number}.parquet", about, None, rows)
    return tmp_path


def test_the_dask_frame_holds_what_the_pandas_frame_holds(folder):
    lazy = load_history(engine="dask", results_dir=folder)
    assert lazy.npartitions > 2
    whole = load_history(results_dir=folder)
    got = lazy.compute(scheduler="sync").reset_index(drop=True)
    assert list(got.columns) == list(whole.columns)
    pd.testing.assert_frame_equal(got.astype(whole.dtypes), whole)


@pytest.mark.parametrize("cases", ["all", "shared"])
def test_with_some_columns_the_dask_frame_holds_those_of_the_pandas_frame(folder, cases):
    columns = ["expected_tool", "label", "started_at", "model"]
    lazy = load_history(engine="dask", columns=columns, results_dir=folder)
    whole = load_history(columns=columns, results_dir=folder)
    with dask.config.set(scheduler="sync"):
        assert list(lazy.columns) == list(lazy.compute().columns) == list(whole.columns)
        pd.testing.assert_frame_equal(tool_accuracy(lazy, cases=cases), tool_accuracy(whole, cases=cases))


@pytest.mark.parametrize("cases", ["all", "shared"])
def test_metrics_of_a_dask_frame_are_those_of_the_pandas_frame(folder, cases):
    whole = load_history(results_dir=folder)
    lazy = load_history(engine="dask", results_dir=folder)
    with dask.config.set(scheduler="sync"):
        pd.testing.assert_frame_equal(summarize(lazy), summarize(whole))
        pd.testing.assert_frame_equal(tool_accuracy(lazy, cases=cases), tool_accuracy(whole, cases=cases))
        by = ["run_id", "tags"]
        pd.testing.assert_frame_equal(accuracy(lazy, by=by, cases=cases), accuracy(whole, by=by, cases=cases))


@pytest.mark.parametrize("cases", ["all", "shared"])
def test_a_run_that_is_cut_in_two_is_put_together_again(folder, cases):
    whole = load_history(results_dir=folder)
    cut = dd.from_pandas(whole, npartitions=5, sort=False)
    with dask.config.set(scheduler="sync"):
        pd.testing.assert_frame_equal(tool_accuracy(cut, cases=cases), tool_accuracy(whole, cases=cases))
        pd.testing.assert_frame_equal(summarize(cut), summarize(whole))


def test_a_filtered_dask_frame_is_counted(folder):
    whole = load_history(results_dir=folder)
    lazy = load_history(engine="dask", results_dir=folder)
    with dask.config.set(scheduler="sync"):
        some = tool_accuracy(lazy[lazy["label"] == "l3"])
    pd.testing.assert_frame_equal(some, tool_accuracy(whole[whole["label"] == "l3"]))


def test_an_empty_history_is_an_empty_dask_frame(tmp_path):
    lazy = load_history(engine="dask", results_dir=tmp_path / "none")
    assert len(lazy.compute(scheduler="sync")) == 0
    assert len(summarize(lazy)) == 0


def test_rates_over_several_runs_are_not_counted_in_parts(folder):
    lazy = load_history(engine="dask", results_dir=folder)
    with pytest.raises(SettingsError, match=r"of a dask frame rates are counted per run, got by=\['model'"):
        tool_accuracy(lazy, by="model")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_cluster_of_processes_counts_the_same(folder):
    from distributed import Client, LocalCluster

    whole = load_history(results_dir=folder)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        lazy = load_history(engine="dask", results_dir=folder)
        pd.testing.assert_frame_equal(summarize(lazy), summarize(whole))
        pd.testing.assert_frame_equal(tool_accuracy(lazy), tool_accuracy(whole))
        pd.testing.assert_frame_equal(tool_accuracy(lazy, cases="shared"), tool_accuracy(whole, cases="shared"))
