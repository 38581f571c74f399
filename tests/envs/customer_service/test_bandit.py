"""The customer service bandit: periods, rewards and regret, priors told, and free text as canonical actions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

import sonde
from sonde.core import Completion, Message, Model, Sampling, SeatedPolicies, UserError
from sonde.envs.customer_service.products import load_products
from sonde.envs.customer_service.world import legal_answers
from sonde.evaluation import regret
from sonde.runs.rollout import Plan, collect_trajectories


@dataclass(frozen=True, kw_only=True)
class Noted(Model):
    """Answers every sub-call in the same words and keeps what it was asked."""

    asked: list[str] = field(default_factory=list[Any], init=False)

    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        self.asked.append("\n".join(m.content for m in messages))
        said = "Action: Is it plugged in?\nHypothesis: a loose cable\nBeliefs: a loose cable, 0.5"
        return Completion(text=said, model="noted")


CASE = {"product": "laptop_dead", "cause": load_products()["laptop_dead"].causes[0].id}


def play(*messages: str, **config: object) -> SeatedPolicies:
    env = sonde.make("customer_service_bandit", **config)
    seated = SeatedPolicies(env)
    seated.reset(env.task(CASE))
    for message in messages:
        seated.step(message)
    return seated


def test_every_message_is_a_period() -> None:
    turns = play("Hello!", legal_answers("laptop_dead").ask[0]).episode.turns
    assert [(t.info["sub_episode"], t.info["step"], t.info["reward"]) for t in turns] == [(0, 0, 0.0), (1, 0, 0.0)]
    assert turns[0].info["action"] is None
    assert turns[1].info["action"] == legal_answers("laptop_dead").ask[0]


def test_the_right_fix_pays_one_and_ends_the_case() -> None:
    env = sonde.make("customer_service_bandit")
    seated = play("Hello!", env.say(legal_answers("laptop_dead").fix[0]))
    assert seated.episode.outcome and seated.episode.outcome.success
    assert seated.episode.turns[-1].rewards == {"agent": 1.0}
    rows = regret.episode_regrets(env, seated.episode.to_trajectory())
    assert list(rows) == [1.0] + [0.0] * 19, "the greeting cost one period"


def test_regret_is_the_periods_before_the_solution() -> None:
    env = sonde.make("customer_service_bandit")
    played = collect_trajectories(
        env, {"agent": sonde.make("agents:customer_service")}, env.tasks("test")[:30], Plan(k=1)
    )
    table = regret.regret_table(env, played)
    assert [int(row.sum()) for row in table] == [len(t.turns) - 1 for t in played]
    assert all(t.outcome and t.outcome.success for t in played)


def test_priors_that_are_told() -> None:
    env = sonde.make("customer_service_bandit", told_prior="misspecified")
    for task in env.tasks("test")[:20]:
        text = sonde.Episode.begin(env, task).view().messages[0].content
        product = load_products()[task.hidden["product"]]
        cause = product.causes[product.cause_index(task.hidden["cause"])]
        assert cause.what not in text
        well = sonde.make("customer_service_bandit", told_prior="well_specified")
        assert cause.what in sonde.Episode.begin(well, well.tasks("test")[task.index]).view().messages[0].content
    assert "probabilities" not in play().episode.view().messages[0].content
    with pytest.raises(UserError, match="told_prior"):
        sonde.make("customer_service_bandit", told_prior="wrong")


def test_a_hint_is_for_the_writer_of_the_prior_alone() -> None:
    env = sonde.make("customer_service_bandit", told_prior="hint")
    plain = sonde.make("customer_service_bandit")
    for task in env.tasks("test")[:10]:
        ep = sonde.Episode.begin(env, task)
        product = load_products()[task.hidden["product"]]
        cause = product.causes[product.cause_index(task.hidden["cause"])]
        assert cause.what in ep.view().private["hint"] and cause.fix_what in ep.view().private["hint"]
        without = sonde.Episode.begin(plain, plain.tasks("test")[task.index]).view()
        assert ep.view().messages[0].content == without.messages[0].content and "hint" not in without.private


def test_the_hint_reaches_the_writer_of_a_prior_and_no_other_call() -> None:
    env = sonde.make("customer_service_bandit", told_prior="hint")
    task = env.tasks("test")[0]
    truth = sonde.Episode.begin(env, task).view().private["hint"]
    writer, others = Noted(), Noted()
    agent = sonde.make(
        "agents:llm_psrl", model=others, updater_model=writer, prior="hinted", updates="trajectory", retries=0
    )
    ep = sonde.Episode.begin(env, task)
    ep = ep.step(asyncio.run(agent.act(ep.view())))
    assert len(writer.asked) == 1 and truth in writer.asked[0] and len(others.asked) == 2
    assert not any(truth in text for text in others.asked)
    assert "loose cable" in ep.turns[0].acts[0].action.memory["beliefs"]
    unhinted = sonde.make("customer_service_bandit")
    with pytest.raises(UserError, match="customer_service_bandit gives none"):
        asyncio.run(agent.act(sonde.Episode.begin(unhinted, unhinted.tasks("test")[0]).view()))


def test_the_tasks_share_the_data_of_customer_service_but_not_its_draws() -> None:
    env, other = sonde.make("customer_service_bandit"), sonde.make("customer_service")
    assert [len(env.tasks(s)) for s in env.splits] == [len(other.tasks(s)) for s in other.splits] == [628, 200]


def test_a_foreign_scenario_has_no_problem() -> None:
    env = sonde.make("customer_service_bandit", judge="seat")
    task = env.task({"scenario": "A lamp stays dark.", "solution": "Screw the bulb in."})
    with pytest.raises(UserError, match="foreign"):
        env.decision_problem(task.public)
