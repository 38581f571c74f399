"""What ends a run early: a budget and an endpoint that fails, against a real local server."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.core import AGENT, Halted, Policy, Usage, UserError
from sonde.runs.limits import FIRST, OUTAGES, BudgetWarning, Meter
from sonde.runs.rollout import Plan, record_plan
from sonde.runs.store import Run

from ..models.server import USAGE, Handler, Server, chat, reply, says, slowly

WRONG = "<Answer>000</Answer>"
CALL = USAGE["prompt_tokens"] + USAGE["completion_tokens"]  # type: ignore[operator]
TURNS = 8
ENV = sonde.make("mastermind", length=3, digits=5, max_turns=TURNS)
TASKS = [t for t in ENV.tasks("test") if t.hidden is not None][:40]


def serve_with(handlers: tuple[Handler, ...], use: Callable[[Server], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        async with Server(handlers) as server:
            return await use(server)

    return asyncio.run(main())


def seat_agent(server: Server, **config: Any) -> Policy:
    model = sonde.make("models:http", **{"base_url": server.url, "model": "m", "retries": 0, "backoff": 0.01} | config)
    return sonde.make("agents:llm", model=model)


def record_run(server: Server, folder: Path, plan: Plan, **config: Any) -> Run:
    """What `record_plan` makes of it, away from the server's own event loop."""
    return record_plan(ENV, {AGENT: seat_agent(server, **config)}, TASKS, plan, folder)


# --- budget --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("budget", "concurrency"), [(15 * CALL, 4), (205, 8), (1000, 64), (1, 8)])
def test_a_budget_is_exceeded_by_at_most_one_round(tmp_path: Path, budget: int, concurrency: int) -> None:
    async def use(server: Server) -> tuple[int, int]:
        with pytest.warns(BudgetWarning, match=f"of {budget:,} tokens are used; not all planned episodes were played"):
            run = await asyncio.to_thread(record_run, server, tmp_path, Plan(budget=budget, concurrency=concurrency))
        assert all(not t.error and len(t.turns) == TURNS for t in run), "what was cut off is not recorded"
        return len(server.requests), len(run)

    calls, episodes = serve_with((slowly(0.005, says(WRONG)),), use)
    assert budget <= calls * CALL <= budget + concurrency * CALL
    assert episodes * TURNS * CALL <= budget + concurrency * CALL
    if budget >= 1000:
        assert episodes >= 10, f"of the {budget // (TURNS * CALL)} that the budget pays, few are lost"


def test_a_run_that_a_budget_has_ended_goes_on(tmp_path: Path) -> None:
    async def use(server: Server) -> None:
        with pytest.warns(BudgetWarning):
            cut = await asyncio.to_thread(record_run, server, tmp_path, Plan(budget=200, concurrency=2))
        assert 1 <= len(cut) < len(TASKS)
        whole = await asyncio.to_thread(record_run, server, tmp_path, Plan(concurrency=2))
        assert len(whole) == len(TASKS)

    serve_with((says(WRONG),), use)


def test_what_is_paid_for_just_in_time_is_no_trouble(tmp_path: Path) -> None:
    budget = len(TASKS) * TURNS * CALL
    run = serve_with(
        (says(WRONG),),
        lambda server: asyncio.to_thread(record_run, server, tmp_path, Plan(budget=budget, concurrency=8)),
    )
    assert len(run) == len(TASKS)


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": 7}, {"completion_tokens": 3}])
def test_a_budget_needs_an_endpoint_that_counts(tmp_path: Path, usage: Any) -> None:
    body = json.dumps({**json.loads(chat(WRONG)), "usage": usage})

    async def use(server: Server) -> None:
        with pytest.raises(UserError, match=r"budget: 'served' does not report the tokens"):
            await asyncio.to_thread(record_run, server, tmp_path, Plan(budget=10**9, concurrency=64))
        assert len(server.requests) <= FIRST
        assert len(await asyncio.to_thread(record_run, server, tmp_path, Plan())) == len(TASKS), (
            "without a budget it may"
        )

    serve_with((reply(body),), use)


def test_models_on_this_machine_count_their_own_tokens(tmp_path: Path) -> None:
    local = sonde.make("agents:llm", model=sonde.make("models:fake", script=(WRONG,)))
    with pytest.warns(BudgetWarning):
        run = record_plan(ENV, {AGENT: local}, TASKS, Plan(budget=100_000), tmp_path)
    assert 1 <= len(run) < len(TASKS)


