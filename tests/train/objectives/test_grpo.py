"""The clipped policy gradient against values computed by hand."""

from __future__ import annotations

from math import exp, log
from typing import Any

import pytest

from sonde.core import UserError
from tests.cases import each

pytest.importorskip("torch")
import torch

from sonde.train.objectives.grpo import GRPO, clipped_loss, k3_divergence, log_ratio
from sonde.train.types import count_units

from ..batches import batch, doubles

# Ratios and advantages of six tokens. Sample 0: (1.5, +1) and (.5, +1) in row 0, (.5, -1) in row 1; sample 1: (1.5, -1)
# and (4, -1); sample 2: (1, +2). What is marked 8 and 9 is the environment's.
AGENT = [[0, 1, 1], [0, 1, 0], [0, 1, 1], [0, 0, 1]]
OWNER = [0, 0, 1, 2]
RATIO = [[9, 1.5, 0.5], [9, 0.5, 9], [9, 1.5, 4], [9, 9, 1]]
LOGPROB = doubles([[log(x) - 5 for x in row] for row in RATIO])
SAMPLED = [[-5.0] * 3] * 4
ADVANTAGE = [[8, 1, 1], [8, -1, 8], [8, -1, -1], [8, 8, 2]]
BATCH = batch(AGENT, OWNER, sampled_RT=SAMPLED, advantage_RT=ADVANTAGE)


def test_tokens() -> None:
    ratio = doubles([[1.5, 0.5, 0.5, 1.5, 4, 1]])
    advantage = doubles([[1, 1, -1, -1, -1, 2]])
    # -min(1.5, 1.28), -min(.5, .8), -min(-.5, -.8), -min(-1.5, -1.28), -min(-4, -1.28), -2
    plain = clipped_loss(ratio, advantage, 0.2, 0.28)
    assert plain.tolist() == [pytest.approx([-1.28, -0.5, 0.8, 1.5, 4, -2], abs=1e-12)]
    dual = clipped_loss(ratio, advantage, 0.2, 0.28, 3.0)
    assert dual.tolist() == [pytest.approx([-1.28, -0.5, 0.8, 1.5, 3, -2], abs=1e-12)]


def test_divergence() -> None:
    # d = log 2: 2 - log 2 - 1 = .3068528; d = 0: 0; d = -log 2: .5 + log 2 - 1 = .1931472
    here, there = doubles([[-2, -2, -2]]), doubles([[log(2) - 2, -2, -log(2) - 2]])
    assert k3_divergence(here, there).tolist() == [
        pytest.approx([0.3068528194400547, 0, 0.1931471805599453], abs=1e-12)
    ]


def test_log_ratios_are_held() -> None:
    assert log_ratio(doubles([[-1, -90, -3]]), doubles([[-90, -1, -4]])).tolist() == [[20, -20, 1]]
    assert float(k3_divergence(doubles([[-200]]), doubles([[-1]]))) == pytest.approx(exp(20) - 21)


def test_golden_sample_mean() -> None:
    # sample 0: (-1.28 - .5 + .8) / 3 = -.98 / 3; sample 1: (1.5 + 4) / 2 = 2.75; sample 2: -2
    assert float(GRPO()(LOGPROB, BATCH).total) == pytest.approx(-0.98 / 3 + 0.75, abs=1e-12)
    assert float(GRPO(dual_clip=3.0)(LOGPROB, BATCH).total) == pytest.approx(-0.98 / 3 + 0.25, abs=1e-12)
    assert count_units(BATCH, GRPO().unit) == 3


def test_golden_token_mean() -> None:
    objective = GRPO(aggregation="token-mean")
    assert float(objective(LOGPROB, BATCH).total) == pytest.approx(-0.98 + 5.5 - 2, abs=1e-12)
    assert count_units(BATCH, objective.unit) == 6


def test_golden_divergence() -> None:
    # the reference gives every token log 2 more than the policy: each costs kl * .3068528 * ratio more
    each = 0.1 * 0.3068528194400547
    reference = (LOGPROB + log(2)).tolist()
    seen = batch(AGENT, OWNER, sampled_RT=SAMPLED, advantage_RT=ADVANTAGE, reference_RT=reference)
    plain, penalised = GRPO()(LOGPROB, seen), GRPO(kl=0.1)(LOGPROB, seen)
    published = GRPO(kl=0.1, kl_ratio=False)(LOGPROB, seen)
    assert float(published.total - plain.total) == pytest.approx(3 * each, abs=1e-12)
    # mean ratios: (1.5 + .5 + .5) / 3, (1.5 + 4) / 2 and 1
    assert float(penalised.total - plain.total) == pytest.approx((2.5 / 3 + 2.75 + 1) * each, abs=1e-12)
    total, count = penalised.metrics["kl_reference"]
    assert float(total) / int(count) == pytest.approx(0.3068528194400547)
    assert "kl_reference" not in plain.metrics


