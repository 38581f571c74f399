"""Run a coroutine from synchronous code, also inside a running event loop (a notebook)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Any, TypeVar

R = TypeVar("R")


def run_sync(coroutine: Coroutine[Any, Any, R]) -> R:
    """The result of a coroutine, whether or not an event loop is running in this thread.

    An interrupt (Ctrl-C, a notebook's stop button) cancels the coroutine, waits until it has cleaned up, and is raised
    again; a second interrupt is raised without waiting.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    return _run_in_thread(coroutine)


def _run_in_thread(coroutine: Coroutine[Any, Any, R]) -> R:
    """The same on a loop of its own in another thread. Only this thread hears of interrupts, so it passes them on. The
    other one is a daemon: after a second interrupt nothing waits for it, not even the end of the process."""
    runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
    loop = runner.get_loop()
    task = loop.create_task(coroutine)
    result: Future[R] = Future()

    def run_loop() -> None:
        try:
            with runner:
                value = loop.run_until_complete(task)
        except BaseException as e:
            result.set_exception(e)
        else:
            result.set_result(value)

    try:
        threading.Thread(target=run_loop, daemon=True).start()
        wait([result])  # unlike Thread.join, which takes a thread that it was interrupted in for one that has ended
    except BaseException:
        with suppress(RuntimeError):  # the loop has just been closed
            loop.call_soon_threadsafe(task.cancel)
        wait([result])
        raise
    return result.result()
