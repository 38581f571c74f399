"""KTO against values computed by hand."""

from __future__ import annotations

from typing import Any

import pytest

from sonde.core import UserError
from tests.cases import each

pytest.importorskip("torch")
import torch

from sonde.train.objectives.kto import KTO, kto_loss, reference_point

from ..batches import batch, doubles

# Log ratios 2 (good, in two rows: .5 + 1.5), -1 (bad), .5 (good): their mean is .5.
AGENT = [[0, 1], [0, 1], [0, 1], [0, 1]]
OWNER = [0, 0, 1, 2]
LOGPROB = doubles([[-9, -1.0], [-9, -0.5], [-9, -3.0], [-9, -1.5]])
BATCH = batch(AGENT, OWNER, success=[True, False, True], reference_RT=[[-7, -1.5], [-7, -2.0], [-7, -2.0], [-7, -2.0]])
LOW = 0.46257015465625045  # sigmoid(-.15)


def test_reference_point() -> None:
    ratio = doubles([[2, -1, 0.5]])[0].requires_grad_()
    assert float(reference_point(ratio)) == pytest.approx(0.5, abs=1e-12)
    assert not reference_point(ratio).requires_grad
    assert float(reference_point(doubles([[-2, 1]])[0])) == 0.0  # the mean is -.5


def test_golden() -> None:
    # z0 = .5. good: 1 - s(.1 (2 - .5)) = s(-.15); bad: 1 - s(.1 (.5 + 1)) = s(-.15); good: 1 - s(0) = .5
    assert float(KTO()(LOGPROB, BATCH).total) == pytest.approx(2 * LOW + 0.5, abs=1e-12)
    weighted = KTO(desirable=2.0, undesirable=0.5)(LOGPROB, BATCH).total
    assert float(weighted) == pytest.approx(2 * LOW + 0.5 * LOW + 2 * 0.5, abs=1e-12)
    # z0 = 0: s(-.2) = .4501660, s(-.1) = .4750208, s(-.05) = .4875026
    zero = KTO(baseline="zero")(LOGPROB, BATCH).total
    assert float(zero) == pytest.approx(0.4501660026875221 + 0.47502081252106 + 0.48750260351578967, abs=1e-12)


def test_one_value_each() -> None:
    ratio, good = doubles([[1, 1]])[0], torch.tensor([True, False])
    # beta 1, z0 = 1: r - z0 = 0 on both sides
    assert kto_loss(ratio, good, 1.0, 1.0).tolist() == [0.5, 0.5]


def test_no_gradient_through_the_reference_point() -> None:
    logprob = LOGPROB.clone().requires_grad_()
    KTO()(logprob, BATCH).total.backward()
    # d/dr of s(-.1 (r - z0)) is -.1 s (1 - s): .1 * .46257 * .53743 = .0248601 (good -, bad +), .1 / 4 for the last
    g = 0.1 * LOW * (1 - LOW)
    assert logprob.grad is not None
    assert logprob.grad.flatten().tolist() == pytest.approx([0, -g, 0, -g, 0, g, 0, -0.025], abs=1e-12)


def test_metrics() -> None:
    metrics = {name: [float(x) for x in pair] for name, pair in KTO()(LOGPROB, BATCH).metrics.items()}
    assert metrics["reward_good"] == pytest.approx([0.25, 2])
    assert metrics["reward_bad"] == pytest.approx([-0.1, 1])
    assert metrics["reference_point"] == pytest.approx([1.5, 3])
    assert metrics["nll"] == pytest.approx([6, 4])


def test_a_single_sample_is_its_own_reference_point() -> None:
    # as the docstring warns: a lone good sample with ratio 2 has loss .5 whatever it gains
    alone = batch(AGENT[:2], [0, 0], success=[True], reference_RT=[[0, -1.5], [0, -2.0]])
    assert float(KTO()(LOGPROB[:2], alone).total) == pytest.approx(0.5, abs=1e-12)
    assert float(KTO(baseline="zero")(LOGPROB[:2], alone).total) == pytest.approx(0.4501660026875221, abs=1e-12)


def test_only_one_kind() -> None:
    only = batch(AGENT, OWNER, success=[False] * 3, reference_RT=[[0, -1.5], [0, -2.0], [0, -2.0], [0, -2.0]])
    loss = KTO()(LOGPROB, only)
    assert [float(x) for x in loss.metrics["reward_good"]] == [0, 0]
    assert float(loss.total) == pytest.approx(1 - LOW + LOW + 0.5, abs=1e-12)


@each("options", [{"beta": -1.0}, {"desirable": -1.0}, {"undesirable": float("nan")}, {"baseline": "mean"}])
def test_refuses(options: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"kto: .*allowed"):
        KTO(**options)
    assert (KTO().name, KTO().unit, KTO().needs) == ("kto", "sample", frozenset({"reference"}))
