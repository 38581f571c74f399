"""Credit against values computed by hand."""

import math
from array import array
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.core import UserError
from sonde.train.credit import (
    EPS,
    GroupRelative,
    Progress,
    ReturnToGo,
    TurnWise,
    broadcast_to_tokens,
    compute_returns,
    discount_rewards,
    gae,
    group_advantages,
    rounding_of_returns,
    turnwise_advantages,
    with_advantages,
)
from sonde.train.rewards import RewardMix
from sonde.train.types import Row, Sample
from tests.cases import each

# --- returns ---------------------------------------------------------------------------------------------------------


def has_signal(scores: Any) -> bool:
    """Whether a group with these scores teaches anything."""
    return bool(group_advantages({"g": scores})["g"].any())


def test_returns_to_go_by_hand() -> None:
    assert discount_rewards([1.0, 2.0, 4.0], 0.5).tolist() == [1 + 0.5 * (2 + 0.5 * 4), 2 + 0.5 * 4, 4]
    assert discount_rewards([1.0, 2.0, 4.0]).tolist() == [7, 6, 4]
    assert discount_rewards([1.0, 2.0], 0.0).tolist() == [1, 2]
    assert discount_rewards([]).tolist() == []
    assert compute_returns([[1.0, 2.0, 4.0], [], [3.0]], 0.5).tolist() == [3.0, 0.0, 3.0]
    with pytest.raises(UserError, match=r"discount: got 1.5, allowed: 0 to 1"):
        discount_rewards([1.0], 1.5)


def test_gae_by_hand() -> None:
    """Errors with discount 0.9: d0 = 0 + 0.9 * 0.6 - 0.5 = 0.04, d1 = 1 + 0 - 0.6 = 0.4."""
    assert gae([0.0, 1.0], [0.5, 0.6], discount=0.9, lam=0.0) == pytest.approx([0.04, 0.4])
    assert gae([0.0, 1.0], [0.5, 0.6], discount=0.9, lam=0.5) == pytest.approx([0.04 + 0.45 * 0.4, 0.4])
    assert gae([0.0, 1.0], [0.5, 0.6], discount=0.9, lam=0.5, bootstrap=2.0)[1] == pytest.approx(1 + 0.9 * 2 - 0.6)
    with pytest.raises(UserError, match="one per turn: 2"):
        gae([0.0, 1.0], [0.5])


def test_gae_with_lambda_one_is_return_less_value() -> None:
    rewards, values = [0.3, -1.0, 2.0, 0.5], [0.1, 0.9, -0.4, 2.0]
    assert gae(rewards, values, discount=0.8, lam=1.0) == pytest.approx(
        discount_rewards(rewards, 0.8) - np.array(values)
    )


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


@each("scale", ["std", "none"])
@each("baseline", ["mean", "leave_one_out"])
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


def seven_turns(invalid: int, mix: RewardMix) -> Any:
    """A game that was won on turn 7, with one invalid question, on this turn: what it earned does not depend on it."""
    last, asked = np.zeros(7), np.zeros(7)
    last[-1], asked[invalid] = 1.0, 1.0
    return mix({"success": last, "extra_turns": np.ones(7), "invalid": asked, "repeated": np.zeros(7)})


@each("scale", ["std", "none"])
@each("eps", [EPS, 0.0])
def test_rounding_is_no_signal(scale: Any, eps: float) -> None:
    """Equal returns, added up in another order, or with other rewards on one turn: exact zeros in every estimator that
    compares returns; a difference a million times as large as rounding counts."""
    games = [seven_turns(i, RewardMix.from_paper("starpo")) for i in range(7)]
    sums = compute_returns(games)
    assert len(set(sums.tolist())) > 1, "there is no rounding here to tell apart"
    assert not has_signal(sums)
    group = {"g": games}
    assert not any(a.any() for a in GroupRelative(scale=scale, eps=eps)(group)["g"])
    assert not group_advantages({"g": sums}, scale=scale, eps=eps)["g"].any()
    assert [a[0] for a in ReturnToGo()(group)["g"]] == [0.0] * 7  # from the first turn on they earned the same
    better = [games[0] + 1e-9, *games[1:]]
    assert has_signal(compute_returns(better))
    found = [a[0] for a in GroupRelative(scale=scale, eps=eps)({"g": better})["g"]]
    assert found[0] > 0 > max(found[1:])


