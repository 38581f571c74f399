"""What a message of guess_my_city asks, where no pattern fits it as a whole: a table of matters and their words.

Ours. People put questions in more ways than there are patterns ("I'd be paying in yen, presumably?", "Are you Kenya's
capital?"). Such a message is read if it is one sentence that names one matter (`cue`) and one thing of its kind
(`names`), and every other word of it is among those that say nothing else (`_PLAIN`, the row's `words`): then it comes
to the plain `question`. Any other word could turn the sense, so it leaves the message unread.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

from ..checks import plain
from . import customs, water
from .atlas import atlas
from .named import grams, sight, spoken_words
from .replies import Query
from .sentences import one_sentence
from .words import lands

LONGEST = 24
"""Words of a message that are read."""

_SAYING_NOTHING = (
    "is are am be being do does would could might may should shall will can i you your yours it this that there here "
    "the a an in on at to of by for with so well alright ok okay then now nowadays presently currently today "
    "happen perhaps maybe please city town place hometown lie lies located situated sit sits stand stands find "
    "where me my visit visiting while during trip stay since because as _ ,"
)
_PLAIN = frozenset(_SAYING_NOTHING.split())
_PERSON = re.compile(
    r"\b(?:do|can|could|would|will|did|may|might|should|shall) (?:you|i|we) "
    r"(?!(?:ever|once|lie|sit|stand|happen|belong|border|share|host|be|occupy|pay|speak|find you|hear|see|sail)\b)"
    r"|\byou (?:find|see|hear|sail|visit|swim|stay|look)\b"
)
"""What a person does, which says nothing of the place."""
_OF_COUNTRY = r"(?: (?:city )?of (?:your|the|its|this) (?:country|nation))?"
_MORE = r"(?P<s>more than|over|upwards of|at least|under|fewer than|less than|below)"
_AMOUNT = (
    r"(?P<n>(?:\d[\d.]*|million|half|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|fifty)"
    r"(?: (?:hundred|thousand|million|billion))*)"
)
_SPEECH = (
    "speak speaks spoken language tongue hear chat talk people locals residents inhabitants citizens everyone what "
    "everyday local native mother main market streets called they"
)
_OFFICE = "national federal government president parliament king palace presidential work works reside resides seat"
_AS_CAPITAL = (
    r"\b(?:as|being|because you are|since you are|as it is|making you),?"
    r"(?: (?:the|its|_|s|national|federal))* capital\b"
)
_SHORE = (
    "sea ocean coast shore shores seafront seaside beach beaches harbour port reach reaches wash washes against walls "
    "quays promenade along beside see swim stroll"
)
_GLOBE = r"(?: half of (?:the )?(?:globe|earth|world|planet)| hemisphere)"


class Row(NamedTuple):
    """A matter: what must be there, the things of which one is named (plain name -> how it is asked for), the words
    that may stand beside them, and the plain question."""

    cue: str
    names: Callable[[], Mapping[str, str]] | None
    words: str
    question: str


def _same(names: frozenset[str] | set[str]) -> Mapping[str, str]:
    return {name: name for name in names}


@cache
def _countries() -> Mapping[str, str]:
    more = ("usa", "united states", "america", "uk", "britain", "holland", "russia")
    return _same({x for x in (*(plain(land.name) for land in atlas().countries.values()), *more) if lands(x)})


@cache
def _continents() -> Mapping[str, str]:
    return _same({"africa", "asia", "europe", "north america", "south america", "oceania"})


@cache
def _tongues() -> Mapping[str, str]:
    return _same(customs.languages() - {"sign", "creole"})


@cache
def _coins() -> Mapping[str, str]:
    names = {x for land in atlas().countries.values() for x in (plain(land.currency), plain(land.currency).split()[-1])}
    return {form: name for name in names for form in (name, f"{name}s")}


@cache
def _faiths() -> Mapping[str, str]:
    return {
        "hinduism": "hindu", "hindus": "hindu", "buddhism": "buddhist", "buddhists": "buddhist", "islam": "muslim",
        "muslims": "muslim", "christianity": "christian", "christians": "christian", "catholics": "catholic",
    }  # fmt: skip


@cache
def _rivers() -> Mapping[str, str]:
    return _same(set(water.rivers()))


@cache
def _seas() -> Mapping[str, str]:
    found = {form: name for name in water.SEAS for form in (name, f"{name} sea", f"{name} ocean")}
    return {form: found[form] for form in sorted(found, key=len)}


@cache
def _islands() -> Mapping[str, str]:
    return _same(set(water.island_names()))


_TABLE = (
    Row(_AS_CAPITAL, _countries, _OFFICE, "is C capital of {x}"),
    Row(_AS_CAPITAL, None, _OFFICE, "is C capital"),
    Row(r"\bcapital (?:city )?of (?:the )?_|_ (?:national |federal )?capital\b", _countries, "kingdom",
        "is C capital of {x}"),
    Row(rf"\b(?:country |nation )?capital{_OF_COUNTRY}\b", None, "national federal", "is C capital"),
    Row(r"^(?=.*\b(?:country|nation|yours)$)(?=.*\b(?:borders?|frontiers?|next door)\b)", _countries,
        "country nation border borders frontier frontiers right next door share shares both and", "does N border {x}"),
    Row(r"\b(?:main|mainly|most|mostly|everyday|native|mother|first|majority|the (?:local )?(?:language|tongue))\b",
        _tongues, _SPEECH, "do P mainly speak {x}"),
    Row(r"\b(?:speak|speaks|spoken|hear|chat|talk)\b", _tongues, _SPEECH, "do P speak {x}"),
    Row(r"\b(?:pay|paying|prices?|cash|currency|money|haggling)\b", _coins,
        "pay paying cash currency money given people shops market", "do P pay with {x}"),
    Row(r"^(?=.*\bcountry\b).*?\b(?:majority|most|mostly|main religion|predominantly)\b", _faiths,
        "people citizens residents inhabitants follow religion faith what country", "is N predominantly {x}"),
    Row(r"\b(?:majority|most|mostly|main religion|predominantly)\b", _faiths,
        "people citizens residents inhabitants follow religion faith what", "is C predominantly {x}"),
    Row(rf"\b(?:north|above) (?:of )?(?:the )?equator|\bnorthern{_GLOBE}", None, "", "is C in northern hemisphere"),
    Row(rf"\b(?:south|below) (?:of )?(?:the )?equator|\bsouthern{_GLOBE}", None, "down under",
        "is C in southern hemisphere"),
    Row(rf"\b{_MORE} {_AMOUNT} (?:people|inhabitants|souls|residents|citizens)\b", None, "live living home call have",
        "do {s} {n} people live"),
    Row(rf"\b(?:inhabitants|population|residents) (?:number|exceed|count)s? {_MORE} {_AMOUNT}$", None, "",
        "do {s} {n} people live"),
    Row(rf"\b{_MORE} {_AMOUNT} (?P<u>metres|feet)\b", None, "above sea level altitude high up",
        "is C {s} {n} {u} above sea level"),
    Row(r"\bisland\b", _islands, "", "is C on island of {x}"),
    Row(r"\bisland\b", None, "occupy", "is C on island"),
    Row(r"\b(?:river|flows?|runs?|cross|crosses|pass|passes|divides?|banks|bridges|cruises|sail)\b", _rivers,
        "river flow flows run runs through cross crosses pass passes divide divides two banks bridges sail past below",
        "is C on {x}"),
    Row("", _seas, _SHORE, "is C on {x}"),
    Row(r"\b(?:ocean|sea|coast|seaside|seafront)\b", None, _SHORE, "is C on coast"),
    Row("", _continents, "continent continents somewhere look map atlas part list scanning", "is C in {x}"),
    Row(r"\b(?:country|nation|belong|home)\b", _countries, "belong home country nation part", "is C in {x}"),
    Row(r"^(?!.*\b(?:would|could|may|might|can|should|shall|will|be)\b)"
        r"(?=.*?(?P<w>\b(?:summer|winter) )?\b(?:olympics|olympic games)\b)", None,
        "did host hosted held ever once has have were come came welcome world summer winter olympics olympic games",
        "was {w}olympics held"),
)  # fmt: skip


@cache
def _rows() -> tuple[tuple[re.Pattern[str], Row, frozenset[str]], ...]:
    return tuple((re.compile(row.cue), row, _PLAIN | frozenset(row.words.split())) for row in _TABLE)


def gist(spoken: str, ask: Callable[[str], Query | None]) -> Query | None:
    """The plain question that a message comes to; `spoken` with its capitals, `ask` reads plain questions."""
    words = spoken_words(spoken)
    if not 0 < len(words) <= LONGEST or not one_sentence(spoken):
        return None
    text = " ".join(words).replace(" a million ", " million ")
    if _PERSON.search(text):
        return None
    for cue, row, allowed in _rows():
        question = _plain_question(text, cue, row, allowed)
        if question:
            return ask(question)
    return sight(words, spoken, _PLAIN)


def _plain_question(text: str, cue: re.Pattern[str], row: Row, allowed: frozenset[str]) -> str | None:
    """The row's question, if its matter is named and nothing else is said."""
    names, rest = _taken(text, row.names()) if row.names else ([], text)
    found = cue.search(rest)
    if found is None or bool(names) != bool(row.names) or len(names) > 1 + ("both" in row.words):
        return None
    if not set(f"{rest[: found.start()]} {rest[found.end() :]}".split()) <= allowed:
        return None
    return row.question.format(x=" and ".join(names), **{k: v or "" for k, v in found.groupdict().items()})


def _taken(text: str, known: Mapping[str, str]) -> tuple[list[str], str]:
    """The names in a text, the longest first, and the text with "_" in their stead."""
    names: list[str] = []
    for gram in grams(text.split()):
        if gram in known and f" {gram} " in f" {text} ":
            names.append(known[gram])
            text = f" {text} ".replace(f" {gram} ", " _ ", 1).strip()
    return names, text
