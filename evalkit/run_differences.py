"""What differs between two runs themselves: the model, its settings, the prompt, each tool, the cases, the rules."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import journal
from .jsontext import write
from .paths import results_dir as find_results_dir
from .paths import run_path
from .runs import JOURNAL_DIR, StoredRun
from .store import SUFFIX, read_footer
from .textdiff import unified

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("what", "baseline", "candidate", "diff")
# What tells runs apart without being a difference in what was tried, and what is compared in another way.
_IDENTITY = frozenset({
    "run_id", "label", "status", "started_at", "finished_at", "scored_at", "rescored_from", "planned", "counts",
    "concurrency", "schema_version", "dataset_path", "interrupted", "prices", "finished", "left_out", "batches",
})  # fmt: skip
_APART = frozenset({
    "model", "dataset", "settings", "system_prompt", "selection", "trials", "git_commit", "evalkit_version",
    "dataset_hash", "tools_hash", "prompt_hash", "settings_hash", "scoring_hash",
})  # fmt: skip
_SAID = {
    "dataset_hash": "cases", "tools_hash": "tools", "prompt_hash": "system prompt", "settings_hash": "settings",
    "scoring_hash": "scoring",
}  # fmt: skip


@dataclass(frozen=True)
class RunAbout:
    """A run as far as comparing needs it: its id, the run's values of its rows, and how it lies on disk, if it does."""

    run_id: str
    values: Mapping[str, Any] = field(default_factory=dict)
    stored: StoredRun | None = None

    @property
    def description(self) -> Mapping[str, Any]:
        """What is known of the run: the stored description, else what its rows say."""
        return self.stored.description if self.stored is not None else self.values

    @cached_property
    def dataset(self) -> dict[str, Any]:
        """The dataset as it was run, empty where it is not stored."""
        return (self.stored.dataset() if self.stored is not None else None) or {}


def stored_by_id(run_id: str, results_dir: str | Path | None) -> StoredRun | None:
    """The run of exactly that id in a results folder, or None."""
    try:
        path = run_path(find_results_dir(results_dir), run_id, SUFFIX)
        if path.is_file():
            description = read_footer(path)
            return StoredRun(run_id, description, path) if description["run_id"] == run_id else None
        unfinished = run_path(find_results_dir(results_dir) / JOURNAL_DIR, run_id, journal.SUFFIX)
        if unfinished.is_file():
            return StoredRun(run_id, {**journal.read_head(unfinished)[0], "status": "partial"}, None, unfinished)
        return None
    except (ValueError, OSError):
        return None


def run_differences(baseline: RunAbout, candidate: RunAbout) -> pd.DataFrame:
    """What differs between two runs, one row per thing: `what`, `baseline`, `candidate`, `diff`.

    `diff` holds the changed lines of the system prompt or of a tool's definition, else NA. Where a run's description
    is not on disk, the fingerprints of the two are compared, and nothing but that they differ is known.
    """
    import pandas as pd

    rows = list(_rows(baseline, candidate))
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(dict.fromkeys(COLUMNS, "str"))


def _rows(baseline: RunAbout, candidate: RunAbout) -> Iterator[tuple[str, str | None, str | None, str | None]]:
    one, other = baseline.description, candidate.description
    described = baseline.stored is not None and candidate.stored is not None
    yield from _plain(one, other, "model", "dataset")
    if described:
        yield from _settings(one.get("settings") or {}, other.get("settings") or {})
        prompts = [str(about.get("system_prompt") or "") for about in (one, other)]
        if prompts[0] != prompts[1]:
            lengths = [f"{len(text)} characters" if text else "none" for text in prompts]
            yield "system prompt", lengths[0], lengths[1], unified(prompts[0], prompts[1])
        if one.get("tools_hash") != other.get("tools_hash"):
            yield from _tools(baseline.dataset, candidate.dataset)
    for name, said in _SAID.items():
        known = described and name in ("tools_hash", "prompt_hash", "settings_hash")
        if not known and _known(one.get(name)) and _known(other.get(name)) and one.get(name) != other.get(name):
            yield f"{said} (fingerprint)", str(one.get(name)), str(other.get(name)), None
    yield from _plain(one, other, "selection", "trials")
    if described:
        yield from _plain(one, other, *sorted((one.keys() | other.keys()) - _IDENTITY - _APART))
    yield from _plain(one, other, "evalkit_version", "git_commit")


def _plain(one: Mapping[str, Any], other: Mapping[str, Any], *names: str) -> Iterator[tuple[str, str, str, None]]:
    for name in names:
        left, right = one.get(name), other.get(name)
        if left != right and (_known(left) or _known(right)):
            yield name.replace("_", " "), _text(left), _text(right), None


def _settings(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[tuple[str, str, str, None]]:
    left, right = dict(_flat(one)), dict(_flat(other))
    for name in sorted(left.keys() | right.keys()):
        if left.get(name) != right.get(name):
            yield f"setting {name}", _text(left.get(name)), _text(right.get(name)), None


def _flat(settings: Mapping[str, Any], under: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{under}{name}.")
        else:
            yield f"{under}{name}", value


def _tools(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    left, right = _definitions(one), _definitions(other)
    changed = [name for name in dict.fromkeys((*left, *right)) if left.get(name) != right.get(name)]
    for name in changed:
        words = ["none" if name not in tools else "defined" for tools in (left, right)]
        if words[0] == words[1]:
            words = ["another definition"] * 2
        yield f"tool {name}", words[0], words[1], unified(left.get(name, ""), right.get(name, ""))
    if not changed:
        yield "order of the tools", ", ".join(left), ", ".join(right), ""


def _definitions(dataset: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    for definition in dataset.get("tools") or ():
        inner = definition.get("function", definition)
        found[str(inner.get("name"))] = json.dumps(inner, ensure_ascii=False, indent=2)
    return found


def _known(value: Any) -> bool:
    return value is not None and value == value


def _text(value: Any) -> str:
    if not _known(value):
        return "not set"
    return value if isinstance(value, str) else write(value)
