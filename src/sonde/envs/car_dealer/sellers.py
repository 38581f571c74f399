"""The three sellers of LMRL-Gym's car dealer, each with a fixed sales style.

Source: arXiv 2311.18232, D.8: one gives discounts, one talks a lot about the features of the car and gives no
discounts, one is concise and does neither; each is best with one of the three buyers, and often fails with the others.
The paper's sellers are prompts to a language model. These are our programs:

    discounts   three messages about savings, then offers: 3 % off the list price, and 3 % more every time
    features    asks for wishes, praises all features, two in a message, and then stays with the list price
    concise     says only the list price

`style="drawn"` draws a style for every episode, with equal probability. Of the 105 buyers of each character, these buy
from discounts, features and concise: bargain 90, 0, 0; features 60, 60, 0, at lower prices from the first; impatient
30, 15, 45.
"""

from __future__ import annotations

from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, Rng, UserError, View, unknown

from .negotiation import FEATURES

STYLES = ("discounts", "features", "concise")
_CHOICES = (*STYLES, "drawn")
_STEP = 3
"""Percent of the list price that each offer of the generous seller is lower than the one before."""
_LEAST = 70
"""Percent of the list price below which it does not go."""
_SAVINGS = (
    "Good morning, and how lucky that you have come to us in this very week, because there is hardly a car in the "
    "house on which I could not do something for you, and there is nothing that I like better than to see a customer "
    "go home with money left. What is your budget?",
    "Then let me tell you how we do this here. There is a reduction for the season, one for paying at once, and one "
    "for coming back, and if they are not enough, then I always find another one somewhere, since nobody should pay "
    "what is written on the sign.",
    "I have just gone through my papers for you, and it looks very good indeed. The reduction for the season still "
    "holds until the evening, the one for paying at once can be added to it, and beyond that I still have a little "
    "room, which I am only too happy to use for you.",
)
_WISHES = "Good morning! This car is a joy to drive. What features are you looking for?"
_PRAISE = (
    "Then you have come to the right place. This car comes with {first} and {second}, both of the newest kind, and "
    "you will wonder how you ever lived without them: they are quiet, they are quick, they are easy to use, and they "
    "make every single journey so much more pleasant."
)


@dataclass(frozen=True, kw_only=True)
class CarDealerSellers(ProgramPolicy):
    """See the module. Plays `car_dealer`. `style` is `discounts`, `features`, `concise` or `drawn`."""

    style: str = "drawn"

    def __post_init__(self) -> None:
        if self.style not in _CHOICES:
            raise unknown("dealer: style", self.style, _CHOICES)

    def act_now(self, view: View) -> Action:
        listed = view.public.get("listed")
        if view.spec.name != "car_dealer" or listed is None:
            raise UserError(f"agents:car_dealer_sellers: {view.spec.name} has no car to sell")
        style = self.style
        if style == "drawn":
            style = view.memory or STYLES[Rng(view.seed).randrange(len(STYLES))]
        return Action(seller_message(style, view.turn, listed), memory=style if self.style == "drawn" else None)


def seller_message(style: str, turn: int, listed: int) -> str:
    """Return what a seller of that style says in a turn, counted from 0.

    >>> seller_message("concise", 0, 30_000), seller_message("discounts", 4, 30_000)
    ('The price is $30,000.', 'I can offer it to you for $28,200.')
    """
    if style == "discounts":
        if turn < len(_SAVINGS):
            return _SAVINGS[turn]
        price = listed * max(_LEAST, 100 - _STEP * (turn + 1 - len(_SAVINGS))) // 100
        return f"I can offer it to you for ${price:,}."
    if style == "features" and turn == 0:
        return _WISHES
    if style == "features" and turn <= len(FEATURES) // 2:
        first, second = FEATURES[2 * turn - 2 : 2 * turn]
        return _PRAISE.format(first=first, second=second)
    return f"The price is ${listed:,}."
