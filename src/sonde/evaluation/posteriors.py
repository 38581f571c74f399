"""Distances between posteriors over finite problems, the evidence in them, and where a sampled world lies in one.

A posterior is a product of independent *parts*: a Dirichlet per arm or per state and action, and weights over a finite
set (worlds, codes, a reward not yet seen). So distances have closed forms, in any of these problems:

    distance       Hellinger distance of a part, sqrt(1 - BC); BC = B((a + b) / 2) / sqrt(B(a) B(b)) for Dirichlets and
                   the sum of sqrt(p q) for weights; mean over parts. 0 equal, 1 disjoint
    excess bits    entropy of the written posterior minus the exact one's, summed over parts: above 0 too vague, below 0
                   too sure
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from sonde.core import Rng
from sonde.models._shared.json_beliefs import codes_of

_NEAR = 0.01
"""How far a written number may lie from one that is certain: models round."""
_NEAR_REWARD = 0.002

Belief = Mapping[str, Any]
World = Mapping[str, Any]


class Posterior(NamedTuple):
    """`rows`: parameters of Dirichlets (two for a Beta) by outcome; `choices`: weights that sum to 1 (none, where a
    text contradicts itself). `marks`: what was seen of a code."""

    rows: Mapping[str, Mapping[str, float]]
    choices: Mapping[str, Mapping[Any, float]]
    marks: frozenset[tuple[str, int, str]] | None = None


def to_posterior(belief: Belief) -> Posterior:
    """The distribution that a belief describes.

    >>> to_posterior({"kind": "beta", "arms": {"A": [3, 1]}}).rows
    {'A': {'pays': 3, 'fails': 1}}
    """
    match belief["kind"]:
        case "beta":
            return Posterior({arm: {"pays": a, "fails": b} for arm, (a, b) in belief["arms"].items()}, {})
        case "worlds":
            total = sum(w["weight"] for w in belief["worlds"])
            return Posterior({}, {"world": {_world_key(w["means"]): w["weight"] / total for w in belief["worlds"]}})
        case "code":
            left = codes_of(belief)
            return Posterior({}, {"code": dict.fromkeys(left, 1 / len(left)) if left else {}}, _read_marks(belief))
        case _:
            return _tables_posterior(belief)


def _world_key(means: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple((arm, round(float(mean), 2)) for arm, mean in means.items())


def _read_marks(belief: Belief) -> frozenset[tuple[str, int, str]]:
    return frozenset((s, p, m) for s, p, m in belief["marks"])


def _tables_posterior(belief: Belief) -> Posterior:
    certain = {(s, a) for s, a, _ in belief.get("certain", ())}
    rows = {
        f"{s} {a}": row
        for s, by_action in belief["transitions"].items()
        for a, row in by_action.items()
        if (s, a) not in certain
    }
    choices: dict[str, Mapping[Any, float]] = {}
    for name, reward in _list_rewards(belief["rewards"]):
        pays: Sequence[float] = belief["pays"]
        choices[name] = dict.fromkeys(pays, 1 / len(pays)) if reward is None else {reward: 1.0}
    return Posterior(rows, choices)


def _list_rewards(table: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Every entry of a table of rewards, by state, action and, where it matters, next state."""
    for s, by_action in table.items():
        for a, reward in by_action.items():
            if isinstance(reward, Mapping):
                by_next = cast("Mapping[str, Any]", reward)
                yield from ((f"reward {s} {a} {t}", r) for t, r in by_next.items())
            else:
                yield f"reward {s} {a}", reward


# --- comparisons -----------------------------------------------------------------------------------------------------


def posterior_distance(said: Posterior, exact: Posterior) -> float:
    """Mean Hellinger distance over the parts of the exact posterior, in 0..1. Beta(2, 1) for Beta(1, 1):

    >>> round(posterior_distance(*(to_posterior({"kind": "beta", "arms": {"A": [a, 1]}}) for a in (2, 1))), 4)
    0.2391
    """
    parts = [_dirichlet_overlap(said.rows[name], row) for name, row in exact.rows.items()]
    parts += [_weight_overlap(said.choices.get(name, {}), weights) for name, weights in exact.choices.items()]
    return math.fsum(math.sqrt(max(0.0, 1.0 - overlap)) for overlap in parts) / len(parts)


def _dirichlet_overlap(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    return math.exp(
        _log_beta([(a[k] + b[k]) / 2 for k in b]) - (_log_beta([a[k] for k in b]) + _log_beta([*b.values()])) / 2
    )


def _log_beta(params: Sequence[float]) -> float:
    return math.fsum(map(math.lgamma, params)) - math.lgamma(math.fsum(params))


def _weight_overlap(p: Mapping[Any, float], q: Mapping[Any, float]) -> float:
    return math.fsum(math.sqrt(p.get(k, 0.0) * w) for k, w in q.items())


def excess_bits(said: Posterior, exact: Posterior) -> float:
    """Entropy of what was written minus that of the exact posterior, in bits; NaN where the text leaves nothing."""
    if any(not weights for weights in said.choices.values()):
        return math.nan
    total = 0.0
    for name, row in exact.rows.items():
        total += dirichlet_entropy([*said.rows[name].values()]) - dirichlet_entropy([*row.values()])
    for name, weights in exact.choices.items():
        total += _weight_entropy(said.choices[name].values()) - _weight_entropy(weights.values())
    return total / math.log(2)


def dirichlet_entropy(params: Sequence[float]) -> float:
    """Differential entropy in nats; that of Beta(2, 1) is log(1/2) + 1/2."""
    total = math.fsum(params)
    inner = math.fsum((a - 1.0) * digamma(a) for a in params)
    return _log_beta(params) + (total - len(params)) * digamma(total) - inner


def _weight_entropy(weights: Iterable[float]) -> float:
    return -math.fsum(w * math.log(w) for w in weights if w > 0.0)


def digamma(x: float) -> float:
    """The derivative of log Gamma, for x > 0; below 1e-12 off. By recurrence to 8 and the asymptotic series."""
    shift = 0.0
    while x < 8.0:
        shift -= 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132 - y * 691 / 32760)))))
    return shift + math.log(x) - 0.5 / x - series


