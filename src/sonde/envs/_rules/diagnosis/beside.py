"""Questions beside the point: they name a thing that can be asked about, and ask something else.

Ours. Each guard is one way in which this happens; any of them leaves the question without an answer. Those about
persons and times are in `persons.py`, those about another thing or property in `things.py`, those that only share a
word with it in `modifiers.py`, those that have a word of it in another sense in `senses.py`, those about all of its
kind in `occasions.py`; here are the rest.

    Is the milk on the inner wall?   about another thing
    Is the drive blue?               the colour of another thing
    Which jeans do you wear?         takes for granted what is to be told
    Is the plug yours?               what is known of nothing
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from .forms import AUX, LEAD, TAG, WH, WHEN, either, one_of
from .modifiers import only_answered, other_doer, other_modifier
from .occasions import all_of_them
from .persons import PERSONS
from .products import products
from .senses import other_sense
from .things import SUBJECT, THINGS, noun_of
from .told import all_said, explains, known, values
from .topics import choose, lexicon
from .vocabulary import TOKEN, stems, weighs


def beside(name: str, finding: int, text: str) -> bool:
    """Whether a question, in lower case, is not about what is known of this finding."""
    bare = LEAD.sub("", WHEN.sub("", TAG.sub("?", text) if "," in text else text))
    return any(guard(name, finding, bare) for guard in _GUARDS)


# --- what nobody knows -----------------------------------------------------------------------------------------------


_NOT_KNOWN = either(
    r"^why\b",
    "^"
    + one_of(
        "what's",
        "what is",
        "may i have",
        "tell me",
        "give me",
    )
    + r" your (?:\w+ )?(?:number|address|name|password|pin)[.?!]?$",
    r"^(?:should|must|shall|will there)\b",
    r"^(?:how|what|where|when|which)(?: \w+)? should (?!i know|we know)",
    r"^who (?:told|said|asked)\b",
    r"^who (?:is|was) (?!it|that|this|there|else|he|she)[a-z]+\??$",  # "Who is Anna?"
    r"\bthe (?:shape|design|style|texture|smell|taste|price) of\b",
    r"\bthe make\b(?! of)",  # a brand; not "the make of"
    r"^what make\b",
    r"\bwould you have \w",
    r"\bwhere (?:is|are|was|were|does|do) (?:it|they|the [a-z]+) (?:come )?from\b",
    r"\bwould you like (?!me )",
    r"\bdo you (?:like|care|mind|love) ",
    r"^how (?:do|can|could|should|would|might) (?:i|we|one)\b",
    r"^how does .*\b(?:form|work|come about)\b",
    r"what did (?:he|she|they) (?:do|say|think|want)\b",
    r"\b(?:a|two|three|some|many|few) (?:years?|months?|weeks?) ago\b",
    r"(?<! of)(?<!n't) yours\??$",  # "Is it yours?", not "that of yours"
    r"\b"
    + one_of(
        "mine",
        "whose (?!name)",
        "belongs?",
        "hurts?",
        "aches?",
        "painful|tired",
        "(?<!'d )(?<!would )like (?:to|best|most|it when)",  # a liking, not a wish
        r"(?<=you )likes?(?= (?:the|your|it)\b)",  # not "it looks like the ..."
        "loves?",
        "enjoys?",
        r"prefer\w*",
        "fond",
        "favou?rite",
        "beautiful|pretty|nice|lovely",
        "made (?:of|from|in|by)",
        "how deep",
        "depth|insured|waterproof",
        "good (?:at|with)",
        "better at",
        "interesting|important|necessary|famous|comfortable|pleased|satisfied|happy|afraid|married|rich",
        "tastes?",
        "delicious|costly|cheapest|worth",
    )
    + r"\b",
    r"^how (?:likely|sure|certain)\b",
    "^what makes you",
    r"\bwere you (?:told|asked|advised)",
    r"\bwould it take\b",
    r"\bdid it help",
    "^(?:is|was|would) it (?:be )?(?:too )?"
    + one_of(
        "hard|easy|safe|dangerous|ok|okay|possible|allowed|difficult|wise|better|best|late|early|normal",
        "common|fine|worth|useful|good|bad",
    )
    + r" (?:to|if (?:i|we|you))\b",
    r"\b(?:know how|tools|had) to\b",
    r"^what if (?:the|it|its|your|an?|there|one)\b",
    r"\bdo you (?:really |still |even )?"
    + one_of("need|want|miss|hate|trust|remember|recommend|understand")
    + r"\b(?! to)",
    r"\b(?:did|do|were|are) you (?:want|wish|plan|hope|going|planning|hoping) to (?!ask|know|say|tell)",
    r"\b(?:come|came|go|goes|belongs?) with\b",
    r"\bwhat do you think\b",
    r"\bwhat do you use .* for\??$",
    "^how did you find (?!out)",  # an opinion
    r"\bwhat does .* mean\b",
    r"^what is the (?:purpose|meaning|point|use|function|price|cost|reason) of\b",
    r"\b(?:allowed|designed|intended) to\b",
    r"^how (?:important|useful|easy|difficult|hard|nice|expensive|safe|dangerous)\b",
    r"^(?:can|could|may|might) (?:the|your|its?|they)\b.* be [a-z]+ed\b",  # "Can the seat be lowered?"
    r"^how (?:was|were) (?:the|your) \w+\??$",
    r"^what time is it\??$",
    r"\bweather (?:like )?(?:today|here|there|outside)\??$",
)
"""What nobody knows of anything, unless a value of a finding tells it."""


def _unknown(name: str, finding: int, bare: str) -> bool:
    """Whether it asks for what nobody knows of anything, such as an owner, unless a value tells it."""
    odd = _NOT_KNOWN.search(bare)
    if not odd:
        return False
    if odd[0].startswith(("how", "why", "who is", "who was")):
        return True
    said = bare[odd.start() :] if odd[0].startswith("made") else odd[0]
    return values(name, finding).isdisjoint(stems(said))


_OPEN = re.compile(
    r"(?:(?:in|on|at|by|for|since|to|from|with) )?(?:(?:what|which|where|whose|when)\b"
    r"|how \w+ do you\b)(?!.*(?:\bor\b|,))"
)


_READ = re.compile(r"read (?!me\b|us\b|out\b|aloud\b|what|it\b|the\b|your\b)")
"""To read a thing, and not to read out what is there."""


def _presumes(name: str, finding: int, bare: str) -> bool:
    """Whether an open question takes for granted what is to be told: "Which jeans do you wear?"."""
    asks = frozenset(stems(products()[name].findings[finding].asks))
    named = frozenset(s for s in values(name, finding) - asks if weighs(s))
    return bool(_OPEN.match(bare) or _READ.match(bare)) and bool(named & frozenset(stems(bare)))


# --- things ----------------------------------------------------------------------------------------------------------

_WHICH_DOES = re.compile(
    r"(?:which|what) (?:kind of |sort of |type of )?((?!(?:is|are|was|were|do|does|did|has|have|had|can|will"
    r"|would)\b)[a-z' -]+)"
)
_BLANK = frozenset(
    stems("state condition position status reaction behaviour situation result input mode value error colour area make")
)
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
    found = SUBJECT.match(bare)
    noun, rest = noun_of(found[1]) if found else ((), "")
    if len(noun) > 1 and not rest and bare.startswith(("is ", "are ", "was ", "were ")):
        noun = noun[:-1]  # the last word is said of it
    topics = lexicon(name).findings
    said = [s for s in stems(" ".join(noun)) if (weighs(s) or s in _PARTS) and s not in _BLANK]
    if not said or any(s in _named(name, finding) for s in said):
        return False
    if not all(s in topics.background for s in said):
        return True
    asks = products()[name].findings[finding].asks
    return rest in _PLACED and bare.startswith(("is ", "are ", "was ", "were ")) and not _PLACE.search(asks)


def _other_kind(name: str, finding: int, bare: str) -> bool:
    """Whether it asks which one of other things: "Which electrician put in the box?"."""
    found = _WHICH_DOES.match(bare)
    noun = stems(" ".join(noun_of(found[1])[0][:2])) if found else []
    if not noun or noun[0] in _BLANK or not (weighs(noun[0]) or noun[0] in _WORKERS):
        return False
    asked = frozenset(stems(" ".join(_WHICH.findall(all_said(products()[name].findings[finding])))))
    own = asked | _named_first(name, finding) - _places(name, finding) | lexicon(name).findings.background
    return not known(name, finding, noun[0]) or not own & frozenset(noun)


_WORKERS = frozenset(("technician", "worker"))


@lru_cache(maxsize=1 << 10)
def _named_first(name: str, finding: int) -> frozenset[str]:
    """The words of a finding, without those that only its cues and the customer's answers have."""
    found = products()[name].findings[finding]
    return frozenset(stems(" ".join((found.asks, *found.questions[:-3], *found.values))))


