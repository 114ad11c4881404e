"""The journal of one unfinished run: each finished trial is a line, written before it is shown or counted.

The first line describes the run and holds its dataset; every other line is one trial's values, or a note of what the
run has under way elsewhere. A line counts
only when it is whole, so a process killed in the middle of one loses that line and nothing else. Of two lines
for one trial the later counts (an errored trial that was asked again).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from .descriptions import fault_of
from .errors import SettingsError
from .jsontext import read_again, write

FORMAT = 1
SUFFIX = ".jsonl"
_NOTE = b'{"note": '


class JournalError(ValueError):
    """A journal that cannot be read: its first line is missing or of another kind."""


class Journal:
    """An open journal. `append` returns when the line is with the operating system.

    One process at a time: opening a journal that another process writes raises SettingsError.
    """

    def __init__(self, path: Path, file: IO[bytes]):
        self.path, self._file = path, file

    @classmethod
    def create(cls, path: Path, description: Mapping[str, Any], dataset: Mapping[str, Any]) -> Journal:
        """A new journal, which nobody sees before its first line is whole.

        Raises FileExistsError where there is one, OSError where the folder cannot be written.
        """
        if os.name != "posix":  # Windows renames no open file
            return cls._begun(path, description, dataset)
        if path.exists():
            raise FileExistsError(path)
        journal = cls._begun(_aside(path), description, dataset)
        try:
            _move_to_new(journal.path, path)
        except BaseException:
            journal.discard()
            raise
        journal.path = path
        return journal

    @classmethod
    def _begun(cls, path: Path, description: Mapping[str, Any], dataset: Mapping[str, Any]) -> Journal:
        """A new file with the first line."""
        path.parent.mkdir(parents=True, exist_ok=True)
        journal = cls(path, open(path, "x+b", buffering=0))  # noqa: SIM115
        try:
            _lock(journal._file, path)
            journal._write({"evalkit_journal": FORMAT, "description": description, "dataset": dataset})
            os.fsync(journal._file.fileno())
        except BaseException:
            journal.close()
            path.unlink(missing_ok=True)
            raise
        return journal

    @classmethod
    def copied(
        cls,
        path: Path,
        description: Mapping[str, Any],
        dataset: Mapping[str, Any],
        records: Iterable[Mapping[str, Any]],
        over: Journal | None = None,
    ) -> Journal:
        """A journal made of trials that are stored elsewhere, written aside so that half a copy never counts.

        It takes the place of the journal `over`, which is closed. Without that, raises SettingsError where there is one
        already: another process made it meanwhile.
        """
        aside = _aside(path)
        aside.unlink(missing_ok=True)
        journal = cls._begun(aside, description, dataset)
        try:
            for record in records:
                journal.append(record)
            journal.sync()
            if over is None:
                _move_to_new(aside, path)
            else:
                os.replace(aside, path)
                over.close()
        except FileExistsError:
            journal.discard()
            raise _written_elsewhere(path) from None
        except BaseException:
            journal.discard()
            raise
        journal.path = path
        return journal

    @classmethod
    def reopen(cls, path: Path) -> Journal:
        """The journal at `path`, ready for more lines; a torn last line is cut off."""
        file = open(path, "r+b", buffering=0)  # noqa: SIM115
        try:
            _lock(file, path)
            file.truncate(_whole_length(file))
            file.seek(0, os.SEEK_END)
        except BaseException:
            file.close()
            raise
        return cls(path, file)

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one trial. Raises OSError (a full disk); what was written before stays readable."""
        self._write(record)

    def note(self, value: Mapping[str, Any]) -> None:
        """Write down something about the run that is no trial, and return when it is on the disk."""
        self._write({"note": value})
        self.sync()

    def notes(self) -> list[dict[str, Any]]:
        """What was noted, in order."""
        with open(os.dup(self._file.fileno()), "rb") as reader:
            reader.seek(0)
            found = [json.loads(line)["note"] for line in reader if line.startswith(_NOTE)]
        self._file.seek(0, os.SEEK_END)
        return found

    def _write(self, value: Mapping[str, Any]) -> None:
        data = memoryview((write(value) + "\n").encode("utf-8"))
        while data:
            data = data[self._file.write(data) :]

    def rows(self, order: Mapping[str, int]) -> Iterator[dict[str, Any]]:
        """The trials written so far, case by case in the given order and by trial, one in memory at a time.

        Reads through the open file, so that they are there even where the folder was deleted.
        """
        index = {key: place for key, place in _index(self._file).items() if key[0] in order}
        for key in sorted(index, key=lambda key: (order[key[0]], key[1])):
            yield _read_at(self._file, index[key])
        self._file.seek(0, os.SEEK_END)

    def sync(self) -> None:
        """Return when all lines are on the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file; other processes may open the journal again."""
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def discard(self) -> None:
        """Close and delete, once the run's Parquet file stands."""
        self.path.unlink(missing_ok=True)
        self.close()


