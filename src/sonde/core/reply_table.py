"""What the agent may be told after each text in each state, as arrays: the expected gains of many texts at once.

The suffixes of arrays name their axes: `T` texts, `S` states, `L` laws, `K` the outcomes of a law.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .types import AGENT, Step

Outcomes = Callable[[Any, str], Sequence[tuple[float, Step]]]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
KEPT = 1_000_000
"""Number of states, and of states times texts, above which a table begins anew."""
BLOCK = 1 << 18
"""Number of texts times states that are compared at a time."""


class Asked(NamedTuple):
    """States in which the agent asks, with the numbers by which a table knows them, their weights, and the numbers of
    their hypotheses, which are None if each state has its own."""

    states: Sequence[Hashable]
    numbers_S: Ints
    weights_S: Floats
    hypotheses_S: Ints | None
    edition: int
    """Which of the table's beginnings the numbers are from."""


class ReplyTable:
    """The distributions over what the agent is told, cached by text and state. Equal ones are one *law*."""

    def __init__(self, outcomes: Outcomes) -> None:
        self._outcomes = outcomes
        self._edition = 0
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._edition += 1
        self._states: dict[Hashable, int] = {}
        self._law_of_state: dict[str, Ints] = {}
        self._size = 0
        self._laws: dict[tuple[tuple[int, float], ...], int] = {}
        self._told: dict[str, int] = {}
        self._padded: tuple[Ints, Floats] | None = None

    def number_states(
        self, states: Sequence[Hashable], weights: Sequence[float], hypotheses: Sequence[Hashable]
    ) -> Asked:
        """States with their weights and hypotheses, ready to be asked in."""
        index = {h: i for i, h in enumerate(dict.fromkeys(hypotheses))}
        shared = len(index) < len(states)
        numbers_S, hypotheses_S = self._find_numbers(states), np.array([index[h] for h in hypotheses])
        return Asked(states, numbers_S, np.array(weights), hypotheses_S if shared else None, self._edition)

    def _find_numbers(self, states: Sequence[Hashable]) -> Ints:
        known = self._states
        return np.array([known.setdefault(state, len(known)) for state in states])

    def compute_gains(self, texts: Sequence[str], asked: Asked) -> list[float]:
        """I(h; o | text) in bits of each text."""
        if max(self._size, len(self._states)) > KEPT:
            self._begin_anew()
        if asked.edition != self._edition:
            asked = asked._replace(numbers_S=self._find_numbers(asked.states), edition=self._edition)
        step = max(1, BLOCK // len(asked.states))
        found: list[float] = []
        for first in range(0, len(texts), step):
            laws_TS = self._find_laws(texts[first : first + step], asked)
            found += self._compute_block(laws_TS, asked.weights_S, asked.hypotheses_S).tolist()
        return found

    # --- laws --------------------------------------------------------------------------------------------------------

    def _find_laws(self, texts: Sequence[str], asked: Asked) -> Ints:
        rows = [self._find_row(text) for text in texts]
        laws_TS = np.stack([row[asked.numbers_S] for row in rows])
        for t, s in np.argwhere(laws_TS < 0).tolist():
            laws_TS[t, s] = rows[t][asked.numbers_S[s]] = self._make_law(asked.states[s], texts[t])
        return laws_TS

    def _find_row(self, text: str) -> Ints:
        """The law of every numbered state after a text, -1 where it is unknown."""
        row, n = self._law_of_state.get(text), len(self._states)
        if row is None or len(row) < n:
            longer = np.full(max(16, n + n // 2), -1, np.int64)
            if row is not None:
                longer[: len(row)] = row
            self._size += len(longer) - (0 if row is None else len(row))
            self._law_of_state[text] = row = longer
        return row

    def _make_law(self, state: Hashable, text: str) -> int:
        probs: dict[int, float] = {}
        for q, step in self._outcomes(state, text):
            if q > 0.0:
                told = step.told.get(AGENT, "")
                told_number = self._told.setdefault(told, len(self._told))
                probs[told_number] = probs.get(told_number, 0.0) + q
        law = tuple(probs.items())
        if law not in self._laws:
            self._laws[law], self._padded = len(self._laws), None
        return self._laws[law]

    def _pad_laws(self) -> tuple[Ints, Floats]:
        """The outcomes of each law and their probabilities, `(L, K)`, filled up with outcomes of probability 0."""
        if self._padded is None:
            shape = len(self._laws), max(map(len, self._laws))
            told_LK, probs_LK = np.zeros(shape, np.int64), np.zeros(shape)
            for i, law in enumerate(self._laws):
                told_LK[i, : len(law)], probs_LK[i, : len(law)] = zip(*law, strict=True)
            self._padded = told_LK, probs_LK
        return self._padded

    # --- gains -------------------------------------------------------------------------------------------------------

    def _compute_block(self, laws_TS: Ints, weights_S: Floats, hypotheses_S: Ints | None) -> Floats:
        """H(o) + H(h) - H(o, h), or H(o) less the mean entropy of the laws if every state has its own hypothesis."""
        told_LK, probs_LK = self._pad_laws()
        present, laws_TS = _renumber(laws_TS, len(told_LK))
        told_LK, probs_LK = told_LK[present], probs_LK[present]
        outcomes, told_LK = _renumber(told_LK, len(self._told))
        n, rows_T = len(laws_TS), np.arange(len(laws_TS))
        masses = np.broadcast_to(weights_S, laws_TS.shape)
        mass_TL = _sum_cells(rows_T[:, None] * len(present) + laws_TS, masses, n * len(present)).reshape(n, -1)
        row, law = np.nonzero(mass_TL)
        shares = mass_TL[row, law][:, None] * probs_LK[law]
        told_TO = _sum_cells(row[:, None] * len(outcomes) + told_LK[law], shares, n * len(outcomes)).reshape(n, -1)
        told_bits_T = -_times_log(told_TO).sum(1)
        if hypotheses_S is None:
            gains_T = told_bits_T + (mass_TL * _times_log(probs_LK).sum(1)).sum(1)
        else:
            several = int(hypotheses_S.max()) + 1
            prior_bits = -_times_log(_sum_cells(hypotheses_S, weights_S, several)).sum()
            cells = (rows_T[:, None] * several + hypotheses_S) * len(present) + laws_TS
            pairs, masses = _sum_sparse_cells(cells, masses)
            pair, law = np.divmod(pairs, len(present))
            cells = pair[:, None] * len(outcomes) + told_LK[law]
            joint, masses = _sum_sparse_cells(cells, masses[:, None] * probs_LK[law])
            bits = -_times_log(masses)
            gains_T = told_bits_T + prior_bits - _sum_cells(joint // (several * len(outcomes)), bits, n)
        return np.where((told_TO > 0.0).sum(1) > 1, np.maximum(gains_T, 0.0), 0.0)


def _renumber(numbers: Ints, n: int) -> tuple[Ints, Ints]:
    """The numbers below n that occur, ascending, and the array with their positions in the place of the numbers."""
    seen = np.zeros(n, bool)
    seen[numbers] = True
    present = np.flatnonzero(seen)
    position = np.empty(n, np.int64)
    position[present] = np.arange(len(present))
    return present, position[numbers]


def _sum_cells(cells: Ints, masses: Floats, n: int) -> Floats:
    """The mass of each of n cells."""
    return np.bincount(cells.ravel(), masses.ravel(), n).astype(np.float64, copy=False)


def _sum_sparse_cells(cells: Ints, masses: Floats) -> tuple[Ints, Floats]:
    """The cells that occur, and the mass of each."""
    found, position = np.unique(cells.ravel(), return_inverse=True)
    return found, _sum_cells(position, masses, len(found))


def _times_log(p: Floats) -> Floats:
    """p log2 p, 0 at 0."""
    return p * np.log2(p, out=np.zeros_like(p), where=p > 0.0)
