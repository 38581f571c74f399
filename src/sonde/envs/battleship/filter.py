"""The exact posterior over ship placements, as arrays.

A shot's outcome is a function of the placement: which ship it hits, if any. (That the ship has now sunk adds nothing,
because its length is known.) So the posterior is uniform over the placements that would have given every observed
outcome, and the expected gain of a shot is the entropy of its outcome.

Axes: S ships, P positions of one ship, N placements of all ships, C cells in reading order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.core import Turn

from .._shared.uniform import UniformFilter

Rows = npt.NDArray[np.int32]
"""Indices of placements."""

_SHOTS = ("hit", "sunk", "miss")


class Fleets:
    """All placements on one board.

    `layouts` are the placements, one bitboard per ship in the order of `ships` (names); `cells` names the bits.
    `aim(size, text)` gives the cell that a text shoots at, None if there is none on the board;
    `describe_placement(size, layout)` gives the hypothesis of a placement.
    """

    def __init__(
        self,
        size: int,
        ships: Sequence[str],
        layouts: Sequence[tuple[int, ...]],
        cells: Sequence[str],
        aim: Callable[[int, str], int | None],
        describe: Callable[[int, Any], str],
    ) -> None:
        self.size, self.ships, self.layouts, self.cells = size, tuple(ships), layouts, tuple(cells)
        self.aim, self.describe = aim, describe
        masks_SN = np.array(layouts, np.uint64).T
        unique = [np.unique(masks_N, return_inverse=True) for masks_N in masks_SN]
        bits_C = np.arange(len(cells), dtype=np.uint64)
        self.covers = [(masks_P[:, None] >> bits_C & np.uint64(1)).astype(np.int64) for masks_P, _ in unique]
        """Per ship, shape `(P, C)`: 1 if that position covers the cell."""
        self.at_SN = np.stack([at_N.astype(np.uint8) for _, at_N in unique])
        """The position of every ship in every placement."""

    @cached_property
    def start(self) -> ShipFilter:
        """The prior: uniform over all placements."""
        return ShipFilter(self, np.arange(len(self.layouts), dtype=np.int32), 0)

    @cached_property
    def rank(self) -> Mapping[str, int]:
        """The row of every hypothesis."""
        return {self.name(i): i for i in range(len(self.layouts))}

    def name(self, row: int) -> str:
        """The hypothesis of a row."""
        return self.describe(self.size, self.layouts[row])

    def counts_SC(self, alive: Rows) -> npt.NDArray[np.int64]:
        """For each ship and cell, the number of placements in `alive` in which the ship covers the cell."""
        marginals = (np.bincount(self.at_SN[s, alive], minlength=len(c)) for s, c in enumerate(self.covers))
        return np.stack([marginal_P @ cover for marginal_P, cover in zip(marginals, self.covers, strict=True)])

    def surviving_rows(self, alive: Rows, cell: int, ship: str | None) -> Rows:
        """The placements of `alive` in which a shot at `cell` hits `ship`, or nothing if that is None."""
        if ship is not None:
            s = self.ships.index(ship)
            return alive[self.covers[s][self.at_SN[s, alive], cell] > 0]
        hit = np.zeros(len(alive), np.bool_)
        for at_N, cover in zip(self.at_SN, self.covers, strict=True):
            hit |= cover[at_N[alive], cell] > 0
        return alive[~hit]


class ShipFilter(UniformFilter):
    """The exact posterior on one board. Make it with `Fleets.start`."""

    def __init__(self, fleets: Fleets, alive: Rows, shots: int) -> None:
        self.fleets, self.alive, self.shots = fleets, alive, shots

    def observe(self, turn: Turn) -> ShipFilter:
        info = turn.info
        if info["result"] not in _SHOTS:
            return self
        cell = self.fleets.cells.index(info["cell"])
        alive = self.fleets.surviving_rows(self.alive, cell, info["ship"])
        if not len(alive):
            raise ValueError(f"no placement agrees with {info['result']} at {info['cell']} and the turns before")
        return ShipFilter(self.fleets, alive, self.shots | 1 << cell)

    def name_row(self, row: int) -> str:
        return self.fleets.name(row)

    def find_row(self, hypothesis: Any) -> int:
        return self.fleets.rank.get(hypothesis, -1)

    def hit_probabilities(self) -> dict[str, float]:
        """The probability that a shot hits, for every cell not shot at. Exactly 1.0 if a ship is certain."""
        return self._by_cell_name(self._hits_C)

    @property
    def expected_gains(self) -> dict[str, float]:
        """The expected gain of a shot in bits, for every cell not shot at."""
        return self._by_cell_name(self._gains_C)

    def expected_gain(self, action: str) -> float:
        cell = self.fleets.aim(self.fleets.size, action)
        return 0.0 if cell is None else float(self._gains_C[cell])

    def best_question(self) -> tuple[str, float]:
        """The shot of highest expected gain; ties prefer the more likely hit, then reading order."""
        gains, hits = self.expected_gains, self.hit_probabilities()
        best = max(gains, key=lambda cell: (round(gains[cell], 9), hits[cell]))
        return best, gains[best]

    @cached_property
    def _counts_SC(self) -> npt.NDArray[np.int64]:
        return self.fleets.counts_SC(self.alive)

    @cached_property
    def _hits_C(self) -> npt.NDArray[np.float64]:
        return self._counts_SC.sum(axis=0) / len(self.alive)

    @cached_property
    def _gains_C(self) -> npt.NDArray[np.float64]:
        counts_SC, n = self._counts_SC, len(self.alive)
        probs = np.vstack([counts_SC, n - counts_SC.sum(axis=0)]) / n
        return -(probs * np.log2(np.where(probs > 0, probs, 1.0))).sum(axis=0) + 0.0

    def _by_cell_name(self, values_C: npt.NDArray[np.float64]) -> dict[str, float]:
        rows = zip(self.fleets.cells, values_C.tolist(), strict=True)
        return {cell: value for i, (cell, value) in enumerate(rows) if not self.shots >> i & 1}
