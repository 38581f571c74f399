"""Regret and exploration statistics: every number by hand, and the two estimates against each other."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.core import Action, Completion, Episode, Rng, Trajectory, Usage, UserError
from sonde.envs.river_swim.filter import river_world
from sonde.evaluation import regret
from sonde.evaluation.evaluate import evaluate
from tests.cases import each

BANDIT = sonde.make("bernoulli_bandit", max_turns=4)
RIVER = sonde.make("river_swim", caves=2, horizon=2, sub_episodes=3)
LABELS = {"order": ["1", "2"], "up": ["A", "A"]}
LOCK = sonde.make("combination_lock", length=2, sub_episodes=4)


def play_episode(env: Any, hidden: Any, *texts: str, seed: int = 0) -> Trajectory:
    ep = Episode.begin(env, env.task(hidden), seed=seed)
    for text in texts:
        ep = ep.step(text if " " in text else env.say(text))
    return ep.to_trajectory()


def random_play(env: Any, index: int, seed: int) -> Trajectory:
    ep, rng = Episode.begin(env, env.tasks("train")[index], seed=seed), Rng(seed, "play")
    while ep.to_act is not None:
        ep = ep.step(env.say(rng.choice(env.actions(ep.state))))
    return ep.to_trajectory()


# --- one trajectory --------------------------------------------------------------------------------------------------


def test_regret_of_a_bandit_is_the_gap_of_each_arm() -> None:
    t = play_episode(BANDIT, {"best": "B"}, "A", "B", "E", "B")
    assert regret.episode_regrets(BANDIT, t) == pytest.approx([0.2, 0.0, 0.2, 0.0])
    paid = [turn.rewards["agent"] for turn in t.turns]
    assert regret.episode_regrets(BANDIT, t, "realised") == pytest.approx([0.6 - r for r in paid])


def test_regret_is_a_metric_of_an_evaluation() -> None:
    """Two pulls of four were of the wrong arm, at .2 each; an episode that an error ended has no regret, nor has one of
    an environment without a finite model."""
    t = play_episode(BANDIT, {"best": "B"}, "A", "B", "E", "B")
    failed = replace(t, id="failed", sample=1, error="gone")
    found = evaluate([t, failed])
    assert found.metrics["regret"] is not None and found.metrics["regret"].mean == pytest.approx(0.4)
    assert [row.regret for row in found.rows] == [pytest.approx(0.4), None]
    guess = sonde.make("word_guess", preset="mtp")
    assert regret.total_regret(guess, Episode.begin(guess, guess.tasks("test")[0]).to_trajectory()) is None


def test_regret_of_a_river_by_hand() -> None:
    """V* = 0.35 + 0.65 * 0.005 (up, then down if that failed); down twice is worth 0.01."""
    best = 0.35 + 0.65 * 0.005
    t = play_episode(RIVER, LABELS, *["B", "B"] * 3)
    # Down costs V* - (0.005 + 0.005) in the first step, nothing in the last.
    assert regret.episode_regrets(RIVER, t) == pytest.approx([best - 0.01] * 3)
    assert regret.episode_regrets(RIVER, t, "realised") == pytest.approx([best - 0.01] * 3)
    up = play_episode(RIVER, LABELS, *["A", "B"] * 3)
    first, second = up.turns[0].info, up.turns[1].info
    # Up is optimal; then down is optimal in the first cave and costs 1 in the last one.
    assert regret.episode_regrets(RIVER, up)[0] == pytest.approx(0.0 if first["next"] == "1" else 1.0)
    assert regret.episode_regrets(RIVER, up, "realised")[0] == pytest.approx(best - second["reward"])


def test_regret_of_a_lock_counts_failed_attempts() -> None:
    t = play_episode(LOCK, "42", *"13", *"45", *"42")
    assert regret.episode_regrets(LOCK, t).tolist() == [1.0, 1.0, 0.0, 0.0]
    assert regret.episode_regrets(LOCK, t, "realised").tolist() == [1.0, 1.0, 0.0, 0.0]
    assert regret.episodes_to_solve(t) == 3
    lost = play_episode(LOCK, "42", *"13" * 4)
    assert regret.episode_regrets(LOCK, lost).tolist() == [1.0] * 4 and regret.episodes_to_solve(lost) is None


@each("kind", ["expected", "realised"])
def test_what_an_unreadable_answer_misses_is_regret(kind: Any) -> None:
    best = 0.35 + 0.65 * 0.005
    t = play_episode(RIVER, LABELS, "B", "B", "B", "no tag")
    # Round 1 in full, round 2 its first step and the 0.005 of its last, round 3 not played.
    assert regret.episode_regrets(RIVER, t, kind) == pytest.approx([best - 0.01, best - 0.01 + 0.005, best])
    lock = play_episode(LOCK, "42", "1", "3", "no tag")
    assert regret.episode_regrets(LOCK, lock, kind).tolist() == [1.0] * 4
    unplayed = Episode.begin(RIVER, RIVER.task(LABELS)).cut_short("context").to_trajectory()
    assert regret.episode_regrets(RIVER, unplayed, kind) == pytest.approx([best] * 3)
    pulls = play_episode(BANDIT, {"best": "B"}, "B", "no tag")
    assert regret.episode_regrets(BANDIT, pulls)[1:] == pytest.approx([0.6] * 3)


def test_an_unreadable_action_costs_its_step() -> None:
    best = 0.35 + 0.65 * 0.005
    lost = play_episode(RIVER, LABELS, "C", "B", *["B"] * 4)
    assert regret.episode_regrets(RIVER, lost)[0] == pytest.approx(best - 0.005)
    assert regret.episode_regrets(BANDIT, play_episode(BANDIT, {"best": "B"}, "B", "?", "B", "B")) == pytest.approx(
        [0, 0.6, 0, 0]
    )
    assert regret.episode_regrets(LOCK, play_episode(LOCK, "42", "4", "x", *"42"))[0] == 1.0


def test_a_last_round_cut_short_counts_what_was_played() -> None:
    env = sonde.make("river_swim", caves=2, horizon=2, sub_episodes=3, max_turns=3)
    t = play_episode(env, LABELS, "B", "B", "B")
    best = 0.35 + 0.65 * 0.005
    assert regret.episode_regrets(env, t) == pytest.approx([best - 0.01] * 2)
    assert regret.episode_regrets(env, t, "realised") == pytest.approx([best - 0.01] * 2)


@each(
    "name, config",
    [("river_swim", {"sub_episodes": 4}), ("bernoulli_bandit", {"max_turns": 8, "arms": 3, "best": 0.9, "gap": 0.6})],
)
def test_both_estimates_have_the_regret_as_their_mean(name: str, config: dict[str, Any]) -> None:
    """Of uniform play, whose regret per sub-episode is V* - V^uniform."""
    env = sonde.make(name, **config)
    trials = [random_play(env, 0, seed) for seed in range(600)]
    known = regret.solve_truth(env, trials[0])
    h, s, a = known.problem.horizon, len(known.problem.states), len(known.problem.actions)
    start = known.problem.states.index(known.problem.start)
    exact = known.values_HS[0, start] - known.world.policy_values(np.full((h, s, a), 1 / a))[0, start]
    for kind in ("expected", "realised"):
        rows = regret.regret_table(env, trials, kind)  # type: ignore[arg-type]
        error = rows.std() / math.sqrt(rows.size)
        assert abs(rows.mean() - exact) < 4.0 * error


def test_truth_is_that_of_the_world_seed() -> None:
    t = random_play(sonde.make("river_swim", sub_episodes=1), 3, 11)
    env = sonde.make("river_swim", sub_episodes=1)
    known = regret.solve_truth(env, t)
    best = river_world(3, "stated").action_values(6)[0, 0].max()
    assert known.values_HS[0, known.problem.states.index(t.task.public["start"])] == pytest.approx(best)
    assert known.values_HS.shape == (7, 3) and known.values_HS[6].tolist() == [0.0] * 3


def test_which_actions_were_optimal() -> None:
    chosen, optimal = regret.chosen_actions(BANDIT, play_episode(BANDIT, {"best": "B"}, "A", "?", "B", "E"))
    assert chosen.tolist() == [0, regret.NO_ACTION, 1, 4] and optimal.tolist() == [False, False, True, False]
    _, river = regret.chosen_actions(RIVER, play_episode(RIVER, LABELS, *["A", "B"] * 3, seed=4))
    assert river[0] and not regret.chosen_actions(RIVER, play_episode(RIVER, LABELS, *["B", "B"] * 3))[1][0]


def test_what_has_no_regret_is_refused() -> None:
    with pytest.raises(UserError, match="mastermind has no finite model"):
        env = sonde.make("mastermind")
        regret.episode_regrets(env, Episode.begin(env, env.task("0427")).step("<Answer>0427</Answer>").to_trajectory())
    with pytest.raises(UserError, match="did not end by itself"):
        regret.episode_regrets(BANDIT, play_episode(BANDIT, {"best": "B"}, "A"))
    failed = replace(play_episode(BANDIT, {"best": "B"}, *"ABAB"), error="HTTP 500")
    with pytest.raises(UserError, match="HTTP 500"):
        regret.episode_regrets(BANDIT, failed)
    with pytest.raises(UserError, match="regret: kind"):
        regret.episode_regrets(BANDIT, failed, "usual")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="no trajectories"):
        regret.regret_table(BANDIT, [])


def test_costs_and_tokens_by_sub_call() -> None:
    ep = Episode.begin(LOCK, LOCK.task("42"))
    calls = (
        Completion(text="x", name="posterior_sample", usage=Usage(100, 20)),
        Completion(text="y", name="policy", usage=Usage(50, 5)),
    )
    for i, digit in enumerate("1342"):
        ep = ep.step(Action(LOCK.say(digit), completions=calls if i % 2 == 0 else calls[1:]))
    t = ep.to_trajectory()
    found = regret.cost_by_call(t)
    assert found == {"posterior_sample": (2, 200, 40), "policy": (4, 200, 20)}
    assert found["policy"].tokens == 220
    assert regret.tokens_per_episode(t, 4).tolist() == [230.0, 230.0, 0.0, 0.0]


# --- many trials -----------------------------------------------------------------------------------------------------


def test_curves_by_hand() -> None:
    found = regret.cumulative_regret([[1, 0, 1], [0, 0, 1], [2, 0, 1]])
    assert found.mean.tolist() == [1.0, 1.0, 2.0] and found.n == 3
    # The three sums 1, 0, 2 have a standard deviation of 1.
    assert found.error == pytest.approx([1 / math.sqrt(3)] * 3)
    assert np.isnan(regret.cumulative_regret([[1.0, 1.0]]).error).all()


def test_suffix_failures_by_hand() -> None:
    trials = [[True, False, True, False], [False, False, False, False], [True, False, False, False]]
    found = regret.suffix_failures(trials)
    assert found.mean == pytest.approx([1 / 3, 2 / 3, 2 / 3, 1.0])
    assert found.error[0] == pytest.approx(math.sqrt(1 / 3) / math.sqrt(3))


def test_minimum_action_frequency_by_hand() -> None:
    trials = [[0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 2, regret.NO_ACTION]]
    found = regret.minimum_action_frequency(trials, 3)
    assert found.mean == pytest.approx([0, 0, 0.5, 3 / 8, (3 / 5 + 3 / 5) / 2, (1.0 + 0.5) / 2])


def test_solve_rates() -> None:
    found = regret.solve_rate([2, None, 4, 3])
    assert found[::2] == (0.75, 3.0) and found.error == pytest.approx(0.25) and found.n == 4
    assert math.isnan(regret.solve_rate([None, None]).sub_episodes)
    with pytest.raises(UserError, match="solved"):
        regret.solve_rate([])


def test_the_report_of_a_bandit() -> None:
    trials = [play_episode(BANDIT, {"best": "B"}, *"ABCD"), play_episode(BANDIT, {"best": "B"}, *"BBBB")]
    found = regret.bandit_report(BANDIT, trials)
    assert found.regret.mean == pytest.approx([0.1, 0.1, 0.2, 0.3])
    assert found.suffix_failures.mean.tolist() == [0.0, 0.0, 0.5, 0.5]
    assert found.minimum_action_frequency.mean.tolist() == [0.0] * 4
    with pytest.raises(UserError, match="bandit_report"):
        regret.bandit_report(BANDIT, [play_episode(BANDIT, {"best": "B"}, "A", "no tag")])
