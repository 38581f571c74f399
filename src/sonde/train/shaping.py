"""Shapings of gains per turn: what ΔBelief-RL makes of ΔBelief before it is a reward.

    shaped({"g": [np.array([2.3, -0.7, np.nan])]}, ("relu",))       # {"g": [array([2.3, 0. , 0. ])]}

A turn without a gain is NaN (the turn that wins, after which nobody is asked) and earns 0, whatever the shaping.
Several are applied one after the other, as the code combines centring with squashing; the paper's *naive* is none.
Source: section 5 and figure 7 for `relu`, `tanh` and `group_min_max` (PACR); its code for all.

| name | the gain x of a turn becomes |
|---|---|
| `relu` | max(x, 0): the paper's choice |
| `tanh` | tanh(tau x) |
| `sigmoid` | 1 / (1 + exp(-x)) |
| `min_max` | x, at least -2 and at most 2 (`clip`) |
| `group_centring` | x less the mean of the group's gains on that turn |
| `group_std` | x over their standard deviation (of n), which is at least 1e-8 |
| `group_min_max` | (max(x, 0) - least) / (most - least + 1e-8), of the group on that turn, likewise at least 0 |
| `episode_centring` | x less the mean of the game's gains |

Departure: the paper's code has centring over episodes count the turn that ends the game, and `tanh` and `sigmoid` fill
what is missing with 0 first, so that a sigmoid pays .5 for the winning turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from sonde.core import unknown

from .credit import Values

K = TypeVar("K")
LEAST = 1e-8
"""Of what is divided by."""


def relu(gains: Values) -> Values:
    return np.maximum(gains, 0.0)


def tanh(gains: Values, tau: float = 1.0) -> Values:
    return np.tanh(tau * gains)


def sigmoid(gains: Values) -> Values:
    return 0.5 * (1.0 + np.tanh(0.5 * gains))


def min_max(gains: Values, clip: tuple[float, float] = (-2.0, 2.0)) -> Values:
    return np.clip(gains, *clip)


def episode_centring(gains: Values) -> Values:
    """NaN is no part of the mean, here and below, and stays."""
    there = gains[~np.isnan(gains)]
    return gains - there.mean() if len(there) else gains


def group_centring(gains: Sequence[Values]) -> list[Values]:
    return _by_turn(gains, lambda there: there - there.mean())


def group_std(gains: Sequence[Values]) -> list[Values]:
    """Where a game is alone on a turn, its gain stays as it is, as in the paper's code."""
    return _by_turn(gains, lambda there: there / max(there.std(), LEAST) if len(there) > 1 else there)


def group_min_max(gains: Sequence[Values]) -> list[Values]:
    return _by_turn([relu(g) for g in gains], lambda there: (there - there.min()) / (np.ptp(there) + LEAST))


def _by_turn(gains: Sequence[Values], change: Callable[[Values], Values]) -> list[Values]:
    out = [np.array(g, np.float64) for g in gains]
    for t in range(max(map(len, out), default=0)):
        there = [g for g in out if len(g) > t and not np.isnan(g[t])]
        if there:
            for g, value in zip(there, change(np.array([g[t] for g in there])), strict=True):
                g[t] = value
    return out


SHAPINGS = ("relu", "tanh", "sigmoid", "min_max", "group_centring", "group_std", "group_min_max", "episode_centring")


def check_shaping(field: str, names: Sequence[str]) -> None:
    for name in names:
        if name not in SHAPINGS:
            raise unknown(field, name, SHAPINGS)


def shaped(
    gains: Mapping[K, Sequence[Values]],
    names: Sequence[str],
    *,
    tau: float = 1.0,
    clip: tuple[float, float] = (-2.0, 2.0),
) -> dict[K, list[Values]]:
    """The gains of groups of games after these shapings, in order; 0 where there is none."""
    check_shaping("shaping", names)
    games: dict[str, Callable[[Values], Values]] = {
        "relu": relu, "sigmoid": sigmoid, "episode_centring": episode_centring,
        "tanh": lambda g: tanh(g, tau), "min_max": lambda g: min_max(g, clip),
    }  # fmt: skip
    groups = {"group_centring": group_centring, "group_std": group_std, "group_min_max": group_min_max}
    out: dict[K, list[Values]] = {}
    for key, rows in gains.items():
        now = [np.asarray(row, np.float64) for row in rows]
        for name in names:
            now = groups[name](now) if name in groups else [games[name](row) for row in now]
        out[key] = [np.nan_to_num(row, nan=0.0) for row in now]
    return out
