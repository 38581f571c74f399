"""Behaviour policies of offline data: another policy diluted with random answers, and one of several per episode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sonde
from sonde.core import AGENT, Trajectory
from sonde.core.registry import build
from sonde.envs.chess.position import legal, move_regret
from sonde.runs.rollout import Plan, collect_trajectories


def play_games(agent: Any, k: int, n: int = 1, turns: int = 40) -> Sequence[Trajectory]:
    env = sonde.make("chess", preset="endgames", pieces="Q", max_turns=turns)
    return list(collect_trajectories(env, {AGENT: agent}, env.tasks("train")[:n], Plan(k=k, seed=0)))


def find_mistakes(game: Trajectory) -> list[bool]:
    """Whether each move was other than best."""
    fen, found = str(game.task.public["fen"]), list[bool]()
    for turn in game.turns:
        found.append(move_regret(fen, turn.info["move"]) != 0)
        fen = str(turn.info["fen"])
    return found


def make_diluted(epsilon: float | None) -> Any:
    return sonde.make("agents:diluted", policy=sonde.make("agents:chess"), epsilon=epsilon)


def test_without_dilution_it_is_the_policy_and_with_nothing_else_it_is_random() -> None:
    plain = play_games(sonde.make("agents:chess"), k=2, n=4)
    for game, same in zip(play_games(make_diluted(0.0), k=2, n=4), plain, strict=True):
        assert not any(find_mistakes(game)) and not any(find_mistakes(same))
    assert sum(map(sum, map(find_mistakes, play_games(make_diluted(1.0), k=4, n=4)))) > 20


def test_the_share_of_random_moves_is_epsilon() -> None:
    """Of the first moves in 400 games the best one is played with 1 - epsilon + epsilon / moves."""
    env = sonde.make("chess", max_turns=1)
    fen = "k7/8/1K6/8/8/8/8/7R w - - 0 1"
    played = collect_trajectories(env, {AGENT: make_diluted(0.4)}, [env.task({"fen": fen})], Plan(k=400))
    first = [game.turns[0].text for game in played]
    share = 0.6 + 0.4 / len(legal(fen))
    assert abs(first.count("R h 8 #") / 400 - share) < 4 * (share * (1 - share) / 400) ** 0.5


def test_a_drawn_epsilon_stays_for_the_game_and_is_uniform() -> None:
    epsilons = [
        [act.action.memory["epsilon"] for act in g.acts if act.seat == AGENT]
        for g in play_games(make_diluted(None), k=100, turns=6)
    ]
    assert all(len(set(row)) == 1 for row in epsilons)
    firsts = sorted(row[0] for row in epsilons)
    assert all(abs(value - i / 99) < 0.2 for i, value in enumerate(firsts))


def test_the_policy_inside_finds_its_own_memory() -> None:
    first, then = sonde.make("agents:chess"), sonde.make("agents:random")
    inner = sonde.make("agents:one_of", policies=[first, then])
    for game in play_games(sonde.make("agents:diluted", policy=inner, epsilon=0.5), k=8):
        drawn = {m["policy"]["drawn"] for act in game.acts if (m := act.action.memory) and m.get("policy")}
        assert len(drawn) <= 1


def test_one_policy_plays_the_whole_game_each_as_often() -> None:
    levels = [sonde.make("users:minimax", blunder=share) for share in (0.0, 1.0)]
    agent = sonde.make("agents:one_of", policies=levels)
    played = play_games(agent, k=200, turns=6)
    drawn = [{act.action.memory["drawn"] for act in g.acts if act.seat == AGENT} for g in played]
    assert all(len(numbers) == 1 for numbers in drawn)
    assert abs(sum(0 in numbers for numbers in drawn) - 100) < 4 * 200**0.5 / 2
    assert build(agent.config) == agent
