"""Which reviewers there are, what each accepts, and how one is asked.

A reviewer is a function `(answer, expected, **parameters)` that returns True or False, a score from 0 to
1, or a Verdict. Around it stand its `Rules`: the parameters, a check for each, and whether it reads what
the case expects. The rules are asked when a dataset loads (`problems`), the function when an answer is
there (`review`). Judges keep their rules here too; how they are asked is their own affair.

A missing answer meets no reviewer: none is asked about it. Empty text is an answer. A score passes at `threshold`,
which every reviewer takes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .jsontext import fingerprint
from .jsonvalues import is_missing
from .limits import TooCostly
from .masking import masked_fields
from .nearmiss import did_you_mean
from .records import Verdict
from .review_checks import Check, anything, shown, threshold_check

NO_ANSWER = Verdict(False, 0.0, "there is no answer")
_LONGEST_SHOWN = 200  # characters of a parameter that is stored with a verdict


class ReviewerError(ValueError):
    """A reviewer that could not reach a verdict: it raised, took too long, or returned no score from 0 to 1."""


class _Absent:
    """Stands for an expected value that was not given; None is JSON's null."""

    def __repr__(self) -> str:
        return "None"


ABSENT: Any = _Absent()
Clauses = Callable[[Mapping[str, Any]], Iterable[str]]
Clause = bool | Callable[[Mapping[str, Any]], bool]  # a rule that holds or not, or by the parameters


