"""Numbers with decimals and scales, and negations without their apostrophe, mean the same in every conversation."""

from __future__ import annotations

from typing import Any

import sonde
from sonde.core import Episode, advance_to_agent, default_policies, run_sync
from sonde.envs._shared.english.tokens import parse_amount
from sonde.envs._shared.english.tokens import tokenize as words
from sonde.envs.car_dealer.negotiation import read_pitch
from sonde.envs.customer_service.reading import read_support_message as service
from tests.cases import each


def reply(env: str, hidden: Any, said: str, **config: Any) -> str:
    made = sonde.make(env, **config)
    ep = Episode.begin(made, made.task(hidden)).step(said)
    return str(run_sync(advance_to_agent(ep, default_policies(made))).turns[-1].info["reply"])


@each(
    "said, answer",
    [
        ("Does it have more than 1.5 million inhabitants?", "Yes."),
        ("Is the population more than 1.5 million?", "Yes."), ("Is the population more than 1,500,000?", "Yes."),
        ("Is the population over 500k?", "Yes."), ("Is the population more than 12.5 million?", "No."),
        ("Isnt it in Europe?", "Yes."), ("Couldnt it be in Asia?", "No."),
    ],
)  # fmt: skip
def test_a_place_of_twenty_questions(said: str, answer: str) -> None:
    assert reply("twenty_questions", "Rome", said) == answer


@each(
    "one, other",
    [
        ("Does it cost more than $1.50?", "Does it cost more than 1.5 dollars?"),
        ("Does it cost more than $5.00?", "Does it cost more than 5 dollars?"),
        ("Does it cost more than $1.5k?", "Does it cost more than 1,500 dollars?"),
        ("Does it weigh less than .5 kg?", "Does it weigh less than 0.5 kg?"),
    ],
)
def test_prices_and_weights(one: str, other: str) -> None:
    for topic in ("guitar", "bread", "car"):
        replies = [reply("twenty_questions", topic, said, preset="delta_belief") for said in (one, other)]
        assert replies[0] == replies[1]


def test_a_price_with_cents_is_known() -> None:
    asked = "Does it cost more than $1.50?"
    assert reply("twenty_questions", "guitar", asked, preset="delta_belief") == "Yes."


@each(
    "said, answer",
    [
        ("Isnt it on a river?", "Yes, that is true of my city."),
        ("Its on a river, isnt it?", "Yes, that is true of my city."),
        ("Your city isnt on a river?", "No, that is not true of my city."),
        ("Hasnt your city hosted the Olympic Games?", "No, that is not true of my city."),
        ("Dont people drive on the left?", "No, that is not true of my city."),
        ("Does your city have more than 0.25 million inhabitants?", "Yes, that is true of my city."),
        ("Is it bigger than Łódź?", "Yes, that is true of my city."),
    ],
)
def test_a_city(said: str, answer: str) -> None:
    assert reply("guess_my_city", {"city": "Lisbon", "country": "Portugal"}, said) == answer


@each("short", ["isn't", "doesn't", "hasn't", "can't", "won't", "wouldn't", "couldn't", "didn't"])
def test_an_apostrophe_that_is_left_out_changes_nothing(short: str) -> None:
    bare = short.replace("'", "")
    assert words(f"it {bare} so") == words(f"it {short} so")
    assert read_pitch(f"This one {bare} have a sunroof.") == read_pitch(f"This one {short} have a sunroof.")


def test_a_customer_hears_a_negation_without_its_apostrophe() -> None:
    for said in ("It isnt the battery.", "Dont replace the memory.", "Isnt the charging light on?"):
        assert service("laptop_dead", said) == service("laptop_dead", said.replace("nt ", "n't "))


def test_an_offer_in_thousands() -> None:
    assert read_pitch("I can do $31.5k.").prices == (31_500,)
    assert read_pitch("I can do 31.5 thousand dollars.").prices == (31_500,)
    assert read_pitch("It is 31,500.00 dollars.").prices == (31_500,)


def test_digits_without_end_are_no_amount() -> None:
    assert parse_amount(["9" * 4000]) is None
    assert parse_amount(["1.2.3"]) is None
