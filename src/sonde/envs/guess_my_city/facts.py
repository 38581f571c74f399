"""Answers to open questions: a sentence per fact and city, or None where the fact is unknown.

Ours. `data/phrases.txt`, sections [open], [told] and [kinds], declares the questions for a fact and its sentences; this
module fills the slots of the sentences. No sentence contains a name of the city, its country or its people (except
languages): the resident states a fact that needs such a name in part, or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple, cast

from .._shared.english.tokens import plain_words
from .atlas import City, group_masks, load_atlas, split_list
from .attributes import (
    RANGES,
    country_table,
    declared_sections,
    evaluate_expression,
    section_words,
    side_of_land,
    spoken_languages,
)
from .hearing import city_grammar


def join_items(items: Sequence[str]) -> str:
    """ "a, b and c".

    >>> join_items(["a"]), join_items(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return items[-1] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


class _Saying(NamedTuple):
    """A sentence, the cities of which it may be said, and the slots in it."""

    text: str
    cities: int
    slots: Sequence[str]


def _parse_saying(text: str) -> _Saying:
    condition, _, bare = text.rpartition("] ")
    cities = city_grammar("city").lexicon.evaluate_expression(condition[1:]).yes if condition else load_atlas().all
    return _Saying(bare, cities, re.findall(r"\{(\w+)\}", bare))


@cache
def declared_facts() -> Mapping[str, Sequence[_Saying] | Sequence[str]]:
    """Map the name of a fact to its sentences, or to the facts that are told together."""
    rows = (line.partition(": ") for line in declared_sections()["told"].splitlines())
    return {
        name: text[2:].split() if text.startswith("+ ") else [_parse_saying(way) for way in text.split(" | ")]
        for name, _, text in rows
    }


def _state_fact(c: City, name: str) -> str | None:
    """Return the first sentence about a fact that is true of the city and whose slots can be filled."""
    together: list[str] = []
    for way in declared_facts()[name]:
        if isinstance(way, str):
            together += [text] if (text := _state_fact(c, way)) else []
        elif way.cities >> c.id & 1:
            held = {slot: _slot_value(c, slot) for slot in way.slots}
            if None not in held.values():
                return way.text.format(**held)
    return ". ".join(together) or None


@cache
def fact_replies(name: str) -> Mapping[str, int]:
    """Map each sentence about a fact to the cities of which it is said, as a mask."""
    return group_masks((f"{text}.", city) for city in load_atlas().cities if (text := _state_fact(city, name)))


# --- slots -----------------------------------------------------------------------------------------------------------


def _slot_value(c: City, slot: str) -> str | None:
    """Return the text for a slot: a value, kinds, or a field or table entry that may be told."""
    if slot in _VALUES:
        return _VALUES[slot](c)
    if slot in _declared_kinds():
        most, kinds = _declared_kinds()[slot]
        return _safe_items(c, [words for cities, words in kinds if cities >> c.id & 1], most)
    more = load_atlas().more
    if slot in more["tables"]:
        held = country_table(slot).get(c.land.code)
    else:
        held = more[slot].get(c.name) if slot in more else getattr(c if hasattr(c, slot) else c.land, slot)
    return _safe_items(
        c, [held] if isinstance(held, str) else cast("list[str]", held) if isinstance(held, list) else ()
    )


def _safe_items(c: City, items: Iterable[str], most: int = 9) -> str | None:
    """Those of some phrases that do not reveal the city or its country; "North America" does not."""
    held = [x for x in items if x.endswith("America") or not c.is_revealed_by(x)][:most]
    return join_items(held) if held else None


@cache
def _declared_kinds() -> Mapping[str, tuple[int, Sequence[tuple[int, str]]]]:
    """Map a name to the most kinds that are told, and all kinds: the cities of each, and its words."""
    rows = (line.partition(" = ") for line in declared_sections()["kinds"].splitlines())
    return {
        name: (int(most), [_parse_kind(x) for x in split_list(text)])
        for head, _, text in rows
        for name, most in [head.split()]
    }


def _parse_kind(text: str) -> tuple[int, str]:
    name, _, words = text.partition(": ")
    return evaluate_expression(f"@{name}").yes, words


# --- values ----------------------------------------------------------------------------------------------------------


def _part_of_country(c: City) -> str | None:
    held = [side for side in ("north", "south", "east", "west") if side_of_land(c, side)]
    return "-".join(held) or ("middle" if side_of_land(c, "center") else None)


def _degree_band(degrees: float, step: int, north: str, south: str) -> str:
    low = int(abs(degrees)) // step * step
    return f"{low} and {low + step} degrees {north if degrees > 0 else south}"


def _time_difference(c: City) -> str | None:
    hours = f"{abs(c.utc):g} hour{'' if abs(c.utc) == 1 else 's'}"
    return f"{hours} {'ahead of' if c.utc > 0 else 'behind'}" if c.utc else None


def _border_names(c: City) -> str | None:
    names = [name for name in c.land.neighbours if not c.is_revealed_by(name)]
    more = " and another whose name would tell too much" if len(names) < len(c.land.neighbours) else ""
    return f"{join_items(names)}{more}" if names else None


def _format_height(c: City) -> str | None:
    if c.elevation is None:
        return None
    low_lying = ((0, "below sea level"), (60, "close to sea level"), (250, "about 100 to 200 metres above sea level"))
    step = 250 if c.elevation < 1000 else 500
    low = c.elevation // step * step
    words = (words for most, words in low_lying if c.elevation < most)
    return next(words, f"roughly {low} to {low + step} metres above sea level")


def _range_value(name: str, unit: str, say: Callable[[float], str]) -> Callable[[City], str | None]:
    """A value that tells the first of some ranges, `bands` of the tables, in which a number surely lies."""

    def value(c: City) -> str | None:
        held = RANGES[name](c)
        if held is None:
            return None
        low, high = next(x for x in load_atlas().more["bands"][name] if x[0] <= held[0] and held[1] <= x[1])
        return f"Between {say(low)} and {say(high)}{unit}" if low else f"Fewer than {say(high)}{unit}"

    return value


def _format_thousands(n: float) -> str:
    return f"{n / 1000:g} million" if n >= 1000 and n % 1000 == 0 else f"{n:,},000"


def _safe_languages(c: City, names: Iterable[str]) -> str | None:
    """Return the languages without those that contain a word of a name."""
    own = set(plain_words(" ".join(c.secret_names)).split())
    held = [x for x in names if own.isdisjoint(plain_words(x).split())]
    return join_items(held) if held else None


def _safe_dishes(c: City) -> str | None:
    return _safe_items(c, [*c.food, *(x for x in c.land.food if not x.startswith(tuple(c.food)))], 4)


def _independence_century(c: City) -> str | None:
    found = RANGES["independent"](c)
    return found and ("18th century" if found[1] < 1800 else f"{int(found[1]) // 10 * 10}s")


_VALUES: Mapping[str, Callable[[City], str | None]] = {
    "part": _part_of_country,
    "latitude": lambda c: _degree_band(c.lat, 10, "north", "south"),
    "longitude": lambda c: _degree_band(c.lon, 20, "east", "west"),
    "clock": _time_difference,
    "borders": _border_names,
    "border_count": lambda c: str(len(c.land.neighbours) or "") or None,
    "sea_km": lambda c: str(c.sea_km[0]) if c.sea_km and c.sea_km[0] >= 50 else None,
    "height": _format_height,
    "air": lambda c: " or ".join(load_atlas().climates[code][0] for code in c.climate) or None,
    "inhabitants": _range_value("people", "", _format_thousands),
    "nation": _range_value("population", " million", lambda n: f"{n:g}"),
    "spoken": lambda c: _safe_languages(c, spoken_languages(c)),
    "official": lambda c: _safe_languages(c, c.land.languages),
    "coin": lambda c: None if " and " in c.land.currency else _safe_items(c, c.land.currency.split()[-1:]),
    "dishes": _safe_dishes,
    "founded": lambda c: c.age and load_atlas().more["ages"][c.age]["told"],
    "independence": _independence_century,
    "festival": lambda c: _safe_items(
        c, (x for x in c.known if not section_words("festive").isdisjoint(plain_words(x).split())), 1
    ),
    "creed": lambda c: None if c.land.religion == "Islam" else c.land.religion,
    "letters": lambda c: c.agreed_value(lambda name: sum(ch.isalpha() for ch in name)),
    "words": lambda c: c.agreed_value(lambda name: len(name.split())),
    "initial": lambda c: c.agreed_value(lambda name: name[0].upper()),
    "final": lambda c: c.agreed_value(lambda name: name[-1].upper()),
}
