"""What an endpoint can do, found out by asking it a handful of small questions (`evalkit check --model NAME`)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import jsontext
from .evaluators import evaluate_tool_call
from .models import Model, OpenAISession, Session
from .offered import offered_tools
from .records import Turn
from .terms import Terms
from .text_calls import calls_in_text
from .tools import Tool
from .wire import LIMIT

_PLACE = {"type": "object", "properties": {"directory": {"type": "string"}}, "required": ["directory"]}
_CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = (
    Tool("list_files", "List the files in a directory", _PLACE),
    Tool("get_weather", "Get the weather of a city", _CITY),
)
_CALLING, _TALKING = "List the files in the directory src.", "Tell me a short joke."
_COLOURS = ("blue", "green")
_SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": list(_COLOURS)}},
    "required": ["colour"],
    "additionalProperties": False,
}
_FORMAT = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": _SCHEMA}}


@dataclass(frozen=True)
class Finding:
    """One thing found out: `ok` is True or False, or None where it could not be told; `sentence` says it."""

    name: str
    ok: bool | None
    sentence: str


async def probe(model: Model, notify: Callable[[str], None] | None = None) -> list[Finding]:
    """What the model's endpoint can do, in the order asked; ends early where it does not answer at all.

    Sends up to ten small requests, one after another. A model that is no endpoint is not asked for settings.
    """
    async with model.session() as session:
        return [finding async for finding in _findings(model, _Asker(session, notify))]


@dataclass(frozen=True)
class _Asker:
    session: Session
    notify: Callable[[str], None] | None

    @property
    def terms(self) -> Terms | None:
        """On what terms the endpoint takes requests, as far as it has told."""
        return self.session.terms if isinstance(self.session, OpenAISession) else None

    async def __call__(self, text: str, tools: Sequence[Tool] = (), **extra: Any) -> Turn:
        return await self.session.ask([{"role": "user", "content": text}], tools, extra=extra, notify=self.notify)


async def _findings(model: Model, ask: _Asker) -> AsyncIterator[Finding]:
    plain = await ask(_CALLING)
    if plain.error_kind is not None:
        yield Finding("answers", False, f"It does not answer: {plain.error}")
        return
    took = "" if plain.latency_s is None else f" (in {plain.latency_s:.1f} s)"
    yield Finding("answers", True, f"It answers{took}.")
    if ask.terms is not None and ask.terms.streams:
        yield Finding("streams", True, "It only streams: replies are asked for as streams, and put together.")
    offered = await ask(_CALLING, TOOLS)
    yield _sees_tools(plain, offered)
    yield _calls_tools(offered)
    if model.settings.get("kind") != "openai":
        return
    settings = {"temperature": 0, "max_tokens": 512, "parallel_tool_calls": False, "seed": 7}
    for name, value in settings.items():
        turn = await ask(_CALLING, TOOLS, **{name: value})
        yield _takes(name, value, turn, ask.terms.limit if ask.terms is not None and name == LIMIT else name)
    yield _keeps_to_choice(await ask(_TALKING, TOOLS, tool_choice="required"))
    yield _keeps_to_schema(await ask("What colour is a clear sky? Answer as JSON.", response_format=_FORMAT))


def _sees_tools(plain: Turn, offered: Turn) -> Finding:
    name, without, with_tools = "sees tools", _prompt_tokens(plain), _prompt_tokens(offered)
    if offered.error_kind is not None:
        return Finding(name, False, f"It refuses a request with tools: {offered.error}")
    if without is None or with_tools is None:
        return Finding(name, None, "It does not count prompt tokens, so that cannot be told.")
    counts = f"{without} prompt tokens without tools, {with_tools} with {len(TOOLS)}"
    if with_tools > without:
        return Finding(name, True, f"The model is shown the tools: {counts}.")
    return Finding(
        name, False, f"The tools are ignored: {counts}. The server's chat template may have no place for them."
    )


def _calls_tools(offered: Turn) -> Finding:
    name = "calls tools"
    if offered.error_kind is not None:
        return Finding(name, None, "There was no answer to a request with tools.")
    verdict = evaluate_tool_call({"input": _CALLING, "expected_tool": "any"}, offered, TOOLS)
    if offered.tool_calls:
        called = ", ".join(str(call.name) for call in offered.tool_calls)
        unusable = "" if verdict.passed else f" A run cannot count them: {verdict.reason}."
        return Finding(name, not unusable, f"It returns tool calls: {_CALLING!r} got {called}.{unusable}")
    offers = offered_tools(TOOLS)
    if written := calls_in_text(offered.answer, offers.names, offers.schema):
        known = [call.name for call in written if call.name in offers.names]
        read = f"reads it as a call of {known[0]}" if known else "finds no call of an offered tool in it"
        return Finding(
            name,
            False,
            f"It writes calls as text: no `tool_calls`, but a call in the answer, {_shown(offered.answer)}. Every such "
            f'case is scored `call_in_text`, unless the dataset says "text_calls": "accept", which {read}. '
            "Another chat template may cure it.",
        )
    said = _shown(offered.answer) if verdict.outcome == "no_call" else verdict.reason
    return Finding(name, False, f"It called no tool where one was plainly wanted: {said}")


def _takes(name: str, value: Any, turn: Turn, known_as: str | None = None) -> Finding:
    if turn.error_kind is None:
        other = f" (as {known_as})" if known_as not in (None, name) else ""
        return Finding(name, True, f"It takes {name} = {value!r}{other}.")
    if turn.error_kind == "bad_request":
        return Finding(name, False, f"It refuses {name} = {value!r}: {turn.error}")
    return Finding(name, None, f"That could not be told: {turn.error}")


def _keeps_to_choice(turn: Turn) -> Finding:
    taken = _takes("tool_choice", "required", turn)
    if not taken.ok or turn.tool_calls:
        return taken
    return Finding(
        "tool_choice", False, "It takes tool_choice = 'required' but does not keep to it: it answered in text."
    )


def _keeps_to_schema(turn: Turn) -> Finding:
    name = "response_format"
    taken = _takes(name, "json_schema", turn)
    if not taken.ok:
        return taken
    try:
        value = jsontext.read((turn.answer or "").strip())
    except jsontext.JsonTextError:
        value = None
    if isinstance(value, Mapping) and set(value) == {"colour"} and value["colour"] in _COLOURS:
        return Finding(name, True, "It keeps to a JSON schema.")
    return Finding(name, False, f"It takes a JSON schema but does not keep to it: {_shown(turn.answer)}")


def _prompt_tokens(turn: Turn) -> int | None:
    return getattr(turn.usage, "input_tokens", None)


def _shown(answer: str | None) -> str:
    line = " ".join((answer or "").split())
    return f'"{line[:120]}{"…" if len(line) > 120 else ""}"' if line else "an empty answer"
