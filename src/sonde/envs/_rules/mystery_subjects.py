"""A question as the person asked hears it: they are "you", and the others are called by their marks.

`mystery_topics` reads who does what to whom, so it must be clear who "you", "he" and "her" are. In a question that is
put through the narrator ("ask the cook where she was") the pronouns are the cook's; in one that is put to the cook"
    " they
are somebody else's who was mentioned. A death is the victim's. What others report is taken for the question whether it
is so. Source: ours.
"""

from __future__ import annotations

import re

from . import mystery_patterns as pattern

_SAYS = (
    r"(?:says?|said|swears?|swore|claims?|claimed|insists?|insisted|maintains?|reports?|reported|states?|stated"
    r"|(?:told|tells|telling) (?:me|us)|mentions?|mentioned|is (?:sure|certain)|remembers?|thinks?|believes?|told"
    r"|admits?|admitted|confirms?|confirmed)"
)
_REPORT = re.compile(rf"(?:the )?@p\d (?:\w+ )?{_SAYS} (?:that )?(?=(?:(?!@p)\S+ )*?you\b)(?!(?:\S+ )*?@p)")
_SEES = r"(?:saw|noticed|spotted|met|passed|recognised|observed|watched|seen|had seen|has seen)"
_DIED = re.compile(
    r"\b(?:he|she|they|it)(?= (?:was |were |had |has |got |is )?(?:been |being |actually |really )?(?:killed|murdered"
    r"|poisoned|struck|died|dies|die|found|attacked|passed|dead)\b)"
)
_SUBJECT = re.compile(r"\b(?:he|she|they)\b")
_ONE = re.compile(r"\b(?:he|she)\b")
_OBJECT = re.compile(
    r"\b(?:him|(?<!\bof )them|her(?= (?:\W|and|or|about|if|at|on|in|to|for|that|there|before|after|when)|\W*$))"
)
_OWNER = re.compile(r"\b(?:his|her|their)\b")
_NOT_YOU = re.compile(r"\b(was|were|did|do|does|are|have|has|had|can|could|would|is) not you\b(?= \w)")
_TWICE = re.compile(r"\byou(?:(?: ,)? you\b)+(?: [,:](?= \w))?")


def as_asked(unit: str, before: str, teller: str, told: bool) -> str:
    """The unit with the person asked (`p2`) as "you"; `told` if they are spoken to and not spoken of.

    >>> as_asked("ask @p0 where she was when he died", "", "p0", told=False)
    'ask you where you was when @v died'
    >>> as_asked("@p0 , did you see her ?", "@p1 was there .", "p0", told=True)
    'you , did you see @p1 ?'
    """
    asked = _DIED.sub("@v", _REPORT.sub("it is said that ", unit))
    asked = re.sub(rf"(?:\bthe )?@{teller}\b", "you", re.sub(rf"(?:\bthe )?@{teller} 's", "your", asked))
    asked = _NOT_YOU.sub(r"\1 you", _TWICE.sub("you", asked))
    asked = re.sub(rf"\b(?:he|she|they)(?= (?:\w+ )?{_SEES} you\b)", "somebody", asked)
    if not _SUBJECT.search(asked) and not _OBJECT.search(asked) and not _OWNER.search(asked):
        return asked
    others = [m for m in dict.fromkeys(re.findall(r"@(?:p\d|v)", f"{before} {asked}")) if m != f"@{teller}"]
    if not told or (not others and not re.search(r"\byou (?!,)", asked)):
        return _OWNER.sub("your", _OBJECT.sub("you", _SUBJECT.sub("you", asked)))
    if len(others) > 1:
        return asked
    other = others[0] if others else "@v"
    return _OWNER.sub(f"{other} 's", _OBJECT.sub(other, _ONE.sub(other, asked)))


# --- who is called --------------------------------------------------------------------------------------------------


def addressed(sentence: str, others: bool) -> str:
    """Who is called by name; two people joined by a comma if both are. "What about Ines?" calls her, but not after
    `others` were called."""
    called = dict.fromkeys(m[1] for m in pattern.VOCATIVE.finditer(sentence))
    if not called and not others:
        called = dict.fromkeys(m[1] for m in pattern.WHAT_ABOUT.finditer(sentence))
    direct = re.search(r"\byou\b|\byour\b|\btell\b|\bany\w*\b|\?", sentence) or re.match(
        r"\W*(?:the )?@[pb]\d ?[,:.!]", sentence
    )
    return ",".join(called) if direct and not pattern.ASK.search(sentence) else ""


# --- whether something is asked --------------------------------------------------------------------------------------

