"""What every support agent asks: an answer of each product, the same whatever is hidden, or the finding it is about."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest

import sonde
from sonde.envs._rules.diagnosis.everyday import everyday
from sonde.envs._rules.diagnosis.products import Query, products
from sonde.envs._rules.diagnosis.reading import read

TABLE = tomllib.loads(files("sonde.envs").joinpath("data", "customer_service_everyday.toml").read_text("ascii"))
ASPECTS = {*TABLE["asks"], "model"}
"""What model it is needs no form of its own: `diagnosis.talk` tells."""
PRODUCTS = sorted(products())


def said(product: str, message: str) -> str:
    return everyday(product, products()[product].product, message)


def test_every_product_has_a_table_and_no_other() -> None:
    assert {*TABLE} - {"words", "asks"} == {*PRODUCTS}


@pytest.mark.parametrize("name", PRODUCTS)
def test_entries_are_of_known_aspects_and_findings(name: str) -> None:
    product = products()[name]
    assert {*TABLE[name]} <= ASPECTS
    for text in TABLE[name].values():
        assert product.finding(text[1:]) >= 0 if text.startswith("=") else 4 <= len(text.split()) <= 18


@pytest.mark.parametrize("name", PRODUCTS)
def test_no_entry_names_a_cause(name: str) -> None:
    cues = [cue.lower() for cause in products()[name].causes for cue in cause.cues if " " in cue]
    entries = [text.lower() for text in TABLE[name].values()]
    assert not [(cue, text) for cue in cues for text in entries if cue in text]


@pytest.mark.parametrize(
    "message",
    [
        "Is it plugged in?",
        "Is the blender plugged in?",
        "Hi there! Can you tell me whether your Mix is plugged in?",
        "Thanks. Could you check if it's switched on?",
    ],
)
def test_many_ways_to_ask(message: str) -> None:
    assert said("blender_stops", message) == TABLE["blender_stops"]["power"]


@pytest.mark.parametrize(
    ("message", "aspect"),
    [
        ("When did it start?", "started"),
        ("Do you know when this problem first started?", "started"),
        ("Does this happen all the time, or only sometimes?", "often"),
        ("Did it work fine before?", "before"),
        ("What have you tried so far?", "tried"),
        ("Did anything change recently, like a new outlet?", "changed"),
        ("Where do you keep the blender?", "place"),
        ("And has it ever been dropped or gotten wet?", "dropped"),
        ("Please describe the problem in more detail.", "exactly"),
    ],
)
def test_the_aspects(message: str, aspect: str) -> None:
    assert said("blender_stops", message) == TABLE["blender_stops"][aspect]


@pytest.mark.parametrize(
    "message",
    [
        "How old is the button of your blender?",
        "How old is the jug?",
        "Is the socket plugged in?",
        "Is the blender's lid plugged in?",
        "Did you tell my colleague that it is plugged in?",
        "Why did it start?",
        "How old are you?",
        "When did it start and how old is it?",
        "",
    ],
)
def test_other_questions_are_none_of_these(message: str) -> None:
    assert not said("blender_stops", message)


@pytest.mark.parametrize(
    "message", ["How old is it?", "Could you tell me how old it is?", "Do you remember when you bought your Aria?"]
)
def test_the_age(message: str) -> None:
    assert said("laptop_dead", message) == TABLE["laptop_dead"]["age"]


def test_two_aspects_in_one_message_get_no_answer() -> None:
    assert not said("blender_stops", "How old is it? Is it plugged in?")


def test_a_general_question_may_be_for_a_finding() -> None:
    product = products()["blender_stops"]
    assert read("blender_stops", "Do you hear anything unusual?") == Query("finding", product.finding("sound"))


def test_the_answer_is_the_same_whatever_is_hidden() -> None:
    env = sonde.make("customer_service")
    heard: dict[str, set[str]] = {}
    for task in env.tasks("test"):
        seated = sonde.Seated(env)
        seated.reset(task)
        view, *_ = seated.step("When did it start?")
        heard.setdefault(task.hidden["product"], set()).add(view.messages[-1].content)
    assert len(heard) > 40
    assert all(len(replies) == 1 for replies in heard.values())
