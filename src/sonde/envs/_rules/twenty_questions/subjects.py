"""Subjects of questions: what stands for the hidden thing, and who are the people that do something to it.

Ours. "It", "this animal", "the thing you are thinking of" stand for the hidden thing, whatever it is; "you", "most
people", "someone" for people at large, "children" or "doctors" for a group of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from .english import base
from .wordlists import indexed, starts, word_list, word_set

Words = Sequence[str]
PEOPLE_WORDS = word_set("clauses.people_words")
_AUX = word_set("questions.aux")

PRONOUNS = word_set("questions.pronouns")


HEADS = word_set("questions.heads")


_HEAD_ADJECTIVES = word_set("questions.head_adjectives")


_RELATIVE_INDEX = indexed(word_list("questions.subject_relative"))


def subject(words: Words, at: int) -> int:
    """The end of a subject that stands for the hidden thing and starts at `at`; 0 where there is none."""
    if at >= len(words):
        return 0
    first = words[at]
    if first in ("this", "that", "the", "your", "these", "those", "my"):
        end = _headed(words, at + 1)
        if end:
            return _relative_end(words, end)
    if first in PRONOUNS:
        return at + 1
    if first == "what" and words[at + 1 : at + 5] == ["you", "are", "thinking", "of"]:
        return at + 5
    return 0


def _headed(words: Words, at: int) -> int:
    i = at
    while i < len(words) and words[i] in _HEAD_ADJECTIVES:
        i += 1
    if i < len(words) and (base(words[i]) in HEADS or words[i] in HEADS):
        if (
            i + 1 < len(words)
            and words[i + 1] in ("part", "item", "word", "place", "thing", "product")
            and words[i] != words[i + 1]
        ):
            i += 1
        return i + 1
    return 0


def _relative_end(words: Words, end: int) -> int:
    rest = words[end:]
    skip = 1 if rest[:1] and rest[0] in ("that", "which", "who") else 0
    n = next(iter(starts(rest[skip:], _RELATIVE_INDEX)), 0)
    return end + skip + n if n else end


_GROUPS = {
    "child": "child",
    "kid": "child",
    "children": "child",
    "kids": "child",
    "adult": "adult",
    "adults": "adult",
    "woman": "woman",
    "women": "woman",
    "man": "man",
    "men": "man",
    "student": "student",
    "students": "student",
    "baby": "baby",
    "babies": "baby",
    "doctor": "doctor",
    "doctors": "doctor",
    "chef": "chef",
    "chefs": "chef",
    "soldier": "soldier",
    "soldiers": "soldier",
    "musicians": "musician",
    "cook": "chef",
    "cooks": "chef",
    "farmers": "farmer",
    "farmer": "farmer",
    "scientists": "scientist",
    "athletes": "athlete",
    "office": "office",
    "astronomers": "astronomer",
    "teachers": "teacher",
    "artists": "artist",
    "animals": "animal",
    "carpenters": "carpenter",
    "carpenter": "carpenter",
    "builders": "builder",
    "builder": "builder",
    "musician": "musician",
    "scientist": "scientist",
    "teacher": "teacher",
    "artist": "artist",
    "writers": "writer",
    "writer": "writer",
    "mechanics": "mechanic",
    "mechanic": "mechanic",
    "gardeners": "gardener",
    "gardener": "gardener",
    "nurses": "nurse",
    "nurse": "nurse",
    "athlete": "athlete",
}


_MANY = word_set("questions.many")


_PEOPLE = PEOPLE_WORDS | frozenset(
    [
        "person",
        "human",
        "humans",
        "individual",
        "user",
        "users",
        "beings",
        "families",
        "family",
        "consumer",
        "households",
        "owner",
    ]
)


def people(words: Words, at: int) -> tuple[str, int]:
    """A subject that stands for people at large or a group of them: the group and the end; ("", 0) if there is none."""
    i = at
    while i < len(words) and words[i] in _MANY:
        i += 1
    if i >= len(words) or (words[i] == "man" and i == at):
        return "", 0
    word = words[i]
    if word in _PEOPLE:
        if word.startswith("human") and words[i + 1 : i + 2] in (["being"], ["beings"]):
            return "", i + 2
        if words[i + 1 : i + 3] == ["of", "us"]:
            return "", i + 3
        return "", i + 1
    if i > at and words[i - 1] == "human" and word in _AUX | {"eat", "use"}:
        return "", i
    if word in _GROUPS:
        end = i + 1
        if words[end : end + 1] in (["working"], ["at"], ["in"]) and words[i] in ("someone", "people"):
            return "", 0
        return _GROUPS[word], end
    return "", 0
