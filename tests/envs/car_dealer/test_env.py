"""Car dealer: how messages are read, how the three buyers take them, what is paid, and what hostile users cannot do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sonde
from sonde.core import Episode, SeatedPolicies, UserError
from sonde.envs.car_dealer.negotiation import (
    CHARACTERS,
    FEATURES,
    BuyerProfile,
    Pitch,
    all_buyers,
    describe_buyer,
    offered_price,
    price_limit,
    react_to_pitch,
    read_pitch,
    summarise_talk,
)
from sonde.testing import check_env
from tests.cases import each

LISTED = 30_000


def said(*messages: str) -> list[Pitch]:
    return [read_pitch(m) for m in messages]


@each(
    "message, price",
    [
        ("I can do $28,500.", 28_500), ("28.5k and it is yours", 28_500), ("What about 28000 dollars?", 28_000),
        ("The list price is $30,000, but you can have it for $27,000.", 27_000), ("It costs $30,000.", 30_000),
        ("$27,000 or $26,000, as you like", 0), ("It is a 2024 model with 300 horsepower.", 0), ("$2,850", 0),
        ("How about 28000?", 28_000), ("I can do 28,500 for you.", 28_500), ("It has 28,000 miles on it.", 0),
        ("Its stock number is 28500.", 0),
        ("$28,50", 0), ("Good morning!", 0), ("$" + "9" * 5000, 0),
    ],
)  # fmt: skip
def test_offers_are_read(message: str, price: int) -> None:
    assert offered_price(read_pitch(message), LISTED) == price


@each(
    "message, confirmed",
    [
        ("It has GPS and a moonroof.", ("navigation", "sunroof")),
        ("There is no sunroof, but it comes with heated seats.", ("heated seats",)),
        ("Do you want a sunroof?", ()),
        ("It has both.", FEATURES),
        ("It does not have remote start.", ()),
        ("A rear camera, a third row and remote start are included.", ("backup camera", "third row", "remote start")),
    ],
)
def test_features_are_confirmed(message: str, confirmed: Sequence[str]) -> None:
    assert read_pitch(message).confirmed == tuple(confirmed)


BRIEF = "It has navigation and a sunroof."
EXPLAINED = "This car has navigation and a sunroof, and both are of the newest kind there is."


def limit(buyer: BuyerProfile, *messages: str) -> int:
    return price_limit(buyer, summarise_talk(tuple(said(*messages)), LISTED), LISTED)


def test_the_bargain_hunter_pays_more_for_every_concession_up_to_the_fourth() -> None:
    rich = BuyerProfile("bargain", 110, ("navigation", "sunroof"))
    offers = ["$30,000", "$29,800", "$29,600", "$29,400", "$29,200", "$29,000"]
    assert [limit(rich, *offers[:n]) for n in range(1, 7)] == [25_500, 26_250, 27_000, 27_750, 28_500, 28_500]
    assert limit(rich, "$30,000", "$29,900") == 25_500  # less than half a percent is none
    assert limit(rich._replace(share=80), *offers) == 24_000
    assert react_to_pitch(rich, said(BRIEF, "It costs $30,000."), LISTED).text == "And where is my discount?"
    asked = said(BRIEF, "$27,000")
    assert react_to_pitch(rich, asked, LISTED).text == "That is a little more than I will pay."
    assert react_to_pitch(rich, said(BRIEF, "$25,000"), LISTED).text == "You can do better than that."
    assert react_to_pitch(rich, said(BRIEF, "$25,000", "$24,800"), LISTED).deal == 0
    assert react_to_pitch(rich, said(BRIEF, "$25,000", "$24,800", "$24,600"), LISTED).deal == 24_600
    assert react_to_pitch(rich, said(BRIEF, *offers[:4], "$28,500"), LISTED).deal == 28_500


def test_features_have_to_be_explained_to_their_lover_a_few_at_a_time() -> None:
    buyer = BuyerProfile("features", 100, ("navigation", "sunroof"))
    both, rest = "It has {} and {} and {}, and you will love all three of them, believe me.", "heated seats"
    assert limit(buyer, BRIEF) == limit(buyer, both.format("navigation", "a sunroof", rest)) == 29_400
    assert limit(buyer, f"{BRIEF} It has everything that anybody could ever want to have.") == 29_400
    assert limit(buyer, "There is a sunroof, and it opens as far back as you could wish for.") == 31_500
    assert limit(buyer, EXPLAINED) == 33_600
    assert react_to_pitch(buyer, said("Hello", "$29,000"), LISTED).text == (
        "Before we talk about money: does it have navigation?"
    )
    assert react_to_pitch(buyer, said(BRIEF), LISTED).text == "And what is so good about the navigation?"
    assert react_to_pitch(buyer, said(EXPLAINED), LISTED).text == "Good, that is what I am after. Go on."
    assert react_to_pitch(buyer, said(EXPLAINED, "$33,600"), LISTED).deal == 33_600
    falling = said(EXPLAINED, "$35,000", "$34,800", "$34,600", "$34,400", "$32,800")
    assert react_to_pitch(buyer, falling, LISTED).text.startswith("Why does it get cheaper")


def test_the_impatient_pay_less_for_every_message_too_many_and_too_long() -> None:
    buyer, wordy = BuyerProfile("impatient", 100, ("navigation", "sunroof")), "word " * 41
    assert [limit(buyer, *"abcde"[:n]) for n in range(1, 6)] == [33_600, 33_600, 33_600, 32_700, 31_800]
    assert limit(buyer, wordy, "b", "c") == 32_400
    assert react_to_pitch(buyer, said(*"abcdefghi"), LISTED).leaves
    assert not react_to_pitch(buyer, said(*"abcdefgh"), LISTED).leaves
    assert react_to_pitch(buyer, said("a", "$33,000"), LISTED).text == "Does it have navigation?"
    assert react_to_pitch(buyer, said(BRIEF, "$33,600"), LISTED).deal == 33_600


def test_nobody_buys_on_the_first_message() -> None:
    key = f"{EXPLAINED} I can offer it to you for $24,000."
    assert not any(react_to_pitch(b, said(key), LISTED).deal for b in all_buyers())


def test_outrageous_offers_and_raises_cost_patience() -> None:
    buyer = BuyerProfile("bargain", 100, ("navigation", "sunroof"))
    assert not react_to_pitch(buyer, said(*["Hello"] * 16, "$29,000"), LISTED).leaves
    assert react_to_pitch(buyer, said(*["Hello"] * 16, "$35,000"), LISTED).leaves
    assert react_to_pitch(buyer, said("$28,000", "$28,500"), LISTED).text == "A moment ago it was $28,000."
    assert react_to_pitch(buyer, said(*["Hello"] * 13, "$28,000", "$28,500"), LISTED).leaves


CONSTANT = (
    "I can offer it to you for ${}.",
    "This one has everything you want. I can offer it to you for ${}.",
    "It has a sunroof and navigation, both of the newest kind, and you will love both. I can offer it to you for ${}.",
    "What do you want? It has navigation, heated seats, a backup camera, a sunroof, a third row and remote start. ${}.",
)


def test_no_sentence_sells_to_everybody() -> None:
    """The same message, whatever the buyer says: nobody buys at once, and few ever do."""
    for share in (75, 80, 90, 100):
        for text in CONSTANT:
            pitch = read_pitch(text.format(f"{share * LISTED // 100:,}"))
            sold = sum(any(react_to_pitch(b, [pitch] * n, LISTED).deal for n in range(1, 19)) for b in all_buyers())
            assert sold <= 0.25 * len(all_buyers()), (text, share)


def test_who_is_shown_what_it_does_not_want_leaves_whatever_the_price() -> None:
    """The bargain hunter forgives one such feature, the feature lover two; a catalogue counts as none."""
    one, two, three = "It has a sunroof.", "It has heated seats.", "It has remote start."
    wants = ("navigation", "backup camera")
    gone = "That is not the car that I am looking for. Goodbye."
    hunter, lover = BuyerProfile("bargain", 110, wants), BuyerProfile("features", 110, wants)
    heard = "I do not need a sunroof. I see. So what can you offer me?"
    assert react_to_pitch(hunter, said(one), LISTED).text == react_to_pitch(lover, said(one), LISTED).text == heard
    assert not react_to_pitch(hunter, said(one, one, one), LISTED).leaves
    assert react_to_pitch(hunter, said(one, two), LISTED) == (gone, 0, True)
    assert not react_to_pitch(lover, said(one, two), LISTED).leaves
    assert react_to_pitch(lover, said(one, two, three), LISTED) == (gone, 0, True)
    assert react_to_pitch(hunter, said(one, f"{two} Take it for $20,000."), LISTED).leaves
    assert not react_to_pitch(hunter, said("It has a sunroof, heated seats and remote start."), LISTED).leaves


def test_a_seller_who_does_not_listen_earns_little() -> None:
    """Features in a fixed order, one or two a message, and a price that falls by a fixed step, whatever the buyer says:
    the best of 180 such sellers stays below the paper's seller of discounts, who listens."""

    def sell(buyer: BuyerProfile, start: int, step: int, each: int, n: int) -> float:
        pitches: list[Pitch] = []
        for turn in range(25):
            shown = FEATURES[turn * each : turn * each + each] if turn * each < n else ()
            told = f"This one has {' and '.join(shown)}, and let me show you how well all of it works." if shown else ""
            pitches.append(read_pitch(f"{told} I can offer it to you for ${(start - step * turn) * LISTED // 100}."))
            found = react_to_pitch(buyer, pitches, LISTED)
            if found.deal or found.leaves:
                return 200 * found.deal / LISTED / (100 + buyer.share)
        return 0.0

    ways = product((80, 84, 88, 92, 96), (1, 2, 3), (1, 2), range(1, 7))
    best = max(sum(sell(b, *way) for b in all_buyers()) / len(all_buyers()) for way in ways)
    assert 0.3 < best < 0.4


