"""Statements about well-known cities in guess_my_city, other places set against them, and names with a slip."""

from __future__ import annotations

from importlib.resources import files

import pytest

from sonde.envs._rules.checks import plain
from sonde.envs._rules.cities.atlas import atlas
from sonde.envs._rules.cities.replies import UNKNOWN
from sonde.envs._rules.cities.slips import slip

from .residents import reply


def test_every_line_is_of_a_city_of_the_list() -> None:
    for line in files("sonde.envs").joinpath("data", "city_sayings.txt").read_text("ascii").splitlines():
        if line and line[0] != "#":
            name, _, land = line.partition(": ")[0].rpartition(", ")
            lands = {atlas().cities[i].land.name for i in atlas().by_name[plain(name)]}
            assert land in lands, line[:40]


@pytest.mark.parametrize(
    ("name", "message", "start"),
    [
        ("Pamplona, Spain", "Do bulls run through your streets every July?", "Yes,"),
        ("Lausanne, Switzerland", "Is the International Olympic Committee based in your city?", "Yes,"),
        ("Suez, Egypt", "Does a canal between two seas start at your city?", "Yes,"),
        ("Porto, Portugal", "Is a famous sweet wine named after your city?", "Yes,"),
        ("Berlin, Germany", "Was your city once divided by a wall?", "Yes,"),
        ("Paris, France", "Is the Statue of Liberty in your city?", "No,"),
        ("Reykjavik, Iceland", "Is Oslo farther north than your city?", "No,"),
        ("London, United Kingdom", "Does your city have fewer inhabitants than Tokyo?", "Yes, my city is smaller"),
        ("London, United Kingdom", "Is Tokyo smaller than your city in population?", "No, Tokyo is not smaller"),
        ("Monaco, Monaco", "Does your country border only France?", "Yes,"),
        ("Rio de Janeiro, Brazil", "Was it the capital before 1960?", "Yes,"),
        (
            "Yangon, Myanmar",
            "Do they drive on the left or on the right over there?",
            "People in my country drive on the right",
        ),
        ("Managua, Nicaragua", "Does your country touch both the Pacific and the Caribbean?", "Yes,"),
        ("Odense, Denmark", "Does your country's flag show a white cross on red?", "Yes,"),
        ("Saint Petersburg, Russia", "Not Moscow then, so it must be St. Petersburg?", "Goal reached"),
        ("Vilnius, Lithuania", "Vilnus?", "Goal reached"),
        ("London, United Kingdom", "Is Tower Bridge in your city?", "Yes,"),
        ("Osaka, Japan", "Is the Forbidden City in your city?", "No,"),
        ("Cork, Ireland", "Is the Blarney Stone near your city?", "Yes,"),
        ("Rosario, Argentina", "Is Messi from your city?", "Yes,"),
    ],
)
def test_plain_wordings_are_answered(name: str, message: str, start: str) -> None:
    assert reply(name, message).startswith(start), reply(name, message)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Berlin, Germany", "Is your city still divided by a wall?"),
        ("Pamplona, Spain", "Are bulls killed in your city?"),
        ("Porto, Portugal", "Is your city named after a famous sweet wine?"),
        ("Nagasaki, Japan", "Was it the first city hit by an atomic bomb?"),
        ("Cape Town, South Africa", "Was Nelson Mandela born there?"),
        ("Kyiv, Ukraine", "Did the Chernobyl disaster happen in your city?"),
        ("Hamburg, Germany", "Are the Beatles from there?"),
        ("Lhasa, China", "Does the Dalai Lama live in your city?"),
        ("Rio de Janeiro, Brazil", "Was your city the capital before 1700?"),
        ("Marrakesh, Morocco", "Are there palm trees in your city?"),
        ("Casablanca, Morocco", "Are there many white houses in your city?"),
        ("Prague, Czechia", "Is there a bridge with towers in your city?"),
        ("Thessaloniki, Greece", "Is Hagia Sophia in your city?"),
        ("Naples, Italy", "Is Maradona from your city?"),
        ("Paris, France", "Was the Mona Lisa painted in your city?"),
        ("Izmir, Turkey", "Is Ephesus in your city?"),
        ("Shanghai, China", "Is your city known for pearls?"),
        ("Charlotte, United States", "Is your city known for a queen?"),
    ],
)
def test_what_a_statement_does_not_say_is_not_told(name: str, message: str) -> None:
    assert reply(name, message) == UNKNOWN


def test_a_letter_put_for_another_is_no_slip() -> None:
    assert slip("vilnus") == "vilnius"
    assert slip("valence") is None
    assert slip("grenada") is None
