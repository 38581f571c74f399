"""A small model that is no toy, SmolLM2-135M: by a real vLLM it has the numbers of `models:hf`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import sonde
from sonde import Message, Probe
from sonde.core import AGENT
from sonde.runs.rollout import Plan, collect_trajectories

from .asking import EXACT, local, run, served, talk
from .servers import NAME, Server, vllm

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


def test_by_tools_a_small_model_plays_what_it_may(smollm2: Path, log: Path) -> None:
    """The server samples within the schema, so every reply is a usable call."""
    with vllm(smollm2, log, "--enable-auto-tool-choice", "--tool-call-parser", "hermes", length=2048) as server:
        http = sonde.make("models:http", base_url=server.url, model=NAME, api_key_env="")
        env = sonde.make("minesweeper", max_turns=3)
        agent = sonde.make("agents:llm", model=http, tools=True, max_new_tokens=60)
        played = collect_trajectories(env, {AGENT: agent}, env.tasks("test")[:2], Plan(k=1))
    said = [c for t in played for turn in t.turns for c in turn.acts[0].action.completions]
    assert len(said) >= 2 and {c.call_defect for c in said} == {""} and all(c.calls[0].name == "act" for c in said)
    assert all(turn.info["result"] != "invalid" for t in played for turn in t.turns)
