"""Strength of the chess players against each other and the engine, and statistics of their games.

    python benchmarks/chess_players.py [GAMES]

Whole games from the first move, half of them with each side; a draw counts a half. Then the behaviour policy of the
endgame data: mean length and share of won games, compared with LMRL-Gym's (table 1).
"""

from __future__ import annotations

import sys
import time
from typing import Any

import sonde
from sonde.core import AGENT, make
from sonde.evaluation.metrics import Estimate, estimate
from sonde.runs.rollout import Plan, collect_trajectories

ENGINE = ("users:stockfish", {"level": 0})
PAIRS = (
    (("users:minimax", {"depth": 1}), ENGINE),
    (("users:minimax", {"depth": 2}), ENGINE),
    (("users:minimax", {"depth": 2}), ("users:minimax", {"depth": 1})),
    (("agents:random", {}), ("users:minimax", {"depth": 1})),
)


def count_points(first: tuple[str, Any], then: tuple[str, Any], games: int) -> tuple[Estimate, float]:
    """The first player's points per game, half of the games as White, and CPU seconds per game."""
    env, begun, rows = sonde.make("chess"), time.process_time(), list[list[float]]()
    for white, black, sign in ((first, then, 1), (then, first, -1)):
        seats = {AGENT: make(white[0], **white[1]), "opponent": make(black[0], **black[1])}
        for game in collect_trajectories(env, seats, env.tasks("test")[: games // 2], Plan(k=1)):
            result = {"mate": 1, "mated": -1}.get(str(game.turns[-1].info["result"]), 0)
            rows.append([0.5 + 0.5 * sign * result])
    return estimate(rows, bounds=(0.0, 1.0)), (time.process_time() - begun) / games


def play_endgames(games: int) -> str:
    env = sonde.make("chess", preset="endgames")
    agent = make("agents:diluted", policy=make("agents:chess"))
    played = list(collect_trajectories(env, {AGENT: agent}, env.tasks("train")[:games], Plan(k=1)))
    won = sum(game.outcome is not None and game.outcome.success for game in played) / games
    return f"length {sum(len(game.turns) for game in played) / games:.1f} (11.9), won {won:.3f} (0.59)"


def main(games: int = 40) -> None:
    for first, then in PAIRS:
        score, seconds = count_points(first, then, games)
        print(f"{first[0]} {first[1]} against {then[0]} {then[1]}: {score}, {seconds:.2f} CPU s a game", flush=True)
    print(f"endgames, agents:diluted of agents:chess: {play_endgames(10 * games)}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
