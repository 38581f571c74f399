"""The walker of the paper's maze data: its three parts, its two kinds of moves, and what data it makes."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from sonde.core import Episode, UserError
from sonde.envs.maze.env import Maze
from sonde.envs.maze.walker import LEFT, LOWER, PARTS, RIGHT, MazeWalker
from sonde.envs.wordle.env import Wordle
from sonde.runs.rollout import Plan, collect_trajectories
from tests.cases import each

FO = Maze()


def count_words(start: tuple[int, int], n: int, solver: float) -> Counter[str]:
    """The first words of n walks."""
    walker = MazeWalker(solver=solver)
    episodes = [Episode.begin(FO, FO.task({"start": list(start)}), sample=k) for k in range(n)]
    return Counter(asyncio.run(walker.choose_action(ep, {})).text for ep in episodes)


def test_the_parts_by_hand() -> None:
    stem = {(2, 3), (3, 3), (4, 3), (5, 3)}
    assert {(1, c) for c in range(1, 6)} | stem == LEFT
    assert {(row, 12 - col) for row, col in LEFT} == RIGHT
    assert {(5, c) for c in range(3, 10)} | {(6, 6), (7, 6), (8, 6)} == LOWER
    assert {(5, 3)} == LEFT & LOWER and {(5, 9)} == RIGHT & LOWER and not LEFT & RIGHT
    assert len(LEFT | RIGHT | LOWER) == 26, "every cell of the map"


@each("preset", ["lmrl", "lmrl_partial"])
def test_walks_stay_in_one_part_and_only_those_from_the_lower_one_reach_the_goal(preset: str) -> None:
    env = Maze(preset=preset)
    found = collect_trajectories(env, {"agent": MazeWalker()}, env.tasks("test"), Plan(k=2))
    for t in found:
        places = {ep.state.place for ep in Episode.stages(env, t)}
        assert any(places <= part for part in PARTS)
        assert t.outcome is not None and t.privileged
        assert not t.outcome.success or places <= LOWER
    assert 0.1 < sum(t.outcome.success for t in found if t.outcome) / len(found) < 0.5


def test_the_solver_takes_the_shortest_way_and_leaves_no_part() -> None:
    assert count_words((1, 1), 40, 1.0) == {"move right": 40}
    assert count_words((7, 6), 40, 1.0) == {"move down": 40}
    # Two of five who begin where two parts meet are, by lot, in the lower one, and go right; the others may not.
    at_the_meeting = count_words((5, 3), 400, 1.0)
    assert at_the_meeting["move right"] > 150 and at_the_meeting["move up"] > 20


def test_a_random_move_is_any_that_stays() -> None:
    drawn = count_words((4, 3), 400, 0.0)
    assert set(drawn) == {"move up", "move down", "move left", "move right"}
    # 400 draws: five standard errors around a quarter.
    assert all(abs(n / 400 - 0.25) < 5 * (0.25 * 0.75 / 400) ** 0.5 for n in drawn.values())
    assert set(count_words((5, 4), 100, 0.0)) == {"move up", "move down", "move left", "move right"}
    mixed = count_words((7, 6), 2000, 0.15)
    share = 0.15 + 0.85 / 4
    assert abs(mixed["move down"] / 2000 - share) < 5 * (share * (1 - share) / 2000) ** 0.5


def test_errors() -> None:
    with pytest.raises(UserError, match=r"solver: got 2.0, allowed: 0 to 1"):
        MazeWalker(solver=2.0)
    for env in (Wordle(preset="lmrl"), Maze(preset="umaze")):
        with pytest.raises(UserError, match="allowed: maze on the map double_t"):
            asyncio.run(MazeWalker().choose_action(Episode.begin(env, env.tasks("test")[0]), {}))