def test_a_meter_begins_few_episodes_until_it_knows_what_one_costs() -> None:
    meter = Meter(iter(range(100)), 1000)
    spend = sonde.Action("x", completions=(sonde.Completion(text="x", usage=Usage(50, 50)),))
    begun = []
    while (job := meter.next_job()) is not None:
        begun.append(job)
    assert len(begun) == FIRST
    meter.count_tokens(spend)
    meter.end_episode(100)
    while (job := meter.next_job()) is not None:
        begun.append(job)
    assert len(begun) == 10, "one has cost 100 of 1000, nine run"
    unlimited = Meter(iter(range(100)), None)
    unlimited.count_tokens(spend._replace(completions=(sonde.Completion(text="x"),)))
    assert [unlimited.next_job() for _ in range(101)] == [*range(100), None]


# --- an endpoint that fails ----------------------------------------------------------------------------------------

DOWN = reply("overloaded", 503)


@pytest.mark.filterwarnings("ignore::sonde.models.remote.retry.TroubleWarning")
def test_an_endpoint_that_keeps_failing_ends_the_run_and_nothing_is_lost(tmp_path: Path) -> None:
    async def use(server: Server) -> None:
        with pytest.raises(Halted, match=rf"{OUTAGES} episodes in a row failed, .*Outage: 503 .*: overloaded"):
            await asyncio.to_thread(record_run, server, tmp_path, Plan(concurrency=1))
        found = Run.load(tmp_path)
        assert [t.error.split(":")[0] for t in found].count("Outage") == OUTAGES
        assert sum(not t.error for t in found) == 2, "what had finished is kept"
        assert len(server.requests) == 2 * TURNS + OUTAGES

    serve_with((*[says(WRONG)] * (2 * TURNS), DOWN), use)

    async def mended(server: Server) -> None:
        whole = await asyncio.to_thread(record_run, server, tmp_path, Plan(concurrency=4))
        assert len(whole) == len(TASKS) and not any(t.error for t in whole)
        assert len(server.requests) == (len(TASKS) - 2) * TURNS

    serve_with((says(WRONG),), mended)


@pytest.mark.filterwarnings("ignore::sonde.models.remote.retry.TroubleWarning")
def test_failures_that_are_not_in_a_row_end_nothing(tmp_path: Path) -> None:
    per_task = [DOWN, *[says(WRONG)] * TURNS]  # every other episode fails at once
    run = serve_with(
        tuple(per_task * (len(TASKS) // 2)),
        lambda server: asyncio.to_thread(record_run, server, tmp_path, Plan(concurrency=1)),
    )
    assert sum(bool(t.error) for t in run) == len(TASKS) // 2


@pytest.mark.filterwarnings("ignore::sonde.models.remote.verdicts.ConversationWarning")
def test_conversations_that_an_endpoint_refuses_end_nothing(tmp_path: Path) -> None:
    long = reply('{"error": {"code": "context_length_exceeded"}}', 400)
    run = serve_with((long,), lambda server: asyncio.to_thread(record_run, server, tmp_path, Plan(concurrency=1)))
    assert [t.error.split(":")[0] for t in run] == ["ContextFull"] * len(TASKS)


# --- on the command line -------------------------------------------------------------------------------------------


def command(tmp_path: Path, url: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Half a minute of retries for each of 30 episodes would not end in time."""
    line = [sys.executable, "-c", "from sonde.cli import main; main()", "eval", "mastermind", "-n", "30", "-k", "1"]
    args = ["--model", "http:m", "--base-url", url, "--no-gains", *more]
    return subprocess.run([*line, *args], check=False, capture_output=True, text=True, timeout=100, cwd=tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("handler", "says_so"),
    [
        (None, "base_url: nothing answers at"),
        (reply("no such key", 401), "api_key_env: 401"),
        (reply("no such model", 404), "404"),
    ],
)
def test_an_unreachable_or_refusing_endpoint_is_reported_at_once(
    tmp_path: Path, handler: Handler | None, says_so: str
) -> None:
    async def use(server: Server) -> subprocess.CompletedProcess[str]:
        url = server.url if handler else "http://127.0.0.1:9/v1"
        return await asyncio.to_thread(command, tmp_path, url)

    done = serve_with((handler or DOWN,), use)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("sonde: ") and says_so in done.stderr


def test_the_first_error_is_shown_and_the_run_ended(tmp_path: Path) -> None:
    async def use(server: Server) -> subprocess.CompletedProcess[str]:
        fast = ["-o", "seats.agent.model.retries=1", "-o", "seats.agent.model.backoff=0.01"]
        return await asyncio.to_thread(command, tmp_path, server.url, *fast)

    done = serve_with((DOWN,), use)
    lines = done.stderr.splitlines()
    assert done.returncode == 1
    assert lines[0] == "sonde: an attempt failed: 503 from /v1/chat/completions: overloaded"
    assert lines[1] == "mastermind: the first error: Outage: 503 from /v1/chat/completions: overloaded (attempts: 2)"
    assert lines[-1].startswith(f"sonde: {OUTAGES} episodes in a row failed")
