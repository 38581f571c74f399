"""What the tokens of a pass may see, as masks that the layers of a model take: one for each kind of layer.

`eager` and `sdpa` attention take a mask of their own for every pair of columns, and so do models that compute attention
through transformers' interface: layers that attend to everything (`full_attention`) or to the last positions
(`sliding_attention`). Flash attention takes none; of other kinds of layers the mask is not known here; and models that
make something else of the mask of two dimensions (the slopes of Bloom) want that one. For all these `windows` is None.

A mask that is given is used as it is, where transformers would first look at the other one, whether it masks anything:
on a GPU that is a wait for all that was computed before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

MASKED = ("eager", "sdpa")
KINDS = ("full_attention", "sliding_attention")

Windows = Mapping[str, int | None]
"""How far each kind of layer looks back, None being to the start."""


def windows(*models: Any) -> Windows | None:
    """The windows of these models' layers; None where they cannot be given masks, or not the same ones."""
    found = [of_config(model.config) for model in models if model._supports_attention_backend]
    return found[0][1] if len(found) == len(models) and all(one == found[0] for one in found) else None


def of_config(config: Any) -> tuple[str, Windows | None]:
    """The attention of a model with this configuration, and its windows; None where it takes no masks."""
    text = config.get_text_config()
    attention = str(text._attn_implementation)
    window: int | None = getattr(text, "sliding_window", None) if getattr(text, "use_sliding_window", True) else None
    kinds = set(getattr(text, "layer_types", None) or [KINDS[window is not None]])
    if attention not in MASKED or not kinds.issubset(KINDS):
        return attention, None
    return attention, {kind: window if kind == "sliding_attention" else None for kind in KINDS if kind in kinds}


def masks(model: Any, windows: Windows, seen_BTS: Tensor, back_BTS: Tensor) -> Any:
    """`seen`: which columns a token may see where it looks back to the start; `back`: how many positions before it they
    are (of any shape that fits)."""
    attention, _ = of_config(model.config)
    found = {
        kind: _mask(seen_BTS if window is None else seen_BTS & (back_BTS < window), attention, model.dtype)
        for kind, window in windows.items()
    }
    return found if len(found) > 1 else next(iter(found.values()))


def _mask(seen_BTS: Tensor, attention: str, dtype: torch.dtype) -> Tensor:
    if attention == "sdpa":
        return seen_BTS[:, None]
    mask_BTS = torch.zeros_like(seen_BTS, dtype=dtype).masked_fill_(~seen_BTS, torch.finfo(dtype).min)
    return mask_BTS[:, None]
