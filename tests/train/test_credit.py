"""Credit: every number by hand; and which baselines and scales give the policy gradient, by enumeration."""

import math
from array import array
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.core import Action, Episode, Trajectory, UserError
from sonde.train import credit
from sonde.train.credit import (
    GroupRelative,
    RewardMix,
    broadcast,
    discounted,
    gae,
    group_advantages,
    has_signal,
    named_rewards,
    returns,
    with_advantages,
)
from sonde.train.types import Row, Sample

# --- rewards ---------------------------------------------------------------------------------------------------------


def play(name: str, hidden: Any, *texts: str, **options: Any) -> Trajectory:
    env = sonde.make(name, **options)
    ep = Episode.begin(env, env.task(hidden), seed=0)
    for text in texts:
        ep = ep.step(Action(text))
    return ep.trajectory()


def test_named_rewards_of_a_game_won_in_two_turns() -> None:
    named = named_rewards(play("wordle", "toast", "<Answer>blank</Answer>", "<Answer>toast</Answer>"))
    assert {name: values.tolist() for name, values in named.items() if name not in ("env", "score")} == {
        "turns": [1, 1],
        "extra_turns": [1, 1],
        "invalid": [0, 0],
        "repeated": [0, 0],
        "success": [0, 1],
        "loss": [0, 0],
        "format": [0, 0],
        "timeout": [0, 0],
    }
    assert named["env"].sum() == named["score"][-1] == 1.0


def test_named_rewards_of_an_answer_that_cannot_be_read() -> None:
    named = named_rewards(play("wordle", "toast", "no idea"))
    assert named["format"].tolist() == [1] and named["success"].tolist() == [0] and named["extra_turns"].tolist() == [0]


def test_questions_called_invalid_and_repeated_are_charged_as_published() -> None:
    """Two good questions, one repeated, one that is two, then the word: 2 - 5 - 1 - 5 * 0.05."""
    env, user = sonde.make("twenty_questions", preset="delta_belief"), sonde.make("users:answerer")
    topic = env.tasks("train")[0].hidden
    ep = Episode.begin(env, env.task(topic), seed=0)
    for text in ("Is it alive?", "Is it alive?", "Is it big? Is it red?", "Is it an animal?", f"Is it {topic}?"):
        ep = ep.step(text)
        ep = ep.step(user.act_now(ep.view("user"))) if ep.to_act == "user" else ep
    per_turn = RewardMix.published("delta_belief")(named_rewards(ep.trajectory()))
    assert per_turn == pytest.approx([-0.05, -1.05, -5.05, -0.05, 1.95])


def test_a_mix_of_rewards_is_weighted_turn_by_turn() -> None:
    mix = RewardMix({"success": 1.0, "turns": -0.02, "format": -0.5})
    named = {"success": [0, 0, 1], "turns": [1, 1, 1], "format": np.zeros(3), "unused": [9]}
    assert mix(named) == pytest.approx([-0.02, -0.02, 0.98])
    assert RewardMix()({"success": [0, 1]}).tolist() == [0, 1]


def test_bad_mixes_are_refused() -> None:
    with pytest.raises(UserError, match="at least one name"):
        RewardMix({})
    with pytest.raises(UserError, match="turns: got nan"):
        RewardMix({"turns": math.nan})
    with pytest.raises(UserError, match="did you mean 'success'"):
        RewardMix({"sucess": 1.0})({"success": [1], "turns": [1]})
    with pytest.raises(UserError, match=r"lengths: got \[1, 2\]"):
        RewardMix({"success": 1.0, "turns": 1.0})({"success": [1], "turns": [1, 1]})
    with pytest.raises(UserError, match="known: delta_belief, env, success"):
        RewardMix.published("ppo")


# --- returns ---------------------------------------------------------------------------------------------------------


def test_returns_to_go_by_hand() -> None:
    assert discounted([1.0, 2.0, 4.0], 0.5).tolist() == [1 + 0.5 * (2 + 0.5 * 4), 2 + 0.5 * 4, 4]
    assert discounted([1.0, 2.0, 4.0]).tolist() == [7, 6, 4]
    assert discounted([1.0, 2.0], 0.0).tolist() == [1, 2]
    assert discounted([]).tolist() == []
    assert returns([[1.0, 2.0, 4.0], [], [3.0]], 0.5).tolist() == [3.0, 0.0, 3.0]
    with pytest.raises(UserError, match=r"discount: got 1.5, allowed: 0 to 1"):
        discounted([1.0], 1.5)


