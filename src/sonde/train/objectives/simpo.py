"""SimPO: preference optimisation without a reference, on the mean log-probability of the agent's tokens.

    - log sigmoid(beta * mean log pi(chosen) - beta * mean log pi(rejected) - gamma)

with means over the agent's tokens of all turns and rows of a sample. Source: SimPO (Meng et al. 2024), equation 6;
beta = 2.5 and gamma = 1.4 as in PAPRIKA's code. Gamma is a margin on the reward, outside beta, in the paper's equation
as in PAPRIKA's code; implementations that put gamma / beta inside the bracket compute the same number. Departure: the
environment's tokens do not count.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional as F

from ..types import Batch, Loss, Objective, Unit
from ._sums import (
    check_not_negative,
    check_positive,
    sample_means,
    sample_sums,
    sample_tokens,
    split_pairs,
    value_metric,
)


def simpo_loss(chosen_P: Tensor, rejected_P: Tensor, beta: float, gamma: float) -> Tensor:
    """`-log sigmoid(beta (chosen - rejected) - gamma)` for each pair of mean log-probabilities."""
    return -F.logsigmoid(beta * (chosen_P - rejected_P) - gamma)


@dataclass(frozen=True, kw_only=True)
class SimPO(Objective):
    """Reference-free preference optimisation: mean log-probabilities must differ by the margin `gamma / beta`."""

    learns = "pairs"
    preset = "paprika_rpo"

    beta: float = 2.5
    gamma: float = 1.4

    def __post_init__(self) -> None:
        check_positive("simpo: beta", self.beta)
        check_not_negative("simpo: gamma", self.gamma)

    @property
    def unit(self) -> Unit:
        return "pair"

    def __call__(self, logprob_RT: Tensor, batch: Batch) -> Loss:
        chosen_P, rejected_P = split_pairs(sample_means(logprob_RT, batch))
        total = simpo_loss(chosen_P, rejected_P, self.beta, self.gamma).sum()
        delta_P = (chosen_P - rejected_P).detach()
        said_P, tokens_P = split_pairs(sample_sums(logprob_RT.detach(), batch))[0], split_pairs(sample_tokens(batch))[0]
        metrics = {
            "reward_margin": value_metric(self.beta * delta_P),
            "accuracy": value_metric((delta_P > 0).to(delta_P.dtype)),
            "nll": (-said_P.sum(), tokens_P.sum()),
        }
        return Loss(total, metrics)
