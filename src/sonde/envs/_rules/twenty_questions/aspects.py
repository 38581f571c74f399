"""Questions whose subject is a part of the hidden thing, or something that has a part in it.

Ours. "Does the word start with a", "does the surname start with a c", "is its color red", "is its main purpose to cut",
"was Germany involved", "is flour one of its ingredients". Each function gives None where the question is of another
sort.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import counts, forms, measures, scales, sizes, spelling, years
from .clauses import be_predicate, do_predicate
from .english import base
from .queries import Query, negated
from .regions import region, took_part
from .subjects import subject
from .wordlists import word_list

Words = Sequence[str]


def asked_of(words: Words) -> Query | None:
    """What is asked of a part, or of a partner; the words begin with it."""
    return (
        _part_of_name(words)
        or measures.of_part(words)
        or counts.of_people(words)
        or _special_subject(words)
        or _took_part(words)
        or _ingredient(words)
        or _reversed(words)
    )


def _reversed(words: Words) -> Query | None:
    """As in "is a cat smaller than it": where the thing is smaller than a cat, no, and where it is larger, yes."""
    sides = measures.reversed_(words)
    if sides is None:
        return None
    other, comparative = sides
    back = [*comparative, "than", *other]
    found = scales.compared(back) or sizes.compared(back) or years.aged(back)
    return negated(found) if found is not None else None


def about_name(words: Words, end: int) -> Query | None:
    """As in "does the word start with a", "is it a word with five letters"."""
    head = words[end - 1]
    if head in ("word", "name", "answer", "it", "its", "topic", "term", "secret", "they", "this"):
        rest = words[end:]
        if rest and rest[0] in ("spelled", "spelt", "written"):
            return None
        found = spelling.letters(rest)
        if (found is None and rest[:1] in (["one"], ["two"], ["three"], ["a"], ["more"])) or rest[:2] == [
            "longer",
            "than",
        ]:
            found = spelling.letters(["have", *rest]) or spelling.letters(
                ["have", *(["more", *rest[1:]] if rest[0] == "longer" else rest[1:])]
            )
        if found is None and rest[:1] in (["composed"], ["made"]):
            found = spelling.letters(["have", *rest[1:]])
        return found
    return None


_PART = word_list("questions.part")
"""What a country does in an event."""


def _took_part(words: Words) -> Query | None:
    """As in "was the United States involved", "did Germany take part in it"."""
    for n in range(min(len(words) - 1, 5), 0, -1):
        name = region(words[:n])
        if name is not None:
            rest = list(words[n:])
            rest = rest[:-2] if rest[-2:] in (["in", "it"], ["in", "this"]) else rest
            return took_part(name) if " ".join(rest) in _PART else None
    return None


_INGREDIENT = word_list("questions.ingredient")


def _ingredient(words: Words) -> Query | None:
    """As in "is flour one of its ingredients"."""
    for end in _INGREDIENT:
        n = len(end.split())
        if len(words) > n and " ".join(words[-n:]) == end:
            return do_predicate(["contain", *words[:-n]])
    return None


_NAME_PARTS = {
    "surname": "last",
    "last name": "last",
    "family name": "last",
    "first name": "first",
    "given name": "first",
}


def _part_of_name(words: Words) -> Query | None:
    """As in "does the surname start with a C"."""
    rest = list(words[1:] if words[0] in ("the", "its", "his", "her", "their", "your", "this") else words)
    rest = rest[1:] if rest[:1] and rest[0] in ("person", "persons", "character") else rest
    for n in (2, 1):
        part = _NAME_PARTS.get(" ".join(rest[:n]))
        if part is not None:
            return spelling.name_part(part, rest[n:])
    return None


_PURPOSES = ("purpose", "function", "use", "job", "goal", "role", "point", "task")
_COLORS = ("color", "colour")


def _special_subject(words: Words) -> Query | None:
    """As in "is its main purpose to cut", "is its color red", "is the first letter an a"."""
    rest = [
        w for w in words if w not in ("main", "primary", "typical", "usual", "most", "common", "basic", "sole", "chief")
    ]
    if len(rest) < 3 or rest[0] not in ("its", "the", "their", "his", "her"):
        return None
    head, tail = base(rest[1]), list(rest[2:])
    if tail[:1] in (["of"], ["for"]) and len(tail) > 2 and subject(tail, 1):
        tail = tail[subject(tail, 1) :]
    if not tail:
        return None
    if head in _PURPOSES:
        return forms.purpose(tail[1:] if tail[0] in ("to", "for", "being") else tail, 0)
    if head in _COLORS:
        return be_predicate(tail)
    if head in ("name", "word", "spelling"):
        return spelling.letters(tail)
    if rest[1] in ("first", "last") and len(rest) > 3 and rest[2] == "letter":
        return spelling.letters(["start" if rest[1] == "first" else "end", "with", rest[-1]])
    if head in ("size",) and tail[0] in ("bigger", "larger", "smaller"):
        return sizes.compared(tail)
    return None
