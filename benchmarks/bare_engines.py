"""What DuckDB, Polars and pyarrow need for the same rates of the same files, without anything else.

Cases first, as everywhere: the mean of a case's trials, then the mean over the cases. Errored trials are left out.
No check of keys, no errors, bounds, clusters or intervals.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RATES = "count(*), avg(share), avg(score)"
CASES = "select {} case_id, avg(passed::double) as share, avg(score) as score from {} where passed is not null group by"


def duckdb_per_tool(folder: Path) -> Any:
    import duckdb

    cases = CASES.format("run_id, expected_tool,", "read_parquet(?)") + " all"
    query = f"select run_id, expected_tool, {RATES} from ({cases}) group by all"
    return duckdb.execute(query, [f"{folder}/*.parquet"]).fetchall()


def duckdb_per_tag(folder: Path) -> Any:
    import duckdb

    rows = "(select *, unnest(from_json(tags, '[\"varchar\"]')) as tag from read_parquet(?))"
    cases = CASES.format("run_id, tag,", rows) + " all"
    query = f"select run_id, tag, {RATES} from ({cases}) group by all"
    return duckdb.execute(query, [f"{folder}/*.parquet"]).fetchall()


def duckdb_shared(folder: Path) -> Any:
    import duckdb

    files = f"{folder}/*.parquet"
    query = f"""
        with runs as (select dataset, count(distinct run_id) as runs from read_parquet($files) group by all),
        everywhere as (
            select dataset, case_id, case_hash from read_parquet($files) join runs using (dataset)
            group by dataset, case_id, case_hash, runs having count(distinct run_id) = runs
        ),
        kept as (select * from read_parquet($files) semi join everywhere using (dataset, case_id, case_hash))
        select run_id, expected_tool, {RATES} from ({CASES.format("run_id, expected_tool,", "kept")} all) group by all
    """
    return duckdb.execute(query, {"files": files}).fetchall()


def _polars_rates(rows: Any, by: str) -> Any:
    import polars as pl

    scored = rows.filter(pl.col("passed").is_not_null())
    cases = scored.group_by("run_id", by, "case_id").agg(pl.col("passed").mean(), pl.col("score").mean())
    return cases.group_by("run_id", by).agg(pl.len(), pl.col("passed").mean(), pl.col("score").mean())


def _scan(folder: Path) -> Any:
    import polars as pl

    return pl.scan_parquet(f"{folder}/*.parquet")


def polars_per_tool(folder: Path) -> Any:
    return _polars_rates(_scan(folder), "expected_tool").collect()


def polars_per_tool_streaming(folder: Path) -> Any:
    return _polars_rates(_scan(folder), "expected_tool").collect(engine="streaming")


def polars_per_tag(folder: Path) -> Any:
    import polars as pl

    rows = _scan(folder).with_columns(tag=pl.col("tags").str.json_decode(pl.List(pl.String)))
    return _polars_rates(rows.explode("tag"), "tag").collect()


def polars_shared(folder: Path) -> Any:
    import polars as pl

    case = ["dataset", "case_id", "case_hash"]
    rows = _scan(folder)
    runs = rows.group_by("dataset").agg(of=pl.col("run_id").n_unique())
    held = rows.group_by(case).agg(runs=pl.col("run_id").n_unique()).join(runs, on="dataset")
    everywhere = held.filter(pl.col("runs") == pl.col("of"))
    return _polars_rates(rows.join(everywhere, on=case, how="semi"), "expected_tool").collect()


def duckdb_rows(folder: Path) -> Any:
    import duckdb

    query = """
        select run_id, expected_tool, count(*), avg(passed::double), avg(score) from read_parquet(?)
        where passed is not null group by all
    """
    return duckdb.execute(query, [f"{folder}/*.parquet"]).fetchall()


def polars_rows(folder: Path) -> Any:
    import polars as pl

    scored = _scan(folder).filter(pl.col("passed").is_not_null()).group_by("run_id", "expected_tool")
    return scored.agg(pl.len(), pl.col("passed").mean(), pl.col("score").mean()).collect()


def pyarrow_per_tool(folder: Path) -> Any:
    import pyarrow.dataset as ds

    words = ds.ParquetReadOptions(dictionary_columns=["run_id", "case_id", "expected_tool"])
    files = ds.dataset(folder, format=ds.ParquetFileFormat(read_options=words))
    rows = files.to_table(columns=["run_id", "case_id", "expected_tool", "passed", "score"]).unify_dictionaries()
    scored = rows.filter(ds.field("passed").is_valid())
    number = scored.set_column(3, "passed", scored["passed"].cast("double"))
    means = [("passed", "mean"), ("score", "mean")]
    cases = number.group_by(["run_id", "case_id", "expected_tool"]).aggregate(means)
    return cases.group_by(["run_id", "expected_tool"]).aggregate([("passed_mean", "mean"), ("score_mean", "mean")])


def pandas_per_tool(folder: Path) -> Any:
    import pandas as pd

    rows = pd.read_parquet(folder, columns=["run_id", "case_id", "expected_tool", "passed", "score"])
    cases = rows.dropna(subset="passed").groupby(["run_id", "case_id", "expected_tool"])[["passed", "score"]].mean()
    return cases.groupby(["run_id", "expected_tool"]).agg(["size", "mean"])


def pyarrow_footers(folder: Path) -> Any:
    import pyarrow.parquet as pq

    return [json.loads(pq.read_metadata(path).metadata[b"evalkit"]) for path in sorted(folder.glob("*.parquet"))]
