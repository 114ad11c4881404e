"""The progress bar of a run: trials finished, with passed, failed and errors so far, in a terminal or a notebook."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Any, Protocol

from .masking import printable


class Counts(Protocol):
    """What the bar shows."""

    passed: int
    failed: int
    errors: int
    planned: int
    waiting: str

    @property
    def finished(self) -> int: ...


class Bar:
    """A bar over a tally; `refresh` draws what has changed. Hidden where nobody is looking.

    `shown`: True, False, or None for where a person looks (a terminal, a notebook) unless EVALKIT_NO_PROGRESS is set.
    """

    def __init__(self, counts: Counts, *, shown: bool | None = None):
        self._counts = counts
        self._bar: Any = None
        self._shown = _is_watched() if shown is None else shown

    def __enter__(self) -> Bar:
        if self._shown:
            from tqdm.auto import tqdm

            self._bar = tqdm(total=self._counts.planned, initial=self._counts.finished, unit="trial", desc="trials")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.refresh()
        if self._bar is not None:
            self._bar.close()

    def refresh(self) -> None:
        """Draw the present state."""
        if self._bar is None:
            return
        counts = self._counts
        notes: dict[str, Any] = {"passed": counts.passed, "failed": counts.failed, "errors": counts.errors}
        if counts.waiting:
            notes["…"] = printable(counts.waiting)
        self._bar.set_postfix(notes, refresh=False)
        self._bar.update(counts.finished - self._bar.n)


def say(text: str) -> None:
    """Write one line beside the bar; nothing in it is obeyed by the terminal."""
    from tqdm import tqdm

    tqdm.write(printable(text))


def _is_watched() -> bool:
    if os.environ.get("EVALKIT_NO_PROGRESS"):
        return False
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None or sys.stderr.isatty()
