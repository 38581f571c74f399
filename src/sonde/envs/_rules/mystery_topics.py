"""What a question to somebody is about: the topics of a murder mystery, recognised in templates (`mystery_words`).

A template without the person asked gives a topic of `mystery.TOPICS`, the id of another person, `SEVERAL` if it asks
for two things, or None if it is about nothing that a person can be asked about. Source: ours.
"""

from __future__ import annotations

import re
from typing import Final

SEVERAL: Final = "several"

_POLITE = re.compile(
    r"\b(?:i|we|you) (?:would|should) (?:also |really )?like\b|\bwould you (?:also |please )?like\b|\b(?:feel|look"
    r"|looks|looked|was it|was that) like\b"
    r"|\bif you like\b|\b(?:and )?nothing (?:else|more)\b"
)
_TIME = re.compile(
    r",? ?\b(?:when|while|before|after|during|until|at (?:the|that) (?:exact |very |same )?(?:time|moment|hour"
    r"|point)(?: of"
    r"| that| when)?|around the time(?: of| that)?|(?:on|in) the (?:night|morning|evening|afternoon|day|hours?"
    r"|minutes?)"
    r"(?: of| that| when| before| after| leading up to)?|the (?:night|morning|evening|afternoon|day)(?: of| that"
    r"| when"
    r"| before| after)?)\b(?: (?!@p|asked|told)[^\s.,;:?!]+){0,6}? (?:death|murder|crime|killing|poisoning|died|die"
    r"|dead"
    r"|killed|murdered|poisoned|struck|happened|attack|attacked|incident|tragedy|blow|occurred|took place"
    r"|found dead)\b"
    r"(?: of (?:the )?@v)?(?: 's (?:death|murder))?"
)
_ALIBI = re.compile(
    r"\bwhere\b(?! (?:is|are) (?:the|your))(?! (?:will|would|do(?! you (?:say|claim|maintain))"
    r"|shall) )(?!.*\b(?:yesterday|tomorrow|last (?:week"
    r"|month|year))\b)(?! (?:do|did) (?:you|he|she|they) (?:\w+ )?(?:live|work|buy|get|keep"
    r"|learn|meet|grow)\b)"
    r"(?!.*\b(?:born|grow up|grew up|you from|school)\b)(?!.*@i\d)(?!.*\b(?:keys?|weapon|last (?:see|saw|seen|meet"
    r"|met|speak"
    r"|spoke))\b).*\b(?:you|he|she|they|were|was|been|go|went|spend"
    r"|spent|stay|stayed|gone)\b|\balibis?\b|\bwhereabouts\b|\bmovements\b|\b(?:what|how)\b.*\b(?:doing|up to|spend"
    r"|spent"
    r"|spending)\b|\baccount for (?:your|his|her|their)\b|\bwhat (?:you|he|she|they) did\b|\balone\b|\bvouch for\b"
    r"|\bwhat (?:did|have|has) (?:you|he|she|they) (?:do|done)\b(?! (?:to|with|for))|\b(?:your|his|her) (?:morning"
    r"|evening|night|afternoon|day|activities"
    r"|actions|steps)\b|\b(?:were|was|been|go|went|really|stayed|stay|leave|left|claims?)\b.*@l[1-9]"
    r"|^[ ,]*where[ ,?]*$|\b(?:at|in) (?:what|which) (?:place|room|spot)\b.*\b(?:you|he|she|they)\b"
)
_KEY = re.compile(r"\bkeys?\b|\bkeycards?\b|\bkey ?ring\b")
_CODE = re.compile(r"\bcodes?\b|\bcombination\b|\bpasswords?\b|\bdigits\b|\bpin\b")
_ACCESS = re.compile(
    r"@t\b|\baccess\b(?: to (?:the )?(?:@l0|@t|it|there|room)|(?! to))|\b(?:get|got|getting) into (?:the )?(?:@l0"
    r"|@t)\b|\b(?:open|unlock) (?:the )?(?:@l0|@t)\b"
)
_OF_IT = re.compile(
    r"\b(?:what|which|where|when|why|how|is|was|has|who) (?:\w+ )?(?:is |was |are |were |has )?(?:the )?"
    r"(?:codes?|keys?|combination|password)\b(?!.*\b(?:you|he|she|they|your)\b)"
)
"""A question about the key or the code itself, or about who has it."""
_RELATION = re.compile(
    r"\bquarrel|\bargue|\bargument|\brelation|\bget along\b|\bgot along\b|\bget on\b|\bgot on\b|\bgetting on\b"
    r"|\bblood\b"
    r"|\btrouble|\bgrudge|\bill will\b|\bill feeling|\bdislik|\bhate|\bliked\b|@v\b.*\blikes? you\b"
    r"|\blikes? (?:\w+ )?(?:the )?(?:@v|him|her|them|each other|one another)\b|\bterms\b|\bst(?:and"
    r"|ood) with\b"
    r"|\bmotive|\breasons?\b|\bresent|\bconflict|\bfeud|\bdisagree|\bfight|\bfought|\bjealous|\bangr|\bmad at\b|\bowe"
    r"|\bdebt|\bbetween (?:you|him|her|them)\b|\bfell out\b|\bfall(?:en|ing)? out\b|\bfriend|\benem(?:y|ies) of\b"
    r"|\bagainst\b"
    r"|\bdispute|\bclash|\brow\b|\bfeel(?:ings?)? (?:about|towards?|for)\b|\bbenefit|\bgain\b|\btension"
    r"|\bdifferences\b"
    r"|\bwronged\b|\bcheat|\bthreat|\bsee eye to eye\b|\binherit|\bprofit|\bwish(?:ed)?\b|\bbear\b|\brival|\bupset\b"
    r"|\bwrong\b|\bdealings\b|\bbusiness with\b"
    r"|\bkn(?:ow|own|ew) (?:the )?@v"
    r"|\bthink of (?:the )?@v|\bthought of (?:the )?@v|\bopinion of (?:the )?@v|\bst(?:and|ood)\b.*@v"
)
_DEATH = re.compile(
    r"\bpassed(?: away)? ?[.?!]*$|\bdeath\b|\bdie[ds]?\b|\bdying\b|\bdead\b|\bmurder(?:ed)?\b|\bkill(?:ed|ing)?\b"
    r"|\bcrime\b|\bpoison(?:ed|ing)?\b"
    r"|\bhappened\b|\bhit with\b|\bblow\b|\bstruck\b|\bwhat (?:had |has |really |exactly )?happened\b"
    r"|\bhow it (?:was|happened|came)\b|\bnews\b"
    r"|\bweapon\b|\btragedy\b|\bincident\b|\bpassing\b|@i1\b|\bthis affair\b|\bthe matter\b|\bthe case\b"
    r"|\bhow .*\bdone\b"
)
_SCENE = re.compile(r"@n\b|@l0\b|\b(?:near|close to|around) (?:the )?(?:body|room|there|it)\b")
_PRESENT = re.compile(
    r"\b(?:were|was|been|being|be|go|going|went|gone|walk\w*|pass\w*|come|came|stand\w*|stood|hang\w*|hung|visit\w*"
    r"|enter\w*"
    r"|see|saw|seen|near|close|foot|around|step\w*|presence|present|wait\w*|linger\w*|at|by|spotted|loiter\w*"
    r"|sneak\w*)\b"
)
_ANYONE = re.compile(
    r"\b(?:anyone|anybody|someone|somebody|others|other (?:people|guests|suspects|witnesses|persons|members|visitors"
    r"|staff)"
    r"|whom|the rest|any of them|any of the|else|everyone|everybody|suspects?|suspicious|suspicions?|enemies"
    r"|colleagues"
    r"|(?:see|saw|seen|notice|noticed|observe|observed) (?:anything|something)|what (?:did|do|have|has) (?:you|he"
    r"|she|they) (?:see|seen|notice|noticed)"
    r"|who (?:\w+ )?(?:hated?|dislikes?d?|disliked|wanted|wished|benefit\w*|gain\w*|profit\w*|quarrel\w*|argued"
    r"|killed|murdered|did)"
    r"|what (?:you|he|she|they) (?:saw|have seen|noticed)|who (?:do|did|does|have|has|could|might|would|had)"
    r"|who (?:was|were|is) (?:in|at|on|near|there|by|around|close|also)|who you|who (?:he|she|they)|each other)\b"
)
_ABOUT_SELF = re.compile(
    r"\b(?:anyone|anybody|someone|somebody) (?:else )?(?:\w+ ){0,2}(?:see|saw|seen|tell|told|ask|asked|with|confirm"
    r"|vouch|notice"
    r"|noticed|spot|spotted)\b(?: for)? (?:you|your|where|him|her|that|this|it|there)\b"
    r"|\b(?:was|is) (?:it|that|this) you\b"
    r"|\byou (?:were|had been|have been) (?:\w+ )?(?:seen|spotted|noticed|observed|heard)\b|\bwho (?:was"
    r"|were) (?:you|he"
    r"|she) with\b"
)
_GUILT = re.compile(
    r"\b(?:killer|murderer|culprit|guilty)\b|\b(?:you|he|she|they) (?:(?!was|were|is|got|been)\w+ )?(?:kill|murder"
    r"|poison|strike|killed|murdered"
    r"|poisoned|struck|do it|did it|do this|did this|done it)\b|\bresponsible\b"
    r"|\b(?:did|has|have|could|would|might|may) +(?:\w+ )?(?:kill|murder|poison|strike|killed|murdered|poisoned"
    r"|struck|do it"
    r"|done it|do this|done this)\b"
)
_VICTIM = re.compile(r"\b(?:about|to|with|of|for|and|from|between) (?:the |your |his |her )*@v")
_SURE = re.compile(r"\b(?:last|first) (?:see|saw|seen|speak|spoke|spoken|meet|met|talk\w*)\b")


