"""TRL while it plays itself, the game a tool; and that it learns in either way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="needs the extra: pip install 'sonde-rl[trl]'")

import torch

import sonde
from sonde.core import Episode, UserError
from sonde.interop.plain_speech import plain_speech
from sonde.interop.outward.trl import CreditedGRPO, Play
from sonde.interop.trl_tool import environment, rows
from sonde.models.shipped import shipped
from sonde.testing import check_interop
from sonde.train.credit import ReturnToGo
from sonde.train.gather import Game
from sonde.train.groups import OnlineSettings

from . import hosts, pages
from .grpo import HURRY, WARNINGS, K, config, playing

pytestmark = WARNINGS

MAZE = sonde.make("maze", preset="pairs", max_turns=2)
NEAR = (3, 11, 17, 27)
"""Tasks whose goal is two moves away."""


def spoken(folder: Path, way: str = "environment", **changes: Any) -> Any:
    """TRL generates with sonde-tiny-maze, whose template knows no tools; or our engine does."""
    from transformers import AutoTokenizer
    from trl import GRPOTrainer

    model = str(shipped("sonde-tiny-maze").folder)
    if way == "play":
        settings = OnlineSettings(k=changes["num_generations"], max_new_tokens=8, rewards=HURRY, credit=ReturnToGo())
        play = Play([Game(MAZE, [MAZE.tasks("train")[i] for i in NEAR], "maze")], settings)
        return CreditedGRPO(
            model, args=config(folder, **changes), train_dataset=play.dataset(len(NEAR)), rollout_func=play,
            reward_funcs=play.reward, processing_class=AutoTokenizer.from_pretrained(model),
        )  # fmt: skip
    return GRPOTrainer(
        model, args=config(folder, max_completion_length=200, **changes), train_dataset=rows(MAZE, 32).select(NEAR),
        processing_class=plain_speech(AutoTokenizer.from_pretrained(model)),
        environment_factory=environment(MAZE, rewards=HURRY, max_completion_length=200),
    )  # fmt: skip


def test_trl_plays_and_masks_what_was_said_back(folder: Path) -> None:
    """Every answer is masked, nothing comes after the end, and rewards are those of the environment."""
    made = spoken(folder)
    made.model.train()
    tokenizer, seeds = made.processing_class, [seed for seed in NEAR[:2] for _ in range(K)]
    out = made._generate_and_score_completions([made.train_dataset[n] for n in (0, 1) for _ in range(K)])
    for i, (seat, seed) in enumerate(zip(made.environments, seeds, strict=True)):
        ep = seat._session.episode
        assert ep.task == MAZE.tasks("train")[seed] and ep.seed == seed and ep.outcome is not None
        prompt = tokenizer.decode(out["prompt_ids"][i], skip_special_tokens=True)
        assert prompt == tokenizer.decode(tokenizer.encode(ep.messages["agent"][0].content))
        ids = out["completion_ids"][i][out["completion_mask"][i].bool()]
        mask = out["tool_mask"][i][: len(ids)].bool()
        said = [tokenizer.decode(part, skip_special_tokens=True) for part in parts(ids, mask)]
        told = [tokenizer.decode(part, skip_special_tokens=True) for part in parts(ids, ~mask)]
        assert said == [turn.text for turn in ep.turns] and bool(mask[-1])
        assert told == [tokenizer.decode(tokenizer.encode(turn.told)) for turn in ep.turns[:-1]]
        assert seat.get_reward() == pytest.approx(ep.outcome.success - 0.1 * len(ep.turns))


def parts(ids: torch.Tensor, mask: torch.Tensor) -> list[list[int]]:
    """The stretches of ids under the mask."""
    found: list[list[int]] = []
    before = False
    for id_, there in zip(ids.tolist(), mask.tolist(), strict=True):
        if there and not before:
            found.append([])
        if there:
            found[-1].append(id_)
        before = there
    return found


def test_a_seat_by_hand() -> None:
    """The rules come with `reset`; the last answer is longer than any completion may be; a reward once it is over."""
    seat = environment("wordle", max_completion_length=100)()
    env = sonde.make("wordle")
    assert (
        seat.reset(seed=3, prompt=[]) == Episode.begin(env, env.tasks("train")[3], seed=3).messages["agent"][0].content
    )
    assert seat.say("<Answer>toast</Answer>").startswith("t: absent") and seat.get_reward() == 0.0
    last = seat.say(f"<Answer>{env.tasks('train')[3].hidden}</Answer>")
    assert len(last.split()) > 100 and seat.get_reward() == 1.0
    assert len(seat.say("again").split()) > 100 and seat.get_reward() == 1.0
    seat.reset(seed=4)
    assert seat.get_reward() == 0.0
    with pytest.raises(UserError, match=r"row: columns: got \['answer'\], allowed: those of .*trl_tool.rows"):
        seat.reset(answer="x")


# --- they learn ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", hosts.SOME)
def test_the_tool_keeps_the_contract_of_adapters(name: str) -> None:
    check_interop(hosts.trl, sonde.make(name), episodes=3, concurrent=20)


@pytest.mark.thorough
@pytest.mark.parametrize("way", ["play", "environment"])
def test_both_ways_train(folder: Path, way: str) -> None:
    """TRL's own loop; the weights move."""
    made = playing(folder, max_steps=1)[0] if way == "play" else spoken(folder)
    before = {name: value.clone() for name, value in made.model.named_parameters()}
    made.train()
    assert made.state.global_step == (1 if way == "play" else 2)
    assert any(not torch.equal(value, before[name]) for name, value in made.model.named_parameters())


@pytest.mark.slow
@pytest.mark.parametrize("way", ["play", "environment"])
def test_both_ways_improve(folder: Path, way: str) -> None:
    """sonde-tiny-maze, which wanders, on four mazes whose goal is two moves away: what games earn in 12 steps."""
    changes: dict[str, Any] = {"per_device_train_batch_size": 32, "num_generations": 8, "max_steps": 12}
    made = spoken(folder, way, learning_rate=5e-4, **changes)
    made.train()
    earned = [entry["reward"] for entry in made.state.log_history if "reward" in entry]
    assert len(earned) == 12 and sum(earned[:3]) / 3 < 0.35 and sum(earned[-3:]) / 3 > 0.6  # .8 is the most


@pytest.mark.thorough
@pytest.mark.parametrize("name", [0, 1])
def test_the_page_says_what_happens(name: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    _, code, printed = pages.examples("trl.md")[name]
    said = [line for line in pages.run(code).splitlines() if not line.startswith("{'train_runtime'")]  # TRL's own
    assert said == printed.splitlines()
