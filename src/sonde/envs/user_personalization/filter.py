"""The exact posterior over personas: uniform over those that would have given all answers so far.

A hypothesis is a persona in words (`Request.shown`). A reply that no remaining persona would give comes from a user
that this filter does not know; it changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

from sonde.core import Belief, Filter, Turn

from .._shared.dialogue import spoken
from .._shared.partition import bits
from .personas import Persona, Request, requests

LONGEST = 2_000
"""Characters of a message that are read."""


@lru_cache(maxsize=512)
def split(name: str, said: str) -> Mapping[str, int]:
    """Reply -> the mask of the personas of a request that give it."""
    request = requests()[name]
    rows: dict[str, int] = {}
    for i, persona in enumerate(request.personas):
        reply = request.told(persona, said)
        rows[reply] = rows.get(reply, 0) | 1 << i
    return rows


class PersonaFilter(Filter):
    """See the module. `questions` are left to be asked; after them only the answer is due, and there is no gain."""

    def __init__(self, request: Request, questions: int, mask: int = 0) -> None:
        self.request, self.questions = request, questions
        self.mask = mask or (1 << len(request.personas)) - 1
        self._n = self.mask.bit_count()
        self._best: tuple[str, float] | None = None

    def observe(self, turn: Turn) -> PersonaFilter:
        reply, left = turn.info.get("reply"), max(0, self.questions - 1)
        if not self.questions or not isinstance(reply, str):
            return PersonaFilter(self.request, left, self.mask)
        fits = self._split(turn.text).get(reply, 0) & self.mask
        return PersonaFilter(self.request, left, fits or self.mask)

    def _split(self, text: str) -> Mapping[str, int]:
        return split(self.request.name, spoken(text, LONGEST))

    def belief(self) -> Belief:
        names = tuple(self.request.shown(self.request.personas[i]) for i in bits(self.mask))
        return Belief(names, (1.0 / self._n,) * self._n, self.entropy)

    def prob(self, hypothesis: object) -> float:
        index = _positions(self.request.name).get(str(hypothesis))
        return 1.0 / self._n if index is not None and self.mask >> index & 1 else 0.0

    @property
    def entropy(self) -> float:
        return math.log2(self._n)

    def expected_gain(self, action: str) -> float:
        if not self.questions:
            return 0.0
        counts = [(fits & self.mask).bit_count() for fits in self._split(action).values()]
        return max(0.0, self.entropy - sum(n * math.log2(n) for n in counts if n) / self._n)

    def best_question(self) -> tuple[str, float]:
        if self._best is None:
            self._best = self._search()
        return self._best

    def _search(self) -> tuple[str, float]:
        if not self.questions:
            return self.request.answers[0], 0.0
        gains = {question: self.expected_gain(question) for question in self.request.questions}
        best = max(gains, key=lambda q: gains[q])
        return best, gains[best]

    def likely(self) -> Persona:
        """Return per dimension the value that more than half of the remaining personas have, or ""."""
        counts: list[dict[str, int]] = [{} for _ in self.request.dimensions]
        for i in bits(self.mask):
            for count, value in zip(counts, self.request.personas[i], strict=True):
                count[value] = count.get(value, 0) + 1
        return tuple(next((v for v, n in count.items() if v and 2 * n > self._n), "") for count in counts)


@lru_cache(maxsize=64)
def _positions(name: str) -> Mapping[str, int]:
    request = requests()[name]
    return {request.shown(persona): i for i, persona in enumerate(request.personas)}