def read_head(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The description and the dataset of the run journaled at `path`.

    Raises JournalError where the first line is torn or not a journal's, FileNotFoundError where there is none.
    """
    with open(path, "rb") as file:
        first = file.readline()
    try:
        head = read_again(first)
        if not first.endswith(b"\n") or head["evalkit_journal"] > FORMAT:
            raise ValueError(first[:40])
        if fault_of(head["description"]) is not None:
            raise ValueError("no description of a run")
        return head["description"], head["dataset"]
    except (ValueError, KeyError, TypeError):
        raise JournalError(
            f"{path.name} does not begin as a journal that this version can read. No trial of it can be counted; "
            "if its run was stopped before the first answer, delete the file."
        ) from None


def read_records(path: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """All trials of a journal by (case_id, trial), in memory."""
    with open(path, "rb") as file:
        return {(record["case_id"], record["trial"]): record for _, _, record in _lines(file)}


def damaged_lines(path: Path) -> list[int]:
    """The numbers of lines that are neither a trial nor a note, but for the last one, which a kill may tear. None where
    the run has become a file meanwhile.
    """
    found, number = list[int](), 0
    with suppress(FileNotFoundError), open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            if number > 1 and not line.startswith(_NOTE) and _record(line) is None:
                found.append(number)
    return [one for one in found if one != number]


def _index(file: IO[bytes]) -> dict[tuple[str, int], tuple[int, int]]:
    """Where each trial stands: (case_id, trial) → (offset, length in bytes) of the line that counts."""
    return {(record["case_id"], record["trial"]): (offset, length) for offset, length, record in _lines(file)}


def _read_at(file: IO[bytes], place: tuple[int, int]) -> dict[str, Any]:
    file.seek(place[0])
    record: dict[str, Any] = json.loads(file.read(place[1]))
    return record


def _lines(file: IO[bytes]) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Offset, length and content of each whole line after the first."""
    with open(os.dup(file.fileno()), "rb") as reader:
        reader.seek(0)
        offset = len(reader.readline())
        for line in reader:
            record = _record(line)
            if record is not None:
                yield offset, len(line), record
            offset += len(line)


def _record(line: bytes) -> dict[str, Any] | None:
    """A trial, or None for a line torn by a kill or a power cut: its trial counts as not asked."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    whole = line.endswith(b"\n") and isinstance(record, dict) and "case_id" in record and "trial" in record
    return record if whole else None


def _whole_length(file: IO[bytes]) -> int:
    """Length up to and with the last line break."""
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - 65536)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _lock(file: IO[bytes], path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows refuses a second writer by itself
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _written_elsewhere(path) from None


def _written_elsewhere(path: Path) -> SettingsError:
    return SettingsError(f"the run {path.stem!r} is being written by another process; wait for it, or stop it first")


def _aside(path: Path) -> Path:
    """Where a journal is written that is not to be seen yet."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def _move_to_new(aside: Path, path: Path) -> None:
    """Rename a file to a name that nothing has. Raises FileExistsError where something does."""
    try:
        os.link(aside, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if path.exists():
            raise FileExistsError(path) from None
        os.replace(aside, path)
    else:
        aside.unlink()
