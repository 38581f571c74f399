"""The oracle model: every sub-call against the truth, by hand or from the environments' exact filters."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sonde
from sonde.core import Message, Rng, Sampling, UserError
from sonde.envs._shared.finite import World
from sonde.models._shared.json_beliefs import (
    codes_of,
    json_block,
    optimal_values,
    read_blocks,
    sample_world,
    update_belief,
)
from sonde.models.oracle import Oracle
from sonde.runs.rollout import collect_trajectories
from tests.cases import each

CODE = {"kind": "code", "symbols": "01234", "length": 2, "marks": []}
WORLDS = {
    "kind": "worlds",
    "pays": "bernoulli",
    "worlds": [{"weight": 1, "means": {"A": 0.6, "B": 0.4}}, {"weight": 1, "means": {"A": 0.4, "B": 0.6}}],
}
TABLE = {
    "kind": "dirichlet",
    "transitions": {s: {"x": {"1": 0.5, "2": 0.5}, "y": {"1": 0.5, "2": 0.5}} for s in "12"},
    "rewards": {s: {"x": None, "y": None} for s in "12"},
    "pays": [0, 1],
}


def asked(call: str, seed: int = 0, malformed: float = 0.0, **blocks: Any) -> str:
    situation = {"call": call, **blocks.pop("situation", {})}
    text = "\n".join(json_block(**{k: v}) for k, v in {**blocks, "situation": situation}.items())
    model = Oracle(malformed=malformed)
    return asyncio.run(model.generate([Message("user", text)], Sampling(seed=seed))).text


def test_beta_counts() -> None:
    belief = {"kind": "beta", "arms": {"A": [1, 1], "B": [1, 1]}}
    rows = [{"action": "A", "reward": 1.0}, {"action": "A", "reward": 0.0}, {"action": None, "reward": 0.0}]
    said = asked("posterior_update", belief=belief, experience=[*rows, {"action": "A", "reward": 1.0}])
    assert said.startswith("Beliefs:")
    assert json.loads(said.split("```json\n")[1].split("\n```")[0])["belief"]["arms"] == {"A": [3, 2], "B": [1, 1]}


def test_worlds_are_weighed_by_bayes_rule() -> None:
    after = update_belief(WORLDS, {"action": "A", "reward": 1.0})
    assert [w["weight"] for w in after["worlds"]] == pytest.approx([0.6, 0.4])
    fixed = {**WORLDS, "pays": "fixed"}
    assert len(update_belief(fixed, {"action": "A", "reward": 0.6})["worlds"]) == 1


def test_tables_count_moves_and_keep_rewards() -> None:
    after = update_belief(TABLE, {"observation": "1", "action": "x", "next": "2", "reward": 1.0})
    assert after["transitions"]["1"]["x"] == {"1": 0.5, "2": 1.5}
    assert after["rewards"]["1"] == {"x": 1.0, "y": None}
    assert TABLE["transitions"]["1"]["x"] == {"1": 0.5, "2": 0.5}  # type: ignore[index]


@given(st.lists(st.tuples(st.sampled_from("01234"), st.integers(0, 1)), max_size=6), st.integers(0, 19))
def test_codes_left_are_those_that_give_the_marks(asked_: list[tuple[str, int]], secret: int) -> None:
    everything = codes_of(CODE)
    code = everything[secret]
    marks = [(s, p, "g" if code[p] == s else "y" if s in code else "b") for s, p in asked_]
    left = codes_of({**CODE, "marks": marks})
    assert code in left
    assert left == [
        c for c in everything if all(("g" if c[p] == s else "y" if s in c else "b") == m for s, p, m in marks)
    ]


def test_samples_are_draws_from_the_posterior() -> None:
    belief = update_belief(WORLDS, {"action": "A", "reward": 1.0})
    drawn = Counter(sample_world(belief, Rng(i))["means"]["A"] for i in range(2000))
    assert drawn[0.6] / 2000 == pytest.approx(0.6, abs=0.04)
    rows = [sample_world({"kind": "beta", "arms": {"A": [3, 2]}}, Rng(i))["means"]["A"] for i in range(2000)]
    assert np.mean(rows) == pytest.approx(0.6, abs=0.02) and np.var(rows) == pytest.approx(0.04, abs=0.01)
    codes = Counter(sample_world(CODE, Rng(i))["code"] for i in range(2000))
    assert len(codes) == 20 and max(codes.values()) < 160


def test_sampled_tables() -> None:
    belief = {
        **update_belief(TABLE, {"observation": "1", "action": "x", "next": "2", "reward": 1.0}),
        "certain": [["2", "y", "1"]],
    }
    draws = [sample_world(belief, Rng(i)) for i in range(1500)]
    assert {d["rewards"]["1"]["x"] for d in draws} == {1.0} and {d["rewards"]["1"]["y"] for d in draws} == {0, 1}
    assert {tuple(d["transitions"]["2"]["y"].items()) for d in draws} == {(("1", 1.0), ("2", 0.0))}
    assert np.mean([d["transitions"]["1"]["x"]["2"] for d in draws]) == pytest.approx(0.75, abs=0.02)
    assert all(sum(row.values()) == pytest.approx(1) for row in draws[0]["transitions"]["1"].values())


@given(st.integers(0, 10_000))
def test_plans_are_those_of_backward_induction(seed: int) -> None:
    rng = np.random.Generator(np.random.PCG64(seed))
    moves, paid = rng.dirichlet([1, 1, 1], (3, 2)), rng.random((3, 2))
    table = {
        "transitions": {
            str(s): {a: dict(zip("012", moves[s, i], strict=True)) for i, a in enumerate("xy")} for s in range(3)
        },
        "rewards": {str(s): dict(zip("xy", paid[s], strict=True)) for s in range(3)},
    }
    q = optimal_values(table, 4)
    np.testing.assert_allclose([list(q[str(s)].values()) for s in range(3)], World(moves, paid).action_values(4)[0])
    at = {"state": "1", "step": 2, "horizon": 6}
    assert asked("policy", hypothesis=table, situation=at) == f"Action: {'xy'[int(q['1']['y'] > q['1']['x'])]}"


@given(st.integers(0, 10_000))
def test_plans_and_draws_where_rewards_depend_on_the_next_state(seed: int) -> None:
    """Values weigh rewards by their chances; what was paid is kept in the belief and in every draw."""
    rng = np.random.Generator(np.random.PCG64(seed))
    moves, paid = rng.dirichlet([1, 1], (2, 2)), rng.random((2, 2, 2))
    by_next = {s: {a: dict(zip("12", paid[int(s) - 1, i], strict=True)) for i, a in enumerate("xy")} for s in "12"}
    to = {s: {a: dict(zip("12", moves[int(s) - 1, i], strict=True)) for i, a in enumerate("xy")} for s in "12"}
    q = optimal_values({"transitions": to, "rewards": by_next}, 3)
    exact = World(moves, (moves * paid).sum(axis=2)).action_values(3)[0]
    np.testing.assert_allclose([list(q[s].values()) for s in "12"], exact)
    unseen = {s: {a: {"1": None, "2": None} for a in "xy"} for s in "12"}
    belief = update_belief(
        {**TABLE, "rewards": unseen}, {"observation": "1", "action": "y", "next": "2", "reward": 0.25}
    )
    assert belief["rewards"] == {**unseen, "1": {**unseen["1"], "y": {"1": None, "2": 0.25}}}
    drawn = sample_world(belief, Rng(seed))["rewards"]
    assert drawn["1"]["y"]["2"] == 0.25 and drawn["1"]["y"]["1"] in (0, 1)
    assert {r for a in drawn["2"].values() for r in a.values()} <= {0, 1}


def test_a_policy_that_is_handed_beliefs_draws_a_world_first() -> None:
    marked = {**CODE, "marks": [["3", 1, "g"]]}
    said = {asked("policy", seed=i, belief=marked, situation={"step": 1}) for i in range(20)}
    assert said == {"Action: 3"}
    first = {asked("policy", seed=i, belief=marked, situation={"step": 0}) for i in range(60)}
    assert first == {f"Action: {d}" for d in "0124"}


def test_regret_and_information_by_hand() -> None:
    """Two equally likely worlds: each arm costs 0.1; a pull of either tells 1 - H(0.6) bits."""
    at = {"action": "A"}
    assert asked("expected_regret", belief=WORLDS, situation=at) == f"Expected regret: {0.09999999999999998!r}"
    bits = 1.0 + 0.6 * np.log2(0.6) + 0.4 * np.log2(0.4)
    assert float(asked("information_gain", belief=WORLDS, situation=at).split()[-1]) == pytest.approx(bits)


def test_values_of_the_lock() -> None:
    """Of 20 codes, 4 begin with 0: worth 0.2 while nothing is wrong yet, 0 afterwards."""
    at = {"action": "0", "step": 0, "state": "1"}
    assert asked("expected_value", belief=CODE, situation=at) == "Expected value: 0.2"
    assert asked("expected_value", belief=CODE, situation={**at, "state": "off"}) == "Expected value: 0.0"


def test_words_can_be_listed() -> None:
    """Letter Wordle with the words in the prior: found as fast as by exact posterior sampling."""
    env = sonde.make("letter_wordle")
    words = [t.hidden for t in env.tasks("train")[:30]]
    prior = json_block(belief={"kind": "code", "symbols": "", "length": 5, "marks": [], "candidates": words})
    agent = sonde.make("agents:llm_psrl", model=Oracle(), prior=prior)
    played = collect_trajectories(env, {"agent": agent}, env.tasks("train")[:30])
    assert all(t.outcome is not None and t.outcome.success for t in played)


@given(st.text() | st.lists(st.sampled_from(["```json\n", "\n```", "{", "}", '{"a": 1}', "[1]", "\n"])).map("".join))
def test_blocks_that_are_no_objects_are_left_out(text: str) -> None:
    assert set(read_blocks([Message("user", text), Message("assistant", json_block(b=1))])) <= {"a"}


def test_noise_is_drawn_by_seed() -> None:
    noise = [asked("posterior_sample", seed=i, malformed=0.25, belief=CODE) for i in range(200)]
    assert sum("Hypothesis:" not in text for text in noise) / 200 == pytest.approx(0.25, abs=0.1)
    assert asked("posterior_sample", seed=3, belief=CODE) == asked("posterior_sample", seed=3, belief=CODE)


@each(
    "call, blocks, message",
    [
        ("prior", {}, "call: got 'prior'"),
        ("policy", {}, "the prompt has no JSON block 'hypothesis'"),
        ("posterior_sample", {"belief": {**CODE, "symbols": "abcdefghijklmnopqrstuvwxyz", "length": 5}}, "candidates"),
        (
            "expected_regret",
            {"belief": {"kind": "beta", "arms": {}}, "situation": {"action": "A"}},
            "got 'beta', allowed: worlds",
        ),
        (
            "posterior_update",
            {"belief": {"kind": "gut"}, "experience": [{"action": "A", "reward": 1}]},
            "unknown name 'gut'",
        ),
    ],
)
def test_what_it_cannot_do_it_says(call: str, blocks: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        asked(call, **blocks)


def test_bad_settings() -> None:
    with pytest.raises(UserError, match="models:oracle: malformed: got 2"):
        Oracle(malformed=2.0)


# --- worse on purpose ------------------------------------------------------------------------------------------------


def sampled(belief: Any, temperature: float, n: int = 400) -> list[Any]:
    return [sample_world(belief, Rng(i), temperature) for i in range(n)]


def test_temperatures_scale_the_evidence_of_a_sample() -> None:
    """Beta(8, 4) has variance 2/9/13; divided by T = 4 it is Beta(2, 1) with 2/9/4, at 0 its mean."""
    belief = {"kind": "beta", "arms": {"A": [8, 4]}}
    for temperature, variance in ((1.0, 2 / 9 / 13), (4.0, 2 / 9 / 4), (0.0, 0.0)):
        means = [world["means"]["A"] for world in sampled(belief, temperature, 2000)]
        assert np.mean(means) == pytest.approx(2 / 3, abs=0.02) and np.var(means) == pytest.approx(variance, abs=0.004)


def test_temperatures_sharpen_weights_and_leave_ties() -> None:
    """Weights 3 to 1: at T = 0.5 they are 9 to 1, at 0 the likeliest alone; equal weights stay equal."""
    belief = {**WORLDS, "worlds": [{**WORLDS["worlds"][0], "weight": 3}, WORLDS["worlds"][1]]}  # type: ignore[index]
    shares = {t: np.mean([w["means"]["A"] == 0.6 for w in sampled(belief, t, 2000)]) for t in (1.0, 0.5, 0.0)}
    assert shares == {1.0: pytest.approx(0.75, abs=0.03), 0.5: pytest.approx(0.9, abs=0.03), 0.0: 1.0}
    assert np.mean([w["means"]["A"] == 0.6 for w in sampled(WORLDS, 0.0)]) == pytest.approx(0.5, abs=0.08)
    assert len({w["code"] for w in sampled(CODE, 0.0)}) == 20
    rows = sampled(TABLE, 0.0)
    assert {w["transitions"]["1"]["x"]["2"] for w in rows} == {0.5} and {w["rewards"]["1"]["x"] for w in rows} == {0, 1}


def asked_of(model: Oracle, call: str, temperature: float = 1.0, **blocks: Any) -> dict[str, Any] | str:
    """The JSON of an answer, or its text where it has none."""
    situation = {"call": call, **blocks.pop("situation", {})}
    text = "\n".join(json_block(**{k: v}) for k, v in {**blocks, "situation": situation}.items())
    said = asyncio.run(model.generate([Message("user", text)], Sampling(seed=1, temperature=temperature))).text
    return dict(read_blocks([Message("user", said)])) or said


def test_a_greedy_sampler_hands_back_means_at_any_temperature() -> None:
    belief = {"kind": "beta", "arms": {"A": [3, 1], "B": [1, 1]}}
    said = asked_of(Oracle(greedy=1.0), "posterior_sample", 1.5, belief=belief)
    assert said == {"hypothesis": {"means": {"A": 0.75, "B": 0.5}}}
    assert asked_of(Oracle(), "posterior_sample", 0.0, belief=belief) == said


def test_a_forgetting_updater_overlooks_steps() -> None:
    belief = {"kind": "beta", "arms": {"A": [1, 1]}}
    steps = [{"action": "A", "reward": 1.0}] * 400
    assert asked_of(Oracle(forgets=1.0), "posterior_update", belief=belief, experience=steps) == {"belief": belief}
    said = asked_of(Oracle(forgets=0.25), "posterior_update", belief=belief, experience=steps)
    assert isinstance(said, dict) and said["belief"]["arms"]["A"][0] == pytest.approx(301, abs=25)


def test_a_short_sighted_planner_takes_what_pays_at_once() -> None:
    """x pays 0.1 and stays, y pays nothing and leads to where both pay 1."""
    world = {
        "transitions": {"1": {"x": {"1": 1.0}, "y": {"2": 1.0}}, "2": {"x": {"2": 1.0}, "y": {"2": 1.0}}},
        "rewards": {"1": {"x": 0.1, "y": 0.0}, "2": {"x": 1.0, "y": 1.0}},
    }
    at = {"state": "1", "step": 0, "horizon": 3}
    assert asked_of(Oracle(), "policy", hypothesis=world, situation=at) == "Action: y"
    assert asked_of(Oracle(sight=1), "policy", hypothesis=world, situation=at) == "Action: x"
    assert asked_of(Oracle(sight=2), "policy", hypothesis=world, situation=at) == "Action: y"


@each(
    "config, says",
    [
        ({"greedy": 1.5}, "greedy: got 1.5, allowed: 0 to 1"),
        ({"forgets": -0.1}, "forgets: got -0.1, allowed: 0 to 1"),
        ({"sight": 0}, "sight: got 0, allowed: 1 or more"),
    ],
)
def test_flaws_are_checked(config: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says):
        Oracle(**config)
