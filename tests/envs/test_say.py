"""`say` is for the answers that an environment lists; any other text is said as it is, in answer syntax at most."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sonde
from sonde.core import Env, Episode, names
from tests.cases import each

LINES = (
    "Who was in the library", "I would like to look around first", "show me the body",
    "Wanda was in the garden, wasn't she", "Sven and Wanda", "$500 is all I can do, sorry", "$30,000 and it is yours",
    "navigation and whatever else you like", "sunroof and sunroof", "Lisbon or Porto", "check the router, then call me",
    "hello",
)  # fmt: skip


@cache
def env_of(name: str) -> tuple[Env[Any], frozenset[str]]:
    """An environment and what it lists at the start of a game."""
    env = sonde.make(name)
    begun = Episode.begin(env, env.tasks("test")[0], seed=0)
    return env, frozenset(env.actions(begun.state) or ())


def bare(said: str) -> str:
    """Without answer syntax: tags, and the white space between letters or behind an answer."""
    return "".join(said.replace("<Answer>", "").replace("</Answer>", "").split())


def adds_nothing(name: str, line: str) -> bool:
    env, listed = env_of(name)
    said = env.say(line)
    return line in listed or (
        (said == line if len(env.spec.seats) > 1 and "<Answer>" not in said else True) and (bare(said) == bare(line))
    )


@each("name", names("envs"))
def test_a_line_that_is_not_listed_is_said_as_it_is(name: str) -> None:
    assert [line for line in LINES if not adds_nothing(name, line)] == []


@pytest.mark.parametrize("name", ["murder_mystery", "car_dealer", "guess_my_city", "twenty_questions"])
@given(st.text(max_size=40) | st.sampled_from(("Wanda", "$30,000", "navigation and sunroof", "Lisbon", "monsoon")))
def test_so_is_any_text_that_nobody_lists(name: str, line: str) -> None:
    assert adds_nothing(name, f"{line} or so")


@each("name", ["murder_mystery", "car_dealer", "guess_my_city", "twenty_questions"])
def test_listed_answers_are_said_in_full(name: str) -> None:
    """Names, prices, features, cities and topics become sentences; questions and acts are sentences already."""
    env, listed = env_of(name)
    for answer in listed:
        said = env.say(answer)
        assert answer in said and said[-1] in ".?!", answer
        assert said != answer or answer[-1] in ".?!", answer
