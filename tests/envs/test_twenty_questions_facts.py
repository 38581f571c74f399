"""Facts about single topics, and other wordings of a question: what they say, and that they say no more."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

from sonde.envs._rules.twenty_questions import facts, rewording
from sonde.envs._rules.twenty_questions.answering import verdict_on
from sonde.envs._rules.twenty_questions.phrases import asked
from sonde.envs._rules.twenty_questions.questions import read
from sonde.envs._rules.twenty_questions.topics import knowledge

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "data" / "build" / "twenty_questions"


def reply(topic: str, question: str) -> str:
    return verdict_on(knowledge().index[topic], question)


@pytest.mark.skipif(not BUILD.is_dir(), reason="the sources of the data are not beside the tests")
def test_the_shipped_facts_are_those_of_the_source() -> None:
    spec = importlib.util.spec_from_file_location("compile_facts", BUILD / "compile_facts.py")
    assert spec is not None and spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    shipped = ROOT / "src" / "sonde" / "envs" / "data" / "twenty_questions_facts.json"
    assert build.built((BUILD / "facts.txt").read_text("utf-8")) == json.loads(shipped.read_text("utf-8"))


def test_every_fact_is_of_known_topics_and_never_true_and_false() -> None:
    assert len(facts.heads()) > 500
    for head in facts.heads():
        known = facts.known(head)
        assert known.yes | known.no | facts.unsure(head) and not known.yes & known.no, head
        for item in re.sub(r"^fact (?:\[[^\]]*\] )?", "", head).split("+"):
            assert item.strip() == "-" or facts.topics(item.strip().rstrip("?")), (head, item)


@pytest.mark.parametrize(
    ("topic", "question", "answer"),
    [
        ("Leonardo da Vinci", "Did he paint the Mona Lisa?", "yes"),
        ("Vincent van Gogh", "Was he the painter of the Mona Lisa?", "no"),
        ("Mona Lisa", "Was it painted by Leonardo da Vinci?", "yes"),
        ("Louvre", "Is it known for the Mona Lisa?", "yes"),
        ("honey", "Do bees make it?", "yes"),
        ("honey", "Is it made by bees?", "yes"),
        ("cheese", "Do bees make it?", "no"),
        ("wolf", "Does it bark?", "unknown"),
        ("hammer", "Does it bark at strangers?", "no"),
        ("dog", "Does it bark at strangers?", "yes"),
        ("Eiffel Tower", "Is it in the French capital?", "yes"),
        ("Colosseum", "Is it located in Paris?", "no"),
        ("French Revolution", "Did it happen in Paris?", "yes"),
        ("polar bear", "Is its fur white?", "yes"),
        ("cow", "Does it have sharp teeth?", "unknown"),
        ("sheep", "Does it give us something we can knit sweaters out of?", "yes"),
        ("nightmare", "Is it a pleasant thing to have?", "no"),
        ("week", "Is it made up of seven days?", "yes"),
        ("month", "Is it shorter than a year?", "yes"),
        ("month", "Is it longer than a year?", "no"),
        ("Boston Tea Party", "Were airplanes used?", "no"),
        ("Sinking of the Titanic", "Did it take place in the Mediterranean?", "no"),
        ("Anne Frank", "Did she live to be over eighty?", "no"),
        ("Queen Victoria", "Did she live to be over eighty?", "yes"),
        ("Pelé", "Did he play for Argentina?", "no"),
        ("teacher", "Do they mainly work on farms?", "no"),
        ("surgeon", "Do they operate on people?", "yes"),
        ("dentist", "Is it a job that has nothing to do with teeth?", "no"),
        ("nose", "Do most people have two of them?", "no"),
        ("Norway", "Is it one of the Scandinavian countries?", "yes"),
        ("peanut butter", "Is it safe for someone with a peanut allergy?", "no"),
        ("piano", "Could I carry it around in my pocket?", "no"),
        ("golf", "Do you need a net?", "no"),
        ("Brazil", "Is it bigger than France?", "yes"),
        ("Paris", "Is it bigger than Russia?", "no"),
        ("Marie Curie", "Does the surname start with a C?", "yes"),
        ("hammer", "Does the surname start with a C?", "unknown"),
    ],
)
def test_by_hand(topic: str, question: str, answer: str) -> None:
    assert reply(topic, question) == answer


@pytest.mark.parametrize(
    ("plain", "other"),
    [
        ("Does it have strings?", "Are there strings on it?"),
        ("Would I find it in a kitchen?", "Would I find one of these in a typical kitchen?"),
        ("Is it found in a kitchen?", "is it found in a kitchn"),
        ("Does it need to be plugged in?", "does it need to be plugged in to work"),
        ("Does it involve a ball?", "Is a ball used in the game?"),
    ],
)
def test_other_words_ask_the_same(plain: str, other: str) -> None:
    first, second = read(plain).query, read(other).query
    assert first is not None and second is not None and first.text == second.text
    assert not first.yes & second.no and not first.no & second.yes


def test_nothing_is_left_out_of_what_is_asked() -> None:
    for message in (
        "Could you wear it as a hat on Sundays in May?",
        "Is it white on its belly?",
        "Can it run on batteries?",
    ):
        query = read(message).query
        assert query is None or query != read(" ".join(message.split()[:4]) + "?").query, message
    assert read("Is it neither glorpish nor edible with a fork?").query is None


@pytest.mark.parametrize(
    ("message", "same"),
    [
        ("It isn't alive, is it?", "Is it alive?"),
        ("It never flies, does it?", "Does it fly?"),
        ("Isn't it alive?", "Is it alive?"),
        ("It is alive, isn't it?", "Is it alive?"),
        ("It isn't alive, right?", "Is it not alive?"),
        ("Is it something other than a bird?", "Is it not a bird?"),
    ],
)
def test_a_denial_that_only_asks_is_answered_as_the_question(message: str, same: str) -> None:
    found, plain = read(message).query, read(same).query
    assert found is not None and found == plain


@pytest.mark.parametrize(
    ("topic", "question", "answer"),
    [
        ("kiwi", "Is it brown and fuzzy on the outside but green inside?", "unknown"),
        ("religion", "Is it practised in churches, mosques and temples?", "unknown"),
        ("Oliver Twist", "Was he an orphan?", "yes"),
        ("Nikola Tesla", "Did he work on electricity?", "yes"),
        ("Charles Darwin", "Did he sail on the Beagle?", "yes"),
        ("chocolate", "Is it poisonous to dogs?", "yes"),
        ("dog", "Can it be trained?", "yes"),
        ("nurse", "Are they doctors?", "no"),
        ("wrist", "Is it between the hand and the arm?", "yes"),
        ("sun", "Is it a god in some cultures?", "unknown"),
        ("Australia", "Is its capital Sydney?", "no"),
        ("Paris", "Is the Louvre there?", "yes"),
        ("Italy", "Is this place outside Europe?", "no"),
        ("Fall of Constantinople", "Did it happen before Columbus was born?", "no"),
        ("Korean War", "Did it end before the First World War began?", "no"),
        ("Iliad", "Is it older than the printing press?", "yes"),
        ("hammer", "Is it heavier than a feather?", "yes"),
        ("fear", "Would I be wrong to call it an emotion?", "no"),
    ],
)
def test_classes_of_mistakes(topic: str, question: str, answer: str) -> None:
    assert reply(topic, question) == answer


def test_a_name_with_a_slip_of_the_pen_is_a_guess_if_only_one_can_be_meant() -> None:
    assert reply("penguin", "So... a pengiun?") == "goal" == reply("gorilla", "Gorrila?")
    assert reply("water", "Is it a waiter?") == "no" and reply("tango", "Is it a danse?") == "yes"


def test_only_words_in_no_list_are_mended() -> None:
    assert list(rewording.spelled(["is", "it", "a", "pengiun"])) == [["is", "it", "a", "penguin"]]
    assert not list(rewording.spelled(["is", "it", "a", "plane"]))
    assert not list(rewording.spelled(["is", "it", "a", "xqzvw"]))


@pytest.mark.parametrize(
    ("topic", "answer"), [("hedgehog", "goal"), ("Sonic the Hedgehog", "yes"), ("hammer", "no"), ("Shrek", "no")]
)
def test_a_fact_and_a_guess_in_the_same_words(topic: str, answer: str) -> None:
    assert reply(topic, "Is it a hedgehog?") == answer


def test_a_fact_does_not_hide_what_its_words_say_of_other_topics() -> None:
    query = asked("ob:make of brass")
    assert query is not None and query.text.startswith("fact ")
    assert reply("trumpet", "Is it made of brass?") == "yes" and reply("sword", "Is it made of steel?") == "yes"


@pytest.mark.parametrize(
    ("topic", "question", "answer"),
    [
        ("trumpet", "Is it a woodwind instrument?", "no"),
        ("clarinet", "Is it a woodwind instrument?", "yes"),
        ("Hogwarts", "Is it a real place?", "no"),
        ("brick", "Is it made of marble?", "unknown"),
        ("spoon", "Is it made of marble?", "no"),
        ("xylophone", "Is it a drum?", "no"),
        ("Pacific Ocean", "Is it a sea?", "unknown"),
        ("Wolfgang Amadeus Mozart", "Was he a pop star?", "unknown"),
    ],
)
def test_what_is_narrower_than_an_attribute_is_not_affirmed_by_it(topic: str, question: str, answer: str) -> None:
    assert reply(topic, question) == answer


@pytest.mark.parametrize(
    ("topic", "question", "answer"),
    [
        ("sleeping pill", "Is it a pill?", "yes"),
        ("pill", "Is it a sleeping pill?", "unknown"),
        ("measles", "Is it a virus?", "yes"),
        ("India", "Is it a democracy?", "yes"),
        ("Cuba", "Is it a democracy?", "unknown"),
        ("wedding", "Is it a party?", "unknown"),
        ("hammer", "Is it a party?", "no"),
        ("lamb", "Is it a sheep?", "yes"),
    ],
)
def test_a_topic_that_is_a_kind_of_what_is_named_is_not_denied(topic: str, question: str, answer: str) -> None:
    assert reply(topic, question) == answer
