"""Asking a judge: in the form that its endpoint takes, once more where a reply states no choice.

Forms, the best first: a JSON schema whose `choice` is an enumeration, the call of a function, plain text. Which of
them an endpoint takes, and whether it takes a temperature and a limit of tokens, is found out with the first question
and kept for the session: what was refused once is not sent again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from . import judge_prompts as prompts
from .judge_questions import Question
from .judge_replies import Reading, read_verdict
from .models import Model, Session
from .prices import Prices, cost
from .records import Turn, Usage, Verdict
from .retries import Notify
from .tools import Tool
from .wire import LIMITS

FORMS = ("json_schema", "tool_call", "text")
UNREADABLE = "judge_unreadable"
_NOT_OURS = ("response_format", "tool_choice", "parallel_tool_calls", "stop", "max_tokens")
_ABOUT_FORM = ("response_format", "json_schema", "json schema", "schema", "structured", "grammar", "text.format")
_ABOUT_TOOLS = ("tool", "function")
_MAYBE_ABOUT_MANNER = ("HTTP 400", "HTTP 422")  # refusals that may be about it though they do not say so


@dataclass(frozen=True)
class Manner:
    """How a judge is asked: the form, with temperature 0 or without, with a limit of tokens or without."""

    form: str = FORMS[0]
    temperature: bool = True
    limit: bool = True

    def simpler(self, refused: str) -> Manner | None:
        """The manner without what a refusal names; without its form where it names nothing; None: no simpler one."""
        words = refused.lower()
        if self.temperature and "temperature" in words:
            return replace(self, temperature=False)
        if self.limit and any(name in words for name in LIMITS):
            return replace(self, limit=False)
        if self.form != "text":
            return replace(self, form=FORMS[FORMS.index(self.form) + 1])
        if self.temperature:
            return replace(self, temperature=False)
        return replace(self, limit=False) if self.limit else None

    def names(self, refused: str) -> bool:
        """Whether a refusal is about something in this manner."""
        words = refused.lower()
        about_form = {"json_schema": _ABOUT_FORM, "tool_call": _ABOUT_TOOLS, "text": ()}[self.form]
        settings = ("temperature",) if self.temperature else ()
        limits = LIMITS if self.limit else ()
        return any(word in words for word in (*about_form, *settings, *limits))

    def tools(self, choices: Sequence[str]) -> tuple[Tool, ...]:
        """The function to call, where that is the form."""
        if self.form != "tool_call":
            return ()
        return (Tool(prompts.TOOL_NAME, "Report what you have decided.", _schema(choices)),)

    def fields(self, choices: Sequence[str], max_tokens: int) -> dict[str, Any]:
        """Fields of the request. None takes away what the model's own settings would send."""
        sent: dict[str, Any] = dict.fromkeys(_NOT_OURS)
        sent["temperature"] = 0.0 if self.temperature else None
        if self.limit:
            sent["max_tokens"] = max_tokens
        if self.form == "json_schema":
            verdict = {"name": "verdict", "strict": True, "schema": _schema(choices)}
            sent["response_format"] = {"type": "json_schema", "json_schema": verdict}
        if self.form == "tool_call":
            sent["tool_choice"] = {"type": "function", "function": {"name": prompts.TOOL_NAME}}
        return sent


def _schema(choices: Sequence[str]) -> dict[str, Any]:
    properties = {"reason": {"type": "string"}, "choice": {"type": "string", "enum": list(choices)}}
    return {
        "type": "object",
        "properties": properties,
        "required": ["reason", "choice"],
        "additionalProperties": False,
    }


