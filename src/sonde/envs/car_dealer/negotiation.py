"""Read a seller's message about a car, and compute the reaction of a buyer of known character.

The characters are those of LMRL-Gym (D.8): one loves discounts, one wants features, one is impatient. The rules are
ours. A buyer has a budget (a share of the list price) and wants two features. No buyer accepts the first message, or
buys because of the price alone:

    evidence     A message shows the features that it names, if it names at most two: a catalogue, or "it has
                 everything", convinces nobody. The feature lover must see both wishes, in messages of at least 12
                 words; the others need one wish, in any message.
    annoyance    A feature that the buyer does not want, shown in a message that names at most two. It forgives one, and
                 the feature lover two; at the next one it leaves, whatever the price.
    concession   An offer that is lower than all earlier ones by at least half a percent of the list price.
    raise        An offer above an earlier one. It costs three more units of the buyer's patience.

A buyer accepts offers up to a limit, which depends on the talk so far:

    bargain      its budget, but at most 95 % of the list price, minus 2.5 % of the list price for each concession short
                 of four; and it never buys before the second concession
    features     98 % of its budget, and 7 % more for each wish that it has seen, minus 3 % of the list price for each
                 concession after the second: a car on sale must have a fault
    impatient    112 % of its budget, minus 3 % of the list price for each message after the third, and 4 % for each of
                 more than 40 words

Patience lasts 18 messages (9 for the impatient buyer); an offer more than 15 % above the limit costs one more. When it
is used up, the buyer leaves. A reaction is a function of the buyer and the messages, so a posterior over buyers is
exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations, product
from typing import Literal, NamedTuple

from .._shared.english.tokens import add_apostrophes, parse_amount, split_sentences, strip_accents, tokenize

Character = Literal["bargain", "features", "impatient"]

CHARACTERS: tuple[Character, ...] = ("bargain", "features", "impatient")
FEATURES = ("navigation", "heated seats", "backup camera", "sunroof", "third row", "remote start")
SHARES = (80, 85, 90, 95, 100, 105, 110)
"""Budgets, in percent of the list price."""

_SHOWN = {"backup camera": "a backup camera", "sunroof": "a sunroof", "third row": "a third row of seats"}
_CUES = {
    "navigation": ("navigation", "satnav", "sat nav", "gps"),
    "heated seats": ("heated seat", "seat heating", "seat warmer"),
    "backup camera": ("backup camera", "back-up camera", "rear camera", "rearview camera", "reversing camera"),
    "sunroof": ("sunroof", "sun roof", "moonroof"),
    "third row": ("third row", "third-row", "seven seats", "7 seats"),
    "remote start": ("remote start", "starts remotely"),
}
_ALL = (
    "everything", "all features", "all the features", "every feature", "fully loaded", "fully equipped", "has both",
    "both of them", "both of those", "all of that", "all of those",
)  # fmt: skip
_STATED = re.compile(
    r"\b(?:list(?:ed)? (?:price|at|for)|sticker|msrp|retail|budget|(?:not|to|i|would|will|can) (?:only )?pay|spend"
    r"|afford|worth|valued|originally|normally|usually|used to|was|were|elsewhere|others?|competitors?|dealers?)\b"
)
"""Words before a price that state it as known and do not offer it."""
_OFFERED = re.compile(
    r"\b(?:offer|sell it|yours|let you|(?:i|we) (?:can|could|will|would) (?:do|go|make|give|let|ask|only)"
    r"|you (?:can|could|may) (?:have|get)|take it|have it)\b"
)
_DENIED = re.compile(r"\b(?:not|never|no|nobody|without|nor|neither)\b(?! (?:only|until))(?P<rest>.*)")
_BOUND = re.compile(r"\b(?:less|lower|below|under|more|above|over|higher|beyond|better|beat|exceed|problem|doubt)\b")
"""Comparisons that, after a negation, make a price a limit: "I cannot go below $28,000" offers that price."""
_FITS = re.compile(r"\b(?:budget|price range|afford|spend|too much|expensive)\b")
"""Words of a question about a price that does not offer it, wherever the price stands."""
_MONEY = frozenset(("dollar", "dollars", "buck", "bucks", "usd"))
_OFF = frozenset(("off", "discount", "below", "reduction", "rebate", "cheaper", "less"))
_MEASURED = frozenset(("mile", "miles", "km", "kilometers", "kilometres", "people", "customers"))
_LACKS = re.compile(r"\b(?:no|not|without|lacks?|doesn't|does not|don't|isn't)\b[^.!?;,]*$")
_BUDGET = re.compile(r"\b(?:budget|spend|afford|price range|how much (?:can|would|do|are) you)\b")
_WISHES = re.compile(
    r"\b(?:features?|looking for|important to you|need|must[- ]haves?|options?|want|equipment|matters?)\b"
)
_WORDY, _EXPLAINED, _NAMED = 40, 12, 2
"""The number of words above which a message is too long, the minimum number that shows a feature to the feature lover,
and the maximum number of features per message."""
_FAR, _PATIENT, _IMPATIENT, _RAISE = 15, 18, 9, 3
"""The percentage above the limit from which an offer is out of reach; patience in messages, and that of the impatient
buyer; the cost of a raise in patience."""


_FORGIVEN = {"bargain": 1, "features": 2, "impatient": 1}
"""How many features that it does not want a buyer lets itself be shown."""


class BuyerProfile(NamedTuple):
    """A buyer; `share` is the budget in percent of the list price."""

    character: Character
    share: int
    wants: tuple[str, str]


def describe_buyer(buyer: BuyerProfile) -> str:
    """A buyer in words: the hypothesis of the environment.

    >>> describe_buyer(BuyerProfile("bargain", 90, ("sunroof", "third row")))
    'bargain, budget 90 % of the list price, wants sunroof and third row'
    """
    return f"{buyer.character}, budget {buyer.share} % of the list price, wants {' and '.join(buyer.wants)}"


class Pitch(NamedTuple):
    """A parsed message of the seller. `prices` are the distinct prices that it offers, in dollars; `off` are its
    discounts, in dollars, or, below 1, as a share of the list price."""

    prices: tuple[int, ...]
    off: tuple[float, ...]
    confirmed: tuple[str, ...]
    asks_budget: bool
    asks_wishes: bool
    words: int


class Reaction(NamedTuple):
    """The buyer's answer; `deal` is the price it accepts, or 0; `leaves` ends the talk without a deal."""

    text: str
    deal: int = 0
    leaves: bool = False


