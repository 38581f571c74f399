"""The customer's answers to questions and suggestions, and small talk if nothing else fits.

Own design. An answer is a full sentence about the finding, independent of the question's wording, so that it is true
even if the customer misread the question. Small talk depends on the message and on common knowledge about the product,
never on the cause or the findings of the case, so it reveals nothing. Standard questions ("how old is it?") have one
answer per product (`answer_everyday`); a table, `data/talk.toml`, has the rest.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from sonde._util.folders import data_file

from .._shared.english.speech import read_speech
from .products import Product
from .reading import UNANSWERED, Query, answer_everyday

GOAL: Final = "Goal reached"


class _Talk(NamedTuple):
    """Patterns of messages with their replies, in the order in which they are tried, and the default reply to each kind
    of message."""

    rows: Sequence[tuple[re.Pattern[str], str]]
    plain: Mapping[str, str]


@cache
def _load_talk() -> _Talk:
    """The talk table, loaded once per process."""
    raw = tomllib.loads(data_file("customer_service", "talk.toml").read_text("ascii"))
    return _Talk([(re.compile("|".join(row["forms"])), row["says"]) for row in raw["row"]], raw["plain"])


def answer_finding(product: Product, query: Query, value: int) -> str:
    """The reply to a question about a finding with this value."""
    answer = product.findings[query.target].answers[value]
    return f"I could not say. {answer}" if query.beside else answer


def answer_message(product: Product, query: Query, cause: int, values: Sequence[int], said: str) -> str:
    """The customer's answer to a message with this reading."""
    if query.kind == "finding":
        return answer_finding(product, query, values[query.target])
    if query.kind in ("fix", "cause") and query.target == cause:
        return GOAL
    if query.kind == "fix":
        return product.causes[query.target].failed
    return deny_cause(product, query.target) if query.kind == "cause" else answer_small_talk(product, query.kind, said)


def deny_cause(product: Product, cause: int) -> str:
    """The reply to a wrong diagnosis."""
    return f"No, it is not that {product.causes[cause].what}."


@cache
def silent_replies() -> Mapping[str, str]:
    """Map the replies that give no answer to the reason: "not_known", "not_understood" or "invalid"."""
    kinds = {"untold": "not_known", "unclear": "not_understood", "unknown": "not_understood"}
    return {text: kinds.get(kind, "invalid") for kind, text in _load_talk().plain.items()}


def answer_small_talk(product: Product, kind: str, said: str) -> str:
    """The reply to a message of which the customer understands only the `kind`."""
    if kind in (*UNANSWERED, "talk") and (own := answer_everyday(product.id, said)):
        return own
    talk = _load_talk()
    clauses = [part.clause for part in read_speech(said)] if kind in (*UNANSWERED, "talk") else []
    found = next((says for form, says in talk.rows if any(map(form.search, clauses))), talk.plain[kind])
    return found.format(symptom=product.symptom, product=product.product, opening=product.openings[0])
