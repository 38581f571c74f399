"""RPO: DPO plus the likelihood of the chosen trajectory.

The formula is that of `dpo` with alpha 1. Source: PAPRIKA (Tajwar et al. 2025), equation 3, after Pang et al. 2024.
"""

from __future__ import annotations

from dataclasses import dataclass

from .dpo import DPO


@dataclass(frozen=True, kw_only=True)
class RPO(DPO):
    """DPO and the likelihood of the chosen trajectory, weighted `alpha`."""

    alpha: float = 1.0
