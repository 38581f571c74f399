"""The three sellers: what they say, and whom they sell to."""

from __future__ import annotations

from collections import Counter

import pytest

import sonde
from sonde.core import Episode, UserError
from sonde.envs.car_dealer.negotiation import (
    CHARACTERS,
    FEATURES,
    BuyerProfile,
    Pitch,
    all_buyers,
    offered_price,
    react_to_pitch,
    read_pitch,
)
from sonde.envs.car_dealer.sellers import STYLES, CarDealerSellers, seller_message
from sonde.runs.rollout import collect_trajectories

LISTED = 30_000


def sold(style: str, buyer: BuyerProfile) -> int:
    """The price at which the buyer takes the car, or 0."""
    pitches: list[Pitch] = []
    for turn in range(25):
        pitches.append(read_pitch(seller_message(style, turn, LISTED)))
        reaction = react_to_pitch(buyer, pitches, LISTED)
        if reaction.deal or reaction.leaves:
            return reaction.deal
    raise AssertionError("the buyer never decides")


def test_each_is_best_with_one_buyer_and_often_fails_with_the_others() -> None:
    sales = {(style, character): list[int]() for style in STYLES for character in CHARACTERS}
    for style in STYLES:
        for buyer in all_buyers():
            sales[style, buyer.character] += [price for price in (sold(style, buyer),) if price]
    assert {style: [len(sales[style, character]) for character in CHARACTERS] for style in STYLES} == {
        "discounts": [90, 60, 30], "features": [0, 60, 15], "concise": [0, 0, 45],
    }  # fmt: skip
    for style, character in zip(STYLES, CHARACTERS, strict=True):
        assert max(STYLES, key=lambda other: sum(sales[other, character])) == style


def test_offers_by_hand() -> None:
    """3 % of 30,000 less each time, after three messages without a price; the others never move."""
    said = {
        style: [offered_price(read_pitch(seller_message(style, turn, LISTED)), LISTED) for turn in range(6)]
        for style in STYLES
    }
    assert said == {
        "discounts": [0, 0, 0, 29_100, 28_200, 27_300], "features": [0, 0, 0, 0, 30_000, 30_000],
        "concise": [30_000] * 6,
    }  # fmt: skip


def test_who_praises_the_car_confirms_every_feature_and_who_is_concise_is() -> None:
    confirmed = [f for turn in range(5) for f in read_pitch(seller_message("features", turn, LISTED)).confirmed]
    assert confirmed == list(FEATURES) and read_pitch(seller_message("features", 0, LISTED)).asks_wishes
    assert read_pitch(seller_message("discounts", 0, LISTED)).asks_budget
    assert seller_message("discounts", 40, LISTED) == "I can offer it to you for $21,000."
    assert max(len(seller_message("concise", turn, LISTED).split()) for turn in range(25)) == 4


def test_a_style_is_drawn_for_every_episode_and_kept() -> None:
    env = sonde.make("car_dealer")
    played = list(collect_trajectories(env, {"agent": CarDealerSellers()}, env.tasks("train")[:150]))
    styles = Counter[str]()
    for t in played:
        (style,) = {act.action.memory for act in t.acts if act.seat == "agent"}
        assert t.turns[0].text == seller_message(style, 0, t.task.public["listed"])
        styles[style] += 1
    assert set(styles) == set(STYLES) and min(styles.values()) >= 21  # 50 less five standard errors


def test_bad_settings_and_other_games_are_refused() -> None:
    with pytest.raises(UserError, match=r"^agents:car_dealer_sellers: style: "):
        CarDealerSellers(style="rude")
    env = sonde.make("wordle")
    with pytest.raises(UserError, match="agents:car_dealer_sellers: wordle"):
        CarDealerSellers().act_now(Episode.begin(env, env.task("toast")).view())
