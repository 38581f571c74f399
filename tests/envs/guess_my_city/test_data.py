"""The facts of the cities of guess_my_city: structure, ranges, splits, no names in phrases, hand-checked facts."""

import json
import re
import unicodedata
from collections import Counter
from typing import Any

from sonde._util.folders import data_file
from tests.cases import each

SOURCE = data_file("guess_my_city", "cities.json")
DATA: dict[str, Any] = json.loads(SOURCE.read_text(encoding="ascii"))
COUNTRIES: dict[str, dict[str, Any]] = DATA["countries"]
CITIES: list[dict[str, Any]] = [dict(zip(DATA["fields"], row, strict=True)) for row in DATA["cities"]]
BY_KEY = {(city["name"], city["country"]): city for city in CITIES}
CONTINENTS = {"Africa", "Asia", "Europe", "North America", "South America", "Oceania"}
TEXTS = ("sport", "industry", "university", "river")

# City, country, field, value. Fields of the country are looked up there. The values are from general knowledge.
FACTS = [
    ("Paris", "FR", "capital", True), ("Paris", "FR", "shore", "inland"), ("Paris", "FR", "river", "Seine"),
    ("Lyon", "FR", "capital", False), ("Lyon", "FR", "seat", "region"), ("London", "GB", "nation", "England"),
    ("Edinburgh", "GB", "nation", "Scotland"), ("Cardiff", "GB", "nation", "Wales"), ("London", "GB", "drives", "left"),
    ("Sydney", "AU", "capital", False), ("Sydney", "AU", "seat", "state or territory"),
    ("Canberra", "AU", "capital", True), ("Toronto", "CA", "shore", "lake"), ("Toronto", "CA", "water", "Lake Ontario"),
    ("Chicago", "US", "water", "Lake Michigan"), ("Chicago", "US", "seat", False), ("Denver", "US", "seat", "state"),
    ("Denver", "US", "utc", -7), ("Istanbul", "TR", "continents", ["Europe", "Asia"]),
    ("Istanbul", "TR", "capital", False), ("Ankara", "TR", "capital", True),
    ("Vladivostok", "RU", "continents", ["Asia"]), ("Moscow", "RU", "utc", 3), ("Kathmandu", "NP", "utc", 5.75),
    ("Mumbai", "IN", "utc", 5.5), ("Mumbai", "IN", "shore", "sea"), ("Kashgar", "CN", "utc", 8),
    ("Lagos", "NG", "capital", False), ("Abuja", "NG", "capital", True), ("Rio de Janeiro", "BR", "capital", False),
    ("Brasilia", "BR", "age", "20th century or later"), ("Jerusalem", "IL", "capital", None),
    ("La Paz", "BO", "capital", None), ("Cape Town", "ZA", "capital", True), ("Johannesburg", "ZA", "capital", False),
    ("Singapore", "SG", "climate", "Af"), ("Cairo", "EG", "climate", "BWh"), ("Cairo", "EG", "continents", ["Africa"]),
    ("Athens", "GR", "climate", "Csa"), ("Oslo", "NO", "climate", "Dfb"), ("Rome", "IT", "age", "ancient"),
    ("Honolulu", "US", "island", "Oahu"), ("Palermo", "IT", "island", "Sicily"), ("Dublin", "IE", "island", True),
    ("Berlin", "DE", "island", False), ("New York City", "US", "island", None), ("Kyiv", "UA", "currency", "hryvnia"),
    ("Zagreb", "HR", "currency", "euro"), ("Sofia", "BG", "currency", "euro"),
    ("Zurich", "CH", "currency", "Swiss franc"), ("Tokyo", "JP", "drives", "left"), ("Bangkok", "TH", "drives", "left"),
    ("Yangon", "MM", "drives", "right"), ("Apia", "WS", "drives", "left"), ("Lisbon", "PT", "neighbours", ["Spain"]),
    ("Reykjavik", "IS", "neighbours", []), ("Tehran", "IR", "religion", "Islam (Shia)"),
    ("Montreal", "CA", "languages", ["English", "French"]), ("Luanda", "AO", "languages", ["Portuguese"]),
    ("Malabo", "GQ", "capital", None), ("Quito", "EC", "climate", "H"), ("Jericho", "PS", "elevation", -250),
    ("Boston", "US", "colonial", True), ("Osaka", "JP", "colonial", False),
]  # fmt: skip


@each("name, country, field, value", FACTS)
def test_fact(name: str, country: str, field: str, value: Any) -> None:
    city = BY_KEY[name, country]
    assert (city[field] if field in city else COUNTRIES[country][field]) == value


def test_the_file_is_small() -> None:
    assert len(SOURCE.read_text(encoding="ascii")) < 600_000


def test_counts() -> None:
    assert 680 <= len(CITIES) <= 760
    sides = Counter(city["split"] for city in CITIES)
    assert set(sides) == {"train", "test"} and sides["train"] >= 500 and sides["test"] >= 185
    assert sum(len(city["known"]) > 0 for city in CITIES) == len(CITIES)
    assert all(1 <= len(city["known"]) <= 5 for city in CITIES)


def test_cities_are_unique() -> None:
    assert len(BY_KEY) == len(CITIES)
    for city in CITIES:
        names = [city["name"], *city["aliases"]]
        assert len({fold(name) for name in names}) == len(names), names


