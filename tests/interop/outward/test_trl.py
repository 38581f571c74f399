"""TRL while our engine plays: what is trained is what was sampled and what the agent said, and credit is ours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

import sonde
from sonde.core import Action, Episode, Policy, UserError, View, WorldError
from sonde.models.files.shipped import get_shipped_model
from sonde.train.collect import Game
from sonde.train.credit import GAE, ReturnToGo
from sonde.train.objectives import make_objective
from sonde.train.online.settings import OnlineSettings
from sonde.train.rewarders import BeliefGain, ExactGain
from sonde.train.rewards import RewardMix
from sonde.train.types import Batch, count_units

from ...models.engines import VllmDouble
from ...train.tiny import END
from .. import pages
from ..grpo import (
    ENV,
    HURRY,
    WARNINGS,
    K,
    agent_logprobs,
    agent_mask,
    incline_model,
    make_batch,
    make_config,
    make_trainer,
)

pytestmark = [
    *WARNINGS,
    pytest.mark.skipif(not find_spec("trl"), reason="needs the extra: pip install 'sonde-rl[trl]'"),
]


def test_what_is_trained_is_what_was_sampled(model_folder: Path) -> None:
    """Ids are those of the completions, in their places; the mask marks them and nothing else; log-probabilities are
    those of the trainer's own forward pass."""
    made, play = make_trainer(model_folder)
    out = make_batch(made, play, 0, 1)
    episodes = [t for group in play.played for t in group]
    assert len(episodes) == 8 == len(out["completion_ids"])
    for i, t in enumerate(episodes):
        ids = torch.cat([out["prompt_ids"][i][out["prompt_mask"][i].bool()], out["completion_ids"][i]])
        said = [c for turn in t.turns for c in turn.acts[0].action.completions]
        mask = out["completion_mask"][i].bool() & out["tool_mask"][i].bool()
        assert out["completion_ids"][i][mask].tolist() == [id_ for c in said for id_ in c.ids]
        assert out["sampling_per_token_logps"][i][mask].tolist() == pytest.approx([p for c in said for p in c.logprobs])
        whole = [id_ for c in said for id_ in (*c.prompt_ids, *c.ids)]
        assert ids.tolist()[: len(whole)] == whole and set(ids.tolist()[len(whole) :]) <= {END}
    assert bool((out["tool_mask"] == 0).any())
    difference = agent_logprobs(made, out) - out["sampling_per_token_logps"] * agent_mask(out)
    assert float(difference.detach().abs().max()) < 1e-4


def test_advantages_are_those_of_our_credit(model_folder: Path) -> None:
    """Return-to-go above the others of the group, by hand from the recorded turns; 0 off the agent's tokens."""
    made, play = make_trainer(model_folder)
    out = make_batch(made, play, 0, 1)
    for g, group in enumerate(play.played):
        won = [t.outcome is not None and t.outcome.success for t in group]
        per_turn = [
            [-0.1 + (w and n == len(t.turns) - 1) for n in range(len(t.turns))] for t, w in zip(group, won, strict=True)
        ]
        to_go = [[sum(r[n:]) for n in range(len(r))] for r in per_turn]
        for i, (t, mine) in enumerate(zip(group, to_go, strict=True)):
            others = [row for j, row in enumerate(to_go) if j != i]
            for n in range(len(t.turns)):
                base = sum(row[min(n, len(row) - 1)] for row in others) / (K - 1)
                ids = t.turns[n].acts[0].action.completions[0].ids
                before = sum(len(turn.acts[0].action.completions[0].ids) for turn in t.turns[:n])
                place = agent_mask(out)[K * g + i].nonzero().flatten()[before : before + len(ids)]
                assert out["advantages"][K * g + i][place].tolist() == pytest.approx([mine[n] - base] * len(ids))
    assert float((out["advantages"] * (1 - agent_mask(out))).abs().max()) == 0.0
    assert len(set(out["advantages"].flatten().tolist())) > 4


def test_loss_and_gradient_are_ours(model_folder: Path) -> None:
    """TRL's loss of the batch, with advantages per token, is that of our GRPO from plain log-probabilities."""
    made, play = make_trainer(model_folder)
    out = make_batch(made, play, 0, 1)
    made.model.eval()
    theirs = made._compute_loss(made.model, {**out, "old_per_token_logps": out["sampling_per_token_logps"] + 0.3})
    logprob, mask = agent_logprobs(made, out), agent_mask(out).bool()
    n = len(mask)
    seen = Batch(
        agent_RT=mask, turn_RT=torch.where(mask, 0, -1), owner_R=torch.arange(n), n_samples=n,
        score_S=torch.zeros(n), success_S=torch.zeros(n, dtype=torch.bool), advantage_RT=out["advantages"],
        sampled_RT=torch.where(mask, out["sampling_per_token_logps"] + 0.3, 0.0),
    )  # fmt: skip
    grpo = make_objective("grpo")
    ours = grpo(logprob, seen).total / count_units(seen, grpo.unit)
    assert float(theirs.detach()) == pytest.approx(float(ours.detach()), abs=1e-6)
    one, other = embedding_gradient(theirs, made.model), embedding_gradient(ours, made.model)
    assert float(one.abs().max()) > 1e-4 and torch.allclose(one, other, atol=1e-6)


