"""The reference walker of mazes: the shortest path to the goal, from a known position or over all possible positions.

If it knows its position, it walks a shortest path. If not, it keeps the set of cells it may be in: the starts that the
exact posterior (`View.filter`) leaves, moved along with its own moves. It then plays the move with the fewest expected
moves to the goal, with equal weight on all of those cells: exact, by a fixed point over the reachable sets
(`envs/_shared/plans.py`). So it spends moves on finding its position only if that pays.

On the 25 starts of LMRL-Gym's table (`double_t`, goal (8, 6)) it returns -6.84 on average fully observed, which is the
paper's maximum, and -7.24 partially observed, which no walker that knows the map can beat. The paper's maximum there is
-25.75; the paper does not say how its policy was found. `FIXED_WALK`, played blindly, returns -14.12, the best of all
fixed sequences.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from sonde.core import Action, ProgramPolicy, UserError, View

from .._shared.plans import group_states, solve_sets
from .grid import MAPS, Cell, Layout, goal_distances, move_cell, open_directions, read_move

Places = frozenset[Cell]
"""The cells that a walker may be in; all of them look alike."""


FIXED_WALK = (
    "left", "down", "left", "down", "right", "right", "down", "right", "down", "down", "down", "left", "left", "left",
    "down", "down", "down", "right", "right", "right", "down", "down", "down",
)  # fmt: skip
"""The best sequence of moves on `double_t` for a walker that sees nothing, found by A* over the set of places reached
from the 25 starts, with their distances to the goal as a lower bound."""


@dataclass(frozen=True, kw_only=True)
class MazeSolver(ProgramPolicy):
    """See the module docstring. Plays `maze`."""

    def act_now(self, view: View) -> Action:
        public = view.public
        if view.spec.name != "maze" or "goal" not in public:
            raise UserError(f"agents:maze: env: got {view.spec.name}, allowed: maze")
        layout: Layout = public["grid"] if "grid" in public else MAPS[public["map"]]
        return Action(view.say(f"move {best_move(layout, public['goal'], possible_places(view, layout))}"))


def possible_places(view: View, layout: Layout) -> Places:
    """The walker's possible places: each possible start, moved along with every move so far."""
    known = view.filter
    cells = {view.public["start"]} if known is None else set(known.belief().hypotheses)
    for row in view.transitions:
        direction = read_move(row.action)
        if direction is not None:
            cells = {move_cell(layout, cell, direction) for cell in cells}
    return frozenset(cells)


def best_move(layout: Layout, goal: Cell, places: Places) -> str:
    """The direction to move in; ties go to the first of up, down, left, right."""
    if len(places) == 1:
        paths, (cell,) = goal_distances(layout, goal), places
        return min(open_directions(layout, cell), key=lambda d: paths[move_cell(layout, cell, d)])
    plan = total_moves(layout, goal)
    return min(
        _open_ways(layout, places), key=lambda d: sum(plan[after] for after in _sets_after(layout, goal, places, d))
    )


@lru_cache(maxsize=32)
def total_moves(layout: Layout, goal: Cell) -> Mapping[Places, int]:
    """Map every reachable set of places to the moves to the goal under the best policy, summed over the places."""

    def options(places: Places) -> list[tuple[Places, ...]]:
        return [_sets_after(layout, goal, places, direction) for direction in _open_ways(layout, places)]

    return solve_sets(initial_sets(layout, goal), options, goal_distances(layout, goal).__getitem__)


def initial_sets(layout: Layout, goal: Cell) -> tuple[Places, ...]:
    """The cells with a path to the goal, grouped by what they look like."""
    return _group_alike(layout, (cell for cell, steps in goal_distances(layout, goal).items() if steps))


def _open_ways(layout: Layout, places: Places) -> tuple[str, ...]:
    return open_directions(layout, min(places))


def _sets_after(layout: Layout, goal: Cell, places: Places, direction: str) -> tuple[Places, ...]:
    """The sets of places after a move, without places at the goal."""
    return _group_alike(layout, (c for cell in places if (c := move_cell(layout, cell, direction)) != goal))


def _group_alike(layout: Layout, cells: Iterable[Cell]) -> tuple[Places, ...]:
    return group_states(cells, lambda cell: open_directions(layout, cell))
