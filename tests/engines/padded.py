"""The same model with wider attention heads, for engines that know only some widths.

vLLM's attention on the CPU takes heads whose width is a multiple of 32, or one of a few others; those of sonde-tiny are
24 wide. Zeros can be put into the projections so that every number that matters stays:

- A score is q . k / sqrt(width). Coordinates that are zero in both add nothing to the product, so only the divisor has
  changed, from sqrt(d) to sqrt(D): queries are multiplied by sqrt(D / d).
- The rotary embedding turns coordinate i of a head together with coordinate i + d / 2, by an angle of
  position * theta ** (-2 i / d). In a head of D, partners are D / 2 apart: the first half of the old coordinates goes
  to 0, 1, ... and the second half to D / 2, D / 2 + 1, ... The angle of pair i is then position * theta' ** (-2 i / D),
  which is the old one for theta' = theta ** (D / d).
- Values get zeros in the same places, and the rows of the output projection that would read them are zeros too.

What differs is rounding: 1e-4 in a logit.
"""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file


def write_padded(source: Path, target: Path, width: int = 32, *, untied: bool = False) -> Path:
    """A copy of a Llama's folder with heads of this width. `untied` stores the output head as a tensor of its own,
    though it equals the embeddings."""
    shutil.copytree(source, target)
    config: dict[str, Any] = json.loads((source / "config.json").read_text())
    n_heads = config["num_attention_heads"]
    old = config.get("head_dim") or config["hidden_size"] // n_heads
    places = [*range(old // 2), *range(width // 2, width // 2 + old // 2)]
    tensors = load_file(source / "model.safetensors")
    for name, tensor in tensors.items():
        projection = name.split(".")[-2]
        if projection in ("q_proj", "k_proj", "v_proj"):
            stretch = math.sqrt(width / old) if projection == "q_proj" else 1.0
            tensors[name] = _spread(tensor * stretch, old, width, places)
        elif projection == "o_proj":
            tensors[name] = _spread(tensor.T, old, width, places).T.contiguous()
    if untied:
        tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"].clone()
        config["tie_word_embeddings"] = False
    rope = config["rope_parameters"]
    config |= {"head_dim": width, "rope_parameters": {**rope, "rope_theta": rope["rope_theta"] ** (width / old)}}
    save_file(tensors, target / "model.safetensors", metadata={"format": "pt"})
    (target / "config.json").write_text(json.dumps(config, indent=2))
    return target


def _spread(rows: torch.Tensor, old: int, width: int, places: list[int]) -> torch.Tensor:
    """Rows of heads that are `old` wide, at these places of heads that are `width` wide."""
    heads = rows.reshape(-1, old, rows.shape[-1])
    wider = torch.zeros(len(heads), width, rows.shape[-1])
    wider[:, places] = heads
    return wider.reshape(-1, rows.shape[-1])
