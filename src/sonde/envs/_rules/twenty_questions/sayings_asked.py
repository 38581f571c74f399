"""Questions about something else than the thing, and other forms of what a question asks.

Ours. "Are candles made from it", "Is Zagreb its capital", "Does his nose grow" ask for what a statement says the other
way round: "is made into candles", "has Zagreb as its capital", "has a nose that grows". And a question may be answered
by a statement that is not in its own words: what holds a letter is what one puts a letter in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .sayings_form import AUX, BE, PAST, ROLES, Form, clause, past, question, readable, who
from .sayings_words import participle, stems, verb
from .subjects import PRONOUNS, subject

Words = Sequence[str]
_OWNERS = frozenset(("his", "her", "its", "their"))
_INSIDE = frozenset(("in", "inside", "into", "within"))
_EXAMPLES = (["example"], ["one"])
_BY_MEANS = frozenset(("with", "in", "on", "for", "at"))
_HOLDING = frozenset(("put~", "go~", "come~", "fit~", "keep~", "store~", "place~", "carry~", "find~"))
_STAYING = frozenset(("play~", "perform~", "appear~", "star~", "live~", "work~", "sing~"))
HAVING = frozenset(("have!",))
_CONTAINED = frozenset(("contain", "inside", "in"))
_UPON = frozenset(("wake!", "keep!", "protect!", "show!", "tell!", "give!", "teach!", "remind!", "warn!"))
_CALLED = frozenset(("character", "person", "figure"))
_OFFICES: Words = ("president=", "minister=", "king=", "queen=", "emperor=", "dictator=")
_INSTEAD: Mapping[str, Words] = {
    "hold!": ("store!",),
    "store!": ("hold!",),
    "need!": ("have!", "do~", "play~"),
    "lead!": _OFFICES,
    "rule!": _OFFICES,
    "example": ("job=",),
}
"""What a statement may say instead of a word of a question."""


def readings(words: Words) -> list[Form]:
    """The forms of a question: the one in which it is worded, and those that say the same in other words."""
    read = readable(words)
    if not read:
        return []
    first = _other(read) or question(words)
    return list(dict.fromkeys([first, *_alternatives(first, read)])) if first else []


def _other(words: list[str]) -> Form | None:
    """A question whose subject is something else than the thing."""
    aux, rest = words[0], words[1:]
    if aux not in BE | AUX or subject(rest, 0) or rest[0] == "there":
        return None
    form = _is_it_so(rest) if aux in BE else _does_it(rest)
    return form and form | past(words)


def _is_it_so(words: list[str]) -> Form | None:
    """Behind "is": "candles made from it", "Zagreb its capital", "its capital Zagreb", "wickets involved"."""
    if words[0] in _OWNERS or words[0] == "the":
        return _owned(words) if words[0] in _OWNERS or not _mentioned(words[1:]) else None
    at = next((i for i, w in enumerate(words) if i and (w in _OWNERS or participle(w))), 0)
    if at and words[at] in _OWNERS:
        return _owned(words)
    if at and words[at:] == ["involved"]:
        return _has(words[:at])
    if at and _mentioned(words[at:]):
        return _turned_round(words[:at], words[at:])
    return _ingredient(words) or _share(words) or _role(words)


def _mentioned(words: Words) -> bool:
    """Whether the thing is named in it: "from it", "there"."""
    return words[-1:] == ["there"] or any(w in PRONOUNS or w in ("them", "him", "her") for w in words)


def _has(words: Words) -> Form | None:
    found = frozenset(stems(words)) - _CALLED
    return found | HAVING if found else None


def _owned(words: list[str]) -> Form | None:
    """As in "its capital Zagreb", "his nose grow when he lies", "the ball round"."""
    return _has(words) if len(stems(words)) > 1 else None


def _turned_round(things: list[str], words: list[str]) -> Form | None:
    """As in "candles made from it", "German spoken there"."""
    if words[0] == "used":
        return frozenset(("make~", *stems(things))) if words[1:3] == ["to", "make"] else _has(things)
    if words[0] == "made" and "with" in words:
        return frozenset(("make!", *stems(things)))
    if words[0] == "made" and not _INSIDE.intersection(words):
        return frozenset(("turn~", "into", *stems(things)))
    return clause([*things, "is", *words])


def _ingredient(words: list[str]) -> Form | None:
    """As in "avocado the main ingredient", "chickpeas the main thing in it"."""
    at = next((i for i, w in enumerate(words) if i and w in ("the", "its", "an", "one")), 0)
    if not at or not {"ingredient", "thing", "ingredients"}.intersection(words[at + 1 : at + 3]):
        return None
    return frozenset(("make~", *stems(words[:at])))


def _share(words: list[str]) -> Form | None:
    """As in "Dubrovnik part of it", "a monster in it", "Etna one of them"."""
    if not _mentioned(words):
        return None
    at = next((i for i, w in enumerate(words) if i and w in (*_INSIDE, "part", "there", "example", "one", "of")), 0)
    if not at:
        return None
    if words[at] in ("example", "one"):
        return frozenset(("example", *stems(words[:at])))
    return _has(words[:at]) if words[at] in ("part", "there") or len(words) == at + 2 else None


def _role(words: list[str]) -> Form | None:
    """As in "Melville the author"."""
    *name, article, role = words if len(words) > 2 else ("", "", "")
    if article in ("the", "its", "their", "his", "her") and role in ROLES:
        return who(name) | {f"{ROLES[role]}~"}
    return None


def _does_it(words: list[str]) -> Form | None:
    """Behind "does": "his nose grow when he lies", "the sky turn red", "Jesus have this job"."""
    words = words[1:] if words[:2] == ["the", "players"] else words
    if words[-2:] == ["this", "job"] and len(words) > 3:
        return frozenset(("job=", *stems(words[:-3])))
    if words[0] in _OWNERS or (words[0] == "the" and not _mentioned(words)):
        return _owned(words)
    if words[0] in ("you", "people", "players", "they") and len(words) > 2 and verb(words[1]) and not _mentioned(words):
        return _has(words[2:] if words[1] in ("use", "need") else words[1:])
    return None


def _alternatives(form: Form, words: list[str]) -> Iterator[Form]:
    """What says the same or more."""
    if len(form) < 2:
        return
    if "you" in words[2:] and not form.isdisjoint(_UPON):
        yield form - {"person"}
    about_it = subject(words, 1) > 0
    if form >= HAVING and "players" in words:
        yield form - HAVING | {"play~"}
    for tagged in form:
        rest = form - {tagged}
        if tagged == "full=":
            yield from (rest | {"have!", "many"}, rest | {"hold!"})
        yield from (rest | {other} for other in _INSTEAD.get(tagged, ()) if "use" not in words)
        if tagged == "have!" and not _CONTAINED.isdisjoint(words):
            yield from (rest | {"make~"}, rest | {"hold!"})
        if not about_it:
            yield from _by_place(tagged, rest, words)
            yield from _by_means(tagged, rest, words)


def _by_place(tagged: str, rest: Form, words: list[str]) -> Iterator[Form]:
    """What is in it: "do you put a letter in it", "do nurses work there", "was Napoleon involved"."""
    bare = frozenset(word.rstrip("^") for word in rest)
    inside = not _INSIDE.isdisjoint(words)
    if tagged in _HOLDING and inside:
        yield from (bare | {"hold!"}, bare | {"store!"}, bare | HAVING)
    elif tagged in _STAYING and (words[-1] == "there" or inside):
        yield bare | HAVING
    elif tagged == "join~" or words[-1] == "involved":
        yield frozenset(f"{word}^" for word in bare - {PAST}) | (rest & {PAST})


def _by_means(tagged: str, rest: Form, words: list[str]) -> Iterator[Form]:
    """What is done with it, and what it or something else is made from."""
    if tagged == "make~" and "into" not in rest and words[-1] in PRONOUNS and words[-2] in ("of", "from"):
        yield rest | {"turn~", "into"}
    elif tagged.endswith("~") and words[-1] in PRONOUNS and not _BY_MEANS.isdisjoint(words):
        yield rest | {f"{tagged[:-1]}!"}
