"""Questions beside the point: they name a thing that can be asked about, and ask something else.

Ours. Each guard is one way in which this happens; any of them leaves the question without an answer.

    Is the milk on the inner wall?   about another thing
    Is the drive blue?               the colour of another thing
    Did you whistle just now?        about the customer, not the product
    What strings do you use?         which of many, and nobody told
    Is the tree a birch?             what kind of thing it is, and nobody told
    Is the plug yours?               what is known of nothing
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from .diagnosis import Finding, products
from .diagnosis_frames import NOT_KNOWN
from .diagnosis_occasions import all_of_them
from .diagnosis_senses import other_sense
from .diagnosis_sentences import AUX, LEAD, TAG, WH, WHEN
from .diagnosis_words import TOKEN, choose, lexicon, stems, weighs, words


def beside(name: str, finding: int, text: str) -> bool:
    """Whether a question, in lower case, is not about what is known of this finding."""
    bare = LEAD.sub("", WHEN.sub("", TAG.sub("?", text) if "," in text else text))
    return any(guard(name, finding, bare) for guard in _GUARDS) or _not_the_same(name, finding, text)


def _explains(name: str, finding: int, said: str) -> bool:
    """Whether every word that says something is of the finding, or of the product."""
    lex = lexicon(name)
    topics, told = lex.findings, lex.told[finding]
    return all(finding in topics.strength.get(s, {}) or s in told or s in topics.background for s in stems(said))


def _values(name: str, finding: int) -> frozenset[str]:
    return frozenset(stems(" ".join(products()[name].findings[finding].values)))


# --- what nobody knows -----------------------------------------------------------------------------------------------


def _unknown(name: str, finding: int, bare: str) -> bool:
    """Whether it asks for what nobody knows of anything, such as an owner, unless a value tells it."""
    odd = NOT_KNOWN.search(bare)
    if not odd:
        return False
    if odd[0].startswith(("how", "why")):
        return True
    said = bare[odd.start() :] if odd[0].startswith("made") else odd[0]
    return not _values(name, finding) & frozenset(stems(said))


# --- the customer ----------------------------------------------------------------------------------------------------

_YOU_DO = re.compile(
    r"\b(?:do|did|have|had|can) (?:you|he|she|they|i|we) (?:\w+ly |ever |also |already |just |still |even |always "
    r"|last "
    r"|first |then |usually |normally )?([a-z]+)"
    r"( (?:it|them|the|your|any|some|a|an)\b)?"
)
_OURS = re.compile(r"\b(?:i|i'm|i've|my|me|we|our|you|your)\b")
_SENSES = frozenset(
    TOKEN.findall(
        "see saw seen hear heard feel felt smell smelled notice noticed have has had get got find found know look"
        " looked"
        " check checked tell say said mean think remember happen happened need want been try tried keep kept set put"
        " use"
        " used go be is one any a an the it them that this some your you to on all ever already just still even also"
        " recently lately perhaps not only both no more much many other another new old take do done let confirm spot"
    )
)
"""What may follow "do you", whatever is asked about."""


def _own_doing(name: str, finding: int, bare: str) -> bool:
    """Whether it asks what the customer does, and that is not known: "Did you hurt your hand?"."""
    acts = [d for d in _YOU_DO.finditer(bare) if d[1] not in _SENSES]
    found = products()[name].findings[finding]
    ours, told, values = _of_customer(found), _all_said(found), _values(name, finding)
    return any(
        not (ours or d[2]) or not _explains(name, finding, d[1]) or _only_a_state(d[1], values, told)
        if stems(d[1])
        else d[1] not in TOKEN.findall(told)
        for d in acts
    )


def _only_a_state(verb: str, values: frozenset[str], told: str) -> bool:
    """Whether a verb is known as what something is like, and not as what is done: "Have you cleaned the filter?"."""
    done = re.search(rf"\b(?:i|you|we)(?:'ve|'d)? (?:\w+ )?{verb[:4]}", told)
    states = {s for s in stems(verb) if s in values and any(s in scale for scale in words().scales)}
    return verb.endswith("ed") and bool(states) and not done


def _all_said(found: Finding) -> str:
    return ". ".join((found.asks, *found.questions[:-3], *found.answers, *found.cues, *found.more)).lower()


def _of_customer(found: Finding) -> bool:
    """Whether a finding tells something of what the customer does."""
    return bool(_OURS.search(" ".join((found.asks, *found.questions[:-3], *found.answers)).lower()))


_YOUR = re.compile(r"\byour (?:own |old |new |other )?([a-z'-]+)(?: ([a-z'-]+))?")
_AT_HAND = frozenset(
    TOKEN.findall("finger thumb nail hand hands ear ears eye eyes knee foot end own home house place left right")
)


def _owned(name: str, finding: int, bare: str) -> bool:
    """Whether it names a thing of the customer's of which nothing is known: "Did you drop your computer?"."""
    topics = lexicon(name).findings
    product = frozenset(stems(products()[name].product))
    for found in _YOUR.finditer(bare):
        said = stems(found[0])
        known = any(finding in topics.strength.get(s, {}) or s in product for s in said)
        if not known and any(map(weighs, said)) and found[1] not in _AT_HAND:
            return True
    return False


