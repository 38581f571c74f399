"""Countries and continents in questions: "in Europe", "from Japan", "American".

Ours. `data/places.txt` has a line `NAME: names / words for its people / continents` per country,
`+NAME: names / members` per group of countries, and `=NAME: names / country` per part of one. People have nations,
places and events have countries or continents, animals have an attribute per continent where they live. A list is
complete: whoever has one is from nowhere else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from .._shared.english.claims import Claim, strong, union
from .._shared.english.words import Words, tokens
from .knowledge import knowledge, rows

_TAIL = frozenset(["continent", "people", "person", "origin", "descent", "nationality", "citizen", "country"])


class Region(NamedTuple):
    """A country, a group of them, a part of one or a continent: its names, words for its people, its continents, the
    countries in it, and which sign its line has."""

    names: Sequence[str]
    people: Sequence[str]
    continents: Sequence[str]
    members: Collection[str]
    sign: str = ""

    @property
    def broad(self) -> bool:
        """Whether it is a continent, or made of some."""
        return self.sign == "*"


@cache
def regions() -> Mapping[str, Region]:
    """Every country and group of the data file, and the continents, which come last."""
    found: dict[str, Region] = {}
    for line in rows("places"):
        name, _, rest = line.partition(":")
        names, *more = [[part.strip() for part in field.split(",") if part.strip()] for field in rest.split("/")]
        if name[0] in "+=":
            found[name[1:]] = Region(names, (), (), more[0], name[0])
        elif name[0] == "*":
            inside = [n for n, r in found.items() if not set(more[0]).isdisjoint(r.continents)]
            found[name[1:]] = Region(names, (), more[0], inside, "*")
        else:
            found[name] = Region(names, more[0], more[1], [name])
    return found


@cache
def _words() -> Mapping[str, str]:
    """Words -> country, group or continent."""
    return {" ".join(tokens(w)): name for name, r in regions().items() for w in (*r.names, *r.people)}


def region(words: Words) -> str | None:
    """The country, group or continent that these words name."""
    words = [w for w in words if w not in ("the", "a", "an", "modern", "ancient", "day", "present")]
    if len(words) > 2 and words[0] in ("continent", "country", "nation") and words[1] == "of":
        words = words[2:]
    if len(words) > 1 and words[-1] in _TAIL:
        words = words[:-1]
    return _words().get(" ".join(words))


def people(country: str) -> Sequence[str]:
    """Return the words for the people of a country; empty for anything else.

    >>> people("New Zealand"), people("guitar")
    (['new zealander'], ())
    """
    name = region(tokens(country))
    return () if name is None else regions()[name].people


@cache
def within(name: str) -> Claim:
    """Claim that a topic is from, in or of a region; of a part of a country only where it is false."""
    knows, where = knowledge(), regions()[name]
    if where.sign == "=":
        return strong(within(next(iter(where.members))), f"part {name} of")
    events, countries = knows.known("event").yes, knows.lists["country"]
    inside, listed = 0, 0
    for field in ("nation", "country"):
        column = knows.lists[field]
        inside |= union(column.having(c) for c in (*where.members, name))
        former = union(column.having(v) for v in column.values if v not in regions())
        listed |= column.known & ~(former & ~inside if not where.broad else 0)
    alone = knows.lists["continent"].known & ~countries.several
    continents = knows.lists["continent"]
    yes = (inside & ~events) | (inside & events & alone)
    there = union(continents.having(c) for c in where.continents)
    elsewhere = continents.known & ~there & ~continents.having("worldwide") if where.continents else 0
    yes |= there if where.broad else 0
    yes |= union(knows.lookup.get(c.replace("_", " "), 0) for c in where.members) & knows.known("country").yes
    lives, style = _lives(name), _style(name)
    living = knows.known("alive").yes & ~knows.known("person").yes
    no = (listed & ~events) | elsewhere & ~(events & continents.several) | lives.no & living | style.no
    return Claim(f"in {name}", (yes := yes | lives.yes & living | style.yes), no & ~yes)


def _lives(name: str) -> Claim:
    """Claim that an animal or plant lives there."""
    known = knowledge().known("australia" if name == "australia_country" else name)
    return Claim(name, known.yes, known.no)


def _style(name: str) -> Claim:
    """Food of a country's kitchen, and whatever an attribute calls by the region's adjective."""
    knows, yes, no = knowledge(), 0, 0
    where = regions()[name]
    for word in where.people[:1] or (where.names[1:2] if where.broad else ()):
        kitchen, called = knows.known(f"{word}_food"), knows.known(word)
        yes |= kitchen.yes | called.yes
        no |= kitchen.no & knows.known("food").yes
    return Claim(name, yes, no & ~yes)


@cache
def native(name: str) -> Claim:
    """Claim that a topic is from a region; unknown of what is found all over the world."""
    there, everywhere = within(name), knowledge().known("worldwide").yes
    return there._replace(text=f"from {name}", yes=there.yes & ~everywhere)


@cache
def born(name: str) -> Claim:
    """Claim that somebody was born in a region; unknown of people of several nations."""
    there, people = within(name), knowledge().known("person").yes & ~knowledge().lists["nation"].several
    return Claim(f"born in {name}", there.yes & people, there.no & people)


@cache
def took_part(name: str) -> Claim:
    """Claim that a country took part in an event: true of events that list it, false of events in one other country."""
    knows = knowledge()
    events, countries = knows.known("event").yes, knows.lists["country"]
    yes = union(countries.having(c) for c in regions()[name].members) & events
    alone = events & countries.known & ~countries.several & ~knows.known("war").yes
    return Claim(f"{name} took part", yes, alone & ~yes)
