"""Short statements about a thing ("is eaten by whales") and questions about it in one form: a set of tagged words.

Ours. The words that matter are brought to their base forms, and a tag tells what part they play, so that "Do whales
eat it?" is the same as "is eaten by whales" and not as "eats whales":

    eat~    what is done to it        whale^   who does that          fly!    what it does
    king=   what it is                sea@     where it is            sea     anything else

    was      of the past            did      a statement of what was done once

Function words, people at large ("you", "someone") as those who do something, and verbs that add nothing ("is used
by", "is found in") are left out. A text that denies, compares, chooses or leaves out has no form. What words count as
is in `sayings_words.py`; questions about something else than the thing are in `sayings_asked.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from .sayings_words import PLACING, in_the_past, only_participle, participle, plain, same, stem, stems, turned, verb
from .subjects import PRONOUNS, subject
from .wordlists import word_set

Words = Sequence[str]
Form = frozenset[str]

BE, AUX = word_set("sayings.be"), word_set("sayings.aux")
_RELATIVE = word_set("sayings.relative")
PREPOSITIONS = word_set("sayings.prepositions")
_ANYBODY = word_set("sayings.anybody")
_NEUTRAL = word_set("sayings.neutral")
_EMPTY = word_set("sayings.empty")
"""Verbs that say no more than that somebody has to do with it: used, found, seen."""
_PLACED = word_set("sayings.placed")
"""Verbs behind which "in" tells where it is."""
_MUTUAL = word_set("sayings.mutual")
"""Verbs of which it does not matter who does it to whom."""
_ENABLING = word_set("sayings.enabling")
"""Verbs behind which comes what is done with it: "helps you see"."""
ROLES = {word: to for pair in sorted(word_set("sayings.roles")) for word, _, to in [pair.partition(":")]}
PAST, DID, ALONE = "was", "did", "."
"""Marks of what was so once, and, in a statement, of what was done once; and of a false statement that denies no more
than a question of just its word."""
LONGEST = 16
"""Words of a text that are read."""


def statement(words: Words, *, true: bool = True) -> Form | None:
    """The form of a statement without its subject. "Black or white" is true if each of them may be.

    >>> sorted(statement("is eaten by whales".split()) or ())
    ['eat~', 'whale^']
    """
    words = ["their" if w == "your" else w for w in plain(words) if w != "," and not (true and w == "or")]
    if words[1:2] == ["what"] and words[0] in BE and words[-1] in BE:
        return frozenset(("example", *stems(words[2:-1])))
    if not words or turned(words):
        return None
    form = _predicate(words) if words[0] in BE else _told(words)
    mark = in_the_past(words[0])
    return form and form | {mark} if mark else form


def _told(words: list[str]) -> Form | None:
    """A predicate, or a sentence about it: "monsters hide under it"."""
    if words[-1] in ("it", "one", "them") and not verb(stem(words[0])):
        return done(words, finite=True)
    return _active(words)


def question(words: Words) -> Form | None:
    """The form of a question, or of a statement or fragment that asks; None where it has none.

    >>> question("do whales eat it".split()) == statement("is eaten by whales".split())
    True
    """
    words = readable(words)
    if not words:
        return None
    if words[0] in BE | AUX and not _bare(words):
        form = _asked(words[0], words[1:])
        return form and form | past(words)
    end = subject(words, 0)
    form = _predicate(words[end:]) if end < len(words) and words[end] not in _RELATIVE else None
    return form and form | past(words[end:])


def readable(words: Words) -> list[str]:
    """The words of a question that may have a form; none where it cannot."""
    words = ["their" if w == "your" and i > 2 else w for i, w in enumerate(plain(conditioned(words)))]
    if "you" in words:
        words = [_OF_THE_SPEAKER.get(word, word) for word in words]
    while words and words[-1] == ",":
        words.pop()
    return [] if len(words) < 2 or len(words) > LONGEST or "," in words or turned(words) else words


_OF_THE_SPEAKER = {"i": "you", "me": "you", "my": "their"}


def conditioned(words: Words) -> Words:
    """A question behind or before a condition of what somebody does: "if I heated it, would it melt".

    >>> " ".join(conditioned("if you heated it in a pan , would it melt".split()))
    'would it melt when heated in a pan'
    """
    if "if" not in words[:-2]:
        return words
    at = words.index("if")
    if words[at + 1] not in _SPEAKERS:
        return words
    end = words.index(",") if not at and "," in words else len(words)
    asked = words[end + 1 :] if not at else words[:at]
    if not asked or asked[0] not in BE | AUX:
        return words
    return [*(w for w in asked if w != ","), "when", *(w for w in words[at + 1 : end] if w not in _WEAK_DEEDS)]


_SPEAKERS = ("you", "i", "we", "someone", "somebody", "people", "one")
_WEAK_DEEDS = word_set("sayings.weak_deeds")


def past(words: Words) -> Form:
    """The mark of the past: "was", "did", or a verb in the past with nothing before it or behind "who"."""
    first = (words[0], *(words[i] for i, w in enumerate(words[:-1], 1) if w in ("who", "that", "which")))
    return frozenset((PAST,)) if any(in_the_past(word) for word in first) else frozenset()


def _bare(words: Words) -> bool:
    """Whether a predicate stands alone: "has wheels", "is worn on the head"."""
    if words[0] in ("has", "have"):
        return not subject(words, 1) and words[1] not in ("there", "been") and not is_determiner(words[1])
    return words[0] in BE and participle(words[1])


def _asked(aux: str, rest: list[str]) -> Form | None:
    end = subject(rest, 0)
    if end:
        if end == len(rest):
            return None
        return _predicate([aux, *rest[end:]] if aux in BE or rest[end] == "been" else rest[end:])
    if rest[0] == "there":
        return _there(rest[1:])
    return None if aux in BE else done(rest)


def _there(words: list[str]) -> Form | None:
    """As in "are there nurses in it"."""
    if words and subject(words, len(words) - 1):
        words = words[:-1]
    while words and words[-1] in PREPOSITIONS:
        words = words[:-1]
    found = _phrase(words)
    return found | {"have!"} if found else None


def done(words: list[str], *, finite: bool = False) -> Form | None:
    """What somebody does to it: "whales eat it", "you need ink for it to work"."""
    who, at_verb = _actor(words, finite)
    if at_verb is None:
        return None
    rest = words[at_verb + 1 :]
    at = next((i for i, w in enumerate(rest) if w in PRONOUNS or w in _OBJECTS), None)
    if words[at_verb] == "need" and not who and (at or (at is None and rest)):
        cut = next((i for i, w in enumerate(rest) if w in ("for", "to") and i), len(rest) if at is None else at)
        return _phrase(rest[:cut]) | {"need!"}
    if at is None:
        return None
    return who | _passive([words[at_verb], *rest[:at], *rest[at + 1 :]], who) or None


_OBJECTS = ("one", "them", "him", "her", "this", "that", "there")


def _actor(words: list[str], finite: bool) -> tuple[Form, int | None]:
    """Who does something, and where the verb is."""
    at = next(
        (
            i
            for i, w in enumerate(words)
            if i and verb(stem(w) if finite else w) and not is_determiner(words[i - 1]) and w not in PRONOUNS
        ),
        None,
    )
    return (who(words[:at]), at) if at is not None else (frozenset(), None)


def who(words: Words) -> Form:
    """Those who do something, people at large left out."""
    return frozenset(f"{stem}^" for stem in stems(words) if stem not in _ANYBODY)


def is_determiner(word: str) -> bool:
    return word in ("a", "an", "the", "some", "any")


def _predicate(words: list[str]) -> Form | None:
    """What is said of it, verb first."""
    if words and words[0] in AUX and len(words) > 1 and words[0] not in ("has", "have", "had", "do", "does"):
        words = words[1:]
    if not words:
        return None
    if words[0] in ("has", "have", "had") and words[1:2] == ["been"]:
        words = ["is", *words[2:]]
    if words[0] in BE:
        return _is(words[1:])
    if words[0] in PREPOSITIONS:
        return _phrase(words, placed=True)
    if only_participle(words[0]):
        past = words[1:] and (is_determiner(words[1]) or words[1] not in PREPOSITIONS)
        return _active(words) if past else _passive(words)
    return _active(words)


def _is(rest: list[str]) -> Form | None:
    if not rest:
        return None
    if rest[0] in PREPOSITIONS:
        return _phrase(rest, placed=True)
    if participle(rest[0]) and rest[0] != "left":
        return _passive(rest)
    if rest[0].endswith("ing") and stem(rest[0]) != rest[0]:
        return _active(rest)
    return _complement(rest)


def _passive(words: list[str], who: Form = frozenset()) -> Form:
    found, rest = stem(words[0]), words[1:]
    if found == "use":
        return _purpose(rest) if rest or not who else frozenset()
    if found == "make" and "into" in rest:
        found = "turn"
    placed = found in _PLACED
    head = frozenset[str]() if found in _EMPTY and (rest or who) else frozenset((f"{same(found)}~",))
    return head | _phrase(rest, placed=placed)


def _purpose(rest: list[str]) -> Form:
    """Behind "used": "to cut paper", "for cutting paper", "by referees"."""
    for i, word in enumerate(rest):
        if word in ("to", "for") and rest[i + 1 :] and (word == "to" or rest[i + 1].endswith("ing")):
            return _phrase(rest[:i], placed=True) | _active(rest[i + 1 :])
    return _phrase(rest, placed=True) if rest else frozenset(("use~",))


def _active(words: list[str]) -> Form:
    found, rest = same(stem(words[0])), words[1:]
    if found in _ENABLING:
        at = next((i for i, w in enumerate(rest) if w not in _ANYBODY and w != "to"), 0)
        if rest and verb(rest[at]):
            return _active(rest[at:])
    return _phrase(rest, placed=found in _PLACED) | {f"{found}{'~' if found in _MUTUAL else '!'}"}


def _complement(words: list[str]) -> Form | None:
    """What it is: "a king of France", "salty", "something that tells the time", "that white tomb"."""
    words = words[1:] if words[0] == "that" and len(words) > 2 else words
    end = next(
        (i for i, w in enumerate(words) if w in _RELATIVE or (i and (w in PREPOSITIONS or only_participle(w)))),
        len(words),
    )
    found = stems(words[:end])
    rest = words[end:]
    if rest and rest[0] in _RELATIVE:
        more = _relative(rest)
        if more is None:
            return None
    else:
        more = _passive(rest) if rest and only_participle(rest[0]) else _phrase(rest)
    if not found:
        return more or None
    *before, last = found
    head = () if last in _NEUTRAL else (f"{ROLES[last]}!",) if rest[:1] == ["of"] and last in ROLES else (f"{last}=",)
    return more | {*before, *head} or None


def _relative(words: list[str]) -> Form | None:
    """Behind "something that": "tells the time", "you eat for breakfast", "is eaten"."""
    if words[0] in ("that", "which", "who", "where"):
        words = words[1:]
    if words and not verb(stem(words[0])) and words[0] not in BE | AUX | _ANYBODY:
        return clause(words)
    while words and words[0] in _ANYBODY | AUX:
        words = words[1:]
        if words and verb(words[0]):
            return _passive(words)
    return _predicate(words)


def clause(words: list[str]) -> Form | None:
    """What somebody else does, or has done, there: "gladiators fought", "babies are born"."""
    at = next(
        (i for i, w in enumerate(words) if i and w in BE and participle(words[i + 1] if i + 1 < len(words) else "")), 0
    )
    if at:
        return _phrase(words[:at]) | _passive(words[at + 1 :])
    return done([*words, "it"], finite=True)


def _phrase(words: Words, *, placed: bool = False) -> Form:
    """Anything behind the verb: who does it behind "by", where it is behind "in", if that is meant."""
    found: set[str] = set()
    tag = ""
    for i, word in enumerate(words):
        if word == "by":
            tag = "^"
        elif placed and word in PLACING:
            tag = "@"
        elif word in PREPOSITIONS and tag:
            tag = ""
        for bare in stems((word,)):
            if not (tag == "^" and bare in _ANYBODY) and not (word in BE and i):
                found.add(f"{bare}{tag}")
    return frozenset(found)
