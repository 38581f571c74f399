"""A real local HTTP server that speaks the chat protocol, and misbehaves on demand, byte by byte."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 5}}


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


Handler = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Server:
    """Answers request i with `handlers[i]`, further ones with the last. Counts what it sees."""

    handlers: tuple[Handler, ...]
    requests: list[Request] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    connections: int = 0
    running: int = 0
    most_running: int = 0

    async def __aenter__(self) -> Self:
        self._writers: set[asyncio.StreamWriter] = set()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.sleep(0.01)  # lets the handlers of aborted connections end

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        try:
            while (request := await _read(reader)) and not writer.is_closing():
                await self._answer(request, writer)
        except ConnectionError:
            pass  # the client went away, which some tests want
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        handler = self.handlers[min(len(self.requests), len(self.handlers) - 1)]
        self.requests.append(request)
        self.asked.set()
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await handler(request, writer)
            await writer.drain()
        finally:
            self.running -= 1


@contextmanager
def serving(*handlers: Handler) -> Iterator[Server]:
    """A running server, for code that has no event loop, or one of its own."""
    server, ready, ended = Server(handlers), threading.Event(), threading.Event()

    async def serve() -> None:
        async with server:
            ready.set()
            await asyncio.to_thread(ended.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(30)
        yield server
    finally:
        ended.set()
        thread.join()


async def _read(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode().strip().split("\r\n")
    headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers["content-length"]))
    return Request(first.split()[1], headers, json.loads(body))


def response(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> bytes:
    extra = "".join(f"{k}: {v}\r\n" for k, v in (headers or {}).items())
    head = f"HTTP/1.1 {status} Whatever\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    return head.encode() + body


def chat(content: object = "hello", finish: object = "stop", **message: object) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
    return json.dumps({"model": "served", "choices": [choice], "usage": USAGE}).encode()


def reply(body: bytes | str, status: int = 200, **headers: str) -> Handler:
    """This body, whole and at once; `Retry_After="1"` becomes the header `Retry-After: 1`."""
    content = body.encode() if isinstance(body, str) else body
    sent = response(content, status, {k.replace("_", "-"): v for k, v in headers.items()})

    async def handle(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(sent)

    return handle


def says(content: object = "hello", finish: object = "stop", **message: object) -> Handler:
    return reply(chat(content, finish, **message))


async def drops_mid_body(request: Request, writer: asyncio.StreamWriter) -> None:
    """Half of the reply, then the connection is reset."""
    whole = response(chat("never whole"))
    writer.write(whole[: len(whole) - 40])
    await writer.drain()
    writer.transport.abort()


async def hangs_up(request: Request, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def drips(request: Request, writer: asyncio.StreamWriter) -> None:
    """One byte every 20 ms: always something, never done in time."""
    for byte in response(chat("x" * 5000)):
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.02)


def slowly(seconds: float, handler: Handler) -> Handler:
    async def handle(request: Request, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(seconds)
        await handler(request, writer)

    return handle
