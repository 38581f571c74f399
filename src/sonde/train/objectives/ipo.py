"""IPO: preferences up to a margin, by the squared distance of the log-ratio difference from it.

The formula is that of `dpo`, shape "ipo". Source: Azar et al. 2024, equation 17; means for sums as in its authors'
experiments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .dpo import DPO


@dataclass(frozen=True, kw_only=True)
class IPO(DPO):
    """The squared distance of the (mean) log-ratio difference from `1 / (2 beta)`, which therefore stays bounded."""

    shape: Literal["sigmoid", "ipo"] = "ipo"
    normalise: bool = True
