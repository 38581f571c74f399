"""Sell a car: find out what kind of buyer you face, then make an offer that this buyer accepts.

Source: LMRL-Gym (arXiv 2311.18232), section 4.1 and appendix D.8. Published: a seller (the agent) and a buyer with one
of three characters (loves discounts, wants features, is impatient), a preferred brand and features, and a budget;
whether it buys, and at what price, follows from the dialogue; the return is the sale price: `reward="price"` here, in
thousands of dollars. The paper's code also has that reward, but by default it pays price / ((budget + list price) / 2),
and without a sale (list price - budget) / list price, so that a poor buyer who leaves is worth something:
`reward="fancy"`, the code's own name. Our default, `reward="ratio"`, pays the same for a sale, and 0 without one.

Ours: brands, prices, features and the buyers' rules (`negotiation.py`); the paper's buyer is a fine-tuned language
model. A message makes an offer if it proposes exactly one price; to state the list price, or what the buyer would pay,
is no offer. A buyer ends the talk with `<Deal>yes</Deal>`, which accepts the last offer, or `<Deal>no</Deal>`; the
agent does not see these tags. Without an earlier offer there is no deal, whatever the buyer says.

The hypothesis is the buyer: character, budget as a share of the list price, and the two features it wants, uniform over
all 315. The filter is exact for `users:buyer`.

`turn.info`: `offer` (dollars, or 0), `buyer_state` (listening, bought, left), `reply`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any, ClassVar, NamedTuple, cast

from sonde.core import AGENT, Env, Frozen, Outcome, Rng, Spec, Step, Task, TaskList, derive, invalid, unknown
from sonde.core.types import EMPTY, Json

from .._shared.dialogue import LONGEST_REPLY, USER, spoken_line
from .filter import LONGEST, DealFilter
from .negotiation import (
    CHARACTERS,
    FEATURES,
    SHARES,
    BuyerProfile,
    Pitch,
    all_buyers,
    describe_buyer,
    offered_price,
    read_pitch,
)

_NAME = "car_dealer"
_SIZES = {"train": 500, "test": 200}
_REWARDS = ("ratio", "price", "fancy")
_PAIRS = tuple(f"{a} and {b}" for a, b in combinations(FEATURES, 2))
_PRICE = re.compile(r"\$\d{1,3}(?:,\d{3})+")
_BRANDS = ("Arden", "Belvoir", "Castellan", "Dunmore", "Elara", "Fenwick", "Galant", "Halden")
_BODIES = ("sedan", "minivan", "estate car", "coupe", "pickup truck")
_LISTED = (18_000, 80_000)
_DEAL = re.compile(r"<\s*deal\s*>\s*(yes|no)\s*<\s*/\s*deal\s*>", re.IGNORECASE)


class State(NamedTuple):
    """The buyer, the car and its list price, the seller's messages as pitches, the last offer, and the seat that speaks
    next."""

    buyer: BuyerProfile
    car: str
    listed: int
    pitches: tuple[Pitch, ...] = ()
    offered: int = 0
    seat: str | None = AGENT


@dataclass(frozen=True, kw_only=True)
class CarDealer(Env[State]):
    """See the module. `reward` is "ratio", "price" or "fancy"."""

    presets: ClassVar[tuple[str, ...]] = ("lmrl",)

    preset: str = "lmrl"
    reward: str = "ratio"
    max_turns: int = 25

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reward not in _REWARDS:
            raise unknown(f"{_NAME}: reward", self.reward, _REWARDS)

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name=_NAME,
            version="6",
            summary="sell a car to a buyer with unknown character, budget and wishes",
            preset=self.preset,
            max_turns=self.max_turns,
            reward_range=(
                (100 - max(SHARES)) / 100 if self.reward == "fancy" else 0.0,
                1.2 * _LISTED[1] / 1000 if self.reward == "price" else 1.2,
            ),
            support=f"all {len(all_buyers())} buyers: character, budget in 5 % steps of the list price, two features",
            source="LMRL-Gym, appendix D.8",
            seats=Frozen({AGENT: None, USER: "users:buyer"}),
            assumes=Frozen({USER: "users:buyer"}),
            reference="car_dealer",
            max_new_tokens=256,
            departures=(
                "the buyer follows stated rules instead of a language model's weights",
                "the agent speaks first",
                "data of the paper's kind have 6.9 messages of the seller (table 1: 16.5, perhaps of both sides)",
            ),
        )

    # --- tasks -------------------------------------------------------------------------------------------------------

    def split(self, split: str) -> Sequence[Task]:
        return TaskList(_SIZES[split], lambda i: self._make_task(*self._draw_task(split, i), split, i))

    def _draw_task(self, split: str, index: int) -> tuple[Frozen[Json], BuyerProfile]:
        """Draw a car. The buyers follow in a fixed order per split, so that all occur equally often."""
        rng = random.Random(derive(0, "task", _NAME, self.preset, split, index))
        low, high = _LISTED
        car = Frozen[Json](
            brand=rng.choice(_BRANDS), body=rng.choice(_BODIES), listed=rng.randrange(low, high + 1, 500)
        )
        return car, _shuffle_buyers(split)[index % len(all_buyers())]

    def task(self, hidden: Json) -> Task:
        """`{"character": "bargain", "share": 95, "wants": ["sunroof", "navigation"], "listed": 30000}`, and `brand` and
        `body` if wanted."""
        setup: Mapping[str, Any] = cast("Mapping[str, Any]", hidden) if isinstance(hidden, Mapping) else {}
        character, share, listed = setup.get("character"), setup.get("share"), setup.get("listed", 30_000)
        wants, brand, body = setup.get("wants"), setup.get("brand", _BRANDS[0]), setup.get("body", _BODIES[0])
        if character not in CHARACTERS:
            raise invalid(f"{_NAME}: hidden: character", character, ", ".join(CHARACTERS))
        if share not in SHARES:
            raise invalid(f"{_NAME}: hidden: share", share, ", ".join(map(str, SHARES)))
        if not isinstance(listed, int) or not _LISTED[0] <= listed <= _LISTED[1]:
            raise invalid(f"{_NAME}: hidden: listed", listed, f"{_LISTED[0]} to {_LISTED[1]} dollars")
        for name, value, allowed in (("brand", brand, _BRANDS), ("body", body, _BODIES)):
            if value not in allowed:
                raise invalid(f"{_NAME}: hidden: {name}", value, ", ".join(allowed))
        buyer = BuyerProfile(character, share, _parse_wants(wants))
        return self._make_task(Frozen[Json](brand=brand, body=body, listed=listed), buyer, "custom", 0)

    def _make_task(self, car: Frozen[Json], buyer: BuyerProfile, split: str, index: int) -> Task:
        hidden = {**car, "character": buyer.character, "share": buyer.share, "wants": buyer.wants}
        return self.make_listed_task(split, index, car, Frozen[Any](hidden), character=buyer.character)

    # --- rules -------------------------------------------------------------------------------------------------------

    def reset(self, task: Task, rng: Rng) -> State:
        h = task.hidden
        car = f"{task.public['brand']} {task.public['body']}"
        return State(BuyerProfile(h["character"], h["share"], tuple(h["wants"])), car, task.public["listed"])

    def to_act(self, state: State) -> str | None:
        return state.seat

    def hypothesis(self, state: State) -> str:
        return describe_buyer(state.buyer)

    def intro(self, state: State, seat: str) -> str:
        say, b, listed = self.prompt_pieces(_NAME), state.buyer, f"{state.listed:,}"
        if seat == AGENT:
            return say["intro"].format(car=state.car, listed=listed, turns=self.max_turns)
        budget = f"{b.share * state.listed // 100:,}"
        return say[f"user-{b.character}"].format(budget=budget, listed=listed, first=b.wants[0], second=b.wants[1])

    def private(self, state: State, seat: str) -> Mapping[str, Any]:
        """The buyer's profile (`buyer`), the `listed` price and the seller's messages as `pitches`."""
        if seat != USER:
            return Frozen()
        return Frozen[Any](buyer=state.buyer, listed=state.listed, pitches=state.pitches)

    def actions(self, state: State) -> Sequence[str]:
        return _legal_messages(state.listed)

    def say(self, answer: str) -> str:
        return _confirmation_message(answer)

    def filter(self, public: Mapping[str, Json]) -> DealFilter:
        return _prior_filter(public["listed"], _legal_messages(public["listed"]))

    def step(self, state: State, text: str, rng: Rng) -> Step:
        if state.seat == USER:
            return self._apply_reply(state, text)
        said = spoken_line(text, LONGEST)
        pitch = read_pitch(said)
        price = offered_price(pitch, state.listed)
        after = state._replace(pitches=(*state.pitches, pitch), offered=price or state.offered, seat=USER)
        told = Frozen({USER: self.prompt_pieces(_NAME)["to-user"].format(said=said or "(says nothing)")})
        return Step(after, told, info=Frozen[Any](offer=price, buyer_state="listening"))

    def _apply_reply(self, state: State, text: str) -> Step:
        said = spoken_line(text, 4 * LONGEST_REPLY)
        found, say = _DEAL.findall(said), self.prompt_pieces(_NAME)
        reply = " ".join(_DEAL.sub("", said).split())[:LONGEST_REPLY] or say["silent"]
        decision = found[-1].lower() if found else ""
        if decision == "yes" and state.offered:
            return self._close_deal(state, reply)
        if decision == "no":
            return self._end_game(state, say["left"].format(reply=reply), reply, "left", Outcome("loss"))
        after = state._replace(seat=AGENT)
        if len(state.pitches) >= self.max_turns:
            out = Outcome("out_of_turns", truncated="turns")
            return self._end_game(state, say["timeout"].format(reply=reply), reply, "left", out)
        return Step(after, Frozen({AGENT: reply}), info=Frozen[Any](buyer_state="listening", reply=reply))

    def _close_deal(self, state: State, reply: str) -> Step:
        told = self.prompt_pieces(_NAME)["sold"].format(reply=reply, price=f"{state.offered:,}")
        out = Outcome("win", min(1.0, state.offered / state.listed))
        step = self._end_game(state, told, reply, "bought", out)
        return step._replace(rewards=Frozen({AGENT: self._sale_reward(state)}))

    def _sale_reward(self, state: State) -> float:
        """The reward of a sale; capped, because a language model may accept any offer."""
        budget = state.buyer.share * state.listed / 100
        top = self.spec.reward_range[1]
        return min(top, state.offered / (1000.0 if self.reward == "price" else (budget + state.listed) / 2))

    def _end_game(self, state: State, told: str, reply: str, buyer_state: str, outcome: Outcome) -> Step:
        """End the game, with the reward of a game without a sale."""
        info = Frozen[Any](buyer_state=buyer_state, reply=reply)
        unsold = Frozen({AGENT: (100 - state.buyer.share) / 100}) if self.reward == "fancy" else EMPTY
        return Step(state._replace(seat=None), Frozen({AGENT: told}), unsold, info, outcome)


def _parse_wants(value: object) -> tuple[str, str]:
    wants: Sequence[Any] = cast("Sequence[Any]", value) if isinstance(value, list | tuple) else ()
    if len(wants) != 2 or any(w not in FEATURES for w in wants) or wants[0] == wants[1]:
        raise invalid(f"{_NAME}: hidden: wants", cast("object", value), f"two of {', '.join(FEATURES)}")
    first, second = sorted(wants, key=FEATURES.index)
    return first, second


@lru_cache(maxsize=2)
def _shuffle_buyers(split: str) -> tuple[BuyerProfile, ...]:
    rows = list(all_buyers())
    random.Random(derive(0, "task", _NAME, "buyers", split, 0)).shuffle(rows)
    return tuple(rows)


@lru_cache(maxsize=256)
def _legal_messages(listed: int) -> tuple[str, ...]:
    """Questions, pairs of features to confirm, and offers of 75 to 120 % of the list price: every percent, rounded down
    to 50 dollars, and every thousand dollars, because buyers think in thousands."""
    steps = {listed * share // 100 // 50 * 50 for share in range(75, 121)}
    prices = sorted(steps | set(range(-(-listed * 3 // 4 // 1000) * 1000, listed * 6 // 5 + 1, 1000)))
    return (
        "What features are you looking for?",
        "What is your budget?",
        "What features are you looking for, and what is your budget?",
        *_PAIRS,
        *(f"${price:,}" for price in prices),
    )


def _confirmation_message(answer: str) -> str:
    """Turn a legal answer into a sentence; other texts stay unchanged."""
    if _PRICE.fullmatch(answer):
        return f"I can offer it to you for {answer}."
    return (
        f"This one has {answer}. Let me show you both, so that you see how they work." if answer in _PAIRS else answer
    )


@lru_cache(maxsize=256)
def _prior_filter(listed: int, actions: tuple[str, ...]) -> DealFilter:
    return DealFilter(listed, actions, _confirmation_message, all_buyers())
