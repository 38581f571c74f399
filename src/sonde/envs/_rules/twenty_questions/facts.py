"""What is known of single topics: "painted the Mona Lisa", "bees make it", "is in Paris".

Ours. `data/build/twenty_questions/facts.txt` has a line per fact,

    [SCOPE] TOPIC + TOPIC? + #ATTRIBUTE?: phrases

with phrases as in the phrase file (`phrases.py`). It is true of the topics before the colon, not known of those with a
question mark, and false of all others in the scope: topics of these classes or attributes, or single topics
(`=Paris`), parted by commas; `-` in place of topics is none. `[]` is nothing, so that it is never false; `[*]` is
everything but what may be of any kind, occupations and characters of fiction; without a scope it is false of the
topics of the same roots (animals, objects, people, ...) as those of which it is true. `#` marks an attribute or a
class. What something has to do with is never false. Of one person or place, what it is and what people call it or know
it as are a by-name, and so a guess, if they are the same: `is the big apple; ob call the big apple`.

`compile_facts.py` beside the file spells the phrases out into `envs/data/twenty_questions_facts.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from .topics import Known, knowledge

_MANY = ("occupation", "fictional_character")
_HEAD = re.compile(r"fact (?:\[([^\]]*)\] )?(.*)")


@cache
def _data() -> Mapping[str, Any]:
    return json.loads(files("sonde.envs").joinpath("data", "twenty_questions_facts.json").read_text("utf-8"))


def heads() -> Sequence[str]:
    """Every fact, as `known` reads it."""
    return _data()["facts"]


def keys() -> Mapping[str, Sequence[int]]:
    """What phrases are looked up by -> the numbers of their facts."""
    return _data()["keys"]


def about(key: str) -> Sequence[str]:
    """The facts that a phrase asks for."""
    return [heads()[i] for i in keys().get(key, ())]


@cache
def known(head: str) -> Known:
    """Of which topics a fact is true and false."""
    row = _HEAD.fullmatch(head)
    if row is None:
        raise ValueError(f"no fact: {head!r}")
    items = [item.strip() for item in row[2].split("+")]
    yes = _union([item for item in items if not item.endswith("?")])
    return Known(yes, _scope(row[1], yes) & ~yes & ~unsure(head))


@cache
def unsure(head: str) -> int:
    """The topics with a question mark."""
    items = (item.strip() for item in head.rpartition("]")[2].removeprefix("fact ").split("+"))
    return _union([item[:-1] for item in items if item.endswith("?")])


def _scope(text: str | None, yes: int) -> int:
    """Where a fact that is true of some topics is false of all others."""
    roots = knowledge().roots
    if text is None:
        return _union([f"#{name}" for name, branch in roots.items() if branch & yes])
    if text == "*":
        many = _union([f"#{name}" for name in _MANY if not roots[name] & yes])
        return knowledge().all & ~many
    names = [name.strip() for name in text.split(",") if name.strip()]
    return _union([name[1:] if name.startswith("=") else f"#{name}" for name in names])


def never_false(head: str) -> str:
    """The same fact without a scope."""
    return re.sub(r"^fact (?:\[[^\]]*\] )?", "fact [] ", head)


def _union(items: Sequence[str]) -> int:
    found = 0
    for item in items:
        found |= topics(item)
    return found


def topics(item: str) -> int:
    """The topics that an item names: `Paris`, or `#bird` for all birds."""
    knows = knowledge()
    if item.startswith("#"):
        root = knows.roots.get(item[1:])
        return knows.known(item[1:]).yes if root is None else root
    return 0 if item == "-" else 1 << knows.index[item]
