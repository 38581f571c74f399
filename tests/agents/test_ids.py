"""Information-directed sampling: the smallest ratio by brute force, one informative pull where that is optimal."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import sonde
from sonde.agents._shared.ratio import minimise_ratio
from sonde.core import Rng
from sonde.runs.rollout import collect_trajectories

VALUES = st.lists(st.tuples(st.floats(0.01, 2.0), st.floats(0.0, 3.0)), min_size=1, max_size=5)


def ratio(regrets: list[float], gains: list[float], p: np.ndarray) -> float:
    gain = float(p @ gains)
    return float(p @ regrets) ** 2 / gain if gain > 1e-12 else math.inf


@given(VALUES, st.integers(0, 1000))
@example([(1.0, 1.0), (1.0, 5e-324)], 0)
def test_no_distribution_has_a_smaller_ratio(rows: list[tuple[float, float]], seed: int) -> None:
    regrets, gains = [r for r, _ in rows], [g for _, g in rows]
    mix = minimise_ratio(regrets, gains, Rng(seed))
    p = np.zeros(len(rows))
    p[mix.first] += mix.weight
    p[mix.second] += 1.0 - mix.weight
    found = ratio(regrets, gains, p)
    assert mix.ratio == pytest.approx(found, rel=1e-6) or max(gains) <= 1e-12
    others = np.random.Generator(np.random.PCG64(seed)).dirichlet(np.full(len(rows), 0.4), 300)
    assert all(found <= ratio(regrets, gains, q) * (1 + 1e-6) for q in others)


@given(VALUES)
def test_the_grid_is_nearly_as_good_and_never_better(rows: list[tuple[float, float]]) -> None:
    regrets, gains = [r for r, _ in rows], [max(g, 0.05) for _, g in rows]
    exact, grid = minimise_ratio(regrets, gains, Rng(1)), minimise_ratio(regrets, gains, Rng(1), grid=1000)
    assert exact.ratio * (1 - 1e-9) <= grid.ratio <= exact.ratio * 1.01 + 1e-9


def test_by_hand() -> None:
    """Regrets 1 and 0.5, gains 1 and 0: with weight q, (0.5 + 0.5 q)^2 / q is smallest at q = 1, where it is 1."""
    assert minimise_ratio([1.0, 0.5], [1.0, 0.0], Rng(0))[:] == (0, 0, 1.0, 1.0)
    # Regrets 1 and 0.1: (0.1 + 0.9 q)^2 / q has its minimum at q = 1/9, where it is 0.36.
    mix = minimise_ratio([1.0, 0.1], [1.0, 0.0], Rng(0))
    assert mix == (0, 1, pytest.approx(1 / 9), pytest.approx(0.36))


def test_what_costs_nothing_is_played_and_among_such_what_teaches_most() -> None:
    assert minimise_ratio([0.0, 0.0, 1.0], [0.1, 0.4, 9.0], Rng(0))[:2] == (1, 1)
    assert minimise_ratio([0.2, 0.1], [0.0, 0.0], Rng(0))[:2] == (1, 1)


def test_equally_good_actions_are_drawn() -> None:
    drawn = {minimise_ratio([0.5] * 4, [0.3] * 4, Rng(seed)).draw_action(Rng(seed)) for seed in range(60)}
    assert drawn == {0, 1, 2, 3}


def test_one_informative_pull_then_the_best_arm() -> None:
    env = sonde.make("bernoulli_bandit", preset="informative")
    for t in collect_trajectories(env, {"agent": sonde.make("agents:ids")}, env.tasks("test")[:20]):
        pulled = [turn.info["action"] for turn in t.turns]
        assert pulled[0] == "0" and len(set(pulled[1:])) == 1 and t.turns[1].info["reward"] == 1.0
