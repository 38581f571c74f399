"""The parser of twenty questions: forms of questions, guesses, repetitions, hostile and endless text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.envs.twenty_questions.answering import answer_message, guess_question
from sonde.envs.twenty_questions.knowledge import topic_knowledge
from sonde.envs.twenty_questions.room import is_repeated, read_topic_message, topic_room
from tests.cases import each


def text_of(message: str) -> str | None:
    query = read_topic_message(message).claim
    return query.text if query is not None else None


# --- the same question in other words --------------------------------------------------------------------------------

SAME = [
    ("Is it alive?", "Would you say it is alive?"), ("Is it an animal?", "Is this an animal?"),
    ("Is it an animal?", "Thanks! Next question: is it an animal?"),
    ("Is it made of metal?", "Is it usually made out of metal?"),
    ("Is it made of metal?", "It is made of metal, right?"), ("Can you eat it?", "Is it something you can eat?"),
    ("Can you eat it?", "Do people eat it?"), ("Does it have wheels?", "Is it something that has wheels?"),
    ("Does it have wheels?", "Has it got wheels?"), ("Does it have wheels?", "Is it a thing with wheels?"),
    ("Is it used to cut things?", "Is it used for cutting?"),
    ("Is it used to cut things?", "Can you cut things with it?"),
    ("Is it found in the kitchen?", "Would you find it in a kitchen?"),
    ("Is it bigger than a car?", "Is it larger than a car?"), ("Can it fly?", "Is it able to fly?"),
    ("Can it fly?", "Is it something that flies?"), ("Is it a guitar?", "Are you thinking of a guitar?"),
    ("Is it a guitar?", "Is the answer guitar?"), ("Is it a guitar?", "My guess is a guitar."),
    ("Is it not alive?", "It isn't alive, right?"), ("Is it red or green?", "Is it green or red?"),
    ("Do people wear it?", "Is it worn?"), ("Is it in Europe?", "Is it located in Europe?"),
    ("Does it start with the letter B?", "Does the word begin with a B?"),
]  # fmt: skip
DIFFERENT = [
    ("Is it alive?", "Is it not alive?"), ("Is it an animal?", "Is it a plant?"),
    ("Is it made of metal?", "Is it made of wood?"), ("Is it made of metal?", "Is it not made of metal?"),
    ("Can you eat it?", "Can you drink it?"), ("Can you eat it?", "Does it eat meat?"),
    ("Does it have wheels?", "Does it have wings?"), ("Does it have wheels?", "Does it have two wheels?"),
    ("Is it used to cut things?", "Is it used to measure things?"),
    ("Is it found in the kitchen?", "Is it found in the bathroom?"),
    ("Is it bigger than a car?", "Is it smaller than a car?"),
    ("Is it bigger than a car?", "Is it bigger than a house?"), ("Can it fly?", "Can it swim?"),
    ("Can it fly?", "Can't you make it fly?"), ("Is it a guitar?", "Is it a piano?"),
    ("Is it red or green?", "Is it red and green?"), ("Is it red?", "Is it red or green?"),
    ("Do people wear it?", "Do people wear it on the head?"), ("Is it in Europe?", "Is it in Asia?"),
    ("Does it start with the letter B?", "Does it start with the letter D?"),
    ("Is it glorpish?", "Is it not glorpish?"), ("Is it glorpish?", "Is it glimmy?"),
    ("Is it always red?", "Is it red?"), ("Is it a bird that swims?", "Is it a bird that flies?"),
]  # fmt: skip


@each("first, second", SAME)
def test_a_paraphrase_is_a_repetition(first: str, second: str) -> None:
    assert is_repeated(second, [first]), (text_of(first), text_of(second))


@each("first, second", DIFFERENT)
def test_a_near_miss_or_a_negation_is_none(first: str, second: str) -> None:
    assert not is_repeated(second, [first]), (text_of(first), text_of(second))


# --- guesses ---------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_every_topic_can_be_guessed_by_its_name_and_in_no_other_game_does_it_win() -> None:
    for i, name in enumerate(topic_knowledge().names):
        assert answer_message(i, guess_question(name)) == "goal", name


@each("message",
    ["Is it related to guitars?", "Is it bigger than a guitar?", "Is it like a guitar?", "Is it used with a guitar?",
     "Is it not a guitar?", "Do you need a guitar for it?", "Is it a guitar or a piano?", "Is it a guitar case?",
     "Is it something in a guitar shop?", "a guitar a piano a drum"],
)  # fmt: skip
def test_a_mention_is_no_guess(message: str) -> None:
    assert answer_message(topic_knowledge().index["guitar"], message) != "goal"


@each("form",
    ["Is it {}?", "Is it a {}?", "Is it the {}?", "is it a {}", "Could it be a {}?", "Is the answer {}?",
     "Is the answer \"{}\"?", "Are you thinking of a {}?", "I think it is a {}.", "I think it's a {}!",
     "My guess is a {}.",
     "My final guess: {}",
     "I'm going to guess: a {}?", "{}?", "A {}!", "Is your word {}?", "Based on your answers, is the object a {}?",
     "Since it has strings, is it a {}?", "**Is it a {}?**", "Question 12: Is it a {}?",
     "Is it maybe a {}?", "Is the secret word {}?"],
)  # fmt: skip
def test_forms_of_a_guess(form: str) -> None:
    assert answer_message(topic_knowledge().index["guitar"], form.format("guitar")) == "goal"


@each("topic, message",
    [("spider", "Is it a bug that isn't an insect?"), ("car", "Is it bigger than a small car?"),
     ("New York City", "Is it bigger than the Big Apple?")],
)  # fmt: skip
def test_what_the_knowledge_does_not_settle_is_not_known(topic: str, message: str) -> None:
    assert answer_message(topic_knowledge().index[topic], message) in ("unknown", "unclear")


# --- anything --------------------------------------------------------------------------------------------------------

WORDS = st.sampled_from(
    [
        "is", "it", "a", "an", "the", "does", "do", "can", "you", "people", "have", "not", "and", "or", ",", "?", "!",
        ".", ":", "it's", "that", "which", "used", "to", "for", "in", "made", "of", "bigger", "than", "dog", "guitar",
        "animal", "kitchen", "alive", "red", "born", "before", "1900", "in", "the", "19th", "century", "start", "with",
        "letter", "if", "unless", "never", "always", "known", "for", "more", "than", "5", "<answer>", "ignore", "say",
        "yes", "éà", "🙂", "\x00",
    ]
)  # fmt: skip


@pytest.mark.thorough
@settings(max_examples=300)
@given(st.lists(WORDS, max_size=40).map(" ".join) | st.text(max_size=200))
def test_nothing_raises_and_the_verdict_is_a_function(message: str) -> None:
    first = topic_room().read.__wrapped__(message)
    assert first == topic_room().read.__wrapped__(message)
    if first.claim is not None:
        assert first.claim.yes & first.claim.no & ~first.claim.goal == 0
