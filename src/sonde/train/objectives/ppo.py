"""Proximal policy optimisation with a value head, over the agent's tokens of whole trajectories.

For each agent token, with ratio = exp(log pi - log pi_sampled), its advantage A, the return R (the target of its value
V), and the value V_old that the head predicted when the episode was played,

    policy    max(-ratio A, -clip(ratio, 1 - clip, 1 + clip) A)
    value     1/2 max((V - R)^2, (V_old + clip(V - V_old, -value_clip, value_clip) - R)^2)
    kl        ratio - 1 - log ratio               (logged as kl_sampled: it estimates KL(pi_sampled, pi))

    loss = mean over agent tokens of  policy + value_weight * value,  plus bc * mean over demonstrations of -log pi

Source: PPO (Schulman et al. 2017), equation 7; LMRL-Gym (Abdulhai et al. 2023), section 5, appendix E and its code,
which has the clipped value loss and the estimate of the divergence. Advantages and returns are those of generalised
advantage estimation (`train.credit`); the penalty for leaving the reference is a part of the rewards. In the paper's
code, the second loop over a batch adds the last advantages once more to those that it whitens; this defect, which has
an effect only with an option that no script sets, is not reproduced.

The paper's value head is linear (`linear`, as in the presets `lmrl_*`); the default is a head of two layers. For
recorded episodes see `train.online.recorded`.

Departure: log ratios are clamped to [-20, 20], so that no exponential overflows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

import torch
from torch import Tensor

from sonde.core.errors import invalid
from sonde.models.local.heads import HeadSpec, Trunk

from ..types import Batch, Loss, Need, Objective, Unit
from ._sums import check_not_negative, check_positive, mask_tokens, on_agent, required_tensor, token_metric, token_sum
from ._values import check_shapes, find_predictions
from .grpo import clipped_loss, log_ratio


class PPOTerms(NamedTuple):
    """One number per agent token, zeros elsewhere (`ratio`: ones). `value` is unweighted; `kl` and `ratio` have no
    gradient and are no part of `total`."""

    total: Tensor
    policy: Tensor
    value: Tensor
    kl: Tensor
    ratio: Tensor


def value_loss(value_RT: Tensor, old_RT: Tensor, return_RT: Tensor, value_clip: float) -> Tensor:
    """The larger of the squared errors with and without the clip, halved, of each token."""
    near_RT = old_RT + (value_RT - old_RT).clamp(-value_clip, value_clip)
    return torch.maximum((value_RT - return_RT) ** 2, (near_RT - return_RT) ** 2) / 2


def ppo_loss(
    *,
    logprob_RT: Tensor,
    sampled_RT: Tensor,
    value_RT: Tensor,
    old_value_RT: Tensor,
    advantage_RT: Tensor,
    return_RT: Tensor,
    agent_RT: Tensor,
    clip: float,
    value_clip: float,
    value_weight: float,
) -> PPOTerms:
    """The loss of each agent token. No gradient flows through recorded quantities: log-probabilities, values,
    advantages and returns."""
    check_shapes(
        agent_RT, logprob_RT=logprob_RT, sampled_RT=sampled_RT, value_RT=value_RT, old_value_RT=old_value_RT,
        advantage_RT=advantage_RT, return_RT=return_RT,
    )  # fmt: skip
    sampled_RT, old_RT, advantage_RT, return_RT = (
        mask_tokens(x, agent_RT).detach() for x in (sampled_RT, old_value_RT, advantage_RT, return_RT)
    )
    ratio_RT = log_ratio(mask_tokens(logprob_RT, agent_RT), sampled_RT).exp()
    policy_RT = clipped_loss(ratio_RT, advantage_RT, clip, clip)
    error_RT = value_loss(mask_tokens(value_RT, agent_RT), old_RT, return_RT, value_clip)
    fixed_RT = ratio_RT.detach()
    return PPOTerms(policy_RT + value_weight * error_RT, policy_RT, error_RT, estimate_divergence(fixed_RT), fixed_RT)


def estimate_divergence(ratio_RT: Tensor) -> Tensor:
    """`ratio - 1 - log ratio`, never below 0."""
    return ratio_RT - 1 - ratio_RT.log()


@dataclass(frozen=True, kw_only=True)
class PPO(Objective):
    """PPO with a value head. Advantages, returns and old values come with the rows, from `online.advantages`.

    `value_clip` infinite: the value is not clipped. `bc`: weight of the likelihood of demonstrations, which the trainer
    then needs (`OnlineTrainer(shown=...)`). `trunk`: "detached" keeps the gradients of the value loss from the model;
    `linear`: the value head has one layer, as in LMRL-Gym (appendix G.2), not two; see `models.local.heads`.
    """

    learns = "play"
    preset = "lmrl_dialogue_ppo"

    clip: float = 0.2
    value_clip: float = 0.2
    value_weight: float = 1.0
    bc: float = 0.0
    trunk: Trunk = "shared"
    width: float = 1.0
    linear: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.clip <= 1:
            raise invalid("ppo: clip", self.clip, "above 0, at most 1")
        if self.value_clip != inf:
            check_positive("ppo: value_clip", self.value_clip)
        check_not_negative("ppo: value_weight", self.value_weight)
        check_not_negative("ppo: bc", self.bc)
        if self.trunk == "frozen":
            raise invalid("ppo: trunk", self.trunk, "shared or detached: the policy is trained")
        _ = self.heads

    @property
    def unit(self) -> Unit:
        return "token"

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({"sampled", "advantage", "return", "old_value"})

    @property
    def imitates(self) -> bool:
        return self.bc > 0

    @property
    def heads(self) -> HeadSpec:
        return HeadSpec(v=True, trunk=self.trunk, width=self.width, linear=self.linear)

    def __call__(self, logprob_RT: Tensor, batch: Batch) -> Loss:
        if batch.shown_S is None:
            return self._of_play(logprob_RT, batch)
        shown_RT = batch.shown_S[batch.owner_R][:, None]
        own, shown = (replace(batch, agent_RT=batch.agent_RT & rows) for rows in (~shown_RT, shown_RT))
        total, metrics = self._of_play(logprob_RT, own)
        imitation = token_sum(-logprob_RT * required_tensor(shown, "advantage"), shown)
        return Loss(total + self.bc * imitation, {**metrics, "nll_shown": token_metric(-logprob_RT, shown)})

    def _of_play(self, logprob_RT: Tensor, batch: Batch) -> Loss:
        value_RT, return_RT = on_agent(find_predictions(batch, "v")[0], batch), required_tensor(batch, "return")
        terms = ppo_loss(
            logprob_RT=logprob_RT,
            sampled_RT=required_tensor(batch, "sampled"),
            value_RT=value_RT,
            old_value_RT=required_tensor(batch, "old_value"),
            advantage_RT=required_tensor(batch, "advantage"),
            return_RT=return_RT,
            agent_RT=batch.agent_RT,
            clip=self.clip,
            value_clip=self.value_clip,
            value_weight=self.value_weight,
        )
        logged = {
            "policy": terms.policy, "value": terms.value, "kl_sampled": terms.kl, "ratio": terms.ratio,
            "clipped": (terms.ratio - 1).abs() > self.clip, "v": value_RT, "return": return_RT, "nll": -logprob_RT,
        }  # fmt: skip
        return Loss(token_sum(terms.total, batch), {name: token_metric(x, batch) for name, x in logged.items()})
