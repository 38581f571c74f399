"""The hypotheses of guess_my_city: cities of a preset, their replies, and the questions worth asking.

Loaded when first used, since the parser and the facts take a fifth of a second.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, cached_property, lru_cache

from ..checks import gives_away
from ..dialogue import spoken
from .atlas import City, atlas
from .questions import query
from .replies import UNKNOWN

HEARD = 2_000
"""Characters of a message that are heard at all."""

_CONTINENTS = ("Africa", "Asia", "Europe", "North America", "South America", "Oceania")
_REGIONS = (
    "Western Europe",
    "Eastern Europe",
    "Northern Europe",
    "Southern Europe",
    "Central Europe",
    "the Balkans",
    "Scandinavia",
    "the Middle East",
    "South Asia",
    "Southeast Asia",
    "East Asia",
    "Central Asia",
    "North Africa",
    "West Africa",
    "East Africa",
    "Southern Africa",
    "Central Africa",
    "Central America",
    "the Caribbean",
    "Latin America",
)
_COUNTRIES = (
    "the United States",
    "China",
    "India",
    "Russia",
    "Brazil",
    "Germany",
    "France",
    "the United Kingdom",
    "Italy",
    "Spain",
    "Japan",
    "Canada",
    "Australia",
    "Turkey",
    "Mexico",
    "Indonesia",
    "Pakistan",
    "South Africa",
    "Poland",
    "Egypt",
)
_LANGUAGES = ("English", "Spanish", "French", "Arabic", "Portuguese", "German", "Russian", "Mandarin")
_PEOPLE = ("100,000", "300,000", "500,000", "1 million", "2 million", "3 million", "5 million", "10 million")
_FAITHS = ("Islam", "Christianity", "Buddhism", "Hinduism")

_SINGLE = (
    "What continent is your city on?",
    "Which part of the world is your city in?",
    "What language do people speak there?",
    "What currency do people use?",
    "What is the main religion?",
    "What food is your city known for?",
    "What is your city famous for?",
    "What is the climate like?",
    "What is the population of your city?",
    "Which countries border your country?",
    "Which river is your city on?",
    "Which sea is it close to?",
    "What is the elevation of your city?",
    "What time zone is your city in?",
    "Which hemisphere is your city in?",
    "What is the latitude of your city?",
    "What is the longitude of your city?",
    "What are the colours of the flag?",
    "How old is your city?",
    "What industry is your city known for?",
    "What sport is your city famous for?",
    "Is your city a capital or not?",
    "What island is your city on?",
    "How many letters are in the name of your city?",
    "Is it the capital of your country?",
    "Is it the biggest city of your country?",
    "Is it a state or provincial capital?",
    "Is your city on the coast?",
    "Is it on a river?",
    "Is your city on an island?",
    "Is your country landlocked?",
    "Is your country an island country?",
    "Is it in the Northern Hemisphere?",
    "Is it in the Western Hemisphere?",
    "Is it in the tropics?",
    "Is it close to the equator?",
    "Is it more than 500 meters above sea level?",
    "Is it more than 1000 meters above sea level?",
    "Do people drive on the left?",
    "Is your country in the European Union?",
    "Is your country a monarchy?",
    "Is your country a rich country?",
    "Is it an ancient city?",
    "Was your city founded before 1800?",
    "Was your city founded by European colonists?",
    "Was your country a British colony?",
    "Was your country part of the Soviet Union?",
    "Was your country ruled by France?",
    "Was your country ruled by Spain?",
    "Has your city ever hosted the Olympic Games?",
    "Does your city have a metro?",
    "Does it get snow in winter?",
    "Is the climate tropical?",
    "Does it have a desert climate?",
    "Is it hot in summer?",
    "Is it on the Mediterranean Sea?",
    "Is it on the Atlantic Ocean?",
    "Is it on the Pacific Ocean?",
    "Is it on the Indian Ocean?",
    "Is the euro your currency?",
    "Does the name consist of one word?",
    "Is it north of Rome?",
    "Is it east of Delhi?",
    "Is your country a member of NATO?",
    "Is there red on your flag?",
    "Is there green on your flag?",
)


def canonical() -> tuple[str, ...]:
    """The questions, open ones first."""
    return (
        *_SINGLE,
        *(f"Is your city in {x}?" for x in (*_CONTINENTS, *_REGIONS, *_COUNTRIES)),
        *(f"Is {x} an official language there?" for x in _LANGUAGES),
        *(f"Does your city have more than {x} inhabitants?" for x in _PEOPLE),
        *(f"Is {x} the main religion of your country?" for x in _FAITHS),
        *(f"Does the name of the city start with {x}?" for x in "ABCDHKLMPST"),
    )


class Knowledge:
    """The cities of a preset; `Answers` of `partition.py`."""

    def __init__(self, preset: str) -> None:
        self.cities: tuple[City, ...] = tuple(c for c in atlas().cities if preset == "paprika" or c.lmrl)

    @property
    def names(self) -> Sequence[str]:
        return self._names

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(c.title for c in self.cities)

    @cached_property
    def titles(self) -> Mapping[int, str]:
        """City number -> its name and country."""
        return {c.id: c.title for c in self.cities}

    @cached_property
    def by_title(self) -> Mapping[str, City]:
        return {c.title: c for c in self.cities}

    @property
    def questions(self) -> Sequence[str]:
        return canonical()

    @cached_property
    def actions(self) -> tuple[str, ...]:
        """The questions and the cities."""
        return (*canonical(), *self.proposals)

    @cached_property
    def proposals(self) -> Mapping[str, str]:
        """The name of every city, with its country where that is needed to tell it from another -> the city in full."""
        count = Counter(c.name for c in self.cities)
        return {c.name if count[c.name] == 1 else c.title: c.title for c in self.cities}

    @cached_property
    def _proposed(self) -> tuple[str, ...]:
        return tuple(self.proposals)

    def guess(self, index: int) -> str:
        return self._proposed[index]

    @lru_cache(maxsize=4096)  # noqa: B019 - there are two of these, for as long as the process lives
    def split(self, said: str) -> Mapping[str, int]:
        """Reply -> the cities of which it is true, as a mask."""
        asked = query(spoken(said, HEARD))
        masks: dict[object, int] = {}
        bit = 1
        for city in self.cities:
            value = asked.value(city)
            masks[value] = masks.get(value, 0) | bit
            bit <<= 1
        found: dict[str, int] = {}
        for value, mask in masks.items():
            reply = asked.reply(value)  # type: ignore[arg-type]
            found[reply] = found.get(reply, 0) | mask
        return found


def reply(city: City, said: str) -> str:
    """What the resident of a city says to a message. A sentence that would name the city or the country though the
    message does not is not said."""
    asked = query(said)
    text = asked.reply(asked.value(city))
    return text


def leaks(city: City, said: str, text: str) -> bool:
    """Whether a reply names what the message did not."""
    return gives_away(text, said, city.secrets)


@cache
def knowledge(preset: str) -> Knowledge:
    return Knowledge(preset)


__all__ = ["HEARD", "UNKNOWN", "Knowledge", "canonical", "knowledge", "leaks", "query", "reply"]
