"""The exact posterior if a question partitions the hypotheses by their true reply: one bit mask per reply.

Every hypothesis has one true reply to every question. With `error_rate` 0 the posterior is uniform over the hypotheses
that fit all replies. With a rate e, a wrong reply is rho = e / (1 - e) times as likely as the true one (so e is the
probability of a wrong reply to a yes/no question), and a hypothesis that k replies contradict has the weight rho^k, so
one mask per k is enough.

A reply that no hypothesis gives, or at rate 0 none of the remaining ones, comes from a user that the filter does not
model; it changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from sonde.core import Belief, Filter, Turn
from sonde.core.belief import KEPT

Split = Mapping[str, int]
"""Maps a reply to the mask of the hypotheses whose true reply it is. The masks are disjoint and cover all
hypotheses."""


class Answers(Protocol):
    """A set of hypotheses with their replies, and the questions worth asking."""

    @property
    def names(self) -> Sequence[Any]:
        """The hypotheses; bit i of a mask is the i-th."""
        ...

    @property
    def questions(self) -> Sequence[str]:
        """Questions (legal answers in the sense of `Env.actions`) that may split the hypotheses, excluding guesses."""
        ...

    def split(self, said: str) -> Split:
        """Map each true reply to a message to its hypotheses. The implementation caches it."""
        ...

    def guess(self, index: int) -> str:
        """The answer that proposes a hypothesis."""
        ...


class PartitionFilter(Filter):
    """See the module. `levels[k]` is the mask of the hypotheses that k replies contradict."""

    def __init__(self, known: Answers, say: Any, error_rate: float = 0.0, levels: tuple[int, ...] = ()) -> None:
        self.known, self._say = known, say
        self.rho = error_rate / (1.0 - error_rate)
        self._error_rate = error_rate
        self.levels = levels or ((1 << len(known.names)) - 1,)
        self._counts = tuple(m.bit_count() for m in self.levels)
        self._seen: dict[tuple[str, str], PartitionFilter] = {}
        self._best: tuple[str, float] | None = None

    def observe(self, turn: Turn) -> PartitionFilter:
        reply = turn.info.get("reply")
        if not isinstance(reply, str):
            return self
        fact = (turn.text, reply)
        if fact not in self._seen:
            if len(self._seen) == KEPT:
                self._seen.clear()
            self._seen[fact] = self._observe_reply(self.known.split(turn.text), reply)
        return self._seen[fact]

    def _observe_reply(self, split: Split, reply: str) -> PartitionFilter:
        if reply not in split or len(split) == 1:
            return self
        levels = self._move_levels(split[reply])
        if not any(levels):
            return self
        return PartitionFilter(self.known, self._say, self._error_rate, levels)

    def _move_levels(self, fits: int) -> tuple[int, ...]:
        """The levels after a reply that the hypotheses in `fits` give."""
        if not self.rho:
            return (self.levels[0] & fits,)
        kept, fell = [m & fits for m in self.levels] + [0], [0] + [m & ~fits for m in self.levels]
        return tuple(a | b for a, b in zip(kept, fell, strict=True))

    # --- the posterior -----------------------------------------------------------------------------------------------

    def belief(self) -> Belief:
        rows = [(i, k) for k, mask in enumerate(self.levels) for i in mask_bits(mask)]
        rows.sort()
        total = _mask_mass(self._counts, self.rho)
        names = tuple(self.known.names[i] for i, _ in rows)
        return Belief(names, tuple(self.rho**k / total for _, k in rows), self.entropy)

    def prob(self, hypothesis: Any) -> float:
        try:
            index = self.known.names.index(hypothesis)
        except ValueError:
            return 0.0
        level = next((k for k, mask in enumerate(self.levels) if mask >> index & 1), None)
        return 0.0 if level is None else self.rho**level / _mask_mass(self._counts, self.rho)

    @property
    def entropy(self) -> float:
        return _parts_entropy(self._counts, self.rho)

    # --- questions ---------------------------------------------------------------------------------------------------

    def expected_gain(self, action: str) -> float:
        return self._reply_gain(self.known.split(action))

    def _reply_gain(self, split: Split) -> float:
        if len(split) == 1:
            return 0.0
        if not self.rho:
            return self._certain_gain(split)
        total, after = 0.0, 0.0
        for fits in split.values():
            counts = [m.bit_count() for m in self._move_levels(fits)]
            mass = _mask_mass(counts, self.rho)
            total += mass
            after += mass * _parts_entropy(counts, self.rho)
        return max(0.0, self.entropy - after / total)

    def _certain_gain(self, split: Split) -> float:
        left, n = self.levels[0], self._counts[0]
        after = 0.0
        for fits in split.values():
            k = (left & fits).bit_count()
            if k > 1:
                after += k * math.log2(k)
        return max(0.0, math.log2(n) - after / n)

    def best_question(self) -> tuple[str, float]:
        if self._best is None:
            self._best = self._search_best()
        return self._best

    def _search_best(self) -> tuple[str, float]:
        """Guess the most likely hypothesis, unless a question gains more."""
        lead = next(mask for mask in self.levels if mask)
        best = self.known.guess((lead & -lead).bit_length() - 1)
        gain = self.expected_gain(self._say(best))
        for question in self.known.questions:
            found = self._reply_gain(self.known.split(question))
            if found > gain + 1e-12:
                best, gain = question, found
        return best, gain


def mask_bits(mask: int) -> Sequence[int]:
    """The positions of the set bits.

    >>> mask_bits(0b1101)
    [0, 2, 3]
    """
    found: list[int] = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def _mask_mass(counts: Sequence[int], rho: float) -> float:
    return sum(n * rho**k for k, n in enumerate(counts) if n)


def _parts_entropy(counts: Sequence[int], rho: float) -> float:
    """The entropy in bits of a distribution in which `counts[k]` hypotheses have the weight rho^k."""
    total = _mask_mass(counts, rho)
    if total <= 0.0:
        return 0.0
    logs = sum(n * rho**k * k for k, n in enumerate(counts) if n and k)
    return math.log2(total) - (logs / total * math.log2(rho) if logs else 0.0)