def all_buyers() -> tuple[BuyerProfile, ...]:
    """All possible buyers; each is equally likely."""
    pairs = tuple(combinations(FEATURES, 2))
    return tuple(BuyerProfile(c, s, wants) for c, s, wants in product(CHARACTERS, SHARES, pairs))


@lru_cache(maxsize=4096)
def read_pitch(said: str) -> Pitch:
    """Parse a message of the seller. A feature counts as confirmed if it is neither denied nor asked about.

    >>> read_pitch("It has a sunroof, but no navigation. I can do $31,500. What is your budget?")
    Pitch(prices=(31500,), off=(), confirmed=('sunroof',), asks_budget=True, asks_wishes=False, words=15)
    """
    low = add_apostrophes(strip_accents(said)).lower()
    parts = split_sentences(low, clauses=False)
    asked = " ".join(part for part in parts if part.endswith("?"))
    told = " ".join(part for part in parts if not part.endswith("?"))
    sums = _find_sums(said)
    return Pitch(
        prices=tuple(dict.fromkeys(round(s.value) for s in sums if not s.off and 1_000 <= s.value <= 1_000_000)),
        off=tuple(dict.fromkeys(s.value for s in sums if s.off)),
        confirmed=tuple(f for f in FEATURES if any(_is_affirmed(told, cue) for cue in (*_CUES[f], *_ALL))),
        asks_budget=bool(_BUDGET.search(asked)),
        asks_wishes=bool(_WISHES.search(_BUDGET.sub("", asked))),
        words=len(low.split()),
    )


