"""The value of every attribute of every topic: yes, no or unknown (rules: see compile.py)."""

from __future__ import annotations

from kb import Bad, Book, Topic
from wordnet import WordNet

YES, NO, UNKNOWN = 1, 0, -1

CLOSED = ("animal", "plant", "person", "place", "event", "body_part", "fictional_character", "organisation", "work")
"""Roots whose classes are complete: what is not listed below a class of them is not one."""

NO_BY_DEFAULT = frozenset(
    """
    mammal bird reptile amphibian fish insect arachnid crustacean mollusc rodent primate marsupial big_cat dog_family
    tree flower_plant fruit vegetable herb grain grass bush vine tool weapon toy game furniture vehicle clothing
    jewellery musical_instrument container country city_place capital island mountain river lake sea_ocean desert_place
    continent building landmark war battle revolution disaster sport_event holiday_event emotion science_concept
    math_concept physics_concept biology_concept economics_concept philosophy_concept political_concept
    religion_concept art_form field_of_study body_part internal_organ disease symptom medicine weather element
    metal_element mineral gem planet star celestial season landform superhero villain cartoon writer poet painter
    musician singer composer actor director scientist physicist chemist biologist mathematician inventor philosopher
    politician president monarch military_leader explorer athlete religious_figure activist entrepreneur royal
    nobel_winner fictional planet person human animal plant place event food drink
    """.split()
)


class Resolver:
    """Looks values up, and finds what does not fit together."""

    def __init__(self, book: Book, words: WordNet) -> None:
        self.book, self.words = book, words
        marked = {a for t in book.topics.values() for a in t.marks}
        listed = {a for c in book.classes.values() for a in (*c.yes, *c.no, *c.decide)}
        self.attributes = sorted(marked | listed | set(book.classes))
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
        closed = attribute in NO_BY_DEFAULT or self.book.declared.get(attribute) == "no"
        return NO if closed else UNKNOWN

    def _from_class(self, name: str, attribute: str) -> int | None:
        """What the nearest class says, going up breadth first; None if none says anything."""
        level = [name]
        while level:
            said: set[int] = set()
            for c in (self.book.classes[n] for n in level):
                if attribute in c.yes:
                    said.add(YES)
                elif attribute in c.no or attribute in c.decide:
                    said.add(NO)
            if said:
                return said.pop() if len(said) == 1 else UNKNOWN
            level = [p for n in level for p in self.book.classes[n].parents]
        return None

    def _not_a_member(self, topic: Topic, name: str) -> int:
        """A topic that is not below a class: no, if that is sure."""
        if name in NO_BY_DEFAULT:
            return NO
        if self.root(topic) in CLOSED and self._root(name) != "thing":
            return NO
        hypernyms = self.words.anything(topic.name)
        if hypernyms is None:
            return NO if self._root(name) != self.root(topic) else UNKNOWN
        return (
            UNKNOWN if hypernyms & {n.lower() for n in (name.replace("_", " "), *self.book.classes[name].names)} else NO
        )

    def ancestors(self, topic: Topic) -> tuple[str, ...]:
        """All classes of a topic, nearest first."""
        order = list(topic.classes)
        for name in order:
            order += [p for p in self.book.classes[name].parents if p not in order]
        return tuple(order)

    def _root(self, name: str) -> str:
        """The class below `thing` on the way up from a class."""
        while self.book.classes[name].parents and self.book.classes[name].parents[0] not in ("thing", "living_thing"):
            name = self.book.classes[name].parents[0]
        return name

    def root(self, topic: Topic) -> str:
        return self._root(topic.classes[0])

    def category(self, topic: Topic) -> str:
        """How the game announces the topic: the nearest class that says so."""
        for name in self.ancestors(topic):
            if category := self.book.classes[name].category:
                return category
        raise Bad(f"topic {topic.name}: none of its classes has a category")
