"""The slots of the patterns of guess_my_city: what stands in them, and lists of them as yes/no questions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from .atlas import atlas
from .claims import Claim
from .replies import Asked, Query
from .words import items

T = TypeVar("T")

Match = re.Match[str]


Built = Callable[[Match], Query | None]


def slot(m: Match, name: str = "x") -> str:
    """What stands in a slot; in patterns with alternatives the slot has several names: x, x2, x3 ..."""
    for key in m.re.groupindex:
        if key.rstrip("0123456789") == name and m[key]:
            return m[key]
    return ""


def group(name: str) -> frozenset[str]:
    return atlas().group(name)


def metro() -> frozenset[int]:
    """Cities with a metro, which all have railways too."""
    return atlas().metro[0]


def one(claim: Claim | None) -> Query | None:
    return None if claim is None else Asked((claim,))


def of(found: T | None, make: Callable[[T], Claim | None]) -> Claim | None:
    """A claim about what a slot names, if it names anything."""
    return None if found is None else make(found)


def fixed(claim: Claim) -> Built:
    query = Asked((claim,))
    return lambda m: query


def several(text: str, read: Callable[[str], Claim | None]) -> Query | None:
    """A list of slots."""
    found = items(text, read)
    return None if found is None else Asked(*found)


def choice(*claims: Claim) -> Built:
    query = Asked(claims, "which")
    return lambda m: query


def count(n: float) -> str:
    return f"{n / 1e6:g} million" if n >= 1e6 else f"{n:,.0f}"


OVER = (
    r"(?:more than|over|above|at least|greater than|bigger than|larger than|higher than|exceeding|"
    r"upwards of|no fewer than|no less than|that exceeds|in excess of|of more than|of over|of at least|"
    r"of above|that is (?:over|above|more than|larger than|greater than)|greater|well over)"
)


UNDER = (
    r"(?:less than|under|below|fewer than|at most|smaller than|lower than|up to|not more than|"
    r"of less than|of under|of below|of fewer than|that is (?:under|below|less than|smaller than)|"
    r"well under)"
)


SOULS = (
    r"(?: (?:people|inhabitants|residents|citizens|souls|persons|human beings))?(?: (?:living|who live|"
    r"that live))?(?: (?:in metro area|in metropolitan area|in urban area|in city proper))?"
)
