"""Queue between episodes and the local engine: gather requests of many episodes, serve them on one worker thread.

There are no timers. The first request starts a flush. It lets the event loop run until a few passes in a row bring no
new request (no runnable episode remains) or the batch is full, and then starts the server on the worker thread. While
the server runs, it takes new requests whenever it likes, so a batch is refilled as its members finish. `Batcher` knows
nothing about models or torch; `GenerateRequest` and `ScoreRequest` are the requests that the engine serves.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from array import array
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from sonde.core.model import Sampling

from ..chat.chat import ScoredIds

Q = TypeVar("Q")
R = TypeVar("R")
T = TypeVar("T")

QUIET_PASSES = 4
"""After this many passes of the event loop without a new request, no runnable episode remains."""


class Ticket(Generic[Q, R]):
    """A request in the queue. The server calls `finish` or `fail` once, from any thread."""

    def __init__(self, request: Q, loop: asyncio.AbstractEventLoop) -> None:
        self.request = request
        self.loop = loop
        self.future: asyncio.Future[R] = loop.create_future()
        self.dropped = False
        """True if nobody waits for the result any longer."""
        self.settled = False
        """True after the server called `finish` or `fail`."""

    def finish(self, result: R) -> None:
        self._deliver_result(lambda: self.future.set_result(result))

    def fail(self, error: BaseException) -> None:
        self._deliver_result(lambda: self.future.set_exception(error))

    def _deliver_result(self, settle: Callable[[], None]) -> None:
        def settle_once() -> None:
            if not self.future.done():
                settle()

        self.settled = True
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            self.loop.call_soon_threadsafe(settle_once)


class Batcher(Generic[Q, R]):
    """A queue with one server.

    `serve(batcher)` runs on the worker thread. It takes tickets with `take_waiting`, settles every one of them, and
    returns when it has nothing left to do. If it raises, the tickets it holds fail with that error.
    """

    def __init__(self, serve: Callable[[Batcher[Q, R]], None], *, full: int) -> None:
        self._serve = serve
        self._full = full
        self._lock = threading.Lock()
        self._waiting: deque[Ticket[Q, R]] = deque()
        self._taken: list[Ticket[Q, R]] = []
        self._arrived = 0
        self._serving = False  # from the start of a flush until the server returns
        self._flush_task: Future[None] | None = None
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sonde-model")

    async def submit(self, request: Q) -> R:
        """Submit a request and return the server's result."""
        ticket: Ticket[Q, R] = Ticket(request, asyncio.get_running_loop())
        with self._lock:
            self._waiting.append(ticket)
            self._arrived += 1
            idle, self._serving = not self._serving, True
        if idle:
            self._start_flush()
        try:
            return await ticket.future
        finally:
            ticket.dropped = True

    async def run_on_worker(self, function: Callable[[], T]) -> T:
        """Run `function` on the worker thread while the server is not running, and return its result."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, function)

    def run_on_worker_and_wait(self, function: Callable[[], T]) -> T:
        """Like `run_on_worker`, for callers that are not on an event loop, or must not let it run meanwhile."""
        return self._worker.submit(function).result()

    def take_waiting(self, n: int) -> list[Ticket[Q, R]]:
        """Take at most `n` waiting tickets, oldest first. Called by the server."""
        taken: list[Ticket[Q, R]] = []
        with self._lock:
            while self._waiting and len(taken) < n:
                if not (ticket := self._waiting.popleft()).dropped:
                    taken.append(ticket)
        self._taken = [t for t in self._taken if not (t.dropped or t.future.done())] + taken
        return taken

    def close(self) -> None:
        """Wait for the server to return and end the worker thread. Idempotent."""
        self._worker.shutdown(wait=True)

    def _start_flush(self) -> None:
        """Start a flush on the event loop of the oldest waiting ticket whose loop still runs."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._serving = False
                    return
                loop = self._waiting[0].loop
            flush = self._run_flush()
            try:
                self._flush_task = asyncio.run_coroutine_threadsafe(flush, loop)
                return
            except RuntimeError:  # that loop is closed
                flush.close()
                with self._lock:
                    self._waiting = deque(t for t in self._waiting if t.loop is not loop)

    async def _run_flush(self) -> None:
        try:
            await self._wait_until_quiet()
        finally:  # also when cancelled, because tickets of other loops may wait
            self._worker.submit(self._serve_waiting)

    async def _wait_until_quiet(self) -> None:
        seen, quiet = self._arrived, 0
        while quiet < QUIET_PASSES and len(self._waiting) < self._full:
            await asyncio.sleep(0)
            quiet = quiet + 1 if self._arrived == seen else 0
            seen = self._arrived

    def _serve_waiting(self) -> None:
        try:
            self._serve(self)
        except BaseException as error:
            for ticket in self._taken:
                ticket.fail(error)
        finally:
            self._taken = []
            self._start_flush()


# --- requests to the local engine -------------------------------------------------------------------------------------


@dataclass(slots=True)
class EngineStats:
    """Counts since the model was loaded, in tokens unless stated otherwise.

    `needed`: prompt tokens that no earlier call of the same conversation had computed; `prefilled`: prompt tokens that
    were computed because they were not in the cache; `recomputed`: those of them that an earlier call of the same
    conversation had computed; `padding`: columns computed only to make rows equally long.
    `scored` tokens got a log-probability from `Model.score`, for which `fed` tokens were computed in `passes` forward
    passes. `rewritten` counts prompts whose template changed history.
    """

    requests: int = 0
    needed: int = 0
    prefilled: int = 0
    recomputed: int = 0
    padding: int = 0
    decoded: int = 0
    steps: int = 0
    scored: int = 0
    fed: int = 0
    passes: int = 0
    rewritten: int = 0
    evicted: int = 0
    kept_bytes: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class GenerateRequest:
    """Request to continue `ids`. An earlier call of the conversation computed `known` of them; `rewritten` as in
    `Prompt`. Both are only counted. `follows` is the `completion_hash` of the conversation's last completion."""

    ids: array[int]
    sampling: Sampling
    known: int = 0
    rewritten: bool = False
    follows: int | None = None


def completion_hash(ids: array[int], logprobs: array[float]) -> int:
    """A hash that identifies a completion."""
    return hash((ids.tobytes(), logprobs.tobytes()))


@dataclass(frozen=True, slots=True, eq=False)
class ScoreRequest:
    """Request for the log-probabilities of the tokens at the positions of every row; `valued`: adjusted by the value
    heads."""

    rows: tuple[ScoredIds, ...]
    valued: bool = False


@dataclass(slots=True, eq=False)
class GeneratedTokens:
    """Sampled ids with log-probabilities, finish reason, text, and how many prompt tokens came from the cache."""

    ids: array[int]
    logprobs: array[float]
    finish: Literal["stop", "length"] = "stop"
    text: str = ""
    cached: int = 0


Answer = GeneratedTokens | list[list[float]]
Feed = Batcher[GenerateRequest | ScoreRequest, Answer]
