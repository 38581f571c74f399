"""Finite problems: values by hand and against every policy, the conjugate posterior, what envs and filters promise."""

import json
from itertools import product
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.core import Episode, Rng, TabularFilter
from sonde.envs._shared.finite import DirichletPosterior, FiniteProblem, World, bandit_world, best_value
from sonde.envs._shared.rounds import check_turn_count, step_facts
from tests.cases import each

SMALL: list[tuple[str, dict[str, Any]]] = [
    ("bernoulli_bandit", {"max_turns": 6}), ("bernoulli_bandit", {"max_turns": 5, "arms": 3, "best": 0.9, "gap": 0.5}),
    ("bernoulli_bandit", {"preset": "krishnamurthy", "max_turns": 4}),
    ("bernoulli_bandit", {"preset": "informative", "max_turns": 6}),
    ("bernoulli_bandit", {"preset": "informative", "max_turns": 4, "arms": 4}), ("river_swim", {"sub_episodes": 3}),
    ("river_swim", {"sub_episodes": 2, "ends": "osband"}),
    ("river_swim", {"preset": "length4", "horizon": 8, "sub_episodes": 1}),
    ("river_swim", {"downstream_known": True, "sub_episodes": 1}),
    ("combination_lock", {"length": 2, "sub_episodes": 4}), ("combination_lock", {"sub_episodes": 2}),
    ("letter_wordle", {"sub_episodes": 1}),
]  # fmt: skip
"""Environments small enough to carry one state per hidden setup."""


def small_environments() -> list[Any]:
    return [pytest.param(sonde.make(n, **c), id=f"{n}-{'-'.join(map(str, c.values()))}") for n, c in SMALL]


def world(*seed: int, states: int = 2, actions: int = 2) -> World:
    rng = np.random.Generator(np.random.PCG64(seed))
    return World(rng.dirichlet(np.ones(states), (states, actions)), rng.random((states, actions)))


# --- values ----------------------------------------------------------------------------------------------------------


def test_values_by_hand() -> None:
    # Action 0 stays and pays 0.1 in state 0; action 1 moves to state 1, which pays 1 for action 1 and returns.
    transition = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    known = World(transition, np.array([[0.1, 0.0], [0.0, 1.0]]))
    assert known.action_values(1)[0].tolist() == [[0.1, 0.0], [0.0, 1.0]]
    last, before, first = [[0.1, 0.0], [0.0, 1.0]], [[0.2, 1.0], [1.0, 1.1]], [[1.1, 1.1], [1.1, 2.0]]
    assert known.action_values(3) == pytest.approx(np.array([first, before, last]))
    assert known.suboptimality_gaps(3)[1] == pytest.approx(np.array([[0.8, 0.0], [0.1, 0.0]]))
    problem = FiniteProblem("tabular", ("x", "y"), ("0", "1"), 3, 1, "y")
    assert best_value(problem, known) == pytest.approx(2.0)
    assert best_value(problem._replace(start="x", horizon=1), known) == pytest.approx(0.1)


@each("seed", range(3))
def test_optimal_values_are_those_of_the_best_policy(seed: int) -> None:
    known, horizon = world(seed), 3
    policies = [np.eye(2)[np.array(rows).reshape(horizon, 2)] for rows in product(range(2), repeat=2 * horizon)]
    values = np.array([known.policy_values(p) for p in policies])
    assert known.action_values(horizon).max(axis=2) == pytest.approx(values.max(axis=0))


def test_policy_values_agree_with_play() -> None:
    known, horizon = world(7, states=3), 4
    rng = np.random.Generator(np.random.PCG64(1))
    policy = rng.dirichlet(np.ones(2), (horizon, 3))
    total = 0.0
    for _ in range(4000):
        s = 0
        for h in range(horizon):
            a = rng.choice(2, p=policy[h, s])
            total += known.reward_SA[s, a]
            s = rng.choice(3, p=known.transition_SAS[s, a])
    # The return of four rewards in [0, 1] has a standard deviation below 1, so its mean one below 0.016.
    assert total / 4000 == pytest.approx(known.policy_values(policy)[0, 0], abs=0.06)


def test_a_bandit_is_a_problem_of_one_state() -> None:
    assert bandit_world([0.2, 0.7]).action_values(1).tolist() == [[[0.2, 0.7]]]
    assert bandit_world([0.2, 0.7]).suboptimality_gaps(1)[0, 0] == pytest.approx([0.5, 0.0])


# --- the conjugate posterior -----------------------------------------------------------------------------------------

