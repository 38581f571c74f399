"""Claims on how many people live in a city, alone and against other cities (see `claims.py`)."""

from __future__ import annotations

from .atlas import City, Truth, all_of, atlas, size
from .claims import Claim, limits


def people(low: float, high: float, words: str) -> Claim:
    """Between `low` and `high` people in the urban area."""

    def truth(c: City) -> Truth:
        if c.people is None:
            return None
        least, _, most = (1000 * n for n in c.people)
        return True if least > low and most < high else False if most < low or least > high else None

    return Claim("population", truth, words)


def big(yes: float, no: float, words: str) -> Claim:
    """By thousands of people in the urban area."""
    return Claim("population", lambda c: limits(c.people and c.people[1], yes, no), words)


def bigger(other: City, label: str, sign: int) -> Claim:
    def truth(c: City) -> Truth:
        if c.people is None or other.people is None or c.id == other.id:
            return False if c.id == other.id else None
        a, b = (c, other) if sign > 0 else (other, c)
        assert a.people and b.people
        return limits(a.people[1] / b.people[1], 1.4, 1 / 1.4)

    kind = "bigger" if sign > 0 else "smaller"
    return Claim("population", truth, f"my city [is|is not] {kind} than {label}")


def _biggest(c: City) -> Truth:
    more = atlas().more["cities"]
    if c.id in atlas().chosen(more["biggest"]):
        return True
    if c.id in atlas().chosen(more["biggest_not"]):
        return False
    rows = [x for x in atlas().siblings[c.land.code] if x.id != c.id]
    if c.people is None or len(rows) < 2:
        return False if c.people and rows and size(rows[0]) > 1.9 * c.people[1] else None
    return limits(c.people[1] / max(1, size(rows[0])), 1.4, 1 / 1.4)


BIGGEST = Claim("population", _biggest, "my city [is|is not] the biggest city of its country")


def _second(c: City) -> Truth:
    if c.id in atlas().chosen(atlas().more["cities"]["second"]):
        return True
    rows = [size(x) for x in atlas().siblings[c.land.code] if x.id != c.id]
    if c.people is None or len(rows) < 4 or not all(rows[:2]):
        return None
    over, under = limits(rows[0] / c.people[1], 1.4, 1 / 1.4), limits(c.people[1] / rows[1], 1.4, 1 / 1.4)
    return all_of((over, under))


SECOND = Claim("population", _second, "my city [is|is not] the second biggest city of its country")


def _among(c: City) -> Truth:
    rows = atlas().siblings[c.land.code]
    if c.people is None:
        return None
    ahead = sum(size(x) > 1.2 * c.people[1] for x in rows)
    return True if len(rows) >= 6 and ahead <= 2 else False if ahead >= 10 else None


AMONG_OWN = Claim("population", _among, "my city [is|is not] among the biggest of its country")

AMONG_WORLD = big(9000, 3500, "my city [is|is not] among the biggest in the world")


def among_continent(name: str) -> Claim:
    rows = [x for x in atlas().by_size if name in x.continents]
    few, many = size(rows[min(9, len(rows) - 1)]), size(rows[min(40, len(rows) - 1)])

    def truth(c: City) -> Truth:
        return limits(c.people and c.people[1], few, many) if name in c.continents else False

    return Claim("population", truth, f"my city [is|is not] among the biggest in {name}")


def biggest_in(area: str, claim: Claim) -> Claim | None:
    """The most populous city of a part of a country or of the world, by the table; `claim` is to be in that part."""
    row: str = atlas().more["biggest_in"].get(area, "")
    sure = not row.startswith("unsure: ")
    named = atlas().chosen(row.removeprefix("unsure: "))
    if not named:
        return None

    def truth(c: City) -> Truth:
        return (True if sure else None) if c.id in named else False

    return Claim("population", truth, f"my city [is|is not] the biggest city in {claim.words.rpartition(' in ')[2]}")
