"""Frames that make a sentence say something of somebody else, another time, what was done, or nothing at all.

Ours. Tables of forms, and one closed list: what the agent says of itself in a diagnosis must be that it thinks so.

    My colleague said that the fuse has tripped.     reported
    It would be easy to say that the fuse tripped.   no fact
    Last week the fuse had tripped.                  another time
    I almost wrote that the fuse has tripped.        not what one says who thinks so
    You shouldn't pull the plug.                     advice against it
    The cookies have been cleared.                   what was done, in the passive
    You pushed the hook down this morning.           or by a person
    Glad to hear that the code is typed in.          praise
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .forms import either, one_of
from .products import products
from .sentences import Part
from .told import PEOPLE
from .vocabulary import stems

_FRIENDS = (
    r"(?:colleague|customer|client|friend|boss|manager|neighbou?r|wife|husband|mother|father|brother|sister|uncle|aunt"
    r"|people|person|woman|man|lady|gentleman|other)s?"
)
_OTHERS = (
    rf"(?:{_FRIENDS}|callers?|manuals?|engineers?|technicians?|mechanics?|plumbers?|electricians?|fitters?|agents?|operators?|assistants?|forums?"
    rf"|websites?"
    r"|books?)"
)
_SAY = (
    r"(?:says?|said|ask(?:s|ed)?|tells?|told|writes?|wrote|written|thinks?|thought|mention(?:s|ed)?|(?:assum|figur|suppos)(?:es?|ed)|claim(?:s|ed)?"
    r"|suggest(?:s|ed)?|recommend(?:s|ed)?|advised?|promised?|believed?|once)"
)
_ANYONE = r"(?:somebody|someone|anybody|anyone|they|he|she)"
_REPORTED = re.compile(
    r"\b"
    + one_of(
        r"(?:my|our|your|the|a|an|another|other|some|most|many|last|previous) (?:\w+ )?"
        + one_of(
            rf"{_OTHERS} (?:(?!you)\w+ )?{_SAY}",
            rf"{_FRIENDS} (?:once )?(?:ha[ds]|was|were)",
        )
        + r"\b",
        rf"(?:{_ANYONE}|people) (?:(?!you)\w+ )?{_SAY}\b",
        rf"(?:did|has|have|had|do|does|will|would|could|can) (?:i|we|{_ANYONE}) (?:\w+ )?{_SAY}\b",
        r"(?:i|we) (?:just |already |have |had )?(?:said|asked|told|wrote|mentioned|promised)\b",
        "(?:i|we) (?:once )?had (?:a|another|one)",  # another case
        "once (?:i|we) ",  # "Once I had ..."
        "(?:a|one|another|other|last|previous) (?:customer|client)s?",
        r"(?:imagine|suppose|supposing|assuming|pretend|if only|unless|let me guess)\b",
    )
)
"""What somebody else says, or what is only imagined."""
_FRAME = either(
    r"\b"
    + one_of(
        "used to (?:think|believe|say|tell|advise|suspect|assume)",
        "(?:i|we) (?:once|first|originally|initially) ",
        "(?:i|we)(?:'d| had| have)? (?:thought|believed|suspected|assumed|feared|expected|hoped|wondered)",
        r"(?:would|could|should|might|must) have (?!the\b|an?\b|us\b|it\b|them\b|both\b|your\b|its\b)",  # not "a leak"
        "would've|could've|should've",
        r"(?:normally|usually|typically|often|sometimes|ordinarily),? (?:i|we|the|it|one|people)\b",
        "in theory",
        "theoretically",
        "no use",
        "useless|pointless",
        "in vain",
        "nonsense|myth",
        "rumou?r",
        "joking|kidding",
        "just a joke",
        "nobody",
        "no one",
        "hardly|unlikely",
        r"doubt\w*",
        "disagree|false|untrue",
        "wrong to",
        "mistaken",
        "exclude[ds]?",
        "rul(?:e|ed|ing) out",
        "(?:i|we) (?:don't|do not) (?:think|believe|suspect|suppose|see|say|mean)",
        "even if",
        "whether or not",
        "(?:that|it|this|which) "
        + one_of(
            "won't|wouldn't",
            "will not",
            "would not",
            "doesn't",
            "does not",
            "didn't|can't",
        )
        + " (?:be enough|help|work|do|fix|solve|change|make)",
        "(?<!^)(?:forget|never mind|ignore|skip) (?:about|it|that|the|your)",  # in front it is ruled out
    )
    + r"\b",
    r"\b"
    + one_of(
        "impossible|absurd|strange|surprising|surprised",
        "let's hope",
        "i hope",
        "we hope",
        r"but no\b",
        "avoid|refuse|refrain|forbid|forbidden",
        "under no circumstances",
        "stop trying",
        "too early",
        "(?:can't|cannot) (?:ask|advise|recommend)",
        "but (?:i|we) (?:wouldn't|don't|won't|can't|didn't)",
        "in (?:other|some|most|many) cases",
        "sometimes|occasionally",
        "now and then",
        "not (?:so |true |the case |be )*that",  # "It is not the case that ..."
        "n't that",
        r"is not (?:what|why|the reason|the cause|it\b|so\b)",
    ),
    r"n't that\b",
    r"\b(?:cannot|can't|couldn't|could not) be that\b",  # "It cannot be that ..."
    r"^(?:had|were) (?:it|the|your|there|we|you)\b",  # "Had it tripped, ..."
    r"\bif (?:it|the|your|there|we|you|i)\b[^,]*\b(?:were|had|would)\b",
)
"""Which makes what is stated or suggested no fact, or of another time."""
_MINE = either(
    r"\bmy (?!guess|bet|opinion|view|impression|suspicion|diagnosis|money|theory|feeling|hunch|verdict|conclusion)",
    "^(?:i|we)(?:'ve| have|'m| am)? (?:already |just )?"
    + one_of("used|had|have|own|got|bought|saw|tried|changed|replaced|did|once|lost|broke|ran|repaired|fixed")
    + r"\b",
)
"""What the agent tells of itself."""
_IF = re.compile(r"(?<!as )\bif\b(?! you (?:ask|want)| i may)")


_RETRACTED = either(
    r"\bbut (?:that|it|this)? ?(?:can't|cannot|couldn't|is not|isn't|wasn't|no)\b",
    r"\b(?:maybe|perhaps|though|or) not\b",
    r"\btake (?:that|it) back\b",
    r"\bwould be (?!best|better|good|great|helpful|worth|wise|useful|sensible|advisable)\w+ (?:to|if|that)\b",
    r"\btoo (?:late|soon|hard|hot|cold|risky|dangerous) to\b",
    r"\btook (?:me|us|him|her|them)\b",
    r"\brather you (?:didn't|did not|wouldn't)\b",
    r"\b(?:ask|talk|speak|telling me|told me) about\b",
    r"\b(?:i|we|let's)(?:'ll| will)? (?:come|get|go) back to\b",
    r"\b(?:skip|had the same|hate|wish)\b",
    r"\b(?:i|we|he|she|they)(?:'ve)? (?:never |have |has )?had to\b",
    r"^(?:last|next) (?:week|month|year|time|summer|winter)\b",
    r"^(?:yesterday|tomorrow|some day|one day|back then)\b",
    r"\b(?:some|many|most|few) (?:people|customers|folks|others|owners|users)\b",
)
"""What takes back what is said, or puts it at another time."""
_YOU_SAY = re.compile(
    r"\byou(?:'ve| have|'d| had)? (?:just |already |once )?"
    r"(?:said|say|told|mentioned|wrote|think|thought|believe|assume|claim|suspect|feared|fear)\b"
)
_AGAINST = either(
    r"(?:^|, )(?:do not|don't|never) ",
    r"\bnot to\b",
    r"\b(?:i|we|you|one)(?: \w+)? (?:wouldn't|shouldn't|won't|mustn't|needn't|would not|should not)\b",
    r"\b(?:i|we|you)(?:'ve| have) never\b",
)
"""Advice against something, in the form of a statement."""
_I = re.compile(r"(?<!\bif )\b(?:i|we)(?:'m|'ve|'d|'ll|'re)?\b(?: [a-z']+){0,3}")
_ADVERB = r"(?: (?:pretty|fairly|quite|now|really|almost|rather|also|still|just|therefore|strongly))*"
_I_THINK = re.compile(
    rf"(?:i|we)(?:'m|'d|'re| am| are| would| must| have to| can| could| will|'ll)?{_ADVERB} ?"
    r"(?:think|believe|guess|suppose|suspect|bet|fear|reckon|say|sure|certain|convinced|confident|positive|afraid"
    r"|conclude|diagnose|see|know|feel|gather|take|expect|put|understand|hear|imagine|assume|tell|wonder|going"
    r"|shall)\b|i mean\b"
)
"""How the agent says that it thinks so."""
_WITHDRAWN = either(
    r"^kidding\b",
    r"\bforget (?:i asked|it|that|this|the question|what i asked)\b",
    r"\bnever ?mind(?: that| it| then)?[.!]?$",
    r"\b(?:don't|do not|don't have to|no need to) answer\b",
    r"\b(?:scratch that|just a joke|rhetorical|not important)\b",
    r"\b(?:just|was|i'm|only) (?:kidding|joking)\b",
    r"\bwrong (?:customer|chat|window|product|person)\b",
    r"\b(?:ignore|disregard|skip|strike) (?:that|this|it|the question|my question|what i)\b",
    r"\bi take (?:that|it) back\b",
    r"\bthat was for (?:somebody|someone|another)\b",
)
"""What takes a question back."""
_ASKS_OTHERS = either(
    r"\b(?:asks|asked|wonders|if i asked)\b",
    r"\b(?:don't|not) answer\b",
    r"\b(?:forgot|used|want(?:ed)?|tend) to ask\b",
    r"\b(?:people|everybody|everyone|others|wife|husband|colleague|boss|friend|neighbour)\b",
    r"\b(?:other|many|some|most) customers\b",
)
"""What comes before a colon where the question after it is only told of."""


def withdrawn(parts: Sequence[Part]) -> bool:
    """Whether a question is taken back, or only told of: "My colleague asked: ..."."""
    return any(
        _WITHDRAWN.search(p.text) if not p.text.endswith((":", "?")) else _ASKS_OTHERS.search(p.text)
        for p in parts
        if not p.text.endswith("?")
    )


def reported(text: str) -> bool:
    """Whether a sentence tells what somebody else says, or what is only imagined."""
    return bool(_REPORTED.search(text))


def framed(name: str, cause: int, part: Part) -> bool:
    """Whether a suggestion or diagnosis stands in a frame that makes it none."""
    text, found = part.text, products()[name].causes[cause]
    if _FRAME.search(text) or _RETRACTED.search(text):
        return True
    if part.form != "state":
        return False
    own = " ".join((found.what, *found.cues)).lower()
    strange = (m[0] for m in _I.finditer(text) if not _I_THINK.match(m[0]) and m[0].split()[0] not in own.split())
    return bool(
        _MINE.search(text) or _IF.search(text) or _YOU_SAY.search(text) or _AGAINST.search(text) or any(strange)
    )


# --- told as done ----------------------------------------------------------------------------------------------------

_TRADES = r"(?:engineer|technician|electrician|fitter|plumber|mechanic|service|organiser|driver|workshop|shop)"
_DID = (
    re.compile(r"\b(?:has|have|had|was|were)(?: already| just| recently| now)* (?:been )?([a-z]+(?:ed|t|en|n))\b"),
    re.compile(r"\b(?!turned|switched|plugged|pressed|used|opened|loosened)([a-z]{3,}(?<!e)ed)\b"),
    re.compile(r"\b(?:you|i|we|they|he|she)(?:'ve|'d| have| had)?(?: already| just| recently| then)* ([a-z]+)\b"),
    re.compile(rf"\b(?:our|my|your|the) {_TRADES} ([a-z]+ed)\b"),
)
"""What tells of a deed: passives, verbs in the past, and what a person does."""
_PRAISED = re.compile(
    r"^that (?:the|your|our|you|it|we|they|somebody)\b|^for [a-z]+ing\b"
    r"|\b(?:well done|good job|i hear$|glad|pleased|delighted|relieved"
    r"|nice to (?:hear|see|know)|good to (?:hear|see|know|read)|i (?:read|hear|gather) (?:that )?you)\b"
)
"""What is said of a thing that was done, or went well."""
_THEN = re.compile(
    r"\b"
    + one_of(
        "yesterday",
        "this morning",
        r"last (?:night|week|month|year|weekend|spring|summer|autumn|winter|time|\w+day)",
        "in "
        + one_of(
            "spring|summer|autumn|winter|january|february|march|april|may|june|july|august|september|october",
            "november|december",
        ),
        "(?:days?|weeks?|months?|years?|hours?) ago",
        "before the weekend",
        "the other day",
        "tomorrow",
        "next (?:week|month|year|time|spring|summer|autumn|winter)",
        "twice already",
        "when (?:he|she|they|we|i) (?:was|were|came|visited)",
        "(?:many|some|most|few|other) of (?:our|my)",
    )
    + r"\b"
)
"""Another time than now, or other things of the kind."""


_PERSON_HAS = re.compile(rf"\b(?:your|our|my|the) ({PEOPLE}|{_TRADES}) (?:has|have|had|was|were|is|are)\b")
"""What a person did, or is doing."""


def done(name: str, cause: int, text: str) -> bool:
    """Whether a statement tells that the fix was done: "The cookies have been cleared."."""
    found = products()[name].causes[cause]
    wrong = frozenset(stems(" ".join((found.what, *found.cues))))
    own = frozenset(stems(" ".join((found.fix_what, *found.fix_cues, *found.suggestions)))) - wrong
    if any(not wrong & frozenset(stems(m[1])) for m in _PERSON_HAS.finditer(text)):
        return True
    if _PRAISED.search(text) or any(not wrong & frozenset(stems(m[0])) for m in _THEN.finditer(text)):
        return True
    return any(own & frozenset(stems(m[1])) for did in _DID for m in did.finditer(text))
