"""A small model that is no toy, SmolLM2-135M: by a real vLLM it has the numbers of `models:hf`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import sonde
from sonde import Message, Probe

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