def test_each_of_the_papers_sellers_is_best_with_one_buyer() -> None:
    """Sold of the 105 buyers of a character, by style: the pattern of LMRL-Gym, D.8."""
    env = sonde.make("car_dealer")
    sold: dict[str, dict[str, int]] = {}
    for style in ("discounts", "features", "concise"):
        seller = sonde.make("agents:car_dealer_sellers", style=style)
        sold[style] = dict.fromkeys(CHARACTERS, 0)
        for b in all_buyers():
            task = env.task({"character": b.character, "share": b.share, "wants": list(b.wants), "listed": LISTED})
            seated = SeatedPolicies(env)
            view = seated.reset(task)
            while not seated.episode.outcome:
                view, *_ = seated.step(seller.act_now(view))
            sold[style][b.character] += seated.episode.outcome.success
    assert sold == {
        "discounts": {"bargain": 105, "features": 0, "impatient": 45},
        "features": {"bargain": 0, "features": 75, "impatient": 0},
        "concise": {"bargain": 0, "features": 0, "impatient": 75},
    }


def test_a_sale_pays_and_the_tag_is_not_seen() -> None:
    setup = {"character": "bargain", "share": 90, "wants": ["sunroof", "navigation"], "listed": LISTED}
    for reward, paid in (("ratio", 26_000 / 28_500), ("price", 26.0), ("fancy", 26_000 / 28_500)):
        env = sonde.make("car_dealer", reward=reward)
        seated = SeatedPolicies(env)
        seated.reset(env.task(setup))
        seated.step("It has a sunroof.")
        for price in ("$28,000", "$27,000", "$26,500"):
            seated.step(f"I can offer it to you for {price}.")
        view, earned, done, info = seated.step("I can offer it to you for $26,000.")
        assert (earned, done, dict(info)) == (
            pytest.approx(paid),
            True,
            {"offer": 26_000, "buyer_state": "bought", "reply": "All right, I will take it for $26,000."},
        )
        assert "Deal" not in view.messages[-1].content


