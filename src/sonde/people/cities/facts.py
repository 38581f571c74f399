"""The open questions: what somebody tells of a city, a sentence for each, or None where it is not known.

Ours. How one asks for a fact is declared in `envs/data/city_phrases.txt`, section [open]. No sentence holds a name of
the city, of its country or its people (languages aside): where a fact cannot be told without one, it is told with
less, or not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from . import geography
from .atlas import City, atlas, listed, plain
from .columns import founded, independence, spellings
from .geography import Fact, joined, listing, safe, season, true_of
from .sets import script, sets

# --- people ----------------------------------------------------------------------------------------------------------


def _language(c: City) -> str | None:
    own = atlas().more["spoken"].get(c.name)
    names = [
        x
        for x in (own.split("; ") if own else c.land.languages)
        if not set(plain(x).split()) & set(plain(" ".join(c.secrets)).split())
    ]
    return f"People speak {joined(names)}" if names else None


def _official(c: City) -> str | None:
    names = [x for x in c.land.languages if not set(plain(x).split()) & set(plain(" ".join(c.secrets)).split())]
    return f"Official in my country: {joined(names)}" if names else None


def _script(c: City) -> str | None:
    found = script(c)
    if found == "its own":
        return "Our language has a script of its own"
    return f"We write in {found} letters" if not c.reveals(found) else "We write in letters of our own"


def _currency(c: City) -> str | None:
    money = c.land.currency
    if not c.reveals(money):
        return f"People pay with the {money}"
    last = money.split()[-1]
    return None if c.reveals(last) or " and " in money else f"People pay with a kind of {last}"


def _cuisine(c: City) -> str | None:
    own = list(c.food)
    return listing(c, [*own, *(d for d in c.land.food if not any(d.startswith(x) for x in own))], "Typical food: {}")


def _table(name: str, words: str) -> Fact:
    """A table of the countries, from `cities_more.toml`."""

    def fact(c: City) -> str | None:
        rows = (row.strip().partition(" ") for row in atlas().more["tables"][name].split(";"))
        found = next((text for code, _, text in rows if code == c.land.code), None)
        return words.format(found) if found and not c.reveals(found) else None

    return fact


def _sport(c: City) -> str | None:
    own = safe(c, c.sport)
    popular = _table("sport", "The most popular sport here: {}")(c) or (
        "The most popular sport here: football" if true_of(c, "football_land") else None
    )
    return f"In sport my city is known for this: {own}" if own else popular


_POWERS = "british french spanish portuguese dutch belgian german italian american japanese russian ottoman habsburg"


def _rulers(c: City) -> str | None:
    """Who ruled the country, of those of whom it is certain."""
    table = atlas().more["ruled"]
    held = [kind for kind in _POWERS.split() if c.land.code in table[kind]["yes"].split()]
    names = [kind.title() for kind in held if not c.reveals(table[kind]["words"].replace("|", " "))]
    if names:
        return f"My country was once under {joined(names)} rule"
    return "My country was never a colony" if true_of(c, "never_colonised") else None


def _history(c: City) -> str | None:
    if founded(c) is None:
        return None
    when = {
        "ancient": "in ancient times",
        "medieval": "in the Middle Ages",
        "early modern": "between 1500 and 1800",
        "19th century": "in the 19th century",
    }
    return (
        f"My city was founded {when.get(str(c.age), 'after 1900')}{', by colonists from Europe' if c.colonial else ''}"
    )


def _independence(c: City) -> str | None:
    year = independence().get(c.land.code)
    if year is None:
        return "My country was never a colony" if true_of(c, "never_colonised") else None
    return f"My country became independent {'in the 18th century' if year < 1800 else f'in the {year // 10 * 10}s'}"


# --- kinds -----------------------------------------------------------------------------------------------------------


def _kinds(name: str) -> Fact:
    """The kinds of a table `told` that are true of a city: they say of what sort it is, and not which it is."""
    row = atlas().more["told"][name]
    kinds = dict(item.split(": ") for item in listed(row["kinds"]))

    def fact(c: City) -> str | None:
        held = [kinds[attribute] for attribute in true_of(c, " ".join(kinds))][: row["most"]]
        return row["say"].format(joined(held)) if held else row.get("none")

    return fact


def _either(*facts: Fact) -> Fact:
    """The first of some facts that is known."""
    return lambda c: next((text for fact in facts if (text := fact(c)) is not None), None)


def _religion_of_land(c: City) -> str | None:
    found = c.land.religion
    return f"The main religion: {found}" if found and found != "Islam" else None


def _own_industry(c: City) -> str | None:
    return f"My city is known for {c.industry}" if safe(c, c.industry) else None


def _no_metro(c: City) -> str | None:
    found = sets().attribute("metro")
    return "People use buses and cars" if found is not None and found.no >> c.id & 1 else None


# --- fame ------------------------------------------------------------------------------------------------------------


def _festivals(c: City) -> str | None:
    held = [
        k
        for k in c.known
        if any(
            f" {word} " in f" {plain(k)} "
            for word in ("festival", "carnival", "fair", "parade", "fallas", "oktoberfest")
        )
    ]
    return listing(c, held, "A festival here: {}", 1) or (
        "There is a well-known festival" if true_of(c, "carnival") else None
    )


def _nickname(c: City) -> str | None:
    found = atlas().more["nicknames"].get(c.name)
    return f"People call it {found}" if found and not c.reveals(found) else None


def _culture(c: City) -> str | None:
    held = [x for x in (_language(c), _either(_kinds("faith"), _religion_of_land)(c)) if x]
    return ". ".join(held) or None


def _geography(c: City) -> str | None:
    held = [x for x in (geography.coast(c), geography.river(c), geography.elevation(c)) if x]
    return ". ".join(held) or None


def _letters(size: Callable[[str], object], words: str) -> Fact:
    """What holds of the name however it is written."""

    def fact(c: City) -> str | None:
        found = {size(name) for name in spellings(c)}
        return words.format(found.pop()) if len(found) == 1 else None

    return fact


def _word_count(c: City) -> str | None:
    found = {len(name.split()) for name in spellings(c)}
    n = found.pop()
    return None if found else f"The name has {n} word{'' if n == 1 else 's'}"


_PLACES = (
    "continent region part hemisphere latitude longitude timezone neighbours coast island elevation river"
    " climate population capital"
)
"""Facts of `geography.py`."""


@cache
def facts() -> Mapping[str, Fact]:
    """Name of a fact, as the phrasings have it -> what is told."""
    return {
        **{name: getattr(geography, name) for name in _PLACES.split()},
        "land_people": geography.land_population,
        "language": _language,
        "official": _official,
        "script": _script,
        "currency": _currency,
        "cuisine": _cuisine,
        "sport": _sport,
        "rulers": _rulers,
        "history": _history,
        "independence": _independence,
        "festivals": _festivals,
        "nickname": _nickname,
        "culture": _culture,
        "geography": _geography,
        "terrain": _either(_kinds("ground"), geography.elevation),
        "border": _kinds("border"),
        "winter": season("snow", "Winters are cold, with snow", "There is no snow in winter", "Now and then it snows"),
        "summer": season("hot_summer", "Summers are hot", "Summers are mild", "Summers are warm"),
        "religion": _either(_kinds("faith"), _religion_of_land),
        "government": _kinds("government"),
        "wealth": _kinds("wealth"),
        "export": _table("export", "My country sells {} above all"),
        "dress": _table("dress", "People wear {}"),
        "university": lambda c: f"My city has this: {c.university}" if safe(c, c.university) else None,
        "flag": lambda c: f"The colours of our flag: {joined(list(c.land.flag))}" if c.land.flag else None,
        "drives": lambda c: f"People drive on the {c.land.drives}",
        "fame": _kinds("fame"),
        "sights": _kinds("sights"),
        "visit": _kinds("visit"),
        "industry": _either(_own_industry, _kinds("work")),
        "transport": _either(_kinds("ways"), _no_metro),
        "architecture": _kinds("architecture"),
        "letters": _letters(lambda name: sum(ch.isalpha() for ch in name), "The name has {} letters"),
        "words": _word_count,
        "initial": _letters(lambda name: name[0].upper(), "The name begins with the letter {}"),
        "final": _letters(lambda name: name[-1].upper(), "The name ends with the letter {}"),
        "place": lambda c: ". ".join(x for x in (geography.continent(c), geography.coast(c)) if x) or None,
    }


@cache
def told(name: str) -> Mapping[str, int]:
    """What is said of a fact -> the cities of which it is, as a mask."""
    found: dict[str, int] = {}
    fact = facts()[name]
    for city in atlas().cities:
        text = fact(city)
        if text is not None:
            found[f"{text}."] = found.get(f"{text}.", 0) | 1 << city.id
    return found
