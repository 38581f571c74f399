"""TRL: what is trained is what was sampled and what the agent said, credit is ours, and both ways train.

The small game of tests/train (`asking`) has a colour to ask for; the model is a random Llama that knows its words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="needs the extra: pip install 'sonde-rl[trl]'")

import torch

import sonde
from sonde.core import Action, Episode, Policy, UserError, View, WorldError
from sonde.interop.plain_speech import plain_speech
from sonde.interop.trl import CreditedGRPO, Play
from sonde.interop.trl_tool import environment, rows
from sonde.models.shipped import shipped
from sonde.testing import check_interop
from sonde.train.algos import objective
from sonde.train.credit import ReturnToGo
from sonde.train.critic import GAE
from sonde.train.gather import Game
from sonde.train.groups import OnlineSettings
from sonde.train.player import around, seated
from sonde.train.rewarders import BeliefGain, ExactGain
from sonde.train.rewards import RewardMix
from sonde.train.types import Batch, units

from ..models.engines import VllmDouble
from ..train.asking import WORDS, Asking
from ..train.tiny import AGENT, END, tiny_model, tiny_tokenizer
from . import hosts, pages

pytestmark = [
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:`.*` is deprecated and will be removed:FutureWarning"),
    pytest.mark.filterwarnings("ignore:You are using 'rollout_func':UserWarning"),
    pytest.mark.filterwarnings("ignore:You are using 'environment_factory':UserWarning"),
]

ENV = Asking()
HURRY = RewardMix({"success": 1.0, "turns": -0.1})
K = 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A model and a tokenizer that know the game's words. Afterwards, what TRL sets for the whole process is undone."""
    from accelerate.state import AcceleratorState, GradientState

    generator = torch.get_rng_state()
    found, tokenizer = tmp_path_factory.mktemp("trl"), tiny_tokenizer(WORDS)
    tiny_model(0, vocab=len(tokenizer), initializer_range=0.05).save_pretrained(found)
    tokenizer.save_pretrained(found)
    yield found
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()
    torch.set_rng_state(generator)


def config(folder: Path, **changes: Any) -> Any:
    from trl import GRPOConfig

    usual: dict[str, Any] = {
        "output_dir": str(folder / "out"), "per_device_train_batch_size": 2 * K, "num_generations": K, "max_steps": 2,
        "loss_type": "grpo", "epsilon": 0.2, "epsilon_high": 0.28, "learning_rate": 3e-3, "report_to": [],
        "use_cpu": True, "bf16": False, "save_strategy": "no", "disable_tqdm": True, "logging_steps": 1, "seed": 0,
        "max_completion_length": 64, "lr_scheduler_type": "constant", "activation_checkpointing": False,
    }  # fmt: skip
    return GRPOConfig(**{**usual, **changes})


def playing(folder: Path, *, env: Any = ENV, kind: Any = CreditedGRPO, play: Play | None = None, **changes: Any) -> Any:
    """A trainer and what plays for it."""
    settings = OnlineSettings(k=K, max_new_tokens=2, rewards=HURRY, credit=ReturnToGo())
    play = play or Play([Game(env, env.tasks("train"), "asking")], settings)
    made = kind(
        str(folder), args=config(folder, **changes), train_dataset=play.dataset(12), rollout_func=play,
        processing_class=tiny_tokenizer(WORDS), reward_funcs=play.reward,
    )  # fmt: skip
    return made, play


def batch(made: Any, play: Play, *places: int) -> dict[str, Any]:
    """What TRL makes of the episodes of these tasks."""
    prompts = [{"prompt": f"asking {place}"} for place in places for _ in range(K)]
    made.model.train()
    return made._generate_and_score_completions(prompts)


# --- our engine ------------------------------------------------------------------------------------------------------


def test_what_is_trained_is_what_was_sampled(folder: Path) -> None:
    """Ids are those of the completions, in their places; the mask marks them and nothing else; log-probabilities are
    those of the trainer's own forward pass."""
    made, play = playing(folder)
    out = batch(made, play, 0, 1)
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
    difference = said_by(made, out) - out["sampling_per_token_logps"] * masked(out)
    assert float(difference.detach().abs().max()) < 1e-4


def masked(out: dict[str, Any]) -> torch.Tensor:
    return out["completion_mask"] * out["tool_mask"]


def said_by(made: Any, out: dict[str, Any]) -> torch.Tensor:
    """Log-probabilities of the agent's tokens in a plain forward pass, 0 elsewhere."""
    ids = torch.cat([out["prompt_ids"], out["completion_ids"]], 1)
    attention = torch.cat([out["prompt_mask"], out["completion_mask"]], 1)
    logits = made.model(input_ids=ids, attention_mask=attention, use_cache=False).logits[:, :-1].float()
    found = logits.log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return found[:, -out["completion_ids"].shape[1] :] * masked(out)


