"""The true reply to a message in twenty questions, and what a filter reckons with.

Ours. `verdict` is a pure function of the hidden topic and the words: the rule user says it, `TopicAnswers` splits the
topics by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from typing import Literal

from sonde.people.language.words import name_key

from ..checks import plain
from ..dialogue import GOAL
from .asking import questions
from .knowledge import knowledge
from .names import topics_named
from .room import Reading, read

Verdict = Literal["yes", "no", "goal", "unknown", "invalid"]

TEXTS: Mapping[str, str] = {
    "yes": "Yes.",
    "no": "No.",
    "unknown": "I do not know.",
    "invalid": "Invalid.",
    "repeated": "Repeated.",
    "finished": "Finished.",
}
"""Answer -> what the agent hears."""


def verdict_on(topic: int, said: str) -> Verdict:
    """The true reply to a message where topic number `topic` is hidden."""
    return verdict(topic, read(said))


def verdict(topic: int, reading: Reading) -> Verdict:
    """The true reply to a message that has been read."""
    claim = reading.claim
    if claim is None:
        return "unknown" if reading.kind == "unclear" else "invalid"
    if claim.goal >> topic & 1:
        return "goal"
    if claim.yes >> topic & 1:
        return "yes"
    return "no" if claim.no >> topic & 1 else "unknown"


def mentioned(said: str) -> int:
    """The topics that a message mentions as whole words, or in the plural, whether it asks for them or not."""
    words, lookup, found = plain(said).split(), _by_name(), 0
    for i in range(len(words)):
        for j in range(i + 1, min(i + 1 + _longest(), len(words) + 1)):
            text = " ".join(words[i:j])
            for form in (text, text.removesuffix("s"), text.removesuffix("es")):
                found |= lookup.get(form, 0)
    return found


@cache
def _by_name() -> Mapping[str, int]:
    found: dict[str, int] = {}
    for i, name in enumerate(knowledge().names):
        found[plain(name)] = found.get(plain(name), 0) | 1 << i
    return found


@cache
def _longest() -> int:
    return max(len(name.split()) for name in _by_name())


@lru_cache(maxsize=8192)
def article(name: str) -> str:
    """The article that a guess of this name takes, with a blank behind it; empty for proper names and plurals.

    >>> article("guitar"), article("apple"), article("Marie Curie"), article("Eiffel Tower")
    ('a ', 'an ', '', 'the ')
    """
    index = knowledge().index.get(name, knowledge().aliases.get(name))
    if index is None:
        return ""
    if name[:1].isupper():
        return "the " if knowledge().known("landmark").yes >> index & 1 else ""
    if name_key(name, common=True) != plain(name) or any(knowledge().known(k).yes >> index & 1 for k in _UNCOUNTED):
        return ""
    return "an " if name[0] in "aeiou" else "a "


_UNCOUNTED = ("substance", "concept", "activity", "field_of_study", "sport")


def guess(name: str) -> str:
    """A guess as a question."""
    return f"Is it {article(name)}{name}?"


class TopicAnswers:
    """The true replies of a pool of topics (`partition.Answers`); bit i stands for topic i of the knowledge base.

    `failed` tells whether a message breaks a check of the game and so is never answered, `heard` what is said of a raw
    text, `knows_invalid` whether the game has the reply "invalid", `by_mention` whether any mention of the topic wins.
    """

    def __init__(
        self,
        pool: int,
        heard: Callable[[str], str],
        failed: Callable[[str], str | None],
        *,
        knows_invalid: bool,
        by_mention: bool,
    ) -> None:
        self.pool = pool
        self._heard, self._failed = heard, failed
        self._knows_invalid, self._by_mention = knows_invalid, by_mention
        self._splits: dict[str, Mapping[str, int]] = {}

    @property
    def names(self) -> Sequence[str]:
        return knowledge().names

    @property
    def questions(self) -> Sequence[str]:
        """The canonical questions that part the pool."""
        return self._questions

    @cached_property
    def _questions(self) -> Sequence[str]:
        return tuple(text for text in questions() if len(self._parts(text)) > 1)

    def guess(self, index: int) -> str:
        return knowledge().names[index]

    def split(self, said: str) -> Mapping[str, int]:
        found = self._splits.get(said)
        if found is None:
            if len(self._splits) >= 4096:
                self._splits.clear()
            found = self._splits[said] = self._split(said)
        return found

    def _split(self, text: str) -> Mapping[str, int]:
        said = self._heard(text)
        if self._failed(said) is not None:
            return {"": self.pool}
        return self._parts(said)

    def _parts(self, said: str) -> Mapping[str, int]:
        """The true replies to a message that breaks no check."""
        reading = read(said)
        claim = reading.claim
        won = self.pool & (mentioned(said) if self._by_mention else claim.goal if claim else 0)
        left = self.pool & ~won
        if claim is None:
            word = "invalid" if self._knows_invalid and reading.kind != "unclear" else "unknown"
            parts = {GOAL: won, TEXTS[word]: left}
        else:
            yes = left & claim.true
            no = left & ~yes & claim.no
            parts = {GOAL: won, TEXTS["yes"]: yes, TEXTS["no"]: no, TEXTS["unknown"]: left & ~yes & ~no}
        return {reply: mask for reply, mask in parts.items() if mask}


__all__ = ["TEXTS", "TopicAnswers", "Verdict", "article", "guess", "mentioned", "topics_named", "verdict", "verdict_on"]
