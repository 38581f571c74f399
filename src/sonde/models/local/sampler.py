"""Sample the next token of many rows at once, each row with its own settings and its own random number.

After division by the temperature a token stays if p >= min_p * max p and if it belongs to the smallest set of most
likely tokens whose probabilities reach top_p. A number in [0, 1) then selects one of the remaining tokens by the
inverse of the cumulative distribution in order of token id. Unlike an order by probability, id order cannot flip two
tokens that rounding makes swap places. Temperature 0 takes the most likely token. Ids that are no token (a vocabulary
may be padded) are never sampled; log-probabilities are those of the unmodified model, which gives such ids almost no
probability.

Sources: min-p, arXiv 2407.01082; top-p (nucleus), arXiv 1904.09751.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from sonde.core.model import Sampling
from sonde.core.seeding import derive

NUCLEUS = 512
"""Most likely tokens that top-p considers first. They are nearly always enough, and considering all costs a sort."""


def token_uniform(sampling: Sampling, position: int) -> float:
    """The number in [0, 1) that decides the token at `position` of a completion, independent of the rest of the
    batch."""
    return (derive(sampling.seed, "token", position) >> 11) * 2.0**-53


def to_device(values: Sequence[object], device: torch.device, dtype: torch.dtype) -> Tensor:
    """Copy numbers to a device. From pinned memory a GPU copies them asynchronously, so the host does not wait."""
    host = torch.tensor(values, dtype=dtype)
    return host.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else host.to(device)


def sample_tokens(
    logits_BV: Tensor,
    samplings: Sequence[Sampling],
    positions: Sequence[int],
    *,
    absent_V: Tensor | None = None,
    top: int = NUCLEUS,
) -> tuple[list[int], list[float]]:
    """Sample one token id per row; returns the ids and their natural log-probabilities before truncation, at the row's
    temperature, or at 1 if that is 0. `absent_V` is true for ids that must not be sampled. For top-p, the `top` most
    likely tokens are considered first.

    The host waits for a GPU once, for all results together.
    """
    device = logits_BV.device
    warm = [s.temperature > 0 for s in samplings]
    logprobs_BV = torch.log_softmax(_apply_temperature(logits_BV.float(), samplings), -1)
    drawn_BV = logprobs_BV if absent_V is None else logprobs_BV.masked_fill(absent_V, -torch.inf)
    tokens_B = enough_B = None
    if any(warm):
        tokens_B, enough_B = _pick_tokens(drawn_BV, samplings, positions, top)
    if not all(warm):
        most_B = drawn_BV.argmax(-1)
        tokens_B = most_B if tokens_B is None else torch.where(to_device(warm, device, torch.bool), tokens_B, most_B)
    assert tokens_B is not None
    chosen_B = logprobs_BV.gather(-1, tokens_B[:, None])[:, 0]
    results = [tokens_B, chosen_B] if enough_B is None else [tokens_B, chosen_B, enough_B]
    tokens, logprobs, *enough = torch.stack([t.double() for t in results]).tolist()  # exact: ids are below 2^53
    if enough and not all(enough[0]) and top < logits_BV.shape[-1]:
        return sample_tokens(logits_BV, samplings, positions, absent_V=absent_V, top=logits_BV.shape[-1])
    return [int(token) for token in tokens], logprobs


def _apply_temperature(logits_BV: Tensor, samplings: Sequence[Sampling]) -> Tensor:
    """Divide the logits of each row by its temperature; greedy rows stay unchanged."""
    temperatures = [s.temperature or 1.0 for s in samplings]
    if all(t == 1.0 for t in temperatures):
        return logits_BV
    return logits_BV / to_device(temperatures, logits_BV.device, torch.float32)[:, None]


def _pick_tokens(
    logprobs_BV: Tensor, samplings: Sequence[Sampling], positions: Sequence[int], top: int
) -> tuple[Tensor, Tensor | None]:
    """Sample a token for every row; with top-p, also return whether `top` tokens were enough to find the nucleus."""
    cuts = [(s.min_p, s.top_p) if s.temperature > 0 else (0.0, 1.0) for s in samplings]
    uniforms = [token_uniform(s, n) for s, n in zip(samplings, positions, strict=True)]
    columns_B3 = to_device([(*c, u) for c, u in zip(cuts, uniforms, strict=True)], logprobs_BV.device, torch.float64)
    min_p_B1, top_p_B1, uniform_B1 = columns_B3.split(1, -1)
    nucleus = any(top_p < 1 for _, top_p in cuts)
    probs_BV = torch.softmax(logprobs_BV, -1)
    keep_BV, enough_B = truncate_probs(probs_BV, min_p_B1.float(), top_p_B1.float() if nucleus else None, top)
    reached_BV = probs_BV.masked_fill_(~keep_BV, 0.0).cumsum(-1, dtype=torch.float64)
    wanted_B1 = uniform_B1 * reached_BV[:, -1:]
    last = reached_BV.shape[-1] - 1  # exceeded only if the probabilities are not finite
    return torch.searchsorted(reached_BV, wanted_B1, right=True)[:, 0].clamp_(max=last), enough_B


def truncate_probs(
    probs_BV: Tensor, min_p_B1: Tensor, top_p_B1: Tensor | None, top: int
) -> tuple[Tensor, Tensor | None]:
    """Which tokens stay (the most likely always); and for which rows the `top` most likely tokens suffice to decide
    that."""
    keep_BV = probs_BV >= min_p_B1 * probs_BV.amax(-1, keepdim=True)
    if top_p_B1 is None:
        return keep_BV, None
    top_BK, order_BK = probs_BV.topk(min(top, probs_BV.shape[-1]))
    reached_BK = top_BK.cumsum(-1, dtype=torch.float64)
    whole_B1 = top_p_B1 >= 1
    inside_BK = (reached_BK - top_BK < top_p_B1) | whole_B1
    inside_BV = whole_B1.expand_as(probs_BV).clone().scatter_(-1, order_BK, inside_BK)
    return keep_BV & inside_BV, ((reached_BK[:, -1:] >= top_p_B1) | whole_B1)[:, 0]