def test_an_acceptance_without_an_offer_is_no_deal() -> None:
    env = sonde.make("car_dealer")
    ep = Episode.begin(env, env.tasks("test")[0]).step("Hello!").step("I take it. <Deal>yes</Deal>")
    assert ep.outcome is None
    assert ep.messages["agent"][-1].content == "I take it."
    ep = ep.step("$30,000").step("<Deal>no</Deal>")
    assert ep.outcome and ep.outcome.kind == "loss"


@each(
    "reward, share, paid",
    [("ratio", 80, 0.0), ("price", 110, 0.0), ("fancy", 80, 0.2), ("fancy", 100, 0.0), ("fancy", 110, -0.1)],
)
def test_without_a_sale_only_the_codes_reward_pays(reward: str, share: int, paid: float) -> None:
    """Of a list price of 30,000 and a budget of 24,000: (30,000 - 24,000) / 30,000; whoever ends the talk."""
    setup = {"character": "impatient", "share": share, "wants": ["sunroof", "navigation"], "listed": LISTED}
    for turns, replies in ((25, ["No. <Deal>no</Deal>"]), (2, ["Hm.", "I take it. <Deal>yes</Deal>"])):
        env = sonde.make("car_dealer", reward=reward, max_turns=turns)
        ep = Episode.begin(env, env.task(setup))
        for reply in replies:
            ep = ep.step("Hello!").step(reply)
        assert ep.outcome is not None and not ep.outcome.success
        assert sum(turn.rewards.get("agent", 0.0) for turn in ep.turns) == paid
        assert env.spec.reward_range[0] <= paid