RIVER = FiniteProblem("tabular", ("1", "2", "3"), ("A", "B"), 6, 35, "1", (0.0, 0.005, 1.0))


def test_conjugate_means_by_hand() -> None:
    known = DirichletPosterior.prior(RIVER)
    assert known.alpha == pytest.approx(1 / 3)
    for reward, after in ((0.0, "1"), (0.0, "2"), (0.0, "2")):
        known = known.observe("1", "B", reward, after)
    known = known.observe("3", "A", 1.0, "3")
    mean = known.mean_world()
    # Counts 1, 2, 0 and alpha 1/3 each: (1/3 + n) / (1 + 3).
    assert mean.transition_SAS[0, 1] == pytest.approx([1 / 3, 7 / 12, 1 / 12])
    assert mean.transition_SAS[1, 0] == pytest.approx([1 / 3] * 3)
    assert mean.reward_SA[0].tolist() == pytest.approx([0.335, 0.0]) and mean.reward_SA[2, 0] == 1.0
    assert DirichletPosterior.prior(RIVER).counts_SAS.sum() == 0


def test_conjugate_samples_have_the_dirichlets_moments() -> None:
    known = DirichletPosterior.prior(RIVER)
    for _ in range(3):
        known = known.observe("2", "A", 0.0, "1")
    draws = [known.sample(Rng(0, "test", i)) for i in range(3000)]
    p = np.array([d.transition_SAS[1, 0] for d in draws])
    mean = np.array([10 / 12, 1 / 12, 1 / 12])
    assert p.mean(axis=0) == pytest.approx(mean, abs=0.012)
    # Var = m (1 - m) / (total + 1), with a total of 4.
    assert p.var(axis=0) == pytest.approx(mean * (1 - mean) / 5, abs=0.004)
    unseen = np.array([d.reward_SA[0, 0] for d in draws])
    assert all(abs((unseen == r).mean() - 1 / 3) < 0.04 for r in RIVER.rewards) and len(set(unseen)) == 3
    assert {d.reward_SA[1, 0] for d in draws} == {0.0}
    assert all(np.allclose(d.transition_SAS.sum(axis=2), 1.0) for d in draws[:50])


def test_tiny_concentrations_are_sampled_exactly() -> None:
    """Gamma draws of shape 0.001 mostly underflow; their limit puts all weight on one state, each as often."""
    draws = np.array(
        [DirichletPosterior.prior(RIVER, 0.001).sample(Rng(1, "tiny", i)).transition_SAS[0, 0] for i in range(900)]
    )
    assert np.isfinite(draws).all() and (draws.max(axis=1) > 0.99).mean() > 0.98
    assert np.bincount(draws.argmax(axis=1), minlength=3) == pytest.approx(300, abs=70)


def test_known_transitions_are_certain() -> None:
    known = DirichletPosterior.prior(RIVER._replace(known=(("2", "A", "1"),)))
    assert known.sample(Rng(0)).transition_SAS[1, 0].tolist() == [1.0, 0.0, 0.0]
    assert known.mean_world().transition_SAS[1, 0].tolist() == [1.0, 0.0, 0.0]


def test_a_posterior_that_is_extended_does_not_change() -> None:
    first = DirichletPosterior.prior(RIVER)
    first.observe("1", "A", 0.005, "1")
    assert first.counts_SAS.sum() == 0 and np.isnan(first.paid_SAN).all()


# --- what environments and filters promise ---------------------------------------------------------------------------


@each("env", small_environments())
def test_problem_and_world_describe_the_environment(env: Any) -> None:
    """Transitions and rewards of the tables are those that `outcomes` lists, along random play."""
    task = env.tasks("train")[3]
    problem, ep, rng = env.decision_problem(task.public), Episode.begin(env, task, seed=2), Rng(5)
    assert json.loads(json.dumps(problem._asdict()))["horizon"] == problem.horizon
    known = env.world(ep.state)
    assert known.transition_SAS.sum(axis=2) == pytest.approx(1.0)
    assert env.optimal_value(ep.state) == pytest.approx(best_value(problem, known))
    state = problem.start
    while ep.to_act is not None:
        s = problem.states.index(state)
        for a, action in enumerate(problem.actions):
            rows = env.outcomes(ep.state, env.say(action))
            paid = sum(p * step.rewards.get("agent", 0.0) for p, step in rows)
            assert paid == pytest.approx(known.reward_SA[s, a])
            for t, after in enumerate(problem.states):
                chance = sum(p for p, step in rows if step.info["next"] == after)
                assert chance == pytest.approx(known.transition_SAS[s, a, t])
        ep = ep.step(env.say(rng.choice(problem.actions)))
        info = ep.turns[-1].info
        assert (info["sub_episode"], info["step"]) == divmod(len(ep.turns) - 1, problem.horizon)
        assert info["state"] == state and info["reward"] == ep.turns[-1].rewards.get("agent", 0.0)
        assert info["sub_episode"] < problem.sub_episodes and info["reward"] in problem.rewards
        state = info["next"] if len(ep.turns) % problem.horizon else problem.start
    assert ep.view().transitions[-1].sub_episode == ep.turns[-1].info["sub_episode"]


