"""Regular expressions that are compiled when a text first may fit them: most of the hundreds never are.

Ours. What a text must have is read off the pattern: some letters anywhere, those of one of some alternatives, and its
first word or two. A pattern without such parts is tried on every text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache


class Lazy:
    """A pattern; `part` are letters that every text has in which it is found, `head` what the first words must
    be for it to match at the front. Either may be empty."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.head, self.part = head(text), part(text)

    def may_fit(self, text: str) -> bool:
        """Whether the pattern need be tried on a text."""
        if self.part not in text:
            return False
        for cue in self.cues:
            if cue in text:
                return True
        return not self.cues

    @cached_property
    def cues(self) -> Sequence[str]:
        return cues(self.text)

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self.text)


def head(pattern: str) -> str:
    """What the first word of a text, or the first two, must be for the pattern to match at its front; else empty.

    >>> head("(?:is|are) (.+?) big$"), head("is C (?:on|by) sea"), head("(?:to )?put C")
    ('(?:is|are)', 'is C', '')
    """
    depth, found = 0, ""
    if "|" in _outside(pattern):
        return ""
    for i, mark in enumerate(pattern):
        depth += (mark == "(") - (mark == ")")
        if mark == " ":
            if depth or set("?*$.![\\") & set(pattern[:i].replace("(?:", "(")):
                break
            if found:
                return pattern[:i]
            found = pattern[:i]
    return found


def part(pattern: str) -> str:
    """Letters that every text has in which the pattern is found.

    >>> part("is C (?:on|by) (?:sea|ocean) coast"), part("is C big|is C small")
    (' coast', '')
    """
    bare = _outside(pattern)
    if "|" in bare:
        return ""
    return max(re.findall(r"[a-z' ]+(?![?*{])", re.sub(r"\\\w", "\n", bare)), key=len, default="")


def cues(pattern: str) -> Sequence[str]:
    """Letters of which every text has one in which the pattern is found; empty where none can be told.

    >>> cues("is C (?:on|by) (?:sea|ocean|the coast)"), cues("is (.+)|was C (?:big )?$")
    (['sea', 'ocean', 'the coast'], ['is ', 'was '])
    """
    options = _split(pattern)
    if len(options) > 1:
        found = [cues(option) for option in options]
        return [cue for some in found for cue in some] if all(found) else []
    found = [*map(cues, _groups(pattern)), [part(pattern)]]
    return max((some for some in found if some and all(some)), key=lambda some: min(map(len, some)), default=())


def _groups(pattern: str) -> Iterator[str]:
    """What is in the groups that must occur, groups in groups aside."""
    depth, begun = 0, 0
    for i, mark in enumerate(pattern):
        depth += (mark == "(") - (mark == ")")
        if mark == "(" and depth == 1:
            begun = i
        elif mark == ")" and depth == 0 and pattern[i + 1 : i + 2] not in ("?", "*", "{"):
            inside = _GROUP.match(pattern, begun)
            yield pattern[inside.end() : i] if inside else ""


_GROUP = re.compile(r"\((?:\?:|\?P<\w+>|(?!\?))")


def _split(pattern: str) -> list[str]:
    """The alternatives that are in no group."""
    depth, found = 0, [""]
    for mark in pattern:
        depth += (mark == "(") - (mark == ")")
        if mark == "|" and not depth:
            found.append("")
        else:
            found[-1] += mark
    return found


def _outside(pattern: str) -> str:
    """The pattern with a line end for every group and class."""
    bare = re.sub(r"\[[^\]]*\]", "(", pattern)
    while (less := re.sub(r"\([^()]*\)[?*+]?", "\n", bare)) != bare:
        bare = less
    return bare


def opened(text: str) -> str:
    """The first two words."""
    return " ".join(text.split(" ", 2)[:2])


@lru_cache(maxsize=4096)
def fitting(heads: Sequence[str], first: str) -> Sequence[int]:
    """Which of the heads fit a text with these first two words."""
    one, both = first.split(" ", 1)[0], first
    fit = {head for head in _distinct(heads) if not head or re.fullmatch(head, both if " " in head else one)}
    return [i for i, head in enumerate(heads) if head in fit]


@lru_cache(maxsize=64)
def _distinct(heads: Sequence[str]) -> frozenset[str]:
    return frozenset(heads)
