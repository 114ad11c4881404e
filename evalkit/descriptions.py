"""Whether a run's description, as a file holds it, has the kinds of values that readers count on.

Files are edited by hand and come from others: what is no description is left out with a sentence instead of failing
somewhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TEXTS = (
    "dataset", "dataset_path", "model", "system_prompt", "label", "status", "rescored_from", "git_commit",
    "evalkit_version", "started_at", "finished_at", "scored_at", "dataset_hash", "tools_hash", "prompt_hash",
    "settings_hash", "scoring_hash",
)  # fmt: skip
_COUNTS = ("trials", "planned", "concurrency")
_NEEDED = ("trials", "planned")
_MAPPINGS = ("settings", "selection", "judges", "counts")
_SELECTION = frozenset({"cases", "tags", "limit"})


def fault_of(description: Any) -> str | None:
    """What is wrong with a description, as the end of a sentence on its file; None where nothing is."""
    if not isinstance(description, Mapping):
        return "holds no description of a run"
    for names, said, holds in (
        (_TEXTS, "text", _is_text),
        (_COUNTS, "a count", _is_count),
        (_MAPPINGS, "an object", _is),
    ):
        for name in names:
            value = description.get(name)
            if (value is not None or (name in _NEEDED and name in description)) and not holds(value):
                return f"describes its run with a `{name}` that is not {said}"
    if not isinstance(description.get("batches") or [], list) or not all(map(_is, description.get("batches") or [])):
        return "describes its run with `batches` that are no list of objects"
    if (description.get("selection") or {}).keys() - _SELECTION:
        return "describes its run with a `selection` of something else than cases, tags and limit"
    return None if _judged_soundly(description.get("judges") or {}) else "describes its run with `judges` that are none"


def _judged_soundly(judges: Mapping[str, Any]) -> bool:
    named = judges.get("named") or {}
    described = [judges.get("default"), *(named.values() if _is(named) else [7])]
    return all(one is None or (_is(one) and isinstance(one.get("model"), str) and _is(one.get("settings"))
                               and "self_judged" in one) for one in described)  # fmt: skip


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is(value: Any) -> bool:
    return isinstance(value, Mapping)
