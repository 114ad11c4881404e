"""Lay the start times of the runs in this folder over six weeks, so that trends and weeks can be shown.

Only `started_at` (and with it the run id) and the label are written anew; scores, answers and latencies stay as
measured. Runs that say so in their label already are left as they are:

    python results/sample/lay_over_weeks.py
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from evalkit import store
from evalkit.plans import run_ids

HERE = Path(__file__).parent
FIRST, LAST = datetime(2026, 10, 19, 9, 5, tzinfo=UTC), datetime(2026, 11, 27, 16, 40, tzinfo=UTC)
NOTE = "sample, date moved"


def main() -> None:
    """Move every run of the folder to its place in the six weeks, in the order in which they were made."""
    paths = sorted(path for path in HERE.glob("*.parquet") if NOTE not in store.read_footer(path)["label"])
    for place, path in enumerate(paths):
        started = FIRST + (LAST - FIRST) * place / max(1, len(paths) - 1)
        started += timedelta(minutes=37 * place % 300)
        about, dataset, rows = store.read_footer(path), store.read_dataset(path), list(store.rows_of(path))
        run_id = next(run_ids(started, about["model"]))
        moved = {"run_id": run_id, "started_at": started.isoformat(), "label": f"{about['label']} ({NOTE})"}
        store.save_run(HERE / f"{run_id}.parquet", {**about, **moved}, dataset, rows)
        path.unlink()
        print(path.stem, "->", run_id)


if __name__ == "__main__":
    main()
