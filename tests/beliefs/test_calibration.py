"""Elicited beliefs against exact ones: values worked out by hand, and what must hold for any of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import sonde
from sonde.beliefs.calibration import (
    Course,
    assign_bins,
    belief_correlation,
    delta_belief,
    exact_gains,
    kl_divergence,
    mean_by_turn,
    normalise_logprobs,
    reliability_curve,
    split_by_outcome,
    summarise_beliefs,
    total_variation,
    updating_factor,
)
from sonde.core import AGENT, Episode
from sonde.evaluation.metrics import estimate_of_sums
from sonde.runs.rollout import Plan, collect_trajectories
from tests.cases import each

LN2 = math.log(2.0)
weights = arrays(np.float64, 4, elements=st.floats(0.01, 1.0))


def course(
    exact: Any, elicited: Any, *, task: str = "a", won: bool = True, truth: int = 0, over: bool = False
) -> Course:
    """From two tables of probabilities."""
    p, q = np.array(exact, np.float64), np.array(elicited, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = -np.where(p > 0, p * np.log2(p), 0.0).sum(axis=1)
    return Course(
        task=task, won=won, target=np.log(q[:, truth]), elicited=np.log(q), exact=p, truth=truth, entropy=bits,
        exact_truth=p[:, truth], over=over,
    )  # fmt: skip


# --- one belief against another ------------------------------------------------------------------------------------


def test_divergence_and_variation_by_hand() -> None:
    p, q = [0.5, 0.5, 0.0], np.log([0.25, 0.25, 0.5])
    assert kl_divergence(p, q) == pytest.approx(1.0)  # 2 * 0.5 * log2(0.5 / 0.25)
    assert total_variation(p, q) == pytest.approx(0.5)  # (0.25 + 0.25 + 0.5) / 2
    assert kl_divergence([1.0, 0.0], np.array([-math.log(8.0), math.log(7 / 8)])) == pytest.approx(3.0)
    assert kl_divergence([1.0, 0.0], [0.0, -math.inf]) == 0.0
    assert kl_divergence([0.5, 0.5], [0.0, -math.inf]) == math.inf
    assert total_variation([1.0, 0.0], [-math.inf, 0.0]) == 1.0


@given(weights, weights)
def test_divergence_is_positive_and_zero_only_where_equal(a: Any, b: Any) -> None:
    p, log_q = a / a.sum(), normalise_logprobs(np.log(b))
    kl, tv = float(kl_divergence(p, log_q)), float(total_variation(p, log_q))
    assert 0.0 <= tv <= 1.0 and kl >= 0.0
    assert kl_divergence(p, np.log(p)) == pytest.approx(0.0, abs=1e-12)
    assert kl >= 2.0 * tv**2 / LN2 - 1e-12  # Pinsker
    if tv > 1e-6:
        assert kl > 0.0


# --- curves --------------------------------------------------------------------------------------------------------


def test_a_curve_is_the_mean_of_those_still_playing() -> None:
    rows = [
        Course(task="a", won=True, target=np.array([-4.0, -1.0, -0.1])),
        Course(task="b", won=False, target=np.array([-2.0, -3.0, -3.5]), over=False),
    ]
    found = split_by_outcome(rows)
    curve = mean_by_turn(rows, lambda c: c.target[: c.held_count])
    assert [e.mean for e in curve] == [-3.0, -2.0, -3.5] and [e.n for e in curve] == [2, 2, 1]
    assert found["all"].target == curve
    assert [e.mean for e in found["won"].target] == [-4.0, -1.0]
    assert found["all"].reached == (2, 2, 1) and found["lost"].episodes == 1
    assert found["all"].reliability is None and found["all"].divergence == ()


def test_the_turn_that_ends_a_game_is_left_out_of_all_but_curves() -> None:
    told = course([[0.5, 0.5], [0.75, 0.25], [1.0, 0.0]], [[0.5, 0.5], [0.6, 0.4], [0.9, 0.1]], over=True)
    assert delta_belief(told) == pytest.approx([math.log(1.2)])
    found = exact_gains(told)
    assert found is not None and [len(x) for x in found] == [1, 1]
    assert found[0] == pytest.approx([math.log2(1.5)])
    summary = summarise_beliefs([told])
    assert len(summary.divergence) == len(summary.target) == len(summary.exact) == len(summary.believed) == 2
    assert summary.reached == (1, 1)


# --- calibration ---------------------------------------------------------------------------------------------------


def _make_calibrated(n: int = 4) -> list[Course]:
    """Believed a quarter: true in one of four tasks; believed three quarters: in three of four."""
    q = [[0.25, 0.75]]
    return [course(q, q, task=f"t{i}", truth=0 if i == 0 else 1) for i in range(n)]


def test_a_calibrated_construction_has_no_error() -> None:
    found = reliability_curve(_make_calibrated())
    assert found is not None and found.ece.mean == 0.0 and found.ece_exact.mean == 0.0
    assert [(b.believed, b.true.mean, b.exact, b.n) for b in found.bins] == [
        (0.25, 0.25, 0.25, 4),
        (0.75, 0.75, 0.75, 4),
    ]


def test_the_error_by_hand() -> None:
    # 0.9 for the first, which is true in one task of two. Bins 0.1 and 0.9, each half right: |0.1-0.5|, |0.9-0.5|.
    rows = [course([[0.5, 0.5]], [[0.9, 0.1]], task=str(i), truth=i) for i in range(2)]
    found = reliability_curve(rows)
    assert found is not None and found.ece.mean == pytest.approx(0.4) and found.ece_exact.mean == pytest.approx(0.4)
    assert [b.true.mean for b in found.bins] == [0.5, 0.5]
    assert found.ece.low <= 0.4 <= found.ece.high


@given(arrays(np.float64, st.integers(1, 60), elements=st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.9])), st.integers(1, 12))
def test_bins_keep_equal_beliefs_together_and_are_in_order(believed: Any, bins: int) -> None:
    place = assign_bins(believed, bins)
    assert set(place) == set(range(place.max() + 1)) and place.max() < bins
    for a, x in zip(place, believed, strict=True):
        for b, y in zip(place, believed, strict=True):
            assert (a == b) if x == y else (a <= b) == (x < y) or a == b


# --- changes of belief ---------------------------------------------------------------------------------------------


def test_correlation_by_hand() -> None:
    # ΔBelief 0, ln 2, ln 4; truth gains 0, 1, 2 bits: a line.
    target = np.array([-5.0, -5.0, -5.0 + LN2, -5.0 + 3 * LN2])
    p = np.array([1 / 16, 1 / 16, 1 / 8, 1 / 2])
    row = Course(task="a", won=True, target=target, entropy=np.array([4.0, 4.0, 3.0, 3.5]), exact_truth=p, over=False)
    one = belief_correlation([row])
    assert one is not None and one.mean == pytest.approx(1.0)
    # Realised 0, 1, -0.5 against 0, 1, 2 (in units of ln 2): covariance -0.5, variances 7/6 * ... by the formula.
    other = belief_correlation([row], realised=True)
    assert other is not None and other.mean == pytest.approx(np.corrcoef([0, 1, 2], [0, 1, -0.5])[0, 1])
    assert belief_correlation([row], among=True) is None  # no candidates
    flat = Course(task="a", won=True, target=np.zeros(4), entropy=np.zeros(4), exact_truth=p, over=False)
    assert belief_correlation([flat]) is None and belief_correlation([]) is None


def test_gains_shared_by_all_candidates_are_not_belief() -> None:
    """The words lose and gain nats at the turns, whichever is meant; what is believed follows the posterior."""
    p = np.array([[0.5, 0.5], [0.75, 0.25], [0.5, 0.5], [0.8, 0.2]])
    style = np.array([0.0, 5.0, 5.0, 4.0])
    row = Course(
        task="a", won=True, target=np.log(p[:, 0]) - style, elicited=np.log(p), exact=p, exact_truth=p[:, 0],
        entropy=np.zeros(4), over=False,
    )  # fmt: skip
    raw, among = belief_correlation([row]), belief_correlation([row], among=True)
    assert raw is not None and among is not None
    assert among.mean == pytest.approx(1.0) and raw.mean < 0.5
    assert delta_belief(row, among=True) == pytest.approx(np.log([1.5, 2 / 3, 1.6]))


def test_the_updating_factor_by_hand() -> None:
    # The truth's odds go 1 -> 4 exactly, 1 -> 2 as elicited: half in logarithms.
    rows = [course([[0.5, 0.5], [0.8, 0.2]], [[0.5, 0.5], [2 / 3, 1 / 3]])]
    for pairs in (False, True):
        found = updating_factor(rows, pairs=pairs)
        assert found is not None and found.mean == pytest.approx(0.5)


@given(weights, arrays(np.float64, (3, 4), elements=st.floats(0.05, 1.0)), weights, st.floats(0.1, 3.0))
def test_a_tempered_update_is_found_whatever_the_prior(prior: Any, likelihoods: Any, other: Any, a: float) -> None:
    log_p = [np.log(prior)]
    log_q = [np.log(other)]
    for row in likelihoods:
        log_p.append(log_p[-1] + np.log(row))
        log_q.append(log_q[-1] + a * np.log(row))
    rows = [course(np.exp(normalise_logprobs(np.array(log_p))), np.exp(normalise_logprobs(np.array(log_q))))]
    found = updating_factor(rows, pairs=True)
    if any(np.ptp(row) > 0.01 for row in likelihoods):
        assert found is not None and found.mean == pytest.approx(a, rel=1e-6)


def test_replies_that_only_rule_out_speak_on_the_truth_alone() -> None:
    rows = [course([[0.25] * 4, [0.5, 0.5, 0.0, 0.0]], [[0.25] * 4, [0.4, 0.4, 0.1, 0.1]])]
    assert updating_factor(rows, pairs=True) is None
    found = updating_factor(rows)  # exact odds 1/3 -> 1, elicited 1/3 -> 2/3
    assert found is not None and found.mean == pytest.approx(math.log(2.0) / math.log(3.0))
    settled = [course([[1.0, 0.0], [1.0, 0.0]], [[0.5, 0.5], [0.9, 0.1]])]
    assert updating_factor(settled) is None


SMALL = {"best_arm": {"preset": "small"}, "mastermind": {"length": 2, "digits": 4, "max_turns": 6}}


@each("name", SMALL)
def test_believing_the_posterior_is_perfect(name: str) -> None:
    """On real posteriors, of noisy replies and of replies that only rule out."""
    env = sonde.make(name, **SMALL[name])
    rows: list[Course] = []
    for t in collect_trajectories(env, {AGENT: sonde.make("agents:random")}, env.tasks("test")[:12], Plan(k=2)):
        posteriors = [b for ep in Episode.stages(env, t) if (b := ep.posterior()) is not None]
        hypotheses = list(posteriors[0].hypotheses)
        truth = hypotheses.index(env.hypothesis(Episode.replay(env, t).state))
        p = np.array([[b.prob(h) for h in hypotheses] for b in posteriors])
        rows.append(course(p, np.maximum(p, 1e-300), task=t.task.id, truth=truth, over=True))
    found = summarise_beliefs(rows)
    assert found.reliability is not None and found.reliability.ece_exact.mean == pytest.approx(0.0, abs=1e-9)
    assert all(e.mean == pytest.approx(0.0, abs=1e-9) for e in (*found.divergence, *found.variation))
    assert found.correlation_truth is not None and found.correlation_truth.mean == pytest.approx(1.0)
    assert found.updating_truth is not None and found.updating_truth.mean == pytest.approx(1.0)
    if name == "best_arm":
        assert found.updating_pairs is not None and found.updating_pairs.mean == pytest.approx(1.0)
    else:
        assert found.updating_pairs is None


# --- intervals -----------------------------------------------------------------------------------------------------


def test_the_interval_of_a_slope_holds_the_truth_over_tasks() -> None:
    """Slopes of tasks vary about 0.5; 200 draws of 12 tasks of 10 turns each."""
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(200):
        x = rng.normal(size=(12, 10))
        y = (0.5 + 0.3 * rng.normal(size=(12, 1))) * x + 0.2 * rng.normal(size=(12, 10))
        found = estimate_of_sums(np.stack([(x * x).sum(1), (x * y).sum(1)], axis=1), lambda s: s[..., 1] / s[..., 0])
        assert found is not None
        held += found.low <= 0.5 <= found.high
    assert 178 <= held <= 198


def test_sums_without_a_value_have_no_estimate() -> None:
    assert estimate_of_sums(np.zeros((0, 2)), lambda s: s[..., 0]) is None
    assert estimate_of_sums(np.zeros((3, 2)), lambda s: s[..., 0] / s[..., 1]) is None
    one = estimate_of_sums([[1.0, 2.0]], lambda s: s[..., 0] / s[..., 1], bounds=(0.0, 1.0))
    assert one is not None and one.mean == 0.5 and (one.low, one.high) == pytest.approx((0.025, 0.975))


def test_lengths_are_checked() -> None:
    with pytest.raises(sonde.core.UserError, match="course: exact: got 1 rows, allowed: as many as target has, 2"):
        Course(task="a", won=True, target=np.zeros(2), exact=np.ones((1, 1)))
