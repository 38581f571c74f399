"""What makes a support agent's message doubtful although its words point at something: then the customer does not know.

Ours. The words of a message (`topics.py`) tell what it is about, not what it says of it. What may turn its
sense is in other files; here it is put together, with what is denied or in order:

    The fuse hasn't tripped. The fuse is fine.    denied, in order
    I used to think that the fuse had tripped.    somebody else's thought, another time (`frames.py`)
    So you have flipped the lever, well done.     told as done (`frames.py`)
    The fuse of the garage is loose.              a foreign thing (`siblings.py`)
    Flip the lever down.                          the opposite (`opposites.py`)
    Flip the pan.                                 another deed (`deeds.py`)
    Flip the lower lever.                         another such (`siblings.py`)

and a question must be about the thing that is known (`beside.py`). Every guard only ever makes a message
unread.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .beside import beside
from .deeds import a_later_step, another_deed, is_any_act
from .forms import AS_IT_SHOULD, AUX, DENIAL, LEAD, NEGATION, WHEN, either, one_of
from .frames import done, framed, reported
from .opposites import opposed
from .products import Query, products
from .sentences import Part
from .siblings import another_such, another_thing, foreign
from .told import values
from .topics import choose, lexicon
from .vocabulary import every_stem, stems, weighs, words

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
    if reported(part.text) or another_such(name, query, part.text):
        return True
    if query.kind == "finding":
        return part.form in ("ask", "either", "try") and (
            beside(name, query.target, part.text) or _supposes(name, query.target, part.text)
        )
    if framed(name, query.target, part) or foreign(name, _ASIDE.sub(" ", part.text)):
        return True
    if part.form == "state":
        return query.kind == "cause" and (
            done(name, query.target, part.text)
            or _says_else(name, query.target, part.text)
            or _denied(name, query.target, part.text)
            or _well(name, query.target, part.text)
        )
    if opposed(name, "fix", query.target, _told_to_do(part.text)) or _later(name, query.target, part.text):
        return True
    if _unhelpful(part) or _AND_ASKS.search(part.text):
        return True
    return query.kind == "fix" and (
        a_later_step(name, query.target, part.text)
        or another_thing(name, query.target, part.text)
        or another_deed(name, query.target, _told_to_do(part.text))
        or any(_another(name, query.target, c) for c in _clauses(part.text))
    )


_AND_ASKS = re.compile(r"\b(?:and|but|or) (?:by the way, )?(?:who|what|which|how|when|where|why|whose)\b[^,;]*\?$")
"""A question after what is to be done."""


_SUPPOSES = re.compile(r"^(?:could|might|may|can) (?:the|your|its|it|there|an?|some\w*) (?!.*\byou\b)")
_YES_NO = re.compile(rf"^{AUX} ")


def _supposes(name: str, finding: int, text: str) -> bool:
    """Whether a question may as well be a diagnosis: "Could the gas have run out?"; or rather is one, as it names no
    value: "Is the cable damaged?", where it is told whether it is loose."""
    bare, lex = LEAD.sub("", WHEN.sub("", text)), lexicon(name)
    supposed = choose(bare, lex.causes).points
    if _SUPPOSES.match(bare):
        return supposed > 0
    rather = supposed > max(choose(bare, lex.findings).points, choose(text, lex.findings).points) + _RATHER
    return rather and bool(_YES_NO.match(bare)) and not _of_a_value(name, finding, bare)


def _of_a_value(name: str, finding: int, bare: str) -> bool:
    """Whether a question names a value of a finding, or what is opposed to one."""
    said, own = every_stem(bare), every_stem(" ".join(products()[name].findings[finding].values))
    named = not values(name, finding).isdisjoint(stems(bare))
    return named or any(scale & said and scale & own for scale in words().scales)


_RATHER = 0.2
"""By how many points a question must rather name a cause than a finding."""


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
    r"^(?:if|when|once|after|unless|in case) [^,;.?!]*,|\b(?:before|until|till) (?:you|i|we) [^,;.?!]*(?:[,.!]|$)"
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


_SAID_OF = re.compile(
    r"\b(?:is|are|was|were|be|been|looks?|seems?|gets?|got|feels?|became|becomes|gone|sits?|stands?"
    r"|(?<=\bit)'s|(?<=\bthat)'s|(?<=\bthere)'s) (?:(?:just|simply|all|now|so|too|very|quite|rather|really|completely"
    r"|totally|only|probably|slightly|already|still|a (?:bit|little)|not|been) )*([^,;.!?]+)"
)


_OF_THE_TALK = re.compile(r"\b(?:turn|message|episode|game)s? (?:is|are|was|were) (?:all )?(?:used up|over|gone)\b")
"""What the talk itself is said to be: "The turn is used up." is no diagnosis of a store."""


def _says_else(name: str, cause: int, text: str) -> bool:
    """Whether what a statement says of a thing is not what is wrong with it: "The hose is too long."."""
    found = products()[name].causes[cause]
    own = frozenset(stems(" ".join((found.what, *found.cues, *found.more))))
    last = [m[1] for m in _SAID_OF.finditer(_ASIDE.sub(" ", text))]
    said = [s for s in (stems(rest) for rest in last if not _SAME.match(rest)) if s]
    other = bool(said) and not any(own & frozenset(s) for s in said)
    return bool(_OF_THE_TALK.search(text)) or other or "made of" in text


_SAME = re.compile(r"(?:what|why|where|there|on our|at our|(?:switched|turned) on|active|activated|enabled)\b")


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


_WELL = either(
    one_of(
        r"\b(?:is|are|was|were|be|sits?|stands?|works?|looks?|seems?|has|have|holds?|fits?|runs?)\b",
        r"'s\b",
    )
    + r"[^,]*?\b("
    + one_of(
        "fine|okay|ok|good|new|fresh",
        r"whole(?! \w)",  # not "the whole time"
        "intact|tight|tightly|firm|firmly|fully|clean|clear",
        r"right(?! \w)",
        "right size",
        "right way",
        "well|correct|correctly|properly|level|current",
        "up to date",
        "enough|plenty",
        "in order",
        "in place",
        "works|working|healthy|strong|perfect|perfectly|safe",
        "in its (?:groove|place|holder)",
    )
    + r")\b",
    r"\b(works (?:well|fine|properly|perfectly)|works$|(?:where|as|how) (?:it|they) should)\b",
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
    if first not in words().act or first in ("have", "let", "get", "come"):
        return False
    fixes = lexicon(name).fixes
    pick = choose(clause, fixes)
    if pick.target >= 0:
        return pick.target != cause
    if not is_any_act(first) and any(fixes.strength.get(s) and cause not in fixes.strength[s] for s in stems(first)):
        return True
    if not re.match(r"\w+ (?:the|your|its|all|both|a|an) ", clause) or first == "leave":
        return False
    heavy = [s for s in stems(clause.split(" ", 1)[-1]) if weighs(s) and s not in fixes.background]
    return bool(heavy) and not any(cause in fixes.strength.get(s, {}) for s in heavy)
