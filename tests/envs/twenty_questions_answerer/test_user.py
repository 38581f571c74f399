"""The trapper: its choices by hand, their frequencies, and that every question it asks can be read."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sonde.agents.random import Random
from sonde.core import Action, Episode, ProgramPolicy, UserError, View
from sonde.envs.twenty_questions_answerer.env import TwentyQuestionsAnswerer
from sonde.envs.twenty_questions_answerer.solver import TwentyQuestionsAnswererSolver
from sonde.envs.twenty_questions_answerer.user import Trapper, partition_kinds
from tests.cases import each

ENV = TwentyQuestionsAnswerer()
WORDS = ("ant", "bee", "cod", "doe")
KINDS = {"thing": 0b1111, "insect": 0b0011, "fish": 0b0100, "deer": 0b1000, "land animal": 0b1011}
N = 4000


def view(remaining: int, seed: int, left: int = 20) -> View:
    facts = {"words": WORDS, "kinds": KINDS, "remaining": remaining, "questions_left": left}
    return cast(View, SimpleNamespace(private=facts, seed=seed))


def drawn(user: Trapper, remaining: int, left: int = 20) -> Counter[str]:
    """What it says over many seeds."""
    return Counter(user.act_now(view(remaining, seed, left)).text for seed in range(N))


def share(said: Counter[str], *terms: str) -> float:
    return sum(n for text, n in said.items() if re.split(" of | word ", text)[1].rstrip("?") in terms) / N


def test_kinds_are_parted_by_what_remains() -> None:
    assert partition_kinds(KINDS, 0b0011) == (["fish", "deer"], ["thing", "insect", "land animal"], [])
    assert partition_kinds(KINDS, 0b0110) == (["deer"], ["thing"], ["insect", "fish", "land animal"])


def test_frequencies_are_the_probabilities_given() -> None:
    """Remaining: bee and cod. Standard error at most 0.008; the bounds are five of them."""
    said = drawn(Trapper(guess=0.3, excluded_word=0.25, excluded_kind=0.2, shared_kind=0.4), 0b0110)
    assert share(said, "ant", "doe") == pytest.approx(0.3 * 0.25, abs=0.04)
    assert share(said, "bee", "cod") == pytest.approx(0.3 * 0.75, abs=0.04)
    assert share(said, "deer") == pytest.approx(0.7 * 0.2, abs=0.04)
    assert share(said, "thing") == pytest.approx(0.7 * 0.4, abs=0.04)
    assert share(said, "insect", "fish", "land animal") == pytest.approx(0.7 * 0.4, abs=0.04)


def test_without_anything_excluded_it_asks_real_questions_and_guesses_real_words() -> None:
    said = drawn(Trapper(guess=0.5, excluded_word=1.0, excluded_kind=1.0, shared_kind=0.0), 0b1111)
    assert share(said, *WORDS) == pytest.approx(0.5, abs=0.04)
    assert share(said, "insect", "fish", "deer", "land animal") == pytest.approx(0.5, abs=0.04)


def test_it_guesses_when_one_word_remains_or_its_questions_are_spent() -> None:
    sure = Trapper(guess=0.0, excluded_word=0.0)
    assert set(drawn(sure, 0b0100)) == {"Is your word cod?"}
    assert set(drawn(sure, 0b0110, left=0)) == {"Is your word bee?", "Is your word cod?"}
    assert set(drawn(Trapper(excluded_word=1.0), 0b0100)) == {f"Is your word {w}?" for w in ("ant", "bee", "doe")}


def games(agent: ProgramPolicy, n: int) -> list[Episode]:
    seats: dict[str, ProgramPolicy] = {"agent": agent, "user": Trapper()}
    played: list[Episode] = []
    for task in ENV.tasks("train")[:n]:
        ep = Episode.begin(ENV, task)
        while ep.to_act is not None:
            ep = ep.step(seats[ep.to_act].act_now(ep.view(ep.to_act)))
        played.append(ep)
    return played


def test_it_is_always_understood_and_games_end_in_time() -> None:
    played = games(TwentyQuestionsAnswererSolver(), 100) + games(Random(), 100)
    infos: list[dict[str, Any]] = [dict(act.info) for ep in played for act in ep.acts]
    assert not any("twenty_questions" in info for info in infos)
    assert max(len(ep.turns) for ep in played) == 21


def test_random_answers_often_contradict_themselves() -> None:
    """Over 6400 games 38 % hold together; more than 54 of 100 is three standard errors above."""
    outcomes = Counter(ep.outcome.kind for ep in games(Random(), 100) if ep.outcome)
    assert outcomes["win"] <= 54
    assert outcomes["win"] + outcomes["loss"] == 100


@dataclass(frozen=True, kw_only=True)
class Constant(ProgramPolicy):
    """Always yes."""

    def act_now(self, view: View) -> Action:
        return Action(view.say("yes"))


def test_a_constant_yes_wins_about_half_of_the_games() -> None:
    """As the docs say: 48.5 % of 400 games, so between 33 and 64 of 100 by three standard errors."""
    wins = sum(ep.outcome.success for ep in games(Constant(), 100) if ep.outcome)
    assert 33 <= wins <= 64


@each("config", [{"guess": 1.5}, {"excluded_word": -0.1}, {"excluded_kind": 0.6, "shared_kind": 0.5}])
def test_bad_probabilities_are_named(config: dict[str, float]) -> None:
    with pytest.raises(UserError, match="users:trapper: "):
        Trapper(**config)
