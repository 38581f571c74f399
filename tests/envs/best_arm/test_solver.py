"""The Bayesian best-arm agent: its exact chance of success over all reward sequences, beside the optimum."""

from functools import cache
from types import SimpleNamespace
from typing import Any, cast

import pytest

import sonde
from sonde.core import Turn
from sonde.envs.best_arm.env import BestArm
from sonde.envs.best_arm.filter import ArmsFilter, Counts, add_pull, counts_posterior, quadrature_nodes
from tests.cases import each


def make_pull(arm: str, reward: int) -> Turn:
    return cast("Turn", SimpleNamespace(info={"result": "pull", "arm": arm, "reward": reward}))


def chance(agent: Any, env: BestArm, known: ArmsFilter) -> float:
    """The agent's probability of a right decision from here, summed over all rewards."""
    arms = known.game.arms
    view = SimpleNamespace(filter=known, legal=arms, turn=known.turn, spec=env.spec, say=lambda a: a)
    choice = agent.act_now(cast("Any", view)).text
    if known.turn == env.pull_count:
        return known.prob(choice)
    pays = float(known.pulls_posterior.pays.sum(axis=1)[arms.index(choice)])
    rows = ((pays, 1), (1.0 - pays, 0))
    return sum(p * chance(agent, env, known.observe(make_pull(choice, r))) for p, r in rows)


def optimum(n_arms: int, pulls: int) -> float:
    """The best possible probability of a right decision, by dynamic programming over sorted counts (arms are alike)."""

    @cache
    def value(counts: Counts, left: int) -> float:
        now = counts_posterior(counts, quadrature_nodes(pulls))
        if left == 0:
            return float(now.best.max())
        pays = now.pays.sum(axis=1)

        def after(arm: int, reward: int) -> float:
            return value(tuple(sorted(add_pull(counts, arm, reward))), left - 1)

        return max(float(pays[a]) * after(a, 1) + float(1.0 - pays[a]) * after(a, 0) for a in range(n_arms))

    return value(((0, 0),) * n_arms, pulls)


@each("n_arms, pulls, expected", [(3, 8, 0.8262), (5, 8, 0.6563)])
def test_close_to_the_optimum_and_above_information_gain(n_arms: int, pulls: int, expected: float) -> None:
    env = BestArm(max_turns=pulls + 1)
    public = {"scenario": "custom", "arms": tuple("abcdefg"[:n_arms])}
    best = optimum(n_arms, pulls)
    assert best == pytest.approx(expected, abs=1e-4)
    greedy = chance(sonde.make("agents:best_arm"), env, env.filter(public))
    assert best - 0.006 < greedy < best
    assert greedy > chance(sonde.make("agents:entropy"), env, env.filter(public)) + 0.002
