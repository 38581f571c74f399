"""The letters and words of a city's name: claims on them, and the questions that ask for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache

from ..checks import plain
from .atlas import City, Truth
from .claims import Claim
from .replies import Asked, Query
from .slots import OVER, UNDER, Match, slot
from .words import number


def named(test: Callable[[str], bool], words: str) -> Claim:
    """What holds of the name, however it is written in full; not known where that makes a difference."""
    return Claim("letters", lambda c: _agreed(test(n) for n in spellings(c)), words)


@cache
def spellings(c: City) -> tuple[str, ...]:
    name = plain(c.name)
    more = (
        {name.removeprefix("the "), name.removesuffix(" city")}
        if name not in ("mexico city", "vatican city")
        else {name}
    )
    more |= (
        {"washington dc"}
        if name == "washington"
        else {name.replace("st ", "saint ")}
        if name.startswith("st ")
        else set[str]()
    )
    return tuple({name, *more})


def _agreed(truths: Iterable[bool]) -> Truth:
    found = set(truths)
    return found.pop() if len(found) == 1 else None


def ask_letter(m: Match) -> Query | None:
    parts = re.findall(
        (
            r"(start|begin|end|contain|include|have|first|last)\w*(?: with| in| by| letter)*(?: of (?:NAME|C|"
            r"C 's name|C is name))?(?: is)? ((?:either |letter |both )?L_[a-z](?:(?: or|"
            r" and) (?:letter )?L_[a-z])*)"
        ),
        m[0],
    )
    found: list[Claim] = []
    how = "one"
    for verb, letters in parts:
        marks = re.findall(r"L_([a-z])", letters)
        found += [_letter_claim(verb, x) for x in marks]
        how = "any" if " or " in m[0] else "all" if len(found) > 1 else how
    if " or " in m[0] and " and " in m[0]:
        return None
    return (
        Asked(tuple(found), how)
        if found and len(parts) == m[0].count("L_") - sum(len(re.findall("L_", x)) - 1 for _, x in parts)
        else None
    )


def _letter_claim(verb: str, x: str) -> Claim:
    big = x.upper()
    if verb in ("start", "begin", "first"):
        return named(lambda n: n.startswith(x), f"the name [begins|does not begin] with {big}")
    if verb in ("end", "last"):
        return named(lambda n: n.endswith(x), f"the name [ends|does not end] with {big}")
    return named(lambda n: x in n, f"the name [contains|does not contain] the letter {big}")


def _vowel(m: Match) -> Query | None:
    kind = slot(m)
    end = slot(m, "v").startswith(("end", "last"))

    def truth(c: City) -> Truth:
        letters = {name[-1 if end else 0] for name in spellings(c)}
        return None if "y" in letters else _agreed((x in "aeiou") is (kind == "vowel") for x in letters)

    verb = "end" if end else "begin"
    return Asked((Claim("letters", truth, f"the name [{verb}s|does not {verb}] with a {kind}"),))


def _length(m: Match) -> Query | None:
    n = number(slot(m, "n"))
    if n is None:
        return None
    unit, s = slot(m, "u").rstrip("s"), slot(m, "s")

    def size(name: str) -> int:
        return len(name.split()) if unit == "word" else sum(ch.isalpha() for ch in name)

    if s.startswith(("at least",)):
        return Asked((named(lambda x: size(x) >= n, f"the name [has|does not have] at least {n:g} {unit}s"),))
    if re.match(OVER, s) or s.startswith("longer"):
        return Asked((named(lambda x: size(x) > n, f"the name [has|does not have] more than {n:g} {unit}s"),))
    if re.match(UNDER, s) or s.startswith("shorter"):
        return Asked((named(lambda x: size(x) < n, f"the name [has|does not have] fewer than {n:g} {unit}s"),))
    return (
        Asked(
            (named(lambda x: size(x) == n, f"the name [has|does not have] just {n:g} {unit}{'' if n == 1 else 's'}"),)
        )
        if not s
        else None
    )


def ask_alphabet(m: Match) -> Query | None:
    first = slot(m, "h") == "first"
    return Asked(
        (
            named(
                lambda n: (n[0] <= "m") is first,
                f"the name [begins|does not begin] with a letter of the {m['h']} half of the alphabet",
            ),
        )
    )


def ask_contained(m: Match) -> Query | None:
    found = re.search(r"L_([a-z])", m[0])
    return None if found is None else Asked((_letter_claim("contain", found[1]),))


def ask_vowels(m: Match) -> Query | None:
    return _vowel(m)


def ask_lengths(m: Match) -> Query | None:
    return _length(m)


def ask_single(m: Match) -> Query | None:
    if "multiple" in m[0]:
        return Asked((named(lambda x: len(x.split()) > 1, "the name [has|does not have] several words"),))
    return Asked((named(lambda x: len(x.split()) == 1, "the name [is|is not] a single word"),))
