"""Supervised fine-tuning and reward-weighted regression against values computed by hand."""

from __future__ import annotations

from math import e
from typing import Any

import pytest

from sonde.core import UserError
from tests.cases import each

pytest.importorskip("torch")
import torch

from sonde.train.objectives.rwr import RWR, centred_weights, exponential_weights, weighted_nll
from sonde.train.objectives.sft import SFT, sample_nll, token_nll
from sonde.train.types import count_units

from ..batches import batch, doubles

# Sample 0 says .5 and 1.5 (row 0) and 1 (row 1), sample 1 says 2, sample 2 says 3. What is 9 is not the agent's.
AGENT = [[0, 1, 1], [0, 0, 1], [0, 1, 0], [0, 0, 1]]
OWNER = [0, 0, 1, 2]
LOGPROB = doubles([[0, -0.5, -1.5], [-9, -9, -1], [0, -2, -9], [0, 0, -3]])
BATCH = batch(AGENT, OWNER, score=[0.0, 1.0, 2.0])


def test_token_nll() -> None:
    # .5 + 1.5 + 1 + 2 + 3 = 8 over 5 tokens
    assert float(token_nll(LOGPROB, BATCH)) == pytest.approx(8.0, abs=1e-12)
    loss = SFT()(LOGPROB, BATCH)
    assert float(loss.total) / count_units(BATCH, SFT().unit) == pytest.approx(1.6, abs=1e-12)
    total, count = loss.metrics["nll"]
    assert (float(total), int(count)) == (8.0, 5)


def test_sample_nll() -> None:
    # (.5 + 1.5 + 1) / 3 = 1, 2 / 1 = 2, 3 / 1 = 3; their mean is 2, while the mean over tokens is 1.6
    assert sample_nll(LOGPROB, BATCH).tolist() == pytest.approx([1.0, 2.0, 3.0], abs=1e-12)
    objective = SFT(mean="sample")
    assert float(objective(LOGPROB, BATCH).total) / count_units(BATCH, objective.unit) == pytest.approx(2.0, abs=1e-12)


def test_what_sft_is() -> None:
    assert (SFT().name, SFT().unit, SFT(mean="sample").unit, SFT().needs) == ("sft", "token", "sample", frozenset())
    with pytest.raises(UserError, match="sft: mean: got 'pair', allowed: token, sample"):
        SFT(mean="pair")  # type: ignore[arg-type]


def test_a_sample_that_said_nothing_adds_nothing() -> None:
    silent = batch([[0, 1], [0, 0]], [0, 1])
    logprob = doubles([[0, -1], [0, 0]]).requires_grad_()
    total = SFT(mean="sample")(logprob, silent).total
    total.backward()
    assert float(total.detach()) == 1.0
    assert logprob.grad is not None
    assert logprob.grad.tolist() == [[0, -1], [0, 0]]


def test_half_precision_is_summed_in_single() -> None:
    # 4,097 tokens of -1: bfloat16 cannot hold 4,097, half precision's steps are 4 there
    long = batch([[1] * 4097], [0])
    for dtype in (torch.bfloat16, torch.float16):
        assert float(token_nll(-torch.ones(1, 4097, dtype=dtype), long)) == 4097.0


def test_exponential_weights() -> None:
    # e^0, e^1, and e^2 = 7.39 held at 3; at temperature 2: 1, e^.5 = 1.648721, e
    scores = doubles([[0, 1, 2]])[0]
    assert exponential_weights(scores, 1.0, 3.0).tolist() == pytest.approx([1, e, 3], abs=1e-12)
    assert exponential_weights(scores, 2.0, 3.0).tolist() == pytest.approx([1, 1.6487212707001282, e], abs=1e-12)


def test_centred_weights() -> None:
    scores = doubles([[0, 1, 2]])[0]
    assert centred_weights(scores, None).tolist() == [-1, 0, 1]
    assert centred_weights(scores, 0.5).tolist() == [-0.5, 0.5, 1.5]
    with pytest.raises(UserError, match="rwr: centre: got None"):
        centred_weights(scores[:1], None)


def test_rwr() -> None:
    # sample sums of -log pi: 3, 2, 3. exp: 3 * 1 + 2 * e + 3 * 3 = 12 + 2e; centred: -3 + 0 + 3 = 0; centre .5: 4
    assert float(RWR()(LOGPROB, BATCH).total) == pytest.approx(12 + 2 * e, abs=1e-12)
    assert float(RWR(weighting="centred")(LOGPROB, BATCH).total) == pytest.approx(0.0, abs=1e-12)
    assert float(RWR(weighting="centred", centre=0.5)(LOGPROB, BATCH).total) == pytest.approx(4.0, abs=1e-12)
    assert float(weighted_nll(LOGPROB, doubles([[1, 0, 2]])[0], BATCH)) == pytest.approx(9.0, abs=1e-12)
    metrics = RWR()(LOGPROB, BATCH).metrics
    assert [float(x) for x in metrics["weight"]] == pytest.approx([4 + e, 3])


@each("options",
    [
        {"weighting": "linear"}, {"temperature": 0.0}, {"max_weight": -1.0}, {"centre": 1.0},
        {"weighting": "centred", "centre": float("nan")},
    ],
)  # fmt: skip
def test_rwr_refuses(options: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"rwr: .*allowed"):
        RWR(**options)


def test_scores_must_be_numbers() -> None:
    with pytest.raises(UserError, match="score_S holds 1 values that are not finite"):
        RWR()(LOGPROB, batch(AGENT, OWNER, score=[0.0, float("nan"), 1.0]))
