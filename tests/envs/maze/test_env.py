"""Maze: the paper's numbers, walks by hand, replies, splits, generated mazes, and what a partial view hides."""

from __future__ import annotations

from collections import Counter
from itertools import product
from random import Random
from typing import Any

import pytest

import sonde
from sonde.core import Episode, TabularFilter, Task, UserError
from sonde.envs.maze.env import Maze
from sonde.envs.maze.grid import (
    MAPS,
    MOVES,
    free_cells,
    generate,
    goal_distances,
    move_cell,
    open_directions,
    read_move,
    wall_directions,
)
from sonde.testing import check_env
from tests.cases import each

LMRL = Maze()
PARTIAL = Maze(preset="lmrl_partial")
PAIRS = Maze(preset="pairs")


def play_episode(env: Maze, task: Task, *texts: str) -> Episode:
    ep = Episode.begin(env, task)
    for text in texts:
        ep = ep.step(text)
    return ep


def list_rewards(ep: Episode) -> list[float]:
    return [turn.rewards["agent"] for turn in ep.turns]


# --- the paper's numbers ---------------------------------------------------------------------------------------------


def test_the_mean_of_the_shortest_walks_is_the_papers_maximum() -> None:
    tasks = LMRL.tasks("test")
    assert len(tasks) == 25 and {t.hidden["goal"] for t in tasks} == {(8, 6)}
    assert (1, 1) in {t.hidden["start"] for t in tasks}
    assert sum(1 - int(t.tags["distance"]) for t in tasks) == -171  # -6.84 * 25


def test_the_maps_of_the_paper() -> None:
    double_t, umaze = MAPS["double_t"], MAPS["umaze"]
    assert (len(double_t), len(double_t[0]), len(free_cells(double_t))) == (10, 13, 26)
    assert (len(umaze), len(umaze[0]), len(free_cells(umaze))) == (5, 5, 7)
    # By hand: 2 right, 4 down, 3 right, 3 down; and over the bow of the U.
    assert goal_distances(double_t, (8, 6))[(1, 1)] == 12
    assert goal_distances(umaze, (3, 3))[(3, 1)] == 6
    assert LMRL.task({"start": [1, 1]}).public == {"map": "double_t", "goal": (8, 6), "start": (1, 1)}
    assert Maze(preset="umaze").task({"start": [3, 1]}).hidden["goal"] == (3, 3)


def test_by_the_code_a_walk_into_the_wall_costs_101() -> None:
    env = Maze(rules="code")
    ep = play_episode(env, env.task({"start": [1, 1]}), *["move up\n"] * 101)
    assert sum(list_rewards(ep)) == -101.0 and ep.outcome is not None
    assert (ep.outcome.kind, ep.outcome.truncated) == ("out_of_turns", "turns")


def test_by_the_code_no_move_costs_four_and_is_answered_with_the_observation_alone() -> None:
    env = Maze(rules="code")
    ep = play_episode(env, env.task({"start": [1, 1]}), "hello", "move right\n", "right")
    assert list_rewards(ep) == [-4.0, -1.0, -4.0]
    assert ep.turns[0].told == "Map double_t. Goal 8 6. You are at 1 1. Open: right."
    assert ep.turns[1].told == ep.turns[2].told == "Map double_t. Goal 8 6. You are at 1 2. Open: left, right."
    over = play_episode(env, env.task({"start": [1, 1]}), *["hello"] * 101)
    assert sum(list_rewards(over)) == -401.0


def published_step(layout: tuple[str, ...], goal: tuple[int, int], place: tuple[int, int], text: str) -> Any:
    """One call of the paper's code (`MazeEnv.step` with `standard_reward`), said again: place, reward and end."""
    steps = {"move left\n": (0, -1), "move right\n": (0, 1), "move up\n": (-1, 0), "move down\n": (1, 0)}
    row, col = (a + b for a, b in zip(place, steps.get(text, (0, 0)), strict=True))
    after = (row, col) if layout[row][col] == "." else place
    return after, 0.0 if after == goal else -1.0 if text in steps else -4.0, after == goal


TEXTS = [
    *(f"{move}\n" for move in MOVES), "move up", "Move Up\n", "hello", "", "move  up\n", " move up\n", "move up\n\n",
    "move up.\n", "up\n", "move up\r\n", "MOVE DOWN\n", "move left \n", "<answer>move right</answer>",
    "<think>x</think>move left\n", "move up\nmove up\n",
]  # fmt: skip


