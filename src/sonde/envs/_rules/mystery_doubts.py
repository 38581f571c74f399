"""What keeps a detective's message from doing anything: what was done already, by others, or shall not be done.

A message mentions things without looking at them: "Vera should search the shed", "I have read the log", "search
everything but the shed", "is the log reliable", "the kitchen clock". Patterns over templates (`mystery_words`);"
    " whatever
they find is left unread. Source: ours.
"""

from __future__ import annotations

import re

from .mystery import Frame
from .mystery_patterns import WORN
from .mystery_tokens import BEFORE, words

_LOOKS = (
    r"(?:examin\w+|inspect\w*|look\w*|check\w*|search\w*|study|studied|read|review\w*|watch\w*|visit\w*|explor\w+"
    r"|enter\w*"
    r"|view\w*|investigat\w+|analys\w+|analyz\w+|see|saw|seen|go|goes|went|walk\w*|touch\w*|open\w*|touched|stud\w+)"
)
_WHO = (
    r"(?:@[pvb]\d?|nobody|no one|any(?:one|body)|some(?:one|body)|every(?:one|body)|the (?:police|officers?"
    r"|others)|who)"
)
_NEVER = re.compile(
    r"\b(?:burn|burned|destroy|smash|steal|throw|break|put|turn o\w+|switch o\w+|delete|erase|hide|point|add|pay|buy"
    r"|sell)"
    r"\b (?:\w+ ){0,3}?@[irx]"
    r"|@[irx]\d* (?:burned|burnt|destroyed|smashed|removed)\b|\bput (?:\w+ )?@[irx]\d* back\b"
    r"|^\W*(?:tell|order|ask|let|invite) (?:the )?@[pb]\d to (?!tell|describe|say|explain|answer|confirm|recall"
    r"|recount"
    r"|speak|talk|share|give|account|help|state|identify|report|tie|write|sign|show|take off|turn out|empty|prove"
    r"|justify)"
    r"|\bnever (?!mind\b)[a-z]+ (?:\w+ ){0,3}?@[irlbp]"
    r"|\b(?:take|bring|send|carry|give|show|hand|return) (?:the )?@[irl]\d+\b.* to (?:the |our |my )?(?!me\b|us\b"
    r"|light|see\b|look\b|find\b|check\b|examine\b|inspect\b)\S"
    r"|\b(?:show|hand|give|read|send|bring) (?:the )?@p\d (?:the )?@[irl]"
    r"|\b(?:write|send|forge|copy) (?:a |the |an |another )?@[irx]"
    r"|\b(?:photo\w*|picture|sketch|copy|drawing) of (?:the )?@"
    r"|^(?!.*\b(?:ask|question|confirm)\b).*@p\d 's (?:alibi|story|claims?) (?:is|was|true|hold|false|solid|check)"
    r"|\bwho (?:is|was|writes|keeps|made|owns|owned|wrote|holds|fills|manages|took|installed|bought|brought|left|put"
    r"|broke"
    r"|found|built|repaired|painted|hired|sent|runs|paid|sells|looked at|read|saw|uses|needs) (?:the |this "
    r"|that )?@[brilx]\d"
    r"|\bread (?:out )?(?:the )?@[irl]\d+ (?:aloud |out )?(?:to|for) (?:the )?@p"
    r"|\b(?:whether|if) (?:the )?@[ril]\d+ (?:is|was|were|works?|worked|has|had|can|could|still|really|exists?"
    r"|belongs?"
    r"|belonged)\b"
    r"|\b(?:(?:i|we|they|you) (?:have|had)|having) (?:\w+ )?(?:read|seen|searched|checked|examined|looked|inspected"
    r"|visited|watched|been"
    r"|gone|studied|reviewed|touched|found|opened)\b (?:\w+ ){0,3}?@[irl]\d*(?! ?, )"
    r"|\b(?:everywhere|anywhere|everything|anything|nowhere|nothing|all(?: \w+)?|every \w+|any \w+) (?:else )?(?:but"
    r"|except"
    r"|other than|apart from|besides|save)\b|\b(?:except|other than|apart from|besides)\b(?: for)? (?:in |at |the )*@"
    rf"|{_WHO}(?: (?:should|must|could|can|will|may|might|would|did|has|have|had|never|also|then|to|already|already"
    rf"|not"
    rf"|and))* {_LOOKS} (?:(?!you\b)\w+ ){{0,4}}?@[irl](?!.*\b(?:me|us|says?)\b)"
    rf"|\b(?:have|has|had|did) (?:you|i|we|they) (?:\w+ )?{_LOOKS} (?:(?!you\b)\w+ ){{0,3}}?@[ir]"
    r"|\b(?:would|will|might|could|does) (?:it|that) (?:\w+ )?(?:help|pay|make sense|hurt|matter)\b"
    r"|\b(?:stay away|keep away|keep out|stay out|avoid|lock|leave|tidy|clean|sweep out|burn|send)\b (?:\w+ ){0,3}?@l"
    rf"|\b(?:tried|fail(?:ed)?|forg[eo]t|refuse[ds]?|hate[ds]?|stop|stopped|quit|decline[d]?|in vain|hesitate"
    rf"|too \w+|tired of|sick of"
    rf"|afraid) (?:to |of |for )?(?:\w+ )?(?:{_LOOKS}|\w+ing|for) (?:\w+ ){{0,3}}?@[irl]"
    r"|\btold (?:me|us) to\b(?!.*\bso\b)|\bfrom (?:the )?@l\d (?:i|we) \b|\btake (?:the )?@p|\bbefore (?:i|we) \b"
    r"|\btake (?:the )?@[ri]\d+ (?:home|away|with)\b|\bwhat (?:other )?@[rx]\d* (?:are|is|do|can|exist)\b"
    r"|\bhead of (?:the )?@l|\b(?:more|less|better|worse|other) than (?:the )?@"
    r"|\b(?:who cares|how do i|how can i)\b|\blook (?:out|forward)\b|\bwatch out\b|^\W*see you\b|\bmeet me\b"
    r"|\bsearch for (?:the )?@p"
)
_ORDERED = re.compile(
    r"^\W*(?:(?:and|so|now|hey|please) )*(?:the )?@(p\d) ?[,.!?] ?(?:please |now |and )*(?:look|read|examine|inspect"
    r"|check|study|search"
    r"|watch|go|come|sit|stand|open|wipe|clean|wash|hide|burn|leave|follow)\b(?! at me| me\b)"
)
"""What somebody else is told to do."""
_SEEN = re.compile(
    rf"^(?!.*\b(?:if|whether|what|how|which)\b).*(?:\b{WORN}|@i0) (?:was|were|is|are|had|has|looks?|looked|seems?"
    r"|match(?:ed|es))\b|@[rb]\d (?:might|may|could|would|should)\b|\b(?:i|we) (?:can |could |already )?(?:see|saw"
    r"|noticed|know) that\b|\b(?:i|we) (?:would|will|did|do|should|could|must) (?:not|never)\b"
)
"""What was seen or done already."""
_THEIRS = re.compile(
    r"@p\d 's (?!alibi|story|claims?|statement|account|whereabouts|movements)[a-z]+ (?:on|in|at|from|of|for"
    r"|near) (?:the )?(?:\w+ )?@[irl]"
)
"""Something of somebody's that there is not: "her fingerprints on the glass"."""
_IN_PLACE = re.compile(
    r"@l\d 's (?!door\b|floor\b)[a-z]|\b(?:who|whom|whose|when|whether|calls?|called|phoned|telephoned"
    r"|entered) (?!@l).*@l\d"
    r"|\b(?:the|a|an|any|that|this) (?!(?:rest|room|area|scene|inside|interior|floor|walls?|surroundings|whole"
    r"|grounds?"
    r"|contents?|corners?|evidence|clues?|traces?|look|time|search|entire|door|visit|walk|trip|way|tour"
    r"|crime|entrance|state|condition|layout)\b)[a-z]+ (?:of|in|on|at|to|from|near|by|behind|under) (?:the )?@l\d"
    r"|\b(?:past|through|out of|for @p\d|for (?:the )?@[pb]\d in|for @v in) (?:(?:in|at) )?(?:the )?@l\d"
    r"|\b(?:is|are|was|were|what is|why is) (?:a|an|the) @i\d+\b"
)
"""Of a place something is meant that is not the place: "its lock", "the window in it", "who telephoned from it"."""
_AFTER = BEFORE | words("""
    area room itself floor door thoroughly myself today tonight ourselves alone once more too there building inside
    premises very yet here except instead straight immediately anyway quickly sir carefully closely personally aside
    without properly afterwards hard within
""")
"""Words that may stand after a place or a person: after others something is meant that is called by it."""
_OF_RECORD = re.compile(
    r"^\W*(?:and |so |but |what |, )*(?:where|why|how (?:old|big|far|heavy|much|long|often|good)) (?:is|are|was|were"
    r"|does|do)"
    r"\b|^\W*(?:and |so |but |, )*(?:is|are|was|were|has|had|could|would|can|might|should) (?:the |this |that )?@r\d"
    r" (?:always |still |really |very |ever |have |been )*(?!(?:there|blank|available|recorded|noted|any\w*|shown?"
    r"|show|tell"
    r"|say|confirm|caught|catch|got|captured|logged|registered|help|prove)\b)[a-z]+"
    r"|\b(?:trust|avoid\w*|into|past|before|broke|broken|tamper\w*|forge\w*|fake\w*|alter\w*|manipulat\w*|work|working"
    r"|reliable|stolen|missing|keeps?|kept|installed|look)\b"
)
"""A question about a record itself, not about what it shows."""
_SHOWS = re.compile(
    r"@r\d+ (?:(?:not|really|ever|also|have|has|anything|something|be|camera|then|itself|help|to|us"
    r"|me) ){0,3}(?:show\w*|says?|said"
    r"|tells?|told|mention\w*|lists?|listed|record\w*|confirm\w*|reveal\w*|know\w*|have|has|contain\w*|support\w*"
    r"|back|proves?"
    r"|cover\w*|agree\w*|catch|caught|captur\w*|not(?:e|ed|es)|gives?|names?|place\w*|register\w*|include\w*|see|saw"
    r"|log|logged"
    r"|bear|suggest\w*|contradict\w*|fit|match\w*|help|got|there|hold\w*|any\w*)\b"
    r"|\b(?:on|in|from|by|to) (?:the |this |that |their |her |his |our )?@r\d+\b|@r\d+ ?[:,]|\b(?:what"
    r"|how) about (?:the )?@r"
    r"|\b(?:check|read|see|look|verify)\b.*@r\d+"
)
"""What asks for what a record shows."""
_WITNESSED = re.compile(
    r"@b\d (?:(?:you|ever|really|also|then|have|be|able to|perhaps|possibly|actually|happen to"
    r"|anything) )*(?:to )?(?:see|saw|"
    r"seen|notice|noticed|hear|heard|observe|observed|spot|spotted|confirm|remembers?|has to say|have to say|say"
    r"|says|saw|tell(?! (?:the )?@)|know(?! (?:the"
    r" )?@v)|find|found|witness|witnessed|vouch|report|recall|describe|meet|met|pass|passed|visit|mention|identify)\b"
)


