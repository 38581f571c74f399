"""An ordered parallel map over several processor cores.

Every process is a new interpreter that imports the function by name and nothing of the calling script. This works on
every platform, from scripts without a `__main__` guard, from notebooks and next to the threads of a model.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

from sonde.core.errors import ContractError, WorldError

A = TypeVar("A")
B = TypeVar("B")

_BEGIN = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from sonde._util.processes import serve_calls; serve_calls()"
)


def count_cores() -> int:
    """The number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_processes(function: Callable[[A], B], things: Iterable[A], processes: int) -> Generator[B, None, None]:
    """`map(function, things)` on this many processes; reads at most three items per process ahead.

    The function must be defined at the top level of a module; arguments and results are pickled. Its exceptions are
    raised here.
    """
    helpers = [_Helper(function) for _ in range(processes)]
    idle: SimpleQueue[_Helper] = SimpleQueue()
    for helper in helpers:
        idle.put(helper)

    def call_helper(thing: A) -> B:
        helper = idle.get()
        try:
            return helper.call_function(thing)
        finally:
            idle.put(helper)

    waiting: deque[Future[B]] = deque()
    pool = ThreadPoolExecutor(processes)
    try:
        for thing in things:
            waiting.append(pool.submit(call_helper, thing))
            if len(waiting) >= 3 * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for helper in helpers:  # ends the threads waiting for one
            helper.kill_process()
        pool.shutdown(cancel_futures=True)
        for helper in helpers:
            helper.close()


class _Helper:
    """A worker process that applies the function to the items it receives."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._process = subprocess.Popen([sys.executable, "-c", _BEGIN], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        self._first: tuple[list[str], Callable[[Any], Any]] | None = (sys.path, function)

    def call_function(self, thing: Any) -> Any:
        """Raises what the function raised in the helper, or `WorldError` if the process died."""
        try:
            if self._first is not None:
                for sent in self._first:
                    pickle.dump(sent, self._in, pickle.HIGHEST_PROTOCOL)
                self._first = None
            pickle.dump(thing, self._in, pickle.HIGHEST_PROTOCOL)
            self._in.flush()
            fine, result = pickle.load(self._out)
        except (EOFError, OSError) as e:
            raise WorldError(f"a helper process ended with status {self._process.wait()}") from e
        if not fine:
            raise result
        return result

    def kill_process(self) -> None:
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        for pipe in (self._in, self._out):
            with suppress(OSError):  # nobody reads the remaining output
                pipe.close()


def serve_calls() -> None:
    """The main loop of a helper process, until its input ends. What the function prints goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller also receives the signal and ends this process
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    function = pickle.load(sys.stdin.buffer)
    while True:
        try:
            thing = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer: tuple[bool, Any] = (True, function(thing))
        except Exception as e:
            answer = (False, make_sendable(e, "in a helper process"))
        pickle.dump(answer, out, pickle.HIGHEST_PROTOCOL)
        out.flush()


def make_sendable(error: Exception, where: str) -> Exception:
    """The exception with its traceback as text; one that cannot be pickled is replaced by a description."""
    error.add_note(f"{where}:\n{traceback.format_exc()}")
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return ContractError(f"{type(error).__name__}: {error}")
    return error
