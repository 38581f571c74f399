"""What somebody who lives in a city understands and says: one meaning has one answer in every wording."""

from __future__ import annotations

import math
import re

from hypothesis import given
from hypothesis import strategies as st

from sonde.envs._shared.english.lexicon import parse_lines
from sonde.envs._shared.english.tokens import name_key
from sonde.envs.guess_my_city.atlas import City, load_atlas
from sonde.envs.guess_my_city.attributes import declared_attributes, declared_sections, lookup_attribute
from sonde.envs.guess_my_city.facts import declared_facts
from sonde.envs.guess_my_city.facts import fact_replies as told_of
from sonde.envs.guess_my_city.guesses import find_named_cities, read_guess
from sonde.envs.guess_my_city.hearing import Cities, read_question
from sonde.envs.guess_my_city.readers import COLUMNS, known_by_name
from sonde.envs.guess_my_city.resident import (
    NO,
    REFUSED,
    RIGHT,
    SEVERAL,
    UNKNOWN,
    WRONG,
    YES,
    answer_message,
    canonical_questions,
    city_answers,
    read_city_message,
)
from tests.cases import each


def city(title: str) -> City:
    mask = find_named_cities(name_key(title))
    assert mask and not mask & (mask - 1), title
    return load_atlas().cities[mask.bit_length() - 1]


def bits_told(said: str) -> float:
    """The entropy of the reply over all cities."""
    counts = [mask.bit_count() for mask in city_answers("paprika").split(said).values()]
    return -sum(n / sum(counts) * math.log2(n / sum(counts)) for n in counts)


@each(
    "title, said, word",
    [
        ("Lisbon, Portugal", "Is your home city located near the coastline?", "Yes"),
        ("Rome, Italy", "Isn't it in Europe?", "Yes"),
        ("Rome, Italy", "Is it in Southern Europe, such as Spain or Greece?", "Yes"),
        ("Rome, Italy", "It isn't in Asia, is it?", "No"),
        ("Kathmandu, Nepal", "Is it in Asia and on the coast?", "No"),
        ("Kathmandu, Nepal", "Is it at an altitude above 1,000 meters?", "Yes"),
        ("Kathmandu, Nepal", "Does your country border both China and Bangladesh?", "No"),
        ("Chicago, United States", "Is it in the Midwest?", "Yes"),
        ("Chicago, United States", "Is it on the East Coast of the United States?", "No"),
        ("Boston, United States", "Is it north of New York?", "Yes"),
        ("London, United Kingdom", "Does the Thames run through your city?", "Yes"),
        ("London, United Kingdom", "Is it the largest city in Europe?", UNKNOWN),
        ("Milan, Italy", "Is it the capital of Italy?", "No"),
        ("Toronto, Canada", "Does the city name start with a vowel?", "No"),
        ("Seoul, South Korea", "Does it end with L or N?", "Yes"),
        ("Madrid, Spain", "Is your country on the Mediterranean Sea?", "Yes"),
        ("Madrid, Spain", "Is it on the Mediterranean Sea?", "No"),
        ("Lyon, France", "Is the Eiffel Tower in your city?", "No"),
        ("Paris, France", "Is the Eiffel Tower in your city?", "Yes"),
        ("Reykjavik, Iceland", "Does your city have fewer than 500,000 inhabitants?", "Yes"),
        ("Vienna, Austria", "Is it within 100 km of Bratislava?", "Yes"),
        ("Srinagar, India", "Is Islam the main religion in your city?", "Yes"),
        ("Kuching, Malaysia", "Is Islam the main religion?", UNKNOWN),
        ("Oslo, Norway", "Does your country have a king or a queen?", "Yes"),
        ("Tunis, Tunisia", "Is your city in a country that borders the Mediterranean Sea?", "Yes"),
        (
            "Kochi, India",
            "Is your home city in the state of Kerala, India, known for its backwaters and temples?",
            "Yes",
        ),
        ("Agra, India", "Is your home city in the state of Kerala, India, known for its backwaters and temples?", "No"),
        ("Berlin, Germany", "Was your city part of the Soviet Union?", "No"),
        ("London, United Kingdom", "Was your country ever part of the EU?", UNKNOWN),
    ],
)
def test_yes_and_no(title: str, said: str, word: str) -> None:
    assert answer_message(city(title), said).startswith(word), answer_message(city(title), said)


