"""Supervised fine-tuning: the negative log-likelihood of the agent's tokens.

    token-mean     - sum over agent tokens of log pi(token)  /  number of agent tokens in the optimizer step
    sample-mean    mean over samples of  - sum over the sample's agent tokens of log pi(token)  /  their number

Source: PAPRIKA (Tajwar et al. 2025), equation 1, which is the sample-mean. Departure: the token-mean is the default, as
in the paper's code (cross-entropy averaged over the tokens of a batch) and in other trainers; `mean="sample"` is the
equation. Only tokens that the agent sampled count, its end of turn included; the environment's never do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from ..types import Batch, Loss, Objective, Unit
from ._sums import check_choice, sample_means, token_metric, token_sum


def token_nll(logprob_RT: Tensor, batch: Batch) -> Tensor:
    """The sum over agent tokens of `-log pi`."""
    return -token_sum(logprob_RT, batch)


def sample_nll(logprob_RT: Tensor, batch: Batch) -> Tensor:
    """For each sample, the mean over its agent tokens of `-log pi`, shape `(S,)`."""
    return -sample_means(logprob_RT, batch)


@dataclass(frozen=True, kw_only=True)
class SFT(Objective):
    """Maximum likelihood of the agent's tokens; `mean` says whether long trajectories weigh more ("token") or not."""

    learns = "successes"
    preset = "paprika_sft"

    mean: Literal["token", "sample"] = "token"

    def __post_init__(self) -> None:
        check_choice("sft: mean", self.mean, ("token", "sample"))

    @property
    def unit(self) -> Unit:
        return self.mean

    def __call__(self, logprob_RT: Tensor, batch: Batch) -> Loss:
        by_token = self.mean == "token"
        total = token_nll(logprob_RT, batch) if by_token else sample_nll(logprob_RT, batch).sum()
        return Loss(total, {"nll": token_metric(-logprob_RT, batch)})
