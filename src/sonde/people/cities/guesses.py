"""Which cities a message proposes as the answer, in whatever sentence it does so.

Ours. What counts is what is named (`language/naming.py`): a message proposes a city where the sentence that names it
says nothing else, once a description behind the name ("also known as ...", "which has ...") is cut off. Names that
are denied, reported, supposed or compared with do not count. A country or a part of one behind the name tells
namesakes apart; with one in which no such city lies it is a wrong guess.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from ..language.acts import heard
from ..language.lists import word_set
from ..language.naming import Names, lookup, name_key, proposals, reported, verdict_on
from ..language.words import base, is_verb
from . import places
from .atlas import City, atlas, plain
from .hearing import asked, turned
from .readers import area


class Guess(NamedTuple):
    """The cities that a message may mean, how many different ones it names, and a name that is no city of the list."""

    cities: int
    named: int
    strange: str = ""


@cache
def longest() -> int:
    """Words of the longest name with a country behind it."""
    return max(len(name.split()) for name in atlas().by_name) + 6


@cache
def _first_words() -> frozenset[str]:
    """What the names begin with: without one of these there is none."""
    return frozenset(name.split()[0] for name in atlas().by_name) - {"an", "the"}


def _may_begin(word: str) -> bool:
    return word in _first_words()


_CAPITAL = re.compile(r"(?<=[a-z,] )[A-Z][a-z]|^\W*[A-Z][a-z' -]+(?:, |\W*$)")
"""A name in a sentence, or a name alone."""


@lru_cache(maxsize=1 << 13)
def cities_named(name: str) -> int:
    """The cities that words name, with their country or without; beyond them one bit for a city that lies elsewhere."""
    name = name.removeprefix("the city of ").removeprefix("city of ").removeprefix("the ")
    if name.partition(" ")[0] not in _first_words():
        return 0
    known = atlas().by_name
    if name in known:
        return known[name]
    words = name.split()
    for at in range(len(words) - 1, 0, -1):
        mask = known.get(" ".join(words[:at]), 0)
        rest = words[at + 1 :] if words[at] == "in" else words[at:]
        if mask and rest and (within := area(rest)) is not None:
            return mask & ~within.no or 1 << len(atlas().cities)
    return 0


@lru_cache(maxsize=1 << 13)
def proposed(said: str) -> Guess | None:
    """The cities that a message proposes; None if it proposes none.

    >>> [proposed(m).named for m in ("I think the city you are thinking of is Lima, Peru.", "Is it Rome or Oslo?")]
    [1, 2]
    >>> [proposed(m) for m in ("Is it near Rome?", "Is it not Rome?", "Is it in Singapore?")]
    [None, None, None]
    """
    if len(said) > 2000 or reported(said):
        return None
    some = not _first_words().isdisjoint(plain(said).split())
    found = proposals(said, cities_named, longest(), _is_place, _may_begin) if some else ()
    if not found:
        return strange(said) if _CAPITAL.search(said) else None
    different = {frozenset([mask]) for mask in found}
    mask = found[0] & atlas().all
    return Guess(mask, len(different))


def names_it(said: str, title: str) -> bool:
    """Whether a message proposes a city that is in no list, by its name, with its country or without."""
    name, _, country = title.rpartition(", ")
    known = lookup({name_key(name): 1, name_key(f"{name} {country}"): 1, name_key(f"{name} in {country}"): 1})
    return verdict_on(said, Names(known, len(title.split()) + 3, 1)) == "right"


def _is_place(before: str, name: str) -> bool:
    """Whether "in X" is said of a country or a part of one that has the name of a city."""
    return before in ("in", "from", "within") and name.removeprefix("the ") in places.areas()


_IS = re.compile(
    r"(?:is it|is it in city of|is it called|is it named|it is|are you (?:from|in)|it) "
    r"(?P<x>[a-z' -]{3,40}?)(?: , (?P<land>[a-z ]+))?"
)


def strange(said: str) -> Guess | None:
    """A guess of a city that is not in the list: a name with capitals that means nothing else."""
    act = heard(said)
    if act.kind != "asks" or act.denied:
        return None
    text = (
        turned(" ".join(act.words).replace("the city of", "city of"))
        .split(" , known")[0]
        .split(" , which")[0]
        .split(" , often")[0]
    )
    m = _IS.fullmatch(text)
    if m is None or not _capital(said, m["x"]) or asked(said) is not None:
        return None
    return Guess(0, 1, plain(m["x"]))


def _capital(said: str, name: str) -> bool:
    """Whether a name is written with capitals, and none of its words is an ordinary one."""
    words = name.replace("-", " ").split()
    ordinary = word_set("empty") | word_set("adverbs") | word_set("loose") | word_set("generic")
    if len(words) > 3 or any(base(w) in ordinary or is_verb(base(w)) for w in words):
        return False
    return all(re.search(rf"(?<![.!?] )\b{re.escape(w.title())}", said[1:]) for w in words) and area(words) is None


def resembles(name: str, city: City) -> bool:
    """Whether a name that is not in the list may be a way to write the city's: then nothing is said."""
    for own in (city.name, *city.aliases):
        a, b = plain(own).replace(" ", ""), name.replace(" ", "")
        if a[:3] == b[:3] or a in b or b in a or _apart(a, b) <= 2:
            return True
    return False


def _apart(a: str, b: str) -> int:
    """Edit distance, cut off at 3."""
    if abs(len(a) - len(b)) > 2:
        return 3
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return min(3, row[-1])


__all__ = ["Guess", "cities_named", "longest", "name_key", "names_it", "proposed", "resembles", "strange"]
