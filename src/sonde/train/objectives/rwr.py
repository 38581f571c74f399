"""Reward-weighted regression: the likelihood of agent tokens, weighted by the return of their trajectory.

    exp       weight = min(exp(score / temperature), max_weight)
    centred   weight = score - centre

    loss = sum over agent tokens of weight(its sample) * -log pi(token)  /  number of agent tokens

Source: Peters and Schaal 2007 (the exponential weights). PAPRIKA's code has both variants (weights clamped to [0, 3];
the score less the mean of the batch), although its paper reports neither.

Departure: `centre` may be a constant, such as the mean score of the training set. Without one it is the mean over the
samples of the micro-batch, as in that code. The loss then depends on the micro-batches, and a micro-batch of a single
sample, which would have no gradient, is refused. With "exp" or a constant the loss is exactly additive. Negative
weights push likelihoods down without bound, so train for few epochs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal

from torch import Tensor

from sonde.core import UserError, invalid

from ..types import Batch, Loss, Objective, Unit
from ._sums import check_choice, check_finite, check_positive, spread_over_tokens, token_metric, token_sum, value_metric


def exponential_weights(score_S: Tensor, temperature: float, max_weight: float) -> Tensor:
    """`min(exp(score / temperature), max_weight)` for each sample."""
    return (score_S / temperature).exp().clamp(max=max_weight)


def centred_weights(score_S: Tensor, centre: float | None) -> Tensor:
    """`score - centre` for each sample; if `centre` is None, the mean of the scores replaces it."""
    if centre is not None:
        return score_S - centre
    if len(score_S) < 2:
        raise UserError("rwr: centre: got None, allowed: a number, or micro-batches of 2 samples or more")
    return score_S - score_S.mean()


def weighted_nll(logprob_RT: Tensor, weight_S: Tensor, batch: Batch) -> Tensor:
    """The sum over agent tokens of `weight * -log pi`."""
    return -token_sum(logprob_RT * spread_over_tokens(weight_S, batch), batch)


@dataclass(frozen=True, kw_only=True)
class RWR(Objective):
    """Likelihood weighted by returns. `temperature` and `max_weight` belong to "exp", `centre` to "centred"."""

    learns = "samples"
    preset = "paprika_sft"

    weighting: Literal["exp", "centred"] = "exp"
    temperature: float = 1.0
    max_weight: float = 3.0
    centre: float | None = None

    def __post_init__(self) -> None:
        check_choice("rwr: weighting", self.weighting, ("exp", "centred"))
        check_positive("rwr: temperature", self.temperature)
        check_positive("rwr: max_weight", self.max_weight)
        if self.centre is not None and not (self.weighting == "centred" and isfinite(self.centre)):
            raise invalid("rwr: centre", self.centre, "a finite number with weighting 'centred', else None")

    @property
    def unit(self) -> Unit:
        return "token"

    def __call__(self, logprob_RT: Tensor, batch: Batch) -> Loss:
        weight_S = self._sample_weights(check_finite("score_S", batch.score_S))
        total = weighted_nll(logprob_RT, weight_S, batch)
        return Loss(total, {"weight": value_metric(weight_S), "nll": token_metric(-logprob_RT, batch)})

    def _sample_weights(self, score_S: Tensor) -> Tensor:
        if self.weighting == "centred":
            return centred_weights(score_S, self.centre)
        return exponential_weights(score_S, self.temperature, self.max_weight)
