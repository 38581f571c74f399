"""Behaviour cloning: imitate recorded episodes, whoever played them and however they ended, or the best share of them.

The loss is that of `sft`: the negative log-likelihood of the agent's tokens. What differs is the choice of episodes
(`selection.ShareRule`): all of them, the `top` share by return (filtered cloning), or the successes, where `sft` learns
from PAPRIKA's successes with distinct numbers of turns.

Source: LMRL-Gym (Abdulhai et al. 2023), section 5 and appendix E.
"""

from __future__ import annotations

from dataclasses import dataclass

from .sft import SFT


@dataclass(frozen=True, kw_only=True)
class BC(SFT):
    """Maximum likelihood of the agent's tokens in a share of all episodes."""

    learns = "share"
    preset = "bc"
