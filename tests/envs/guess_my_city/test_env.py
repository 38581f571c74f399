"""Guess my city: tasks, wins and losses, beliefs, language models in the other seats, nothing hidden leaks."""

from __future__ import annotations

import math
from typing import Any

import pytest

import sonde
from sonde.core import AGENT, Episode, UserError
from sonde.envs._shared.checks import gives_name_away, mentions_name
from sonde.envs._shared.dialogue import RETRIES, USER, Talk
from sonde.envs._shared.partition import PartitionFilter
from sonde.envs.guess_my_city.env import GuessMyCity
from sonde.envs.guess_my_city.resident import answer_message, canonical_questions, city_answers
from sonde.envs.guess_my_city.user import Resident, reply_about_city
from tests.cases import each

ENV = GuessMyCity()
LMRL = GuessMyCity(preset="lmrl")
DELTA = GuessMyCity(preset="delta_belief")
LISBON = {"city": "Lisbon", "country": "Portugal"}


def begin(env: GuessMyCity = ENV, hidden: Any = LISBON) -> Episode:
    return Episode.begin(env, env.task(hidden))


def ask(ep: Episode, said: str) -> Episode:
    """One message, answered by the rule user."""
    ep = ep.step(said)
    return ep.step(Resident().act_now(ep.view(USER)).text) if ep.to_act == USER else ep


def told(ep: Episode) -> str:
    return ep.messages[AGENT][-1].content


# --- tasks -----------------------------------------------------------------------------------------------------------


@each("env, train, test, all_", [(ENV, 500, 185, 758), (LMRL, 61, 12, 73), (DELTA, 500, 185, 758)])
def test_sides_are_as_published_and_apart(env: GuessMyCity, train: int, test: int, all_: int) -> None:
    sides = [{str(t.hidden["city"]) + str(t.hidden["country"]) for t in env.tasks(s)} for s in ("train", "test")]
    assert [len(s) for s in sides] == [train, test]
    assert not sides[0] & sides[1]
    assert len(env.city_knowledge.cities) == all_
    known = {(c.name, c.land.name): c.split for c in env.city_knowledge.cities}
    for side in ("train", "test"):
        assert all(known[t.hidden["city"], t.hidden["country"]] == side for t in env.tasks(side))


def test_the_cities_of_lmrl_are_none_of_paprikas() -> None:
    """PAPRIKA, appendices B.1 and I.7."""
    theirs, ours = (
        {(t.hidden["city"], t.hidden["country"]) for side in ("train", "test") for t in env.tasks(side)}
        for env in (LMRL, ENV)
    )
    assert (len(theirs), len(ours)) == (73, 685) and not theirs & ours


def test_a_city_may_be_set_by_any_of_its_names() -> None:
    assert ENV.task({"city": "Bombay", "country": "India"}).hidden == {"city": "Mumbai", "country": "India"}
    assert dict(ENV.task({"city": "Bree", "country": "Eriador"}).public) == {"foreign": True}


@each("hidden", ["Lisbon", {}, {"city": "Lisbon"}, {"city": 3, "country": "x"}, {"city": " ", "country": "x"}])
def test_other_setups_are_errors(hidden: Any) -> None:
    with pytest.raises(UserError, match="guess_my_city: hidden"):
        ENV.task(hidden)


# --- the game --------------------------------------------------------------------------------------------------------


def test_a_game_by_hand() -> None:
    ep = ask(begin(), "What language do people speak there?")
    assert told(ep) == "People speak Portuguese.\n\nMessages left: 19."
    assert dict(ep.turns[0].info) == {"result": "answer", "reply": "People speak Portuguese.", "topic": "language"}
    ep = ask(ep, "Is it Porto, Portugal?")
    assert ep.turns[1].info["guess"] == ("Porto, Portugal",)
    assert told(ep).startswith("No, that is not my city.")
    ep = ask(ep, "Then it must be Lisboa!")
    assert ep.outcome and (ep.outcome.kind, ep.outcome.claimed, ep.outcome.judged) == ("win", True, True)
    assert ep.turns[2].rewards == {AGENT: 1.0}
    assert ep.turns[2].info["reply"] == "Goal reached"


def test_lmrl_charges_every_question_but_the_winning_one() -> None:
    task = LMRL.task({"city": "Tokyo", "country": "Japan"})
    ep = Episode.begin(LMRL, task)
    for said in ("Is it in Asia?", "Is it Osaka?", "Is it old? Is it big?", "Tokyo"):
        ep = ask(ep, said)
    assert [t.rewards.get(AGENT, 0.0) for t in ep.turns] == [-1.0, -1.0, -1.0, 0.0]
    assert ep.outcome and ep.outcome.success


