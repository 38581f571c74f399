"""Rules about whole categories: they add to the knowledge of single topics and never take away.

Ours. `data/rules.txt` has three kinds of lines:

    NAMES + EXPRESSION       the attributes are also true of the topics of which the expression is true
    NAMES - EXPRESSION       they are also false of them
    NAME [SCOPE] = topic, topic, ...   true of these topics, false of the others of the scope

An expression joins attributes with `&`, `|` and `!`. A topic's own value wins: a rule decides only what is unknown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from .._shared.english.claims import Claim
from .._shared.english.numbers import Interval
from .knowledge import knowledge, rows
from .regions import regions, within


class Rule(NamedTuple):
    """A rule: its sign (+, - or =), its scope and its expression."""

    sign: str
    scope: str
    text: str


_LINE = re.compile(r"([\w ]+?)(?: \[(.+?)\])? ([-+=]) (.+)")


@cache
def rules() -> Mapping[str, Sequence[Rule]]:
    """Attribute -> its rules, in the order of the file."""
    found: dict[str, list[Rule]] = {}
    for line in rows("rules"):
        row = _LINE.fullmatch(line)
        if row is None:
            allowed = "NAMES + EXPRESSION, NAMES - EXPRESSION or NAME [SCOPE] = TOPICS"
            raise ValueError(f"rules.txt: got {line!r}, allowed: {allowed}")
        for name in row[1].split():
            found.setdefault(name, []).append(Rule(row[3], row[2] or "", row[4]))
    return found


@cache
def ruled(name: str) -> Claim:
    """Claim an attribute with what its rules add; the first rule that decides a topic counts."""
    yes, no = knowledge().known(name)
    for rule in rules().get(name, ()):
        if rule.sign == "=":
            plus = sum(1 << i for i in {knowledge().index[topic] for topic in _topics(rule.text)})
            minus = _true(rule.scope) & ~plus
        else:
            plus, minus = (_true(rule.text), 0) if rule.sign == "+" else (0, _true(rule.text))
        yes, no = yes | plus & ~no, no | minus & ~yes
    return Claim(name, yes, no & ~yes)


def _topics(text: str) -> list[str]:
    """The names of a list; one with a comma in it is written with a semicolon."""
    return [name.strip().replace(";", ",") for name in text.split(",")]


def _true(expression: str) -> int:
    """Return the topics of which an expression is true, without rules: `!x` are those that are not known to be x. Names
    without other knowledge stand for their rules."""
    found = 0
    for option in expression.split("|"):
        told = knowledge().all
        for term in option.split("&"):
            yes = _known(term.strip().removeprefix("!"))
            told &= ~yes if term.strip().startswith("!") else yes
        found |= told
    return found


_STEP = re.compile(r"(size|weight|price|born|died|start)([<>]=)(-?\d+)")


def _known(name: str) -> int:
    """Return the topics of which a term is true: a stored attribute, a limit such as `size<=2`, a region such as
    `in_france`, `little_known`, one or several listed countries, or an attribute that rules alone decide."""
    limit = _STEP.fullmatch(name)
    if name in knowledge().has:
        return knowledge().known(name).yes
    if limit is not None:
        low, high = (float(limit[3]), math.inf) if limit[2] == ">=" else (-math.inf, float(limit[3]))
        return knowledge().column[limit[1]].within(Interval(low, high), name).yes
    if name[:3] == "in_" and name[3:] in regions():
        return within(name[3:]).yes
    if name == "little_known":
        return sum(1 << i for i in range(len(knowledge().names)) if knowledge().little_known(i))
    if name in ("lands_one", "lands_several"):
        lands = knowledge().lists["country"]
        return lands.known & ~lands.several if name == "lands_one" else lands.several
    if name in rules():
        return ruled(name).yes
    raise ValueError(f"rules.txt: got {name!r}, allowed: an attribute, a limit or a region")
