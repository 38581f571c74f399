"""Short statements about a thing ("is eaten by whales") and questions about it in one form: a set of tagged words.

Ours. The words that matter are brought to their base forms, and a tag tells what part they play, so that "Do whales
eat it?" is the same as "is eaten by whales" and not as "eats whales":

    eat~    what is done to it        whale^   who does that          fly!    what it does
    king=   what it is                sea@     where it is            sea     anything else

    was      of the past

Function words, people at large ("you", "someone") as those who do something, and verbs that add nothing ("is used
by", "is found in") are left out. A text that denies, compares, chooses or leaves out has no form.
"""

from __future__ import annotations

from collections.abc import Sequence

from .english import base, is_base, is_participle
from .subjects import PRONOUNS, subject
from .wordlists import word_set

Words = Sequence[str]
Form = frozenset[str]

_TURNS = word_set("sayings.turns")
_DROPPED = word_set("sayings.dropped")
_BE, _AUX, _PLACING = word_set("sayings.be"), word_set("sayings.aux"), word_set("sayings.placing")
_RELATIVE = word_set("sayings.relative")
_PREPOSITIONS = word_set("sayings.prepositions")
_ANYBODY = word_set("sayings.anybody")
_NEUTRAL = word_set("sayings.neutral")
_EMPTY = word_set("sayings.empty")
"""Verbs that say no more than that somebody has to do with it: used, found, seen."""
_PLACED = word_set("sayings.placed")
"""Verbs behind which "in" tells where it is."""
_SAME = {word: to for pair in sorted(word_set("sayings.same")) for word, _, to in [pair.partition(":")]}
PAST = "was"
LONGEST = 16
"""Words of a text that are read."""


def statement(words: Words) -> Form | None:
    """The form of a statement without its subject.

    >>> sorted(statement("is eaten by whales".split()) or ())
    ['eat~', 'whale^']
    """
    if not words or _turned(words):
        return None
    words = [w for w in words if w not in _DROPPED]
    form = _predicate(words) if words[0] in _BE else _active(words)
    return form and form | _past(words)


def question(words: Words) -> Form | None:
    """The form of a question, or of a statement or fragment that asks; None where it has none.

    >>> question("do whales eat it".split()) == statement("is eaten by whales".split())
    True
    """
    words = [w for w in words if w not in _DROPPED]
    while words and words[-1] == ",":
        words.pop()
    if len(words) < 2 or len(words) > LONGEST or "," in words or _turned(words):
        return None
    if words[0] in _BE | _AUX and not _bare(words):
        form = _asked(words[0], words[1:])
        return form and form | _past(words)
    end = subject(words, 0)
    form = _predicate(words[end:]) if end < len(words) and words[end] not in _RELATIVE else None
    return form and form | _past(words[end:])


def _past(words: Words) -> Form:
    """The mark of the past: "was", "did", or a verb in the past with nothing before it."""
    first = words[0]
    past = first in ("was", "were", "did", "had") or (is_participle(first) and not is_base(first))
    return frozenset((PAST,)) if past else frozenset()


def _bare(words: Words) -> bool:
    """Whether a predicate stands alone: "has wheels", "is worn on the head"."""
    if words[0] in ("has", "have"):
        return not subject(words, 1) and words[1] not in ("there", "been") and not is_determiner(words[1])
    return words[0] in _BE and is_participle(words[1])


def _turned(words: Words) -> bool:
    return not _TURNS.isdisjoint(words)


def _asked(aux: str, rest: list[str]) -> Form | None:
    end = subject(rest, 0)
    if end:
        if end == len(rest):
            return None
        return _predicate([aux, *rest[end:]] if aux in _BE or rest[end] == "been" else rest[end:])
    if rest[0] == "there":
        return _there(rest[1:])
    return None if aux in _BE else _done(rest)


def _there(words: list[str]) -> Form | None:
    """As in "are there nurses in it"."""
    if words and subject(words, len(words) - 1):
        words = words[:-1]
    while words and words[-1] in _PREPOSITIONS:
        words = words[:-1]
    found = _phrase(words)
    return found | {"have!"} if found else None


def _done(words: list[str]) -> Form | None:
    """What somebody does to it: "whales eat it", "you need ink for it to work"."""
    who, verb = _actor(words)
    if verb is None:
        return None
    rest = words[verb + 1 :]
    at = next((i for i, w in enumerate(rest) if w in PRONOUNS or w in _OBJECTS), None)
    if base(words[verb]) == "need" and not who and at:
        cut = next((i for i, w in enumerate(rest) if w in ("for", "to") and i), at)
        return _phrase(rest[:cut]) | {"need!"}
    if at is None:
        return None
    return who | _passive([words[verb], *rest[:at], *rest[at + 1 :]], who) or None


_OBJECTS = ("one", "them", "him", "her", "this", "that")


