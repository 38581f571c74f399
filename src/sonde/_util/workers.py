"""Long work split over processes: each process completes one part and reports results as it goes.

A process that dies (killed, out of memory) is restarted with the same part, so a part must be resumable. `Workers` are
the places where processes run: `LocalWorkers` on this machine, `on_ray` on a cluster. As in `processes.py`, local
processes are new interpreters that import the function by name.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from queue import SimpleQueue
from types import FrameType
from typing import Any, NamedTuple, Protocol, TypeVar

from sonde.core.errors import WorldError

from .processes import count_cores, make_sendable

A = TypeVar("A")
B = TypeVar("B")

Tell = Callable[[Any], None]
Work = Callable[[Any, Tell], None]
"""The function that does a part; it reports through its second argument."""

LAST = ("raised", "done")
"""Kinds of messages after which a process is finished."""
TRIES = 3
"""Maximum number of consecutive process deaths without a result before a part is given up."""
PAUSE = 0.1
"""Seconds between two result messages of a process."""
PATIENCE = 10.0
"""Seconds that a process has to stop once it is no longer needed."""

_BEGIN = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from sonde._util.workers import serve_part; serve_part()"
)


class WorkerWarning(UserWarning):
    """A process died and its part was restarted."""


class WorkerMessage(NamedTuple):
    """A message from the process of a part: what it `told` since the last message, a warning (`warned`), the exception
    it `raised`, that it is `done`, or how it died (`gone`)."""

    part: int
    kind: str
    value: Any = None


class Workers(Protocol):
    """Places where parts run, each in its own process."""

    def begin(self, part: int, work: Work, given: Any) -> None:
        """Start a process on a part."""
        ...

    def next_message(self) -> WorkerMessage:
        """The next message from any process."""
        ...

    def close(self) -> None:
        """Stop all running processes, letting them close their resources, and wait for them."""
        ...


def run_parts(
    work: Callable[[A, Callable[[B], None]], None], parts: Sequence[A], workers: Workers
) -> Generator[B, None, None]:
    """Run all parts at once and yield their results as they arrive. An exception in `work` is raised here and stops the
    others; raises `WorldError` if the process of a part keeps dying."""
    gone, lives, running = [0] * len(parts), [1] * len(parts), set(range(len(parts)))
    with closing(workers):
        for part in running:
            workers.begin(part, work, parts[part])
        while running:
            part, kind, value = workers.next_message()
            if kind == "told":
                gone[part] = 0
                yield from value
            elif kind == "warned":
                warnings.warn(value, stacklevel=2)
            elif kind == "raised":
                raise value
            elif kind == "done":
                running.remove(part)
            else:
                gone[part] += 1
                if gone[part] == TRIES:
                    raise WorldError(f"worker {part}: died {TRIES} times in a row without a result: {value}")
                lives[part] += 1  # counted, because Python shows identical warnings only once
                again = f"worker {part} died ({value}); restarted (life {lives[part]})"
                warnings.warn(WorkerWarning(again), stacklevel=2)
                workers.begin(part, work, parts[part])


class LocalWorkers:
    """Processes on this machine. Multi-threaded ones share its cores evenly."""

    def __init__(self, n: int) -> None:
        threads = str(max(1, count_cores() // n))
        self._env = {"OMP_NUM_THREADS": threads, **os.environ}
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._said: SimpleQueue[WorkerMessage] = SimpleQueue()

    def begin(self, part: int, work: Work, given: Any) -> None:
        command = [sys.executable, "-c", _BEGIN]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self._env)
        assert process.stdin is not None
        self._running[part] = process
        threading.Thread(target=self._read_messages, args=(part, process), daemon=True).start()
        with suppress(OSError, ValueError):  # the reader thread reports a dead process
            for sent in (sys.path, (work, given)):
                pickle.dump(sent, process.stdin, pickle.HIGHEST_PROTOCOL)
            process.stdin.flush()

    def _read_messages(self, part: int, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None and process.stdout is not None
        kind = ""
        with suppress(EOFError, OSError, pickle.UnpicklingError):  # a killed process may truncate its last message
            while kind not in LAST:
                kind, value = pickle.load(process.stdout)
                self._said.put(WorkerMessage(part, kind, value))
        status = process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):  # nobody reads the remaining output
                pipe.close()
        if kind not in LAST:
            self._said.put(WorkerMessage(part, "gone", f"status {status}"))

    def next_message(self) -> WorkerMessage:
        return self._said.get()

    def close(self) -> None:
        for process in self._running.values():
            assert process.stdin is not None
            with suppress(OSError):
                process.stdin.close()  # the process treats this as the end (`_watch_input`)
        for process in self._running.values():
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


# --- in the process ---------------------------------------------------------------------------------------------------


def serve_part() -> None:
    """The main loop of a `LocalWorkers` process until its part is done. What the work prints goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller also receives the signal and ends this process
    signal.signal(signal.SIGTERM, _raise_interrupt)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    work, given = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_watch_input, daemon=True).start()

    def say(kind: str, value: Any) -> None:
        out.write(pickle.dumps((kind, value), pickle.HIGHEST_PROTOCOL))
        out.flush()

    with suppress(KeyboardInterrupt, BrokenPipeError):  # the caller stopped this process or is gone
        perform_part(work, given, say)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _raise_interrupt(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _watch_input() -> None:
    """Interrupt the work if the caller stops it or is gone: in both cases standard input ends."""
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def perform_part(work: Work, given: Any, say: Callable[[str, Any], None]) -> None:
    """Run a part and send its messages."""

    def send_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        say("warned", message if isinstance(message, Warning) else category(message))

    with warnings.catch_warnings():
        warnings.showwarning = send_warning
        told = _ToldBuffer(say)
        try:
            work(given, told)
        except BrokenPipeError:
            raise
        except Exception as e:
            told.send_waiting()
            say("raised", make_sendable(e, "in a worker"))
        else:
            told.send_waiting()
            say("done", None)


class _ToldBuffer:
    """Buffers results before sending them: a message costs as much as a short episode."""

    def __init__(self, say: Callable[[str, Any], None]) -> None:
        self._say, self._sent = say, 0.0
        self._waiting: list[Any] = []

    def __call__(self, value: Any) -> None:
        self._waiting.append(value)
        if time.monotonic() - self._sent >= PAUSE:
            self.send_waiting()

    def send_waiting(self) -> None:
        if self._waiting:
            self._say("told", self._waiting)
            self._waiting, self._sent = [], time.monotonic()