@each("preset", ["lmrl", "lmrl_partial", "umaze"])
def test_by_the_code_every_transition_is_that_of_the_papers_code(preset: str) -> None:
    env = Maze(preset=preset, rules="code")
    tasks = env.tasks("test")
    assert len(tasks) == (6 if preset == "umaze" else 25)
    for task, text in product(tasks, TEXTS):
        setup = task.hidden
        ep = play_episode(env, task, text)
        place, reward, over = published_step(MAPS[setup["map"]], setup["goal"], setup["start"], text)
        assert (ep.state.place, ep.turns[0].rewards["agent"], ep.outcome is not None) == (place, reward, over), text


def test_by_the_code_the_rules_tell_the_line_end_and_say_writes_it() -> None:
    env = Maze(rules="code")
    assert env.say("move up") == "move up\n" and LMRL.say("move up") == "move up"
    assert "end the line" in Episode.begin(env, env.tasks("test")[0]).messages["agent"][0].content
    assert "end the line" not in Episode.begin(LMRL, LMRL.tasks("test")[0]).messages["agent"][0].content


def test_the_call_after_the_last_move_moves_nothing() -> None:
    env = Maze(rules="code", max_turns=2)
    ep = play_episode(env, env.task({"start": [6, 6]}), "move down\n", "move down\n")
    assert list_rewards(ep) == [-1.0, -1.0] and ep.turns[-1].info["position"] == (7, 6)
    plain = Maze(max_turns=2)
    won = play_episode(plain, plain.task({"start": [6, 6]}), "move down", "move down")
    assert won.outcome is not None and won.outcome.success and list_rewards(won) == [-1.0, 0.0]


# --- a walk by hand --------------------------------------------------------------------------------------------------


def test_a_walk_by_hand() -> None:
    ep = play_episode(
        LMRL, LMRL.task({"start": [5, 4]}), "move right", "move up", "Move right.", "move down", "move down"
    )
    assert [t.info["position"] for t in ep.turns] == [(5, 5), (5, 5), (5, 6), (6, 6), (7, 6)]
    assert [t.info["result"] for t in ep.turns] == ["moved", "blocked", "moved", "moved", "moved"]
    assert [t.info["walls"] for t in ep.turns][2:4] == [("up",), ("left", "right")]
    ep = ep.step("move down")
    assert list_rewards(ep) == [-1.0] * 5 + [0.0] and ep.turns[-1].told == "You have reached the goal."
    assert ep.outcome is not None and ep.outcome.success and ep.to_act is None


def test_every_turn_is_told_in_one_form_and_rendered_whole() -> None:
    task = PAIRS.task({"map": "cross", "start": [4, 6], "goal": [1, 6]})
    ep = play_episode(PAIRS, task, "move left")
    rules, now = ep.messages["agent"][0].content.split("\n\n")
    assert now == "Map cross. Goal 1 6. You are at 4 6. Open: up, down, left, right."
    assert len(rules.split()) <= 70 and len(now.split()) <= 16
    assert ep.turns[0].told == "Map cross. Goal 1 6. You are at 4 5. Open: left, right."
    assert ep.view().rendered == f"{rules}\n\n{ep.turns[0].told}"


def test_an_invalid_move_costs_a_turn_and_is_reported() -> None:
    env = Maze(preset="pairs", max_turns=2)
    ep = play_episode(env, env.task({"map": "umaze", "start": [3, 1], "goal": [3, 3]}), "jump", "move up")
    assert list_rewards(ep) == [-1.0, -1.0] and [t.info["result"] for t in ep.turns] == ["invalid", "moved"]
    assert ep.turns[0].told.startswith("That is no move. Say move up, move down, move left or move right. Map umaze.")
    assert ep.turns[1].told == "Map umaze. Goal 3 3. You are at 2 1. Open: up, down. No moves are left."
    assert ep.outcome is not None and ep.outcome.kind == "out_of_turns"


