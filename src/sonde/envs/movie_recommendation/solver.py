"""Preference elicitation: ask the most informative question, then pick the movie with the highest expected rank.

Greedy in bits on the exact posterior (`View.filter`) over the user's preferences; the pick maximises the expected
normalised rank. Greedy questions are the usual approximation to planning ahead in Bayesian elicitation (Viappiani and
Boutilier 2010, "Optimal Bayesian recommendation sets and myopically optimal choice query sets").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sonde.core import Action, ProgramPolicy, View

from .._shared.needs import require_filter
from .._shared.sub_episodes import require_legal_actions


class _Preferences(Protocol):
    """What this agent requires of a filter."""

    def best_question(self) -> tuple[str, float]: ...
    def expected_scores(self) -> Sequence[float]: ...


@dataclass(frozen=True, kw_only=True)
class MovieRecommendationSolver(ProgramPolicy):
    """See the module docstring. Needs a filter with `expected_scores`, one value per legal answer of the last turn."""

    def act_now(self, view: View) -> Action:
        known, legal = (
            require_filter(view, _Preferences, "movie_recommendation", "over preferences"),
            require_legal_actions(view, "movie_recommendation"),
        )
        if view.turn < view.spec.max_turns - 1:
            return Action(view.say(known.best_question()[0]))
        scores = [round(float(s), 12) for s in known.expected_scores()]
        return Action(view.say(legal[scores.index(max(scores))]))
