"""The words inside a question of guess_my_city: places, lists of them, numbers, and the cities that a guess names."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from sonde.people.language.numbers import DIGITS, TENS, UNITS, amount

from ..checks import plain
from .atlas import City, atlas
from .claims import Claim
from .replies import Guess
from .where import area, continent, continents, country, group, nation, part, region, state

# --- lists and numbers -----------------------------------------------------------------------------------------------

_SEPARATOR = re.compile(r"(?: ,)? (?:or|and|as well as) (?:in |on |of |with |from |near |at |by |to )?| , ")


def items(text: str, read: Callable[[str], Claim | None]) -> tuple[tuple[Claim, ...], str] | None:
    """The claims of a list such as "both spain and france", and how they are joined: "one", "all", "any".

    A name that holds an "and" is tried whole first. None if any of it is not understood.
    """
    whole = read(text)
    if whole is not None:
        return (whole,), "one"
    bare = re.sub(r"^(?:both|either) ", "", text)
    parts = [p for p in _SEPARATOR.split(bare) if p]
    if len(parts) < 2 or len(parts) > 6 or (" or " in bare and (" and " in bare or " as well as " in bare)):
        return None
    claims = tuple(claim for p in parts if (claim := read(p)) is not None)
    if len(claims) != len(parts):
        return None
    return claims, "any" if " or " in bare else "all"


_NUMBERS = (*UNITS, *TENS, "half", "couple", "few")
NUMBER = (
    rf"(?:{DIGITS}|"
    + "|".join(_NUMBERS)
    + r"|hundred|thousand|million)\b(?: (?:and )?(?:hundred|thousand|k|million|m|billion|mil|mio|"
    + "|".join(_NUMBERS)
    + r")\b)*(?: of)?"
)
_VAGUE = {"couple": "two", "few": "three"}


def number(text: str) -> float | None:
    """
    >>> number("2.5 million"), number("five hundred thousand"), number("half million"), number("blue")
    (2500000.0, 500000.0, 500000.0, None)
    """
    return amount([_VAGUE.get(word, word) for word in re.sub(r"(\d)(k|m)\b", r"\1 \2", text).split()])


UNIT = r"(?:km|kilomet(?:er|re)s?|miles?|metres?|meters?|feet|foot|m|hours?)"
_METRES = {"k": 1000.0, "mi": 1609.34, "f": 0.3048, "m": 1.0}


def metres(amount: str, unit: str) -> float | None:
    """A length in metres; None for what is no length.

    >>> metres("two", "km"), metres("1000", "feet")
    (2000.0, 304.8)
    """
    n = number(amount)
    scale = next((v for k, v in _METRES.items() if unit.startswith(k)), None)
    return None if n is None or scale is None else n * scale


# --- places ----------------------------------------------------------------------------------------------------------

_CONTINENTS = {
    "europe": "Europe",
    "european": "Europe",
    "asia": "Asia",
    "asian": "Asia",
    "africa": "Africa",
    "african": "Africa",
    "oceania": "Oceania",
    "north america": "North America",
    "north american": "North America",
    "south america": "South America",
    "south american": "South America",
    "oceanic": "Oceania",
    "american continent": "Americas",
    "americas": "Americas",
    "new world": "Americas",
    "eurasia": "Eurasia",
    "australian continent": "Oceania",
    "continental europe": "Europe",
    "north american continent": "North America",
    "oceanian": "Oceania",
    "european continent": "Europe",
    "asian continent": "Asia",
    "african continent": "Africa",
    "south american continent": "South America",
}
_PARTS = {
    "west coast": ("West Coast", "on the West Coast of the United States"),
    "east coast": ("East Coast", "on or near the East Coast of the United States"),
    "midwest": ("Midwest", "in the Midwest"),
    "midwestern": ("Midwest", "in the Midwest"),
    "new england": ("New England", "in New England"),
    "pacific northwest": ("Pacific Northwest", "in the Pacific Northwest"),
    "deep south": ("South", "in the South of the United States"),
}
_CARDINAL = {"northern": "north", "southern": "south", "eastern": "east", "western": "west", "central": "central"}


@lru_cache(maxsize=4096)
def place(text: str, adjective: bool = False) -> Claim | None:
    """The claim to be in a place, by its plain name or (where `adjective`) by the word for its people."""
    text = re.sub(
        r"^(?:the |in |within |continent of |country of |region of |mainland of |mainland |state of |"
        r"usa state of |island of )+",
        "",
        text,
    )
    text = re.sub(
        r" (?:continent|region|area|itself|proper|(?<!indian )subcontinent|at all|part of world"
        r"|peninsula(?<!n peninsula))$",
        "",
        text,
    )
    text = re.sub(r"^midwest(?:ern)? (?:usa|united states|america|us)$", "midwest", text)
    unsaid = text in ("west coast", "east coast")
    text = re.sub(r" 's$| of (?:usa|united states|america)$", "", text)
    if unsaid:
        return _at_home(part(*_PARTS[text]))
    if text.endswith(" state") and text.removesuffix(" state") in atlas().states:
        return state(atlas().states[text.removesuffix(" state")])
    if text in _CONTINENTS:
        name = _CONTINENTS[text]
        if name in ("Americas", "Eurasia"):
            return continents(
                ("North America", "South America") if name == "Americas" else ("Europe", "Asia"),
                f"the {name}" if name == "Americas" else name,
            )
        return continent(name)
    if text in ("england", "scotland", "wales", "northern ireland"):
        return nation(text.title())
    if text in ("eu", "european union"):
        return group_eu()
    return (None if adjective else area(text)) or _region(text) or _land(text, adjective)


def _at_home(claim: Claim) -> Claim:
    """A coast of the United States that is not said to be theirs: another country may have one of that name."""
    return Claim(claim.topic, lambda c: claim.truth(c) if c.land.code == "US" else None, claim.words)


def group_eu() -> Claim:
    return Claim(
        "region", lambda c: "EU member" in c.land.traits, "my country [is|is not] a member of the European Union"
    )


def _region(text: str) -> Claim | None:
    original = text
    text = re.sub(r"^(north|south|east|west)(?:ern)? (?:part|half|side|end) of (?=europe|asia|africa)", r"\1 ", text)
    text = re.sub(
        r"^(northern|southern|eastern|western|central) (?:part|half|side) of (?=europe|asia|africa)", r"\1 ", text
    )
    text = re.sub(r"^(north|south|east|west) of (?=europe|asia|africa)", r"\1 ", text)
    text = text.replace("  ", " ")
    text = {"south africa": "southern africa"}.get(text, text) if original != text else text
    for short, long in (
        ("north", "northern"),
        ("south", "southern"),
        ("east", "eastern"),
        ("west", "western"),
        ("central", "central"),
        ("middle", "central"),
    ):
        text = re.sub(rf"^{short} (?:europe|european)$", f"{long} europe", text)
    text = re.sub(r"^(northern|southern|eastern|western|central) european$", r"\1 europe", text)
    words = atlas().region_words
    if text in words:
        return region(words[text])
    if text in ("north atlantic", "nato"):
        return group("nato", "country", "my country [is|is not] in NATO") if text == "nato" else None
    if text in _PARTS:
        return part(*_PARTS[text])
    return None


def _land(text: str, adjective: bool) -> Claim | None:
    if text in ("georgia",):
        found = country(frozenset(("GE",)), "Georgia")
        georgia = state("Georgia")
        return Claim("country", lambda c: found.truth(c) or georgia.truth(c), "my city [is|is not] in a Georgia")
    named = atlas().lands.get(text)
    if named is None and adjective:
        named = atlas().peoples.get(text)
    if named is not None:
        return country(named, _label(text, named))
    if text in atlas().states and text != "dc":
        return state(atlas().states[text])
    return None


def _label(text: str, codes: frozenset[str]) -> str:
    """The name of a country inside a sentence."""
    name = atlas().countries[max(codes, key=lambda code: (len(atlas().siblings[code]), code))].name
    first = name.split()[0]
    the = first in ("United", "Democratic", "Republic", "Central", "Dominican") or name.endswith(
        ("Islands", "lands", "pines", "Maldives", "Seychelles", "Bahamas", "Emirates")
    )
    return f"the {name}" if the else name


def lands(text: str) -> frozenset[str] | None:
    """Codes of the country of this name."""
    return atlas().lands.get(text.removeprefix("the "))


@lru_cache(maxsize=1024)
def land_label(text: str) -> str:
    codes = lands(text)
    return _label(text, codes) if codes else text


@lru_cache(maxsize=4096)
def town(text: str) -> City | None:
    """The best-known city of that name: the most populous one."""
    text = (
        re.sub(r" 's$|^city of | city$(?<!mexico city)(?<!kuwait city)(?<!vatican city)", "", text.replace(" , ", " "))
        if text not in atlas().by_name
        else text
    )
    ids = atlas().by_name.get(text)
    if ids is None:
        head, _, tail = text.rpartition(" ")
        ids = atlas().by_name.get(head) if tail in atlas().lands else None
    if not ids:
        return None
    return max((atlas().cities[i] for i in ids), key=lambda c: c.people[1] if c.people else 0)


# --- guesses ---------------------------------------------------------------------------------------------------------

_COMMENT = re.compile(
    r"^(?:which|often|known|where|that|home|famous|as|because|given|based|since|who|with|also|one of|"
    r"by any|famed|considering|due|from|located|then|final|birthplace|perhaps|for|it|C|capital$"
    r"|heart|city of|city in|city known|city with|most|largest|biggest|i (?:think|guess|believe)|this|and)\b"
)


_DOUBTFUL = re.compile(
    r"\b(?:not|no|or|and|but|if|than|from|near|close|like|you|your|we|they|he|she|who|is|are|was|were|does|do|did|has"
    r"|there|say|says|said|yes|right|wrong|twin|sister|same|other)\b"
)
"""What may be more than a description of a city behind its name ("jaipur , pink city")."""


@lru_cache(maxsize=4096)
def guessed(text: str, firm: bool) -> Guess | None:
    """The cities that "paris , france" or "rome or milan" proposes; None if it is no list of cities. In a `firm` guess
    ("is it ...") a name that is not known may stand for a city too, which the caller decides."""
    text = re.sub(
        r"^(?:maybe |perhaps |city of |C of |in |called |named |by any chance |definitely |probably )+", "", text
    )
    names: list[tuple[str, frozenset[int]]] = []
    for segment in re.split(r" or (?:maybe |is C |perhaps )?", text):
        if _COMMENT.match(segment) and names:
            break
        if not _segment(segment, names, firm):
            return None
    if not names:
        return None
    distinct = {ids for _, ids in names}
    shared = frozenset(i for i in names[0][1] if all(i in ids for ids in distinct))
    some = frozenset(i for ids in distinct for i in ids)
    same = len(distinct) == 1 or bool(shared)
    return Guess(shared if same else some, 1 if same else len(distinct))


def _segment(segment: str, names: list[tuple[str, frozenset[int]]], firm: bool) -> bool:
    """Reads "paris , france" or "london , rome" into `names`; False if it does not read."""
    pieces = [p for p in segment.split(" , ") if p]
    sure = False
    for n, spelled in enumerate(pieces):
        piece = re.sub(
            r"^(?:i mean|sorry|or rather|also called|also known as|that is|meaning|or|and|aka|formerly|in|"
            r"capital of|capital city of|usa state of) (?=\w)",
            "",
            spelled,
        )
        if not n and re.match(r"capital (?:city )?of ", spelled):
            return False
        if (
            n
            and (found := qualified(piece)) is not None
            and piece not in ("kuwait", "singapore", "luxembourg", "monaco")
        ):
            name, ids = names[-1]
            names[-1] = (name, frozenset(i for i in ids if found(atlas().cities[i])))
            sure = True
        elif (ids := _city_ids(piece)) is not None:
            names.append((piece, ids))
            sure = False
        else:
            described = firm and n == 1 and len(names[-1][1]) == 1 == len(pieces) - 1 and not _DOUBTFUL.search(piece)
            return bool(n and (_COMMENT.match(piece) or sure or described))
    return bool(pieces)


def _city_ids(piece: str) -> frozenset[int] | None:
    """Cities of a name, with its country behind it or not: "paris", "paris france", "paris in france"."""
    names = atlas().by_name
    bare = plain(piece)
    for form in (bare, bare.removesuffix(" city"), bare.removeprefix("city of ")):
        if form in names:
            return frozenset(names[form])
    words = bare.split()
    for cut in range(min(len(words) - 1, atlas().longest_name), 0, -1):
        head, tail = " ".join(words[:cut]), " ".join(words[cut:])
        if head in names and (test := qualified(tail.removeprefix("in ").removeprefix("the "))) is not None:
            return frozenset(i for i in names[head] if test(atlas().cities[i]))
    return None


LONGEST_NAME = 8
"""Words of a city's name with its country."""


@lru_cache(maxsize=4096)
def cities_named(text: str) -> int:
    """The cities of a name, with the country behind it or not, as a mask."""
    return sum(1 << i for i in _city_ids(text) or ())


def qualified(text: str) -> Callable[[City], bool] | None:
    """Whether a city is in the country, state or province named behind a city's name."""
    text = plain(text).removeprefix("in ").removeprefix("the ")
    if text == "georgia":
        return lambda c: c.land.code == "GE" or c.state == "Georgia"
    codes = atlas().lands.get(text)
    if codes is not None:
        return lambda c: c.land.code in codes
    name = atlas().states.get(text)
    if name is not None:
        return lambda c: c.state == name
    code = atlas().provinces.get(text)
    if code is not None:
        return lambda c: c.land.code == code
    claim = place(text)
    return None if claim is None else lambda c: claim.truth(c) is not False


def capitalised(spoken: str, name: str) -> bool:
    """Whether every word of a name has a capital in what was said."""
    words = {plain(w) for w in re.findall(r"\b[A-Z][\w'-]*", spoken)}
    split = {part for w in words for part in w.split()}
    return all(part in split for part in plain(name).split())