def test_lmrl_has_the_most_populous_of_either_side_and_leaves_paprika_its_500_and_185() -> None:
    for side, n in (("train", 61), ("test", 12)):
        cities = [city for city in CITIES if city["split"] == side]
        chosen = [city for city in cities if city["lmrl"]]
        assert (len(chosen), len(cities) - n) == (n, 500 if side == "train" else 185)
        least = min(city["people"][1] for city in chosen)
        assert all(city["people"][1] <= least for city in cities if not city["lmrl"] and city["people"])


@each(
    "twin, other",
    [("New Delhi", "Delhi"), ("Giza", "Cairo"), ("Saint Paul", "Minneapolis"), ("Oakland", "San Francisco")],
)
def test_twins_are_on_one_side(twin: str, other: str) -> None:
    sides = {city["name"]: city["split"] for city in CITIES}
    assert sides[twin] == sides[other]


@each("field", ["continents", "capital", "climate", "known"])
def test_both_sides_have_facts(field: str) -> None:
    for side in ("train", "test"):
        values = [city[field] for city in CITIES if city["split"] == side]
        assert sum(value is not None for value in values) >= 0.9 * len(values)


def test_values_are_in_range() -> None:
    for city in CITIES:
        assert -60 < city["lat"] < 75 and -180 <= city["lon"] <= 180 and -11 <= city["utc"] <= 13
        assert city["shore"] in ("sea", "lake", "inland", None)
        assert city["water"] is None or city["shore"] in ("sea", "lake")
        assert city["water"] is not None or city["shore"] != "lake"
        assert city["climate"] is None or city["climate"] in DATA["climates"]
        assert city["elevation"] is None or -300 <= city["elevation"] <= 4100
        assert city["capital"] in (True, False, None) and city["island"] != ""
        assert set(city["continents"]) <= CONTINENTS and city["continents"]


def test_bands_are_ordered() -> None:
    for city in CITIES:
        if city["people"] is not None:
            low, middle, high = city["people"]
            assert 0 < low <= middle <= high
        if city["sea_km"] is not None:
            near, far = city["sea_km"]
            assert far is None or near < far
            assert city["shore"] != "sea" or near == 0


def test_every_country_with_a_capital_that_is_settled_lists_one() -> None:
    capitals = Counter(city["country"] for city in CITIES if city["capital"])
    assert {code for code, n in capitals.items() if n > 1} == {"ZA"}  # Pretoria, Cape Town, Bloemfontein
    assert set(COUNTRIES) - set(capitals) == {"BO", "GQ", "HK", "IL", "LK", "MO", "PS"} - set(capitals)


def test_countries() -> None:
    assert {city["country"] for city in CITIES} == set(COUNTRIES)
    names = {country["name"] for country in COUNTRIES.values()}
    for country in COUNTRIES.values():
        assert country["drives"] in ("left", "right")
        assert country["regions"] and country["languages"] and set(country["continents"]) <= CONTINENTS
        assert set(country["traits"]) <= {"EU member", "landlocked", "monarchy", "island state"}
        assert set(country["neighbours"]) <= names | {"French Guiana", "Western Sahara"}
    assert sum("EU member" in country["traits"] for country in COUNTRIES.values()) == 27


def test_borders_are_mutual() -> None:
    by_name = {country["name"]: country for country in COUNTRIES.values()}
    for country in COUNTRIES.values():
        for other in country["neighbours"]:
            if other in by_name and country["name"] not in ("Hong Kong", "Macau"):
                assert country["name"] in by_name[other]["neighbours"], (country["name"], other)


def test_landlocked_countries_have_no_city_on_a_sea() -> None:
    for city in CITIES:
        if "landlocked" in COUNTRIES[city["country"]]["traits"]:
            assert city["shore"] != "sea", city["name"]


# --- no names in phrases ---------------------------------------------------------------------------------------------


def test_no_phrase_names_its_city_or_country() -> None:
    found = [(city["name"], phrase) for city in CITIES for phrase in phrases(city) if names_it(city, phrase)]
    assert found == []


@each(
    "name, country, phrase",
    [
        ("Paris", "FR", "a Parisian cafe"),
        ("Kyiv", "UA", "the Kiev ballet"),
        ("Lima", "PE", "Peruvian textiles"),
        ("Mexico City", "MX", "Mexican murals"),
    ],
)
def test_the_check_sees_a_leak(name: str, country: str, phrase: str) -> None:
    assert names_it(BY_KEY[name, country], phrase)


def phrases(city: dict[str, Any]) -> list[str]:
    more = [city["island"]] if isinstance(city["island"], str) else []
    return [*city["known"], *city["food"], *(city[t] for t in TEXTS if city[t]), *more]


def names_it(city: dict[str, Any], phrase: str) -> bool:
    """Whether a name of the city or the country, or a word that begins like it, is in the phrase."""
    country = COUNTRIES[city["country"]]
    names = [city["name"], *city["aliases"], country["name"], *country["aliases"], *country["people"]]
    stems = [fold(name)[:-1] if len(name) > 5 else fold(name) for name in names if len(name) > 3]
    return any(re.search(rf"\b{re.escape(stem)}", fold(phrase)) for stem in stems)


def fold(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)).lower()