class _Sum(NamedTuple):
    """An offered amount of money, or a percentage as a share: a price, or a discount from it (`off`)."""

    value: float
    off: bool


def _find_sums(said: str) -> list[_Sum]:
    """The sums that a message offers: not "the list price is $30,000", "is $20,000 within your budget?", or "I would
    never sell it for $20,000"."""
    found = list[_Sum]()
    for sentence in split_sentences(said, clauses=False):
        if sentence.endswith("?") and _FITS.search(sentence.lower()) and not _OFFERED.search(sentence.lower()):
            continue
        for part in re.split(r"\b(?:but|however|now|instead)\b", sentence, flags=re.IGNORECASE):
            words = tokenize(part)
            found += [
                s for start, end, s in _find_amounts(words) if _is_offered(words[:start], s, words[end : end + 2])
            ]
    return found


def _is_offered(before: Sequence[str], found: _Sum, behind: list[str]) -> bool:
    """Whether a sentence offers a sum, by the words around it."""
    if behind[1:] == ["not"] and behind[0] != ",":
        return False
    told = " ".join(before).replace(" , ever ,", "")
    denied = _DENIED.search(told.rpartition(" , ")[2])
    if denied and not _BOUND.search(denied["rest"]):
        return False
    stated = _STATED.search(told)
    return found.off or stated is None or _OFFERED.search(told[: stated.start()]) is not None


def _find_amounts(words: Sequence[str]) -> Iterator[tuple[int, int, _Sum]]:
    """Find amounts of money and percentages: start, end and value."""
    at = 0
    while at < len(words):
        end = next(
            (end for end in range(min(len(words), at + 6), at, -1) if _parse_number(words[at:end]) is not None), at
        )
        if end > at and (found := _parse_sum(words, at, end)) is not None:
            yield at, end, found
        at = max(end, at + 1)


def _parse_number(words: Sequence[str]) -> float | None:
    """Parse a number whose first and last words belong to it."""
    outside = ("a", "an", "of", "and")
    return (
        None if words[-1] in outside or words[0] in ("and", "of") else parse_amount([_GRAND.get(w, w) for w in words])
    )


def _parse_sum(words: Sequence[str], start: int, end: int) -> _Sum | None:
    value = _parse_number(words[start:end])
    before, behind = words[max(0, start - 3) : start], words[end : end + 3]
    percent = behind[:1] in (["percent"], ["per"])
    thousands = not _THOUSANDS.isdisjoint(words[start:end])
    money = thousands or before[-1:] == ["dollar"] or not _MONEY.isdisjoint(behind[:1])
    money = money or ("number" not in before and _is_bare_price(words[start:end]))
    if value is None or not (percent or money) or not _MEASURED.isdisjoint(behind[:1]):
        return None
    cut = not _OFF.isdisjoint(behind) or any(w in ("discount", "off", "by") for w in before)
    if percent:
        return _Sum(value / 100, True) if cut and 0 < value < 100 else None
    return _Sum(value, cut)


def _is_bare_price(words: Sequence[str]) -> bool:
    """Whether a number without a currency is as long as the price of a car: "How about 28000?"; a year is shorter."""
    return len(words) == 1 and words[0].isdigit() and 5 <= len(words[0]) <= 6


_GRAND = {"grand": "thousand"}
_THOUSANDS = frozenset(("thousand", "grand", "million", "k"))


