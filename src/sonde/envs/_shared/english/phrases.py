"""Parts of a clause: joined parts and noun phrases. Own design.

Joins: parts joined by "or", "and", "but", "rather than". A part may omit words that it shares with its neighbour ("made
of glass or stone", "a political or military leader"). A part that is not understood stays as an unread claim: "a dog
and glorpish" is false if "a dog" is false.

Noun phrases: a name or a kind of thing, with adjectives before it and modifiers after it. The conversation says what a
whole noun phrase names (`Naming`): a name is a guess, a kind of thing is not. Adjectives and modifiers narrow it: "a
glorpish mammal" is false of everything but mammals, and unknown of mammals.
"""

from __future__ import annotations

from collections.abc import Callable

from .claims import EVERYTHING, Claim, join_all, join_any, negate_claim, unread_claim
from .lexicon import PREPOSITIONS
from .tokens import Words, base_form, is_participle, word_set

# --- joins ------------------------------------------------------------------------------------------------------------

Parse = Callable[[Words], "Claim | None"]
_RATHER = (("rather", "than"), ("instead", "of"), ("as", "opposed", "to"))
_BUT_NOT = (*_RATHER, ("but", "not"), ("and", "not"))
_ALONE = PREPOSITIONS.keys() | word_set("alone")
"""Words that begin a self-contained part; other parts share the first words of the first part."""
_MOST = 12
"""Maximum number of parts."""


def is_joined(words: Words) -> bool:
    return "or" in words or "and" in words or "but" in words or "," in words


def is_harmless(words: Words) -> bool:
    """Whether words that are not understood cannot invert the meaning of their neighbours."""
    return 0 < len(words) <= 12 and word_set("turns").isdisjoint(words)


def read_conjunction(words: Words, parse: Parse, shares: bool = False) -> Claim | None:
    """The claim of joined parts; None if nothing joins them, or they are not understood. `shares`: a verb alone takes
    the object of the last one ("write and send letters")."""
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


# --- noun phrases -----------------------------------------------------------------------------------------------------

Naming = Callable[[tuple[str, ...], bool], "Claim | None"]
"""Maps the words of a noun phrase without its article, and whether it has one, to what they name: a guess, or a
kind."""


def strip_article(words: Words) -> tuple[Words, bool]:
    """Drop the article and "a kind of", and return whether there was any."""
    words, kinds, before = list(words), word_set("kind"), len(words)
    while words:
        if words[0] in word_set("determiners") | {"the"} and len(words) > 1:
            words = words[1:]
        elif len(words) > 2 and base_form(words[0]) in kinds and words[1] == "of":
            words = words[2:]
        elif len(words) > 3 and words[1] in kinds and words[2] == "of":
            words = words[3:]
        elif words[:2] == ["one", "of"] and len(words) > 2:
            words = words[2:]
        else:
            break
    return words, len(words) < before