def test_gae_by_hand() -> None:
    """Errors with discount 0.9: d0 = 0 + 0.9 * 0.6 - 0.5 = 0.04, d1 = 1 + 0 - 0.6 = 0.4."""
    assert gae([0.0, 1.0], [0.5, 0.6], discount=0.9, lam=0.0) == pytest.approx([0.04, 0.4])
    assert gae([0.0, 1.0], [0.5, 0.6], discount=0.9, lam=0.5) == pytest.approx([0.04 + 0.45 * 0.4, 0.4])
    assert gae([0.0, 1.0], [0.5, 0.6], discount=0.9, lam=0.5, bootstrap=2.0)[1] == pytest.approx(1 + 0.9 * 2 - 0.6)
    with pytest.raises(UserError, match="one per turn: 2"):
        gae([0.0, 1.0], [0.5])


def test_gae_with_lambda_one_is_return_less_value() -> None:
    rewards, values = [0.3, -1.0, 2.0, 0.5], [0.1, 0.9, -0.4, 2.0]
    assert gae(rewards, values, discount=0.8, lam=1.0) == pytest.approx(discounted(rewards, 0.8) - np.array(values))


# --- groups ----------------------------------------------------------------------------------------------------------


def test_group_advantages_by_hand() -> None:
    """Scores 1, 0, 0: mean 1/3; variance (4/9 + 1/9 + 1/9) / 2 = 1/3; leave-one-out baselines 0, 1/2, 1/2."""
    scores, s = {"g": [1.0, 0.0, 0.0]}, math.sqrt(1 / 3)
    assert group_advantages(scores, eps=0.0)["g"] == pytest.approx([2 / 3 / s, -1 / 3 / s, -1 / 3 / s])
    assert group_advantages(scores, eps=1.0)["g"][0] == pytest.approx(2 / 3 / (s + 1))
    assert group_advantages(scores, scale="none")["g"] == pytest.approx([2 / 3, -1 / 3, -1 / 3])
    alone = group_advantages(scores, scale="none", baseline="leave_one_out")["g"]
    assert alone == pytest.approx([1.0, -0.5, -0.5])
    both = group_advantages(scores, baseline="leave_one_out", eps=0.0)["g"]
    assert both == pytest.approx([1 / s, -0.5 / s, -0.5 / s])


@pytest.mark.parametrize("scale", ["std", "none"])
@pytest.mark.parametrize("baseline", ["mean", "leave_one_out"])
def test_groups_without_signal_give_exactly_zero(scale: Any, baseline: Any) -> None:
    scores = {"one": [5.0], "equal": [0.1] * 7, "none": [], "other": [1.0, 0.0]}
    found = group_advantages(scores, scale=scale, baseline=baseline)
    assert {name: a.tolist() for name, a in found.items() if name != "other"} == {
        "one": [0.0],
        "equal": [0.0] * 7,
        "none": [],
    }
    assert found["other"][0] > 0 > found["other"][1]
    assert not has_signal([0.1] * 7) and not has_signal([5.0]) and not has_signal([]) and has_signal([0.1, 0.2])


def test_groups_do_not_touch_each_other_and_advantages_sum_to_zero() -> None:
    both = group_advantages({"a": [1.0, 2.0, 4.0], "b": [100.0, -100.0]}, baseline="leave_one_out")
    assert both["a"].tolist() == group_advantages({"a": [1.0, 2.0, 4.0]}, baseline="leave_one_out")["a"].tolist()
    assert [round(a.sum(), 12) for a in both.values()] == [0, 0]


def test_bad_groups_are_refused() -> None:
    with pytest.raises(UserError, match="scale: got 'max', allowed: std or none"):
        group_advantages({}, scale="max")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="baseline: got 'median'"):
        GroupRelative(baseline="median")  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"scores: got .*nan.*, allowed: finite"):
        group_advantages({"g": [1.0, math.nan]})


def test_trajectory_credit_gives_every_turn_what_its_trajectory_deserves() -> None:
    rewards = {"g": [np.array([0.0, 1.0]), np.array([0.0])], "flat": [np.array([1.0]), np.array([0.5, 0.5])]}
    found = GroupRelative(scale="none", baseline="leave_one_out")(rewards)
    assert [a.tolist() for a in found["g"]] == [[1.0, 1.0], [-1.0]]
    assert [a.tolist() for a in found["flat"]] == [[0.0], [0.0, 0.0]]


# --- to tokens -------------------------------------------------------------------------------------------------------


def sample() -> Sample:
    """Three turns in two rows: the second row began because a prompt did not extend the first."""
    first = Row(ids=array("i", range(6)), agent=b"\0\1\1\0\1\1", turns=array("i", [-1, 0, 0, -1, 1, 1]))
    second = Row(ids=array("i", range(3)), agent=b"\0\0\1", turns=array("i", [-1, -1, 2]))
    return Sample(rows=(first, second), trajectory="t", group="g", task="k", env="e", kind="win", score=1.0,
                  rewards=(0.0, 0.0, 1.0), tags={})  # fmt: skip


