"""Set forms of predicates: "able to fly", "known for jazz", "made of wood", "found in Africa", "used to cut".

Ours. Each form looks for its own words and gives None where they are not there, or where what they lead to is not
understood.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import clauses, joins
from .english import base, is_base
from .phrases import PREPOSITIONS, asked, at_home, key, place_key
from .queries import Query, negated, strong
from .regions import belonging, born, native, region, within
from .topics import name_key
from .wordlists import word_set

Words = Sequence[str]

_CALLED = word_set("forms.called")


AT_VERBS = word_set("forms.at_verbs")


_TOOL = word_set("forms.tool")


def special_be(words: Words, depth: int) -> Query | None:
    """As in "able to fly", "known for jazz", "made of wood", "related to music", "something you wear", "to eat"."""
    first, second = base(words[0]), words[1] if len(words) > 1 else ""
    if first in ("able", "capable") and second in ("to", "of"):
        return clauses.do_predicate(words[2:], depth + 1)
    if first == "unable" and second == "to":
        found = clauses.do_predicate(words[2:], depth + 1)
        return negated(found) if found else None
    if first in ("likely", "supposed", "going", "expected", "required", "known") and second == "to":
        return clauses.do_predicate(words[2:], depth + 1)
    if words[0] in (
        "known",
        "famous",
        "renowned",
        "celebrated",
        "remembered",
        "recognized",
        "recognised",
        "notable",
        "popular",
        "associated",
        "noted",
    ) and second in ("for", "because", "as", "with", "by"):
        return _known(words, depth)
    if first == "best" and second in ("known", "remembered"):
        return _known(words[1:], depth)
    if words[0] in ("made", "built", "composed", "constructed", "manufactured", "formed", "crafted", "produced"):
        return made(words)
    if words[0] in ("related", "connected", "linked", "associated", "about", "relevant", "tied") or words[:2] in (
        ["part", "of"],
        ("part", "of"),
    ):
        return _related(words)
    if first in ("get", "to") and len(words) > 1:
        rest = words[1:] if first == "to" else words
        return clauses.done_to(rest, depth + 1) if first == "to" else clauses.be_predicate(words[1:], depth + 1)
    return None


MAKING = word_set("phrases.making")
_MAKERS = word_set("phrases.makers")


def made_it(verb: str, words: Words) -> Query | None:
    """As in "did it paint the Mona Lisa": the base of the verb, and what was made."""
    return asked(f"mk:{key(words)}") if verb in MAKING and words else None


def maker(words: Words, depth: int) -> Query | None:
    """As in "the author of Hamlet", "painted by Picasso", "by Shakespeare"."""
    rest = after(words, ("the", "a", "an", "famous", "original", "main"), 0)
    if len(rest) > 2 and rest[0] in _MAKERS and rest[1] in ("of", "behind"):
        return asked(f"mk:{key(rest[2:])}")
    if len(words) > 2 and words[1] == "by" and (found := asked(f"by:{key([*words[2:], base(words[0])])}")) is not None:
        return found
    at = 0 if words[0] == "by" else 1 if base(words[0]) in MAKING and words[1:2] in (["by"], ("by",)) else None
    return asked(f"mb:{key(words[at + 1 :])}") if at is not None and len(words) > at + 1 else None


def _known(words: Words, depth: int) -> Query | None:
    """As in "known for X", "famous because of X", "famous as X"."""
    at = next((i for i, w in enumerate(words) if w in ("for", "as", "with", "by", "because")), 0)
    rest = words[at + 1 :]
    if rest and rest[0] == "of":
        rest = rest[1:]
    rest = after(
        rest,
        (
            "their",
            "his",
            "her",
            "its",
            "being",
            "having",
            "work",
            "contributions",
            "achievements",
            "to",
            "in",
            "involvement",
            "or",
            "role",
            "a",
            "an",
        ),
        0,
    )
    if words[at] == "as":
        return clauses.be_predicate(rest, depth + 1)
    options = (f"known:{key(rest)}", f"rel:{key(rest)}", f"mk:{key(rest)}")
    if words[0] == "associated":
        options = options[::-1]
    found = next((q for o in options if (q := asked(o)) is not None), None)
    if found is None and rest and (is_base(base(rest[0])) or words[at + 1 : at + 2] == ["being"]):
        found = clauses.do_predicate([base(rest[0]), *rest[1:]], depth + 1)
    return found or joins.coordinated(rest, lambda r: _known(["known", "for", *r], depth + 1) if depth < 4 else None)


def after(words: Words, skipped: Sequence[str], at: int) -> Words:
    while at < len(words) and words[at] in skipped:
        at += 1
    return words[at:]


def made(words: Words) -> Query | None:
    """As in "made (mostly) (out) of X"; anything else that is made is in the lexicon."""
    at = next((i for i, w in enumerate(words[:5]) if w in ("of", "from", "with")), None)
    if at is None:
        return None
    rest = words[at + 1 :]
    return material(rest) or joins.coordinated(rest, material)


def material(words: Words) -> Query | None:
    if words and words[0] in ("either", "both", "not"):
        return None if words[0] == "not" else joins.coordinated(words[1:], material)
    rest = [w for w in words if w not in ("material", "materials")] or words
    return asked(f"made:{key(rest)}")


def _related(words: Words) -> Query | None:
    """As in "related to X", "associated with X", "part of X"."""
    at = next((i for i, w in enumerate(words[:3]) if w in ("to", "with", "about", "of")), None)
    if at is None:
        return None
    direct = asked(f"is:{key(words)}")
    if tuple(words[:2]) == ("part", "of") and (name := region(list(words[2:]))) is not None:
        direct = direct or belonging(name)
    return direct or related(words[at + 1 :])


def related(words: Words) -> Query | None:
    """What has to do with something."""
    words = (
        after(words, ("the", "a", "field", "world", "topic", "subject", "area", "concept", "of"), 0)
        if len(words) > 1
        else words
    )
    found = asked(f"rel:{key(words)}")
    if found is None and words and words[-1] in ("industry", "field", "activities", "purposes", "in"):
        found = asked(f"rel:{key(words[:-1])}")
    return found or joins.coordinated(words, related)


def called(words: Words, depth: int) -> Query | None:
    """As in "considered to be X", "classified as X", "thought of as X"."""
    if base(words[0]) not in _CALLED or len(words) < 2:
        return None
    rest = after(words, ("to", "be", "as", "of", "being"), 1)
    rest = after(rest, ("under", "in", "into"), 0) if words[0] in ("categorized", "classified") else rest
    if rest == words[1:] and words[0] not in ("considered", "called", "labeled"):
        return None
    rest = [w for w in rest if w not in ("category", "group")] if base(words[0]) in ("categorize", "classify") else rest
    found = clauses.be_predicate(rest, depth + 1)
    return _by_name(found, name_key(" ".join(rest))) if found is not None and found.named else found


def _by_name(found: Query, name: str) -> Query:
    """What a thing is called as well is asked, not guessed; of things of another sort it may be true in its own way."""
    no = found.no & at_home(found.goal)
    if found.guess and name_key(found.guess) == name:
        return found._replace(no=no)
    return Query(f"called {name}", found.goal, no)


_SPREAD = frozenset(("grown", "cultivated"))
"""What is done to a crop in other countries than its own as well."""


def placed(words: Words, depth: int) -> Query | None:
    """As in "found in X", "in X", "native to X", "from X"."""
    first = words[0]
    if first == "born" and words[1:2] in (["in"], ("in",)):
        name = region(list(words[2:]))
        return born(name) if name is not None else None
    if base(first) in AT_VERBS and len(words) > 2 and first not in ("common", "see", "get"):
        at = next((i for i, w in enumerate(words[1:4], 1) if w in PREPOSITIONS or w in ("to", "place")), None)
        if at is not None:
            found = place(words[at + 1 :] if words[at] == "place" else words[at:])
            return found._replace(no=0) if found is not None and first in _SPREAD and region(words[at + 1 :]) else found
    if words[0] in (
        "made",
        "produced",
        "created",
        "invented",
        "filmed",
        "developed",
        "manufactured",
        "based",
    ) and words[1:2] in (["in"], ("in",)):
        name = region(list(words[2:]))
        return within(name) if name is not None and words[0] not in ("made", "manufactured", "developed") else None
    if first in ("common", "popular", "widespread", "abundant") and len(words) > 2 and words[1] in ("in", "on"):
        return place(words[1:])
    return place(words) if first in PREPOSITIONS and len(words) > 1 else None


def place(words: Words) -> Query | None:
    """A place with its preposition, from the lexicon or the map."""
    if not words:
        return None
    if words[0] == "to":
        words = ("from", *words[1:])
    words = [
        w
        for w in words
        if w
        not in ("located", "region", "typical", "average", "regular", "usually", "somewhere", "wild_", "parts", "part")
    ]
    if len(words) < 2:
        return None
    found = asked(place_key(words))
    if found is not None:
        return found
    if words[0] == "outside":
        name = region([w for w in words[1:] if w != "of"])
        return negated(within(name)) if name is not None else None
    if words[0] in ("from", "in", "of", "within", "inside", "throughout", "across", "to", "at"):
        name = region(list(words[1:]))
        if name is not None:
            found = native(name) if words[0] in ("from", "of") else within(name)
            return found._replace(no=found.no & ~within("americas").yes) if words[-1] == "america" else found
        part = [w for w in words[1:] if w not in _DIRECTIONS]
        name = region(part) if len(part) < len(words) - 1 else None
        if name is not None:
            return strong(within(name), "part of")
    if words[0] in PREPOSITIONS and joins.joined_in(words):
        return joins.coordinated(
            words[1:], lambda rest: place([words[0], *rest]) if rest and rest[0] not in PREPOSITIONS else place(rest)
        )
    return None


_DIRECTIONS = ("northern", "southern", "eastern", "western", "central", "north", "south", "east", "west", "of")
"""Words for a part of a region: where the region is wrong, its parts are; where it is right, that is not known."""


def purposed(words: Words, depth: int) -> Query | None:
    """As in "used to cut", "good for cutting", "designed for cutting", "for cutting"."""
    first = base(words[0])
    at = next(
        (
            i
            for i, w in enumerate(words[:5])
            if w in ("to", "for", "as", "in", "by", "when", "with", "while", "on", "during", "at")
        ),
        None,
    )
    if (
        at is None
        or at + 1 >= len(words)
        or (first not in _TOOL and words[0] != "for")
        or (at == 0 and words[0] != "for")
    ):
        return None
    rest = words[at + 1 :]
    if words[at] in ("to", "for") or (words[at] in ("in", "when", "while", "as", "during", "on") and first == "use"):
        found = purpose(rest, depth + 1)
        if found is not None:
            return found
    if words[at] in ("by", "for"):
        return asked(f"ob:use by {key(rest)}") or joins.coordinated(rest, lambda r: asked(f"ob:use by {key(r)}"))
    if words[at] in ("in", "at", "on", "with", "during", "when"):
        return asked(f"ob:use {words[at]} {key(rest)}") or (
            place(words[at:]) if words[at] in ("in", "at", "on") else None
        )
    return None


def purpose(words: Words, depth: int) -> Query | None:
    """What something serves for."""
    if not words or depth > 6:
        return None
    words = after(
        words,
        ("help", "people", "you", "us", "make", "the", "purpose", "purposes", "of", "to", "in", "do", "for")
        if words[0] in ("help", "the", "purposes", "you")
        else ("the",),
        0,
    )
    while len(words) > 1 and words[-1] in (
        "purposes",
        "purpose",
        "reasons",
        "activities",
        "things",
        "stuff",
        "something",
        "items",
        "objects",
        "it",
        "with",
        "other",
        "people",
        "tasks",
    ):
        found = asked(f"for:{key(words)}")
        if found is not None:
            return found
        words = words[:-1]
    if not words:
        return None
    return asked(f"for:{key(words)}") or joins.coordinated(words, lambda rest: purpose(rest, depth + 1))
