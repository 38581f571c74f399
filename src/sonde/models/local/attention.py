"""Attention masks, one per layer type.

`eager` and `sdpa` attention take an explicit mask for every pair of columns, if the model computes attention through
transformers' interface: layers that attend to everything (`full_attention`) or to the last positions
(`sliding_attention`). Flash attention takes no mask; for other layer types the mask is not known here; and models that
derive something else from the two-dimensional mask (the slopes of Bloom) need that one. For all these
`attention_windows` is None.

An explicit mask is used as it is. Given a two-dimensional one, transformers first checks whether it masks anything,
which makes the host wait for everything that a GPU has yet to compute.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

MASKED = ("eager", "sdpa")
KINDS = ("full_attention", "sliding_attention")

Windows = Mapping[str, int | None]
"""How far each layer type looks back; None: to the start."""


def attention_windows(*models: Any) -> Windows | None:
    """The windows of the models' layers; None if they take no explicit masks, or not the same ones."""
    kinds = [read_attention(model.config) for model in models if model._supports_attention_backend]
    return kinds[0][1] if len(kinds) == len(models) and all(one == kinds[0] for one in kinds) else None


def read_attention(config: Any) -> tuple[str, Windows | None]:
    """Attention implementation and windows of a model with this configuration; the latter None if it takes no masks."""
    text = config.get_text_config()
    attention = str(text._attn_implementation)
    window: int | None = getattr(text, "sliding_window", None) if getattr(text, "use_sliding_window", True) else None
    kinds = set(getattr(text, "layer_types", None) or [KINDS[window is not None]])
    if attention not in MASKED or not kinds.issubset(KINDS):
        return attention, None
    return attention, {kind: window if kind == "sliding_attention" else None for kind in KINDS if kind in kinds}


def build_masks(model: Any, windows: Windows, seen_BTS: Tensor, back_BTS: Tensor) -> Any:
    """Build the masks. `seen`: which columns a token sees in layers that look back to the start; `back`: how many
    positions before the token they are (any shape that broadcasts)."""
    attention, _ = read_attention(model.config)
    by_kind = {
        kind: _build_mask(seen_BTS if window is None else seen_BTS & (back_BTS < window), attention, model.dtype)
        for kind, window in windows.items()
    }
    return by_kind if len(by_kind) > 1 else next(iter(by_kind.values()))


def _build_mask(seen_BTS: Tensor, attention: str, dtype: torch.dtype) -> Tensor:
    if attention == "sdpa":
        return seen_BTS[:, None]
    mask_BTS = torch.zeros_like(seen_BTS, dtype=dtype).masked_fill_(~seen_BTS, torch.finfo(dtype).min)
    return mask_BTS[:, None]
