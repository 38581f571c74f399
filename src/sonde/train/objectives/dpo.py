"""Direct preference optimisation over whole trajectories: DPO, RPO, IPO and length-normalised DPO.

With the log ratio of a sample, summed over the agent's tokens in all its turns and rows,

    ratio = sum over agent tokens of log pi(token) - log pi_ref(token)            (normalised: divided by their number)
    delta = ratio(chosen) - ratio(rejected)

    sigmoid   - (1 - e) log sigmoid(beta delta) - e log sigmoid(-beta delta)      e = label_smoothing
    ipo       (delta - 1 / (2 beta))^2
    + alpha   alpha * mean over the chosen sample's agent tokens of -log pi(token)

Source: PAPRIKA (Tajwar et al. 2025), equation 2 (multi-turn DPO, after Rafailov et al. 2024) and equation 3 (RPO, Pang
et al. 2024: alpha = 1); beta = .1 as in its code. IPO: Azar et al. 2024, equation 17. Length-normalised DPO divides
both ratios by their own number of tokens, as PAPRIKA's code and Tulu 3 (beta = 5 there) do. Smoothed labels: Mitchell
2023.

Departures: the environment's tokens do not enter the ratios (nor do they in PAPRIKA; TRL's DPO counts everything after
the prompt). IPO is length-normalised, as in its authors' experiments and in TRL; the paper's formula is
`normalise=False`. The likelihood term is a mean within each pair and then over pairs (equation 1); TRL's "sft" term is
one mean over all chosen tokens of a micro-batch. Ratios are computed token by token, before summing, which keeps single
precision accurate in trajectories of thousands of tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor
from torch.nn import functional as F

from sonde.core import invalid

from ..types import Batch, Loss, Need, Objective, Unit
from ._sums import (
    check_choice,
    check_not_negative,
    check_positive,
    on_agent,
    required_tensor,
    sample_means,
    sample_sums,
    sample_tokens,
    split_pairs,
    value_metric,
)


def log_ratios(logprob_RT: Tensor, batch: Batch, *, normalise: bool = False) -> Tensor:
    """`sum over agent tokens of log pi - log pi_ref` for each sample, or the mean if `normalise`; shape `(S,)`."""
    difference_RT = on_agent(logprob_RT, batch) - required_tensor(batch, "reference")
    return (sample_means if normalise else sample_sums)(difference_RT, batch)


def sigmoid_loss(delta_P: Tensor, beta: float, label_smoothing: float = 0.0) -> Tensor:
    """`-(1 - e) log sigmoid(beta delta) - e log sigmoid(-beta delta)` for each pair."""
    right_P, wrong_P = F.logsigmoid(beta * delta_P), F.logsigmoid(-beta * delta_P)
    return -(1 - label_smoothing) * right_P - label_smoothing * wrong_P


def ipo_loss(delta_P: Tensor, beta: float) -> Tensor:
    """`(delta - 1 / (2 beta))^2` for each pair."""
    return (delta_P - 1 / (2 * beta)) ** 2


def chosen_nll(logprob_RT: Tensor, batch: Batch) -> Tensor:
    """The mean over agent tokens of `-log pi` in each chosen sample, shape `(P,)`."""
    return -split_pairs(sample_means(logprob_RT, batch))[0]


@dataclass(frozen=True, kw_only=True)
class DPO(Objective):
    """Multi-turn DPO. With `alpha` above 0 it also raises the likelihood of the chosen trajectory (RPO).

    `normalise` divides log ratios by numbers of tokens. `label_smoothing` is the probability that a pair is swapped,
    below .5; for the sigmoid only.
    """

    learns = "pairs"
    preset = "paprika_rpo"

    beta: float = 0.1
    alpha: float = 0.0
    shape: Literal["sigmoid", "ipo"] = "sigmoid"
    normalise: bool = False
    label_smoothing: float = 0.0

    def __post_init__(self) -> None:
        check_positive(f"{self.name}: beta", self.beta)
        check_not_negative(f"{self.name}: alpha", self.alpha)
        check_choice(f"{self.name}: shape", self.shape, ("sigmoid", "ipo"))
        if not 0 <= self.label_smoothing < 0.5:
            raise invalid(f"{self.name}: label_smoothing", self.label_smoothing, "0 or above, below 0.5")
        if self.label_smoothing and self.shape == "ipo":
            raise invalid(f"{self.name}: label_smoothing", self.label_smoothing, "0 if shape is 'ipo'")

    @property
    def unit(self) -> Unit:
        return "pair"

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({"reference"})

    def __call__(self, logprob_RT: Tensor, batch: Batch) -> Loss:
        chosen_P, rejected_P = split_pairs(log_ratios(logprob_RT, batch, normalise=self.normalise))
        total = self._pair_loss(chosen_P - rejected_P).sum()
        if self.alpha:
            total = total + self.alpha * chosen_nll(logprob_RT, batch).sum()
        return Loss(total, self._pair_metrics(logprob_RT.detach(), batch, chosen_P.detach(), rejected_P.detach()))

    def _pair_loss(self, delta_P: Tensor) -> Tensor:
        if self.shape == "ipo":
            return ipo_loss(delta_P, self.beta)
        return sigmoid_loss(delta_P, self.beta, self.label_smoothing)

    def _pair_metrics(
        self, logprob_RT: Tensor, batch: Batch, chosen_P: Tensor, rejected_P: Tensor
    ) -> dict[str, tuple[Tensor | float, Tensor | float]]:
        delta_P = chosen_P - rejected_P
        said_P, tokens_P = split_pairs(sample_sums(logprob_RT, batch))[0], split_pairs(sample_tokens(batch))[0]
        return {
            "reward_margin": value_metric(self.beta * delta_P),
            "accuracy": value_metric((delta_P > 0).to(delta_P.dtype)),
            "log_ratio_chosen": value_metric(chosen_P),
            "log_ratio_rejected": value_metric(rejected_P),
            "nll": (-said_P.sum(), tokens_P.sum()),
        }
