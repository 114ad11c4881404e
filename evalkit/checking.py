"""What `evalkit check` says: problems and advice on datasets, and what an endpoint does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .dataset_advice import check_dataset
from .dataset_files import dataset_paths, shown_path
from .loops import drive
from .masking import printable
from .models import as_model
from .paths import eval_data_dir
from .plans import load_env
from .probe import probe


def check_paths(paths: Sequence[str]) -> tuple[list[str], bool]:
    """Lines on every dataset under `paths` (default: eval_data/), and whether all of them can be run.

    Raises FileNotFoundError for a path that is not there, ValueError where no dataset is found.
    """
    files = [file for path in (paths or [str(eval_data_dir())]) for file in _files(path)]
    if not files:
        raise ValueError(f"no dataset (*.json, *.jsonl, *.csv) in {', '.join(map(str, paths))}")
    lines, sound = [], True
    for file in files:
        found = check_dataset(file)
        problems = int((found["level"] == "problem").sum())
        sound = sound and not problems
        counted = f"{_counted(problems, 'problem')}, {_counted(len(found) - problems, 'piece')} of advice"
        lines.append(f"{shown_path(file)}: {counted}")
        lines += [f"  {row.level}: {row.where}: {row.message}" for row in found.itertuples()]
    return [printable(line) for line in lines], sound


def check_endpoint(model: str, *, base_url: str | None = None) -> tuple[list[str], bool]:
    """Lines on what the endpoint behind `model` does, and whether it answers. Sends a few small requests."""
    load_env()
    asked = as_model(model, base_url=base_url) if base_url else as_model(model)
    findings = drive(lambda: probe(asked))
    words = {True: "yes", False: "NO", None: "?"}
    lines = [f"{asked.name}:", *(f"  {words[finding.ok]:>3}  {finding.sentence}" for finding in findings)]
    return [printable(line) for line in lines], all(finding.ok for finding in findings[:1])


def _files(path: str | Path) -> list[Path]:
    """The dataset files at a path: itself, or those in the folder."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"no file or folder {path}")
    return dataset_paths(path) if path.is_dir() else [path]


def _counted(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
