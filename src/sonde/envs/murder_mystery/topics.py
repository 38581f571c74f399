"""Find the topic of a question to a person of the case.

The person asked is "you"; a topic needs no other subject. Of several topics, the one that comes first in `_ORDER`
counts. The time of the event is dropped, because "at the time of the murder" asks nothing about the murder.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from .._shared.english.tokens import word_set
from .cases import Frame
from .names import declared_words, find_spots, has_meaning, mentioned_ids

Words = Sequence[str]

_ORDER: Final = ("access", "scene", "victim", "alibi", "death")


def find_topic(frame: Frame, words: tuple[str, ...], teller: str) -> str:
    """The topic of a question to `teller`: one of `TOPICS`, the id of another person, "several", or "" for none."""
    others = [p for p in mentioned_ids(words, "p") if p != teller]
    if others:
        return "" if has_meaning("company", words) else others[0] if len(others) == 1 else "several"
    plain = _drop_times(words)
    found = [name for name in _ORDER if _is_about(name, plain, frame)]
    if has_meaning("others", plain) and not has_meaning("not others", words):
        first = min(spot.start for spot in find_spots("others", plain))
        anybody = not declared_words("anybody").isdisjoint(plain)
        if not found or (anybody if found[0] in ("death", "alibi", "scene") else first < _first_spot(found[0], plain)):
            return "others"
    return "several" if _are_apart(found, plain) else found[0] if found else ""


def _first_spot(name: str, words: tuple[str, ...]) -> int:
    return min(spot.start for spot in (*find_spots(name, words), *find_spots("strife", words)))


def _is_about(name: str, words: tuple[str, ...], frame: Frame) -> bool:
    if name in ("victim", "death"):
        strife = name == "victim" and has_meaning("strife", words) and has_meaning("both", words)
        return (strife or has_meaning(name, words)) and not has_meaning(f"not {name}", words)
    skilled = name == "access" and frame.means == "skill" and has_meaning("skill", words)
    return (skilled or has_meaning(name, words)) and (
        _is_about_listener(words) or (name == "access" and "you" in words)
    )


def _is_about_listener(words: Words) -> bool:
    """Whether the subject of a question is the person asked, or missing."""
    for a, b in pairwise(words):
        if a == "you" and b in word_set("aux"):
            return True
        if a in word_set("aux") and (b[0] == "@" or b in ("there", "it", "he", "she", "they", "the", "that")):
            return b in ("there", "it", "that") and ("you" in words or "your" in words)
        if a in word_set("aux") and b == "you":
            return True
    return True


def _are_apart(found: Sequence[str], words: tuple[str, ...]) -> bool:
    """Whether a question asks for two topics separately, not for one in terms of the other."""
    cuts = [i for i, w in enumerate(words) if w in ("and", ",")]
    for at in cuts if len(found) > 1 else ():
        one, two = ({n for n in found if has_meaning(n, part)} for part in (words[:at], words[at:]))
        if one and two and one.isdisjoint(two) and "death" not in one | two:
            return True
    return False


def _drop_times(words: tuple[str, ...]) -> tuple[str, ...]:
    """Drop the time of the event."""
    out = list(words)
    for spot in find_spots("time", words):
        out[spot.start : spot.end] = [""] * (spot.end - spot.start)
    return tuple(w for w in out if w)
