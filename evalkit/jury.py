"""The judges of a run: which models they are, and how a trial's judges are asked, each once.

A reviewer's own `model` goes first, then the run's judge (`judge_model=`, EVALKIT_JUDGE_MODEL), then the model that is
judged itself, which is noted (`self_judged`). A judge given by name is asked at `judge_base_url=`, else
EVALKIT_JUDGE_BASE_URL, else where models given by name are asked.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from .answers import UNJUDGED, Review, without_review
from .cases import EvalCase
from .endpoints import refuse_foreign
from .environment import JUDGE_KEY, JUDGE_URL
from .errors import SettingsError
from .failure_words import is_about_case
from .judge_questions import Question, question_of
from .judging import Judge
from .masking import STARS
from .models import LexicalBaseline, Model, Session, as_model
from .prices import Prices
from .records import Turn, Verdict
from .retries import Notify
from .review_registry import NO_ANSWER, is_judge

FIRST = 8  # requests to judges that must not all be refused
_FATAL = ("judge_auth", "judge_quota")
JudgeSpec = Model | str | Callable[..., Any]


class NoJudge(Exception):
    """The judges answer no more; `judged` are the verdicts that there are, the missing ones marked as unjudged."""

    def __init__(self, reason: str, judged: Mapping[int, Verdict]):
        super().__init__(reason)
        self.judged = judged


@dataclass(frozen=True)
class Jury:
    """The models that judge the answers of `judged`: `default`, and those that reviewers name."""

    judged: Model
    default: Model | None
    named: Mapping[str, Model] = field(default_factory=dict)

    def is_self(self, judge: Model) -> bool:
        """Whether that judge is the model itself."""
        same = judge.name == self.judged.name and judge.settings.get("base_url") == self.judged.settings.get("base_url")
        return judge is self.judged or same

    def settings(self) -> dict[str, Any]:
        """What is stored with a run: no key, no header."""
        default = None if self.default is None else self._described(self.default)
        return {"default": default, "named": {name: self._described(model) for name, model in self.named.items()}}

    def _described(self, judge: Model) -> dict[str, Any]:
        return {"model": judge.name, "settings": dict(judge.settings), "self_judged": self.is_self(judge)}

    @asynccontextmanager
    async def open(self, own: Session | None, prices: Prices) -> AsyncIterator[Bench]:
        """The judges with sessions; the model itself judges in its `own` session where that is open."""
        async with AsyncExitStack() as stack:
            judges: dict[str | None, Judge] = {}
            for name, judge in [(None, self.default), *self.named.items()]:
                if judge is not None:
                    shared = own if judge is self.judged else None
                    session = await stack.enter_async_context(judge.session()) if shared is None else shared
                    judges[name] = Judge(judge, session, prices, self_judged=self.is_self(judge))
            yield Bench(judges)


def needs_default(cases: Iterable[EvalCase]) -> bool:
    """Whether a judge of these cases does not name its own model."""
    return any(is_judge(spec) and not spec.get("model") for case in cases for spec in case.reviewers)


def make_jury(
    cases: Sequence[EvalCase], model: Model, *, judge_model: JudgeSpec | None = None, base_url: str | None = None
) -> Jury | None:
    """The jury that these cases need: `judge_model`, else the model itself, and whom reviewers name; None where no
    reviewer is a judge.

    `base_url` is where judges are asked that are given by name. Raises SettingsError for a model that cannot judge.
    """
    wanted = {spec.get("model") for case in cases for spec in case.reviewers if is_judge(spec)}
    if not wanted:
        return None
    named = {name: judge_of(name, base_url) for name in sorted(name for name in wanted if name is not None)}
    default = None
    if None in wanted:
        default = model if judge_model is None else judge_of(judge_model, base_url)
    return Jury(model, default, named)


def judge_of(spec: JudgeSpec, base_url: str | None = None) -> Model:
    """The judge meant by a name, a Model or a function. Raises SettingsError for one that cannot judge."""
    if isinstance(spec, LexicalBaseline) or (isinstance(spec, str) and spec.strip() == LexicalBaseline.name):
        raise SettingsError(
            "lexical cannot judge: it picks tools by the likeness of words. Name a model as judge, such as "
            f"gpt-4.1-mini, or one on a server of your own ({JUDGE_URL})."
        )
    settings = {"base_url": base_url, "api_key": os.environ.get(JUDGE_KEY)} if isinstance(spec, str) else {}
    return as_model(spec, **{name: value for name, value in settings.items() if value})


def judge_url(*given: str | None) -> str | None:
    """Where judges given by name are asked: the first URL given, else EVALKIT_JUDGE_BASE_URL, else the last given."""
    first, *others = given or (None,)
    return first or os.environ.get(JUDGE_URL) or next((url for url in others if url), None)


def stored_judge(about: Mapping[str, Any]) -> Model | None:
    """The default judge of a stored run, made again; None where there was none or the model judged itself.

    Raises SettingsError where it was a Python function.
    """
    default = (about.get("judges") or {}).get("default")
    if default is None or default["self_judged"]:
        return None
    settings = {name: value for name, value in default["settings"].items() if value is not None}
    if settings.pop("kind", None) != "openai":
        raise SettingsError(
            f"run {about['run_id']!r} was judged by a Python object, {default['model']!r}: name a judge anew with "
            "judge_model="
        )
    if os.environ.get(JUDGE_URL) or STARS in str(settings.get("base_url")):
        settings["base_url"] = judge_url(None)
    else:
        refuse_foreign(about["run_id"], settings.get("base_url"), os.environ.get(JUDGE_KEY))
    settings["api_key"] = os.environ.get(JUDGE_KEY)
    return as_model(default["model"], **{name: value for name, value in settings.items() if value is not None})


def judges_of(case: EvalCase, turn: Turn) -> bool:
    """Whether this turn is to be judged: an answer in text to a case with a judge."""
    return without_review(turn) is None and any(is_judge(spec) for spec in case.reviewers)


def kept_verdicts(
    case: EvalCase, turn: Turn, reviews: Sequence[Review], judge_names: Mapping[str | None, str]
) -> dict[int, Verdict]:
    """The verdicts among stored reviews that stand: the very question was put to the very model.

    `judge_names`: the name of the default judge under None, and those of the judges that reviewers name.
    """
    found: dict[int, Verdict] = {}
    for place, question in _questions(case, turn):
        name = judge_names.get(question.model, question.model)
        verdicts = (question.kept(review, name) for review in reviews if name is not None)
        kept = next((verdict for verdict in verdicts if verdict is not None), None)
        if kept is not None or turn.answer is None:  # no judge is asked about no answer
            found[place] = kept or NO_ANSWER
    return found


def reviews_in(row: Mapping[str, Any]) -> list[Review]:
    """The reviews of a stored row."""
    reviews: list[Review] = json.loads(row.get("reviews") or "[]")
    return reviews


class Bench:
    """The judges of a run while it lasts. Stops the run where they answer no more."""

    def __init__(self, judges: Mapping[str | None, Judge]):
        self._judges = judges
        self._refused = 0
        self._forbidden: set[str] = set()  # cases with HTTP 403 since the last that had none
        self._answered = False

    @property
    def names(self) -> dict[str | None, str]:
        """The judges' models by the names that reviewers give them."""
        return {name: judge.name for name, judge in self._judges.items()}

    async def judge(
        self, case: EvalCase, turn: Turn, reviews: Sequence[Review] = (), notify: Notify | None = None
    ) -> dict[int, Verdict]:
        """The verdict of each judge of a case, by its place among the reviewers. Stored ones that stand are kept.

        Raises NoJudge where it is in vain to go on.
        """
        judged = kept_verdicts(case, turn, reviews, self.names)
        for place, question in _questions(case, turn):
            if place not in judged:
                verdict = await self._judges[question.model].ask(question, notify)
                judged[place] = _with_earlier(verdict, question, reviews)
                self._watch(case, judged, verdict)
        return judged

    def _watch(self, case: EvalCase, judged: dict[int, Verdict], verdict: Verdict) -> None:
        kind = verdict.error_kind
        is_forbidden = kind == "judge_auth" and verdict.reason.startswith("HTTP 403")
        concerns_case = kind == "judge_bad_request" and is_about_case(verdict.reason)
        self._answered = self._answered or concerns_case or kind in (None, "judge_unreadable")
        self._refused += kind == "judge_bad_request" and not concerns_case
        if is_forbidden:  # one may be about its case; so many in a row are about the key
            self._forbidden.add(case.id)
        elif concerns_case or kind in (None, "judge_unreadable"):
            self._forbidden.clear()
        if kind in _FATAL and not (is_forbidden and len(self._forbidden) < FIRST):
            left = {place: one if one.error_kind is None else _unjudged(one) for place, one in judged.items()}
            raise NoJudge(f"the judge answers no more: {verdict.reason}", left)
        if not self._answered and self._refused >= FIRST:
            raise NoJudge(f"the judge refused each of the first {self._refused} requests: {verdict.reason}", judged)


def _questions(case: EvalCase, turn: Turn) -> list[tuple[int, Question]]:
    return [
        (place, question_of(spec, turn.answer, input=case.input, expected=case.expected))
        for place, spec in enumerate(case.reviewers)
        if is_judge(spec)
    ]


def _with_earlier(verdict: Verdict, question: Question, reviews: Sequence[Review]) -> Verdict:
    """The verdict with what an earlier try at the very question cost added."""
    failed = [one for one in reviews if one.get("request_hash") == question.request_hash and one.get("error_kind")]
    details = dict(verdict.details)
    for name in ("attempts", "input_tokens", "output_tokens", "cost_usd"):
        counts = [one[name] for one in (details, *failed) if one.get(name) is not None]
        details[name] = sum(counts) if counts else None
    return replace(verdict, details=details)


def _unjudged(verdict: Verdict) -> Verdict:
    return replace(verdict, error_kind=UNJUDGED, reason=f"it has not been judged: {verdict.reason}")
