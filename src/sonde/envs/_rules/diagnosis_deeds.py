"""Suggestions that share words with a fix and tell the customer to do another thing.

Ours. Each guard is one way in which this happens; any of them makes the suggestion doubtful.

    Wash the hose in cold water.             to another thing
    Choose the jam setting.                  what went wrong, done on purpose
    Uninstall the app and install it again.  undone again
    Delete our app.                          to the product itself
    Clean the lens.                          two words that the fix has, which it never joins
"""

from __future__ import annotations

import re
from functools import lru_cache

from .diagnosis import Cause, products
from .diagnosis_sentences import LEAD, WHEN
from .diagnosis_words import TOKEN, choose, lexicon, stems, weighs, words

_ANY_ACT = frozenset((
    "fix", "point", "keep", "hold", "repair", "have", "let", "post", "set", "use", "do", "get", "give", "go",
    "start", "run", "try", "wait", "put", "make", "perform", "order", "pick", "bring", "switch", "save", "stop",
    "press", "pull", "push", "turn",
))  # fmt: skip
"""Verbs that may stand for most others, or seldom are verbs."""
_AMOUNT = re.compile(
    r"\b(?:use|add|take|pour|put|buy|choose|with|an?) (?:in )?(?:an? (?:bit|little) )?"
    r"(more|less|fewer|longer|shorter|bigger|larger)\b"
)
"""A suggestion of another amount or size, which only a fix that says the same has."""
_BEFORE_THAT = re.compile(r"\b(?:before|after|while|when|until|once|by) (?:you |it |\w+ing\b)[^,.;?!]*")
"""What is done at another time than what is suggested."""


def does(name: str, cause: int, text: str, *, surely: bool) -> bool:
    """Whether a fix does what one of the verbs of a suggestion says, if it has any, and by as much; `surely` if the
    verb is not needed to know it."""
    own = lexicon(name).fixes.strength
    found = products()[name].causes[cause]
    said = " ".join((found.fix_what, *found.fix_cues, *found.suggestions))
    if (amount := _AMOUNT.search(text)) and amount[1] not in TOKEN.findall(said.lower()):
        return False
    acts = [t for t in TOKEN.findall(_BEFORE_THAT.sub("", text)) if t in words().act and stems(t)]
    return surely or not set(acts) - _ANY_ACT or any(cause in own.get(s, {}) for t in acts for s in stems(t))


def another_deed(name: str, cause: int, text: str) -> bool:
    """Whether a suggestion, in lower case, is to do something else than the fix of this cause."""
    found, points = products()[name].causes[cause], choose(text, lexicon(name).fixes).points
    return _undone(text, found) or any(
        _other_object(name, cause, verb, noun, points) or _never_so(found, text, verb) for verb, noun in _deeds(text)
    )


_SURE = 3.0
"""Points of a suggestion that may name its thing by a word of which nothing is known."""


_ASKED = (
    r"(?:(?:could|can|would|will) you |you(?:'ll| should| could| can| may| might| need to| have to| must| want to) "
    r"|(?:i|we)(?:'d| would| will|'ll)? (?:suggest|advise|recommend) (?:you |that you )?|try to |let's |to )?"
)
_DEED = re.compile(
    rf"{_ASKED}(?:(?:please|kindly|just|simply|now|then|also|once|first|and) )*([a-z]+) "
    r"(?:(?:on|off|out|up|down|in|away|back) )?"
    r"((?:the|your|its|this|that|these|those|both|all|a|an|our|any) [a-z0-9' -]+)"
)
_CLAUSE = re.compile(r"[,;:.!?]| (?:and|then|or|but|until|till|so|because|if|when|while|before|after|which|that) ")
_END = re.compile(
    r" (?:in|on|onto|into|at|by|from|of|to|for|with|without|under|over|above|below|behind|beside|near|through"
    r"|out|off|up|down|back|away|again|anew|as|a little|a bit|all|half|twice|once|fully|first|now)\b.*"
)


@lru_cache(maxsize=1 << 12)
def _deeds(text: str) -> tuple[tuple[str, str], ...]:
    """The verbs of a suggestion, each with the thing to which something is to be done."""
    clauses = (LEAD.sub("", c.strip()) for c in _CLAUSE.split(WHEN.sub("", LEAD.sub("", text))))
    found = (_DEED.match(clause) for clause in clauses)
    return tuple((m[1], _END.sub("", m[2])) for m in found if m and m[1] in words().act)


_KEEPS = frozenset(("leave", "keep", "hold", "give"))


def _other_object(name: str, cause: int, verb: str, noun: str, points: float) -> bool:
    """Whether it is done to a thing of another fix, or to one of which nothing is known."""
    found, fixes = products()[name].causes[cause], lexicon(name).fixes
    heavy = [s for s in stems(noun) if weighs(s)]
    if verb in _KEEPS or all(s in fixes.background for s in heavy):
        return verb not in _KEEPS and _the_only(name, found, noun)
    if not any(cause in fixes.strength.get(s, {}) for s in heavy):
        return points < _SURE or any(fixes.strength.get(s) for s in heavy)
    return _the_wrong(found, verb, heavy)


_CHOOSES = frozenset(TOKEN.findall("choose select pick use enable activate"))


def _the_wrong(found: Cause, verb: str, heavy: list[str]) -> bool:
    """Whether it says to choose what is wrong, of which the fix does not speak."""
    own = frozenset(stems(_own(found)))
    wrong = frozenset(stems(" ".join((found.what, *found.cues))))
    return verb in _CHOOSES and bool(heavy) and not own & frozenset(heavy) and bool(wrong & frozenset(heavy))


def _the_only(name: str, found: Cause, noun: str) -> bool:
    """Whether one thing is named, the product, and the fix is about several of its kind."""
    background = lexicon(name).fixes.background
    own = frozenset(TOKEN.findall(_own(found)))
    said = [t for t in TOKEN.findall(noun) if stems(t)]
    return len(said) == 1 and stems(said[0])[0] in background and said[0] not in own and f"{said[0]}s" in own


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


_BACK = re.compile(
    r"\b(?:reinstall\w*|(?:and|then) (?:\w+ )?(?:install|download|add|put|plug|insert|connect|set)\w*\b.*"
    r"\b(?:again|back|anew|afresh))\b"
)
_AGAIN = re.compile(
    r"\b(?:again|back|anew|afresh|once more|re(?:install|start|connect|set)\w*|install\w*|download\w*)\b"
)


def _undone(text: str, found: Cause) -> bool:
    """Whether something is to be undone at once, and the fix does not say so."""
    return bool(_BACK.search(text)) and not _AGAIN.search(_own(found))


_TURNS = frozenset(stems("turn set switch move put change use up down on off out"))
"""Verbs for which another one may stand: "Lower the brightness."."""


def _never_so(found: Cause, text: str, verb: str) -> bool:
    """Whether a verb and one word more are all that is said, and the fix never joins them: "Clean the lens."."""
    said, act = frozenset(stems(text)), frozenset(stems(verb))
    own = [frozenset(stems(t)) for t in (found.fix_what, *found.fix_cues, *found.suggestions)]
    joined = any(said <= t or t == act or (said - act <= t <= said | _TURNS and t & _TURNS) for t in own)
    return len(said) == 2 and act < said and not joined


def _own(found: Cause) -> str:
    return " ".join((found.fix_what, *found.fix_cues, *found.suggestions)).lower()
