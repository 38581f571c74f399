"""Which ways of giving credit estimate the policy gradient, by enumeration of two small problems.

*Two decisions*: stop (return 1) or go on; then stop (return 0) or go on (return 3). Two turns at most, one reward.

*Asking*: the agent believes the truth with 1/4. It answers, which earns twice its belief in it less a fifth for every
turn, or asks, which earns half of what it learns. A first question doubles the belief every other time, a second one
every eighth, and then it answers. So the first question is worth its turn and the second is not.

One logit for each of the two decisions. Everything is exact: groups of n are enumerated as multisets.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple

import numpy as np
import pytest

from sonde.train import credit
from sonde.train.credit import GroupRelative, Progress, ReturnToGo, TurnWise, Values, gae
from tests.cases import each

N = 4
Estimate = Callable[[Sequence["Game"]], Sequence[Values]]


class Game(NamedTuple):
    """A way that a game can go: its probability; the gradient of the log-probability of every turn's decision; what the
    turns earn, what the whole game earns at its end, and what is expected from every turn on."""

    p: float
    scores: tuple[tuple[float, float], ...]
    earned: tuple[float, ...]
    end: float
    values: tuple[float, ...]

    @property
    def total(self) -> float:
        return sum(self.earned) + self.end

    @property
    def score(self) -> np.ndarray:
        return np.sum(self.scores, axis=0)

    @property
    def as_earned(self) -> Values:
        return np.array([*self.earned[:-1], self.earned[-1] + self.end])

    @property
    def everywhere(self) -> Values:
        """The end of the game on every turn, as equation 3 of ΔBelief-RL has it."""
        return np.array(self.earned) + self.end


def chances(x: float, y: float) -> tuple[float, float]:
    return 1 / (1 + math.exp(-x)), 1 / (1 + math.exp(-y))


def two_decisions() -> list[Game]:
    p, q = chances(-1.0, -0.5)
    stop, on, then_stop, then_on = (-p, 0.0), (1 - p, 0.0), (0.0, -q), (0.0, 1 - q)
    value = 1 - p + 3 * p * q
    return [
        Game(1 - p, (stop,), (0.0,), 1.0, (value,)),
        Game(p * (1 - q), (on, then_stop), (0.0, 0.0), 0.0, (value, 3 * q)),
        Game(p * q, (on, then_on), (0.0, 0.0), 3.0, (value, 3 * q)),
    ]


def asking() -> list[Game]:
    p, q = chances(0.0, 0.0)
    answer, ask, then_answer, then_ask = (-p, 0.0), (1 - p, 0.0), (0.0, -q), (0.0, 1 - q)

    def end(belief: float, turns: int) -> float:
        return 2.0 * belief - 0.2 * turns

    def learned(before: float, chance: float) -> list[tuple[float, float, float]]:
        """Chance, belief and reward of what a question may come to."""
        return [(1 - chance, before, 0.0), (chance, 2 * before, 0.5 * before)]

    games: list[Game] = []
    for r, first, gain in learned(0.25, 0.5):
        after = (1 - q) * end(first, 2) + q * sum(s * (g + end(b, 3)) for s, b, g in learned(first, 0.125))
        games.append(Game(p * r * (1 - q), (ask, then_answer), (gain, 0.0), end(first, 2), (0.0, after)))
        for s, second, more in learned(first, 0.125):
            scores = (ask, then_ask, (0.0, 0.0))
            games.append(Game(p * r * s * q, scores, (gain, more, 0.0), end(second, 3), (0.0, after, end(second, 3))))
    games.append(Game(1 - p, (answer,), (0.0,), end(0.25, 1), (0.0,)))
    value = sum(game.p * game.total for game in games)
    return [game._replace(values=(value, *game.values[1:])) for game in games]


PROBLEMS = {"two decisions": two_decisions, "asking": asking}


def gradient(games: Sequence[Game]) -> np.ndarray:
    """The derivative of the expected return, exactly."""
    return np.sum([game.p * game.total * game.score for game in games], axis=0)


def longer(games: Sequence[Game]) -> np.ndarray:
    """The derivative of the expected number of turns."""
    return np.sum([game.p * len(game.scores) * game.score for game in games], axis=0)


@cache
def groups(problem: str, n: int) -> list[tuple[float, tuple[Game, ...]]]:
    """Every group of n games, with its probability."""
    games, found = PROBLEMS[problem](), []
    for group in combinations_with_replacement(range(len(games)), n):
        ways = math.factorial(n) // math.prod(map(math.factorial, Counter(group).values()))
        members = tuple(games[i] for i in group)
        found.append((ways * math.prod(game.p for game in members), members))
    return found


def expected(problem: str, estimate: Estimate, n: int = N) -> np.ndarray:
    """The expectation over all groups of the mean over games of the sum over turns of advantage times score."""
    total = np.zeros(2)
    for chance, group in groups(problem, n):
        total += chance * _estimated(group, estimate)
    return total


def _estimated(group: Sequence[Game], estimate: Estimate) -> np.ndarray:
    parts = [np.asarray(a) @ np.array(game.scores) for a, game in zip(estimate(group), group, strict=True)]
    return np.mean(parts, axis=0)


def variance(problem: str, estimate: Estimate) -> float:
    """Of the estimate of a group, summed over both logits."""
    second = sum(chance * float(np.sum(_estimated(group, estimate) ** 2)) for chance, group in groups(problem, N))
    return second - float(np.sum(expected(problem, estimate) ** 2))


def by(estimator: Any, everywhere: bool = False) -> Estimate:
    return lambda group: estimator({"g": [g.everywhere if everywhere else g.as_earned for g in group]})["g"]


def generalised(values: Callable[[Game], Sequence[float]], lam: float) -> Estimate:
    return lambda group: [gae(game.as_earned, values(game), lam=lam) for game in group]


def nothing(game: Game) -> Sequence[float]:
    return [0.0] * len(game.scores)


# --- the problems ----------------------------------------------------------------------------------------------------


def test_the_gradients_by_hand() -> None:
    """Two decisions: J = (1 - p) + 3 p q, so dJ/dx = p (1 - p) (3 q - 1) and dJ/dy = 3 p q (1 - q). Asking: a first
    question earns .5 * .125 + 2 * .125 - .2 more than an answer, and then, with q = 1/2, half of what a second adds to
    it: (.5 + 2) * .375 / 8 - .2; each times p (1 - p) = 1/4, and the second times p = 1/2."""
    p, q = chances(-1.0, -0.5)
    assert gradient(two_decisions()) == pytest.approx([p * (1 - p) * (3 * q - 1), 3 * p * q * (1 - q)])
    second = 2.5 * 0.375 / 8 - 0.2
    first = 0.5 * 0.125 + 2 * 0.125 - 0.2 + second / 2
    assert gradient(asking()) == pytest.approx([first / 4, second / 8])
    assert first > 0 > second
    for problem in PROBLEMS.values():
        assert sum(game.p for game in problem()) == pytest.approx(1.0)


# --- unbiased --------------------------------------------------------------------------------------------------------

LEAVE_ONE_OUT = GroupRelative(scale="none", baseline="leave_one_out")


def tree(rng: np.random.Generator) -> list[Game]:
    """All games of a random problem: up to three turns, one logit for each of the seven places that a game can be in,
    random rewards, and ends anywhere."""
    logits, found = rng.normal(size=7), list[Game]()

    def grow(place: int, p: float, scores: tuple[Any, ...], earned: tuple[float, ...]) -> None:
        q = 1 / (1 + math.exp(-logits[place]))
        for chance, slope, after in ((1 - q, -q, 2 * place + 1), (q, 1 - q, 2 * place + 2)):
            score = np.zeros(7)
            score[place] = slope
            so_far = (p * chance, (*scores, score), (*earned, float(rng.normal())))
            if after < 7 and rng.random() < 0.7:
                grow(after, *so_far)
            else:
                found.append(Game(*so_far, end=float(rng.normal()), values=()))

    grow(0, 1.0, (), ())
    return found


@each("seed", range(12))
@each("n", [2, 3])
def test_whatever_the_problem(seed: int, n: int) -> None:
    games = tree(np.random.default_rng(seed))
    total = np.zeros(7)
    for group in product(games, repeat=n):
        total += math.prod(game.p for game in group) * _estimated(group, by(ReturnToGo()))
    assert total == pytest.approx(gradient(games), abs=1e-12)
    assert float(np.abs(gradient(games)).max()) > 1e-3


@each("problem", PROBLEMS)
@each("n", [2, 3, 4])
@each("estimator", [LEAVE_ONE_OUT, ReturnToGo()])
def test_baselines_made_of_the_others_are_unbiased(problem: str, n: int, estimator: Any) -> None:
    games = PROBLEMS[problem]()
    assert expected(problem, by(estimator), n) == pytest.approx(gradient(games), rel=1e-12, abs=1e-15)


@each("problem", PROBLEMS)
@each("n", [2, 3, 4])
def test_the_mean_of_the_whole_group_shortens_the_gradient(problem: str, n: int) -> None:
    shorter = expected(problem, by(GroupRelative(scale="none")), n)
    assert shorter == pytest.approx((n - 1) / n * gradient(PROBLEMS[problem]()), rel=1e-12, abs=1e-15)


@each("lam", [0.0, 0.5, 1.0])
def test_gae_is_unbiased_with_the_values_of_the_policy(lam: float) -> None:
    for problem, games in PROBLEMS.items():
        found = expected(problem, generalised(lambda game: game.values, lam), 1)
        assert found == pytest.approx(gradient(games()), rel=1e-12, abs=1e-15)


def test_return_to_go_varies_least_of_the_unbiased() -> None:
    """Beside the same with other baselines of the others: what all of them earned in all, what those still playing have
    left (ended ones as 0), and what trajectory-level credit has."""

    def compared(fill: Callable[[Values, int], float]) -> Estimate:
        def estimate(group: Sequence[Game]) -> list[Values]:
            left = [np.cumsum(g.as_earned[::-1])[::-1] for g in group]
            base = [[np.mean([fill(h, t) for h in left if h is not g]) for t in range(len(g))] for g in left]
            return [g - np.array(b) for g, b in zip(left, base, strict=True)]

        return estimate

    for problem, games in PROBLEMS.items():
        least = variance(problem, by(ReturnToGo()))
        for other in (compared(lambda h, t: h[0]), compared(lambda h, t: h[t] if t < len(h) else 0.0)):
            assert expected(problem, other) == pytest.approx(gradient(games()), rel=1e-12, abs=1e-15)
            assert variance(problem, other) > least - 1e-12
        assert variance(problem, by(LEAVE_ONE_OUT)) > least - 1e-12
    assert variance("asking", by(LEAVE_ONE_OUT)) > 1.1 * variance("asking", by(ReturnToGo()))


# --- biased ----------------------------------------------------------------------------------------------------------


def compared(problem: str, estimate: np.ndarray) -> tuple[float, float]:
    """The angle to the gradient in degrees, and the price c of a turn for which the estimate has the direction of the
    gradient of (return + c turns); NaN where it is opposed to all of these."""
    games = PROBLEMS[problem]()
    exact = gradient(games)
    cosine = float(estimate @ exact) / float(np.linalg.norm(estimate) * np.linalg.norm(exact))
    along, price = np.linalg.solve(np.stack([exact, longer(games)], axis=1), estimate)
    return math.degrees(math.acos(max(-1.0, min(1.0, cosine)))), price / along if along > 0 else math.nan


@each("problem", PROBLEMS)
@each("price", [-0.3, 0.2])
def test_what_a_turn_costs_is_not_felt_turn_by_turn(problem: str, price: float) -> None:
    """Every turn's mean is taken from it, so a price per turn changes nothing, though it changes the gradient; padded
    with the zeros of ended games, it is felt where some have ended."""

    def priced(group: Sequence[Game]) -> list[Values]:
        return TurnWise()({"g": [game.everywhere + price for game in group]})["g"]

    plain = expected(problem, by(TurnWise(), True))
    assert expected(problem, priced) == pytest.approx(plain, abs=1e-4)
    games = PROBLEMS[problem]()
    dearer = gradient([game._replace(end=game.end + price * len(game.scores)) for game in games])
    assert dearer == pytest.approx(gradient(games) + price * longer(games))
    assert float(np.abs(dearer - gradient(games)).max()) > 0.03


ROWS: list[tuple[str, str, Estimate]] = [
    ("GroupRelative", "leave one out, no scale", by(LEAVE_ONE_OUT)),
    ("GroupRelative", "no scale", by(GroupRelative(scale="none"))), ("GroupRelative", "default", by(GroupRelative())),
    ("ReturnToGo", "default", by(ReturnToGo())), ("TurnWise", "no scale", by(TurnWise(scale="none"))),
    ("TurnWise", "default", by(TurnWise())), ("TurnWise", "no scale; equation 3", by(TurnWise(scale="none"), True)),
    ("TurnWise", "default; equation 3", by(TurnWise(), True)),
    ("TurnWise", "as published, no scale; equation 3", by(TurnWise(scale="none", rules="code"), True)),
    ("TurnWise", "as published; equation 3", by(TurnWise(rules="code"), True)), ("Progress", "default", by(Progress())),
    ("gae", "values of the policy", generalised(lambda game: game.values, 0.95)),
    ("gae", "values 0", generalised(nothing, 0.95)),
]  # fmt: skip


def table() -> list[str]:
    rows: list[str] = []
    for name, settings, estimate in ROWS:
        cells = [name, settings]
        for problem in PROBLEMS:
            found = expected(problem, estimate)
            angle, price = compared(problem, found)
            paid = "-" if math.isnan(price) else f"{price:+.3f}".replace("+0.000", "0").replace("-0.000", "0")
            cells += [f"({found[0]:.3f}, {found[1]:.3f})", f"{angle:.0f}", paid]
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def test_the_numbers_in_the_documentation() -> None:
    assert credit.__doc__ is not None
    assert [row for row in table() if row not in credit.__doc__] == []
    told = " ".join(credit.__doc__.split())
    for problem in (two_decisions, asking):
        exact = gradient(problem())
        assert f"({exact[0]:.3f}, {exact[1]:.3f})" in told
