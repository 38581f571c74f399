"""Set forms of predicates: "able to fly", "known for jazz", "made of wood", "found in Africa", "used to cut".

Ours. Each form looks for its own words and gives None where they are not there, or where what they lead to is not
understood.
"""

from __future__ import annotations

from collections.abc import Callable

from .claims import Claim, negated
from .clauses import Subject
from .joins import is_joined, joined
from .lexicon import PREPOSITIONS, Lexicon, place_key
from .lists import word_set
from .words import Words, base, is_verb, key

Parse = Callable[[Words], "Claim | None"]


class Forms:
    """What `Grammar` knows about set forms; it brings the readers of what follows "it is", "it does", "people"."""

    lexicon: Lexicon
    subject: Subject
    be: Parse
    do: Parse
    done: Parse
    on_map: Parse
    """What words with a preposition of place ask, beyond the lexicon."""

    def asked(self, frame: str, words: Words) -> Claim | None:
        return self.lexicon.asked(f"{frame}:{key(words)}", words)

    def people(self, words: Words, who: str) -> Claim | None:
        """What people do to it, or what it is to them."""
        if not words:
            return None
        if words[0] == "be":
            return self.done(self.subject.gap(words[1:])) if words[1:2] in (("able",), ("likely",)) else None
        turned = words[0] in ("not", "never")
        rest = self.subject.gap(words[turned:])
        found = self.by_whom(rest, who) if who else self.done(rest)
        return negated(found) if found is not None and turned else found

    def by_whom(self, rest: Words, who: str) -> Claim | None:
        found = self.asked("ob", [*rest, "by", who]) if rest else None
        if found is None and rest and rest[0] in ("use", "wear", "play", "do", "like", "enjoy"):
            found = self.asked("ob", ["use", "by", who])
        return found

    def set_form(self, words: Words) -> Claim | None:
        """As in "able to fly", "known for jazz", "made of wood", "related to music", "considered a fruit"."""
        first, second = words[0], words[1] if len(words) > 1 else ""
        if first in ("able", "capable", "unable") and second in ("to", "of"):
            found = self.do(words[2:])
            return negated(found) if found is not None and first == "unable" else found
        if first in ("likely", "supposed", "going", "expected", "required", "meant", "known") and second == "to":
            return self.do(words[2:])
        if first == "best" and second in word_set("known"):
            return self.set_form(words[1:])
        if first in word_set("known") and second in ("for", "because", "as", "with", "by"):
            return self.known(words[2:], second)
        if first in word_set("related") or words[:2] == ("part", "of"):
            at = next((i for i, w in enumerate(words[:4]) if w in ("to", "with", "about", "of", "in")), None)
            return self.related(words[at + 1 :]) if at is not None and at + 1 < len(words) else None
        if first in word_set("made"):
            at = next((i for i, w in enumerate(words[:6]) if w in ("of", "from", "with")), None)
            return self.material(words[at + 1 :]) if at is not None else None
        if base(first) in word_set("called") and len(words) > 1:
            return self.called(words)
        return self.people(words[1:], "") if first == "to" else None

    def called(self, words: Words) -> Claim | None:
        """As in "considered to be X", "classified as X"; what a thing is called as well is asked, not guessed."""
        rest = list(words[1:])
        while rest and rest[0] in ("to", "be", "as", "of", "being", "under", "into"):
            rest = rest[1:]
        if not rest or (len(rest) + 1 == len(words) and words[0] not in ("considered", "called", "labeled", "deemed")):
            return None
        found = self.be(rest)
        return found._replace(yes=found.true, no=0, goal=0, named=0, guess="") if found and found.named else found

    def known(self, words: Words, how: str) -> Claim | None:
        """As in "known for X", "famous as X"."""
        if how == "as":
            return self.be(words)
        rest = without("known", words)
        found = self.asked("known", rest) or self.asked("rel", rest)
        if found is None and rest and is_verb(base(rest[0])):
            found = self.do([base(rest[0]), *rest[1:]])
        return found or (joined(rest, lambda r: self.known(r, how)) if rest else None)

    def related(self, words: Words) -> Claim | None:
        """What has to do with something."""
        rest = without("rel", words)
        if not rest:
            return None
        found = self.asked("rel", rest) or self.asked("rel", words)
        if found is None and rest[-1] in ("industry", "field", "activities", "purposes", "in", "work"):
            found = self.asked("rel", rest[:-1])
        return found or self.on_map(["in", *rest]) or joined(rest, self.related)

    def material(self, words: Words) -> Claim | None:
        rest = [w for w in words if w not in ("material", "materials", "either", "both")] or words
        if not rest or rest[0] == "not":
            return None
        return self.asked("made", rest) or joined(rest, self.material)

    def placed(self, words: Words) -> Claim | None:
        """As in "found in X", "in X", "native to X", "from X"."""
        first = words[0]
        if base(first) in word_set("at") and len(words) > 2:
            at = next((i for i, w in enumerate(words[1:4], 1) if w in PREPOSITIONS or w == "to"), None)
            if at is not None:
                return self.place(words[at:])
        if first in ("common", "popular", "widespread", "abundant", "native", "indigenous") and len(words) > 2:
            return self.place(words[1:])
        return self.place(words) if first in PREPOSITIONS and len(words) > 1 else None

    def place(self, words: Words) -> Claim | None:
        """A place with its preposition, from the lexicon or the map."""
        words = ["from", *words[1:]] if words[0] == "to" else list(words)
        words = [w for w in words if w not in ("located", "region", "typical", "average", "usually", "somewhere")]
        if len(words) < 2:
            return None
        found = self.lexicon.asked(place_key(words), words) or self.on_map(words)
        if found is None and is_joined(words) and words[0] in PREPOSITIONS:
            found = joined(words[1:], lambda rest: self.place(rest if rest[0] in PREPOSITIONS else [words[0], *rest]))
        return found

    def purposed(self, words: Words) -> Claim | None:
        """As in "used to cut", "good for cutting", "designed for cutting", "used in the kitchen", "for children"."""
        if words[0] == "for":
            return self.purpose(words[1:]) if words[1:] else None
        if base(words[0]) not in word_set("tool"):
            return None
        joint = ("to", "for", "as", "in", "by", "when", "with", "while", "on", "during", "at")
        at = next((i for i, w in enumerate(words[1:5], 1) if w in joint), None)
        if at is None or at + 1 >= len(words):
            return None
        rest, word = words[at + 1 :], words[at]
        found = self.purpose(rest) if word not in ("by", "with", "at") else None
        found = found or self.asked("ob", ["use", word, *rest])
        if found is None and word in ("for", "by"):
            found = self.asked("ob", ["use", "by", *rest])
        return found or (self.place(words[at:]) if word in ("in", "at", "on") else None)

    def purpose(self, words: Words) -> Claim | None:
        """What something serves for."""
        words = without("for", words) if words and words[0] in word_set("skip_for") else list(words)
        while words:
            found = self.asked("for", words)
            if found is not None or words[-1] not in word_set("for_tail"):
                return found or joined(words, self.purpose, shares=True)
            words = words[:-1]
        return None


def without(name: str, words: Words) -> list[str]:
    """Without the words at the front that say nothing behind a set form."""
    words = list(words)
    while len(words) > 1 and words[0] in word_set(f"skip_{name}"):
        words = words[1:]
    return words