@lru_cache(maxsize=1 << 10)
def _places(name: str, finding: int) -> frozenset[str]:
    """The words that only tell where the thing is: the room of "the radiator in the next room"."""
    found = products()[name].findings[finding]
    head, *places = _PREPOSITION.split(found.asks)
    return frozenset(stems(" ".join(places))) - frozenset(stems(" ".join((head, *found.values))))


_WHICH = re.compile(r"\b(?:which|what) ([a-z-]+)")
_PREPOSITION = re.compile(r"\b(?:of|on|in|at|by|beside|under|with|when|against|behind|from|for|to|that|where|what)\b")
_COLOURS = "colour red green blue yellow white black brown orange grey silver pink purple amber"
_ANY_COLOUR = re.compile(rf"\b(?:{'|'.join(_COLOURS.split())})\b")
_OTHER_COLOURS = re.compile(r"\b(?:other|more|different|many) colou?rs\b")
_WHAT_COLOUR = re.compile(r"\b(?:what|which) colou?r\b")
_POINTS = re.compile(r"\b(?:it|its|they|them|one|ones|there|you see)\b")


def _coloured(name: str, finding: int, bare: str) -> bool:
    """Whether it asks for a colour, and not that of the thing of which it is known: "Is the drive blue?"."""
    colours, said = frozenset(stems(_COLOURS)), frozenset(stems(bare))
    product = products()[name]
    found = product.findings[finding]
    if _OTHER_COLOURS.search(bare):
        return True
    if _WHAT_COLOUR.search(bare) and not _ANY_COLOUR.search(" ".join((found.asks, *found.values, *found.answers))):
        return True
    if not said & colours or _POINTS.search(bare):
        return False
    found, other = product.findings[finding], colours | frozenset(stems(product.product))
    pieces = [frozenset(stems(piece)) - other for piece in _PREPOSITION.split(found.asks)]
    head = next(filter(None, pieces), frozenset[str]())
    head |= frozenset(s for question in found.questions[:-3] for s in _subject(question.lower()) if s not in other)
    places = frozenset[str]().union(*pieces) - head
    own = frozenset(
        s for s, row in lexicon(name).findings.strength.items() if row.get(finding, 0.0) == sum(row.values())
    )
    return not said & (head | own - other - places)


