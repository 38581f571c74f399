"""The exact posterior over the circuits' truth tables, computed without listing all of them.

The gate totals couple the circuits; given the deal (the gates of every circuit), the circuits are independent:

    P(tables, outputs) = sum over deals of P(deal) prod over circuits c of P(table_c | gates_c) [fits the outputs]

So the weight of a deal after some outputs is P(deal) times the product over circuits of the mass of the tables that
fit. An output is a function of the tables, so the expected gain of a probe is the entropy of one bit. Tables with the
same probability under every set of gates form a *class* (20 of them for the 64 tables of 3 inputs, 80 for the 832 of
4); entropy and the number of right tables only need sums over tuples of classes.

Axes: C circuits, H hands (sets of gates that one circuit may have), T tables, X inputs, G cells. A cell is the rest of
a class, or the one table that the agent answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, lru_cache, partial, reduce
from itertools import combinations, product
from math import comb, prod
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from sonde.core import Belief, Filter, Turn, invalid

from .._shared.answer import Which, parse_answer
from .._shared.bits import p_log2_p
from .._shared.uniform import LazyNames
from .circuits import (
    CircuitProbe,
    Gates,
    Shape,
    Tables,
    format_table,
    gate_deals,
    gate_hands,
    parse_table,
    probe_answer,
    read_turn,
    table_distribution,
    tables_answer,
)

Floats = npt.NDArray[np.float64]

_MOST_LISTED = 1 << 22
"""Maximum number of table tuples that `belief()` may examine."""


class CircuitGame:
    """The constants of all episodes with these totals: every table, and its probability under every hand."""

    def __init__(self, shape: Shape, gates: Gates, max_turns: int, which: Which) -> None:
        self.shape, self.gates, self.max_turns = shape, gates, max_turns
        self.which: Which = which
        dealt = gate_hands(shape.inputs, gates.nots)
        built = [table_distribution(shape.inputs, hand) for hand in dealt]
        self.tables = sorted({table for found in built for table in found})
        self.names = [format_table(table, shape.inputs) for table in self.tables]
        self.number = {table: t for t, table in enumerate(self.tables)}
        rows = [tuple(found.get(table, Fraction(0)) for found in built) for table in self.tables]
        classes = {row: g for g, row in enumerate(dict.fromkeys(rows))}
        self.class_T = np.array([classes[row] for row in rows])
        self.chance_HT = np.array([[float(p) for p in row] for row in rows]).T
        self.output_TX = np.array([[table >> x & 1 for x in range(shape.row_count)] for table in self.tables], bool)
        self.deal = np.zeros((len(dealt),) * shape.circuits)
        for hand_C, p in gate_deals(shape, gates):
            self.deal[tuple(dealt.index(hand) for hand in hand_C)] = float(p)


@lru_cache(maxsize=64)
def start_filter(shape: Shape, gates: Gates, max_turns: int, which: Which = "last") -> CircuitFilter:
    """The prior. `which` says which of several answers in one reply counts."""
    return CircuitFilter(CircuitGame(shape, gates, max_turns, which), ((0, 0),) * shape.circuits)


class TableCells(NamedTuple):
    """One circuit's consistent tables, in cells of equal probability: `size_G` tables, each with `chance_HG`.

    `first` holds the lowest table of every cell, `said_G` marks the cell of the answered table.
    """

    chance_HG: Floats
    size_G: Floats
    said_G: npt.NDArray[np.bool_]
    first: Sequence[int]


class CircuitFilter(Filter):
    """The exact posterior after some turns. Create it with `start_filter`.

    `seen` holds, for every circuit, the probed inputs and the observed outputs, as bits. `verdict` is the answer that
    ended the episode and how many of its tables were right.
    """

    def __init__(
        self,
        game: CircuitGame,
        seen: tuple[tuple[int, int], ...],
        turn: int = 0,
        verdict: tuple[Tables, int] | None = None,
    ) -> None:
        self.game, self.seen, self.turn, self.verdict = game, seen, turn, verdict

    def observe(self, turn: Turn) -> CircuitFilter:
        info, seen, verdict = turn.info, self.seen, self.verdict
        if info["result"] == "output":
            c, bit = int(info["circuit"]) - 1, 1 << int(info["input"], 2)
            asked, ones = seen[c]
            seen = (*seen[:c], (asked | bit, ones | bit * info["output"]), *seen[c + 1 :])
        elif "tables" in info:
            verdict = tuple(parse_table(table) for table in info["tables"]), info["correct"]
        return CircuitFilter(self.game, seen, self.turn + 1, verdict)

    # --- the posterior of each circuit -------------------------------------------------------------------------------

    @cached_property
    def fits_CT(self) -> npt.NDArray[np.bool_]:
        """Whether a table agrees with all observed outputs."""
        return np.array([[not (table ^ ones) & asked for table in self.game.tables] for asked, ones in self.seen])

    @cached_property
    def deal_weights(self) -> Floats:
        """Weight of every deal, one axis of hands per circuit, divided by the mass of the consistent tables; the
        posterior of a tuple of tables is then the sum over deals of this weight times the probability of each table."""
        mass_CH = self.fits_CT @ self.game.chance_HT.T
        total = reduce(np.multiply.outer, mass_CH) * self.game.deal
        if not total.sum() > 0.0:
            raise ValueError("the outputs are impossible for circuits with these gates")
        return self.game.deal / total.sum()

    @cached_property
    def table_CT(self) -> Floats:
        """Posterior of every circuit's table before a verdict, summed over the other circuits."""
        n, mass_CH = self.game.shape.circuits, self.fits_CT @ self.game.chance_HT.T
        rows: list[Floats] = []
        for c in range(n):
            weight = self.deal_weights
            for other in reversed([i for i in range(n) if i != c]):
                weight = np.tensordot(weight, mass_CH[other], (other, 0))
            rows.append(weight @ self.game.chance_HT * self.fits_CT[c])
        return np.stack(rows)

    @cached_property
    def gains_CX(self) -> Floats:
        """Expected gain of every probe, in bits: the entropy of its output, 0 if it was already made."""
        told = np.array([[asked >> x & 1 for x in range(self.game.shape.row_count)] for asked, _ in self.seen], bool)
        ones_CX = np.clip(self.table_CT @ self.game.output_TX, 0.0, 1.0)
        return np.where(told, 0.0, _row_entropies(np.stack([ones_CX, 1.0 - ones_CX], axis=-1)))

    def likeliest_tables(self) -> str:
        """The answer with the highest expected score: each circuit's most likely table; the lowest of equals."""
        tables = [self.game.tables[int(row_T.round(12).argmax())] for row_T in self.table_CT]
        return tables_answer(tuple(tables), self.game.shape.inputs)

    # --- the joint posterior -----------------------------------------------------------------------------------------

    def _table_cells(self, said: Tables | None) -> list[TableCells]:
        """The cells of every circuit, with the stated tables in cells of their own."""
        return [self._circuit_cells(c, said[c] if said else -1) for c in range(self.game.shape.circuits)]

    def _circuit_cells(self, c: int, said: int) -> TableCells:
        game, left = self.game, np.flatnonzero(self.fits_CT[c])
        # A separate class number isolates the stated table.
        classes = np.where(left == game.number.get(said, -1), -1, game.class_T[left])
        classes, first, size = np.unique(classes, return_index=True, return_counts=True)
        numbers = left[first]
        tables = [game.tables[int(t)] for t in numbers]
        return TableCells(game.chance_HT[:, numbers], size.astype(np.float64), classes < 0, tables)

    def _tuple_posterior(self, chances: Sequence[Floats]) -> Floats:
        """Posterior, before a verdict, of the tuple of tables for every choice of a column from each `chance_HG`."""
        joint = self.deal_weights
        for chance_HG in chances:
            joint = np.tensordot(joint, chance_HG, (0, 0))
        return joint

    def _after_verdict(self, each: Floats, said: Sequence[npt.NDArray[np.bool_]]) -> Floats:
        """`each` given the verdict, which rules out some tuples; `said` marks the tables that it is about."""
        if self.verdict is None:
            return each
        tables, right = self.verdict
        return np.where(_count_marks(said) == right, each, 0.0) / self._number_right(tables)[right]

    def _match_tables(self, numbers: Sequence[npt.NDArray[np.int64]]) -> list[npt.NDArray[np.bool_]]:
        """Masks of these tables, given by their numbers for every circuit."""
        said = self.verdict[0] if self.verdict else (-1,) * len(numbers)
        return [some == self.game.number.get(table, -1) for some, table in zip(numbers, said, strict=True)]

    @cached_property
    def entropy(self) -> float:  # type: ignore[override]
        cells = self._table_cells(self.verdict[0] if self.verdict else None)
        each = self._after_verdict(
            self._tuple_posterior([cell.chance_HG for cell in cells]), [cell.said_G for cell in cells]
        )
        size = reduce(np.multiply.outer, [cell.size_G for cell in cells])
        some = each > 0.0
        return max(0.0, float(-(each * size)[some] @ np.log2(each[some])))

    def prob(self, hypothesis: Any) -> float:
        tables: Sequence[Any] = cast("tuple[Any, ...]", hypothesis) if isinstance(hypothesis, tuple) else ()
        if len(tables) != len(self.seen) or any(name not in self.game.names for name in tables):
            return 0.0
        numbers = [self.game.names.index(name) for name in tables]
        if not all(self.fits_CT[c, t] for c, t in enumerate(numbers)):
            return 0.0
        each = self._tuple_posterior([self.game.chance_HT[:, [t]] for t in numbers])
        return float(self._after_verdict(each, self._match_tables([np.array([t]) for t in numbers])).item())

    def belief(self) -> Belief:
        """Every tuple of tables; raises `UserError` if that means examining more than four million."""
        left = [np.flatnonzero(fits) for fits in self.fits_CT]
        n = prod(len(numbers) for numbers in left)
        if n > _MOST_LISTED:
            allowed = f"at most {_MOST_LISTED:,} to be listed; use prob and entropy"
            raise invalid("circuit_decoding: tuples of tables", n, allowed)
        probs = self._after_verdict(
            self._tuple_posterior([self.game.chance_HT[:, t] for t in left]), self._match_tables(left)
        )
        rows = np.flatnonzero(probs)
        names = [[self.game.names[t] for t in numbers] for numbers in left]
        return Belief(_name_tuples(names, rows), probs.ravel()[rows], self.entropy)  # type: ignore[arg-type]

    # --- questions ---------------------------------------------------------------------------------------------------

    def expected_gain(self, action: str) -> float:
        said = parse_answer(action, partial(read_turn, self.game.shape), which=self.game.which)
        if said is None or self.verdict is not None:
            return 0.0
        if isinstance(said, CircuitProbe):
            return 0.0 if self._is_last else float(self.gains_CX[said])
        return float(_row_entropies(self._number_right(said)))

    def best_question(self) -> tuple[str, float]:
        """The new probe with the highest expected gain; on the last turn, of the tables that agree with the observed
        outputs, those with the most uncertain number of right ones."""
        open_CX = [[not asked >> x & 1 for x in range(self.game.shape.row_count)] for asked, _ in self.seen]
        if self._is_last or not np.any(open_CX):
            return self._best_tables
        # Rounded, so that equal gains tie on every machine.
        best = np.where(open_CX, self.gains_CX.round(9), -1.0).argmax()
        c, x = divmod(int(best), self.game.shape.row_count)
        return probe_answer(c, x, self.game.shape.inputs), float(self.gains_CX[c, x])

    @property
    def _is_last(self) -> bool:
        return self.turn >= self.game.max_turns - 1

    def _number_right(self, said: Tables) -> Floats:
        """P(n of these tables are right) for n = 0, ..., C, before a verdict."""
        cells = self._table_cells(said)
        right = _count_marks([cell.said_G for cell in cells])
        mass = self._tuple_posterior([cell.chance_HG * cell.size_G for cell in cells])
        return np.bincount(right.ravel(), mass.ravel(), self.game.shape.circuits + 1).astype(np.float64)

    @cached_property
    def _best_tables(self) -> tuple[str, float]:
        """The tables with the highest gain of all tuples of cells, which include, for each circuit, one table that fits
        the outputs but no gates."""
        cells = [self._with_none(c, cell) for c, cell in enumerate(self._table_cells(None))]
        gains = _row_entropies(np.clip(self._right_counts(cells), 0.0, 1.0))
        best = np.unravel_index(int(gains.round(9).argmax()), gains.shape)
        tables = tuple(cell.first[int(g)] for cell, g in zip(cells, best, strict=True))
        return tables_answer(tables, self.game.shape.inputs), float(gains[best])

    def _right_counts(self, cells: Sequence[TableCells]) -> Floats:
        """P(n of the tables are right), n on the last axis, for every tuple of cells."""
        n = len(cells)
        each = self._tuple_posterior([cell.chance_HG for cell in cells])
        sums = [np.ones_like(each)] + [np.zeros_like(each) for _ in range(n)]
        for k in range(1, n + 1):
            for chosen in combinations(range(n), k):
                mass = each
                for c in set(range(n)) - set(chosen):
                    mass = np.expand_dims(np.tensordot(mass, cells[c].size_G, (c, 0)), c)
                sums[k] = sums[k] + mass
        # sums[k] is the expected number of ways to choose k right tables; inverted to P(j are right).
        right = [sum((-1) ** (k - j) * comb(k, j) * sums[k] for k in range(j, n + 1)) for j in range(n + 1)]
        return np.stack(right, axis=-1)

    def _with_none(self, c: int, cell: TableCells) -> TableCells:
        """The cells, and one of size 0 for a table that fits the outputs but no gates, if there is one."""
        asked, ones = self.seen[c]
        free = [x for x in range(self.game.shape.row_count) if not asked >> x & 1]
        filled = product((0, 1), repeat=len(free))
        fitting = (ones | sum(bit << x for bit, x in zip(bits, free, strict=True)) for bits in filled)
        none = next((table for table in fitting if table not in self.game.number), None)
        if none is None:
            return cell
        chance_HG = np.append(cell.chance_HG, np.zeros((len(cell.chance_HG), 1)), axis=1)
        return TableCells(chance_HG, np.append(cell.size_G, 0.0), np.append(cell.said_G, False), [*cell.first, none])


def _count_marks(said: Sequence[npt.NDArray[np.bool_]]) -> npt.NDArray[np.int64]:
    """The number of marked entries for every choice of one entry from each."""
    return reduce(np.add.outer, [marks.astype(np.int64) for marks in said])


def _name_tuples(names: Sequence[Sequence[str]], rows: npt.NDArray[np.int64]) -> LazyNames:
    """The tuples of a product of names with these row numbers, which ascend."""
    numbers = [{name: i for i, name in enumerate(column)} for column in names]
    lengths = tuple(len(column) for column in names)

    def name_row(row: int) -> tuple[str, ...]:
        places = np.unravel_index(row, lengths)
        return tuple([column[int(place)] for column, place in zip(names, places, strict=True)])

    def find_row(value: Any) -> int:
        places = [number.get(name, -1) for number, name in zip(numbers, value, strict=True)]
        return int(np.ravel_multi_index(places, lengths)) if min(places) >= 0 else -1

    return LazyNames(rows, name_row, find_row)


def _row_entropies(p: Floats) -> Floats:
    """Entropy in bits of the distributions along the last axis."""
    return np.maximum(0.0, -p_log2_p(p).sum(axis=-1))
