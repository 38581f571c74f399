"""Countries and continents in questions: "in Europe", "from Japan", "American".

Ours. The phrase file has a line `nation NAME: names / words for its people / continent` per country. People have
nations, places and events countries or continents, animals an attribute per continent where they live.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from .english import tokens
from .phrases import raw_lines
from .queries import Query, atom
from .topics import Known, knowledge
from .wordlists import word_list

CONTINENTS = {
    "africa": ("africa", "african"),
    "asia": ("asia", "asian"),
    "europe": ("europe", "european"),
    "north_america": ("north america", "north american"),
    "south_america": ("south america", "south american"),
    "australia": ("oceania", "australasia", "oceanian"),
    "antarctica": ("antarctica", "antarctic"),
}
"""Continent -> names and adjectives."""
_GROUPS = {
    "americas": (("americas", "new world"), ("north_america", "south_america")),
    "eurasia": (("eurasia",), ("europe", "asia")),
    "latin_america": (("latin america", "latin american", "latino"), ()),
    "middle_east": (("middle east", "middle eastern"), ()),
    "scandinavia": (("scandinavia", "scandinavian"), ()),
    "british_isles": (("british isles",), ()),
}
_MEMBERS = {
    "latin_america": "mexico cuba colombia venezuela peru chile argentina brazil uruguay paraguay bolivia ecuador"
    " guatemala honduras nicaragua panama costa_rica el_salvador dominican_republic",
    "middle_east": "iran iraq israel palestine syria lebanon jordan saudi_arabia yemen oman kuwait qatar bahrain"
    " united_arab_emirates",
    "scandinavia": "sweden norway denmark",
    "british_isles": "united_kingdom ireland",
}


class Part(NamedTuple):
    """A part of a nation: what is surely of it, and what may be. The chief part has all the rest."""

    nation: str
    words: Sequence[str]
    inside: int
    chief: bool


class Nation(NamedTuple):
    names: Sequence[str]
    people: Sequence[str]
    continents: Sequence[str]


@cache
def nations() -> Mapping[str, Nation]:
    """Every country of the phrase file."""
    found: dict[str, Nation] = {}
    for what, rest in raw_lines():
        if what.startswith("nation "):
            names, people, where = (tuple(p.strip() for p in part.split(",") if p.strip()) for part in rest.split("/"))
            found[what[7:]] = Nation(names, people, where)
    return found


@cache
def parts() -> Mapping[str, Part]:
    """England, Scotland, ...: where their people, places and things are known apart."""
    found: dict[str, Part] = {}
    for row in word_list("regions.parts"):
        name, nation, words, topics = (field.strip() for field in row.split("|"))
        inside = 0
        for topic in topics.split("+"):
            inside |= 1 << knowledge().index[topic.strip()] if topic.strip() != "rest" else 0
        found[name] = Part(nation, tuple(words.split(", ")), inside, topics == "rest")
    return found


@cache
def _within_part(name: str) -> Query:
    """What is of a part of a nation; what the list leaves open is not known."""
    knows, part = knowledge(), parts()[name]
    whole, unsure = within(part.nation), 0
    for topic in word_list("regions.unsure"):
        unsure |= 1 << knows.index[topic]
    apart = 0
    for other in parts().values():
        apart |= other.inside if other != part else 0
    rest = whole.yes & ~part.inside & ~apart & ~unsure
    some = knows.roots["person"] | knows.roots["place"] | knows.roots["fictional_character"]
    yes = part.inside | (rest if part.chief else 0)
    return atom(f"in {name}", Known(yes, whole.no & ~yes | apart | (0 if part.chief else rest & some)))


@cache
def _words() -> Mapping[str, str]:
    """Words -> country, continent or group."""
    found: dict[str, str] = {}
    for name, nation in nations().items():
        found.update({" ".join(tokens(w)): name for w in (*nation.names, *nation.people)})
    for name, part in parts().items():
        found.update(dict.fromkeys(part.words, name))
    for name, words in CONTINENTS.items():
        found.update(dict.fromkeys(words, name))
    for name, (words, _) in _GROUPS.items():
        found.update(dict.fromkeys(words, name))
    return found


def region(words: Sequence[str]) -> str | None:
    """The country, continent or group that these words name."""
    if words and words[0] in ("the", "a", "an"):
        words = words[1:]
    if len(words) > 1 and words[-1] in ("continent", "people", "person", "origin", "descent", "nationality", "citizen"):
        words = words[:-1]
    found = _words().get(" ".join(words))
    if found is None and len(words) > 2 and words[:2] in (["continent", "of"], ["country", "of"]):
        found = _words().get(" ".join(words[2:]))
    return found


@cache
def within(name: str) -> Query:
    """Which topics are from, in or of a region."""
    if name in parts():
        return _within_part(name)
    knows, listed, yes = knowledge(), 0, 0
    inside = _countries(name)
    events = knows.known("event").yes
    for field in ("nation", "country"):
        listed |= knows.listed(field) & ~events
        for country in knows.values(field):
            if country in inside or country == name:
                yes |= knows.members(field, country) & ~(events & ~_alone(country))
            elif country not in nations() and name not in nations():
                listed &= ~(knows.members(field, country) & ~yes)
    continents = _continents(name)
    yes |= _members(name)
    apart = 0
    for c in knows.values("continent"):
        if name in nations():
            apart |= knows.members("continent", c) if c not in continents and c != "worldwide" else 0
        elif c in continents or c == name:
            yes |= knows.members("continent", c)
        elif name in CONTINENTS or name == "americas":
            apart |= knows.members("continent", c)
    apart &= ~(events & _several("continent"))
    lives, style = _lives(name), _style(name)
    people = knows.known("person").yes
    yes |= lives.yes | style.yes
    no = (listed | apart) | lives.no & ~people | style.no
    return atom(f"in {name}", Known(yes, no & ~yes))


def _members(name: str) -> int:
    """The countries of a group that has a list of them."""
    knows, found = knowledge(), 0
    for country in _MEMBERS.get(name, "").split():
        found |= knows.lookup.get(country.replace("_", " "), 0) & knows.known("country").yes
    return found


def _lives(name: str) -> Known:
    """Where animals and plants live; of countries, only the one that is a continent has an attribute."""
    if name != "australia_country":
        return knowledge().known(name)
    found, living = knowledge().known("australia"), knowledge().known("alive").yes & ~knowledge().known("person").yes
    return Known(found.yes & living, found.no & living)


@cache
def took_part(name: str) -> Query:
    """Which events a country had a part in, as far as is known; it is never false."""
    knows, yes = knowledge(), 0
    events = knows.known("event").yes
    for country in _countries(name):
        yes |= knows.members("country", country) & events
    return atom(f"{name} took part", Known(yes, 0))


@cache
def native(name: str) -> Query:
    """Which topics are from a region; of what is found all over the world that is not known."""
    there, everywhere = within(name), knowledge().known("worldwide").yes
    if not there.yes & everywhere:
        return there
    return atom(f"from {name}", Known(there.yes & ~everywhere, there.no))


@cache
def born(name: str) -> Query:
    """Who was born in a region: of people of several nations, or of one that most came to, that is not known."""
    there, moved = within(name), _several("nation") | knowledge().members("nation", "israel")
    people = knowledge().known("person").yes
    return atom(
        f"born in {name}", Known(there.yes & people & ~moved, (there.no & people & ~moved) | ~people & knowledge().all)
    )


def _alone(country: str) -> int:
    """The topics that list this country and no other, and a continent; the countries of an event took part in it, some
    from elsewhere."""
    return knowledge().members("country", country) & knowledge().listed("continent") & ~_several("country")


@cache
def _several(field: str) -> int:
    """The topics whose list has more than one value."""
    once = twice = 0
    for value in knowledge().values(field):
        members = knowledge().members(field, value)
        once, twice = once | members, twice | once & members
    return twice


def _style(name: str) -> Known:
    """Food of a country's kitchen, and whoever and whatever an attribute calls by the country's adjective."""
    knows = knowledge()
    words = nations()[name].people[:1] if name in nations() else CONTINENTS.get(name, ("", ""))[1:2]
    yes = no = 0
    for word in words:
        kitchen = knows.known(f"{word}_food")
        yes |= kitchen.yes | knows.known(word).yes
        no |= kitchen.no & knows.known("food").yes
    return Known(yes, no)


def _countries(name: str) -> frozenset[str]:
    """The countries of a region; of a country, itself."""
    if name in nations():
        return frozenset([name, "australia"] if name == "australia_country" else [name])
    if name in _MEMBERS:
        return frozenset(_MEMBERS[name].split())
    wanted = set(_continents(name))
    return frozenset(n for n, nation in nations().items() if wanted & set(nation.continents))


def _continents(name: str) -> Sequence[str]:
    if name in nations():
        return nations()[name].continents
    return _GROUPS[name][1] if name in _GROUPS else (name,)


def belonging(name: str) -> Query | None:
    """As in "part of Italy", "belong to Italy": of places in one nation only; what is in several is part of none."""
    if name not in nations():
        return None
    there, places = within(name), knowledge().roots["place"] & ~knowledge().known("country").yes
    alone = places & knowledge().listed("country") & ~_several("country")
    return atom(f"part of {name}", Known(there.yes & alone, there.no & places))


_HISTORY = re.compile(
    r"(?:(?:an? |the )?(?:\w+ )?(?:part|event|figure|person|episode|moment|chapter|war|battle|king|queen|ruler|leader) "
    r"|something |someone |important )?(?:of|in|from) (?:(?:the )?history of (?:the )?(.+)|(?:the )?(.+) history)"
)


def history(words: Sequence[str]) -> Query | None:
    """As in "part of Japanese history", "an event in the history of France"."""
    row = _HISTORY.fullmatch(" ".join(words)) if "history" in words else None
    name = region((row[1] or row[2]).split()) if row is not None else None
    if name is None or name in parts():
        return None
    knows, there, part = knowledge(), within(name), took_part(name)
    people, events = knows.known("person").yes, knows.known("event").yes
    near = 0
    for continent in _continents(name):
        near |= knows.members("continent", continent)
    apart = events & knows.listed("country") & knows.listed("continent") & ~_several("country") & ~near
    no = apart & ~part.yes & ~there.yes if name in nations() and name not in _EVERYWHERE else 0
    yes = part.yes | there.yes & (people & ~knows.known("alive_now").yes | events)
    return atom(f"history of {name}", Known(yes, no & ~yes))


_EVERYWHERE = (
    "united_states",
    "united_kingdom",
    "france",
    "spain",
    "portugal",
    "russia",
    "soviet_union",
    "netherlands",
)
"""Nations that had a part in what happened far from them."""
