"""LLM-as-a-judge reviewers, each callable by itself.

`tone`, `factuality`, `closed_qa`, and `judge` with a prompt and choices of your own::

    ek.judges.closed_qa("Paris", input="What is the capital of France?", model="gpt-4.1-mini")

In a dataset they stand among the reviewers: `{"reviewer": "tone", "criteria": "formal"}`. Prompts are templates over
`{input}`, `{answer}`, `{expected}` and `{criteria}`; `choice_scores` maps each choice to a score from 0 to 1, and an
answer passes from `threshold`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .environment import JUDGE_MODEL, default_model, load_env
from .jsonvalues import is_missing
from .judge_questions import question_of
from .judge_rules import KINDS, MAX_TOKENS
from .judging import open_judge
from .jury import JudgeSpec, judge_of, judge_url
from .loops import drive
from .records import Verdict
from .review_registry import NO_ANSWER, problems

__all__ = ["CHOICE_SCORES", "PROMPTS", "closed_qa", "factuality", "judge", "tone"]

PROMPTS: Mapping[str, str] = {name: kind.prompt for name, kind in KINDS.items() if kind.prompt is not None}
CHOICE_SCORES: Mapping[str, Mapping[str, float]] = {
    name: dict(kind.choice_scores) for name, kind in KINDS.items() if kind.choice_scores is not None
}


def tone(
    answer: str | None,
    expected: Any = None,
    *,
    input: Any = None,
    criteria: str | None = None,
    prompt: str | None = None,
    choice_scores: Mapping[str, float] | None = None,
    threshold: float | None = None,
    max_tokens: int = MAX_TOKENS,
    model: JudgeSpec | None = None,
    base_url: str | None = None,
) -> Verdict:
    """The verdict of a model on the tone of an answer: A it fits (1), B in part (0.5), C not (0). Passes from 1.

    `criteria` is the wanted tone; default: one that suits the input. See `judge` for the other parameters.
    """
    given = {"criteria": criteria, "prompt": prompt, "choice_scores": choice_scores, "threshold": threshold}
    return _ask("tone", answer, expected, input, given | {"max_tokens": max_tokens}, model, base_url)


def factuality(
    answer: str | None,
    expected: Any = None,
    *,
    input: Any = None,
    prompt: str | None = None,
    choice_scores: Mapping[str, float] | None = None,
    threshold: float | None = None,
    max_tokens: int = MAX_TOKENS,
    model: JudgeSpec | None = None,
    base_url: str | None = None,
) -> Verdict:
    """The verdict of a model on the facts of an answer, beside the `expected` ones of an expert.

    A some of them (0.4), B all and more (0.6), C the same (1), D it disagrees (0), E no difference that matters (1).
    Passes from 0.4: whatever does not disagree. See `judge` for the other parameters.
    """
    given = {"prompt": prompt, "choice_scores": choice_scores, "threshold": threshold, "max_tokens": max_tokens}
    return _ask("factuality", answer, expected, input, given, model, base_url)


def closed_qa(
    answer: str | None,
    expected: Any = None,
    *,
    input: Any = None,
    criteria: str | None = None,
    prompt: str | None = None,
    choice_scores: Mapping[str, float] | None = None,
    threshold: float | None = None,
    max_tokens: int = MAX_TOKENS,
    model: JudgeSpec | None = None,
    base_url: str | None = None,
) -> Verdict:
    """The verdict of a model on whether an answer meets a criterion: Y it does (1), N it does not (0).

    `criteria` defaults to: the answer does what the task asks for, correctly. `expected`, where given, is shown as
    an answer known to be good. See `judge` for the other parameters.
    """
    given = {"criteria": criteria, "prompt": prompt, "choice_scores": choice_scores, "threshold": threshold}
    return _ask("closed_qa", answer, expected, input, given | {"max_tokens": max_tokens}, model, base_url)


def judge(
    answer: str | None,
    expected: Any = None,
    *,
    prompt: str,
    choice_scores: Mapping[str, float],
    input: Any = None,
    criteria: str | None = None,
    threshold: float | None = None,
    max_tokens: int = MAX_TOKENS,
    model: JudgeSpec | None = None,
    base_url: str | None = None,
) -> Verdict:
    """The verdict of a model that judges by your own prompt.

    Parameters
    ----------
    answer, input, expected : what is judged, what was asked (text or a dialogue), what is expected (text or JSON).
    prompt : a template with `{answer}`, and any of `{input}`, `{expected}` and `{criteria}`. What the choices mean
        is for the prompt to say; how to reply is added.
    choice_scores : each choice with its score from 0 to 1.
    threshold : the score from which it passes (1).
    max_tokens : the longest reply of the judge.
    model : a name, a Model or a function; default: EVALKIT_JUDGE_MODEL, else EVALKIT_MODEL, else gpt-4.1-mini.
    base_url : where a model given by name is asked; default: EVALKIT_JUDGE_BASE_URL, else OPENAI_BASE_URL.

    A missing answer (None, NaN) fails, and nobody is asked. A judge that does not answer, or states no choice, gives
    a Verdict with `error_kind`; `details` hold the choice, the raw reply, the form it came in, the tokens and the
    prompt's fingerprint.

    Raises ValueError for parameters that are not allowed, SettingsError for a model that cannot be asked.
    """
    given = {"criteria": criteria, "prompt": prompt, "choice_scores": choice_scores, "threshold": threshold}
    return _ask("judge", answer, expected, input, given | {"max_tokens": max_tokens}, model, base_url)


def _ask(
    name: str,
    answer: str | None,
    expected: Any,
    input: Any,
    given: Mapping[str, Any],
    model: JudgeSpec | None,
    base_url: str | None,
) -> Verdict:
    if not (is_missing(answer) or isinstance(answer, str)):
        raise TypeError(f"{name}: the answer must be text or None, got {type(answer).__name__}")
    spec = {"reviewer": name, **{key: value for key, value in given.items() if value is not None}}
    found = problems(spec, expected)
    if found:
        raise ValueError("; ".join(found))
    if is_missing(answer):
        return NO_ANSWER
    load_env()
    asked = judge_of(model or os.environ.get(JUDGE_MODEL) or default_model(), judge_url(base_url))
    question = question_of(spec, answer, input=input, expected=expected)

    async def ask() -> Verdict:
        async with open_judge(asked) as judging:
            return await judging.ask(question)

    return drive(ask)
