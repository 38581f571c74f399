"""Suggestions that share words with a fix and tell the customer to do another thing.

Ours. Each guard is one way in which this happens; any of them makes the suggestion doubtful.

    Wash the hose in cold water.               to another thing (`objects.py`)
    Let the children rinse it.                 a person of whom the fix does not speak
    Replace the lamp's plug.                   a part of which it does not speak
    Press test.                                only what the fix says to do after the main thing
    Clean the lens.                            two words that the fix has, which it never joins
    Would you like a mirror?                   a thing of which it does not speak is offered
"""

from __future__ import annotations

import re

from .objects import deeds, other_object
from .products import Cause, products
from .things import noun_of
from .told import PEOPLE
from .topics import choose, lexicon
from .vocabulary import TOKEN, stems, weighs, words

_ANY_ACT = frozenset((
    "fix", "point", "keep", "hold", "repair", "have", "let", "post", "set", "use", "do", "get", "give", "go",
    "start", "run", "try", "wait", "put", "make", "perform", "order", "pick", "bring", "switch", "save", "stop",
    "press", "pull", "push", "turn", "swipe", "come", "rest",
))  # fmt: skip
"""Verbs that may stand for most others, or seldom are verbs."""
_AMOUNT = re.compile(
    r"\b(?:use|add|take|pour|put|buy|choose|with|an?) (?:in )?(?:an? (?:bit|little) )?"
    r"(more|less|fewer|longer|shorter|bigger|larger)\b"
)
"""A suggestion of another amount or size, which only a fix that says the same has."""
_BEFORE_THAT = re.compile(r"\b(?:before|after|while|when|until|once|by) (?:you |it |\w+ing\b)[^,.;?!]*")
"""What is done at another time than what is suggested."""


_FOR_GOOD = frozenset(TOKEN.findall("replace exchange renew swap delete cut paint sell buy return"))
"""What is not done in the place of another deed: "Replace the switch." where it only sticks."""


def does(name: str, cause: int, text: str, *, surely: bool) -> bool:
    """Whether a fix does what one of the verbs of a suggestion says, if it has any, and by as much; `surely` if the
    verb is not needed to know it."""
    own = lexicon(name).fixes.strength
    found = products()[name].causes[cause]
    said = " ".join((found.fix_what, *found.fix_cues, *found.suggestions))
    if (amount := _AMOUNT.search(text)) and amount[1] not in TOKEN.findall(said.lower()):
        return False
    other = deeds(text)[0][0] if deeds(text) else ""
    if other in _FOR_GOOD and not any(cause in own.get(s, {}) for s in stems(other)):
        return False
    acts = [t for t in TOKEN.findall(_BEFORE_THAT.sub("", text)) if t in words().act and stems(t)]
    return surely or not set(acts) - _ANY_ACT or any(cause in own.get(s, {}) for t in acts for s in stems(t))


def is_any_act(verb: str) -> bool:
    """Whether a verb says too little to tell a fix from another."""
    return verb in _ANY_ACT


def another_deed(name: str, cause: int, text: str) -> bool:
    """Whether a suggestion, in lower case, is to do something else than the fix of this cause."""
    found, points = products()[name].causes[cause], choose(text, lexicon(name).fixes).points
    if _named_beside(name, cause, text) or _offered(found, text):
        return True
    return any(
        other_object(name, cause, verb, noun, points) or _never_so(found, text, verb) for verb, noun in deeds(text)
    )


_OFFER = re.compile(r"\bwould you (?:like|want|care for) (?:an?|some|another|one of|our) ([a-z' -]+)")


def _offered(found: Cause, text: str) -> bool:
    """Whether it offers a thing of which the fix does not speak: "Would you like a mirror with a lamp?"."""
    offer = _OFFER.search(text)
    noun = stems(" ".join(noun_of(offer[1])[0])) if offer else []
    return bool(noun) and noun[-1] not in stems(" ".join((found.fix_what, *found.fix_cues, *found.suggestions)))


_PERSON = re.compile(rf"\b{PEOPLE}\b")
_MADE_OF = re.compile(r"\b(?!out|help)[a-z]+ of (?:the |your )?([a-z-]+)")


_OWNER = re.compile(r"\b(?!it's|that's|there's|here's|let's)([a-z]+)'s ([a-z]+)")


_PARTS = frozenset(stems("plug lamp cable lid button cover battery"))


def _named_beside(name: str, cause: int, text: str) -> bool:
    """Whether a person takes part in it, or a thing of another fix, of which this fix does not speak."""
    fixes = lexicon(name).fixes.strength
    persons = (s for m in _PERSON.finditer(text) for s in stems(m[0]))
    things = (s for m in _MADE_OF.finditer(text) for s in stems(m[1]) if weighs(s) and fixes.get(s))
    owned = ((stems(m[1]), stems(m[2])) for m in _OWNER.finditer(text))
    owners = [s for one, two in owned for s in (*filter(weighs, one), *(t for t in two if t in _PARTS))]
    background = lexicon(name).fixes.background
    return any(cause not in fixes.get(s, {}) and s not in background for s in (*persons, *things, *owners))


_STEP = re.compile(r",? and |, |,? then ")


def a_later_step(name: str, cause: int, text: str) -> bool:
    """Whether all that it has of the fix is what comes after the main thing: "Press test."."""
    found = products()[name].causes[cause]
    first, *rest = _STEP.split(found.fix_what)
    main = frozenset(stems(" ".join((first, found.what, *found.cues, *found.fix_cues[:-1], *found.more))))
    later = frozenset(stems(" ".join(rest))) - main
    said = frozenset(stems(text))
    if said & later and not said & main:
        return True
    own = [frozenset(stems(t)) for t in (first, found.what, *found.fix_cues[:-1])]
    if not said or said & own[0]:
        return False
    return not any(cue <= said for cue in own[2:]) and any(said <= frozenset(stems(r)) for r in rest)


_TURNS = frozenset(stems("turn set switch move put change use up down on off out"))
"""Verbs for which another one may stand: "Lower the brightness."."""


def _never_so(found: Cause, text: str, verb: str) -> bool:
    """Whether a verb and one word more are all that is said, and the fix never joins them: "Clean the lens."."""
    said, act = frozenset(stems(text)), frozenset(stems(verb))
    own = [frozenset(stems(t)) for t in (found.fix_what, *found.fix_cues, *found.suggestions)]
    joined = any(said <= t or t == act or (said - act <= t <= said | _TURNS and t & _TURNS) for t in own)
    return len(said) == 2 and act < said and not joined
