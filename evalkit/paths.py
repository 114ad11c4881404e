"""Where a project keeps its datasets and its results.

The project is the nearest folder, from the working folder up, that holds `eval_data/`; where there is none,
the nearest that holds a `pyproject.toml`. A notebook in a subfolder therefore finds the same files as a
command in the project's own folder.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

RESULTS_VARIABLE = "EVALKIT_RESULTS"
LONGEST_ID = 180  # bytes: leaves room for a suffix within the 255 that file systems take

_NOT_IN_FILE_NAMES = re.compile(r'[\x00-\x1f\x7f/\\<>:"|?*\ud800-\udfff]')
_WINDOWS_DEVICES = re.compile(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")
_NOT_IN_SLUGS = re.compile(r"[^\w.-]+|_+", re.ASCII)


def project_dir(start: str | Path | None = None) -> Path | None:
    """The project's folder, or None where neither `start` (the working folder) nor a folder above it is one."""
    here = Path(os.path.abspath(start if start is not None else Path.cwd()))
    folders = (here, *here.parents)
    with_data = (folder for folder in folders if os.path.isdir(folder / "eval_data"))
    with_project_file = (folder for folder in folders if os.path.isfile(folder / "pyproject.toml"))
    return next(with_data, None) or next(with_project_file, None)


def eval_data_dir(start: str | Path | None = None) -> Path:
    """The project's `eval_data/`, looked for from `start` (the working folder) up.

    Raises FileNotFoundError where there is none.
    """
    project = project_dir(start)
    if project is None or not os.path.isdir(project / "eval_data"):
        here = os.path.abspath(start if start is not None else Path.cwd())
        where = f"no eval_data/ in {here} or any folder above it"
        raise FileNotFoundError(f"{where}. Go to your project's folder, or give the path of a dataset file.")
    return project / "eval_data"


def results_dir(results_dir: str | Path | None = None, start: str | Path | None = None) -> Path:
    """The folder of results, which need not exist yet.

    The argument decides; a relative one that the working folder does not hold is taken from the project's folder
    where that holds it, so that a notebook in a subfolder may say `results/sample`. Without an argument the
    environment's EVALKIT_RESULTS (a relative one is taken from the project's folder, so that notebooks and commands
    agree); without that, `results/` in the project, and outside any project `results/` in the working folder.
    """
    if results_dir is not None:
        if not isinstance(results_dir, str | Path):
            raise TypeError(f"results_dir must be the path of a folder, got {results_dir!r:.80}")
        return _given(_folder(results_dir), start)
    home = project_dir(start) or Path(os.path.abspath(start if start is not None else Path.cwd()))
    wanted = os.environ.get(RESULTS_VARIABLE, "").strip() or "results"
    return home / _folder(wanted)


def results_part(name: str) -> Path:
    """A folder within the folder of results. Raises ValueError where a link leads out of that."""
    folder = results_dir()
    if leads_out(folder / name, folder):
        raise ValueError(f"{name}/ leads out of {folder.name}/ by a link, so that nothing is written there")
    return folder / name


def _given(folder: Path, start: str | Path | None) -> Path:
    here = Path(start if start is not None else Path.cwd())
    project = project_dir(start)
    if folder.is_absolute() or project is None or os.path.isdir(here / folder):
        return folder
    return project / folder if os.path.isdir(project / folder) else folder


def _folder(text: str | Path) -> Path:
    if not str(text).strip() or "\x00" in str(text):
        raise ValueError(f"a folder of results must be a path, got {str(text)!r}")
    return Path(text).expanduser()


def check_run_id(run_id: str) -> str:
    """The run id itself, where it is a legal file name on every system.

    Raises ValueError for anything else: a separator, `..`, a leading dot, a reserved name, over 180 bytes.
    """
    return check_file_name(run_id, "a run id")


def check_file_name(name: str, what: str) -> str:
    """The name itself, where it is a legal file name on every system; `what` says in the error what it names.

    Raises ValueError for anything else (see `check_run_id`).
    """
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"{what} must be text that is not blank, got {name!r}")
    bad = _NOT_IN_FILE_NAMES.search(name)
    if bad:
        raise ValueError(f"{what} must be a plain file name, got {name!r}: {bad.group()!r} is not allowed in it")
    if name.startswith((".", " ", "-")) or name.endswith((".", " ")):
        raise ValueError(f"{what} must not begin with a dot, dash or space nor end with a dot or space, got {name!r}")
    if _WINDOWS_DEVICES.fullmatch(name):
        raise ValueError(f"{what} must not be {name!r}, the name of a device on Windows. Choose another.")
    if len(name.encode()) > LONGEST_ID:
        raise ValueError(f"{what} must be at most {LONGEST_ID} bytes long, got {len(name.encode())}")
    return name


def leads_out(path: str | Path, folder: str | Path) -> bool:
    """Whether a path leads out of a folder, by `..` or by a link."""
    return not Path(path).resolve().is_relative_to(Path(folder).resolve())


def run_path(results_dir: str | Path, run_id: str, suffix: str) -> Path:
    """The path of a run's file inside `results_dir`; `suffix` begins with a dot (".parquet").

    Raises ValueError where the run id could lead anywhere else (see `check_run_id`), or a link in the folder does.
    """
    folder = Path(results_dir)
    if folder.name.startswith(".") and leads_out(folder, folder.parent):
        raise ValueError(f"{folder.name}/ leads out of {folder.parent.name}/ by a link: no run is written there")
    return folder / f"{check_run_id(run_id)}{suffix}"


def write_whole(path: Path, data: bytes) -> None:
    """Write a file at once, so that nobody ever reads half of it. Raises OSError; the file stays as it was then."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.unlink(missing_ok=True)
        with open(part, "xb") as file:  # anew: what lies there may be a link to elsewhere
            file.write(data)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def slug(text: str, longest: int = 40) -> str:
    """Words of `text` for a file name or an id: lower-case ASCII letters and digits joined by dashes, or ""."""
    import unicodedata

    plain = unicodedata.normalize("NFKD", text[: longest * 8]).encode("ascii", "ignore").decode()
    words = _NOT_IN_SLUGS.sub("-", plain).strip("-.").lower()
    if len(words) > longest:
        words = words[: longest + 1].rpartition("-")[0] or words[:longest]
    return words.strip("-.")
