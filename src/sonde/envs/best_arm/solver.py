"""Bayesian best-arm identification: pull the arm that most helps the decision, then choose the likeliest best arm.

The knowledge gradient (Frazier, Powell and Dayanik 2008, "A knowledge-gradient policy for sequential information
collection") on the exact posterior: score each arm by the probability that the decision would be right after just one
more pull of it. Single pulls often cannot change the decision, so ties are frequent; they go to the arm of highest
expected information gain. Under PAPRIKA's prior the exact probability of a right decision after 20 pulls of 5 arms, by
dynamic programming over all counts, is 0.8407; with information gain alone it is 0.8361, with top-two Thompson sampling
0.8243, with random pulls and the best decision 0.7620, and with the Bayes-optimal strategy 0.8456.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from sonde.core import Action, Belief, ProgramPolicy, View

from .._shared.needs import require_filter
from .._shared.sub_episodes import require_legal_actions


class _Arms(Protocol):
    """What this agent requires of a filter."""

    def belief(self) -> Belief: ...
    @property
    def expected_gains(self) -> Sequence[float]: ...

    def expected_successes(self) -> Sequence[float]: ...


@dataclass(frozen=True, kw_only=True)
class BestArmSolver(ProgramPolicy):
    """See the module docstring. Needs a filter with `expected_successes` and `expected_gains`, one value per legal
    answer."""

    def act_now(self, view: View) -> Action:
        arms, legal = require_filter(view, _Arms, "best_arm", "over arms"), require_legal_actions(view, "best_arm")
        if view.turn == view.spec.max_turns - 1:
            belief = arms.belief()
            chances = _round_values(belief.probs)
            return Action(view.say(belief.hypotheses[chances.index(max(chances))]))
        scores = list(zip(_round_values(arms.expected_successes()), _round_values(arms.expected_gains), strict=True))
        return Action(view.say(legal[scores.index(max(scores))]))


def _round_values(values: Iterable[float]) -> list[float]:
    """Drop the last digits, which differ between machines and would decide ties."""
    return [round(float(value), 10) for value in values]