_OPEN = re.compile(
    r"(?:(?:in|on|at|by|for|since|to|from|with) )?(?:(?:what|which|where|whose|when)\b"
    r"|how \w+ do you\b)(?!.*(?:\bor\b|,))"
)


def _presumes(name: str, finding: int, bare: str) -> bool:
    """Whether an open question takes for granted what is to be told: "Which jeans do you wear?"."""
    asks = frozenset(stems(products()[name].findings[finding].asks))
    named = frozenset(s for s in _values(name, finding) - asks if weighs(s))
    return bool(_OPEN.match(bare)) and bool(named & frozenset(stems(bare)))


_PERSON = re.compile(
    r"\b((?:neighbou?r|friend|colleague|boss|wife|husband|mother|father|brother|sister|son|daughter|aunt|uncle|guest"
    r"|cousin|landlord)s?)'s? [a-z]|\b(?:the|your) (other|second|old|previous|next) ([a-z-]+)"
)


def _others_own(name: str, finding: int, bare: str) -> bool:
    """Whether it is about somebody else's thing, or another product: "Does your neighbour's cooker burn?"."""
    product = frozenset(stems(products()[name].product))
    for found in _PERSON.finditer(bare):
        if found[1] or product & frozenset(stems(found[3])):
            own = lexicon(name).findings.strength
            if not any(finding in own.get(s, {}) for s in stems(found[1] or found[2])):
                return True
    return False


_WHICH = re.compile(r"(?:what|which) (?:kind of |sort of |type of )?([a-z' -]+?) (?:do|did|have|will) you ([a-z]+)")
_USES = re.compile(r"\b(?:you|i|we) (?:use|put|take|fill)\b")
_PERCEIVED = frozenset(TOKEN.findall("see hear feel smell notice find get read observe"))


def _chosen(name: str, finding: int, bare: str) -> bool:
    """Whether it asks which of several things the customer uses, and that is not told: "What strings do you use?"."""
    asked, found, background = _WHICH.match(bare), products()[name].findings[finding], lexicon(name).findings.background
    if not asked or asked[2] in _PERCEIVED:
        return False
    noun = frozenset(stems(asked[1])) - background
    if asked[2] == "use" and not noun & frozenset(stems(found.asks)) and not _USES.search(_all_said(found)):
        return True
    own = frozenset(stems(" ".join((found.asks, *found.questions[:-3], *found.answers, *found.cues, *found.values))))
    return any(weighs(s) and s not in own for s in noun) or not (stems(asked[2]) and _explains(name, finding, asked[2]))


# --- things ----------------------------------------------------------------------------------------------------------

_SUBJECT = re.compile(
    rf"^(?:so |and |but )?(?:{WH}\b[a-z' -]*? )??(?:is|are|was|were|has|have|does|do|did|will|can)(?:n't)? (?:still )?"
    r"(?:the|your|a|an|its|all|both|any of the) ([a-z0-9' -]+)"
)
_WHICH_DOES = re.compile(
    r"(?:which|what) (?:kind of |sort of |type of )?((?!(?:is|are|was|were|do|does|did|has|have|had|can|will"
    r"|would)\b)[a-z' -]+)"
)
_AFTER_NOUN = frozenset(
    TOKEN.findall(
        "of in on at by with from to for near beside under over above behind between inside outside around against"
        " into onto"
        " that which who when while if than as or and do does did is are was were been being not still ever already"
        " also"
        " just now right always only really there you it they all both has have had can will would go goes get gets"
        " come comes stay"
        " stays keep keeps occur occurs happen happens"
    )
)
_BLANK = frozenset(stems("state condition position status reaction behaviour situation result"))
_PARTS = frozenset(stems("button key display screen symbol plug power lamp technician workshop"))
_PLACED = frozenset(TOKEN.findall("in on at beside near next behind under above inside outside between"))
_PLACE = re.compile(r"^where|stand|place|around|carry")