@pytest.mark.thorough
@each("env", small_environments())
@each("seed", [0, 1])
def test_filters_equal_brute_force(env: Any, seed: int) -> None:
    """Beliefs, gains and expected regrets against one state per hidden setup, with an unreadable answer on the way."""
    task, rng = env.tasks("test")[seed], Rng(seed, "brute")
    rows = [(p, env.start(task.public, hidden)) for p, hidden in env.prior(task.public)]
    exact: Any = env.filter(task.public)
    table = TabularFilter(rows, env.outcomes, env.hypothesis, env.actions, env.say)
    ep = Episode.begin(env, task, seed=seed)
    while ep.to_act is not None:
        _compare(env, exact, table, ep)
        action = (
            "<Answer>neither of them</Answer>" if len(ep.turns) == 2 else env.say(rng.choice(env.actions(ep.state)))
        )
        ep = ep.step(action)
        exact, table = exact.observe(ep.turns[-1]), table.observe(ep.turns[-1])
    assert exact.prob(env.hypothesis(ep.state)) == pytest.approx(table.prob(env.hypothesis(ep.state)))


def _compare(env: Any, exact: Any, table: TabularFilter, ep: Episode) -> None:
    problem, belief = exact.problem, table.belief()
    assert problem == env.decision_problem(ep.task.public)
    assert exact.entropy == pytest.approx(table.entropy, abs=1e-9)
    found = dict(zip(exact.belief().hypotheses, exact.belief().probs, strict=True))
    assert found == pytest.approx(dict(zip(belief.hypotheses, belief.probs, strict=True)))
    gains = [table.expected_gain(env.say(a)) for a in problem.actions]
    assert exact.expected_gains == pytest.approx(np.array(gains), abs=1e-9)
    assert [exact.expected_gain(env.say(a)) for a in problem.actions] == pytest.approx(gains, abs=1e-9)
    assert exact.best_question()[1] == pytest.approx(max(gains), abs=1e-9)
    assert exact.expected_gain("no answer") == 0.0 == exact.prob("nothing like it")
    assert exact.expected_regrets == pytest.approx(_regrets(exact, belief, ep), abs=1e-9)


def _regrets(exact: Any, belief: Any, ep: Episode) -> Any:
    """The posterior mean of the gaps in the state that the agent is in."""
    problem, step = exact.problem, len(ep.turns) % exact.problem.horizon
    state = ep.turns[-1].info["next"] if step else problem.start
    s = problem.states.index(state)
    rows = [
        p * exact.world(h).suboptimality_gaps(problem.horizon)[step, s]
        for h, p in zip(belief.hypotheses, belief.probs, strict=True)
    ]
    return np.sum(rows, axis=0)


@each("env", small_environments())
def test_samples_follow_the_posterior(env: Any) -> None:
    ep = Episode.begin(env, env.tasks("train")[1], seed=4)
    for _ in range(2):
        ep = ep.step(env.say(env.actions(ep.state)[1]))
    known: Any = ep.filter()
    draws = [known.sample(Rng(0, "sample", i)) for i in range(500)]
    for hypothesis, p in known.belief().top(3):
        assert abs(draws.count(hypothesis) / 500 - p) <= 5.0 * (p * (1 - p) / 500) ** 0.5
    assert all(known.prob(h) > 0.0 for h in draws)


def test_facts_and_clocks() -> None:
    info = step_facts("step", 7, 3, "s", "a", 0.5, "t")
    assert (info["sub_episode"], info["step"], info["state"], info["next"]) == (2, 1, "s", "t")
    assert check_turn_count("x", None, 3, 4) == 12 and check_turn_count("x", 5, 3, 4) == 5
    for wrong in ((0, 3, 4), (13, 3, 4), (None, 0, 4), (None, 3, 0), (None, 200, 51)):
        with pytest.raises(sonde.UserError, match=r"^x: "):
            check_turn_count("x", *wrong)
