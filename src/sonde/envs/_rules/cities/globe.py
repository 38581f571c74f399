"""Yes/no questions on latitude, longitude, hemisphere and clocks: from a match to claims (see `matters.py`)."""

from __future__ import annotations

import re

from . import nature
from .claims import Claim, limits, opposite
from .matters import of_land
from .replies import Asked, Query
from .slots import UNDER, Match, slot
from .words import number


def ask_parallel(m: Match) -> Query | None:
    n = number(slot(m, "n"))
    side = (slot(m, "d") or "north").removesuffix("ern")
    if n is None or n > 90:
        return None
    under = re.match(UNDER, slot(m, "s")) is not None
    claim = nature.parallel(n, side)
    return (
        Asked((opposite(claim, f"my city [is|is not] less than {n:g} degrees {side}"),)) if under else Asked((claim,))
    )


def ask_latitude(m: Match) -> Query | None:
    n = number(slot(m, "n"))
    if n is None or n > 90:
        return None
    claim = Claim(
        "latitude", lambda c: limits(abs(c.lat), n + 0.2, n - 0.2), f"my latitude [is|is not] more than {n:g} degrees"
    )
    return (
        Asked((opposite(claim, f"my latitude [is|is not] less than {n:g} degrees"),))
        if re.match(UNDER, slot(m, "s"))
        else Asked((claim,))
    )


def ask_meridian(m: Match) -> Query | None:
    n = number(slot(m, "n"))
    return None if n is None or n > 180 else Asked((nature.meridian(n, slot(m, "d")),))


def ask_clock(m: Match) -> Query | None:
    """ahead of or behind Greenwich, by so many hours"""
    sign = 1 if "ahead" in m[0] or "plus" in m[0] or "later" in m[0] else -1
    at_least = slot(m, "n")
    if at_least in ("many", "several"):
        least = 3.0
        claim = Claim(
            "timezone",
            lambda c: limits(sign * c.utc, 4, 1.5),
            f"our clocks [are|are not] many hours {'ahead of' if sign > 0 else 'behind'} London",
        )
        return Asked((claim,)) if least else None
    n = number(at_least) if at_least else None
    where = "ahead of" if sign > 0 else "behind"
    if n is None:
        return Asked((Claim("timezone", lambda c: sign * c.utc > 0, f"our clocks [are|are not] {where} London"),))
    over, hours = m["o"] or "", f"{n:g} hour{'' if n == 1 else 's'}"
    if over.startswith(("more", "over", "at least")):
        return Asked(
            (
                Claim(
                    "timezone",
                    lambda c: sign * c.utc > n or (over == "at least " and sign * c.utc == n),
                    f"our clocks [are|are not] {over}{hours} {where} London",
                ),
            )
        )
    return (
        Asked((Claim("timezone", lambda c: sign * c.utc == n, f"our clocks [are|are not] {hours} {where} London"),))
        if not over
        else None
    )


def ask_offset(m: Match) -> Query | None:
    n = number(slot(m, "n"))
    if n is None:
        return None
    hours = -n if m["sign"] == "minus" else n
    return Asked((nature.clock(hours, hours, f"our standard time [is|is not] UTC{hours:+g}"),))


_ZONES = {"eastern": -5, "central": -6, "mountain": -7, "pacific": -8}


def ask_zone(m: Match) -> Query | None:
    name = slot(m).removesuffix(" standard")
    if name == "central european":
        return Asked(
            (
                Claim(
                    "timezone",
                    lambda c: c.utc == 1 and "Europe" in c.continents,
                    "my city [is|is not] on Central European time",
                ),
            )
        )
    if name in ("greenwich mean", "greenwich", "utc", "gmt"):
        return Asked((nature.clock(0, 0, "my city [is|is not] on Greenwich time"),))
    hours = _ZONES.get(name)
    return (
        None
        if hours is None
        else Asked(
            (
                Claim(
                    "timezone",
                    lambda c: c.land.code in ("US", "CA") and c.utc == hours,
                    f"my city [is|is not] on {name.title()} Time",
                ),
            )
        )
    )


def ask_hemispheres(m: Match) -> Query | None:
    sides = re.findall(r"northern|southern|eastern|western", m[0])
    if not sides or len(sides) > 3:
        return None
    rows = (nature.HEMISPHERES[side] for side in sides)
    claims = tuple(of_land(claim) or claim for claim in rows) if m.string.startswith("N ") else tuple(rows)
    if len(sides) == 1:
        return Asked(claims)
    if " or " in m[0]:
        return Asked(
            claims,
            "which" if len(sides) == 2 and set(sides) in ({"northern", "southern"}, {"eastern", "western"}) else "any",
        )
    return Asked(claims, "all")


def ask_equator(m: Match) -> Query | None:
    north = "north" in m[0] or " above " in m[0]
    return Asked((nature.HEMISPHERES["northern" if north else "southern"],))


def ask_greenwich(m: Match) -> Query | None:
    side = slot(m)
    return Asked(
        (
            Claim(
                "longitude",
                nature.HEMISPHERES[f"{side}ern"].truth,
                f"my city [is|is not] {side} of the Greenwich meridian",
            ),
        )
    )


def ask_parallel_of(m: Match) -> Query | None:
    n = re.search(r"\d+", m[0])
    side = slot(m, "d")
    return (
        None
        if n is None or int(n[0]) > 90
        else Asked((nature.parallel(float(n[0]), "north") if side == "north" else _south_of(float(n[0])),))
    )


def _south_of(n: float) -> Claim:
    return Claim(
        "latitude", lambda c: limits(-c.lat, 0.2 - n, -0.2 - n), f"my city [is|is not] south of {n:g} degrees north"
    )
