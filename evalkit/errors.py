"""The errors that a caller would catch, each with a message written for the person who gets it."""

from __future__ import annotations

from .masking import printable


class Printable:
    """What an error is too whose message a terminal does not obey, whatever texts of others it quotes."""

    def __str__(self) -> str:
        return printable(super().__str__(), lines=True)


class DatasetError(Printable, ValueError):
    """A dataset, case or tool definition that cannot be run; `problems` lists every fault found, each a sentence."""

    def __init__(self, problems: str | list[str]):
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        count = len(self.problems)
        head = "" if count == 1 else f"{count} problems:\n  "
        super().__init__(head + "\n  ".join(self.problems))


class SchemaError(Printable, ValueError):
    """A frame or file that is not a results frame; `what_to_do` about a file, where there is something."""

    def __init__(self, message: str, *, what_to_do: str = ""):
        super().__init__(message)
        self.what_to_do = what_to_do


class SettingsError(Printable, ValueError):
    """A run that cannot start as it was asked for: no key, a setting that the endpoint refuses, an unknown run."""


class RunStopped(Printable, RuntimeError):
    """A run stopped before its end (quota gone, too many errors); what was finished is saved under `run_id`."""

    def __init__(self, message: str, run_id: str):
        super().__init__(message)
        self.run_id = run_id
