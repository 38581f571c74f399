"""Another place set against the city: "is Oslo farther north than your city" (see `matters.py`).

Ours. The claims are those of `where.py` and `people.py` with the sides changed, in the words that were asked.
"""

from __future__ import annotations

from functools import cache

from . import people, where
from .atlas import City, Truth, atlas
from .claims import Claim
from .replies import Query
from .slots import Match, one, slot
from .words import land_label, lands, town

_BACK = {"north": "south", "south": "north", "east": "west", "west": "east"}
_SMALLER = ("smaller", "fewer", "less")


def _other(m: Match) -> City | None:
    """The city that stands in the slot, if it is no list of them."""
    return None if {"or", "and"} & set(slot(m).split()) else town(slot(m))


def ask_side_of(m: Match) -> Query | None:
    """Whether another city is north, south, east or west of this one."""
    other, side = _other(m), slot(m, "d")
    if other is None:
        return None
    back = where.direction(_BACK[side], other, other.name)
    return one(Claim("distance", back.truth, f"{other.name} [is|is not] {side} of my city"))


def ask_other_bigger(m: Match) -> Query | None:
    """Whether another city has more people, or fewer."""
    other = _other(m)
    if other is None:
        return None
    fewer = slot(m, "s").startswith(_SMALLER)
    turned = people.bigger(other, other.name, 1 if fewer else -1)
    words = f"{other.name} [is|is not] {'smaller' if fewer else 'bigger'} than my city"
    return one(Claim("population", turned.truth, words))


def ask_only_neighbour(m: Match) -> Query | None:
    """Whether a country is the only one on the border."""
    codes = lands(slot(m))
    if not codes:
        return None
    borders = where.neighbour(codes, land_label(slot(m))).truth
    alone = where.borders(1, 1, "").truth

    def truth(c: City) -> Truth:
        found = borders(c)
        return alone(c) if found else found

    return one(Claim("neighbours", truth, f"{land_label(slot(m))} [is|is not] the only neighbour of my country"))


_CAPITALS = {
    "Rio de Janeiro": (1763, 1960), "Salvador": (1549, 1763), "Karachi": (1947, 1959), "Lagos": (1914, 1991),
    "Abidjan": (1934, 1983), "Dar es Salaam": (1891, 1974), "Almaty": (1929, 1997), "Yangon": (1885, 2005),
    "Bonn": (1949, 1990), "Kyoto": (794, 1868), "Nara": (710, 784), "Istanbul": (330, 1923), "Turku": (1809, 1812),
    "Saint Petersburg": (1712, 1918), "Kolkata": (1772, 1911), "Philadelphia": (1790, 1800), "Krakow": (1038, 1596),
    "Turin": (1861, 1865), "Florence": (1865, 1871), "Melbourne": (1901, 1927), "Toledo": (1085, 1561),
    "Quezon City": (1948, 1976), "Belize City": (1884, 1970), "Kaunas": (1920, 1940),
    "Hue": (1802, 1945),
    "Gondar": (1636, 1855), "Mandalay": (1859, 1885), "Ayutthaya": (1351, 1767), "Luang Prabang": (1353, 1560),
    "Nanjing": (1927, 1949), "Isfahan": (1598, 1722), "Xi'an": (581, 904), "Rawalpindi": (1959, 1967),
}  # fmt: skip
"""Cities that were the capital of their country, and are not: the years from and to (of the last time, about)."""


def _ever(c: City) -> tuple[int, int] | None:
    return None if c.capital is not False else _CAPITALS.get(c.name) if c.id in _homonyms() else None


@cache
def _homonyms() -> frozenset[int]:
    """The cities that are meant: of several of one name, the one that has most people."""
    return frozenset(found.id for name in _CAPITALS if (found := town(name.lower())) is not None)


def ask_once_capital(m: Match) -> Query | None:
    """Whether the city was once the capital: told of those known to have been, and of no others."""
    year = slot(m, "n")

    def truth(c: City) -> Truth:
        years = _ever(c)
        return True if years and (not year or years[0] < int(year) <= years[1]) else None

    when = f" before {year}" if year else ""
    return one(Claim("capital", truth, f"my city [was|was not] once the capital of its country{when}"))


_ISSUERS = frozenset(("US", "CH", "AU", "DK", "IL", "ZM", "MW"))
"""Countries whose own currency others use too, or call theirs by the same word."""


def own_currency() -> Claim:
    """A currency that no other country has; of shared ones it is asked whose they are, the euro aside."""
    used = [land.currency for land in atlas().countries.values()]

    def truth(c: City) -> Truth:
        coin = c.land.currency
        if coin == "euro":
            return False
        return True if c.land.code in _ISSUERS or (used.count(coin) == 1 and " and US" not in coin) else None

    return Claim("currency", truth, "my country [has|does not have] a currency of its own")
