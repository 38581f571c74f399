"""Knowledge about the topics of twenty questions, as bit masks over all topics, and their difficulty.

Source of the data: written by us (`sources`), with hypernyms from WordNet 3.0. Every attribute of every topic is yes,
no or unknown; a mask is an int whose bit i stands for topic i. The data are loaded at first use, and masks are decoded
one by one.

Difficulty groups the topics for a curriculum. In PAPRIKA a language model estimates how easy a topic is to guess and
how many turns that takes (appendix H): of 1,499 training topics 477 are easy, 726 medium and 296 hard, of 367 test
topics 127, 172 and 68 (32, 48 and 20 %). Here the turns are those of the reference solver, which asks in plain words,
among the topics of the preset (`sources/compile_turns.py`). The topics with the fewest turns are easy, those with the
most are hard; the limits are those that bring all shares together nearest to the paper's. Topics that few people know
are hard too, which the turns of a solver that knows everything do not show. Turns are whole numbers, so the shares
differ from the paper's. Over all splits:

    paprika        easy: at most 6 turns, hard: 11 or more     easy 639, medium 926, hard 301 (34, 50, 16 %)
    delta_belief   easy: at most 11 turns, hard: 16 or more    easy 705, medium 930, hard 337 (36, 47, 17 %)
    lmrl           easy: at most 7 turns, hard: 10 or more     easy 59, medium 82, hard 17 (37, 52, 11 %)
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

from sonde._util.folders import data_file

from .._shared.english.claims import Lists, Numbers, Range
from .._shared.english.tokens import name_key
from .._shared.partition import mask_bits


class KnownTopics(NamedTuple):
    """The topics of which something is true, and those of which it is false; of the others it is not known."""

    yes: int
    no: int


_SIDES = {"t": "train", "v": "val", "e": "test"}

NOTHING = KnownTopics(0, 0)


_SIZES: Mapping[str, Range] = {"real_person": (4.0, 4.0), "fictional_human": (3.0, 4.0), "body_part": (0.0, 4.0)}
"""The steps of size of kinds whose topics need none of their own."""


class TopicKnowledge:
    """The knowledge base. `names[i]` is topic i."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data
        self.names: tuple[str, ...] = tuple(data["topics"])
        self.all = (1 << len(self.names)) - 1
        self.aka: Sequence[Sequence[str]] = data["aka"]
        self.category: Sequence[str] = data["category"]
        self.classes: Mapping[str, Sequence[str]] = data["classes"]
        self.meanings: Mapping[str, str] = data["meanings"]
        self._masks: dict[str, KnownTopics] = {}
        self._kind_topics: dict[int, int] = {}

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Name -> topic."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def aliases(self) -> Mapping[str, int]:
        """Other name -> the topic that it means, where it means one."""
        other = ((name, i) for i, names in enumerate(self.aka) for name in names)
        return {
            name: i
            for name, i in other
            if self.topics_by_name[name_key(name, common=True)] == 1 << i and name not in self.index
        }

    @cached_property
    def attributes(self) -> Sequence[str]:
        return tuple(self._data["attributes"])

    def known_topics(self, attribute: str) -> KnownTopics:
        """Return the topics of which an attribute or a class is true, and those of which it is false."""
        found = self._masks.get(attribute)
        if found is None:
            found = self._masks[attribute] = self._decode_masks(attribute)
        return found

    def _decode_masks(self, attribute: str) -> KnownTopics:
        row = self._row_numbers.get(attribute)
        if row is None:
            return NOTHING
        size, packed = (len(self.names) + 7) // 8, self._packed_masks
        start = 2 * row * size
        yes, no = packed[start : start + size], packed[start + size : start + 2 * size]
        return KnownTopics(int.from_bytes(yes, "little"), int.from_bytes(no, "little"))

    @cached_property
    def attribute_names(self) -> frozenset[str]:
        """The attributes and classes that there are."""
        return frozenset(self.attributes)

    @cached_property
    def _row_numbers(self) -> Mapping[str, int]:
        return {name: i for i, name in enumerate(self.attributes)}

    @cached_property
    def _packed_masks(self) -> bytes:
        return zlib.decompress(b64decode(self._data["masks"]))

    @cached_property
    def topics_by_name(self) -> Mapping[str, int]:
        """Name or synonym, as `name_key` writes it -> the topics it names. A topic's own name wins over synonyms."""
        own: dict[str, int] = defaultdict(int)
        other: dict[str, int] = defaultdict(int)
        for i, (name, *others) in enumerate(self._name_keys):
            own[name] |= 1 << i
            for alias in others:
                other[alias] |= 1 << i
        return {**other, **own}

    @cached_property
    def _name_keys(self) -> Sequence[Sequence[str]]:
        """For each topic its name and its synonyms, as `name_key` writes them."""
        return [[name_key(n, common=True) for n in (name, *self.aka[i])] for i, name in enumerate(self.names)]

    # --- words above a topic -----------------------------------------------------------------------------------------

    @cached_property
    def kinds(self) -> Mapping[str, int]:
        """WordNet's words -> the topics that are a kind of it."""
        found = [0] * len(self._data["kinds"])
        for i, row in enumerate(self._data["hypernyms"]):
            for k in row:
                found[k] |= 1 << i
        return dict(zip(self._data["kinds"], found, strict=True))

    def possible_topics(self, word: str) -> int:
        """The topics of which it is not settled whether they are of a kind."""
        return sum(1 << i for i in set(self._data["may_be"].get(word, ())))

    @cached_property
    def roots(self) -> Mapping[str, int]:
        """The classes at the top, of which every topic is in one or more -> the topics below them."""
        return {root: int.from_bytes(b64decode(text), "little") for root, text in self._data["roots"].items()}

    def excluded_topics(self, kind: str) -> int:
        """The topics that are surely no kind of a word of WordNet: no sense of it has its place in their roots."""
        inside = apart = 0
        for branch, mark in zip(self.roots.values(), self._excluded_by_kind.get(kind, ""), strict=False):
            inside, apart = (inside, apart | branch) if mark == "-" else (inside | branch, apart)
        return apart & ~inside

    @cached_property
    def _excluded_by_kind(self) -> Mapping[str, str]:
        return dict(zip(self._data["kinds"], self._data["kind_roots"], strict=True))

    def kinds_above(self, topics: int) -> int:
        """The topics whose names are words for something above the given ones."""
        found = 0
        for i in mask_bits(topics):
            for k in self._data["hypernyms"][i]:
                found |= self._topics_of_kind(k)
        return found & ~topics

    def _topics_of_kind(self, kind: int) -> int:
        """The topics that a word of WordNet names."""
        if kind not in self._kind_topics:
            self._kind_topics[kind] = self.topics_by_name.get(name_key(self._data["kinds"][kind], common=True), 0)
        return self._kind_topics[kind]

    @cached_property
    def name_sharers(self) -> Sequence[int]:
        """For each topic, all that share a name with it."""
        found: list[int] = []
        for keys in self._name_keys:
            mask = 0
            for key in keys:
                mask |= self.topics_by_name[key]
            found.append(mask)
        return found

    # --- columns -----------------------------------------------------------------------------------------------------

    @cached_property
    def numbers(self) -> Mapping[str, Mapping[int, Range]]:
        """Field -> the number of each topic that has one."""
        found = {
            field: {i: (float(value), float(value)) for i, value in enumerate(values) if value is not None}
            for field, values in self._data["numbers"].items()
        }
        for kind, size in _SIZES.items():
            for i in mask_bits(self.known_topics(kind).yes):
                found["size"].setdefault(i, size)
        return found

    @cached_property
    def column(self) -> Mapping[str, Numbers]:
        """The numbers as columns."""
        return {field: Numbers(rows) for field, rows in self.numbers.items()}

    @cached_property
    def lists(self) -> Mapping[str, Lists]:
        """Field -> the values of each topic that has such a list."""
        rows = self._data["lists"].items()
        return {field: Lists({int(i): values for i, values in found.items()}) for field, found in rows}

    def home(self, topics: int) -> int:
        """The topics of all roots of which one topic at least is among the given ones."""
        found = 0
        for branch in self.roots.values():
            found |= branch if branch & topics else 0
        return found

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

    def split_side(self, topic: int) -> str:
        """The side on which the topic is in every preset: train, val or test."""
        return _SIDES[self._data["side"][topic]]

    def is_little_known(self, topic: int) -> bool:
        """Whether few people know what it is."""
        return self._data["difficulty"][topic] == "h"


