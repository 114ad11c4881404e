"""How a function becomes a reviewer: its signature read as rules, and the form in which notebooks call it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, overload

from .records import Verdict
from .review_checks import Check, anything, check_for, threshold_check
from .review_registry import ABSENT, Clauses, Rules, register

GRADED_THRESHOLD = 0.8  # where a reviewer of one's own passes unless it says otherwise


def callable_form(rules: Rules) -> Callable[..., Verdict]:
    """The function `NAME(answer, expected=None, **parameters) -> Verdict` that notebooks call.

    It raises TypeError for a parameter that is unknown or missing, ValueError for a value that is not allowed.
    """
    assert rules.function is not None  # noqa: S101
    function = rules.function

    @functools.wraps(function)
    def call(answer: str | None, expected: Any = ABSENT, **parameters: Any) -> Verdict:
        missing = rules.required - set(parameters) or (rules.needs_expected and expected is ABSENT)
        unknown = set() if rules.takes_any else set(parameters) - set(rules.accepted())
        found = rules.problems(expected, parameters)
        if found:
            raise (TypeError if missing or unknown else ValueError)("; ".join(found))
        return rules.ask(answer, expected, parameters)

    keyword = inspect.Parameter.KEYWORD_ONLY
    either = inspect.Parameter.POSITIONAL_OR_KEYWORD
    own = [p for p in _signature(function).parameters.values() if p.name in rules.parameters]
    shown_parameters = [inspect.Parameter("answer", either), inspect.Parameter("expected", either, default=None)]
    shown_parameters += [p.replace(kind=keyword) for p in own]
    if "threshold" not in rules.parameters:
        shown_parameters.append(inspect.Parameter("threshold", keyword, default=rules.threshold))
    call.__dict__["__signature__"] = inspect.Signature(shown_parameters, return_annotation=Verdict)
    return call


@overload
def reviewer(function: Callable[..., Any], /) -> Callable[..., Verdict]: ...
@overload
def reviewer(
    *, name: str | None = None, threshold: float = GRADED_THRESHOLD
) -> Callable[[Callable[..., Any]], Callable[..., Verdict]]: ...


def reviewer(
    function: Callable[..., Any] | None = None, /, *, name: str | None = None, threshold: float = GRADED_THRESHOLD
) -> Any:
    """Make a function a reviewer that datasets can name: `@reviewer` or `@reviewer(name=…, threshold=…)`.

    The function takes `(answer, expected, **parameters)`, or `(answer, **parameters)` where it does not look at
    what is expected, and returns True or False, a score from 0 to 1, or a Verdict. What it declares beside
    `answer` and `expected` are its parameters; one without a default must be given. A parameter annotated as
    `str`, `bool`, `int` or `float` is checked when the dataset loads.

    Raises TypeError for a function that cannot be a reviewer, ValueError for a name that is taken.
    """
    if function is None:
        return lambda decorated: _own(decorated, name, threshold)
    return _own(function, name, threshold)


def _own(function: Callable[..., Any], name: str | None, threshold: float) -> Callable[..., Verdict]:
    if not callable(function) or inspect.iscoroutinefunction(function):
        raise TypeError(f"a reviewer is a plain function (answer, expected, **parameters), got {function!r}")
    clause = threshold_check(threshold)
    if clause is not None:
        raise ValueError(f"threshold {clause}")
    rules = declared(function, name or str(getattr(function, "__name__", "")))
    rules = replace(rules, threshold=threshold, built_in=False)
    register(rules)
    return callable_form(rules)


def declared(function: Callable[..., Any], name: str) -> Rules:
    """The rules that a function's own signature states: its parameters, which are required, their plain types.

    Raises TypeError where `answer` cannot be passed by position or `expected` not as the second.
    """
    signature = _signature(function)
    every = list(signature.parameters.values())
    by_position = [p for p in every if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    places = [p.name for p in by_position]
    reads = "expected" in signature.parameters
    if not places or (reads and places[1:2] != ["expected"]) or any(p.kind is p.VAR_POSITIONAL for p in every):
        raise TypeError(f"the reviewer {name!r} must take (answer, expected, **parameters), got {name}{signature}")
    own = [p for p in every[2 if reads else 1 :] if p.kind is not p.VAR_KEYWORD]
    if any(p.name == "reviewer" for p in own):
        raise TypeError(
            f"the reviewer {name!r} must not have a parameter called 'reviewer': datasets name it by that key"
        )
    return Rules(
        name,
        {p.name: check_for(p.annotation) for p in own},
        frozenset(p.name for p in own if p.default is p.empty),
        reads_expected=reads,
        takes_any=any(p.kind is p.VAR_KEYWORD for p in every),
        function=function,
    )


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function, eval_str=True)
    except Exception:  # an annotation that cannot be evaluated says nothing about plain types
        return inspect.signature(function)


def built_in(
    *,
    checks: Mapping[str, Check] | None = None,
    needs_expected: bool = False,
    check_expected: Check = anything,
    together: Clauses | None = None,
    threshold: float = 1.0,
) -> Callable[[Callable[..., Any]], Callable[..., Verdict]]:
    """Register a function of evalkit's own as a reviewer; `checks` goes before what its annotations say."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Verdict]:
        rules = declared(function, function.__name__)
        rules = replace(rules, parameters={**rules.parameters, **(checks or {})}, threshold=threshold)
        rules = replace(rules, needs_expected=needs_expected, check_expected=check_expected, together=together)
        register(rules)
        return callable_form(rules)

    return decorate
