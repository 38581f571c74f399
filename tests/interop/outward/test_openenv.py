"""OpenEnv: a server in a process of its own, a hundred sessions at once, and the way back in."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

pytest.importorskip("openenv", reason="needs the extra: pip install 'sonde-rl[openenv]'")

import sonde
from sonde.core import AGENT, Episode, UserError
from sonde.interop.outward.openenv import SayAction, SondeClient
from sonde.interop.session import Session
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.testing import HostEpisode, check_interop

from .. import hosts, pages


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start_server(*args: str) -> tuple[subprocess.Popen[bytes], str, IO[bytes]]:
    at = free_port()
    command = [sys.executable, "-m", "sonde.interop.outward.openenv", *args, "--port", str(at)]
    errors = tempfile.TemporaryFile()  # noqa: SIM115 (a pipe that nobody reads would stop it)
    process = subprocess.Popen(command, stderr=errors)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{at}/health", timeout=1)
            return process, f"http://127.0.0.1:{at}", errors
        except OSError:
            time.sleep(0.1)
    process.kill()
    errors.seek(0)
    raise AssertionError(errors.read())


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    process, address, errors = start_server("wordle", "--preset", "lmrl", "--gains")
    yield address
    process.kill()
    process.wait()
    errors.seek(0)
    said = errors.read().decode()
    errors.close()
    assert "Traceback" not in said, said[-3000:]


ENV = sonde.make("wordle", preset="lmrl")


async def play_through(address: str, seed: int, index: int | None, sample: int = 0, reply: Any = None) -> HostEpisode:
    async with SondeClient(base_url=address) as host:
        place = {} if index is None else {"index": index}
        result = await host.reset(seed=seed, sample=sample, **place)
        told, rewards, crossed = [result.observation.text], list[float](), [result.observation.model_dump()]
        while not result.done:
            result = await host.step(SayAction(text=await reply(result.observation.text)))
            told.append(result.observation.text)
            rewards.append(result.reward)
            crossed.append(result.observation.model_dump())
        state = await host.state()
    assert (state.seed, state.index, state.step_count) == (seed, index, len(rewards))
    seen = result.observation
    return HostEpisode(
        told=told, rewards=rewards, outcome=seen.outcome, terminated=result.done and not seen.truncated,
        truncated=seen.truncated, crossed=[crossed, state.model_dump()],
    )  # fmt: skip


def scripted_replies(seed: int) -> Any:
    """What is said in the episode of a seed: five words, the hidden one last in every second."""
    task = ENV.tasks("train")[seed % len(ENV.tasks("train"))]
    words = iter(["toast", "crane", "moldy", task.hidden if seed % 2 else "fifth", "sixth", "seven", "eight"])

    async def reply(text: str) -> str:
        await asyncio.sleep(0)
        return f"<Answer>{next(words)}</Answer>"

    return reply


def test_a_hundred_sessions_at_once_are_a_hundred_local_ones(url: str) -> None:
    async def play() -> list[HostEpisode]:
        return await asyncio.gather(
            *(play_through(url, seed, None, reply=scripted_replies(seed)) for seed in range(100))
        )

    async def local(seed: int) -> tuple[list[str], list[float], Any]:
        seat, reply = Session(ENV), scripted_replies(seed)
        heard = seat.reset(seed)
        told, rewards = [heard.text], list[float]()
        while not heard.done:
            heard = seat.say(await reply(heard.text))
            told.append(heard.text)
            rewards.append(heard.reward)
        return told, rewards, heard.outcome

    found = asyncio.run(play())
    for seed, played in enumerate(found):
        told, rewards, outcome = asyncio.run(local(seed))
        assert (list(played.told), list(played.rewards), played.outcome) == (told, rewards, outcome)
        assert all(row["gain"] is not None for row in played.crossed[0][1:]), "numbers are in declared fields"
    assert {p.outcome["kind"] for p in found if p.outcome} == {"win", "out_of_turns"}


@pytest.mark.parametrize("name", hosts.SOME)
def test_it_keeps_the_contract_of_adapters(name: str) -> None:
    check_interop(hosts.openenv, sonde.make(name), episodes=3, concurrent=1000 if name == "wordle" else 30)


def test_mistakes_arrive_in_words(url: str) -> None:
    with SondeClient(base_url=url).sync() as host:
        for place, says in (({"seed": -1}, "seed: got -1"), ({"seed": 1, "index": 10**6}, "index: got 1000000")):
            with pytest.raises(RuntimeError, match=says):
                host.reset(**place)
        first, second = host.reset(), host.reset()
        assert first.observation.text and host.state().seed is not None and second.reward is None


def test_openenv_validates_the_server(url: str) -> None:
    command = [str(Path(sys.executable).with_name("openenv")), "validate", url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    assert done.returncode == 0 and report["passed"], done.stdout
    assert not [c for c in report["criteria"] if c["required"] and not c["passed"]]


def test_and_in_again(url: str) -> None:
    """A server of sonde as an environment of sonde: worlds by the host's seeds, rewards and outcomes as they were."""
    env = sonde.make(f"openenv:{url}", reward_range=(-1, 0))
    ep = Episode.begin(env, env.tasks("train")[7])
    here = Session(ENV)
    assert ep.messages[AGENT][-1].content == here.reset(7).text
    word = here.episode.task.hidden
    for text in ("<Answer>toast</Answer>", f"<Answer>{word}</Answer>"):
        ep, heard = ep.step(text), here.say(text)
        assert ep.turns[-1].rewards.get(AGENT, 0.0) == heard.reward
    assert ep.outcome is not None and ep.outcome._asdict() == heard.outcome
    assert Episode.replay(sonde.core.build(env.config), ep.to_trajectory()).outcome == ep.outcome
    with pytest.raises(UserError, match=r"tells: got 'words', allowed: a field of its observations: text, turn"):
        wrong = sonde.make(f"openenv:{url}", tells="words")
        Episode.begin(wrong, wrong.tasks("train")[0])