@lru_cache(maxsize=1 << 10)
def _named(name: str, finding: int) -> frozenset[str]:
    """The words of a finding, without those that only the customer's answers have."""
    found = products()[name].findings[finding]
    return frozenset(stems(" ".join((found.asks, *found.cues, *found.questions[:-3], *found.values, *found.more))))


def _other_subject(name: str, finding: int, bare: str) -> bool:
    """Whether the thing that it is about is no part of what is known: "Is the milk on the inner wall?"."""
    found = _SUBJECT.match(bare)
    noun, rest = _noun(found[1]) if found else ((), "")
    if len(noun) > 1 and not rest and bare.startswith(("is ", "are ", "was ", "were ")):
        noun = noun[:-1]  # the last word is said of it
    topics = lexicon(name).findings
    said = [s for s in stems(" ".join(noun)) if (weighs(s) or s in _PARTS) and s not in _BLANK]
    own = [s for s in said if s in _named(name, finding)]
    if not said or own:
        return bool(own) and not re.search(r"^\w+ an? ", bare) and _shown(name, finding, own)
    if not all(s in topics.background for s in said):
        return True
    asks = products()[name].findings[finding].asks
    return rest in _PLACED and bare.startswith(("is ", "are ", "was ", "were ")) and not _PLACE.search(asks)


def _shown(name: str, finding: int, own: Sequence[str]) -> bool:
    """Whether something is only named as what may be shown: "Is the door open?" where the picture of one may be lit."""
    asks = products()[name].findings[finding].asks
    return bool(_SIGN.search(asks)) and frozenset(own) <= _values(name, finding) - frozenset(stems(asks))


_SIGN = re.compile(r"\b(?:symbol|picture|icon|sign|lit|letter)\b")


def _noun(said: str) -> tuple[tuple[str, ...], str]:
    """The words of a noun, and the one after it."""
    tokens = TOKEN.findall(said)
    end = next((i for i, token in enumerate(tokens) if token in _AFTER_NOUN), len(tokens))
    return tuple(tokens[:end]), tokens[end] if end < len(tokens) else ""


def _other_kind(name: str, finding: int, bare: str) -> bool:
    """Whether it asks which one of other things: "Which electrician put in the box?"."""
    found = _WHICH_DOES.match(bare)
    first = "".join(_noun(found[1])[0][:1]) if found else ""
    heavy = any((weighs(s) or s in ("technician", "worker")) and s not in _BLANK for s in stems(first))
    return heavy and not _explains(name, finding, first)


_PREPOSITION = re.compile(r"\b(?:of|on|in|at|by|beside|under|with|when|against|behind|from|for|to|that|where|what)\b")
_COLOURS = "colour red green blue yellow white black brown orange grey silver pink purple amber"
_POINTS = re.compile(r"\b(?:it|its|they|them|one|ones|there|you see)\b")


def _coloured(name: str, finding: int, bare: str) -> bool:
    """Whether it asks for a colour, and not that of the thing of which it is known: "Is the drive blue?"."""
    colours, said = frozenset(stems(_COLOURS)), frozenset(stems(bare))
    if not said & colours or _POINTS.search(bare):
        return False
    product = products()[name]
    found, other = product.findings[finding], colours | frozenset(stems(product.product))
    pieces = (frozenset(stems(piece)) - other for piece in _PREPOSITION.split(found.asks))
    head = next(filter(None, pieces), frozenset[str]())
    own = frozenset(
        s for s, row in lexicon(name).findings.strength.items() if row.get(finding, 0.0) == sum(row.values())
    )
    return not said & (head | own - other)


_MODIFIED = re.compile(r"(?:is|are|was|were) (?:the|your) ([a-z-]+) ([a-z-]+)")


def _other_such(name: str, finding: int, bare: str) -> bool:
    """Whether a thing is not the one that is known, but another of its kind: "Is the kitchen door shut?"."""
    strength, other = lexicon(name).findings.strength, lexicon(name).causes.strength
    found = _MODIFIED.match(bare)
    first, second = (stems(found[1]), stems(found[2])) if found else ([], [])
    odd = (
        first
        and weighs(first[0])
        and first[0] not in {**strength, **other}
        and found
        and not _explains(name, finding, found[1])
    )
    return bool(odd and second and finding in strength.get(second[0], {}))


_HAS = re.compile(r"(?:(?:has|have) (?:the|your|it) [a-z ]*?got|(?:does|do) (?:the|your|it) [a-z ]*?have) ")
_WHETHER = re.compile(
    r"\b(?:no|none|not|yes|nothing|nobody|absent|lit|dark|empty|clear|clean|some|any|many|few|off|on)\b"
)