def test_returns_that_cancel_are_compared_by_what_they_were_made_of() -> None:
    """0.1 ten times less 1 is 1.1e-16 or 0, by the order: the size of the return says nothing of its rounding."""
    rows = [np.array([0.1] * 10 + [-1.0]), np.array([-1.0] + [0.1] * 10)]
    sums = compute_returns(rows)
    assert sums[0] != sums[1] and max(map(abs, sums)) < 1e-15
    assert not any(a.any() for a in GroupRelative(scale="std", eps=0.0)({"g": rows})["g"])


@each("turns", [1, 10, 1000])
def test_no_order_of_the_rewards_goes_beyond_the_bound(turns: int) -> None:
    """200 orders of random rewards of many sizes; and the bound stays below a millionth of the smallest reward."""
    rng = np.random.Generator(np.random.PCG64(turns))
    row = rng.choice([2.0, -0.05, -5.0, 0.1, 1e-3], turns)
    found = compute_returns([rng.permutation(row) for _ in range(200)])
    assert np.ptp(found) <= rounding_of_returns([row]) < 1e-9
    assert not has_signal(rng.permutation([0.3, 0.1 + 0.2])) and not math.isnan(rounding_of_returns([]))


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


# --- per turn --------------------------------------------------------------------------------------------------------

RAGGED = {"g": [[2.0, 1.0, 4.0], [0.0, 3.0], [1.0]], "flat": [[0.1, 5.0], [0.1]], "one": [[7.0, 8.0]], "none": []}


def lists(found: Any) -> dict[str, list[list[float]]]:
    return {group: [row.tolist() for row in rows] for group, rows in found.items()}


def test_turnwise_counts_only_who_is_there() -> None:
    """Turn 0: 2, 0, 1, mean 1, variance (1 + 1 + 0) / 2 = 1. Turn 1: 1, 3, mean 2, variance 2. Turn 2: one alone."""
    assert lists(turnwise_advantages(RAGGED, scale="none")) == {
        "g": [[1, -1, 0], [-1, 1], [0]], "flat": [[0, 0], [0]], "one": [[0, 0]], "none": [],
    }  # fmt: skip
    found = turnwise_advantages(RAGGED)["g"]
    half = 1 / (math.sqrt(2) + 1e-6)
    assert found[0] == pytest.approx([1 / (1 + 1e-6), -half, 0]) and found[1] == pytest.approx([-1 / (1 + 1e-6), half])
    assert turnwise_advantages(RAGGED, eps=1.0)["g"][0][0] == 0.5


def test_turnwise_by_the_code_counts_ended_games_as_zero() -> None:
    """Turn 1: 1, 3, 0, mean 4/3, squares 1/9 + 25/9 + 16/9 = 42/9, variance 21/9. Turn 2: 4, 0, 0, mean 4/3, squares
    64/9 + 16/9 + 16/9 = 96/9, variance 48/9."""
    found = turnwise_advantages(RAGGED, rules="code", eps=0.0)
    assert found["g"][0] == pytest.approx([1, -1 / 3 / math.sqrt(21 / 9), 8 / 3 / math.sqrt(48 / 9)])
    assert found["g"][1] == pytest.approx([-1, 5 / 3 / math.sqrt(21 / 9)]) and found["g"][2] == pytest.approx([0])
    assert found["flat"][0] == pytest.approx([0, 2.5 / math.sqrt(12.5)])
    assert found["one"][0].tolist() == [7, 8]  # a group of one keeps its rewards there
    plain = turnwise_advantages(RAGGED, scale="none", rules="code")
    assert plain["g"][0] == pytest.approx([1, -1 / 3, 8 / 3]) and plain["flat"][1].tolist() == [0]


def test_return_to_go_by_hand() -> None:
    """Left: (7, 5, 4), (3, 3), (1). The others of the first: (3, 3, 3 again) and (1, 1, 1): means 2; of the second: 7
    and 1, then 5 and 1; of the third: 7 and 3."""
    found = lists(ReturnToGo()(arrays(RAGGED)))
    for row, by_hand in zip(found["g"], [[5, 3, 2], [-1, 0], [-4]], strict=True):
        assert row == pytest.approx(by_hand)
    assert found["flat"][0] == pytest.approx([5, 4.9]) and found["flat"][1] == pytest.approx([-5])
    assert found["one"] == [[0, 0]] and found["none"] == []


