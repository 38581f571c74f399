"""Yes/no questions about nature, the globe, and the letters of the name: builders (see `city_patterns.py`)."""

from __future__ import annotations

import re

from . import city_claims as k
from . import city_nature as nat
from .city_claims import Claim
from .city_matters import of_land
from .city_replies import Asked, Query
from .city_slots import OVER, UNDER, Match, of, several, slot
from .city_words import metres, number, place, town


def ask_sea(m: Match) -> Query | None:
    def read(t: str) -> Claim | None:
        t = re.sub(
            r"^(?:coast|shores?|shoreline|edge|banks?) of ",
            "",
            re.sub(r"(?: (?:coast|coastline|shore|side|shoreline|port))+$", "", t),
        )
        t = re.sub(r"^(?:same )", "", t)
        bare = t.removesuffix(" sea").removesuffix(" ocean")
        if t not in nat.SEAS and bare not in nat.SEAS:
            return None
        if m.string[1:].startswith(" in ") and place(t) is not None:
            return None
        claim = nat.sea(t if t in nat.SEAS else bare)
        return nat.country_sea(claim) if re.search(r"\bN\b", m.string) else claim

    return several(slot(m), read)


def ask_water(m: Match) -> Query | None:
    """on the Nile; by the Danube or the Rhine"""
    return several(
        slot(m),
        lambda t: of(nat.river_name(re.sub(r"^(?:banks? of|shores? of) ", "", t)), nat.on_river),
    )


def ask_island(m: Match) -> Query | None:
    return several(
        slot(m),
        lambda t: of(nat.island_names().get(t.removeprefix("island of ").removesuffix(" island")), nat.on_island),
    )


def ask_higher(m: Match) -> Query | None:
    words = slot(m, "n")
    length = metres(words, slot(m, "u"))
    if length is None:
        return None
    claim = nat.higher(length, f"{words} {m['u'].rstrip()}")
    if re.match(UNDER, slot(m, "s")):
        claim = k.opposite(claim, f"my city [is|is not] less than {words} {m['u']} above sea level")
    return Asked((claim,))


def ask_range(m: Match) -> Query | None:
    return several(slot(m), lambda t: of(nat.ranges().get(t), nat.near_range))


def ask_within(m: Match) -> Query | None:
    length = metres(slot(m, "n"), slot(m, "u"))
    if length is None:
        return None
    far = re.match(OVER, slot(m, "s")) is not None
    words = f"{m['n']} {m['u']}"

    def read(t: str) -> Claim | None:
        c = town(t)
        if c is None:
            return None
        near = k.within(length / 1000, c, c.name, words)
        return k.opposite(near, f"my city [is|is not] more than {words} from {c.name}") if far else near

    return several(slot(m), read)


def ask_near(m: Match) -> Query | None:
    return several(slot(m), lambda t: of(None if place(t) else town(t), lambda c: k.near(c, c.name)))


def ask_long_way(m: Match) -> Query | None:
    c = town(slot(m))
    if c is None:
        return None
    return Asked(
        (
            Claim(
                "distance",
                lambda x: k.limits(k.kilometres(x, c), 2500, 500),
                f"my city [is|is not] a long way from {c.name}",
            ),
        )
    )


def ask_closer(m: Match) -> Query | None:
    a, b = town(slot(m)), town(m["y"])
    return None if a is None or b is None else Asked((k.closer(a, b, a.name, b.name),))


def ask_parallel(m: Match) -> Query | None:
    n = number(slot(m, "n"))
    side = (slot(m, "d") or "north").removesuffix("ern")
    if n is None or n > 90:
        return None
    under = re.match(UNDER, slot(m, "s")) is not None
    claim = nat.parallel(n, side)
    return (
        Asked((k.opposite(claim, f"my city [is|is not] less than {n:g} degrees {side}"),)) if under else Asked((claim,))
    )


def ask_latitude(m: Match) -> Query | None:
    n = number(slot(m, "n"))
    if n is None or n > 90:
        return None
    claim = Claim(
        "latitude", lambda c: k.limits(abs(c.lat), n + 0.2, n - 0.2), f"my latitude [is|is not] more than {n:g} degrees"
    )
    return (
        Asked((k.opposite(claim, f"my latitude [is|is not] less than {n:g} degrees"),))
        if re.match(UNDER, slot(m, "s"))
        else Asked((claim,))
    )


def ask_meridian(m: Match) -> Query | None:
    n = number(slot(m, "n"))
    return None if n is None or n > 180 else Asked((nat.meridian(n, slot(m, "d")),))


