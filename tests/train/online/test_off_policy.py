"""Off-policy correction: GRPO's `cap` by hand, the angles in its module docstring, and the diagnostics."""

from __future__ import annotations

from array import array
from dataclasses import replace
from math import exp, log, nan

import pytest

from tests.cases import each

pytest.importorskip("torch")

import torch
from torch import Tensor

from sonde.core import UserError
from sonde.train.objectives import grpo
from sonde.train.objectives.grpo import GRPO
from sonde.train.online.off_policy import measure_lag, measure_mismatch
from sonde.train.types import Row

from ..batches import batch, doubles
from ..objectives.test_temperature import DEPTH, NODES, PATHS, TREES, Tree, tree
from ..tiny import sample

# --- numbers by hand -------------------------------------------------------------------------------------------------
# Four tokens. pi / pi_start: 1.5, 1, 1, .5; pi_start / pi_sampled: .5, 1, 4, 3; advantages 1, -1, 1, -1.

RATIO, WEIGHT, ADVANTAGE = [1.5, 1.0, 1.0, 0.5], [0.5, 1.0, 4.0, 3.0], [[1.0, -1.0, 1.0, -1.0]]
START = [-5.0, -4.0, -3.0, -2.0]
SAID = doubles([[p + log(r) for p, r in zip(START, RATIO, strict=True)]])
SAMPLED = [[p - log(w) for p, w in zip(START, WEIGHT, strict=True)]]
SEEN = batch([[1] * 4], [0], sampled_RT=SAMPLED, proximal_RT=[START], advantage_RT=ADVANTAGE)


def total(objective: GRPO, said: Tensor = SAID) -> Tensor:
    return objective(said, SEEN).total


def test_golden_weights() -> None:
    # about pi_start: -1.28, 1, -1, .8; weighted by .5, 1, min(4, 2) and min(3, 2)
    assert float(total(GRPO(aggregation="token-mean", cap=2.0))) == pytest.approx(-0.64 + 1 - 2 + 1.6, abs=1e-12)
    assert float(total(GRPO(aggregation="token-mean", cap=9.0))) == pytest.approx(-0.64 + 1 - 4 + 2.4, abs=1e-12)
    # about pi_sampled the ratios are .75, 1, 4 and 1.5: -.75, 1, -1.28, 1.5
    assert float(total(GRPO(aggregation="token-mean"))) == pytest.approx(-0.75 + 1 - 1.28 + 1.5, abs=1e-12)


def test_what_is_measured() -> None:
    metrics = GRPO(cap=2.0)(SAID, SEEN).metrics
    found = {name: float(metrics[name][0]) / float(metrics[name][1]) for name in ("ratio", "capped", "clipped_high")}
    assert found == {"ratio": 1.0, "capped": 0.5, "clipped_high": 0.25}
    assert "capped" not in GRPO()(SAID, SEEN).metrics


def test_the_gradient_is_weighted_and_flows_through_the_policy_alone() -> None:
    said = SAID.clone().requires_grad_()
    total(GRPO(aggregation="token-mean", cap=2.0), said).backward()
    assert said.grad is not None
    # the first is clipped; then weight * ratio * -advantage: 1, -2; the last is clipped too (.5 < .8, A < 0)
    assert said.grad.tolist() == [pytest.approx([0.0, 1.0, -2.0, 0.0], abs=1e-12)]


def test_without_them_there_is_no_cap() -> None:
    bare = batch([[1] * 4], [0], sampled_RT=SAMPLED, advantage_RT=ADVANTAGE)
    with pytest.raises(UserError, match="proximal_RT is missing"):
        GRPO(cap=2.0)(SAID, bare)
    with pytest.raises(UserError, match="grpo: cap: got 0"):
        GRPO(cap=0.0)
    assert "proximal" in GRPO(cap=2.0).needs and "proximal" not in GRPO().needs


# --- the table -------------------------------------------------------------------------------------------------------


def said(logits_XV: Tensor) -> Tensor:
    """Log-probabilities of every path's tokens."""
    return torch.log_softmax(logits_XV, -1)[NODES, PATHS]


