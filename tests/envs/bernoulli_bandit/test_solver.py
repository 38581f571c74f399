"""Bayesian play of a bandit: nothing earns more where one arm is the best."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import sonde
from sonde.core import Episode
from sonde.envs.bernoulli_bandit.filter import BanditGame, Counts
from tests.cases import each

AGENT = sonde.make("agents:bernoulli_bandit")


@each("arms, best, gap, pulls", [(2, 0.6, 0.2, 8), (3, 0.6, 0.2, 7), (4, 0.7, 0.1, 5), (3, 0.9, 0.8, 6)])
def test_no_strategy_earns_more(arms: int, best: float, gap: float, pulls: int) -> None:
    """By dynamic programming over all counts, with one of the arms as likely the best as any other."""
    env = sonde.make("bernoulli_bandit", arms=arms, best=best, gap=gap)
    start = env.filter(env.tasks("train")[0].public)
    game: BanditGame = start.game

    @cache
    def earned(counts: Counts, left: int, optimal: bool) -> float:
        if not left:
            return 0.0
        known = type(start)(game, counts)
        chances = best - known.expected_regrets
        tried = range(arms) if optimal else [int(np.argmin(known.expected_regrets.round(12)))]
        return max(pulled(counts, arm, float(chances[arm]), left - 1, optimal) for arm in tried)

    def pulled(counts: Counts, arm: int, chance: float, left: int, optimal: bool) -> float:
        (n, total), others = counts[arm], (*counts[:arm], *counts[arm + 1 :])
        won, lost = (tuple(sorted((*others, (n + 1, total + reward)))) for reward in (1.0, 0.0))
        return chance * (1.0 + earned(won, left, optimal)) + (1.0 - chance) * earned(lost, left, optimal)

    assert earned(start.counts, pulls, False) == pytest.approx(earned(start.counts, pulls, True), abs=1e-12)


def test_it_stays_with_what_pays_and_draws_ties() -> None:
    env = sonde.make("bernoulli_bandit", arms=3)
    ep = Episode.begin(env, env.task({"arms": ["A", "B", "C"], "best": "A"}))
    said = {AGENT.act_now(ep.fork(sample=i).view()).text for i in range(40)}
    assert said == {f"<Answer>{arm}</Answer>" for arm in "ABC"}
    ep = ep.step("<Answer>B</Answer>")
    paid = ep.turns[-1].info["reward"] == 1.0
    said = {AGENT.act_now(ep.fork(sample=i).view()).text for i in range(40)}
    assert said == {f"<Answer>{arm}</Answer>" for arm in ("B" if paid else "AC")}
