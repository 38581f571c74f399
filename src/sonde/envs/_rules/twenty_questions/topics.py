"""What is known about the topics of twenty questions: who is what, as bit masks over all topics.

Source of the data: written by us (data/build/twenty_questions), with hypernyms from WordNet 3.0. Every attribute of
every topic is yes, no or unknown; a mask is an int whose bit i stands for topic i. Loaded once, when first asked for;
masks are decoded one by one as they are used.
"""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from ..checks import plain
from ..partition import bits
from .english import ascii_lower, singular

_PLURALS = {
    "mice": "mouse", "geese": "goose", "teeth": "tooth", "feet": "foot", "men": "man", "women": "woman",
    "children": "child", "knives": "knife", "wolves": "wolf", "leaves": "leaf", "shelves": "shelf", "loaves": "loaf",
    "scarves": "scarf", "hooves": "hoof", "thieves": "thief", "wives": "wife", "halves": "half", "oxen": "ox",
    "dice": "die", "lice": "louse", "cacti": "cactus", "fungi": "fungus",
}  # fmt: skip


class Known(NamedTuple):
    """The topics of which something is true, and those of which it is false; of the others it is not known."""

    yes: int
    no: int


_POSSESSIVE = re.compile(r"(?<=\w)['’]s\b")
_SIDES = {"t": "train", "v": "val", "e": "test"}

NOTHING = Known(0, 0)


@lru_cache(maxsize=1 << 14)
def name_key(text: str) -> str:
    """The form in which names are compared: plain words, no leading article, the last word in the singular.

    >>> name_key("The Guitars"), name_key("Ice-cream"), name_key("mice")
    ('guitar', 'ice cream', 'mouse')
    """
    words = plain(_POSSESSIVE.sub("", ascii_lower(text)).replace("'", "").replace("’", "")).split()
    if len(words) > 1 and words[0] in ("a", "an", "the"):
        words = words[1:]
    if words:
        words[-1] = _PLURALS.get(words[-1]) or singular(words[-1])
    return " ".join(words)