def embedding_gradient(loss: Any, model: Any) -> torch.Tensor:
    model.zero_grad()
    loss.backward()
    found = model.get_input_embeddings().weight.grad.clone()
    model.zero_grad()
    return found


def test_a_group_shares_a_world_and_every_step_has_new_ones(model_folder: Path) -> None:
    made, play = make_trainer(model_folder)
    seeds: list[int] = []
    for step in range(3):
        made.state.global_step = step
        make_batch(made, play, 0, 0)
        for group in play.played:
            assert len({t.seed for t in group}) == 1 and [t.sample for t in group] == list(range(K))
            assert len({Episode.replay(ENV, t).state.colour for t in group}) == 1  # type: ignore[attr-defined]
            assert {c.weights for t in group for a in t.acts for c in a.action.completions} == {f"step-{step}"}
        seeds += [group[0].seed for group in play.played]
    assert len(set(seeds)) == 6


def test_gains_of_the_filter_are_rewards(model_folder: Path) -> None:
    """A question for the colour is worth the bit that it brings, on its own turn."""
    from sonde.interop.outward.trl import RolloutFunc

    settings = OnlineSettings(
        k=K, max_new_tokens=2, rewards=RewardMix({"exact_gain": 1.0}), rewarders=(ExactGain(),), credit=ReturnToGo()
    )
    play = RolloutFunc([Game(ENV, ENV.tasks("train"), "asking")], settings)
    made, _ = make_trainer(model_folder, play=play)
    incline_model(made.model, "ask")
    out = make_batch(made, play, 0, 1)
    asked = [any(turn.text.strip() == "ask" for turn in t.turns) for group in play.played for t in group]
    assert {0, 1} == {int(a) for a in asked}
    assert float(out["advantages"].abs().max()) > 0


def test_a_server_plays_with_the_weights_of_every_step(model_folder: Path) -> None:
    """A double of vLLM gets what was trained, and what it sampled is what TRL learns from."""
    from sonde.interop.outward.trl import RolloutFunc

    with VllmDouble(str(model_folder)) as double:
        server = sonde.make("models:vllm", base_url=double.url, model=double.name, retries=0, api_key_env="")
        settings = OnlineSettings(k=K, max_new_tokens=2, rewards=HURRY, credit=ReturnToGo())
        play = RolloutFunc([Game(ENV, ENV.tasks("train"), "asking")], settings, server=server)
        made, _ = make_trainer(model_folder, play=play, output_dir=str(model_folder / "served"))
        for step in range(2):
            made.state.global_step = step
            with torch.no_grad():
                made.model.get_input_embeddings().weight.mul_(1.1)
            out = make_batch(made, play, 0, 1)
            said = [c for group in play.played for t in group for a in t.acts for c in a.action.completions]
            assert {c.weights for c in said} == {f"step-{step}"} and len(double.sampled) >= len(said)
            difference = agent_logprobs(made, out) - out["sampling_per_token_logps"] * agent_mask(out)
            assert float(difference.detach().abs().max()) < 1e-4, "the server has the weights as they are now"
    assert [f.name for f in (model_folder / "served" / "served").iterdir()] == ["step-1"], "folders do not pile up"


def test_beliefs_of_the_trainers_model_are_rewards(model_folder: Path) -> None:
    """What a game earns is what the rewarder measures with the same weights; a lagged model is refused."""
    from sonde.interop.outward.trl import RolloutFunc
    from sonde.train.online.rollout_backend import seat_model, wrap_model

    rewarder, game = BeliefGain(among="all", shaping=()), Game(ENV, ENV.tasks("train"), "asking")
    settings = OnlineSettings(k=K, max_new_tokens=2, rewards=RewardMix({"belief": 1.0}), rewarders=(rewarder,))
    play = RolloutFunc([game], settings)
    made, _ = make_trainer(model_folder, play=play)
    incline_model(made.model, "ask")
    earned = play(["asking 0"] * K + ["asking 1"] * K, made)["earned"]
    agent = seat_model(wrap_model(made.model, made.processing_class, settings), settings)
    found = rewarder.measure_episodes(ENV, [t for group in play.played for t in group], agent)
    brought = rewarder.compute_rewards({str(i): group for i, group in enumerate(play.played)}, found)
    by_hand = [float(brought[t.id]["belief"].sum()) for group in play.played for t in group]
    assert earned == pytest.approx(by_hand, abs=1e-5) and max(map(abs, by_hand)) > 1e-4
    with pytest.raises(UserError, match="play: belief: baseline: got 'start', allowed: current"):
        RolloutFunc([game], replace(settings, rewarders=(replace(rewarder, baseline="start"),)))


