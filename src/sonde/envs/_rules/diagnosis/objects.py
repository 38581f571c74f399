"""The things to which a suggestion says to do something, and whether the fix does it to them.

Ours. A suggestion is read as verbs, each with the noun that follows it. The noun must be a thing of the fix:

    Wash the hose in cold water.           a thing of another fix
    Warm the milk with a hair dryer.       a thing of which nothing is known
    Choose the jam setting.                what went wrong, done on purpose
    Delete our app. Wash the mower.        the product itself, of which the fix means a part
"""

from __future__ import annotations

import re
from functools import lru_cache

from .forms import LEAD, WHEN
from .products import Cause, products
from .topics import lexicon
from .vocabulary import TOKEN, stems, weighs, words

SURE = 3.0
"""Points of a suggestion that may name its thing by a word of which nothing is known."""
_ASKED = (
    r"(?:(?:could|can|would|will) you |you(?:'ll| should| could| can| may| might| need to| have to| must| want to) "
    r"|(?:i|we)(?:'d| would| will|'ll)? (?:suggest|advise|recommend) (?:you |that you )?|try to |let's |to "
    r"|(?:our|the|an?|your) (?:workshop|technician|electrician|mechanic|engineer|shop|service|doctor|garage|dealer"
    r"|luthier) (?:can |will |should |must )?)?"
)
_DEED = re.compile(
    rf"{_ASKED}(?:(?:please|kindly|just|simply|now|then|also|once|first|and) )*([a-z]+) "
    r"(?:(?:on|off|out|up|down|in|away|back) )?"
    r"((?:the|your|its|this|that|these|those|both|all|a|an|our|any) [a-z0-9' -]+|(?<=choose |select )[a-z]+\b)"
)
_CLAUSE = re.compile(
    r"[,;:.!?]| (?:and|then|or|but|until|till|so that|so|because|if|when|while|before|after|which|that) "
)
_MEASURE = re.compile(
    r"\ba (?:drop|bit|piece|touch|pair|set|spoon|spoonful|packet|bottle|layer|dab|film) of (?:the )?|\banother "
)
_END = re.compile(
    r" (?:in|on|onto|into|at|by|from|of|to|for|with|without|under|over|above|below|behind|beside|near|through"
    r"|out|off|up|down|back|away|again|anew|together|at once|one size|underneath|sideways|that's|\w+wards?|\w{2,}ly|as"
    r"|a little|a bit|all|half|twice|once|fully|first|now|two|three|that|which|who)\b.*"
)


@lru_cache(maxsize=1 << 12)
def deeds(text: str) -> tuple[tuple[str, str], ...]:
    """The verbs of a suggestion, each with the thing to which something is to be done."""
    told = _LEFT_ALONE.sub("", WHEN.sub("", LEAD.sub("", text)))
    found = (_DEED.match(_MEASURE.sub("a ", LEAD.sub("", c.strip()))) for c in _CLAUSE.split(told))
    return tuple((verb, _END.sub("", m[2])) for m in found if m and (verb := _act(m[1])))


_LEFT_ALONE = re.compile(r"\b(?:leave|keep|let) [^,;:.]*\b(?:alone|be|aside|as (?:it|they)|where (?:it|they))\b")
"""What is not done to a thing."""


def _act(verb: str) -> str:
    """A verb without its ending; empty if it is none that is known."""
    return next((v for v in (verb, verb.removesuffix("s")) if v in words().act), "")


def own_words(found: Cause) -> str:
    """All that is said of what the fix is, in lower case."""
    return " ".join((found.fix_what, *found.fix_cues, *found.suggestions)).lower()


def other_object(name: str, cause: int, verb: str, noun: str, points: float) -> bool:
    """Whether it is done to a thing of another fix, or to one of which nothing is known."""
    found, fixes = products()[name].causes[cause], lexicon(name).fixes
    heavy = [s for s in stems(noun) if weighs(s)] or [s for s in stems(noun) if s not in _ITSELF]
    if verb == "give" or all(s in fixes.background for s in heavy):
        others = verb not in ("leave", "keep", "hold", "give", "let")
        return others and (_the_only(name, found, noun) or _instead_of(name, found, verb, stems(noun)))
    if not any(cause in fixes.strength.get(s, {}) for s in heavy):
        return points < SURE or any(fixes.strength.get(s) or not _points_to(name, cause, s) for s in heavy)
    head = heavy[-1]
    strange = not any(head in row for row in (fixes.strength, lexicon(name).findings.strength, fixes.background))
    return (strange and weighs(head) and points < SURE) or _the_wrong(found, verb, heavy)


_PARTWISE = frozenset(
    TOKEN.findall("wash clean rinse wipe brush soak dry oil scrub vacuum replace remove delete empty")
)
"""What is rarely done to all of a product."""
_ITSELF = frozenset(stems("machine device unit product appliance"))


def _instead_of(name: str, found: Cause, verb: str, product: list[str]) -> bool:
    """Whether the fix does this to a thing, and not to the product: "Turn the amplifier fully up."."""
    background = lexicon(name).fixes.background
    if not product or not background.issuperset(product):
        return False
    if verb in _PARTWISE and not background & frozenset(stems(f"{own_words(found)} {found.what}")):
        return not found.what.startswith(("it ", "its "))
    told = [d for t in (found.fix_what, *found.fix_cues, *found.suggestions) for d in deeds(t.lower())]
    own = [frozenset(stems(noun)) for act, noun in told if act == verb]
    return bool(own) and not any(noun & frozenset(product) or noun <= background | _ITSELF for noun in own)


def _points_to(name: str, cause: int, stem: str) -> bool:
    """Whether a thing can be asked about, and what is known of it tells much of this cause."""
    rows = products()[name].causes
    told = [f for f, found in enumerate(products()[name].findings) if stem in stems(found.asks)]
    mine, others = rows[cause].likelihood, [row.likelihood for i, row in enumerate(rows) if i != cause]
    return any(
        p - sum(other[f][v] for other in others) / len(others) > _TELLING for f in told for v, p in enumerate(mine[f])
    )


_TELLING = 0.4
"""By how much likelier a value is with a cause than with the others if its finding points to the cause."""
_CHOOSES = frozenset(TOKEN.findall("choose select pick use enable activate"))


def _the_wrong(found: Cause, verb: str, heavy: list[str]) -> bool:
    """Whether it says to choose what is wrong, of which the fix does not speak."""
    own = frozenset(stems(own_words(found)))
    more = found.more if verb in ("choose", "select") else ()
    wrong = frozenset(stems(" ".join((found.what, *found.cues, *more))))
    return verb in _CHOOSES and bool(heavy) and not own & frozenset(heavy) and bool(wrong & frozenset(heavy))


def _the_only(name: str, found: Cause, noun: str) -> bool:
    """Whether one thing is named, the product, and the fix is about several of its kind."""
    background = lexicon(name).fixes.background
    own = frozenset(TOKEN.findall(own_words(found)))
    said = [t for t in TOKEN.findall(noun) if stems(t)]
    return len(said) == 1 and stems(said[0])[0] in background and said[0] not in own and f"{said[0]}s" in own
