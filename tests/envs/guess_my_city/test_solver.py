"""The traveller: every wording means what it should, its choices, and how soon it wins."""

from __future__ import annotations

from sonde.agents.random import Random
from sonde.core import Episode, ProgramPolicy, Rng
from sonde.envs.guess_my_city.env import GuessMyCity
from sonde.envs.guess_my_city.resident import canonical_questions, city_answers
from sonde.envs.guess_my_city.solver import GuessMyCitySolver, question_wordings, word_question
from sonde.envs.guess_my_city.user import Resident
from tests.cases import each

ENV = GuessMyCity()


def play(policy: ProgramPolicy, env: GuessMyCity, n: int) -> list[Episode]:
    played: list[Episode] = []
    for task in list(env.tasks("test"))[:n]:
        ep = Episode.begin(env, task)
        while ep.to_act is not None:
            seat = policy if ep.to_act == "agent" else Resident()
            ep = ep.step(seat.act_now(ep.view(ep.to_act)).text)
        played.append(ep)
    return played


def test_every_wording_of_every_question_splits_the_cities_alike() -> None:
    known = city_answers("paprika")
    for question in canonical_questions():
        ways = question_wordings(question)
        assert len(set(ways)) >= 5, question
        for said in ways:
            assert known.split(said) == known.split(question), said


def test_the_words_are_chosen_by_the_seed() -> None:
    said = {word_question("Is your city on the coast?", Rng(seed)) for seed in range(60)}
    assert len(said) > 5
    assert word_question("Is your city on the coast?", Rng(3)) == word_question("Is your city on the coast?", Rng(3))
    assert word_question("Is it an ancient city?", Rng(0), first=True)[0] in "ICWT"


def test_asks_what_gains_most_among_questions_of_few_replies() -> None:
    ep = Episode.begin(ENV, ENV.tasks("test")[0])
    known = ENV.filter({})
    assert known is not None
    few = [q for q in canonical_questions() if len(city_answers("paprika").split(q)) <= 40]
    best = max(few, key=known.expected_gain)
    assert city_answers("paprika").split(GuessMyCitySolver().act_now(ep.view()).text) == city_answers("paprika").split(
        best
    )


@each("preset", ["paprika", "lmrl"])
def test_wins_soon(preset: str) -> None:
    played = play(GuessMyCitySolver(), GuessMyCity(preset=preset), 27)
    assert all(ep.outcome and ep.outcome.success for ep in played)
    assert sum(len(ep.turns) for ep in played) / len(played) < 7


def test_the_floor_seldom_wins() -> None:
    played = play(Random(), ENV, 60)
    assert sum(bool(ep.outcome and ep.outcome.success) for ep in played) <= 10
