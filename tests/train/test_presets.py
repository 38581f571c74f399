"""Presets are complete: published settings are trained, and overrides are listed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cases import each

pytest.importorskip("torch")

import sonde
from sonde import UserError
from sonde.core import AGENT, Episode
from sonde.models.chat.chat import Chat
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.by_name import DATA, learn_online, prepare_data
from sonde.train.collect import Game
from sonde.train.credit import GroupRelative, TurnWise
from sonde.train.model_io import load_model
from sonde.train.objectives import make_objective
from sonde.train.objectives.grpo import GRPO
from sonde.train.paprika import TINY, Paprika
from sonde.train.presets import PRESETS, describe_preset, list_overrides, preset
from sonde.train.rewarders import BeliefGain
from sonde.train.rewards import RewardMix, named_rewards
from sonde.train.selection import SFTRule
from sonde.train.settings import LoraSettings, TrainSettings
from sonde.train.training import Learning, Training

from .asking import WORDS, Asking
from .test_by_name import Knower
from .tiny import knowing

ENV = Asking()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return knowing(WORDS, tmp_path_factory.mktemp("model"))


# --- what is published -----------------------------------------------------------------------------------------------


@each("name", PRESETS)
def test_every_preset_is_complete(name: str) -> None:
    """Its objective can be made, a run of it can start and be resumed, and nothing of it is overridden."""
    known = PRESETS[name]
    assert make_objective(known.objective, **known.options).name == known.objective
    assert known.preset == name and known.source and list_overrides(known) == [] and describe_preset(known) == name
    assert known.settings.save_steps is not None
    if known.is_online:
        assert known.settings.max_steps is not None
        assert known.settings.batch_size % known.online.k == 0
        assert known.settings.save_steps % known.online.updates_per_rollout == 0
    json.dumps(known.to_json())


def test_paprika() -> None:
    sft, rpo = preset("paprika_sft").settings, preset("paprika_rpo").settings
    assert (sft.lr, rpo.lr) == (1e-6, 2e-7) and (sft.max_tokens, rpo.max_tokens) == (12_000, 8_192)
    for settings in (sft, rpo):
        assert (settings.batch_size, settings.epochs, settings.schedule, settings.warmup) == (32, 1, "cosine", 0.04)
    assert preset("paprika_rpo").options == {"beta": 0.1, "alpha": 1.0}


@each("name, lr", [("starpo", 1e-5), ("starpo_4b", 3e-5)])
def test_starpo(name: str, lr: float) -> None:
    """ΔBelief-RL, section 4.1, appendix F with tables 5 and 6, and its code."""
    known = preset(name)
    settings, online = known.settings, known.online
    made = make_objective(known.objective, **known.options)
    assert made == GRPO(clip_low=0.2, clip_high=0.28, dual_clip=3.0, aggregation="seq-mean-token-mean", kl=0.0)
    assert settings.lr == lr and settings.lora == LoraSettings(r=64, alpha=64.0, targets="all-linear")
    assert (settings.betas, settings.weight_decay, settings.schedule) == ((0.9, 0.95), 0.01, "constant")
    assert (settings.warmup, settings.clip, settings.max_steps) == (0.0, 1.0, 3 * 60)
    assert (online.k, online.temperature, online.credit) == (16, 1.0, GroupRelative(scale="std", baseline="mean"))
    assert settings.batch_size // online.k == 80 and online.updates_per_rollout == 3  # 240 tasks a rollout


def test_starpo_rewards_by_hand() -> None:
    """2 for the win, -5 for what is invalid, -1 for what is repeated, -.05 for each of the turns."""
    env, user = sonde.make("twenty_questions", preset="delta_belief"), sonde.make("users:answerer")
    (task,) = env.tasks("train")[:1]
    ep = Episode.begin(env, task, seed=0)
    for text in ("Is it alive?", "Is it alive?", "hm"):
        ep = ep.step(text)
        while ep.to_act not in (None, AGENT):
            ep = ep.step(user.act_now(ep.view(str(ep.to_act))))  # type: ignore[attr-defined]
    named = named_rewards(ep.to_trajectory())
    earned = preset("starpo").online.rewards(named)
    by_hand = -0.05 * 3 - 5 * sum(named["invalid"]) - sum(named["repeated"])
    assert sum(named["invalid"]) + sum(named["repeated"]) >= 1 and float(earned.sum()) == pytest.approx(by_hand)


def test_delta_belief_sft_learns_questions_of_the_shortest_wins(model: str) -> None:
    """Appendix E: all of the shortest wins, and every question an item of its own."""
    lessons = collect_trajectories(ENV, {AGENT: Knower()}, ENV.tasks("train"), Plan(k=2))
    chat, known = Chat(load_model(model)[1], label=model, template={}), preset("delta_belief_sft")
    quiet = {"enable_thinking": False}
    assert known.learning == Learning(sft=SFTRule(distinct=False, within=0), by_turn=True, template=quiet)
    data = prepare_data("sft", lessons, chat, known.learning, known.settings.max_tokens)
    assert len(data.items) == sum(len(t.turns) for t in lessons) == 24
    assert all(len(item.rows) == 1 and len(set(item.rows[0].turns) - {-1}) == 1 for item in data.items)  # type: ignore[union-attr]
    whole = prepare_data("sft", lessons, chat, replace(known.learning, by_turn=False))
    assert len(whole.items) == 12 and whole.rows.agent_tokens == data.rows.agent_tokens


@each("name", ["delta_belief", "delta_belief_4b"])
def test_delta_belief(name: str) -> None:
    """All that differs from StarPO: equation 3 with lambda .1 (its numbers: `test_rewards.py`), equation 4, the mean
    over tokens, and the rate, 3e-5 for both sizes."""
    known, other = preset(name), preset("starpo")
    made = make_objective(known.objective, **known.options)
    assert made == GRPO(clip_low=0.2, clip_high=0.28, dual_clip=3.0, aggregation="token-mean", kl=0.0)
    assert known.settings == replace(other.settings, lr=3e-5)
    rewards = RewardMix({"invalid": -5.0, "repeated": -1.0, "belief": 0.1}, {"success": 2.0, "extra_turns": -0.05})
    belief = BeliefGain(template="statement", aggregate="sum", baseline="current", shaping=("relu",))
    differing = {"rewards": rewards, "rewarders": (belief,), "credit": TurnWise(scale="std", eps=1e-6)}
    assert known.online == replace(other.online, **differing)


@pytest.mark.parametrize("size", ["", "_4b"])
def test_the_presets_of_the_code_are_those_of_the_paper_but_for_what_it_does_otherwise(size: str) -> None:
    """The exact word ends a game and a reply has 50 tokens (the environment's rules=code); ΔBelief asks `question` and
    pads; nobody thinks."""
    for method in ("starpo", "delta_belief"):
        paper, code = preset(f"{method}{size}"), preset(f"{method}_code{size}")
        played = [sonde.build(known.fill_env({"name": "twenty_questions"})) for known in (paper, code)]
        assert [(env.spec.preset, env.spec.max_new_tokens) for env in played] == [
            ("delta_belief", 128),
            ("delta_belief", 50),
        ]
        assert [env.config["rules"] for env in played] == ["paper", "code"]
        changed = {"rewarders": (BeliefGain(template="question"),), "credit": TurnWise(rules="code")}
        assert code.online == replace(paper.online, **(changed if method == "delta_belief" else {}))
        assert (code.settings, code.options) == (paper.settings, paper.options)
        assert code.online.template == {"enable_thinking": False} and code.online.max_new_tokens is None


def test_what_is_given_for_an_environment_wins() -> None:
    known = preset("starpo_code")
    given = {"name": "twenty_questions", "rules": "strict"}
    assert known.fill_env(given) == {"name": "twenty_questions", "preset": "delta_belief", "rules": "strict"}
    assert known.fill_env({"name": "maze"}) == {"name": "maze"}


def test_there_is_no_preset_for_everything() -> None:
    with pytest.raises(UserError, match="did you mean 'paprika_rpo'"):
        preset("paprika_dpo")


# --- what is applied -------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_preset_is_applied_whole_and_changes_are_told(model: str, tmp_path: Path) -> None:
    """16 games of each of two tasks in both updates, the published rewards, all three clips; smaller, and told so."""
    known = preset("starpo", folder=str(tmp_path), batch_size=16, max_steps=2, save_steps=2, lora=None, bf16=False)
    small = replace(known, online=replace(known.online, updates_per_rollout=2))
    told = list_overrides(small)
    assert told[:2] == ["settings.max_steps 2 (180)", "settings.batch_size 16 (1280)"]
    assert "online.updates_per_rollout 2 (3)" in told and not any("save_steps" in line for line in told)
    history = learn_online(model, small, [Game(ENV, ENV.tasks("train"), "asking")]).history
    data = json.loads((tmp_path / DATA).read_text())
    assert (data["preset"], data["overridden"]) == ("starpo", told) and data["options"] == dict(known.options)
    assert data["online"]["k"] == 16 and data["online"]["rewards"]["invalid"] == -5.0
    assert "clipped_dual" in history[0] and history[0]["episodes"] == 32
    assert history[0]["reward"] < 0 <= history[0]["score"]


def test_another_objective_has_its_own_options() -> None:
    other = preset("paprika_rpo").for_objective("dpo")
    assert other.options == {} and other.settings == preset("paprika_rpo").settings
    assert list_overrides(other) == ["objective dpo (rpo)"]
    assert other.for_objective("dpo") is other
    assert list_overrides(Training(objective="sft", settings=TrainSettings())) == []


def test_the_pipeline_applies_presets_whole() -> None:
    config = Paprika(model="m", envs=({"name": "maze"},), presets=TINY, changes={"rpo": {"lr": 1e-4}}, seed=3)
    rpo = config.stage_training("rpo")
    assert rpo.options == {"beta": 0.1, "alpha": 1.0} and rpo.learning.seed == rpo.settings.seed == 3
    assert list_overrides(config.stage_training("sft")) == [] and list_overrides(rpo) == ["settings.lr 0.0001 (2e-05)"]
    assert config.to_json()["settings"]["rpo"]["options"] == {"beta": 0.1, "alpha": 1.0}
