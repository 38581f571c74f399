"""The three sellers of LMRL-Gym's car dealer, each with one selling style for all buyers.

Source: arXiv 2311.18232, D.8: one gives discounts, one talks a lot about the features of the car and gives no
discounts, one is concise and does neither; each suits one of the three buyers best, and often fails with the others.
The paper's sellers are prompts to a language model. Ours are programs:

    discounts   asks for wishes and budget, says in a few words that the car has the wishes, talks at length about
                possible savings, then offers 3 % off the list price, and 3 % more each time
    features    asks for wishes, praises them and then two other features, and then insists on the list price
    concise     states the list price, and answers in a few words whether the car has what the buyer asks for

`style="drawn"` draws one of them uniformly for every episode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, Rng, UserError, View, unknown

from .negotiation import FEATURES

STYLES = ("discounts", "features", "concise")
_CHOICES = (*STYLES, "drawn")
_PAIRS = 2
"""Messages of the style `features` that praise two features each."""
_STEP = 3
"""Percent of the list price by which the style `discounts` lowers each offer."""
_LEAST = 70
"""Its lowest offer, in percent of the list price."""
_OPENING = (
    "Good morning, and how lucky that you have come to us in this very week, because there is hardly a car in the "
    "house on which I could not do something for you, and there is nothing that I like better than to see a customer "
    "go home with money left. What features are you looking for, and what is your budget?"
)
_SAVINGS = (
    "Then let me tell you how we do this here. There is a reduction for the season, one for paying at once, and one "
    "for coming back, and if they are not enough, then I always find another one somewhere, since nobody should pay "
    "what is written on the sign."
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
            raise unknown("agents:car_dealer_sellers: style", self.style, _CHOICES)

    def act_now(self, view: View) -> Action:
        if view.spec.name != "car_dealer":
            raise UserError(f"agents:car_dealer_sellers: env: got {view.spec.name}, allowed: car_dealer")
        listed, style = view.public["listed"], self.style
        if style == "drawn":
            style = view.memory or STYLES[Rng(view.seed).randrange(len(STYLES))]
        heard = view.messages[-1].content if view.turn else ""
        memory = style if self.style == "drawn" else None
        return Action(seller_message(style, view.turn, listed, find_features(heard), self._wishes(view)), memory=memory)

    @staticmethod
    def _wishes(view: View) -> Sequence[str]:
        """The features that the buyer named first."""
        replies = (find_features(m.content) for m in view.messages[1:] if m.role == "user")
        return next((found for found in replies if found), ())


def find_features(text: str) -> Sequence[str]:
    """The features that a buyer's reply names.

    >>> find_features("It must have a sunroof and navigation, or I am not interested.")
    ('navigation', 'sunroof')
    """
    return tuple(feature for feature in FEATURES if feature in text)


def seller_message(style: str, turn: int, listed: int, asked: Sequence[str] = (), wishes: Sequence[str] = ()) -> str:
    """The message of a seller of this style in a turn, counted from 0, to a buyer who has just `asked` for features and
    has named its `wishes` before.

    >>> seller_message("concise", 0, 30_000), seller_message("discounts", 4, 30_000)
    ('The price is $30,000.', 'I can offer it to you for $28,200.')
    """
    if style == "discounts":
        return _discount_message(turn, listed, asked)
    if style == "features" and turn == 0:
        return _WISHES
    if style == "features" and turn <= _PAIRS:
        order = [*wishes, *(f for f in FEATURES if f not in wishes)]
        return _PRAISE.format(first=order[2 * turn - 2], second=order[2 * turn - 1])
    return f"It has {' and '.join(asked)}." if asked and style == "concise" else f"The price is ${listed:,}."


def _discount_message(turn: int, listed: int, asked: Sequence[str]) -> str:
    if turn == 0:
        return _OPENING
    if turn == 1 and asked:
        return f"It has {' and '.join(asked)}."
    if turn <= 2:
        return _SAVINGS
    price = listed * max(_LEAST, 100 - _STEP * (turn - 2)) // 100
    return f"I can offer it to you for ${price:,}."
