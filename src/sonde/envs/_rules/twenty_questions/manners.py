"""Politeness and tags around a sentence: "please", "well, tell me if ...", "... , right?", "... , isn't it?".

Ours. What `envs/data/twenty_questions_words.txt` lists as fillers, leads, tags and asides says nothing about the hidden
thing and is left out before a sentence is read. What changes an answer is in `framing.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from .subjects import PRONOUNS
from .wordlists import indexed, starts, word_list, word_set

Words = Sequence[str]
FILLERS = word_set("questions.fillers")
TAGS = word_list("questions.tags")
_AUX = word_set("questions.aux")
_LEAD_INDEX = indexed(word_list("questions.leads"))
_TAG_INDEX = {tag: tag.split() for tag in TAGS}
_ECHO_AUX = word_set("questions.aux") - {"am"}
_ECHO_OF = ("it", "he", "she", "they", "this", "that", "there", "you", "we", "i")


def unled(words: Words) -> Words:
    """Without politeness at the front."""
    changed = True
    while words and changed:
        changed = False
        if (words[0] in FILLERS and len(words) > 1 and not _lacking(words)) or words[0] == ",":
            words, changed = words[1:], True
            continue
        n = next((n for n in starts(words, _LEAD_INDEX) if len(words) > n), 0)
        if n:
            words, changed = words[n:], True
    return words


_NOT_LACKED = _AUX | PRONOUNS | FILLERS | {",", "i", "not", "a", "the"}


def _lacking(words: Words) -> bool:
    """Whether "no" is said of what follows: "no legs"."""
    return (
        words[0] == "no" and words[1] not in _AUX | PRONOUNS | FILLERS and words[1] not in (",", "i", "not", "a", "the")
    )


def untagged(words: Words) -> tuple[Words, bool]:
    """Without a tag at the end, and whether there was one."""
    words, tagged = list(words), False
    changed = True
    while changed:
        changed = False
        while words and words[-1] == ",":
            words = words[:-1]
        for tag, parts in _TAG_INDEX.items():
            if not words or words[-1] != parts[-1]:
                continue
            n = len(parts)
            if (
                len(words) > n + 1
                and words[-n:] == parts
                and (
                    words[-n - 1] == ","
                    or (n > 1 and tag not in ("is it", "yes or no", "or no", "in general"))
                    or tag in ("please", "then", "right", "correct")
                )
            ):
                words, tagged, changed = words[:-n], True, True
                break
    return words, tagged


_ASIDES = word_list("questions.asides")


def without_asides(words: Words) -> list[str]:
    text = f" {' '.join(words)} "
    for aside in _ASIDES:
        if aside != "or not" and f" {aside} " in text and aside != "in real life":
            text = text.replace(f" {aside} ", " ")
    return text.split()


def unechoed(words: Words) -> tuple[Words, bool]:
    """Without an echo at the end ("it is big, is it not"), and whether it is one that expects a no."""
    n = 3 if words[-2:-1] == ["not"] or words[-1:] == ["not"] else 2
    echo = [w for w in words[-n:] if w != "not"]
    if len(words) < n + 3 or words[-n - 1] != "," or echo[0] not in _ECHO_AUX or echo[-1] not in _ECHO_OF:
        return words, False
    return words[: -n - 1], n == 2
