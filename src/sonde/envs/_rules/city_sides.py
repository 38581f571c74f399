"""The north, south, east or west of a country: a city's place between the outermost cities known of that country.

Ours. Borders are not known, so the outermost cities stand for them; the middle of the country is neither side, and
small countries, or those of few cities, have no sides. Islands far from the rest do not count (`_BOX`).
"""

from __future__ import annotations

import re
from functools import cache

from . import city_where as where
from .cities import City, Truth, atlas
from .city_claims import Claim, limits
from .city_replies import Asked, Query
from .city_slots import Match, slot
from .city_words import land_label, lands

_BOX = {
    "US": (24.0, 50.0, -125.0, -66.0),
    "ES": (35.9, 44.0, -10.0, 4.5),
    "PT": (36.0, 43.0, -10.0, -6.0),
    "FR": (41.0, 52.0, -6.0, 10.0),
    "EC": (-6.0, 2.0, -82.0, -75.0),
    "CL": (-56.0, -17.0, -76.0, -66.0),
}
"""Latitudes and longitudes of the main part of a country."""


def _inside(c: City) -> bool:
    low, high, west, east = _BOX.get(c.land.code, (-90.0, 90.0, -180.0, 180.0))
    return low <= c.lat <= high and west <= c.lon <= east


@cache
def _span(code: str, across: bool) -> tuple[float, float] | None:
    """The outermost latitudes (or longitudes, where `across`) of the cities of a country."""
    found = [c.lon if across else c.lat for c in atlas().siblings[code] if _inside(c)]
    return (min(found), max(found)) if len(found) >= 5 and max(found) - min(found) > 3 else None


def side(direction: str) -> Claim:
    """Whether the city is in that part of its own country."""
    across = direction in ("east", "west")

    def truth(c: City) -> Truth:
        span = _span(c.land.code, across)
        if span is None or not _inside(c):
            return None
        share = ((c.lon if across else c.lat) - span[0]) / (span[1] - span[0])
        return limits(share if direction in ("north", "east") else 1 - share, 0.67, 0.4)

    return Claim("region", truth, f"my city [is|is not] in the {direction} of its country")


def ask_side(m: Match) -> Query | None:
    x = re.sub(r"^(?:the |its |own )+", "", slot(m))
    codes = lands(x)
    return Asked((side(slot(m, "d")), where.country(codes, land_label(x))), "all") if codes else None