class Evidence(NamedTuple):
    """Steps of evidence that a text lacks, and steps in it that were never observed."""

    forgotten: float
    invented: float


def compare_evidence(said: Posterior, exact: Posterior) -> Evidence | None:
    """What a text forgets and what it invents; None where beliefs hold no evidence one by one (listed worlds)."""
    if exact.marks is not None:
        seen = said.marks or frozenset()
        return Evidence(len(exact.marks - seen), len(seen - exact.marks))
    if not exact.rows:
        return None
    off = [said.rows[name][k] - value for name, row in exact.rows.items() for k, value in row.items()]
    return Evidence(math.fsum(max(0.0, -d) for d in off), math.fsum(max(0.0, d) for d in off))


# --- samples ---------------------------------------------------------------------------------------------------------


def is_possible(posterior: Posterior, belief: Belief, world: World) -> bool:
    """Whether a world could have been drawn: rows are probabilities, and what is certain holds within 0.01."""
    match belief["kind"]:
        case "beta":
            return all(0.0 <= mean <= 1.0 for mean in world["means"].values())
        case "worlds":
            return _listed_world(posterior, world) is not None
        case "code":
            return world["code"] in posterior.choices["code"]
        case _:
            return _tables_possible(posterior, belief, world)


def _listed_world(posterior: Posterior, world: World) -> Any:
    """The world of positive weight that is meant, each mean within 0.01; None if there is none."""
    for key, weight in posterior.choices["world"].items():
        if weight > 0.0 and all(abs(world["means"][arm] - mean) <= _NEAR for arm, mean in key):
            return key
    return None


def _tables_possible(posterior: Posterior, belief: Belief, world: World) -> bool:
    moves = world["transitions"]
    rows = [row for by_action in moves.values() for row in by_action.values()]
    sums = all(min(row.values()) >= 0.0 and abs(sum(row.values()) - 1.0) <= _NEAR for row in rows)
    certain = all(moves[s][a][t] >= 1.0 - _NEAR for s, a, t in belief.get("certain", ()))
    paid = dict(_list_rewards(world["rewards"]))
    known = all(_nearest(paid[name], weights) is not None for name, weights in posterior.choices.items())
    return sums and certain and known


def _nearest(value: Any, weights: Mapping[Any, float]) -> Any:
    """The value of positive weight that a number stands for; None if it stands for none."""
    fits = [k for k, w in weights.items() if w > 0.0 and abs(k - value) <= _NEAR_REWARD]
    return fits[0] if fits else None


def sample_ranks(posterior: Posterior, world: World, rng: Rng) -> list[float]:
    """Where a sample lies in the posterior's distribution, one number in 0..1 per part that is open: the value of the
    cumulative distribution function (for weights, in listed order, a uniform number within the step). Over many draws
    they are uniform if and only if these marginals are drawn as the posterior says (probability integral transform)."""
    ranks: list[float] = []
    for name, row in posterior.rows.items():
        drawn, total = _drawn_row(name, world), math.fsum(row.values())
        marginals = [*row][:-1] if len(row) == 2 else [*row]
        ranks += [beta_cdf(drawn[k], row[k], total - row[k]) for k in marginals]
    for name, weights in posterior.choices.items():
        if sum(w > 0.0 for w in weights.values()) > 1 and (drawn := _drawn_choice(name, posterior, world)) is not None:
            below = math.fsum(w for k, w in _before(weights, drawn))
            ranks.append(below + rng.random() * weights[drawn])
    return ranks


def _drawn_row(name: str, world: World) -> Mapping[str, float]:
    if "means" in world:
        mean = world["means"][name]
        return {"pays": mean, "fails": 1.0 - mean}
    s, a = name.split(" ", 1)
    return world["transitions"][s][a]


def _drawn_choice(name: str, posterior: Posterior, world: World) -> Any:
    """Which of the weighted values a world has; None if it is none of them."""
    if name == "world":
        return _listed_world(posterior, world)
    if name == "code":
        return world["code"] if world["code"] in posterior.choices["code"] else None
    return _nearest(dict(_list_rewards(world["rewards"]))[name], posterior.choices[name])


def _before(weights: Mapping[Any, float], key: Any) -> Iterable[tuple[Any, float]]:
    for k, w in weights.items():
        if k == key:
            return
        yield k, w


def beta_cdf(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function: P(X <= x) for X from Beta(a, b). By Lentz's continued fraction
    (Numerical Recipes, section 6.4)."""
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - beta_cdf(1.0 - x, b, a)
    front = math.exp(a * math.log(x) + b * math.log1p(-x) - _log_beta((a, b))) / a
    return front * _continued_fraction(x, a, b)


def _continued_fraction(x: float, a: float, b: float) -> float:
    tiny = 1e-300
    c, d = 1.0, 1.0 / ((1.0 - (a + b) * x / (a + 1.0)) or tiny)
    value = d
    for m in range(1, 500):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for step in (even, odd):
            d = 1.0 / ((1.0 + step * d) or tiny)
            c = (1.0 + step / c) or tiny
            value *= c * d
        if abs(c * d - 1.0) < 1e-14:
            break
    return value
