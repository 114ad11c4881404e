"""One trial of one case as a person reads it: what was asked, what was expected, what came, and why it scored so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .case_comparison import ArgumentRow, compare_case
from .jsontext import JsonTextError, read, write
from .messages import with_prompt

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class CaseView:
    """A row of a results frame, its JSON read, beside the messages that were sent and what people said of it."""

    row: Mapping[str, Any]
    messages: tuple[Mapping[str, Any], ...]
    annotations: tuple[Mapping[str, Any], ...] = ()
    arguments: tuple[ArgumentRow, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "arguments", _arguments(self.row))

    @property
    def verdict(self) -> str:
        """passed, failed or error."""
        passed = self.row.get("passed")
        return "error" if passed is None else "passed" if passed else "failed"

    @property
    def tags(self) -> list[str]:
        return [str(tag) for tag in read_list(self.row.get("tags"))]

    @property
    def is_answer(self) -> bool:
        """Whether an answer in text was wanted, not a tool."""
        return self.row.get("kind") == "final_answer"

    @property
    def expected(self) -> str:
        """What would have been right, in words: the expected tool and the secondary ones, or the expected answer."""
        if self.is_answer:
            return text_of(self.row.get("expected")) or "what the reviewers below ask for"
        others = [
            text_of(one.get("tool") if isinstance(one, dict) else one)
            for one in read_list(self.row.get("secondary_tools"))
        ]
        tool = _tool(self.row.get("expected_tool"))
        return f"{tool}; for half the score {' or '.join(map(_tool, others))}" if others else tool

    @property
    def actual(self) -> str:
        """What came, in words: the tool called, or the answer itself."""
        called = self.row.get("actual_tool")
        if self.is_answer and called in (None, "none"):
            return text_of(self.row.get("answer"))
        return "nothing that could be scored" if self.verdict == "error" and called is None else _tool(called)

    @property
    def calls(self) -> list[str]:
        """Every call that came, as one line of text each."""
        return [
            f"{text_of(call.get('name'))}({_as_text(call.get('arguments'))})"
            for call in read_list(self.row.get("tool_calls"))
            if isinstance(call, dict)
        ]

    @property
    def reviews(self) -> list[Mapping[str, Any]]:
        return [one for one in read_list(self.row.get("reviews")) if isinstance(one, dict)]


def views_of(
    rows: pd.DataFrame,
    prompt_of: Callable[[str], str | None],
    annotations: Mapping[Any, Sequence[Mapping[str, Any]]],
) -> Iterator[CaseView]:
    """A view of each row. `prompt_of` gives the system prompt of a run, `annotations` hold those of each key."""
    for values in rows.to_dict("records"):
        row = {str(name): _known(value) for name, value in values.items()}
        said = [
            {str(name): _known(value) for name, value in one.items()}
            for one in annotations.get((row["run_id"], row["case_id"], row["trial"]), ())
        ]
        yield CaseView(row, messages_of(row.get("input"), prompt_of(row["run_id"])), tuple(said))


def messages_of(input: Any, system_prompt: str | None) -> tuple[Mapping[str, Any], ...]:
    """The messages that were sent for the `input` of a results frame: text, or a dialogue as JSON."""
    if not isinstance(input, str):
        return ()
    dialogue = [one for one in read_list(input) if isinstance(one, dict) and "role" in one]
    return tuple(with_prompt(tuple(dialogue) or input, system_prompt))


def read_list(text: Any) -> list[Any]:
    """The list in a JSON column; [] where there is none."""
    try:
        found = read(text) if isinstance(text, str) else None
    except JsonTextError:
        return []
    return found if isinstance(found, list) else []


def text_of(value: Any) -> str:
    """A value of a row as text; "" where there is none."""
    return "" if value is None else str(value)


def content_of(message: Mapping[str, Any]) -> str:
    """What a message says: its text, its parts and its calls."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    said = [part if isinstance(part, str) else _part(part) for part in parts if part is not None]
    calls = [call.get("function", call) for call in message.get("tool_calls") or () if isinstance(call, dict)]
    said += [f"→ {text_of(call.get('name'))}({_as_text(call.get('arguments'))})" for call in calls]
    return "\n".join(said)


def _part(part: Any) -> str:
    text = part.get("text") if isinstance(part, dict) else None
    return text if isinstance(text, str) else _as_text(part)


def _arguments(row: Mapping[str, Any]) -> tuple[ArgumentRow, ...]:
    import pandas as pd

    if row.get("kind") == "final_answer":
        return ()
    return compare_case(pd.Series({"status": "added"}), None, row).arguments


def _tool(name: Any) -> str:
    words = {None: "not known", "": "not known", "none": "no tool (an answer in text)", "any": "some tool, whichever"}
    return words.get(name, text_of(name))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else write(value)


def _known(value: Any) -> Any:
    """The value, or None where the frame has none."""
    import pandas as pd

    return None if pd.api.types.is_scalar(value) and pd.isna(value) else value
