"""Exact posteriors over the best arm of the paper's two bandits, and their worlds.

Bernoulli: one arm, uniformly chosen, pays with probability `best`, all others with `rest`. Every pull multiplies the
odds of its arm by best / rest if it pays and by (1 - best) / (1 - rest) if not, so the posterior depends on the counts
alone.

Informative (Russo and Van Roy 2018, example 2): arm 0 pays 1 / (2 i) if arm i, one of 1 to K, is the best and pays 1;
all others pay 0. Rewards are deterministic, so the posterior is uniform over the arms that are not ruled out.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sonde.core import Belief, Filter, Rng, Turn

from .._shared.bits import p_log2_p
from .._shared.finite import FiniteProblem, Floats, World, bandit_world

Counts = tuple[tuple[int, float], ...]
"""Pulls and sum of rewards of each arm."""


class BanditGame(NamedTuple):
    """The constants of an episode. `parse(text)` is the arm that an agent's text names."""

    problem: FiniteProblem
    best: float
    rest: float
    parse: Callable[[str], str | None]


class BanditFilter(Filter):
    """The exact posterior over the label of the best arm. Arrays follow `problem.actions`."""

    def __init__(self, game: BanditGame, counts: Counts | None = None) -> None:
        self.game = game
        self.counts: Counts = counts or ((0, 0.0),) * len(game.problem.actions)

    @property
    def problem(self) -> FiniteProblem:
        return self.game.problem

    def observe(self, turn: Turn) -> BanditFilter:
        info = turn.info
        if info["action"] is None:
            return self
        arm = self.problem.actions.index(info["action"])
        n, total = self.counts[arm]
        counts = (*self.counts[:arm], (n + 1, total + info["reward"]), *self.counts[arm + 1 :])
        return type(self)(self.game, counts)

    @cached_property
    @abstractmethod
    def arm_probs(self) -> Floats:
        """P(arm a is the best), shape `(A,)`."""

    def belief(self) -> Belief:
        alive = np.flatnonzero(self.arm_probs)
        return Belief(tuple(self.problem.actions[i] for i in alive), self.arm_probs[alive])  # type: ignore[arg-type]

    def prob(self, hypothesis: Any) -> float:
        arms = self.problem.actions
        return float(self.arm_probs[arms.index(hypothesis)]) if hypothesis in arms else 0.0

    def expected_gain(self, action: str) -> float:
        arm = self.game.parse(action)
        return 0.0 if arm is None else float(self.expected_gains[self.problem.actions.index(arm)])

    def best_question(self) -> tuple[str, float]:
        """The arm of highest expected gain; if all gains are zero, the first arm most likely to be the best."""
        gains = self.expected_gains
        arm = int(gains.argmax() if gains.max() > 0.0 else self.arm_probs.argmax())
        return self.problem.actions[arm], float(gains[arm])

    def sample(self, rng: Rng) -> str:
        (arm,) = rng.choices(self.problem.actions, self.arm_probs.tolist())
        return arm

    @abstractmethod
    def world(self, hypothesis: str) -> World:
        """The mean rewards if this arm is the best."""

    @cached_property
    @abstractmethod
    def expected_gains(self) -> Floats:
        """Expected bits from each arm, shape `(A,)`."""

    @cached_property
    def expected_regrets(self) -> Floats:
        """The best arm's mean minus each arm's, averaged over the posterior, shape `(A,)`."""
        tables_HA = [self.world(arm).reward_SA[0] for arm in self.problem.actions]
        means_HA = np.stack(tables_HA)
        return self.arm_probs @ (means_HA.max(axis=1, keepdims=True) - means_HA)


class BernoulliFilter(BanditFilter):
    """The posterior of the Bernoulli bandit."""

    @cached_property
    def arm_probs(self) -> Floats:
        best, rest = self.game.best, self.game.rest
        paid, not_paid = math.log(best / rest), math.log((1.0 - best) / (1.0 - rest))
        logs = np.array([total * paid + (n - total) * not_paid for n, total in self.counts])
        weights = np.exp(logs - logs.max())
        return weights / weights.sum()

    def world(self, hypothesis: str) -> World:
        game = self.game
        return bandit_world([game.best if a == hypothesis else game.rest for a in self.problem.actions])

    @cached_property
    def expected_gains(self) -> Floats:
        """The entropy of the reward under the mixture, H(r | a), minus its mean under the hypotheses."""
        p, best, rest = self.arm_probs, self.game.best, self.game.rest
        pays = rest + (best - rest) * p
        return np.maximum(_binary_entropies(pays) - p * _binary_entropy(best) - (1.0 - p) * _binary_entropy(rest), 0.0)

    @cached_property
    def expected_regrets(self) -> Floats:
        return (self.game.best - self.game.rest) * (1.0 - self.arm_probs)


class InformativeFilter(BanditFilter):
    """The posterior of the informative bandit."""

    @cached_property
    def arm_probs(self) -> Floats:
        told, total = self.counts[0]
        paid = [1.0 if t > 0.0 else 0.0 for _, t in self.counts]
        possible = np.array([n == 0 for n, _ in self.counts], np.float64)
        possible[0] = 0.0
        if told:
            possible = np.eye(len(self.counts))[round(told / (2.0 * total))]
        elif any(paid):
            possible = np.array(paid)
        return possible / possible.sum()

    def world(self, hypothesis: str) -> World:
        best = self.problem.actions.index(hypothesis)
        means = [1.0 if i == best else 0.0 for i in range(len(self.problem.actions))]
        # Arm 0 is the best in no world; its table only fills the row of probability 0.
        means[0] = 1.0 / (2.0 * max(best, 1))
        return bandit_world(means)

    @cached_property
    def expected_gains(self) -> Floats:
        gains = _binary_entropies(self.arm_probs)
        gains[0] = -sum(p * math.log2(p) for p in self.arm_probs.tolist() if p > 0.0) + 0.0
        return gains


def _binary_entropies(p: Floats) -> Floats:
    """Entropy in bits of events with these probabilities."""
    q = np.clip(1.0 - p, 0.0, 1.0)
    return -(p_log2_p(np.clip(p, 0.0, 1.0)) + p_log2_p(q)) + 0.0


def _binary_entropy(p: float) -> float:
    return float(_binary_entropies(np.array([p]))[0])
