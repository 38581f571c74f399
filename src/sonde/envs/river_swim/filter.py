"""RiverSwim: the tables of the chain, its labellings, and the exact posterior over them.

Places count from the downstream end, where every sub-episode starts. Labels hide the order of the caves and which of a
cave's two tunnels leads upstream; under the environment's prior only the labelling is unknown, uniform over the
labellings that fit the public part. The tabular agents of the paper know less: theirs is the conjugate posterior
(`finite.DirichletPosterior`), which the filter maintains as counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from itertools import permutations, product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sonde.core import Belief, Filter, Rng, Turn

from .._shared.finite import DirichletPosterior, FiniteProblem, Floats, World
from .currents import SMALL, TUNNELS, Labels, stroke_outcomes, stroke_reward

Ints = npt.NDArray[np.int64]


@cache
def river_world(n: int, ends: str, by_next: bool = False) -> World:
    """The river by place: action 0 swims downstream, 1 upstream. Rewards are expected payments of a stroke."""
    transition, paid = np.zeros((n, 2, n)), stroke_payments(n, by_next)
    for place, act in product(range(n), range(2)):
        for p, after in stroke_outcomes(n, ends, place, bool(act)):
            transition[place, act, after] += p
    # Not summed if every next place pays the same: probabilities do not sum to exactly 1.
    return World(transition, (transition * paid).sum(axis=2) if by_next else paid[:, :, 0])


@cache
def stroke_payments(n: int, by_next: bool) -> Floats:
    """The payment of a stroke by place, action and next place, shape `(S, A, S)`."""
    places = range(n)
    return np.array([[[stroke_reward(n, s, up, t, by_next) for t in places] for up in (False, True)] for s in places])


@cache
def list_labellings(caves: tuple[str, ...], start: str) -> tuple[Labels, ...]:
    """Every labelling with this start."""
    others = [cave for cave in caves if cave != start]
    ups = list(product(TUNNELS, repeat=len(caves)))
    return tuple(Labels((start, *order), up) for order in permutations(others) for up in ups)


class RiverGame(NamedTuple):
    """The constants of an episode, and arrays over N labellings: `place_NC` of each cave in the order of
    `problem.states`, and `up_NC`, the number of its upstream tunnel."""

    problem: FiniteProblem
    ends: str
    worlds: tuple[Labels, ...]
    numbers: Mapping[str, int]
    place_NC: Ints
    up_NC: Ints
    parse: Callable[[str], str | None]

    @property
    def place_world(self) -> World:
        return river_world(len(self.problem.states), self.ends, self.problem.by_next)

    @property
    def paid_SAS(self) -> Floats:
        return stroke_payments(len(self.problem.states), self.problem.by_next)


def river_arrays(
    problem: FiniteProblem, ends: str, worlds: Sequence[Labels], parse: Callable[[str], str | None]
) -> RiverGame:
    """The arrays of these labellings."""
    caves = problem.states
    place = np.array([[w.order.index(c) for c in caves] for w in worlds])
    up = np.array([[TUNNELS.index(w.up[w.order.index(c)]) for c in caves] for w in worlds])
    return RiverGame(problem, ends, tuple(worlds), {str(w): i for i, w in enumerate(worlds)}, place, up, parse)


def labelled_world(problem: FiniteProblem, ends: str, labels: Labels) -> World:
    """The tables of a river in the order of the problem's labels."""
    place = [labels.order.index(c) for c in problem.states]
    river = river_world(len(place), ends, problem.by_next)
    act_CA = np.array([[int(t == labels.up[p]) for t in TUNNELS] for p in place])
    rows = np.array(place)[:, None]
    return World(river.transition_SAS[rows, act_CA][:, :, place], river.reward_SA[rows, act_CA])


