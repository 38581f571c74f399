"""The engine: what it is asked over UCI, the lot of its levels, what goes wrong; real games where it is installed."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.core import AGENT, Episode, Rng, UserError, View
from sonde.core.registry import build
from sonde.envs.chess import stockfish
from sonde.envs.chess.position import START
from sonde.envs.chess.stockfish import ScoredMove, find_binary, pick_line
from sonde.runs.rollout import Plan, collect_trajectories
from tests.cases import each

try:
    INSTALLED = find_binary("") != ""
except UserError:
    INSTALLED = False
needs_binary = pytest.mark.skipif(not INSTALLED, reason="no stockfish is installed")


def double(folder: Path, behaviour: str = "plays") -> str:
    """A program to run, which notes what it is told in `folder / "log"`."""
    path = folder / "engine"
    path.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).parent / "uci.py"}" {behaviour} "{folder}/log"\n'
    )
    path.chmod(0o755)
    return str(path)


def view_of(fen: str = START, seed: int = 0) -> View:
    env = sonde.make("chess")
    return Episode.begin(env, env.task({"fen": fen}), seed=seed).view()


def closed(policy: Any) -> None:
    asyncio.run(policy.close())


# --- the protocol ----------------------------------------------------------------------------------------------------


def test_what_it_is_told(tmp_path: Path) -> None:
    policy = sonde.make("users:stockfish", level=3, nodes=500, binary=double(tmp_path))
    policy.act_now(view_of())
    closed(policy)
    closed(policy)
    assert (tmp_path / "log").read_text().splitlines() == [
        *("uci", "setoption name Threads value 1", "setoption name Hash value 1", "setoption name MultiPV value 4"),
        *("ucinewgame", "isready", "position startpos", "go depth 4 nodes 500", "quit"),
    ]


def test_full_strength_searches_by_nodes_alone_and_plays_the_best(tmp_path: Path) -> None:
    policy = sonde.make("users:stockfish", level=20, binary=double(tmp_path))
    assert {policy.act_now(view_of(seed=seed)).text for seed in range(5)} == {"e 4"}
    closed(policy)
    log = (tmp_path / "log").read_text()
    assert "MultiPV value 1" in log and "go nodes 10000\n" in log


def test_an_engine_that_was_closed_starts_again(tmp_path: Path) -> None:
    policy = sonde.make("users:stockfish", binary=double(tmp_path))
    closed(policy)
    first = policy.act_now(view_of()).text
    closed(policy)
    assert policy.act_now(view_of()).text == first
    closed(policy)
    assert (tmp_path / "log").read_text().count("uci\n") == 3


def test_the_last_whole_lines_count_and_mates_are_scores(tmp_path: Path) -> None:
    policy = sonde.make("users:stockfish", binary=double(tmp_path))
    lines = policy._engine.search_lines(START, 10, 1, 4)
    assert lines == [("e2e4", 40), ("d2d4", 30), ("g1f3", 10), ("g2g4", -29_997)]
    closed(policy)


def test_a_move_without_a_score_is_played(tmp_path: Path) -> None:
    policy = sonde.make("users:stockfish", binary=double(tmp_path, "bare"))
    assert policy.act_now(view_of()).text == "e 4"
    closed(policy)


def test_the_version_is_recorded_and_another_is_refused(tmp_path: Path) -> None:
    policy = sonde.make("users:stockfish", binary=double(tmp_path))
    assert policy.config["version"] == "Double 1.0"
    again = build(policy.config)
    assert again == policy and again.fingerprint == policy.fingerprint
    for made in (policy, again):
        closed(made)
    other = sonde.make("users:stockfish", binary=double(tmp_path), nodes=7)
    assert other.fingerprint != policy.fingerprint
    closed(other)
    with pytest.raises(UserError, match=r"version: got 'Stockfish 9', allowed: Double 1.0"):
        sonde.make("users:stockfish", version="Stockfish 9", binary=double(tmp_path))


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [("dies", r"failed \(.*unexpectedly.*\); a move was due"), ("none", "named no move")],
)
def test_an_engine_that_fails_is_named(tmp_path: Path, behaviour: str, message: str) -> None:
    policy = sonde.make("users:stockfish", binary=double(tmp_path, behaviour))
    with pytest.raises(UserError, match=f"users:stockfish: {tmp_path}.*{message}"):
        policy.act_now(view_of())
    closed(policy)


def test_an_engine_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stockfish, "PATIENCE", 0.5)
    with pytest.raises(UserError, match=r"did not answer within 0.5 s; uciok was due"):
        sonde.make("users:stockfish", binary=double(tmp_path, "mute"))


def test_a_search_that_hangs_is_ended_and_the_next_starts_another_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = sonde.make("users:stockfish", binary=double(tmp_path, "hangs"))
    process = policy._engine._running.transport.get_pid()
    monkeypatch.setattr(stockfish, "PATIENCE", 3.0)  # in which a new engine has to start, beside other tests too
    for _ in range(2):
        with pytest.raises(UserError, match=r"did not answer within 3 s; a move was due"):
            policy.act_now(view_of())
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    assert (tmp_path / "log").read_text().count("uci\n") == 2


def test_a_program_that_forgets_to_close_the_engine_ends(tmp_path: Path) -> None:
    code = f"import sonde; kept = sonde.make('users:stockfish', binary={double(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert (tmp_path / "log").read_text().splitlines()[-1] == "quit"


def test_a_missing_binary_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="binary: got '/no/such/engine', allowed: an executable program"):
        sonde.make("users:stockfish", binary="/no/such/engine")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(stockfish, "FOLDERS", (str(tmp_path),))
    with pytest.raises(UserError, match=r"no binary called stockfish .*apt install stockfish.*users:minimax"):
        sonde.make("users:stockfish")


@each("config, message", [({"level": 21}, "level: got 21, allowed: 0 to 20"), ({"nodes": 0}, "nodes: got 0")])
def test_other_settings_are_refused(config: dict[str, int], message: str) -> None:
    with pytest.raises(UserError, match=f"users:stockfish: {message}"):
        sonde.make("users:stockfish", **config)


def test_other_games_are_refused(tmp_path: Path) -> None:
    env = sonde.make("wordle")
    policy = sonde.make("users:stockfish", binary=double(tmp_path))
    with pytest.raises(UserError, match="users:stockfish: env: got wordle, allowed: chess"):
        policy.act_now(Episode.begin(env, env.tasks("test")[0]).view())
    closed(policy)


# --- levels ----------------------------------------------------------------------------------------------------------


def test_a_level_draws_by_distance_and_lot() -> None:
    """By hand, level 0: weakness 120, spread min(16 - 5, 35) = 11. The best has 16 + 11 u / 128, the second, 11 behind,
    5 + (120 * 11 + 11 u') / 128 = 15.3125 + 11 u' / 128: it is played if u' - u >= 8, for 112 * 113 / 2 of the 120^2
    pairs of lots."""
    lines = [ScoredMove("g1f3", 16), ScoredMove("f1c4", 5)]
    drawn = Counter(pick_line(lines, 0, Rng(seed, "level")).move for seed in range(4000))
    expected = 112 * 113 / 2 / 120**2
    assert abs(drawn["f1c4"] / 4000 - expected) < 4 * (expected * (1 - expected) / 4000) ** 0.5


def test_a_move_that_loses_much_is_not_drawn() -> None:
    lines = [ScoredMove("e2e4", 40), ScoredMove("d2d4", 30), ScoredMove("g2g4", -29_997)]
    for level in (0, 10, 19):
        assert {pick_line(lines, level, Rng(seed, "x")).move for seed in range(300)} <= {"e2e4", "d2d4"}
    strict = Counter(pick_line(lines, 19, Rng(seed, "x")).move for seed in range(300))
    loose = Counter(pick_line(lines, 0, Rng(seed, "x")).move for seed in range(300))
    assert strict["d2d4"] < loose["d2d4"]


# --- the real one ----------------------------------------------------------------------------------------------------


@needs_binary
def test_games_against_the_engine_repeat() -> None:
    env = sonde.make("chess", max_turns=40)
    played: list[list[str]] = []
    for _ in range(2):
        seats = {AGENT: sonde.make("agents:chess", depth=1), "opponent": sonde.make("users:stockfish", level=2)}
        (game,) = collect_trajectories(env, seats, env.tasks("test")[:1], Plan(k=1, seed=0))
        assert game.error == ""
        played.append([act.action.text for act in game.acts])
        closed(seats["opponent"])
    assert played[0] == played[1] and len(played[0]) == 40
    assert sonde.make("users:stockfish").config["version"].startswith("Stockfish")


@needs_binary
def test_the_engine_finds_a_mate_at_full_strength_and_plays_either_side() -> None:
    policy = sonde.make("users:stockfish", level=20, nodes=2000)
    assert policy.act_now(view_of("6k1/5ppp/8/8/8/8/8/R6K w - - 0 1")).text == "R a 8 #"
    closed(policy)
