"""What the losses of value heads share: values of the tokens that were said, masks, and what follows a token.

Position t holds what belongs to predicting token t: a head's numbers at the hidden state of token t - 1. What stands
off the agent's tokens is replaced before anything is computed, so that no number there, finite or not, changes a loss
or a gradient. Single precision at least; double stays double.
"""

from __future__ import annotations

import torch
from torch import Tensor


def wide(values: Tensor) -> Tensor:
    """In single precision at least."""
    return values if values.dtype == torch.float64 else values.float()


def masked(values_RT: Tensor, agent_RT: Tensor) -> Tensor:
    """Zeros off the agent's tokens, where no gradient flows either."""
    values_RT = wide(values_RT)
    return torch.where(agent_RT, values_RT, torch.zeros_like(values_RT))


def mean(values_RT: Tensor, agent_RT: Tensor) -> Tensor:
    """Over the agent's tokens; 0 where there are none."""
    return masked(values_RT, agent_RT).sum() / agent_RT.sum().clamp(min=1)


def said(q_RTV: Tensor, token_RT: Tensor, agent_RT: Tensor) -> tuple[Tensor, Tensor]:
    """The value of the token that was said, and its log-probability under the softmax of all values."""
    q_RTV = torch.where(agent_RT[..., None], wide(q_RTV), torch.zeros_like(wide(q_RTV)))
    at_RT1 = torch.where(agent_RT, token_RT, torch.zeros_like(token_RT))[..., None]
    value_RT = q_RTV.gather(-1, at_RT1)[..., 0]
    return value_RT, value_RT - q_RTV.logsumexp(-1)


def following(value_RT: Tensor, final_R: Tensor, agent_RT: Tensor) -> Tensor:
    """At each of the agent's tokens the value at the next one of its row, and `final_R` at the last; no gradient."""
    length = agent_RT.shape[1]
    place_RT = torch.where(agent_RT, torch.arange(length, device=agent_RT.device), length)
    nearest_RT = place_RT.flip(1).cummin(1).values.flip(1)  # from t on
    after_RT = torch.cat([nearest_RT[:, 1:], nearest_RT.new_full((len(nearest_RT), 1), length)], 1)
    values_RT = torch.cat([masked(value_RT, agent_RT), wide(final_R)[:, None]], 1).detach()
    return masked(values_RT.gather(1, after_RT), agent_RT)
