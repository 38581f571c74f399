"""Parts joined by "or", "and", "but", "rather than".

Ours. A part may leave out words that it shares with its neighbour ("made of glass or stone", "a political or military
leader"). A part that is not understood stays as an unread claim: "a dog and glorpish" is false where "a dog" is false.
"""

from __future__ import annotations

from collections.abc import Callable

from .claims import Claim, join_all, join_any, negate_claim, unread_claim
from .lexicon import PREPOSITIONS
from .lists import word_set
from .words import Words, base_form

Parse = Callable[[Words], "Claim | None"]
_RATHER = (("rather", "than"), ("instead", "of"), ("as", "opposed", "to"))
_BUT_NOT = (*_RATHER, ("but", "not"), ("and", "not"))
_ALONE = PREPOSITIONS.keys() | word_set("alone")
"""What a part that stands for itself begins with; others share the words of the first one."""
_MOST = 12
"""Parts that are read."""


def is_joined(words: Words) -> bool:
    return "or" in words or "and" in words or "but" in words or "," in words


def is_harmless(words: Words) -> bool:
    """Whether words that are not understood can at least not turn what is said beside them."""
    return 0 < len(words) <= 12 and word_set("turns").isdisjoint(words)


def read_joined(words: Words, parse: Parse, shares: bool = False) -> Claim | None:
    """Claim what joined parts say; None where nothing joins them, or they are not understood. `shares`: a verb alone
    takes the object of the last one ("write and send letters")."""
    for form in _BUT_NOT:
        at = next((i for i in range(1, len(words) - len(form)) if tuple(words[i : i + len(form)]) == form), 0)
        if at:
            return _read_contrast(words[:at], words[at + len(form) :], parse, form in _RATHER)
    word = next((w for w in ("or", "and", "but") if w in words), "")
    words = list(words[1:]) if words[0] in ("both", "either") else list(words)
    return _join_parts(split_parts(words, word), word, parse, shares) if word else None


def _read_contrast(left: Words, right: Words, parse: Parse, rather: bool) -> Claim | None:
    left = left[:-1] if left[-1] == "," else left
    a = parse(left) if left else None
    b = (parse(right) or _read_sharing(left, right, parse)) if a else None
    if a is None or b is None:
        return None
    if rather:
        return a._replace(text=f"{a.text} rather than {b.text}", yes=a.yes_or_goal & ~b.yes_or_goal, goal=0, guess="")
    return join_all([a, negate_claim(b)])


def _read_sharing(left: Words, right: Words, parse: Parse) -> Claim | None:
    return next((q for k in range(len(left) - 1, 0, -1) if (q := parse([*left[:k], *right])) is not None), None)


def split_parts(words: Words, word: str) -> list[list[str]]:
    """The words between commas and a joining word."""
    parts: list[list[str]] = [[]]
    for w in words:
        if w not in (word, ","):
            parts[-1].append(w)
        elif parts[-1]:
            parts.append([])
    return parts if parts[-1] else parts[:-1]


def _join_parts(parts: list[list[str]], word: str, parse: Parse, shares: bool) -> Claim | None:
    """As in "a, b or c"."""
    if not 1 < len(parts) <= _MOST:
        return None
    found: list[Claim] = []
    for i, part in enumerate(parts):
        q = _read_part(part, parts[:i], parts[i + 1 :], parse, shares)
        if q is None and is_harmless(part) and part[0] not in word_set("open") | word_set("aux"):
            q = unread_claim(" ".join(part))
        if q is None:
            return None
        found.append(q)
    if all(q.unread for q in found):
        return None
    if any(q.named for q in found) and not all(q.named for q in found):
        if word != "or" or any(q.unread for q in found):
            return None
        found = [_read_as_noun(part, q, parse) for part, q in zip(parts, found, strict=True)]
    return join_any(found) if word == "or" else join_all(found)


def _read_as_noun(part: Words, found: Claim, parse: Parse) -> Claim:
    """Read a word of a list of things as one of them: "apple, pear or orange" speaks of no colour."""
    other = parse(["a", *part]) if len(part) == 1 and not found.named else None
    return other if other is not None and other.named else found


def _read_part(part: Words, done: list[list[str]], later: list[list[str]], parse: Parse, shares: bool) -> Claim | None:
    """A part alone, or with the first words of the first part, or with the last words of the last."""
    tries: list[Words] = []
    before = done[0] if done else []
    alone = len(before) <= 1 or part[0] in _ALONE | word_set("aux") or base_form(part[0]) == base_form(before[0])
    if alone and before:
        tries.append(part)
    tries += [[*before[:k], *part] for k in range(min(len(before) - 1, 6), 0, -1)]
    if not done:
        own = [] if shares and len(part) < len(later[-1]) else [part]
        shared = [[*part, *later[-1][k:]] for k in range(1, len(later[-1]))]
        compared = len(part) == 1 and later[-1][1:2] in (["of"], ["than"])  # "north or south of the equator"
        tries += [*shared, *own] if compared else [*own, *shared]
    elif later:
        tries += [[*before[:k], *part, later[-1][-1]] for k in range(min(len(before), 3), -1, -1)]
    return next((q for words in tries if (q := parse(words)) is not None), None)
