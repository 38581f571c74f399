"""Find the city that a message proposes as the answer, in any sentence.

Ours. Names decide (`envs/_shared/english/naming.py`): a message proposes a city if a sentence names it and says nothing
else, apart from a description behind the name ("also known as ...", "which has ..."). Names that the message denies,
reports, supposes or compares with do not count. A country or region behind the name selects one of several namesakes;
if no such city lies there, the guess is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from .._shared.english.claims import union_masks
from .._shared.english.naming import Names, find_proposals
from .._shared.english.sentences import is_reported, read_act
from .._shared.english.tokens import base_form, is_verb, plain_words, word_set
from .atlas import group_masks, load_atlas
from .hearing import normalise_question, read_question
from .readers import area_names, read_area


class Guess(NamedTuple):
    """The cities that a message may mean, how many different ones it names, and a name that is no city of the list."""

    cities: int
    named: int
    strange: str = ""


@cache
def longest_name() -> int:
    """The number of words of the longest name with a country behind it."""
    return max(len(name.split()) for name in load_atlas().by_name) + 6


@cache
def _first_words() -> frozenset[str]:
    """The first words of all names; a message without any of them proposes no city of the list."""
    return frozenset(name.split()[0] for name in load_atlas().by_name) - {"an", "the"}


@lru_cache(maxsize=1 << 13)
def find_named_cities(name: str) -> int:
    """The cities that these words name, with their country or without, as a mask; one more bit stands for a city that
    lies elsewhere."""
    name = name.removeprefix("the ").removeprefix("city of ")
    words, known = name.split(), load_atlas().by_name
    if not words or words[0] not in _first_words():
        return 0
    if name in known:
        return known[name]
    for at in range(len(words) - 1, 0, -1):
        mask = known.get(" ".join(words[:at]), 0)
        rest = words[at + (words[at] == "in") :]
        if mask and rest and (within := read_area(rest)) is not None:
            return mask & ~within.no or 1 << len(load_atlas().cities)
    return 0


@lru_cache(maxsize=1 << 13)
def read_guess(said: str) -> Guess | None:
    """Return the cities that a message proposes; None if it proposes none.

    >>> [read_guess(m).named for m in ("I think the city you are thinking of is Lima, Peru.", "Is it Rome or Oslo?")]
    [1, 2]
    >>> [read_guess(m) for m in ("Is it near Rome?", "Is it not Rome?", "Is it in Singapore?")]
    [None, None, None]
    """
    if len(said) > 2000 or is_reported(said):
        return None
    some = not _first_words().isdisjoint(plain_words(said).split())
    found = find_proposals(said, city_names()) if some else ()
    return Guess(found[0] & load_atlas().all, len(set(found))) if found else _unlisted_guess(said)


@cache
def city_names() -> Names:
    """The names of all cities, as messages are searched for them."""
    begins, epithets = _first_words().__contains__, word_set("loose")
    return Names(find_named_cities, longest_name(), begins=begins, aside=_is_place_name, epithets=epithets)


def _is_place_name(before: str, name: str) -> bool:
    """Whether "in X" is said of a country or a part of one that has the name of a city."""
    return before in ("in", "from", "within") and name.removeprefix("the ") in area_names()


# --- cities that are in no list --------------------------------------------------------------------------------------

_CAPITAL = re.compile(r"(?<=[a-z,] )[A-Z][a-z]|^\W*[A-Z][a-z' -]+(?:, |\W*$)")
"""A name in a sentence, or a name alone."""
_IS = re.compile(
    r"(?:is it|is it in city of|is it called|is it named|it is|are you (?:from|in)|it) "
    r"(?P<x>[a-z' -]{3,40}?)(?: , [a-z ]+)?"
)
_DESCRIPTION = re.compile(r" , (?:known|which|often).*")


def _unlisted_guess(said: str) -> Guess | None:
    """A guess of a city that is not in the list: a name with capitals that means nothing else."""
    act = read_act(said) if _CAPITAL.search(said) else None
    if act is None or act.kind != "asks" or act.denied:
        return None
    found = _IS.fullmatch(
        _DESCRIPTION.sub("", normalise_question(" ".join(act.words).replace("the city of", "city of")))
    )
    if found is None or not _is_name(said, found["x"]) or read_question(said) is not None:
        return None
    return Guess(0, 1, plain_words(found["x"]))


def _is_name(said: str, name: str) -> bool:
    """Whether a name is written with capitals, and none of its words is an ordinary one."""
    words = name.replace("-", " ").split()
    ordinary = word_set("empty") | word_set("adverbs") | word_set("loose") | word_set("generic")
    if len(words) > 3 or any(base_form(w) in ordinary or is_verb(base_form(w)) for w in words):
        return False
    return all(re.search(rf"(?<![.!?] )\b{re.escape(w.title())}", said[1:]) for w in words) and read_area(words) is None


@cache
def _names_without_blanks() -> Mapping[str, int]:
    """The names without blanks -> the cities, as a mask."""
    return group_masks((plain_words(name).replace(" ", ""), c) for c in load_atlas().cities for name in c.names)


def similar_cities(name: str) -> int:
    """Return the cities that a misspelt name may mean; to them the reply is that it is unknown."""
    name = name.replace(" ", "")
    return union_masks(
        mask for own, mask in _names_without_blanks().items() if own[:3] == name[:3] or own in name or name in own
    )
