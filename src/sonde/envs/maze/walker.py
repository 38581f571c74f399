"""The walker behind LMRL-Gym's maze data: it never leaves the part of the maze in which it began.

Source: arXiv 2311.18232, D.1: the maze has three sub-mazes, all places of an episode are in one of them, and a solver
makes 15 % of the moves; the others are random. So no episode from a distant start reaches the goal, and an agent must
stitch a path together from several episodes.

The parts of `double_t` are its two upper T's and the lower one, upside down, with the goal. The paper does not define
their borders. Here an upper part ends with the corridor cell below its stem, which it shares with the lower part,
because without a common cell nothing could be stitched; an episode that begins there is in either part, at random. The
solver, which the paper calls suboptimal, takes the shortest path to the goal, or makes a random move if that path
leaves the part; a random move is any of the four that stays in the part, including one into a wall. The walker knows
its position, so under partial observation it is marked privileged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from sonde.core import Action, Episode, EpisodePolicy, Policy, Rng, UserError, invalid

from .grid import MAPS, STEPS, Cell, free_cells, goal_distances, move_cell, open_directions

_MAP = MAPS["double_t"]
LEFT = frozenset((row, col) for row, col in free_cells(_MAP) if row <= 4 and col <= 5) | {(5, 3)}
RIGHT = frozenset((row, 12 - col) for row, col in LEFT)
LOWER = frozenset((row, col) for row, col in free_cells(_MAP) if row >= 5)
PARTS = (LEFT, RIGHT, LOWER)
"""The three sub-mazes."""


@dataclass(frozen=True, kw_only=True)
class MazeWalker(EpisodePolicy):
    """See the module docstring. Plays `maze` on the map `double_t`; `solver` is the share of the solver's moves."""

    solver: float = 0.15

    def __post_init__(self) -> None:
        if not 0.0 <= self.solver <= 1.0:
            raise invalid("agents:maze_walker: solver", self.solver, "0 to 1")

    async def choose_action(self, ep: Episode, policies: Mapping[str, Policy]) -> Action:
        setup, state = ep.task.hidden, cast("Any", ep.state)
        if ep.env.name != "maze" or setup.get("map") != "double_t":
            raise UserError(f"agents:maze_walker: env: got {ep.env.name}, allowed: maze on the map double_t")
        view = ep.view()
        rng, part = Rng(view.seed), view.memory
        solves = rng.random() < self.solver
        if part is None:
            part = rng.choice([i for i, cells in enumerate(PARTS) if state.place in cells])
        ways = [way for way in STEPS if move_cell(_MAP, state.place, way) in PARTS[part]]
        best = _next_move(state.place, tuple(setup["goal"]))
        way = best if solves and best in ways else rng.choice(ways)
        return Action(view.say(f"move {way}"), memory=part)


def _next_move(place: Cell, goal: Cell) -> str:
    """The first move of a shortest path."""
    paths = goal_distances(_MAP, goal)
    return min(open_directions(_MAP, place), key=lambda way: paths[move_cell(_MAP, place, way)])