def _has(name: str, finding: int, bare: str) -> bool:
    """Whether it asks if a thing is there, and something else is told of it: "Has the van got winter tyres?"."""
    found = _HAS.match(bare)
    values = " ".join(products()[name].findings[finding].values)
    if not found or _WHETHER.search(values):
        return False
    asked = frozenset(stems(bare[found.end() :]))
    return not asked <= lexicon(name).findings.background and not asked & _values(name, finding)


_EVENT = re.compile(r"(?:did|has|have|had) (?:the|your|its|an?|one of the) ([a-z' -]+)\??$")


_SAY = frozenset(TOKEN.findall("up down on off time say show tell mention promise announce"))


def _other_event(name: str, finding: int, bare: str) -> bool:
    """Whether it asks what happened to a thing, and nothing is known of that: "Did the dish break?"."""
    found = _EVENT.match(bare)
    noun, rest = _noun(found[1]) if found else ((), "")
    last = found[1].split()[-1] if found and rest else ""
    verb = last if (found and " been " in found[1]) or len(noun) < 2 else noun[-1]
    return verb not in _SAY and not _explains(name, finding, verb)


_IS_A = re.compile(r"(?:is|are|was|were) (?:the|your|its|that|this) ([a-z'-]+) an? ([a-z' -]+)\??$")


def _called(name: str, finding: int, bare: str) -> bool:
    """Whether it asks what kind of thing something is, and that is not told: "Is the tree a birch?"."""
    found = _IS_A.match(bare)
    return bool(found) and not _values(name, finding) & frozenset(stems(found[2]))


_AND_ASKS = re.compile(rf",? (?:and|plus) (?:also |then )?(?=(?:{WH}|{AUX} (?:it|there|the|your|you|any|they|its))\b)")


def _another_question(name: str, finding: int, bare: str) -> bool:
    """Whether a second question is joined to it, about something else."""
    topics = lexicon(name).findings
    pieces = _AND_ASKS.split(bare)
    picks = [choose(piece, topics).target for piece in pieces] if len(pieces) > 1 else []
    own = [[s for s in stems(piece) if s not in topics.background] for piece in pieces]
    odd = any(said and not any(finding in topics.strength.get(s, {}) for s in said) for said in own)
    return any(pick >= 0 and pick != finding for pick in picks) or (bool(picks) and odd)


_OBJECT = re.compile(
    r"\b(?:show|have|got|use|get|give|name|list|make|need|take|want|own|contain|include)s? "
    r"(?:the |your |an? |any |some )?(?:same |different |right |wrong )?([a-z-]+)\?$"
)


def _other_object(name: str, finding: int, bare: str) -> bool:
    """Whether it ends with a thing of which nothing is told: "Do both lines show the same amount?"."""
    found, lex = _OBJECT.search(bare), lexicon(name)
    odd = (s for s in stems(found[1]) if weighs(s) and found[1] != "left") if found else ()
    known = lex.told[finding] | frozenset(stems(products()[name].product))
    return any(finding not in lex.findings.strength.get(s, {}) and s not in known for s in odd)


_OTHER = re.compile(r"\b(?:another|different|other|new|second) ([a-z-]+)")


def _not_the_same(name: str, finding: int, bare: str) -> bool:
    """Whether it names another thing where all is about the same one: "Does it charge with a different cable?"."""
    told = _all_said(products()[name].findings[finding])
    same = frozenset(stems(" ".join(re.findall(r"\bsame ([a-z-]+)", told))))
    other = frozenset(stems(" ".join(_OTHER.findall(told))))
    return any(frozenset(stems(m[1])) & (same - other) for m in _OTHER.finditer(bare))


_HOW_MANY = re.compile(r"\bhow many ([a-z-]+)(?: ([a-z-]+))?")


def _other_count(name: str, finding: int, bare: str) -> bool:
    """Whether it asks for a number of other things than those that are told: "How many zones do you have?"."""
    found = products()[name].findings[finding]
    asked = _HOW_MANY.search(bare)
    told = " ".join((_PREPOSITION.split(found.asks)[0], *found.values, *found.answers))
    counted = f"{told} {' '.join(' '.join(m) for m in _HOW_MANY.findall(_all_said(found)))}"
    said = stems(" ".join(filter(None, asked.groups()))) if asked else []
    return bool(said) and not frozenset(said) & frozenset(stems(counted))


_GUARDS = (
    all_of_them,
    other_sense,
    _other_count,
    _other_object,
    _another_question,
    _presumes,
    _unknown,
    _own_doing,
    _others_own,
    _owned,
    _chosen,
    _other_subject,
    _other_kind,
    _coloured,
    _called,
    _other_event,
    _other_such,
    _has,
)
