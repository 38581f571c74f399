"""CPU time of one call of `models:http`, against an instant local server in a process of its own.

    python benchmarks/http_client.py [--concurrency 256] [--requests 3000] [--repeats 7]

Targets at 256 calls in flight: 150 us for a conversation of 1 KB, 250 us for one of 16 KB in 67 messages. CPU time of
this process only (the server has its own), the median over the repeats, since wall time depends on what else runs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import statistics
import time
from multiprocessing.connection import Connection

from sonde import Message, Sampling
from sonde.models.http import Http

CONVERSATIONS = {"1 KB, 5 messages": (5, 205, 150.0), "16 KB, 67 messages": (67, 248, 250.0)}
"""Name to (messages, characters in each, target in microseconds)."""
USAGE = {"prompt_tokens": 300, "completion_tokens": 40, "prompt_tokens_details": {"cached_tokens": 200}}
CHOICE = {"index": 0, "message": {"role": "assistant", "content": "word " * 40}, "finish_reason": "stop"}
REPLY = json.dumps({"id": "1", "object": "chat.completion", "model": "m", "choices": [CHOICE], "usage": USAGE}).encode()
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(REPLY), REPLY)


class InstantServer(asyncio.Protocol):
    """Reads a request to its end and answers at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.waiting = b""

    def data_received(self, data: bytes) -> None:
        self.waiting += data
        while (end := self.waiting.find(b"\r\n\r\n") + 4) > 3:
            length = int(self.waiting[:end].lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            if len(self.waiting) < end + length:
                return
            body, self.waiting = self.waiting[end : end + length], self.waiting[end + length :]
            self.transport.write(self.make_response(body))

    def make_response(self, body: bytes) -> bytes:
        return RESPONSE


def serve_instant(report: Connection, protocol: type[InstantServer] = InstantServer) -> None:
    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0, backlog=1024)
        report.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def make_conversation(count: int, size: int) -> tuple[Message, ...]:
    text = ("what is told and what is said " * (size // 30 + 1))[:size]
    return tuple(Message("assistant" if i % 2 else "user", text) for i in range(count))


async def measure_client(model: Http, messages: tuple[Message, ...], args: argparse.Namespace) -> tuple[float, float]:
    """CPU microseconds per call, and calls per second of wall time."""

    async def ask_repeatedly(first: int) -> None:
        for seed in range(first, args.requests, args.concurrency):
            completion = await model.generate(messages, Sampling(seed=seed, temperature=0.7, min_p=0.3))
            assert completion.usage.prompt == 300

    cpu, wall = time.process_time(), time.perf_counter()
    await asyncio.gather(*map(ask_repeatedly, range(args.concurrency)))
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return cpu / args.requests * 1e6, args.requests / wall


async def run_client(port: int, args: argparse.Namespace) -> None:
    model = Http(base_url=f"http://127.0.0.1:{port}/v1", model="m", concurrency=args.concurrency, api_key_env="")
    print(f"{args.concurrency} calls in flight, {args.requests} calls, median of {args.repeats}")
    for name, (count, size, target) in CONVERSATIONS.items():
        messages = make_conversation(count, size)
        await measure_client(model, messages, args)  # opens the connections
        rows = [await measure_client(model, messages, args) for _ in range(args.repeats)]
        cpu, rate = (statistics.median(column) for column in zip(*rows, strict=True))
        low, high = min(r[0] for r in rows), max(r[0] for r in rows)
        print(f"{name:20} {cpu:6.0f} us CPU per call ({low:.0f}-{high:.0f}; target {target:.0f}), {rate:,.0f} calls/s")
    assert model.stats.failures == model.stats.retries == 0
    await model.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="CPU time of one call of models:http.")
    for option, default in (("concurrency", 256), ("requests", 3000), ("repeats", 7)):
        parser.add_argument(f"--{option}", type=int, default=default)
    args = parser.parse_args()
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve_instant, args=(there,), daemon=True)
    server.start()
    try:
        asyncio.run(run_client(here.recv(), args))
    finally:
        server.terminate()
        server.join()


if __name__ == "__main__":
    main()
