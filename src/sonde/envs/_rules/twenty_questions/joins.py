"""Parts of questions joined by "or", "and", "but", "rather than".

Ours. A part may leave out words that it shares with its neighbour ("made of glass or stone", "a political or military
leader"). A part that is not understood is kept as such: "a dog and glorpish" is no where "a dog" is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import clauses
from .english import base
from .nouns import not_understood, plain_part
from .phrases import PREPOSITIONS, asked
from .queries import Query, all_of, any_of, negated
from .subjects import people
from .wordlists import word_set

Words = Sequence[str]
Parse = Callable[[Words], "Query | None"]
_IT = word_set("joins.it")


def joined_in(words: Words) -> bool:
    return "or" in words or "and" in words or "," in words


_RATHER = (("rather", "than"), ("instead", "of"), ("as", "opposed", "to"))
_BUT_NOT = (*_RATHER, ("but", "not"), ("and", "not"))


def contrasted(a: Query, b: Query) -> Query:
    """As in "a rather than b": false where a is; of what is both it is not known which of them is meant."""
    return a._replace(text=f"{a.text} rather than {b.text}", yes=a.true & ~b.true, goal=0, guess="")


def coordinated(words: Words, parse: Parse, verb: bool = False) -> Query | None:
    """Parts joined by "or", "and", "but", "rather than"; a part may leave out words that it shares with another."""
    for form in _BUT_NOT:
        at = _find(words, form)
        if at:
            left, right = words[:at], words[at + len(form) :]
            left = left[:-1] if left[-1] == "," else left
            a = parse(left)
            b = (parse(right) or _shared(left, right, parse)) if a else None
            if a is None or b is None:
                return None
            return contrasted(a, b) if form in _RATHER else all_of([a, negated(b)])
    for word in ("or", "and", "but"):
        if word in words:
            return _joined(words, word, parse)
    return None


def _find(words: Words, form: Sequence[str]) -> int:
    n = len(form)
    return next((i for i in range(1, len(words) - n) if tuple(words[i : i + n]) == form), 0)


def _joined(words: Words, word: str, parse: Parse) -> Query | None:
    """As in "a, b or c"."""
    parts = parts_by(words, word)
    if not 1 < len(parts) <= 5 or any(not p for p in parts):
        return None
    found: list[Query] = []
    done: list[Words] = []
    for i, part in enumerate(parts):
        q = _part(part, done, parts[i + 1 :], parse, _opened(done[0]) if i and found[0].text.startswith("? ") else 0)
        if q is None and plain_part(part) and part[0] not in _ASKING:
            q = (not_understood(part), part)
        if q is None:
            return None
        found.append(q[0])
        done.append(q[1])
    guesses = sum(1 for q in found if q.named)
    if all(q.text.startswith("? ") for q in found) or 0 < guesses < len(found) or _one_noun(parts, found):
        return None
    return any_of(found) if word == "or" else all_of(found)


_ASKING = word_set("joins.asking")
_ALONE = word_set("joins.alone") | PREPOSITIONS.keys()
"""What a part that stands for itself begins with; others share the words of the first one."""


def _opened(part: Words) -> int:
    """How many words of a part that is not understood the next one shares at least: "a mix of" in "a mix of sand"."""
    return max((i + 1 for i, w in enumerate(part[:-1]) if w in PREPOSITIONS or w in ("with", "for")), default=0)


def _one_noun(parts: Sequence[Words], found: Sequence[Query]) -> bool:
    """Whether adjectives of one noun that is not understood are joined, as in "black and white pieces"."""
    *_, before, last = parts
    if not found[-1].text.startswith("? ") or len(last) < 2:
        return False
    return all(asked(f"adj:{base(w)}") is not None for w in (before[-1], last[0]))


def parts_by(words: Words, word: str) -> list[list[str]]:
    """The words between commas and a joining word."""
    parts: list[list[str]] = [[]]
    for w in words:
        if w in (word, ","):
            if parts[-1]:
                parts.append([])
        else:
            parts[-1].append(w)
    return parts


def _part(
    part: Words, done: list[Words], later: list[list[str]], parse: Parse, least: int
) -> tuple[Query, Words] | None:
    """A part alone, or with the first words of the part before it, `least` at least, or with the last of the last."""
    if part[0] in ("can", "do", "does", "is", "has") and len(part) > 1:
        found = _asked_again(part)
        return (found, part) if found else None
    tries: list[Words] = []
    if done:
        before = list(done[0])
        tries += [[*before[:k], *part] for k in range(min(len(before) - 1, 6), max(least - 1, 0), -1)]
    if not done or len(done[0]) == 1 or part[0] in _ALONE or base(part[0]) == base(done[0][0]):
        tries.append(part)
    if not done and later:
        last = later[-1]
        tries += [[*part, *last[k:]] for k in range(1, len(last))]
    for words in tries:
        q = parse(words)
        if q is not None:
            return q, words
    return None


def _asked_again(part: Words) -> Query | None:
    """A part that is a question of its own: "can it fly", "can you eat it"."""
    end = people(part, 1)[1] if part[1] not in _IT else 0
    if end and end < len(part) and part[0] in ("can", "do", "does"):
        return clauses.done_to(part[end:])
    return clauses.aux_predicate(part[0], part[2:] if part[1] in _IT else part[1:])


def _shared(left: Words, right: Words, parse: Parse) -> Query | None:
    return next((q for k in range(len(left) - 1, 0, -1) if (q := parse([*left[:k], *right])) is not None), None)
