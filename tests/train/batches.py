"""Batches of small tensors for the tests of objectives, in double precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sonde.train.types import Batch

Table = Sequence[Sequence[float]]


def doubles(rows: Table) -> Tensor:
    """A tensor of these numbers."""
    return torch.tensor(rows, dtype=torch.float64)


def batch(agent: Sequence[Sequence[int]], owner: Sequence[int], **fields: Any) -> Batch:
    """A batch with these masks and owners; tables become tensors; scores are 0 and nobody succeeds unless told."""
    n = max(owner) + 1
    agent_RT = torch.tensor(agent, dtype=torch.bool)
    floats = {k: doubles(v) for k, v in fields.items() if k.endswith("_RT")}
    return Batch(
        agent_RT=agent_RT,
        turn_RT=torch.where(agent_RT, 0, -1),
        owner_R=torch.tensor(owner),
        n_samples=n,
        score_S=torch.tensor(fields.get("score", [0.0] * n), dtype=torch.float64),
        success_S=torch.tensor(fields.get("success", [False] * n)),
        **floats,
    )


HEADS = ("v", "q1", "q2", "q1_logp", "q2_logp", "q1_target", "q2_target")
"""What heads predict of a token."""


class Said(NamedTuple):
    """One row of a sample: numbers per token."""

    agent: Tensor
    logprob: Tensor
    reference: Tensor
    sampled: Tensor
    advantage: Tensor
    reward: Tensor
    returned: Tensor
    old_value: Tensor
    v: Tensor
    q1: Tensor
    q2: Tensor
    q1_logp: Tensor
    q2_logp: Tensor
    q1_target: Tensor
    q2_target: Tensor

    def cut(self, start: int, stop: int) -> Said:
        """The part of the row from token `start` to `stop`, everything else being no longer the agent's."""
        keep = torch.zeros_like(self.agent, dtype=torch.bool)
        keep[start:stop] = True
        return Said(*(torch.where(keep, x, torch.zeros_like(x)) for x in self))


class Made(NamedTuple):
    """A sample: its rows, what it scored and whether it succeeded."""

    rows: tuple[Said, ...]
    score: float
    success: bool


def said(generator: torch.Generator, others: torch.Generator, length: int) -> Said:
    """A row of random numbers in which about half of the tokens are the agent's."""
    agent = torch.rand(length, generator=generator) < 0.5
    agent[-1] = True
    logprob, reference, sampled, advantage = (
        torch.where(agent, torch.randn(length, generator=generator, dtype=torch.float64), 0.0) for _ in range(4)
    )
    more = (torch.where(agent, torch.randn(length, generator=others, dtype=torch.float64), 0.0) for _ in range(10))
    return Said(agent, -logprob.abs(), -reference.abs(), -sampled.abs(), advantage, *more)


def made(n: int, seed: int = 2) -> list[Made]:
    """Samples of one to three rows; every other one succeeds. By default the mean of their log ratios is above 0."""
    g = torch.Generator().manual_seed(seed)
    others = torch.Generator().manual_seed(seed + 1)
    rows = [tuple(said(g, others, 4 + (i + j) % 3) for j in range(1 + i % 3)) for i in range(n)]
    scores = torch.randn(n, generator=g, dtype=torch.float64).tolist()
    return [Made(r, score, i % 2 == 0) for i, (r, score) in enumerate(zip(rows, scores, strict=True))]


def places(rows: Sequence[Said]) -> list[Tensor]:
    """How many of the sample's agent tokens come before each of them, -1 off agent tokens."""
    before = torch.cat([torch.zeros(1), torch.cat([r.agent for r in rows]).cumsum(0)])[:-1].long()
    parts = before.split([len(r.agent) for r in rows])
    return [torch.where(r.agent, n, -1) for r, n in zip(rows, parts, strict=True)]


def together(samples: Sequence[Made], *, reverse: bool = False) -> tuple[Tensor, Batch]:
    """Log-probabilities, which require a gradient, and the batch; the order of rows can be turned round. Episodes that
    do not succeed were cut short."""
    rows = [(i, r, n) for i, s in enumerate(samples) for r, n in zip(s.rows, places(s.rows), strict=True)]
    rows = rows[::-1] if reverse else rows
    pad = torch.nn.utils.rnn.pad_sequence
    table = {name: pad([r[k] for _, r, _ in rows], batch_first=True) for k, name in enumerate(Said._fields)}
    agent_RT, logprob_RT = table["agent"], table["logprob"]
    seen = Batch(
        agent_RT=agent_RT, turn_RT=torch.where(agent_RT, 0, -1), owner_R=torch.tensor([i for i, *_ in rows]),
        n_samples=len(samples), score_S=torch.tensor([s.score for s in samples], dtype=torch.float64),
        success_S=torch.tensor([s.success for s in samples]), sampled_RT=table["sampled"],
        reference_RT=table["reference"], advantage_RT=table["advantage"], reward_RT=table["reward"],
        nth_RT=pad([n for *_, n in rows], batch_first=True, padding_value=-1),
        cut_S=torch.tensor([not s.success for s in samples]), return_RT=table["returned"],
        old_value_RT=table["old_value"], head={name: table[name] for name in HEADS},
    )  # fmt: skip
    return logprob_RT.clone().requires_grad_(), seen