def test_advantages_are_those_of_our_credit(folder: Path) -> None:
    """Return-to-go above the others of the group, by hand from the recorded turns; 0 off the agent's tokens."""
    made, play = playing(folder)
    out = batch(made, play, 0, 1)
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
                place = masked(out)[K * g + i].nonzero().flatten()[before : before + len(ids)]
                assert out["advantages"][K * g + i][place].tolist() == pytest.approx([mine[n] - base] * len(ids))
    assert float((out["advantages"] * (1 - masked(out))).abs().max()) == 0.0
    assert len(set(out["advantages"].flatten().tolist())) > 4


def test_loss_and_gradient_are_ours(folder: Path) -> None:
    """TRL's loss of the batch, with advantages per token, is that of our GRPO from plain log-probabilities."""
    made, play = playing(folder)
    out = batch(made, play, 0, 1)
    made.model.eval()
    theirs = made._compute_loss(made.model, {**out, "old_per_token_logps": out["sampling_per_token_logps"] + 0.3})
    logprob, mask = said_by(made, out), masked(out).bool()
    n = len(mask)
    seen = Batch(
        agent_RT=mask, turn_RT=torch.where(mask, 0, -1), owner_R=torch.arange(n), n_samples=n,
        score_S=torch.zeros(n), success_S=torch.zeros(n, dtype=torch.bool), advantage_RT=out["advantages"],
        sampled_RT=torch.where(mask, out["sampling_per_token_logps"] + 0.3, 0.0),
    )  # fmt: skip
    grpo = objective("grpo")
    ours = grpo(logprob, seen).total / units(seen, grpo.unit)
    assert float(theirs.detach()) == pytest.approx(float(ours.detach()), abs=1e-6)
    one, other = gradient(theirs, made.model), gradient(ours, made.model)
    assert float(one.abs().max()) > 1e-4 and torch.allclose(one, other, atol=1e-6)


def gradient(loss: Any, model: Any) -> torch.Tensor:
    model.zero_grad()
    loss.backward()
    found = model.get_input_embeddings().weight.grad.clone()
    model.zero_grad()
    return found


def test_a_group_shares_a_world_and_every_step_has_new_ones(folder: Path) -> None:
    made, play = playing(folder)
    seeds: list[int] = []
    for step in range(3):
        made.state.global_step = step
        batch(made, play, 0, 0)
        for group in play.played:
            assert len({t.seed for t in group}) == 1 and [t.sample for t in group] == list(range(K))
            assert len({Episode.replay(ENV, t).state.colour for t in group}) == 1  # type: ignore[attr-defined]
            assert {c.weights for t in group for a in t.acts for c in a.action.completions} == {f"step-{step}"}
        seeds += [group[0].seed for group in play.played]
    assert len(set(seeds)) == 6


def test_gains_of_the_filter_are_rewards(folder: Path) -> None:
    """A question for the colour is worth the bit that it brings, on its own turn."""
    settings = OnlineSettings(
        k=K, max_new_tokens=2, rewards=RewardMix({"exact_gain": 1.0}), rewarders=(ExactGain(),), credit=ReturnToGo()
    )
    play = Play([Game(ENV, ENV.tasks("train"), "asking")], settings)
    made, _ = playing(folder, play=play)
    inclined(made.model, "ask")
    out = batch(made, play, 0, 1)
    asked = [any(turn.text.strip() == "ask" for turn in t.turns) for group in play.played for t in group]
    assert {0, 1} == {int(a) for a in asked}
    assert float(out["advantages"].abs().max()) > 0


def test_a_server_plays_with_the_weights_of_every_step(folder: Path) -> None:
    """A double of vLLM gets what was trained, and what it sampled is what TRL learns from."""
    with VllmDouble(str(folder)) as double:
        server = sonde.make("models:vllm", base_url=double.url, model=double.name, retries=0, api_key_env="")
        settings = OnlineSettings(k=K, max_new_tokens=2, rewards=HURRY, credit=ReturnToGo())
        play = Play([Game(ENV, ENV.tasks("train"), "asking")], settings, server=server)
        made, _ = playing(folder, play=play, output_dir=str(folder / "served"))
        for step in range(2):
            made.state.global_step = step
            with torch.no_grad():
                made.model.get_input_embeddings().weight.mul_(1.1)
            out = batch(made, play, 0, 1)
            said = [c for group in play.played for t in group for a in t.acts for c in a.action.completions]
            assert {c.weights for c in said} == {f"step-{step}"} and len(double.sampled) >= len(said)
            difference = said_by(made, out) - out["sampling_per_token_logps"] * masked(out)
            assert float(difference.detach().abs().max()) < 1e-4, "the server has the weights as they are now"
    assert [f.name for f in (folder / "served" / "served").iterdir()] == ["step-1"], "folders do not pile up"


