"""Numbers by hand, properties, and whether 95 % intervals hold the truth 95 times in 100."""

from __future__ import annotations

from dataclasses import astuple
from itertools import combinations
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.core import UserError
from sonde.evaluation.metrics import (
    Estimate,
    anchored_score,
    difference_over_seeds,
    estimate,
    max_unseen_share,
    mean,
    mean_at,
    mean_of_estimates,
    paired_difference,
    pass_at,
    rate,
    success_within,
)
from tests.cases import each

BITS = st.lists(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=5), min_size=1, max_size=12)
VALUES = st.lists(st.lists(st.floats(-10, 10), min_size=1, max_size=4), min_size=1, max_size=8)


# --- pass@k --------------------------------------------------------------------------------------------------------


@each(
    "n, wins, k, expected",
    [(4, 0, 4, 0.0), (4, 4, 1, 1.0), (4, 2, 2, 5 / 6), (10, 3, 5, 11 / 12), (4, 1, 4, 1.0), (5, 2, 1, 0.4)],
)
def test_pass_at_by_hand(n: int, wins: int, k: int, expected: float) -> None:
    assert pass_at(n, wins, k) == pytest.approx(expected, abs=1e-12)


@given(st.integers(1, 7).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_counts_subsets(case: tuple[int, int, int]) -> None:
    n, wins, k = case
    subsets = list(combinations(range(n), k))
    assert pass_at(n, wins, k) == pytest.approx(sum(min(s) < wins for s in subsets) / len(subsets))


@each("n, k", [(128, 128), (128, 64), (256, 128), (3000, 128), (3000, 1500)])
def test_pass_at_holds_for_many_samples(n: int, k: int) -> None:
    """Against the product form, 1 - prod(1 - k / i) for i from n - wins + 1 to n (Chen et al. 2021, figure 3)."""
    chances = [pass_at(n, wins, k) for wins in range(n + 1)]
    for wins in range(0, n + 1, 7):
        lost = np.prod(1.0 - k / np.arange(n - wins + 1, n + 1)) if n - wins >= k else 0.0
        assert chances[wins] == pytest.approx(1.0 - lost, rel=1e-11, abs=1e-15)
    assert chances[0] == 0.0 and chances[1] == pytest.approx(k / n) and chances[-1] == 1.0
    assert chances == sorted(chances)


@each("n, wins, k", [(4, 1, 0), (4, 1, 5), (4, 5, 1), (4, -1, 1)])
def test_pass_at_refuses_what_cannot_be(n: int, wins: int, k: int) -> None:
    with pytest.raises(UserError, match=f"pass_at: got n={n}, wins={wins}, k={k}"):
        pass_at(n, wins, k)


# --- rates ---------------------------------------------------------------------------------------------------------


def test_a_rate_without_repeats_is_wilsons_interval() -> None:
    # Published: 15 of 50 gives 0.1910 to 0.4375, 0 of 10 gives 0 to 0.2775.
    found = rate([[1.0]] * 15 + [[0.0]] * 35)
    assert (found.mean, found.n) == (0.3, 50)
    assert (found.low, found.high) == pytest.approx((0.1910, 0.4375), abs=5e-5)
    none = rate([[0.0]] * 10)
    assert (none.mean, none.low) == (0.0, 0.0)
    assert none.high == pytest.approx(0.2775, abs=5e-5)


def test_repeats_of_a_task_count_for_what_they_are_worth() -> None:
    """Samples that always agree are worth one; samples that vary freely are worth all of them."""
    once = [[1.0]] * 15 + [[0.0]] * 35
    copied = rate([row * 4 for row in once])
    assert (copied.low, copied.high) == pytest.approx((rate(once).low, rate(once).high), abs=2e-3)
    # Task means 0.5, 0, 0.5: 8 would be the effective size, 6 samples are there; Wilson for 2 of 6.
    free = rate([[1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    assert (free.low, free.high) == pytest.approx((0.0968, 0.7000), abs=5e-5)
    assert free.n == 3


def test_partly_correlated_samples_lie_between() -> None:
    # Means 1, 1, 0.5, 0: p = 0.625, variance of the mean 0.229167 / 4, effective size 0.234375 / 0.0572917 = 4.0909.
    found = rate([[1.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    n, p, z2 = 4.090909, 0.625, 3.841459
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = z2**0.5 / (1 + z2 / n) * (p * (1 - p) / n + z2 / (4 * n * n)) ** 0.5
    assert (found.low, found.high) == pytest.approx((centre - half, centre + half), abs=1e-6)


@given(BITS)
def test_a_rate_lies_in_an_interval_inside_0_and_1(table: list[list[float]]) -> None:
    found = rate(table)
    assert 0.0 <= found.low <= found.mean <= found.high <= 1.0
    assert found.high - found.low > 0.05, "so few tasks never give certainty"
    flipped = rate([[1.0 - v for v in row] for row in table])
    assert (1.0 - flipped.high, 1.0 - flipped.low) == pytest.approx((found.low, found.high), abs=1e-9)


def coverage(n_tasks: int, p: float, correlation: float, repeats: int, k: int = 4) -> float:
    """How often `rate` holds p, where each task's own rate is drawn from a Beta with mean p and this correlation."""
    rng = np.random.Generator(np.random.PCG64(7))
    scale = 1.0 / correlation - 1.0 if correlation else 0.0
    hits = 0
    for _ in range(repeats):
        own = rng.beta(p * scale, (1 - p) * scale, n_tasks) if scale else np.full(n_tasks, p)
        found = rate((rng.random((n_tasks, k)) < own[:, None]).astype(float).tolist())
        hits += found.low <= p <= found.high
    return hits / repeats


@each("correlation", [0.0, 0.2, 0.5, 0.9])
@each("n_tasks, p", [(20, 0.2), (50, 0.5), (200, 0.9)])
def test_intervals_hold_the_truth(n_tasks: int, p: float, correlation: float) -> None:
    # 500 runs: the share has a standard error of 0.01 around 0.95.
    assert 0.91 <= coverage(n_tasks, p, correlation, 500) <= 0.99


@pytest.mark.slow
@each("correlation", [0.0, 0.1, 0.3, 0.5, 0.9])
@each("p", [0.05, 0.2, 0.5, 0.9])
@each("n_tasks", [8, 20, 50, 200])
def test_intervals_hold_the_truth_at_length(n_tasks: int, p: float, correlation: float) -> None:
    # Measured: 0.915 to 0.984 with 8 tasks, 0.921 to 0.971 with 20, 0.928 to 0.970 with 50, 0.942 to 0.959 with 200.
    assert 0.91 <= coverage(n_tasks, p, correlation, 4000) <= 0.99


# --- means and differences -----------------------------------------------------------------------------------------


def test_a_mean_weighs_tasks_not_samples() -> None:
    found = mean([[1.0, 3.0], [6.0]])
    assert (found.mean, found.n) == (4.0, 2)
    # Two tasks: resampled means are 2 (a quarter), 4 (half), 6 (a quarter), so the percentiles are 2 and 6; Student's t
    # with one degree of freedom over the normal, 12.706 / 1.960, times the root of 2 / 1 stretches both by 9.168.
    assert (found.low, found.high) == pytest.approx((4.0 - 2 * 9.168, 4.0 + 2 * 9.168), abs=0.01)


def test_the_share_of_what_may_differ_unseen_by_hand() -> None:
    """1 - 0.05^(1/n): 0.95 of one, 1 - 0.8609 of 20; and the rule of three, 3 / n, for many."""
    assert max_unseen_share(1) == pytest.approx(0.95)
    assert max_unseen_share(2) == pytest.approx(1 - 0.05**0.5) == pytest.approx(0.7764, abs=5e-5)
    assert max_unseen_share(20) == pytest.approx(0.1391, abs=5e-5) and (
        1 - max_unseen_share(20)
    ) ** 20 == pytest.approx(0.05)
    assert max_unseen_share(3000) == pytest.approx(3 / 3000, rel=2e-3)


def test_a_mean_of_equal_values_has_the_limits_of_what_was_not_seen() -> None:
    """2.5 in 0 to 10, seven times: 1 - 0.05^(1/7) = 0.3482 may lie at 0 or at 10."""
    found = mean([[2.5, 2.5]] * 7, bounds=(0.0, 10.0))
    assert (found.mean, found.n) == (2.5, 7)
    assert (found.low, found.high) == pytest.approx((2.5 - 0.3482 * 2.5, 2.5 + 0.3482 * 7.5), abs=5e-4)
    one = mean([[1.0, 4.0]], bounds=(0.0, 5.0))
    assert (one.low, one.high) == pytest.approx((2.5 - 0.95 * 2.5, 2.5 + 0.95 * 2.5))
    least = mean([[0.0]] * 20, bounds=(0.0, 4.0))
    assert least.low == 0.0 and least.high == pytest.approx(4 * 0.13911, abs=1e-4)


def test_towards_an_infinite_bound_nothing_can_be_said() -> None:
    assert mean([[2.5, 2.5]] * 7) == Estimate(2.5, 2.5, 2.5, 7)
    half = mean([[2.5]] * 7, bounds=(0.0, float("inf")))
    assert half.high == 2.5 and half.low == pytest.approx(2.5 * (1 - max_unseen_share(7)))


def test_differences_that_are_all_equal_do_not_collapse() -> None:
    """`sonde compare` of 20 tasks that one agent won and the other lost: -1, up to -1 + 2 * 0.1391."""
    won, lost = [[1.0]] * 20, [[0.0]] * 20
    found = paired_difference(lost, won)
    assert str(found) == "-1.000 [-1.000, -0.722]"
    assert str(paired_difference(won, lost)) == "1.000 [0.722, 1.000]"
    assert str(paired_difference(won, won)) == "0.000 [-0.139, 0.139]"
    assert paired_difference(lost, won, bounds=(-6.0, 6.0)) == found  # nothing but 0 and 1 occurs
    assert str(paired_difference([[3.0]] * 20, [[5.0]] * 20, bounds=(0.0, 6.0))) == "-2.000 [-2.556, -0.887]"
    seeds = difference_over_seeds([won] * 3, [lost] * 3)
    assert (seeds.mean, seeds.high) == (1.0, 1.0) and seeds.low == pytest.approx(1 - 2 * max_unseen_share(3))


@each("share", [0.01, 0.05, 0.2])
@each("n", [5, 20, 60])
def test_paired_intervals_hold_a_rare_difference(n: int, share: float) -> None:
    """One agent wins what the other loses in a rare share of tasks; many samples show no difference at all."""
    rng = np.random.Generator(np.random.PCG64(3))
    lost = [[0.0]] * n
    held = 0
    for _ in range(300):
        found = paired_difference([[float(u < share)] for u in rng.random(n)], lost)
        held += found.low <= share <= found.high
    assert held / 300 >= 0.92


def test_limits_stay_inside_the_bounds() -> None:
    found = paired_difference([[1.0], [1.0], [0.0]], [[0.0], [0.0], [0.0]])
    assert found.high == 1.0 and found.low >= -1.0


# --- scores between three points -------------------------------------------------------------------------------------


def test_the_score_of_lmrl_gym_by_hand() -> None:
    """Table 7, fully observed maze: -101, -83, -6.84. Table 6's behaviour cloning, -72.1: 50 + 50 * 10.9 / 76.16."""
    maze = {"low": -101.0, "average": -83.0, "high": -6.84}
    assert [anchored_score(x, **maze) for x in (-101.0, -83.0, -6.84)] == [0.0, 50.0, 100.0]
    assert anchored_score(-72.1, **maze) == pytest.approx(57.156, abs=1e-3)
    assert anchored_score(-92.0, **maze) == pytest.approx(25.0)
    # Beyond the ends along the outer pieces: 18 below the least is another 50 down, 76.16 above the best 50 up.
    assert anchored_score(-119.0, **maze) == pytest.approx(-50.0)
    assert anchored_score(69.32, **maze) == pytest.approx(150.0)


@each("points", [(0.0, 0.0, 1.0), (0.0, 2.0, 1.0), (0.0, float("nan"), 1.0), (-inf, 0.0, 1.0)])
def test_points_out_of_order_are_refused(points: tuple[float, float, float]) -> None:
    with pytest.raises(UserError, match="anchored_score: got low="):
        anchored_score(0.5, low=points[0], average=points[1], high=points[2])


# --- the bootstrap ---------------------------------------------------------------------------------------------------


def test_the_bootstrap_is_close_to_the_normal_interval() -> None:
    rng = np.random.Generator(np.random.PCG64(1))
    values = rng.normal(3.0, 2.0, 400)
    found = mean([[v] for v in values.tolist()])
    error = 1.96 * values.std(ddof=1) / 20
    assert (found.low, found.high) == pytest.approx((values.mean() - error, values.mean() + error), abs=0.03)


@pytest.mark.slow
@each("skewed", [False, True])
@each("n_tasks, least", [(4, 0.89), (8, 0.91), (20, 0.92), (50, 0.92), (200, 0.93)])
def test_the_bootstrap_holds_the_truth(n_tasks: int, least: float, skewed: bool) -> None:
    rng = np.random.Generator(np.random.PCG64(0))
    tables = rng.gamma(2.0, 1.0, (2000, n_tasks, 1)) if skewed else rng.normal(2.0, 1.0, (2000, n_tasks, 4))
    found = [mean(table.tolist(), seed=i) for i, table in enumerate(tables)]
    assert least <= sum(e.low <= 2.0 <= e.high for e in found) / 2000 <= 0.97


@given(VALUES, st.integers(0, 3))
def test_a_mean_is_deterministic_and_inside_its_interval(table: list[list[float]], seed: int) -> None:
    found = mean(table, seed=seed)
    assert found == mean(table, seed=seed)
    assert found.low - 1e-9 <= found.mean <= found.high + 1e-9
    bounded = mean(table, seed=seed, bounds=(found.mean, found.mean))
    assert bounded.low == bounded.high == found.mean


def test_a_difference_pairs_tasks() -> None:
    a, b = [[0.0, 1.0], [5.0], [10.0]], [[0.0], [4.5], [9.5]]
    found = paired_difference(a, b)
    assert found == Estimate(0.5, 0.5, 0.5, 3), "the tasks differ widely, the two by 0.5 in each"
    assert paired_difference(b, a) == Estimate(-0.5, -0.5, -0.5, 3)
    with pytest.raises(UserError, match="difference: got 3 and 2 tasks"):
        paired_difference(a, b[:2])


def test_an_estimate_is_a_rate_exactly_for_zeros_and_ones() -> None:
    bits, values = [[0.0, 1.0], [0.0]], [[0.0, 1.0], [0.5]]
    assert estimate(bits) == rate(bits)
    assert estimate(values) == mean(values)
    assert estimate([[0.0]] * 8).high > 0.2 > mean([[0.0]] * 8).high


@each("table", [[], [[]], [[1.0], []]])
def test_nothing_has_no_mean(table: list[list[float]]) -> None:
    for f in (rate, mean, estimate):
        with pytest.raises(UserError, match="got no values for some task"):
            f(table)


def test_an_average_weighs_all_alike_and_keeps_lopsided_intervals() -> None:
    found = mean_of_estimates([Estimate(0.5, 0.2, 0.6, 300), Estimate(1.0, 0.6, 1.0, 10), Estimate(0.0, 0.0, 0.0, 5)])
    assert found.mean == pytest.approx(0.5)
    assert found.mean - found.low == pytest.approx(0.5 / 3), "3, 4 and 5: the root of squares"
    assert found.high - found.mean == pytest.approx(0.1 / 3)
    assert found.n == 315
    with pytest.raises(UserError, match="got no estimates"):
        mean_of_estimates([])


def test_an_average_of_rates_holds_the_truth_in_95_of_100_runs() -> None:
    rng, truth = np.random.default_rng(0), (0.05, 0.5, 0.9, 0.98, 0.7)
    held = 0
    for _ in range(400):
        found = mean_of_estimates([rate((rng.random((40, 1)) < p).astype(float).tolist()) for p in truth])
        held += found.low <= sum(truth) / len(truth) <= found.high
    assert 0.93 <= held / 400 <= 0.995


# --- success within n turns ----------------------------------------------------------------------------------------


def test_within_by_hand() -> None:
    found = success_within([[2, None], [1, 2]], 4)
    assert [point.mean for point in found] == [0.25, 0.75, 0.75, 0.75]
    assert found[2] == found[1] == rate([[1, 0], [1, 1]])
    assert success_within([[None]], 2)[1].mean == 0.0


@given(st.lists(st.lists(st.none() | st.integers(1, 6), min_size=2, max_size=2), min_size=1, max_size=10))
def test_within_grows_to_the_rate_of_success(turns: list[list[int | None]]) -> None:
    curve = success_within(turns, 6)
    assert [point.mean for point in curve] == sorted(point.mean for point in curve)
    assert curve[-1] == rate([[float(t is not None) for t in row] for row in turns])
    assert curve[:3] == success_within(turns, 3), "the games of a smaller budget are the same ones, cut short"


# --- mean@k ----------------------------------------------------------------------------------------------------------


def test_mean_at_by_hand() -> None:
    """Columns 2/3 and 1/3 are 1/6 from their mean; task means 1/2, 1, 0 deviate by 1/2, over the root of 3."""
    found = mean_at([[1, 0], [1, 1], [0, 0]])
    assert astuple(found) == pytest.approx((2, 0.5, 1 / 6, 0.5 / 3**0.5))
    assert astuple(mean_at([[1, 0, 1]])) == pytest.approx((3, 2 / 3, 2**0.5 / 3, None))
    with pytest.raises(UserError, match=r"mean_at: samples: got \[1, 2\], allowed: the same number of each task"):
        mean_at([[1], [1, 0]])


@given(st.integers(1, 6), st.data())
def test_the_two_deviations_of_mean_at_are_independent(k: int, data: st.DataObject) -> None:
    """Tasks that are won always or never differ between tasks alone; samples alike in all tasks, between columns."""
    bits = data.draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=8))
    by_task, by_sample = mean_at([[bit] * k for bit in bits]), mean_at([bits] * (k + 1))
    assert (by_task.over_samples, by_sample.over_tasks) == pytest.approx((0.0, 0.0), abs=1e-12)
    assert by_task.over_tasks == pytest.approx(np.std(bits, ddof=1) / len(bits) ** 0.5)
    assert by_sample.over_samples == pytest.approx(np.std(bits))


def test_difference_over_seeds_resamples_seeds_and_tasks() -> None:
    a = [[[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]]]  # two seeds, two tasks, two samples
    b = [[[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]]
    found = difference_over_seeds(a, b)
    assert found.mean == pytest.approx((1.0 + 0.5 + 0.5 + 0.5) / 4) and found.n == 2
    assert found.low == pytest.approx(0.5) and found.high == pytest.approx(1.0)  # the least and the most of any draw
    same = difference_over_seeds(a, a)
    assert same.mean == 0.0 and (same.low, same.high) == pytest.approx((-max_unseen_share(2), max_unseen_share(2)))
    with pytest.raises(UserError, match="as many seeds in both"):
        difference_over_seeds(a, b[:1])
