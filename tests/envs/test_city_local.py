"""What holds of a city but not of its country, open requests and questions of place in guess_my_city; their traps."""

from __future__ import annotations

import pytest

from sonde.envs._rules.cities import customs, local
from sonde.envs._rules.cities.atlas import atlas
from sonde.envs._rules.cities.game import leaks
from sonde.envs._rules.cities.questions import query
from sonde.envs._rules.cities.replies import UNKNOWN

from .residents import city, reply


@pytest.mark.parametrize(
    ("name", "message", "start"),
    [
        ("Srinagar, India", "What are the main languages spoken in your city?", "People speak Kashmiri and Urdu."),
        ("Srinagar, India", "Is Urdu spoken there?", "Yes,"),
        ("Srinagar, India", "What is the official language of your country?", "People speak Hindi and English."),
        ("Srinagar, India", "Is the city predominantly Muslim?", "Yes, Islam is the main religion here."),
        (
            "Srinagar, India",
            "Is your country predominantly Muslim?",
            "No, Islam is not the main religion of my country",
        ),
        ("Srinagar, India", "Is Islam the main religion in your country?", "No,"),
        ("Srinagar, India", "Is the dominant faith in your nation Islam?", "No,"),
        ("Srinagar, India", "Are most people in your country Muslim?", "No,"),
        ("Kuching, Malaysia", "Is Islam the main religion?", UNKNOWN),
        ("Kuching, Malaysia", "What is the main religion?", "The main religion of my country: Islam."),
        ("Srinagar, India", "Is Hinduism the main religion?", UNKNOWN),
        ("Srinagar, India", "What is the main religion in your country?", "The main religion of my country: Hinduism."),
        ("Bilbao, Spain", "What languages do people speak there?", "People speak Spanish and Basque."),
        (
            "Bloemfontein, South Africa",
            "What language is spoken there?",
            "People speak Sesotho, Afrikaans and English.",
        ),
        ("Bloemfontein, South Africa", "Is it the capital?", "Yes, my city is one of the three capitals"),
        ("Bloemfontein, South Africa", "Is it one of the capitals of your country?", "Yes,"),
        ("Nagpur, India", "Is it one of the capitals of your country?", "No,"),
        ("Lisbon, Portugal", "Is it the capital?", "Yes, my city is the capital of its country."),
        ("Srinagar, India", "Tell me something interesting about your city.", "What my city is known for: houseboats"),
        ("Srinagar, India", "What would a tourist absolutely have to see there?", "What my city is known for:"),
        ("Srinagar, India", "Is there a famous landmark?", "What my city is known for:"),
        ("Srinagar, India", "What is it famous for, then?", "What my city is known for:"),
        ("Boston, United States", "Tell me about the weather.", "The climate is"),
        ("Honolulu, United States", "Does it snow in winter?", "No,"),
        ("Lisbon, Portugal", "Is there a river running through town?", "Yes,"),
        ("Lisbon, Portugal", "Is it far from the equator?", "Yes,"),
        ("Nairobi, Kenya", "Is it far from the equator?", "No,"),
        ("Basel, Switzerland", "Is it near a border?", "Yes,"),
        ("Tokyo, Japan", "Is it near a border?", "No,"),
        ("Vienna, Austria", "Which country is closest?", "The closest other country: Slovakia."),
        ("Lisbon, Portugal", "Was there an earthquake?", "Yes,"),
        ("Dunedin, New Zealand", "Did Scots settle it?", "Yes,"),
        ("Honolulu, United States", "Was it attacked in World War II?", "Yes,"),
        ("Antakya, Turkey", "Was it important in early Christianity?", "Yes,"),
        ("Bilbao, Spain", "What do you eat for breakfast?", "Typical food, at whatever time of the day:"),
    ],
)
def test_what_is_asked_is_told(name: str, message: str, start: str) -> None:
    assert reply(name, message).startswith(start), reply(name, message)


