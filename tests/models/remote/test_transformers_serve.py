"""A real engine behind an address: `transformers serve` answers `models:http` with what the same weights say here."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

pytest.importorskip("torch")

import sonde
from sonde import Message, Sampling, UserError
from sonde.models.files.fetch import fetch_model
from sonde.models.hf import HF
from sonde.models.remote.retry import EndpointWarning
from sonde.runs.rollout import Plan, collect_trajectories

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(
        not (find_spec("fastapi") and find_spec("uvicorn")), reason="needs: pip install fastapi uvicorn"
    ),
]


@pytest.fixture(scope="module", params=["sonde-tiny-maze"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A model's folder and the address at which it is served."""
    folder, log = str(fetch_model(request.param)), tmp_path_factory.mktemp("serve") / "log"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with log.open("w") as out:
        command = [sys.executable, "-m", "transformers.cli.transformers", "serve", folder, "--port", str(port)]
        process = subprocess.Popen([*command, "--device", "cpu", "--host", "127.0.0.1"], stdout=out, stderr=out,
                                   env={**os.environ, "HF_HUB_OFFLINE": "1"})  # fmt: skip
    try:
        _wait(f"http://127.0.0.1:{port}/health", process, log)
        yield folder, f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(30)


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(300):
        assert process.poll() is None, log.read_text()[-2000:]
        try:
            with urlopen(url, timeout=2):
                return
        except URLError:
            time.sleep(0.5)
    raise AssertionError(log.read_text()[-2000:])


@pytest.mark.parametrize("served", ["sonde-tiny-maze", "smollm2"], indirect=True)
def test_what_it_says_greedily_is_what_is_said_here(served: tuple[str, str]) -> None:
    folder, url = served
    asked = (Message("user", "You are at 0, 0. Where do you go?"),)
    greedy = Sampling(max_new_tokens=12, temperature=0.0)

    async def said(model: sonde.Model) -> sonde.Completion:
        try:
            return await model.generate(asked, greedy)
        finally:
            await model.close()

    there = asyncio.run(said(sonde.make("models:http", base_url=url, model=folder, omit=("seed",), api_key_env="")))
    here = asyncio.run(said(HF(model=folder, dtype="float32")))
    assert there.text.strip() == here.text.strip() and there.finish == here.finish
    assert there.usage.prompt == here.usage.prompt


def test_episodes_are_played_on_it(served: tuple[str, str]) -> None:
    folder, url = served
    env = sonde.make("maze", preset="pairs")
    http = sonde.make("models:http", base_url=url, model=folder, api_key_env="", concurrency=2)
    agent = sonde.make("agents:llm", model=http, temperature=1.0, min_p=0.0, max_new_tokens=8)
    played = list(collect_trajectories(env, {"agent": agent}, env.tasks("train")[:1], Plan(k=2)))
    assert len(played) == 2 and not any(t.error for t in played)
    assert http.stats.calls == sum(len(t.turns) for t in played) and http.stats.failures == 0


def test_fields_that_it_refuses_are_left_out_and_recorded(served: tuple[str, str]) -> None:
    folder, url = served
    env = sonde.make("maze", preset="pairs")

    def play(**more: Any) -> Any:
        http = sonde.make("models:http", base_url=url, model=folder, api_key_env="", concurrency=2, **more)
        agent = sonde.make("agents:llm", model=http, max_new_tokens=4)
        return collect_trajectories(env, {"agent": agent}, env.tasks("train")[:1], Plan(k=2)), http

    with pytest.warns(EndpointWarning, match="does not accept min_p: left out"):
        played, http = play()
    assert not any(t.error for t in played) and http.stats.failures == 0
    assert {c.unsent for t in played for act in t.acts for c in act.action.completions} == {("min_p",)}
    with pytest.raises(UserError, match=r"422 from .*; -o 'seats.agent.model.omit=\[min_p\]' leaves it out"):
        play(strict=True)


def test_an_address_without_its_version_is_mended(served: tuple[str, str]) -> None:
    folder, url = served
    model = sonde.make("models:http", base_url=url.removesuffix("/v1"), model=folder, api_key_env="")

    async def once() -> sonde.Completion:
        try:
            return await model.generate((Message("user", "Hello"),), Sampling(max_new_tokens=4))
        finally:
            await model.close()

    with pytest.warns(EndpointWarning, match="answers below /v1, which base_url lacks"):
        assert asyncio.run(once()).usage.completion > 0


def test_greedy_games_are_those_of_the_same_weights_here(served: tuple[str, str]) -> None:
    folder, url = served
    env = sonde.make("maze", preset="pairs", max_turns=4)
    there = sonde.make("models:http", base_url=url, model=folder, api_key_env="", omit=("seed",))
    games = list[list[list[str]]]()
    for model in (there, HF(model=folder, dtype="float32", threads=1)):
        agent = sonde.make("agents:llm", model=model, temperature=0.0, min_p=0.0, max_new_tokens=8)
        played = collect_trajectories(env, {"agent": agent}, env.tasks("train")[:3], Plan(k=1))
        in_order = sorted(played, key=lambda t: t.task.id)
        games.append([[act.action.text.strip() for act in t.acts] for t in in_order])
    assert games[0] == games[1] and all(games[0])


def test_it_takes_no_token_ids_and_the_error_says_what_does(served: tuple[str, str]) -> None:
    folder, url = served
    model = sonde.make("models:vllm", base_url=url, model=folder, api_key_env="")
    with pytest.raises(UserError, match=r"422 from /v1/completions.*for a server without token ids use models:http"):
        asyncio.run(model.generate((Message("user", "Hello"),), Sampling(max_new_tokens=4)))
