"""The reader of one conversation: takes a message, returns a claim.

Own design. The conversation's own module provides its knowledge (`Knows`), its declared lines, the meaning of its
names, and how to read places; `Room.read` does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import lru_cache
from typing import NamedTuple

from .acts import Kind, SpeechAct, read_act
from .claims import Claim, negate_claim
from .grammar import Grammar
from .lists import word_set
from .words import base_form, mend_slips, singular_form, tokenize

Vocabulary = Callable[[], Collection[str]]


class ReadClaim(NamedTuple):
    """A message as understood: `kind` is "asks" with a claim, or says why there is none."""

    kind: Kind
    claim: Claim | None = None


class Room:
    """See the module. `vocabulary` gives the words to which slips are corrected; `common` tells whether a word is
    known."""

    def __init__(
        self,
        grammar: Grammar,
        vocabulary: Vocabulary = frozenset[str],
        common: Callable[[str], bool] = lambda word: True,
    ) -> None:
        self.grammar = grammar
        self._vocabulary, self._common = vocabulary, common
        self.read = lru_cache(maxsize=1 << 14)(self._read_message)

    def _read_message(self, said: str) -> ReadClaim:
        act = read_act(said)
        if act.kind != "asks":
            return ReadClaim(act.kind)
        claim = self._read_act(act)
        if claim is None:
            claim = self._read_mended(act)
        return ReadClaim("asks", claim) if claim is not None else ReadClaim("unclear")

    def _read_mended(self, act: SpeechAct) -> Claim | None:
        """The claim of a question after its slips of the pen are corrected."""
        if all(self._is_word(word) for word in act.words):
            return None
        fixed = mend_slips(act.words, self._vocabulary(), self._is_word)
        return self._read_act(act._replace(words=tuple(fixed))) if fixed is not None else None

    def _read_act(self, act: SpeechAct) -> Claim | None:
        """The claim of a question, or of a name announced as a guess."""
        words = list(act.words)
        claim = self.grammar.be(words) if act.guess else None
        if claim is None or not claim.known_things:
            claim = self.grammar.read_sentence(words) or claim
        if claim is None or (claim.unread and not claim.known_things):
            return None
        return negate_claim(claim) if act.denied else claim

    def _is_word(self, word: str) -> bool:
        return len(word) < 4 or base_form(word) != word or self._common(word) or self._common(singular_form(word))


def content_words(said: str) -> frozenset[str]:
    """The words of a message in base form, without function words; negations are kept.

    >>> sorted(content_words("Why glorp the house?"))
    ['glorp', 'home', 'why']
    """
    return frozenset(base_form(w) for w in tokenize(said[:2000]) if w not in word_set("empty") and w != ",")