class RiverFilter(Filter):
    """The exact posterior over labellings. `alive` indexes the remaining ones and `weights` are their probabilities."""

    def __init__(
        self, game: RiverGame, alive: Ints, weights: Floats, cave: str, turn: int, tables: DirichletPosterior
    ) -> None:
        self.game, self.alive, self.weights = game, alive, weights
        self.cave, self.turn, self.tables = cave, turn, tables

    @classmethod
    def prior(cls, game: RiverGame) -> RiverFilter:
        n = len(game.worlds)
        tables = DirichletPosterior.prior(game.problem)
        return cls(game, np.arange(n), np.full(n, 1.0 / n), game.problem.start, 0, tables)

    @property
    def problem(self) -> FiniteProblem:
        return self.game.problem

    def dirichlet_posterior(self, alpha: float | None = None) -> DirichletPosterior:
        """The posterior of tabular PSRL after the same turns, with its own concentration (default 1/|S|)."""
        return self.tables if alpha is None else self.tables._replace(alpha=alpha)

    def observe(self, turn: Turn) -> RiverFilter:
        info, problem = turn.info, self.problem
        clock = self.turn + 1
        cave = problem.start if clock % problem.horizon == 0 else info["next"]
        if info["action"] is None:
            return RiverFilter(self.game, self.alive, self.weights, cave, clock, self.tables)
        state, action, reward, after = info["state"], info["action"], info["reward"], info["next"]
        weights = self.weights * self._labelling_likelihood(state, action, reward, after)
        kept = weights > 0.0
        weights = weights[kept]
        tables = self.tables.observe(state, action, reward, after)
        return RiverFilter(self.game, self.alive[kept], weights / weights.sum(), cave, clock, tables)

    def _labelling_likelihood(self, state: str, action: str, reward: float, after: str) -> Floats:
        """P(next, reward | labelling) for those alive, shape `(N,)`."""
        game, caves = self.game, self.problem.states
        s, t = caves.index(state), caves.index(after)
        place, act = game.place_NC[self.alive, s], self._acts(s, self.problem.actions.index(action))
        move = place, act, game.place_NC[self.alive, t]
        return np.where(game.paid_SAS[move] == reward, game.place_world.transition_SAS[move], 0.0)

    def _acts(self, cave: int, tunnel: int) -> Ints:
        """1 where the tunnel leads upstream, shape `(N,)`."""
        return (self.game.up_NC[self.alive, cave] == tunnel).astype(np.int64)

    def belief(self) -> Belief:
        return Belief(tuple(str(self.game.worlds[i]) for i in self.alive), self.weights)  # type: ignore[arg-type]

    def prob(self, hypothesis: Any) -> float:
        row = self.game.numbers.get(hypothesis, -1)
        at = int(np.searchsorted(self.alive, row))
        return float(self.weights[at]) if at < len(self.alive) and self.alive[at] == row else 0.0

    def expected_gain(self, action: str) -> float:
        tunnel = self.game.parse(action)
        return 0.0 if tunnel is None else float(self.expected_gains[self.problem.actions.index(tunnel)])

    def best_question(self) -> tuple[str, float]:
        best = int(self.expected_gains.argmax())
        return self.problem.actions[best], float(self.expected_gains[best])

    # --- for agents that explore (finite.ExploredFilter) -------------------------------------------------------------

    def sample(self, rng: Rng) -> str:
        row: int = rng.choices(self.alive.tolist(), self.weights.tolist())[0]
        return str(self.game.worlds[row])

    def world(self, hypothesis: str) -> World:
        return labelled_world(self.problem, self.game.ends, self.game.worlds[self.game.numbers[hypothesis]])

    @cached_property
    def expected_gains(self) -> Floats:
        return np.array([self._stroke_gain(a) for a in range(len(self.problem.actions))])

    def _stroke_gain(self, tunnel: int) -> float:
        """H(observation) - E[H(observation | labelling)]; an observation is the next cave and the reward."""
        game, cave = self.game, self.problem.states.index(self.cave)
        place, act = game.place_NC[self.alive, cave], self._acts(cave, tunnel)
        # p_NC[n, t]: the probability under labelling n of reaching cave t, and paid_NC[n, t] the reward for it.
        next_NC = game.place_NC[self.alive]
        p_NC = np.take_along_axis(game.place_world.transition_SAS[place, act], next_NC, axis=1)
        paid_NC = np.take_along_axis(game.paid_SAS[place, act], next_NC, axis=1)
        after = [self.weights @ np.where(paid_NC == r, p_NC, 0.0) for r in self.problem.rewards]
        return max(0.0, _entropy_bits(np.concatenate(after)) - float(self.weights @ _row_entropies(p_NC)))

    @cached_property
    def expected_regrets(self) -> Floats:
        game, cave = self.game, self.problem.states.index(self.cave)
        gaps = _place_gaps(game.problem, game.ends)[self.turn % self.problem.horizon]
        place = game.place_NC[self.alive, cave]
        return np.array([self.weights @ gaps[place, self._acts(cave, a)] for a in range(len(self.problem.actions))])


@cache
def _place_gaps(problem: FiniteProblem, ends: str) -> Floats:
    return river_world(len(problem.states), ends, problem.by_next).suboptimality_gaps(problem.horizon)


def _row_entropies(p: Floats) -> Floats:
    """Entropy in bits of every row."""
    return -(p * np.log2(p, out=np.zeros_like(p), where=p > 0.0)).sum(axis=1)


def _entropy_bits(p: Floats) -> float:
    return float(_row_entropies(p[None, :])[0])


def known_downstream(labels: Labels) -> tuple[tuple[str, str, str], ...]:
    """The deterministic transitions as `(cave, tunnel, next)`, by cave."""
    rows = [(c, _other_tunnel(labels.up[i]), labels.order[max(0, i - 1)]) for i, c in enumerate(labels.order)]
    return tuple(sorted(rows))


def _other_tunnel(tunnel: str) -> str:
    return TUNNELS[1 - TUNNELS.index(tunnel)]


__all__ = ["SMALL", "RiverFilter", "RiverGame", "known_downstream", "labelled_world", "list_labellings", "river_arrays"]
