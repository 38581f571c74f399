"""Messages made of the very words that the parsers know, in any order, are read without an error and not for long."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import cache

import pytest

import sonde
from sonde.core import Episode
from sonde.envs._shared.english.tokens import word_list
from sonde.envs.customer_service.products import load_products
from sonde.envs.customer_service.reading import read_support_message as read_customer
from sonde.envs.guess_my_city.resident import read_city_message
from sonde.envs.twenty_questions.room import read_topic_message as read_answerer
from tests.cases import each

GLUE = re.findall(
    r"\S+",
    """is it was does did can you the a an of in on at to for with and or but not no , . ? ! : he she they that which
    who what when now my guess i think there one any all only than more most as than before after if would could be
    been have has used called known made between from by about his her its your this these someone people middle last
    next early late""",
)
MESSAGES = 1500


@cache
def known_words(env: str) -> tuple[str, ...]:
    """The words of the legal messages."""
    made = sonde.make(env)
    legal = Episode.begin(made, made.tasks("train")[0]).view().legal or ()
    found = {w for answer in list(legal)[:1500] for w in re.findall(r"[\w',.?-]+", made.say(answer).lower())}
    return tuple(sorted(found))


def make_salad(env: str, seed: int) -> str:
    rng = random.Random(f"{env} {seed}")
    leads = word_list("asides") if env == "twenty_questions" else ()
    pools = [GLUE, known_words(env), leads or GLUE]
    said = [rng.choice(rng.choices(pools, (6, 4, 1))[0]) for _ in range(rng.randint(1, 12))]
    return " ".join(said) + rng.choice(("?", "", "."))


READERS: dict[str, Callable[[str], object]] = {
    "twenty_questions": read_answerer,
    "guess_my_city": read_city_message,
    "customer_service": lambda said: [read_customer(name, said) for name in sorted(load_products())[:3]],
}


@pytest.mark.thorough
@each("env", READERS)
def test_any_order_of_known_words_is_read(env: str) -> None:
    for seed in range(MESSAGES):
        said = make_salad(env, seed)
        try:
            READERS[env](said)
        except Exception as error:
            raise AssertionError(f"{said!r}: {error!r}") from error


@each("said", ["My guess is", "now?", "Is it now.", "Could it be my guess is that it is a"])
def test_frames_around_nothing_ask_nothing(said: str) -> None:
    assert read_answerer(said).claim is None