def test_beliefs_of_the_trainers_model_are_rewards(folder: Path) -> None:
    """What a game earns is what the rewarder measures with the same weights; `of` another time is refused."""
    rewarder, game = BeliefGain(among="all", shaping=()), Game(ENV, ENV.tasks("train"), "asking")
    settings = OnlineSettings(k=K, max_new_tokens=2, rewards=RewardMix({"belief": 1.0}), rewarders=(rewarder,))
    play = Play([game], settings)
    made, _ = playing(folder, play=play)
    inclined(made.model, "ask")
    earned = play(["asking 0"] * K + ["asking 1"] * K, made)["earned"]
    agent = seated(around(made.model, made.processing_class, settings), settings)
    found = rewarder.measure(ENV, [t for group in play.played for t in group], agent)
    brought = rewarder.rewards({str(i): group for i, group in enumerate(play.played)}, found)
    by_hand = [float(brought[t.id]["belief"].sum()) for group in play.played for t in group]
    assert earned == pytest.approx(by_hand, abs=1e-5) and max(map(abs, by_hand)) > 1e-4
    with pytest.raises(UserError, match="play: belief: of: got 'start', allowed: current"):
        Play([game], replace(settings, rewarders=(replace(rewarder, of="start"),)))


@pytest.mark.parametrize(("name", "value"), [("keep", 0.5), ("overlap", True), ("on", "reward"), ("credit", GAE())])
def test_what_only_our_trainer_has_is_refused(name: str, value: Any) -> None:
    with pytest.raises(UserError, match=f"play: {name}: got .* train.online"):
        Play([Game(ENV, ENV.tasks("train"), "asking")], replace(OnlineSettings(k=K), **{name: value}))


def inclined(model: Any, word: str) -> Any:
    """The same model, a little more inclined to say this."""
    said = tiny_tokenizer(WORDS).convert_tokens_to_ids(word)
    with torch.no_grad():
        hidden = model.get_input_embeddings().weight[AGENT]
        model.get_input_embeddings().weight[said] += 0.5 * hidden / hidden.norm()
    return model


def test_what_trl_cannot_take_is_refused(folder: Path) -> None:
    made, play = playing(folder)
    with pytest.raises(UserError, match=r"prompts: got .*, allowed: whole groups of 4 in every process"):
        play(["asking 0"] * 3, made)
    with pytest.raises(UserError, match="prompt: game: unknown name 'asked'; known: asking"):
        play(["asked 0"] * 4, made)
    with pytest.raises(UserError, match=r"prompt: got 'asking 6', allowed: 'asking 0' to 'asking 5'"):
        play(["asking 6"] * 4, made)
    rendered = Play([Game(ENV, ENV.tasks("train"), "asking")], OnlineSettings(k=K, max_new_tokens=2, context="render"))
    with pytest.raises(UserError, match=r"has \d rows of tokens, TRL takes one.*context 'render'"):
        rendered([f"asking {i}" for i in range(6) for _ in range(K)], made)
    with pytest.raises(UserError, match="rollout_func: got another one"):
        other, _ = playing(folder)
        other.rollout_func = lambda prompts, trainer: {
            "prompt_ids": [[5]] * 8,
            "completion_ids": [[6, END]] * 8,
            "logprobs": [[0.0, 0.0]] * 8,
            "earned": [0.0] * 8,
        }
        batch(other, play, 0, 1)


@dataclass(frozen=True, kw_only=True)
class Unreachable(Policy):
    """A buyer who is not there in every other call."""

    async def act(self, view: View) -> Action:
        if view.seed % 2:
            raise WorldError("no answer")
        return Action("no")


def test_an_episode_that_the_world_failed_teaches_nothing(folder: Path) -> None:
    env = sonde.make("car_dealer", max_turns=2)
    settings = OnlineSettings(k=K, max_new_tokens=2, rewards=HURRY)
    play = Play([Game(env, env.tasks("train"), "asking")], settings, policies={"user": Unreachable()})
    made, _ = playing(folder, play=play)
    out = batch(made, play, 0, 1)
    failed = [bool(t.error) for group in play.played for t in group]
    assert {True, False} == set(failed)
    for i, error in enumerate(failed):
        assert bool(masked(out)[i].any()) is not error
        assert not error or float(out["advantages"][i].abs().max()) == 0.0
    made.model.eval()
    assert bool(torch.isfinite(made._compute_loss(made.model, out).detach()))


# --- TRL's engine ----------------------------------------------------------------------------------------------------


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
