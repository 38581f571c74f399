"""The hunter, weighed over every board at once: its decision tree is walked, each placement counted in its leaf."""

from __future__ import annotations

from collections import Counter

import pytest

from sonde.envs.battleship.env import Battleship
from sonde.envs.battleship.filter import ShipFilter
from sonde.envs.battleship.solver import best_shot

ENV = Battleship()


def misses_over_all_boards(size: int) -> Counter[int]:
    """How many boards the hunter sinks with how many misses."""
    counts: Counter[int] = Counter()
    stack = [(ENV.filter({"size": size}), 0, 0)]
    while stack:
        known, misses, hits = stack.pop()
        if hits == 11:
            counts[misses] += len(known.belief())
            continue
        cell = known.fleets.cells.index(best_shot(known))
        for ship in (None, *known.fleets.ships):
            alive = known.fleets.surviving_rows(known.alive, cell, ship)
            if len(alive):
                after = ShipFilter(known.fleets, alive, known.shots | 1 << cell)
                stack.append((after, misses + (ship is None), hits + (ship is not None)))
    return counts


def test_five_rows_are_always_won() -> None:
    """20 turns are 11 hits and 9 misses."""
    counts = misses_over_all_boards(5)
    assert counts.total() == 1968 and max(counts) <= 9
    assert sum(k * n for k, n in counts.items()) / 1968 == pytest.approx(4.306, abs=5e-4)


@pytest.mark.slow
def test_six_rows_are_won_in_seven_games_of_ten() -> None:
    counts = misses_over_all_boards(6)
    assert sum(n for misses, n in counts.items() if misses <= 9) == 14_779
    assert sum(k * n for k, n in counts.items()) / 20_584 == pytest.approx(7.420, abs=5e-4)


def test_takes_a_certain_hit_before_a_better_informed_guess() -> None:
    class Known:
        def hit_probabilities(self) -> dict[str, float]:
            return {"A1": 0.5, "A2": 1.0, "A3": 0.9}

        @property
        def expected_gains(self) -> dict[str, float]:
            return {"A1": 1.5, "A2": 0.0, "A3": 1.0}

    assert best_shot(Known()) == "A2"


def test_ties_go_to_reading_order_and_the_sum_decides() -> None:
    class Known:
        def hit_probabilities(self) -> dict[str, float]:
            return {"A1": 0.2, "A2": 0.5, "A3": 0.3}

        @property
        def expected_gains(self) -> dict[str, float]:
            return {"A1": 1.0, "A2": 0.9, "A3": 1.1}

    assert best_shot(Known()) == "A2"
