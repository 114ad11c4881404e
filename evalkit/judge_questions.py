"""A reviewer's spec and a trial → the question for a judge, and the verdict that a choice means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from . import judge_prompts as prompts
from .jsontext import fingerprint
from .judge_rules import KINDS, MAX_TOKENS
from .records import Verdict
from .review_registry import mode_of


@dataclass(frozen=True)
class Question:
    """What one judge is asked of one answer, and what its choices are worth."""

    reviewer: str
    template: str
    texts: Mapping[str, str]
    scores: Mapping[str, float]
    threshold: float
    max_tokens: int
    model: str | None = None  # the judge that the spec names
    parameters: Mapping[str, Any] = field(default_factory=dict)  # that are stored with the verdict

    @property
    def choices(self) -> tuple[str, ...]:
        """The choices in their order."""
        return tuple(self.scores)

    @cached_property
    def messages(self) -> list[dict[str, str]]:
        """The messages, without the words on how to reply."""
        return prompts.question(self.template, self.texts)

    @cached_property
    def prompt_hash(self) -> str:
        """Fingerprint of what the judge is told, the same for all cases that are asked alike."""
        return prompts.prompt_hash(self.template, self.choices, self.texts.get("criteria"))

    @cached_property
    def request_hash(self) -> str:
        """Fingerprint of this very question. Scores are no part of it: the judge does not see them."""
        return fingerprint([self.messages, list(self.choices)])

    def verdict(self, choice: str, reason: str, details: Mapping[str, Any]) -> Verdict:
        """The verdict that a choice means."""
        score = float(self.scores[choice])
        passed = score >= self.threshold
        worth = f"{choice} ({score:g}{'' if passed or score == 0 else f', passes from {self.threshold:g}'})"
        said = f"{worth}: {reason}" if reason else worth
        known = {"choice": choice, "judge_reason": reason, "parameters": dict(self.parameters)}
        hashes = {"prompt_hash": self.prompt_hash, "request_hash": self.request_hash}
        return Verdict(passed, score, said, details={**known, **hashes, **details})

    def kept(self, review: Mapping[str, Any], model: str) -> Verdict | None:
        """The verdict of a stored review, where this very question was put to that model; by today's scores."""
        same = review.get("request_hash") == self.request_hash and review.get("judge_model") == model
        if not same or review.get("error_kind") or review.get("choice") not in self.scores:
            return None
        details = {key: review.get(key) for key in KEPT if key in review}
        return self.verdict(review["choice"], review.get("judge_reason") or "", details)


KEPT = ("judge_model", "self_judged", "form", "reply", "attempts", "input_tokens", "output_tokens", "cost_usd")


def question_of(spec: Mapping[str, Any], answer: str | None, *, input: Any = None, expected: Any = None) -> Question:
    """The question of a judge's spec (which is in order) about an answer. The spec's `expected` goes first."""
    kind = KINDS[spec["reviewer"]]
    expected = spec.get("expected", expected)
    template = kind.template(spec, expected=expected is not None) or ""
    texts = {
        "input": prompts.text_of_input(input),
        "answer": answer or "",
        "expected": prompts.NOT_GIVEN if expected is None else prompts.text_of_expected(expected),
        "criteria": spec.get("criteria", kind.criteria) or prompts.NOT_GIVEN,
    }
    wanted = prompts.placeholders(template)
    return Question(
        reviewer=spec["reviewer"],
        template=template,
        texts={name: texts[name] for name in wanted},
        scores=spec.get("choice_scores", kind.choice_scores) or {},
        threshold=spec.get("threshold", kind.threshold),
        max_tokens=spec.get("max_tokens", MAX_TOKENS),
        model=spec.get("model"),
        parameters=mode_of(spec),
    )
