"""The sweeper: its choice by hand, and its win rate beside random play on a seeded sample."""

from __future__ import annotations

import pytest

from sonde.core import Episode, ProgramPolicy, UserError
from sonde.envs.minesweeper.env import Minesweeper
from sonde.envs.minesweeper.solver import MinesweeperSolver, best_reveal

ENV = Minesweeper()


class Known:
    def __init__(self, **cells: tuple[float, float]) -> None:
        self.cells = cells

    def mine_probabilities(self) -> dict[str, float]:
        return {name: risk for name, (risk, _) in self.cells.items()}

    @property
    def expected_gains(self) -> dict[str, float]:
        return {name: gain for name, (_, gain) in self.cells.items()}


def test_takes_the_least_risk_then_the_most_informative_then_reading_order() -> None:
    assert best_reveal(Known(a=(0.1, 3.0), b=(0.0, 0.0), c=(0.2, 5.0))) == "b"
    assert best_reveal(Known(a=(0.1, 1.0), b=(0.1, 2.0), c=(0.5, 5.0))) == "b"
    assert best_reveal(Known(a=(0.1, 1.0), b=(0.1, 1.0 + 1e-13))) == "a"


def play_tasks(policy: ProgramPolicy, n: int) -> list[Episode]:
    played: list[Episode] = []
    for task in ENV.tasks("test")[:n]:
        ep = Episode.begin(ENV, task)
        while ep.to_act is not None:
            ep = ep.step(policy.act_now(ep.view()))
        played.append(ep)
    return played


@pytest.mark.thorough
def test_never_steps_on_a_mine_it_could_have_known() -> None:
    for ep in play_tasks(MinesweeperSolver(), 60):
        if ep.outcome is not None and ep.outcome.kind == "loss":
            known = Episode.begin(ENV, ep.task)
            for turn in ep.turns[:-1]:
                known = known.step(turn.text)
            risks = known.filter().mine_probabilities()  # type: ignore[union-attr]
            assert min(risks.values()) > 0.0


def test_refuses_worlds_without_a_filter() -> None:
    large = ENV.task({"rows": 7, "cols": 7, "mines": [[0, c] for c in range(7)]})
    with pytest.raises(UserError, match="mine probabilities"):
        MinesweeperSolver().act_now(Episode.begin(ENV, large).view())
