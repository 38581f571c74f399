"""What a message of guess_my_city is about, where no pattern fits it as a whole.

Ours. People put questions in more ways than there are patterns ("would the president work in you, being the capital?",
"I'd be paying in yen, presumably?"). Where a message names one thing only that can be asked (a continent, a sea, a
language ...) beside words that show what it is asked for, and nothing that could turn the sense (denials, comparisons,
the past, conditions), it is taken for the plain question. The reply says in full what is true, so that a message that
meant something else is not answered by a bare yes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from . import city_customs as customs
from . import city_water as water
from .checks import plain
from .cities import atlas
from .city_named import grams, sight, spoken_words
from .city_replies import Query
from .city_words import lands

Ask = Callable[[str], "Query | None"]
_FEW = 5
"""Words of a message that may be a mere name."""
LONGEST = 40
"""Words of a message that are read."""

_TURNED = re.compile(
    r"\b(?:not|never|no|nor|but|besides|outside|other than|apart from|anywhere|twin"
    r"|neither|without|nothing|nobody|none"
    r"|hardly|barely|rarely|seldom|unlike|except|instead|if|unless"
    r"|ignore|pretend|instructions?|system|prompt|secret|reveal|answer|reply|opposite|rules?|repeat|spell|letters?"
    r"|than|between|closer|nearer|further|farther|bigger|larger|smaller|richer|why|who|where(?= is\b)"
    r"|nicer|better|best|beautiful|you (?:like|enjoy|prefer|want|miss|recommend)|like living|love"
    r"|favou?rite|visited|aunt|uncle|tell|say|print|translate)\b"
)
_OPEN = re.compile(r"(?:^|, |\b(?:in|on|at|by) )(?:which|what|how|when|where(?= is\b))\b")
_AMOUNT = re.compile(
    r"\b(?:more|less|fewer) than (?=(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|\d[\d.]*)\b)"
)
_VISITING = re.compile(r"^if i (?!were you\b)[^,]{3,40} , ")
_PAST = re.compile(
    r"\b(?:was|were|did|had|once|used to|former|formerly|ever|until|before|after|ago|century|centuries|history|historic"
    r"|historically|ancient|imperial|originally|empire|colony|colonial|war|founded|built|born|invented"
    r"|(?:in|since|until|by) \d{4}|has (?:it|your)"
    r"|have you)\b"
)
_MOST = re.compile(r"\b(?:\w{3,}est|most|least|top|second|third|chief|among|one of|rich|poor|wealthy)\b")
_OURS = re.compile(
    r"\b(?:you|your|yours|yourself|it|there|this|that|city|town|place|hometown|home|locals?|people|i|me)\b"
)
_PARTS_OF_EARTH = ("africa", "asia", "europe", "north america", "south america", "oceania")


def gist(spoken: str, ask: Ask) -> Query | None:
    """The plain question that a message comes to; `spoken` with its capitals, `ask` reads plain questions."""
    words = spoken_words(spoken)
    if not 0 < len(words) <= LONGEST:
        return None
    text = _VISITING.sub("", " ".join(words))
    words = text.split()
    if (
        _TURNED.search(_AMOUNT.sub("", text))
        or _OPEN.search(text)
        or (spoken.count("?") > 1 and re.search(r"\?.*\w.*\?", spoken))
    ):
        return None
    games = _games(text)
    if games is not None:
        return ask(games)
    for rule in _NOW if not _PAST.search(text) else ():
        found = rule(text, words)
        if found is not None:
            return ask(found) if found else None
    return sight(words, spoken) if _OURS.search(text) or len(words) <= _FEW else None


@cache
def _countries() -> Mapping[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for land in atlas().countries.values():
        codes = lands(plain(land.name))
        if codes:
            found[plain(land.name)] = codes
    for name in ("usa", "us", "united states", "america", "uk", "britain", "england", "scotland", "holland", "russia"):
        codes = lands(name)
        if codes:
            found[name] = codes
    return found


_LONGER = ("north america", "south america", "latin america", "central america", "new england", "northern ireland")


def _named(words: Sequence[str], names: object) -> list[str]:
    """The names among the words, no part of a longer one of them."""
    found = [gram for gram in grams(words, 2) if gram in _LONGER]
    outer = len(found) if not any(gram in names for gram in found) else 0  # type: ignore[operator]
    for gram in grams(words):
        if gram in names and gram not in found and not any(re.search(rf"\b{gram}\b", longer) for longer in found):  # type: ignore[operator]
            found.append(gram)
    return found[outer:]


# Each rule gives the plain question; empty where the message is about its matter, but not clear enough; None where it
# is about something else.


def _capital(text: str, words: Sequence[str]) -> str | None:
    if "capital" not in words:
        return None
    if _MOST.search(text) or re.search(
        r"\b(?:state|provincial|regional|cultural|financial|fashion|world|of the world)\b", text
    ):
        return ""
    lands_ = _named(words, _countries())
    if re.search(r"\b(?:suburbs?|outskirts|near|outside|next to|close|part of)\b", text):
        return ""
    if re.search(r"\bcapital of (?!(?:the|its|your|that|this|a|my) )", text) and not lands_:
        return ""  # of something that is no country
    if len(lands_) == 1 and lands_[0] not in ("england", "scotland"):
        return f"is C capital of {lands_[0]}"
    return "is C capital" if not lands_ or lands_[0] in ("england", "scotland") else ""


def _neighbour(text: str, words: Sequence[str]) -> str | None:
    if not re.search(r"\b(?:borders?|frontiers?|next door|neighbou?rs?|next to your country)\b", text):
        return None
    found = _named(words, _countries())
    return f"does N border {' and '.join(found)}" if 1 <= len(found) <= 2 and " or " not in text else ""


def _language(text: str, words: Sequence[str]) -> str | None:
    found = [x for x in _named(words, customs.languages()) if x not in ("sign",)]
    cue = r"\b(?:speaks?|spoken|language|tongue|hear|hearing|talks?|chat|greet|lips|ordering|understood|converse)\b"
    if not found or not re.search(cue, text):
        return None
    if len(found) > 1 or re.search(r"\b(?:only|besides|also|second|learn|school|tourists|accent|like)\b", text):
        return ""
    sole = re.search(r"\b(?:main|mainly|most|mostly|majority|everyday|tongue|primary|native|home|first)\b", text)
    return f"do P {'mainly ' if sole else ''}speak {found[0]}"


@cache
def _coins() -> Mapping[str, str]:
    found: dict[str, str] = {}
    for land in atlas().countries.values():
        for name in (plain(land.currency), plain(land.currency).split()[-1]):
            found[name] = name
            found[f"{name}s"] = name
    return found


def _money(text: str, words: Sequence[str]) -> str | None:
    cue = (
        r"\b(?:pay|pays|paying|prices?|wallet|purse|money|cash|currency|tills?|accept|take|spend|haggling|haggle|notes"
        r"|coins)\b"
    )
    found = _named(words, _coins())
    if not found or not re.search(cue, text):
        return None
    return f"do P pay with {_coins()[found[0]]}" if len(found) == 1 else ""


_FAITHS = {
    "hindus": "hindu", "hinduism": "hindu", "hindu": "hindu", "buddhism": "buddhist", "buddhists": "buddhist",
    "buddhist": "buddhist", "muslims": "muslim", "islam": "muslim", "muslim": "muslim", "christians": "christian",
    "christianity": "christian", "christian": "christian", "catholics": "catholic", "catholic": "catholic",
    "jews": "jewish", "judaism": "jewish",
}  # fmt: skip


def _faith(text: str, words: Sequence[str]) -> str | None:
    found = {_FAITHS[w] for w in words if w in _FAITHS}
    if not found or not re.search(
        r"\b(?:majority|most|mostly|follow|faith|believe|main religion|predominantly)\b", text
    ):
        return None
    return f"is N predominantly {found.pop()}" if len(found) == 1 else ""


def _hemisphere(text: str, words: Sequence[str]) -> str | None:
    m = re.search(
        r"\b(north|south|above|below)(?: side)?(?: of)? (?:the )?equator"
        r"|\b(northern|southern) (?:hemisphere|half of (?:the )?(?:globe|earth|world|planet))|(down under)",
        text,
    )
    if m is None:
        return None
    word = m[1] or m[2] or "south"
    side = "northern" if word in ("north", "above", "northern") else "southern"
    return f"is C in {side} hemisphere"


_SCALE = (
    r"(?P<n>(?:\d[\d.]*|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|fifty|half an?"
    r"|several)"
    r"(?: (?:hundred|thousand|million|billion))*)"
)
_UNDER = ("under", "fewer than", "less than", "below")
_OVER_UNDER = r"(?P<s>more than|over|upwards of|at least|under|fewer than|less than|below)"


def _souls(text: str, words: Sequence[str]) -> str | None:
    m = re.search(
        rf"\b{_OVER_UNDER} {_SCALE} (?:people|inhabitants|heads|souls|residents|persons|citizens)\b", text
    ) or re.search(
        rf"\b(?:inhabitants|population|people|residents) (?:number|exceeds?|is|count|be) ?{_OVER_UNDER} {_SCALE}\b",
        text,
    )
    if m is None or re.search(r"\b(?:country|nation)\b", text):
        return None
    many = re.sub(r"^an? ", "one ", m["n"])
    return f"do {'less than' if m['s'] in _UNDER else 'more than'} {many} people live"


def _height(text: str, words: Sequence[str]) -> str | None:
    m = re.search(rf"\b{_OVER_UNDER} {_SCALE} (?P<u>metres|meters|m|feet|ft)\b", text)
    if m is None or not re.search(r"\b(?:sea|altitude|high|up|elevation|mountains?)\b", text):
        return None
    more = m["s"] not in _UNDER
    return f"is C {'more than' if more else 'less than'} {m['n']} {m['u']} above sea level"


def _island(text: str, words: Sequence[str]) -> str | None:
    if not re.search(r"\b(?:island|islands)\b", text):
        return None
    if re.search(r"\b(?:mainland|country|nation|state|off|near|many|boat|pacific|islands|part)\b", text):
        return ""
    found = _named(words, water.island_names())
    return "is C on island" if not found else f"is C on island of {found[0]}" if len(found) == 1 else ""


def _river(text: str, words: Sequence[str]) -> str | None:
    found = [x for x in _named(words, water.rivers()) if x != "river"]
    cue = r"\b(?:river|flows?|runs?|cross|crosses|pass|passes|divides?|through|banks?|bridges|sail|cruises?)\b"
    if not found or not re.search(cue, text):
        return None
    return f"is C on river {found[0]}" if len(found) == 1 else ""


def _seas(text: str, words: Sequence[str]) -> str | None:
    found = [x for x in _named(words, water.SEAS) if x not in ("sea", "ocean", "lake")]
    if not found:
        return None
    if len(found) > 1 or re.search(
        r"\b(?:country|nation|current|cruise|island|islands|near|region|close|around|somewhere)\b", text
    ):
        return ""
    return f"is C on {found[0]}"


def _coast(text: str, words: Sequence[str]) -> str | None:
    cue = r"\b(?:sea|ocean|coast|coastal|beach|beaches|seaside|seafront|seashore|shore|surf|surfers|ocean liners)\b"
    if not re.search(cue, text):
        return None
    if _MOST.search(text) or re.search(
        r"\b(?:level|country|nation|far|near|close|hours?|km|miles|lake|river|food|port)\b|\byou have a\b", text
    ):
        return ""
    return "is C on coast"


def _continent(text: str, words: Sequence[str]) -> str | None:
    found = _named(words, _PARTS_OF_EARTH)
    if not found:
        return None
    others = _named(words, _countries())
    if (
        len(found) > 1
        or others
        or _MOST.search(text)
        or re.search(r"\b(?:union|central|north of|south of|west of|east of)\b", text)
    ):
        return ""
    return (
        ""
        if re.search(r"\b(?:northern|southern|eastern|western|tip|near|from|to) " + found[0], text)
        else f"is C in {found[0]}"
    )


def _country(text: str, words: Sequence[str]) -> str | None:
    found = _named(words, _countries())
    cue = (
        r"\b(?:country|nation|land|passports?|visa|home|belong|bet|right place|realm|kingdom|it is|part of|citizens)\b"
    )
    if len(found) != 1 or not re.search(cue, text):
        return None
    if _MOST.search(text) or re.search(
        r"\b(?:near|north|south|east|west|neighbou?r|coast|same|flag|ally|team|ferry)\b", text
    ):
        return ""
    return f"is C in {found[0]}"


def _games(text: str) -> str | None:
    """The past is what is asked for here."""
    m = re.search(r"\b(?:(summer|winter) )?(?:olympics|olympic games|(?<=r )games)\b", text)
    if m is None or re.search(r"\b(?:both|first|twice|next|how|cancelled|team|medals?|bid)\b", text):
        return None
    kind, year = f"{m[1]} " if m[1] else "", re.search(r"\b(?:18|19|20)\d\d\b", text)
    return f"is C known for {kind}olympics {year[0]}" if year else f"was {kind}olympics held"


def _weather(text: str, words: Sequence[str]) -> str | None:
    if re.search(r"\b(?:in|around|surrounded by|land|edge of)\b.*\bdesert\b", text):
        return "is C in desert" if not _MOST.search(text) else ""
    if "snow" in words and re.search(r"\b(?:winters?|climate|weather)\b", text):
        return "does C get snow"
    if "tropical" in words and re.search(r"\b(?:climate|weather)\b", text):
        return "is C tropical"
    return None


Rule = Callable[[str, Sequence[str]], "str | None"]
_NOW: Sequence[Rule] = (
    _capital, _neighbour, _language, _money, _faith, _hemisphere, _souls, _height, _island, _river, _seas, _coast,
    _continent, _country, _weather,
)  # fmt: skip
