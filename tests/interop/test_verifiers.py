"""verifiers: its own loop plays a local endpoint; rewards, outcome and what crosses are those of core."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("verifiers", reason="needs the extra: pip install 'sonde-rl[verifiers]'")

import asyncio

import verifiers.v1 as vf

import sonde
from sonde.core import Env, Episode, thaw
from sonde.interop.verifiers import Row, SondeEnv, SondeEnvConfig, SondeTask, SondeTasksetConfig
from sonde.testing import Played, check_interop

from . import pages
from .endpoint import endpoint

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENDPOINT_KEY", "none")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


async def played(env: Any, url: str, indices: list[int]) -> list[Any]:
    """The traces of these tasks, all at once."""
    tasks = list(env.taskset.include(idx=indices))
    context = vf.ModelContext(model="any", client=vf.EvalClientConfig(base_url=url, api_key_var="ENDPOINT_KEY"))
    async with env.serving():
        episodes = await asyncio.gather(*(env.run_episode(task, context) for task in tasks))
    assert all(episode.ok for episode in episodes), [trace.errors for e in episodes for trace in e.traces]
    return [episode.traces[0] for episode in episodes]


def test_episodes_are_those_of_core() -> None:
    """Two tasks at once; the model finds the word of the second in its second turn, and never that of the first."""
    game = sonde.make("wordle", max_turns=2)
    tasks = [game.tasks("train")[i] for i in (0, 3)]
    told = Episode.begin(game, tasks[1], seed=7).step("<Answer>toast</Answer>").turns[-1].told

    def say(messages: list[dict[str, str]]) -> str:
        found = messages[-1]["content"] == told
        return f"<Answer>{tasks[1].hidden if found else 'toast'}</Answer>"

    config = SondeTasksetConfig(id="sonde-verifiers", env="wordle", arguments={"max_turns": 2}, seed=7)
    env = SondeEnv(SondeEnvConfig(taskset=config))
    assert env.config.agent.runtime.type == "subprocess"
    with endpoint(say) as url:
        traces = asyncio.run(played(env, url, [0, 3]))
    for task, trace in zip(tasks, traces, strict=True):
        ep = Episode.begin(game, task, seed=7)
        while ep.to_act:
            ep = ep.step(say([{"content": ep.messages["agent"][-1].content}]))
        assert ep.outcome is not None
        assert trace.info["outcome"] == ep.outcome._asdict()
        assert trace.info["turn_rewards"] == [turn.rewards.get("agent", 0.0) for turn in ep.turns]
        assert trace.info["turn_facts"] == [thaw(turn.info) for turn in ep.turns]
        assert trace.info["turn_gains"] == pytest.approx(ep.information_gain())
        assert trace.rewards["return"].score == sum(trace.info["turn_rewards"])
        assert trace.metrics[ep.outcome.kind] == 1.0 and trace.metrics["success"] == float(ep.outcome.success)
        said = [str(message.content) for message in trace.messages]
        heard = [message.content for message in ep.messages["agent"]]
        assert said == heard[: len(said)] and len(said) >= 2 * len(ep.turns)
        if not ep.outcome.success:
            assert f'"{task.hidden}"' not in trace.model_dump_json()
    assert {trace.metrics["success"] for trace in traces} == {0.0, 1.0}


async def through(env: Env[Any], *, seed: int, index: int, reply: Callable[[str], Awaitable[str]]) -> Played:
    """The same on a loop that lasts: verifiers has locks that belong to the first one that waited for them."""
    found = _through(env, seed, index, reply, asyncio.get_running_loop())
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(found, _lasting()))


@cache
def _lasting() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


async def _through(env: Env[Any], seed: int, index: int, reply: Any, loop: asyncio.AbstractEventLoop) -> Played:
    """An episode through verifiers' own loop; the player is behind the endpoint that its harness calls."""

    def say(messages: list[dict[str, str]]) -> str:
        return asyncio.run_coroutine_threadsafe(reply(messages[-1]["content"]), loop).result(60)

    arguments = {key: value for key, value in env.config.items() if key != "name"}
    config = SondeTasksetConfig(id="sonde-verifiers", env=env.name, arguments=arguments, seed=max(0, seed))
    host = SondeEnv(SondeEnvConfig(taskset=config))
    task = SondeTask(Row(name="a task", index=index, seed=seed), config.task)
    with endpoint(say) as url:
        context = vf.ModelContext(model="any", client=vf.EvalClientConfig(base_url=url, api_key_var="ENDPOINT_KEY"))
        async with host.serving():
            episode = await host.run_episode(task, context)
    if not episode.ok:
        raise RuntimeError(str([trace.errors for trace in episode.traces] or episode))
    trace = episode.traces[0]
    outcome = trace.info["outcome"]
    cut = outcome["truncated"] == "turns"
    return Played(
        told=[*(str(m.content) for m in trace.messages if m.role == "user"), trace.info["ending"]],
        rewards=trace.info["turn_rewards"], outcome=outcome, terminated=not cut, truncated=cut,
        crossed=trace.model_dump_json(),
    )  # fmt: skip


@pytest.mark.slow
def test_it_keeps_the_contract_of_adapters() -> None:
    check_interop(through, sonde.make("wordle", max_turns=3), episodes=1, concurrent=4)


@pytest.mark.slow
def test_its_own_command_evaluates_on_a_local_endpoint(tmp_path: Path) -> None:
    """The command of the page, with fewer tasks and this endpoint: every rollout is on disk, with core's numbers."""
    page = (pages.DOCS / "verifiers.md").read_text("utf-8")
    found = re.search(r"^vf-eval .*$", page, re.MULTILINE)
    assert found is not None
    command = shlex.split(found[0])
    with endpoint(lambda messages: "<Answer>toast</Answer>") as url:
        for option, value in {"-n": "1", "-r": "2", "--client.base-url": url, "-o": str(tmp_path)}.items():
            command[command.index(option) + 1] = value
        more = ["--env.taskset.arguments", '{"max_turns": 2}', "--run.dir", "run", "--no-rich"]
        done = subprocess.run([*command, *more], check=False, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    rollouts = [json.loads(line) for line in (tmp_path / "run" / "traces.jsonl").read_text().splitlines()]
    game = sonde.make("wordle", max_turns=2)
    ep = (
        Episode.begin(game, game.tasks("test")[0], seed=0).step("<Answer>toast</Answer>").step("<Answer>toast</Answer>")
    )
    assert ep.outcome is not None and [rollout["ok"] for rollout in rollouts] == [True, True]
    for (trace,) in (rollout["traces"] for rollout in rollouts):
        assert trace["info"]["outcome"] == ep.outcome._asdict()
        assert trace["info"]["turn_facts"] == [thaw(turn.info) for turn in ep.turns]
        assert trace["metrics"]["turns"] == 2 and trace["rewards"]["return"]["score"] == 0.0


def test_rows_know_nothing_hidden() -> None:
    env = SondeEnv(SondeEnvConfig(taskset=SondeTasksetConfig(id="sonde-verifiers", env="wordle", seed=4)))
    rows = [task.data for task in env.taskset.take(3)]
    assert [(row.index, row.seed, row.prompt) for row in rows] == [(0, 4, None), (1, 4, None), (2, 4, None)]
    words = [task.hidden for task in sonde.make("wordle").tasks("train")[:3]]
    assert not any(word in row.model_dump_json() for row in rows for word in words)


def test_the_page_says_what_happens() -> None:
    ((_, code, printed),) = pages.examples("verifiers.md")
    with endpoint(lambda messages: "<Answer>toast</Answer>") as url:
        assert pages.run(code, URL=url) == printed