def test_moves_by_hand() -> None:
    for said, meant in (
        ("move up", "up"), ("  MOVE  Left!\n", "left"), ("**move down**.", "down"), ('"move right"', "right"),
        ("<Answer>move up</Answer>", "up"), ("I think so. <answer> Move up. </answer>", "up"),
        ("<think>move down</think>move up", "up"), ("no tag before </think>\n\nmove up", "up"),
        ("<Think><Answer>move down</Answer></Think><Answer>move left</Answer>", "left"),
        ("", None), ("up", None), ("move", None), ("move north", None), ("move up move down", None),
        ("I move up", None), ("move up\nmove down", None), ("<think>move up</think>", None),
        ("<think>move up", None), ("move up<think>", None), ("move up</think>", None), ("<Answer>move up", "up"),
        ("<Answer></Answer>move up", None), ("<Answer>move up, move left</Answer>", None),
        ("move up" + " " * 5000, "up"), ("move " + " " * 5000 + "up", None),
    ):  # fmt: skip
        assert read_move(said) == meant, said


# --- splits ----------------------------------------------------------------------------------------------------------


def pair(task: Task) -> tuple[Any, ...]:
    return task.hidden["map"], task.hidden["start"], task.hidden["goal"]


def test_pairs_are_split_by_cuts_and_disjoint() -> None:
    test, train = ([*PAIRS.tasks(s)] for s in ("test", "train"))
    assert (len(test), len(train)) == (1149, 2329)
    assert len({pair(t) for t in (*test, *train)}) == len(test) + len(train)
    for t in (*test, *train):
        assert 2 <= int(t.tags["distance"]) <= 14 and t.tags["group"] == t.public["map"]
    per_map = Counter(t.tags["group"] for t in test)
    assert set(per_map) == set(MAPS) and min(n for name, n in per_map.items() if name != "umaze") >= 30
    # 7 free cells are 42 pairs, 12 of them neighbours: 30 for both splits.
    assert per_map["umaze"] + Counter(t.tags["group"] for t in train)["umaze"] == 30
    assert len({t.tags["group"] for t in test[:100]}) >= 7  # a prefix is a mixed sample


def test_no_tested_start_lies_on_a_shortest_way_of_training_with_the_same_goal() -> None:
    """A cell is on a shortest way if its distances to both ends add up to the distance between them."""
    trained: dict[tuple[Any, Any], list[Any]] = {}
    for t in PAIRS.tasks("train"):
        name, start, goal = pair(t)
        trained.setdefault((name, goal), []).append(start)
    for t in PAIRS.tasks("test"):
        name, start, goal = pair(t)
        from_goal, from_start = goal_distances(MAPS[name], goal), goal_distances(MAPS[name], start)
        on_the_way = [s for s in trained.get((name, goal), []) if from_start[s] + from_goal[start] == from_goal[s]]
        assert not on_the_way, (name, start, goal)


def test_one_map_of_the_pairs() -> None:
    spiral = Maze(preset="pairs", grid="spiral")
    assert {pair(t) for t in spiral.tasks("test")} == {pair(t) for t in PAIRS.tasks("test") if pair(t)[0] == "spiral"}


@each("preset", ["lmrl", "lmrl_partial", "umaze"])
def test_training_has_other_goals(preset: str) -> None:
    env = Maze(preset=preset)
    tested, trained = ({t.hidden["goal"] for t in env.tasks(s)} for s in ("test", "train"))
    n = len(free_cells(MAPS[env.tasks("test")[0].public["map"]]))
    assert len(tested) == 1 and len(trained) == n - 1 and not tested & trained
    assert (len(env.tasks("test")), len(env.tasks("train"))) == (n - 1, (n - 1) ** 2)


def test_generated_mazes_are_in_one_split_and_can_be_walked() -> None:
    env = Maze(preset="generated")
    test, train = ([env.tasks(s)[i] for i in range(100)] for s in ("test", "train"))
    assert not {t.hidden["grid"] for t in test} & {t.hidden["grid"] for t in train}
    for task in (*test, *train):
        steps = goal_distances(task.hidden["grid"], task.hidden["goal"])[task.hidden["start"]]
        assert str(steps) == task.tags["distance"] and 1 <= steps <= env.turns
    assert len({t.tags["size"] for t in train}) == 16
    small = Maze(preset="generated", size=7)
    assert {t.tags["size"] for t in small.tasks("test")} == {"7x7"}
    assert not {t.hidden["grid"] for t in small.tasks("test")} & {t.hidden["grid"] for t in small.tasks("train")}


