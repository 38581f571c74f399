"""Roundabout ways to put a question of guess_my_city, brought to the plain one before and after `text.py`.

Ours; the rules are in `envs/data/city_phrasing.txt`. `unwrapped` works on lower-case words: it takes off what only
introduces a question ("to start broadly, ...", "am I right in assuming that ...") or softens it ("roughly", "over
there", "if I visited"), and turns "would I have to go to Asia to visit you" into a question about the city. `turned`
works on the one form: "would C be hot" -> "is C hot". A preamble is dropped only where its first words say that it is
one: "in summer, is it hot" keeps its condition.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from ..lazy import Lazy, fitting, opened


class Rule(NamedTuple):
    """A pattern, for the front of a text only or for anywhere in it, and what it comes to."""

    pattern: Lazy
    to: str
    front: bool


@cache
def _rules(section: str) -> Sequence[Rule]:
    """The rules of a section. Those for messages that are not read are read when one comes."""
    return _file("city_unread.txt" if section == "unread" else "city_phrasing.txt")[section]


@cache
def _file(name: str) -> Mapping[str, Sequence[Rule]]:
    """The rules of a file by section, macros filled in."""
    macros: dict[str, str] = {}
    found: dict[str, list[Rule]] = {}
    section = ""
    for line in files("sonde.envs").joinpath("data", name).read_text("ascii").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
            found[section] = []
        elif line and line[0] != "#":
            pattern, _, to = line.rpartition(" => ")
            if section == "macros":
                macros[pattern] = to[1:-1]
            else:
                filled = re.sub(r"<([A-Z]+)>", lambda found: macros[found[1]], pattern)
                found[section].append(_rule(filled, to[1:-1]))
    return found


def _rule(pattern: str, to: str) -> Rule:
    return Rule(Lazy(pattern.removeprefix("^")), to, pattern[0] == "^")


@cache
def _heads(section: str) -> tuple[str, ...]:
    return tuple(rule.pattern.head if rule.front else "" for rule in _rules(section))


def _applied(section: str, text: str) -> str:
    rules, first, at = _rules(section), opened(text), 0
    numbers = fitting(_heads(section), first)
    while at < len(numbers):
        number = numbers[at]
        at += 1
        pattern, to, front = rules[number]
        if not pattern.may_fit(text):
            continue
        if not front:
            text = pattern.compiled.sub(to, text)
        elif found := pattern.compiled.match(text):
            text = found.expand(to) + text[found.end() :]
        if not text.startswith(first):
            first = opened(text)
            numbers = fitting(_heads(section), first)
            at = sum(i <= number for i in numbers)
    return text


def unwrapped(text: str) -> str:
    """Lower-case words without what only introduces or softens a question.

    >>> unwrapped("starting with geography , does your city lie in europe")
    'does your city lie in europe'
    >>> unwrapped("in summer , is it hot"), unwrapped("am i right in assuming it is a capital")
    ('in summer , is it hot', 'it is a capital')
    """
    for _ in range(2):
        before = text
        text = _applied("before", text)
        if text == before:
            break
    return " ".join(text.split())


@lru_cache(maxsize=4096)
def turned(text: str) -> str:
    """The one form with roundabout frames made plain.

    >>> turned("would C be hot"), turned("is italy one of countries bordering N")
    ('is C hot', 'does N border italy')
    """
    return " ".join(_applied("after", text).split())


@lru_cache(maxsize=4096)
def reworded(text: str) -> str:
    """The one form of a message that nothing reads, in plainer words.

    >>> reworded("is C both capital and on pacific"), reworded("is C switzerland 's largest city")
    ('is C capital and on pacific', 'is C biggest city in switzerland')
    """
    return " ".join(_applied("unread", text).split())