@each(
    "title, said, told",
    [
        ("Lisbon, Portugal", "Which continent is it on?", "My city is in Europe."),
        ("Lisbon, Portugal", "Which countries border yours?", "My country borders Spain."),
        ("Zurich, Switzerland", "What currency do they use?", "People pay with a kind of franc."),
        ("Vienna, Austria", "What's the name of the river?", "My city is on the Danube."),
        ("Tunis, Tunisia", "What money do people use?", "People pay with a kind of dinar."),
        ("Seoul, South Korea", "How many letters does the name have?", "The name has 5 letters."),
        ("Seoul, South Korea", "What is the first letter of your home city?", "The name begins with the letter S."),
        ("Seoul, South Korea", "What is the last letter of your city's name?", "The name ends with the letter L."),
        ("Osaka, Japan", "On which side of the road do people drive?", "People drive on the left."),
        ("Nairobi, Kenya", "What form of government does your country have?", "My country is a presidential republic."),
        ("Lagos, Nigeria", "When did your country become independent?", "My country became independent in the 1960s."),
        ("Athens, Greece", "What alphabet is used in your country?", "We write in letters of our own."),
        ("Pattaya, Thailand", "What is the name of your city?", REFUSED),
        ("Pattaya, Thailand", "Which country is your home city in?", REFUSED),
    ],
)
def test_open_questions(title: str, said: str, told: str) -> None:
    assert answer_message(city(title), said) == told


@each("said", ["What is your city famous for?", "What landmarks is your city known for?", "What do tourists visit?"])
def test_what_is_not_known_of_a_city_is_not_told_as_a_lack(said: str) -> None:
    """A gap in the knowledge is no fact: Granada was "not known for its landmarks"."""
    replies = {reply for one in load_atlas().cities for reply in [answer_message(one, said)]}
    assert UNKNOWN in replies and not [reply for reply in replies - {UNKNOWN} if " not " in reply or " no " in reply]


SAME = (
    (
        "Is your city in Europe?", "Is your home city located in a country in Europe?", "Is it a European city?",
        "Is your city on the European continent?",
    ),
    (
        "Do people speak Spanish?", "Is Spanish spoken there?", "Is Spanish spoken in your city?",
        "Is it in a Spanish-speaking country?",
    ),
    ("Is your country landlocked?", "Is it in a landlocked country?", "Is the country your city is in landlocked?"),
    (
        "Does your city use the euro?", "Is the euro the currency?", "Do people pay with the euro?",
        "Is the currency of your country the euro?",
    ),
    ("Is your city on the coast?", "Is it a coastal city?", "Is it by the sea?", "Does it lie on the coast?"),
    ("Does the flag have red in it?", "Is there red on your flag?", "Is red one of the colors of your country's flag?"),
    ("Is Islam the main religion?", "Is the main religion Islam?", "Is the majority of the population Muslim?"),
    (
        "Was your country a British colony?", "Was your country ruled by Britain?",
        "Was your country colonized by the British?",
    ),
    (
        "Does your city have more than one million people?", "Is the population over a million?",
        "Do more than a million people live there?",
    ),
)  # fmt: skip


@each("ways", SAME)
def test_wordings_of_one_question_get_the_same_answers(ways: tuple[str, ...]) -> None:
    """Point by point, for every city: who is answered does not depend on the words."""
    first = read_question(ways[0])
    assert first is not None
    for said in ways[1:]:
        found = read_question(said)
        assert found is not None, said
        assert (found.yes_or_goal, found.no) == (first.yes_or_goal, first.no), said


# --- guesses ---------------------------------------------------------------------------------------------------------


@each(
    "frame",
    [
        "Is it {}?", "Is your home city located in the city of {}?", "I think the city you are thinking of is {}.",
        "I'm confident the city is {}.", "I'm going to guess that your city is {}.",
        "Based on the clues, I'll make a guess. My final answer is {}. Please tell me if I am right!",
        "Could it be {}, also known by another name, which has a famous harbour?", "{}",
    ],
)  # fmt: skip
def test_a_guess_is_what_it_names(frame: str) -> None:
    for title in ("Lisbon, Portugal", "Jakarta, Indonesia", "Santiago de Cuba, Cuba"):
        assert answer_message(city(title), frame.format(title)) == RIGHT, frame
        assert answer_message(city("Oslo, Norway"), frame.format(title)) == WRONG, frame


@each(
    "said",
    [
        "Is it not Lisbon?", "Is it near Lisbon?", "My friend says it is Lisbon.",
        "If it were Lisbon, would you tell me?", "I am ruling out Lisbon.", "Is your city bigger than Lisbon?",
        "Is it in the same country as Lisbon?", "What about a city like Lisbon?",
        "Is Lisbon the capital of your country?",
    ],
)  # fmt: skip
def test_what_is_denied_reported_supposed_or_compared_does_not_win(said: str) -> None:
    assert answer_message(city("Lisbon, Portugal"), said) != RIGHT


def test_several_names_are_several_guesses_and_a_wrong_country_is_wrong() -> None:
    lisbon = city("Lisbon, Portugal")
    assert answer_message(lisbon, "Is it Lisbon or Porto?") == SEVERAL
    assert answer_message(lisbon, "Is it Lisbon, Spain?") == WRONG
    assert read_guess("Is it in Singapore?") is None
    assert answer_message(lisbon, "Is your home city Ujjain, India?") == WRONG
    assert answer_message(lisbon, "Is it Lisbonne?") in (UNKNOWN, RIGHT)


