"""What the loopback server is asked and what it replies: requests, replies, and a name for every fault."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any


@dataclass
class Request:
    """One request as it arrived. `number` counts from 1 how often this model was asked this very text."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    number: int = 0

    @property
    def model(self) -> str:
        return str(self.body.get("model", "")) if isinstance(self.body, dict) else ""

    @property
    def responses_api(self) -> bool:
        return self.path.partition("?")[0].endswith("/responses")

    @property
    def messages(self) -> list[Any]:
        found = self.body.get("messages", self.body.get("input", [])) if isinstance(self.body, dict) else []
        return [{"role": "user", "content": found}] if isinstance(found, str) else list(found)

    @property
    def text(self) -> str:
        """The last user message."""
        texts = [_plain(m.get("content")) for m in self.messages if isinstance(m, dict) and m.get("role") == "user"]
        return texts[-1] if texts else ""

    @property
    def tools(self) -> list[str]:
        offered = self.body.get("tools") or [] if isinstance(self.body, dict) else []
        return [tool.get("function", tool).get("name", "") for tool in offered]


@dataclass
class Reply:
    """What is sent back. `body` is JSON-able, or text or bytes that are sent as they are.

    `message` (a Chat Completions message) stands in place of `body` and is put into whichever API was asked.
    The faults: `delay_s` before the first byte; `cut` sends only so many bytes and closes; `stall` sends half
    and then nothing; `drip_s` sends byte by byte with such pauses; `reset` closes with a TCP reset.
    """

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    message: dict[str, Any] | None = None
    finish_reason: str | None = None
    usage: Mapping[str, int] | None = None
    delay_s: float = 0.0
    cut: int | None = None
    stall: bool = False
    drip_s: float | None = None
    reset: bool = False


Script = Callable[[Request], Reply]


def says(text: str | None, **more: Any) -> Reply:
    """An answer in text; further keywords are fields of Reply."""
    return Reply(message={"role": "assistant", "content": text}, **more)


def calls(*named: tuple[str, Any], content: str | None = None, **more: Any) -> Reply:
    """Tool calls, each (name, arguments): a mapping is sent as JSON text, anything else as it is."""
    sent = [(name, json.dumps(given) if isinstance(given, dict) else given) for name, given in named]
    entries = [entry(name, given, number) for number, (name, given) in enumerate(sent, 1)]
    return Reply(message={"role": "assistant", "content": content, "tool_calls": entries}, **more)


