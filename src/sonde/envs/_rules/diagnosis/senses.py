"""Questions that have a word of a finding in another sense.

Ours. A stem stands for a verb and a noun, for what a thing does and for what is done to it. Each guard is one way in
which a question takes the other one; any of them leaves it without an answer.

    Did you drop the phone?               done by the customer; of the percentage it is told that it drops
    Does the machine drain?               the finding tells how the kitchen sink drains
    Do you take the box in on arrival?    of the ice packs on arrival it has only the occasion
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import lru_cache

from .forms import WH, one_of
from .products import Finding, products
from .topics import lexicon
from .vocabulary import TOKEN, stems, weighs

_BY_YOU = re.compile(
    r"\b(?:do|did|have|had) you (?:(?:\w+ly|ever|also|already|just|still|even|always|last|first|then) )*([a-z]+)\b"
)
_ANY_DEED = frozenset(stems("use set switch turn press"))
_ABOUT_YOU = re.compile(
    r"^(?:are|were) you an? |^(?:what|which) [a-z]+ are you(?: (?:with|on|in|at))?\??$"
    r"|^(?:do|did|would) you (?:want|wish|like|go to|(?:ever )?been to)\b|^what (?:year|day|month|date) is it\??$"
)
"""What asks about the customer, or the calendar."""
_IDIOM = re.compile(
    r"\b"
    + one_of(
        "(?:have|catch|caught|got|had|with) a (?:bad |nasty )?cold",
        "under the weather",
        "on the other hand",
        "at hand",
        r"(?:give|lend) \w+ a hand",
        "(?:out of|in|on|about|had|have|have the|good) time",
        "in (?:the long|the short) run",
        "at the end of the day",
        "in (?:charge|the end|the first place)",
        "an? (?:ring|idea) to",
        r"spell check\w*",
        "take "
        + one_of(
            "part|place|turns",
            "(?:an? |the |any |some )?(?:picture|photo)s?",
            "a (?:shower|bath|walk|break|seat|look round)",
        ),
        "have cold feet",
        "(?:fall|fell) (?:asleep|in love|ill)",
        "on the (?:same|other) page",
        "by (?:the way|heart)",
        "lose (?:touch|count)",
        "in (?:touch|light of)",
        "for the record",
        "in bed",
        "(?:heart|stomach|back|ear|eye|skin|lung|sleep|knee) (?:trouble|problems?|pains?|diseases?|attacks?)",
        "(?:full|new|half) moon",
        "(?:big|huge) fan",
    )
    + r"\b(?! (?:of|it|that|the|when|does|did) )"
)
"""Where a word of a thing says something else."""


_DOER = re.compile(r"(?:i|i've|i'd|you|you've|we|we've|to|have|has|had|been|was|were|is|are|it's|get|got|he|she|they)")
_DONE = re.compile(r"[a-z]{2,}(?:ed|en)|(?:put|cut|set|bent|held|built|bought|fell|shut|worn|torn|spilt|lit)")


def other_sense(name: str, finding: int, bare: str) -> bool:
    """Whether a question, in lower case, takes a word of the finding in another sense."""
    own = frozenset(s for q in products()[name].findings[finding].questions[:-3] for s in stems(q))
    about_you = _ABOUT_YOU.match(bare)
    return (
        bool(about_you and not own & frozenset(stems(about_you[0])))
        or bool(_IDIOM.search(bare))
        or any(_undone(name, finding, m[1], bare) for m in _BY_YOU.finditer(bare))
        or _of_another(name, finding, bare)
        or _only_the_occasion(name, finding, bare)
        or _owner(name, finding, bare)
    )


def _undone(name: str, finding: int, act: str, bare: str) -> bool:
    """Whether a verb is known of the finding, but not as what anybody does; a value says enough without it."""
    topics, found = lexicon(name).findings, products()[name].findings[finding]
    if _OPEN.search(bare) and bare.endswith(f" {act}?"):
        return False  # "What time do you arrive?"
    said = frozenset(s for s in stems(act) if finding in topics.strength.get(s, {})) - _ANY_DEED
    event = f"{act}s" in found.asks.split() and not found.asks.startswith(("how ", "whether ", "which "))
    if not said or event or said & _deeds(name, finding):
        return False
    by_name = said if any(act in (t, f"{t}s", t.removesuffix("s")) for t in _tokens(found.values)) else frozenset[str]()
    values = (frozenset(stems(value)) - by_name for value in found.values)
    return not any(value and value <= frozenset(stems(bare)) for value in values)


def _tokens(texts: Sequence[str]) -> list[str]:
    return TOKEN.findall(" ".join(texts).lower())


@lru_cache(maxsize=1 << 10)
def _deeds(name: str, finding: int) -> frozenset[str]:
    """The verbs of which a finding tells that somebody does or did them."""
    tokens = [t for text in _texts(products()[name].findings[finding]) for t in ("", *TOKEN.findall(text.lower()))]
    pairs = itertools.pairwise(tokens)
    return frozenset(s for before, t in pairs if _DONE.fullmatch(t) or _DOER.fullmatch(before) for s in stems(t))


def _texts(found: Finding) -> tuple[str, ...]:
    return (found.asks, *found.questions[:-3], *found.answers, *found.values, *found.cues, *found.more)


_OPEN = re.compile(rf"^(?:(?:at|in|on|by|from|for|with) )?{WH}\b")
_AWAY = frozenset(stems("up down off out on"))
_HOW_IT_DOES = re.compile(r"how the ([a-z ]+?) ([a-z]+?)s?(?: (?:when|while|meanwhile|beside)\b.*)?$")


def _of_another(name: str, finding: int, bare: str) -> bool:
    """Whether the verb is all that it has of a finding that tells how one thing does, and it is said of another."""
    found = products()[name].findings[finding]
    asks = _HOW_IT_DOES.match(found.asks)
    if not asks or _OPEN.match(bare):
        return False
    topics = lexicon(name).findings
    said = (s for s in stems(bare) if finding in topics.strength.get(s, {}) and s not in topics.background)
    verb = frozenset(stems(asks[2]))
    return frozenset(said) - _AWAY <= verb


_YOU_DO = re.compile(
    r"^what happens\b|^(?:do|did|have|had) you (?!ever (?:see|hear|notice)|see|hear|feel|smell|notice|get|have|find)"
)
_WHERE = re.compile(r" (?:on|at|after|before|during|in|by|from|with|since|while|when|near|beside) ")


def _only_the_occasion(name: str, finding: int, bare: str) -> bool:
    """Whether it asks what the customer does, and all that it has of a finding is where or when it is so."""
    if not _YOU_DO.match(bare):
        return False
    found, background = products()[name].findings[finding], lexicon(name).findings.background
    head, *rest = _WHERE.split(found.asks)
    own = frozenset(stems(" ".join((head, *found.cues[:-1], *found.values, *found.answers))))
    said = frozenset(s for s in stems(bare) if finding in lexicon(name).findings.strength.get(s, {})) - background
    return bool(rest) and bool(said) and any(map(weighs, said)) and not said & own


_OF = re.compile(r"^what(?:'s| is) the [a-z]+ of (?:the|your) ([a-z]+)\??$")


def _owner(name: str, finding: int, bare: str) -> bool:
    """Whether it asks for what is known of one thing, but of a thing that other findings tell of."""
    topics, told = lexicon(name).findings, lexicon(name).told[finding]
    owners = (s for m in _OF.finditer(bare) for s in stems(m[1]) if weighs(s) and s not in topics.background)
    return any(s in topics.strength and finding not in topics.strength[s] and s not in told for s in owners)
