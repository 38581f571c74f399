"""Teachers of the maze, from `blind` to `far`-sighted: they explore at random until they see the goal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sonde
from sonde.core import Env, Frozen, Rng
from sonde.envs.maze.grid import MOVES, goal_distances, move_cell, open_directions

SKILLS: Mapping[str, float] = Frozen(blind=0.2, short=0.4, far=0.4)
SIGHT: Mapping[str, tuple[int, int]] = Frozen(blind=(0, 0), short=(1, 2), far=(2, 4))
"""The limits of a teacher's sight, in steps to the goal; the teacher's own sight is drawn once per episode."""
SLIP = 0.3
"""The maximum rate of random moves, including those into walls; a teacher's own rate is drawn below it, once per
episode."""
BACK: Mapping[str, str] = Frozen(up="down", down="up", left="right", right="left")


@dataclass(frozen=True, kw_only=True)
class OpenWays(sonde.ProgramPolicy):
    """A floor that never walks into a wall: it takes a random one of the open ways."""

    def act_now(self, view: sonde.View) -> sonde.Action:
        ways = view.messages[-1].content.rpartition("Open: ")[2].rstrip(".").split(", ")
        return sonde.Action(view.say(f"move {ways[sonde.Rng(view.seed).randrange(len(ways))]}"))


def make_teacher(env: Env[Any], skill: str, rng: Rng) -> Callable[[Any, Rng], str]:
    """A teacher that takes random open ways, except the way back, until the goal is in sight."""
    low, high = SIGHT[skill]
    sight, slip = low + rng.randrange(high - low + 1), SLIP * rng.random()
    came = ""

    def say(state: Any, rng: Rng) -> str:
        nonlocal came
        if rng.random() < slip:
            move = MOVES[rng.randrange(4)]
        else:
            ways = wandering_moves(state, sight, came)
            move = f"move {ways[rng.randrange(len(ways))]}"
        came = move.removeprefix("move ")
        return env.say(move)

    return say


def wandering_moves(state: Any, sight: int, came: str) -> tuple[str, ...]:
    """The ways that a wanderer may take after it came by the way `came`: back only at a dead end."""
    left = goal_distances(state.layout, state.goal)
    ways = open_directions(state.layout, state.place)
    if left[state.place] <= sight:
        return tuple(way for way in ways if left[move_cell(state.layout, state.place, way)] < left[state.place])
    return tuple(way for way in ways if way != BACK.get(came)) or ways