def test_credit_reaches_the_tokens_of_its_turn_and_no_others() -> None:
    assert [a.tolist() for a in broadcast(sample(), [0.5, -1.0, 2.0])] == [[0, 0.5, 0.5, 0, -1, -1], [0, 0, 2]]
    assert [a.tolist() for a in broadcast(sample(), -0.5)] == [[0, -0.5, -0.5, 0, -0.5, -0.5], [0, 0, -0.5]]
    after = with_advantages(sample(), -0.5)
    assert after.rows[0].advantages is not None and after.rows[0].advantages.tolist()[1] == -0.5
    assert after.rows[0].ids.tolist() == sample().rows[0].ids.tolist() and after.rewards == sample().rewards
    with pytest.raises(UserError, match=r"values: got \(2,\), allowed: one number per turn"):
        broadcast(sample(), [1.0, 2.0])
    with pytest.raises(UserError, match="trajectory t are not finite"):
        broadcast(sample(), math.inf)


# --- bias ------------------------------------------------------------------------------------------------------------
# Two decisions. First stop (return 1) or continue; then stop (return 0) or continue (return 3). One logit each.

LOGITS = (-1.0, -0.5)
RETURNS = (1.0, 0.0, 3.0)
Estimate = Callable[[Sequence[float]], Sequence[float]]


def outcomes() -> list[tuple[float, np.ndarray, float]]:
    """Probability, gradient of its logarithm, and return of the three trajectories."""
    p, q = (1 / (1 + math.exp(-x)) for x in LOGITS)
    chances = (1 - p, p * (1 - q), p * q)
    scores = ((-p, 0.0), (1 - p, -q), (1 - p, 1 - q))
    return [(c, np.array(s), r) for c, s, r in zip(chances, scores, RETURNS, strict=True)]


def gradient() -> np.ndarray:
    """The derivative of the expected return, exactly."""
    return np.sum([p * r * score for p, score, r in outcomes()], axis=0)


def expected(n: int, **options: Any) -> np.ndarray:
    """The expectation over all groups of n trajectories of the mean of advantage times score."""
    total = np.zeros(2)
    for group in product(outcomes(), repeat=n):
        advantages = group_advantages({0: [r for _, _, r in group]}, **options)[0]
        estimate = np.mean([a * score for a, (_, score, _) in zip(advantages, group, strict=True)], axis=0)
        total += math.prod(p for p, _, _ in group) * estimate
    return total


def compared(estimate: np.ndarray) -> tuple[float, float]:
    """Length beside the gradient's, and the angle between them in degrees."""
    exact = gradient()
    lengths = float(np.linalg.norm(estimate)), float(np.linalg.norm(exact))
    cosine = min(1.0, float(estimate @ exact) / math.prod(lengths))
    return lengths[0] / lengths[1], math.degrees(math.acos(cosine))


def test_the_gradient_by_hand() -> None:
    """J = (1 - p) + 3 p q: dJ/dx = p (1 - p) (3 q - 1), dJ/dy = 3 p q (1 - q)."""
    p, q = (1 / (1 + math.exp(-x)) for x in LOGITS)
    assert gradient() == pytest.approx([p * (1 - p) * (3 * q - 1), 3 * p * q * (1 - q)])
    assert sum(chance for chance, _, _ in outcomes()) == pytest.approx(1.0)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_leave_one_out_is_unbiased(n: int) -> None:
    assert expected(n, scale="none", baseline="leave_one_out") == pytest.approx(gradient(), rel=1e-12)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_mean_of_the_whole_group_shortens_the_gradient(n: int) -> None:
    assert expected(n, scale="none", baseline="mean") == pytest.approx((n - 1) / n * gradient(), rel=1e-12)


def test_dividing_by_the_deviation_turns_the_gradient() -> None:
    for baseline in ("mean", "leave_one_out"):
        assert compared(expected(4, scale="std", baseline=baseline))[1] > 5.0


def test_the_numbers_in_the_documentation() -> None:
    rows: list[str] = []
    for baseline, scale in (("leave_one_out", "none"), ("mean", "none"), ("mean", "std")):
        estimate = expected(4, scale=scale, baseline=baseline)
        share, angle = compared(estimate)
        shown = f"({estimate[0]:.3f}, {estimate[1]:.3f}) | {share:.2f} | {angle:.1f} degrees |"
        rows.append(f"| {baseline.replace('_', '-')} | {scale} | {shown}")
    assert credit.__doc__ is not None
    assert f"the gradient is ({gradient()[0]:.3f}, {gradient()[1]:.3f})" in " ".join(credit.__doc__.split())
    assert [row for row in rows if row not in credit.__doc__] == []
