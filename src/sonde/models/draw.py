"""Draw the next token of many rows at once, each row with its own settings and its own random number.

After division by the temperature a token stays if p >= min_p * max p and if it belongs to the smallest set of most
likely tokens whose probabilities reach top_p; among those that stay, the inverse of the cumulative distribution in
order of token id picks one from a number in [0, 1). Id order, unlike an order by probability, cannot flip two tokens
that rounding makes swap places. Temperature 0 takes the most likely token.

Sources: min-p, arXiv 2407.01082; top-p (nucleus), arXiv 1904.09751.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from sonde.core.model import Sampling
from sonde.core.seeding import derive

NUCLEUS = 512
"""Most likely tokens looked at first for top-p."""


def uniform(sampling: Sampling, position: int) -> float:
    """The number in [0, 1) that decides the token at `position` of a completion, whatever else runs beside it."""
    return (derive(sampling.seed, "token", position) >> 11) * 2.0**-53


def draw(logits_BV: Tensor, samplings: Sequence[Sampling], positions: Sequence[int]) -> tuple[list[int], list[float]]:
    """Token ids and their natural log-probabilities before truncation, one of each per row: at the row's temperature,
    or at 1 where that is 0."""
    logprobs_BV = torch.log_softmax(_warmed(logits_BV.float(), samplings), -1)
    tokens_B = logprobs_BV.argmax(-1)
    warm = [i for i, s in enumerate(samplings) if s.temperature > 0]
    if warm:
        rows_BV = logprobs_BV if len(warm) == len(samplings) else logprobs_BV[warm]
        tokens_B[warm] = _pick(rows_BV, [samplings[i] for i in warm], [positions[i] for i in warm])
    chosen_B = logprobs_BV.gather(-1, tokens_B[:, None])[:, 0]
    return tokens_B.tolist(), chosen_B.tolist()


def _warmed(logits_BV: Tensor, samplings: Sequence[Sampling]) -> Tensor:
    """The logits of each row divided by its temperature; those of greedy rows as they are."""
    temperatures = [s.temperature or 1.0 for s in samplings]
    if all(t == 1.0 for t in temperatures):
        return logits_BV
    return logits_BV / torch.tensor(temperatures, device=logits_BV.device)[:, None]


def _pick(logprobs_BV: Tensor, samplings: Sequence[Sampling], positions: Sequence[int]) -> Tensor:
    def column(values: Sequence[float], dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.tensor(values, dtype=dtype, device=logprobs_BV.device)[:, None]

    probs_BV = torch.softmax(logprobs_BV, -1)
    keep_BV = truncate(probs_BV, column([s.min_p for s in samplings]), column([s.top_p for s in samplings]))
    reached_BV = probs_BV.masked_fill_(~keep_BV, 0.0).cumsum(-1, dtype=torch.float64)
    uniforms = [uniform(s, n) for s, n in zip(samplings, positions, strict=True)]
    wanted_B1 = column(uniforms, torch.float64) * reached_BV[:, -1:]
    last = reached_BV.shape[-1] - 1  # past it only where the probabilities are not numbers
    return torch.searchsorted(reached_BV, wanted_B1, right=True)[:, 0].clamp_(max=last)


def truncate(probs_BV: Tensor, min_p_B1: Tensor, top_p_B1: Tensor) -> Tensor:
    """Which tokens stay. The most likely one always does."""
    keep_BV = probs_BV >= min_p_B1 * probs_BV.amax(-1, keepdim=True)
    rows = (top_p_B1[:, 0] < 1).nonzero()[:, 0]
    if len(rows):
        keep_BV[rows] &= _nucleus(probs_BV[rows], top_p_B1[rows])
    return keep_BV


def _nucleus(probs_BV: Tensor, top_p_B1: Tensor) -> Tensor:
    size = probs_BV.shape[-1]
    for k in (min(NUCLEUS, size), size):  # the top few nearly always suffice, and all of them cost a sort
        top_BK, order_BK = probs_BV.topk(k)
        reached_BK = top_BK.cumsum(-1, dtype=torch.float64)
        if (reached_BK[:, -1:] >= top_p_B1).all():
            break
    before_BK = reached_BK - top_BK
    return torch.zeros_like(probs_BV, dtype=torch.bool).scatter_(-1, order_BK, before_BK < top_p_B1)
