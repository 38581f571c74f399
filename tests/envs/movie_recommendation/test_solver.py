"""The eliciting agent: informative questions, the pick of highest expected rank, and what they are worth."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

import sonde
from sonde.core import AGENT, Episode
from sonde.envs.movie_recommendation.solver import MovieRecommendationSolver
from sonde.runs.rollout import Plan, collect_trajectories

ENV = sonde.make("movie_recommendation")


def mean_score(agent: str, n: int = 40, **config: Any) -> float:
    trajectories = collect_trajectories(ENV, {AGENT: sonde.make(agent, **config)}, ENV.tasks("test")[:n], Plan())
    return sum(t.turns[-1].rewards[AGENT] for t in trajectories) / n


def make_view(turn: int, legal: tuple[str, ...], scores: list[float]) -> Any:
    known = SimpleNamespace(best_question=lambda: ("rate M2", 1.0), expected_scores=lambda: scores)
    spec = SimpleNamespace(name="test", max_turns=3)
    return cast("Any", SimpleNamespace(turn=turn, legal=legal, filter=known, spec=spec, say=lambda a: f"<{a}>"))


def test_asks_the_best_question_and_then_picks_the_highest_expected_score() -> None:
    assert MovieRecommendationSolver().act_now(make_view(1, ("rate M1", "rate M2"), [])).text == "<rate M2>"
    assert (
        MovieRecommendationSolver().act_now(make_view(2, ("pick U1", "pick U2", "pick U3"), [0.2, 0.7, 0.7])).text
        == "<pick U2>"
    )


def test_only_asks_questions_that_gain_something() -> None:
    ep = Episode.begin(ENV, ENV.tasks("test")[3])
    known = ENV.filter(ep.task.public)
    assert known is not None
    bits = known.expected_gain(MovieRecommendationSolver().act_now(ep.view()).text)
    assert bits == pytest.approx(known.best_question()[1]) and bits > 1.5


@pytest.mark.thorough
def test_a_strong_conclusion_repairs_weak_questions_but_not_the_reverse() -> None:
    """The hand-over of Multi-Turn Puzzles, section 3.3, with policies of known strength."""
    strong, weak = sonde.make("agents:movie_recommendation"), sonde.make("agents:movie_recommendation_lookalike")
    alone = mean_score("agents:movie_recommendation_lookalike")
    repaired = mean_score("agents:switch", first=weak, then=strong, turn=10)
    spoiled = mean_score("agents:switch", first=strong, then=weak, turn=10)
    assert repaired > 0.97 > 0.9 > max(alone, spoiled) and min(alone, spoiled) > 0.6
