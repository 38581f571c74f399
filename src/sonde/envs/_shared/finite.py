"""Finite problems over several sub-episodes in one unknown world: public description, true world, exact values.

A `FiniteProblem` is what every agent may know: labels, horizon, possible rewards. A `World` holds what it must find
out, and what regret is measured against: the transition and reward tables. The formulation is that of PSRL with
language models (Toward Efficient Exploration by LLM Agents, section 2): `sub_episodes` times `horizon` steps, each time
from `start`; the value of a policy is its expected return over one sub-episode. A bandit is the case of one state and
horizon 1.

Axes: S states, A actions, H steps of a sub-episode (0-based). Tables follow the order of the problem's labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sonde.core import Rng
from sonde.core.types import Json

Floats = npt.NDArray[np.float64]


class FiniteProblem(NamedTuple):
    """The public description of the problem, all in JSON values.

    `kind` says how the unknown world is structured: `bandit` (one state, one mean per action), `tabular` (any tables),
    `code` (a secret of `horizon` symbols, one symbol per step) or `case` (a hidden cause, which one action mends).
    `rewards` are the possible rewards of a step; `known` lists transitions `(state, action, next)` that are certain and
    told to everyone. The reward of a step depends on its state and action, with `by_next` also on the next state.
    `causes` are those that a `case` may have, each with its probability.
    """

    kind: Literal["bandit", "tabular", "code", "case"]
    states: tuple[str, ...]
    actions: tuple[str, ...]
    horizon: int
    sub_episodes: int
    start: str
    rewards: tuple[float, ...] = (0.0, 1.0)
    known: tuple[tuple[str, str, str], ...] = ()
    by_next: bool = False
    causes: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True, eq=False)
class World:
    """One world: `transition_SAS[s, a, t]` = P(t | s, a), rows summing to 1, and `reward_SA` = the expected reward.

    >>> World(np.ones((1, 2, 1)), np.array([[0.6, 0.4]])).suboptimality_gaps(1)
    array([[[0. , 0.2]]])
    """

    transition_SAS: Floats
    reward_SA: Floats

    def suboptimality_gaps(self, horizon: int) -> Floats:
        """`V*_h(s) - Q*_h(s, a)`, shape `(H, S, A)`: the cost of each action, given optimal play afterwards."""
        q = self.action_values(horizon)
        return q.max(axis=2, keepdims=True) - q

    def action_values(self, horizon: int) -> Floats:
        """`Q*_h(s, a)` by backward induction, shape `(H, S, A)`."""
        q = np.empty((horizon, *self.reward_SA.shape))
        after = np.zeros(len(self.reward_SA))
        for h in range(horizon - 1, -1, -1):
            q[h] = self.reward_SA + self.transition_SAS @ after
            after = q[h].max(axis=1)
        return q

    def policy_values(self, policy_HSA: Floats) -> Floats:
        """`V_h(s)` of a policy given as action probabilities, shape `(H, S)`."""
        v = np.empty(policy_HSA.shape[:2])
        after = np.zeros(len(self.reward_SA))
        for h in range(len(policy_HSA) - 1, -1, -1):
            after = v[h] = (policy_HSA[h] * (self.reward_SA + self.transition_SAS @ after)).sum(axis=1)
        return v


def best_value(problem: FiniteProblem, world: World) -> float:
    """The expected return of optimal play over one sub-episode."""
    return float(world.action_values(problem.horizon)[0, problem.states.index(problem.start)].max())


def bandit_world(means: npt.ArrayLike) -> World:
    """The world of a bandit with these mean rewards.

    >>> bandit_world([0.4, 0.6]).reward_SA
    array([[0.4, 0.6]])
    """
    reward = np.asarray(means, np.float64)[None, :]
    return World(np.ones((1, reward.shape[1], 1)), reward)


class ExploredFilter(Protocol):
    """The members that agents require of these environments' exact filters, beyond `core.Filter`. Arrays follow
    `problem.actions` and refer to the agent's current state."""

    @property
    def problem(self) -> FiniteProblem: ...

    def sample(self, rng: Rng) -> Any:
        """A hypothesis drawn from the posterior."""
        ...

    def world(self, hypothesis: Any) -> World:
        """The world of a hypothesis."""
        ...

    @property
    def expected_regrets(self) -> Floats:
        """Posterior mean of `V*_h(s) - Q*_h(s, a)` of each action now, shape `(A,)`."""
        ...

    @property
    def expected_gains(self) -> Floats:
        """Expected bits about the hypothesis from each action now, shape `(A,)`."""
        ...


