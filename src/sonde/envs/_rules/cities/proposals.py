"""Which cities a message of guess_my_city proposes as the answer.

Ours. A message proposes a city where it fits one of the frames of a guess as a whole, in the one form (`text.py`), and
what stands in the frame is a name: of cities in the list (`words.guessed`), or one with capitals that means nothing
else. A country of the same name is a place to ask for, not a guess.
"""

from __future__ import annotations

import re
from functools import lru_cache

from sonde.people.language.naming import reported

from ..checks import plain
from .atlas import atlas
from .customs import FAITHS, languages
from .nature import ranges
from .replies import Guess, Query
from .slips import slip
from .text import Form, form
from .water import SEAS, island_names, river_name
from .words import capitalised, guessed, place, qualified

AUX = r"(?:is|are|was|were|does|do|did|has|have|can|could|will|would)"

_GUESS = (
    re.compile(
        r"(?:is|are|could|might|would|may|can|must) (?:C|answer|solution|NAME|secret)(?: be)?"
        r"(?: (?:in|within) C of|(?: (?:city|town|C)(?: of| called| named)?)?) (?P<x>.+)"
    ),
    re.compile(r"(?:is|are) (?P<x>.+) (?:C|answer|NAME|where you live|city you are from|city you live in)"),
    re.compile(r"(?:are you|do you live|do P live|are you living|do you come)(?: currently)? (?:in|from) (?P<x>.+)"),
    re.compile(
        r"(?:is )?(?:my |final |last |best |next |first |educated |wild )*(?:guess|"
        r"answer)(?: for C)?(?: (?:is|would be|will be|C is))?(?: that C is)?(?: C)? (?P<x>.+)"
    ),
    re.compile(
        r"(?:i (?:will |would |am going to |want to )?(?:guess|say|choose|take|pick|answer|go with|go for|try|"
        r"bet on)|i am going with|let us try|let us say|let us go with|how about|what about|then C is|C is|"
        r"C must be|must be|so is C|gotta be|does C have to be|"
        r"has to be|C has got to be|got to be|my money is on|i bet C is|"
        r"i think i have got it ,) (?P<x>.+)"
    ),
)
_BARE = re.compile(r"(?P<x>[a-z][a-z' ]{1,40}(?: , [a-z ]{2,40}){0,2})")

_REASON = re.compile(
    r"(?:considering|given|based on|judging by|judging from|going by|because of) [^,]{3,60} , (?=my |i )"
)
"""Why a city is proposed."""


@lru_cache(maxsize=8192)
def proposed(message: str) -> Guess | None:
    """The cities that a message proposes as the answer; None if it proposes none."""
    read = form(message)
    if read is None or read.negated or reported(message):
        return None
    text = _REASON.sub("", read.text)
    for pattern in _GUESS:
        m = pattern.fullmatch(text)
        if m and (found := guessed(m["x"], True)) is not None and not _place_only(text, m["x"]):
            return found
    m = _BARE.fullmatch(read.text)
    if m and not re.match(rf"(?:{AUX}|what|which|how) ", read.text):
        return guessed(m["x"], False) or _misspelt(m["x"], read.spoken)
    m = re.fullmatch(r"(?:is C|i (?:will |would )?guess|my (?:final )?guess is) ([a-z]+)", text)
    return _misspelt(m[1], read.spoken) if m else None


def _misspelt(word: str, spoken: str) -> Guess | None:
    """The guess that a name with one slip comes to."""
    meant = slip(word) if capitalised(spoken, word) else None
    return None if meant is None else guessed(meant, False)


def _place_only(text: str, x: str) -> bool:
    """Whether "in X" is said of a country that has the name of a city, or X is no name but a description."""
    return (
        bool(re.search(r"(?:^are you|^do you live|^is C|^are you living) (?:in|from) (?!C of )", text))
        and place(x.removeprefix("in ")) is not None
    )


_STRANGE = re.compile(
    r"(?:is C(?: (?:city|C|in C|within C) of(?=.*(?: ,| in) ))?|are you from) (?P<x>[a-z][a-z' ]{2,30}?)"
    r"(?:(?: ,| in) (?:in )?(?P<more>[a-z ]{2,30}))?"
)


def strange(text: str, spoken: str) -> Query | None:
    """A guess of a city that is not in the list: a name with capitals that means nothing else."""
    m = _STRANGE.fullmatch(text)
    if m is None or not capitalised(spoken, m["x"]):
        return None
    name = plain(m["x"])
    if len(name.split()) > 3 or place(name, True) is not None or not _KNOWN_WORDS.isdisjoint(name.split()):
        return None
    if any(name in known for known in (atlas().provinces, island_names(), languages(), FAITHS, ranges(), SEAS)):
        return None
    if river_name(name) or _NO_TOWN.search(name):
        return None
    test = qualified(m["more"]) if m["more"] else None
    if m["more"]:
        return None if test is None else _Elsewhere(name, test)
    return Guess(frozenset(), 1, name)


_NO_TOWN = re.compile(
    r"(?:ism|ish|ese|day|mas|adan)$|\b(?:siberia|patagonia|normandy|brittany|provence|burgundy|alsace|riviera|crimea|punjab"
    r"|kashmir|bengal|anatolia|cappadocia|flanders|wallonia|transylvania|bohemia|moravia|silesia|lapland|sahara|sahel|gobi"
    r"|amazon|amazonia|pampas|outback|yucatan|cornwall|yorkshire|ulster|saxony|prussia|ruhr|tyrol|galicia|algarve|umbria"
    r"|calabria|lombardy|thrace|macedonia|kurdistan|mesopotamia|persia|levant|sinai|darfur|zululand|biafra|ottoman|roman"
    r"|byzantine|aztec|inca|maya|mongol|viking|soviet|slavic|latin|germanic|nordic|turkic|euro|dollar|peso|rupee)\b"
)
"""Regions, peoples and times that are not cities."""

_OF_PLACES = (
    "the in on near by to of capital city town north south east west northern southern eastern western central hot "
    "cold big small old new large coastal rich poor muslim christian catholic buddhist hindu jewish orthodox english "
    "french spanish sea ocean lake river island mountain desert port known famous valley peninsula bay strait gulf "
    "republic kingdom union state province county great region coast area olympics world war holy day"
)
_KNOWN_WORDS = frozenset(_OF_PLACES.split())


class _Elsewhere:
    """A city that is not in the list, said to be in some country."""

    topic = "guess"

    def __init__(self, name: str, test: object) -> None:
        self.guess, self.test = Guess(frozenset(), 1, name), test

    def value(self, city: object) -> object:
        return False if not self.test(city) else self.guess.value(city)  # type: ignore[operator,arg-type]

    def reply(self, value: object) -> str:
        return self.guess.reply(value)  # type: ignore[arg-type]


def names_it(message: str, city: str, country: str) -> bool:
    """Whether a message proposes a city that is not in the list, by its name, with its country or without."""
    read = form(message)
    if read is None or read.negated:
        return False
    fits = {plain(city), plain(f"{city} {country}"), plain(f"{city} in {country}")}
    return any(plain(x) in fits for x in _guesses(read))


def names_another(message: str) -> bool:
    """Whether a message that is not understood proposes something with a name of its own."""
    read = form(message)
    return read is not None and any(capitalised(read.spoken, x) for x in _guesses(read))


def _guesses(read: Form) -> list[str]:
    return [m["x"] for p in (*_GUESS, _BARE) if (m := p.fullmatch(read.text))]
