"""Monte-Carlo returns: a Q head that predicts what is still to come, for decoding with `models.heads`.

For each agent token a in state s, with the discounted return R from that token on,

    q      1/2 (Q(s, a) - R)^2
    cql    - log softmax(Q(s, .))(a)

    loss = mean over agent tokens of  q + weight * cql

Source: LMRL-Gym (Abdulhai et al. 2023), section 5 and table 5: the Q function of the data's own policy by regression
on the return. Its paper does not print the conservative term (CQL, Kumar et al. 2020); form and factor 1/2 are those of
its code. The term keeps the values of tokens that nobody said below those of the one that was said.

The return is discounted per token of the agent, across turns and rows, as published: a long reply discounts more than a
short one. Per turn is an option. An episode that a limit cut short has the return that it got: nothing is estimated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from sonde.models.heads import HeadSpec

from ..types import Batch, Loss
from ._sums import token_metric, token_sum
from ._values import Valued, alike, in_lines, masked, mean, metrics, predicted, said, to_go, wide


class MCTerms(NamedTuple):
    """Means over the agent's tokens. `cql` is not weighted; `total` is `q + weight * cql`."""

    total: Tensor
    q: Tensor
    cql: Tensor


def squared(value_RT: Tensor, target_RT: Tensor, agent_RT: Tensor) -> Tensor:
    """`1/2 (value - target)^2` of each agent token; no gradient through the target."""
    return (masked(value_RT, agent_RT) - masked(target_RT, agent_RT).detach()) ** 2 / 2


def mc_loss(*, q_RTV: Tensor, token_RT: Tensor, return_RT: Tensor, agent_RT: Tensor, cql: float) -> MCTerms:
    """See the module. `q_RTV[r, t]` are the values of all tokens that could stand at position t."""
    alike(agent_RT, q_RTV=q_RTV, token_RT=token_RT, return_RT=return_RT)
    q_RT, logp_RT = said(wide(q_RTV), token_RT, agent_RT)
    q = mean(squared(q_RT, return_RT, agent_RT), agent_RT)
    conservative = mean(-logp_RT, agent_RT)
    return MCTerms(q + cql * conservative, q, conservative)


@dataclass(frozen=True, kw_only=True)
class MC(Valued):
    """A Q head on the returns of recorded episodes; for its settings see `Valued`."""

    preset = "lmrl_dialogue_mc"

    @property
    def heads(self) -> HeadSpec:
        return HeadSpec(q=1, trunk=self.trunk, width=self.width)

    def __call__(self, logprob_RT: Tensor, batch: Batch) -> Loss:
        predicted(batch, "q1", "q1_logp")
        line = in_lines(batch, discount=self.discount, per=self.per, limit="end", scale=self.scale)
        goal = to_go(line)
        q, conservative = squared(line.values["q1"], goal, line.agent), -line.values["q1_logp"]
        total = (q + self.cql * conservative).sum() - self.bc * token_sum(logprob_RT, batch)
        told = {"q": q, "cql": conservative, "value": line.values["q1"], "return": goal}
        return Loss(total, {**metrics(told, line.agent), "nll": token_metric(-logprob_RT, batch)})