def topic(asked: str, person: str, means: str) -> str | None:
    """What `asked`, a template, asks `person` (an id such as `p2`), in a case where access is a matter of `means`.

    >>> topic("where were you when @v died ?", "p0", "key"), topic("did you see @p2 ?", "p0", "key")
    ('alibi', 'p2')
    """
    asked = _POLITE.sub(" ", asked)
    others = dict.fromkeys(m for m in re.findall(r"@(p\d)", asked) if m != person)
    if others:
        return _person(list(others), asked)
    rest = _TIME.sub(" ", asked)
    # A question of which only the time was understood is not about that time.
    whole = None if re.search(r"\b(?:were|was|did) (?:you|he|she|they)\W*$", rest) else _own(asked, means)
    return _own(rest, means) or whole


def _person(others: list[str], asked: str) -> str | None:
    if len(others) > 1:
        return SEVERAL
    # Who was with whom is neither a question about the other nor one about oneself alone.
    with_them = re.search(
        r"\b(?:were|was) (?:you|he|she|they) (?:\w+ )?with (?:the )?@p|\bwhere\b.*\byou and @p", asked
    )
    return None if with_them else others[0]


def _own(asked: str, means: str) -> str | None:
    """A topic of `TOPICS`. The order matters: "did you see anyone near the scene" is about others."""
    anyone = bool(_ANYONE.search(asked)) and not _ABOUT_SELF.search(asked)
    relation, dead = bool(_RELATION.search(asked)), bool(_DEATH.search(asked))
    if _is_access(asked, means):
        return None if anyone else "access"
    if anyone:
        return "others"
    if _SCENE.search(asked) and _PRESENT.search(asked) and not re.search(r"\bwhere\b", asked):
        return None if relation and "@v" in asked else "scene"
    if _ALIBI.search(asked):
        return "alibi"
    if _SURE.search(asked):
        return None
    if relation and not re.search(r"\b(?:death|murder) of\b", asked):
        return "victim"
    if _GUILT.search(asked):
        return None
    if dead:
        return "death"
    return "victim" if _VICTIM.search(asked) else None


def _is_access(asked: str, means: str) -> bool:
    if means == "skill":
        return bool(re.search(r"@t\b", asked))
    if _OF_IT.search(asked):
        return False
    named = _KEY if means == "key" else _CODE
    other = _CODE if means == "key" else _KEY
    # A key card is not a code, and "the code of the key safe" is nothing that anybody was asked about.
    return bool(named.search(asked)) or (bool(_ACCESS.search(asked)) and not other.search(asked))