def test_gradient() -> None:
    logprob = LOGPROB.clone().requires_grad_()
    GRPO(aggregation="token-mean", dual_clip=3.0)(logprob, BATCH).total.backward()
    # -A ratio where no clip holds; 0 for (1.5, +1), (.5, -1) and, by the dual clip, (4, -1)
    assert logprob.grad is not None
    assert logprob.grad.tolist() == [
        [0, 0, pytest.approx(-0.5)], [0, 0, 0], [0, pytest.approx(1.5), 0], [0, 0, pytest.approx(-2)]
    ]  # fmt: skip


def test_on_policy_it_is_the_policy_gradient() -> None:
    # ratio 1: the loss is -mean A, its gradient -A / n, whatever the clip range
    seen = batch([[0, 1, 1]], [0], sampled_RT=[[0, -1, -2]], advantage_RT=[[0, 3, -1]])
    logprob = doubles([[0, -1, -2]]).requires_grad_()
    total = GRPO()(logprob, seen).total
    total.backward()
    assert logprob.grad is not None
    assert (float(total.detach()), logprob.grad.tolist()) == (-1.0, [[0, -1.5, 0.5]])


def test_gradient_of_the_divergence() -> None:
    # Two tokens, pi = (s, 1 - s) with s = .3, the reference (.6, .4); tokens come from pi, in the shares .3 and .7.
    # With the ratio, the mean gradient over the logit of s is that of KL(pi, ref),
    # s (1 - s) (log(s / .6) - log((1 - s) / .4)); without it is that of KL(ref, pi), s - .6.
    x = torch.tensor(log(0.3 / 0.7), dtype=torch.float64)
    expected = {True: 0.21 * (log(0.3 / 0.6) - log(0.7 / 0.4)), False: 0.3 - 0.6}
    for kl_ratio, slope in expected.items():
        mean = 0.0
        for sign, share, reference in ((1, 0.3, 0.6), (-1, 0.7, 0.4)):
            logit = x.clone().requires_grad_()
            seen = batch([[1]], [0], sampled_RT=[[log(share)]], reference_RT=[[log(reference)]], advantage_RT=[[0]])
            logprob = torch.nn.functional.logsigmoid(sign * logit).reshape(1, 1)
            GRPO(kl=1.0, kl_ratio=kl_ratio)(logprob, seen).total.backward()
            assert logit.grad is not None
            mean += share * float(logit.grad)
        assert mean == pytest.approx(slope, abs=1e-12)


def test_metrics() -> None:
    metrics = GRPO(dual_clip=3.0)(LOGPROB, BATCH).metrics
    values = {name: float(total) / float(count) for name, (total, count) in metrics.items()}
    assert values == {
        "ratio": pytest.approx(9 / 6),
        "clipped_low": pytest.approx(1 / 6),  # (.5, -1)
        "clipped_high": pytest.approx(1 / 6),  # (1.5, +1)
        "clipped_dual": pytest.approx(1 / 6),  # (4, -1)
        # ratio - 1 - log ratio: .0945349 twice, .1931472 twice, 1.6137056 and 0
        "kl_sampled": pytest.approx((2 * (0.5 - log(1.5)) + 2 * (log(2) - 0.5) + 3 - log(4)) / 6),
        # 5 each less the logs of 1.5, .5, .5, 1.5, 4 and 1
        "nll": pytest.approx(5 - 2 * log(1.5) / 6),
    }


@each("options, field",
    [
        ({"clip_low": 0.0}, "clip_low"), ({"clip_low": 1.5}, "clip_low"), ({"clip_high": -0.1}, "clip_high"),
        ({"dual_clip": 1.2}, "dual_clip"), ({"aggregation": "sum"}, "aggregation"), ({"kl": -1.0}, "kl"),
    ],
)  # fmt: skip
def test_refuses(options: dict[str, Any], field: str) -> None:
    with pytest.raises(UserError, match=rf"grpo: {field}: got .*allowed"):
        GRPO(**options)


def test_needs() -> None:
    assert (GRPO().name, GRPO().needs) == ("grpo", {"advantage", "sampled"})
    assert GRPO(kl=0.1).needs == {"advantage", "sampled", "reference"}
    with pytest.raises(UserError, match="sampled_RT is missing"):
        GRPO()(LOGPROB, batch(AGENT, OWNER, advantage_RT=ADVANTAGE))
    with pytest.raises(UserError, match="reference_RT is missing"):
        GRPO(kl=0.1)(LOGPROB, BATCH)
    with pytest.raises(UserError, match="sampled_RT holds 6 values that are not finite"):
        GRPO()(LOGPROB, batch(AGENT, OWNER, advantage_RT=ADVANTAGE, sampled_RT=[[float("nan")] * 3] * 4))
