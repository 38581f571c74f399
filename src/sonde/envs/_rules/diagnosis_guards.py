"""What makes a support agent's message doubtful although its words point at something: then the customer does not know.

Ours. The words of a message (`diagnosis_words.py`) tell what it is about, not what it says of it. Three tables of forms
turn the sense of a sentence, whatever it is about:

    The fuse hasn't tripped.                      denied
    I used to think that the fuse had tripped.    somebody else's thought, another time, no fact
    Is the kitchen lamp yours? Do you wear it?    something nobody knows of a thing that can be asked about

and a question must be about the thing that is known, not about another one that only goes with it ("Is the milk on the
inner wall?"). Every guard only ever makes a message unread.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .diagnosis import Query, products
from .diagnosis_beside import beside
from .diagnosis_opposites import opposed
from .diagnosis_sentences import AS_IT_SHOULD, DENIAL, LEAD, NEGATION, WHEN, Part
from .diagnosis_words import choose, lexicon, stems, weighs, words

_FRIENDS = (
    r"(?:colleague|customer|client|friend|boss|manager|neighbou?r|wife|husband|mother|father|brother|sister|uncle|aunt"
    r"|people|person|woman|man|lady|gentleman|other)s?"
)
_OTHERS = (
    rf"(?:{_FRIENDS}|callers?|manuals?|engineers?|technicians?|mechanics?|plumbers?|electricians?|fitters?|forums?"
    rf"|websites?"
    r"|books?)"
)
_SAY = (
    r"(?:says?|said|ask(?:s|ed)?|tells?|told|writes?|wrote|written|thinks?|thought|mention(?:s|ed)?|claim(?:s|ed)?"
    r"|suggest(?:s|ed)?|recommend(?:s|ed)?|advised?|promised?|believed?|once)"
)
_ANYONE = r"(?:somebody|someone|anybody|anyone|they|he|she)"
_REPORTED = re.compile(
    rf"\b(?:(?:my|our|your|the|a|an|another|other|some|most|many|last"
    rf"|previous) (?:\w+ )?(?:{_OTHERS} (?:(?!you)\w+ )?{_SAY}"
    rf"|{_FRIENDS} (?:once )?(?:ha[ds]|was|were))\b|(?:{_ANYONE}|people) (?:(?!you)\w+ )?{_SAY}\b"
    rf"|(?:did|has|have|had|do|does|will|would|could|can) (?:i|we|{_ANYONE}) (?:\w+ )?{_SAY}\b"
    r"|(?:i|we) (?:just |already |have |had )?(?:said|asked|told|wrote|mentioned|promised)\b"
    r"|(?:i|we) (?:once )?had (?:a|another|one)|once (?:i|we) |(?:a|one|another|other|last|previous) (?:customer"
    r"|client)s?"
    r"|(?:imagine|suppose|supposing|assuming|pretend|if only|unless|let me guess)\b)"
)
"""What somebody else says, or what is only imagined."""
_FRAME = re.compile(
    r"\b(?:used to (?:think|believe|say|tell|advise|suspect|assume)|(?:i|we) (?:once|first|originally|initially) "
    r"|(?:i|we)(?:'d| had| have)? (?:thought|believed|suspected|assumed|feared|expected|hoped|wondered)"
    r"|(?:would|could|should|might|must) have (?!the\b|an?\b|us\b|it\b|them\b|both\b|your\b|its\b)|would've|could've"
    r"|should've"
    r"|(?:normally|usually|typically|often|sometimes|ordinarily),? (?:i|we|the|it|one|people)\b|in theory|theoretically"
    r"|no use|useless|pointless|in vain|nonsense|myth|rumou?r|joking|kidding|just a joke"
    r"|nobody|no one|hardly|unlikely|doubt\w*|disagree|false|untrue|wrong to|mistaken|exclude[ds]?|rul(?:e|ed|ing) out"
    r"|(?:i|we) (?:don't|do not) (?:think|believe|suspect|suppose|see|say|mean)|even if|whether or not"
    r"|(?:that|it|this|which) (?:won't|wouldn't|will not|would not|doesn't|does not|didn't|can't) (?:be enough|help"
    r"|work|do"
    r"|fix|solve|change|make)|(?<!^)(?:forget|never mind|ignore|skip) (?:about|it|that|the|your))\b"
    r"|\b(?:impossible|absurd|strange|surprising|surprised|let's hope|i hope|we hope|but no\b|avoid|refuse|refrain"
    r"|forbid"
    r"|forbidden|under no circumstances|stop trying|too early|(?:can't|cannot) (?:ask|advise|recommend)|but (?:i|we)"
    r" (?:wouldn't|don't|won't|can't|didn't)|in (?:other|some|most|many) cases|sometimes|occasionally|now and then"
    r"|not (?:so |true |the case |be )*that|n't that|is not (?:what|why|the reason|the cause|it\b|so\b))"
    r"|n't that\b|\b(?:cannot|can't|couldn't|could not) be that\b|^(?:had|were) (?:it|the|your|there|we|you)\b"
    r"|\bif (?:it|the|your|there|we|you|i)\b[^,]*\b(?:were|had|would)\b"
)
"""Which makes what is stated or suggested no fact, or of another time."""
_MINE = re.compile(
    r"\bmy (?!guess|bet|opinion|view|impression|suspicion|diagnosis|money|theory|feeling|hunch|verdict|conclusion)"
    r"|^(?:i|we)(?:'ve| have|'m| am)? (?:already |just )?(?:used|had|have|own|got|bought|saw|tried|changed|replaced"
    r"|did|once"
    r"|lost|broke|ran|repaired|fixed)\b"
)
"""What the agent tells of itself."""
_IF = re.compile(r"(?<!as )\bif\b(?! you (?:ask|want)| i may)")
_ASIDE = re.compile(
    r",? (?:rather than|instead of|and not|but not|not just|not only) [^,.;?!]*|(?:,|\() ?not [^,.;?!)]*[,)]?"
    r"|\bnot (?:just |only )?[^,.;?!]*?,? but "
)
"""What is named only to be set aside."""
_PURPOSE = re.compile(
    r"(?:, (?:it|that|this|they|which)\b|\b(?:so that|so|until|till|if|because|since|as|in case|which|that|who|where"
    r"|while"
    r"|when|once|(?<=\w )(?<!do )you)\b).*"
)
"""What may be denied in a suggestion without denying it."""


def doubtful(name: str, query: Query, part: Part) -> bool:
    """Whether a sentence must not count for what the message was taken for: its form may give it another sense."""
    if part.form in ("out", "talk"):
        return False
    if _REPORTED.search(part.text):
        return True
    if query.kind == "finding":
        return part.form in ("ask", "either", "try") and beside(name, query.target, part.text)
    if _FRAME.search(part.text):
        return True
    if part.form == "state" and (_MINE.search(part.text) or _IF.search(part.text)):
        return True
    if part.form == "state":
        return query.kind == "cause" and (
            _denied(name, query.target, part.text) or _well(name, query.target, part.text)
        )
    if opposed(name, "fix", query.target, _told_to_do(part.text)) or _later(name, query.target, part.text):
        return True
    return _unhelpful(part) or (
        query.kind == "fix" and any(_another(name, query.target, c) for c in _clauses(part.text))
    )


# --- fixes and causes ------------------------------------------------------------------------------------------------


def _unhelpful(part: Part) -> bool:
    """Whether a suggestion is one not to do something."""
    said = _PURPOSE.sub("", _ASIDE.sub(" ", f"{part.text} "))
    return bool(NEGATION.search(said)) and not part.text.startswith("why ")


def _later(name: str, cause: int, text: str) -> bool:
    """Whether the fix is only named as what is done at another time: "Before you empty the bin, call me."."""
    rest = _BEFORE.sub("", text)
    return rest != text and choose(rest, lexicon(name).fixes).target != cause


_BEFORE = re.compile(
    r"^(?:if|when|once|after|unless|in case) [^,;.?!]*,|\b(?:before|until|till) (?:you|i|we) [^,;.?!]*(?:,|$)"
    r"|\b(?:before|until|till) \w+ing [^,;.?!]*,"
)


def _told_to_do(text: str) -> str:
    """A suggestion without what it sets aside, and without what it says of how things are."""
    said = _ASIDE.sub(" ", text)
    kept = [clause for clause in _REASON.split(said) if not _IS.search(clause)]
    return ", ".join(kept) if kept else said


_REASON = re.compile(r",|;| (?:because|since|so)\b")
_IS = re.compile(r"\b(?:is|are|was|were|has|have|isn't|aren't|it's)\b")


def _denied(name: str, cause: int, text: str) -> bool:
    """Whether a diagnosis says that something is not so, unless it should be so, or the cause is that it is not. What
    else it says may be enough: "The tree is not in the way, the dish has been knocked out of aim."."""
    clauses = [_ASIDE.sub(" ", clause) for clause in _SPLICE.split(text)]
    kept = [c for c in clauses if not _denial(name, cause, c)]
    if len(kept) < len(clauses):
        return choose(", ".join(kept), lexicon(name).causes).target != cause
    what = products()[name].causes[cause].what
    missing = not DENIAL.search(text) and DENIAL.search(what)
    return bool(missing) and frozenset(stems(text)) <= frozenset(stems(what))


def _denial(name: str, cause: int, clause: str) -> bool:
    no = DENIAL.search(clause)
    if not no:
        return False
    found = products()[name].causes[cause]
    own = (found.what.split(" that ")[0], *found.cues)
    own = tuple(text for text in own if len(DENIAL.findall(clause)) <= len(DENIAL.findall(text)))
    if " too " not in clause[no.end() :] and any(
        frozenset(stems(clause)) & frozenset(stems(text)) for text in own if DENIAL.search(text)
    ):
        return False
    named = frozenset(stems(" ".join((found.what, *found.cues))))
    well = [m[0] for m in AS_IT_SHOULD.finditer(clause, no.end())]
    return " too " in clause[no.end() :] or all(frozenset(stems(w)) & named for w in well)


_WELL = re.compile(
    r"(?:\b(?:is|are|was|were|be|sits?|stands?|works?|looks?|seems?|has|have|holds?|fits?|runs?)\b"
    r"|'s\b)[^,]*?\b(fine|okay|ok"
    r"|good|new|fresh|whole(?! \w)|intact|tight|tightly|firm|firmly|fully|clean|clear|right(?! \w)|right size"
    r"|right way|well"
    r"|correct|correctly|properly|level|current|up to date|enough|plenty|in order|in place|works|working|healthy|strong"
    r"|perfect|perfectly|safe|in its (?:groove|place|holder)|as it should)\b"
    r"|\b(works (?:well|fine|properly|perfectly)|works$)"
)


def _well(name: str, cause: int, text: str) -> bool:
    """Whether a diagnosis says that something is in order, or the opposite of the cause."""
    if DENIAL.search(text):
        return False
    found = products()[name].causes[cause]
    own = " ".join((found.what, *found.cues, *found.more)).lower()
    well = [m[1] or m[2] for m in _WELL.finditer(text)]
    return opposed(name, "cause", cause, text) or any(not re.search(rf"\b{w}\b", own) for w in well)


_SPLICE = re.compile(
    r" because |, (?:but |and |so )?(?=(?:the|these|those|this|that|your|it|its|it's|there|there's|somebody"
    r"|something|one|they|you|you've) )"
)
_ASKED = re.compile(r"(?:will|shall|should|would|could|can|do|did|is|are|has|have(?! it)) (you|i|we|it|the|your)\b")
_CLAUSE = re.compile(r"(?:,|;|:)? (?:and|or|then|but|plus|,) (?:then |also |please |just )*|[,;:] ")


@lru_cache(maxsize=1 << 12)
def _clauses(text: str) -> tuple[str, ...]:
    pieces = _CLAUSE.split(WHEN.sub("", LEAD.sub("", text)))
    return tuple(c for c in pieces if c) if len(pieces) > 1 else ()


def _another(name: str, cause: int, clause: str) -> bool:
    first = clause.split(" ", 1)[0]
    if asked := _ASKED.match(clause):
        return asked[1] in ("it", "the", "your") or choose(clause, lexicon(name).fixes).target not in (-1, cause)
    if first not in words().act or first in ("have", "let", "get"):
        return False
    fixes = lexicon(name).fixes
    pick = choose(clause, fixes)
    if pick.target >= 0:
        return pick.target != cause
    if not re.match(r"\w+ (?:the|your|its|all|both|a|an) ", clause) or first == "leave":
        return False
    heavy = [s for s in stems(clause.split(" ", 1)[-1]) if weighs(s) and s not in fixes.background]
    return bool(heavy) and not any(cause in fixes.strength.get(s, {}) for s in heavy)
