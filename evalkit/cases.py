"""`EvalCase`: one test, checked when it is made and never changed afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from . import case_fields, case_rules, jsontext
from .errors import DatasetError
from .jsonvalues import plain
from .messages import Messages, text_of, with_prompt
from .paths import slug

_LISTS = ("secondary_tools", "reviewers", "tags")
_NOT_CONTENT = ("id", "kind", "tags", "cluster", "notes")


@dataclass(frozen=True)
class SecondaryTool:
    """A tool that is acceptable too; its arguments are checked only where they are given."""

    tool: str
    arguments: dict[str, Any] | None = None

    def as_field(self) -> Any:
        """As a case file writes it: a name, or an object where arguments are given."""
        return self.tool if self.arguments is None else {"tool": self.tool, "arguments": plain(self.arguments)}


@dataclass(frozen=True)
class EvalCase:
    """One test: what is asked, and what is expected of the answer.

    `input` is text or a dialogue (messages). A tool choice has `expected_tool` (a name, "none" or "any"), and may
    have `secondary_tools`, `expected_arguments` and the settings `calls`, `extra_arguments` and `text_calls` (None:
    "first", "declared", "reject"). A final answer has `expected` or `reviewers`, or both. `kind` is worked out.
    Without `id` a case gets one made of its input, the same wherever in a file it stands and whatever it expects; a
    dataset in which several such cases share an input adds what tells them apart.

    Raises DatasetError with everything that is wrong.
    """

    input: str | Sequence[Mapping[str, Any]]
    expected_tool: str | None = None
    secondary_tools: Sequence[Any] = ()
    expected_arguments: Mapping[str, Any] | None = None
    extra_arguments: str | None = None
    calls: str | None = None
    text_calls: str | None = None
    expected: Any = None
    reviewers: Sequence[Any] = ()
    tags: Sequence[str] = ()
    cluster: str | None = None
    notes: str | None = None
    id: str = None  # type: ignore[assignment]  # set below, so that every case has one
    kind: str = None  # type: ignore[assignment]  # likewise

    def __post_init__(self) -> None:
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in _LISTS:
            given[name] = _as_in_file(given[name])
        self._fill(_settled(given))

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> EvalCase:
        """A case from the fields of a file. Raises DatasetError with everything that is wrong with them."""
        return build_case(mapping)

    def _fill(self, settled: Mapping[str, Any]) -> None:
        secondary = tuple(SecondaryTool(**tool) for tool in settled.get("secondary_tools", ()))
        for field in fields(self):
            value = settled.get(field.name, () if field.name in _LISTS else None)
            object.__setattr__(self, field.name, secondary if field.name == "secondary_tools" else value)

    def __hash__(self) -> int:
        return hash((self.id, self.case_hash))

    @property
    def case_id(self) -> str:
        """The id, under the name that it has in a results frame."""
        return self.id

    @cached_property
    def case_hash(self) -> str:
        """Twelve hexadecimal digits of what is asked and expected; id, tags, cluster and notes do not count."""
        content = {name: value for name, value in self.as_dict().items() if name not in _NOT_CONTENT}
        defaults = case_fields.BUILT_IN_DEFAULTS if self.kind == "tool_choice" else {}
        return jsontext.fingerprint({**defaults, **content})

    def messages(self, system_prompt: str | None = None) -> list[dict[str, Any]]:
        """The messages to send, copied; the system prompt goes first unless the dialogue begins with its own."""
        return with_prompt(_checked(self.input), system_prompt)

    @property
    def text(self) -> str:
        """The words of the input: its text, or what the user says in a dialogue."""
        return text_of(_checked(self.input))

    def as_dict(self) -> dict[str, Any]:
        """The case as a file writes it, absent fields left out; `from_dict` gives the same case back."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values["secondary_tools"] = [tool.as_field() for tool in self.secondary_tools]
        said = {name: value for name, value in values.items() if not (name in _LISTS and not value)}
        return {name: plain(value) for name, value in said.items() if value is not None}


def build_case(
    mapping: Mapping[str, Any],
    defaults: Mapping[str, Any] | None = None,
    reviewers: Iterable[Mapping[str, Any]] = (),
) -> EvalCase:
    """A case from the fields of a file, with what the dataset says for all of its cases.

    Raises DatasetError with everything that is wrong.
    """
    if not isinstance(mapping, Mapping):
        raise DatasetError(f"a case is an object with `input` and what is expected, got {mapping!r:.60}")
    case = object.__new__(EvalCase)
    case._fill(_settled(mapping, defaults or {}, reviewers))
    return case


def _settled(
    mapping: Mapping[str, Any],
    defaults: Mapping[str, Any] | None = None,
    reviewers: Iterable[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    settled, problems = case_fields.read_fields(mapping)
    if not problems:
        settled.setdefault("id", stable_id(settled["input"]))
    case_rules.settle(settled, reviewers)
    for name, value in (defaults or {}).items():
        if name == "tags" or settled["kind"] == "tool_choice":
            settled.setdefault(name, value)
    problems += case_rules.problems_of(settled, whole=not problems)
    if problems:
        raise DatasetError(problems)
    return settled


def stable_id(input: Any) -> str:
    """An id made of what is asked alone, so that a change of what is expected keeps it: its words and its hash."""
    return _id_of_words(input, jsontext.fingerprint(input))


def told_apart(cases: Sequence[EvalCase | None]) -> list[EvalCase | None]:
    """The cases, automatic ids that several of them share replaced by ids that are made of all of their content.

    Cases of the same content still share one afterwards.
    """
    counts = Counter(case.id for case in cases if case is not None)
    return [case if case is None or counts[case.id] == 1 else _by_content(case) for case in cases]


def _by_content(case: EvalCase) -> EvalCase:
    if case.id != stable_id(case.input):
        return case
    return replace(case, id=_id_of_words(case.input, case.case_hash))


def _id_of_words(input: Any, mark: str) -> str:
    return f"{slug(text_of(input)) or 'case'}-{mark[:8]}"


def _as_in_file(values: Any) -> Any:
    """A constructor's list as a file would hold it: no tags at all are absent tags, secondary tools are objects."""
    if not isinstance(values, list | tuple):
        return values
    return [item.as_field() if isinstance(item, SecondaryTool) else item for item in values] or None


def _checked(input: Any) -> Messages:
    checked: Messages = input
    return checked
