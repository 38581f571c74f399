"""The reference chess player loses no ply in an endgame, defends longest with the bare king, and looks ahead."""

from __future__ import annotations

import sonde
from sonde.core import AGENT, Episode
from sonde.envs.chess.position import move_regret, plies_to_mate
from sonde.runs.rollout import Plan, collect_trajectories


def test_it_mates_from_every_test_position_in_the_plies_that_the_table_gives_at_most() -> None:
    env = sonde.make("chess", preset="endgames")
    tasks = env.tasks("test")[:12]
    for game in collect_trajectories(env, {AGENT: sonde.make("agents:chess")}, tasks, Plan(k=1)):
        assert game.outcome is not None and game.outcome.kind == "win"
        assert 2 * len(game.turns) - 1 <= int(game.task.tags["plies"])
        fen = str(game.task.public["fen"])
        for turn in game.turns:
            assert move_regret(fen, turn.info["move"]) == 0
            fen = str(turn.info["fen"])


def test_against_itself_the_bare_king_lasts_as_long_as_it_can() -> None:
    env = sonde.make("chess", preset="endgames")
    player = sonde.make("agents:chess")
    for pieces in ("Q", "QR", "R", "RR"):
        task = sonde.make("chess", preset="endgames", pieces=pieces).tasks("test")[0]
        (game,) = collect_trajectories(env, {AGENT: player, "opponent": player}, [env.task(task.hidden)], Plan(k=1))
        assert 2 * len(game.turns) - 1 == plies_to_mate(str(task.public["fen"])) == int(task.tags["plies"])


def test_elsewhere_it_looks_ahead() -> None:
    env = sonde.make("chess")
    ep = Episode.begin(env, env.task({"fen": "6k1/5ppp/8/8/8/2p5/8/R6K w - - 0 1"}))
    assert sonde.make("agents:chess").act_now(ep.view()).text == "R a 8 #"
    won = ep.step("R a 8 #")
    assert won.outcome is not None and won.outcome.kind == "win"
