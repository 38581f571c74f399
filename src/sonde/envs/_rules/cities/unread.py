"""A message of guess_my_city that no pattern reads: its words made plainer, its clauses read one by one.

Ours. `again` reads the one form once more: reworded by `envs/data/city_unread.txt`, as a question on the extremes of
the weather (`extremes.py`), or as two clauses that are each a question ("does the Rhine run through it, and is it
a capital", "a capital in Africa where French is spoken"), of which both must hold. Clauses of which one is not read
leave the message unread.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .extremes import extreme
from .lands import told_of_land
from .nations import of_nation
from .phrasing import reworded
from .replies import Asked, Query
from .text import order

Ask = Callable[[str], Query | None]

_AUX = r"(?:is|are|was|does|do|did|has|have|can)"
_CLAUSES = (
    re.compile(rf"(?P<a>.+?) (?:, )?(?:and|but) (?:also )?(?P<b>{_AUX} .+)"),
    re.compile(r"(?P<a>is C .+?) and (?P<b>(?:on|in|near|right|next|close|by|at|not far) .+)"),
    re.compile(r"(?P<a>is C in [a-z ]+) , (?P<b>(?:near|on|close|by|next) .+)"),
    re.compile(r"(?P<a>is C (?:in )?.+?),? (?:where|in which) (?P<b>.+)"),
    re.compile(r"(?P<a>is C (?:in )?.+?),? (?:that|which) (?P<b>(?:is|has|lies|was|does|uses|borders) .+)"),
    re.compile(r"(?P<a>is C .*?(?:city|town|capital|place|port|island)) with (?P<b>.+)"),
)
_TWISTED = re.compile(r"\b(?:if|when|because|than|although|though|or)\b")
"""Words of more than two plain clauses."""
_PLAIN = re.compile(r"^(.+?) (is|are|was) (?=[a-z])")


_AFTER_ALL = re.compile(rf".+ , (?:but|so|yet|and yet) (?P<b>{_AUX} (?:C|N|P|NAME|there) .+|(?:is|do|does) .+)")
_ASKS = re.compile(rf"(?:{_AUX}|were|could|would|should|might|if|what|which|when|how|who|where)\b", re.I)


def again(text: str, spoken: str, ask: Ask) -> Query | None:
    """What the text in the one form asks, read in plainer words; None if that is not read either. Of a remark and a
    question behind it ("it was once English, but is it in England now") only the question counts."""
    found = _AFTER_ALL.fullmatch(text)
    if found and not _ASKS.match(spoken):
        return None if _TWISTED.search(text) else _clause(found["b"], ask)
    plainer = reworded(text)
    turned = plainer.startswith("NOT ")
    found = _read(plainer.removeprefix("NOT "), ask, plainer != text)
    if turned and isinstance(found, Asked):
        return Asked(found.claims, found.how, not found.negated)
    return None if turned else found


def _read(text: str, ask: Ask, changed: bool) -> Query | None:
    found = ask(text) if changed else None
    return found or extreme(text) or of_nation(text) or _clauses(text, ask)


def _clauses(text: str, ask: Ask) -> Query | None:
    """Two questions of which both must hold."""
    for pattern in _CLAUSES:
        m = pattern.fullmatch(text)
        if m is None or _TWISTED.search(re.sub(" (?:fewer|less|more) than ", " ", text)):
            continue
        one, two = _clause(m["a"], ask), _clause(_question(m["b"]), ask)
        if (
            isinstance(one, Asked)
            and isinstance(two, Asked)
            and one.how in ("one", "all")
            and two.how in ("one", "all")
        ):
            return Asked((*one.claims, *two.claims), "all")
    return None


def _clause(text: str, ask: Ask) -> Query | None:
    text = text.strip(" ,")
    found = ask(text)
    if found is None and (plainer := reworded(text)) != text and not plainer.startswith("NOT "):
        found = ask(plainer)
    found = found or extreme(text) or of_nation(text) or ((told := told_of_land(text)) and Asked((told,))) or None
    return None if isinstance(found, Asked) and found.negated else found


def _question(clause: str) -> str:
    """A clause as a question: "people speak spanish", "is coastal", "fewer than 50000 people"."""
    if re.match(rf"{_AUX} (?:C|N|P|there|you|NAME) ", clause) or re.match(r"(?:does|do|did) ", clause):
        return clause
    if re.match(r"(?:is|was|lies|has|uses|borders) ", clause):
        verb, _, rest = clause.partition(" ")
        ways = {"is": "is C", "was": "was C", "lies": "is C", "has": "does C have", "uses": "does N use"}
        return f"{ways.get(verb, 'does N border')} {rest}"
    if re.match(r"(?:on|in|near|right|next|close|by|at|not) ", clause):
        return f"is C {clause}"
    if re.match(r"(?:people|P|they|locals|you) ", clause):
        return f"do P {clause.split(' ', 1)[1]}"
    if re.match(r"(?:more|fewer|less|over|under|at least|\d)", clause):
        return f"does C have {clause}"
    moved = _PLAIN.sub(r"\2 \1 ", clause)
    return moved if moved != clause else order(f"C has {clause}")
