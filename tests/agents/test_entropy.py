"""Greedy information gain: the best question until the last turn, then the likeliest hypothesis."""

from __future__ import annotations

import pytest

import sonde
from sonde.agents.entropy import Entropy
from sonde.core import Episode


def begin_episode(max_turns: int = 5) -> Episode:
    env = sonde.make("mastermind", length=2, digits=3, max_turns=max_turns)
    return Episode.begin(env, env.task("02"))


def test_it_asks_the_best_question() -> None:
    ep = begin_episode()
    known = ep.view().filter
    assert known is not None
    answer, bits = known.best_question()
    said = Entropy().act_now(ep.view())
    assert said.text == f"<Answer>{answer}</Answer>"
    everything = [known.expected_gain(f"<Answer>{a}{b}</Answer>") for a in "012" for b in "012"]
    assert bits == pytest.approx(max(everything))


def test_it_names_the_code_once_it_is_certain() -> None:
    ep = begin_episode(9).step("<Answer>01</Answer>").step("<Answer>11</Answer>").step("<Answer>00</Answer>")
    known = ep.view().filter
    assert known is not None
    assert len(known.belief()) == 1
    assert Entropy().act_now(ep.view()).text == "<Answer>02</Answer>"


def test_the_last_turn_is_for_naming() -> None:
    """With one guess, the first of nine equally likely codes is as good as any, whatever it would teach."""
    assert Entropy().act_now(begin_episode(max_turns=1).view()).text == "<Answer>00</Answer>"
    ep = begin_episode(max_turns=2).step("<Answer>01</Answer>")
    known = ep.view().filter
    assert known is not None
    likeliest = known.belief().top(1)[0][0]
    assert Entropy().act_now(ep.view()).text == f"<Answer>{likeliest}</Answer>"
