"""verifiers: its own loop plays a local endpoint; rewards, outcome and what crosses are those of core."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("verifiers", reason="needs the extra: pip install 'sonde-rl[verifiers]'")

import asyncio

from verifiers.v1.harnesses.null.harness import CHAT_PROGRAM_SOURCE

import sonde
from sonde.core import Episode, thaw
from sonde.interop.outward.verifiers import SondeEnv, SondeEnvConfig, SondeTasksetConfig
from sonde.testing import check_interop

from .. import endpointed, pages
from ..endpoint import serve_endpoint

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


@pytest.fixture(autouse=True, scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Its harness is a script whose packages uv installs when it is first run, with this machine's certificates."""
    script = tmp_path_factory.mktemp("harness") / "chat.py"
    source = CHAT_PROGRAM_SOURCE
    script.write_bytes(source.encode() if isinstance(source, str) else source)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("UV_SYSTEM_CERTS", "UV_NATIVE_TLS"):
            patch.setenv(name, "true")
        asked = [sys.executable, "-m", "uv", "sync", "--script", str(script), "-q", "--no-config"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"uv cannot install here what the harness of verifiers needs: {done.stderr[-500:]}")
        yield


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENDPOINT_KEY", "none")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


async def run_episodes(env: Any, url: str, indices: list[int]) -> list[Any]:
    """Those of these tasks, all at once."""
    async with env.serving():
        tasks = list(env.taskset.include(idx=indices))
        found = await asyncio.gather(*(env.run_episode(task, endpointed.model(url)) for task in tasks))
    assert all(episode.ok for episode in found), [trace.errors for e in found for trace in e.traces]
    return found


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
    with serve_endpoint(say) as url:
        traces = [episode.traces[0] for episode in asyncio.run(run_episodes(env, url, [0, 3]))]
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


def test_a_model_acts_by_tools() -> None:
    """verifiers' own harness makes the calls, by the tool server of the rollout."""
    game = sonde.make("mastermind")
    secret = game.tasks("train")[0].hidden
    tools = list[str]()

    def say(messages: list[dict[str, str]]) -> str | tuple[str, str]:
        replies = [m for m in messages if m["role"] == "assistant"]
        tools.extend(str(m.get("content")) for m in messages if m["role"] == "tool")
        calls = [("act", '{"action": "0123"}'), ("act", json.dumps({"action": secret})), "Done."]
        return calls[len(replies)]

    config = SondeTasksetConfig.model_validate({"id": "sonde-verifiers", "env": "mastermind", "task": {"tools": True}})
    env = SondeEnv(SondeEnvConfig(taskset=config))
    with serve_endpoint(say) as url:
        [episode] = asyncio.run(run_episodes(env, url, [0]))
    trace = episode.traces[0]
    assert (trace.metrics["success"], trace.metrics["turns"], trace.metrics["bad_calls"]) == (1.0, 2, 0.0)
    ep = Episode.begin(game, game.tasks("train")[0], seed=0).step("<Answer>0123</Answer>")
    assert any(ep.turns[0].told in told for told in tools)
    assert trace.info["outcome"]["kind"] == "win"


def test_a_reply_without_a_call_is_a_turn_that_cannot_win() -> None:
    city = sonde.make("guess_my_city", max_turns=2)
    names = city.tasks("train")[0]

    def say(messages: list[dict[str, str]]) -> str | tuple[str, str]:
        return f"Is it {names.hidden}?"

    asked = {"id": "sonde-verifiers", "env": "guess_my_city", "arguments": {"max_turns": 2}, "task": {"tools": True}}
    env = SondeEnv(SondeEnvConfig(taskset=SondeTasksetConfig.model_validate(asked)))
    with serve_endpoint(say) as url:
        [episode] = asyncio.run(run_episodes(env, url, [0]))
    trace = episode.traces[0]
    assert (trace.metrics["success"], trace.metrics["turns"], trace.metrics["bad_calls"]) == (0.0, 2, 2.0)


