"""Questions on the extremes of the weather and on the time of the year in a city (see `unread.py`).

Ours. "Extremely hot", "bitterly cold" and "a lot of snow" say more than "hot", "cold" and "snow": they are told of
deserts, of subarctic climates and of the cities that are known for it, and denied where the climate rules them out.
"""

from __future__ import annotations

import re

from .atlas import City, Truth, atlas
from .claims import Claim, limits
from .replies import Asked, Query

_DEGREE = (
    r"(?:really |extremely |very |bitterly |brutally |terribly |awfully |unbearably |super |freezing |bitter "
    r"|dangerously |exceptionally |incredibly |insanely |ridiculously |scorching |scorchingly |swelteringly "
    r"|icy |painfully |ever )*"
)
_WHEN = (
    r"(?: (?:in|during|over|through|every|each|at height of|in depths of|in middle of|throughout|come) "
    r"(?:summers?|winters?|summer months|winter months|winter time|wintertime|summertime|year|cold season|hot season))?"
)
_GETS = (
    r"(?:does (?:C|weather) (?:ever )?(?:get|become|turn)|do (?:C|P) (?:get|have|see)|is C|can C (?:get|be|become)"
    r"|is weather)"
)
_BITTER_CITIES = (
    "Winnipeg; Saskatoon; Regina; Edmonton; Calgary; Ulaanbaatar; Astana; Novosibirsk; Omsk; Harbin; Yakutsk; Irkutsk; "
    "Yekaterinburg; Chelyabinsk; Perm; Karaganda; Minneapolis; Anchorage; Whitehorse; Ottawa; Quebec City; Montreal; "
    "Rovaniemi; Kiruna; Arkhangelsk; Saint Paul; Moscow; Shenyang; Hohhot; Urumqi"
)
_SNOWY_CITIES = (
    "Montreal; Quebec City; Ottawa; Buffalo; Boston; Cleveland; Milwaukee; Albany; Sapporo; Anchorage; Moscow; "
    "Saint Petersburg; Helsinki; Tampere; Oslo; "
    "Minneapolis; Kiruna; Rovaniemi; Tromso; Murmansk; Arkhangelsk; Innsbruck; Salt Lake City; Perm; Yekaterinburg; "
    "Novosibirsk; Kazan; Whitehorse; Edmonton; Calgary; Winnipeg; Banff; Halifax; Saint John's/CA; Nagano; Omsk; "
    "Saint Paul; Nuuk"
)
_WET_CITIES = (
    "Bergen; Glasgow; Galway; Vancouver; Manchester; Seattle; Limerick; Cork; Kuching; Douala; Freetown; Monrovia"
)


def _by_air(yes: str, no: str, listed: str = "") -> tuple[frozenset[str], frozenset[str], str]:
    return frozenset(yes.split()), frozenset(no.split()), listed


_AIRS = {
    "scorching": _by_air("BWh", "Cfb Cfc Csb Cwb Dfc Dfd Dwc ET H HC"),
    "bitter": _by_air("Dfc Dfd Dwc", "Af Am Aw As BWh BSh Csa Csb Cwa Cwb Cfa BWn H", _BITTER_CITIES),
    "white": _by_air("", "Af Am Aw As BWh BSh BWn Cwa Cwb", _SNOWY_CITIES),
    "wet": _by_air("Af Am", "BWh BWk BWn BSh BSk", _WET_CITIES),
    "green": _by_air("", "Af Am BWn"),
}


def _air(kind: str, words: str) -> Claim:
    yes, no, listed = _AIRS[kind]

    def truth(c: City) -> Truth:
        if c.climate in yes or c.id in atlas().chosen(listed):
            return True
        return False if c.climate in no else None

    return Claim("climate", truth, f"my city {words}")


def _season(c: City, sign: int) -> Truth:
    """Whether the middle of the year is summer (or winter, where `sign` is -1): near the equator it is neither."""
    return limits(sign * c.lat, 24, -20)


_MIDYEAR = Claim("hemisphere", lambda c: _season(c, 1), "it [is|is not] summer here in the middle of the year")
_NEW_YEAR = Claim("hemisphere", lambda c: _season(c, -1), "it [is|is not] summer here at the turn of the year")

