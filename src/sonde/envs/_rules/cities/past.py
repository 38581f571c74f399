"""Claims on the past: who ruled the country, when the city was founded (see `claims.py`)."""

from __future__ import annotations

from .atlas import City, Truth, atlas
from .claims import Claim


def ruled(kind: str) -> Claim:
    """The country was once ruled by a power."""
    row = atlas().more["ruled"][kind]
    yes, unsure = frozenset(row["yes"].split()), frozenset(row["unsure"].split())
    words = _RULE_WORDS.get(kind, f"my country [was|was not] once under {kind.title()} rule")
    return Claim("history", lambda c: True if c.land.code in yes else None if c.land.code in unsure else False, words)


_RULE_WORDS = {
    "soviet": "my country [was|was not] part of the Soviet Union",
    "yugoslav": "my country [was|was not] part of Yugoslavia",
    "ottoman": "my country [was|was not] part of the Ottoman Empire",
    "habsburg": "my country [was|was not] part of Austria-Hungary",
    "british": "my country [was|was not] once under British rule",
}

_POWERS = ("british", "french", "spanish", "portuguese", "dutch", "belgian", "german", "italian")


def _colony(c: City) -> Truth:
    code, more = c.land.code, atlas().more["ruled"]
    if any(code in more[power]["yes"].split() for power in _POWERS):
        return True
    return False if code in atlas().group("never_colony") else None


COLONY = Claim("history", _colony, "my country [was|was not] once ruled by a European power overseas")

_AGES = ("ancient", "medieval", "early modern", "19th century", "20th century or later")

_YEARS = ((-9000, 500), (500, 1500), (1500, 1800), (1800, 1900), (1900, 2030))


def founded(low: float, high: float, words: str) -> Claim:
    """Founded between two years, by the age of the city."""

    def truth(c: City) -> Truth:
        if c.age is None:
            return None
        first, last = _YEARS[_AGES.index(c.age)]
        return True if low <= first and last <= high else False if last <= low or first >= high else None

    return Claim("history", truth, words)
