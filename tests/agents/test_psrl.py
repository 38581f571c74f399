"""Tabular PSRL: the posterior it draws from, the plan it makes of a draw, and sublinear regret."""

from __future__ import annotations

import numpy as np
import pytest

import sonde
from sonde.agents.psrl import dirichlet_posterior, optimal_actions
from sonde.core import Episode, Rng
from sonde.envs._shared.finite import DirichletPosterior, World
from sonde.envs._shared.sub_episodes import require_finite_problem
from sonde.evaluation import regret
from sonde.runs.rollout import collect_trajectories

ENV = sonde.make("river_swim")


def play_episode(n: int) -> Episode:
    """An episode after n acts of PSRL."""
    ep, agent = Episode.begin(ENV, ENV.tasks("train")[0], seed=3), sonde.make("agents:psrl")
    for _ in range(n):
        ep = ep.step(agent.act_now(ep.view()))
    return ep


def test_posterior_equals_updates_one_by_one() -> None:
    ep = play_episode(30).step("<Answer>neither</Answer>")
    problem = require_finite_problem(ep.view(), "psrl")
    slow = DirichletPosterior.prior(problem)
    for info in (turn.info for turn in ep.turns[:-1]):
        slow = slow.observe(info["state"], info["action"], info["reward"], info["next"])
    fast = dirichlet_posterior(ep.view(), problem, None)
    np.testing.assert_array_equal(fast.counts_SAS, slow.counts_SAS)
    np.testing.assert_array_equal(fast.paid_SAN, slow.paid_SAN)
    assert fast.alpha == 1 / 3 and dirichlet_posterior(ep.view(), problem, 0.1).alpha == 0.1


def test_plan_by_hand() -> None:
    """Two states; action 0 pays 0.1 and stays, action 1 moves on for nothing, and state 1 pays 1 with either.
    With one step left greed is right, with two the move; in state 1 all is equal, so actions are drawn."""
    world = World(np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]]), np.array([[0.1, 0.0], [1.0, 1.0]]))
    plans = [optimal_actions(world, 2, Rng(seed)) for seed in range(40)]
    assert {(plan[0][0], plan[1][0]) for plan in plans} == {(1, 0)}
    assert {plan[0][1] for plan in plans} == {plan[1][1] for plan in plans} == {0, 1}


def test_one_plan_per_sub_episode() -> None:
    ep = play_episode(12)
    plans = [turn.acts[0].action.memory for turn in ep.turns]
    assert len(set(plans[:6])) == 1 and len(set(plans[6:])) == 1
    states, tunnels = ENV.decision_problem(ep.task.public).states, ENV.decision_problem(ep.task.public).actions
    for turn, plan in zip(ep.turns, plans, strict=True):
        row = plan.split(" ")[turn.info["step"] * 3 : turn.info["step"] * 3 + 3]
        assert turn.info["action"] == tunnels[int(row[states.index(turn.info["state"])])]


@pytest.mark.thorough
def test_regret_flattens() -> None:
    """Figure 6's finding for vanilla PSRL: nearly optimal in the last sub-episodes, where random play loses over 1."""
    found = {}
    for name in ("psrl", "random"):
        rows = regret.regret_table(
            ENV, collect_trajectories(ENV, {"agent": sonde.make(f"agents:{name}")}, ENV.tasks("train")[:60])
        )
        found[name] = rows.mean(axis=0)
    assert found["psrl"][-5:].mean() < 0.15 < 1.0 < found["random"][-5:].mean()
    assert found["psrl"][:5].mean() > 2 * found["psrl"][-5:].mean()


@pytest.mark.slow
def test_knowing_how_the_current_flows_helps() -> None:
    told = sonde.make("river_swim", downstream_known=True)
    rows = [
        regret.regret_table(
            env, collect_trajectories(env, {"agent": sonde.make("agents:psrl")}, env.tasks("train")[:100])
        ).sum(axis=1)
        for env in (ENV, told)
    ]
    assert rows[1].mean() < rows[0].mean()


def test_a_sampled_code_is_entered_to_its_end() -> None:
    env = sonde.make("combination_lock")
    ep, agent = Episode.begin(env, env.task("427"), seed=1), sonde.make("agents:psrl")
    while ep.to_act is not None:
        before = ep.posterior()
        entered = ""
        for _ in range(3):
            ep = ep.step(agent.act_now(ep.view()))
            entered += ep.turns[-1].info["action"]
        assert before is not None and before.prob(entered) > 0.0
    assert ep.outcome is not None and ep.outcome.success


def test_bandits_need_no_memory() -> None:
    env = sonde.make("bernoulli_bandit", preset="informative")
    ep = Episode.begin(env, env.tasks("train")[0])
    action = sonde.make("agents:psrl").act_now(ep.view())
    assert action.memory is None and action.text != "<Answer>0</Answer>"


def test_a_sub_episode_that_somebody_else_began_is_gone_on_with() -> None:
    ep = Episode.begin(ENV, ENV.tasks("train")[0]).step(ENV.say("A")).step(ENV.say("B"))
    action = sonde.make("agents:psrl").act_now(ep.view())
    assert ep.step(action).turns[-1].info["action"] in ("A", "B") and action.memory is not None
