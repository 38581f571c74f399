"""The exact posterior over personas: uniform over those that give all answers so far.

A hypothesis is a persona in words (`Request.describe_persona`). A reply that no remaining persona would give comes from
a user that the filter does not model; it changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

from sonde.core import Belief, Filter, Turn

from .._shared.dialogue import spoken_line
from .._shared.partition import mask_bits
from .personas import Persona, Request, load_requests

LONGEST = 2_000
"""Maximum characters of a message that are read."""


@lru_cache(maxsize=512)
def split_personas(name: str, said: str) -> Mapping[str, int]:
    """Map each reply to the mask of the request's personas that give it."""
    request = load_requests()[name]
    rows: dict[str, int] = {}
    for i, persona in enumerate(request.all_personas):
        reply = request.answer_question(persona, said)
        rows[reply] = rows.get(reply, 0) | 1 << i
    return rows


class PersonaFilter(Filter):
    """See the module. `questions` is the number of questions left; at 0 only the answer is due, and all gains are 0."""

    def __init__(self, request: Request, questions: int, mask: int = 0) -> None:
        self.request, self.questions = request, questions
        self.mask = mask or (1 << len(request.all_personas)) - 1
        self._n = self.mask.bit_count()
        self._best: tuple[str, float] | None = None

    def observe(self, turn: Turn) -> PersonaFilter:
        reply, left = turn.info.get("reply"), max(0, self.questions - 1)
        if not self.questions or not isinstance(reply, str):
            return PersonaFilter(self.request, left, self.mask)
        fits = self._question_split(turn.text).get(reply, 0) & self.mask
        return PersonaFilter(self.request, left, fits or self.mask)

    def _question_split(self, text: str) -> Mapping[str, int]:
        return split_personas(self.request.name, spoken_line(text, LONGEST))

    def belief(self) -> Belief:
        names = tuple(self.request.describe_persona(self.request.all_personas[i]) for i in mask_bits(self.mask))
        return Belief(names, (1.0 / self._n,) * self._n, self.entropy)

    def prob(self, hypothesis: object) -> float:
        index = _persona_positions(self.request.name).get(str(hypothesis))
        return 1.0 / self._n if index is not None and self.mask >> index & 1 else 0.0

    @property
    def entropy(self) -> float:
        return math.log2(self._n)

    def expected_gain(self, action: str) -> float:
        if not self.questions:
            return 0.0
        counts = [(fits & self.mask).bit_count() for fits in self._question_split(action).values()]
        return max(0.0, self.entropy - sum(n * math.log2(n) for n in counts if n) / self._n)

    def best_question(self) -> tuple[str, float]:
        if self._best is None:
            self._best = self._search_best()
        return self._best

    def _search_best(self) -> tuple[str, float]:
        if not self.questions:
            return self.request.all_answers[0], 0.0
        gains = {question: self.expected_gain(question) for question in self.request.all_questions}
        best = max(gains, key=lambda q: gains[q])
        return best, gains[best]

    def likely_preferences(self) -> Persona:
        """Per dimension, the value that more than half of the remaining personas have, or ""."""
        counts: list[dict[str, int]] = [{} for _ in self.request.dimensions]
        for i in mask_bits(self.mask):
            for count, value in zip(counts, self.request.all_personas[i], strict=True):
                count[value] = count.get(value, 0) + 1
        return tuple(next((v for v, n in count.items() if v and 2 * n > self._n), "") for count in counts)


@lru_cache(maxsize=64)
def _persona_positions(name: str) -> Mapping[str, int]:
    """Map each persona of a request, in words, to its number."""
    request = load_requests()[name]
    return {request.describe_persona(persona): i for i, persona in enumerate(request.all_personas)}
