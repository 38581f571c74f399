"""Regular expressions that are compiled when a text first may fit them: most of the hundreds never are.

Ours. What a text must have is read off the pattern: some letters anywhere, and its first word or two. A pattern without
such a part is tried on every text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache


class Lazy:
    """A pattern; `part` are letters that every text has in which it is found, `head` what the first words must
    be for it to match at the front. Either may be empty."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.head, self.part = head(text), part(text)

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
    words = first.split(" ")
    return [i for i, head in enumerate(heads) if not head or re.fullmatch(head, " ".join(words[: head.count(" ") + 1]))]
