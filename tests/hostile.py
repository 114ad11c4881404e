"""A project in which everything that others may have written is hostile: datasets, replies, run files, notes.

`hostile_project(folder, canary)` builds it; `Canary` is what must not be touched: a socket that nobody may visit, and a
file outside the project whose secret nobody may show. Each payload stands in every field that takes it.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import evalkit as ek
from evalkit.jsontext import write
from evalkit.store import save_run
from frames import description, row
from loopback_replies import Reply, Request, calls, fails, says
from notebook_running import NOTEBOOKS

SCRIPT = "top.owned=document.title='owned'"
# What a terminal obeys or is misled by: control characters, and marks of direction.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
FORMULA = re.compile(r"[\s\x00\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]")
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
WEEK = "2026-W48"
DATASETS = ("file_tools", "support_desk", "office_assistant")


class Canary:
    """A listening socket and a file with a secret, both outside the project."""

    def __init__(self, folder: Path):
        self.secret = "canary-5e8b1f"
        self.folder = folder / "outside"
        self.folder.mkdir()
        self.file = self.folder / "canary.json"
        self.file.write_text(json.dumps([{"input": self.secret, "expected_tool": "none"}]), encoding="utf-8")
        (self.folder / "canary.txt").write_text(self.secret, encoding="utf-8")
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.socket.setblocking(False)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/canary"

    def __enter__(self) -> Canary:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def visits(self) -> int:
        """How often the socket was called since the last look."""
        count = 0
        while True:
            try:
                self.socket.accept()[0].close()
            except BlockingIOError:
                return count
            count += 1

    def untouched(self) -> bool:
        """Whether there was no visit, and nothing was written beside the file."""
        return self.visits() == 0 and sorted(path.name for path in self.folder.iterdir()) == [
            "canary.json",
            "canary.txt",
        ]


def payloads(canary: Canary) -> list[str]:
    """Texts that would run, fetch, compute, steer a terminal, or lead out of the project."""
    url, file = canary.url, canary.file
    return [
        f"<script>{SCRIPT}</script>",
        f'<img src="{url}" onerror="{SCRIPT}">',
        f"</style></textarea></script></title><svg onload=\"{SCRIPT}\"><image href='{url}'/></svg>",
        f"[click](javascript:{SCRIPT}) ![seen]({url}) <{url}> [ref]: {url} www.example.com **bold**",
        f"</bdi></td></table><iframe src='{url}' srcdoc='<script>{SCRIPT}</script>'></iframe>",
        f"<style>@import url({url}); * {{ background: url({url}) }}</style>",
        f"$$\\href{{javascript:{SCRIPT}}}{{x}}$$ \\(\\unicode{{x}}\\) $\\class{{a}}{{b}}$",
        "{{7*7}} ${7*7} #{7*7} <%= 7*7 %> {% import os %} %s {0.__class__}",
        f'=HYPERLINK("{url}","x")',
        "+1+cmd|' /C calc'!A0",
        "-1+1",
        "@SUM(1+1)",
        "\t=1+1",
        "\r=1+1",
        "\n=1+1",
        " =1+1",
        "\uff1d1+1",
        "\x1b[2J\x1b[1;31mred\x1b]0;title\x07",
        f"\x1b]8;;{url}\x1b\\link\x1b]8;;\x1b\\ \x9b31m \x90q\x9c \x1bc",
        "back\b\b\bspace\rover\x00nul\x7f\x85",
        "\u202egnp.exe\u202c \u2066x\u2069 \u200f\u2028line",
        "../../../../outside/canary.txt",
        str(file),
        file.as_uri(),
        "C:\\x\\..\\y:NUL",
        "$(touch owned); `touch owned` | touch owned && x",
        f"data:text/html,<script>{SCRIPT}</script>",
        f'" onmouseover="{SCRIPT}" x=\'" \' autofocus onfocus=\'{SCRIPT}',
        f"<details open ontoggle={SCRIPT}><math><mtext><a href=javascript:{SCRIPT}>x</a>",
    ]


def one_line(text: str) -> str:
    """The text as far as a field takes it that has one line and no control characters."""
    return " ".join("".join(" " if ord(char) < 32 or 127 <= ord(char) < 160 else char for char in text).split()) or "-"


def dataset(texts: Sequence[str], *, answers: bool = True) -> dict[str, Any]:
    """A dataset that loads, each of the texts in every field that takes it; `answers`: with cases for final answers."""
    tools = [
        {
            "name": f"{one_line(text)[:50]} t{number}", "description": text,
            "parameters": {
                "type": "object", "title": text, "description": text,
                "properties": {text: {"type": "string", "description": text, "enum": [text, "b"], "default": text}},
            },
        }
        for number, text in enumerate(texts)
    ]  # fmt: skip
    cases: list[dict[str, Any]] = []
    for number, text in enumerate(texts):
        line = one_line(text)
        dialogue = [{"role": "user", "content": text}, {"role": "assistant", "content": text},
                    {"role": "user", "content": text}]  # fmt: skip
        common = {"tags": [line, "every"], "cluster": line[:180], "notes": text}
        choice = {"expected_tool": tools[number]["name"], "secondary_tools": [tools[number - 1]["name"]],
                  "expected_arguments": {text: text}}  # fmt: skip
        cases.append({"id": f"{line[:150]} a{number}", "input": text, **choice, **common})
        cases.append({"id": f"{line[:150]} d{number}", "input": dialogue, **choice, **common})
        if answers:
            reviewers = [{"reviewer": "levenshtein"}, {"reviewer": "regex_match", "pattern": re.escape(text)}]
            final = {"expected": text, "reviewers": reviewers}
            cases.append({"id": f"{line[:150]} f{number}", "input": text, **final, **common})
    return {
        "name": one_line(texts[0]), "description": "".join(texts), "system_prompt": "\n".join(texts), "tools": tools,
        "cases": cases,
    }  # fmt: skip


def script(texts: Sequence[str]):
    """Replies in which each field holds a payload, by what is asked; some are errors in the server's words."""

    def reply(request: Request) -> Reply:
        number = next((place for place, text in enumerate(texts) if text == request.text), 0)
        text = texts[number]
        kind = number % 5
        if kind == 0:
            return fails(400, text, one_line(text))
        if kind == 1:
            return says(text, finish_reason=text)
        if kind == 2:
            return calls(
                (request.tools[number % len(request.tools)] if request.tools else text, {text: text}), content=text
            )
        if kind == 3:
            return calls((text, f'{{"{text}": '), content=text, finish_reason=text)
        return Reply(message={"role": "assistant", "content": None, "refusal": text})

    return reply


