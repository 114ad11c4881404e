"""The loopback server with OpenAI's Batch API: files, batches, and what they bring back.

What a batch does is set on the server: `looks` (how often it is looked at before it ends), `ends` (how; `endings` for
single ones), `share` (of its requests that are done by then), `edit` (a function that changes the lines of its files).
`faults` are replies to be given first, by "METHOD /path". What is named in `stalls` is done, but its reply never comes;
in `lies`, it is done and answered with HTTP 500. The server keeps `uploads`, `batches` and `asked_by_batch`.
"""

from __future__ import annotations

import email
import json
from collections import Counter
from typing import Any

import pytest

from loopback import Endpoint
from loopback_replies import Reply, Request, fails, in_api

EXPIRED = {"code": "batch_expired", "message": "This request could not be executed before the completion window."}
CANCELLED = {"code": "batch_cancelled", "message": "This request was not executed, as the batch was cancelled."}


class BatchEndpoint(Endpoint):
    """The server; see above."""

    def __init__(self, *given: Any, **more: Any):
        super().__init__(*given, **more)
        self.looks, self.ends, self.share, self.edit = 0, "completed", 1.0, lambda output, errors: None
        self.endings: dict[str, str] = {}  # of single batches, by id
        self.errors: list[dict[str, Any]] = []  # of input files that are refused, for `ends` = "failed"
        self.faults: dict[str, list[Reply]] = {}
        self.stalls: set[str] = set()
        self.lies: set[str] = set()
        self.files: dict[str, bytes] = {}
        self.uploads: list[str] = []  # file names
        self.batches: dict[str, dict[str, Any]] = {}
        self.seen: Counter[str] = Counter()  # requests by "METHOD /path", ids left out
        self.asked_by_batch: Counter[str] = Counter()

    def inputs(self) -> list[list[dict[str, Any]]]:
        """The requests of each batch."""
        return [lines(self.files[batch["input_file_id"]]) for batch in self.batches.values()]

    def _look(self, request: Request) -> Reply | None:
        path, _, query = request.path.partition("?")
        words = path.removeprefix("/v1/").split("/")
        if words[0] not in ("files", "batches"):
            return super()._look(request)
        what = f"{request.method} /{'/'.join(word for word in words if '-' not in word)}"
        self.seen[what] += 1
        if self.faults.get(what):
            return self.faults[what].pop(0)
        reply = self._answer(what, words, query, request)
        if what in self.stalls:
            self.stalls.remove(what)
            reply.stall = True
        if what in self.lies:
            self.lies.remove(what)
            return fails(500, "boom")
        return reply

    def _answer(self, what: str, words: list[str], query: str, request: Request) -> Reply:
        if what == "POST /files":
            return self._upload(request)
        if what == "POST /batches":
            return self._create(request)
        if what == "GET /batches" and len(words) == 1:
            newest = list(reversed(self.batches.values()))
            after = query.partition("after=")[2].partition("&")[0]
            start = 1 + next((n for n, one in enumerate(newest) if one["id"] == after), -1)
            page = newest[start : start + 2]
            return Reply({"object": "list", "data": page, "has_more": start + 2 < len(newest)})
        if what == "GET /batches" and words[1] in self.batches:
            return Reply(self._progress(self.batches[words[1]]))
        if what == "GET /files/content" and words[1] in self.files:
            return Reply(self.files[words[1]])
        return fails(404, f"no such thing: {request.path}")

    def _upload(self, request: Request) -> Reply:
        head = f"content-type: {request.headers['content-type']}\r\n\r\n".encode()
        parts = {
            part.get_param("name", header="content-disposition"): part
            for part in email.message_from_bytes(head + request.body).get_payload()
        }
        assert parts["purpose"].get_payload() == "batch"
        file_id = f"file-{len(self.uploads) + 1}"
        self.uploads.append(parts["file"].get_filename())
        self.files[file_id] = parts["file"].get_payload(decode=True)
        return Reply({"id": file_id, "object": "file", "purpose": "batch"})

    def _create(self, request: Request) -> Reply:
        given = request.body
        total = len(lines(self.files[given["input_file_id"]]))
        batch = {
            **given, "id": f"batch-{len(self.batches) + 1}", "object": "batch", "status": "validating", "looks": 0,
            "created_at": 1_900_000_000, "request_counts": {"completed": 0, "failed": 0, "total": total},
            "output_file_id": None, "error_file_id": None,
        }  # fmt: skip
        self.batches[batch["id"]] = batch
        return Reply(batch)

    def _progress(self, batch: dict[str, Any]) -> dict[str, Any]:
        batch["looks"] += 1
        if batch["status"] in ("validating", "in_progress") and batch["looks"] > self.looks:
            batch["status"] = self.endings.get(batch["id"], self.ends)
            if batch["status"] == "failed":
                batch["errors"] = {"object": "list", "data": self.errors}
            else:
                self._end(batch)
        elif batch["status"] == "validating":
            batch["status"] = "in_progress"
        return batch

    def _end(self, batch: dict[str, Any]) -> None:
        requests = lines(self.files[batch["input_file_id"]])
        done = round(self.share * len(requests))
        output, errors = [], []
        for entry in requests[:done]:
            request = Request("POST", entry["url"], {}, entry["body"])
            self.asked_by_batch[request.text] += 1
            request.number = self.asked_by_batch[request.text]
            reply = self.script(request)
            body = in_api(reply, request) if reply.message is not None else reply.body
            response = {"status_code": reply.status, "request_id": "req_1", "body": body}
            line = {"id": "batch_req_1", "custom_id": entry["custom_id"], "response": response, "error": None}
            (output if reply.status == 200 else errors).append(json.dumps(line))
        unsent = EXPIRED if batch["status"] == "expired" else CANCELLED
        for entry in requests[done:]:
            line = {"id": "batch_req_2", "custom_id": entry["custom_id"], "response": None, "error": unsent}
            errors.append(json.dumps(line))
        batch["request_counts"] |= {"completed": len(output), "failed": len(errors)}
        self.edit(output, errors)
        for kind, found in (("output", output), ("error", errors)):
            if found:
                file_id = batch[f"{kind}_file_id"] = f"file-{kind}-{batch['id']}"
                self.files[file_id] = "\n".join(found).encode()


def lines(text: bytes) -> list[dict[str, Any]]:
    """The values of a JSONL file."""
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def server():
    """A fresh `BatchEndpoint`."""
    with BatchEndpoint() as running:
        yield running
