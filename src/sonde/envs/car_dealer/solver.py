"""The reference seller: ask about wishes and price range, confirm the wishes, and make the offer worth most.

It maximises the exact expected revenue on the posterior over buyers (`View.filter`), looking one offer ahead: of all
possible prices, the one whose price times the probability of immediate acceptance is highest. It confirms wishes first
if some remaining buyer would pay more for it. The opening question costs a message, but distinguishes the characters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, View

from .._shared.needs import require_filter
from .filter import DealFilter
from .negotiation import Pitch, offered_price, price_limit, read_pitch

_QUESTION = "What features are you looking for, and what is your budget?"


@dataclass(frozen=True, kw_only=True)
class CarDealerSolver(ProgramPolicy):
    """See the module. Plays `car_dealer`."""

    def act_now(self, view: View) -> Action:
        known = require_filter(view, DealFilter, "car_dealer", "over buyers")
        messages = [view.say(answer) for answer in view.legal or ()]
        return Action(_QUESTION if not view.turn else choose_message(known, messages))


def choose_message(known: DealFilter, legal: Sequence[str]) -> str:
    """Choose a confirmation that raises some buyer's limit, else the offer of highest expected price."""
    for message in legal:
        if (pitch := read_pitch(message)).confirmed and _raises_limit(known, pitch):
            return message
    return max(legal, key=lambda message: _expected_price(known, read_pitch(message)))


def _raises_limit(known: DealFilter, pitch: Pitch) -> bool:
    """Whether the likeliest wishes are these and not confirmed yet, for a buyer who pays for that."""
    wants = Counter(b.wants for b in known.fitting if b.character == "features").most_common(1)
    confirmed = {f for p in known.pitches for f in p.confirmed}
    return bool(wants) and set(wants[0][0]) == set(pitch.confirmed) and not confirmed >= set(pitch.confirmed)


def _expected_price(known: DealFilter, pitch: Pitch) -> float:
    """The price times the share of buyers left that accept it now."""
    price, heard = offered_price(pitch, known.listed), (*known.pitches, pitch)
    return price * sum(price <= price_limit(b, heard, known.listed) for b in known.fitting) / len(known.fitting)
