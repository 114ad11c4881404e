"""What a judge is asked: its prompt with the texts in it, quoted so that none of them can pose as an instruction.

A prompt is a template over `{input}`, `{answer}`, `{expected}` and `{criteria}`. Each text is quoted as in a letter,
every line of it after a `>`: whatever it holds, no line of it can stand among the prompt's own. Only the criteria speak
to the judge themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from . import jsontext

PLACEHOLDERS = ("input", "answer", "expected", "criteria")
NOT_GIVEN = "(not given)"
_UNQUOTED = ("criteria",)  # said by whoever wrote the dataset, to the judge
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}|\{(\w+)\}")  # doubled braces stand for single ones

TONE = """\
Judge the tone of an answer, and nothing else: not whether it is right, complete or useful. The tone that is wanted:
{criteria}

What was said to the writer:
{input}

The answer to judge:
{answer}

How well does the tone of the answer fit what is wanted: {criteria}
A: it fits throughout
B: it fits in part, or not throughout
C: it does not fit"""

FACTUALITY = """\
Compare the facts in an answer with the facts that an expert gave. Wording, order, style and length do not matter.

The question:
{input}

The answer to judge:
{answer}

The expert's answer:
{expected}

Which of these holds, beside the expert's answer?
A: the answer gives only some of the expert's facts, and agrees with the expert in them
B: the answer gives all of the expert's facts and further ones, and agrees with the expert
C: the answer gives the same facts as the expert
D: the answer disagrees with the expert in a fact
E: the answer differs from the expert's only in what does not matter to the facts"""

CLOSED_QA = """\
Decide whether an answer meets this criterion: {criteria}

The task that was given:
{input}

The answer to judge:
{answer}

Does the text of the answer meet the criterion: {criteria}
Y: it does
N: it does not, or only in part"""

CLOSED_QA_BESIDE_EXPECTED = CLOSED_QA.replace(
    "The answer to judge:", "An answer that is known to be good, to compare with:\n{expected}\n\nThe answer to judge:"
)

# By benchmarks/judge_injection.py: what helps against orders in an answer is to quote it, and to ask the question again
# behind it. Longer warnings do harm: told of orders and lies, a small judge takes right answers for them too.
FRAME = "You judge answers. What others wrote is quoted: each of its lines begins with >."

REPLY = {
    "json_schema": 'Reply with one JSON object: {{"reason": one or two sentences, "choice": one of {choices}}}.',
    "tool_call": "Report by calling the function `{tool}`, with one or two sentences as reason and one of these as "
    "choice: {choices}.",
    "text": "Reply with one or two sentences that give your reason. Then, on a last line of its own, write `Choice: ` "
    "and one of {choices}.",
}
RETRY = "That reply cannot be counted: {why}. Reply once more, and state exactly one of these choices: {choices}."
TOOL_NAME = "report_verdict"


def placeholders(template: str) -> list[str]:
    """The names in single braces, each once, in order."""
    return list(dict.fromkeys(match[2] for match in _PLACEHOLDER.finditer(template) if match[2]))


def filled(template: str, texts: Mapping[str, str]) -> str:
    """The template with each placeholder replaced by its text, quoted unless it is `criteria`.

    Texts are never looked into again.
    """

    def put(match: re.Match[str]) -> str:
        name = match[2]
        if name not in texts:
            return "{" + match[1] + "}" if match[1] else match[0]
        if name in _UNQUOTED:
            return texts[name]
        before, after = template[: match.start()][-1:], template[match.end() :][:1]
        return ("\n" if before not in "\n" else "") + quoted(texts[name]) + ("\n" if after not in "\n" else "")

    return _PLACEHOLDER.sub(put, template)


def quoted(text: str) -> str:
    """The text with `> ` before each of its lines, by whatever sign they end."""
    return "\n".join(f"> {line}" for line in text.splitlines() or [""])


def question(template: str, texts: Mapping[str, str]) -> list[dict[str, str]]:
    """The messages of a request, without the words on how to reply (see `with_reply`)."""
    return [{"role": "system", "content": FRAME}, {"role": "user", "content": filled(template, texts)}]


def with_reply(messages: Sequence[Mapping[str, str]], form: str, choices: Sequence[str]) -> list[dict[str, str]]:
    """The messages, their last one ending in how to reply."""
    how = REPLY[form].format(choices=listed(choices), tool=TOOL_NAME)
    *before, last = (dict(message) for message in messages)
    return [*before, {**last, "content": f"{last['content']}\n\n{how}"}]


def listed(choices: Sequence[str]) -> str:
    """The choices as the judge reads them."""
    return ", ".join(jsontext.write(choice) for choice in choices)


def prompt_hash(template: str, choices: Sequence[str], criteria: str | None) -> str:
    """Fingerprint of all that a judge is told beside the case: its prompt, criteria and choices, and our frame."""
    return jsontext.fingerprint([template, criteria, list(choices), FRAME])


def text_of_input(value: Any) -> str:
    """An input as a judge reads it: the text, or a dialogue with the speaker before each message."""
    if value is None:
        return NOT_GIVEN
    if isinstance(value, str):
        return value
    return "\n".join(line for message in value for line in _message_lines(message))


def text_of_expected(value: Any) -> str:
    """What is expected as a judge reads it: text, or JSON."""
    return value if isinstance(value, str) else jsontext.write(value)


def _message_lines(message: Mapping[str, Any]) -> list[str]:
    role, content = message.get("role", "?"), message.get("content")
    if isinstance(content, list):
        content = " ".join(str(part.get("text", f"[{part.get('type')}]")) for part in content)
    lines = [f"{role}: {content}"] if content else []
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        lines.append(f"{role} called {function.get('name')} with {function.get('arguments')}")
    return lines
