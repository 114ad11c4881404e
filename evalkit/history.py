"""Many runs as frames: the list of them, their results in one frame, and what is odd about their files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import SchemaError, SettingsError
from .given import one_of, words
from .nearmiss import did_you_mean
from .paths import results_dir as find_results_dir
from .reading import frames_of, groups_of, one_run
from .runs import Problem, StoredRun, find_run, how_to_resume, newest_scorings, scan, stored_runs, warn_of
from .schema import NAMES, REQUIRED, TIME
from .selection import Moment, Wanted, Words
from .store import RUN_COLUMNS
from .tallies import COUNTED, FINGERPRINTS

if TYPE_CHECKING:
    import pandas as pd

ROWS_PER_PARTITION = 50_000  # of a dask DataFrame: all columns of so many trials fit a worker many times over


def list_runs(*, results_dir: str | Path | None = None, all_scorings: bool = True) -> pd.DataFrame:
    """The runs of a results folder, newest first (those of a day to come last): one row per run, from footers alone.

    Columns: `run_id`, `started_at`, `dataset`, `model`, `label`, `status`, `cases`, `trials` (finished), `planned`
    (trials), `passed` and `failed` (cases; means over a case's trials), `errors` (trials), `partial`,
    `rescored_from`, the five fingerprints, and `resume`: the command that finishes an unfinished run. Of a run scored
    again only the newest scoring is listed with `all_scorings=False`.

    Files that are no runs are left out with a HistoryWarning, which names runs of a day to come too.
    """
    import pandas as pd

    runs = stored_runs(results_dir)
    if not all_scorings:
        runs = newest_scorings(runs)
    rows = [_listed(run) for run in runs]
    names = list(_listed(StoredRun("", {})))
    frame = pd.DataFrame(rows, columns=names)
    frame["started_at"] = pd.to_datetime(frame["started_at"], utc=True).astype(TIME)
    whole = {
        "cases": "int64",
        "trials": "int64",
        "errors": "int64",
        "planned": "Int64",
        "passed": "float64",
        "failed": "float64",
    }
    text = [name for name in names if name not in whole and name not in ("started_at", "partial")]
    return frame.astype(whole | dict.fromkeys(text, "str") | {"partial": "bool"})


def load_run(run: str | Path, *, results_dir: str | Path | None = None) -> pd.DataFrame:
    """The results frame of one run: one row per case and trial.

    `run` is a run id, the beginning of one, `latest`, `latest~1` (the one before), or the path of a run's file. Of an
    unfinished run the trials finished so far are given, with status `partial`.

    Raises SettingsError where no run or several are meant, SchemaError where the file cannot be read.
    """
    return load_stored(find_run(run, results_dir=results_dir))


def load_stored(run: StoredRun) -> pd.DataFrame:
    """The results frame of a run that `find_run` found."""
    return one_run(run)


def load_history(
    *,
    since: Moment | None = None,
    until: Moment | None = None,
    dataset: Words | None = None,
    model: Words | None = None,
    runs: Words | None = None,
    columns: Sequence[str] | None = None,
    results_dir: str | Path | None = None,
    all_scorings: bool = False,
    engine: str = "pandas",
) -> Any:
    """The results of many runs in one frame: one row per run, case and trial, runs in order of start.

    `since` and `until` are days, both whole (`2026-11-30`), or instants; without a zone they are UTC. `dataset` and
    `model` are one name or several; `runs` are run ids, their beginnings, or `latest`. With `columns` only these are
    read, and what every rate needs: the key, `passed`, `score`, `dataset`, `case_hash`, `cluster`. Unfinished runs are
    there with status `partial`; of a run scored again the newest scoring, or all with `all_scorings=True`.

    `engine="dask"` gives a dask DataFrame whose partitions hold whole runs, for histories larger than memory.

    Files that cannot be read are left out with a HistoryWarning; `evalkit.history.problems()` lists them. Raises
    SettingsError for a time that is none and for a run, dataset or model that no run has, SchemaError for an unknown
    column.
    """
    one_of("engine", engine, ("pandas", "dask"))
    wanted = None if columns is None else _with_counted(columns)
    chosen, folder = Wanted(since, until, dataset, model, runs, all_scorings).choose(results_dir)
    if engine == "dask":
        return _as_dask(chosen, wanted)
    problems: list[Problem] = []
    frame = _joined(frames_of(chosen, wanted, problems), wanted)
    warn_of(problems, folder, stacklevel=3)
    return frame


def problems(*, results_dir: str | Path | None = None, rows: bool = True) -> pd.DataFrame:
    """What is odd about the files of a results folder: one row per file and problem; every file that a warning names.

    Columns: `path`, `what`, `what_to_do`, `left_out` (whether the file is left out of every list and frame). Reads
    annotations and every row of every run; with `rows=False` only footers and journals of runs.
    """
    import pandas as pd

    from .annotations import odd_lines

    folder = find_results_dir(results_dir)
    runs, found = scan(folder)
    found += odd_lines(folder)
    if rows:
        for run in runs:
            for _ in frames_of([run], None, found):
                pass
    table = [(str(problem.path), problem.what, problem.what_to_do, problem.left_out) for problem in found]
    frame = pd.DataFrame(table, columns=["path", "what", "what_to_do", "left_out"])
    return frame.astype({"path": "str", "what": "str", "what_to_do": "str", "left_out": "bool"})


def _with_counted(columns: Sequence[str]) -> list[str]:
    columns = words("columns", columns)
    for name in columns:
        if name not in NAMES:
            raise SchemaError(
                f"no column {name!r} in a results frame.{did_you_mean(name, NAMES)} ek.columns() lists them."
            )
    return [*columns, *COUNTED]


def _joined(frames: Iterable[pd.DataFrame], columns: Sequence[str] | None) -> pd.DataFrame:
    import pandas as pd

    parts = list(frames)
    if not parts:
        return _empty(columns)
    return parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)


def _empty(columns: Sequence[str] | None) -> pd.DataFrame:
    from .store import frame_of

    whole = frame_of({}, [])
    return whole if columns is None else whole[[name for name in NAMES if name in (*REQUIRED, *columns)]]


def _as_dask(runs: Sequence[StoredRun], columns: Sequence[str] | None) -> Any:
    try:
        import dask.dataframe as dd
    except ImportError:
        raise SettingsError("engine='dask' needs dask: install evalkit-notebooks[dask]") from None
    groups = list(groups_of([_slim(run) for run in runs], ROWS_PER_PARTITION)) or [[]]
    made = dd.from_map(_read_group, groups, wanted=columns, meta=_empty(columns))  # type: ignore[no-untyped-call]
    return made


def _slim(run: StoredRun) -> StoredRun:
    """A run with what reading its file needs to know of it: all runs are sent to the workers, and named by content."""
    if run.journal is not None:
        return run
    about = {name: run.description[name] for name in RUN_COLUMNS if name in run.description}
    counts = {name: run.description["counts"][name] for name in ("trials", "errors")}
    return StoredRun(run.run_id, {**about, "counts": counts}, run.path)


def _read_group(runs: Sequence[StoredRun], wanted: Sequence[str] | None) -> pd.DataFrame:
    """One partition; a worker process calls it. An argument called `columns` dask would take for a selection."""
    found: list[Problem] = []
    frame = _joined(frames_of(runs, wanted, found), wanted)
    if found:
        warn_of(found, found[0].path.parent, stacklevel=2)
    return frame


def _listed(run: StoredRun) -> dict[str, Any]:
    about = run.description
    counts = about.get("counts", {})
    cases, passed = counts.get("n", 0), counts.get("passed", 0.0)
    unfinished = run.journal is not None or about.get("status") == "partial"
    return {
        "run_id": run.run_id,
        "started_at": run.started_at,
        "dataset": about.get("dataset"),
        "model": about.get("model"),
        "label": about.get("label"),
        "status": "partial" if unfinished else about.get("status"),
        "cases": counts.get("cases", 0),
        "trials": counts.get("trials", 0) + counts.get("errors", 0) - counts.get("error_kinds", {}).get("unjudged", 0),
        "planned": about.get("planned"),
        "passed": passed,
        "failed": cases - passed,
        "errors": counts.get("errors", 0),
        "partial": unfinished,
        "rescored_from": about.get("rescored_from"),
        **{name: about.get(name) for name in FINGERPRINTS},
        "resume": how_to_resume({**about, "run_id": run.run_id}) if unfinished else None,
    }