# --- what is told ----------------------------------------------------------------------------------------------------


@each(
    "said",
    ["What is your city most famous for?", "What is your city known for?", "What landmarks is your city known for?"],
)
def test_fame_does_not_give_the_city_away(said: str) -> None:
    assert 1.0 < bits_told(said) <= 5.0


def test_every_attribute_is_decided_for_every_city() -> None:
    """Yes, no, or explicitly not known; and no city is both."""
    for name in declared_attributes():
        found = lookup_attribute(name)
        assert found is not None
        assert not found.yes & found.no, name
        assert not (found.yes | found.no) & ~load_atlas().all, name


def test_every_phrasing_means_something_that_is_known() -> None:
    """No line of the declarations names an attribute, column, slot or fact that there is not."""
    parts = declared_sections()
    for line in parse_lines("\n".join(parts[name] for name in ("city", "country", "land"))):
        name, slot = (line.meaning.split(" <")[0], "<" in line.meaning) if line.meaning else ("", False)
        if slot:
            assert name in COLUMNS, line
        else:
            assert all(Cities().attribute(n) for n in re.findall(r"\w+", name)), line
    assert all(Cities().attribute(row.partition(":")[0].strip("!?")) for row in parts["things"].splitlines())
    told = {row.partition(":")[0] for row in parts["open"].splitlines()}
    assert told - {"refuse"} == declared_facts().keys()
    assert all(told_of(name) for name in declared_facts())
    conditions = re.findall(r"\[([^\]]+)\]", parts["told"])
    assert all(Cities().attribute(name) for text in conditions for name in re.findall(r"\w+", text))
    for kind in ("places", "seas", "coasts", "waters", "ranges", "islands", "powers", "faiths"):
        assert known_by_name(kind), kind


def test_yes_and_no_come_with_their_contraries() -> None:
    """A negated question gets the opposite answer."""
    for question in canonical_questions():
        claim, denied = read_question(question), read_question(f"Is it false that {question[0].lower()}{question[1:]}")
        if claim is not None and denied is not None and question.startswith("Is it "):
            assert (denied.yes_or_goal, denied.no) == (claim.no, claim.yes_or_goal), question


@given(
    st.text(max_size=80) | st.lists(st.sampled_from(" ".join(canonical_questions()).split()), max_size=14).map(" ".join)
)
def test_any_text_is_heard_and_gets_one_reply(said: str) -> None:
    replies = read_city_message(said).replies
    together = 0
    for mask in replies.values():
        assert not mask & together
        together |= mask
    assert all(text in (YES, NO) or len(text) > 5 for text in replies)


@each(
    "said, lisbon, geneva",
    [
        ("Is it in Europe or in Africa?", "Yes, the first of the two is true of my city.", None),
        ("Is it in Africa or in Europe?", "Yes, the second of the two is true of my city.", None),
        ("Is it bigger or smaller than London?", "Yes, the second of the two is true of my city.", None),
        ("Is it north or south of the equator?", "Yes, the first of the two is true of my city.", None),
        (
            "Is it near a river or a lake?",
            "Yes, the first of the two is true of my city.",
            "Yes, both are true of my city.",
        ),
        ("Is it in Asia or Africa?", "No, neither is true of my city.", None),
        ("Is it in Asia?", "No, that is not true of my city.", None),
    ],
)
def test_of_one_or_the_other_a_resident_says_which(said: str, lisbon: str, geneva: str | None) -> None:
    assert answer_message(city("Lisbon, Portugal"), said) == lisbon
    assert answer_message(city("Geneva, Switzerland"), said) == (geneva or lisbon)


@each(
    "said, one, other",
    [
        ("Is it in Europe or Asia?", "Is it in Europe?", "Is it in Asia?"),
        ("Is it a port or a capital?", "Is it a port?", "Is it a capital?"),
        ("Is it on a river or on a lake?", "Is it on a river?", "Is it on a lake?"),
    ],
)
def test_which_follows_from_what_each_question_alone_hears(said: str, one: str, other: str) -> None:
    begun = {
        ("Yes", "No"): "Yes, the first", ("No", "Yes"): "Yes, the second", ("No", "No"): "No, neither",
        ("Yes", "Yes"): "Yes, both", ("No", UNKNOWN): UNKNOWN, (UNKNOWN, UNKNOWN): UNKNOWN,
    }  # fmt: skip
    for where in city_answers("paprika").cities[::25]:
        alone = answer_message(where, one).split(",")[0], answer_message(where, other).split(",")[0]
        assert answer_message(where, said).startswith(begun.get(alone, "")), (where.title, alone)
