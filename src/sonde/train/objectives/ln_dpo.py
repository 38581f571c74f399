"""Length-normalised DPO: preferences on the mean log ratios of trajectories.

The formula is that of `dpo`, both ratios divided by their own numbers of tokens. Source: PAPRIKA's code; Tulu 3
(Lambert et al. 2024).
"""

from __future__ import annotations

from dataclasses import dataclass

from .dpo import DPO


@dataclass(frozen=True, kw_only=True)
class LnDPO(DPO):
    """DPO on mean log ratios, so that a pair of long trajectories weighs no more than one of short ones."""

    normalise: bool = True
