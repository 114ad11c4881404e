"""Reviewers that read the answer as JSON."""

from __future__ import annotations

from typing import Any

from . import jsontext, schema_check
from .differences import json_type
from .fences import review_unfenced
from .records import Verdict, clean_text
from .review_own import built_in
from .review_registry import ReviewerError
from .valuepaths import inside, place_of


@built_in()
def valid_json(answer: str, *, unique_keys: bool = False, strip_fences: bool = False) -> Verdict:
    """1 where the answer is one JSON value to the letter of RFC 8259, a scalar such as `null` included.

    NaN, Infinity, a trailing comma, a second value, a byte-order mark and nesting beyond 200 levels are refused.
    An object that has a key twice and a lone surrogate escape are valid JSON, which the reason notes;
    `unique_keys` refuses the former. `strip_fences` reads what stands inside a Markdown fence.
    """

    def review(text: str) -> Verdict:
        read = _Read(text, unique_keys)
        if read.failure:
            return Verdict(None, 0.0, read.failure)
        return Verdict(None, 1.0, f"valid JSON: {_kind(read.value)}{read.notes}")

    return review_unfenced(answer, review, strip_fences=strip_fences)


def _schema(value: Any) -> str | None:
    try:
        schema_check.prepare(value)
    except ValueError as error:
        return f"cannot be used: {error}"
    return None


@built_in(checks={"schema": _schema})
def json_schema_match(answer: str, *, schema: dict[str, Any] | bool, strip_fences: bool = False) -> Verdict:
    """1 where the answer is valid JSON that keeps to `schema`.

    The schema is read in the draft that its `$schema` names, 2020-12 without one; formats such as date-time are
    checked, unknown ones are not. References must stay inside the schema (or lead to JSON Schema's own
    meta-schemas): nothing is fetched. Of a key that stands twice in one object, the last value counts.

    Raises ReviewerError where the schema is not done with the answer in time.
    """
    return review_unfenced(answer, lambda text: _by_schema(text, schema), strip_fences=strip_fences)


def _by_schema(text: str, schema: dict[str, Any] | bool) -> Verdict:
    read = _Read(text, unique_keys=False)
    if read.failure:
        return Verdict(None, 0.0, read.failure)
    try:
        faults = schema_check.prepare(schema).faults(text, read.value)
    except schema_check.SlowSchemaError as error:
        raise ReviewerError(f"json_schema_match: the schema could not be checked: {error}") from None
    if not faults:
        return Verdict(None, 1.0, f"keeps to the schema{read.notes}")
    said = "; ".join(f"at {_path(fault.path)}: {fault.message}" if fault.path else fault.message for fault in faults)
    return Verdict(None, 0.0, f"breaks the schema: {said}{read.notes}")


class _Read:
    """A text read as JSON: its value and what to note of it, or why it is none."""

    def __init__(self, text: str, unique_keys: bool):
        self.value: Any = None
        self.failure = self.notes = ""
        try:
            self.value = jsontext.read(text, unique_keys=unique_keys)
        except jsontext.JsonTextError as error:
            self.failure = f"not valid JSON: {error}" if text.strip() else "not valid JSON: the answer is empty"
        else:
            notes = [_twice(text), "it holds half of a surrogate pair" if _has_surrogate(self.value) else ""]
            self.notes = "".join(f"; {note}" for note in notes if note)


def _twice(text: str) -> str:
    try:
        jsontext.read(text)
    except jsontext.JsonTextError as error:
        return error.message
    return ""


def _has_surrogate(value: Any) -> bool:
    if isinstance(value, str):
        return clean_text(value) != value
    if isinstance(value, dict):
        return any(_has_surrogate(key) or _has_surrogate(inner) for key, inner in value.items())
    return isinstance(value, list) and any(_has_surrogate(inner) for inner in value)


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return f"an object with {len(value)} {'key' if len(value) == 1 else 'keys'}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return {"string": "text", "null": "null"}.get(json_type(value), f"a {json_type(value)}")


def _path(steps: tuple[str | int, ...]) -> str:
    path = ""
    for step in steps:
        path = place_of(path, step) if isinstance(step, int) else inside(path, step)
    return path