def test_played_like_the_rest(url: str) -> None:
    env = sonde.make(f"openenv:{url}", reward_range=(-1, 0), max_turns=3)
    model = sonde.make("models:fake", script=("<Answer>toast</Answer>", "<Answer>crane</Answer>"))
    agent = sonde.make("agents:llm", model=model)
    found = collect_trajectories(env, {AGENT: agent}, env.tasks("test")[:30], Plan(k=1, concurrency=30))
    assert len(found) == 30 and not any(t.error for t in found)
    assert {t.outcome.kind for t in found if t.outcome} <= {"out_of_turns", "win"}


@pytest.mark.parametrize("address", ["localhost:8000", "", "ftp://x"])
def test_an_address_is_one(address: str) -> None:
    with pytest.raises(UserError, match=r"openenv: got .*, allowed: an address"):
        sonde.make(f"openenv:{address}")


def test_a_server_that_is_not_there_is_named() -> None:
    env = sonde.make(f"openenv:http://127.0.0.1:{free_port()}")
    with pytest.raises(UserError, match="the host cannot begin seed 0: ConnectionError"):
        Episode.begin(env, env.tasks("train")[0])


def test_the_page_says_what_it_prints(url: str) -> None:
    for _, code, printed in pages.page_examples("openenv.md"):
        assert pages.run_code(code, URL=url) == printed


def test_an_agent_acts_by_tools(url: str) -> None:
    """The state offers the tool; calls in OpenAI's form play, and a bad one is explained."""
    call = {"id": "c1", "type": "function", "function": {"name": "act", "arguments": '{"action": "toast"}'}}
    bad = {"id": "c2", "type": "function", "function": {"name": "act", "arguments": '{"action'}}
    seat = Session(ENV)
    seat.reset(7)
    with SondeClient(base_url=url).sync() as host:
        host.reset(seed=7)
        assert host.state().tool == seat.tool.to_json()
        called = host.step(SayAction(calls=[call], text="I try."))
        assert called.observation.text == seat.say("t o a s t").text
        refused = host.step(SayAction(calls=[bad])).observation.text
        assert refused.startswith("The arguments were not the JSON object") and refused.endswith(seat.say("").text)
        assert host.state().step_count == 2
