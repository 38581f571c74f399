"""Occasions on which something is asked: they may decide which finding is meant.

Ours. "Does the seat go down?" asks which part moves, "Does the seat go down with nobody on it?" does not. So what is
said of the occasion must belong to the finding that is taken, or be what the whole conversation is about.

    If you unplug everything, does the breaker stay on?      in front
    Does the seat go down even when no one is on it?         at the end
    Not only the old save but a new farm: does it crash?     before a colon
    Try it on another wall. Does it stay dark there, too?    in another sentence, to which the question points back

Nor is what a thing is like known after something was done to it ("If you flip it, ..."), or of all its kind ("in both
ears"), unless the finding says so. Whatever fails here makes the question unread.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from .forms import LEAD, WH, WHEN
from .products import products
from .sentences import Part
from .topics import lexicon
from .vocabulary import TOKEN, stems, weighs, words

_STARTS = (
    r"(?:if|when|while|whenever|once|after|before|during|until|till|unless|as soon as|as long as|each time|every time"
    r"|with|without|despite|because of|due to)"
)
_ASKED = (
    r"(?<!me )(?<!us )(?<!know )(?<!check )(?<!see )(?<!say )(?<!sure )(?<!wonder )(?<!test )(?<!remember )(?<!as )"
)
_ASKS = r"(?! (?:did|do|does|is|are|was|were|has|have|had|will|can)\b)"
_FIRST = re.compile(rf"^(?:(?:even|only|also|especially|just) )?(?:{_STARTS}|on|in|at|under|over)\b{_ASKS}[^,?;]*,")
_LAST = re.compile(rf"[ ,]{_ASKED}{_STARTS}\b{_ASKS}[^,?;.:]*(?=[,?;.:]|$)")
_PLACE = re.compile(r"^(?:on|in|at|under|over) ")
_TOO = re.compile(r" (?:on|in|at|under) [^,?]* (?:too|as well)(?=\?$)")
_STILL = re.compile(r"\b(?:still|also) [^,?]*?( (?:on|in|at|under) [^,?]*)(?=\?$)")
_ANY = (_FIRST, _LAST, _TOO, _STILL)
_THERE = re.compile(
    r"(?<!is )(?<!are )(?<!was )(?<!were )(?<!isn't )(?<!aren't )\bthere\b|\bthen\b"
    r"|\b(?:like that|that way|in that case|as well|too|with(?:out)? (?:it|that|them|this))\b"
)
"""Words by which a question depends on the sentence before it."""
_ASIDE = re.compile(
    r"before (?:we|i|you)\b|(?:apart|aside) from\b|(?:just )?(?:so|to)\b"
    r"|if you (?:could|can|would|don't|like|want)\b"
    r"|when you \w+ (?:it|them|that)\b|forget|never mind|ignore|thank|for \w+ing\b"
)
"""What is only said of the conversation, or set aside."""
_SET_ASIDE = re.compile(r",? (?:not|rather than|instead of) (?!only|just)[^,:]*")
_IDLE = frozenset(stems("use press run start work turn away stop shut give up go load send sent"))
"""What is done with any product."""
_LEAST = 0.3
"""The strength of a word that may speak for another finding."""


def off_occasion(name: str, finding: int, parts: Sequence[Part]) -> bool:
    """Whether the occasions on which it is asked speak for another finding, or alone speak for this one, which is
    known whatever the occasion: "Do you hear it with headphones plugged in?"."""
    within, before = " ".join(_within(parts)), " ".join(_before(parts))
    said = stems(within)
    if _for_another(name, finding, dict.fromkeys((*stems(before), *said))) or _against(name, finding, within):
        return True
    if _yes_no(parts) and (not _explained(name, finding, said) or _other_act(name, finding, within)):
        return True
    return bool(said) and not before and _for_this_alone(name, finding, said, parts)


def _yes_no(parts: Sequence[Part]) -> bool:
    """Whether a question can be answered by yes and no: then the answer stands for the occasion, too."""
    asked = (p.text for p in parts if p.form in ("ask", "either", "try"))
    return not any(re.match(rf"{WH}\b", LEAD.sub("", WHEN.sub("", text))) for text in asked)


_ACT = re.compile(r"\b(?:if|when|once|after|whenever) you (?:just |only |then |first )?(([a-z]+)(?: out| off)?)\b")
_MILD = frozenset(
    TOKEN.findall("use press start open look go try do hold stand sit lie have see hear feel put take keep plug")
)
"""What is done with any product, and changes nothing."""


def _other_act(name: str, finding: int, said: str) -> bool:
    """Whether something is to be done first of which the finding does not speak: "If you flip the switch, ..."."""
    told, known = lexicon(name).told[finding], words().act
    acts = [m[2] for m in _ACT.finditer(said) if m[2] in known | {"take"} and m[1] not in _MILD]
    return any(act not in told and finding not in _strength(name, act) for act in acts)


def _strength(name: str, word: str) -> frozenset[int]:
    return frozenset(f for s in stems(word) for f in lexicon(name).findings.strength.get(s, {}))


def _explained(name: str, finding: int, said: Sequence[str]) -> bool:
    topics = lexicon(name).findings
    own = [s for s in said if finding in topics.strength.get(s, {}) or s in lexicon(name).told[finding]]
    return bool(own) or topics.background.union(_IDLE).issuperset(filter(weighs, said))


def _for_another(name: str, finding: int, said: Iterable[str]) -> bool:
    topics, own, other = lexicon(name).findings, 0.0, Counter[int]()
    for stem in said:
        row = topics.strength.get(stem, {})
        most = max(row.values(), default=0.0)
        if stem in topics.background or most < _LEAST:
            continue
        if 2 * row.get(finding, 0.0) >= most:
            own += row[finding]
        elif stem not in _IDLE:
            other.update({f: strength for f, strength in row.items() if f != finding})
    return bool(other) and own <= max(other.values())


_OF_AN_OCCASION = re.compile(
    r"\b(?:then|happens?|happening|effect|since|sets?|reacts?|against|from|drawn|compared|another|behaves?"
    r"|it does|occasion|an? (?:different|old|second))\b"
)
_WITH_AN_OCCASION = re.compile(r"\b(?:when|while|if|with|without|after|before|once|during|as)\b")
"""Words of a finding that tells what happens on an occasion, and what comes before the occasion."""
_OTHER = re.compile(r"\bwith another\b")
_NOISE = frozenset(stems("noise"))


def _for_this_alone(name: str, finding: int, said: Sequence[str], parts: Sequence[Part]) -> bool:
    """Whether only the occasions have words of this finding, and it does not tell what happens on one."""
    asks, topics = products()[name].findings[finding].asks, lexicon(name).findings
    text = " ".join(p.text for p in parts if p.form in ("ask", "either", "try"))
    rest = [s for s in stems(text) if s not in said]
    if any(finding in topics.strength.get(s, {}) for s in rest):
        return False
    rest = [s for s in rest if s not in _IDLE]
    if _OTHER.search(asks) and topics.background.issuperset(rest):
        return False
    if not (occasion := _WITH_AN_OCCASION.search(asks)):
        return not _OF_AN_OCCASION.search(asks) and (bool(rest) or not _PLACE.search(text))
    main = frozenset(stems(asks[: occasion.start()])) - topics.background
    return bool(main and rest) and not (main <= _NOISE and topics.background.issuperset(rest))


def _against(name: str, finding: int, said: str) -> bool:
    """Whether an occasion is the opposite of that of which the finding tells: a door that is open, and one shut."""
    asks = products()[name].findings[finding].asks
    occasion = _WITH_AN_OCCASION.search(asks)
    own = frozenset(TOKEN.findall(asks[occasion.end() :])) if occasion else frozenset[str]()
    told = frozenset(TOKEN.findall(said))
    pairs = (tuple(frozenset(side.split()) for side in line.split("|")) for line in words().opposite)
    return any(own & a and told & b and not told & a for one, other in pairs for a, b in ((one, other), (other, one)))


def _within(parts: Sequence[Part]) -> Iterator[str]:
    """What is said of the occasions in the questions."""
    for part in parts:
        if part.form in ("ask", "either", "try"):
            bare = LEAD.sub("", part.text)
            found = (m[m.lastindex or 0] for pattern in _ANY for m in pattern.finditer(bare))
            yield from (occasion for occasion in found if not _ASIDE.match(occasion.lstrip(" ,")))


def _before(parts: Sequence[Part]) -> Iterator[str]:
    """What is said of them in the sentences to which the questions point back."""
    for before, part in itertools.pairwise(parts):
        if part.form in ("ask", "either", "try") and _leads_to(before, part.text):
            yield _SET_ASIDE.sub("", before.text)


def _leads_to(before: Part, asked: str) -> bool:
    """Whether a sentence says on which occasion the next one asks."""
    if _ASIDE.match(before.text) or (before.form == "out" and "not only" not in before.text):
        return False
    return before.text.endswith(":") or bool(_THERE.search(asked))


_SCOPE = re.compile(
    r"\b((?:on|in|at|with|for|from|to) )?(?:all|every|each|both) (?:of )?"
    r"(?!ends\b|right\b|bit\b|(?:the )?(?:way|time|while)\b)[a-z]"
)
_WHOLE = re.compile(
    r"\b(?:all|every\w*|each|both|any\w*|several|only|which|whose|others?|another|same|one|two|none|nothing|always)\b"
)


def all_of_them(name: str, finding: int, bare: str) -> bool:
    """Whether it asks of how many things something holds, and that is not told: "Does it whistle in both ears?"."""
    found, scope = products()[name].findings[finding], _SCOPE.search(bare)
    told = (found.asks, *found.values, *(() if scope and scope[1] else (*found.questions[:-3], *found.answers)))
    return bool(scope) and not _WHOLE.search(" ".join(told).lower())
