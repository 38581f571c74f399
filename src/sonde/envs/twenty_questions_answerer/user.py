"""The asker of `twenty_questions_answerer`: a probabilistic state machine that mixes traps into real questions.

Source: Multi-Turn Puzzles, appendix A.3. On each turn it may guess spontaneously, and does guess when one word remains
or its questions are used up; a guess may be an already excluded word; a question may be about a hypernym that only
excluded words have, or that all remaining words have; otherwise it is about one that a proper subset of the remaining
words has. Among equals it draws uniformly. It does not try to find the word quickly.

Published: the machine. Ours: its four probabilities, which the text at hand has lost, and that a real question (or a
remaining word) replaces a trap while nothing is excluded yet. With the defaults a consistent answerer takes 12 turns on
average, between the published 6.2 and 15.1 of large models. A guess is as often an excluded word as not, so that no
constant answer pays much: of the test games "always yes" wins 48 %, "always no" 24 % and random answers 38 %; with an
`excluded_word` of 0.25, "always yes" would win 70 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sonde.core import Action, ProgramPolicy, Rng, UserError, View, invalid

_FACTS = ("words", "kinds", "remaining", "questions_left")


@dataclass(frozen=True, kw_only=True)
class Trapper(ProgramPolicy):
    """Probabilities of a spontaneous `guess`, and, given that it guesses, of an `excluded_word`; given that it asks, of
    an `excluded_kind` (only excluded words have it) and of a `shared_kind` (all remaining words have it), which
    together are at most 1."""

    kind: ClassVar[str] = "users"

    guess: float = 0.05
    excluded_word: float = 0.5
    excluded_kind: float = 0.2
    shared_kind: float = 0.2

    def __post_init__(self) -> None:
        for name in ("guess", "excluded_word", "excluded_kind", "shared_kind"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise invalid(f"users:trapper: {name}", getattr(self, name), "0 to 1")
        if self.excluded_kind + self.shared_kind > 1.0:
            raise invalid("users:trapper: shared_kind", self.shared_kind, "at most 1 - excluded_kind")

    def act_now(self, view: View) -> Action:
        facts, rng = view.private, Rng(view.seed)
        if any(name not in facts for name in _FACTS):
            raise UserError(f"users:trapper: {view.spec.name} tells this seat no words and kinds to ask about")
        must_guess = facts["questions_left"] == 0 or facts["remaining"].bit_count() == 1
        if must_guess or rng.random() < self.guess:
            return Action(f"Is your word {self._choose_word(facts['words'], facts['remaining'], rng)}?")
        return Action(f"Is it a kind of {self._choose_kind(facts['kinds'], facts['remaining'], rng)}?")

    def _choose_word(self, words: Sequence[str], remaining: int, rng: Rng) -> str:
        excluded = [word for i, word in enumerate(words) if not remaining >> i & 1]
        if excluded and rng.random() < self.excluded_word:
            return rng.choice(excluded)
        return rng.choice([word for i, word in enumerate(words) if remaining >> i & 1])

    def _choose_kind(self, kinds: Mapping[str, Any], remaining: int, rng: Rng) -> str:
        excluded, shared, open_ = partition_kinds(kinds, remaining)
        u = rng.random()
        if excluded and u < self.excluded_kind:
            return rng.choice(excluded)
        if shared and u >= 1.0 - self.shared_kind:
            return rng.choice(shared)
        return rng.choice(open_)


def partition_kinds(kinds: Mapping[str, int], remaining: int) -> tuple[list[str], list[str], list[str]]:
    """The kinds that none, all and some of the remaining words have; the last list is never empty while two words
    remain, because no two words have the same hypernyms."""
    excluded: list[str] = []
    shared: list[str] = []
    some: list[str] = []
    for kind, members in kinds.items():
        part = members & remaining
        (some if 0 < part < remaining else shared if part else excluded).append(kind)
    return excluded, shared, some
