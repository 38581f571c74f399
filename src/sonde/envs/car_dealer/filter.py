"""The exact posterior over buyers: uniform over those whose rules give all replies so far.

A reply is a function of the buyer and the seller's messages. A reply that no remaining buyer would give comes from a
user that the filter does not model; it changes nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from sonde.core import Belief, Filter, Turn

from .._shared.dialogue import spoken_line
from .negotiation import BuyerProfile, Pitch, describe_buyer, react_to_pitch, read_pitch

LONGEST = 2_000
"""Maximum characters of a message that are read."""


class DealFilter(Filter):
    """See the module. `fitting` are the remaining buyers, `pitches` the seller's messages so far."""

    def __init__(
        self,
        listed: int,
        actions: Sequence[str],
        say: Callable[[str], str],
        fitting: tuple[BuyerProfile, ...],
        pitches: tuple[Pitch, ...] = (),
    ) -> None:
        self.listed, self.fitting, self.pitches = listed, fitting, pitches
        self._actions, self._say = actions, say
        self._best: tuple[str, float] | None = None

    def _append_pitch(self, said: str) -> tuple[Pitch, ...]:
        """The seller's messages with one more."""
        return (*self.pitches, read_pitch(spoken_line(said, LONGEST)))

    def observe(self, turn: Turn) -> DealFilter:
        pitches, reply = self._append_pitch(turn.text), turn.info.get("reply")
        fitting = tuple(b for b in self.fitting if react_to_pitch(b, pitches, self.listed).text == reply)
        return DealFilter(self.listed, self._actions, self._say, fitting or self.fitting, pitches)

    def belief(self) -> Belief:
        return Belief(
            tuple(map(describe_buyer, self.fitting)), (1.0 / len(self.fitting),) * len(self.fitting), self.entropy
        )

    def prob(self, hypothesis: object) -> float:
        return 1.0 / len(self.fitting) if hypothesis in [describe_buyer(b) for b in self.fitting] else 0.0

    @property
    def entropy(self) -> float:
        return math.log2(len(self.fitting))

    def expected_gain(self, action: str) -> float:
        pitches = self._append_pitch(action)
        replies = Counter(react_to_pitch(b, pitches, self.listed).text for b in self.fitting)
        after = sum(n * math.log2(n) for n in replies.values()) / len(self.fitting)
        return max(0.0, self.entropy - after)

    def best_question(self) -> tuple[str, float]:
        if self._best is None:
            gains = {action: self.expected_gain(self._say(action)) for action in self._actions}
            best = max(gains, key=lambda a: gains[a])
            self._best = best, gains[best]
        return self._best
