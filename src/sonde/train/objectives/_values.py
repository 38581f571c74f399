"""Shared by losses of value heads: values of the tokens in order, masks, and the following state.

Position t holds what belongs to predicting token t: a head's output at the hidden state of token t - 1. Entries off
agent tokens are replaced before anything is computed, so that no number there, finite or not, changes a loss or a
gradient. At least single precision; double stays double.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from sonde.core.errors import UserError, invalid
from sonde.models.local.heads import HeadSpec, Trunk

from ..types import Batch, Need, Objective, Unit
from ._sums import check_not_negative, mask_tokens, required_field, widen_dtype

Per = Literal["token", "turn"]
"""The unit of the discount: any two agent tokens, or two tokens of different turns."""
Limit = Literal["bootstrap", "end"]
"""The value after an episode that a limit on turns ended: the value before its last turn, or nothing."""


class AgentLines(NamedTuple):
    """A batch with the agent's tokens of each sample concatenated, in order."""

    agent: Tensor
    reward: Tensor
    discount: Tensor
    final: Tensor
    values: dict[str, Tensor]


def lay_out_samples(batch: Batch, *, discount: float, per: Per, limit: Limit, scale: float = 1.0) -> AgentLines:
    """A batch's rewards, times `scale`, and the heads' values, by sample: (S, N). A sample's rows are concatenated and
    the tokens of others removed, so the next agent token is the adjacent one. The discount between two tokens is
    `discount`, or 1 within a turn if it is per turn. `final` is the value after the last token: 0 if the episode is
    over; if a limit ended it, on request, the value of the state in which its last turn began."""
    place_RT, reward_RT = required_field(batch, "nth_RT"), required_field(batch, "reward_RT")
    said_RT = place_RT >= 0
    length = int(place_RT.max()) + 1
    at_N = (batch.owner_R[:, None] * length + place_RT)[said_RT]

    def lay_out(values_RT: Tensor) -> Tensor:
        flat = values_RT.new_zeros(batch.n_samples * length)
        return flat.index_put((at_N,), values_RT[said_RT]).view(batch.n_samples, length)

    values = {name: lay_out(widen_dtype(x)) for name, x in batch.head.items()}
    agent, reward, turn = lay_out(said_RT), scale * lay_out(widen_dtype(reward_RT)), lay_out(batch.turn_RT)
    step = torch.full_like(reward, discount)
    if per == "turn":
        step[:, :-1].masked_fill_(turn[:, 1:] == turn[:, :-1], 1.0)
    final = reward.new_zeros(batch.n_samples)
    if limit == "bootstrap":
        last = turn.where(agent, -1).amax(1, keepdim=True)
        begins = (agent & (turn == last)).int().argmax(1, keepdim=True)
        final = torch.where(
            required_field(batch, "cut_S"), find_prediction(values, "v").gather(1, begins)[:, 0].detach(), final
        )
    return AgentLines(agent, reward, step, final, values)


def find_prediction(values: Mapping[str, Tensor], name: str) -> Tensor:
    """The heads' output of this name; raises an error if there is no such head."""
    if name not in values:
        raise UserError(f"batch: no head predicts {name}, and this objective needs it; there are {[*values]}")
    return values[name]


def find_predictions(batch: Batch, *names: str) -> tuple[Tensor, ...]:
    """The heads' outputs by these names."""
    return tuple(find_prediction(batch.head, name) for name in names)


def returns_to_go(line: AgentLines) -> Tensor:
    """The discounted return from each token on, without gradient, and zeros after a sample's last."""
    out, following = torch.zeros_like(line.reward), line.final
    for t in reversed(range(line.reward.shape[1])):
        following = torch.where(line.agent[:, t], line.reward[:, t] + line.discount[:, t] * following, following)
        out[:, t] = following
    return mask_tokens(out, line.agent).detach()


def agent_metrics(values: Mapping[str, Tensor], agent_RT: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
    """Each value as a metric: its mean over agent tokens."""
    return {name: (mask_tokens(x.detach(), agent_RT).sum(), agent_RT.sum()) for name, x in values.items()}


@dataclass(frozen=True, kw_only=True)
class ValueObjective(Objective):
    """Base class of objectives that learn values of tokens from recorded episodes.

    `discount` is `per` agent token, as published, or per turn (1 within a reply). `cql`: weight of the conservative
    term. `bc`: weight of the negative log-likelihood of the agent's tokens; with it, one model is also the policy to
    whose logits the values are added. As published there are two models, and it is 0. `scale`: factor of the rewards
    before they are learned (ours; published is 1): the larger values are, the longer an optimizer with a given rate
    takes to reach them from 0, and the coarser its steps are relative to the differences between actions. Divide the
    strength at decoding by it. `trunk`, `width`: see `models.local.heads`.
    """

    learns = "values"

    discount: float = 0.99
    per: Per = "token"
    cql: float = 0.001
    bc: float = 0.0
    scale: float = 1.0
    trunk: Trunk = "shared"
    width: float = 1.0

    def __post_init__(self) -> None:
        name = self.name
        if not 0 <= self.discount <= 1:
            raise invalid(f"{name}: discount", self.discount, "0 to 1")
        check_not_negative(f"{name}: cql", self.cql)
        check_not_negative(f"{name}: bc", self.bc)
        if not 0 < self.scale < inf:
            raise invalid(f"{name}: scale", self.scale, "above 0")
        if self.trunk == "detached" and not self.bc:
            raise invalid(f"{name}: trunk", self.trunk, "shared or frozen where bc is 0: nothing else trains the model")
        if self.trunk == "frozen" and self.bc:
            allowed = f"shared or detached where bc is {self.bc:g}: it trains the model"
            raise invalid(f"{name}: trunk", self.trunk, allowed)
        _ = self.heads

    @property
    def unit(self) -> Unit:
        return "token"

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({"reward"})

    @property
    @abstractmethod
    def heads(self) -> HeadSpec: ...


def check_shapes(agent_RT: Tensor, **values: Tensor) -> None:
    """Raise unless the mask is boolean and all other tensors have its shape, because torch would broadcast a column
    over all of them."""
    if agent_RT.dtype != torch.bool:
        raise invalid("agent_RT", agent_RT.dtype, torch.bool)
    for name, given in values.items():
        if given.shape[:2] != agent_RT.shape:
            raise invalid(
                f"{name}: shape", tuple(given.shape), f"rows and tokens as agent_RT has, {tuple(agent_RT.shape)}"
            )


def next_values(value_RT: Tensor, final_R: Tensor, agent_RT: Tensor) -> Tensor:
    """At each agent token, the value at the next one of its row, and `final_R` at the last; no gradient."""
    length = agent_RT.shape[1]
    place_RT = torch.where(agent_RT, torch.arange(length, device=agent_RT.device), length)
    nearest_RT = place_RT.flip(1).cummin(1).values.flip(1)  # from t on
    after_RT = torch.cat([nearest_RT[:, 1:], nearest_RT.new_full((len(nearest_RT), 1), length)], 1)
    values_RT = torch.cat([mask_tokens(value_RT, agent_RT), widen_dtype(final_R)[:, None]], 1).detach()
    return mask_tokens(values_RT.gather(1, after_RT), agent_RT)