def entry(name: Any, arguments: Any, number: int = 1) -> dict[str, Any]:
    """One entry of `tool_calls`."""
    return {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


def fails(status: int, message: str = "it failed", code: str | None = None, **headers: str) -> Reply:
    """An error in OpenAI's form; keywords are headers (`retry_after="2"`)."""
    kind = code or ("rate_limit_exceeded" if status == 429 else "invalid_request_error")
    body = {"error": {"message": message, "type": kind, "code": code, "param": None}}
    return Reply(body, status, {name.replace("_", "-"): value for name, value in headers.items()})


def pick_by_words(request: Request) -> Reply:
    """The default script: 'read' calls read_file, 'list' or 'files' list_files, all else is text.

    Five of the six cases of file_tools pass by it ("Show me the contents of…" gets text).
    """
    words = set(re.findall(r"[a-z]+", request.text.lower()))
    paths = re.findall(r"[\w/-]+\.\w+", request.text)
    place = re.search(r"in the (\w+) directory", request.text)
    if "read" in words and "read_file" in request.tools:
        return calls(("read_file", {"path": paths[0] if paths else "README.md"}))
    if words & {"list", "files"} and "list_files" in request.tools:
        return calls(("list_files", {"directory": place[1] if place and place[1] != "current" else "."}))
    return says(f"You said: {request.text}")


def first(fault: Reply, times: int = 1) -> Script:
    """The fault for the first `times` that a text is asked, afterwards the default script."""
    return lambda request: fault if request.number <= times else pick_by_words(request)


def always(reply: Reply) -> Script:
    return lambda request: reply


def raw_calls(*entries: Any) -> Script:
    """A chat message whose `tool_calls` are these very entries."""
    return always(Reply(message={"role": "assistant", "content": None, "tool_calls": list(entries)}))


def dated(seconds_ahead: float) -> Reply:
    """A 429 that asks by HTTP date, against its own Date header (which is years away from the real time)."""
    now = 1_772_442_000.0
    asked = {"date": formatdate(now, usegmt=True), "retry-after": formatdate(now + seconds_ahead, usegmt=True)}
    return Reply(fails(429, "slow down").body, 429, asked)


def echo_key(request: Request) -> Reply:
    sent = request.headers.get("authorization", "").removeprefix("Bearer ")
    return fails(401, f"Incorrect API key provided: {sent} (at {request.path})", "invalid_api_key")


def refuse(name: str) -> Script:
    """A 400 for every request that holds the setting `name`."""

    def script(request: Request) -> Reply:
        if name in request.body:
            return fails(400, f"Unsupported parameter: '{name}' is not supported here.", "unsupported_parameter")
        return pick_by_words(request)

    return script


def too_long(request: Request) -> Reply:
    if len(request.text) > 200:
        return fails(400, "This model's maximum context length is 40 tokens", "context_length_exceeded")
    return pick_by_words(request)


_LENGTH = {"usage": {"prompt_tokens": 30, "completion_tokens": 8, "total_tokens": 38}, "finish_reason": "length"}
_HTML = {"content-type": "text/html"}
_LEGACY = {"name": "list_files", "arguments": "{}"}
_CUSTOM = {"id": "call_9", "type": "custom", "custom": {"name": "run_sql", "input": "select 1"}}
SCRIPTS: dict[str, Script] = {
    "mock-small": pick_by_words,
    "mock-large": pick_by_words,
    "429-then-answer": first(fails(429, "slow down", retry_after="0")),
    "429-seconds": first(fails(429, "slow down", retry_after="2")),
    "429-ms": first(fails(429, "slow down", retry_after_ms="300")),
    "429-date": first(dated(30)),
    "429-past": first(dated(-30)),
    "429-negative": first(fails(429, "slow down", retry_after="-1")),
    "429-garbage": first(fails(429, "slow down", retry_after="soon")),
    "429-huge": always(fails(429, "come back tomorrow", retry_after="198300")),
    "429-bare": first(fails(429, "slow down")),
    "429-for-ever": always(fails(429, "slow down")),
    "quota": always(fails(429, "You exceeded your current quota, please check your plan", "insufficient_quota")),
    "500-then-answer": first(fails(500, "boom")),
    "500": always(fails(500, "boom")),
    "503-html": always(Reply("<html><body>bad gateway</body></html>", 503, _HTML)),
    "400": always(fails(400, "Invalid schema for function 'read_file'", "invalid_function_parameters")),
    "400-too-long": too_long,
    "no-temperature": refuse("temperature"),
    "no-tool-choice": refuse("tool_choice"),
    "no-parallel": refuse("parallel_tool_calls"),
    "no-seed": refuse("seed"),
    "404": always(fails(404, "The model `404` does not exist", "model_not_found")),
    "401": echo_key,
    "slow": always(says("at last", delay_s=0.5)),
    "stall": always(says("you will never read this", stall=True)),
    "cut": first(says("this is cut", cut=40)),
    "reset": first(says("", reset=True)),
    "html-200": always(Reply("<html>Please log in</html>", headers=_HTML)),
    "truncated-json": always(Reply('{"id": "x", "choices": [{"index": 0, "mess')),
    "error-200": always(Reply({"error": {"message": "upstream failed", "code": 502}})),
    "null-choices": always(Reply({"id": "x", "choices": None})),
    "no-choices": always(Reply({"id": "x", "choices": []})),
    "null-message": always(Reply({"id": "x", "choices": [{"index": 0, "message": None, "finish_reason": "stop"}]})),
    "dict-arguments": raw_calls(entry("list_files", {"directory": "."})),
    "null-arguments": raw_calls(entry("list_files", None)),
    "empty-arguments": raw_calls(entry("list_files", "")),
    "no-arguments": raw_calls({"id": "c", "type": "function", "function": {"name": "list_files"}}),
    "cut-arguments": always(calls(("read_file", '{"path": "annual rep'), **_LENGTH)),
    "custom-call": raw_calls(_CUSTOM),
    "no-id": raw_calls({"function": {"name": "list_files", "arguments": "{}"}}),
    "no-function": raw_calls({}),
    "refusal": always(Reply(message={"role": "assistant", "content": None, "refusal": "I can't help with that."})),
    "content-filter": always(says(None, finish_reason="content_filter")),
    "length": always(says("", **_LENGTH)),
    "reasoning": always(Reply(message={"role": "assistant", "content": "Hi", "reasoning_content": "They greet me."})),
    "empty-content": always(calls(("list_files", {}), content="")),
    "parts": always(Reply(message={"role": "assistant", "content": [{"type": "text", "text": "Hello"}]})),
    "function-call": always(Reply(message={"role": "assistant", "function_call": _LEGACY})),
    "call-in-text": always(says('```json\n{"name": "list_files", "arguments": {"directory": "."}}\n```')),
}


def by_name(request: Request) -> Reply:
    """Behaviour chosen by the model's name, or by a [name] within the message."""
    named = re.search(r"\[([\w-]+)\]", request.text)
    script = SCRIPTS.get(named[1] if named else "") or SCRIPTS.get(request.model, pick_by_words)
    return script(request)


def in_api(reply: Reply, request: Request) -> dict[str, Any]:
    """The reply's message as a body of the API that was asked. Tokens are words; each tool counts as 20."""
    message, prompt = reply.message or {}, sum(len(_plain(m.get("content")).split()) for m in request.messages)
    usage = reply.usage or {
        "prompt_tokens": prompt + 20 * len(request.tools),
        "completion_tokens": len(json.dumps(message).split()),
    }
    has_calls = bool(message.get("tool_calls") or message.get("function_call"))
    finish_reason = reply.finish_reason or ("tool_calls" if has_calls else "stop")
    if request.responses_api:
        return _responses_body(message, finish_reason, usage, request.model)
    choice = {"index": 0, "message": message, "finish_reason": finish_reason, "logprobs": None}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": request.model,
        "choices": [choice],
        "usage": {"total_tokens": usage["prompt_tokens"] + usage["completion_tokens"], **usage},
    }


def _responses_body(message: Mapping[str, Any], reason: str, usage: Mapping[str, int], model: str) -> dict[str, Any]:
    output: list[Any] = []
    parts = [{"type": "output_text", "text": _plain(message["content"])}] if message.get("content") else []
    if message.get("refusal"):
        parts = [{"type": "refusal", "refusal": message["refusal"]}]
    if message.get("reasoning_content"):
        output.append({"type": "reasoning", "id": "rs_1", "summary": []})
    if parts:
        output.append({"type": "message", "role": "assistant", "content": parts})
    for given in message.get("tool_calls") or []:
        function = given.get("function")
        if function is None:
            output.append({**given.get("custom", {}), "type": "custom_tool_call", "call_id": given.get("id")})
        else:
            output.append({"type": "function_call", "call_id": given.get("id"), **function})
    cut = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(reason)
    return {
        "id": "resp_1",
        "object": "response",
        "model": model,
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": cut} if cut else None,
        "output": output,
        "usage": {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]},
    }


def _plain(content: str | Sequence[Any] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