_REQUEST = re.compile(
    r"\b(?:tell|explain|describe|share|account|state|answer|give|ask|asking|asks|want|need|would like|wonder|let"
    r"|please"
    r"|interested|curious|say|show|question|questions|interview|talk|speak|press|confront|confirm|hear|find out|pray"
    r"|kindly|some(?:one|body) (?:says|said|saw|noticed)|(?<!i )(?<!we )know (?:where|what|how|if|whether|about)"
    r"|learn|understand"
    r"|trust|may i|word about|turn)\b"
    r"|^\W*(?:(?:and|so|now|but|well|then|just|okay|ok|you|[,:]) )*(?:where|what|who|whom|how)\b"
    r"|^\W*(?:(?:and|so|now|but|well|then|just|okay|ok|you [,:]) )*(?:where|what|who|whom|how|did|do|does|were|was"
    r"|are|is|have"
    r"|had|has|can|could|would|any|about|alibi|your|the nature)\b"
)
_STATED = re.compile(
    r"^\W*(?:(?:the|and|but|so|well|now|look|listen|no|yes|because|since|of course|,) )*"
    r"(?:you |@p\d |[.,!:] )*(?:i|you|we|he|she|they|it|that|this|there|@\w+|nobody|no one|everyone|everybody|my \w+"
    r"|some"
    r"|people|your \w+)\b[^?]*\b(?:was|were|is|are|am|did|had|has|have|would|could|can|will|never|not|must|should|may"
    r"|might|do|does|know|knew|said|saw|\w+ed)\b"
)
_SUPPOSED = re.compile(
    r"\b(?:suppos(?:e|ing)|imagine|pretend|what if|hypothetical\w*|would you rather|let us say|assum(?:e|ing)"
    r"|say you (?:were|had))\b"
    r"|(?:^\W*|, )(?:(?:and|but|you|,) )*if (?:(?:the|only) )*(?:i|you|he|she|they|it|@\w+) (?:had|were|was|have|has"
    r"|could"
    r"|did)\b(?! (?:to|there))|\bwould\b(?! you (?:\w+ )?(?:tell|say|know|mind|describe|be))[^?]*\bif\b"
)
"""What is not so, and is not asked."""
_SPOKEN_OF = re.compile(
    r"\b(?:did|have|had|has|do|does|why|when|who|whom|if|shall|should|must)(?: not)? (?:i|we|any\w+|some\w+|they"
    r"|people|the police|the \w+|everyone|nobody|ever|already|never|else)(?: (?!say\b)\w+)*? (?:ask|asks|asked"
    r"|question|questioned|interview|interviewed|interrogate|interrogated|talk|talked|speak|spoke"
    r"|spoken)\b(?! (?:ill|badly"
    r"|well))"
    r"|\b(?:did|have|had|has|do|does|why|when|who) (?:you|@p\d) (?:\w+ )?(?:ask|asked|question\w*|interview\w*)\b"
    r"|\b(?:did|had|has|have) (?:you|he|she|they|@p\d)(?: (?!been|ever been)\w+)?? (?:tell(?= )|told|mention\w*|said"
    r"|lie|lied|admitted|explained|described)\b(?! (?:me|us|you|your)\b)|\bdid (?:you|he|she"
    r"|@p\d) (?:\w+ )?say\b(?! you (?:were|was))"
    r"|\bwhat did (?:the )?@\w+ (?:say|tell|claim|answer|reply|mention|write|think)\b"
    r"|\byou (?:tell|told|give|gave|show|showed) you\b"
    r"|\b(?:already|never|not|nobody|just|previously|once) (?:\w+ )?(?:asked|questioned|talked|spoke|interviewed)\b"
)
"""Asking and telling that was done, or not: it is spoken of."""


def requested(unit: str, asks: bool) -> bool:
    """Whether a unit, as it is heard, wants an answer: a question, an order, or the bare name of what is asked."""
    if _SUPPOSED.search(unit) or _SPOKEN_OF.search(unit):
        return False
    return asks or bool(_REQUEST.search(unit)) or not _STATED.search(unit)


# --- short questions about what was said before ----------------------------------------------------------------------

_SHORT = re.compile(
    r"^\W*(?:(?:so|and|well|then|now|you|,|tell me|please) )*(?:"
    r"(?:is|was|is not|was not)(?: not)? (?:it|that|this|there|he|she|@p\d|they|you)(?: not)?(?: (?:so|true|right"
    r"|correct|you|not|a lie"
    r"|anything|wrong|to it|lying|the case|what|really|mistaken|something|somebody|else|in that|in it))*"
    r"|(?:were|did|do|are|have|had|can|could|was|would) (?:not )?you(?: (?:really|there|that|it|not|one of them|two"
    r"|one|too|so|do that"
    r"|angry|upset|bitter|ever|deny|know|know how|remember|that|be|explain))*"
    r"|what (?:do|can|have|would) you (?:have )?(?:say|to say|make)(?: (?:to|about|of|on) (?:it|that|this))?"
    r"|(?:any|your) (?:comment|answer|explanation)|true|true or false|yes or no|correct|right|you"
    r"|(?:can|could) you \w+ (?:it|them|that)(?: yourself| alone)?"
    r"|ask you (?:about (?:it|that|this)|(?:whether|if) (?:it|that|this) is (?:true|so|right|correct))"
    r"|it was (?:not )?you(?: ,)?(?: was it(?: not)?)?|are you one of (?:them|those)"
    r"|were you (?:ever )?there(?: that (?:evening|night|morning|afternoon|day))?"
    r"|how did you (?:two )?get (?:on|along)|friends or (?:foes|enemies)|friends)\W*$"
)
_SPOTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("scene", re.compile(r"@n\b")),
    ("access", re.compile(r"\b(?:keys?|codes?|combination|key ?cards?)\b|@t\b")),
    (
        "victim",
        re.compile(
            r"(?=.*@v\b(?! 's)).*\b(?:quarrel\w*|argu\w+|hate\w*|dislike\w*|resent\w*|grudge\w*|get along|got along"
            r"|disput\w*|lost"
            r"|angry|fought|cheat\w*|wrong\w*|threat\w*|terms|get on|got on|owe[ds]?|trouble|you and @v)(?!\w)"
        ),
    ),
)


def is_short(unit: str) -> bool:
    """Whether a question only asks if what was said before is so: "is that true?", "were you?"."""
    return bool(_SHORT.match(unit))


def spoken_of(said: str) -> str | None:
    """The only topic that a statement to somebody speaks of."""
    found = [name for name, spot in _SPOTS if spot.search(said)]
    return found[0] if len(found) == 1 and not re.search(r"@p\d|\b(?:who|not(?! get)|never|nobody)\b", said) else None
