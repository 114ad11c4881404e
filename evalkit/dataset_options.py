"""What stands around the cases of a dataset in its full form: names, prompt, defaults, reviewers for all cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import reviewers
from .case_fields import SETTINGS, read_choice, read_reviewers, read_tags
from .jsonvalues import plain
from .nearmiss import did_you_mean

OPTIONS = ("name", "description", "system_prompt", "tools", "reviewers", "defaults", "cases")
DEFAULTS = (*SETTINGS, "tags")


@dataclass
class Options:
    """The options of a dataset in plain values, absent ones None; `problems` are (option, sentence)."""

    name: str | None = None
    description: str | None = None
    system_prompt: str | None = None
    tools: Any = None
    reviewers: tuple[dict[str, Any], ...] = ()
    defaults: dict[str, Any] = field(default_factory=dict)
    problems: list[tuple[str, str]] = field(default_factory=list)


def read_options(given: Mapping[Any, Any]) -> Options:
    """The options of a dataset, and everything that is wrong with them."""
    options = Options(tools=given.get("tools"))
    for key in given:
        if key not in OPTIONS:
            hint = did_you_mean(str(key), OPTIONS) or f" A dataset takes: {', '.join(OPTIONS)}"
            options.problems.append((str(key), f"unknown key {key!r}.{hint}"))
    for name in ("name", "description", "system_prompt"):
        value = given.get(name)
        if value is None:
            continue
        if not isinstance(value, str) or not value.strip():
            options.problems.append((name, f"`{name}` must be text that is not blank, got {value!r:.60}"))
        else:
            setattr(options, name, plain(value))
    if given.get("defaults") is not None:
        _read_defaults(given["defaults"], options)
    if given.get("reviewers") is not None:
        _read_reviewers(given["reviewers"], options)
    return options


def _read_defaults(given: Any, options: Options) -> None:
    if not isinstance(given, Mapping):
        options.problems.append(("defaults", f"`defaults` must be an object, got {given!r:.60}"))
        return
    for key, value in given.items():
        if key not in DEFAULTS:
            hint = did_you_mean(str(key), DEFAULTS) or f" It takes: {', '.join(DEFAULTS)}"
            options.problems.append(("defaults", f"`defaults`: unknown key {key!r}.{hint}"))
        elif value is not None:
            read, found = read_tags(value) if key == "tags" else read_choice(key)(value)
            options.problems += [("defaults", f"`defaults`: `{key}` {problem}") for problem in found]
            options.defaults.update({} if found else {key: read})


def _read_reviewers(given: Any, options: Options) -> None:
    specs, found = read_reviewers(given)
    problems = [f"`reviewers` {problem}" for problem in found]
    problems += [f"`reviewers`: {problem}" for spec in specs for problem in _faults(spec)]
    options.problems += [("reviewers", problem) for problem in problems]
    options.reviewers = () if problems else specs


def _faults(spec: Mapping[str, Any]) -> list[str]:
    """What is wrong with a spec whatever a case expects; the rest is said of each case."""
    first, *others = (reviewers.problems(spec, expected) for expected in (None, "text", {"key": 1}, 1))
    return [problem for problem in first if all(problem in other for other in others)]
