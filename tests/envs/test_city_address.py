"""What is said to the resident in the second person: of the place it gets the place's answer, of the person none."""

from __future__ import annotations

import pytest

from sonde.envs._rules.cities.replies import REFUSED, UNKNOWN
from sonde.users.resident import replied

CITIES = {
    "l": "Lisbon, Portugal",
    "p": "Lima, Peru",
    "c": "Chicago, United States",
    "k": "Kathmandu, Nepal",
    "h": "Hamburg, Germany",
}

# Message -> the cities of which it is true; of the others in `said` it is false.
PLACE = [
    ("Are you south of Rome?", "lpk", "lpkh"),
    ("Aren't you south of Rome?", "lpk", "lpkh"),
    ("You're south of Rome, right?", "lpk", "lpkh"),
    ("Are you west of New York?", "pc", "lpc"),
    ("Are you close to Vienna?", "", "lpck"),
    ("Are you far from the sea?", "ck", "lpck"),
    ("Are you based in Asia?", "k", "lpck"),
    ("Are you from Asia?", "k", "lpck"),
    ("Are you not from Asia?", "lpc", "lpck"),
    ("Are you more than 1000 meters above sea level?", "k", "lpck"),
    ("Are you ahead of London time?", "k", "lpck"),
    ("Are you 5 hours behind London?", "p", "lpk"),
    ("Are you in a capital city?", "lpk", "lpck"),
    ("Are you in the capital?", "lpk", "lpck"),
    ("Are you a capital?", "lpk", "lpck"),
    ("Are you the capital of a country?", "lpk", "lpck"),
    ("Are you a coastal city?", "lp", "lpck"),
    ("Are you a European capital?", "l", "lpck"),
    ("Are you part of the EU?", "l", "lpck"),
    ("Are you a member of NATO?", "lc", "lpck"),
    ("Do you live north of the equator?", "lck", "lpck"),
    ("Do you not live north of the equator?", "p", "lpck"),
    ("You don't live north of the equator?", "p", "lpck"),
    ("Do you live near the sea?", "lp", "lpck"),
    ("Do you live east of Berlin?", "k", "lpck"),
    ("Do you live farther north than Cairo?", "lc", "lpc"),
    ("Do you live closer to Paris than to Rome?", "lpc", "lpck"),
    ("Do you live within 500 km of Paris?", "", "lpck"),
    ("Do you live outside Europe?", "pck", "lpck"),
    ("Do you live in Europe or in Asia?", "lk", "lpck"),
    ("Do you live in North or South America?", "pc", "lpck"),
    ("Are you in Eastern or Western Europe?", "l", "lpck"),
    ("Do you live in a coastal city?", "lp", "lpck"),
    ("Do you live in the capital of your country?", "lpk", "lpck"),
    ("Do you live in a European city?", "l", "lpck"),
    ("Do you live in a city in Europe?", "l", "lpck"),
    ("Do you live in a city by the sea?", "lp", "lpck"),
    ("Do you live in a city with more than 5 million people?", "pc", "lpc"),
    ("Do you live in a city that has hosted the Olympics?", "", "lpck"),
    ("Do you live in one of the biggest cities in the world?", "p", "lpk"),
    ("Do you live in an ancient city?", "l", "lpc"),
    ("Do you live in a country that borders Spain?", "l", "lpck"),
    ("Do you live in a country with a king?", "", "lpck"),
    ("Do you live in an English-speaking country?", "c", "lpc"),
    ("Do you live in a landlocked country?", "k", "lpck"),
    ("Do you come from an island nation?", "", "lpck"),
    ("Do you have a king or queen?", "", "lpck"),
    ("Do you have a metro?", "lpc", "lpc"),
    ("You don't have a metro?", "", "lpc"),
    ("Have you got a metro?", "lpc", "lpc"),
    ("Do you have a tropical climate?", "", "lpc"),
    ("Do you have a beach?", "lp", "lp"),
    ("Do you have more than a million people?", "lpc", "lpc"),
    ("Do you have the euro as your currency?", "l", "lpck"),
    ("Do you border Spain?", "l", "lpck"),
    ("Do you share a border with Spain?", "l", "lpck"),
    ("Do you have a border with Spain?", "l", "lpck"),
    ("Do you face the Atlantic?", "l", "lpck"),
    ("Do you belong to the EU?", "l", "lpck"),
    ("Do you speak Spanish?", "p", "p"),
    ("Do most of you speak English?", "c", "lpc"),
    ("Do you pay with euros?", "l", "lpck"),
    ("Do you drive on the left?", "k", "lpck"),
    ("Is your mother tongue Portuguese?", "l", "lc"),
    ("Have you ever hosted the Olympic Games?", "", "lpck"),
    ("Did you host the Olympics?", "", "lpck"),
    ("Have you won the World Cup?", "", "lpck"),
    ("Were you ever a British colony?", "c", "lpc"),
    ("Were you part of the Soviet Union?", "", "lpck"),
    ("Have you ever been ruled by Spain?", "p", "p"),
]


