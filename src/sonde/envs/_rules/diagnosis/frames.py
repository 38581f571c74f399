"""Frames that make a sentence say something of somebody else, another time, or nothing at all.

Ours. Tables of forms, and one closed list: what the agent says of itself in a diagnosis must be that it thinks so.

    My colleague said that the fuse has tripped.     reported
    It would be easy to say that the fuse tripped.   no fact
    Last week the fuse had tripped.                  another time
    I almost wrote that the fuse has tripped.        not what one says who thinks so
    You shouldn't pull the plug.                     advice against it
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .products import products
from .sentences import Part

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


def _either(*forms: str) -> re.Pattern[str]:
    return re.compile("|".join(forms))


_RETRACTED = _either(
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
_AGAINST = _either(
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
_WITHDRAWN = _either(
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
_ASKS_OTHERS = _either(
    r"\b(?:asks|asked|wonders|if i asked)\b",
    r"\b(?:don't|not) answer\b",
    r"\b(?:forgot|used|want(?:ed)?|tend) to ask\b",
    r"\b(?:people|everybody|everyone|others|wife|husband|colleague|boss|friend|neighbour)\b",
    r"\b(?:other|many|some|most) customers\b",
)
"""What comes before a colon where the question after it is only told of."""
NOT_KNOWN = re.compile(
    r"^why\b|^(?:what's|what is|may i have|tell me|give me) your (?:\w+ )?(?:number|address|name|password|pin)[.?!]?$"
    r"|^(?:should|must|shall|will there)\b|^(?:how|what|where|when|which)(?: \w+)? should (?!i know|we know)"
    r"|^who (?:told|said|asked)\b|^who (?:is|was) (?!it|that|this|there|else|he|she)[a-z]+\??$"
    r"|\bthe (?:shape|design|style|texture|smell|taste|price) of\b|\bthe make\b(?! of)|^what make\b"
    r"|\bwould you have \w|\bwhere (?:is|are|was|were|does|do) (?:it|they|the [a-z]+) (?:come )?from\b"
    r"|\bwould you like (?!me )|\bdo you (?:like|care|mind|love) |^how (?:do|can|could|should|would|might) (?:i|we"
    r"|one)\b"
    r"|^how does .*\b(?:form|work|come about)\b|what did (?:he|she|they) (?:do|say|think|want)\b"
    r"|\b(?:a|two|three|some|many|few) (?:years?|months?|weeks?) ago\b|(?<! of)(?<!n't) yours\??$|\b(?:mine"
    r"|whose (?!name)|belongs?|hurts?|aches?|painful|tired"
    r"|(?<!'d )(?<!would )like (?:to|best|most|it when)"
    r"|(?<=you )likes?(?= (?:the|your|it)\b)|loves?|enjoys?|prefer\w*|fond"
    r"|favou?rite|beautiful|pretty|nice|lovely|made (?:of|from|in|by)|how deep|depth|insured|waterproof"
    r"|good (?:at|with)|better at|interesting|important|necessary|famous|comfortable|pleased|satisfied|happy|afraid"
    r"|married|rich|tastes?|delicious|costly|cheapest|worth)\b"
    r"|^how (?:likely|sure|certain)\b|^what makes you|\bwere you (?:told|asked|advised)|\bwould it take\b|\bdid it help"
    r"|^(?:is|was|would) it (?:be )?(?:too )?(?:hard|easy|safe|dangerous|ok|okay|possible|allowed|difficult|wise|better"
    r"|best|late|early|normal|common|fine|worth|useful|good|bad) (?:to|if (?:i|we|you))\b"
    r"|\b(?:know how|tools|had) to\b"
    r"|^what if (?:the|it|its|your|an?|there|one)\b"
    r"|\bdo you (?:really |still |even )?(?:need|want|miss|hate|trust|remember|recommend|understand)\b(?! to)"
    r"|\b(?:did|do|were|are) you (?:want|wish|plan|hope|going|planning|hoping) to (?!ask|know|say|tell)"
    r"|\b(?:come|came|go|goes|belongs?) with\b|\bwhat do you think\b"
    r"|\bwhat do you use .* for\??$|^how did you find (?!out)|\bwhat does .* mean\b"
    r"|^what is the (?:purpose|meaning|point|use|function|price|cost|reason) of\b|\b(?:allowed|designed|intended) to\b"
    r"|^how (?:important|useful|easy|difficult|hard|nice|expensive|safe|dangerous)\b"
    r"|^(?:can|could|may|might) (?:the|your|its?|they)\b.* be [a-z]+ed\b"
    r"|^how (?:was|were) (?:the|your) \w+\??$|^what time is it\??$|\bweather (?:like )?(?:today|here|there|outside)\??$"
)
"""What nobody knows of anything, unless a value of a finding tells it."""


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
