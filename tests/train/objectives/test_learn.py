"""Every objective teaches something small: a policy of three tokens learns to begin with the one that wins.

An episode is three tokens of four kinds; its first and last are the agent's, the one between is the environment's. It
is won if the agent begins with token 2. The policy starts uniform, so it wins a quarter of its episodes. Objectives
that teach heads alone, and no policy, are in `test_heads_learn.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.cases import each

pytest.importorskip("torch")
import torch
from torch import Tensor

import sonde
from sonde.train.objectives import make_objective
from sonde.train.types import Batch, count_units

WINS = 2
AGENT = torch.tensor([True, False, True])


def logprobs(logits: Tensor, ids: Tensor) -> Tensor:
    """Of the agent's tokens; tokens do not depend on each other."""
    said = logits.log_softmax(-1).expand(len(ids), -1, -1).gather(-1, ids[..., None]).squeeze(-1)
    return torch.where(AGENT, said, 0.0)


def batch_of(ids: Tensor, sampled: Tensor) -> Batch:
    won = ids[:, 0] == WINS
    agent = AGENT.expand(ids.shape)
    score = won.float()
    return Batch(
        agent_RT=agent, turn_RT=torch.where(agent, 0, -1), owner_R=torch.arange(len(ids)), n_samples=len(ids),
        score_S=score, success_S=won, sampled_RT=sampled, reference_RT=sampled,
        advantage_RT=(score - score.mean())[:, None] * agent, return_RT=score[:, None] * agent,
        old_value_RT=torch.zeros(ids.shape), head={"v": torch.zeros(ids.shape)},
    )  # fmt: skip


def episodes(n: int = 64, seed: int = 0) -> Tensor:
    return torch.randint(0, 4, (n, 3), generator=torch.Generator().manual_seed(seed))


def chosen_data(name: str, ids: Tensor) -> Tensor:
    """What this objective is meant to see: successes, pairs (chosen, rejected, ...), or everything."""
    won = ids[:, 0] == WINS
    if name in ("sft", "bc"):
        return ids[won]
    if make_objective(name).unit != "pair":
        return ids
    n = int(won.sum())
    return torch.stack([ids[won], ids[~won][:n]], dim=1).flatten(0, 1)


def learnt(name: str, options: dict[str, Any], steps: int = 40) -> Sequence[float]:
    """The probabilities of the first token after training on episodes of the uniform policy."""
    logits = torch.zeros(3, 4, requires_grad=True)
    ids = chosen_data(name, episodes())
    batch = batch_of(ids, logprobs(logits.detach(), ids))
    chosen = make_objective(name, **options)
    optimizer = torch.optim.Adam([logits], lr=0.05)
    for _ in range(steps):
        optimizer.zero_grad()
        (chosen(logprobs(logits, ids), batch).total / count_units(batch, chosen.unit)).backward()
        optimizer.step()
    assert logits.grad is not None and not logits.grad[1].any()  # what the environment says is not learnt
    return logits.detach().softmax(-1)[0].tolist()


@each("name", [name for name in sonde.names("objectives") if name not in ("mc", "ilql")])
def test_learns_to_win(name: str) -> None:
    # At temperature 1 a success weighs e times a failure, and failures are thrice as many: it needs a lower one.
    options = {"temperature": 0.25, "max_weight": 30.0} if name == "rwr" else {}
    after = learnt(name, options)
    assert after[WINS] > 0.5
    assert max(after[i] for i in range(4) if i != WINS) < 0.2
