"""Households: the three or four products of one customer, and the reading of a message that may be about any of them.

Own data (`data/households.toml`) and rules. One product gives trouble. The opening fits trouble with any of the
products, so at first the causes of all of them are possible. The customer reads a message as one about the product that
gives trouble, except in two cases:

- The message names another product of the household, and not this one.
- It has no meaning for this product, but asks about another one, or proposes something for it.

Then the customer says that nothing is wrong with the other product. If a message has no meaning for any product, the
reply is the small talk of `answering.py`, which may say what the trouble is.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from sonde._util.folders import data_file

from .._shared.english.tokens import ascii_lower, tokenize, word_stem
from .answering import answer_finding, answer_message
from .products import Product, load_products
from .reading import READINGS, UNANSWERED, UNKNOWN, Query, answer_everyday, read_support_message

WHAT: Final = "What exactly is the matter, and with which of your things?"
"""The listed question about the product and its symptom."""
_MEANT = ("finding", "fix", "cause", "several")


class Household(NamedTuple):
    """The ids of the products of one customer, and the possible openings."""

    id: str
    products: tuple[str, ...]
    openings: tuple[str, ...]


@cache
def load_households() -> Mapping[str, Household]:
    """All households by their ids, loaded once per process."""
    raw = tomllib.loads(data_file("customer_service", "households.toml").read_text("ascii"))
    found = {name: Household(name, tuple(row["products"]), tuple(row["openings"])) for name, row in raw.items()}
    return MappingProxyType(found)


@cache
def _households_by_product() -> Mapping[str, Household]:
    return {name: house for house in load_households().values() for name in house.products}


def find_household(product: str) -> Household:
    """The household that has this product."""
    return _households_by_product()[product]


def read_at_home(product: str, said: str) -> Query:
    """Read a message as the owner whose `product` gives trouble does; `UNKNOWN` if it is about another product."""
    return UNKNOWN if find_neighbour(product, said) else read_support_message(product, said)


@lru_cache(maxsize=READINGS)
def find_neighbour(product: str, said: str) -> str:
    """The other product of the household that a message is about; "" if it is about this one, or about none."""
    others = [name for name in find_household(product).products if name != product]
    named = _find_named_products(find_household(product).id, said)
    if named or _names_own(product, said):
        return "" if product in named or not named else named[0]
    if read_support_message(product, said).kind in (*_MEANT, "talk") or answer_everyday(product, said):
        return ""
    return next((name for name in others if read_support_message(name, said).kind in _MEANT), "")


def _find_named_products(household: str, said: str) -> tuple[str, ...]:
    """The products of a household that a message names by words that mean no other product."""
    words = _word_stems(said)
    return tuple(name for name, own in _distinct_names(household).items() if own & words)


def _names_own(product: str, said: str) -> bool:
    return not _name_words(load_products()[product]).isdisjoint(_word_stems(said))


@cache
def _distinct_names(household: str) -> Mapping[str, frozenset[str]]:
    """Map each product to the words of its name that occur in no text about another product of the household."""
    products = [load_products()[name] for name in load_households()[household].products]
    spoken = {p.id: _words_about(p) for p in products}

    def list_foreign_words(product: Product) -> set[str]:
        return {word for name, words in spoken.items() if name != product.id for word in words}

    return {p.id: _name_words(p) - list_foreign_words(p) for p in products}


@cache
def _name_words(product: Product) -> frozenset[str]:
    """The words that people use for a product: its brand and its kind, without the model's name and number."""
    _, *words = product.product.split()
    brand = next((word for word in words if word[0].isupper()), "")
    said = tokenize(ascii_lower(" ".join(w for w in words if w == brand or w.islower())))
    return frozenset(word_stem(word) for word in said if len(word) > 2 and word != "for")


def _words_about(product: Product) -> set[str]:
    texts = [product.product, product.symptom, *product.openings]
    for finding in product.findings:
        texts += [finding.asks, *finding.cues, *finding.questions, *finding.more]
    for cause in product.causes:
        texts += [cause.what, *cause.cues, cause.fix_what, *cause.fix_cues, *cause.suggestions, cause.answer]
        texts += [*cause.more, cause.suggestion]
    return {word for text in texts for word in _word_stems(text)}


@lru_cache(maxsize=READINGS)
def _word_stems(text: str) -> frozenset[str]:
    return frozenset(word_stem(word) for word in tokenize(ascii_lower(text)))


def answer_at_home(product: str, cause: int, values: tuple[int, ...], said: str) -> str:
    """The reply of the customer whose product has this cause and these values of its findings."""
    own = load_products()[product]
    if neighbour := find_neighbour(product, said):
        return f"There is nothing wrong with {_name_by_owner(load_products()[neighbour])}."
    query = read_support_message(product, said)
    if query.kind in (*UNANSWERED, "talk") and _asks_for_trouble(product, query, said):
        return f"It is about {_name_by_owner(own)}: {own.symptom}."
    return answer_message(own, query, cause, values, said)


def has_meaning_at_home(product: str, said: str) -> bool:
    """Whether the customer understands a message, as one about this product or about another one."""
    query = read_support_message(product, said)
    known = query.kind not in UNANSWERED or _asks_for_trouble(product, query, said)
    return known or bool(find_neighbour(product, said))


def _asks_for_trouble(product: str, query: Query, said: str) -> bool:
    """Whether a message without another meaning names the product, or is the listed question about it."""
    return said == WHAT or (query.kind != "talk" and not answer_everyday(product, said) and _names_own(product, said))


def _name_by_owner(product: Product) -> str:
    """The product as its owner calls it.

    >>> _name_by_owner(load_products()["printer_streaks"])
    'my Papyra 220 inkjet printer'
    """
    article, _, name = product.product.partition(" ")
    return f"my {name}" if article in ("a", "an", "the") else f"my {product.product}"


@lru_cache(maxsize=READINGS)
def reply_chances(product: str, said: str) -> tuple[Mapping[str, float], ...]:
    """The possible replies to a message with their probabilities, one mapping per cause of the product."""
    own, query = load_products()[product], read_at_home(product, said)
    if query.kind != "finding":
        return tuple({answer_at_home(product, c, (), said): 1.0} for c in range(len(own.causes)))
    rows: list[Mapping[str, float]] = []
    for cause in own.causes:
        found: dict[str, float] = {}
        for value, p in enumerate(cause.likelihood[query.target]):
            reply = answer_finding(own, query, value)
            found[reply] = found.get(reply, 0.0) + p
        rows.append(found)
    return tuple(rows)
