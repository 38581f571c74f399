"""Rules about whole categories: they add to the knowledge of single topics and never take away.

Ours. `data/rules.txt` has three kinds of lines:

    NAMES + EXPRESSION       the attributes are also true of the topics of which the expression is true
    NAMES - EXPRESSION       they are also false of them
    NAME [SCOPE] = topic, topic, ...   true of these topics, false of the others of the scope

An expression joins attributes with `&`, `|` and `!`; `=rust` stands for the topic of that name. A topic's own value
wins: a rule decides only what is unknown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from .._shared.english.claims import Claim
from .._shared.english.tokens import Interval
from .knowledge import data_rows, topic_knowledge
from .regions import claim_within, load_regions


class Rule(NamedTuple):
    """A rule: its sign (+, - or =), its scope and its expression."""

    sign: str
    scope: str
    text: str


_LINE = re.compile(r"([\w ]+?)(?: \[(.+?)\])? ([-+=]) (.+)")


@cache
def load_rules() -> Mapping[str, Sequence[Rule]]:
    """Attribute -> its rules, in the order of the file."""
    found: dict[str, list[Rule]] = {}
    for line in data_rows("rules"):
        row = _LINE.fullmatch(line)
        if row is None:
            allowed = "NAMES + EXPRESSION, NAMES - EXPRESSION or NAME [SCOPE] = TOPICS"
            raise ValueError(f"rules.txt: got {line!r}, allowed: {allowed}")
        for name in row[1].split():
            found.setdefault(name, []).append(Rule(row[3], row[2] or "", row[4]))
    return found


@cache
def claim_by_rules(name: str) -> Claim:
    """Claim an attribute with what its rules add; the first rule that decides a topic counts."""
    yes, no = topic_knowledge().known_topics(name)
    for rule in load_rules().get(name, ()):
        if rule.sign == "=":
            plus = sum(1 << i for i in {topic_knowledge().index[topic] for topic in _split_topics(rule.text)})
            minus = _evaluate_expression(rule.scope) & ~plus
        else:
            plus, minus = (
                (_evaluate_expression(rule.text), 0) if rule.sign == "+" else (0, _evaluate_expression(rule.text))
            )
        yes, no = yes | plus & ~no, no | minus & ~yes
    return Claim(name, yes, no & ~yes)


def _split_topics(text: str) -> list[str]:
    """The names of a list; one with a comma in it is written with a semicolon."""
    return [name.strip().replace(";", ",") for name in text.split(",")]


def _evaluate_expression(expression: str) -> int:
    """Return the topics of which an expression is true, without rules: `!x` are those that are not known to be x. Names
    without other knowledge stand for their rules."""
    found = 0
    for option in expression.split("|"):
        told = topic_knowledge().all
        for term in option.split("&"):
            yes = _evaluate_term(term.strip().removeprefix("!"))
            told &= ~yes if term.strip().startswith("!") else yes
        found |= told
    return found


_STEP = re.compile(r"(size|weight|price|born|died|start)([<>]=)(-?\d+)")


def _evaluate_term(name: str) -> int:
    """Return the topics of which a term is true: one topic such as `=rust`, a stored attribute, a limit such as
    `size<=2`, a region such as `in_france`, `little_known`, one or several listed countries, or an attribute that rules
    alone decide."""
    if name[:1] == "=" and name[1:] in topic_knowledge().index:
        return 1 << topic_knowledge().index[name[1:]]
    limit = _STEP.fullmatch(name)
    if name in topic_knowledge().attribute_names:
        return topic_knowledge().known_topics(name).yes
    if limit is not None:
        low, high = (float(limit[3]), math.inf) if limit[2] == ">=" else (-math.inf, float(limit[3]))
        return topic_knowledge().column[limit[1]].claim_within(Interval(low, high), name).yes
    if name[:3] == "in_" and name[3:] in load_regions():
        return claim_within(name[3:]).yes
    if name == "little_known":
        return sum(1 << i for i in range(len(topic_knowledge().names)) if topic_knowledge().is_little_known(i))
    if name in ("lands_one", "lands_several"):
        lands = topic_knowledge().lists["country"]
        return lands.known_things & ~lands.several if name == "lands_one" else lands.several
    if name in load_rules():
        return claim_by_rules(name).yes
    raise ValueError(f"rules.txt: got {name!r}, allowed: an attribute, =TOPIC, a limit or a region")
