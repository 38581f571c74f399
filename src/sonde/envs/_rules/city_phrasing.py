"""Roundabout ways to put a question of guess_my_city, brought to the plain one before and after `city_text.py`.

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


class Rule(NamedTuple):
    """A pattern and what it comes to. It can only be found where the text has `part`, and where the first words match
    `head`, if it is one for the front; either may be empty."""

    pattern: re.Pattern[str]
    to: str
    front: bool
    head: str
    part: str


@cache
def _rules() -> Mapping[str, Sequence[Rule]]:
    """The rules of the two sections, macros filled in."""
    macros: dict[str, str] = {}
    found: dict[str, list[Rule]] = {"before": [], "after": []}
    section = ""
    for line in files("sonde.envs").joinpath("data", "city_phrasing.txt").read_text("ascii").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and line[0] != "#":
            pattern, _, to = line.rpartition(" => ")
            if section == "macros":
                macros[pattern] = to[1:-1]
            else:
                filled = re.sub(r"<([A-Z]+)>", lambda found: macros[found[1]], pattern)
                found[section].append(_rule(filled, to[1:-1]))
    return found


def _rule(pattern: str, to: str) -> Rule:
    front = pattern[0] == "^"
    return Rule(re.compile(pattern), to, front, _head(pattern[1:]) if front else "", _part(pattern.removeprefix("^")))


def _head(pattern: str) -> str:
    """What the first word of a text, or the first two, must be for the pattern to match at its front; else empty.

    >>> _head("(?:is|are) (.+?) big$"), _head("is C (?:on|by) sea"), _head("(?:to )?put C")
    ('(?:is|are)', 'is C', '')
    """
    depth, found = 0, ""
    for i, mark in enumerate(pattern):
        depth += (mark == "(") - (mark == ")")
        if mark == " ":
            if depth or set("?*$.![\\") & set(pattern[:i].replace("(?:", "(")):
                break
            if found:
                return pattern[:i]
            found = pattern[:i]
    return found


def _part(pattern: str) -> str:
    """Letters that every text has in which the pattern is found."""
    bare = re.sub(r"\[[^\]]*\]", "(", pattern)
    while (less := re.sub(r"\([^()]*\)[?*+]?", "\n", bare)) != bare:
        bare = less
    if "|" in bare:
        return ""
    return max(re.findall(r"[a-z' ]+(?![?*{])", re.sub(r"\\\w", "\n", bare)), key=len, default="")


@lru_cache(maxsize=4096)
def _fitting(section: str, first: str) -> Sequence[int]:
    """The rules that may apply to a text with these first two words."""
    heads, words = (rule.head for rule in _rules()[section]), first.split(" ")
    return [i for i, head in enumerate(heads) if not head or re.fullmatch(head, " ".join(words[: head.count(" ") + 1]))]


def _first(text: str) -> str:
    """The first two words."""
    return " ".join(text.split(" ", 2)[:2])


def _applied(section: str, text: str) -> str:
    rules, first, at = _rules()[section], _first(text), 0
    numbers = _fitting(section, first)
    while at < len(numbers):
        number = numbers[at]
        at += 1
        pattern, to, front, _, part = rules[number]
        if part not in text:
            continue
        if not front:
            text = pattern.sub(to, text)
        elif found := pattern.match(text):
            text = found.expand(to) + text[found.end() :]
        if not text.startswith(first):
            first = _first(text)
            numbers = _fitting(section, first)
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