def test_turns_run_out() -> None:
    ep = begin(GuessMyCity(max_turns=2))
    for _ in range(2):
        ep = ask(ep, "Is it in Asia?")
    assert ep.outcome and ep.outcome.kind == "out_of_turns"


@each(
    "said, check",
    [
        ("Is it Lisbon or Porto?", "single_hypothesis"),
        ("Is it hot? Is it Lisbon?", "single_inquiry"),
    ],
)
def test_delta_belief_checks_cost_the_turn_and_no_others_do(said: str, check: str) -> None:
    ep = begin(DELTA).step(said)
    assert (ep.to_act, ep.turns[0].info["check"]) == (AGENT, check)
    for env in (ENV, LMRL):
        ep = ask(begin(env, {"city": "Tokyo", "country": "Japan"}), said)
        assert ep.turns[0].info["result"] == "answer"


def test_delta_belief_has_the_tasks_of_paprika_and_replies_come_bare() -> None:
    for split in ("train", "test"):
        assert [t.hidden for t in DELTA.tasks(split)] == [t.hidden for t in ENV.tasks(split)]
    assert (DELTA.spec.max_turns, DELTA.spec.max_new_tokens) == (20, 100)
    assert told(ask(begin(DELTA), "What language do people speak there?")) == "People speak Portuguese."
    assert told(begin(DELTA)) != told(begin())


def test_in_delta_belief_a_claim_counts_only_for_a_message_that_names_the_city() -> None:
    """Exact match, appendix B.2.1."""
    ep = begin(DELTA).step("Is it Porto?").step("Goal reached")
    assert (ep.outcome, ep.to_act, ep.turns[0].info["result"]) == (None, AGENT, "denied")
    won = ep.step("Is it Lisbon, Portugal?").step("Goal reached").outcome
    assert won and (won.kind, won.claimed, won.judged) == ("win", True, True)
    before, after = DELTA.filter({}), ep.posterior()
    assert before and after and list(after.hypotheses) == list(before.belief().hypotheses)


@each("said", ["Is it Lisbon, Spain?", "Is it not Lisbon?", "Is it near Lisbon?", "Is it south of Lisbon?"])
def test_naming_the_city_otherwise_does_not_win(said: str) -> None:
    assert ask(begin(), said).outcome is None


def test_every_name_of_every_city_wins_alone_and_with_its_country() -> None:
    for city in ENV.city_knowledge.cities:
        state = Talk(city.title)
        for name in (city.name, *city.aliases):
            for said in (
                f"Is it {name}?",
                f"Is it {name}, {city.land.name}?",
                f"My guess is {name}.",
                f"{name}, {city.land.name}".lower(),
            ):
                assert ENV.is_solution(state._replace(said=said)), (city.title, said)
            assert ENV.count_candidates(f"Is it {name}, {city.land.name}?") == 1


def test_a_wrong_country_is_a_wrong_guess() -> None:
    for city in ENV.city_knowledge.cities[::7]:
        state = Talk(city.title)
        other = "Iceland" if city.land.name != "Iceland" else "Peru"
        assert not ENV.is_solution(state._replace(said=f"Is it {city.name}, {other}?")), city.title


# --- nothing leaks ---------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_no_reply_names_the_city_or_its_country() -> None:
    found = [
        (c.title, q, answer_message(c, q))
        for c in ENV.city_knowledge.cities
        for q in canonical_questions()
        if gives_name_away(answer_message(c, q), q, c.secret_names)
    ]
    assert found == []


def test_open_replies_hold_no_word_made_from_the_names() -> None:
    """Languages aside, and the continents that hold a country's name."""
    skip = ("language", "continent", "part of the world", "country border")
    for c in ENV.city_knowledge.cities:
        for q in canonical_questions()[:24]:
            text = answer_message(c, q)
            if not any(word in q for word in skip) and text.startswith(("My city", "What my", "Typical", "People pay")):
                assert not c.is_revealed_by(text.replace("My city", "").replace("What my city", "")), (c.title, text)


def test_the_agent_sees_the_same_whatever_is_hidden() -> None:
    first, second = begin(), begin(ENV, {"city": "Oslo", "country": "Norway"})
    assert [m.content for m in first.messages[AGENT]] == [m.content for m in second.messages[AGENT]]
    assert first.task.public == second.task.public
    assert first.view().legal == second.view().legal


# --- beliefs ---------------------------------------------------------------------------------------------------------

SAID = (
    "Is it in Africa?", "What language is spoken there?", "Is it bigger than Paris?", "Hm?", "Is it Lagos, Nigeria?",
)  # fmt: skip


