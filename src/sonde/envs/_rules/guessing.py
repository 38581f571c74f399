"""Games of one secret among many and a verdict on every guess: what Wordle and Mastermind have in common.

`Guessing` holds the candidates, the guesses and the verdict table's rule as arrays; `GuessFilter` is the exact
posterior. The verdict is a function of secret and guess, so the posterior is uniform over the candidates that would
have given every verdict seen, and the expected gain of a guess is the entropy of its verdicts.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.core import Belief, Filter, Turn

Codes = npt.NDArray[np.uint8]
"""Rows of symbols: shape `(n, length)`."""
Verdicts = npt.NDArray[np.uint16]
"""One number per (guess, secret) pair."""
Bits = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int32]
"""Indices of candidates."""

_BLOCK = 1 << 21
_KEPT = 20_000


class Guessing:
    """The arrays of one game.

    `candidates` are the possible secrets, `guesses` the pool that `best_question` searches (candidates first is not
    needed), both as text; `verdict(guesses_GL, secrets_NL) -> verdicts_GN`, numbers below `n_verdicts`.
    `read(turn)` gives the guess and verdict of a turn, or None if the turn had none; `parse(text)` the guess in a text.
    """

    def __init__(
        self,
        candidates: Sequence[str],
        guesses: Sequence[str],
        verdict: Callable[[Codes, Codes], Verdicts],
        n_verdicts: int,
        read: Callable[[Turn], tuple[str, int] | None],
        parse: Callable[[str], str | None],
        openings: Sequence[str] | None = None,
    ) -> None:
        self.candidates, self.guesses = tuple(candidates), tuple(guesses)
        self.index = {c: i for i, c in enumerate(self.candidates)}
        self.codes, self.pool = encode(self.candidates), encode(self.guesses)
        self.verdict, self.n_verdicts, self.read, self.parse = verdict, n_verdicts, read, parse
        self.openings = tuple(openings) if openings is not None else None
        self._kept: OrderedDict[frozenset[tuple[str, int]], GuessFilter] = OrderedDict()

    def start(self) -> GuessFilter:
        """The prior: uniform over the candidates."""
        return self.node(frozenset(), lambda: np.arange(len(self.candidates), dtype=np.int32))

    def node(self, seen: frozenset[tuple[str, int]], alive: Callable[[], Rows]) -> GuessFilter:
        """The filter after these verdicts: kept, because episodes share histories (least recently used goes first)."""
        found = self._kept.get(seen)
        if found is None:
            found = self._kept[seen] = GuessFilter(self, seen, alive())
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(seen)
        return found

    def entropies(self, pool: Codes, alive: Rows) -> npt.NDArray[np.float64]:
        """Entropy in bits of the verdict of every guess in `pool` (shape `(G,)`), secret uniform over `alive`."""
        secrets, n = self.codes[alive], len(alive)
        count = self._by_counting if self.n_verdicts <= 4 * n else _by_sorting
        size = max(1, _BLOCK // max(n, self.n_verdicts if count == self._by_counting else 1))
        # c log2 c for every possible count c; a guess's entropy is log2 n - sum(c log2 c) / n.
        clogc = np.arange(n + 1, dtype=np.float64)
        clogc[1:] *= np.log2(clogc[1:])
        sums = [count(self.verdict(pool[i : i + size], secrets), clogc) for i in range(0, len(pool), size)]
        return np.maximum(0.0, np.log2(n) - np.concatenate(sums) / n)

    def _by_counting(self, verdicts: Verdicts, clogc: Bits) -> Bits:
        """Sum of c log2 c over the counts of each row's verdicts, where verdicts are few."""
        rows = verdicts.astype(np.int64) + np.arange(len(verdicts), dtype=np.int64)[:, None] * self.n_verdicts
        counts = np.bincount(rows.ravel(), minlength=len(verdicts) * self.n_verdicts)
        return clogc[counts].reshape(len(verdicts), self.n_verdicts).sum(axis=1)


def _by_sorting(verdicts: Verdicts, clogc: Bits) -> Bits:
    """The same where possible verdicts outnumber the secrets."""
    ordered = np.sort(verdicts, axis=1)
    starts = np.ones(ordered.shape, bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    at = np.flatnonzero(starts)
    counts = np.diff(at, append=ordered.size)
    return np.bincount(at // ordered.shape[1], clogc[counts], len(ordered)).astype(np.float64, copy=False)


def encode(words: Sequence[str]) -> Codes:
    """Words of one length as rows of bytes."""
    if not words:
        return np.zeros((0, 0), np.uint8)
    return np.frombuffer("".join(words).encode("ascii"), np.uint8).reshape(len(words), -1)


class _Names(Sequence[str]):
    """The candidates at some indices, as a sequence that copies nothing."""

    def __init__(self, names: tuple[str, ...], rows: Rows) -> None:
        self._names, self._rows = names, rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return _Names(self._names, self._rows[i])
        return self._names[self._rows[i]]

    def __repr__(self) -> str:
        shown = ", ".join(repr(self[i]) for i in range(min(6, len(self))))
        return f"({shown}, ... {len(self)} in all)" if len(self) > 6 else f"({shown})"


class GuessFilter(Filter):
    """The exact posterior of a `Guessing` game. Make it with `Guessing.start`."""

    def __init__(self, game: Guessing, seen: frozenset[tuple[str, int]], alive: Rows) -> None:
        self.game, self.seen, self.alive = game, seen, alive
        self._best: tuple[str, float] | None = None

    def observe(self, turn: Turn) -> GuessFilter:
        fact = self.game.read(turn)
        if fact is None:
            return self
        guess, verdict = fact

        def survivors() -> Rows:
            verdicts = self.game.verdict(encode([guess]), self.game.codes[self.alive])[0]
            return self.alive[verdicts == verdict]

        return self.game.node(self.seen | {fact}, survivors)

    def belief(self) -> Belief:
        n = len(self.alive)
        return Belief(_Names(self.game.candidates, self.alive), np.full(n, 1.0 / n), math.log2(n))  # type: ignore[arg-type]

    @property
    def entropy(self) -> float:
        return math.log2(len(self.alive))

    def prob(self, hypothesis: Any) -> float:
        row = self.game.index.get(hypothesis, -1)
        at = int(np.searchsorted(self.alive, row))
        return 1.0 / len(self.alive) if at < len(self.alive) and self.alive[at] == row else 0.0

    def expected_gain(self, action: str) -> float:
        guess = self.game.parse(action)
        return 0.0 if guess is None else float(self.game.entropies(encode([guess]), self.alive)[0])

    def best_question(self) -> tuple[str, float]:
        """The guess of highest expected gain; among equals one that may be the secret, then the first of the pool."""
        if self._best is None:
            self._best = self._search()
        return self._best

    def _search(self) -> tuple[str, float]:
        game = self.game
        if len(self.alive) <= 2:
            return game.candidates[int(self.alive[0])], math.log2(len(self.alive))
        guesses, pool = game.guesses, game.pool
        if not self.seen and game.openings is not None:
            guesses, pool = game.openings, encode(game.openings)
        bits = game.entropies(pool, self.alive)
        best = float(bits.max())
        ties = np.flatnonzero(bits >= best - 1e-9)
        chosen = int(next((i for i in ties if self.prob(guesses[i]) > 0.0), ties[0]))
        return guesses[chosen], best
