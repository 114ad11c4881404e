"""What each field of a case may be: read into plain values, with everything that is wrong said in sentences.

Absent and null are the same in every field. What the fields mean together is for `case_rules`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .jsonvalues import NotJsonError, plain
from .matcher_checks import argument_problems
from .messages import read_input, shown
from .nearmiss import did_you_mean

LONGEST_ID = 200  # characters
OTHER_SPELLINGS = {"expected_parameters": "expected_arguments"}
CHOICES = {
    "kind": ("tool_choice", "final_answer"),
    "calls": ("first", "any", "only"),
    "extra_arguments": ("declared", "none", "any"),
    "text_calls": ("reject", "accept"),
}
BUILT_IN_DEFAULTS = {"calls": "first", "extra_arguments": "declared", "text_calls": "reject"}
SETTINGS = tuple(BUILT_IN_DEFAULTS)

Read = tuple[Any, list[str]]


def read_fields(given: Mapping[Any, Any]) -> tuple[dict[str, Any], list[str]]:
    """The fields of a case in plain values, absent and broken ones left out, and everything that is wrong with them."""
    fields: dict[str, Any] = {}
    problems = [_unknown(key) for key in given if key not in FIELDS and key not in OTHER_SPELLINGS]
    for key, value in given.items():
        name = OTHER_SPELLINGS.get(key, key)
        if value is None or name not in FIELDS:
            continue
        if key != name and given.get(name) is not None:
            problems.append(f"`{key}` is another spelling of `{name}`: give one of them")
            continue
        read, found = _READERS[name](value)
        problems += [problem if problem.startswith(f"`{name}`") else f"`{name}` {problem}" for problem in found]
        if not found:
            fields[name] = read
    if given.get("input") is None:
        problems.append("it has no `input`")
    return fields, problems


def read_choice(name: str) -> Callable[[Any], Read]:
    """A reader for a field that takes one of a few words."""

    def read(value: Any) -> Read:
        if isinstance(value, str) and value in CHOICES[name]:
            return value, []
        hint = did_you_mean(value, CHOICES[name]) if isinstance(value, str) else ""
        return None, [f"must be one of {', '.join(CHOICES[name])}, got {value!r}.{hint}"]

    return read


def read_tags(value: Any) -> Read:
    """A list of words, each once, in order."""
    if not isinstance(value, list | tuple):
        return (), [f'must be a list such as ["billing", "urgent"], got {shown(value)}']
    bad = [tag for tag in value if not isinstance(tag, str) or not tag.strip() or _has_control(tag)]
    if bad:
        return (), [f"must hold words on one line, got {shown(bad[0])}"]
    return tuple(dict.fromkeys(plain(tag.strip()) for tag in value)), []


def read_reviewers(value: Any) -> Read:
    """A list of specs, each as {"reviewer": name, …parameters}."""
    if not isinstance(value, list | tuple):
        return (), [f'must be a list such as ["exact_match"], got {shown(value)}']
    specs: list[dict[str, Any]] = []
    problems = []
    for number, item in enumerate(value, 1):
        try:
            spec = {"reviewer": item} if isinstance(item, str) else plain(item)
        except NotJsonError as error:
            problems.append(f"{number}: {error}")
            continue
        if not isinstance(spec, dict) or not isinstance(spec.get("reviewer"), str):
            said = 'each is a name or {"reviewer": name, …parameters}'
            keys = spec if isinstance(spec, dict) else ()
            hint = next(
                (f" Did you mean 'reviewer' for {key!r}?" for key in keys if did_you_mean(key, ["reviewer"])), ""
            )
            problems.append(f"{number}: {said}, got {shown(item)}.{hint}")
        elif spec not in specs:
            specs.append(spec)
    return tuple(specs), problems


def read_name(value: Any) -> Read:
    """Text on one line; a whole number becomes its digits, so that an id 7 is the id "7"."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value), []
    if not isinstance(value, str):
        return None, [f"must be text, got {shown(value)}"]
    text = plain(value.strip())
    if not text:
        return None, ["is blank"]
    if _has_control(text):
        return None, [f"has a line break or control character in it: {value!r}"]
    return text, [] if len(text) <= LONGEST_ID else [f"is over {LONGEST_ID} characters long"]


def _has_control(text: str) -> bool:
    return any(unicodedata.category(letter) in ("Cc", "Zl", "Zp") for letter in text)


def _read_tool(value: Any) -> Read:
    if not isinstance(value, str) or not value.strip():
        return None, [f'must be a tool\'s name, "none" or "any", got {shown(value)}']
    return plain(value), [f"{value!r} has white space around it"] if value != value.strip() else []


def _read_secondary(value: Any) -> Read:
    if not isinstance(value, list | tuple):
        return (), [f'must be a list such as ["list_files"], got {shown(value)}']
    tools: list[dict[str, Any]] = []
    problems = []
    for number, item in enumerate(value, 1):
        tool, found = _read_secondary_tool(item)
        problems += [f"{number}: {problem}" for problem in found]
        if tool is not None:
            tools.append(tool)
    return tuple(tools), problems


def _read_secondary_tool(item: Any) -> tuple[dict[str, Any] | None, list[str]]:
    if not isinstance(item, Mapping):
        name, found = _read_tool(item)
        return {"tool": name, "arguments": None}, found
    problems = [
        f"unknown key {key!r}.{did_you_mean(str(key), ('tool', 'arguments'))} It takes: tool, arguments"
        for key in item
        if key not in ("tool", "arguments")
    ]
    name, found = (None, []) if problems and "tool" not in item else _read_tool(item.get("tool"))
    arguments, wrong = (None, []) if item.get("arguments") is None else _read_arguments(item["arguments"])
    return {"tool": name, "arguments": arguments}, [*problems, *found, *wrong]


def _read_arguments(value: Any) -> Read:
    if not isinstance(value, Mapping):
        return None, [f'must be an object such as {{"path": "Cargo.toml"}}, got {shown(value)}']
    try:
        arguments = plain(value)
    except NotJsonError as error:
        return None, [str(error)]
    found = argument_problems(arguments)
    return arguments, [f"hold a matcher: {p}" if p.startswith("$") else f"at {p}" for p in found]


def _read_expected(value: Any) -> Read:
    try:
        return plain(value), []
    except NotJsonError as error:
        return None, [str(error)]


def _read_notes(value: Any) -> Read:
    return (plain(value), []) if isinstance(value, str) else (None, [f"must be text, got {shown(value)}"])


def _unknown(key: Any) -> str:
    hint = did_you_mean(str(key), (*FIELDS, *OTHER_SPELLINGS))
    return f"unknown key {key!r}.{hint}" if hint else f"unknown key {key!r}. A case takes: {', '.join(FIELDS)}"


_READERS: dict[str, Callable[[Any], Read]] = {
    "input": read_input,
    "expected_tool": _read_tool,
    "secondary_tools": _read_secondary,
    "expected_arguments": _read_arguments,
    "extra_arguments": read_choice("extra_arguments"),
    "calls": read_choice("calls"),
    "text_calls": read_choice("text_calls"),
    "expected": _read_expected,
    "reviewers": read_reviewers,
    "tags": read_tags,
    "cluster": read_name,
    "notes": _read_notes,
    "id": read_name,
    "kind": read_choice("kind"),
}
FIELDS: Iterable[str] = tuple(_READERS)