def test_with_silences_the_posterior_is_what_simulation_says() -> None:
    env = GuessMyCity(preset="lmrl", evidence="silences")
    for title in ("Lagos, Nigeria", "Cairo, Egypt", "Lima, Peru"):
        ep = begin(LMRL, dict(zip(("city", "country"), title.split(", "), strict=True)))
        left = list(LMRL.city_knowledge.names)
        for said in SAID:
            heard = reply_about_city(title, said)
            left = [t for t in left if reply_about_city(t, said) == heard]
            if ep.to_act is not None:
                ep = ask(ep, said)
            known = env.filter({})
            assert isinstance(known, PartitionFilter)
            for turn in ep.turns:
                known = known.observe(turn)
            assert set(known.belief().hypotheses) == set(left)
            assert known.entropy == pytest.approx(math.log2(len(left)))


def test_gain_is_the_entropy_of_the_reply() -> None:
    known = LMRL.filter({})
    assert known is not None
    counts = [m.bit_count() for m in city_answers("lmrl").split("Is it in Africa?").values()]
    expected = -sum(n / 73 * math.log2(n / 73) for n in counts)
    assert known.expected_gain("Is it in Africa?") == pytest.approx(expected)


def test_error_rate_keeps_what_a_reply_contradicts() -> None:
    env = GuessMyCity(preset="lmrl", error_rate=0.1)
    known = env.filter({})
    assert known is not None and env.spec.assumes == {}
    ep = ask(begin(env, {"city": "Lagos", "country": "Nigeria"}), "Is it in Africa?")
    after = known.observe(ep.turns[0])
    assert 0.0 < after.prob("Tokyo, Japan") < after.prob("Lagos, Nigeria")


def test_canonical_questions_are_understood_and_split() -> None:
    assert len(canonical_questions()) >= 100
    for question in canonical_questions():
        assert len(city_answers("paprika").split(question)) > 1, question


# --- language models in the user's seat ------------------------------------------------------------------------------


def test_a_leak_is_asked_for_again_and_withheld() -> None:
    ep = begin().step("Which river is it on?").step("The Tagus, in Lisbon!")
    assert ep.to_act == USER
    ep = ep.step("The Tagus.")
    assert "Lisbon" not in told(ep)
    assert (ep.turns[0].info["leaks"], ep.turns[0].info["reply"]) == (1, "The Tagus.")


@each(
    "hidden, said, leak",
    [
        ({"city": "Auckland", "country": "New Zealand"}, "We New Zealanders love rugby.", True),
        ({"city": "Auckland", "country": "New Zealand"}, "It is spelt A-u-c-k-l-a-n-d.", True),
        ({"city": "Lyon", "country": "France"}, "We speak French.", False),
        ({"city": "Hamburg", "country": "Germany"}, "We Germans drive on the right.", True),
        ({"city": "Hamburg", "country": "Germany"}, "We speak German.", False),
    ],
)
def test_people_and_spelt_names_are_leaks_and_languages_are_not(hidden: Any, said: str, leak: bool) -> None:
    ep = begin(ENV, hidden).step("What are you like?").step(said)
    assert (ep.to_act == USER) is leak


def test_what_is_never_readable_becomes_a_default() -> None:
    ep = begin().step("Which country is it?")
    for _ in range(RETRIES + 1):
        ep = ep.step("Portugal, of course.")
    assert told(ep).startswith("I do not know.")
    assert ep.turns[0].info["leaks"] == RETRIES + 1


def test_a_false_claim_is_a_loss() -> None:
    ep = begin().step("Is it Porto?").step("Goal reached")
    assert ep.outcome and (ep.outcome.kind, ep.outcome.claimed, ep.outcome.judged) == ("loss", True, False)


def test_a_judge_may_sit() -> None:
    ep = begin(GuessMyCity(judge="seat")).step("Is it Lisbon?").step("Goal reached")
    assert ep.to_act == "judge"
    assert "Lisbon" in ep.messages["judge"][-1].content
    done = ep.step("<VALID>")
    assert done.outcome and done.outcome.success


def test_the_shipped_language_model_user_plays() -> None:
    model = sonde.make("models:fake", script=["Yes, it is on the Atlantic coast."])
    user = sonde.make("users:llm", model=model)
    assert user is not None
    ep = begin().step("Is it on the coast?").step("Yes, it is on the Atlantic coast.")
    assert told(ep).startswith("Yes, it is on the Atlantic coast.")


# --- cities of no list -----------------------------------------------------------------------------------------------


def test_a_foreign_city_is_played_without_a_filter() -> None:
    ep = begin(ENV, {"city": "Bree", "country": "Eriador"})
    assert ENV.filter(ep.task.public) is None
    assert ask(ep, "Is it in Europe?").turns[0].info["reply"] == "I do not know."
    won = ep.step("Is it Bree, Eriador?").step("Goal reached")
    assert won.outcome and won.outcome.success
    lost = ep.step("Is it Rivendell, Eriador?").step("Goal reached")
    assert lost.outcome and not lost.outcome.success
    assert mentions_name("Bree lies there", ENV.secret_names(Talk("Bree, Eriador")))
