"""Rows → the sums of each group → rates: the one way in which every accuracy is counted.

A case is the unit: its trials are averaged first. A case that stands in several runs of one group (say, of one model)
is one case still, known by its dataset and id. The sums are those of `counts.ToolCounts`, which also stand in the
footers of stored runs, so that a frame and a footer give the same rates.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from .codes import CodedRows, are_unlike, coded, compact, grouped, recoded, refined, tags_in
from .counts import ToolCounts
from .errors import SchemaError, SettingsError
from .given import one_of, words
from .nearmiss import did_you_mean
from .schema import REQUIRED, conform, needs_frame
from .stats import effective_sizes, wilson_bounds

if TYPE_CHECKING:
    import pandas as pd

    from .codes import Codes

FINGERPRINTS = ("dataset_hash", "tools_hash", "prompt_hash", "settings_hash", "scoring_hash")
RUN_FACTS = ("dataset", "model", "label", "status", "started_at", "rescored_from", *FINGERPRINTS)
CARRIED = ("dataset", "model", "label", "started_at", *FINGERPRINTS)
COUNTED = ("dataset", "case_hash", "cluster", "score")  # beside the key, `passed` and the grouping columns
SUMS = tuple(field.name for field in fields(ToolCounts))
WHOLE = ("cases", "n", "trials", "passed_trials", "errors", "clusters")
CLUSTERED = ("clusters", "cluster_squares", "cluster_products", "cluster_sizes")
_MEASURES = {*SUMS, "accuracy", "ci_low", "ci_high", "bound_low", "bound_high", "mean_score", "n_effective"}
ALL = "(all)"
FINAL_ANSWER = "(final answer)"


def counted_rows(results: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The rows of `results` with what counting needs, conforming; with `tags` in `by` one row per row and tag.

    Raises SchemaError for what is no results frame and for a grouping column that it does not have.
    """
    from .schema import NAMES

    needs_frame(results)
    unknown = [name for name in by if name not in NAMES and name not in results.columns]
    if unknown:
        allowed = [*NAMES, *(str(name) for name in results.columns if name not in NAMES)]
        near = did_you_mean(unknown[0], allowed)
        raise SchemaError(f"no column {unknown[0]!r} to group by.{near} Any column of the results frame is allowed.")
    wanted = (*REQUIRED, *COUNTED, *by)
    rows = conform(results[[name for name in results.columns if name in wanted]], columns=wanted)
    return one_row_per_tag(rows) if "tags" in by else rows


def grouping(by: Any) -> list[str]:
    """The names of the columns to group by, each once. Raises SettingsError for what none can be."""
    names = words("by", by)
    for name in names:
        if name in _MEASURES:
            raise SettingsError(f"by={name!r} cannot group: it is what is counted. Group by another of ek.columns()")
    return names


def are_shared(cases: Any) -> bool:
    """Whether only shared cases count, as `cases` says. Raises SettingsError for another word."""
    return one_of("cases", cases, ("all", "shared")) == "shared"


def one_row_per_tag(rows: pd.DataFrame) -> pd.DataFrame:
    """Each row once for each of its tags, NA where it has none."""
    import pandas as pd

    codes, texts = pd.factorize(rows["tags"], use_na_sentinel=False)
    lists = pd.Series([tags_in(text) for text in texts], dtype=object)
    exploded = rows.assign(tags=lists.take(codes).set_axis(rows.index)).explode("tags")
    return exploded.assign(tags=exploded["tags"].astype("str"))


