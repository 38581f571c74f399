"""How far apart sums can come out in double precision that should be equal.

A sum of n numbers x, added up in any order, is off by at most (n - 1) u sum |x|, with u = 2^-53 (Higham, Accuracy and
Stability of Numerical Algorithms, 2002, section 4.2); so two of them that should be equal differ by at most twice that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

TERMS = 1024
"""So many rewards a score is taken for the sum of, where only the score is known."""
PARTS = 16
"""So many weighted rewards the reward of one turn is taken for the sum of."""
_UNIT = 2.0**-53


def rounding_of_scores(scores: NDArray[np.float64]) -> float:
    """For sums of `TERMS` numbers of one sign: 2.3e-13 of the largest.

    >>> 0.0 < abs((0.1 + 0.2) - 0.3) < rounding_of_scores(np.array([0.3])) < 1e-13
    True
    """
    return 2 * TERMS * _UNIT * float(np.max(np.abs(scores), initial=0.0))


def rounding_of_returns(rewards: Sequence[NDArray[np.float64]]) -> float:
    """For the returns of trajectories with these rewards per turn, discounted or not, from any turn on. Rewards may
    cancel each other; what made the reward of a single turn (`PARTS` numbers) may not."""
    turns = max(map(len, rewards), default=0)
    return 2 * (turns + PARTS) * _UNIT * max((float(np.abs(row).sum()) for row in rewards), default=0.0)