class Knowledge:
    """The knowledge base. `names[i]` is topic i."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data
        self.names: tuple[str, ...] = tuple(data["topics"])
        self.all = (1 << len(self.names)) - 1
        self.aka: Sequence[Sequence[str]] = data["aka"]
        self.category: Sequence[str] = data["category"]
        self.classes: Mapping[str, Sequence[str]] = data["classes"]
        self.meanings: Mapping[str, str] = data["meanings"]
        self._masks: dict[str, Known] = {}
        self._kind_topics: dict[int, int] = {}

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Name -> topic."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def aliases(self) -> Mapping[str, int]:
        """Other name -> the topic that it means, where it means one."""
        other = ((name, i) for i, names in enumerate(self.aka) for name in names)
        return {name: i for name, i in other if self.lookup[name_key(name)] == 1 << i and name not in self.index}

    @cached_property
    def attributes(self) -> Sequence[str]:
        return tuple(self._data["attributes"])

    def known(self, attribute: str) -> Known:
        """Of which topics an attribute or a class is true and false."""
        found = self._masks.get(attribute)
        if found is None:
            found = self._masks[attribute] = self._decoded(attribute)
        return found

    def _decoded(self, attribute: str) -> Known:
        row = self._rows.get(attribute)
        if row is None:
            return NOTHING
        size, packed = (len(self.names) + 7) // 8, self._packed
        start = 2 * row * size
        yes, no = packed[start : start + size], packed[start + size : start + 2 * size]
        return Known(int.from_bytes(yes, "little"), int.from_bytes(no, "little"))

    @cached_property
    def _rows(self) -> Mapping[str, int]:
        return {name: i for i, name in enumerate(self.attributes)}

    @cached_property
    def _packed(self) -> bytes:
        return zlib.decompress(b64decode(self._data["masks"]))

    @cached_property
    def lookup(self) -> Mapping[str, int]:
        """Name or synonym, as `name_key` writes it -> the topics it names. A topic's own name wins over synonyms."""
        own: dict[str, int] = defaultdict(int)
        other: dict[str, int] = defaultdict(int)
        for i, (name, *others) in enumerate(self._keys):
            own[name] |= 1 << i
            for alias in others:
                other[alias] |= 1 << i
        return {**other, **own}

    @cached_property
    def _keys(self) -> Sequence[Sequence[str]]:
        """For each topic its name and its synonyms, as `name_key` writes them."""
        return [[name_key(n) for n in (name, *self.aka[i])] for i, name in enumerate(self.names)]

    # --- words above a topic -----------------------------------------------------------------------------------------

    @cached_property
    def kinds(self) -> Mapping[str, int]:
        """WordNet's words -> the topics that are a kind of it."""
        found = [0] * len(self._data["kinds"])
        for i, row in enumerate(self._data["hypernyms"]):
            for k in row:
                found[k] |= 1 << i
        return dict(zip(self._data["kinds"], found, strict=True))

    def may_be(self, word: str) -> int:
        """The topics of which it is not settled whether they are of a kind."""
        return sum(1 << i for i in set(self._data["may_be"].get(word, ())))

    @cached_property
    def roots(self) -> Mapping[str, int]:
        """The classes at the top, of which every topic is in one or more -> the topics below them."""
        return {root: int.from_bytes(b64decode(text), "little") for root, text in self._data["roots"].items()}

    def never(self, kind: str) -> int:
        """The topics that are surely no kind of a word of WordNet: no sense of it has its place in their roots."""
        inside = apart = 0
        for branch, mark in zip(self.roots.values(), self._never.get(kind, ""), strict=False):
            inside, apart = (inside, apart | branch) if mark == "-" else (inside | branch, apart)
        return apart & ~inside

    @cached_property
    def _never(self) -> Mapping[str, str]:
        return dict(zip(self._data["kinds"], self._data["kind_roots"], strict=True))

    def above(self, topics: int) -> int:
        """The topics whose names are words for something above the given ones."""
        found = 0
        for i in bits(topics):
            for k in self._data["hypernyms"][i]:
                found |= self._named_by(k)
        return found & ~topics

    def _named_by(self, kind: int) -> int:
        """The topics that a word of WordNet names."""
        if kind not in self._kind_topics:
            self._kind_topics[kind] = self.lookup.get(name_key(self._data["kinds"][kind]), 0)
        return self._kind_topics[kind]

    @cached_property
    def sharing(self) -> Sequence[int]:
        """For each topic, all that share a name with it."""
        found: list[int] = []
        for keys in self._keys:
            mask = 0
            for key in keys:
                mask |= self.lookup[key]
            found.append(mask)
        return found

    # --- numbers and lists -------------------------------------------------------------------------------------------

    def numbers(self, field: str, holds: Callable[[int], bool | None]) -> Known:
        """Of which topics a condition on a number is true and false; topics without the number are unknown."""
        yes = no = 0
        for value, topics in self.by_number(field).items():
            verdict = holds(value)
            if verdict is not None:
                yes, no = (yes | topics, no) if verdict else (yes, no | topics)
        return Known(yes, no)

    def by_number(self, field: str) -> Mapping[int, int]:
        """Number -> the topics that have it."""
        return self._by_number[field]

    @cached_property
    def _by_number(self) -> Mapping[str, Mapping[int, int]]:
        found: dict[str, dict[int, int]] = {}
        for field, values in self._data["numbers"].items():
            rows: dict[int, int] = defaultdict(int)
            for i, value in enumerate(values):
                if value is not None:
                    rows[value] |= 1 << i
            found[field] = dict(rows)
        return found

    def number_of(self, field: str, topics: int) -> int | None:
        """The number that all of these topics have, if it is the same."""
        held = {v for v, mask in self.by_number(field).items() if mask & topics}
        return held.pop() if len(held) == 1 else None

    def members(self, field: str, value: str) -> int:
        """The topics whose list `field` has this value."""
        return self._lists[field].get(value, 0)

    def listed(self, field: str) -> int:
        """The topics that have such a list."""
        return self._lists[field].get("", 0)

    def values(self, field: str) -> Sequence[str]:
        return [v for v in self._lists[field] if v]

    @cached_property
    def _lists(self) -> Mapping[str, Mapping[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for field, rows in self._data["lists"].items():
            masks: dict[str, int] = defaultdict(int)
            for i, values in rows.items():
                for value in ("", *values):
                    masks[value] |= 1 << int(i)
            found[field] = dict(masks)
        return found

    def where(self, holds: Callable[[str], bool]) -> Known:
        """Of which topics something is true that depends on the name alone."""
        yes = sum(1 << i for i, name in enumerate(self.names) if holds(name))
        return Known(yes, self.all & ~yes)

    # --- the pools of the presets ------------------------------------------------------------------------------------

    @cached_property
    def paprika(self) -> Mapping[str, Sequence[int]]:
        marks = {"train": "r", "test": "e"}
        return {s: [i for i, c in enumerate(self._data["paprika"]) if c == m] for s, m in marks.items()}

    @cached_property
    def delta_belief(self) -> Mapping[str, Sequence[int]]:
        found: dict[str, list[int]] = {"rl": [], "test": [], "sft": [], "val": []}
        for i, which in enumerate(self._data["delta_belief"]):
            if which:
                found[which].append(i)
        return found

    @cached_property
    def lmrl(self) -> Mapping[str, Sequence[int]]:
        """Group -> its objects."""
        found: dict[str, list[int]] = defaultdict(list)
        for i, group in enumerate(self._data["lmrl"]):
            if group:
                found[group].append(i)
        return dict(found)

    def side(self, topic: int) -> str:
        """The side on which the topic is in every preset: train, val or test."""
        return _SIDES[self._data["side"][topic]]

    def little_known(self, topic: int) -> bool:
        """Whether few people know what it is."""
        return self._data["difficulty"][topic] == "h"


@cache
def knowledge() -> Knowledge:
    """The knowledge base, loaded once per process."""
    return Knowledge(json.loads(files("sonde.envs").joinpath("data", "twenty_questions.json").read_text("utf-8")))
