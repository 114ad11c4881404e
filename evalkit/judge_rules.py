"""The four judges as reviewers that datasets name: their parameters, defaults, and what is wrong with a spec.

How a judge is asked stands in `judging`. A judge's spec never names an endpoint: a dataset must not decide where
keys and answers are sent.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from . import judge_prompts as prompts
from .nearmiss import did_you_mean
from .review_checks import Check, number, shown, some_text, whole_number
from .review_registry import register_judge

MAX_TOKENS = 1024  # of a judge's reply: a reason and a choice; a reasoning model needs more
_LONGEST_CHOICE = 60  # characters


@dataclass(frozen=True)
class JudgeKind:
    """A judge's defaults. `beside_expected` is the prompt where the case says what is expected."""

    prompt: str | None = None
    choice_scores: Mapping[str, float] | None = None
    criteria: str | None = None
    threshold: float = 1.0
    beside_expected: str | None = None

    def template(self, parameters: Mapping[str, Any], *, expected: bool) -> str | None:
        """The prompt that counts for these parameters."""
        default = self.beside_expected if expected and self.beside_expected else self.prompt
        template: str | None = parameters.get("prompt", default)
        return template


KINDS: Mapping[str, JudgeKind] = {
    "tone": JudgeKind(
        prompts.TONE,
        {"A": 1.0, "B": 0.5, "C": 0.0},
        criteria="A tone that suits what was said to the writer.",
    ),
    # An answer that leaves out or adds facts agrees with the expert all the same: it passes, with a lower score.
    "factuality": JudgeKind(prompts.FACTUALITY, {"A": 0.4, "B": 0.6, "C": 1.0, "D": 0.0, "E": 1.0}, threshold=0.4),
    "closed_qa": JudgeKind(
        prompts.CLOSED_QA,
        {"Y": 1.0, "N": 0.0},
        criteria="The answer does what the task asks for, correctly.",
        beside_expected=prompts.CLOSED_QA_BESIDE_EXPECTED,
    ),
    "judge": JudgeKind(),
}


def same_choice(text: str) -> str:
    """A choice as it is compared: without regard to case, full-width forms and the width of white space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def choice_scores_check(value: Any) -> str | None:
    """None for at least two choices that can be told apart, each with a score from 0 to 1."""
    if not isinstance(value, Mapping) or len(value) < 2:
        return f'must map two choices or more to scores, such as {{"A": 1, "B": 0}}, got {shown(value)}'
    seen: dict[str, str] = {}
    for choice, score in value.items():
        if not isinstance(choice, str) or not any(letter.isalnum() for letter in choice):
            return f"must have choices with a letter or digit in them, got {shown(choice)}"
        if choice != choice.strip() or not choice.isprintable() or len(choice) > _LONGEST_CHOICE:
            return (
                f"must have choices on one line, at most {_LONGEST_CHOICE} characters, without white space around "
                f"them, got {choice!r:.80}"
            )
        before = seen.setdefault(same_choice(choice), choice)
        if before is not choice:
            return f"has choices that differ only by case or form: {before!r} and {choice!r}"
        clause = number(score) or (None if 0 <= score <= 1 else f"must be from 0 to 1, got {shown(score)}")
        if clause is not None:
            return f"gives {choice!r} a score that {clause}"
    return None


def max_tokens_check(value: Any) -> str | None:
    """None for a whole number that leaves room for a reason and a choice."""
    return whole_number(value) or (None if value >= 16 else f"must be 16 or more, got {shown(value)}")


def model_check(value: Any) -> str | None:
    """None for the name of a model that can answer in text."""
    clause = some_text(value)
    if clause is None and value.strip() == "lexical":
        return "must name a model that can judge; lexical, the baseline, picks tools by likeness and reads nothing"
    return clause


def prompt_check(value: Any) -> str | None:
    """None for a prompt over the placeholders that there are, `{answer}` among them."""
    clause = some_text(value)
    if clause is not None:
        return clause
    found = prompts.placeholders(value)
    unknown = next((name for name in found if name not in prompts.PLACEHOLDERS), None)
    if unknown is not None:
        known = ", ".join(f"{{{name}}}" for name in prompts.PLACEHOLDERS)
        meant = did_you_mean(unknown, prompts.PLACEHOLDERS)
        return f"has an unknown placeholder {{{unknown}}}.{meant} Known: {known}. Doubled braces stand for themselves"
    if "answer" not in found:
        doubled = " In doubled braces it is plain text" if "{{answer}}" in value else ""
        return f"must have {{answer}} where the answer is to stand.{doubled}"
    return None


def _problems(kind: JudgeKind, parameters: Mapping[str, Any]) -> list[str]:
    """What no parameter shows alone; each is in order by itself."""
    found = []
    scores = parameters.get("choice_scores", kind.choice_scores)
    asked = prompts.placeholders(kind.template(parameters, expected=False) or "")
    if "criteria" in parameters and "criteria" not in asked:
        found.append("criteria are given, but the prompt has no {criteria} where they are to stand")
    if "criteria" in asked and kind.criteria is None and "criteria" not in parameters:
        found.append("criteria is missing: the prompt has {criteria}")
    if "prompt" not in parameters and kind.choice_scores and set(scores) != set(kind.choice_scores):
        named = ", ".join(kind.choice_scores)
        found.append(f"choice_scores must be for {named}, the choices in the default prompt. For others, give a prompt")
    threshold = parameters.get("threshold", kind.threshold)
    if scores and max(scores.values()) < threshold:
        found.append(f"no choice scores {threshold:g}, from which it passes, so no answer can pass: set threshold")
    return found


def _reads(kind: JudgeKind, parameters: Mapping[str, Any]) -> bool:
    template = kind.template(parameters, expected=True)
    return isinstance(template, str) and "expected" in prompts.placeholders(template)


def _needs(kind: JudgeKind, parameters: Mapping[str, Any]) -> bool:
    """An `expected` that only the prompt used beside one reads may be absent."""
    template = kind.template(parameters, expected=False)
    return isinstance(template, str) and "expected" in prompts.placeholders(template)


def _expected_check(value: Any) -> str | None:
    return some_text(value) if isinstance(value, str) else None


_CHECKS: Mapping[str, Check] = {
    "prompt": prompt_check,
    "choice_scores": choice_scores_check,
    "criteria": some_text,
    "model": model_check,
    "max_tokens": max_tokens_check,
}
for _name, _kind in KINDS.items():
    register_judge(
        _name,
        {name: check for name, check in _CHECKS.items() if name != "criteria" or _name != "factuality"},
        required=("prompt", "choice_scores") if _kind.prompt is None else (),
        reads_expected=partial(_reads, _kind),
        needs_expected=partial(_needs, _kind),
        check_expected=_expected_check,
        together=partial(_problems, _kind),
        threshold=_kind.threshold,
    )
