"""Messages that ask two things at once, read apart: contrasts, concessions, lists, and nouns with a clause behind.

Ours. "X rather than Y", "not only X but Y", "X, even though Y", "X, and is it Y", "a bird that cannot fly": the parts
are asked as questions of their own, which share the words that one of them leaves out, and their answers are joined in
Kleene's logic. This adds to what is known by reading the message as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from .english import base, is_base
from .joins import contrasted, parts_by
from .nouns import ranked
from .queries import Query, all_of, any_of, negated, strong
from .subjects import PRONOUNS, subject
from .wordlists import word_set

Words = Sequence[str]
Parse = Callable[[Words], "Query | None"]
_AUX = word_set("questions.aux")
_OPEN = word_set("questions.open")
_MOST_PARTS = 4
_SHARED = 7
"""The most words that a part leaves out."""

_CONCEDED = re.compile(r"(.+?)(?: ,)? (?:even though|although|though|even if|while still being|whilst being) (.+)")
_CONCEDED_FIRST = re.compile(r"(?:even though|although|though|despite the fact that|while) (.+?) , (.+)")
_DESPITE = re.compile(r"(.+?)(?: ,)? (?:despite|in spite of|regardless of|notwithstanding) .+")
_CONTRAST = re.compile(
    r"(.+?)(?: ,)? (?:rather than|instead of|as opposed to|and not|but not|unlike) (.+)|(.+?) , not (.+)"
)
_NOT_ONLY = re.compile(r"(.*?)(?: ,)? ?not (?:only|just|merely|simply) (.+?)(?: ,)? but(?: also| as well)? (.+)")
_NOT_BUT = re.compile(r"(.+?) not (?!only|just|merely|simply|a lot|much)(.+?)(?: ,)? but(?: rather)? (.+)")
_WITHOUT = re.compile(r"(.+?)(?: ,)? without (being|having|needing|\w+ing) (.+)")
_NEITHER = re.compile(r"(.*?) ?neither (.+?)(?: ,)? nor (.+)")
_LESS = frozenset(("just", "only", "merely", "simply", "necessarily", "always"))


def parted(words: Words, parse: Parse) -> Query | None:
    """What the parts of a message ask together; None where it has no parts or they are not understood."""
    if len(words) < 4 or _MARKS.isdisjoint(words):
        return None
    text = " ".join(words)

    def part(rest: Words) -> Query | None:
        return parse(rest) or _related(list(rest), parse)

    for read in (_not_only, _neither, _contrasted, _conceded, _without, _trailed):
        found = read(text, part)
        if found is not None:
            return found
    return _listed(list(words), part) or _related(list(words), parse)


_MARKS = word_set("parted.marks") | {","}


def _conceded(text: str, parse: Parse) -> Query | None:
    """As in "is it real even though it is called a dragon"; true only where what is conceded is not false."""
    if (found := _CONCEDED_FIRST.fullmatch(text)) is not None:
        main, other = parse(found[2].split()), parse(found[1].split())
    elif (found := _CONCEDED.fullmatch(text)) is not None:
        main, other = parse(found[1].split()), parse(found[2].split())
    elif (found := _DESPITE.fullmatch(text)) is not None:
        main, other = parse(found[1].split()), None
    else:
        return None
    if main is None or main.named:
        return main
    return main._replace(text=f"{text}", yes=main.yes & ~other.no) if other is not None else main


def _contrasted(text: str, parse: Parse) -> Query | None:
    """As in "is it food, not drink"; true only where the other one is not."""
    found = _NOT_BUT.fullmatch(text)
    if found is not None and found[1].split()[0] in _AUX:
        return _both(parse(f"{found[1]} {found[3]}".split()), _denied(parse(f"{found[1]} {found[2]}".split())))
    found = _CONTRAST.fullmatch(text)
    if found is None:
        return None
    left, right = (found[1] or found[3]).split(), (found[2] or found[4]).split()
    if right[-1] in PRONOUNS or left[-1] == ",":
        return None
    main = parse(left)
    if main is None or main.named or right[0] in _LESS:
        return main
    other = next(_shared(left, right, parse), None)
    if other is None:
        return main
    found = contrasted(main, other)
    return found._replace(no=found.no | other.true) if _LITERAL.search(text) else found


_LITERAL = re.compile(r"(?:but|and|,) not ")


def _not_only(text: str, parse: Parse) -> Query | None:
    """As in "known not only for acting but also for politics"."""
    found = _NOT_ONLY.fullmatch(text)
    if found is None:
        return None
    first = f"{found[1]} {found[2]}".split()
    second = next(_shared(first, found[3].split(), parse, least=len(found[1].split())), None)
    return _both(parse(first), second)


def _neither(text: str, parse: Parse) -> Query | None:
    found = _NEITHER.fullmatch(text)
    if found is None:
        return None
    first = f"{found[1]} {found[2]}".split()
    second = next(_shared(first, found[3].split(), parse), None)
    return _both(_denied(parse(first)), _denied(second))


def _without(text: str, parse: Parse) -> Query | None:
    """As in "does it have wings without being a bird"."""
    found = _WITHOUT.fullmatch(text)
    if found is None:
        return None
    verb = base(found[2])
    other = ["is", "it"] if verb == "be" else ["does", "it", verb]
    return _both(parse(found[1].split()), _denied(parse([*other, *found[3].split()])))


def _trailed(text: str, parse: Parse) -> Query | None:
    """As in "is it covered in grass, as its name suggests"; what may narrow the question leaves what is false."""
    found = _TRAIL.fullmatch(text)
    head, tail = (found[1] or found[3], found[2] or found[4]) if found is not None else ("", "")
    main = parse(head.split()) if head and head.split()[0] in _AUX | PRONOUNS else None
    if main is None or main.named:
        return None
    return main if _HARMLESS.match(tail) else strong(main, "moreover")


_TRAIL = re.compile(
    r"([^,]+?)(?: ,)? (as (?:its|the) name .+|like (?:an?|the|most|other|many) .+|such as .+|assuming .+|"
    r"and i do not mean .+|not counting .+)|([^,]+) , ((?!or\b|not\b|but\b|and\b|nor\b|if\b|is\b|does\b)[^,]+)"
)
_HARMLESS = re.compile(
    r"as (?:its|the) name |like (?:most|other|many) |and i do not mean |i do not mean |i mean |as you know|you know|"
    r"as opposed|even if |mind you|assuming (?:it is|you)|the way |just like |like an? |like the |like \w+$"
)


def _denied(q: Query | None) -> Query | None:
    return negated(q) if q is not None and not q.named else None


def _both(a: Query | None, b: Query | None) -> Query | None:
    return all_of([a, b]) if a is not None and b is not None else None


def _shared(left: Words, right: Words, parse: Parse, least: int = 1) -> Iterator[Query]:
    """Readings of a part that leaves out the first words of the part before it; those that leave out most first."""
    if right[0] in _AUX and len(right) > 2 and subject(right, 1):
        found = parse(right)
        yield from [found] if found is not None else ()
        return
    for k in range(min(len(left) - 1, _SHARED), max(least, 1) - 1, -1):
        found = parse([*left[:k], *right])
        if found is not None:
            yield found
    if right[0] in ("a", "an", "one", "the") and (found := parse(["is", "it", *right])) is not None:
        yield found


def _listed(words: list[str], parse: Parse) -> Query | None:
    """As in "does it have keys and strings", "was he murdered, and was he a Beatle"."""
    word = next((w for w in ("or", "and", "but") if w in words), "")
    if not word or "between" in words or (word != "or" and "or" in words) or words[0] not in _AUX | PRONOUNS:
        return None
    words = [w for w in words if w not in ("both", "either", "also")]
    first, *rest = parts_by(words, word)
    if not rest or len(rest) >= _MOST_PARTS or not all([first, *rest]) or any(part[0] in _OPEN for part in rest):
        return None
    found = [parse(first), *(next(_shared(first, part, parse), None) for part in rest)]
    known = [q for q in found if q is not None]
    if len(known) < len(found):
        return None
    return any_of(known) if word == "or" else all_of(known)


def _related(words: list[str], parse: Parse) -> Query | None:
    """As in "is it a bird that cannot fly", "was he a singer who could not see", "a place where people sleep"."""
    end = subject(words, 1) if words[0] in ("is", "was", "are", "were") else 0
    at = next((i for i, w in enumerate(words) if end and i > end and w in ("that", "who", "which", "where")), 0)
    if (
        not at
        and end
        and words[end : end + 1]
        and words[end] in _EMPTY
        and words[end + 1 : end + 2] in (["nobody"], ["no"], ["people"])
    ):
        return _clause(words[end + 1 :], "that", parse)
    if not at or at + 1 >= len(words) or "," in words:
        return None
    other = _clause(words[at + 1 :], words[at], parse)
    head = words[end:at]
    if other is None or base(head[-1]) in _EMPTY:
        return other
    main = parse(words[:at])
    if main is None or main.named:
        return None
    return _both(main._replace(no=0) if ranked(head) else main, other)


_EMPTY = frozenset(("something", "someone", "somebody", "anything", "one", "thing", "somewhere"))


def _clause(rest: list[str], relative: str, parse: Parse) -> Query | None:
    """A relative clause as a question of its own."""
    if rest[0] == "nobody" or rest[:2] == ["no", "one"]:
        return _denied(_clause(["people", *rest[1 if rest[0] == "nobody" else 2 :]], relative, parse))
    if rest[0] == "never" and len(rest) > 1:
        return _denied(_clause(rest[1:], relative, parse))
    if rest[0] == "people" and rest[1:2] and rest[1] in _AUX:
        return parse([rest[1], "people", *_with_it(rest[2:])])
    if rest[0] in _AUX:
        if rest[1:2] in (["not"], ["never"]):
            return _denied(parse([rest[0], "it", *rest[2:]]))
        return parse([rest[0], "it", *rest[1:]])
    if relative == "where":
        return parse(["do", *rest, "there"])
    if rest[0].endswith("s") and is_base(base(rest[0])):
        return parse(["does", "it", base(rest[0]), *rest[1:]])
    at = next((i for i, w in enumerate(rest[:4]) if i and is_base(base(w))), 0)
    return parse(["do", *rest[:at], *_with_it([base(rest[at]), *rest[at + 1 :]])]) if at else None


def _with_it(rest: Words) -> list[str]:
    """A verb phrase with "it" in the gap: behind the verb, and a particle."""
    at = 2 if rest[1:2] in (["up"], ["on"], ["in"], ["for"]) else 1
    return [*rest[:at], "it", *rest[at:]]
