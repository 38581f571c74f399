"""Other ways to name people and places of a murder mystery, rewritten in templates (`words`).

People can be counted as in the briefing ("the second suspect", "witness 1", "the witness" where there is one), they can
be called by the first word of what they are ("trainee, ..." for the trainee hairdresser), and the scene can be
described ("the place where the body was found"). Source: ours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from .cases import Frame
from .tokens import words_of
from .wordings import wordings

_SAID = wordings("aliases")
_COUNTED, _ONLY, _CALLED = _SAID.pattern("counted"), _SAID.pattern("only"), _SAID.pattern("called")
_SCENE, _MAY_BE_SCENE = _SAID.pattern("scene"), _SAID.pattern("may_be_scene")
_NUMBERS: Final = ("one", "two", "three", "four")
_ORDINALS: Final = ("first", "second", "third", "fourth")


def named(frame: Frame, marked: str) -> str:
    """The template with marks for people who are counted and for the scene where it is described.

    >>> from .cases import case
    >>> frame = case("train", 4).frame
    >>> named(frame, "ask the second suspect what is in the place where the body was found .")
    'ask @p1 what is in @l0 .'
    """
    marked = _CALLED.sub(lambda found: _called(frame, *filter(None, found.groups())), marked)
    if "suspect" in marked or "witness" in marked:
        marked = _COUNTED.sub(lambda found: _counted(frame, found), marked)
        marked = _ONLY.sub(lambda found: _only(frame, found), marked)
    return _SCENE.sub("@l0", marked) if _MAY_BE_SCENE.search(marked) else marked


def _counted(frame: Frame, found: re.Match[str]) -> str:
    if found["name"]:
        return found["name"]
    people = _group(frame, found["a"] or found["b"])
    if found["which"]:
        number = len(people) - 1 if found["which"] == "last" else _ORDINALS.index(found["which"])
    else:
        last = found["count"].split()[-1]
        number = int(last) - 1 if last.isdigit() else _NUMBERS.index(last)
    return people[number] if 0 <= number < len(people) else found[0]


def _called(frame: Frame, before: str, word: str = "") -> str:
    """What comes before a word, and whom the word calls; nothing may come before."""
    before, word = (before, word) if word else ("", before)
    return before + _titles(frame).get(word, word)


@lru_cache(maxsize=256)
def _titles(frame: Frame) -> Mapping[str, str]:
    """First words of what people are, where there are more and nobody else's are the same -> their marks."""
    rows = [(f"@{p.id}", p.role) for p in frame.people]
    rows += [(f"@b{r.id[1:]}", r.name) for r in frame.records if r.kind == "bystander"]
    first = [(row[0], mark) for mark, name in rows if len(row := words_of(name)) > 1]
    count = Counter(word for word, _ in first)
    return {word: mark for word, mark in first if count[word] == 1}


def _only(frame: Frame, found: re.Match[str]) -> str:
    people = _group(frame, found["a"])
    return people[0] if len(people) == 1 else found[0]


def _group(frame: Frame, kind: str) -> list[str]:
    """The marks of all suspects, or of all witnesses, in the order of the briefing."""
    return [f"@{p.id}" for p in frame.people if p.suspect is (kind == "suspect")]