@each("size", [7, 11, 15])
def test_generated_mazes_are_connected(size: int) -> None:
    for seed in range(20):
        tree, looped = (generate(size, size, Random(seed), loops) for loops in (0.0, 0.3))
        rooms = (size // 2) ** 2
        assert len(free_cells(tree)) == 2 * rooms - 1  # a tree: one passage less than rooms
        for layout in (tree, looped):
            assert set(goal_distances(layout, (1, 1))) == set(free_cells(layout))
            assert set(layout[0] + layout[-1]) == {"#"} and {row[0] + row[-1] for row in layout} == {"##"}
        assert set(free_cells(tree)) <= set(free_cells(looped))


@each("name", MAPS)
def test_named_maps_are_whole(name: str) -> None:
    layout = MAPS[name]
    cells = free_cells(layout)
    for goal in cells:
        paths = goal_distances(layout, goal)
        assert set(paths) == set(cells)
        for cell in cells:
            assert set(wall_directions(layout, cell)) | set(open_directions(layout, cell)) == {
                "up", "down", "left", "right",
            }  # fmt: skip
            near = [paths[move_cell(layout, cell, d)] for d in open_directions(layout, cell)]
            assert cell == goal or paths[cell] == 1 + min(near)


# --- what a partial view hides ---------------------------------------------------------------------------------------


def test_a_partial_view_hides_the_start_among_those_that_look_alike() -> None:
    task = PARTIAL.task({"start": [2, 3]})
    assert task.public == {"map": "double_t", "goal": (8, 6), "open": ("up", "down")}
    ep = play_episode(PARTIAL, task, "move down", "move down", "move down")
    told = [m.content for m in ep.messages["agent"]]
    assert "#" not in told[0] and "8 6" not in told[0] and told[0].endswith("\n\nOpen: up, down.")
    assert [t.told for t in ep.turns] == ["Open: up, down.", "Open: up, down.", "Open: up, right."]
    easier = Maze(preset="lmrl_partial", observed="map")
    told_map = [m.content for m in play_episode(easier, easier.task({"start": [2, 3]}), "move down").messages["agent"]]
    assert "#############\n#.....#.....#\n" in told_map[0] and "You are at" not in told_map[0]
    assert told_map[-1] == "Map double_t. Goal 8 6. Open: up, down."
    assert not any("position" in t.info or "You are at" in t.told for t in ep.turns)
    assert ep.view().rendered is None
    # Vertical corridors: 3 cells left, 3 right, 2 below. Down leads nowhere new at first for 6 of them ...
    beliefs = [set(play_episode(PARTIAL, task, *["move down"] * n).posterior().hypotheses) for n in range(4)]  # type: ignore[union-attr]
    left, right, below = ({(r, c) for r in rows} for rows, c in (((2, 3, 4), 3), ((2, 3, 4), 9), ((6, 7), 6)))
    assert beliefs[0] == left | right | below
    # ... the lowest ones turn, or reach the goal; and one that turns right is in the left corner.
    assert beliefs[1] == {(2, 3), (3, 3), (2, 9), (3, 9), (6, 6)}
    assert beliefs[2] == {(2, 3), (2, 9)} and beliefs[3] == {(2, 3)}
    assert sum(ep.information_gain() or ()) == pytest.approx(3.0)


def test_the_posterior_equals_brute_force() -> None:
    task = PARTIAL.tasks("test")[9]
    rng = Random(3)
    ep = Episode.begin(PARTIAL, task)
    layout, told = MAPS["double_t"], task.public["open"]
    alive = {c: c for c in free_cells(layout) if c != (8, 6) and open_directions(layout, c) == told}
    for _ in range(25):
        direction = rng.choice(("up", "down", "left", "right"))
        ep = ep.step(f"move {direction}")
        if ep.to_act is None:
            break
        alive = {s: move_cell(layout, c, direction) for s, c in alive.items()}
        seen = set(ep.turns[-1].info["walls"])
        alive = {s: c for s, c in alive.items() if c != (8, 6) and set(wall_directions(layout, c)) == seen}
        belief = ep.posterior()
        assert belief is not None and set(belief.hypotheses) == set(alive)
        assert all(p == pytest.approx(1 / len(alive)) for p in belief.probs)
    assert len(ep.turns) > 5


def test_with_a_full_view_nothing_is_hidden() -> None:
    for env in (LMRL, PAIRS, Maze(preset="generated")):
        task = env.tasks("test")[0]
        assert env.filter(task.public) is None
        ((p, hidden),) = env.prior(task.public)
        assert p == 1.0 and env.start(task.public, hidden) == Episode.begin(env, task).state
    assert isinstance(PARTIAL.filter(PARTIAL.tasks("test")[0].public), TabularFilter)


# --- configuration ---------------------------------------------------------------------------------------------------


def test_own_mazes() -> None:
    grid = ["#####", "#...#", "#####"]
    ep = play_episode(LMRL, LMRL.task({"grid": grid, "start": [1, 1], "goal": [1, 3]}), "move right", "move right")
    assert ep.outcome is not None and ep.outcome.success
    assert "#####\n#...#\n#####\n\nGoal 1 3. You are at 1 1. Open: right." in ep.messages["agent"][0].content


@each("hidden, field",
    [
        (None, "hidden"), ({}, "hidden"), ({"start": [1, 1], "size": 5}, "hidden"), ([1, 1], "hidden"),
        ({"start": [1, 1], "map": "umaze", "grid": ["###"]}, "hidden"), ({"start": [0, 0]}, "hidden: start"),
        ({"start": [1, True]}, "hidden: start"), ({"start": "11"}, "hidden: start"),
        ({"start": [-2, 6]}, "hidden: start"),
        ({"start": [8, 6]}, "hidden: goal"), ({"start": [1, 1], "goal": [9, 9]}, "hidden: goal"),
        ({"start": [1, 1], "map": "comb"}, "hidden: goal"), ({"start": [1, 1], "map": "park"}, "hidden: map"),
        ({"start": [1, 1], "map": []}, "hidden: map"), ({"start": [1, 1], "grid": "###"}, "hidden: grid"),
        ({"start": [1, 1], "grid": ["####", "#.##", "###"]}, "hidden: grid"),
        ({"start": [1, 1], "grid": ["####", "#. #", "####"]}, "hidden: grid"),
        ({"start": [1, 1], "grid": ["####", "#...", "####"]}, "hidden: grid"),
        ({"start": [1, 1], "grid": ["#####", "#.#.#", "#####"], "goal": [1, 3]}, "hidden: goal"),
        ({"start": [1, 1], "grid": ["#" * 30] * 30}, "hidden: grid"),
    ],
)  # fmt: skip
def test_bad_hidden_setups_are_refused(hidden: Any, field: str) -> None:
    with pytest.raises(UserError, match=rf"^maze: {field}: got"):
        LMRL.task(hidden)


@each("wrong",
    [
        {"preset": "lmlr"}, {"grid": "park"}, {"preset": "generated", "grid": "comb"}, {"observed": "half"},
        {"size": 9}, {"preset": "generated", "observed": "history"}, {"rules": "published"},
        {"preset": "generated", "size": 8}, {"preset": "generated", "size": 17},
        {"preset": "pairs", "rules": "code"}, {"max_turns": 0},
    ],
)  # fmt: skip
def test_bad_arguments_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=rf"^maze: {list(wrong)[-1]}: "):
        Maze(**wrong)


def test_moves_by_preset() -> None:
    assert [Maze(preset=p).spec.max_turns for p in Maze.presets] == [100, 100, 100, 100, 20]
    assert Maze(rules="code").spec.max_turns == 101 and Maze(max_turns=7).spec.max_turns == 7
    assert sonde.build(Maze(grid="comb", observed="map").config) == Maze(grid="comb", observed="map")
    assert Episode.begin(LMRL, LMRL.tasks("test")[0]).view().legal == MOVES


@pytest.mark.thorough
@pytest.mark.parametrize(
    "config",
    [
        {"grid": "comb"}, {"preset": "lmrl_partial", "rules": "code"}, {"preset": "umaze", "observed": "map"},
        {"preset": "generated", "observed": "map", "size": 7}, {"preset": "pairs", "observed": "map"},
    ],
)  # fmt: skip
@pytest.mark.parametrize("episodes", [4, pytest.param(40, marks=pytest.mark.slow)])
def test_other_configurations_keep_the_contract(config: dict[str, Any], episodes: int) -> None:
    check_env(Maze(**config), episodes=episodes)
