"""Statements on countries and groups of cities in guess_my_city, and messages read in plainer words."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from sonde.envs._rules.cities.atlas import atlas
from sonde.envs._rules.cities.replies import UNKNOWN

from .residents import reply


def test_every_line_is_of_countries_or_cities_of_the_list() -> None:
    for line in files("sonde.envs").joinpath("data", "city_lands.txt").read_text("ascii").splitlines():
        if not line or line[0] in "#$":
            continue
        lands = line.split("|")[1]
        for part in filter(None, map(str.strip, re.split(r" - |\?", lands))):
            if part[0] == "=":
                assert all(len(atlas().chosen(name)) == 1 for name in part.strip(" =").split("; ")), line
            else:
                assert all(word[0] == "$" or word in atlas().countries for word in part.split()), line


@pytest.mark.parametrize(
    ("name", "message", "begins"),
    [
        ("Dushanbe", "Did your country belong to the Soviet Union?", "Yes"),
        ("Rome, Italy", "Was your country ever communist?", "No,"),
        ("Kuwait City", "Was your country invaded by Iraq in 1990?", "Yes"),
        ("Kuwait City", "Did your country invade Iraq?", UNKNOWN),
        ("Kyiv", "Did your country invade Russia?", UNKNOWN),
        ("Lahore", "Is cricket really popular in your country?", "Yes"),
        ("Munich", "Is cricket really popular in your country?", "No,"),
        ("Sofia", "Is the Cyrillic alphabet used in your city?", "Yes"),
        ("Kolkata", "Was it once the capital of British India?", "Yes"),
        ("Tijuana", "Is your city on the US side of the border?", UNKNOWN),
        ("Nice, France", "Is your city on an ocean?", "No,"),
        ("Lisbon", "Is your city on an ocean?", "Yes"),
        ("Bern", "Is it Switzerland's largest city?", "No,"),
        ("Casablanca", "Is it your country's biggest city?", "Yes"),
        ("Mosul", "Is your city on the Euphrates?", "No,"),
        ("Budapest", "Does the Danube run through it, and is it a capital?", "Yes"),
        ("Nairobi", "Is it a capital in Africa where French is an official language?", "No,"),
        ("Kyiv", "Is Poland one of your country's neighbors?", "Yes"),
        ("Abu Dhabi", "Does it get extremely hot in the summer?", "Yes"),
        ("Chicago", "Does it get extremely hot in the summer?", UNKNOWN),
        ("Tokyo", "Is it winter there in December?", "Yes"),
        ("Singapore", "Is it summer in July?", UNKNOWN),
        ("Albany", "Is it the capital of New York State?", "Yes"),
        ("Frankfurt", "Is the German government based in your city?", "No,"),
        ("Calais", "It was English for two hundred years, but is it in England now?", "No,"),
        ("Islamabad", "Your city isn't the largest one in the country, right?", "Yes"),
        ("Rome, Italy", "Does your country have more than 50 million people?", "Yes"),
        ("Oslo", "Is your country bigger than Denmark?", UNKNOWN),
        ("Tunis", "Who ruled your country in the past?", "My country was once under French"),
        ("Bern", "Do you drive on the right?", "Yes"),
        ("Chennai", "Is Tamil spoken in your city?", "Yes"),
        ("Bogota", "Is Portuguese the language spoken there?", "No,"),
    ],
)
def test_plain_questions_are_answered_truthfully(name: str, message: str, begins: str) -> None:
    assert reply(name, message).startswith(begins)
