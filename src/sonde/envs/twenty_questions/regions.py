"""Countries and continents in questions: "in Europe", "from Japan", "American".

Ours. `data/places.txt` has a line `NAME: names / words for its people / continents` per country,
`+NAME: names / members` per group of countries, and `=NAME: names / country` per part of one. People have nations,
places and events have countries or continents, animals have an attribute per continent where they live. A list is
complete: a topic with a list is from nowhere else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from .._shared.english.claims import Claim, strengthen_claim, union_masks
from .._shared.english.tokens import Words, tokenize
from .knowledge import data_rows, topic_knowledge

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
    def is_broad(self) -> bool:
        """Whether it is a continent, or made of some."""
        return self.sign == "*"


@cache
def load_regions() -> Mapping[str, Region]:
    """Every country and group of the data file, and the continents, which come last."""
    found: dict[str, Region] = {}
    for line in data_rows("places"):
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
def _regions_by_word() -> Mapping[str, str]:
    """Words -> country, group or continent."""
    return {" ".join(tokenize(w)): name for name, r in load_regions().items() for w in (*r.names, *r.people)}


def find_region(words: Words) -> str | None:
    """The country, group or continent that these words name."""
    words = [w for w in words if w not in ("the", "a", "an", "modern", "ancient", "day", "present")]
    if len(words) > 2 and words[0] in ("continent", "country", "nation") and words[1] == "of":
        words = words[2:]
    if len(words) > 1 and words[-1] in _TAIL:
        words = words[:-1]
    return _regions_by_word().get(" ".join(words))


def people_words(country: str) -> Sequence[str]:
    """Return the words for the people of a country; empty for anything else.

    >>> people_words("New Zealand"), people_words("guitar")
    (['new zealander'], ())
    """
    name = find_region(tokenize(country))
    return () if name is None else load_regions()[name].people


@cache
def claim_within(name: str) -> Claim:
    """Claim that a topic is from, in or of a region; of a part of a country only where it is false."""
    knows, where = topic_knowledge(), load_regions()[name]
    if where.sign == "=":
        return strengthen_claim(claim_within(next(iter(where.members))), f"part {name} of")
    events, countries = knows.known_topics("event").yes, knows.lists["country"]
    inside, listed = 0, 0
    for field in ("nation", "country"):
        column = knows.lists[field]
        inside |= union_masks(column.things_having(c) for c in (*where.members, name))
        former = union_masks(column.things_having(v) for v in column.known_values if v not in load_regions())
        listed |= column.known_things & ~(former & ~inside if not where.is_broad else 0)
    alone = knows.lists["continent"].known_things & ~countries.several
    continents = knows.lists["continent"]
    yes = (inside & ~events) | (inside & events & alone)
    there = union_masks(continents.things_having(c) for c in where.continents)
    elsewhere = continents.known_things & ~there & ~continents.things_having("worldwide") if where.continents else 0
    yes |= there if where.is_broad else 0
    yes |= (
        union_masks(knows.topics_by_name.get(c.replace("_", " "), 0) for c in where.members)
        & knows.known_topics("country").yes
    )
    lives, style = _living_there(name), _style_of_region(name)
    living = knows.known_topics("alive").yes & ~knows.known_topics("person").yes
    no = (listed & ~events) | elsewhere & ~(events & continents.several) | lives.no & living | style.no
    return Claim(f"in {name}", (yes := yes | lives.yes & living | style.yes), no & ~yes)


def _living_there(name: str) -> Claim:
    """Claim that an animal or plant lives there."""
    known = topic_knowledge().known_topics("australia" if name == "australia_country" else name)
    return Claim(name, known.yes, known.no)


def _style_of_region(name: str) -> Claim:
    """Food of a country's kitchen, and whatever an attribute calls by the region's adjective."""
    knows, yes, no = topic_knowledge(), 0, 0
    where = load_regions()[name]
    for word in where.people[:1] or (where.names[1:2] if where.is_broad else ()):
        kitchen, called = knows.known_topics(f"{word}_food"), knows.known_topics(word)
        yes |= kitchen.yes | called.yes
        no |= kitchen.no & knows.known_topics("food").yes
    return Claim(name, yes, no & ~yes)


@cache
def claim_native(name: str) -> Claim:
    """Claim that a topic is from a region; unknown of what is found all over the world."""
    there, everywhere = claim_within(name), topic_knowledge().known_topics("worldwide").yes
    return there._replace(text=f"from {name}", yes=there.yes & ~everywhere)


@cache
def claim_born(name: str) -> Claim:
    """Claim that somebody was born in a region; unknown of people of several nations."""
    there, people = (
        claim_within(name),
        topic_knowledge().known_topics("person").yes & ~topic_knowledge().lists["nation"].several,
    )
    return Claim(f"born in {name}", there.yes & people, there.no & people)


@cache
def claim_took_part(name: str) -> Claim:
    """Claim that a country took part in an event: true of events that list it, false of events in one other country."""
    knows = topic_knowledge()
    events, countries = knows.known_topics("event").yes, knows.lists["country"]
    yes = union_masks(countries.things_having(c) for c in load_regions()[name].members) & events
    alone = events & countries.known_things & ~countries.several & ~knows.known_topics("war").yes
    return Claim(f"{name} took part", yes, alone & ~yes)