@pytest.mark.parametrize(
    "message",
    [
        "Tell me something interesting about your country.",
        "Tell me something interesting about your mayor.",
        "Tell me something interesting about yourself.",
        "What interesting thing happened there in 1945?",
        "Is there something interesting about its name?",
        "What would a tourist absolutely have to pay there?",
        "What would a tourist have to see to believe it?",
        "What would a tourist have to see in the neighbouring country?",
        "What must visitors not bring?",
        "What should I see a doctor for?",
        "Is there a famous landmark near the river?",
        "Is there a famous landmark made of iron?",
        "Is there a famous monument to a queen?",
        "Was there a famous landmark that burned down?",
        "Is there a famous landmark on the flag?",
        "Tell me about the weather forecast for Paris.",
        "Tell me about the weather in your country.",
        "Tell me about the weather and the people.",
        "Tell me about climate change.",
        "Tell me about the weather presenters.",
        "Is there a river running dry?",
        "Is there a river running through the desert nearby?",
        "Is there a river flowing into the sea?",
        "Is there a river running through your country?",
        "Is there a river running along the border?",
        "Is it near the state border?",
        "Is it near the Mexican border?",
        "Is it near the border with Atlantis?",
        "Is it near a border collie kennel?",
        "Does it border on the absurd?",
        "Is it far from the equator compared to Rome?",
        "Is it far from the equator or close?",
        "Is your country far from the equator?",
        "Is it far from the truth?",
        "Is it far from the equator by train?",
        "Which country is closest to Japan?",
        "Which country is closest in size?",
        "Which country is closest to winning the World Cup?",
        "Which country is your closest ally?",
        "Which is the closest country by population?",
        "Was there an earthquake yesterday?",
        "Was there an earthquake in the neighbouring country?",
        "Was there a siege by the Turks last week?",
        "Was there a gold rush for shares?",
        "Was there an earthquake drill?",
        "Was it attacked in World War One?",
        "Did it attack anyone in World War II?",
        "Did it attack in World War II?",
        "Was it attacked by critics?",
        "Was it attacked in the second half?",
        "Was it known for early church music?",
        "Was it important in late Christianity?",
        "Were early Christians eaten there?",
        "Do churches close early there?",
        "Was it against early Christianity?",
        "Did Scots conquer it?",
        "Did Scots settle the bill?",
        "Do Scots drink in it?",
        "Are Scots rude there?",
        "Did Scots leave it?",
        "What did you eat for breakfast?",
        "What do kings eat for breakfast?",
        "What do you eat for breakfast on Sundays?",
        "What time do you eat breakfast?",
        "What do you pay for breakfast?",
        "Is it one of the capitals of fashion?",
        "Is it one of the capitals of Europe?",
        "Is it one of the capital cities in Africa?",
        "Is your country's capital famous?",
        "Is it one of the capital offences?",
    ],
)
def test_what_asks_something_else_is_left_alone(message: str) -> None:
    asked = query(message)
    for name in (
        "Lisbon, Portugal",
        "Srinagar, India",
        "Honolulu, United States",
        "Dunedin, New Zealand",
        "Basel, Switzerland",
        "Antakya, Turkey",
        "Bloemfontein, South Africa",
    ):
        assert asked.reply(asked.value(city(name))) == UNKNOWN, name


def test_tables_name_cities_of_the_list_and_deny_no_language_told() -> None:
    """Every row names a city; no language that an open question tells is denied, none gives a name away."""
    places = {(c.land.code, c.name) for c in atlas().cities}
    for table in (local._SPOKEN, local._FAITHS, local._CAPITALS, local._CLOSEST):  # pyright: ignore[reportPrivateUsage]
        assert not set(table) - places
    for c in atlas().cities:
        for name in local.spoken(c) or ():
            assert customs.language(name.lower(), False, False, name).truth(c) is True, (c.name, name)
        for said in (local.rank(c), local.closest(c)):
            assert said is None or not leaks(c, "", said), said


def test_what_names_the_city_is_not_among_what_it_is_known_for() -> None:
    assert "president" not in reply("Quezon City, Philippines", "What is it famous for?")
    assert reply("Darwin, Australia", "Is it named after a naturalist?").startswith("Yes")