class FiniteEnv(Protocol):
    """What these environments provide to agents (`decision_problem`) and, hidden from agents, to regret (`world`)."""

    def decision_problem(self, public: Mapping[str, Json]) -> FiniteProblem:
        """The decision problem of tasks with this public part."""
        ...

    def world(self, state: Any) -> World:
        """The true world behind any state of an episode."""
        ...

    def optimal_value(self, state: Any) -> float:
        """`best_value` in that world."""
        ...


class DirichletPosterior(NamedTuple):
    """The posterior of tabular PSRL: one Dirichlet per state and action, and rewards uniform over `problem.rewards`.

    Section 4.2: `alpha` is 1/|S| by default. The reward of an action in a state (with `problem.by_next`, for each next
    state) is certain once seen; before that, every value of `problem.rewards` is equally likely. Transitions in
    `problem.known` are certain from the start.
    """

    problem: FiniteProblem
    counts_SAS: npt.NDArray[np.int64]
    paid_SAN: Floats
    """The observed reward, or NaN. The last axis is the next state, of length 1 if it does not matter."""
    alpha: float

    @classmethod
    def prior(cls, problem: FiniteProblem, alpha: float | None = None) -> DirichletPosterior:
        n, m = len(problem.states), len(problem.actions)
        paid = np.full((n, m, n if problem.by_next else 1), np.nan)
        return cls(problem, np.zeros((n, m, n), np.int64), paid, alpha or 1.0 / n)

    def observe(self, state: str, action: str, reward: float, after: str) -> DirichletPosterior:
        """The posterior after one step."""
        problem = self.problem
        s, a, t = problem.states.index(state), problem.actions.index(action), problem.states.index(after)
        counts, paid, at = self.counts_SAS.copy(), self.paid_SAN, (s, a, t if problem.by_next else 0)
        counts[s, a, t] += 1
        if paid[at] != reward:
            paid = paid.copy()
            paid[at] = reward
        return self._replace(counts_SAS=counts, paid_SAN=paid)

    def sample(self, rng: Rng) -> World:
        """One world drawn from the posterior."""
        gamma, uniform = rng.gammavariate, rng.random  # looked up once: this takes most of the time of a draw
        alphas_SAS = self._dirichlet_parameters
        logs_SAS = np.array([_log_gamma(a, gamma, uniform) for a in alphas_SAS.ravel().tolist()])
        logs_SAS = logs_SAS.reshape(alphas_SAS.shape)
        drawn_SAS = np.exp(logs_SAS - logs_SAS.max(axis=2, keepdims=True))
        unknown, paid, rewards = np.isnan(self.paid_SAN), self.paid_SAN.copy(), self.problem.rewards
        paid[unknown] = [rewards[rng.randrange(len(rewards))] for _ in range(int(unknown.sum()))]
        return self._make_world(drawn_SAS / drawn_SAS.sum(axis=2, keepdims=True), paid)

    def mean_world(self) -> World:
        """The world of posterior means."""
        expected = float(np.mean(self.problem.rewards))
        paid = np.where(np.isnan(self.paid_SAN), expected, self.paid_SAN)
        return self._make_world(
            self._dirichlet_parameters / self._dirichlet_parameters.sum(axis=2, keepdims=True), paid
        )

    def _make_world(self, transition_SAS: Floats, paid_SAN: Floats) -> World:
        """A world with these tables and all certain knowledge; the expected reward follows from the possible next
        states."""
        transition = self._fix_known(transition_SAS)
        return World(transition, (transition * paid_SAN).sum(axis=2) if self.problem.by_next else paid_SAN[:, :, 0])

    @property
    def _dirichlet_parameters(self) -> Floats:
        return np.add(self.counts_SAS, self.alpha, dtype=np.float64)

    def _fix_known(self, transition_SAS: Floats) -> Floats:
        for state, action, after in self.problem.known:
            s, a = self.problem.states.index(state), self.problem.actions.index(action)
            transition_SAS[s, a] = 0.0
            transition_SAS[s, a, self.problem.states.index(after)] = 1.0
        return transition_SAS


def _log_gamma(alpha: float, gamma: Callable[[float, float], float], uniform: Callable[[], float]) -> float:
    """The logarithm of a sample from Gamma(alpha, 1), which itself may underflow if alpha is small."""
    return math.log(gamma(alpha + 1.0, 1.0)) + math.log(1.0 - uniform()) / alpha
