"""Games with one secret among many and a verdict on every guess: the common part of Wordle and Mastermind.

`Guessing` holds the candidates, the guesses and the verdict rule as arrays; `GuessFilter` is the exact posterior. The
verdict is a function of secret and guess, so the posterior is uniform over the candidates that would have given every
observed verdict, and the expected gain of a guess is the entropy of its verdicts.

If a game has `VerdictParts`, which many guesses share, the search evaluates only a few guesses exactly: the entropy of
a function of several variables is at most the sum of their entropies (Cover and Thomas, Elements of Information Theory,
section 2.6), and for few guesses this bound reaches the best entropy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sonde.core import Turn

from ..uniform import RecentValues, UniformFilter

Codes = npt.NDArray[np.uint8]
"""Rows of symbols: shape `(n, length)`."""
Verdicts = npt.NDArray[np.unsignedinteger[Any]]
"""One number per (guess, secret) pair."""
Bits = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Rows = npt.NDArray[np.int32]
"""Indices of candidates."""

_BLOCK = 1 << 17
"""Numbers counted at a time, so that they stay in the processor's cache."""
_TABLE = 1 << 25
"""Maximum number of pairs that are tabulated."""
_FEW = 32
"""With at most this many secrets, first try whether one of them separates all of them."""
_LEAD = 32
"""Number of guesses evaluated first; the others' bounds must reach their best entropy."""
_KEPT = 20_000
_FINE = 1e-9
"""Bits by which a guess must exceed another to count as better."""


class VerdictParts(NamedTuple):
    """The parts of verdicts: the verdict on guess g is a function of the marks of its parts `of_PG[:, g]`.

    There are `n` parts; `part_marks(alive)` numbers the mark of each under each of these secrets: shape `(n, N)`.
    """

    n: int
    of_PG: Rows
    marks: Callable[[Rows], Verdicts]


class Guessing:
    """The arrays of one game.

    `candidates` are the possible secrets, as text, and the guesses that `best_question` searches; `verdict(guesses_GL,
    secrets_NL) -> verdicts_GN` gives numbers below `n_verdicts`. `read(turn)` gives the guess and verdict of a turn, or
    None if the turn had none; `parse(text)` the guess in a text. `distinct_rows(guesses)` gives the candidates to
    search after these guesses, if the others only rename them: ascending rows, the first of each class of equals.
    `parts(candidates)` splits their guesses into parts.
    """

    def __init__(
        self,
        candidates: Sequence[str],
        verdict: Callable[[Codes, Codes], Verdicts],
        n_verdicts: int,
        read: Callable[[Turn], tuple[str, int] | None],
        parse: Callable[[str], str | None],
        distinct: Callable[[frozenset[str]], Rows] | None = None,
        parts: Callable[[Codes], VerdictParts] | None = None,
    ) -> None:
        self.candidates = tuple(candidates)
        self.index = {c: i for i, c in enumerate(self.candidates)}
        self.codes, self._all = encode_words(self.candidates), np.arange(len(self.candidates), dtype=np.int32)
        self.verdict, self._n_marks, self.read, self.parse = verdict, n_verdicts, read, parse
        self._distinct, self._take_apart = distinct, parts
        self._table: Verdicts | None = None
        self._numbered: list[Verdicts] = []
        """The possible verdicts on each candidate as a guess, in the numbering of the table."""
        # log2 c and c log2 c for every possible count c; a guess's entropy is log2 n - sum(c log2 c) / n.
        counts = np.arange(len(self.candidates) + 1, dtype=np.float64)
        self._logs = np.log2(counts, out=np.zeros_like(counts), where=counts > 0)
        self._clogc = counts * self._logs
        self._filters = RecentValues[GuessFilter](_KEPT)

    def start(self) -> GuessFilter:
        """The prior: uniform over the candidates."""
        return self.filter_at(frozenset(), lambda: self._all)

    def filter_at(self, seen: frozenset[tuple[str, int]], alive: Callable[[], Rows]) -> GuessFilter:
        """The filter after these verdicts; cached, because episodes share histories."""
        return self._filters.find(seen, lambda: GuessFilter(self, seen, alive()))

    def guess_verdicts(self, guess: str, alive: Rows) -> Verdicts:
        """The verdict on any guess under every secret of `alive`: shape `(N,)`."""
        row = self.index.get(guess)
        if self._table is None or row is None:
            return self.verdict(encode_words([guess]), self.codes[alive])[0]
        return self._numbered[row][self._table[row][alive]]

    def entropy(self, verdicts: Verdicts) -> float:
        """Entropy in bits of one guess's verdict, if all secrets are equally likely."""
        n = len(verdicts)
        return max(0.0, float(self._logs[n]) - float(self._clogc[np.bincount(verdicts)].sum()) / n)

    def best_guess(self, guesses: frozenset[str], alive: Rows) -> tuple[str, float]:
        """The candidate with the highest verdict entropy after these guesses, and that entropy; ties prefer a possible
        secret, then the first."""
        n = len(alive)
        if n <= 2:
            return self.candidates[int(alive[0])], math.log2(n)
        if n <= _FEW:  # a guess that separates all secrets cannot be improved on, and is often among these
            bits = self._guess_entropies(alive, alive)
            if bits.max() == self._logs[n]:
                return self.candidates[int(alive[bits.argmax()])], float(bits.max())
        rows = self._contending_rows(self._all if self._distinct is None else self._distinct(guesses), alive)
        bits = self._guess_entropies(rows, alive)
        best = float(bits.max())
        ties = rows[bits >= best - _FINE]
        possible = ties[alive.take(alive.searchsorted(ties), mode="clip") == ties]
        return self.candidates[int((possible if len(possible) else ties)[0])], best

    def _contending_rows(self, rows: Rows, alive: Rows) -> Rows:
        """The candidates among `rows` that may be the best: the bounds of all others are below a value already
        reached."""
        if self._code_parts is None or len(rows) < 2 * self._code_parts.n:
            return rows
        bounds = self._entropy_bounds(self._code_parts, rows, alive)
        lead = rows[np.sort(bounds.argpartition(-_LEAD)[-_LEAD:])]
        return rows[bounds >= self._guess_entropies(lead, alive).max() - 2 * _FINE]

    @cached_property
    def _code_parts(self) -> VerdictParts | None:
        return None if self._take_apart is None else self._take_apart(self.codes)

    def _entropy_bounds(self, parts: VerdictParts, rows: Rows, alive: Rows) -> Bits:
        """Upper bounds of these candidates' entropies: the sums of their parts' entropies."""
        marks = parts.marks(alive)
        m = int(marks.max()) + 1
        bits = np.concatenate(
            [self._mark_entropies(marks[block], m) for block in _row_blocks(parts.n, max(len(alive), m))]
        )
        return bits.take(parts.of_PG).sum(axis=0)[rows]

    def _guess_entropies(self, rows: Rows, alive: Rows) -> Bits:
        """Entropy of every candidate in `rows` as a guess: shape `(G,)`."""
        self._tabulate_verdicts()
        m = self._n_marks
        blocks = _row_blocks(len(rows), max(len(alive), m))
        return np.concatenate([self._mark_entropies(self._verdict_marks(rows[block], alive), m) for block in blocks])

    def _verdict_marks(self, rows: Rows, alive: Rows) -> Verdicts:
        """Numbers that distinguish the verdicts on each of some candidates: the verdicts, or their numbers in the
        table."""
        if self._table is None:
            return self.verdict(self.codes[rows], self.codes[alive])
        run = slice(rows[0], rows[-1] + 1)  # a view, which copies no rows
        found = self._table[run if len(rows) == run.stop - run.start else rows]
        return found.take(alive, axis=1)

    def _tabulate_verdicts(self) -> None:
        """At the first search, if there are few enough pairs: compute all verdicts and number each guess's possible
        ones from 0. The table is assigned last, after everything it depends on, because threads may share a game."""
        n = len(self.candidates)
        if self._table is not None or n * n > _TABLE:
            return
        table, known = np.empty((n, n), np.uint16), list[Verdicts]()
        for block in _row_blocks(n, n):
            for row, verdicts in enumerate(self.verdict(self.codes[block], self.codes), block.start):
                values, table[row] = number_verdicts(verdicts)
                known.append(values.astype(np.uint16))
        self._numbered, self._n_marks = known, max(map(len, known))
        self._table = table.astype(np.uint8) if self._n_marks <= 256 else table

    def _mark_entropies(self, marks: Verdicts, m: int) -> Bits:
        """The entropy of every row of marks below m, computed from the sum of c log2 c over the counts c of its
        marks."""
        rows, n = len(marks), marks.shape[1]
        bins = marks.astype(np.intp)
        bins += np.arange(0, rows * m, m)[:, None]
        counts = np.bincount(bins.ravel(), minlength=rows * m)
        sums = self._clogc.take(counts).reshape(rows, m).sum(axis=1)
        return np.maximum(0.0, self._logs[n] - sums / n)


