"""What is true of countries and of groups of cities, as short statements (`envs/data/city_lands.txt`).

Ours. The statements are read like those on single cities (`sayings.py`): every group of words that one demands
must be named, and no word may stand beside them that it does not allow. A line tells of which countries or cities
("= Paris; Rome") its statements hold and of which not; of others nothing is said, unless the statement is marked as
true nowhere else ("!"), where those after "?" are left out. "&" marks what is said of the country only if the message
speaks of it, "#" what is not said of the past, "@" what is said of the past alone, "^" of rulers who rule no more.

What a message says of the country is not read as said of the city; "near" only where a statement allows it; "by" not as
the other direction ("Germany was invaded by N"); "one of the largest" not as the largest; "some" not as a rule.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from .atlas import City, Truth, atlas
from .replies import Query
from .sayings import ASKING, LONGEST, PAST, Said, Statement, Told, agrees, root, statement

_USED = re.compile(r" used? to (?:be )?(?=[a-z])| (?:before|previously|earlier|in past|back then)$")


class Row(NamedTuple):
    """A topic, whether it is said of a city or a country, the cities of which (or of whose countries) a statement
    holds, of which one may differ, of which it does not; the marks of the statement and its words."""

    topic: str
    owner: str
    yes: frozenset[int]
    unsure: frozenset[int]
    no: frozenset[int]
    marks: str
    made: Statement


_COUNTRY = frozenset(("N", "inN"))
_BEFORE = frozenset(("was", "were", "did", "had", "once", "former", "formerly", "ever"))
"""Words of what was, and perhaps is no more."""
_MARKS = "!@>#&^"
_REIGN = frozenset(
    ("president", "leader", "power", "rule", "rules", "lead", "leads", "dictator", "minister", "emperor")
)
_REIGNED = PAST | {"founded", "born"}
"""Words of who holds power, and those that tell that it was held."""
_TOPS = frozenset(("largest", "biggest", "most", "highest", "tallest", "newest", "youngest"))
_OF_OTHERS = frozenset(
    ("one", "city", "cities", "town", "towns", "place", "places", "tourist", "tourists", "visit", "visited")
)
"""Words beside which a superlative is not said of the country: one of the largest, the largest city."""


@cache
def _lines() -> tuple[Mapping[str, Sequence[tuple[str, str, str]]], Mapping[str, str]]:
    """A word -> the statements that demand it, or one of its group, first: topic, countries, text; and the lists."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    macros: dict[str, str] = {}
    for line in files("sonde.envs").joinpath("data", "city_lands.txt").read_text("ascii").splitlines():
        if line.startswith("$"):
            name, _, words = line.partition(" = ")
            macros[name] = words
        elif line and line[0] != "#":
            topic, lands, texts = line.split("|")
            for text in map(str.strip, texts.split(";")):
                for word in set(map(root, text.lstrip(_MARKS + " ").split(" ", 1)[0].split("/"))):
                    found.setdefault(word, []).append((topic.strip(), lands.strip(), text))
    return found, macros


@cache
def _row(topic: str, lands: str, text: str) -> Row:
    """A statement of a line "topic | countries ? unsure - not | statement; statement"."""
    macros = _lines()[1]
    held, _, no = " ".join(macros.get(word, word) for word in lands.split()).partition(" - ")
    yes, _, unsure = held.partition("?")
    sets = tuple(map(_cities, (yes, unsure, no)))
    marks = text[: len(text) - len(text.lstrip(_MARKS + " "))]
    words = " ".join(macros.get(word.strip("[]"), word) for word in _apart(text.lstrip(_MARKS + " ")))
    demanded, _, beside = f"{words} ".partition(" | ")
    made = statement(f"{'@' * ('@' in marks)}{'>' * ('>' in marks)}{demanded} [{beside}]", -1)
    return Row(topic, "city" if yes.startswith("=") else "country", sets[0], sets[1], sets[2], marks, made)


@cache
def _cities(text: str) -> frozenset[int]:
    """The cities of a list that begins with "=", or of the countries with these codes."""
    if text.lstrip().startswith("="):
        return atlas().chosen(text.strip(" ="))
    codes = frozenset(text.split())
    return frozenset(c.id for c in atlas().cities if c.land.code in codes)


def _apart(text: str) -> Sequence[str]:
    demanded, _, beside = text.partition("[")
    return [*demanded.split(), "|", *beside.rstrip("] ").split()]


def _holds(row: Row, words: Sequence[str], said: Sequence[str], past: bool) -> bool:
    """Whether words make the statement, of whom and when it is one."""
    of_country, named = not _COUNTRY.isdisjoint(said), row.made.beside.union(*row.made.groups)
    if row.owner == "city" and of_country and "C" not in said:
        return False
    if row.owner == "country" and any(word in words and word not in named for word in ("near", "clos")):
        return False
    if ("&" in row.marks and not of_country) or ("#" in row.marks and not _BEFORE.isdisjoint(said)):
        return False
    return not _turned(row, said) and agrees(row.made, words, past)


def _turned(row: Row, said: Sequence[str]) -> bool:
    """Whether a word turns the statement into another: its direction, its time, one of several, some of them."""
    groups = row.made.groups
    if ">" in row.marks and len(groups) > 1 and "by" in said and not any("by" in group for group in groups):
        return True
    if "^" in row.marks and _reigns(said):
        return True
    if "!" in row.marks and not (_TOPS.isdisjoint(said) or _OF_OTHERS.isdisjoint(said)):
        return True
    if "!" in row.marks and row.owner == "country" and "see" in said:
        return True
    return "some" in said and bool(row.no or "!" in row.marks)


def _reigns(said: Sequence[str]) -> bool:
    """Whether somebody is said to hold power today: "led by X", not "that X led"."""
    if not _REIGNED.isdisjoint(said):
        return False
    return not _REIGN.isdisjoint(said) or ("by" in said and not {"ruled", "led", "governed"}.isdisjoint(said))


@lru_cache(maxsize=4096)
def told_of_land(text: str) -> Told | None:
    """The statement on a country that a text in the one form makes; None if it makes none."""
    said = _USED.sub(" ", text.replace(" ,", "")).split()
    if not 1 < len(said) <= LONGEST or said[0] in ASKING:
        return None
    words, past = [root(word) for word in said if word not in _COUNTRY], _is_past(said)
    first = dict.fromkeys(line for word in words for line in _lines()[0].get(word, ()))
    rows = [row for row in (_row(*line) for line in first) if _holds(row, words, said, past)]
    return _claim(rows) if rows else None


def _is_past(said: Sequence[str]) -> bool:
    """Whether words tell of the past: "has it been", not "does it have"."""
    return not (PAST - {"have"} if said[0] in ("does", "do", "can") else PAST).isdisjoint(said)


def _claim(rows: Sequence[Row]) -> Told:
    def truth(c: City) -> Truth:
        found = {_of_city(row, c.id) for row in rows if "!" in row.marks or c.id in row.yes | row.unsure | row.no}
        return True if True in found else False if found == {False} else None

    return Told(rows[0].topic, truth, f"that [is|is not] true of my {rows[0].owner}")


def _of_city(row: Row, city: int) -> Truth:
    if city in row.yes:
        return True
    return False if city in row.no or ("!" in row.marks and city not in row.unsure) else None


def of_land(text: str, otherwise: Query) -> Query:
    """The question whether the statement that a text makes holds; `otherwise` where it makes none."""
    claim = told_of_land(text)
    return Said(claim, otherwise) if claim else otherwise
