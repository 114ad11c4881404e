"""A review written to files: the page, the executed notebook, Markdown, charts, tables, and what they were made of."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import plot
from . import report_frames as frames
from .charts import export_chart
from .errors import SettingsError
from .masking import Mask, secrets_in_environment
from .paths import leads_out, project_dir, slug
from .report import Review
from .report_data import Pair
from .report_markdown import review_markdown
from .report_notes import create_notes, review_folder
from .report_page import (
    execute,
    find_browser,
    find_notebook,
    page_of,
    print_page,
    refuse_another_week,
    refuse_without_parameters,
)
from .report_words import nothing_ran
from .runs import StoredRun, warn_of
from .table_files import export_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_CHARTED = 6  # comparisons that get charts of their own
_TEXTS = {".html", ".md", ".ipynb", ".csv", ".json", ".svg"}
_VERSIONS = ("evalkit-notebooks", "pandas", "numpy", "matplotlib", "scipy", "pyarrow", "papermill", "nbconvert")
_PARTS = ("charts", "tables", "review.html", "review.ipynb", "review.md", "review.pdf", "manifest.json")


def write_review(
    week: str | None = None,
    *,
    since: str | date | None = None,
    until: str | date | None = None,
    dataset: str | Sequence[str] | None = None,
    baseline: str | None = None,
    pdf: bool = False,
    results_dir: str | Path | None = None,
) -> Path:
    """The folder of a review, `reviews/<week>/` in the results folder, written anew but for its `notes.md`.

    Holds `review.html` (one file, no script, nothing to fetch), `review.ipynb` (executed), `review.md`, `charts/` (PNG
    and SVG; also PDF with `pdf`), `tables/` (CSV), `manifest.json`, and with `pdf` `review.pdf`, printed by Chromium.
    The same history gives the same charts and tables, byte for byte. What it is of is said as to `Review`.

    Nothing is written, and the review that is there stays, unless all of it could be made of the week that is meant.

    Raises SettingsError and SchemaError as `Review`, where the week has no complete run, where the notebook has no cell
    for parameters, and where `pdf` is wanted and no browser is there; RuntimeError where the notebook fails or shows
    another week.
    """
    import IPython  # noqa: F401  # whole before the thread needs it: matplotlib trips over one that is half imported

    browser = find_browser() if pdf else None
    notebook = find_notebook()
    refuse_without_parameters(notebook)
    review = Review(week, since=since, until=until, dataset=dataset, baseline=baseline, results_dir=results_dir)
    warn_of([one for one in review.week.problems if one.left_out or one.is_date], review.folder, stacklevel=3)
    if not review.pairs:
        raise SettingsError(f"{nothing_ran(review.week)} No review was written.")
    target = review_folder(review.folder, review.span)
    if target.is_symlink() or leads_out(target, review.folder):
        raise SettingsError(f"{target.name}/ leads out of {review.folder.name}/ by a link: no review is written there")
    _take_over(_replaced(target), target)
    create_notes(target, review.span)
    parameters = _parameters(review, dataset=dataset, baseline=baseline)
    scratch_of = tempfile.TemporaryDirectory(prefix=".review-", dir=target.parent)
    with scratch_of as scratch, ThreadPoolExecutor(1) as aside:
        made = Path(scratch) / target.name
        made.mkdir()
        executing = aside.submit(execute, notebook, parameters, project_dir() or Path.cwd())
        _write_tables(review, made / "tables")
        _write_charts(review, made / "charts", ("png", "svg", "pdf") if pdf else ("png", "svg"))
        executed = executing.result()
        refuse_another_week(notebook, executed, review.week.mark)
        _write_page(review, executed, made)
        _mask_all(made)
        if browser is not None:
            print_page(browser, made / "review.html", made / "review.pdf")
        _write_json(made / "manifest.json", manifest(review, made, dataset=dataset, baseline=baseline))
        _put_in_place(made, target)
    return target


def manifest(review: Review, folder: Path, *, dataset: Any = None, baseline: str | None = None) -> dict[str, Any]:
    """What a review was made of (runs with fingerprints and hashes, versions) and what was written, with hashes."""
    runs = {run.run_id: run for run in review.week.runs}
    runs |= {pair.baseline.run_id: pair.baseline for pair in review.pairs if pair.baseline is not None}
    return {
        "review": review.span.name,
        "first_day": str(review.span.first),
        "last_day": str(review.span.last),
        "time_zone": "UTC",
        "dataset": dataset,
        "baseline": baseline,
        "compared": [
            {
                "dataset": pair.dataset,
                "model": pair.model,
                "this": pair.candidate.run_id,
                "with": pair.baseline.run_id if pair.baseline is not None else None,
                "verdict": pair.comparison.verdict if pair.comparison is not None else None,
            }
            for pair in review.pairs
        ],
        "runs": [_input(runs[run_id]) for run_id in sorted(runs)],
        "left_out": [problem.path.name for problem in review.week.problems if problem.left_out],
        "versions": {"python": platform.python_version(), **dict(_versions())},
        "files": {name: _sha256(folder / name) for name in _files(folder)},
    }


def _write_tables(review: Review, folder: Path) -> None:
    results = review.results
    tables = {
        "comparisons": review.comparisons,
        "tools": review.tools,
        "changes": review.changes,
        "failures": review.kinds,
        "errors": frames.errors(results),
        "flaky": frames.flaky_cases(results),
        "judge_agreement": frames.agreement(results, review.folder),
        "time_and_cost": frames.costs(review.pairs),
        "accuracy_over_time": review.rates,
        "runs": frames.run_table(review.week),
    }
    for name, frame in tables.items():
        export_table(frame, name, formats=("csv",), folder=folder)


def _write_charts(review: Review, folder: Path, formats: Sequence[str]) -> None:
    for name, draw in _charts(review):
        from matplotlib.figure import Figure

        ax = Figure(figsize=(10, 5.6), layout="constrained").subplots()
        with warnings.catch_warnings():  # letters that no font has are boxes in a picture, and whole in the page
            warnings.filterwarnings("ignore", message="Glyph .* missing")
            draw(ax)
            export_chart(ax, name, size="slide", formats=formats, folder=folder)


def _charts(review: Review) -> Iterator[tuple[str, Callable[[Axes], object]]]:
    yield "accuracy_over_time", lambda ax: plot.accuracy_over_time(review.totals, ax=ax)
    yield "time_and_cost", lambda ax: plot.latency_and_cost(review.both_results, ax=ax)
    names: set[str] = set()
    for pair in review.pairs[:MOST_CHARTED]:
        name = _name(pair, names)
        rates = review.rates_of(pair)
        yield f"accuracy-{name}", lambda ax, rates=rates: plot.accuracy_over_time(rates, ax=ax)  # type: ignore[misc]
        if pair.comparison is not None:
            yield f"comparison-{name}", lambda ax, pair=pair: plot.comparison(pair.comparison, ax=ax)  # type: ignore[misc]


def _name(pair: Pair, taken: set[str]) -> str:
    """A file name for a dataset and model that no other pair of the review has."""
    name = "-".join(filter(None, (slug(pair.dataset), slug(pair.model)))) or "runs"
    unique, number = name, 2
    while unique in taken:
        unique, number = f"{name}-{number}", number + 1
    taken.add(unique)
    return unique


def _parameters(review: Review, *, dataset: Any, baseline: str | None) -> dict[str, Any]:
    """What the notebook is told: the same as the review, its days settled."""
    span = review.span
    days = {"since": str(span.first), "until": str(span.last)}
    return {
        "results_dir": _relative(review.folder, project_dir() or Path.cwd()),
        "week": span.name if span.is_week else None,
        **(dict.fromkeys(days) if span.is_week else days),
        "dataset": dataset if dataset is None or isinstance(dataset, str) else list(dataset),
        "baseline": baseline,
    }


def _write_page(review: Review, node: Any, folder: Path) -> None:
    import nbformat

    stored: str = nbformat.writes(node)  # type: ignore[no-untyped-call]
    (folder / "review.ipynb").write_text(stored + "\n", encoding="utf-8")
    (folder / "review.html").write_text(page_of(node, f"Review of {review.span.name}"), encoding="utf-8")
    charts = sorted(path.name for path in (folder / "charts").glob("*.png"))
    (folder / "review.md").write_text(review_markdown(review, charts), encoding="utf-8")


def _relative(path: Path, project: Path) -> str:
    """The folder as seen from the project where it lies in it, so that a page names no path of a machine."""
    try:
        return Path(os.path.abspath(path)).relative_to(os.path.abspath(project)).as_posix()
    except ValueError:
        return os.path.abspath(path)


def _mask_all(folder: Path) -> None:
    """Take the environment's keys out of what was written, should somebody's answer or note have held one."""
    mask = Mask.of(*secrets_in_environment())
    for name in _files(folder):
        path = folder / name
        if path.suffix in _TEXTS and mask.secrets:
            text = path.read_text(encoding="utf-8")
            if (masked := mask(text)) != text:
                path.write_text(masked, encoding="utf-8")


def _put_in_place(made: Path, target: Path) -> None:
    """Exchange an earlier review by the new one, all of it at once; whatever else lies in the folder stays."""
    old = _replaced(target)
    target.rename(old)
    try:
        made.rename(target)
    except OSError:
        old.rename(target)
        raise
    _take_over(old, target)


def _replaced(target: Path) -> Path:
    """Where a review lies while another takes its place."""
    return target.with_name(f".{target.name}.old")


def _take_over(old: Path, target: Path) -> None:
    """Take what is no part of a review from the folder that was replaced, and delete that; a kill may have left it."""
    if not old.is_dir():
        return
    if not target.exists():
        old.rename(target)
        return
    for path in old.iterdir():
        if path.name not in _PARTS and not os.path.lexists(target / path.name):
            path.rename(target / path.name)
    shutil.rmtree(old)


def _input(run: StoredRun) -> dict[str, Any]:
    about = run.description
    path = run.path or run.journal
    names = ("dataset", "model", "started_at", "dataset_hash", "tools_hash", "prompt_hash", "settings_hash",
             "scoring_hash")  # fmt: skip
    return {
        "run_id": run.run_id,
        **{name: about.get(name) for name in names},
        "file": path.name if path is not None else None,
        "sha256": _sha256(path) if path is not None and path.is_file() else None,
    }


def _versions() -> Iterator[tuple[str, str]]:
    for name in _VERSIONS:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            continue


def _files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_json(path: Path, value: Any) -> None:
    import json

    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
