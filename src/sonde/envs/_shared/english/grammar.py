"""Predicates: what follows "it is", "it does", "people ... it", as claims about the hidden thing.

Own design. Every reader takes words and returns their claim, or None if it does not understand a word that could change
the answer: any word outside all declared phrasings is a veto. Depth and work are bounded. `Forms` reads set forms
("able to fly", "known for jazz", "made of wood", "found in Africa", "used to cut"); each looks for its own words.

`Room` is the reader of one conversation: it takes a message and returns a claim. The conversation's own module provides
its knowledge (`Knows`), its declared lines, the meaning of its names, and how to read places; `Room.read` does the
rest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import lru_cache
from typing import NamedTuple

from .claims import EVERYTHING, Claim, merge_readings, negate_claim, strengthen_claim, weaken_claim
from .lexicon import PREPOSITIONS, Lexicon, be_key, place_key
from .phrases import Naming, Nouns, is_joined, read_conjunction
from .sentences import Clause, Kind, SpeechAct, Subject, read_act
from .tokens import Words, base_form, is_participle, is_verb, mend_slips, phrase_key, singular_form, tokenize, word_set

# --- predicates -------------------------------------------------------------------------------------------------------

Parse = Callable[[Words], "Claim | None"]


class Forms:
    """Readers of set forms; `Grammar` provides the readers of what follows "it is", "it does", "people"."""

    lexicon: Lexicon
    subject: Subject
    be: Parse
    do: Parse
    done: Parse
    nouns: Nouns
    on_map: Parse
    """The reader for words with a preposition of place that the lexicon lacks."""

    def lookup_phrase(self, frame: str, words: Words) -> Claim | None:
        return self.lexicon.lookup_phrase(f"{frame}:{phrase_key(words)}", words)

    def read_people(self, words: Words, who: str) -> Claim | None:
        """Read what people do to it, or what it is to them."""
        if not words:
            return None
        if words[0] == "be":
            return self.done(self.subject.drop_subject(words[1:])) if words[1:2] in (("able",), ("likely",)) else None
        turned = words[0] in ("not", "never")
        rest = self.subject.drop_subject(words[turned:])
        found = self.read_by_whom(rest, who) if who else self.done(rest)
        return negate_claim(found) if found is not None and turned else found

    def read_by_whom(self, rest: Words, who: str) -> Claim | None:
        found = self.lookup_phrase("ob", [*rest, "by", who]) if rest else None
        if found is None and rest and rest[0] in ("use", "wear", "play", "do", "like", "enjoy"):
            found = self.lookup_phrase("ob", ["use", "by", who])
        return found

    def read_set_form(self, words: Words) -> Claim | None:
        """As in "able to fly", "known for jazz", "made of wood", "related to music", "considered a fruit"."""
        first, second = words[0], words[1] if len(words) > 1 else ""
        if first in ("able", "capable", "unable") and second in ("to", "of"):
            found = self.do(words[2:])
            return negate_claim(found) if found is not None and first == "unable" else found
        if first in ("likely", "supposed", "going", "expected", "required", "meant", "known") and second == "to":
            return self.do(words[2:])
        if first == "best" and second in word_set("known"):
            return self.read_set_form(words[1:])
        if first in word_set("known") and second in ("for", "because", "as", "with", "by"):
            return self.read_known_for(words[2:], second)
        if first in word_set("related") or words[:2] == ("part", "of"):
            at = next((i for i, w in enumerate(words[:4]) if w in ("to", "with", "about", "of", "in")), None)
            return self.read_relation(words[at + 1 :]) if at is not None and at + 1 < len(words) else None
        if first in word_set("made"):
            at = next((i for i, w in enumerate(words[:6]) if w in ("of", "from", "with")), None)
            return self.read_material(words[at + 1 :]) if at is not None else None
        if base_form(first) in word_set("called") and len(words) > 1:
            return self.read_naming(words)
        return self.read_people(words[1:], "") if first == "to" else None

    def read_naming(self, words: Words) -> Claim | None:
        """As in "considered to be X", "classified as X"; this asks what a thing is called and is not a guess."""
        rest = list(words[1:])
        while rest and rest[0] in ("to", "be", "as", "of", "being", "under", "into"):
            rest = rest[1:]
        if not rest or (len(rest) + 1 == len(words) and words[0] not in ("considered", "called", "labeled", "deemed")):
            return None
        found = self.be(rest)
        return (
            found._replace(yes=found.yes_or_goal, no=0, goal=0, named=0, guess="") if found and found.named else found
        )

    def read_known_for(self, words: Words, how: str) -> Claim | None:
        """As in "known for X", "famous as X"."""
        if how == "as":
            return self.be(words)
        rest = drop_words("known", words)
        found = self.lookup_phrase("known", rest) or self.lookup_phrase("rel", rest)
        if found is None and rest and is_verb(base_form(rest[0])):
            found = self.do([base_form(rest[0]), *rest[1:]])
        return found or (read_conjunction(rest, lambda r: self.read_known_for(r, how)) if rest else None)

    def read_relation(self, words: Words) -> Claim | None:
        """As in "related to X": what it has to do with."""
        rest = drop_words("rel", words)
        if not rest:
            return None
        found = self.lookup_phrase("rel", rest) or self.lookup_phrase("rel", words)
        if found is None and rest[-1] in ("industry", "field", "activities", "purposes", "in", "work"):
            found = self.lookup_phrase("rel", rest[:-1])
        return found or self.on_map(["in", *rest]) or read_conjunction(rest, self.read_relation) or self._read_kin(rest)

    def _read_kin(self, words: Words) -> Claim | None:
        """Read a kind of thing: what is of that kind has to do with it; other things may, too."""
        kind = self.nouns.read_kind(words)
        return None if kind is None or kind is EVERYTHING else weaken_claim(kind, "related")

    def read_material(self, words: Words) -> Claim | None:
        rest = [w for w in words if w not in ("material", "materials", "either", "both")] or words
        if not rest or rest[0] == "not":
            return None
        return self.lookup_phrase("made", rest) or read_conjunction(rest, self.read_material)

    def read_location(self, words: Words) -> Claim | None:
        """As in "found in X", "in X", "native to X", "from X"."""
        first = words[0]
        if base_form(first) in word_set("at") and len(words) > 2:
            at = next((i for i, w in enumerate(words[1:4], 1) if w in PREPOSITIONS or w == "to"), None)
            if at is not None:
                return self.read_place(words[at:])
        if first in ("common", "popular", "widespread", "abundant", "native", "indigenous") and len(words) > 2:
            return self.read_place(words[1:])
        return self.read_place(words) if first in PREPOSITIONS and len(words) > 1 else None

    def read_place(self, words: Words) -> Claim | None:
        """A place with its preposition, from the lexicon or the map."""
        words = ["from", *words[1:]] if words[0] == "to" else list(words)
        words = [w for w in words if w not in ("located", "region", "typical", "average", "usually", "somewhere")]
        if len(words) < 2:
            return None
        found = self.lexicon.lookup_phrase(place_key(words), words) or self.on_map(words)
        if found is None and is_joined(words) and words[0] in PREPOSITIONS:
            found = read_conjunction(
                words[1:], lambda rest: self.read_place(rest if rest[0] in PREPOSITIONS else [words[0], *rest])
            )
        return found

    def read_use(self, words: Words) -> Claim | None:
        """As in "used to cut", "good for cutting", "designed for cutting", "used in the kitchen", "for children"."""
        if words[0] == "for":
            return self.read_purpose(words[1:]) if words[1:] else None
        if base_form(words[0]) not in word_set("tool"):
            return None
        joint = ("to", "for", "as", "in", "by", "when", "with", "while", "on", "during", "at")
        at = next((i for i, w in enumerate(words[1:5], 1) if w in joint), None)
        if at is None or at + 1 >= len(words):
            return None
        rest, word = words[at + 1 :], words[at]
        found = self.read_purpose(rest) if word not in ("by", "with", "at") else None
        found = found or self.lookup_phrase("ob", ["use", word, *rest])
        if found is None and word in ("for", "by"):
            found = self.lookup_phrase("ob", ["use", "by", *rest])
        return found or (self.read_place(words[at:]) if word in ("in", "at", "on") else None)

    def read_purpose(self, words: Words) -> Claim | None:
        """What it is for, from the words after "for" or "to"."""
        words = drop_words("for", words) if words and words[0] in word_set("skip_for") else list(words)
        while words:
            found = self.lookup_phrase("for", words)
            if found is not None or words[-1] not in word_set("for_tail"):
                return found or read_conjunction(words, self.read_purpose, shares=True)
            words = words[:-1]
        return None


def drop_words(name: str, words: Words) -> list[str]:
    """Drop words at the front that mean nothing after a set form."""
    words = list(words)
    while len(words) > 1 and words[0] in word_set(f"skip_{name}"):
        words = words[1:]
    return words


LONGEST = 40
"""Maximum number of words of a predicate."""
_TO_DO = ("to do with", "a connection to", "a connection with", "a relation to", "a link to")


class Grammar(Forms):
    """A reader of clauses. `naming` says what a noun phrase names, `read_place` reads prepositions of place beyond the
    lexicon, and `by` reads what somebody in particular does to it; all are optional."""

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
        self.nouns = Nouns(naming, self._read_adjective, self._read_modifier)
        self.be, self.do, self.done = (_cache_parse(parse) for parse in (self._read_be, self._read_do, self._read_done))

    # --- clauses -----------------------------------------------------------------------------------------------------

    def read_sentence(self, words: Words) -> Claim | None:
        """The claim of a sentence."""
        if not words or len(words) > LONGEST + 10:
            return None
        whole = self.lexicon.lookup_phrase(f"q:{phrase_key(words)}", words)
        return merge_readings(whole, self.read_clause(self.subject.parse_clause(words)))

    def read_clause(self, clause: Clause) -> Claim | None:
        """The claim of a clause."""
        words = clause.words
        if not words:
            return None
        if clause.frame == "be":
            return self.be(words)
        if clause.frame == "do":
            return self.do(words)
        if clause.frame == "done":
            return self.read_people(words, clause.who)
        if clause.frame == "part":
            return self._read_part(clause.who.split()[-1], words) if clause.who.strip() else None
        return self._by(words) if clause.frame == "by" else self._read_fragment(words)

    def _read_fragment(self, words: Words) -> Claim | None:
        """A guess or a predicate alone: "a guitar", "edible", "has wings", "bigger than a car"."""
        first = words[0]
        if first in ("has", "got", "with"):
            return self.do(["have", *words[1:]])
        if first.endswith("s") and base_form(first) != first and is_verb(base_form(first)) and len(words) > 1:
            return self.do(words)
        return None if first in word_set("open") | {"if", "or", "when"} else self.be(words)

    def _read_part(self, head: str, words: Words) -> Claim | None:
        """As in "its main purpose to cut", "its color red", "its population over a million"."""
        if base_form(head) in word_set("purpose"):
            return self.read_purpose(words[1:] if words[0] in ("to", "for") else words)
        if head in word_set("quality"):
            return self.be(words)
        if head in ("name", "title", "word") and is_verb(words[0]):
            return self.do(words)
        return self.do(["have", "a", head, *words]) or self.do(["have", "a", *words, head])

    # --- readers -----------------------------------------------------------------------------------------------------

    def _read_be(self, words: Words) -> Claim | None:
        """Read what follows "it is"."""
        if words[0] in word_set("aux") and len(words) > 2:
            return self.read_sentence(words)
        whole = self.nouns.read_name(words)
        if whole is not None and whole.named:
            return whole
        direct = self.lexicon.lookup_phrase(be_key(words), words)
        if direct is not None:
            return merge_readings(direct, whole)
        graded = self._read_degree(words, self.be)
        if graded is not None:
            return graded[0]
        if words[0] in word_set("something") and words[1:]:
            return self._read_modifier(words[1:])
        for read in (self.read_set_form, self.read_location, self.read_use):
            found = read(words)
            if found is not None:
                return found
        if is_joined(words):
            found = read_conjunction(words, self.be)
            if found is not None:
                return found
        return self.nouns.read_phrase(words) or self._read_passive(words)

    def _read_degree(self, words: Words, parse: Parse) -> tuple[Claim | None] | None:
        """Read words before a predicate that negate or grade it: the graded claim in a tuple, or None."""
        first, rest = words[0], words[1:]
        if first == ",":
            return (parse(rest),)
        if first in ("not", "never"):
            narrowed = rest[:1] and rest[0] in ("only", "just", "always", "necessarily", "all")
            plain = None if narrowed or not rest or "and" in rest or "but" in rest else parse(rest)
            return (negate_claim(plain) if plain is not None else None,)
        if first in word_set("strong"):
            found = parse(rest)
            return (strengthen_claim(found, "very") if found is not None else None,)
        if first in word_set("weak"):
            found = parse(rest)
            return (weaken_claim(found, "sometimes") if found is not None else None,)
        if first in word_set("refused"):
            return None if first in word_set("ranks") else (None,)
        return (parse(rest),) if first in word_set("adverbs") and rest and "than" not in rest[:1] else None

    def _read_passive(self, words: Words) -> Claim | None:
        """As in "eaten by people": the action, without its agent and the words around it."""
        if not is_participle(words[0]):
            return None
        if words[-2:-1] == ("by",) and words[-1] in word_set("people") | {"humans", "people"}:
            return self.be(words[:-2])
        if len(words) > 2 and words[1] in word_set("adverbs"):
            return self.be([words[0], *words[2:]])
        return None

    # --- verbs -------------------------------------------------------------------------------------------------------

    def _read_do(self, words: Words) -> Claim | None:
        """Read what follows "it does"; the first word is a verb in any form."""
        if words[0] in word_set("aux") - {"have", "has", "had", "do", "be"} and len(words) > 2:
            return self.read_sentence(words)
        first = base_form(words[0])
        phrase = [first, *words[1:]]
        direct = self.lookup_phrase("do", phrase)
        if direct is not None:
            return direct
        graded = self._read_degree(words, self.do) if first not in ("last",) else None
        if graded is not None:
            return graded[0]
        for read in (self._read_having, self._read_verb_form, self._read_verb_of_place):
            found = read(first, phrase[1:])
            if found is not None:
                return found
        return read_conjunction(words, self.do) if is_joined(words) else None

    def _read_having(self, first: str, rest: Words) -> Claim | None:
        """As in "have wings", "have no legs", "have something to do with music"."""
        if first not in word_set("have") or not rest:
            return None
        text = " ".join(rest)
        for form in _TO_DO:
            before, found, after = text.partition(form + " ")
            if found and len(before.split()) < 2:
                claim = self.read_relation(after.split())
                return negate_claim(claim) if claim is not None and before.startswith("nothing") else claim
        if rest[0] == "no":
            found = self.do(["have", *rest[1:]])
            return negate_claim(found) if found is not None else None
        plain = drop_words("have", rest)
        found = self.lookup_phrase("do", ["have", *plain]) if plain else None
        if found is None and first != "have":
            found = self.do(["have", *rest])
        return found or (read_conjunction(rest, lambda r: self.do(["have", *r])) if is_joined(rest) else None)

    def _read_verb_form(self, first: str, rest: Words) -> Claim | None:
        """As in "tend to bite", "need to be plugged in", "involve water", "count as a fruit", "get worn"."""
        rest = tuple(rest)
        if first in word_set("control") and rest[:1] == ("to",) and first != "want":
            return self.be(rest[2:]) if rest[1:2] == ("be",) else self.do(rest[1:])
        if first in word_set("involved"):
            return self._read_involvement(first, rest)
        if first in ("fall", "count", "qualify", "come", "serve", "act", "function") and rest[:1] == ("as",):
            return self.be(rest[1:]) or self.read_purpose(rest[1:])
        if first in ("help", "allow", "let", "enable", "serve", "assist", "aid") and rest:
            return self.read_purpose(drop_words("for", rest))
        if first == "be" or (first == "get" and rest and is_participle(rest[0])):
            return self.be(rest)
        return None

    def _read_involvement(self, first: str, rest: Words) -> Claim | None:
        """As in "involve water", "require equipment", "belong to the cat family"."""
        tail = [w for w in rest if w not in ("to", "with", "the", "using", "any", "some", "a", "an")]
        found = self.lookup_phrase("do", [first, *tail]) if tail else None
        if found is None and first == "belong":
            kind = self.be([w for w in tail if w not in ("category", "class", "group", "family", "kingdom", "of")])
            return None if kind is None or kind.named else kind
        if found is None and tail and first in ("involve", "concern", "relate", "pertain", "deal"):
            found = self.read_relation(tail)
        return found or (read_conjunction(rest, lambda r: self.do([first, *r])) if is_joined(rest) else None)

    def _read_verb_of_place(self, first: str, rest: Words) -> Claim | None:
        """As in "live in the sea", "take place in Europe", "come from Asia"."""
        if first not in word_set("at") or not rest or (first == "take" and rest[0] != "place"):
            return None
        at = next((i for i, w in enumerate(rest[:3]) if w in PREPOSITIONS), None)
        if first == "inhabit":
            return self.read_place(["in", *rest])
        return self.read_place(rest[at:]) if at is not None and at + 1 < len(rest) else None

    def _read_done(self, words: Words) -> Claim | None:
        """Read what people do to it: a verb phrase without its object."""
        first = base_form(words[0])
        phrase = [first, *words[1:]]
        direct = self.lookup_phrase("ob", phrase)
        if direct is not None:
            return direct
        graded = self._read_degree(words, self.done)
        if graded is not None:
            return graded[0]
        found = self._read_treatment(first, phrase)
        return found or (read_conjunction(words, self.done, shares=True) if is_joined(words) else None)

    def _read_treatment(self, first: str, words: Words) -> Claim | None:
        rest = words[1:]
        at = next((i for i, w in enumerate(words[:4]) if w == "to"), 0)
        if at and word_set("control").issuperset(words[:at]):
            return self.done(words[at + 1 :])
        if first == "use":
            return self.read_use(("used", *rest)) if rest else None
        if first in word_set("at"):
            at = next((i for i, w in enumerate(rest[:4]) if w in PREPOSITIONS), -1)
            return self.read_place(rest[at:]) if at >= 0 else None
        if first in ("call", "consider", "classify", "describe", "think", "regard", "categorize"):
            rest = rest[1:] if rest[:1] and rest[0] in ("as", "of") else rest
            return self.be(rest) if rest and rest[0] != "the" else None
        if first == "associate":
            return self.read_relation(rest[1:])
        if first == "make" and "of" in rest:
            return self.read_material(rest[list(rest).index("of") + 1 :])
        return self.read_purpose(words[:-1]) if words[-1] in ("with", "using") and len(words) > 1 else None

    # --- modifiers of nouns ------------------------------------------------------------------------------------------

    def _read_adjective(self, words: Words) -> Claim | None:
        """Read the words before a noun: an adjective, the people of a place."""
        return self.lookup_phrase("adj", words) or (self.on_map(["of", *words]) if words[0] != "of" else None)

    def _read_modifier(self, words: Words) -> Claim | None:
        """Read what follows a noun: a relative clause, "used for X", "with X", "in X", "you can eat"."""
        first = words[0]
        if first in ("that", "which", "who"):
            return self._read_relative(words[1:])
        if first == "where" or words[:2] == ("in", "which"):
            rest = words[1 if first == "where" else 2 :]
            return self.read_sentence(["did", *rest]) or self._read_relative((*rest, "there")) if rest else None
        if first in ("with", "having", "containing"):
            return self.do(["have", *words[1:]])
        if first == "without":
            found = self.do(["have", *words[1:]])
            return negate_claim(found) if found is not None else None
        if first == "to":
            rest = words[2:] if words[1:2] == ("be",) else words[1:]
            return self.done(self.subject.drop_subject(rest)) or self.read_purpose(rest)
        if first == "of":
            return self.on_map(words) or self.read_material(words[1:])
        if self.subject.people_subject(words, 0)[1]:
            return self._read_relative(words)
        return (
            self.do([base_form(first), *words[1:]])
            if first.endswith("ing") and base_form(first) != first
            else self.be(words)
        )

    def _read_relative(self, words: Words) -> Claim | None:
        """A relative clause without its pronoun."""
        if not words:
            return None
        if words[0] in word_set("aux") and words[1:]:
            return self.read_clause(self.subject.parse_clause(["it", *words]))
        who, at = self.subject.people_subject(words, 0)
        if not at or at == len(words):
            return self.do(words)
        rest = words[at:]
        while len(rest) > 1 and (rest[0] in word_set("aux") - {"be", "has", "have"} or rest[0] in word_set("adverbs")):
            rest = rest[1:]
        return self.read_people(rest, who)


def _cache_parse(parse: Parse) -> Parse:
    """Cache a reader; it ignores inputs longer than any real sentence."""

    @lru_cache(maxsize=1 << 14)
    def cached_parse(words: tuple[str, ...]) -> Claim | None:
        return parse(words) if 0 < len(words) <= LONGEST else None

    return lambda words: cached_parse(tuple(words))


# --- a whole message --------------------------------------------------------------------------------------------------

Vocabulary = Callable[[], Collection[str]]


class ReadClaim(NamedTuple):
    """A message as understood: `kind` is "asks" with a claim, or says why there is none."""

    kind: Kind
    claim: Claim | None = None


class Room:
    """See the module. `vocabulary` gives the words for correcting typing errors; `common` tells whether a word is
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
            claim = self._read_corrected_question(act)
        return ReadClaim("asks", claim) if claim is not None else ReadClaim("unclear")

    def _read_corrected_question(self, act: SpeechAct) -> Claim | None:
        """The claim of a question after its typing errors are corrected."""
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
