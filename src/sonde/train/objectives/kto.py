"""KTO: preference optimisation from unpaired trajectories, each of which is good or bad.

With the log ratio r of a sample (sum over its agent tokens of log pi - log pi_ref) and a reference point z0,

    good   desirable   * (1 - sigmoid(beta (r - z0)))
    bad    undesirable * (1 - sigmoid(beta (z0 - r)))

Source: KTO (Ethayarajh et al. 2024), equation 7. PAPRIKA (appendix C) suggests it for minesweeper, whose worlds depend
on the first move, so that trajectories of one task are not fair pairs. Successes are good.

Departure: z0. The paper and TRL estimate the divergence of the policy from the reference on mismatched pairs, the
prompt of one example with the completion of another, at the price of a second forward pass. A dialogue has no such
pairs: what an agent says in turn 5 answers what its own environment said in turn 4. Here z0 is the mean log ratio of
the micro-batch's own samples, at least 0, without gradient. On trajectories of the current policy that mean is an
unbiased estimate of the divergence; on trajectories of the reference it starts at 0 and follows the joint effect of
training on good and bad ones.

This has two consequences. The loss depends on how samples are divided into micro-batches and processes, as it does in
the paper and in TRL. And in a micro-batch of one sample with a positive ratio, z0 cancels that ratio, so that its
gradient never fades: use micro-batches of four or more, good and bad mixed, or `baseline="zero"` (z0 = 0), which is
exactly additive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from ..types import Batch, Loss, Need, Objective, Unit
from ._sums import (
    check_choice,
    check_not_negative,
    check_positive,
    on_agent,
    required_tensor,
    sample_sums,
    token_metric,
    value_metric,
)


def reference_point(ratio_S: Tensor) -> Tensor:
    """`max(0, mean log ratio)` without gradient."""
    return ratio_S.detach().mean().clamp(min=0)


def kto_loss(ratio_S: Tensor, good_S: Tensor, z0: Tensor | float, beta: float) -> Tensor:
    """`1 - sigmoid(beta (r - z0))` for good samples, `1 - sigmoid(beta (z0 - r))` for bad ones."""
    sign_S = torch.where(good_S, 1.0, -1.0).to(ratio_S.dtype)
    return torch.sigmoid(-beta * sign_S * (ratio_S - z0))


@dataclass(frozen=True, kw_only=True)
class KTO(Objective):
    """Unpaired preference optimisation on successes and failures.

    `desirable` and `undesirable` weigh the two kinds: the paper (equation 8) keeps `desirable * successes` between 1
    and 4/3 times `undesirable * failures`. `baseline` is z0: "batch" (see above) or "zero".
    """

    learns = "samples"
    preset = "paprika_rpo"

    beta: float = 0.1
    desirable: float = 1.0
    undesirable: float = 1.0
    baseline: Literal["batch", "zero"] = "batch"

    def __post_init__(self) -> None:
        check_positive("kto: beta", self.beta)
        check_not_negative("kto: desirable", self.desirable)
        check_not_negative("kto: undesirable", self.undesirable)
        check_choice("kto: baseline", self.baseline, ("batch", "zero"))

    @property
    def unit(self) -> Unit:
        return "sample"

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({"reference"})

    def __call__(self, logprob_RT: Tensor, batch: Batch) -> Loss:
        ratio_S = sample_sums(on_agent(logprob_RT, batch) - required_tensor(batch, "reference"), batch)
        good_S = batch.success_S
        z0 = reference_point(ratio_S) if self.baseline == "batch" else ratio_S.new_zeros(())
        weight_S = torch.where(good_S, self.desirable, self.undesirable).to(ratio_S.dtype)
        total = (weight_S * kto_loss(ratio_S, good_S, z0, self.beta)).sum()
        reward_S = self.beta * ratio_S.detach()
        metrics = {
            "reward_good": value_metric(reward_S[good_S]),
            "reward_bad": value_metric(reward_S[~good_S]),
            "reference_point": (z0 * batch.n_samples, batch.n_samples),
            "nll": token_metric(-logprob_RT, batch),
        }
        return Loss(total, metrics)