@cache
def topic_knowledge() -> TopicKnowledge:
    """The knowledge base, loaded once per process."""
    return TopicKnowledge(json.loads(data_text("topics.json")))


def data_text(name: str) -> str:
    """A data file, such as `rules.txt`."""
    return data_file("twenty_questions", name).read_text("utf-8")


def data_rows(name: str) -> Iterator[str]:
    """The lines of `NAME.txt` that say something."""
    return (line for line in data_text(f"{name}.txt").splitlines() if line and line[0] != "#")


@cache
def data_blocks(name: str) -> Mapping[str, Sequence[str]]:
    """The lines of `NAME.txt` under each heading in brackets."""
    found: dict[str, list[str]] = {}
    for line in data_rows(name):
        if line[0] == "[":
            found[line[1:-1]] = []
        else:
            found[next(reversed(found))].append(line)
    return found


_CUTS: Mapping[str, tuple[int, int]] = {"paprika": (6, 10), "delta_belief": (11, 15), "lmrl": (7, 9)}
"""The most turns of an easy topic, and of a medium one."""


@cache
def _turns_by_preset() -> Mapping[str, str]:
    """Map each preset to the turns of every topic in base 36; "-" for topics outside the preset."""
    return json.loads(data_file("twenty_questions", "turns.json").read_text("ascii"))


def solver_turns(preset: str, topic: int) -> int:
    """The turns that the reference solver needs to guess a topic of this preset."""
    return int(_turns_by_preset()[preset][topic], 36)


def topic_difficulty(preset: str, topic: int) -> str:
    """`easy`, `medium` or `hard`."""
    (easy, medium), needed = _CUTS[preset], solver_turns(preset, topic)
    if topic_knowledge().is_little_known(topic) or needed > medium:
        return "hard"
    return "easy" if needed <= easy else "medium"