def ask_clock(m: Match) -> Query | None:
    """ahead of or behind Greenwich, by so many hours"""
    sign = 1 if "ahead" in m[0] or "plus" in m[0] or "later" in m[0] else -1
    at_least = slot(m, "n")
    if at_least in ("many", "several"):
        least = 3.0
        claim = Claim(
            "timezone",
            lambda c: k.limits(sign * c.utc, 4, 1.5),
            f"our clocks [are|are not] many hours {'ahead of' if sign > 0 else 'behind'} London",
        )
        return Asked((claim,)) if least else None
    n = number(at_least) if at_least else None
    where = "ahead of" if sign > 0 else "behind"
    if n is None:
        return Asked((Claim("timezone", lambda c: sign * c.utc > 0, f"our clocks [are|are not] {where} London"),))
    over = m["o"] or ""
    if over.startswith(("more", "over", "at least")):
        return Asked(
            (
                Claim(
                    "timezone",
                    lambda c: sign * c.utc > n or (over == "at least " and sign * c.utc == n),
                    f"our clocks [are|are not] {over}{n:g} hours {where} London",
                ),
            )
        )
    return (
        Asked((Claim("timezone", lambda c: sign * c.utc == n, f"our clocks [are|are not] {n:g} hours {where} London"),))
        if not over
        else None
    )


def ask_offset(m: Match) -> Query | None:
    n = number(slot(m, "n"))
    if n is None:
        return None
    hours = -n if m["sign"] == "minus" else n
    return Asked((nat.clock(hours, hours, f"our standard time [is|is not] UTC{hours:+g}"),))


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
        return Asked((nat.clock(0, 0, "my city [is|is not] on Greenwich time"),))
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


def ask_letter(m: Match) -> Query | None:
    parts = re.findall(
        (
            r"(start|begin|end|contain|include|have|first|last)\w*(?: with| in| by| letter)*(?: of (?:NAME|C|"
            r"C 's name|C is name))?(?: is)? ((?:either |letter |both )?L_[a-z](?:(?: or|"
            r" and) (?:letter )?L_[a-z])*)"
        ),
        m[0],
    )
    found: list[Claim] = []
    how = "one"
    for verb, letters in parts:
        marks = re.findall(r"L_([a-z])", letters)
        found += [_letter_claim(verb, x) for x in marks]
        how = "any" if " or " in letters else "all" if len(found) > 1 else how
    return (
        Asked(tuple(found), how)
        if found and len(parts) == m[0].count("L_") - sum(len(re.findall("L_", x)) - 1 for _, x in parts)
        else None
    )


def _letter_claim(verb: str, x: str) -> Claim:
    big = x.upper()
    if verb in ("start", "begin", "first"):
        return k.named(lambda n: n.startswith(x), f"the name [begins|does not begin] with {big}")
    if verb in ("end", "last"):
        return k.named(lambda n: n.endswith(x), f"the name [ends|does not end] with {big}")
    return k.named(lambda n: x in n, f"the name [contains|does not contain] the letter {big}")


def _vowel(m: Match) -> Query | None:
    vowel = slot(m) == "vowel"
    end = slot(m, "v").startswith(("end", "last"))
    return Asked(
        (
            k.named(
                lambda n: ((n[-1] if end else n[0]) in "aeiou") is vowel,
                f"the name [{'ends' if end else 'begins'}|does not {'end' if end else 'begin'}] with a {m['x']}",
            ),
        )
    )


def _length(m: Match) -> Query | None:
    n = number(slot(m, "n"))
    if n is None:
        return None
    unit, s = slot(m, "u").rstrip("s"), slot(m, "s")

    def size(name: str) -> int:
        return len(name.split()) if unit == "word" else sum(ch.isalpha() for ch in name)

    if s.startswith(("at least",)):
        return Asked((k.named(lambda x: size(x) >= n, f"the name [has|does not have] at least {n:g} {unit}s"),))
    if re.match(OVER, s) or s.startswith("longer"):
        return Asked((k.named(lambda x: size(x) > n, f"the name [has|does not have] more than {n:g} {unit}s"),))
    if re.match(UNDER, s) or s.startswith("shorter"):
        return Asked((k.named(lambda x: size(x) < n, f"the name [has|does not have] fewer than {n:g} {unit}s"),))
    return (
        Asked(
            (k.named(lambda x: size(x) == n, f"the name [has|does not have] just {n:g} {unit}{'' if n == 1 else 's'}"),)
        )
        if not s
        else None
    )


def ask_alphabet(m: Match) -> Query | None:
    first = slot(m, "h") == "first"
    return Asked(
        (
            k.named(
                lambda n: (n[0] <= "m") is first,
                f"the name [begins|does not begin] with a letter of the {m['h']} half of the alphabet",
            ),
        )
    )


def ask_climate(m: Match) -> Query | None:
    def read(t: str) -> Claim | None:
        t = re.sub(r" (?:climate|weather|place|city|region|zone|conditions)$", "", t)
        return nat.climate(_WEATHER[t]) if t in _WEATHER else None

    return several(slot(m), read)


