"""Statements on single topics: one form for statements and questions, yes for less and no for more than is said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.envs._rules.twenty_questions.english import tokens
from sonde.envs._rules.twenty_questions.sayings import said
from sonde.envs._rules.twenty_questions.sayings_asked import readings
from sonde.envs._rules.twenty_questions.sayings_form import DID, PAST, question, statement
from sonde.envs._rules.twenty_questions.sayings_words import plain, same, stem
from sonde.envs._rules.twenty_questions.topics import knowledge


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("Do whales eat it", "is eaten by whales"),
        ("Is it eaten by whales", "is eaten by whales"),
        ("Is it something that whales eat", "is eaten by whales"),
        ("Does it eat whales", "eats whales"),
        ("Do you look through it", "is looked through"),
        ("Was he a British prime minister", "was the prime minister of Britain"),
        ("Do people use it for measuring liquids", "is used to measure liquids"),
        ("Does it measure liquids", "is used to measure liquids"),
        ("Do cars drive across it", "is driven across by cars"),
        ("Would a referee have one", "is used by referees"),
        ("Is it found in hospitals", "is in hospitals"),
        ("Is it worn on the head", "is worn on the head"),
        ("has wheels", "has wheels"),
        ("Are there nurses inside it", "has nurses"),
        ("Did he paint the Mona Lisa", "painted the Mona Lisa"),
        ("Is it something you eat for breakfast", "is eaten for breakfast"),
        ("Do people sit on it", "is sat on"),
        ("Did it take place in Rome", "happened in Rome"),
        ("Is it the opposite of war", "is the contrary of war"),
        ("Did gladiators fight there", "is where gladiators fought"),
        ("Do monsters hide under it", "monsters hide under it"),
        ("Was it written by Darwin", "was written by Charles Darwin"),
        ("Was he the author of Dracula", "wrote Dracula"),
        ("Is it made out of wool", "is made of wool"),
        ("Does it help you to see", "is used to see"),
        ("Is it that white tomb in India", "is a white tomb in India"),
        ("Is it made up of seven days", "has seven days"),
        ("Is he the man who gave us Mickey Mouse", "is a man who created Mickey Mouse"),
        ("If I left it in the sun, would it melt", "melts in the sun"),
        ("Would it break if you dropped it", "breaks when dropped"),
        ("Does playing it involve pressing black and white keys", "involves pressing black and white keys"),
        ("Is the aim to throw a ball through a hoop", "involves throwing a ball through a hoop"),
        ("Does it work as a nurse", "is a nurse"),
        ("Did she fight for civil rights", "fought for civil rights"),
    ],
)
def test_questions_and_statements_have_one_form(asked: str, meant: str) -> None:
    marks = {PAST, DID}
    found, said_of_it = question(tokens(asked)), statement(tokens(meant))
    assert found and said_of_it and found - marks == said_of_it - marks


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("Are candles made from it", "is made into candles"),
        ("Do people make paper out of it", "is made into paper"),
        ("Is Zagreb its capital", "has Zagreb as its capital"),
        ("Is its capital Zagreb", "has Zagreb as its capital"),
        ("Does his nose grow when he lies", "has a nose that grows when he lies"),
        ("Is Etna one of them", "is what Etna is"),
        ("Is Dubrovnik part of it", "contains Dubrovnik"),
        ("Do you put a letter in it", "holds a letter"),
        ("Do you need a racket to play it", "is played with a racket"),
        ("Is coffee made with it", "makes coffee"),
        ("Do nurses work there", "has nurses"),
        ("Did Jesus have this job", "was the job of Jesus"),
        ("Was Herman Melville the author", "was written by Herman Melville"),
        ("Are babies born there", "is where babies are born"),
        ("Did he lead Pakistan", "was prime minister of Pakistan"),
    ],
)
def test_a_question_is_answered_by_what_says_the_same_the_other_way_round(asked: str, meant: str) -> None:
    found = statement(tokens(meant))
    assert found and any(form - {PAST} <= found for form in readings(tokens(asked)))


@pytest.mark.parametrize(
    ("asked", "other"),
    [
        ("Are candles made from it", "is made from candles"),
        ("Is it made of cheese", "is made into cheese"),
        ("Is it carried in the pocket", "has pockets"),
        ("Does it use a camera", "holds a camera"),
        ("Does it pull dogs", "is pulled by dogs"),
        ("Is it needed for puzzles", "has puzzles"),
    ],
)
def test_who_and_whom_and_what_and_from_what_are_not_mixed(asked: str, other: str) -> None:
    found = statement(tokens(other))
    assert found and not any(form - {PAST} <= found for form in readings(tokens(asked)))


def test_words_are_made_plain() -> None:
    assert plain(tokens("Was it once written by Charles Darwin")) == tokens("was it written by darwin")
    assert [stem("plucked"), stem("grows"), same("prison"), same(same("jail"))] == ["pluck", "grow", "prison", "prison"]


@pytest.mark.parametrize(
    "asked",
    [
        "Is it not eaten by whales",
        "Is it only eaten by whales",
        "Is it eaten by whales or by seals",
        "Is it bigger than a whale",
        "Do all whales eat it",
        "If whales ate it, would it hurt",
        "Which animals eat it",
        "Is it mostly eaten by whales",
        "Do whales eat fish",
        "it",
        "",
    ],
)
def test_what_denies_compares_or_chooses_has_no_form(asked: str) -> None:
    assert question(tokens(asked)) is None


def test_who_does_it_is_not_to_whom_it_is_done() -> None:
    assert question(tokens("Does it hunt foxes")) != question(tokens("Do foxes hunt it"))


def answer(topic: str, asked: str) -> str:
    found, bit = said(tokens(asked)), 1 << knowledge().index[topic]
    return "unknown" if found is None else "yes" if found.yes & bit else "no" if found.no & bit else "unknown"


@pytest.mark.parametrize(
    ("topic", "asked", "reply"),
    [
        ("snail", "Does it carry its house around on its back", "yes"),
        ("vulture", "Does it eat dead animals", "yes"),
        ("week", "Does it have seven days", "yes"),
        ("Zeus", "Is he the god of the sea", "no"),
        ("stork", "Does it carry its house on its back", "unknown"),
        ("Croatia", "Is Zagreb its capital", "yes"),
        ("Croatia", "Is Prague its capital", "no"),
        ("spider", "Does it have six legs", "no"),
        ("spider", "Does it have eight legs", "yes"),
        ("Moby-Dick (novel)", "Was it written by Charles Darwin", "no"),
        ("Bram Stoker", "Did he write Dracula and Frankenstein", "no"),
        ("Puss in Boots", "Does he wear boots and a hat", "yes"),
        ("Puss in Boots", "Is he a cat who carries a sword", "yes"),
        ("Puss in Boots", "Is he a dog who carries a sword", "no"),
        ("boxing glove", "Do fighters wear it on their hands", "yes"),
        ("candle", "Does it have a wick, and can it be lit", "yes"),
        ("nightstand", "Does it have a bed", "unknown"),
        ("trousers", "Is it carried in the pocket", "unknown"),
        ("espresso machine", "Is it made of coffee", "unknown"),
        ("hedgehog", "Does it roll up into a ball to protect itself", "yes"),
        ("Rosa Parks", "Did she refuse to give up her seat on the bus", "yes"),
        ("Rosa Parks", "Did she drive the bus", "no"),
        ("Mahatma Gandhi", "Did he fight for Britain", "unknown"),
        ("balloon", "If you poke it with a needle, does it pop", "yes"),
        ("snooker", "Is it played by one person", "unknown"),
        ("guacamole", "Is avocado the main ingredient", "yes"),
        ("diabetes", "Does it have to do with cars", "unknown"),
        ("bat", "Does it fly", "yes"),
        ("Mexico", "Is it in North America", "yes"),
        ("Mexico", "Is it in the United States", "unknown"),
        ("Benjamin Franklin", "Does he fly", "unknown"),
    ],
)
def test_replies(topic: str, asked: str, reply: str) -> None:
    assert answer(topic, asked) == reply


@pytest.mark.parametrize(
    "asked", ["Does he wear boots and never a hat", "Is it a cat that is not orange", "Is it only blue and fast"]
)
def test_parts_that_deny_or_narrow_are_not_read_apart(asked: str) -> None:
    assert said(tokens(asked)) is None


def test_no_question_is_both_true_and_false_of_a_topic() -> None:
    for asked in ("Does it have wheels", "Is it used by children", "Does it live in the sea", "Is it eaten"):
        found = said(tokens(asked))
        assert found is not None and found.yes and not found.yes & found.no


_MORE = ("and", "who", ",", "its", "made", "used", "there", "what", "or", "part", "of", "this", "job")


@given(
    st.text(max_size=80)
    | st.lists(
        st.sampled_from(["is", "it", "do", "does", "whales", "eat", "by", "the", "in", "you", "one", "a", *_MORE])
    ).map(" ".join)
)
def test_any_text_has_a_form_or_none(text: str) -> None:
    words = tokens(text)
    form = question(words)
    assert form is None or all(form)
    said(words)