def arrays(rows: dict[str, list[list[float]]]) -> dict[str, list[np.ndarray]]:
    return {group: [np.array(row) for row in games] for group, games in rows.items()}


def test_return_to_go_of_an_outcome_is_credit_for_the_whole() -> None:
    games = arrays({"g": [[0.0, 0.0, 1.0], [0.0], [0.0, 1.0], [0.0, 0.0]]})
    whole = GroupRelative(scale="none", baseline="leave_one_out")(games)
    assert lists(ReturnToGo()(games))["g"] == [pytest.approx(row.tolist()) for row in whole["g"]]


def test_progress_is_what_a_turn_earned() -> None:
    assert lists(Progress()(arrays(RAGGED)))["g"] == RAGGED["g"]


def test_bad_settings_per_turn_are_refused() -> None:
    with pytest.raises(UserError, match="scale: got 'max', allowed: std or none"):
        turnwise_advantages({}, scale="max")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="eps: got -1"):
        TurnWise(eps=-1.0)
    with pytest.raises(UserError, match=r"scores: got .*nan"):
        ReturnToGo()({"g": [np.array([math.nan]), np.array([1.0])]})
    for rows in ([1.0, 2.0], [[[1.0]]], [["much"]]):  # not one number per turn of each trajectory
        with pytest.raises(UserError, match=r"scores: got .*, allowed: .*one per turn"):
            turnwise_advantages({"g": rows})  # type: ignore[dict-item]


games = st.lists(st.lists(st.floats(-5, 5), min_size=1, max_size=5).map(np.array), min_size=1, max_size=5)


ALL = (TurnWise(), TurnWise(scale="none"), TurnWise(rules="code"), ReturnToGo(), Progress())


@given(games, st.sampled_from(ALL))
def test_credit_keeps_the_arrangement(group: list[np.ndarray], estimator: Any) -> None:
    found = estimator({"g": group, "other": [np.zeros(3)] * 2})
    assert [len(row) for row in found["g"]] == [len(row) for row in group]
    assert not np.array(found["other"]).any() and all(np.isfinite(row).all() for row in found["g"])
    assert found["g"][0].tolist() == estimator({"g": group})["g"][0].tolist()


@given(games, st.floats(-3, 3))
def test_turnwise_sums_to_nothing_and_does_not_feel_what_all_earn(group: list[np.ndarray], price: float) -> None:
    found, priced = (turnwise_advantages({"g": [g + c for g in group]}, scale="none")["g"] for c in (0.0, price))
    for t in range(max(map(len, group))):
        assert sum(row[t] for row in found if len(row) > t) == pytest.approx(0.0, abs=1e-9)
    assert all(a == pytest.approx(b, abs=1e-9) for a, b in zip(found, priced, strict=True))


# --- to tokens -------------------------------------------------------------------------------------------------------


def sample() -> Sample:
    """Three turns in two rows: the second row began because a prompt did not extend the first."""
    first = Row(ids=array("i", range(6)), agent=b"\0\1\1\0\1\1", turns=array("i", [-1, 0, 0, -1, 1, 1]))
    second = Row(ids=array("i", range(3)), agent=b"\0\0\1", turns=array("i", [-1, -1, 2]))
    return Sample(rows=(first, second), trajectory="t", group="g", task="k", env="e", kind="win", score=1.0,
                  rewards=(0.0, 0.0, 1.0), tags={})  # fmt: skip


def test_credit_reaches_the_tokens_of_its_turn_and_no_others() -> None:
    assert [a.tolist() for a in broadcast_to_tokens(sample(), [0.5, -1.0, 2.0])] == [
        [0, 0.5, 0.5, 0, -1, -1],
        [0, 0, 2],
    ]
    assert [a.tolist() for a in broadcast_to_tokens(sample(), -0.5)] == [[0, -0.5, -0.5, 0, -0.5, -0.5], [0, 0, -0.5]]
    after = with_advantages(sample(), -0.5)
    assert after.rows[0].advantages is not None and after.rows[0].advantages.tolist()[1] == -0.5
    assert after.rows[0].ids.tolist() == sample().rows[0].ids.tolist() and after.rewards == sample().rewards
    with pytest.raises(UserError, match=r"values: got \(2,\), allowed: one number per turn"):
        broadcast_to_tokens(sample(), [1.0, 2.0])
    with pytest.raises(UserError, match="trajectory t are not finite"):
        broadcast_to_tokens(sample(), math.inf)