def test_the_codes_reward_keeps_the_contract() -> None:
    check_env(sonde.make("car_dealer", reward="fancy"), episodes=4)


def test_an_unknown_reward_is_refused() -> None:
    with pytest.raises(UserError, match=r"car_dealer: reward: .*fancy, price, ratio"):
        sonde.make("car_dealer", reward="revenue")


def test_the_test_split_has_all_characters() -> None:
    tasks = sonde.make("car_dealer").tasks("test")
    count = {c: sum(t.tags["character"] == c for t in tasks) for c in ("bargain", "features", "impatient")}
    assert sum(count.values()) == 200 and min(count.values()) > 50


@each(
    "setup",
    [
        {"character": "angry", "share": 90, "wants": ["sunroof", "navigation"]},
        {"character": "bargain", "share": 91, "wants": ["sunroof", "navigation"]},
        {"character": "bargain", "share": 90, "wants": ["sunroof", "sunroof"]},
        {"character": "bargain", "share": 90, "wants": ["sunroof", "navigation"], "listed": 5},
        {"character": "bargain", "share": 90, "wants": ["sunroof", "navigation"], "brand": "Ford"},
    ],
)
def test_bad_setups_are_named(setup: dict[str, object]) -> None:
    with pytest.raises(UserError, match="car_dealer: hidden: "):
        sonde.make("car_dealer").task(setup)


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    pitch = read_pitch(text)
    assert all(isinstance(react_to_pitch(b, [pitch], LISTED).text, str) for b in all_buyers()[::40])


def test_the_posterior_is_brute_force() -> None:
    """The filter keeps exactly the buyers that say, in an episode of their own, what this one said."""
    env = sonde.make("car_dealer")
    script = ("Hello", "What is your budget?", "It has a sunroof.", "$29,000")
    task = env.task({"character": "features", "share": 95, "wants": ["sunroof", "remote start"], "listed": LISTED})
    replies = _replies(env, task, script)
    posterior = _played(env, task, script).posterior()
    assert posterior is not None
    for b in all_buyers():
        other = env.task({"character": b.character, "share": b.share, "wants": list(b.wants), "listed": LISTED})
        assert (posterior.prob(describe_buyer(b)) > 0) == (_replies(env, other, script) == replies)


