"""Implicit language Q-learning: values of the best policy that the data supports, from recorded episodes alone.

For each agent token a in state s with reward r, the value V' of the state in which the agent chooses its next token
(`final` after the last: 0 where the episode is over), and u = min(target Q1(s, a), target Q2(s, a)) - V(s),

    q1, q2        1/2 (Q_i(s, a) - (r + discount V'))^2
    v             1/2 |tau - [u < 0]| u^2
    cql1, cql2    - log softmax(Q_i(s, .))(a)

    loss = mean over agent tokens of  q1 + q2 + v + weight * (cql1 + cql2)

V is an upper expectile of the values of the recorded actions (tau .5: their mean), so the target of Q prefers the
better continuations from a state, and parts of different episodes are stitched. No gradient flows through V' or through
the target heads.

Source: ILQL (Snell et al. 2022), after IQL (Kostrikov et al. 2021); LMRL-Gym (Abdulhai et al. 2023), section 5 and
table 5. Where papers and code differ: the papers' squares have no factor 1/2; LMRL-Gym's code has it in all three, and
so does this one. Its maze data loader repeats the last transition of an episode (a defect, not reproduced).
The discount is per token of the agent, as published; per turn (1 within a reply) is an option.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from sonde.core.errors import invalid
from sonde.models.local.heads import HeadSpec

from ..types import Batch, Loss
from ._sums import mask_tokens, token_metric, token_sum
from ._values import (
    Limit,
    ValueObjective,
    agent_metrics,
    check_shapes,
    find_predictions,
    lay_out_samples,
    next_values,
)
from .mc import squared_error


class ILQLTerms(NamedTuple):
    """One number per agent token, zeros elsewhere. `cql1`, `cql2` are unweighted; `total` is the loss; `target` is the
    target of both Q heads."""

    total: Tensor
    q1: Tensor
    q2: Tensor
    v: Tensor
    cql1: Tensor
    cql2: Tensor
    target: Tensor


def q_targets(reward_RT: Tensor, v_RT: Tensor, final_R: Tensor, agent_RT: Tensor, discount: float | Tensor) -> Tensor:
    """`r + discount V'` of each agent token, without gradient. A tensor of discounts has one per token."""
    return mask_tokens(reward_RT, agent_RT).detach() + discount * next_values(v_RT, final_R, agent_RT)


def expectile_loss(v_RT: Tensor, target_RT: Tensor, tau: float, agent_RT: Tensor) -> Tensor:
    """`1/2 |tau - [u < 0]| u^2` with `u = target - v`, of each agent token; no gradient through the target."""
    above_RT = mask_tokens(target_RT, agent_RT).detach() >= mask_tokens(v_RT, agent_RT).detach()
    error_RT = squared_error(v_RT, target_RT, agent_RT)
    return torch.where(above_RT, tau * error_RT, (1 - tau) * error_RT)


def ilql_loss(
    *,
    q1_RT: Tensor,
    q2_RT: Tensor,
    logp1_RT: Tensor,
    logp2_RT: Tensor,
    v_RT: Tensor,
    final_R: Tensor,
    target_q1_RT: Tensor,
    target_q2_RT: Tensor,
    reward_RT: Tensor,
    agent_RT: Tensor,
    discount: float | Tensor,
    tau: float,
    cql: float,
) -> ILQLTerms:
    """The loss of each agent token: values under both heads, log-probabilities under the softmax of all values, values
    under the target heads, and the values V of its state."""
    check_shapes(
        agent_RT, q1_RT=q1_RT, q2_RT=q2_RT, logp1_RT=logp1_RT, logp2_RT=logp2_RT, v_RT=v_RT,
        target_q1_RT=target_q1_RT, target_q2_RT=target_q2_RT, reward_RT=reward_RT,
    )  # fmt: skip
    if final_R.shape != agent_RT.shape[:1]:
        raise invalid("final_R: shape", tuple(final_R.shape), f"one value per row, ({len(agent_RT)},)")
    goal_RT = q_targets(reward_RT, v_RT, final_R, agent_RT, discount)
    least_RT = torch.minimum(mask_tokens(target_q1_RT, agent_RT), mask_tokens(target_q2_RT, agent_RT))
    q1, q2 = (squared_error(q, goal_RT, agent_RT) for q in (q1_RT, q2_RT))
    v = expectile_loss(v_RT, least_RT, tau, agent_RT)
    cql1, cql2 = -mask_tokens(logp1_RT, agent_RT), -mask_tokens(logp2_RT, agent_RT)
    return ILQLTerms(q1 + q2 + v + cql * (cql1 + cql2), q1, q2, v, cql1, cql2, goal_RT)


@dataclass(frozen=True, kw_only=True)
class ILQL(ValueObjective):
    """Implicit language Q-learning on recorded episodes.

    `tau`: the expectile, .5 to below 1; higher values consider only the best that the data shows. `limit` says what
    follows an episode that a limit on turns ended. With "bootstrap" it is the value of the state in which the last turn
    began (the environment's reply is in no row, and nothing trains the value of a state in which nobody acts); with
    "end" it is 0, for a limit that is a rule of the game. With a high `tau`, use "end" only if a state shows how many
    turns are left; otherwise states that met the limit look close to a good end. `polyak`, `every`: see
    `models.local.heads`. For the other settings see `ValueObjective`.
    """

    preset = "lmrl_dialogue_ilql"

    tau: float = 0.7
    limit: Limit = "bootstrap"
    polyak: float = 0.005
    every: int = 1

    def __post_init__(self) -> None:
        if not 0.5 <= self.tau < 1:
            raise invalid("ilql: tau", self.tau, "0.5 or above, below 1")
        super().__post_init__()

    @property
    def heads(self) -> HeadSpec:
        return HeadSpec(
            v=True, q=2, target=True, trunk=self.trunk, polyak=self.polyak, every=self.every, width=self.width
        )

    def __call__(self, logprob_RT: Tensor, batch: Batch) -> Loss:
        find_predictions(batch, "v", "q1", "q2", "q1_target", "q2_target", "q1_logp", "q2_logp")
        line = lay_out_samples(batch, discount=self.discount, per=self.per, limit=self.limit, scale=self.scale)
        value = line.values
        terms = ilql_loss(
            q1_RT=value["q1"], q2_RT=value["q2"], logp1_RT=value["q1_logp"], logp2_RT=value["q2_logp"],
            v_RT=value["v"], final_R=line.final, target_q1_RT=value["q1_target"], target_q2_RT=value["q2_target"],
            reward_RT=line.reward, agent_RT=line.agent, discount=line.discount, tau=self.tau, cql=self.cql,
        )  # fmt: skip
        total = terms.total.sum() - self.bc * token_sum(logprob_RT, batch)
        logged = {"q1": terms.q1, "q2": terms.q2, "v": terms.v, "cql1": terms.cql1, "cql2": terms.cql2}
        logged |= {"value": value["v"], "target": terms.target}
        return Loss(total, {**agent_metrics(logged, line.agent), "nll": token_metric(-logprob_RT, batch)})
