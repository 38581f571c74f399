"""Every role of LLM-PSRL gets its own score: a flaw put into one shows in that one, with the numbers it must have."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

import sonde
from sonde.agents.llm_psrl import LLMPSRL
from sonde.core import Completion, Message, Model, Sampling, UserError
from sonde.evaluation.roles import RoleGrades, grade_roles, rank_error, rank_spread, score_roles
from sonde.evaluation.sampler_draws import decision_gap, score_draws
from sonde.models._shared.json_beliefs import json_block, read_blocks
from sonde.runs.rollout import collect_trajectories
from tests.cases import each


def play(env: str, n: int = 3, flaws: dict[str, Any] | None = None, **config: Any) -> list[sonde.Trajectory]:
    preset = config.pop("preset", {})
    agent = sonde.make("agents:llm_psrl", model=sonde.make("models:oracle", **(flaws or {})), **config)
    made = sonde.make(env, **preset)
    return list(collect_trajectories(made, {"agent": agent}, made.tasks("train")[:n]))


def grade(env: str, *args: Any, **config: Any) -> list[tuple[str, RoleGrades]]:
    preset = config.get("preset", {})
    return [(t.task.id, grade_roles(sonde.make(env, **preset), t)) for t in play(env, *args, **config)]


def measure(rows: Any) -> dict[str, float]:
    """All measures of a run by name."""
    found = score_roles(rows)
    return {f"{r.role} {name}": e.mean for r in found.roles for name, e in r.measures.items() if e is not None}


SHORT = {"max_turns": 30}


@each(
    "env, preset",
    [("bernoulli_bandit", SHORT), ("combination_lock", {}), ("bernoulli_bandit", {"preset": "informative"})],
)
def test_without_mistakes_every_role_is_exact(env: str, preset: dict[str, Any]) -> None:
    found = measure(grade(env, preset=preset))
    for name in ("updater distance", "updater own", "updater excess", "policy regret"):
        assert found[name] == pytest.approx(0.0, abs=1e-7)
    assert found["sampler possible"] == found["sampler consistent"] == found["policy optimal"] == 1.0
    assert found["sampler error"] == found["sampler true error"]


@pytest.mark.slow
def test_without_mistakes_on_the_river() -> None:
    found = measure(grade("river_swim", 2))
    assert found["updater distance"] == pytest.approx(0.0, abs=1e-6) and found["policy optimal"] == 1.0
    assert found["sampler error"] < 0.04 and found["sampler spread"] == pytest.approx(1.0, abs=0.1)


def test_a_forgetting_updater_is_found_out() -> None:
    """A step is overlooked with 0.3: that share of the evidence is missing, and nothing else is wrong."""
    found = measure(grade("bernoulli_bandit", 20, {"forgets": 0.3}, preset=SHORT))
    assert found["updater forgotten"] == pytest.approx(0.3, abs=0.05) and found["updater invented"] == 0.0
    assert found["updater distance"] > 3 * found["updater own"] > 0.0 and found["updater excess"] > 0.2
    assert found["policy optimal"] == 1.0 and found["sampler error"] < 0.06 < found["sampler true error"] + 0.06


def test_codes_that_contradict_what_was_seen_are_not_consistent() -> None:
    """What the updater forgot the sampler cannot honour: possible in its beliefs, not in the truth."""
    found = measure(grade("combination_lock", 8, {"forgets": 0.5}))
    assert found["sampler possible"] == 1.0 > found["sampler consistent"] + 0.1


def test_a_greedy_sampler_is_found_out() -> None:
    """Means lie near the middle of their distributions: ranks near 1/2, whose distance from uniform is near 1/2."""
    found = measure(grade("bernoulli_bandit", 3, {"greedy": 1.0}, preset=SHORT))
    assert found["sampler error"] > 0.4 and found["sampler spread"] < 0.05
    assert found["updater distance"] == pytest.approx(0.0, abs=1e-7) and found["policy optimal"] == 1.0


def test_a_short_sighted_planner_is_found_out() -> None:
    found = measure(grade("river_swim", 1, {"sight": 1}))
    assert found["policy optimal"] < 0.95 and found["policy regret"] > 0.0
    assert found["updater distance"] == pytest.approx(0.0, abs=1e-6)


# --- by hand ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Clerk(Model):
    """Answers by role: the belief says that every arm paid once; the sample says that the last arm is the best; the
    policy takes the first."""

    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        return Completion(text=self._answer_blocks(read_blocks(messages)), model="clerk")

    def _answer_blocks(self, blocks: Mapping[str, Any]) -> str:
        call = blocks["situation"]["call"]
        if call == "policy":
            return f"Action: {next(iter(blocks['hypothesis']['means']))}"
        arms = [*blocks["belief"]["arms"]]
        if call == "posterior_sample":
            return f"Hypothesis: {json_block(hypothesis={'means': {a: 0.9 if a == arms[-1] else 0.2 for a in arms}})}"
        return f"Beliefs: {json_block(belief={'kind': 'beta', 'arms': {a: [2, 1] for a in arms}})}"


def test_grades_by_hand() -> None:
    """The first of five arms is pulled twice although the last is said to pay 0.7 more. After one pull: Beta(2, 1) is
    written for all, exact is Beta(2, 1) or Beta(1, 2) for the first, Beta(1, 1) for the others."""
    env = sonde.make("bernoulli_bandit", max_turns=2)
    (t,) = collect_trajectories(env, {"agent": sonde.make("agents:llm_psrl", model=Clerk())}, env.tasks("train")[:1])
    found = grade_roles(env, t)
    assert [p.regret for p in found.policies] == [pytest.approx(0.7)] * 2 and not found.policies[0].optimal
    paid = t.turns[0].info["reward"] == 1.0
    (update,) = found.updates
    off = 0.0 if paid else math.sqrt(1 - math.pi / 4)  # BC = B(3/2, 3/2) / B(2, 1) = (pi / 8) / (1 / 2)
    assert update.distance == update.own == pytest.approx((off + 4 * 0.23911) / 5, abs=1e-4)
    assert (update.forgotten, update.invented) == ((0.0, 4.0) if paid else (1.0, 5.0))
    assert found.samples[0].possible and found.samples[0].ranks == pytest.approx((0.2, 0.2, 0.2, 0.2, 0.9))
    assert found.samples[1].ranks == pytest.approx((0.04, 0.04, 0.04, 0.04, 0.81))
    assert found.samples[1].true_ranks == pytest.approx((0.04 if paid else 0.36, 0.2, 0.2, 0.2, 0.9))
    assert found.calls == {"posterior_update": 1, "posterior_sample": 2, "policy": 2}


def test_ranks_by_hand() -> None:
    assert rank_error([0.1, 0.2]) == pytest.approx(0.8) and rank_spread([0.5, 0.5]) == 0.0


def test_replies_that_were_given_up_are_counted() -> None:
    found = score_roles(grade("bernoulli_bandit", 2, {"malformed": 0.5}, preset=SHORT, retries=0))
    assert all(0.3 < (role.unreadable or 0.0) < 0.7 for role in found.roles if role.role != "sampler")
    assert found.roles[0].measures["distance"] is not None


def test_other_agents_are_refused() -> None:
    env = sonde.make("bernoulli_bandit", **SHORT)
    (t,) = collect_trajectories(env, {"agent": sonde.make("agents:thompson")}, env.tasks("train")[:1])
    with pytest.raises(UserError, match=r"got another agent.s, allowed: agents:llm_psrl"):
        grade_roles(env, t)
    (t,) = play("bernoulli_bandit", 1, preset=SHORT, prior="Nothing is known.", flaws={"malformed": 1.0})
    with pytest.raises(UserError, match="got a prior in prose"):
        grade_roles(env, t)


# --- repeated draws --------------------------------------------------------------------------------------------------


def test_decisions_by_hand() -> None:
    """First place: 1/2, 1/2 against 1, 0; second: equal."""
    assert decision_gap([("a", "x"), ("b", "x")], [("a", "x")]) == pytest.approx(0.25)


def test_repeated_draws_tell_an_exact_from_a_greedy_sampler() -> None:
    env = sonde.make("bernoulli_bandit", **SHORT)
    (t,) = play("bernoulli_bandit", 1, preset=SHORT)

    def drawing(flaws: dict[str, Any]) -> Any:
        agent: LLMPSRL = sonde.make("agents:llm_psrl", model=sonde.make("models:oracle", **flaws))
        return lambda view, beliefs, n: asyncio.run(agent.draw_hypotheses(view, beliefs, n))

    exact, greedy = (score_draws(env, t, drawing(f), 60) for f in ({}, {"greedy": 1.0}))
    assert exact.turn == 15 and exact.unreadable == 0
    assert exact.gap < 2 * exact.chance < greedy.gap and greedy.gap > 0.4
    unread = score_draws(env, t, drawing({"malformed": 1.0}), 3)
    assert unread.unreadable == 3 and math.isnan(unread.gap)
    with pytest.raises(UserError, match="draws: got 1, allowed: 2 or more"):
        score_draws(env, t, drawing({}), 1)
