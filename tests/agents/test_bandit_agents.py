"""Epsilon-greedy, UCB1 and Thompson sampling: single decisions by hand, and regret where it is known to be."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache

import numpy as np
import pytest

import sonde
from sonde.core import Episode, Rng, UserError
from sonde.envs._shared.sub_episodes import mean_rewards, pick_largest, tally_actions
from sonde.evaluation import regret
from sonde.runs.rollout import collect_trajectories
from tests.cases import each

ENV = sonde.make("bernoulli_bandit", arms=3)


def after(*pulls: tuple[str, float]) -> Episode:
    """An episode in which these arms paid this, over as many worlds as it takes to get there."""
    for seed in range(10_000):
        ep = Episode.begin(ENV, ENV.task({"arms": ["A", "B", "C"], "best": "A"}), seed=seed)
        for arm, reward in pulls:
            ep = ep.step(f"<Answer>{arm}</Answer>")
            if ep.turns[-1].info["reward"] != reward:
                break
        else:
            return ep
    raise AssertionError("no such world")


def choices(agent: object, ep: Episode, n: int = 200) -> Counter[str]:
    views = (ep.fork(sample=i).view() for i in range(n))
    return Counter(agent.act_now(view).text[8:-9] for view in views)  # type: ignore[attr-defined]


@cache
def mean_regret(name: str, n: int = 200) -> float:
    """Mean cumulative regret in the paper's setting."""
    env = sonde.make("bernoulli_bandit")
    rows = regret.regret_table(
        env, collect_trajectories(env, {"agent": sonde.make(f"agents:{name}")}, env.tasks("train")[:n])
    )
    return float(rows.sum(axis=1).mean())


def test_tallies_leave_out_invalid_arms() -> None:
    ep = after(("A", 1.0), ("B", 0.0), ("A", 0.0), ("Z", 0.0))
    assert tally_actions(ep.view(), ("A", "B", "C")) == [(2, 1.0), (1, 0.0), (0, 0.0)]
    assert mean_rewards([(2, 1.0), (1, 0.0), (0, 0.0)]) == [0.5, 0.0, math.inf]


def test_ties_are_drawn() -> None:
    assert {pick_largest([1.0, 0.0, 1.0], Rng(i)) for i in range(40)} == {0, 2}


@each("agent", ["epsilon_greedy", "ucb1"])
def test_every_arm_is_tried_before_any_is_tried_again(agent: str) -> None:
    made = sonde.make(f"agents:{agent}", **({"epsilon": 0.0} if agent == "epsilon_greedy" else {}))
    assert set(choices(made, after(("A", 1.0)))) == {"B", "C"}


def test_epsilon_greedy_explores_with_probability_epsilon() -> None:
    ep = after(("A", 0.0), ("B", 1.0), ("C", 0.0))
    assert choices(sonde.make("agents:epsilon_greedy", epsilon=0.0), ep) == {"B": 200}
    found = choices(sonde.make("agents:epsilon_greedy", epsilon=0.3), ep, 2000)
    assert found["A"] / 2000 == pytest.approx(0.1, abs=0.03) and found["C"] / 2000 == pytest.approx(0.1, abs=0.03)


def test_ucb1_by_hand() -> None:
    """t = 4: A 1/2 + sqrt(2 ln 4 / 2) = 1.677, B 0 + sqrt(2 ln 4) = 1.665, C likewise; without a bonus A too."""
    ep = after(("A", 1.0), ("B", 0.0), ("C", 0.0), ("A", 0.0))
    assert choices(sonde.make("agents:ucb1"), ep) == {"A": 200}
    again = after(("A", 1.0), ("B", 0.0), ("C", 0.0), ("A", 0.0), ("A", 0.0))
    assert set(choices(sonde.make("agents:ucb1"), again)) == {"B", "C"}  # A: 1/3 + 1.036, B and C: 1.794


def test_thompson_plays_arms_as_often_as_they_may_be_best() -> None:
    """Beta(2, 1) for A, Beta(1, 2) for B, Beta(1, 1) for C: P(A is largest) = int 2a (1 - (1-a)^2) a da = 0.6."""
    found = choices(sonde.make("agents:thompson"), after(("A", 1.0), ("B", 0.0)), 3000)
    assert found["A"] / 3000 == pytest.approx(0.6, abs=0.03)


@pytest.mark.slow
def test_regret_in_the_order_that_is_known() -> None:
    """Uniform play loses 0.2 * 4/5 a pull; Thompson sampling less than UCB1, which explores long (appendix B)."""
    found = {name: mean_regret(name) for name in ("random", "ucb1", "thompson", "epsilon_greedy")}
    assert found["random"] == pytest.approx(16.0, abs=0.3)
    assert found["thompson"] < found["ucb1"] < found["random"] - 2.0
    assert found["epsilon_greedy"] < found["random"] - 2.0


@pytest.mark.slow
def test_posterior_sampling_with_the_true_prior_beats_beta_priors() -> None:
    assert mean_regret("psrl") < mean_regret("thompson") - 0.5


def test_problems_they_do_not_play() -> None:
    river = sonde.make("river_swim")
    view = Episode.begin(river, river.tasks("train")[0]).view()
    for name in ("epsilon_greedy", "ucb1", "thompson"):
        with pytest.raises(UserError, match="env: got river_swim, a tabular problem, allowed: bandit"):
            sonde.make(f"agents:{name}").act_now(view)
    paid = sonde.make("bernoulli_bandit", preset="informative")
    with pytest.raises(UserError, match="pays other rewards than 0 and 1; use agents:psrl"):
        sonde.make("agents:thompson").act_now(Episode.begin(paid, paid.tasks("train")[0]).view())


@pytest.mark.thorough
def test_suffix_failures_of_thompson_sampling_stay_rare() -> None:
    env = sonde.make("bernoulli_bandit")
    report = regret.bandit_report(
        env, collect_trajectories(env, {"agent": sonde.make("agents:thompson")}, env.tasks("train")[:100])
    )
    assert float(report.suffix_failures.mean[50]) < 0.2
    assert np.all(np.diff(report.suffix_failures.mean) >= 0.0)
