"""Dataset files: found by name or path, and read into items with their lines. What the items mean is for `datasets`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import jsontext, textfiles
from .errors import DatasetError
from .nearmiss import did_you_mean
from .paths import eval_data_dir, project_dir
from .tables import csv_items
from .textfiles import Item

SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv")
TOOLS_SUFFIX = ".tools.json"


class DatasetNotFoundError(DatasetError, FileNotFoundError):
    """No dataset of that name or path."""


class Located(str):
    """A problem as a sentence that begins with its place; `where`, `message` and `case_id` are its parts."""

    __slots__ = ("case_id", "message", "where")
    where: str
    message: str
    case_id: str | None

    def __new__(cls, where: str, message: str, case_id: str | None = None) -> Located:
        made = super().__new__(cls, f"{where}: {message}" if where else message)
        made.where, made.message, made.case_id = where, message, case_id
        return made


@dataclass
class RawDataset:
    """A dataset as it was written: what stands around the cases, and the cases as items not yet looked into."""

    label: str
    options: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    items: list[Item] = field(default_factory=list)
    problems: list[Located] = field(default_factory=list)
    path: Path | None = None
    has_cases: bool = True

    def place(self, item: Item) -> str:
        """Where an item stands, for a message."""
        line = f" (line {item.line})" if item.line else ""
        return ", ".join(part for part in (self.label, f"case {item.number}{line}") if part)

    def place_of_option(self, name: str) -> str:
        """Where an option stands, for a message."""
        line = f"line {self.lines[name]}" if name in self.lines else ""
        return ", ".join(part for part in (self.label, line) if part)


def dataset_paths(folder: str | Path) -> list[Path]:
    """Every dataset file in a folder, in alphabetical order; files of tools are not datasets."""
    files = (path for path in Path(folder).iterdir() if path.suffix.lower() in SUFFIXES and path.is_file())
    return sorted(path for path in files if not path.name.endswith(TOOLS_SUFFIX))


def find_dataset(source: str | Path) -> Path:
    """The file that a path, or a name in `eval_data/`, stands for.

    Raises DatasetError where it is no dataset file, DatasetNotFoundError (also a FileNotFoundError) for none.
    """
    text = str(source)
    if not text.strip() or "\x00" in text:
        raise DatasetError(f"a dataset is a name in eval_data/ or the path of a file, got {text!r}")
    path = Path(text).expanduser()
    if path.is_dir() and (isinstance(source, Path) or path.suffix or len(path.parts) > 1):
        raise DatasetError(f"{text} is a folder. Name a file in it: {_names(dataset_paths(path)) or 'it has none'}")
    if path.is_file():
        return _of_known_kind(path)
    is_name = isinstance(source, str) and len(path.parts) == 1
    if not is_name:
        folder = path.parent if path.parent.is_dir() else None
        others = [other.name for other in dataset_paths(folder)] if folder else []
        raise DatasetNotFoundError(f"no dataset file {text}.{did_you_mean(path.name, others)}")
    return _named(text)


def read_dataset_file(path: Path) -> RawDataset:
    """What a dataset file holds. Faults of single items are kept with them.

    Raises DatasetError where nothing can be read of it: another encoding, broken JSON or CSV.
    """
    label = shown_path(path)
    try:
        text = textfiles.read_text(path, label)
    except OSError as error:
        raise DatasetError(f"{label}: cannot be read: {error.strerror or error}") from None
    if path.suffix.lower() == ".json":
        raw = _read_json(text, label)
    elif path.suffix.lower() == ".csv":
        raw = RawDataset(label, items=list(csv_items(text, label)))
    else:
        raw = RawDataset(label, items=_read_lines(text))
    raw.path = Path(os.path.abspath(path))
    return raw


def tools_beside(path: Path) -> Path:
    """The file in which a plain dataset's tools stand: `support.json` has `support.tools.json`."""
    return path.with_name(path.stem + TOOLS_SUFFIX)


def tools_path(path: Path, written: str) -> Path:
    """The file that a dataset's `tools` names, relative to the dataset.

    Raises DatasetError for a path that leads out of `eval_data/`, or, elsewhere, out of the dataset's own folder.
    """
    folder = path.resolve().parent
    root = next((parent for parent in (folder, *folder.parents) if parent.name == "eval_data"), folder)
    if not written.strip() or "\x00" in written or Path(written).is_absolute() or "\\" in written or ":" in written:
        raise DatasetError(f"`tools` must be a path relative to this file, with / between its parts, got {written!r}")
    target = (folder / written).resolve()
    if not target.is_relative_to(root):
        raise DatasetError(f"`tools` {written!r} leads out of {root.name}/. Put the file beside the dataset.")
    return target


def shown_path(path: Path) -> str:
    """A path as messages show it: from the working folder or the project where it lies inside, else whole."""
    if not path.is_absolute():
        return path.as_posix()
    for folder in (Path.cwd(), project_dir()):
        if folder is not None and path.is_relative_to(folder):
            return path.relative_to(folder).as_posix()
    return str(path)


def _named(name: str) -> Path:
    try:
        folder = eval_data_dir()
    except FileNotFoundError as error:
        raise DatasetNotFoundError(f"no dataset {name!r}: there is no such file here, and {error}") from None
    if Path(name).suffix.lower() in SUFFIXES and (folder / name).is_file():
        return folder / name
    files = dataset_paths(folder)
    found = [path for path in files if path.stem == name]
    if len(found) > 1:
        raise DatasetError(
            f"{name!r} is more than one file in eval_data/: {_names(found)}. Give the name with its ending."
        )
    if not found and Path(name).is_dir():
        raise DatasetError(f"{name} is a folder. Name a file in it: {_names(dataset_paths(name)) or 'it has none'}")
    if not found:
        stems = [path.stem for path in files]
        there = f"There: {', '.join(stems)}" if stems else "There is none at all"
        raise DatasetNotFoundError(f"no dataset {name!r} in eval_data/.{did_you_mean(name, stems)} {there}")
    return found[0]


def _of_known_kind(path: Path) -> Path:
    if path.suffix.lower() not in SUFFIXES:
        raise DatasetError(f"{path}: a dataset file ends in {', '.join(SUFFIXES)}, got {path.suffix or 'no ending'!r}")
    return path


def _names(paths: list[Path]) -> str:
    return ", ".join(path.name for path in paths)


def _read_json(text: str, label: str) -> RawDataset:
    try:
        document = textfiles.read_document(text, "cases")
    except jsontext.JsonTextError as error:
        if not text.strip():
            raise DatasetError(f"{label}: the file is empty") from None
        raise DatasetError(f"{label}, line {error.line}, column {error.column}: {error.message}") from None
    raw = RawDataset(label, document.members, document.lines, document.items, has_cases=document.has_list)
    raw.problems = [Located(label, problem) for problem in document.problems]
    if not document.is_object and not document.has_list:
        raise DatasetError(f"{label}: a dataset is a list of cases, or an object that holds one under `cases`")
    return raw


def _read_lines(text: str) -> list[Item]:
    """The items of a JSONL text; blank lines count as lines but not as items."""
    items: list[Item] = []
    for line, content in enumerate(text.split("\n"), 1):
        if not content.strip():
            continue
        try:
            items.append(Item(len(items) + 1, line, jsontext.read(content)))
        except jsontext.JsonTextError as error:
            problem = f"column {error.column}: {error.message}"
            items.append(Item(len(items) + 1, line, problem=problem))
    return items
