"""The three sellers: what they say, and whom they sell to."""

from __future__ import annotations

from collections import Counter

import sonde
from sonde.envs.car_dealer.negotiation import FEATURES, offered_price, read_pitch
from sonde.envs.car_dealer.sellers import STYLES, CarDealerSellers, seller_message
from sonde.runs.rollout import collect_trajectories

LISTED = 30_000


def test_offers_by_hand() -> None:
    """3 % of 30,000 less each time, after three messages without a price; the others never move."""
    said = {
        style: [offered_price(read_pitch(seller_message(style, turn, LISTED)), LISTED) for turn in range(6)]
        for style in STYLES
    }
    assert said == {
        "discounts": [0, 0, 0, 29_100, 28_200, 27_300], "features": [0, 0, 0, 30_000, 30_000, 30_000],
        "concise": [30_000] * 6,
    }  # fmt: skip


def test_who_praises_the_car_begins_with_the_wishes_and_the_others_answer_in_a_few_words() -> None:
    wishes = ("third row", "sunroof")
    named = [read_pitch(seller_message("features", turn, LISTED, (), wishes)).confirmed for turn in range(4)]
    assert [set(found) for found in named] == [set(), set(wishes), {*FEATURES[:2]}, set()]
    assert read_pitch(seller_message("features", 0, LISTED)).asks_wishes
    first = read_pitch(seller_message("discounts", 0, LISTED))
    assert first.asks_budget and first.asks_wishes
    assert seller_message("discounts", 1, LISTED, wishes) == "It has third row and sunroof."
    assert seller_message("discounts", 40, LISTED) == "I can offer it to you for $21,000."
    assert seller_message("concise", 3, LISTED, ("sunroof",)) == "It has sunroof."
    assert seller_message("concise", 3, LISTED) == "The price is $30,000."


def test_a_style_is_drawn_for_every_episode_and_kept() -> None:
    env = sonde.make("car_dealer")
    played = list(collect_trajectories(env, {"agent": CarDealerSellers()}, env.tasks("train")[:150]))
    styles = Counter[str]()
    for t in played:
        (style,) = {act.action.memory for act in t.acts if act.seat == "agent"}
        assert t.turns[0].text == seller_message(style, 0, t.task.public["listed"])
        styles[style] += 1
    assert set(styles) == set(STYLES) and min(styles.values()) >= 21  # 50 less five standard errors
