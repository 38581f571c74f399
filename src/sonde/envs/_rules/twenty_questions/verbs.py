"""Set forms of verb phrases: "have wings", "weigh more than 10 kg", "live in Africa", "help you cut".

Ours. Each form looks for its own verb and gives None where it is not there, or where what it leads to is not
understood.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import clauses, forms, sizes
from .english import is_participle, tokens
from .phrases import PREPOSITIONS, asked, key
from .queries import Query, negated, weak
from .regions import belonging, region, within
from .topics import knowledge
from .wordlists import word_set

Words = Sequence[str]


def having(first: str, words: Words, depth: int) -> Query | None:
    """As in "have wings", "have no legs", "have to do with music"."""
    if first not in ("have", "possess", "feature", "contain", "include", "own", "get"):
        return None
    rest = words[1:]
    text = " ".join(rest)
    for form in (
        "something to do with ",
        "anything to do with ",
        "to do with ",
        "a connection to ",
        "a connection with ",
        "a relation to ",
        "nothing to do with ",
    ):
        if text.startswith(form):
            found = forms.related(tokens(text[len(form) :]))
            return negated(found) if found and form.startswith("nothing") else found
    if rest[:1] in (["no"], ("no",)):
        return clauses.denied(rest[1:], lambda r: clauses.do_predicate(["have", *r], depth + 1))
    if rest[:2] in (["to", "be"], ("to", "be")):
        return clauses.be_predicate(rest[2:], depth + 1)
    if first in ("have", "possess", "feature") and rest[:1] not in ([], ()) and rest[0] in ("it", "one"):
        return None
    stripped = (
        forms.after(
            rest,
            (
                "any",
                "some",
                "a",
                "an",
                "the",
                "visible",
                "actual",
                "built",
                "noticeable",
                "got",
                "physical",
                "pair",
                "set",
                "of",
                "at",
                "least",
                "one",
            ),
            0,
        )
        if rest[:1]
        else rest
    )
    return asked(f"do:have {key(stripped)}") if stripped else None


def verb_special(first: str, words: Words, depth: int) -> Query | None:
    """As in "weigh more than 10 kg", "tend to bite", "involve water", "count as a fruit", "get worn"."""
    rest = list(words[1:])
    if first in ("weigh", "cost"):
        return sizes.valued(first, rest)
    if first in _CONTROL and rest[:1] == ["to"]:
        return _controlled(first, rest[1:], depth)
    if first in _INVOLVED:
        return _involved(first, rest, depth)
    if first in ("fall", "count", "qualify", "come", "serve", "act", "function") and rest[:1] and rest[0] in _AS:
        tail = [w for w in rest[1:] if w not in _CATEGORY]
        return clauses.be_predicate(tail, depth + 1) or asked(f"for:{key(tail)}")
    if first == "be" or (first == "get" and rest and is_participle(rest[0])):
        return clauses.be_predicate(rest, depth + 1)
    return clauses.do_predicate(rest, depth + 1) if first == "can" else None


_CONTROL = word_set("forms.control")
_INVOLVED = word_set("forms.involved")
_AS = ("as", "under", "into", "to")
_CATEGORY = ("category", "class", "the", "of", "classification", "heading", "family", "group", "kingdom")
_FILLING = ("to", "with", "the", "use", "of", "using", "any", "some", "a", "part", "in", "role")


def _controlled(first: str, tail: Words, depth: int) -> Query | None:
    """As in "tend to bite", "need to be plugged in"."""
    if first == "want":
        return None
    if tail[:1] == ["be"] and first in ("tend", "seem", "appear", "need", "have"):
        return clauses.be_predicate(tail[1:], depth + 1)
    return clauses.do_predicate(tail, depth + 1)


def _involved(first: str, rest: Words, depth: int) -> Query | None:
    """As in "involve water", "require equipment", "belong to the cat family"."""
    tail = forms.after(rest, _FILLING, 0)
    if not tail:
        return None
    if first == "involve" and (name := region(list(tail))) is not None:
        return weak(within(name), "involves")
    if first == "belong" and rest[0] == "to" and (name := region(list(tail))) is not None:
        return belonging(name)
    found = asked(f"do:{first} {key(rest)}") or asked(f"do:{first} {key(tail)}")
    if found is None and first in ("involve", "concern", "relate", "pertain", "deal"):
        return forms.related(tail)
    if found is None and first == "belong":
        kind = clauses.be_predicate([w for w in tail if w not in _CATEGORY], depth + 1)
        return None if kind is None or kind.named else kind
    return found


def verb_placed(first: str, words: Words, depth: int) -> Query | None:
    if first not in forms.AT_VERBS:
        return None
    if first == "take" and words[1:2] not in (["place"], ("place",)):
        return None
    at = next((i for i, w in enumerate(words[1:4], 1) if w in PREPOSITIONS), None)
    if first == "inhabit":
        return forms.place(["in", *words[1:]])
    found = forms.place(words[at:]) if at is not None else None
    if found is not None and first in ("live", "reside", "dwell") and found.text.startswith("in "):
        return found._replace(text=f"lived {found.text}", no=found.no & ~knowledge().known("person").yes)
    return found


def verb_purpose(first: str, words: Words, depth: int) -> Query | None:
    """As in "help you cut", "allow people to cut", "serve to cut", "work to cut"."""
    if first not in ("help", "allow", "let", "enable", "serve", "function", "make", "assist", "aid", "exist"):
        return None
    rest = forms.after(
        words,
        ("you", "people", "us", "someone", "one", "humans", "a", "person", "the", "user", "users", "to", "in", "for"),
        1,
    )
    return forms.purpose(rest, depth + 1)
