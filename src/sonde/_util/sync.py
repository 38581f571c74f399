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

    An interrupt (Ctrl-C, a notebook's stop button) cancels the coroutine, waits for its clean-up, and is raised again;
    a second interrupt is raised without waiting.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    return _run_in_thread(coroutine)


def _run_in_thread(coroutine: Coroutine[Any, Any, R]) -> R:
    """`run_sync` on a separate event loop in another thread. Only this thread receives interrupts, so it passes them
    on. The other thread is a daemon, so after a second interrupt nothing waits for it, not even the end of the process.
    """
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
        wait([result])  # unlike Thread.join, which treats a thread as ended if it was interrupted while waiting for it
    except BaseException:
        with suppress(RuntimeError):  # the loop has just closed
            loop.call_soon_threadsafe(task.cancel)
        wait([result])
        raise
    return result.result()
