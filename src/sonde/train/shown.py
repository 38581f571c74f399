"""Demonstrations beside on-policy learning: what each step imitates, weighed against what it learns from its own play.

A step's demonstrations are as many as its episodes, drawn by the seed and the step alone. The trainer divides a loss by
the units of the step, which are the tokens of its own play; so that imitation is a mean over the demonstrations'
tokens, each of these carries, as its advantage, the number of the former over that of the latter.

Source: LMRL-Gym (Abdulhai et al. 2023), table 5: the loss of cloning beside PPO in wordle; how they are drawn: ours.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace

from sonde.core.seeding import Rng, derive

from .types import Row, Sample


def drawn(samples: Sequence[Sample], n: int, seed: int, step: int) -> list[Sample]:
    """The demonstrations of a step, over all processes."""
    return Rng(derive(seed, "train", "shown"), step).sample(list(samples), min(n, len(samples)))


def weighed(samples: Sequence[Sample], weight: float) -> list[Sample]:
    """The demonstrations as the loss takes them: each token weighs this much, and nothing of them was played."""
    return [replace(s, shown=True, rows=tuple(_weighed(row, weight) for row in s.rows)) for s in samples]


def _weighed(row: Row, weight: float) -> Row:
    nothing = array("f", bytes(4 * len(row)))
    return replace(
        row,
        advantages=array("f", [weight * agent for agent in row.agent]),
        logprobs=nothing,
        temperatures=array("f", [1.0]) * len(row),
        returns=nothing,
        values=nothing,
    )
