"""The exact posterior of best-arm identification over PAPRIKA's prior of arm means (appendix B.4.10).

With eps ~ U[0.1, 0.2], the best arm (uniform over the arms) pays with probability 0.5 + eps and every other arm with a
probability uniform on [0, 0.5 - eps]. The posterior depends on the history only through the counts (pulls, successes)
of each arm. Given eps, the arms are independent, and with u = 0.5 - eps an arm with n pulls and s successes has
likelihood

    (0.5 + eps)^s (0.5 - eps)^(n - s)                                                          if it is the best,
    1/u int_0^u p^s (1 - p)^(n - s) dp = P(Binomial(n + 1, u) > s) / (u (n + 1) C(n, s))       if it is not.

Both are polynomials in eps of degree n, so Gauss-Legendre quadrature over eps is exact, not an approximation, once it
has half as many nodes as there are pulls in total (plus one).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from math import comb
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sonde.core import Belief, Filter, Turn

from .._shared.bits import p_log2_p

Floats = npt.NDArray[np.float64]
Counts = tuple[tuple[int, int], ...]
"""Pulls and successes of each arm."""

EPS = (0.1, 0.2)
_KEPT = 20_000


class ArmsPosterior(NamedTuple):
    """The posterior over K arms, as arrays.

    `best[i]` = P(arm i is the best), shape `(K,)`. `pays[a, i]` = P(arm i is the best and the next pull of arm a pays),
    shape `(K, K)`. All one-step look-aheads follow from these two.
    """

    best: Floats
    pays: Floats

    def outcomes_ahead(self) -> Floats:
        """P(arm i is the best and the next pull of arm a gives r) as `[r, a, i]`, shape `(2, K, K)`."""
        return np.stack([np.maximum(self.best - self.pays, 0.0), self.pays])


@lru_cache(maxsize=_KEPT)
def counts_posterior(counts: Counts, nodes: int) -> ArmsPosterior:
    """The posterior after these counts, by quadrature with `nodes` points over eps."""
    eps, weights = _quadrature_grid(nodes)
    best_KQ = np.stack([(0.5 + eps) ** s * (0.5 - eps) ** (n - s) for n, s in counts])
    other_KQ = np.stack([_other_likelihood(n, s, nodes) for n, s in counts])
    joint_KQ = weights * other_KQ.prod(axis=0) * best_KQ / other_KQ
    joint_KQ /= joint_KQ.sum()
    other_pays_KQ = np.stack([_other_likelihood(n + 1, s + 1, nodes) for n, s in counts]) / other_KQ
    pays_KK = other_pays_KQ @ joint_KQ.T
    np.fill_diagonal(pays_KK, joint_KQ @ (0.5 + eps))
    found = ArmsPosterior(joint_KQ.sum(axis=1), pays_KK)
    for array in found:
        array.setflags(write=False)
    return found


@lru_cache(maxsize=64)
def _quadrature_grid(nodes: int) -> tuple[Floats, Floats]:
    """Values of eps and their weights, which sum to 1."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    return EPS[0] + (EPS[1] - EPS[0]) * (x + 1.0) / 2.0, w / 2.0


@lru_cache(maxsize=_KEPT)
def _other_likelihood(n: int, s: int, nodes: int) -> Floats:
    """Likelihood of s successes in n pulls (in one order) of an arm that is not the best, for each eps: `(Q,)`."""
    u = 0.5 - _quadrature_grid(nodes)[0]
    tail = sum(comb(n + 1, j) * u**j * (1.0 - u) ** (n + 1 - j) for j in range(s + 1, n + 2))
    return tail / (u * (n + 1) * comb(n, s))


def quadrature_nodes(pulls: int) -> int:
    """The number of quadrature points that makes `counts_posterior` exact up to and including the look-ahead from
    `pulls` pulls."""
    return (pulls + 1) // 2 + 1


class ArmsGame(NamedTuple):
    """The constants of an episode. `parse(text)` is the number of the arm that an agent's text names."""

    arms: tuple[str, ...]
    pulls: int
    parse: Callable[[str], int | None]

    def start(self) -> ArmsFilter:
        """The prior."""
        return ArmsFilter(self, ((0, 0),) * len(self.arms))


class ArmsFilter(Filter):
    """The exact posterior over the best arm's name: `pulls` pulls, then one choice whose correctness is revealed.

    Arrays follow the order of `game.arms`. Create it with `ArmsGame.start`.
    """

    def __init__(self, game: ArmsGame, counts: Counts, turn: int = 0, verdict: tuple[int, bool] | None = None) -> None:
        self.game, self.counts, self.turn, self.verdict = game, counts, turn, verdict

    def observe(self, turn: Turn) -> ArmsFilter:
        info, counts, verdict = turn.info, self.counts, self.verdict
        if "arm" in info:
            arm = self.game.arms.index(info["arm"])
            if info["result"] == "pull":
                counts = add_pull(counts, arm, info["reward"])
            else:
                verdict = arm, info["result"] == "win"
        return ArmsFilter(self.game, counts, self.turn + 1, verdict)

    def belief(self) -> Belief:
        alive = np.flatnonzero(self.arm_probs)
        return Belief(tuple(self.game.arms[i] for i in alive), self.arm_probs[alive])  # type: ignore[arg-type]

    def prob(self, hypothesis: Any) -> float:
        arms = self.game.arms
        return float(self.arm_probs[arms.index(hypothesis)]) if hypothesis in arms else 0.0

    def expected_gain(self, action: str) -> float:
        arm = self.game.parse(action)
        return 0.0 if arm is None else float(self.expected_gains[arm])

    def best_question(self) -> tuple[str, float]:
        """The arm of highest expected gain; when the choice is due, the arm most likely to be the best."""
        arm = int(self.expected_gains.argmax())
        return self.game.arms[arm], float(self.expected_gains[arm])

    @cached_property
    def pulls_posterior(self) -> ArmsPosterior:
        """The posterior given the pulls, ignoring the verdict on the choice."""
        return counts_posterior(self.counts, quadrature_nodes(self.game.pulls))

    @cached_property
    def arm_probs(self) -> Floats:
        """P(arm i is the best), shape `(K,)`."""
        best = self.pulls_posterior.best
        if self.verdict is None:
            return best
        arm, right = self.verdict
        best = np.where((np.arange(len(best)) == arm) == right, best, 0.0)
        return best / best.sum()

    @cached_property
    def expected_gains(self) -> Floats:
        """Expected gain of naming each arm now, in bits; shape `(K,)`."""
        prior = self.arm_probs
        if self.turn < self.game.pulls:
            joint = self.pulls_posterior.outcomes_ahead()
            after = p_log2_p(joint).sum(axis=2) - p_log2_p(joint.sum(axis=2))
            return np.maximum(after.sum(axis=0) - p_log2_p(prior).sum(), 0.0)
        return -p_log2_p(prior) - p_log2_p(1.0 - prior)

    def expected_successes(self) -> Floats:
        """P(the choice is right | it is made after one more pull, of arm a), shape `(K,)`.

        The look-ahead of the knowledge gradient: the expected maximum of the posterior.
        """
        return self.pulls_posterior.outcomes_ahead().max(axis=2).sum(axis=0)


def add_pull(counts: Counts, arm: int, reward: int) -> Counts:
    """The counts after one more pull of `arm`."""
    n, s = counts[arm]
    return (*counts[:arm], (n + 1, s + reward), *counts[arm + 1 :])
