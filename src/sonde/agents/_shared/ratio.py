"""Information-directed sampling: the distribution over actions with the smallest information ratio.

    minimise over distributions p:   (sum_a p(a) regret(a))^2 / sum_a p(a) gain(a)

Source: Russo and Van Roy (2018), "Learning to optimize via information-directed sampling"; Toward Efficient Exploration
by LLM Agents, appendix F. The ratio is convex in p, and some minimiser plays at most two actions. For actions a, b and
p(a) = q, regret and gain are linear in q with slopes r' = regret(a) - regret(b) and g' = gain(a) - gain(b); the
derivative of the ratio vanishes at q = regret(b) / r' - 2 gain(b) / g', and where that lies outside (0, 1) an end is
best. With `grid`, q is one of 0, 1/grid, ..., 1 instead, which is how the paper's language-model version searches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sonde.core import Rng

Floats = npt.NDArray[np.float64]
_NONE = 1e-12
"""Regrets and gains below this count as zero."""
_SAME = 1e-9
"""Ratios with a smaller relative difference count as equal."""


class ActionMix(NamedTuple):
    """Play action `first` with probability `weight`, else `second`; and the ratio of this mix."""

    first: int
    second: int
    weight: float
    ratio: float

    def draw_action(self, rng: Rng) -> int:
        """Sample one action."""
        return self.first if rng.random() < self.weight else self.second


def minimise_ratio(
    regrets: Sequence[float] | Floats, gains: Sequence[float] | Floats, rng: Rng, grid: int = 0
) -> ActionMix:
    """The pair of actions and the weight with the smallest ratio; ties are broken by `rng`.

    Where nothing can be learnt, the action of smallest regret is played. Where something costs nothing, its ratio is 0
    whatever it teaches; of such actions one that teaches most is played, as it would be if all cost a little.

    >>> minimise_ratio([0.9, 0.45], [0.0, 3.3], Rng(0))[:3]
    (1, 1, 1.0)
    """
    r, g = np.maximum(np.asarray(regrets, float), 0.0), np.maximum(np.asarray(gains, float), 0.0)
    least = np.flatnonzero(r <= r.min() + _NONE)
    if r.min() <= _NONE:
        return _pure_action(_draw_row(least[g[least] >= g[least].max() - _SAME], rng), 0.0)
    if g.max() <= _NONE:
        return _pure_action(_draw_row(least, rng), np.inf)
    best = _draw_mix(*_candidate_pairs(r, g, grid), rng)
    return _pure_action(best.first if best.weight else best.second, best.ratio) if best.weight in (0.0, 1.0) else best


def _pure_action(action: int, ratio: float) -> ActionMix:
    return ActionMix(action, action, 1.0, float(ratio))


def _draw_row(rows: npt.NDArray[np.intp], rng: Rng) -> int:
    return int(rows[rng.randrange(len(rows))]) if len(rows) > 1 else int(rows[0])


def _candidate_pairs(
    r: Floats, g: Floats, grid: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Floats, Floats]:
    """Pairs, weights and their ratios. Each single action occurs once, as a pair with itself and weight 1."""
    n = len(r)
    first, second = np.triu_indices(n, 1)
    weights_PQ = _candidate_weights(r, g, first, second, grid)
    pairs_PQ = np.broadcast_to(np.arange(len(first))[:, None], weights_PQ.shape).ravel()
    weights = weights_PQ.ravel()
    inside = (weights > 0.0) & (weights < 1.0)
    alone = np.arange(n)
    firsts = np.concatenate([alone, first[pairs_PQ[inside]]])
    seconds = np.concatenate([alone, second[pairs_PQ[inside]]])
    q = np.concatenate([np.ones(n), weights[inside]])
    return (
        firsts,
        seconds,
        q,
        _information_ratios(q * r[firsts] + (1 - q) * r[seconds], q * g[firsts] + (1 - q) * g[seconds]),
    )


def _candidate_weights(r: Floats, g: Floats, a: npt.NDArray[np.intp], b: npt.NDArray[np.intp], grid: int) -> Floats:
    """The candidate weights of the first action for each pair, shape `(pairs, weights)`."""
    if grid:
        return np.broadcast_to(np.linspace(0.0, 1.0, grid + 1)[None, 1:-1], (len(a), grid - 1))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        inner = r[b] / (r[a] - r[b]) - 2.0 * g[b] / (g[a] - g[b])
    return np.where(np.isfinite(inner), inner, 1.0)[:, None]


def _information_ratios(regret: Floats, gain: Floats) -> Floats:
    """Elementwise; infinite where nothing is learned."""
    return np.divide(regret**2, gain, out=np.full_like(gain, np.inf), where=gain > _NONE)


def _draw_mix(
    first: npt.NDArray[np.intp], second: npt.NDArray[np.intp], q: Floats, ratio: Floats, rng: Rng
) -> ActionMix:
    least = ratio.min()
    i = _draw_row(np.flatnonzero(ratio <= least + _SAME * max(least, _NONE)), rng)
    return ActionMix(int(first[i]), int(second[i]), float(q[i]), float(ratio[i]))