class Nouns:
    """A reader of noun phrases. `adjective` reads a word before a noun, `modifier` what follows one."""

    def __init__(self, naming: Naming, adjective: Parse, modifier: Parse) -> None:
        self._naming, self._adjective, self._modifier = naming, adjective, modifier

    def read_name(self, words: Words) -> Claim | None:
        """The claim of a whole noun phrase that names something."""
        rest, article = strip_article(words)
        whole = self._naming(tuple(words), False) if len(words) > len(rest) > 0 else None
        if whole is not None and whole.goal:
            return whole
        return self._naming(tuple(rest), article) if rest else None

    def read_kind(self, words: Words) -> Claim | None:
        """A kind of thing. A guess is not a kind: "a guitar used in rock music" is unknown."""
        rest, _ = strip_article(words)
        if len(rest) == 1 and base_form(rest[0]) in word_set("generic"):
            return EVERYTHING
        found = self.read_name(words)
        if found is not None and found.named:
            return None
        return (
            found._replace(yes=found.yes_or_goal, goal=0, guess="")
            if found is not None
            else self._read_adjective_noun(rest)
        )

    def read_phrase(self, words: Words) -> Claim | None:
        """A noun with adjectives before it and modifiers after it."""
        found = self.read_name(words)
        if found is not None:
            return found
        rest, article = strip_article(words)
        if len(rest) > 2 and rest[1] == "of" and (found := self._read_named_kind(rest)) is not None:
            return found
        found = self._read_adjective_noun(rest)
        if found is None:
            found = self._read_apposition(rest)
        return found if found is not None else self._read_noun_with_tail(words, article)

    def _read_apposition(self, words: Words) -> Claim | None:
        """As in "the physicist Marie Curie", "Marie Curie, the physicist": a name, and the kind of its bearer."""
        at = next((i for i, w in enumerate(words) if w == ","), 0)
        apposed = 0 < at < len(words) - 1 and words[at + 1] in word_set("apposed")
        if apposed and is_harmless(words[at + 2 :]) and not is_joined(words[at + 1 :]):
            found = self.read_name(words[:at])
            return found if found is not None and found.named and found.goal else None
        for at in range(1, min(len(words), 6)) if words[0] not in PREPOSITIONS else ():
            rest = [w for i, w in enumerate(words[at:]) if i > 1 or w not in ("known", "as", "called", "named")]
            found = self.read_name(rest) if rest else None
            if found is not None and found.named and found.goal:
                head = self.read_kind(words[:at])
                return found if head is not None and found.goal & head.yes_or_goal else None
        return None

    def _read_named_kind(self, words: Words) -> Claim | None:
        """As in "the country of Brazil": a name, if it names such a thing."""
        kind, found = self.read_name(words[:1]), self.read_name(words[2:])
        if kind is None or found is None or not found.goal & kind.yes_or_goal:
            return None
        return found

    def _read_adjective_noun(self, words: Words) -> Claim | None:
        """As in "small domestic animal": every adjective and the noun must hold."""
        words = [w for w in words if w not in word_set("dropped")]
        if "to" in words or len(words) < 2:
            return None
        for at in range(1, len(words)):
            generic = at == len(words) - 1 and base_form(words[at]) in word_set("generic")
            head = EVERYTHING if generic else self.read_name(words[at:])
            if head is None or head.named:
                continue
            parts = self._read_adjectives(words[:at])
            if parts is not None:
                head = head._replace(yes=head.yes_or_goal, goal=0, guess="")
                return join_all(parts if generic else [*parts, head])
        return None

    def _read_adjectives(self, words: Words) -> list[Claim] | None:
        """Read the words before a noun: all together, otherwise one by one; none may invert the meaning."""
        whole = self._adjective(words)
        if whole is not None:
            return [whole]
        parts: list[Claim] = []
        for i, word in enumerate(words):
            if word in ("and", ",") and 0 < i < len(words) - 1:
                continue
            part = self._adjective([word])
            if part is None and base_form(word) in word_set("loose"):
                part = unread_claim(word)
            if part is None:
                return None
            parts.append(part)
        return parts

    def _read_noun_with_tail(self, words: Words, article: bool) -> Claim | None:
        """Read a noun and what follows it; a tail that is not understood at least narrows the noun."""
        for at in range(1, len(words)):
            if not _is_follower(words[at:]) or is_participle(words[0]):
                continue
            head = self.read_kind(words[:at])
            if head is None:
                continue
            head = head._replace(no=0) if _is_ranked(words[:at]) else head
            rest = self._modifier(words[at:])
            if rest is not None and not rest.named:
                return rest if head is EVERYTHING else join_all([head, rest])
            if (
                head is not EVERYTHING
                and words[at] != "of"
                and article
                and is_harmless(words[at:])
                and not is_joined(words)
            ):
                return join_all([head, unread_claim(" ".join(words[at:]))])
        return None


def _is_follower(words: Words) -> bool:
    first = words[0]
    compares = "than" in words[1:3] and (first.endswith("er") or first in ("more", "less"))
    return first in word_set("followers") or is_participle(first) or first.endswith("ing") or compares


def _is_ranked(words: Words) -> bool:
    """As in "the heaviest animal": what follows narrows the ranking, so a thing that is not first overall may be first
    within it."""
    return any((w.endswith("est") and w not in word_set("unranked")) or w in word_set("ranks") for w in words)