def group_sums(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """One row per group of `rows` (see `counted_rows`): the grouping columns, then the sums."""
    return coded_sums(coded(rows, (*counted_by(by), *by)), by)


def counted_by(by: Sequence[str]) -> list[str]:
    """The columns that tell cases and clusters apart within the groups of `by`."""
    return [*([] if "run_id" in by else ["dataset"]), "case_id", "cluster"]


def coded_sums(rows: CodedRows, by: Sequence[str]) -> pd.DataFrame:
    """What `group_sums` gives, of rows with the columns `by` and `counted_by(by)`."""
    import numpy as np
    import pandas as pd

    group, first_rows = grouped(rows, by)
    groups = len(first_rows)
    *pooled, _, _ = counted_by(by)
    once = rows.cases or ("run_id" in by and are_unlike(rows, ["run_id", "case_id"]))  # each row is a case
    case, case_first = (None, np.arange(len(rows))) if once else refined(group, groups, rows, [*pooled, "case_id"])
    scored = ~np.isnan(rows.passed)

    def per_case(values: Any) -> Any:
        return values if case is None else np.bincount(case, weights=values, minlength=len(case_first))

    trials = per_case(scored)
    passes, errors = per_case(np.where(scored, rows.passed, 0.0)), per_case(~scored)
    scores = per_case(np.where(scored, rows.score, 0.0))
    every = trials + errors
    kept = np.flatnonzero(trials > 0)
    home = group[case_first]
    of_kept = home[kept]
    mean, mean_score = passes[kept] / trials[kept], scores[kept] / trials[kept]

    def per_group(values: Any, homes: Any = of_kept) -> Any:
        return np.bincount(homes, weights=values, minlength=groups)

    sums = {
        "cases": np.bincount(home, minlength=groups),
        "n": np.bincount(of_kept, minlength=groups),
        "passed": per_group(mean),
        "score": per_group(mean_score),
        "squares": per_group(mean * mean),
        "trials": per_group(trials[kept]),
        "passed_trials": per_group(passes[kept]),
        "errors": per_group(errors, home),
        "if_failed": per_group(passes / every, home),
        "if_passed": per_group((passes + errors) / every, home),
    }
    units = None if "cluster" in by else _units(rows, case_first[kept], of_kept, groups, pooled)
    if units is None:  # each case is a unit of its own
        sums |= {
            "clusters": sums["n"],
            "cluster_squares": sums["squares"],
            "cluster_products": sums["passed"],
            "cluster_sizes": sums["n"],
        }
    else:
        unit, unit_first = units
        sizes, totals = np.bincount(unit), np.bincount(unit, weights=mean, minlength=len(unit_first))
        unit_home = of_kept[unit_first]
        sums |= {
            "clusters": np.bincount(unit_home, minlength=groups),
            "cluster_squares": per_group(totals * totals, unit_home),
            "cluster_products": per_group(sizes * totals, unit_home),
            "cluster_sizes": per_group(sizes * sizes, unit_home),
        }
    numbers = {name: sums[name].astype("int64" if name in WHOLE else "float64") for name in SUMS}
    return pd.DataFrame({name: rows.columns[name].at(first_rows) for name in by} | numbers)


def sums_frame(rows: Iterable[Sequence[Any]], keys: Sequence[str]) -> pd.DataFrame:
    """Sums out of footers as `group_sums` gives them; each row holds the values of the keys, then those of `SUMS`."""
    import pandas as pd

    types: dict[str, Any] = dict.fromkeys(keys, "str") | dict.fromkeys(SUMS, "float64") | dict.fromkeys(WHOLE, "int64")
    listed = list(rows)
    columns = {name: [row[place] for row in listed] for place, name in enumerate(types)}
    return pd.DataFrame({name: pd.Series(values, dtype=types[name]) for name, values in columns.items()})


def with_rates(sums: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """The grouping columns, then `n`, `passed`, `errors`, `accuracy` with its interval and bounds, `mean_score`, and
    `n_effective`: how many independent cases the interval rests on, fewer than `n` where cases share a cluster.
    """
    import numpy as np

    n, cases = sums["n"].to_numpy("float64"), sums["cases"].to_numpy("float64")
    with np.errstate(divide="ignore", invalid="ignore"):
        rate, mean_score = (sums[name].to_numpy("float64") / n for name in ("passed", "score"))
        worst, best = (sums[name].to_numpy("float64") / cases for name in ("if_failed", "if_passed"))
    size = effective_sizes(n, np.nan_to_num(rate), sums["squares"], *(sums[name] for name in CLUSTERED))
    low, high = wilson_bounds(rate, size)
    return sums[[*keys, "n", "passed", "errors"]].assign(
        accuracy=rate, ci_low=low, ci_high=high, bound_low=worst, bound_high=best, mean_score=mean_score,
        n_effective=size,
    )  # fmt: skip


def cluster_note(frame: pd.DataFrame) -> str:
    """What is to be said beside intervals that are wider than their n: nothing where no cases share a cluster."""
    if not {"n", "n_effective"} <= set(frame.columns):
        return str(frame.attrs.get("clusters", ""))
    shared = frame[frame["n_effective"] < frame["n"] - 1e-9]
    if not len(shared):
        return ""
    worst = shared.loc[(shared["n_effective"] / shared["n"]).idxmin()]
    return clustered(worst["n"], worst["n_effective"], "up to " if len(shared) > 1 else "")


def clustered(n: float, size: float, most: str = "") -> str:
    """The words of a `cluster_note`."""
    return f"intervals are wider where cases share a cluster: {most}{n:,.0f} cases count as {size:,.3g}"


def run_facts(keys: Sequence[str]) -> list[str]:
    """The values of the run that a frame grouped by `keys` carries beside them."""
    return [name for name in CARRIED if name not in keys] if "run_id" in keys else []


def by_run(rates: pd.DataFrame, facts: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Rates with what is known of their runs (`facts`: a row per run), in order of start and then of the keys."""
    carried = [name for name in CARRIED if name not in rates.columns]
    whole = rates.merge(facts[["run_id", *carried]], on="run_id", how="left", validate="many_to_one")
    started = "started_at" if "started_at" in whole.columns else "run_id"
    return in_order(whole, [started, "run_id", *(key for key in keys if key != "run_id")])


def in_order(frame: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Sorted by keys, missing ones last; of tools `(final answer)` and `(all)` stand behind the others.

    `.attrs["clusters"]` is the frame's `cluster_note`, for tables of some of its columns.
    """

    def place(values: pd.Series[Any]) -> pd.Series[Any]:
        if values.name != "expected_tool":
            return values
        last = {FINAL_ANSWER: "\U0010fffe", ALL: "\U0010ffff"}  # behind every name
        return values.replace(last)

    ordered = frame.sort_values(list(keys), key=place, ignore_index=True, kind="stable") if keys else frame.copy()
    ordered.attrs["clusters"] = cluster_note(frame)
    return ordered


def tool_sums(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The sums of each expected tool within each group, and of the whole group under the tool `(all)`."""
    groups = [key for key in by if key != "expected_tool"]
    return coded_tool_sums(coded(rows, (*counted_by(groups), *by)), by)


def coded_tool_sums(rows: CodedRows, by: Sequence[str]) -> pd.DataFrame:
    """What `tool_sums` gives, of rows as `coded_sums` takes them."""
    import pandas as pd

    keys = [key for key in by if key != "expected_tool"]
    codes, tools = rows.columns["expected_tool"]
    named = rows.having("expected_tool", recoded(codes, tools.fillna(FINAL_ANSWER)))
    together = coded_sums(named, keys)
    together.insert(len(keys), "expected_tool", pd.Series(ALL, index=together.index, dtype="str"))
    return pd.concat([coded_sums(named, [*keys, "expected_tool"]), together], ignore_index=True)


def _units(
    rows: CodedRows, case_first: Codes, home: Codes, groups: int, pooled: Sequence[str]
) -> tuple[Codes, Codes] | None:
    """The unit of variation of each case: its cluster, or itself where it has none; None where all are units."""
    import numpy as np

    codes, clusters = rows.columns["cluster"]
    without = clusters.isna().to_numpy()
    alone = without[codes[case_first]]
    if alone.all():
        return None
    names = [*pooled, "cluster"]
    unit, first = refined(home, groups, rows.only(case_first, names), names)
    bound = len(first) + len(unit)
    return compact(np.where(alone, len(first) + np.arange(len(unit)), unit), bound)