def offered_price(pitch: Pitch, listed: int) -> int:
    """The offered price: the only price in the message other than the list price, or else the list price minus the only
    discount. 0 if there is none, if there are several, or if it is below half the list price, which must be a
    mistake."""
    named = [p for p in pitch.prices if p != listed]
    if not named:
        named = [round(listed - (o * listed if o < 1 else o)) for o in pitch.off]
    named = named or [p for p in pitch.prices if p == listed]
    return named[0] if len(named) == 1 and 2 * named[0] >= listed else 0


def _is_affirmed(told: str, cue: str) -> bool:
    at = told.find(cue)
    return at >= 0 and not _LACKS.search(told[:at].rpartition(" but ")[2])


class TalkSummary(NamedTuple):
    """A summary of the messages, the same for every buyer: the features `named` in messages that name few, those
    `explained` in messages that also have enough words, the lowest offer (0 if there is none), and the numbers of
    concessions, of messages, and of messages with too many words. `raised`: the last offer is above an earlier one."""

    named: frozenset[str] = frozenset()
    explained: frozenset[str] = frozenset()
    lowest: int = 0
    concessions: int = 0
    messages: int = 0
    wordy: int = 0
    raised: bool = False


@lru_cache(maxsize=1 << 14)
def summarise_talk(pitches: tuple[Pitch, ...], listed: int) -> TalkSummary:
    """Summarise the messages so far."""
    if not pitches:
        return TalkSummary()
    before, now = summarise_talk(pitches[:-1], listed), pitches[-1]
    price, found = offered_price(now, listed), frozenset(now.confirmed if len(now.confirmed) <= _NAMED else ())
    concession = 0 < price <= before.lowest - listed / 200
    return TalkSummary(
        named=before.named | found,
        explained=before.explained | (found if now.words >= _EXPLAINED else frozenset()),
        lowest=min(price or before.lowest, before.lowest or price),
        concessions=before.concessions + concession,
        messages=before.messages + 1,
        wordy=before.wordy + (now.words > _WORDY),
        raised=price > before.lowest > 0,
    )


