"""Clipped policy gradient over whole trajectories: GRPO with clip-higher, as StarPO applies it to dialogues.

For each agent token, with ratio = exp(log pi(token) - log pi_sampled(token)) and its advantage A,

    gain = min(ratio A, clip(ratio, 1 - clip_low, 1 + clip_high) A)
    gain = max(gain, dual_clip A)  where A < 0                                             if dual_clip is set
    loss = -gain + kl ratio (exp(d) - d - 1),  d = log pi_ref(token) - log pi(token)       if kl is set

    seq-mean-token-mean   mean over samples of the mean over a sample's agent tokens, of all its rows
    token-mean            mean over all agent tokens

With `cap`, the clip is around pi_start, the policy at the start of the steps on a rollout, and every token is weighted
by how much likelier it is under that policy than under the one that sampled it (another engine, or older weights):

    ratio = pi / pi_start,    loss = min(pi_start / pi_sampled, cap) * the loss above

Source: GRPO (Shao et al. 2024, equations 3 and 4), StarPO (Wang et al. 2025), the clip range .2 / .28 of DAPO (Yu et
al. 2025), the dual clip of Ye et al. 2020 (c = 3 is usual); no KL term and the sample mean of token means as in
ΔBelief-RL, appendix F; `cap` as decoupled PPO (Hilton et al. 2022; AReaL, Fu et al. 2025) and truncated importance
sampling (Yao et al. 2025; 2 is usual) have it. Advantages come with the batch, one per token (`train.credit`), and
carry no gradient.

Departures and limits: `pi_sampled` are the log-probabilities recorded at sampling, not recomputed, so the ratio also
corrects the (small) difference between decoding and training kernels; the metric "ratio" shows it. Both are at the
temperature at which the token was drawn: training divides logits by it too, so that it trains the policy that played.
Rows sampled with top-p or min-p are refused, because the policy that played them is not the trained one. The log ratio
is clamped to [-20, 20], so that no exponential overflows. The table gives the angle, in degrees, between the gradient
of the sampling policy's expected return and the expected step along logits as they are, or divided by the temperature
(medians over 40 enumerated trees of three decisions among four tokens, standard normal logits and returns,
`tests/train/objectives/test_temperature.py`):

| temperature | min-p | as they are | divided |
|---|---|---|---|
| 1.0 | 0.0 | 0.0 | 0.0 |
| 0.7 | 0.0 | 5.2 | 0.0 |
| 1.5 | 0.0 | 5.3 | 0.0 |
| 0.7 | 0.3 | 15.1 | 9.4 |
| 1.5 | 0.3 | 5.4 | 6.9 |

If other weights or another engine drew the tokens, with logits that differ by s times a standard normal, the angles are
as follows: of a step along the ratio to pi_sampled, of one that mistakes pi_start for the sampling policy, and of `cap`
2 and 1000 (same trees and test):

| s | around pi_sampled | pi_start taken for it | cap 2 | cap 1000 |
|---|---|---|---|---|
| 0.03 | 1.4 | 1.9 | 1.4 | 1.4 |
| 0.1 | 5.4 | 6.2 | 4.7 | 4.7 |
| 0.3 | 29.5 | 18.1 | 14.2 | 14.2 |
| 1.0 | 62.7 | 48.6 | 43.6 | 42.2 |

The clip around pi_sampled cuts tokens because they were drawn elsewhere; the clip around pi_start cuts none at the
first step. The remaining angle arises because weights are per token, not per history.

The published KL term has no ratio (`kl_ratio=False`). On tokens of the policy it has the value of KL(pi, pi_ref) but
the gradient of KL(pi_ref, pi); the ratio, 1 on such tokens, corrects the gradient (DeepSeek-V3.2, 2025; TRL does so).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from sonde.core import invalid

from ..types import Batch, Loss, Need, Objective, Unit
from ._sums import (
    check_choice,
    check_not_negative,
    check_positive,
    on_agent,
    required_tensor,
    sample_means,
    token_metric,
    token_sum,
)

_WIDEST = 20.0
"""Bound of log ratios: exp(20) is 5e8 times more likely."""

Aggregation = Literal["seq-mean-token-mean", "token-mean"]


def log_ratio(logprob_RT: Tensor, base_RT: Tensor) -> Tensor:
    """`log pi - log pi_base` of each token, clamped to [-20, 20]."""
    return (logprob_RT - base_RT).clamp(-_WIDEST, _WIDEST)


def clipped_loss(ratio_RT: Tensor, advantage_RT: Tensor, low: float, high: float, dual: float | None = None) -> Tensor:
    """`-min(ratio A, clip(ratio, 1 - low, 1 + high) A)` of each token; at most `-dual A` where A < 0."""
    gain_RT = torch.minimum(ratio_RT * advantage_RT, ratio_RT.clamp(1 - low, 1 + high) * advantage_RT)
    if dual is not None:
        gain_RT = torch.where(advantage_RT < 0, torch.maximum(gain_RT, dual * advantage_RT), gain_RT)
    return -gain_RT


def k3_divergence(logprob_RT: Tensor, base_RT: Tensor) -> Tensor:
    """`exp(d) - d - 1` with `d = log pi_base - log pi`: estimates KL(pi, pi_base) on tokens of pi, never below 0."""
    difference_RT = log_ratio(base_RT, logprob_RT)
    return difference_RT.exp() - difference_RT - 1


@dataclass(frozen=True, kw_only=True)
class GRPO(Objective):
    """Clipped policy gradient with one advantage per token. `kl` above 0 needs reference log-probabilities.

    `cap`: upper bound of a token's importance weight (None: see the module). `kl_ratio`: whether the KL term carries
    the importance ratio.
    """

    learns = "play"
    preset = "starpo"

    clip_low: float = 0.2
    clip_high: float = 0.28
    dual_clip: float | None = None
    aggregation: Aggregation = "seq-mean-token-mean"
    cap: float | None = None
    kl: float = 0.0
    kl_ratio: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.clip_low <= 1:
            raise invalid("grpo: clip_low", self.clip_low, "above 0, at most 1")
        check_positive("grpo: clip_high", self.clip_high)
        if self.dual_clip is not None and not self.dual_clip > 1 + self.clip_high:
            raise invalid("grpo: dual_clip", self.dual_clip, f"above 1 + clip_high = {1 + self.clip_high}, or None")
        if self.cap is not None:
            check_positive("grpo: cap", self.cap)
        check_choice("grpo: aggregation", self.aggregation, ("seq-mean-token-mean", "token-mean"))
        check_not_negative("grpo: kl", self.kl)

    @property
    def unit(self) -> Unit:
        return "token" if self.aggregation == "token-mean" else "sample"

    @property
    def needs(self) -> frozenset[Need]:
        compared: frozenset[Need] = frozenset({"reference"} if self.kl else ())
        capped: frozenset[Need] = frozenset({"proximal"} if self.cap is not None else ())
        return compared | capped | frozenset[Need]({"advantage", "sampled"})

    @property
    def skips_flat(self) -> bool:
        return not self.kl

    def __call__(self, logprob_RT: Tensor, batch: Batch) -> Loss:
        said_RT = on_agent(logprob_RT, batch)
        ratio_RT = log_ratio(said_RT, required_tensor(batch, "sampled" if self.cap is None else "proximal")).exp()
        advantage_RT = required_tensor(batch, "advantage")
        loss_RT = clipped_loss(ratio_RT, advantage_RT, self.clip_low, self.clip_high, self.dual_clip)
        metrics = self._token_metrics(said_RT.detach(), ratio_RT.detach(), advantage_RT, batch)
        if self.kl:
            divergence_RT = k3_divergence(said_RT, required_tensor(batch, "reference"))
            loss_RT = loss_RT + self.kl * (ratio_RT * divergence_RT if self.kl_ratio else divergence_RT)
            metrics["kl_reference"] = token_metric(divergence_RT, batch)
        if self.cap is not None:
            weight_RT = log_ratio(required_tensor(batch, "proximal"), required_tensor(batch, "sampled")).exp()
            loss_RT = loss_RT * weight_RT.clamp(max=self.cap)
            metrics["capped"] = token_metric(weight_RT > self.cap, batch)
        return Loss(self._aggregate_tokens(loss_RT, batch), metrics)

    def _aggregate_tokens(self, loss_RT: Tensor, batch: Batch) -> Tensor:
        if self.aggregation == "token-mean":
            return token_sum(loss_RT, batch)
        return sample_means(loss_RT, batch).sum()

    def _token_metrics(
        self, said_RT: Tensor, ratio_RT: Tensor, advantage_RT: Tensor, batch: Batch
    ) -> dict[str, tuple[Tensor | float, Tensor | float]]:
        """Over all agent tokens: mean ratio, clipped shares, divergence from the sampling policy, nll."""
        low_RT = (ratio_RT < 1 - self.clip_low) & (advantage_RT < 0)
        high_RT = (ratio_RT > 1 + self.clip_high) & (advantage_RT > 0)
        shares = {"ratio": ratio_RT, "clipped_low": low_RT, "clipped_high": high_RT}
        if self.dual_clip is not None:
            shares["clipped_dual"] = (ratio_RT > self.dual_clip) & (advantage_RT < 0)
        shares["kl_sampled"] = ratio_RT - 1 - ratio_RT.log()
        shares["nll"] = -said_RT
        return {name: token_metric(values_RT, batch) for name, values_RT in shares.items()}