@pytest.mark.parametrize(("name", "value"), [("keep", 0.5), ("overlap", True), ("on", "reward"), ("credit", GAE())])
def test_what_only_our_trainer_has_is_refused(name: str, value: Any) -> None:
    from sonde.interop.outward.trl import RolloutFunc

    with pytest.raises(UserError, match=f"play: {name}: got .* train.online"):
        RolloutFunc([Game(ENV, ENV.tasks("train"), "asking")], replace(OnlineSettings(k=K), **{name: value}))


def test_what_trl_cannot_take_is_refused(model_folder: Path) -> None:
    from sonde.interop.outward.trl import RolloutFunc

    made, play = make_trainer(model_folder)
    with pytest.raises(UserError, match=r"prompts: got .*, allowed: whole groups of 4 in every process"):
        play(["asking 0"] * 3, made)
    with pytest.raises(UserError, match="prompt: game: unknown name 'asked'; known: asking"):
        play(["asked 0"] * 4, made)
    with pytest.raises(UserError, match=r"prompt: got 'asking 6', allowed: 'asking 0' to 'asking 5'"):
        play(["asking 6"] * 4, made)
    rendered = RolloutFunc(
        [Game(ENV, ENV.tasks("train"), "asking")], OnlineSettings(k=K, max_new_tokens=2, context="render")
    )
    with pytest.raises(UserError, match=r"has \d rows of tokens, TRL takes one.*context 'render'"):
        rendered([f"asking {i}" for i in range(6) for _ in range(K)], made)
    with pytest.raises(UserError, match="rollout_func: got another one"):
        other, _ = make_trainer(model_folder)
        other.rollout_func = lambda prompts, trainer: {
            "prompt_ids": [[5]] * 8,
            "completion_ids": [[6, END]] * 8,
            "logprobs": [[0.0, 0.0]] * 8,
            "earned": [0.0] * 8,
        }
        make_batch(other, play, 0, 1)


@dataclass(frozen=True, kw_only=True)
class UnreachableUser(Policy):
    """A buyer who is not there in every other call."""

    async def act(self, view: View) -> Action:
        if view.seed % 2:
            raise WorldError("no answer")
        return Action("no")


def test_an_episode_that_the_world_failed_teaches_nothing(model_folder: Path) -> None:
    from sonde.interop.outward.trl import RolloutFunc

    env = sonde.make("car_dealer", max_turns=2)
    settings = OnlineSettings(k=K, max_new_tokens=2, rewards=HURRY)
    play = RolloutFunc([Game(env, env.tasks("train"), "asking")], settings, policies={"user": UnreachableUser()})
    made, _ = make_trainer(model_folder, play=play)
    out = make_batch(made, play, 0, 1)
    failed = [bool(t.error) for group in play.played for t in group]
    assert {True, False} == set(failed)
    for i, error in enumerate(failed):
        assert bool(agent_mask(out)[i].any()) is not error
        assert not error or float(out["advantages"][i].abs().max()) == 0.0
    made.model.eval()
    assert bool(torch.isfinite(made._compute_loss(made.model, out).detach()))


# --- it learns -------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_it_trains(model_folder: Path) -> None:
    """TRL's own loop; the weights move."""
    made = make_trainer(model_folder, max_steps=1)[0]
    before = {name: value.clone() for name, value in made.model.named_parameters()}
    made.train()
    assert made.state.global_step == 1
    assert any(not torch.equal(value, before[name]) for name, value in made.model.named_parameters())


MAZE = sonde.make("maze", preset="pairs", max_turns=2)
NEAR = (3, 11, 17, 27)
"""Tasks whose goal is two moves away."""


@pytest.mark.slow
def test_it_improves(model_folder: Path) -> None:
    """sonde-tiny-maze, which wanders, on four mazes whose goal is two moves away: what games earn in 12 steps."""
    from transformers import AutoTokenizer

    from sonde.interop.outward.trl import CreditedGRPO, RolloutFunc

    model = str(get_shipped_model("sonde-tiny-maze").folder)
    settings = OnlineSettings(k=8, max_new_tokens=8, rewards=HURRY, credit=ReturnToGo())
    play = RolloutFunc([Game(MAZE, [MAZE.tasks("train")[i] for i in NEAR], "maze")], settings)
    changes: dict[str, Any] = {"per_device_train_batch_size": 32, "num_generations": 8, "max_steps": 12}
    made = CreditedGRPO(
        model, args=make_config(model_folder, learning_rate=5e-4, **changes),
        train_dataset=play.make_dataset(len(NEAR)),
        rollout_func=play, reward_funcs=play.reward, processing_class=AutoTokenizer.from_pretrained(model),
    )  # fmt: skip
    made.train()
    earned = [entry["reward"] for entry in made.state.log_history if "reward" in entry]
    assert len(earned) == 12 and sum(earned[:3]) / 3 < 0.35 and sum(earned[-3:]) / 3 > 0.6  # .8 is the most


@pytest.mark.thorough
def test_the_page_says_what_happens(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(model_folder)
    ((_, code, printed),) = pages.page_examples("trl.md")
    said = [line for line in pages.run_code(code).splitlines() if not line.startswith("{'train_runtime'")]  # TRL's own
    assert said == printed.splitlines()
