"""Distances between posteriors, evidence and ranks against values by hand; texts of beliefs and worlds as read."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.core import Rng
from sonde.evaluation.posteriors import (
    Evidence,
    beta_cdf,
    compare_evidence,
    digamma,
    dirichlet_entropy,
    excess_bits,
    is_possible,
    posterior_distance,
    sample_ranks,
    to_posterior,
)
from sonde.evaluation.written_posteriors import read_belief, read_prior, read_world
from sonde.models._shared.json_beliefs import json_block, sample_world, update_belief
from tests.cases import each

BETA = {"kind": "beta", "arms": {"A": [1, 1], "B": [1, 1]}}
CODE = {"kind": "code", "symbols": "0123", "length": 2, "marks": []}
WORLDS = {
    "kind": "worlds",
    "pays": "bernoulli",
    "worlds": [{"weight": 1, "means": {"A": 0.6, "B": 0.4}}, {"weight": 1, "means": {"A": 0.4, "B": 0.6}}],
}
TABLE: dict[str, Any] = {
    "kind": "dirichlet", "transitions": {s: {"x": {"1": 0.5, "2": 0.5}, "y": {"1": 0.5, "2": 0.5}} for s in "12"},
    "rewards": {s: {"x": None, "y": None} for s in "12"}, "pays": [0, 1], "certain": [["2", "y", "1"]],
}  # fmt: skip


def distance(said: Any, exact: Any) -> float:
    return posterior_distance(to_posterior(said), to_posterior(exact))


def test_distances_by_hand() -> None:
    """Beta(2, 1) for Beta(1, 1): BC = B(1.5, 1) / sqrt(1/2) = (2/3) sqrt(2). Half of the codes: BC = sqrt(1/2)."""
    beta = math.sqrt(1 - 2 / 3 * math.sqrt(2))
    assert distance({**BETA, "arms": {"A": [2, 1], "B": [1, 1]}}, BETA) == pytest.approx(beta / 2)
    half = {**CODE, "marks": [["0", 0, "b"]]}  # 6 of the 12 codes have no 0
    assert distance(CODE, half) == pytest.approx(math.sqrt(1 - math.sqrt(0.5)))
    three = {**WORLDS, "worlds": [{**WORLDS["worlds"][0], "weight": 3}, WORLDS["worlds"][1]]}  # type: ignore[index]
    overlap = math.sqrt(0.75 * 0.5) + math.sqrt(0.25 * 0.5)
    assert distance(three, WORLDS) == pytest.approx(math.sqrt(1 - overlap))
    known = {**TABLE, "rewards": {"1": {"x": 1, "y": None}, "2": {"x": None, "y": None}}}
    assert distance(known, TABLE) == pytest.approx(math.sqrt(1 - math.sqrt(0.5)) / 7)  # 3 open rows, 4 rewards
    for belief in (BETA, CODE, WORLDS, TABLE):
        assert distance(belief, belief) == pytest.approx(0.0, abs=1e-7)


def test_excess_bits_by_hand() -> None:
    """The entropy of Beta(2, 1) is log(1/2) + 1/2 nats; one code in place of two is one bit less."""
    assert dirichlet_entropy([1, 1]) == pytest.approx(0.0, abs=1e-12)
    assert dirichlet_entropy([2, 1]) == pytest.approx(0.5 - math.log(2))
    sure = to_posterior({**BETA, "arms": {"A": [2, 1], "B": [1, 1]}})
    assert excess_bits(sure, to_posterior(BETA)) == pytest.approx((0.5 - math.log(2)) / math.log(2))
    two, one = ({**CODE, "candidates": c, "marks": []} for c in (["01", "10"], ["01"]))
    assert excess_bits(to_posterior(one), to_posterior(two)) == pytest.approx(-1.0)
    impossible = {**CODE, "marks": [["0", 0, "g"], ["1", 0, "g"]]}
    assert math.isnan(excess_bits(to_posterior(impossible), to_posterior(CODE)))
    assert digamma(1.0) == pytest.approx(-0.5772156649015329, abs=1e-12)


def test_evidence_by_hand() -> None:
    exact = to_posterior({**BETA, "arms": {"A": [3, 2], "B": [1, 1]}})
    assert compare_evidence(to_posterior({**BETA, "arms": {"A": [2, 2], "B": [1, 3]}}), exact) == Evidence(1, 2)
    marks = [["0", 0, "b"], ["1", 1, "y"]]
    said = {**CODE, "marks": [["0", 0, "b"], ["2", 0, "g"]]}
    assert compare_evidence(to_posterior(said), to_posterior({**CODE, "marks": marks})) == Evidence(1, 1)
    assert compare_evidence(to_posterior(WORLDS), to_posterior(WORLDS)) is None


def test_cumulative_probabilities_by_hand() -> None:
    """Beta(2, 1): x squared. Beta(1/2, 1/2): 2/pi asin sqrt(x). Beta(3, 2): 4 x^3 - 3 x^4."""
    for x in (0.0, 0.1, 0.5, 0.93, 1.0):
        assert beta_cdf(x, 2, 1) == pytest.approx(x * x)
        assert beta_cdf(x, 0.5, 0.5) == pytest.approx(2 / math.pi * math.asin(math.sqrt(x)))
        assert beta_cdf(x, 3, 2) == pytest.approx(4 * x**3 - 3 * x**4)


def test_ranks_by_hand() -> None:
    believed = to_posterior({**BETA, "arms": {"A": [2, 1], "B": [1, 1]}})
    assert sample_ranks(believed, {"means": {"A": 0.5, "B": 0.3}}, Rng(0)) == pytest.approx([0.25, 0.3])
    (rank,) = sample_ranks(to_posterior(WORLDS), {"means": {"A": 0.4, "B": 0.6}}, Rng(0))
    assert 0.5 <= rank <= 1.0
    one = {**CODE, "candidates": ["01"]}
    assert sample_ranks(to_posterior(one), {"code": "01"}, Rng(0)) == []


@given(st.integers(0, 10_000))
def test_ranks_of_exact_draws_are_uniform(seed: int) -> None:
    """Their mean over 40 draws of a table with three open rows and four unseen rewards is within 5 standard errors."""
    rng, believed = Rng(seed), to_posterior(TABLE)
    ranks = [r for _ in range(40) for r in sample_ranks(believed, sample_world(TABLE, rng), rng)]
    assert len(ranks) == 40 * 7 and abs(sum(ranks) / len(ranks) - 0.5) < 5 * math.sqrt(1 / 12 / len(ranks))


@each(
    "belief, world, possible",
    [
        (BETA, {"means": {"A": 0.2, "B": 1.0}}, True),
        (BETA, {"means": {"A": 1.2, "B": 0.5}}, False),
        (WORLDS, {"means": {"A": 0.603, "B": 0.4}}, True),
        (WORLDS, {"means": {"A": 0.6, "B": 0.6}}, False),
        ({**CODE, "marks": [["0", 0, "g"]]}, {"code": "03"}, True),
        ({**CODE, "marks": [["0", 0, "g"]]}, {"code": "30"}, False),
    ],
)
def test_what_a_belief_allows(belief: Any, world: Any, possible: bool) -> None:
    assert is_possible(to_posterior(belief), belief, world) is possible


def test_what_a_table_allows() -> None:
    row = {"observation": "1", "action": "x", "next": "2", "reward": 1.0}
    belief = update_belief(TABLE, row)
    world = sample_world(belief, Rng(3))
    posterior = to_posterior(belief)
    assert is_possible(posterior, belief, world)
    other_reward, moved, too_much = (copy.deepcopy(world) for _ in range(3))
    other_reward["rewards"]["1"]["x"] = 0.0
    moved["transitions"]["2"]["y"] = {"1": 0.5, "2": 0.5}
    too_much["transitions"]["1"]["x"] = {"1": 0.9, "2": 0.9}
    assert not any(is_possible(posterior, belief, bad) for bad in (other_reward, moved, too_much))


# --- reading ---------------------------------------------------------------------------------------------------------


@each(
    "text, prior, arms",
    [
        (json_block(belief={"kind": "beta", "arms": {"A": [2, 1], "B": [1, 4]}}), BETA, {"A": [2, 1], "B": [1, 4]}),
        (json_block(belief={"arms": {"A": [2, 1]}}), BETA, {"A": [2, 1], "B": [1, 1]}),
        ("I count again.\n- A: Beta(2, 1)\n- **Arm B**: Beta(1.5, 4)", BETA, {"A": [2, 1], "B": [1.5, 4]}),
        ("A seems better.", BETA, None),
        (json_block(belief={"kind": "beta", "arms": {"A": [0, 1]}}), BETA, None),
        (json_block(belief={"kind": "beta", "arms": {"A": ["many", 1]}}), BETA, None),
        (json_block(belief={"kind": "code", "marks": []}), BETA, None),
        (json_block(belief="gut feeling"), BETA, None),
    ],
)
def test_beliefs_about_arms_are_read(text: str, prior: Any, arms: Any) -> None:
    found = read_belief(text, prior)
    assert (found and found["arms"]) == arms


def test_other_beliefs_are_read() -> None:
    row = {"observation": "1", "action": "x", "next": "2", "reward": 1.0}
    table = update_belief(TABLE, row)
    assert read_belief(json_block(belief=table), TABLE) == table
    forgot = {"transitions": {"1": {"x": {"1": 0.5, "2": 1.5}}}, "rewards": {"1": {"x": 1.0}}}
    assert read_belief(json_block(belief=forgot), TABLE) == table  # rows left out are as in the prior
    short = read_belief(json_block(belief={"marks": [["0", 0, "b"]], "candidates": ["12", "99"]}), CODE)
    assert short is not None and to_posterior(short).choices["code"] == {"12": 1.0}
    assert read_belief(json_block(belief={"marks": [["0", 7, "b"]]}), CODE) is None
    assert read_belief(json_block(belief={"worlds": [{"means": {"A": 0.6, "B": 0.4}}]}), WORLDS) is not None
    assert read_belief(json_block(belief={"worlds": [{"means": {"A": 0.6}}]}), WORLDS) is None
    assert read_prior("Everything is possible.") is None and read_prior(json_block(belief=CODE)) == CODE


@each(
    "text, prior, world",
    [
        (json_block(hypothesis={"means": {"A": 0.25, "B": 0.5}}), BETA, {"means": {"A": 0.25, "B": 0.5}}),
        ("- A: 0.25\n- B = .5", BETA, {"means": {"A": 0.25, "B": 0.5}}), ("A pays more.", BETA, None),
        ("The code is 02.", CODE, {"code": "02"}), ("Either 02 or 03.", CODE, None),
        (json_block(hypothesis={"code": "021"}), CODE, None), (json_block(hypothesis={"transitions": {}}), TABLE, None),
        ("", TABLE, None),
    ],
)  # fmt: skip
def test_sampled_worlds_are_read(text: str, prior: Any, world: Any) -> None:
    assert read_world(text, prior) == world
