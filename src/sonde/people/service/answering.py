"""What a customer says: to what is asked or suggested, and, where nothing has an answer, a courtesy or "I do not know".

Ours. An answer is a full sentence about the finding, whatever the wording of the question, so that it is true even
where the question was taken for another. What is said beside the point follows from the message and from what everybody
knows of the product, never from the cause or the findings of the case: it is true of every case, and tells nothing.
What every agent asks ("how old is it?") has an answer of each product (`everyday.py`); the rest is a table,
`customer_service_talk.toml`.

Questions that every support agent asks, and what the owner of a product says to them.

Ours. "Is it plugged in?", "How old is it?", "Any strange noises?" are about a few aspects that all products share. For
each product `customer_service_everyday.toml` has a sentence that is true whatever the cause and the findings of the
case, so that it tells nothing about them, or the finding that is asked for. Only where a message was not understood
otherwise, and only if a form fits a whole sentence of it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from sonde.core.folders import data_file

from ..language.speech import speech
from .products import Product, products
from .reading import Query

GOAL: Final = "Goal reached"


class _Talk(NamedTuple):
    """Forms of messages with what is said to them, in the order in which they are tried, and what is said where none
    fits, by the kind of what was understood."""

    rows: Sequence[tuple[re.Pattern[str], str]]
    plain: Mapping[str, str]


@cache
def _talk() -> _Talk:
    """Loaded once per process."""
    raw = tomllib.loads(data_file("customer_service_talk.toml").read_text("ascii"))
    return _Talk([(re.compile("|".join(row["forms"])), row["says"]) for row in raw["row"]], raw["plain"])


def told(product: Product, query: Query, value: int) -> str:
    """The reply to a question about a finding that has this value."""
    answer = product.findings[query.target].answers[value]
    return f"I could not say. {answer}" if query.beside else answer


def reply(product: Product, query: Query, cause: int, values: Sequence[int], said: str) -> str:
    """What the customer says to a message that was taken for this query."""
    if query.kind == "finding":
        return told(product, query, values[query.target])
    if query.kind in ("fix", "cause") and query.target == cause:
        return GOAL
    if query.kind == "fix":
        return product.causes[query.target].failed
    return denied(product, query.target) if query.kind == "cause" else small_talk(product, query.kind, said)


def denied(product: Product, cause: int) -> str:
    """The reply to a diagnosis that is wrong."""
    return f"No, it is not that {product.causes[cause].what}."


def small_talk(product: Product, kind: str, said: str) -> str:
    """The reply to a message of which `kind` is all that was understood."""
    if kind in ("unknown", "unclear", "talk") and (own := everyday(product.id, said)):
        return own
    talk = _talk()
    clauses = [part.clause for part in speech(said)] if kind in ("unknown", "unclear", "talk") else []
    found = next((says for form, says in talk.rows if any(map(form.search, clauses))), talk.plain[kind])
    return found.format(symptom=product.symptom, product=product.product, opening=product.openings[0])


_CLOSE = re.compile(r"(?: ,)? (?:though|exactly|at your end|on your end)$")
_STATED = re.compile(r"^(it|this|that|there|anything) (is|are|was|has)\b")
_STATED_LAST = re.compile(r"^((?:what|which|where|how)\b[^,]*?) (it|this|that) (is|was)$")


class _Everyday(NamedTuple):
    """The forms of each aspect, and by product what its owner says to it."""

    forms: tuple[tuple[str, re.Pattern[str]], ...]
    said: Mapping[str, Mapping[str, str]]


@cache
def _everyday() -> _Everyday:
    """Loaded once per process."""
    text = data_file("customer_service_everyday.toml").read_text("ascii")
    raw: dict[str, Any] = tomllib.loads(text)
    words, asks = raw.pop("words"), raw.pop("asks")
    forms = [(aspect, _compiled(rows, words)) for aspect, rows in asks.items()]
    return _Everyday(tuple(forms), raw)


def _compiled(rows: list[str], words: Mapping[str, str]) -> re.Pattern[str]:
    return re.compile("|".join(re.sub(r"<(\w+)>", lambda name: words[name[1]], row) for row in rows))


@lru_cache(maxsize=1 << 12)
def everyday(product: str, said: str) -> str:
    """What the owner of a product says to a message; empty if it asks nothing of the kind. "=" and the id of a finding
    if that is what it asks for."""
    asked = [part for part in speech(said) if part.mode != "talk"]
    if len(asked) != 1:
        return ""
    texts = (" ".join(asked[0].words), asked[0].clause)
    found = next((aspect for text in texts if (aspect := _aspect(_question(text, product)))), "")
    return _everyday().said[product].get(found, "")


@lru_cache(maxsize=128)
def _thing(product: str) -> re.Pattern[str]:
    """The product as agents call it: "the laptop", "your Aria 14 laptop"."""
    _, *words = re.findall(r"[a-z0-9]+", products()[product].product.lower())
    names = "|".join(map(re.escape, (*words, "device", "machine", "appliance", "unit", "product")))
    return re.compile(rf"\b(?:the|your|this|that) (?:(?:new|old|whole|{names}) )*(?:{names})\b")


def _question(text: str, product: str) -> str:
    """A sentence in lower case, without courtesy, the product as "it"."""
    bare = _CLOSE.sub("", _thing(product).sub("it", text.replace(" ,", ","))).removeprefix("about ")
    for word in ("if ", "whether "):
        if bare.startswith(word):
            return _STATED.sub(r"\2 \1", bare.removeprefix(word))
    return _STATED_LAST.sub(r"\1 \3 \2", bare)


@lru_cache(maxsize=1 << 12)
def _aspect(sentence: str) -> str:
    return next((aspect for aspect, form in _everyday().forms if form.fullmatch(sentence)), "")