def _actor(words: list[str]) -> tuple[Form, int | None]:
    """Who does something, and where the verb is."""
    verb = next((i for i, w in enumerate(words) if i and is_base(w) and not is_determiner(words[i - 1])), None)
    if verb is None:
        return frozenset(), None
    return frozenset(f"{stem}^" for stem in _stems(words[:verb]) if stem not in _ANYBODY), verb


def is_determiner(word: str) -> bool:
    return word in ("a", "an", "the", "some", "any")


def _predicate(words: list[str]) -> Form | None:
    """What is said of it, verb first."""
    words = [w for w in words if w not in _DROPPED]
    if words and words[0] in _AUX and len(words) > 1 and words[0] not in ("has", "have", "had", "do", "does"):
        words = words[1:]
    if not words:
        return None
    if words[0] in ("has", "have", "had") and words[1:2] == ["been"]:
        words = ["is", *words[2:]]
    if words[0] in _BE:
        return _is(words[1:])
    if words[0] in _PREPOSITIONS:
        return _phrase(words, placed=True)
    if is_participle(words[0]) and not is_base(words[0]):
        past = words[1:] and (is_determiner(words[1]) or words[1] not in _PREPOSITIONS)
        return _active(words) if past else _passive(words)
    return _active(words)


def _is(rest: list[str]) -> Form | None:
    if not rest:
        return None
    if rest[0] in _PREPOSITIONS:
        return _phrase(rest, placed=True)
    if is_participle(rest[0]) and rest[0] not in ("left",):
        return _passive(rest)
    if rest[0].endswith("ing") and base(rest[0]) != rest[0]:
        return _active(rest)
    return _complement(rest)


def _passive(words: list[str], who: Form = frozenset()) -> Form:
    verb, rest = base(words[0]), words[1:]
    if verb == "use":
        return _purpose(rest) if rest or not who else frozenset()
    placed = verb in _PLACED
    head = frozenset[str]() if verb in _EMPTY and (rest or who) else frozenset((f"{_same(verb)}~",))
    return head | _phrase(rest, placed=placed)


def _purpose(rest: list[str]) -> Form:
    """Behind "used": "to cut paper", "for cutting paper", "by referees"."""
    for i, word in enumerate(rest):
        if word in ("to", "for") and rest[i + 1 :] and (word == "to" or rest[i + 1].endswith("ing")):
            return _phrase(rest[:i], placed=True) | _active(rest[i + 1 :])
    return _phrase(rest, placed=True) if rest else frozenset(("use~",))


def _active(words: list[str]) -> Form:
    verb = _same(base(words[0]))
    return _phrase(words[1:], placed=verb in _PLACED) | {f"{verb}!"}


def _complement(words: list[str]) -> Form | None:
    """What it is: "a king of France", "salty", "something that tells the time"."""
    end = next(
        (i for i, w in enumerate(words) if w in _RELATIVE or (i and (w in _PREPOSITIONS or _joins(w)))), len(words)
    )
    stems = _stems(words[:end])
    rest = words[end:]
    if rest and rest[0] in _RELATIVE:
        more = _relative(rest)
        if more is None:
            return None
    else:
        more = _passive(rest) if rest and _joins(rest[0]) else _phrase(rest)
    if not stems:
        return more or None
    head = () if stems[-1] in _NEUTRAL else (f"{stems[-1]}=",)
    return more | {*stems[:-1], *head} or None


def _joins(word: str) -> bool:
    return is_participle(word) and not is_base(word)


def _relative(words: list[str]) -> Form | None:
    """Behind "something that": "tells the time", "you eat for breakfast", "is eaten"."""
    if words[0] in ("that", "which", "who", "where"):
        words = words[1:]
    if words and not is_base(base(words[0])) and words[0] not in _BE | _AUX | _ANYBODY:
        return _done([*words, "it"])
    while words and words[0] in _ANYBODY | _AUX:
        words = words[1:]
        if words and is_base(words[0]):
            return _passive(words)
    return _predicate(words)


def _phrase(words: Words, *, placed: bool = False) -> Form:
    """Anything behind the verb: who does it behind "by", where it is behind "in", if that is meant."""
    found: set[str] = set()
    tag = ""
    for i, word in enumerate(words):
        if word == "by":
            tag = "^"
        elif placed and word in _PLACING:
            tag = "@"
        elif word in _PREPOSITIONS and tag:
            tag = ""
        for stem in _stems((word,)):
            if not (tag == "^" and stem in _ANYBODY) and not (word in _BE and i):
                found.add(f"{stem}{tag}")
    return frozenset(found)


def _stems(words: Words) -> list[str]:
    return [_same(base(w)) for w in words if w not in _EMPTY_WORDS and w not in PRONOUNS]


_EMPTY_WORDS = word_set("sayings.words") | _PLACING


def _same(stem: str) -> str:
    return _SAME.get(stem, stem)
