"""Questions that every support agent asks, and what the owner of a product says to them.

Ours. "Is it plugged in?", "How old is it?", "Any strange noises?" are about a few aspects that all products share. For
each product `data/customer_service_everyday.toml` has a sentence that is true whatever the cause and the findings of
the case, so that it tells nothing about them, or the finding that is asked for. Only where a message was not
understood otherwise, and only if a form fits a whole sentence of it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from .forms import LEAD, TAG
from .sentences import plain

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_COURTESY = re.compile(
    r"^(?:(?:can|could|would|will) you (?:please |perhaps |maybe )?(?:tell me|say|check|let me know)"
    r"|do you (?:happen to )?(?:know|remember|recall)|may i ask|(?:please )?tell me|let me know"
    r"|i(?:'d| would) like to know|i wonder|any idea),? (?P<if>if |whether )?"
)
_BY_THE_WAY = re.compile(
    r"(?:|there|hi|hello|hey|good (?:morning|day|afternoon|evening)|thanks?(?: you)?(?: for [a-z ]+)?|ok(?:ay)?"
    r"|all right|alright|great|i see|got it|i understand|sorry(?: (?:to hear|about) [a-z ]+)?|let's see"
    r"|one more (?:thing|question)|next question)"
)
"""A sentence beside the question that changes nothing."""
_CLOSE = re.compile(r"(?:,? (?:please|by any chance|though|then|exactly|if you don't mind|at your end|on your end))+$")
_STATED = re.compile(r"^(it|this|that|there|anything)(?: (is|are|was|has)|('s))\b")
_STATED_LAST = re.compile(r"^((?:what|which|where|how)\b[^,]*?) (it|this|that) (is|was)$")
_THING = r"\b(?:the|your|this|that) (?:(?:new|old|whole|{0}) )*(?:{0})\b(?!'s| [a-z]+'s)"


class _Everyday(NamedTuple):
    """The forms of each aspect, and by product what its owner says to it."""

    forms: tuple[tuple[str, re.Pattern[str]], ...]
    said: Mapping[str, Mapping[str, str]]


@cache
def _everyday() -> _Everyday:
    """Loaded once per process."""
    text = files("sonde.envs").joinpath("data", "customer_service_everyday.toml").read_text("ascii")
    raw: dict[str, Any] = tomllib.loads(text)
    words, asks = raw.pop("words"), raw.pop("asks")
    forms = [(aspect, _compiled(rows, words)) for aspect, rows in asks.items()]
    return _Everyday(tuple(forms), raw)


def _compiled(rows: list[str], words: Mapping[str, str]) -> re.Pattern[str]:
    return re.compile("|".join(re.sub(r"<(\w+)>", lambda name: words[name[1]], row) for row in rows))


def everyday(product: str, name: str, said: str) -> str:
    """What the owner of a product, by its id and what it is called, says to a message; empty if it asks nothing of the
    kind. "=" and the id of a finding if that is what it asks for.
    """
    own = _everyday().said[product]
    asked = [s for s in _questions(plain(said), _thing(name)) if not _BY_THE_WAY.fullmatch(s)]
    return own.get(_aspect(asked[0]), "") if len(asked) == 1 else ""


@lru_cache(maxsize=128)
def _thing(name: str) -> re.Pattern[str]:
    """The product as agents call it: "the laptop", "your Aria 14 laptop"."""
    _, *words = re.findall(r"[a-z0-9-]+", name.lower())
    return re.compile(_THING.format("|".join(map(re.escape, words))))


def _questions(text: str, thing: re.Pattern[str]) -> list[str]:
    """The sentences of a message in lower case, without courtesy, the product as "it"."""
    found: list[str] = []
    for sentence in _SENTENCE.split(text):
        bare = thing.sub("it", LEAD.sub("", TAG.sub("?", sentence)).rstrip("?.! "))
        asked = _COURTESY.match(bare)
        if asked:
            rest = bare[asked.end() :]
            bare = _STATED.sub(_inverted, rest) if asked["if"] else _STATED_LAST.sub(r"\1 \3 \2", rest)
        found.append(_CLOSE.sub("", bare))
    return found


def _inverted(stated: re.Match[str]) -> str:
    return f"{stated[2] or 'is'} {stated[1]}"


@lru_cache(maxsize=1 << 12)
def _aspect(sentence: str) -> str:
    return next((aspect for aspect, form in _everyday().forms if form.fullmatch(sentence)), "")
