"""Answers that are ranked whole: which one is taken, by hand, and that nothing else is ever said."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sonde
from sonde.agents.ranked import choose_index
from sonde.core import AGENT, Episode, Message, Probe, UserError, run_sync
from sonde.models.fake import Fake

FAKE = Fake(pattern=("never said",))


def test_one_is_taken_in_proportion_to_the_power_of_its_worth() -> None:
    """e^0, e^1 and e^2, of 11.107 in all, end at .090, .335 and 1; at half the temperature e^0, e^2 and e^4, of 62.99
    in all, at .016, .133 and 1."""
    worth = [0.0, 1.0, 2.0]
    assert [choose_index(worth, 1.0, u) for u in (0.0, 0.089, 0.091, 0.334, 0.336, 0.999)] == [0, 0, 1, 1, 2, 2]
    assert [choose_index(worth, 0.5, u) for u in (0.015, 0.017, 0.132, 0.134)] == [0, 1, 1, 2]
    assert choose_index([1.0, 3.0, 3.0], 0.0, 0.999) == 1


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.floats(0.0, 1.0), st.sampled_from([0.0, 0.3, 1.0]))
def test_some_answer_is_taken_and_never_one_without_weight(worth: list[float], u: float, temperature: float) -> None:
    found = choose_index(worth, temperature, u)
    assert 0 <= found < len(worth)
    assert temperature or worth[found] == max(worth)
    assert not temperature or math.exp((worth[found] - max(worth)) / temperature) > 0


def test_the_legal_answer_with_the_highest_score_is_chosen() -> None:
    """By what the model says of each of the four moves after what it was told."""
    env = sonde.make("maze", preset="lmrl")
    view = Episode.begin(env, env.tasks("test")[0]).view()
    moves = [view.say(move) for move in view.legal or ()]
    probes = [Probe((*view.messages, Message("assistant", move)), ending=True) for move in moves]
    worth = [sum(row) for row in run_sync(FAKE.score(probes))]
    best = sonde.make("agents:ranked", model=FAKE, temperature=0.0)
    assert run_sync(best.act(view)).text == moves[worth.index(max(worth))]
    drawn = sonde.make("agents:ranked", model=FAKE, temperature=1.0, context="told")
    ep = Episode.begin(env, env.tasks("test")[1])
    for _ in range(5):
        ep = ep.step(run_sync(drawn.act(ep.view(AGENT))))
    assert all(turn.info["result"] != "invalid" for turn in ep.turns)


def test_environments_without_legal_answers_are_refused() -> None:
    env = sonde.make("twenty_questions_answerer")
    view = Episode.begin(env, env.tasks("test")[0]).view()
    with pytest.raises(UserError, match="agents:ranked: env: got twenty_questions_answerer, allowed: env"):
        run_sync(sonde.make("agents:ranked", model=FAKE).act(view))
    with pytest.raises(UserError, match="min_p"):
        sonde.make("agents:ranked", model=FAKE, min_p=0.3)  # whole answers are ranked: nothing is truncated
    with pytest.raises(UserError, match=r"agents:ranked: temperature: got -1\.0, allowed: 0 or more"):
        sonde.make("agents:ranked", model=FAKE, temperature=-1.0)
    with pytest.raises(UserError, match="cannot score"):
        sonde.make("agents:ranked", model=sonde.make("models:oracle"))
