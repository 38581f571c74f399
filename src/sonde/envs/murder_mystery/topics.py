"""What somebody is asked about, by the phrasings of `[topic]` in `data/phrases.txt`. Source: ours.

The person asked is "you"; a topic needs no other subject than that, and where several are spotted the earlier one of
`_ORDER` is meant. The time that is spoken of is left out: "at the time of the murder" asks nothing about the murder.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from .._shared.english.lists import word_set
from .cases import Frame
from .names import mentioned
from .phrases import listed_as, says, spots

Words = Sequence[str]
_ORDER: Final = ("access", "scene", "victim", "alibi", "death")


def topic(frame: Frame, words: tuple[str, ...], teller: str) -> str:
    """What somebody is asked about: one of `TOPICS`, the id of another person, "several", or ""."""
    others = [p for p in mentioned(words, "p") if p != teller]
    if others:
        return "" if says("company", words) else others[0] if len(others) == 1 else "several"
    plain = _untimed(words)
    found = [name for name in _ORDER if _about(name, plain, frame)]
    if says("others", plain) and not says("not others", words):
        first = min(spot.start for spot in spots("others", plain))
        anybody = not listed_as("anybody").isdisjoint(plain)
        if not found or (anybody if found[0] in ("death", "alibi", "scene") else first < _first(found[0], plain)):
            return "others"
    return "several" if _apart(found, plain) else found[0] if found else ""


def _first(name: str, words: tuple[str, ...]) -> int:
    return min(spot.start for spot in (*spots(name, words), *spots("strife", words)))


def _about(name: str, words: tuple[str, ...], frame: Frame) -> bool:
    if name in ("victim", "death"):
        strife = name == "victim" and says("strife", words) and says("both", words)
        return (strife or says(name, words)) and not says(f"not {name}", words)
    skilled = name == "access" and frame.means == "skill" and says("skill", words)
    return (skilled or says(name, words)) and (_of_you(words) or (name == "access" and "you" in words))


def _of_you(words: Words) -> bool:
    """Whether the subject of a question is whoever is asked, or none is named."""
    for a, b in pairwise(words):
        if a == "you" and b in word_set("aux"):
            return True
        if a in word_set("aux") and (b[0] == "@" or b in ("there", "it", "he", "she", "they", "the", "that")):
            return b in ("there", "it", "that") and ("you" in words or "your" in words)
        if a in word_set("aux") and b == "you":
            return True
    return True


def _apart(found: Sequence[str], words: tuple[str, ...]) -> bool:
    """Whether two topics are asked for and not one in terms of the other."""
    cuts = [i for i, w in enumerate(words) if w in ("and", ",")]
    for at in cuts if len(found) > 1 else ():
        one, two = ({n for n in found if says(n, part)} for part in (words[:at], words[at:]))
        if one and two and one.isdisjoint(two) and "death" not in one | two:
            return True
    return False


def _untimed(words: tuple[str, ...]) -> tuple[str, ...]:
    """Without the time that is spoken of."""
    out = list(words)
    for spot in spots("time", words):
        out[spot.start : spot.end] = [""] * (spot.end - spot.start)
    return tuple(w for w in out if w)
