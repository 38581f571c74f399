"""Teachers of the maze, from `random` to `expert`. They know the way and take it more or less often."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sonde
from sonde.core import Env, Frozen, Rng
from sonde.envs._rules.grids import MOVES, distances, moved, opened

SKILLS: Mapping[str, float] = Frozen(random=0.20, noisy=0.40, strong=0.40)
SLIP: Mapping[str, tuple[float, float]] = Frozen(
    random=(1.0, 1.0), noisy=(0.5, 0.95), strong=(0.0, 0.5), expert=(0.0, 0.1)
)
"""Between which limits a teacher's rate of random moves is drawn, once per episode."""


@dataclass(frozen=True, kw_only=True)
class OpenWays(sonde.ProgramPolicy):
    """A floor that never walks into a wall: one of the open ways that it is told, at random."""

    def act_now(self, view: sonde.View) -> sonde.Action:
        ways = view.messages[-1].content.rpartition("Open: ")[2].rstrip(".").split(", ")
        return sonde.Action(view.say(f"move {ways[sonde.Rng(view.seed).randrange(len(ways))]}"))


def teacher(env: Env[Any], skill: str, rng: Rng) -> Callable[[Any, Rng], str]:
    """A teacher that makes any of the four moves at random, into walls too, or else takes the shortest way."""
    low, high = SLIP[skill]
    slip = low + (high - low) * rng.random()

    def say(state: Any, rng: Rng) -> str:
        moves = MOVES if rng.random() < slip else best(state)
        return env.say(moves[rng.randrange(len(moves))])

    return say


def best(state: Any) -> tuple[str, ...]:
    """The moves that lead closer to the goal."""
    left = distances(state.layout, state.goal)
    ways = opened(state.layout, state.place)
    return tuple(f"move {way}" for way in ways if left[moved(state.layout, state.place, way)] < left[state.place])
