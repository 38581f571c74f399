"""Predicates: what is said of the hidden thing after "it is", "it does", "people ... it", as claims.

Ours. Every reader takes words and returns their claim, or None where it does not understand a word that could change
the answer: a word that no declared phrasing covers is a veto. Depth is bounded, and so is the work. `Forms` reads set
forms ("able to fly", "known for jazz", "made of wood", "found in Africa", "used to cut"); each looks for its own words.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from .claims import Claim, either, negated, strong, weak
from .clauses import Clause, Subject
from .joins import is_joined, joined
from .lexicon import PREPOSITIONS, Lexicon, be_key, place_key
from .lists import word_set
from .nouns import Naming, Nouns
from .words import Words, base, is_participle, is_verb, key

Parse = Callable[[Words], "Claim | None"]


class Forms:
    """Readers of set forms; `Grammar` brings the readers of what follows "it is", "it does", "people"."""

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
        """Read what people do to it, or what it is to them."""
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
        """Read what it has to do with."""
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
        """Read what it serves for."""
        words = without("for", words) if words and words[0] in word_set("skip_for") else list(words)
        while words:
            found = self.asked("for", words)
            if found is not None or words[-1] not in word_set("for_tail"):
                return found or joined(words, self.purpose, shares=True)
            words = words[:-1]
        return None


def without(name: str, words: Words) -> list[str]:
    """Drop the words at the front that mean nothing behind a set form."""
    words = list(words)
    while len(words) > 1 and words[0] in word_set(f"skip_{name}"):
        words = words[1:]
    return words


LONGEST = 40
"""Words of a predicate that are read."""
_TO_DO = ("to do with", "a connection to", "a connection with", "a relation to", "a link to")


class Grammar(Forms):
    """A reader of clauses. `naming` says what a noun phrase names, `place` reads prepositions of place beyond the
    lexicon, and `by` what somebody in particular does to it; all are optional."""

    def __init__(
        self,
        lexicon: Lexicon,
        subject: Subject,
        naming: Naming = lambda words, article: None,
        place: Parse = lambda words: None,
        by: Parse = lambda words: None,
    ) -> None:
        self.lexicon, self.subject = lexicon, subject
        self.on_map, self._by = place, by
        self.nouns = Nouns(naming, self._adjective, self._modifier)
        self.be, self.do, self.done = (_kept(parse) for parse in (self._be, self._do, self._done))

    # --- clauses -----------------------------------------------------------------------------------------------------

    def sentence(self, words: Words) -> Claim | None:
        """Claim what a sentence says."""
        if not words or len(words) > LONGEST + 10:
            return None
        whole = self.lexicon.asked(f"q:{key(words)}", words)
        return either(whole, self.clause(self.subject.clause(words)))

    def clause(self, clause: Clause) -> Claim | None:
        """Claim what a clause says."""
        words = clause.words
        if not words:
            return None
        if clause.frame == "be":
            return self.be(words)
        if clause.frame == "do":
            return self.do(words)
        if clause.frame == "done":
            return self.people(words, clause.who)
        if clause.frame == "part":
            return self._of_part(clause.who.split()[-1], words) if clause.who.strip() else None
        return self._by(words) if clause.frame == "by" else self._fragment(words)

    def _fragment(self, words: Words) -> Claim | None:
        """A guess or a predicate alone: "a guitar", "edible", "has wings", "bigger than a car"."""
        first = words[0]
        if first in ("has", "got", "with"):
            return self.do(["have", *words[1:]])
        if first.endswith("s") and base(first) != first and is_verb(base(first)) and len(words) > 1:
            return self.do(words)
        return None if first in word_set("open") | {"if", "or", "when"} else self.be(words)

    def _of_part(self, head: str, words: Words) -> Claim | None:
        """As in "its main purpose to cut", "its color red", "its population over a million"."""
        if base(head) in word_set("purpose"):
            return self.purpose(words[1:] if words[0] in ("to", "for") else words)
        if head in word_set("quality"):
            return self.be(words)
        if head in ("name", "title", "word") and is_verb(words[0]):
            return self.do(words)
        return self.do(["have", "a", head, *words]) or self.do(["have", "a", *words, head])

    # --- readers -----------------------------------------------------------------------------------------------------

    def _be(self, words: Words) -> Claim | None:
        """Read what follows "it is"."""
        if words[0] in word_set("aux") and len(words) > 2:
            return self.sentence(words)
        whole = self.nouns.named(words)
        if whole is not None and whole.named:
            return whole
        direct = self.lexicon.asked(be_key(words), words)
        if direct is not None:
            return either(direct, whole)
        graded = self._graded(words, self.be)
        if graded is not None:
            return graded[0]
        if words[0] in word_set("something") and words[1:]:
            return self._modifier(words[1:])
        for read in (self.set_form, self.placed, self.purposed):
            found = read(words)
            if found is not None:
                return found
        if is_joined(words):
            found = joined(words, self.be)
            if found is not None:
                return found
        return self.nouns.phrase(words) or self._passive(words)

    def _graded(self, words: Words, parse: Parse) -> tuple[Claim | None] | None:
        """Read words before a predicate that negate or grade it: the graded claim in a tuple, or None."""
        first, rest = words[0], words[1:]
        if first == ",":
            return (parse(rest),)
        if first in ("not", "never"):
            narrowed = rest[:1] and rest[0] in ("only", "just", "always", "necessarily", "all")
            plain = None if narrowed or not rest or "and" in rest or "but" in rest else parse(rest)
            return (negated(plain) if plain is not None else None,)
        if first in word_set("strong"):
            found = parse(rest)
            return (strong(found, "very") if found is not None else None,)
        if first in word_set("weak"):
            found = parse(rest)
            return (weak(found, "sometimes") if found is not None else None,)
        if first in word_set("refused"):
            return None if first in word_set("ranks") else (None,)
        return (parse(rest),) if first in word_set("adverbs") and rest and "than" not in rest[:1] else None

    def _passive(self, words: Words) -> Claim | None:
        """As in "eaten by people": what is done to it, without by whom and with what stands around it."""
        if not is_participle(words[0]):
            return None
        if words[-2:-1] == ("by",) and words[-1] in word_set("people") | {"humans", "people"}:
            return self.be(words[:-2])
        if len(words) > 2 and words[1] in word_set("adverbs"):
            return self.be([words[0], *words[2:]])
        return None

    # --- verbs -------------------------------------------------------------------------------------------------------

    def _do(self, words: Words) -> Claim | None:
        """Read what follows "it does"; the first word is a verb in any form."""
        if words[0] in word_set("aux") - {"have", "has", "had", "do", "be"} and len(words) > 2:
            return self.sentence(words)
        first = base(words[0])
        phrase = [first, *words[1:]]
        direct = self.asked("do", phrase)
        if direct is not None:
            return direct
        graded = self._graded(words, self.do) if first not in ("last",) else None
        if graded is not None:
            return graded[0]
        for read in (self._having, self._verb_form, self._verb_placed):
            found = read(first, phrase[1:])
            if found is not None:
                return found
        return joined(words, self.do) if is_joined(words) else None

    def _having(self, first: str, rest: Words) -> Claim | None:
        """As in "have wings", "have no legs", "have something to do with music"."""
        if first not in word_set("have") or not rest:
            return None
        text = " ".join(rest)
        for form in _TO_DO:
            before, found, after = text.partition(form + " ")
            if found and len(before.split()) < 2:
                claim = self.related(after.split())
                return negated(claim) if claim is not None and before.startswith("nothing") else claim
        if rest[0] == "no":
            found = self.do(["have", *rest[1:]])
            return negated(found) if found is not None else None
        plain = without("have", rest)
        found = self.asked("do", ["have", *plain]) if plain else None
        if found is None and first != "have":
            found = self.do(["have", *rest])
        return found or (joined(rest, lambda r: self.do(["have", *r])) if is_joined(rest) else None)

    def _verb_form(self, first: str, rest: Words) -> Claim | None:
        """As in "tend to bite", "need to be plugged in", "involve water", "count as a fruit", "get worn"."""
        rest = tuple(rest)
        if first in word_set("control") and rest[:1] == ("to",) and first != "want":
            return self.be(rest[2:]) if rest[1:2] == ("be",) else self.do(rest[1:])
        if first in word_set("involved"):
            return self._involved(first, rest)
        if first in ("fall", "count", "qualify", "come", "serve", "act", "function") and rest[:1] == ("as",):
            return self.be(rest[1:]) or self.purpose(rest[1:])
        if first in ("help", "allow", "let", "enable", "serve", "assist", "aid") and rest:
            return self.purpose(without("for", rest))
        if first == "be" or (first == "get" and rest and is_participle(rest[0])):
            return self.be(rest)
        return None

    def _involved(self, first: str, rest: Words) -> Claim | None:
        """As in "involve water", "require equipment", "belong to the cat family"."""
        tail = [w for w in rest if w not in ("to", "with", "the", "using", "any", "some", "a", "an")]
        found = self.asked("do", [first, *tail]) if tail else None
        if found is None and first == "belong":
            kind = self.be([w for w in tail if w not in ("category", "class", "group", "family", "kingdom", "of")])
            return None if kind is None or kind.named else kind
        if found is None and tail and first in ("involve", "concern", "relate", "pertain", "deal"):
            found = self.related(tail)
        return found or (joined(rest, lambda r: self.do([first, *r])) if is_joined(rest) else None)

    def _verb_placed(self, first: str, rest: Words) -> Claim | None:
        """As in "live in the sea", "take place in Europe", "come from Asia"."""
        if first not in word_set("at") or not rest or (first == "take" and rest[0] != "place"):
            return None
        at = next((i for i, w in enumerate(rest[:3]) if w in PREPOSITIONS), None)
        if first == "inhabit":
            return self.place(["in", *rest])
        return self.place(rest[at:]) if at is not None and at + 1 < len(rest) else None

    def _done(self, words: Words) -> Claim | None:
        """Read what people do to it: a verb phrase without its object."""
        first = base(words[0])
        phrase = [first, *words[1:]]
        direct = self.asked("ob", phrase)
        if direct is not None:
            return direct
        graded = self._graded(words, self.done)
        if graded is not None:
            return graded[0]
        found = self._handled(first, phrase)
        return found or (joined(words, self.done, shares=True) if is_joined(words) else None)

    def _handled(self, first: str, words: Words) -> Claim | None:
        rest = words[1:]
        at = next((i for i, w in enumerate(words[:4]) if w == "to"), 0)
        if at and word_set("control").issuperset(words[:at]):
            return self.done(words[at + 1 :])
        if first == "use":
            return self.purposed(("used", *rest)) if rest else None
        if first in word_set("at"):
            at = next((i for i, w in enumerate(rest[:4]) if w in PREPOSITIONS), -1)
            return self.place(rest[at:]) if at >= 0 else None
        if first in ("call", "consider", "classify", "describe", "think", "regard", "categorize"):
            rest = rest[1:] if rest[:1] and rest[0] in ("as", "of") else rest
            return self.be(rest) if rest and rest[0] != "the" else None
        if first == "associate":
            return self.related(rest[1:])
        if first == "make" and "of" in rest:
            return self.material(rest[list(rest).index("of") + 1 :])
        return self.purpose(words[:-1]) if words[-1] in ("with", "using") and len(words) > 1 else None

    # --- around nouns ------------------------------------------------------------------------------------------------

    def _adjective(self, words: Words) -> Claim | None:
        """Read the words before a noun: an adjective, the people of a place."""
        return self.asked("adj", words) or (self.on_map(["of", *words]) if words[0] != "of" else None)

    def _modifier(self, words: Words) -> Claim | None:
        """Read what follows a noun: a relative clause, "used for X", "with X", "in X", "you can eat"."""
        first = words[0]
        if first in ("that", "which", "who"):
            return self._relative(words[1:])
        if first == "where" or words[:2] == ("in", "which"):
            rest = words[1 if first == "where" else 2 :]
            return self.sentence(["did", *rest]) or self._relative((*rest, "there")) if rest else None
        if first in ("with", "having", "containing"):
            return self.do(["have", *words[1:]])
        if first == "without":
            found = self.do(["have", *words[1:]])
            return negated(found) if found is not None else None
        if first == "to":
            rest = words[2:] if words[1:2] == ("be",) else words[1:]
            return self.done(self.subject.gap(rest)) or self.purpose(rest)
        if first == "of":
            return self.on_map(words) or self.material(words[1:])
        if self.subject.people(words, 0)[1]:
            return self._relative(words)
        return self.do([base(first), *words[1:]]) if first.endswith("ing") and base(first) != first else self.be(words)

    def _relative(self, words: Words) -> Claim | None:
        """A relative clause without its pronoun."""
        if not words:
            return None
        if words[0] in word_set("aux") and words[1:]:
            return self.clause(self.subject.clause(["it", *words]))
        who, at = self.subject.people(words, 0)
        if not at or at == len(words):
            return self.do(words)
        rest = words[at:]
        while len(rest) > 1 and (rest[0] in word_set("aux") - {"be", "has", "have"} or rest[0] in word_set("adverbs")):
            rest = rest[1:]
        return self.people(rest, who)


def _kept(parse: Parse) -> Parse:
    """Cache a reader; it does not read what is longer than anybody says."""

    @lru_cache(maxsize=1 << 14)
    def kept(words: tuple[str, ...]) -> Claim | None:
        return parse(words) if 0 < len(words) <= LONGEST else None

    return lambda words: kept(tuple(words))