def does_nothing(unit: str, asks: bool) -> bool:
    """Whether a unit speaks of what was done, by whomever, or shall not or cannot be done."""
    return bool(_NEVER.search(unit)) or (not asks and bool(_SEEN.search(unit)))


def ordered(said: str) -> str:
    """Who is told to do something, if anybody is: an id, or ""."""
    found = _ORDERED.match(said)
    return found[1] if found else ""


def somebodys(unit: str) -> bool:
    """Whether something of somebody's is looked for that there is not."""
    return bool(_THEIRS.search(unit))


def of_record(unit: str) -> bool:
    """Whether a question that names a record is about the record itself."""
    return bool(_OF_RECORD.search(unit)) or not _SHOWS.search(unit)


def of_bystander(unit: str) -> bool:
    """Whether a question about somebody from outside is what they saw or know."""
    return bool(_WITNESSED.search(unit))


def is_meant(frame: Frame, unit: str, target: str) -> bool:
    """Whether the thing with the id `target` is what is to be looked at: not something in it, or called by it, or of
    the same name elsewhere or of somebody else."""
    if target[0] == "l" and _IN_PLACE.search(unit):
        return False
    after = re.search(rf"@{target} ([a-z]+)", unit) if target[0] in "lp" else None
    if after and after[1] not in _AFTER and not after[1].endswith("ly"):
        return False
    placed = re.search(rf"@{target} (?:in|at|on|from) (?:the )?@l(\d)", unit) if target[0] in "rbi" else None
    if placed and (frame.items if target[0] == "i" else frame.records)[int(target[1:])].place != int(placed[1]):
        return False
    owner = re.search(rf"@p(\d) 's (?:\w+ )?@{target}\b", unit) if target[0] in "ril" else None
    if target[0] == "i" and re.search(
        rf"^(?!.*compare).*@{target} (?:(?:to|from|of|about|naming|signed by) (?:the )?@[pvlb]|with (?:the )?@[vlb])",
        unit,
    ):
        return False  # "the letter to Amina", if it is to somebody else
    if target[0] == "b" and re.search(rf"@{target} 's [a-z]", unit):
        return False
    return not owner or frame.people[int(owner[1])].name in frame.names[target]