_TABLE: tuple[tuple[str, str, str], ...] = (
    ("scorching", "[is|is not] very hot in summer",
     rf"{_GETS} {_DEGREE}(?:scorching|sweltering|boiling|blistering|(?<=ly )hot|(?<=very )hot)(?: hot)?{_WHEN}"
     rf"|are summers? (?:months )?{_DEGREE}(?:scorching|sweltering|boiling|blistering|(?<=ly )hot|(?<=very )hot)"
     r"(?: hot)?|are summers extreme|do temperatures (?:in summer )?(?:often |regularly )?(?:go|climb|rise|get) "
     r"(?:above|over|past) 40(?: degrees)?(?: celsius| c)?(?: in summer)?"),
    ("bitter", "[has|does not have] very cold winters",
     rf"{_GETS} {_DEGREE}(?:(?<=ly )cold|(?<=very )cold|(?<=freezing )cold|(?<=bitter )cold|freezing|icy|frigid){_WHEN}"
     rf"|are winters? (?:months )?{_DEGREE}(?:(?<=ly )cold|(?<=very )cold|frigid|freezing|icy|severe|brutal|bitter"
     r"|harsh)(?: cold)?(?: and long| and snowy)?"
     r"|do(?:es)? (?:C|P) (?:have|get) (?:long )?(?:brutal|harsh|severe|bitter|freezing|icy|frigid|bitterly cold"
     r"|very cold|extremely cold)(?: cold)? winters"),
    ("white", "[gets|does not get] much snow",
     rf"(?:is there|does C (?:get|see|have|receive)|do P (?:get|have|see)|is C getting) (?:lots? of|many|much|plenty of"
     rf"|heavy|deep|tons of) snow(?:fall)?{_WHEN}|is C {_DEGREE}snowy(?: (?:place|city|town))?{_WHEN}"
     rf"|does C snow (?:lots?|much|heavily|often|regularly){_WHEN}|are winters snowy"),
    ("wet", "[gets|does not get] much rain",
     rf"(?:is there|does C (?:get|see|have|receive)|do P (?:get|have|see)) (?:lots? of|many|much|plenty of|heavy"
     rf"|tons of) rain(?:fall)?{_WHEN}|is C {_DEGREE}(?:rainy|wet)(?: (?:place|city|town))?{_WHEN}"
     r"|does C rain (?:lots?|much|heavily|often|constantly|all time)"),
)  # fmt: skip
_NORTHERN_SUMMER = r"(?:june|july|august|middle of year)"
_SOUTHERN_SUMMER = r"(?:december|january|february|christmas|turn of year)"
_SEASONS = (
    (rf"(?:is|does) (?:C|P|you)(?: have)? (?:summer|warmest|hottest) (?:in|at|around) {_NORTHERN_SUMMER}"
     rf"|(?:is|does) (?:C|P)(?: have)? winter (?:in|at|around) {_SOUTHERN_SUMMER}", _MIDYEAR),
    (rf"(?:is|does) (?:C|P|you)(?: have)? (?:summer|warmest|hottest) (?:in|at|around) {_SOUTHERN_SUMMER}"
     rf"|(?:is|does) (?:C|P)(?: have)? winter (?:in|at|around) {_NORTHERN_SUMMER}", _NEW_YEAR),
    (rf"is {_NORTHERN_SUMMER} (?:in )?summer(?: month)?|is {_SOUTHERN_SUMMER} (?:in )?winter(?: month)?", _MIDYEAR),
    (rf"is {_SOUTHERN_SUMMER} (?:in )?summer(?: month)?|is {_NORTHERN_SUMMER} (?:in )?winter(?: month)?", _NEW_YEAR),
    (rf"does (?:summer|warm season) (?:fall|come|start) in {_SOUTHERN_SUMMER}", _NEW_YEAR),
    (r"(?:are seasons|is C) (?:opposite|reversed|other way round)"
     r"(?: (?:to|from|of) (?:europe|usa|northern hemisphere))?",
     _NEW_YEAR),
)  # fmt: skip
_CUE = re.compile(r"\b(?:snow|rain|hot|cold|summers?|winters?|wet|icy|frigid|freezing|boiling|scorching|sweltering"
                  r"|seasons|temperatures|rainy|snowy|snowfall|rainfall|blistering)\b")  # fmt: skip


def extreme(text: str) -> Query | None:
    """The question on extremes of the weather or on the season that a text in the one form asks.

    >>> asked = extreme("does C get bitterly cold in winter")
    >>> asked and asked.topic
    'climate'
    """
    if not _CUE.search(text):
        return None
    for kind, words, pattern in _TABLE:
        if re.fullmatch(pattern, text):
            return Asked((_air(kind, words),))
    return next((Asked((claim,)) for pattern, claim in _SEASONS if re.fullmatch(pattern, text)), None)
