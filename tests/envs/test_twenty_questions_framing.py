"""Twenty questions: what stands around a question, two questions in one, guesses with a description, slips of the pen.

Ours: messages as people word them, each with its true answer.
"""

from __future__ import annotations

import time

import pytest

from sonde.envs._rules.twenty_questions import framing, rewording
from sonde.envs._rules.twenty_questions.answering import verdict_on
from sonde.envs._rules.twenty_questions.questions import read
from sonde.envs._rules.twenty_questions.topics import knowledge, name_key


def reply(topic: str, said: str) -> str:
    found = knowledge().lookup[name_key(topic)]
    return verdict_on(found.bit_length() - 1, said)


@pytest.mark.parametrize(
    "form",
    ["So my guess this time is a {}.", "Ok wait, could it be a {}?", "You're thinking of a {}, aren't you?",
     "Would I be correct if I said {}?", 'Is "{}" the word?', "A {}, that's what it is.", "Could be a {}... is it?",
     "If I guessed {}, would I be right?", "I have a feeling it's a {}.", "A {}. That's my final answer.",
     "Not a lamp, so maybe a {}?", "{} is my guess.", "Do you have a {} in mind?", "I'm leaning towards {}."],
)  # fmt: skip
def test_announced_guesses_win_and_no_other_topic_does(form: str) -> None:
    assert reply("giraffe", form.format("giraffe")) == "goal"
    assert reply("giraffe", form.format("guitar")) == "no"


@pytest.mark.parametrize(
    "frame",
    ["Sorry to ask, but is it {}?", "Would you mind telling me whether it's {}?", "Am I right in assuming it's {}?",
     "Would I be right in calling it {}?", "Is it, generally speaking, {}?", "Is it {}, among other things?",
     "Quick question: is it {}?", "Is there a chance it is {}?", "You'd call it {}, wouldn't you?",
     "Could one describe it as {}?", "I take it it's {}?", "Is it safe to say that it is {}?",
     "You wouldn't call it {}, would you?", "We're not talking about {} here, are we?"],
)  # fmt: skip
def test_what_stands_around_a_question_does_not_matter(frame: str) -> None:
    assert reply("shark", frame.format("a fish")) == "yes"
    assert reply("shark", frame.format("a plant")) == "no"


@pytest.mark.parametrize(
    "frame",
    ["Would it be wrong to say it's {}?", "Would I be wrong to call it {}?", "There's no way it could be {}, right?",
     "Am I mistaken in thinking it's {}?", "It isn't {}, correct?", "Is it false that it is {}?"],
)  # fmt: skip
def test_frames_that_turn_the_answer_round(frame: str) -> None:
    assert reply("shark", frame.format("a fish")) == "no"
    assert reply("shark", frame.format("a plant")) == "yes"


@pytest.mark.parametrize(
    ("topic", "said", "answer"),
    [
        ("whale", "Is it a mammal, not a fish?", "yes"),
        ("whale", "Is it a fish rather than a mammal?", "no"),
        ("whale", "Does it live in the sea despite being a mammal?", "yes"),
        ("whale", "Is it a mammal even though it lives in the sea?", "yes"),
        ("whale", "Is it an animal, and does it have feathers?", "no"),
        ("guitar", "Does it have strings but no wheels?", "yes"),
        ("piano", "Is it neither alive nor edible?", "yes"),
        ("carrot", "Is it eaten not only by people but also by rabbits?", "yes"),
        ("airplane", "Does it have wings without being a bird?", "yes"),
        ("penguin", "Is it a bird, but one that can't fly?", "yes"),
        ("ostrich", "Is it a bird that can fly?", "no"),
        ("sweater", "Is it something that nobody wears?", "no"),
        ("glass", "Is it the case that it never breaks?", "no"),
        ("snake", "No legs, right?", "yes"),
        ("car", "No wheels?", "no"),
        ("vase", "Would it break if I dropped it?", "yes"),
        ("wood", "If you threw it in water, would it float?", "yes"),
        ("Mars", "Is it one of the planets of our solar system?", "yes"),
        ("tiger", "Has stripes?", "yes"),
    ],
)
def test_parts_are_asked_apart(topic: str, said: str, answer: str) -> None:
    assert reply(topic, said) == answer


@pytest.mark.parametrize(
    ("topic", "said", "answer"),
    [
        ("Albert Einstein", "Is it the physicist Albert Einstein?", "goal"),
        ("Albert Einstein", "Is it Einstein, the man behind relativity?", "goal"),
        ("Colosseum", "Is it the Colosseum in Rome?", "goal"),
        ("penguin", "Is it a penguin, the bird?", "goal"),
        ("jaguar", "Is it Jaguar, the car maker?", "unknown"),
        ("wheelbarrow", "is it a wheel barrow?", "goal"),
        ("France", "Is Paris the capital?", "yes"),
        ("France", "Is the capital Paris?", "yes"),
        ("London", "Is it the Tower of London?", "no"),
    ],
)
def test_guesses_with_a_description(topic: str, said: str, answer: str) -> None:
    assert reply(topic, said) == answer


@pytest.mark.parametrize(
    ("topic", "said", "answer"),
    [
        ("Mahatma Gandhi", "Is it Ghandi?", "goal"),
        ("chicken", "Is it a brid?", "yes"),
        ("octopus", "is it an octapus?", "goal"),
        ("water", "is it a waiter?", "no"),
        ("broccoli", "is it smth u eat?", "yes"),
    ],
)
def test_slips_of_the_pen(topic: str, said: str, answer: str) -> None:
    assert reply(topic, said) == answer


def test_a_whole_question_has_nothing_around_it_and_is_no_fragment() -> None:
    assert framing.inside(["is", "it", "a", "fish"]) is None
    assert rewording.completed(["is", "it", "a", "fish"]) is None
    assert rewording.completed(["go", ",", "charlie"]) is None


@pytest.mark.parametrize("word", ["ok ", "so now well ", "a ", "question ", "a very ", ", ", "and is it a ", "nobody "])
def test_no_text_is_slow_to_read(word: str) -> None:
    read("Is it big?")
    start = time.process_time()
    read((word * 300)[:599])
    assert time.process_time() - start < 1
