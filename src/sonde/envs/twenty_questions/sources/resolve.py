"""The value of every attribute of every topic: yes, no or unknown (rules: see compile.py)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cached_property

from kb import Bad, Book, Topic
from wordnet import WordNet

YES, NO, UNKNOWN = 1, 0, -1
_HOME = 3
"""Topics of a root of which an attribute is true, so that it is at home there."""

CLOSED = ("animal", "plant", "person", "place", "event", "body_part", "fictional_character", "organisation", "work")
"""Roots whose classes are complete: what is not listed below a class of them is not one."""

_THINGS = {"food", "drink", "object", "substance", "natural_feature", "body_part"}
_FAR = {
    "animal": {"food", "drink", "place", "event", "substance", "concept", "organisation"},
    "plant": {"person", "event", "organisation", "place", "concept", "occupation"},
    "person": {"animal", "plant", "place", *_THINGS},
    "fictional_character": {"plant", "food", "drink", "substance", "body_part"},
    "object": {"animal", "plant", "person", "event", "occupation"},
    "food": {"person", "event", "organisation", "occupation", "place"},
    "drink": {"person", "event", "organisation", "occupation", "place"},
    "place": {"animal", "food", "drink", "body_part", "occupation"},
    "organisation": {"animal", "plant", "food", "drink", "substance", "natural_feature", "body_part", "occupation"},
    "work": {"animal", "plant", "food", "drink", "substance", "natural_feature", "body_part", "occupation"},
    "event": {"animal", "plant", "food", "drink", "substance", "body_part", "occupation"},
}
"""Where an attribute is at home -> the roots so far off that it is false of them, if its default is "near"."""


class Resolver:
    """Looks values up, and finds what does not fit together."""

    def __init__(self, book: Book, words: WordNet) -> None:
        self.book, self.words = book, words
        marked = {a for t in book.topics.values() for a in t.marks}
        listed = {a for c in book.classes.values() for a in (*c.yes, *c.no, *c.decide)}
        self.attributes = sorted(marked | listed | set(book.classes) | {"alive_now", "man", "woman"})
        self._said: dict[tuple[str, str], int | None] = {}
        self._above: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._words: dict[str, set[str] | None] = {}
        for c in book.classes.values():
            if both := c.yes & c.no:
                raise Bad(f"class {c.name}: {sorted(both)} is both yes and no")

    def value(self, topic: Topic, attribute: str) -> int:
        mark = topic.marks.get(attribute)
        if mark is not None:
            return {"+": YES, "-": NO, "?": UNKNOWN}[mark]
        if attribute in self.book.classes and attribute in self.ancestors(topic):
            return YES
        said = {v for c in topic.classes if (v := self._from_class(c, attribute)) is not None}
        if said:
            return said.pop() if len(said) == 1 else UNKNOWN
        if attribute in self.book.classes:
            return self._not_a_member(topic, attribute)
        mode = self.book.declared.get(attribute)
        if mode in ("own", "near"):
            return self._at_home(topic, attribute, mode)
        return NO if mode == "no" else UNKNOWN

    def _at_home(self, topic: Topic, attribute: str, mode: str) -> int:
        """No among the roots where the attribute is true of something; far from all of them too, if it is "near"."""
        root, homes = self.root(topic), self._homes.get(attribute, set())
        if root in homes:
            return NO
        far = mode == "near" and homes and all(root in _FAR.get(home, ()) for home in homes)
        return NO if far else UNKNOWN

    @cached_property
    def _homes(self) -> Mapping[str, set[str]]:
        """Attribute -> the roots of the topics of which it is true; one odd topic makes no home."""
        count: Counter[tuple[str, str]] = Counter()
        for t in self.book.topics.values():
            said = {a for c in t.classes for a in self._yes_of(c)} | {a for a, m in t.marks.items() if m == "+"}
            count.update((a, self.root(t)) for a in said if t.marks.get(a, "+") == "+")
        most: dict[str, int] = defaultdict(int)
        for (attribute, _), n in count.items():
            most[attribute] = max(most[attribute], n)
        found: dict[str, set[str]] = defaultdict(set)
        for (attribute, root), n in count.items():
            if n >= min(_HOME, most[attribute]):
                found[attribute].add(root)
        return found

    def _yes_of(self, name: str) -> set[str]:
        """What a class says is true, its own word before that of its parents."""
        c = self.book.classes[name]
        return c.yes | (set[str]().union(*map(self._yes_of, c.parents)) - c.no - c.decide - c.open)

    def _from_class(self, name: str, attribute: str) -> int | None:
        key = (name, attribute)
        if key not in self._said:
            self._said[key] = self._looked_up(name, attribute)
        return self._said[key]

    def _looked_up(self, name: str, attribute: str) -> int | None:
        """What the nearest class says, going up breadth first; None if none says anything."""
        level = [name]
        while level:
            said: set[int] = set()
            for c in (self.book.classes[n] for n in level):
                if attribute in c.yes:
                    said.add(YES)
                elif attribute in c.no or attribute in c.decide:
                    said.add(NO)
                elif attribute in c.open:
                    said.add(UNKNOWN)
            if said:
                return said.pop() if len(said) == 1 else UNKNOWN
            level = [p for n in level for p in self.book.classes[n].parents]
        return None

    def _not_a_member(self, topic: Topic, name: str) -> int:
        """A topic that is not below a class: no, if that is sure."""
        if self.book.declared.get(name) == "no":
            return NO
        if self.root(topic) in CLOSED and self._root(name) != "thing":
            return NO
        hypernyms = self._hypernyms(topic.name)
        if hypernyms is None:
            return NO if self._root(name) != self.root(topic) else UNKNOWN
        return (
            UNKNOWN if hypernyms & {n.lower() for n in (name.replace("_", " "), *self.book.classes[name].names)} else NO
        )

    def _hypernyms(self, name: str) -> set[str] | None:
        if name not in self._words:
            self._words[name] = self.words.anything(name)
        return self._words[name]

    def ancestors(self, topic: Topic) -> tuple[str, ...]:
        """All classes of a topic, nearest first."""
        if topic.classes not in self._above:
            order = list(topic.classes)
            for name in order:
                order += [p for p in self.book.classes[name].parents if p not in order]
            self._above[topic.classes] = tuple(order)
        return self._above[topic.classes]

    def _root(self, name: str) -> str:
        """The class below `thing` on the way up from a class."""
        while self.book.classes[name].parents and self.book.classes[name].parents[0] not in ("thing", "living_thing"):
            name = self.book.classes[name].parents[0]
        return name

    def root(self, topic: Topic) -> str:
        return self._root(topic.classes[0])

    def branches(self, topic: Topic) -> set[str]:
        """The roots of all its classes."""
        return {self._root(c) for c in topic.classes}

    def category(self, topic: Topic) -> str:
        """How the game announces the topic: the nearest class that says so."""
        for name in self.ancestors(topic):
            if category := self.book.classes[name].category:
                return category
        raise Bad(f"topic {topic.name}: none of its classes has a category")
