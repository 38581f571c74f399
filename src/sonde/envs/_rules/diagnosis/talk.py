"""What a customer says: to what is asked or suggested, and, where nothing has an answer, small talk, the trouble again,
or "I do not know".

Ours. Replies of the second kind follow from the message and from what everybody knows of the product, its name, its
symptom and the openings and what can be asked, and never from the cause or the findings of the case: they are true of
every case, and tell nothing. What every agent asks ("how old is it?") has an answer of each product
(`everyday.py`). A message that asks for nothing in particular ("what happened?") hears how things stand; who
asks what is not known may hear about what the customer could tell something, and does so if the message names it. The
table of messages and replies is `data/customer_service_talk.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import Any, Final, NamedTuple

from .everyday import everyday
from .products import GOAL, Product, Query, told
from .vocabulary import stems

_HEARD: Final = 600
"""Characters of a message that matter here."""
_YOU = re.compile(r"\byou")
_START = re.compile(r"^[a-z]|(?<=[.?!] )[a-z]")


class _Row(NamedTuple):
    """Forms of messages, and what is said to one of them. Without one of `words` none can match, which is found out
    faster."""

    words: re.Pattern[str]
    forms: re.Pattern[str]
    says: tuple[str, ...]


class _Talk(NamedTuple):
    """The rows for each kind of query, in the order in which they are tried, and what is said where none fits."""

    rows: Mapping[str, tuple[_Row, ...]]
    plain: Mapping[str, Sequence[str]]


@cache
def _talk() -> _Talk:
    """Loaded once per process."""
    raw = tomllib.loads(files("sonde.envs").joinpath("data", "customer_service_talk.toml").read_text("ascii"))
    always, asked, told = (tuple(map(_row, raw[name])) for name in ("always", "asked", "told"))
    return _Talk({"unknown": (*always, *asked, *told[:1]), "unclear": (*always, *told), "talk": always}, raw["plain"])


def _row(raw: Mapping[str, Any]) -> _Row:
    return _Row(re.compile(raw["words"]), re.compile("|".join(raw["forms"])), tuple(raw["says"]))


def reply(product: Product, query: Query, cause: int, values: Sequence[int], said: str) -> str:
    """What the customer with this cause and these values says; the words that tell nothing depend on the message
    and the product."""
    if query.kind == "finding":
        return told(product, query, values[query.target])
    if query.kind in ("fix", "cause") and query.target == cause:
        return GOAL
    if query.kind == "fix":
        return product.causes[query.target].failed
    return small_talk(product, query.kind, said)


def small_talk(product: Product, kind: str, said: str) -> str:
    """The reply to a message of which `kind` is all that was understood."""
    if kind in ("unknown", "unclear", "talk") and (own := everyday(product.id, product.product, said)):
        return own
    number = _digest(said)
    thing, named = _thing(product, said, number // 11)
    words = {
        "symptom": product.symptom,
        "product": product.product,
        "opening": product.openings[number // 7 % len(product.openings)],
        "thing": thing,
    }
    forms = _forms(kind, f" {said[:_HEARD].lower()} ".replace("\u2019", "'"))
    if named:
        forms = [form for form in forms if "{thing}" in form] or forms
    return _START.sub(lambda found: found[0].upper(), forms[number % len(forms)].format_map(words))


def _thing(product: Product, said: str, number: int) -> tuple[str, bool]:
    """What the customer could tell something about: what shares most words with the message, if one does, or any."""
    known = [f for f in product.findings if not _YOU.search(f.asks)]
    if not known:
        return product.product, False
    heard = frozenset(stems(said[:_HEARD])).difference(stems(f"{product.product} {product.symptom}"))
    shared = [len(heard.intersection(stems(" ".join((f.asks, *f.cues))))) for f in known]
    near = [f for f, n in zip(known, shared, strict=True) if n == max(shared)]
    return near[number % len(near)].asks, max(shared) > 0


def _forms(kind: str, text: str) -> Sequence[str]:
    """The wordings for a message in lower case."""
    talk = _talk()
    rows = (row for row in talk.rows.get(kind, ()) if row.words.search(text) and row.forms.search(text))
    return next((row.says for row in rows), talk.plain[kind])


def _digest(said: str) -> int:
    """The wording depends on the message alone."""
    return int.from_bytes(blake2b(said.encode("utf-8", "replace"), digest_size=4).digest(), "big")