@dataclass(frozen=True)
class Rules:
    """What one reviewer accepts.

    `parameters` maps each name to its check, `required` are those without a default. `reads_expected`:
    what the case expects is looked at; `needs_expected`: it must be there, and `check_expected` says what
    it may be. Both may depend on the parameters. `together` checks what no parameter shows alone. `takes_any`:
    further parameters are passed on.
    """

    name: str
    parameters: Mapping[str, Check] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    kind: str = "program"
    reads_expected: Clause = False
    needs_expected: Clause = False
    check_expected: Check = anything
    together: Clauses | None = None
    takes_any: bool = False
    threshold: float = 1.0
    built_in: bool = True
    function: Callable[..., Any] | None = None

    def accepted(self) -> dict[str, Check]:
        """Every parameter that a spec may hold, with its check."""
        expected = {"expected": anything} if self.reads_expected else {}
        return {"threshold": threshold_check, **self.parameters, **expected}

    def problems(self, expected: Any, parameters: Mapping[str, Any]) -> list[str]:
        """Every fault of the parameters (and of what is expected), each a sentence; [] where there is none."""
        accepted = self.accepted()
        found = [] if self.takes_any else [self._unknown(key) for key in parameters if key not in accepted]
        found += [f"{key} is missing" for key in sorted(self.required - set(parameters))]
        for key, check in accepted.items():
            clause = check(parameters[key]) if key in parameters else None
            if clause is not None:
                found.append(f"{key} {clause}")
        if expected is ABSENT and holds(self.needs_expected, parameters):
            found.append("expected is missing: the case, or the reviewer itself, must say what is expected")
        elif expected is not ABSENT and holds(self.reads_expected, parameters):
            clause = self.check_expected(expected)
            found += [] if clause is None else [f"expected {clause}"]
        if self.together is not None and not found:
            found += self.together(parameters)
        return [f"{self.name}: {clause}" for clause in found]

    def _unknown(self, key: Any) -> str:
        accepted = sorted(self.accepted())
        return f"unknown parameter {key!r}.{did_you_mean(str(key), accepted)} It takes: {', '.join(accepted)}"

    def ask(self, answer: str | None, expected: Any, parameters: Mapping[str, Any]) -> Verdict:
        """The verdict on one answer. Parameters are taken to be right; whatever the function raises passes through."""
        if self.function is None:
            raise ReviewerError(f"{self.name} is a judge: it has to ask a model, so it cannot be called here")
        if is_missing(answer):
            return NO_ANSWER
        if not isinstance(answer, str):
            raise TypeError(f"{self.name}: the answer must be text or None, got {shown(answer)}")
        given = dict(parameters)
        threshold = given.get("threshold", self.threshold)
        if "threshold" not in self.parameters:
            given.pop("threshold", None)
        wanted = [None if expected is ABSENT else expected] if self.reads_expected else []
        return self._verdict(self.function(answer, *wanted, **given), threshold)

    def mode(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """How this reviewer judges with these parameters: theirs, and what evalkit's own takes where they say nothing.

        A long value is its fingerprint, a secret is masked.
        """
        own = inspect.signature(self.function).parameters.values() if self.built_in and self.function else ()
        defaults = {p.name: p.default for p in own if p.name in self.parameters and p.default not in (p.empty, None)}
        mode = masked_fields({**defaults, "threshold": self.threshold, **parameters})
        texts = {name: repr(value) for name, value in mode.items()}
        return {name: mode[name] if len(text) <= _LONGEST_SHOWN else fingerprint(text) for name, text in texts.items()}

    def _verdict(self, result: Any, threshold: float) -> Verdict:
        verdict = result if isinstance(result, Verdict) else self._scored(result)
        if verdict.score is None:
            if verdict.passed is None:
                raise ReviewerError(f"{self.name} reached no verdict: {verdict.reason}")
            return replace(verdict, score=1.0 if verdict.passed else 0.0)
        if verdict.passed is not None:
            return verdict
        reason = f"{verdict.reason}; passes from {threshold:g}" if 0 < verdict.score < 1 else verdict.reason
        return replace(verdict, passed=verdict.score >= threshold, reason=reason)

    def _scored(self, result: Any) -> Verdict:
        value = result.item() if hasattr(result, "item") else result  # numpy's numbers too
        if not isinstance(value, bool | int | float):
            allowed = "True or False, a score from 0 to 1, or a Verdict"
            raise ReviewerError(f"{self.name} returned {shown(result)}; a reviewer returns {allowed}")
        if not 0 <= value <= 1:
            raise ReviewerError(f"{self.name} returned {value!r}; a score must be from 0 to 1")
        said = str(value) if isinstance(value, bool) else f"{value:g}"
        return Verdict(None, float(value), f"{self.name} returned {said}")


def holds(clause: Clause, parameters: Mapping[str, Any]) -> bool:
    """Whether a rule holds for these parameters."""
    return clause(parameters) if callable(clause) else clause


_known: dict[str, Rules] = {}
_YOUR_OWN = "Your own? Define it with @ek.reviewer in Python before the dataset loads, and run it with ek.run."


def register(rules: Rules) -> None:
    """Add a reviewer or a judge. A reviewer of one's own may be defined again (a cell is run twice).

    Raises ValueError where the name is blank or belongs to a reviewer that comes with evalkit.
    """
    if not isinstance(rules.name, str) or not rules.name.strip() or rules.name != rules.name.strip():
        raise ValueError(f"a reviewer's name must be text without white space around it, got {rules.name!r}")
    before = _known.get(rules.name)
    if before is not None and before.built_in and not rules.built_in:
        raise ValueError(f"the reviewer {rules.name!r} comes with evalkit. Give yours another name: @reviewer(name=…)")
    _known[rules.name] = rules


def names() -> list[str]:
    """The names of all reviewers and judges, in alphabetical order."""
    return sorted(_known)


def is_judge(spec: str | Mapping[str, Any]) -> bool:
    """Whether `spec` names a judge, which has to ask a model. False for an unknown name."""
    rules = _rules_of(spec)
    return rules is not None and rules.kind == "judge"


def reads_expected(spec: str | Mapping[str, Any]) -> bool:
    """Whether this reviewer looks at what the case expects; not where the spec brings an `expected` of its own."""
    rules = _rules_of(spec)
    _, parameters = _taken_apart(spec)
    return rules is not None and "expected" not in parameters and holds(rules.reads_expected, parameters)


def problems(spec: str | Mapping[str, Any], expected: Any = None) -> list[str]:
    """Everything that is wrong with `spec` for a case that expects `expected` (None: nothing), each a sentence."""
    name, parameters = _taken_apart(spec)
    if not isinstance(name, str):
        return [f'a reviewer is a name or {{"reviewer": name, …parameters}}, got {shown(spec)}']
    rules = _known.get(name)
    if rules is None:
        return [f"unknown reviewer {name!r}.{did_you_mean(name, names())} Known: {', '.join(names())}. {_YOUR_OWN}"]
    return rules.problems(_expected_of(parameters, expected), parameters)


def review(spec: str | Mapping[str, Any], answer: str | None, expected: Any = None) -> Verdict:
    """The verdict of the reviewer that `spec` names on `answer`; the spec's `expected` goes before the case's.

    Its `details` hold the `parameters` that it judged by (see `Rules.mode`).

    Raises ReviewerError where there can be no verdict: a wrong spec, or a reviewer that raises.
    """
    found = problems(spec, expected)
    if found:
        raise ReviewerError("; ".join(found))
    name, parameters = _taken_apart(spec)
    rest = {key: value for key, value in parameters.items() if key != "expected"}
    try:
        verdict = _known[name].ask(answer, _expected_of(parameters, expected), rest)
    except ReviewerError:
        raise
    except TooCostly as error:
        raise ReviewerError(f"{name}: {error}") from None
    except Exception as error:
        raise ReviewerError(f"{name} raised {type(error).__name__}: {error}") from error
    return replace(verdict, details={**verdict.details, "parameters": mode_of(spec)})


def mode_of(spec: str | Mapping[str, Any]) -> dict[str, Any]:
    """How the reviewer that `spec` names judges, as it is stored with its verdict (see `Rules.mode`)."""
    name, parameters = _taken_apart(spec)
    return _known[name].mode(parameters)


def _taken_apart(spec: Any) -> tuple[Any, dict[str, Any]]:
    if isinstance(spec, Mapping):
        return spec.get("reviewer"), {key: value for key, value in spec.items() if key != "reviewer"}
    return spec, {}


def _rules_of(spec: Any) -> Rules | None:
    name, _ = _taken_apart(spec)
    return _known.get(name) if isinstance(name, str) else None


def _expected_of(parameters: Mapping[str, Any], expected: Any) -> Any:
    return parameters.get("expected", ABSENT if expected is None else expected)


def register_judge(
    name: str,
    parameters: Mapping[str, Check],
    *,
    required: Iterable[str] = (),
    reads_expected: Clause = False,
    needs_expected: Clause = False,
    check_expected: Check = anything,
    together: Clauses | None = None,
    threshold: float = 1.0,
) -> None:
    """Register a judge's name and the rules of its parameters; see `Rules` for what each means."""
    rules = Rules(name, dict(parameters), frozenset(required), kind="judge", threshold=threshold, together=together)
    reads = reads_expected or needs_expected
    register(replace(rules, reads_expected=reads, needs_expected=needs_expected, check_expected=check_expected))
