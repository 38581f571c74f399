"""`-o PART.KEY=VALUE`: what was asked for is changed, wherever it lies, and nothing beside it."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.cli.overrides import apply_overrides
from sonde.cli.training_overrides import override_training
from sonde.core import AGENT, UserError
from sonde.train.credit import ReturnToGo, TurnWise
from sonde.train.curriculum import UCB
from sonde.train.paprika import Paprika
from sonde.train.presets import PRESETS, list_overrides
from sonde.train.rewarders import BeliefGain, ExactGain
from sonde.train.rewards import RewardMix
from sonde.train.settings import LoraSettings
from sonde.train.training import Training
from tests.cases import each

DELTA = PRESETS["delta_belief"]


def asked(*assignments: str, of: Training = DELTA) -> Training:
    return override_training(of, {}, assignments)[0]


def online(*assignments: str, of: Training = DELTA) -> Any:
    return asked(*assignments, of=of).online


def test_nothing_asked_for_changes_nothing() -> None:
    assert all(asked(of=known) == known for known in PRESETS.values())


def test_one_number_of_an_adapter_is_changed_and_the_rest_of_the_preset_stays() -> None:
    assert DELTA.settings.lora == LoraSettings(r=64, alpha=64.0)
    for said in ("settings.lora.r=8", "settings.lora={r: 8}"):
        found = asked(said)
        assert found.settings == replace(DELTA.settings, lora=LoraSettings(r=8, alpha=64.0))
        assert replace(found, settings=DELTA.settings) == DELTA
        assert list_overrides(found) == ["settings.lora.r 8 (64)"]
    assert asked("settings.lora=null").settings.lora is None
    tiny = PRESETS["tiny_grpo"]
    assert tiny.settings.lora is None
    assert asked("settings.lora.r=8", of=tiny).settings.lora == LoraSettings(r=8)


def test_one_weight_of_the_rewards_is_changed() -> None:
    weights, every = {"invalid": -5.0, "repeated": -1.0, "belief": 0.1}, {"success": 2.0, "extra_turns": -0.05}
    assert DELTA.online.rewards == RewardMix(weights, every)
    assert online("online.rewards.belief=0.5").rewards == RewardMix({**weights, "belief": 0.5}, every)
    assert online("online.rewards.score=1").rewards == RewardMix({**weights, "score": 1.0}, every)
    assert online("online.rewards.every.success=3").rewards == RewardMix(weights, {**every, "success": 3.0})
    assert online("online.rewards.every.turns=-1", of=PRESETS["tiny_grpo"]).rewards.every == {"turns": -1}
    assert online("online.rewards={success: 1}").rewards == RewardMix({"success": 1.0}), "a whole mix replaces"
    starpo = RewardMix.from_paper("starpo")
    mixed = online("online.rewards=starpo", "online.rewards.success=3").rewards
    assert mixed == RewardMix({**starpo.weights, "success": 3.0})


def test_one_option_of_credit_or_of_a_bandit_is_changed() -> None:
    assert online("online.credit.rules=code").credit == TurnWise(rules="code")
    assert online("online.credit={scale: none}").credit == TurnWise(scale="none")
    assert online("online.credit=return_to_go").credit == ReturnToGo()
    assert online("online.bandit=ucb", "online.bandit.alpha=2").bandit == UCB(alpha=2)


def test_rewarders_stay_beside_the_one_that_is_changed_or_added() -> None:
    assert online("online.rewarders.belief.baseline=start").rewarders == (BeliefGain(baseline="start"),)
    both = online("online.rewarders.exact_gain.tau=2", "online.rewarders.belief.aggregate=mean").rewarders
    assert both == (BeliefGain(aggregate="mean"), ExactGain(tau=2))
    assert online("online.rewarders.exact_gain={}").rewarders == (BeliefGain(), ExactGain())
    alone = online("online.rewarders=[exact_gain]", "online.rewards={exact_gain: 1}").rewarders
    assert alone == (ExactGain(),), "a whole list replaces"
    assert online("online.rewarders={belief: {baseline: start}}").rewarders == (BeliefGain(baseline="start"),)


def test_free_mappings_keep_what_else_they_hold() -> None:
    found = online("online.template={a: 1, b: {c: 2}}", "online.template.b.d=3")
    assert found.template == {"a": 1, "b": {"c": 2, "d": 3}}
    rpo = asked("objective.beta=0.5", "rule.per_task=2", of=PRESETS["paprika_rpo"])
    assert rpo.options == {"beta": 0.5, "alpha": 1.0} and rpo.learning.pairs.per_task == 2


def test_the_order_of_changes_that_need_each_other_tells_nothing() -> None:
    said = ("settings.reference=adapter_off", "settings.lora.r=8")
    tiny = PRESETS["tiny_grpo"]
    assert asked(*said, of=tiny) == asked(*reversed(said), of=tiny)
    said = ("online.rewards.exact_gain=1", "online.rewarders.exact_gain={}")
    assert asked(*said) == asked(*reversed(said))


def _leaves(value: Any, path: str) -> list[tuple[str, Any]]:
    if not is_dataclass(value):
        return [(path, value)]
    return [row for f in fields(value) for row in _leaves(getattr(value, f.name), f"{path}.{f.name}")]


NUMBERS = [
    (name, path)
    for name, known in PRESETS.items()
    for part in ("settings", "online")
    for path, value in _leaves(getattr(known, part), part)
    if isinstance(value, float) and (part == "online") == (known.objective == "grpo")
]


@given(st.sampled_from(NUMBERS), st.floats(0.1, 0.9))
def test_any_number_of_any_preset_can_be_changed_alone(place: tuple[str, str], value: float) -> None:
    (name, path), known = place, PRESETS[place[0]]
    part = path.partition(".")[0]
    before, after = (dict(_leaves(getattr(t, part), part)) for t in (known, asked(f"{path}={value}", of=known)))
    assert after == {**before, path: value}, name


@each(
    "said, message",
    [
        ("online.template.a.b.c=1", ""),
        ("settings=1", "train: settings: got 1, allowed: TrainSettings"),
        ("lora.r=1", "-o: unknown name 'lora'; known: .*settings"),
        ("settings.betas.x=1", "-o settings.betas: got a longer path, allowed: settings.betas=VALUE"),
        ("settings.max_steps.x=1", "-o settings.max_steps: got a longer path"),
        ("settings.save_steps={a: 1}", "train: save_steps: got {'a': 1}, allowed: a whole number or none"),
        ("settings.lora=8", "train: lora: got 8, allowed: LoraSettings or none"),
        ("online.rewarders.belief=3", r"online: rewarders\[0\]: got 3, allowed: Rewarder"),
        ("online.rewarders=3", "-o online.rewarders: unknown name 3; known: belief, exact_gain"),
        ("online.credit=[turn_wise]", r"-o online.credit: unknown name \['turn_wise'\]"),
        ("online.rewards.every=1", "rewards: every: got 1, allowed: a mapping"),
    ],
)
def test_what_is_not_there_is_named_with_what_is(said: str, message: str) -> None:
    if not message:
        assert online(said).template == {"enable_thinking": False, "a": {"b": {"c": 1}}}
        return
    with pytest.raises(UserError, match=message):
        asked(said)


def test_the_pipeline_keeps_the_rest_of_an_adapter_too() -> None:
    whole = Paprika(
        model="m", envs=({"name": "maze"},), stages=("sft",), presets={"sft": "starpo"},
        changes={"sft": {"lora": {"r": 8}}},
    )  # fmt: skip
    assert whole.stage_training("sft").settings.lora == LoraSettings(r=8, alpha=64.0)


def test_a_rule_is_refused_where_nothing_is_selected() -> None:
    assert asked("rule.within=1", of=PRESETS["tiny_sft"]).learning.sft.within == 1
    for name in ("tiny_ilql", "tiny_mc", "tiny_grpo"):
        with pytest.raises(UserError, match=r"-o rule: .* selects no episodes"):
            asked("rule.within=1", of=PRESETS[name])


# --- plain configurations ------------------------------------------------------------------------------------------


def test_overrides_reach_inside_and_change_nothing_else() -> None:
    values = {"env": {"name": "mastermind"}, "seats": {AGENT: {"name": "agents:llm"}}, "k": 1}
    before = json.dumps(values)
    assert apply_overrides(values, ["k=3"])["k"] == 3
    assert apply_overrides(values, ["seats.agent.context=last:3"])["seats"][AGENT] == {
        "name": "agents:llm",
        "context": "last:3",
    }
    assert apply_overrides(values, ["seats.agent.model.stop=[a, b]"])["seats"][AGENT]["model"] == {"stop": ["a", "b"]}
    assert apply_overrides(values, ["label="])["label"] is None
    assert apply_overrides(values, ["label=a=b"])["label"] == "a=b"
    assert apply_overrides(values, ["seats.user=users:hybrid"])["seats"]["user"] == {"name": "users:hybrid"}
    assert apply_overrides(values, ["seats.agent.name=agents:random"])["seats"][AGENT] == {"name": "agents:random"}
    assert json.dumps(values) == before


@each(
    "assignment, says",
    [
        ("k", "-o: got 'k', allowed: PATH=VALUE"),
        ("=3", "-o: got '=3'"),
        ("k.x=3", "-o k: got a longer path, allowed: k=VALUE"),
        ("k=[1", "-o k: got .*, allowed: YAML .while parsing a flow sequence"),
        ("k=2024-99-99", "-o k: got .*, allowed: YAML .month must be"),
    ],
)
def test_a_bad_override_is_named(assignment: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        apply_overrides({"k": 1}, [assignment])