def price_limit(buyer: BuyerProfile, talk: TalkSummary, listed: int) -> int:
    """The most that the buyer would pay after this talk, in dollars, if it buys at all (`is_persuaded`)."""
    budget = buyer.share * listed // 100
    if buyer.character == "bargain":
        return min(budget, 95 * listed // 100) - max(0, 4 - talk.concessions) * listed // 40
    if buyer.character == "features":
        wishes = len(talk.explained.intersection(buyer.wants))
        return (98 + 7 * wishes) * budget // 100 - max(0, talk.concessions - 2) * 3 * listed // 100
    return 112 * budget // 100 - (3 * max(0, talk.messages - 3) + 4 * talk.wordy) * listed // 100


def is_persuaded(buyer: BuyerProfile, talk: TalkSummary) -> bool:
    """Whether the buyer has heard what it must hear before it buys at any price."""
    if buyer.character == "features":
        return talk.explained.issuperset(buyer.wants)
    heard = talk.messages > 1 and not talk.named.isdisjoint(buyer.wants)
    return heard and (buyer.character == "impatient" or talk.concessions >= 2)


def react_to_pitch(buyer: BuyerProfile, pitches: Sequence[Pitch], listed: int) -> Reaction:
    """The buyer's reaction to the last message."""
    pitches, now = tuple(pitches), pitches[-1]
    talk, price = summarise_talk(pitches, listed), offered_price(now, listed)
    if len(talk.named.difference(buyer.wants)) > _FORGIVEN[buyer.character]:
        return Reaction("That is not the car that I am looking for. Goodbye.", leaves=True)
    if talk.messages > 1 and 0 < price <= price_limit(buyer, talk, listed) and is_persuaded(buyer, talk):
        return Reaction(f"All right, I will take it for ${price:,}.", deal=price)
    patience = _IMPATIENT if buyer.character == "impatient" else _PATIENT
    if _spent_patience(buyer, pitches, listed) >= patience:
        return Reaction("No, this is going nowhere. Goodbye.", leaves=True)
    parts = [_reply_to_price(buyer, talk, price, listed)] if price else []
    if now.asks_wishes:
        parts.append(_WISH[buyer.character].format(*(_SHOWN.get(w, w) for w in buyer.wants)))
    if now.asks_budget:
        parts.append(f"I would rather not pay more than ${_round_budget(buyer, listed):,}.")
    return Reaction(" ".join([*_refuse_features(buyer, now), *(parts or [_reply_to_talk(buyer, now, talk)])]))


@lru_cache(maxsize=1 << 16)
def _spent_patience(buyer: BuyerProfile, pitches: tuple[Pitch, ...], listed: int) -> int:
    """The patience that the messages have cost; cached, because a seller who compares messages needs it for every
    buyer."""
    if not pitches:
        return 0
    talk, price = summarise_talk(pitches, listed), offered_price(pitches[-1], listed)
    now = 1 + _is_far(price, price_limit(buyer, talk, listed)) + _RAISE * talk.raised
    return _spent_patience(buyer, pitches[:-1], listed) + now


def _is_far(price: int, limit: int) -> bool:
    """Whether an offer is out of reach."""
    return price > (100 + _FAR) * limit // 100


_WISH = {
    "bargain": "I would like {} and {}, but what I want most is a good deal.",
    "features": "It must have {} and {}, or I am not interested.",
    "impatient": "I want {} and {}. Let us get on with it.",
}


def _round_budget(buyer: BuyerProfile, listed: int) -> int:
    """The budget that the buyer names: rounded down to a thousand; the bargain hunter names 5 % less."""
    share = buyer.share - 5 if buyer.character == "bargain" else buyer.share
    return share * listed // 100 // 1000 * 1000


def _reply_to_price(buyer: BuyerProfile, talk: TalkSummary, price: int, listed: int) -> str:
    if talk.raised:
        return f"A moment ago it was ${talk.lowest:,}."
    heard = talk.explained if buyer.character == "features" else talk.named
    missing = [w for w in buyer.wants if w not in heard]
    if missing and (buyer.character == "features" or len(missing) == len(buyer.wants)):
        asked = _SHOWN.get(missing[0], missing[0])
        return f"{'Before we talk about money: d' if buyer.character == 'features' else 'D'}oes it have {asked}?"
    if buyer.character == "bargain" and price > 95 * listed // 100:
        return "And where is my discount?"
    if price <= price_limit(buyer, talk, listed):
        return "You can do better than that." if buyer.character == "bargain" else "Let me look at it first."
    if buyer.character == "features" and talk.concessions > 2:
        return "Why does it get cheaper and cheaper? Is something wrong with it?"
    far = _is_far(price, price_limit(buyer, talk, listed))
    said = "That is far too much." if far else "That is a little more than I will pay."
    return f"{said} I do not have all day." if buyer.character == "impatient" else said


def _refuse_features(buyer: BuyerProfile, now: Pitch) -> list[str]:
    """What the buyer says of features that it does not want; nothing of a catalogue."""
    others = [f for f in now.confirmed if f not in buyer.wants] if len(now.confirmed) <= _NAMED else []
    return [f"I do not need {' or '.join(_SHOWN.get(f, f) for f in others)}."] if others else []


def _reply_to_talk(buyer: BuyerProfile, now: Pitch, talk: TalkSummary) -> str:
    if len(now.prices) > 1:
        return "Which price is it now?"
    if len(now.confirmed) > _NAMED:
        return "You are reading me the whole catalogue. Which of that matters to me?"
    mine = set(now.confirmed).intersection(buyer.wants)
    if buyer.character == "features" and mine:
        if mine <= talk.explained:
            return "Good, that is what I am after. Go on."
        return f"And what is so good about the {min(mine, key=buyer.wants.index)}?"
    if buyer.character == "impatient" and now.words > _WORDY:
        return "That is a lot of words. What does it cost?"
    return "I see. So what can you offer me?"
