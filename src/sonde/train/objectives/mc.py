"""Monte-Carlo returns: a Q head that predicts the remaining return, for decoding with `models.local.heads`.

For each agent token a in state s, with the discounted return R from that token on,

    q      1/2 (Q(s, a) - R)^2
    cql    - log softmax(Q(s, .))(a)

    loss = mean over agent tokens of  q + weight * cql

Source: LMRL-Gym (Abdulhai et al. 2023), section 5 and table 5: the Q function of the data's own policy by regression on
the return. Its paper does not print the conservative term (CQL, Kumar et al. 2020); form and factor 1/2 are those of
its code. The term keeps the values of other tokens below that of the recorded one.

The return is discounted per agent token, across turns and rows, as published: a long reply discounts more than a short
one. Per turn is an option. An episode that a limit cut short keeps its observed return; nothing is estimated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from sonde.models.local.heads import HeadSpec

from ..types import Batch, Loss
from ._sums import mask_tokens, token_metric, token_sum
from ._values import (
    ValueObjective,
    agent_metrics,
    check_shapes,
    find_predictions,
    lay_out_samples,
    returns_to_go,
)


class MCTerms(NamedTuple):
    """One number per agent token, zeros elsewhere. `cql` is unweighted; `total` is `q + weight * cql`."""

    total: Tensor
    q: Tensor
    cql: Tensor


def squared_error(value_RT: Tensor, target_RT: Tensor, agent_RT: Tensor) -> Tensor:
    """`1/2 (value - target)^2` of each agent token; no gradient through the target."""
    return (mask_tokens(value_RT, agent_RT) - mask_tokens(target_RT, agent_RT).detach()) ** 2 / 2


def mc_loss(*, q_RT: Tensor, logp_RT: Tensor, return_RT: Tensor, agent_RT: Tensor, cql: float) -> MCTerms:
    """The loss of each agent token: its value `q_RT`, and its log-probability under the softmax of all values."""
    check_shapes(agent_RT, q_RT=q_RT, logp_RT=logp_RT, return_RT=return_RT)
    error_RT = squared_error(q_RT, return_RT, agent_RT)
    conservative_RT = -mask_tokens(logp_RT, agent_RT)
    return MCTerms(error_RT + cql * conservative_RT, error_RT, conservative_RT)


@dataclass(frozen=True, kw_only=True)
class MC(ValueObjective):
    """A Q head on the returns of recorded episodes; for its settings see `ValueObjective`."""

    preset = "lmrl_dialogue_mc"

    @property
    def heads(self) -> HeadSpec:
        return HeadSpec(q=1, trunk=self.trunk, width=self.width)

    def __call__(self, logprob_RT: Tensor, batch: Batch) -> Loss:
        find_predictions(batch, "q1", "q1_logp")
        line = lay_out_samples(batch, discount=self.discount, per=self.per, limit="end", scale=self.scale)
        goal = returns_to_go(line)
        q, logp = line.values["q1"], line.values["q1_logp"]
        terms = mc_loss(q_RT=q, logp_RT=logp, return_RT=goal, agent_RT=line.agent, cql=self.cql)
        total = terms.total.sum() - self.bc * token_sum(logprob_RT, batch)
        logged = {"q": terms.q, "cql": terms.cql, "value": q, "return": goal}
        return Loss(total, {**agent_metrics(logged, line.agent), "nll": token_metric(-logprob_RT, batch)})
