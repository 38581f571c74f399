"""The narrator answers by the rules of the case, and its likelihoods are those of its answers."""

from __future__ import annotations

import random
import re
from functools import cache

import sonde
from sonde.core import Episode
from sonde.envs._shared.dialogue import GOAL
from sonde.envs.murder_mystery.cases import Case, numbered_case
from sonde.envs.murder_mystery.filter import Truth
from sonde.envs.murder_mystery.replies import act_message, answer_message
from sonde.envs.murder_mystery.telling import observe_act
from sonde.envs.murder_mystery.user import Narrator
from tests.cases import each

ENV = sonde.make("murder_mystery")
KNOWN = numbered_case("train", 4)
NAMES = [p.name for p in KNOWN.frame.people]


def test_is_found_by_name_as_the_default_of_its_seat() -> None:
    assert ENV.spec.seats["user"] == "users:narrator"
    assert sonde.make("users:narrator") == Narrator()


def test_says_what_the_act_shows() -> None:
    start = Episode.begin(ENV, ENV.tasks("train")[4])
    for act in list(KNOWN.frame.acts)[::3]:
        ep = start.step(act_message(KNOWN.frame, act))
        assert Narrator().act_now(ep.view("user")).text == observe_act(KNOWN, act).text
        assert Narrator().reply_probs(ep.view("user")) == {observe_act(KNOWN, act).text: 1.0}


@each(
    "said, words",
    [
        ("I accuse Sven.", GOAL),
        ("Ask everybody.", "One thing at a time|Begin with one thing"),
        ("Sven!", 'Sven Jovanovic: "I am not sure what you mean\\. Ask me where I was, how I stood with Farah, '),
        ("Sing a song.", "Nothing comes of that|leads nowhere"),
        ("Examine the body.", "The doctor has seen to Farah Andersson"),
    ],
)
def test_answers_that_reveal_nothing(said: str, words: str) -> None:
    text = answer_message(KNOWN, said, GOAL)
    assert re.search(words, text), text
    other = Case(KNOWN.frame, KNOWN.frame.model.draw_truth(random.Random(8)))
    assert answer_message(other, said, GOAL) == text


@cache
def draw_truths() -> list[Truth]:
    rng = random.Random(3)
    return [KNOWN.frame.model.draw_truth(rng) for _ in range(4000)]


@each("said", ["Check the access list.", "Sven, where were you?", "Zofia, tell me about Nikhil.", "Hm."])
def test_likelihood_is_the_share_of_worlds_that_reply_so(said: str) -> None:
    user, view = Narrator(), Episode.begin(ENV, ENV.tasks("train")[4]).step(said).view("user")
    left = ENV.spec.max_turns - 1
    counts: dict[str, list[int]] = {}
    culprits = [0] * len(NAMES)
    for truth in draw_truths():
        culprits[truth.culprit] += 1
        row = counts.setdefault(answer_message(Case(KNOWN.frame, truth), said, GOAL, left), [0] * len(NAMES))
        row[truth.culprit] += 1
    for text, row in counts.items():
        expected = user.likelihood(view, text, NAMES)
        for share, n, p in zip(row, culprits, expected, strict=True):
            assert abs(share / n - p) < 5 * (p * (1 - p) / n) ** 0.5 + 0.003
    assert user.likelihood(view, "Something else.", [*NAMES, "Nobody"]) == [0.0] * (len(NAMES) + 1)


@each("preset", ["paprika", "delta_belief"])
def test_an_accusation_reaches_the_goal_or_only_the_right_one_does(preset: str) -> None:
    env, user = sonde.make("murder_mystery", preset=preset), Narrator()
    ep = Episode.begin(env, env.tasks("train")[4])
    for i, name in enumerate(NAMES):
        view = ep.step(f"I accuse {name} of the murder.").view("user")
        right = preset == "paprika" or i == KNOWN.truth.culprit
        text = user.act_now(view).text
        assert (text == GOAL) is right
        others = [1.0] * len(NAMES) if preset == "paprika" else [float(right == (n == name)) for n in NAMES]
        assert user.likelihood(view, text, NAMES) == others
