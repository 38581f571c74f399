"""Statements on single topics: one form for statements and questions, yes for less and no for more than is said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.envs._rules.english import tokens
from sonde.envs._rules.sayings import said
from sonde.envs._rules.sayings_form import question, statement
from sonde.envs._rules.topics import knowledge


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
    ],
)
def test_questions_and_statements_have_one_form(asked: str, meant: str) -> None:
    found = question(tokens(asked))
    assert found and found == statement(tokens(meant))


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
    ],
)
def test_replies(topic: str, asked: str, reply: str) -> None:
    assert answer(topic, asked) == reply


def test_no_question_is_both_true_and_false_of_a_topic() -> None:
    for asked in ("Does it have wheels", "Is it used by children", "Does it live in the sea", "Is it eaten"):
        found = said(tokens(asked))
        assert found is not None and found.yes and not found.yes & found.no


@given(
    st.text(max_size=80)
    | st.lists(st.sampled_from(["is", "it", "do", "does", "whales", "eat", "by", "the", "in", "you", "one", "a"])).map(
        " ".join
    )
)
def test_any_text_has_a_form_or_none(text: str) -> None:
    words = tokens(text)
    form = question(words)
    assert form is None or all(form)
    said(words)