_WEATHER = {
    "tropical": "tropical",
    "desert": "desert",
    "arid": "dry",
    "dry": "dry",
    "mediterranean": "mediterranean",
    "temperate": "temperate",
    "continental": "continental",
    "subtropical": "subtropical",
    "oceanic": "oceanic",
    "maritime": "oceanic",
    "humid": "humid",
    "hot": "hot",
    "warm": "warm",
    "cold": "cold",
    "cool": "cold",
    "rainy": "rainy",
    "wet": "rainy",
    "mild": "mild",
    "hot summers": "hot",
    "cold winters": "cold",
    "snowy": "snow",
    "snowy winters": "snow",
    "snow": "snow",
    "snow in winter": "snow",
    "snowfall": "snow",
    "four seasons": "seasons",
    "four distinct seasons": "seasons",
    "monsoon": "monsoon",
    "monsoons": "monsoon",
    "monsoon season": "monsoon",
    "hot in summer": "hot",
    "cold in winter": "cold",
    "hot summer": "hot",
    "cold winter": "cold",
    "dry in summer": "hot",
    "harsh winters": "cold",
    "freezing winters": "cold",
    "warm summers": "hot",
    "lot of rain": "rainy",
    "much rain": "rainy",
    "heavy rain": "rainy",
    "hot in summer months": "hot",
    "hot weather": "hot",
    "cold weather": "cold",
    "warm all year": "warm",
    "warm all year round": "warm",
    "hot all year": "warm",
    "warm year round": "warm",
    "hot all year round": "warm",
    "hot year round": "warm",
    "semi arid": "dry",
    "snow regularly": "snow",
    "lots of rain": "rainy",
    "lots of snow": "snow",
    "lot of snow": "snow",
    "much snow": "snow",
    "heavy snow": "snow",
    "snow every winter": "snow",
    "extremely cold": "cold",
    "extremely hot": "hot",
    "cold in winters": "cold",
    "tropics": "tropical",
    "humid subtropical": "subtropical",
    "humid continental": "continental",
    "tropical or subtropical": "tropical",
    "distinct seasons": "seasons",
    "hot and humid all year": "tropical",
    "snow in winters": "snow",
}


del (
    _WEATHER["cool"],
    _WEATHER["dry in summer"],
    _WEATHER["hot and humid all year"],
    _WEATHER["tropical or subtropical"],
    _WEATHER["distinct seasons"],
)


def ask_hemispheres(m: Match) -> Query | None:
    sides = re.findall(r"northern|southern|eastern|western", m[0])
    if not sides or len(sides) > 3:
        return None
    rows = (nat.HEMISPHERES[side] for side in sides)
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
    return Asked((nat.HEMISPHERES["northern" if north else "southern"],))


def ask_greenwich(m: Match) -> Query | None:
    side = slot(m)
    return Asked(
        (
            Claim(
                "longitude",
                nat.HEMISPHERES[f"{side}ern"].truth,
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
        else Asked((nat.parallel(float(n[0]), "north") if side == "north" else _south_of(float(n[0])),))
    )


def _south_of(n: float) -> Claim:
    return Claim(
        "latitude", lambda c: k.limits(-c.lat, 0.2 - n, -0.2 - n), f"my city [is|is not] south of {n:g} degrees north"
    )


def ask_direction_any(m: Match) -> Query | None:
    side = slot(m, "d").replace(" ", "")
    return several(slot(m), lambda t: of(town(t), lambda c: k.direction(side, c, c.name)))


def ask_sea_word(m: Match) -> Query | None:
    name = m[0].split()[1]
    return Asked((nat.sea(name),))


def ask_mainland(m: Match) -> Query | None:
    area = place(slot(m))
    return (
        None
        if area is None
        else Asked(
            (k.both(area.topic, (area, nat.MAINLAND), f"my city [is|is not] on the mainland of {slot(m).title()}"),)
        )
    )


def ask_mile(m: Match) -> Query | None:
    mile = " mile" in m[0]
    return Asked((nat.higher(1609 if mile else 1000, "a mile" if mile else "a kilometre"),))


def ask_desert(m: Match) -> Query | None:
    return Asked((nat.climate("desert"),))


def ask_contained(m: Match) -> Query | None:
    found = re.search(r"L_([a-z])", m[0])
    return None if found is None else Asked((_letter_claim("contain", found[1]),))


def ask_vowels(m: Match) -> Query | None:
    return _vowel(m)


def ask_lengths(m: Match) -> Query | None:
    return _length(m)


def ask_single(m: Match) -> Query | None:
    if "multiple" in m[0]:
        return Asked((k.named(lambda x: len(x.split()) > 1, "the name [has|does not have] several words"),))
    return Asked((k.named(lambda x: len(x.split()) == 1, "the name [is|is not] a single word"),))


def ask_flows(m: Match) -> Query | None:
    name = nat.river_name(slot(m))
    return None if name is None else Asked((nat.on_river(name),))


def ask_mountains(m: Match) -> Query | None:
    return None if "volcano" in m[0] else Asked((nat.MOUNTAINS,))


def ask_highers(m: Match) -> Query | None:
    return ask_higher(m)


def ask_snowy(m: Match) -> Query | None:
    return Asked((nat.climate("hot" if "hot" in slot(m) else "cold" if "cold" in slot(m) else "snow"),))
