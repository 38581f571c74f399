"""Playing with the module in training: its log-probabilities equal those of the trainer, update by update."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from sonde import Completion, Message, Sampling, UserError
from sonde.models.hf import HF
from sonde.train.collate import Tensors, collate
from sonde.train.logprobs import token_logprobs
from sonde.train.objectives.sft import SFT
from sonde.train.settings import LoraSettings, TrainSettings
from sonde.train.types import Item, Row, Sample, item_rows

from ..tiny import END, sample, samples, tiny_model, tiny_tokenizer, where

TOLD = ("go to 3 , 4", "wall wall free", "no", "the tally of red is 2 wins of 5")


async def converse(hf: HF, n: int, seed: int) -> list[list[Completion]]:
    """`n` conversations of two turns at once."""

    async def one(i: int) -> list[Completion]:
        chat: list[Message] = []
        said: list[Completion] = []
        for turn in range(2):
            chat.append(Message("user", TOLD[(i + turn) % len(TOLD)]))
            sampling = Sampling(max_new_tokens=3 + i % 4, temperature=1.0, seed=1000 * seed + 10 * i + turn)
            said.append(await hf.generate(chat, sampling))
            chat.append(Message("assistant", said[-1].text, said[-1]))
        return said

    return await asyncio.gather(*(one(i) for i in range(n)))


def as_sample(said: Sequence[Completion]) -> Sample:
    """One row per completion: its prompt, rebuilt from what the completions record, and what was sampled."""
    rows: list[Row] = []
    whole = array("i")
    for turn, c in enumerate(said):
        prompt = whole[: c.shared] + c.prompt_ids
        whole = prompt + c.ids
        n, m = len(prompt), len(c.ids)
        rows.append(
            Row(
                ids=whole,
                agent=bytes(n) + b"\1" * m,
                turns=array("i", [-1] * n + [turn] * m),
                logprobs=array("d", [float("nan")] * n + list(c.logprobs)),
            )
        )
    return replace(sample(0), rows=tuple(rows))


def check_identity(model: Any, conversations: Sequence[Sequence[Completion]]) -> None:
    """What was recorded at sampling is what one pass for training computes."""
    items = [as_sample(said) for said in conversations]
    logprob_RT = token_logprobs(model, where(model, collate(items, needs=frozenset(), pad_id=END)))
    for row, found_T in zip(item_rows(items), logprob_RT.tolist(), strict=True):
        pairs = [(f, s) for f, s, a in zip(found_T, row.logprobs or (), row.agent, strict=False) if a]
        assert [f for f, _ in pairs] == pytest.approx([s for _, s in pairs], abs=1e-4)


def watching(*args: Any) -> Any:
    """A trainer that plays before every update, and compares."""
    from sonde.train.trainer import SondeTrainer

    class Watching(SondeTrainer):
        backend: HF
        played: list[list[list[Completion]]]

        def make_passes(self, items: Sequence[Item]) -> tuple[list[Tensors], Any]:
            self.backend.renew_weights(str(self.state.global_step))
            with self.evaluation_mode() as model:
                self.played.append(asyncio.run(converse(self.backend, 5, seed=0)))  # a loop of its own every time
                check_identity(model, self.played[-1])
            return super().make_passes(items)

    return Watching(*args)


@pytest.mark.thorough
@pytest.mark.parametrize("adapter", [None, LoraSettings(r=4)], ids=["full", "lora"])
@pytest.mark.parametrize("recompute", [False, True])
def test_on_policy_between_updates(adapter: LoraSettings | None, recompute: bool, tmp_path: Path) -> None:
    settings = TrainSettings(
        folder=str(tmp_path), lr=2e-2, batch_size=4, epochs=3, lora=adapter, schedule="constant",
        gradient_checkpointing=recompute, warmup=0.0,
    )  # fmt: skip
    trainer = watching(tiny_model(), SFT(), samples(4), settings)
    trainer.backend = HF.from_module(trainer.model, tiny_tokenizer(), model="tiny", weights="start")
    trainer.played = []
    result = trainer.train()
    assert [{c.weights for said in played for c in said} for played in trainer.played] == [{"0"}, {"1"}, {"2"}]
    first, *_, last = trainer.played
    assert [c.ids for said in first for c in said] != [c.ids for said in last for c in said]
    assert any(c.usage.cached for said in last for c in said)  # within a version, kept keys and values are used
    assert result.history[-1]["loss"] < result.history[0]["loss"]
    asyncio.run(trainer.backend.close())


def test_old_keys_and_values_are_forgotten() -> None:
    """Without `renew`, a conversation that goes on would attend to what the old weights computed."""
    model = tiny_model()
    hf = HF.from_module(model, tiny_tokenizer(), model="tiny")

    async def after_an_update(renewed: bool) -> Completion:
        chat = [Message("user", TOLD[0])]
        await hf.generate(chat, Sampling(max_new_tokens=2, seed=1))
        for p in model.parameters():
            p.data += 0.05
        if renewed:
            hf.renew_weights("1")
        return await hf.generate(chat, Sampling(max_new_tokens=2, seed=1))

    assert asyncio.run(after_an_update(renewed=False)).usage.cached > 0
    fresh = asyncio.run(after_an_update(renewed=True))
    assert fresh.usage.cached == 0 and fresh.weights == "1" and hf.stats.kept_bytes > 0
    check_identity(model, [[fresh]])
    asyncio.run(hf.close())


def test_around_keeps_the_module_through_close_and_versions_through_loading() -> None:
    model = tiny_model()
    hf = HF.from_module(model, tiny_tokenizer(), model="tiny", weights="7", max_batch=2)
    chat = [Message("user", "go")]
    first = asyncio.run(hf.generate(chat, Sampling(max_new_tokens=4, seed=5)))
    asyncio.run(hf.close())
    hf.renew_weights("8")
    again = asyncio.run(hf.generate(chat, Sampling(max_new_tokens=4, seed=5)))
    assert (first.weights, again.weights) == ("7", "8") and first.ids == again.ids and first.model == "tiny"
    asyncio.run(hf.close())
    assert hf.config["model"] == "tiny" and hf.max_batch == 2


def test_what_cannot_be_played_or_renewed_is_refused() -> None:
    model = tiny_model()
    hf = HF.from_module(model.train(), tiny_tokenizer(), model="tiny")
    with pytest.raises(UserError, match="'tiny' is in training mode"):
        asyncio.run(hf.generate([Message("user", "go")], Sampling(max_new_tokens=1)))
    with pytest.raises(UserError, match="renew: got 'smollm2', loaded by name"):
        HF(model="smollm2").renew_weights("1")


@pytest.mark.thorough
def test_what_was_trained_plays_from_its_folder(tmp_path: Path) -> None:
    """Model, tokenizer and template; the merged adapter says what the module says."""
    from sonde.train.trainer import SondeTrainer

    for adapter in (None, LoraSettings(r=4)):
        folder = tmp_path / str(adapter is None)
        settings = TrainSettings(folder=str(folder), lr=2e-2, batch_size=4, epochs=3, lora=adapter)
        trainer = SondeTrainer(tiny_model(), SFT(), samples(4), settings, tiny_tokenizer())
        result = trainer.train()
        here, there = (
            HF.from_module(trainer.model, tiny_tokenizer(), model="tiny"),
            HF(model=str(result.model)),
        )
        a, b = (asyncio.run(converse(hf, 3, seed=4)) for hf in (here, there))
        for x, y in zip((c for said in a for c in said), (c for said in b for c in said), strict=True):
            assert x.ids == y.ids and list(x.logprobs) == pytest.approx(list(y.logprobs), abs=1e-5)
        for hf in (here, there):
            asyncio.run(hf.close())