def trials(texts: Sequence[str], changed: bool) -> list[dict[str, Any]]:
    """The rows of a run, each text wherever a model, a dataset or a judge could have put it."""
    rows = []
    for number, text in enumerate(texts):
        passed = (number + changed) % 3 > 0
        differs = [{"path": text, "kind": kind, "expected": text, "actual": text, "note": text, "ok": False}
                   for kind in ("value", text)]  # fmt: skip
        judged = {"reviewer": text, "passed": passed, "score": float(passed), "reason": text, "judge_model": text,
                  "choice": text, "request_hash": text}  # fmt: skip
        held = {
            "input": write([{"role": "user", "content": text}]) if number % 2 else text, "expected": text,
            "answer": text, "reason": text, "tags": write([text]), "expected_arguments": write({text: text}),
            "actual_arguments": write({text: [text]}), "secondary_tools": write([text]), "mismatches": write(differs),
            "tool_calls": write([{"name": text, "arguments": text, "id": text}]), "cluster": text, "case_hash": text,
        }  # fmt: skip
        tools = {"expected_tool": text, "actual_tool": text}
        odd = {"finish_reason": text} | ({"outcome": text} if number % 7 == 0 else {})
        final = held | {"tool_calls": "[]", "expected_tool": None, "outcome": "passed" if passed else "failed"}
        rows.append(row(f"{text} {number}", 1, passed, **held, **tools))
        rows.append(row(f"odd {number}", 1, False, **(held | tools | odd)))
        rows.append(row(f"lost {number}", 1, None, **held, error=text, error_kind=text, expected_tool=text))
        rows.append(row(f"said {number}", 1, passed, kind="final_answer", reviews=write([judged]), **final))
    return rows


def save_runs(results: Path, texts: Sequence[str]) -> None:
    """A history of two weeks: runs whose every value and footer is hostile, notes, and what people said."""
    everything = "\n".join(texts)
    cases = dataset(texts)
    for number, day in enumerate((16, 17, 23, 24)):
        settings = {"kind": texts[0], "base_url": texts[-1], "extra": {text: f"{text}{number}" for text in texts}}
        hashes = {f"{name}_hash": texts[number % len(texts)] for name in ("tools", "prompt", "dataset", "scoring")}
        told = {
            "model": texts[1] if number % 2 else "mock", "label": texts[number % len(texts)], "git_commit": texts[0],
            "system_prompt": f"{everything}{number}", "dataset": "office_assistant", "planned": 4 * len(texts),
            "settings": settings, "dataset_path": texts[-1], "selection": {"tags": list(texts)}, **hashes,
            "started_at": f"2026-11-{day}T10:00:00+00:00", "judges": {"named": {}, "default": None},
            "evalkit_version": texts[-1],
        }  # fmt: skip
        run_id = f"2026-11-{day}T10-00-00Z-mock"
        save_run(results / f"{run_id}.parquet", description(run_id, **told), cases, trials(texts, number > 1))
    said = ek.load_run(run_id, results_dir=results)
    for number, text in enumerate(texts):
        ek.annotate(run_id, f"said {number}", passed=False, note=text, author="ana", results_dir=results)
    lines = (results / "annotations" / "ana.jsonl").read_text(encoding="utf-8").strip().split("\n")
    edited = [write(json.loads(line) | {"author": text}) for line, text in zip(lines, texts, strict=True)]
    (results / "annotations" / "edited.jsonl").write_text("\n".join(edited), encoding="utf-8")
    notes = results / "reviews" / WEEK / "notes.md"
    notes.parent.mkdir(parents=True)
    notes.write_text(everything, encoding="utf-8")
    assert len(said) == 4 * len(texts)


def hostile_project(folder: Path, texts: Sequence[str]) -> Path:
    """A project with notebooks, datasets of the names that they expect, and a history in `results/sample`."""
    project = folder / "project"
    (project / "eval_data").mkdir(parents=True)
    (project / "notebooks").mkdir()
    for notebook in NOTEBOOKS:
        shutil.copy(notebook, project / "notebooks")
    for name in DATASETS:
        text = json.dumps(dataset(texts, answers=False))
        (project / "eval_data" / f"{name}.json").write_text(text, encoding="utf-8")
    save_runs(project / "results" / "sample", texts)
    return project
