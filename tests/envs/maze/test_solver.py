"""The walker of mazes: the paper's maximum, sets of places by hand, and no policy of few moves beats its plan."""

from __future__ import annotations

from itertools import product

import pytest

from sonde.core import Episode, Task
from sonde.core.types import Rules
from sonde.envs.maze.env import Maze
from sonde.envs.maze.grid import MAPS, STEPS, Cell, Layout, free_cells, goal_distances, move_cell, open_directions
from sonde.envs.maze.solver import FIXED_WALK, MazeSolver, Places, best_move, initial_sets, total_moves
from tests.cases import each

WALKER = MazeSolver()


def walk_maze(env: Maze, task: Task) -> Episode:
    ep = Episode.begin(env, task)
    while ep.to_act is not None:
        ep = ep.step(WALKER.act_now(ep.view()))
    assert ep.outcome is not None and ep.outcome.success
    return ep


def sum_rewards(env: Maze) -> float:
    return sum(turn.rewards["agent"] for task in env.tasks("test") for turn in walk_maze(env, task).turns)


@each("rules", ["paper", "code"])
def test_fully_observed_it_returns_the_papers_maximum(rules: Rules) -> None:
    assert sum_rewards(Maze(rules=rules)) == -6.84 * 25


def test_partially_observed_it_loses_ten_moves_in_all_to_not_knowing_its_place() -> None:
    env = Maze(preset="lmrl_partial")
    assert sum_rewards(env) == -7.24 * 25
    plan = total_moves(MAPS["double_t"], (8, 6))
    assert sum(plan[places] for places in initial_sets(MAPS["double_t"], (8, 6))) == (7.24 + 1) * 25


def test_one_fixed_sequence_reaches_the_goal_from_everywhere() -> None:
    """So the paper's best by history, -25.75, needs no history."""
    env, total = Maze(preset="lmrl_partial"), 0.0
    for task in env.tasks("test"):
        ep = Episode.begin(env, task)
        for way in FIXED_WALK:
            ep = ep if ep.to_act is None else ep.step(f"move {way}")
        assert ep.outcome is not None and ep.outcome.success
        total += sum(turn.rewards["agent"] for turn in ep.turns)
    assert total / 25 == pytest.approx(-14.12)


def test_walks_no_step_too_many() -> None:
    for env in (Maze(preset="pairs"), Maze(preset="generated"), Maze(preset="umaze")):
        for task in env.tasks("test")[:40]:
            assert len(walk_maze(env, task).turns) == int(task.tags["distance"])


def test_small_plan_by_hand() -> None:
    """The sides of the U look alike. Down first: 1 move on the goal's side, 1 + 6 on the other; up first: 3 and 5."""
    layout, sides = MAPS["umaze"], frozenset({(2, 1), (2, 3)})
    assert sides in initial_sets(layout, (3, 3))
    plan = total_moves(layout, (3, 3))
    assert plan[sides] == 8 and plan[frozenset({(3, 1)})] == 6
    assert best_move(layout, (3, 3), sides) == "up"
    assert sum(plan[places] for places in initial_sets(layout, (3, 3))) == 6 + 8 + 4 + 3 + 2


def deep(layout: Layout, goal: Cell, places: Places, depth: int) -> int:
    """The fewest moves in all by trying every policy of `depth` moves; from there on, as if the place were known."""
    if not places:
        return 0
    if depth == 0:
        return sum(goal_distances(layout, goal)[cell] for cell in places)
    best = []
    for direction in STEPS:
        parts: dict[tuple[str, ...], set[Cell]] = {}
        for cell in places:
            if (after := move_cell(layout, cell, direction)) != goal:
                parts.setdefault(open_directions(layout, after), set()).add(after)
        best.append(len(places) + sum(deep(layout, goal, frozenset(p), depth - 1) for p in parts.values()))
    return min(best)


@pytest.mark.thorough
@each("name", ["umaze", "rooms", "cross", "zigzag"])
def test_the_plan_equals_exhaustive_search(name: str) -> None:
    """A search to depth d is a lower bound that meets the plan once every place is told apart or won within d moves."""
    layout = MAPS[name]
    goal = free_cells(layout)[-1]
    plan = total_moves(layout, goal)
    for places, depth in product(initial_sets(layout, goal), (1, 3, 6)):
        assert deep(layout, goal, places, depth) <= plan[places]
    met = [deep(layout, goal, places, 6) == plan[places] for places in initial_sets(layout, goal)]
    assert sum(met) >= len(met) - 1


def test_it_goes_on_after_replies_that_were_not_its_own() -> None:
    env = Maze(preset="lmrl_partial")
    ep = Episode.begin(env, env.task({"start": [3, 9]}))
    for text in ("north", "move up", "<think>move down", "move left"):
        ep = ep.step(text)
    known = ep.posterior()
    assert known is not None and (3, 9) in known.hypotheses
    while ep.to_act is not None:
        ep = ep.step(WALKER.act_now(ep.view()))
    assert ep.outcome is not None and ep.outcome.success
