"""Coroutines run from synchronous code inside a running loop, and what an interrupt of a notebook's cell does to them.

Interrupts are real ones, so each happens in a process of its own."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import textwrap
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from sonde.core import run_sync

HOLDER: contextvars.ContextVar[str] = contextvars.ContextVar("holder", default="nobody")
NOTEBOOK = '''
import asyncio, os, signal, sys, threading
from sonde.core import run_sync

def interrupt(after):
    threading.Timer(after, lambda: os.kill(os.getpid(), signal.SIGINT)).start()

def notebook(work):
    """Whether a cell that does this, inside of a running loop as a notebook's are, ends by an interrupt."""
    async def cell():
        work()
    try:
        asyncio.new_event_loop().run_until_complete(cell())
    except KeyboardInterrupt:
        return True
    return False
'''


def run_script(body: str, *arguments: str) -> str:
    script = NOTEBOOK + textwrap.dedent(body)
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_inside_loop(coroutine: Coroutine[Any, Any, Any]) -> Any:
    async def cell() -> Any:
        return run_sync(coroutine)

    return asyncio.run(cell())


async def holder() -> str:
    await asyncio.sleep(0)
    return HOLDER.get()


async def failing() -> None:
    raise OSError("no such thing")


def test_results_errors_and_context_come_through_from_inside_a_loop() -> None:
    token = HOLDER.set("the caller")
    assert run_inside_loop(holder()) == run_sync(holder()) == "the caller"
    HOLDER.reset(token)
    with pytest.raises(OSError, match="no such thing"):
        run_inside_loop(failing())


def test_an_interrupt_cancels_what_runs_and_waits_until_it_has_cleaned_up() -> None:
    said = run_script("""
        seen = []
        async def work():
            try:
                seen.append("begun")
                interrupt(0.0)
                await asyncio.sleep(60)
            finally:
                await asyncio.sleep(0.05)
                seen.append("cleaned up")
        assert notebook(lambda: run_sync(work()))
        print(*seen, sep=", ")
    """)
    assert said == "begun, cleaned up\n"


def test_a_second_interrupt_waits_for_nothing() -> None:
    said = run_script("""
        async def stubborn():
            interrupt(0.0)
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                interrupt(0.0)
                await asyncio.sleep(60)
        assert notebook(lambda: run_sync(stubborn()))
        print("out")
    """)
    assert said == "out\n"  # and the process ended, although the coroutine did not


def test_an_interrupted_run_plays_no_further_and_leaves_its_folder_free(tmp_path: Path) -> None:
    said = run_script(
        """
        from dataclasses import dataclass
        import sonde
        from sonde.agents.llm import LLM
        from sonde.core import Completion, Model
        from sonde.runs.rollout import Plan, record_plan

        calls = [0]

        @dataclass(frozen=True, kw_only=True)
        class Slow(Model):
            async def generate(self, messages, sampling):
                calls[0] += 1
                if calls[0] == 10:
                    interrupt(0.0)
                if calls[0] >= 10:
                    await asyncio.sleep(60 if slow else 0)
                return Completion(text="<Answer>crane</Answer>")

        slow, env = True, sonde.make("wordle")
        def play():
            plan = Plan(concurrency=2)
            return record_plan(env, {"agent": LLM(model=Slow())}, env.tasks("test")[:6], plan, sys.argv[1])
        assert notebook(play)
        before = calls[0]
        slow = False
        print(before, len(play()))
        """,
        str(tmp_path / "run"),
    )
    before, played = map(int, said.split())
    assert before in (10, 11) and played == 6
