"""Questions that every support agent asks, and what the owner of a product says to them.

Ours. "Is it plugged in?", "How old is it?", "Any strange noises?" are about a few aspects that all products share. For
each product `data/everyday.toml` has a sentence that is true whatever the cause and the findings of the
case, so that it tells nothing about them, or the finding that is asked for. Only where a message was not understood
otherwise, and only if a form fits a whole sentence of it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from sonde._util.folders import data_file

from .._shared.english.speech import speech
from .products import products

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
    text = data_file("customer_service", "everyday.toml").read_text("ascii")
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
