"""The rule user of the car dealer: a buyer who loves discounts, wants features, or is impatient.

Source: LMRL-Gym, appendix D.8 (the three characters). `negotiation.py` defines how each of them reacts to an offer;
no words can change that. The decision is a tag that the environment reads and the seller does not see.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from .._shared.rule_user import Ruled
from . import negotiation as dealing


@dataclass(frozen=True, kw_only=True)
class Buyer(Ruled):
    """See the module."""

    needs: ClassVar[tuple[str, ...]] = ("buyer", "listed", "pitches")
    hidden: ClassVar[str] = "buyer"

    def compose_reply(self, facts: Mapping[str, Any]) -> str:
        reaction = dealing.react_to_pitch(facts["buyer"], facts["pitches"], facts["listed"])
        tag = " <Deal>yes</Deal>" if reaction.deal else " <Deal>no</Deal>" if reaction.leaves else ""
        return reaction.text + tag