@pytest.mark.parametrize(("message", "true", "said"), PLACE)
def test_of_the_place(message: str, true: str, said: str) -> None:
    for key in said:
        word = "Yes" if key in true else "No"
        assert replied(CITIES[key], message).startswith(f"{word}, "), (key, replied(CITIES[key], message))


OPEN = [
    ("What do you like to eat there?", "What food is your city known for?"),
    ("What do you eat?", "What food is your city known for?"),
    ("What do locals like to eat?", "What food is your city known for?"),
    ("Which sea do you live near?", "Which sea is it close to?"),
    ("Which river do you live on?", "Which river is your city on?"),
    ("What ocean are you near?", "Which sea is it close to?"),
    ("What continent do you live on?", "What continent is your city on?"),
    ("What countries do you border?", "Which countries border your country?"),
    ("How far are you from the sea?", "Which sea is it close to?"),
    ("How far north are you?", "What is the latitude of your city?"),
]


@pytest.mark.parametrize(("message", "plain"), OPEN)
def test_open_questions(message: str, plain: str) -> None:
    assert all(replied(CITIES[key], message) == replied(CITIES[key], plain) != UNKNOWN for key in "lp")


@pytest.mark.parametrize(
    "message",
    [
        "Are you happy?",
        "Are you old?",
        "Are you more than 50 years old?",
        "Are you at home?",
        "Are you a person?",
        "Are you Catholic?",
        "Were you born in Asia?",
        "Were you British?",
        "Were you in Europe?",
        "Do you like living there?",
        "Do you have a car?",
        "Do you have children?",
        "Do you have a coast?",
        "Do you have a lake house?",
        "Have you been to Lima?",
        "Do you live in the old town?",
        "Do you live in the inner city?",
        "Do you live in a suburb of Lima?",
        "Do you live in a suburb of the capital?",
        "Do you live in the same city as the president?",
        "Are you south of Europe?",
        "Are you landlocked?",
        "How old are you?",
        "Would I need a coat in January?",
    ],
)
def test_of_the_person_or_of_either_nothing_is_said(message: str) -> None:
    assert {replied(city, message) for city in (*CITIES.values(), "Austin, United States", "Milan, Italy")} == {UNKNOWN}


@pytest.mark.parametrize(
    ("name", "message", "word"),
    [
        ("Milan, Italy", "Do you live in Lombardy?", "Yes"),
        ("Austin, United States", "Do you live in Lombardy?", "No"),
        ("Lima, Peru", "Are you from Andalusia?", "No"),
        ("Lima, Peru", "Do you live in the largest city in South America?", "No"),
        ("Lima, Peru", "Is it in the eastern part of the country?", "No"),
    ],
)
def test_places_that_one_lives_in(name: str, message: str, word: str) -> None:
    assert replied(name, message).startswith(f"{word}, ")


def test_a_coast_without_its_country_is_the_one_of_no_other() -> None:
    assert replied("Lima, Peru", "Do you live on the west coast?") == UNKNOWN
    assert replied("Seattle, United States", "Do you live on the west coast?").startswith("Yes, ")


def test_where_one_lives_is_refused_in_every_form() -> None:
    said = ("What country do you live in?", "What city are you in?", "Where are you from?", "Which state are you in?")
    assert {replied("Lima, Peru", message) for message in said} == {REFUSED}
