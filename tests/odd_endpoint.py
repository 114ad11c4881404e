"""A server that answers as endpoints have been seen to answer, oddly, and what must become of each trial.

Each kind is a row of `ODD`: a name, the case that meets it, the reply (or a function of the request), and the outcome
or kind of error that it must end in. `cases` draws a dataset of them by chance, the same each time.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any

from loopback_replies import Reply, Request, Script, calls, fails, in_api, says

TOOLS = [
    {"name": "list_files", "parameters": {"type": "object", "properties": {"directory": {"type": "string"}}}},
    {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
]
_CITY, _CONTAINS = {"city": "Oslo"}, {"reviewer": "string_contains", "search_string": "Oslo"}
_PAGE = {"content-type": "text/html"}
_CALL = {"expected_tool": "get_weather", "expected_arguments": _CITY}
_NONE = {"expected_tool": "none"}
_FINAL = {"reviewers": [_CONTAINS]}
_LOST = {"error": {"code": 429, "message": "Rate limited upstream", "type": "rate_limit_error"}}


@dataclass(frozen=True)
class Odd:
    """One kind of reply; `ends` is the outcome, or the kind of error, of a trial that meets it."""

    name: str
    case: dict[str, Any]
    reply: Reply | Script
    ends: str
    attempts: int = 1


def ended(reason: str | None, text: str | None = None, **more: Any) -> Reply:
    """A reply that ended for this reason."""
    return says(text, finish_reason=reason, **more)


def once(fault: Reply) -> Script:
    """The fault, and the right call when it is asked again."""
    return lambda request: fault if request.number == 1 else calls(("get_weather", _CITY))


def streamed(request: Request) -> Reply:
    """The call as a stream that nobody asked for."""
    message = in_api(calls(("get_weather", _CITY)), request)["choices"][0]["message"]
    deltas = [{"role": "assistant", "tool_calls": [{"index": 0, **message["tool_calls"][0]}]}, {}]
    chunks = [{"choices": [{"index": 0, "delta": deltas[0]}]}, {"choices": [{"index": 0, "delta": deltas[1]}]}]
    chunks[1]["choices"][0]["finish_reason"] = "tool_calls"
    text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    return Reply(text, headers={"content-type": "text/event-stream"})


ODD = [
    # silence, filters, failures, cuts
    Odd("null", _NONE, says(None), "empty"),
    Odd("blank", _NONE, says(" \u00a0\u200b\n"), "empty"),
    Odd("only thinking", _NONE, says("<think>They greet me.</think>"), "empty"),
    Odd("thinking without an end", _NONE, says("<think>They greet me, so"), "empty"),
    Odd("silence where a call was due", _CALL, says(""), "empty"),
    Odd("silence for an answer", _FINAL, says(""), "empty"),
    Odd("filtered", _NONE, ended("content_filter", ""), "refused"),
    Odd("filtered, a call due", _CALL, ended("PROHIBITED_CONTENT"), "refused"),
    Odd("safety", _NONE, ended("SAFETY"), "refused"),
    Odd("guardrail", _FINAL, ended("guardrail_intervened", "Sorry."), "refused"),
    Odd("refusal field", _FINAL, Reply(message={"role": "assistant", "content": None, "refusal": "No."}), "refused"),
    Odd("refusal in words", _NONE, says("I can't help with that."), "correct"),
    Odd("failed inside", _CALL, once(ended("network_error")), "correct", 2),
    Odd("error as a reason", _CALL, once(ended("error")), "correct", 2),
    Odd("malformed call", _CALL, ended("MALFORMED_FUNCTION_CALL"), "unusable_call"),
    Odd("cut by length", _FINAL, ended("length", "Oslo is"), "truncated"),
    Odd("cut by MAX_TOKENS", _FINAL, ended("MAX_TOKENS", "Oslo is"), "truncated"),
    Odd("cut by model_length", _NONE, ended("model_length", ""), "truncated"),
    Odd("an unknown reason", _NONE, ended("moonrise", "Hello."), "correct"),
    # calls in the text
    Odd("pythonic", _CALL, says('[get_weather(city="Oslo")]'), "call_in_text"),
    Odd("function tag", _CALL, says('<function=get_weather>{"city": "Oslo"}</function>'), "call_in_text"),
    Odd("TOOL_CALLS", _NONE, says('[TOOL_CALLS]get_weather{"city": "Oslo"}'), "call_in_text"),
    Odd("hermes", _CALL, says('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}'), "call_in_text"),
    Odd(
        "fence after words",
        _CALL,
        says('I will look.\n```json\n{"name": "get_weather", "arguments": {}}\n```'),
        "call_in_text",
    ),
    Odd(
        "channel",
        _NONE,
        says('<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Oslo"}<|call|>'),
        "call_in_text",
    ),
    Odd(
        "parameter tags",
        _CALL | {"text_calls": "accept"},
        says("<tool_call><function=get_weather><parameter=city>\nOslo\n</parameter></function></tool_call>"),
        "correct",
    ),
    Odd(
        "arg tags",
        _CALL | {"text_calls": "accept"},
        says("<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>"),
        "correct",
    ),
    Odd("thought, then a call in text", _CALL, says('<think>Weather.</think>get_weather(city="Oslo")'), "call_in_text"),
    Odd("words about a tool", _NONE, says("You could use get_weather with a city."), "correct"),
    Odd(
        "words about a tool, a call due", _CALL, says("I would call get_weather(city) for that, but may I?"), "no_call"
    ),
    # thinking
    Odd("thought, then right", _FINAL, says("<think>Bergen? No.</think>Oslo"), "passed"),
    Odd("right in thought alone", _FINAL, says("<think>Oslo</think>I do not know."), "failed"),
    Odd("thought, then nothing", _FINAL, says("<thinking>Oslo</thinking>\n"), "empty"),
    Odd("thought without a beginning", _FINAL, says("Perhaps Oslo.\n</think>\n\nBergen"), "failed"),
    # calls of odd forms
    Odd(
        "two fields",
        _CALL,
        Reply(
            message={
                "role": "assistant",
                "tool_calls": calls(("get_weather", _CITY)).message["tool_calls"],
                "function_call": {"name": "list_files", "arguments": "{}"},
            }
        ),
        "correct",
    ),
    Odd(
        "no arguments", {"expected_tool": "list_files", "expected_arguments": {}}, calls(("list_files", "")), "correct"
    ),
    Odd("a call with words", _NONE, calls(("list_files", {}), content="Let me look."), "unexpected_call"),
    Odd("an unknown tool", _CALL, calls(("weather", _CITY)), "unknown_tool"),
    Odd("streamed unasked", _CALL, streamed, "correct"),
    # failures inside a 200
    Odd("429 in a 200", _CALL, once(Reply(_LOST)), "correct", 2),
    Odd(
        "502 in a choice",
        _CALL,
        once(Reply({"choices": [{"error": {"code": 502, "message": "upstream"}}]})),
        "correct",
        2,
    ),
    Odd(
        "overloaded in a 200",
        _CALL,
        once(Reply({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})),
        "correct",
        2,
    ),
    Odd(
        "length in a 200",
        _CALL,
        Reply({"error": {"code": "context_length_exceeded", "message": "too long"}}),
        "bad_request",
    ),
    Odd("an empty body", _CALL, Reply(""), "bad_response"),
    Odd("204", _CALL, Reply("", 204), "bad_response"),
    Odd("a page", _CALL, Reply("<!doctype html><title>Sign in</title>", 200, _PAGE), "bad_response"),
    # refusals of one case
    Odd(
        "403 by moderation",
        _CALL,
        Reply(
            {
                "error": {
                    "code": 403,
                    "message": "Your input was flagged",
                    "metadata": {"reasons": ["violence"], "flagged_input": "…"},
                }
            },
            403,
        ),
        "bad_request",
    ),
    Odd(
        "400 by a filter",
        _NONE,
        Reply(
            {
                "error": {
                    "code": "content_filter",
                    "message": "The response was filtered",
                    "innererror": {"code": "ResponsibleAIPolicyViolation"},
                }
            },
            400,
        ),
        "bad_request",
    ),
    Odd(
        "400 by length",
        _FINAL,
        fails(400, "This model's maximum context length is 8192 tokens", "context_length_exceeded"),
        "bad_request",
    ),
    Odd("413", _CALL, Reply("<html>413 Request Entity Too Large</html>", 413, _PAGE), "bad_request"),
    Odd(
        "422 with a place",
        _CALL,
        Reply({"detail": [{"loc": ["body", "messages", 0, "content"], "msg": "too long", "type": "value_error"}]}, 422),
        "bad_request",
    ),
    # what passes when it is asked again
    Odd("529", _CALL, once(fails(529, "Overloaded")), "correct", 2),
    Odd("429", _CALL, once(fails(429, "slow down", retry_after="0")), "correct", 2),
    Odd("500 as a page", _CALL, once(Reply("<html>500</html>", 500, _PAGE)), "correct", 2),
    Odd("reset", _CALL, once(Reply({}, reset=True)), "correct", 2),
    Odd("well", _CALL, calls(("get_weather", _CITY)), "correct"),
    Odd("well said", _FINAL, says("It is Oslo."), "passed"),
    Odd("well left", _NONE, says("Hello."), "correct"),
]


def drawn(count: int, seed: int = 12) -> list[Odd]:
    """So many kinds by chance, each at least once where there is room."""
    chance = random.Random(seed)
    kinds = ODD[:count] + chance.choices(ODD, k=max(0, count - len(ODD)))
    chance.shuffle(kinds)
    return kinds


def cases_of(kinds: list[Odd]) -> list[dict[str, Any]]:
    """A case for each; its text says which kind it meets."""
    return [{"id": f"case-{n}", "input": f"{n}: {ODD.index(kind)}", **kind.case} for n, kind in enumerate(kinds)]


def script(request: Request) -> Reply:
    """The reply of the kind that the text names."""
    reply = ODD[int(request.text.partition(": ")[2])].reply
    return reply if isinstance(reply, Reply) else reply(request)


def wrongly_named(kinds: list[Odd], results: Any) -> list[str]:
    """What ended otherwise than it must, a sentence for each; `results` in the order of the cases."""
    found = zip(results["outcome"], results["error_kind"].fillna(""), results["attempts"], strict=True)
    return [
        f"{kind.name}: {error or outcome} after {attempts}, not {kind.ends} after {kind.attempts}"
        for kind, (outcome, error, attempts) in zip(kinds, found, strict=True)
        if (error or outcome, attempts) != (kind.ends, kind.attempts)
    ]
