"""DPO and its relatives, and SimPO, against values computed by hand."""

from __future__ import annotations

from typing import Any

import pytest

from sonde.core import UserError
from tests.cases import each

pytest.importorskip("torch")

from sonde.train.objectives.dpo import DPO, chosen_nll, ipo_loss, log_ratios, sigmoid_loss
from sonde.train.objectives.ipo import IPO
from sonde.train.objectives.ln_dpo import LnDPO
from sonde.train.objectives.rpo import RPO
from sonde.train.objectives.simpo import SimPO, simpo_loss
from sonde.train.types import count_units

from ..batches import batch, doubles

# One pair. Chosen: two rows with tokens -1, -2 and -.5, reference -1.5, -2.5 and -1.5, so its ratio is .5 + .5 + 1 = 2.
# Rejected: one token -3, reference -2, ratio -1. What is marked 7 and 9 is the environment's.
AGENT = [[0, 1, 1], [0, 0, 1], [0, 1, 0]]
OWNER = [0, 0, 1]
LOGPROB = doubles([[0, -1, -2], [-9, -9, -0.5], [0, -3, -9]])
BATCH = batch(AGENT, OWNER, reference_RT=[[0, -1.5, -2.5], [-7, -7, -1.5], [0, -2, -7]])
DPO_LOSS = 0.5543552444685272  # delta = 3, beta delta = .3, log(1 + exp(-.3)) = log 1.7408182
CHOSEN_NLL = 3.5 / 3  # (1 + 2 + .5) / 3


def test_ratios() -> None:
    assert log_ratios(LOGPROB, BATCH).tolist() == pytest.approx([2, -1], abs=1e-12)
    assert log_ratios(LOGPROB, BATCH, normalise=True).tolist() == pytest.approx([2 / 3, -1], abs=1e-12)
    assert chosen_nll(LOGPROB, BATCH).tolist() == pytest.approx([CHOSEN_NLL], abs=1e-12)


def test_losses_of_differences() -> None:
    delta = doubles([[3, 0, -3]])[0]
    # log(1 + e^-.3), log 2, log(1 + e^.3) = the first + .3
    expected = [DPO_LOSS, 0.6931471805599453, DPO_LOSS + 0.3]
    assert sigmoid_loss(delta, 0.1).tolist() == pytest.approx(expected, abs=1e-12)
    # .9 * .5543552 + .1 * .8543552 = .5843552
    assert float(sigmoid_loss(delta, 0.1, 0.1)[0]) == pytest.approx(DPO_LOSS + 0.03, abs=1e-12)
    # 1 / (2 * .5) = 1: (3 - 1)^2, (0 - 1)^2, (-3 - 1)^2
    assert ipo_loss(delta, 0.5).tolist() == pytest.approx([4, 1, 16], abs=1e-12)
    # 2.5 * .56 - 1.4 = 0: log 2
    assert float(simpo_loss(doubles([[0.56]]), doubles([[0]]), 2.5, 1.4)) == pytest.approx(expected[1], abs=1e-12)


@each(
    "objective, expected",
    [
        (DPO(), DPO_LOSS),
        (DPO(label_smoothing=0.1), DPO_LOSS + 0.03),
        (DPO(alpha=0.5), DPO_LOSS + 0.5 * CHOSEN_NLL),
        (RPO(), DPO_LOSS + CHOSEN_NLL),
        (IPO(), (5 / 3 - 5) ** 2),  # mean ratios 2/3 and -1, 1 / (2 * .1) = 5
        (IPO(normalise=False), 4.0),  # (3 - 5)^2
        (LnDPO(), 0.6132820580996374),  # log(1 + exp(-.1 * 5/3)) = log 1.8464817
        (SimPO(), 0.040611348699852945),  # 2.5 * (-3.5/3 + 3) - 1.4 = 3.1833333, log(1 + exp(-3.1833333))
    ],
)
def test_golden(objective: DPO | SimPO, expected: float) -> None:
    assert float(objective(LOGPROB, BATCH).total) == pytest.approx(expected, abs=1e-9)
    assert count_units(BATCH, objective.unit) == 1


