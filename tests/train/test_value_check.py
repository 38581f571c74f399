"""Learned values against returns and exact values, on a tiny ILQL run and by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import sonde
from sonde.core import AGENT, Episode, UserError
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.by_name import learn
from sonde.train.settings import TrainSettings
from sonde.train.training import Learning, Training
from sonde.train.value_check import check_values, fit_values

from .crossing import EARNED, WORDS, Crossing, Shown, State
from .tiny import knowing

DISCOUNT = 0.9


@dataclass(frozen=True, kw_only=True)
class SolvedCrossing(Crossing):
    """By hand: left .3 or right to the crossing, where up is worth 1."""

    def action_values(self, state: State, discount: float) -> Mapping[str, float] | None:
        if state.place == "crossing":
            return {"up": EARNED["crossing", "up"], "down": 0.0}
        left = {"left": EARNED["here", "left"]} if state.place == "here" else {}
        return {**left, "right": discount * 1.0}


def test_a_tiny_ilql_run_against_both(tmp_path: Path) -> None:
    """It stitches, so its answers are the best in all three places; and its values are above the returns from here, of
    which half are 0 and half .3."""
    env = SolvedCrossing()
    shown = collect_trajectories(env, {AGENT: Shown()}, env.tasks("train"), Plan(k=16))
    settings = TrainSettings(
        folder=str(tmp_path / "t"), lr=1e-2, batch_size=32, micro_batch=32, epochs=90, warmup=0.0, schedule="constant"
    )
    options = {"discount": DISCOUNT, "per": "turn", "cql": 0.01, "bc": 1.0, "tau": 0.9, "polyak": 0.1, "scale": 0.5}
    training = Training(objective="ilql", options=options, settings=settings, learning=Learning(context="render"))
    learn(knowing(WORDS, tmp_path / "model"), training, shown)
    tokens, states, exact = check_values(tmp_path / "t", shown)
    assert tokens.n == states.n > 64 and tokens.best is None
    assert tokens.correlation is not None and tokens.correlation > 0.2
    assert exact.name == "Q of answers in 3 states, exact" and exact.n == 5
    assert exact.best == 1.0 and exact.rmse < 0.25 and exact.correlation is not None and exact.correlation > 0.9
    assert "best answer equal 1.00" in str(exact)
    plain = Crossing()
    unsolved = collect_trajectories(plain, {AGENT: Shown()}, plain.tasks("train"), Plan(k=1))
    assert len(check_values(tmp_path / "t", unsolved)) == 2, "no exact values there"
    *_, mixed = check_values(tmp_path / "t", [*unsolved, *shown])
    assert mixed == exact, "of several environments, those that know their values"


def test_fits_by_hand() -> None:
    fit = fit_values("q", np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 6.0]))
    assert fit.rmse == pytest.approx(3.0**0.5) and fit.correlation == pytest.approx(0.9449, abs=1e-4)
    assert fit_values("q", np.array([1.0, 1.0]), np.array([0.0, 2.0])).correlation is None


def test_what_is_no_training_with_values_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"got no data\.json, allowed: the folder of a training"):
        check_values(tmp_path, [])


def test_exact_values_of_a_maze_and_a_house_by_hand() -> None:
    maze = sonde.make("maze")
    state = Episode.begin(maze, maze.task({"start": [7, 6]})).state
    # Down is the goal; up is two moves from it; sideways are walls, so one.
    assert maze.action_values(state, 0.9) == {  # type: ignore[attr-defined]
        "move up": -1.0 + 0.9 * -1.0, "move down": 0.0, "move left": -1.0, "move right": -1.0,
    }  # fmt: skip
    assert sonde.make("maze", preset="lmrl_partial").action_values(state, 0.9) is None  # type: ignore[attr-defined]
    house = sonde.make("text_nav")
    at = Episode.begin(house, house.task({"start": "living room"})).step("take stale food")
    values = house.action_values(at.state, 0.5)  # type: ignore[attr-defined]
    assert values["go west"] == 0.5**3 and values["eat stale food"] == 0.0 and max(values.values()) == 0.5**3


def test_exact_values_of_an_endgame() -> None:
    pytest.importorskip("chess")
    chess = sonde.make("chess", preset="endgames")
    task = chess.tasks("test")[0]
    state = Episode.begin(chess, task).state
    values = chess.action_values(state, 0.9)  # type: ignore[attr-defined]
    plies = int(task.tags["plies"])
    assert max(values.values()) == pytest.approx(0.9 ** ((plies - 1) // 2))
    assert set(values) == set(chess.actions(state) or ())
    full = sonde.make("chess")
    assert full.action_values(Episode.begin(full, full.tasks("test")[0]).state, 0.9) is None  # type: ignore[attr-defined]
