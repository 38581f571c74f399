"""What could be known in an episode: posteriors that follow the turns, computed once, seen by the agent alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

import sonde
from sonde.core import Episode


def mastermind(*guesses: str) -> Episode:
    env = sonde.make("mastermind", length=2, digits=3)
    ep = Episode.begin(env, env.task("02"))
    for guess in guesses:
        ep = ep.step(f"<Answer>{guess}</Answer>")
    return ep


def test_the_posterior_follows_the_turns() -> None:
    """Of nine codes, `01` has one exact match with 00, 11, 02, 21 and no partial one."""
    ep = mastermind("01")
    posterior = ep.posterior()
    assert posterior is not None
    assert sorted(posterior.hypotheses) == ["00", "02", "11", "21"]
    assert ep.information_gain() == pytest.approx((3.169925001442312 - 2.0,))
    assert mastermind("01", "02").posterior().entropy == 0.0  # type: ignore[union-attr]


def test_filters_are_updated_once_per_turn_and_shared_with_what_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    ep = mastermind()
    observe = type(ep.filter()).observe
    monkeypatch.setattr(type(ep.filter()), "observe", lambda self, turn: calls.append(turn.text) or observe(self, turn))
    ep = ep.step("<Answer>01</Answer>")
    assert calls == []
    ep.posterior()
    ep.posterior()
    ep = ep.step("<Answer>10</Answer>")
    ep.view().filter  # noqa: B018
    assert calls == ["<Answer>01</Answer>", "<Answer>10</Answer>"]


def test_only_the_agent_sees_the_filter() -> None:
    view = mastermind().view()
    assert view.filter is not None
    assert replace(view, seat="host").filter is None


def test_efficiency_weighs_the_action_against_the_best_question() -> None:
    rows = mastermind("00", "02").gains(expected=True)
    assert rows is not None
    assert 0.0 < rows[0].efficiency < 1.0  # type: ignore[operator]
    assert sum(r.truth for r in rows) == pytest.approx(3.169925001442312)