def _row_blocks(n: int, each: int) -> Iterator[slice]:
    """Slices of n rows for processing in blocks, if each row takes `each` numbers."""
    size = max(1, _BLOCK // each)
    return (slice(i, i + size) for i in range(0, n, size))


def number_verdicts(verdicts: Verdicts) -> tuple[Indices, Indices]:
    """The occurring verdicts, ascending, and the index of each verdict among them."""
    occurs = np.bincount(verdicts) > 0
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[verdicts]


def encode_words(words: Sequence[str]) -> Codes:
    """Words of equal length as rows of bytes."""
    if not words:
        return np.zeros((0, 0), np.uint8)
    return np.frombuffer("".join(words).encode("ascii"), np.uint8).reshape(len(words), -1)


class GuessFilter(UniformFilter):
    """The exact posterior of a `Guessing` game. Make it with `Guessing.start`."""

    def __init__(self, game: Guessing, seen: frozenset[tuple[str, int]], alive: Rows) -> None:
        self.game, self.seen, self.alive = game, seen, alive
        self._best: tuple[str, float] | None = None
        self._asked: tuple[str, Verdicts] | None = None

    def observe(self, turn: Turn) -> GuessFilter:
        fact = self.game.read(turn)
        if fact is None:
            return self
        guess, verdict = fact

        def find_survivors() -> Rows:
            return self.alive[self._verdicts_on(guess) == verdict]

        return self.game.filter_at(self.seen | {fact}, find_survivors)

    def _verdicts_on(self, guess: str) -> Verdicts:
        """The verdicts of every remaining candidate; cached, because a guess that is evaluated is usually also made."""
        asked = self._asked
        if asked is None or asked[0] != guess:
            asked = self._asked = guess, self.game.guess_verdicts(guess, self.alive)
        return asked[1]

    def name_row(self, row: int) -> str:
        return self.game.candidates[row]

    def find_row(self, hypothesis: Any) -> int:
        return self.game.index.get(hypothesis, -1)

    def expected_gain(self, action: str) -> float:
        guess = self.game.parse(action)
        return 0.0 if guess is None else self.game.entropy(self._verdicts_on(guess))

    def best_question(self) -> tuple[str, float]:
        """The guess of highest expected gain; ties prefer a possible secret, then the first."""
        if self._best is None:
            self._best = self.game.best_guess(frozenset(guess for guess, _ in self.seen), self.alive)
        return self._best
