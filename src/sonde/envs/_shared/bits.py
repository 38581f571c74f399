"""Entropies in bits, as arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def p_log2_p(p: Floats) -> Floats:
    """p log2 p, elementwise; 0 at 0."""
    return p * np.log2(p, out=np.zeros_like(p), where=p > 0.0)
