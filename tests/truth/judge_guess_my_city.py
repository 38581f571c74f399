"""Whether the resident's reply to a hand-written question is right, for `score.py guess_my_city`.

An item holds a city, a question, and what is expected: a topic and, for yes/no questions, a polarity. Right is a reply
whose words begin with the expected yes or no and whose topic is the expected one or a close one. Topics are close where
two readers would file one question differently:
- continent, region, country: a part of the world;
- hemisphere, latitude, longitude: a place on the globe (the equator is all three at times);
- coast, island, river: what water there is; coast and industry: ports;
- elevation and climate: the lie of the land and its air (deserts);
- landmarks and transport: trams, cable cars;
- landmarks, culture, history, cuisine, sport, industry, religion, university: what a city is known for;
- history, country, region, wealth, language: memberships and former rulers; neighbours and country;
- capital and history; airport, transport; distance and a place on the globe (north of a city); population and capital.
- a reply with several parts is filed under each of them; one that says of the question itself that it is true of the
  city, or not, under whatever it asks.
With no polarity expected the question is open: a "Yes" or "No" is wrong, unless the question offers a choice ("or").
`goal` wants "Goal reached", a wrong guess the fixed reply. Questions without a true answer (`unknown`, `invalid`), and
those for the name (`refuse`), are right when refused, silent when not known, wrong when a fact is told. That
one city may be proposed at a time tells nothing: silence.
"""

from __future__ import annotations

from typing import Any

from sonde.core import UNCLEAR
from sonde.envs._shared.english.tokens import name_key
from sonde.envs.guess_my_city.atlas import City, load_atlas
from sonde.envs.guess_my_city.guesses import find_named_cities
from sonde.envs.guess_my_city.resident import (
    BOTH,
    FIRST,
    NEITHER,
    NO,
    NO_QUESTION,
    REFUSED,
    RIGHT,
    SECOND,
    SEVERAL,
    UNKNOWN,
    WRONG,
    YES,
    read_city_message,
)

CLOSE = (
    {"continent", "region", "country"},
    {"hemisphere", "latitude", "longitude"},
    {"coast", "island", "river"},
    {"coast", "industry"},
    {"elevation", "climate"},
    {"landmarks", "culture", "history", "cuisine", "sport", "industry", "religion", "university"},
    {"history", "country", "region", "wealth", "language"},
    {"neighbours", "country"},
    {"capital", "history"},
    {"landmarks", "transport"},
    {"airport", "transport"},
    {"drives_on", "transport"},
    {"distance", "hemisphere", "latitude", "longitude"},
    {"population", "capital"},
)
OF_ITSELF = (YES, NO, FIRST, SECOND, BOTH, NEITHER)
FILED = {
    "land_people": ["population"],
    "part": ["region"],
    "place": ["continent", "coast"],
    "winter": ["climate"],
    "summer": ["climate"],
    "terrain": ["elevation", "coast"],
    "geography": ["coast", "elevation"],
    "fame": ["landmarks", "culture"],
    "sights": ["landmarks"],
    "visit": ["landmarks"],
    "architecture": ["landmarks"],
    "festivals": ["culture"],
    "dress": ["culture"],
    "nickname": ["culture"],
    "export": ["industry"],
    "rulers": ["history"],
    "independence": ["history"],
    "government": ["wealth", "history"],
    "official": ["language"],
    "script": ["language"],
    "drives": ["drives_on"],
    "words": ["letters"],
    "initial": ["letters"],
    "final": ["letters"],
}
"""What the resident calls a fact -> the topics under which the readers filed it."""
NOTHING = ("unknown", "invalid", "refuse")


def city(item: dict[str, Any]) -> City:
    mask = find_named_cities(f"{name_key(item['city'])} {name_key(item['country'])}")
    assert mask and not mask & (mask - 1), item
    return load_atlas().cities[mask.bit_length() - 1]


def answerable(item: dict[str, Any]) -> bool:
    return item["expect"]["topic"] not in NOTHING


def alike(item: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two readers labelled a message alike: what is true, not under which topic they filed it."""
    return _truth(item["expect"]) == _truth(other["expect"])


def _truth(expect: dict[str, Any]) -> object:
    topic = expect["topic"]
    if topic in NOTHING or topic == "goal":
        return topic == "goal"
    return "no" if topic == "guess" else expect.get("polarity")


def verdict(item: dict[str, Any]) -> str:
    asked = read_city_message(item["question"])
    reply = asked.reply_to(city(item))
    if reply in (UNKNOWN, UNCLEAR, SEVERAL):
        return "silent"
    expected = item["expect"]
    if reply in (REFUSED, NO_QUESTION):
        return "right" if expected["topic"] in NOTHING else "silent"
    if expected["topic"] in NOTHING:
        return "wrong"
    return "right" if _right(item, expected, FILED.get(asked.topic, [asked.topic]), reply) else "wrong"


def _right(item: dict[str, Any], expected: dict[str, Any], topics: list[str], reply: str) -> bool:
    if expected["topic"] in ("goal", "guess"):
        return reply == (RIGHT if expected["topic"] == "goal" else WRONG)
    own = expected["topic"]
    same = own in topics or any(own in group and group.intersection(topics) for group in CLOSE) or reply in OF_ITSELF
    said = "yes" if reply.startswith("Yes") else "no" if reply.startswith("No,") else None
    if expected["polarity"] is None and " or " in item["question"]:
        return same
    return same and said == expected["polarity"]
