"""What a city is known for: whether a phrase about it has the words asked for (see `claims.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from itertools import pairwise

from ..checks import plain
from .atlas import City, Truth, atlas, kilometres
from .claims import Claim


def country_known(claim: Claim, owners_of: str) -> Claim:
    """Of a country: true if one of its cities is known for it; a sight that only others have is not there."""
    owners = _owners().get(owners_of, ())

    def truth(c: City) -> Truth:
        if any(claim.truth(x) for x in atlas().siblings[c.land.code]):
            return True
        if any(content(owners_of) <= stemmed(dish) for dish in c.land.food):
            return True
        return False if owners and all(o.land.code != c.land.code for o in owners) else None

    return Claim(claim.topic, truth, "my country [is|is not] known for that")


@cache
def told(city_id: int) -> frozenset[frozenset[str]]:
    """The words of every phrase about the city: sights, food, sport, industry, university."""
    c = atlas().cities[city_id]
    more = [x for x in (c.sport, c.industry, c.university) if x]
    return frozenset(stemmed(phrase) for phrase in (*c.known, *c.food, *more, *_ties().get(city_id, ())))


@cache
def _ties() -> Mapping[int, tuple[str, ...]]:
    """What well-known cities are known for beside that, for yes/no questions (`envs/data/city_ties.txt`)."""
    found: dict[int, tuple[str, ...]] = {}
    for line in files("sonde.envs").joinpath("data", "city_ties.txt").read_text("ascii").splitlines():
        if not line or line[0] == "#":
            continue
        place, _, phrases = line.partition(": ")
        name, _, land = place.partition(", ")
        for i in atlas().by_name.get(plain(name), ()):
            if atlas().cities[i].land.name == land:
                found[i] = tuple(phrases.split("; "))
    return found


@cache
def dishes() -> frozenset[str]:
    """Every word of the dishes."""
    return frozenset(
        w for c in atlas().cities for phrase in (*c.food, *c.land.food) for w in stemmed(phrase) if w not in _PLAIN
    )


def eaten(words: frozenset[str]) -> Claim:
    """Whether a dish of the city or of its country has all these words; of others nothing is known."""

    def truth(c: City) -> Truth:
        return True if any(words <= stemmed(phrase) for phrase in (*c.food, *c.land.food)) else None

    return Claim("cuisine", truth, "people [eat|do not eat] that here")


_PLAIN = frozenset(
    [
        "famous",
        "well",
        "known",
        "big",
        "large",
        "great",
        "old",
        "ancient",
        "historic",
        "historical",
        "beautiful",
        "important",
        "major",
        "iconic",
        "notable",
        "popular",
        "renowned",
        "impressive",
        "many",
        "several",
        "lot",
        "lots",
        "number",
        "of",
        "with",
        "in",
        "at",
        "on",
        "its",
        "their",
        "and",
        "for",
        "by",
        "to",
        "from",
        "one",
        "more",
        "two",
        "world",
        "city",
        "home",
        "near",
        "near",
        "by",
        "once",
        "tall",
        "main",
        "particular",
        "special",
        "local",
        "traditional",
        "big",
        "giant",
        "huge",
        "massive",
        "special",
        "unique",
        "certain",
        "good",
        "internationally",
        "worldwide",
        "internationally",
        "globally",
        "as",
        "being",
    ]
)


_KINDS = frozenset(("music", "industry", "district", "area", "production", "culture"))


@cache
def stem(word: str) -> str:
    word = _TWINS.get(word, word)
    for end, to in (("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x"), ("s", "")):
        if word.endswith(end) and len(word) > len(end) + 2 and not word.endswith(("ss", "us", "is")):
            return word.removesuffix(end) + to
    return word


_TWINS = {
    "theatre": "theater",
    "harbour": "harbor",
    "colour": "color",
    "centre": "center",
    "automobile": "car",
    "automobiles": "car",
    "automotive": "car",
    "finance": "bank",
    "banking": "bank",
    "banks": "bank",
    "financial": "bank",
    "soccer": "football",
    "movie": "film",
    "movies": "film",
    "cinema": "film",
    "films": "film",
    "bikes": "bicycle",
    "bicycles": "bicycle",
    "petroleum": "oil",
    "walls": "wall",
    "casino": "gambling",
    "casinos": "gambling",
    "shipbuilding": "shipyard",
}


def stemmed(phrase: str) -> frozenset[str]:
    return frozenset(stem(w) for w in plain(phrase).split())


def content(phrase: str) -> frozenset[str]:
    """The words of a phrase that say what is meant; "music" and the like only where nothing else is left."""
    words = frozenset(stem(w) for w in plain(phrase).split() if w not in _PLAIN and w != "s")
    return words - _KINDS or words


@cache
def _owners() -> Mapping[str, tuple[City, ...]]:
    """Sights with a name of their own -> the cities that have them."""
    found: dict[str, tuple[City, ...]] = {}
    for c in atlas().cities:
        for phrase in c.known:
            words = phrase.removeprefix("the ").split()
            proper = [w for w in words if w[0].isupper() and w not in _COMMON]
            if proper and all(w[0].isupper() or w in ("of", "de", "la", "el", "del", "the") for w in words):
                key = plain(" ".join(words))
                found[key] = (*found.get(key, ()), c)
    return found


_COMMON = frozenset(
    [
        "Mosque",
        "Cathedral",
        "Palace",
        "Museum",
        "Tower",
        "Square",
        "Bridge",
        "Park",
        "Old",
        "Town",
        "Grand",
        "Great",
        "Blue",
        "Red",
        "Golden",
        "National",
        "Royal",
        "Market",
        "Church",
        "Castle",
        "Fort",
        "Opera",
        "House",
        "Temple",
        "St",
        "Saint",
        "Central",
        "City",
        "Street",
        "Garden",
        "Gardens",
        "Hill",
        "Gate",
        "Green",
        "Notre-Dame",
        "Chinatown",
        "Freedom",
        "Imperial",
        "University",
        "Stadium",
        "Beach",
        "Bay",
        "Independence",
        "Liberty",
        "Victoria",
        "Mile",
        "Carnival",
        "Basilica",
        "Parliament",
        "Library",
        "Clock",
        "Hall",
        "Union",
        "Riverwalk",
        "Monument",
        "Botanical",
        "Arc",
        "Triomphe",
        "Harbour",
        "White",
        "Black",
        "Railway",
        "Station",
        "Little",
        "Italy",
        "Holy",
    ]
)


_TURNING = frozenset(("ban", "no", "gateway", "near", "nearby", "named", "replica", "once", "former", "legend"))
"""Words of a phrase without which the rest is not so: a thing that is banned, lies elsewhere, or is of the past."""


@cache
def _everyday() -> frozenset[str]:
    """The words that some phrase of a city has as a plain word, not as part of a name."""
    return frozenset(
        stem(w) for c in atlas().cities for phrase in c.known for w in plain(phrase).split() if f" {w}" in f" {phrase}"
    )


@cache
def _parts(city_id: int) -> frozenset[str]:
    """Everyday words that stand before the last word of a name, as "amber" in "the Amber Fort": no sight by itself."""
    pairs = (pair for phrase in atlas().cities[city_id].known for pair in pairwise(phrase.split()))
    before = frozenset(stem(plain(a)) for a, b in pairs if a[0].isupper() and b[0].isupper())
    return before & _everyday()


def _tells(city_id: int, words: frozenset[str], label: str) -> bool:
    """Whether a phrase about the city says that it has what these words name."""
    if len(words) == 1 and words <= _parts(city_id):
        return any(words == phrase for phrase in told(city_id))
    said = words.union(map(stem, label.split()))
    return any(words <= phrase and not (_TURNING & phrase) - said for phrase in told(city_id))


def known_for(words: frozenset[str], label: str, topic: str) -> Claim:
    """Whether one of the phrases about the city has all these words. A sight that another city is known for, more than
    100 km away, is not there; of anything else nothing is known."""

    def truth(c: City) -> Truth:
        if _tells(c.id, words, label):
            return True
        owners = _owners().get(label, ())
        return False if owners and min(kilometres(c, o) for o in owners) > 100 else None

    return Claim(topic, truth, "my city [is|is not] known for that", label)


@cache
def _tellers(words: frozenset[str]) -> frozenset[int]:
    """The cities about which a phrase has all these words."""
    return frozenset(c.id for c in atlas().cities if any(words <= phrase for phrase in told(c.id)))


def _cradles(words: frozenset[str]) -> frozenset[int]:
    """The cities told to be the birthplace of what these words name."""
    return _tellers(words | {"birthplace"}) | _tellers(words | {"birth"})


def owned(words: frozenset[str], claim: Claim) -> Claim:
    """The claim, where the city is the birthplace, or no other city may be meant."""
    sure, cradles = len(_tellers(words)) == 1, _cradles(words)
    return Claim(claim.topic, lambda c: claim.truth(c) if sure or c.id in cradles else None, claim.words, claim.label)


def born(words: frozenset[str]) -> Claim:
    """The birthplace, where that is told in these words."""
    cradles = _cradles(words)
    return Claim("culture", lambda c: True if c.id in cradles else None, "that [was|was not] born here")