def test_gradient() -> None:
    logprob = LOGPROB.clone().requires_grad_()
    DPO()(logprob, BATCH).total.backward()
    g = 0.1 * 0.425557483188341  # beta sigmoid(-beta delta) = .1 * sigmoid(-.3)
    assert logprob.grad is not None
    assert logprob.grad.tolist() == [
        pytest.approx([0, -g, -g]),
        pytest.approx([0, 0, -g]),
        pytest.approx([0, g, 0]),
    ]


def test_metrics() -> None:
    metrics = {name: [float(x) for x in pair] for name, pair in RPO()(LOGPROB, BATCH).metrics.items()}
    assert metrics["reward_margin"] == pytest.approx([0.3, 1])
    assert metrics["accuracy"] == [1, 1]
    assert metrics["log_ratio_chosen"] == pytest.approx([2, 1])
    assert metrics["log_ratio_rejected"] == pytest.approx([-1, 1])
    assert metrics["nll"] == pytest.approx([3.5, 3])  # of the chosen, per token
    simpo = {name: [float(x) for x in pair] for name, pair in SimPO()(LOGPROB, BATCH).metrics.items()}
    assert simpo["reward_margin"] == pytest.approx([2.5 * 5.5 / 3, 1])
    assert (simpo["accuracy"], simpo["nll"]) == ([1, 1], pytest.approx([3.5, 3]))


def test_far_from_the_reference_the_loss_stays_finite() -> None:
    # beta delta = -1,000: log sigmoid must not underflow; its slope is 1
    delta = doubles([[-10_000]])[0].requires_grad_()
    loss = sigmoid_loss(delta, 0.1)
    loss.sum().backward()
    assert (loss.tolist(), delta.grad) == ([pytest.approx(1000)], doubles([[-0.1]])[0])


def test_names_units_needs() -> None:
    named = [DPO(), RPO(), IPO(), LnDPO(), SimPO()]
    assert [o.name for o in named] == ["dpo", "rpo", "ipo", "ln_dpo", "simpo"]
    assert {o.unit for o in named} == {"pair"}
    assert [o.needs for o in named] == [frozenset({"reference"})] * 4 + [frozenset()]
    assert DPO(alpha=1.0)(LOGPROB, BATCH).total == RPO()(LOGPROB, BATCH).total


@each("kind, options, field",
    [
        (DPO, {"beta": 0.0}, "dpo: beta"), (RPO, {"alpha": -1.0}, "rpo: alpha"),
        (DPO, {"shape": "hinge"}, "dpo: shape"), (DPO, {"label_smoothing": 0.5}, "dpo: label_smoothing"),
        (IPO, {"label_smoothing": 0.1}, "ipo: label_smoothing"),
        (SimPO, {"beta": float("inf")}, "simpo: beta"), (SimPO, {"gamma": -0.1}, "simpo: gamma"),
    ],
)  # fmt: skip
def test_refuses(kind: Any, options: dict[str, Any], field: str) -> None:
    with pytest.raises(UserError, match=rf"{field}: got .*allowed"):
        kind(**options)


def test_needs_pairs_and_a_reference() -> None:
    with pytest.raises(UserError, match="reference_RT is missing"):
        DPO()(LOGPROB, batch(AGENT, OWNER))
    with pytest.raises(UserError, match="1 samples are not pairs"):
        SimPO()(LOGPROB[:1], batch(AGENT[:1], OWNER[:1]))
    with pytest.raises(UserError, match="reference_RT holds 1 values that are not finite"):
        nan = float("nan")  # off the agent's tokens it does no harm
        DPO()(LOGPROB, batch(AGENT, OWNER, reference_RT=[[nan, 0, 0], [nan, 0, 0], [nan, nan, 0]]))