def _subject(question: str) -> Sequence[str]:
    """What a yes/no question is about: the gauge of "Is the gauge in the green?"."""
    found = SUBJECT.match(question)
    return stems(" ".join(noun_of(found[1])[0])) if found else ()


_HAS = re.compile(r"(?:(?:has|have) (?:the|your|it) [a-z ]*?got|(?:does|do) (?:the|your|it) [a-z ]*?have) ")
_AS_WELL = re.compile(r"\bthe same (?:problem|trouble|issue|thing|fault)\b")
_WHETHER = re.compile(
    r"\b(?:no|none|not|yes|nothing|nobody|absent|lit|dark|empty|clear|clean|some|any|many|few|off|on)\b"
)


def _has(name: str, finding: int, bare: str) -> bool:
    """Whether it asks if a thing is there, and something else is told of it: "Has the van got winter tyres?"."""
    found = _HAS.match(bare)
    if not found or _AS_WELL.search(bare) or _WHETHER.search(" ".join(products()[name].findings[finding].values)):
        return False
    asked = frozenset(stems(bare[found.end() :]))
    return not asked <= lexicon(name).findings.background and not asked & values(name, finding)


_EVENT = re.compile(r"(?:did|has|have|had) (?:the|your|its|an?|one of the) ([a-z' -]+)\??$")


_SAY = frozenset(TOKEN.findall("up down on off time say show tell mention promise announce"))


def _other_event(name: str, finding: int, bare: str) -> bool:
    """Whether it asks what happened to a thing, and nothing is known of that: "Did the dish break?"."""
    found = _EVENT.match(bare)
    noun, rest = noun_of(found[1]) if found else ((), "")
    last = found[1].split()[-1] if found and rest else ""
    verb = last if (found and " been " in found[1]) or len(noun) < 2 else noun[-1]
    return verb not in _SAY and not explains(name, finding, verb)


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


_HOW_MANY = re.compile(r"\bhow many ([a-z-]+)(?: ([a-z-]+))?")


def _other_count(name: str, finding: int, bare: str) -> bool:
    """Whether it asks for a number of other things than those that are told: "How many zones do you have?"."""
    found = products()[name].findings[finding]
    asked = _HOW_MANY.search(bare)
    told = " ".join((_PREPOSITION.split(found.asks)[0], *found.values, *found.answers))
    counted = f"{told} {' '.join(' '.join(m) for m in _HOW_MANY.findall(all_said(found)))}"
    said = stems(" ".join(filter(None, asked.groups()))) if asked else []
    return bool(said) and not frozenset(said) & frozenset(stems(counted))


_GUARDS = (
    *PERSONS,
    *THINGS,
    other_modifier,
    other_doer,
    only_answered,
    all_of_them,
    other_sense,
    _other_count,
    _other_object,
    _another_question,
    _presumes,
    _unknown,
    _other_subject,
    _other_kind,
    _coloured,
    _other_event,
    _has,
)
