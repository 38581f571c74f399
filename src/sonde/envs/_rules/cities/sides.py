"""The north, south, east or west of a country: a city's place between the outermost cities known of that country.

Ours. Borders are not known, so the outermost cities stand for them; the middle of the country is neither side, and
small countries, or those of few cities, have no sides. Islands far from the rest do not count (`_BOX`).
"""

from __future__ import annotations

import re
from functools import cache

from . import where
from .atlas import City, Truth, atlas
from .claims import Claim, limits
from .replies import Asked, Query
from .slots import Match, slot
from .words import land_label, lands

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


_EXTENT = {
    "NO": (58.0, 71.2, 4.6, 31.0), "IE": (51.4, 55.4, -10.5, -6.0), "FI": (59.8, 70.1, 20.5, 31.6),
    "DZ": (19.0, 37.1, -8.7, 12.0), "LY": (19.5, 33.2, 9.4, 25.2), "TZ": (-11.7, -1.0, 29.3, 40.4),
    "KE": (-4.7, 5.0, 33.9, 41.9), "ET": (3.4, 14.9, 33.0, 48.0), "KZ": (40.6, 55.4, 46.5, 87.3),
    "CL": (-55.9, -17.5, -75.6, -66.9), "VE": (0.7, 12.2, -73.3, -59.8), "MM": (10.0, 28.5, 92.2, 101.2),
    "PT": (36.9, 42.2, -9.5, -6.2), "BG": (41.2, 44.2, 22.4, 28.6), "CZ": (48.5, 51.1, 12.1, 18.9),
    "BY": (51.3, 56.2, 23.2, 32.8), "AT": (46.4, 49.0, 9.5, 17.2), "SA": (16.4, 32.1, 34.5, 55.7),
    "ML": (10.2, 25.0, -12.2, 4.2), "AF": (29.4, 38.5, 60.5, 74.9), "UZ": (37.2, 45.6, 56.0, 73.1),
    "CI": (4.4, 10.7, -8.6, -2.5), "GH": (4.7, 11.2, -3.3, 1.2), "SD": (8.7, 22.2, 21.8, 38.6),
    "ZM": (-18.1, -8.2, 22.0, 33.7), "ZW": (-22.4, -15.6, 25.2, 33.1), "CD": (-13.5, 5.4, 12.2, 31.3),
    "PE": (-18.3, 0.0, -81.3, -68.7), "MG": (-25.6, -12.0, 43.2, 50.5), "MZ": (-26.9, -10.5, 30.2, 40.8),
    "AO": (-18.0, -4.4, 11.7, 24.1), "NP": (26.4, 30.4, 80.1, 88.2), "BD": (20.7, 26.6, 88.0, 92.7),
    "SY": (32.3, 37.3, 35.7, 42.4), "SE": (55.3, 69.1, 11.0, 24.2), "NE": (11.7, 23.5, 0.2, 16.0),
    "LT": (53.9, 56.4, 21.0, 26.8), "EE": (57.5, 59.7, 21.8, 28.2), "LV": (55.7, 58.1, 21.0, 28.2),
    "HU": (45.7, 48.6, 16.1, 22.9), "MN": (41.6, 52.1, 87.7, 119.9), "TD": (7.4, 23.5, 13.5, 24.0),
    "CM": (1.7, 13.1, 8.5, 16.2), "UY": (-35.0, -30.1, -58.4, -53.1), "PY": (-27.6, -19.3, -62.6, -54.3),
}  # fmt: skip
"""The southernmost, northernmost, westernmost and easternmost degree of countries of few cities."""

_ASLANT = frozenset(("NO", "CL", "MZ", "CM"))
"""Countries that run aslant: between their outermost longitudes the east of one part is the west of another."""


_SIDED = {"IT south": ("Naples", "Bari"), "FR south": ("Toulouse", "Bordeaux"), "VN north": ("Hanoi",)}
"""Cities that are counted to a side by history more than by degrees."""


@cache
def _span(code: str, across: bool) -> tuple[float, float] | None:
    """The outermost latitudes (or longitudes, where `across`) of a country, or of its cities."""
    if across and code in _ASLANT:
        return None
    if code in _EXTENT:
        return _EXTENT[code][2:] if across else _EXTENT[code][:2]
    found = [c.lon if across else c.lat for c in atlas().siblings[code] if _inside(c)]
    return (min(found), max(found)) if len(found) >= 5 and max(found) - min(found) > 3 else None


def side(direction: str) -> Claim:
    """Whether the city is in that part of its own country."""
    across = direction in ("east", "west")

    def truth(c: City) -> Truth:
        if c.name in _SIDED.get(f"{c.land.code} {direction}", ()):
            return True
        span = _span(c.land.code, across)
        if span is None or not _inside(c):
            return None
        share = ((c.lon if across else c.lat) - span[0]) / (span[1] - span[0])
        return limits(share if direction in ("north", "east") else 1 - share, 0.67, 0.4)

    return Claim("region", truth, f"my city [is|is not] in the {direction} of its country")


def ask_side(m: Match) -> Query | None:
    x = re.sub(r"^(?:the |its |own )+", "", slot(m))
    if x in ("N", "country"):
        return Asked((side(slot(m, "d")),))
    codes = lands(x)
    return Asked((side(slot(m, "d")), where.country(codes, land_label(x))), "all") if codes else None