def test_a_user_is_an_agent_too() -> None:
    """The customer is an agent of verifiers: told what core tells its seat, heard as core hears it, never trained."""
    heard: list[list[dict[str, str]]] = []

    def say(messages: list[dict[str, str]]) -> str:
        if messages[0]["content"].startswith("You play a customer"):
            heard.append(messages)
            return f"No, not number {len(messages)}."
        return f"Is it plugged in? ({len(messages)})"

    config = SondeTasksetConfig(id="sonde-verifiers", env="customer_service", arguments={"max_turns": 3}, seed=5)
    env = SondeEnv(SondeEnvConfig(taskset=config, seats=("user",)))
    with serve_endpoint(say) as url:
        episode = asyncio.run(run_episodes(env, url, [2]))[0]
    traces = {trace.agent.name: trace for trace in episode.traces}
    assert {name: trace.agent.trainable for name, trace in traces.items()} == {"agent": True, "user": False}
    assert traces["user"].agent.config.sampling.temperature == 0.0 and not traces["user"].rewards
    game = sonde.make("customer_service", max_turns=3)
    ep = Episode.begin(game, game.tasks("train")[2], seed=5)
    while ep.to_act:
        ep = ep.step(say([message.to_json() for message in ep.messages[ep.to_act]]))
    for seat, trace in traces.items():
        said = [str(message.content) for message in trace.messages]
        assert said == [message.content for message in ep.messages[seat]][: len(said)] and len(said) == 6
    assert ep.outcome is not None and traces["agent"].info["outcome"] == ep.outcome._asdict()
    assert traces["agent"].info["turn_facts"] == [thaw(turn.info) for turn in ep.turns]


def test_a_user_that_ends_early_is_an_error_without_a_reward() -> None:
    """The customer's own limit is one turn."""
    config = SondeTasksetConfig(id="sonde-verifiers", env="customer_service", arguments={"max_turns": 3})
    limited = SondeEnvConfig.model_validate({"taskset": config, "seats": ["user"], "user": {"max_turns": 1}})
    with serve_endpoint(lambda messages: "Is it plugged in?") as url:
        episode = asyncio.run(run_episodes(SondeEnv(limited), url, [0]))[0]
    (trace,) = (trace for trace in episode.traces if trace.agent.name == "agent")
    assert trace.metrics["error"] == 1.0 and not trace.rewards and trace.info["outcome"] is None
    assert trace.info["error"] == "the agent 'user' of verifiers ended before the episode did"


def test_seats_are_those_there_are_and_all_are_filled() -> None:
    for arguments, seats, says in (
        ({}, ("judge",), "seats: unknown name 'judge'; known: user"),
        ({"judge": "seat"}, ("user",), "no policy for seat 'judge' of customer_service"),
    ):
        config = SondeTasksetConfig(id="sonde-verifiers", env="customer_service", arguments=arguments)
        with pytest.raises(sonde.UserError, match=says):
            SondeEnv(SondeEnvConfig(taskset=config, seats=seats))


@pytest.mark.thorough
def test_it_keeps_the_contract_of_adapters() -> None:
    check_interop(endpointed.play_by_verifiers, sonde.make("wordle", max_turns=3), episodes=1, concurrent=4)


@pytest.mark.slow
@pytest.mark.parametrize("name", sonde.names())
def test_every_environment_keeps_it(name: str) -> None:
    """Every turn is a process of verifiers' own, so that games are short and few."""
    check_interop(endpointed.play_by_verifiers, sonde.make(name, max_turns=4), episodes=1, concurrent=2)


@pytest.mark.slow
def test_its_own_command_evaluates_on_a_local_endpoint(tmp_path: Path) -> None:
    """The command of the page, with fewer tasks and this endpoint: every rollout is on disk, with core's numbers."""
    page = (pages.DOCS / "verifiers.md").read_text("utf-8")
    found = re.search(r"^vf-eval .*$", page, re.MULTILINE)
    assert found is not None
    command = shlex.split(found[0])
    with serve_endpoint(lambda messages: "<Answer>toast</Answer>") as url:
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


def test_the_page_of_prime_rl_says_what_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its part of a configuration is a part of the recipe, and our classes read it."""
    (shown,) = pages.code_blocks("prime_rl.md", "toml")
    recipe = tomllib.loads((pages.DOCS.parents[1] / "recipes" / "interop" / "prime_rl.toml").read_text("utf-8"))
    part = tomllib.loads(shown)["orchestrator"]
    source, whole = part["train"]["source"][0], recipe["orchestrator"]["train"]["source"][0]
    assert source["env"]["taskset"] == whole["env"]["taskset"] and source["name"] == whole["name"]
    assert source["env"]["agent"]["harness"] == whole["env"]["agent"]["harness"]
    assert {name: part[name] for name in ("batch_size", "group_size")}.items() <= recipe["orchestrator"].items()
    (tmp_path / "wordle.toml").write_text(shown, "utf-8")
    monkeypatch.chdir(tmp_path)
    ((_, code, printed),) = pages.page_examples("prime_rl.md")
    assert pages.run_code(code) == printed


def test_the_page_says_what_happens() -> None:
    ((_, code, printed),) = pages.page_examples("verifiers.md")
    with serve_endpoint(lambda messages: "<Answer>toast</Answer>") as url:
        assert pages.run_code(code, URL=url) == printed
