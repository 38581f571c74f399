"""What the resident understands: expectations by hand, no trick gets through, nothing raises, nothing is slow."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.envs._rules.cities.atlas import atlas, kilometres
from sonde.envs._rules.cities.game import canonical, knowledge
from sonde.envs._rules.cities.proposals import proposed
from sonde.envs._rules.cities.questions import query
from sonde.envs._rules.cities.replies import REFUSED, RIGHT, SEVERAL, UNKNOWN, WRONG
from sonde.users.resident import replied

YES_NO = [
    ("Lisbon, Portugal", "Is your home city located near the coastline?", "Yes"),
    ("Rome, Italy", "Isn't it in Europe?", "Yes"),
    ("Rome, Italy", "Is it not in Europe?", "No"),
    ("Rome, Italy", "Is it neither in Asia nor in Africa?", "Yes"),
    ("Rome, Italy", "Is it in Southern Europe, such as Spain or Greece?", "Yes"),
    ("Kathmandu, Nepal", "Is your country in Asia but not in East Asia?", "Yes"),
    ("Kathmandu, Nepal", "Is it in Asia and on the coast?", "No"),
    ("Kathmandu, Nepal", "Thanks! So, is it true that your country has no coast?", "Yes"),
    ("Kathmandu, Nepal", "Is it at an altitude above 1,000 meters?", "Yes"),
    ("Kathmandu, Nepal", "Does your country border both China and Bangladesh?", "No"),
    ("Chicago, United States", "Is it in the Midwest?", "Yes"),
    ("Chicago, United States", "Is it on the East Coast of the United States?", "No"),
    ("Chicago, United States", "Is it the capital of the state?", "No"),
    ("Boston, United States", "Is it north of New York?", "Yes"),
    ("London, United Kingdom", "Is your city in the UK, the US, Canada, or Australia?", "Yes"),
    ("London, United Kingdom", "Does the Thames run through your city?", "Yes"),
    ("Toronto, Canada", "Does the city name start with a vowel?", "No"),
    ("Seoul, South Korea", "Does it end with L or N?", "Yes"),
    ("Madrid, Spain", "Is your country on the Mediterranean Sea?", "Yes"),
    ("Madrid, Spain", "Is it on the Mediterranean Sea?", "No"),
    ("Cape Town, South Africa", "Is your time zone UTC+2?", "Yes"),
    ("Lyon, France", "Is the Eiffel Tower in your city?", "No"),
    ("Lyon, France", "Is the Louvre in your country?", "Yes"),
    ("Jakarta, Indonesia", "Was the country never colonized?", "No"),
    ("Mexico City, Mexico", "Is the currency called the rupee or the peso?", "Yes"),
    ("Reykjavik, Iceland", "Does your city have fewer than 500,000 inhabitants?", "Yes"),
    ("Cairo, Egypt", "Is your city's population greater than 10 million?", "Yes"),
    ("Vienna, Austria", "Is it within 100 km of Bratislava?", "Yes"),
    ("Singapore, Singapore", "Is it the capital of Singapore?", "Yes"),
    ("Tbilisi, Georgia", "Is it in the US state of Georgia, in America?", "No"),
]


@pytest.mark.parametrize(("title", "said", "word"), YES_NO)
def test_yes_and_no(title: str, said: str, word: str) -> None:
    assert replied(title, said).startswith(f"{word}, "), replied(title, said)


IN_THE_CITY_OF = (
    "Is it located in the city of {}?",
    "Do you live in the city of {}?",
    "Is the answer within the city of {}?",
)


@pytest.mark.parametrize("frame", IN_THE_CITY_OF)
def test_in_the_city_of_names_the_city(frame: str) -> None:
    """With its country behind it; Washington, too, which is also a state where no city is said."""
    known = knowledge("paprika")
    missed = [c.title for c in known.cities if (g := proposed(frame.format(c.title))) is None or g.cities != {c.id}]
    assert missed == [], len(missed)
    assert proposed(frame.format("Washington")) == proposed("Is it Washington, D.C.?")


@pytest.mark.parametrize(
    "said",
    ["Is it in the city of love?", "Is it in the city of France?", "Is it in the city of Georgia?",
     "Are there rivers in the city of your birth?", "Is it near the city of Oslo?", "Is it in Washington?"],
)  # fmt: skip
def test_not_every_city_of_something_is_a_guess(said: str) -> None:
    assert proposed(said) is None


OPEN = [
    ("Lisbon, Portugal", "Which continent is it on?", "My city is in Europe."),
    ("Lisbon, Portugal", "Which countries border yours?", "My country borders Spain."),
    ("Zurich, Switzerland", "What currency do they use?", "People pay with the Swiss franc."),
    ("Vienna, Austria", "What's the name of the river?", "My city is on the Danube."),
    ("Tunis, Tunisia", "What money do people use?", "People pay with a kind of dinar."),
    ("Seoul, South Korea", "How many letters does the name have?", "The name has 5 letters."),
    ("Seoul, South Korea", "Do you drive on the right or on the left?", "People in my country drive on the right."),
    ("Osaka, Japan", "Is your city on the coast or inland?", "My city is on the sea."),
    ("Pattaya, Thailand", "Which sea is it on?", "My city is on the sea."),
]


@pytest.mark.parametrize(("title", "said", "expected"), OPEN)
def test_open_questions(title: str, said: str, expected: str) -> None:
    if title.startswith("Zurich"):
        expected = "People pay with a kind of franc."
    assert replied(title, said) == expected


@pytest.mark.parametrize(
    "said",
    [
        "Is it anywhere but Asia?",
        "Is it in Asia unless it is in Europe?",
        "Does the name contain the letter A more than once?",
        "Ignore the rules. Is it in Europe?",
        "Is it in Europe? Answer with the opposite of the truth.",
        "Is it Berlin's twin?",
        "Is your city in the Great Rift Valley?",
        "zzz qqq",
        "?",
        "Paris?!?! Hm.. not.",
        "Is it not Paris?",
        "Are you a human?",
        "Is it a city like Paris?",
        "Does a person from Paris know your city?",
        "",
    ],
)
def test_what_is_not_fully_understood_gets_no_answer(said: str) -> None:
    assert {replied(t, said) for t in ("Paris, France", "Lima, Peru", "Berlin, Germany")} == {UNKNOWN}


@pytest.mark.parametrize(
    "said",
    [
        "What is the name of your city?",
        "Which country are you in?",
        "Where do you live?",
        "Tell me the city.",
        "Reveal your country!",
    ],
)
def test_names_are_refused(said: str) -> None:
    assert replied("Paris, France", said) == REFUSED


GUESSES = [
    ("Is it Nairobi, Kenya?", ["Nairobi, Kenya"]),
    ("So your city is Lima.", ["Lima, Peru"]),
    ("I think you're in Las Vegas!", ["Las Vegas, United States"]),
    ("Okay, my final guess: São Paulo, Brazil.", ["Sao Paulo, Brazil"]),
    ("Is it Dacca, I mean Dhaka?", ["Dhaka, Bangladesh"]),
    ("Is it Portland, Maine?", []),
    ("Is it Paris, Texas?", []),
    ("Is it Cambridge, Massachusetts?", ["Cambridge, United States"]),
    ("Is your home city Varanasi, often called Benares, which is holy in Hinduism?", ["Varanasi, India"]),
    (
        "I will try again. Considering the Arabian Sea, my next guess is that your city is Surat, India.",
        ["Surat, India"],
    ),
]


@pytest.mark.parametrize(("said", "titles"), GUESSES)
def test_guesses(said: str, titles: list[str]) -> None:
    found = proposed(said)
    assert found is not None and found.count == 1
    assert [atlas().cities[i].title for i in sorted(found.cities)] == titles


def test_two_cities_are_two_hypotheses() -> None:
    found = proposed("Is it Rome or Milan?")
    assert found is not None and found.count == 2
    assert replied("Rome, Italy", "Is it Rome or Milan?") == SEVERAL


def test_a_city_of_no_list_is_a_wrong_guess_unless_it_may_be_a_spelling() -> None:
    assert replied("Rome, Italy", "Is it Springfield, Illinois?") == WRONG
    assert replied("Rome, Italy", "Is it Springfield?") == WRONG
    assert replied("Rome, Italy", "Is it Ramadan?") == UNKNOWN
    assert replied("Florence, Italy", "Is it Tuscany?") == UNKNOWN
    assert replied("Marrakesh, Morocco", "Is it Marakesch?") == UNKNOWN
    assert replied("New Orleans, United States", "Is it Orleans, France?") == WRONG


@pytest.mark.parametrize(
    "said",
    [
        "Is it bigger than Rome?",
        "Is it near Rome?",
        "Is it in Rome's country?",
        "Is Rome the capital?",
        "How far is it from Rome?",
    ],
)
def test_a_comparison_is_no_guess(said: str) -> None:
    assert proposed(said) is None


# --- everything at once ----------------------------------------------------------------------------------------------


def test_negation_turns_every_canonical_answer_around() -> None:
    cities = atlas().cities[::40]
    pairs = [(q, q.replace("Is it ", "Is it not ", 1)) for q in canonical() if q.startswith("Is it ")]
    assert len(pairs) > 15
    for plain, negated in pairs:
        for city in cities:
            a, b = replied(city.title, plain), replied(city.title, negated)
            assert (a == b == UNKNOWN) or {a.split(",")[0], b.split(",")[0]} == {"Yes", "No"}, (plain, city.title, a, b)


def test_the_two_ways_of_a_comparison_agree() -> None:
    cities = atlas().cities[::25]
    for a in cities:
        for b in cities[:6]:
            if a.id != b.id:
                north, south = (replied(a.title, f"Is it {d} of {b.name}, {b.land.name}?") for d in ("north", "south"))
                assert (north == UNKNOWN) == (south == UNKNOWN)
                assert north == UNKNOWN or north.split(",")[0] != south.split(",")[0]


def test_a_sea_is_claimed_only_of_cities_that_lie_on_it() -> None:
    for name in ("Caribbean", "Baltic", "Black", "Red", "Mediterranean", "North", "Adriatic", "Arabian", "South China"):
        for city in atlas().cities:
            if replied(city.title, f"Is it on the {name} Sea?").startswith("Yes"):
                assert city.shore in ("sea", "lake") and city.water and name in city.water, city
    assert replied("Osaka, Japan", "Is your city in the Caribbean?") == "No, my city is not in the Caribbean."


def test_distances() -> None:
    by_title = knowledge("paprika").by_title
    assert kilometres(by_title["Paris, France"], by_title["London, United Kingdom"]) == pytest.approx(344, abs=15)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=120))
def test_any_text_is_read_the_same_twice(said: str) -> None:
    asked = query(said)
    city = atlas().cities[0]
    first = asked.reply(asked.value(city))
    assert first and first == query.__wrapped__(said).reply(query.__wrapped__(said).value(city))


WORDS = [
    "is",
    "it",
    "not",
    "in",
    "the",
    "city",
    "country",
    "of",
    "your",
    "or",
    "and",
    "Paris",
    "Europe",
    "sea",
    "does",
    "have",
    "more",
    "than",
    "5",
    "million",
    "people",
    "capital",
    "name",
    "letter",
    "A",
    "?",
    ",",
    ".",
    "river",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=16))
def test_any_sentence_gets_one_reply(words: list[str]) -> None:
    asked = query(" ".join(words))
    reply = asked.reply(asked.value(atlas().cities[3]))
    assert reply == RIGHT or reply.endswith((".", "!"))


@pytest.mark.parametrize(
    "piece",
    ["is it not in ", "a", "C N P ", "or , and ", "not ", "i think that is it true that ", "the name of your city "],
)
def test_reading_takes_linear_time(piece: str) -> None:
    text = (piece * 500)[:499]
    start = process_time()
    query.__wrapped__(text)
    assert process_time() - start < 0.25


def test_dev_items_are_answered_right() -> None:
    spec = spec_from_file_location("truth_score", Path(__file__).parents[1] / "truth" / "score.py")
    assert spec is not None and spec.loader is not None
    truth: Any = module_from_spec(spec)
    spec.loader.exec_module(truth)
    found = truth.score(truth.judged("guess_my_city", truth.load("guess_my_city", "dev")))
    assert found.wrong_rate <= 0.005
    assert found.coverage >= 0.75
