"""Noun phrases: a name or a kind of thing, with adjectives before it and modifiers after it.

Own design. The conversation says what a whole noun phrase names (`Naming`): a name is a guess, a kind of thing is not.
Adjectives and modifiers narrow it: "a glorpish mammal" is false of everything but mammals, and unknown of mammals.
"""

from __future__ import annotations

from collections.abc import Callable

from .claims import EVERYTHING, Claim, join_all, unread_claim
from .joins import is_harmless, is_joined
from .lexicon import PREPOSITIONS
from .lists import word_set
from .words import Words, base_form, is_participle

Parse = Callable[[Words], "Claim | None"]
Naming = Callable[[tuple[str, ...], bool], "Claim | None"]
"""Maps the words of a noun phrase without its article, and whether it has one, to what they name: a guess, or a
kind."""


def strip_article(words: Words) -> tuple[Words, bool]:
    """Drop the article and "a kind of", and return whether there was any."""
    words, kinds, before = list(words), word_set("kind"), len(words)
    while words:
        if words[0] in word_set("determiners") | {"the"} and len(words) > 1:
            words = words[1:]
        elif len(words) > 2 and base_form(words[0]) in kinds and words[1] == "of":
            words = words[2:]
        elif len(words) > 3 and words[1] in kinds and words[2] == "of":
            words = words[3:]
        elif words[:2] == ["one", "of"] and len(words) > 2:
            words = words[2:]
        else:
            break
    return words, len(words) < before


class Nouns:
    """A reader of noun phrases. `adjective` reads a word before a noun, `modifier` what follows one."""

    def __init__(self, naming: Naming, adjective: Parse, modifier: Parse) -> None:
        self._naming, self._adjective, self._modifier = naming, adjective, modifier

    def read_named(self, words: Words) -> Claim | None:
        """The claim of a whole noun phrase that names something."""
        rest, article = strip_article(words)
        whole = self._naming(tuple(words), False) if len(words) > len(rest) > 0 else None
        if whole is not None and whole.goal:
            return whole
        return self._naming(tuple(rest), article) if rest else None

    def read_kind(self, words: Words) -> Claim | None:
        """A kind of thing. A guess is not a kind: "a guitar used in rock music" is unknown."""
        rest, _ = strip_article(words)
        if len(rest) == 1 and base_form(rest[0]) in word_set("generic"):
            return EVERYTHING
        found = self.read_named(words)
        if found is not None and found.named:
            return None
        return (
            found._replace(yes=found.yes_or_goal, goal=0, guess="") if found is not None else self._read_described(rest)
        )

    def read_phrase(self, words: Words) -> Claim | None:
        """A noun with adjectives before it and modifiers after it."""
        found = self.read_named(words)
        if found is not None:
            return found
        rest, article = strip_article(words)
        if len(rest) > 2 and rest[1] == "of" and (found := self._read_named_kind(rest)) is not None:
            return found
        found = self._read_described(rest)
        if found is None:
            found = self._read_apposition(rest)
        return found if found is not None else self._read_followed(words, article)

    def _read_apposition(self, words: Words) -> Claim | None:
        """As in "the physicist Marie Curie", "Marie Curie, the physicist": a name, and the kind of its bearer."""
        at = next((i for i, w in enumerate(words) if w == ","), 0)
        apposed = 0 < at < len(words) - 1 and words[at + 1] in word_set("apposed")
        if apposed and is_harmless(words[at + 2 :]) and not is_joined(words[at + 1 :]):
            found = self.read_named(words[:at])
            return found if found is not None and found.named and found.goal else None
        for at in range(1, min(len(words), 6)) if words[0] not in PREPOSITIONS else ():
            rest = [w for i, w in enumerate(words[at:]) if i > 1 or w not in ("known", "as", "called", "named")]
            found = self.read_named(rest) if rest else None
            if found is not None and found.named and found.goal:
                head = self.read_kind(words[:at])
                return found if head is not None and found.goal & head.yes_or_goal else None
        return None

    def _read_named_kind(self, words: Words) -> Claim | None:
        """As in "the country of Brazil": a name, if it names such a thing."""
        kind, found = self.read_named(words[:1]), self.read_named(words[2:])
        if kind is None or found is None or not found.goal & kind.yes_or_goal:
            return None
        return found

    def _read_described(self, words: Words) -> Claim | None:
        """As in "small domestic animal": every adjective and the noun must hold."""
        words = [w for w in words if w not in word_set("dropped")]
        if "to" in words or len(words) < 2:
            return None
        for at in range(1, len(words)):
            generic = at == len(words) - 1 and base_form(words[at]) in word_set("generic")
            head = EVERYTHING if generic else self.read_named(words[at:])
            if head is None or head.named:
                continue
            parts = self._read_adjectives(words[:at])
            if parts is not None:
                head = head._replace(yes=head.yes_or_goal, goal=0, guess="")
                return join_all(parts if generic else [*parts, head])
        return None

    def _read_adjectives(self, words: Words) -> list[Claim] | None:
        """Read the words before a noun: all together, otherwise one by one; none may invert the meaning."""
        whole = self._adjective(words)
        if whole is not None:
            return [whole]
        parts: list[Claim] = []
        for i, word in enumerate(words):
            if word in ("and", ",") and 0 < i < len(words) - 1:
                continue
            part = self._adjective([word])
            if part is None and base_form(word) in word_set("loose"):
                part = unread_claim(word)
            if part is None:
                return None
            parts.append(part)
        return parts

    def _read_followed(self, words: Words, article: bool) -> Claim | None:
        """Read a noun and what follows it; a tail that is not understood at least narrows the noun."""
        for at in range(1, len(words)):
            if not _is_follower(words[at:]) or is_participle(words[0]):
                continue
            head = self.read_kind(words[:at])
            if head is None:
                continue
            head = head._replace(no=0) if _is_ranked(words[:at]) else head
            rest = self._modifier(words[at:])
            if rest is not None and not rest.named:
                return rest if head is EVERYTHING else join_all([head, rest])
            if (
                head is not EVERYTHING
                and words[at] != "of"
                and article
                and is_harmless(words[at:])
                and not is_joined(words)
            ):
                return join_all([head, unread_claim(" ".join(words[at:]))])
        return None


def _is_follower(words: Words) -> bool:
    first = words[0]
    compares = "than" in words[1:3] and (first.endswith("er") or first in ("more", "less"))
    return first in word_set("followers") or is_participle(first) or first.endswith("ing") or compares


def _is_ranked(words: Words) -> bool:
    """As in "the heaviest animal": what follows narrows the ranking, so a thing that is not first overall may be first
    within it."""
    return any((w.endswith("est") and w not in word_set("unranked")) or w in word_set("ranks") for w in words)
