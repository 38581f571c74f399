"""Whether a suggestion or diagnosis says the opposite of what its words point to.

Ours. "Turn the saver on." and "The fuel is fresh." have all the words of a fix and a cause, and mean neither. The pairs
are in `data/customer_service_words.toml`; a word and the same word with "un-" are opposites, too. A message is opposed
to a fix or cause if it says one side of a pair only, and the fix or cause the other side only.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from .forms import DENIAL, either, one_of
from .products import Cause, products
from .vocabulary import TOKEN, stems, words

_PARTICLE = either(
    r"\b(on|off|in|out|up|down)(?= *"
    + one_of(
        "$",
        "[,.;:?!)]",
        one_of(
            "and|again|for|at|with|until|till|to|by|from|once|before|when|while|then|as|so|completely|fully",
            "overnight|now|of|back",
        )
        + r"\b",
    )
    + ")",
    r"\b"
    + one_of("turn|switch|put|take|pull|push|plug|screw|pour|shift|keep|set|twist|lift|bring")
    + r"(?:s|ed|ing)? (?:it |them |back )?(off|out|up|down)\b",
    r"\b(?:turn|switch|plug|push|pour|screw)(?:s|ed|ing)? (?:it |them |back )?(on|in)\b",
)
_PLUGGED = (
    ("+plugged", re.compile(r"\bplug(?:ged)? (?:it |them |the [a-z]+ )?(?:back |straight )?in(?:to)?\b")),
    ("+unplugged", re.compile(r"\bunplug|\bpull (?:out )?(?:the|its|[a-z]+'s) (?:[a-z']+ )?plug\b")),
)
_NOUN = re.compile(r"\b(?:its|the|a|your) ([a-z]+)(?=[,.;?!]|$)")
_NEGATED = re.compile(r"\b(?:not|without|never|don't)(?: to)? ((?!any|the|that|more|for|be)\w+)")


def opposed(name: str, kind: str, cause: int, text: str) -> bool:
    """Whether a sentence in lower case says the opposite of the fix, or of the cause."""
    found = products()[name].causes[cause]
    own = _fix(found) if kind == "fix" else _cause(found)
    said, mine = _marks(text), _marks(own)
    if kind == "fix" and (_switched(text, own) or _against(text, said, own) or _does_it(text, own, found)):
        return True
    return _un(said - frozenset(_NOUN.findall(text)), mine) or any(
        _sides(a, b, said, mine) or _sides(b, a, said, mine) for a, b in _pairs()
    )


_SWITCHED = re.compile(
    r"\b(?:turn|switch|put|set)(?:s|ed|ing)? (?:(on|off) (?:the |your |its )?([a-z-]+)"
    r"|(?:the |your |its )?(?:[a-z-]+ )??([a-z-]+) (on|off)\b)"
)


def _switched(text: str, own: str) -> bool:
    """Whether it says to switch off what the fix wants on, or on what it wants off: "Turn off the Wi-Fi."."""
    for found in _SWITCHED.finditer(text):
        side, thing = found[1] or found[4], re.escape(found[2] or found[3])
        sides = frozenset(re.findall(rf"\b{thing} (on|off)\b", own.lower()))
        sides |= frozenset(re.findall(rf"\b(on|off) (?:the |your |its )?{thing}\b", own.lower()))
        if sides and side not in sides:
            return True
    return False


_TO = re.compile(r"\b(?:to (?:the |your |its )?(?:[a-z]+ )??|in )([a-z]+)(?= (?:and|for)\b|[,.;!]|$)")
"""Where something is put, by its last word."""
_SET_TO = re.compile(
    r"\b(?:switch|turn|set|change|drag|move|slide)\b[^,.;]*? to ((?:[a-z'-]+ ?){1,3})(?= and\b|[,.;!]|$)"
)
"""What something is set to."""


def _against(text: str, said: frozenset[str], own: str) -> bool:
    """Whether it says to do what the fix says not to do."""
    denied, admitted = _NEGATED.findall(own), _NEGATED.findall(text)
    return any(said & _forms(verb) and own.count(verb) == denied.count(verb) for verb in denied if verb not in admitted)


def _does_it(text: str, own: str, found: Cause) -> bool:
    """Whether it says to do what went wrong: "Mute the TV."."""
    if DENIAL.search(found.what):
        return False
    went, verb = _marks(_cause(found)) - _marks(own), text.strip().split(" ", 1)[0]
    if any(mark.startswith("+") for mark in _marks(text) & went) or any(m[1] in went for m in _TO.finditer(text)):
        return True
    if any(went.intersection(re.split("[ ']", m[1])) for m in _SET_TO.finditer(text)):
        return True
    if f"un{verb}" in TOKEN.findall(own) and verb not in TOKEN.findall(found.fix_what):
        return True
    first = stems(verb)
    return bool(first) and first[0] in stems(found.what) and first[0] not in stems(own)


@cache
def _pairs() -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    sides = (line.partition(" | ") for line in words().opposite)
    return tuple((frozenset(one.split()), frozenset(other.split())) for one, _, other in sides)


def _fix(found: Cause) -> str:
    return ". ".join((found.fix_what, *found.fix_cues, *found.suggestions)).lower()


def _cause(found: Cause) -> str:
    return ". ".join((found.what, *found.cues)).lower()


@lru_cache(maxsize=1 << 12)
def _marks(text: str) -> frozenset[str]:
    """The words of a text, and its particles with a plus sign."""
    marks = frozenset(TOKEN.findall(text)) | {f"+{m[1] or m[2] or m[3]}" for m in _PARTICLE.finditer(text)}
    return marks | {mark for mark, form in _PLUGGED if form.search(text)}


def _sides(one: frozenset[str], other: frozenset[str], said: frozenset[str], mine: frozenset[str]) -> bool:
    return bool(said & one and not said & other and mine & other and not mine & one)


def _un(said: frozenset[str], mine: frozenset[str]) -> bool:
    """Whether a word of the one is the other's with "un-"."""
    here, there = said - mine, mine - said
    pairs = ((w, x) for w in here for x in there if abs(len(w) - len(x)) == 2 and min(len(w), len(x)) > 3)
    return any(f"un{w}" == x or f"un{x}" == w for w, x in pairs)


def _forms(verb: str) -> frozenset[str]:
    root = verb.removesuffix("ing").removesuffix("ed")
    return frozenset((root, root + root[-1:], verb, root.removesuffix(root[-1:]) if root[-2:-1] == root[-1:] else root))
