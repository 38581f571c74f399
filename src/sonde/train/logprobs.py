"""Log-probabilities of the agent's tokens under a model, with gradients.

The head is computed only where the next token is the agent's: the mask of those positions goes through the model's own
forward (`logits_to_keep`), so the hooks of DDP and FSDP and the layers of an adapter all take part. What comes back is
(agent tokens, V), however many rows there are. The log-softmax is in float32; logits of a lower precision are widened a
block at a time and again on the way back, so that no float32 copy of all of them is kept. Where the tensors tell what
temperature each token was drawn at, its logits are divided by it first.

Source: ours. Needs a model whose `logits_to_keep` takes a mask: all decoders of transformers 5.23.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from sonde.core.errors import UserError
from sonde.models.local.heads import Heads, hidden_states

from .collate import Tensors

BLOCK = 1 << 24
"""Most logits that are widened to float32 at once."""


def token_logprobs(model: Any, tensors: Tensors) -> Tensor:
    """(R, T), zero off agent tokens and at the first token of a row."""
    return _laid(said_logprobs(model, tensors), tensors)


def _laid(values_N: Tensor, tensors: Tensors) -> Tensor:
    """Where the tokens lie, and zero elsewhere."""
    shape_RT = tensors["agent_RT"].shape
    return values_N.new_zeros(shape_RT.numel()).index_copy(0, tensors["place"], values_N).view(shape_RT)


def said_logprobs(model: Any, tensors: Tensors) -> Tensor:
    """Of the tokens in `tensors["target"]`, in their order."""
    logits_NV = model(**_fed(tensors), logits_to_keep=tensors["keep"], use_cache=False).logits
    if logits_NV.shape[:-1] != tensors["target"].shape:
        got, wanted = tuple(logits_NV.shape), len(tensors["target"])
        raise UserError(
            f"train: {type(model).__name__} gives logits of shape {got} for {wanted} positions; allowed: a decoder of "
            "transformers 5.23 or later, whose `logits_to_keep` takes a mask"
        )
    return chosen(logits_NV, tensors["target"], tensors.get("temperature"))


def said_values(model: Any, heads: Heads, tensors: Tensors) -> tuple[Tensor, dict[str, Tensor]]:
    """The same, and what the heads that are on the model say of these tokens."""
    with hidden_states(model) as seen:
        logprob_N = said_logprobs(model, tensors)
    return logprob_N, heads(seen[0], tensors["target"])


def token_values(model: Any, heads: Heads, tensors: Tensors) -> tuple[Tensor, dict[str, Tensor]]:
    """Log-probabilities as in `token_logprobs`, and what the heads predict, (R, T) as well."""
    logprob_N, head = said_values(model, heads, tensors)
    return _laid(logprob_N, tensors), {name: _laid(x, tensors) for name, x in head.items()}


def _fed(tensors: Tensors) -> Tensors:
    """What the model is given, by its names: padded lines with a mask, or packed ones with where their rows begin."""
    if "attention_mask" in tensors:
        return {name: tensors[name] for name in ("input_ids", "attention_mask")}
    begin, longest = tensors["cu_seq_lens"], tensors["max_length"]
    lengths = {"cu_seq_lens_q": begin, "cu_seq_lens_k": begin, "max_length_q": longest, "max_length_k": longest}
    return {"input_ids": tensors["input_ids"], "position_ids": tensors["position_ids"], **lengths}


def chosen(logits_NV: Tensor, target_N: Tensor, temperature_N: Tensor | None = None, *, block: int = BLOCK) -> Tensor:
    """The natural log-probability of one token per line, at its temperature (None: 1 for all), in float32."""
    if logits_NV.dtype == torch.float32:
        return _chosen(logits_NV, target_N, temperature_N)
    lines = max(1, block // logits_NV.shape[-1])
    parts = zip(logits_NV.split(lines), target_N.split(lines), strict=True)
    warmth = [None] * len(target_N) if temperature_N is None else temperature_N.split(lines)
    done = [checkpoint(_chosen, *part, t, use_reentrant=False) for part, t in zip(parts, warmth, strict=False)]
    return torch.cat(done)


def _chosen(logits_NV: Tensor, target_N: Tensor, temperature_N: Tensor | None) -> Tensor:
    wide_NV = logits_NV.float()
    if temperature_N is not None:
        wide_NV = wide_NV / temperature_N[:, None]
    return wide_NV.gather(-1, target_N[:, None])[:, 0] - wide_NV.logsumexp(-1)