def _played(env: sonde.Env, task: sonde.Task, script: Sequence[str]) -> Episode:  # type: ignore[type-arg]
    seated = SeatedPolicies(env)
    seated.reset(task)
    for message in script:
        seated.step(message)
    return seated.episode


def _replies(env: sonde.Env, task: sonde.Task, script: Sequence[str]) -> list[str]:  # type: ignore[type-arg]
    return [turn.told for turn in _played(env, task, script).turns]


def test_to_say_again_what_was_said_offers_nothing() -> None:
    env = sonde.make("car_dealer")
    for task in env.tasks("test")[:20]:
        ep = sonde.Episode.begin(env, task)
        again = ep.step(ep.view().messages[-1].content)
        assert again.turns[-1].info["offer"] == 0, ep.view().messages[-1].content


@each(
    "message, price",
    [
        ("The list price is $30,000.", 0), ("I would rather not pay more than $27,000.", 0),
        ("Is your budget $27,000?", 0), ("The list price is $30,000, but I can do 27.5k.", 27_500),
        ("I can only sell it at the list price of $30,000.", 30_000), ("It is yours for 28 thousand dollars.", 28_000),
    ],
)  # fmt: skip
def test_a_price_that_is_stated_is_no_offer(message: str, price: int) -> None:
    assert offered_price(read_pitch(message), 30_000) == price


@each(
    "message, price",
    [
        ("I would never sell it for $40,000.", 0), ("I won't let it go for $40,000.", 0),
        ("You won't find it for $45,000 anywhere else.", 0), ("$40,000 is not enough, make it $47,000.", 47_000),
        ("I can't go below $45,000.", 45_000), ("Not a cent less than $46,000.", 46_000),
        ("No, $46,000 is my price.", 46_000), ("It is yours for $46,000, not a cent more.", 46_000),
        ("No problem, you can have it for $46,000.", 46_000), ("Is $49,000 within your budget?", 0),
        ("Could you afford $45,000?", 0), ("Would $46,000 be too much?", 0), ("How about $46,000?", 46_000),
        ("It was $55,000 last year, now it is $47,000.", 47_000),
        ("It normally sells for $55,000, but for you it is $46,000.", 46_000), ("50 thousand dollars", 50_000),
        ("It's forty-five thousand dollars", 45_000), ("45 grand and it's yours", 45_000),
        ("It has 30 thousand miles.", 0), ("I can give you 10% off.", 45_000), ("a discount of 10 percent", 45_000),
        ("The list price is $50,000. With 10% off, that's $45,000.", 45_000), ("I can take $2,000 off.", 48_000),
        ("I can reduce the price by $3,000.", 47_000), ("I can't give you 10% off.", 0), ("5% off, or 10% off?", 0),
        ("120% off!", 0),
    ],
)  # fmt: skip
def test_what_is_denied_or_only_asked_is_no_offer_and_words_and_discounts_are(message: str, price: int) -> None:
    assert offered_price(read_pitch(message), 50_000) == price


@given(st.sampled_from([30_000, 50_000]), st.integers(50, 120))
def test_a_price_is_the_same_in_digits_words_and_thousands(listed: int, share: int) -> None:
    price = listed * share // 100
    forms = (f"I can do ${price:,}.", f"I can do {price} dollars.", f"I can do {price / 1000}k.")
    assert {offered_price(read_pitch(form), listed) for form in forms} == {price}
    if share < 100:
        assert offered_price(read_pitch(f"I can give you {100 - share}% off."), listed) == price
    assert offered_price(read_pitch(f"I would never sell it for ${price:,}."), listed) == 0
