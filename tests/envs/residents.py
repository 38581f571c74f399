"""What the rule user of guess_my_city says to a message, without an episode around it."""

from __future__ import annotations

from sonde.envs._rules.cities.atlas import City, atlas
from sonde.envs._rules.cities.questions import query
from sonde.envs._rules.cities.words import guessed


def city(name: str) -> City:
    """The city of a name with its country, "Lagos, Nigeria"."""
    found = guessed(name.lower(), True)
    assert found is not None
    return atlas().cities[min(found.cities)]


def reply(name: str, message: str) -> str:
    """What somebody from there says."""
    asked = query(message)
    return asked.reply(asked.value(city(name)))
