"""Proximal policy optimisation with a value head, over the agent's tokens of whole trajectories.

For each agent token, with ratio = exp(log pi - log pi_sampled), its advantage A, the return R that its value V is to
predict, and the value V_old that the head gave when the episode was played,

    policy    max(-ratio A, -clip(ratio, 1 - clip, 1 + clip) A)
    value     1/2 max((V - R)^2, (V_old + clip(V - V_old, -value_clip, value_clip) - R)^2)
    kl        ratio - 1 - log ratio                                      (logged: it estimates KL(pi_sampled, pi))

    loss = mean over agent tokens of  policy + value_weight * value

Source: PPO (Schulman et al. 2017), equation 7; LMRL-Gym (Abdulhai et al. 2023), section 5, appendix E and its code,
which has the clipped value loss and the estimate of the divergence. Advantages and returns are those of generalised
advantage estimation (`train.critic`); the penalty for leaving the reference is a part of the rewards. Its code's second
loop over a batch adds the last advantages once more to those that it would whiten (a defect; it has an effect only with
an option that no script sets, and is not offered).

Departure: log ratios are held within [-20, 20], so that no exponential overflows.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ._values import masked, mean
from .grpo import clipped_loss, log_ratio


class PPOTerms(NamedTuple):
    """Means over the agent's tokens. `value` is not weighted; `kl` has no gradient and is no part of `total`."""

    total: Tensor
    policy: Tensor
    value: Tensor
    kl: Tensor


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
    """See the module. No gradient flows through what was recorded: log-probabilities, values, advantages, returns."""
    sampled_RT, old_RT, advantage_RT, return_RT = (
        masked(x, agent_RT).detach() for x in (sampled_RT, old_value_RT, advantage_RT, return_RT)
    )
    ratio_RT = log_ratio(masked(logprob_RT, agent_RT), sampled_RT).exp()
    policy = mean(clipped_loss(ratio_RT, advantage_RT, clip, clip), agent_RT)
    value = mean(value_loss(masked(value_RT, agent_RT), old_RT, return_RT, value_clip), agent_RT)
    kl = mean(divergence(ratio_RT.detach()), agent_RT)
    return PPOTerms(policy + value_weight * value, policy, value, kl)


def divergence(ratio_RT: Tensor) -> Tensor:
    """`ratio - 1 - log ratio`, never below 0."""
    return ratio_RT - 1 - ratio_RT.log()
