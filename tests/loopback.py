"""A real HTTP server on loopback that speaks Chat Completions and Responses, and misbehaves on request.

In a test: `with Endpoint(script) as endpoint`, or the fixture `endpoint`, whose `script` may be replaced at
any time. A script is a function `Request -> Reply`. As a process of its own, for crash tests:
`python tests/loopback.py --port 0` prints its base URL; what it does is chosen by the model's name (a key of
`loopback_replies.SCRIPTS`, such as `429-then-answer` or `html-200`), or by a message that holds such a key in
[brackets].

The server keeps count of what it was asked: `endpoint.asked["What is Rust?"]`, or `GET /count`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import struct
import threading
import time
from collections import Counter
from email.utils import formatdate
from typing import Any

import pytest

from loopback_replies import Reply, Request, Script, by_name, fails, in_api

MODEL_NAMES = ("mock-small", "mock-large")


class Endpoint:
    """The server, in a thread of its own: `url` (ends in /v1), `asked`, `requests`, `most_at_once`.

    `allow`: requests beyond so many at once get 429. `delay_s`: every answer takes at least so long.
    """

    def __init__(self, script: Script = by_name, *, port: int = 0, allow: int | None = None, delay_s: float = 0.0):
        self.script, self.allow, self.delay_s = script, allow, delay_s
        self.asked: Counter[str] = Counter()
        self._asked_of: Counter[tuple[str, str]] = Counter()
        self.requests: list[Request] = []
        self.at_once = self.most_at_once = self.refused = 0
        self._port, self._ready = port, threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> Endpoint:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._open: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._connection, "127.0.0.1", self._port, backlog=1024)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self._open.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its reply; whether the connection stays open."""
        request = await _read(reader)
        looked = self._look(request)
        if looked is not None:
            return await _send(writer, looked, request)
        self.asked[request.text] += 1
        self._asked_of[request.model, request.text] += 1
        request.number = self._asked_of[request.model, request.text]
        self.requests.append(request)
        if self.allow is not None and self.at_once >= self.allow:
            self.refused += 1
            return await _send(writer, fails(429, "too many requests at once"), request)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            reply = self.script(request)
            if reply.delay_s or self.delay_s:
                await asyncio.sleep(max(reply.delay_s, self.delay_s))
        finally:
            self.at_once -= 1
        return await _send(writer, reply, request)

    def _look(self, request: Request) -> Reply | None:
        """The reply to a request that is no question to a model; None for one that is."""
        if request.method != "GET":
            return None
        if request.path.startswith("/count"):
            return Reply(dict(self.asked))
        if request.path.partition("?")[0].endswith("/models"):
            return Reply({"object": "list", "data": [{"id": name, "object": "model"} for name in MODEL_NAMES]})
        return fails(404, f"no such page: {request.path}")


async def _read(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    text = await reader.readexactly(int(headers.get("content-length", 0)))
    try:
        body = json.loads(text) if text else {}
    except ValueError:
        body = text
    return Request(method, path, headers, body)


async def _send(writer: asyncio.StreamWriter, reply: Reply, request: Request) -> bool:
    if reply.reset:
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()
        return False
    body = _bytes(in_api(reply, request) if reply.message is not None else reply.body)
    headers = {"content-type": "application/json", "content-length": str(len(body)), "x-request-id": "req_1"}
    headers |= {"date": formatdate(usegmt=True)} | {name.lower(): value for name, value in reply.headers.items()}
    lines = [f"HTTP/1.1 {reply.status} -", *(f"{name}: {value}" for name, value in headers.items())]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
    if reply.drip_s is not None:
        for byte in body:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(reply.drip_s)
        return True
    writer.write(body[: reply.cut if reply.cut is not None else len(body) // 2 if reply.stall else len(body)])
    await writer.drain()
    if reply.stall:
        await asyncio.Event().wait()
    return reply.cut is None


def _bytes(body: Any) -> bytes:
    if isinstance(body, bytes):
        return body
    return (body if isinstance(body, str) else json.dumps(body)).encode()


@pytest.fixture
def endpoint():
    """A fresh `Endpoint` that behaves by model name; set `endpoint.script` for anything else."""
    with Endpoint() as running:
        yield running


def main() -> None:
    parser = argparse.ArgumentParser(description="An OpenAI-compatible mock on loopback; prints its base URL.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--allow", type=int, help="requests at once; beyond them 429")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds that every answer takes")
    given = parser.parse_args()
    with Endpoint(port=given.port, allow=given.allow, delay_s=given.delay) as running:
        print(running.url, flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
