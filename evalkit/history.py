"""Many runs as frames: the list of them, and one as its results frame."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import store
from .runs import StoredRun, find_run, newest_scorings, stored_runs

if TYPE_CHECKING:
    import pandas as pd

FINGERPRINTS = ("dataset_hash", "tools_hash", "prompt_hash", "settings_hash", "scoring_hash")


def list_runs(*, results_dir: str | Path | None = None, all_scorings: bool = True) -> pd.DataFrame:
    """The runs of a results folder, newest first: one row per run, from footers alone.

    Columns: `run_id`, `started_at`, `dataset`, `model`, `label`, `status`, `cases`, `trials` (finished), `planned`
    (trials), `passed` and `failed` (cases; means over a case's trials), `errors` (trials), `partial`,
    `rescored_from`, the five fingerprints, and `resume`: the command that finishes an unfinished run. Of a run scored
    again only the newest scoring is listed with `all_scorings=False`.

    Files that are no runs are left out with a HistoryWarning.
    """
    import pandas as pd

    runs = stored_runs(results_dir)
    if not all_scorings:
        runs = newest_scorings(runs)
    rows = [_listed(run) for run in runs]
    names = list(_listed(StoredRun("", {})))
    frame = pd.DataFrame(rows, columns=names)
    frame["started_at"] = pd.to_datetime(frame["started_at"], utc=True, format="ISO8601").astype("datetime64[us, UTC]")
    whole = {
        "cases": "int64",
        "trials": "int64",
        "errors": "int64",
        "planned": "Int64",
        "passed": "float64",
        "failed": "float64",
    }
    text = [name for name in names if name not in whole and name not in ("started_at", "partial")]
    frame = frame.astype(whole | dict.fromkeys(text, "str") | {"partial": "bool"})
    return frame.sort_values(["started_at", "run_id"], ascending=False, ignore_index=True)


def load_run(run: str | Path, *, results_dir: str | Path | None = None) -> pd.DataFrame:
    """The results frame of one run: one row per case and trial.

    `run` is a run id, the beginning of one, `latest`, `latest~1` (the one before), or the path of a run's file. Of an
    unfinished run the trials finished so far are given, with status `partial`.

    Raises SettingsError where no run or several are meant, SchemaError where the file cannot be read.
    """
    return load_stored(find_run(run, results_dir=results_dir))


def load_stored(run: StoredRun) -> pd.DataFrame:
    """The results frame of a run that `find_run` found."""
    if run.path is not None and run.journal is None:
        return store.read_run(run.path)
    return store.frame_of({**run.description, "status": "partial"}, run.rows())


def _listed(run: StoredRun) -> dict[str, Any]:
    about = run.description
    counts = about.get("counts", {})
    cases, passed = counts.get("n", 0), counts.get("passed", 0.0)
    unfinished = run.journal is not None or about.get("status") == "partial"
    return {
        "run_id": run.run_id,
        "started_at": about.get("started_at"),
        "dataset": about.get("dataset"),
        "model": about.get("model"),
        "label": about.get("label"),
        "status": "partial" if unfinished else about.get("status"),
        "cases": counts.get("cases", 0),
        "trials": counts.get("trials", 0) + counts.get("errors", 0),
        "planned": about.get("planned"),
        "passed": passed,
        "failed": cases - passed,
        "errors": counts.get("errors", 0),
        "partial": unfinished,
        "rescored_from": about.get("rescored_from"),
        **{name: about.get(name) for name in FINGERPRINTS},
        "resume": f"evalkit resume {run.run_id}" if unfinished else None,
    }
