"""Yes/no questions on the weather: from a match to claims (see `matters.py`)."""

from __future__ import annotations

import re

from . import nature
from .claims import Claim
from .replies import Asked, Query
from .slots import Match, several, slot


def ask_climate(m: Match) -> Query | None:
    def read(t: str) -> Claim | None:
        t = re.sub(r" (?:climate|weather|place|city|region|zone|conditions)$", "", t)
        return nature.climate(_WEATHER[t]) if t in _WEATHER else None

    return several(slot(m), read)


_WEATHER = {
    "tropical": "tropical",
    "desert": "desert",
    "arid": "dry",
    "dry": "dry",
    "mediterranean": "mediterranean",
    "temperate": "temperate",
    "continental": "continental",
    "subtropical": "subtropical",
    "oceanic": "oceanic",
    "maritime": "oceanic",
    "humid": "humid",
    "hot": "hot",
    "warm": "warm",
    "cold": "cold",
    "rainy": "rainy",
    "wet": "rainy",
    "mild": "mild",
    "hot summers": "hot",
    "cold winters": "cold",
    "snowy": "snow",
    "snowy winters": "snow",
    "snow": "snow",
    "snow in winter": "snow",
    "snowfall": "snow",
    "four seasons": "seasons",
    "four distinct seasons": "seasons",
    "monsoon": "monsoon",
    "monsoons": "monsoon",
    "monsoon season": "monsoon",
    "hot in summer": "hot",
    "cold in winter": "cold",
    "hot summer": "hot",
    "cold winter": "cold",
    "harsh winters": "cold",
    "freezing winters": "cold",
    "warm summers": "hot",
    "lot of rain": "rainy",
    "much rain": "rainy",
    "heavy rain": "rainy",
    "hot in summer months": "hot",
    "hot weather": "hot",
    "cold weather": "cold",
    "warm all year": "warm",
    "warm all year round": "warm",
    "hot all year": "warm",
    "warm year round": "warm",
    "hot all year round": "warm",
    "hot year round": "warm",
    "semi arid": "dry",
    "snow regularly": "snow",
    "lots of rain": "rainy",
    "lots of snow": "snow",
    "lot of snow": "snow",
    "much snow": "snow",
    "heavy snow": "snow",
    "snow every winter": "snow",
    "extremely cold": "cold",
    "extremely hot": "hot",
    "cold in winters": "cold",
    "tropics": "tropical",
    "lot of snow in winter": "snow",
    "lots of snow in winter": "snow",
    "much snow in winter": "snow",
    "heavy snow in winter": "snow",
    "heavy snowfall": "snow",
    "lot of snowfall": "snow",
    "lot of rainfall": "rainy",
    "heavy rainfall": "rainy",
    "much rainfall": "rainy",
    "freezing": "cold",
    "very hot": "hot",
    "very cold": "cold",
    "freezing in winter": "cold",
    "below freezing in winter": "cold",
    "very cold in winter": "cold",
    "very hot in summer": "hot",
    "harsh": "cold",
    "long cold winters": "cold",
    "cold snowy winters": "snow",
    "mild winters": "mild",
    "humid subtropical": "subtropical",
    "humid continental": "continental",
    "snow in winters": "snow",
}


def ask_desert(m: Match) -> Query | None:
    return Asked((nature.climate("desert"),))


def ask_snowy(m: Match) -> Query | None:
    return Asked((nature.climate("hot" if "hot" in slot(m) else "cold" if "cold" in slot(m) else "snow"),))