class Judge:
    """A model that judges, for the length of a session."""

    def __init__(self, model: Model, session: Session, prices: Prices | None = None, *, self_judged: bool = False):
        self.name = model.name
        self._session, self._prices, self._self_judged = session, prices or {}, self_judged
        self._manner = Manner() if model.settings.get("kind") == "openai" else Manner(form="text")
        self._known = model.settings.get("kind") != "openai"  # whether the manner has been taken once
        self._tried = self._known
        self._first = asyncio.Lock()

    async def ask(self, question: Question, notify: Notify | None = None) -> Verdict:
        """The judge's verdict; one with an `error_kind` where there is none (a failed request, no choice stated)."""
        spent: list[Turn] = []
        turn, reading, form = await self._once(question, [], spent, notify)
        if turn.error_kind is None and reading.choice is None and reading.retry:
            again = _again(turn, reading, question.choices)
            turn, reading, form = await self._once(question, again, spent, notify)
        details = self._details(turn, spent, form)
        if turn.error_kind is not None:
            return self._failed(question, f"judge_{turn.error_kind}", turn.error or turn.error_kind, details)
        if reading.choice is None:
            return self._failed(question, UNREADABLE, f"the judge's reply cannot be counted: {reading.why}", details)
        return question.verdict(reading.choice, reading.reason, details)

    async def _once(
        self, question: Question, again: Sequence[Mapping[str, str]], spent: list[Turn], notify: Notify | None
    ) -> tuple[Turn, Reading, str]:
        """One reply, its reading and the form in which it was counted; every request's Turn is added to `spent`."""
        turn, form = await self._in_some_manner(question, again, spent, notify)
        if turn.error_kind is not None:
            return turn, Reading(None), form
        answer = question.texts.get("answer", "")
        reading = read_verdict(turn, question.choices, structured=form == "json_schema", answer=answer)
        return turn, reading, reading.form

    async def _in_some_manner(
        self, question: Question, again: Sequence[Mapping[str, str]], spent: list[Turn], notify: Notify | None
    ) -> tuple[Turn, str]:
        if self._tried:
            return await self._simplified(question, again, spent, notify)
        async with self._first:  # the others wait for what the first question finds out
            found = await self._simplified(question, again, spent, notify)
            self._tried = True
            return found

    async def _simplified(
        self, question: Question, again: Sequence[Mapping[str, str]], spent: list[Turn], notify: Notify | None
    ) -> tuple[Turn, str]:
        """The Turn in today's manner, or in a simpler one where the endpoint refuses that; the one taken is kept."""
        manner: Manner | None = self._manner
        first: Turn | None = None
        while manner is not None:
            messages = [*prompts.with_reply(question.messages, manner.form, question.choices), *again]
            fields = manner.fields(question.choices, question.max_tokens)
            turn = await self._session.ask(messages, manner.tools(question.choices), extra=fields, notify=notify)
            spent.append(turn)
            if turn.error_kind is None:
                self._manner, self._known = manner, True
                return turn, manner.form
            first = first or turn
            refused = turn.error or ""
            about_manner = turn.error_kind in ("bad_request", "server") and manner.names(refused)
            if not about_manner and (self._known or not refused.startswith(_MAYBE_ABOUT_MANNER)):
                return turn, manner.form
            manner = manner.simpler(refused)
        assert first is not None  # noqa: S101
        return first, self._manner.form

    def _details(self, turn: Turn, spent: Sequence[Turn], form: str) -> dict[str, Any]:
        used = [Usage.of(one.usage) for one in spent]
        sums = {
            name: sum(counts) if (counts := [n for one in used if (n := getattr(one, name)) is not None]) else None
            for name in ("input_tokens", "output_tokens")
        }
        costs = [cost(one, self.name, self._prices) for one in used]
        known = [one for one in costs if one is not None]
        reply = None if turn.error_kind else _raw(turn)
        return {
            "judge_model": self.name,
            "self_judged": self._self_judged,
            "form": form,
            "reply": reply,
            "attempts": sum(one.attempts or 0 for one in spent),
            **sums,
            "cost_usd": sum(known) if known else None,
        }

    def _failed(self, question: Question, kind: str, reason: str, details: Mapping[str, Any]) -> Verdict:
        known = {"choice": None, "prompt_hash": question.prompt_hash, "request_hash": question.request_hash}
        return Verdict(None, None, reason, error_kind=kind, details={**known, **details})


def _again(turn: Turn, reading: Reading, choices: Sequence[str]) -> list[dict[str, str]]:
    """What is added to the messages for the second try: the first reply, and what is wrong with it."""
    asked = {"role": "user", "content": prompts.RETRY.format(why=reading.why, choices=prompts.listed(choices))}
    said = _raw(turn)
    return [{"role": "assistant", "content": said}, asked] if said.strip() else [asked]


def _raw(turn: Turn) -> str:
    """A reply as it came: its text, or what it called with."""
    if turn.tool_calls:
        return "\n".join(str(call.arguments or "") for call in turn.tool_calls)
    return turn.answer or ""


@asynccontextmanager
async def open_judge(model: Model, prices: Prices | None = None) -> AsyncIterator[Judge]:
    """A judge with a session of its own."""
    async with model.session() as session:
        yield Judge(model, session, prices)