def angle(given: Tree, away: float, seed: int, objective: GRPO, *, taken: bool = False) -> float:
    """In degrees, between the gradient of the expected return and the expected step; `taken`: who drew is taken to be
    the policy itself."""
    generator = torch.Generator().manual_seed(1000 + seed)
    noise_XV = torch.randn(given.logits_XV.shape, generator=generator, dtype=torch.float64)
    logits_XV = given.logits_XV.clone().requires_grad_()
    now_PT, then_PT = said(logits_XV), said(given.logits_XV + away * noise_XV)
    path_P = now_PT.sum(-1).exp()
    (true,) = torch.autograd.grad((path_P * given.return_P).sum(), logits_XV, retain_graph=True)
    drawn_P = then_PT.sum(-1).exp()
    advantage_P = drawn_P * (given.return_P - (drawn_P * given.return_P).sum())
    seen = batch(
        [[1] * DEPTH] * len(PATHS), range(len(PATHS)), proximal_RT=now_PT.detach().tolist(),
        sampled_RT=(now_PT if taken else then_PT).detach().tolist(),
        advantage_RT=[[a] * DEPTH for a in advantage_P.tolist()],
    )  # fmt: skip
    (step,) = torch.autograd.grad(-objective(now_PT, seen).total, logits_XV)
    cosine = torch.nn.functional.cosine_similarity(true.flatten(), step.flatten(), 0).clamp(-1, 1)
    return float(torch.rad2deg(torch.arccos(cosine)))


def row(away: float) -> list[float]:
    """Medians over the trees: the clip about who drew, drift not seen, and two caps."""
    plain, capped, free = (GRPO(aggregation="token-mean", cap=cap) for cap in (None, 2.0, 1000.0))
    ways = ((plain, False), (plain, True), (capped, False), (free, False))
    found = [[angle(tree(s), away, s, objective, taken=taken) for s in range(TREES)] for objective, taken in ways]
    return [float(torch.tensor(angles).median()) for angles in found]


def table() -> dict[float, list[float]]:
    assert grpo.__doc__
    lines = grpo.__doc__.partition("| s |")[2].splitlines()
    rows = [[float(x) for x in line.strip("| ").split("|")] for line in lines if line.startswith(("| 0", "| 1"))]
    return {first: rest for first, *rest in rows}


@each("away", [0.03, 0.1, 0.3, 1.0])
def test_the_table_of_angles(away: float) -> None:
    assert row(away) == pytest.approx(table()[away], abs=0.06)


# --- what is measured of samples -------------------------------------------------------------------------------------


def played(versions: tuple[str, ...], weights: list[int], now: list[float], then: list[float]) -> Row:
    agent = bytes(w >= 0 for w in weights)
    return Row(
        ids=array("i", range(len(weights))), agent=agent, turns=array("i", [0] * len(weights)),
        logprobs=array("d", then), proximal=array("d", now), weights=array("i", weights), versions=versions,
    )  # fmt: skip


def test_drift_is_over_the_agents_tokens() -> None:
    one = played(("step-3",), [-1, 0, 0], [nan, -1.0, -2.0], [nan, -1.0, -2.0 - log(2)])
    found = measure_mismatch([replace(sample(0), rows=(one,))])
    assert found["engine_ratio"] == (pytest.approx(1 + 2), 2.0)
    assert found["engine_kl"] == (pytest.approx(2 - 1 - log(2)), 2.0)
    far = played(("step-3",), [0], [-1.0], [-100.0])
    assert measure_mismatch([replace(sample(0), rows=(far,))])["engine_ratio"] == (pytest.approx(exp(20)), 1.0)


def test_lag_is_in_steps_and_bounded() -> None:
    two = played(("step-3", "step-2"), [-1, 0, 1, 1], [0.0] * 4, [0.0] * 4)
    made = [replace(sample(0), rows=(two,))]
    assert measure_lag(made, 3, most=1) == {"lag": (2.0, 3.0)}
    with pytest.raises(UserError, match="weights 'step-2' sampled at step 3, allowed: step-3; does another"):
        measure_lag(made, 3, most=0)
    with pytest.raises(UserError, match="weights 'step-3' sampled at step 2, allowed: step-1 to step-2"):
        measure_lag(made, 2, most=1)
