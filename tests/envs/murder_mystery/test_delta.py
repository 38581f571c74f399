"""Murder mystery in the form of delta_belief: the game goes on after a wrong accusation."""

from __future__ import annotations

from typing import Any

import pytest

import sonde
from sonde.core import AGENT, Episode, entropy
from sonde.envs._shared.checks import mentions_name
from sonde.envs._shared.dialogue import GOAL
from tests.cases import each

from .test_env import CULPRIT, DELTA, ENV, begin, play, told


def test_delta_belief_has_the_tasks_of_paprika() -> None:
    for split, size in (("train", 203), ("test", 50)):
        assert [t.hidden for t in DELTA.tasks(split)] == [t.hidden for t in ENV.tasks(split)]
        assert len(DELTA.tasks(split)) == size
    assert (DELTA.spec.max_turns, DELTA.spec.max_new_tokens) == (20, 200)


def test_a_wrong_accusation_is_neither_confirmed_nor_denied_and_the_right_one_wins() -> None:
    ep = play(begin(DELTA), "I accuse Sven Jovanovic of the murder.", "Zofia Ferreira is the murderer.")
    assert (ep.outcome, ep.to_act) == (None, AGENT)
    first, second = (dict(t.info) for t in ep.turns)
    assert (first["result"], first["accused"], second["accused"]) == ("answer", "Sven Jovanovic", "Zofia Ferreira")
    assert first["reply"] == second["reply"] == told(ep)
    assert not mentions_name(told(ep), ["right", "wrong", "murderer", "Wanda", "Sven", "Zofia"])
    won = play(ep, "I accuse the marine biologist.").outcome
    assert won and (won.kind, won.claimed, won.judged) == ("win", True, True)


def test_twenty_wrong_accusations_are_a_timeout() -> None:
    ep = play(begin(DELTA), *["I accuse Sven Jovanovic of the murder."] * 20)
    assert ep.outcome and (ep.outcome.kind, ep.outcome.truncated) == ("out_of_turns", "turns")


@each("reply", [GOAL, "The room falls silent."])
def test_another_narrator_can_neither_end_the_game_at_a_wrong_accusation_nor_keep_it_at_the_right_one(
    reply: str,
) -> None:
    wrong = begin(DELTA).step("I accuse Sven Jovanovic of the murder.").step(reply)
    assert (wrong.outcome, wrong.to_act) == (None, AGENT)
    assert wrong.turns[0].info["result"] == ("denied" if reply == GOAL else "answer")
    right = begin(DELTA).step(f"I accuse {CULPRIT} of the murder.").step(reply).outcome
    assert right and (right.kind, right.claimed, right.judged) == ("win", True, True)


def test_in_delta_belief_an_accusation_is_a_question_and_the_game_answers_it() -> None:
    """The entropy of the verdict is gained, and whoever was accused for nothing did not do it: by counting."""
    ep = play(begin(DELTA), "Check the access list.")
    known, before = ep.filter(), ep.posterior()
    assert known is not None and before is not None
    prior = dict(zip(before.hypotheses, before.probs, strict=True))
    for name in ("Sven Jovanovic", CULPRIT):
        q = prior[name]
        assert known.expected_gain(f"I accuse {name} of the murder.") == pytest.approx(entropy((q, 1 - q)))
    after = play(ep, "I accuse Sven Jovanovic of the murder.").posterior()
    assert after is not None and after.prob("Sven Jovanovic") == 0.0
    for name in prior.keys() - {"Sven Jovanovic"}:
        assert after.prob(name) == pytest.approx(prior[name] / (1 - prior["Sven Jovanovic"]))
    end = play(ep, f"I accuse {CULPRIT} of the murder.").posterior()
    assert end is not None and end.prob(CULPRIT) == 1.0
    plain = play(begin(), "Check the access list.").filter()
    assert plain is not None and plain.expected_gain(f"I accuse {CULPRIT} of the murder.") == 0.0


def test_with_a_seated_judge_a_denial_proves_nothing() -> None:
    env: Any = sonde.make("murder_mystery", preset="delta_belief", judge="seat")
    ep = begin(env).step(f"I accuse {CULPRIT} of the murder.").step(GOAL).step("<NOTVALID>")
    after = ep.posterior()
    assert (ep.outcome, ep.to_act) == (None, AGENT)
    assert after is not None and after.prob(CULPRIT) > 0.0


def test_in_a_scenario_from_elsewhere_the_narrator_says_whether_the_game_goes_on() -> None:
    env: Any = sonde.make("murder_mystery", preset="delta_belief", judge="seat")
    first = Episode.begin(env, env.task({"scenario": "The baker is dead.", "solution": "The miller did it."}))
    assert "you go on" in told(first) and "neither" in first.step("I accuse the cook.").messages["user"][0].content
    ep = first.step("I accuse the cook.").step("That is written down.")
    assert (ep.outcome, ep.to_act) == (None, AGENT)
    end = ep.step("I accuse the miller.").step(GOAL).step("<VALID>").outcome
    assert end and (end.kind, end.claimed, end.judged) == ("win", True, True)
