"""The reference seller: asks what the buyer wants and would pay, shows its wishes, and comes down to the best price.

It plans on the exact posterior over buyers (`View.filter`). The question at the start distinguishes characters, wishes
and most budgets. Then the seller shows the most likely wishes. The *target* is the price that maximises the price times
the share of the remaining buyers that would pay it, given the talk that they like best. While concessions are missing,
the offers begin above the target, by one small step per concession, so that the last of them is the target.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, View

from .._shared.needs import require_filter
from .filter import DealFilter
from .negotiation import TalkSummary, offered_price, price_limit, read_pitch, summarise_talk

_QUESTION = "What features are you looking for, and what is your budget?"


@dataclass(frozen=True, kw_only=True)
class CarDealerSolver(ProgramPolicy):
    """See the module. Plays `car_dealer`."""

    def act_now(self, view: View) -> Action:
        known = require_filter(view, DealFilter, "car_dealer", "over buyers")
        messages = [view.say(answer) for answer in view.legal or ()]
        return Action(_QUESTION if not view.turn else choose_message(known, messages))


def choose_message(known: DealFilter, legal: Sequence[str]) -> str:
    """Choose a message about the most likely wishes until the buyer has seen them, then an offer."""
    talk = summarise_talk(known.pitches, known.listed)
    (wants, _), *_ = Counter(b.wants for b in known.fitting).most_common(1)
    if not talk.explained.issuperset(wants):
        return next(m for m in legal if set(read_pitch(m).confirmed) == set(wants))
    return _choose_offer(known, talk, {offered_price(read_pitch(m), known.listed): m for m in legal})


def _choose_offer(known: DealFilter, talk: TalkSummary, messages: Mapping[int, str]) -> str:
    """The offer of the target price, or of one step above it for each concession that a bargain hunter still
    expects."""
    buyers, listed = known.fitting, known.listed
    bargain = sum(b.character == "bargain" for b in buyers) > len(buyers) / 2
    missing = max(0, 4 - talk.concessions - (talk.lowest > 0)) if bargain else 0
    then = talk._replace(concessions=4 if bargain else talk.concessions, messages=talk.messages + 1)
    limits = [price_limit(b, then, listed) for b in buyers]
    prices = sorted(price for price in messages if price)
    target = max(prices, key=lambda price: price * sum(price <= limit for limit in limits))
    wanted = target + missing * listed // 80
    return messages[next((price for price in prices if price >= wanted), prices[-1])]
