"""What a question to somebody is about: the topics of a murder mystery, recognised in templates (`mystery_words`).

A question comes with the person asked as "you" (`mystery_subjects`). It has a topic of `mystery.TOPICS`, the id of
another person, `SEVERAL` if it asks for two things, or None if it is about nothing that a person can be asked about.
Each topic has the ways in which it is put, with the words in their places: who does what to whom. A word alone ("key",
"alone", "friend") is no question, because it may be said of somebody else. Source: ours.
"""

from __future__ import annotations

import re
from typing import Final

from .mystery_access import VICTIM, access, any_of

SEVERAL: Final = "several"


_POLITE = re.compile(
    r"\b(?:i|we|you) (?:would|should) (?:also |really )?like\b|\bwould you (?:also |please )?like\b"
    r"|\bif you like\b|\b(?:and )?nothing (?:else|more)\b"
)
_DYING = (
    r"(?:death|murder|crime|killing|poisoning|died|die|dead|killed|murdered|poisoned|struck|happened|attack|attacked"
    r"|incident|tragedy|blow|occurred|took place|found dead)\b"
)
_TIME = re.compile(
    r",? ?\b(?:when|while|before|during|until|at (?:the|that) (?:exact |very |same )?(?:time|moment|hour|point)"
    r"(?: of| that| when)?|around the (?:time|hour)(?: of| that)?|(?:on|in) the (?:night|morning|evening|afternoon|day"
    r"|hours?|minutes?)(?: of| that| when| before| leading up to)?|the (?:night|morning|evening|afternoon|day)"
    rf"(?: of| that| when| before)?)\b(?: (?!@p|asked|told)[^\s.,;:?!]+){{0,6}}? {_DYING}"
    r"(?: (?:occurred|happened|took place|was committed))?(?: of (?:the )?@v)?(?: 's (?:death|murder))?"
)
"""The time of the murder, or before: not after."""
_SUBJECT = re.compile(r"\b(?:about|of|regarding|concerning|happened|remember|recall)$")
"""Before a time that is asked about itself."""
_WELL = (
    r"(?:(?:ever|really|actually|also|indeed|perhaps|possibly|by any chance|yourself|personally|happen to|once|maybe"
    r"|never|all|not|in fact|always|at all|just|truly|honestly|not) )*"
)

# --- where somebody was ----------------------------------------------------------------------------------------------

_STAYED = (
    r"(?:was|were|be|been|have been|had been|being|happen|go|going|went|gone|spend|spent|stay|stayed|staying|get to"
    r"|got to|hang"
    r"|disappear|claim|say|maintain|sit|sitting|stand|standing|work|working|sleep|sleeping|play|playing|dig|digging"
    r"|walk"
    r"|walking|hide out|wait|waiting|during|in|on|at|between|around|then|that|this|from|for|really|exactly|right|late"
    r"|yourself|last night|all|the (?:whole|entire)|just|when|while|if|as|and|before|or|please|pray|0000|again"
    r"|precisely|anyway|off"
    r"|run|running|head|headed|heading|move|end up)\b"
)
_ALIBI = any_of(
    rf"\bwhere (?:(?:was|were|did|do|does|have|had|has|might|may|could|would|exactly|really|precisely|else|then"
    rf"|on earth|,|to"
    rf"|it is|shall we say|i ask) )*you(?: ,)?(?: (?:{_STAYED}|[.,;:?!)]|@l[1-9]|you\b)| ?$)",
    r"\bwere you (?:were|at the time|when) ?",
    r"\bat (?:what|which) (?:place|room|spot)\b.*\byou\b",
    r"\b(?:what|how) (?:(?:exactly|else|was|were|did|have|had|it is|on earth) )*you (?:then |exactly |really |was "
    r"|were )?(?:doing"
    r"|up to|been doing|been up to|spend|spending|spent|busy)\b(?! (?:to|with|for|your (?:money|life|childhood))\b)",
    r"\bwhat (?:did|have|had) you (?:do|done)(?= (?:at|between|during|that|around|in the|on the|then|from|in @l"
    r"|on @l)\b"
    r"| ?[.,?!]| ?$)",
    r"\bwhat you (?:did|were (?:doing|up to))\b(?! (?:to|with|for|about)\b)",
    r"\byour (?:(?:own|full|exact) )?(?:alibis?|whereabouts|movements|steps|activities|actions)\b",
    r"\b(?:an|any|the|of|for|with|this|a \w+) alibis?\b(?! (?:is|was|for (?:@v|the @v)|of (?!you)))",
    r"^\W*(?:you |and |about |the |your |[,:] )*(?:alibis?|whereabouts|movements|where)[ ,.?!]*$",
    r"\b(?:alibi|whereabouts|movements) (?:of|for) you\b",
    r"\baccount for (?:your|that|the)\b(?: (?:self|time|movements|hours?|evening|night|minutes|quarter))?",
    r"\b(?:vouch for|confirm|prove|verify) (?:your (?!key|code)|where you|you\b)",
    r"\bwere you (?:\w+ ){0,3}?(?:in|at|on|near|inside) (?:the )?@l[1-9]\b",
    r"\b(?:did|have|had) you (?:\w+ )?(?:really )?(?:leave|left|stay|stayed|go to|been (?:in|at|on|to)|gone to|go into"
    r"|visit|visited|spend .*(?:in|at|on)|enter|entered) (?:\w+ ){0,3}?@l[1-9]\b",
    r"\b(?:were|was) you (?:\w+ )?alone\b(?! with| in life)",
    r"\byou (?:were|was) (?:not |really |in fact )*(?:in|at|on|inside) (?:the )?@l[1-9]\b",
    r"\bdescribe your (?:evening|night|morning|afternoon|day)\b|\byour (?:evening|night|morning|afternoon)\b",
)
_NOT_THEN = re.compile(
    r"\b(?:yesterday|tomorrow|last (?:week|month|year|summer|winter)|born|grew up|grow up|usually|normally|today"
    r"|generally|often|every (?:day|night|morning|evening)|these days|afterwards?|later|years? ago|(?:mon|tues"
    r"|wednes|thurs|fri|satur|sun)day|after (?:the (?!hour|stroke|bell)|that|it|this|his|her|@v|he|she)|as a"
    r" (?:child|boy|girl|student)|in your youth|typically)\b"
    r"|\bwhere (?:do|does) you (?!claim|say|maintain)|\b(?:why|what reason)\b.*@l[1-9]"
)
"""Another time than that of the murder."""

# --- how somebody stood with the victim ------------------------------------------------------------------------------

_STRIFE = (
    r"(?:quarr?el\w*|argue[ds]?|arguing|arguments?|disputes?|disputed|grudges?|bad blood|ill will|ill feelings?"
    r"|(?:bad|hard|ill|hurt) feelings?|feuds?|resent\w*|conflicts?|disagree\w*|tensions?|differences|fe(?:ll|el) out"
    r"|falling out|fallen out|fall out|clash\w*|rows?|motives?|fight|fought|rival\w*|hostil\w*|animosity|enmity"
    r"|bitter\w*"
    r"|anything against|something against)"
)
_BOND = (
    r"(?:relation\w*|get(?:ting)? along|got along|get(?:ting)? on|got on|(?:good|bad|speaking|friendly|what|difficult"
    r"|best) terms|terms|friends?|friendly|enem(?:y|ies)|foes?|trouble|problems?|blood|feelings?|at odds|eye to eye"
    r"|dealings|business|connection|stand|stood|things|close|debts?|history|disagreed|dispute)"
)
_DOES = (
    r"(?:like|liked|dislike[ds]?|hate[ds]?|love[ds]?|trust|trusted|despise[ds]?|resent\w*|owe[ds]?|envy|envied|fear"
    r"|feared"
    r"|cheat\w*|threat\w*|wronged|wrong|harm(?:ed)?|respect(?:ed)?|know|knew|known|bear|against|blackmail\w*|betray\w*"
    r"|want|wanted|wish(?:ed)?|admire[ds]?|stand|treat(?:ed)?|blame[ds]?|dismiss(?:ed)?|hurt|insult\w*|fired?"
    r"|sack(?:ed)?|ignored?|feel|felt"
    r"|offend\w*)"
)
_KIND = r"(?:rude|kind|unkind|mean|cruel|nice|unfair|fair|harsh|polite|good)"
_HOW = r"(?:(?:\w+|,) ){0,5}?"
_TOWARDS = r"(?:with|of|about|towards?|for|against|to|on|at|by)"
_ANY_STRIFE = (
    rf"\b{_STRIFE}\b(?!.* (?:with|against|towards?|between|at|to) (?!{VICTIM}|you\b|each|one another"
    rf"|any\w* of))"
)
_VICTIM = any_of(
    rf"\bbetween (?:you and {VICTIM}|{VICTIM} and you)",
    rf"\b(?:how|what|why)\b {_HOW}(?:you and {VICTIM}|{VICTIM} and you)(?= (?:get|got|stand|stood|like|on"
    rf"|with (?:one|each))\b"
    r"|\W*$)",
    rf"\b(?:you and {VICTIM}|{VICTIM} and you)\b {_HOW}(?:{_STRIFE}|{_BOND}|with (?:one another|each other))\b",
    rf"\byou(?:r own|r)? {_HOW}(?:{_STRIFE}|{_BOND}|reasons?)(?: \w+){{0,3}}? (?:{_TOWARDS} )?{VICTIM}",
    rf"\b(?:{_STRIFE}|{_BOND}) (?:{_TOWARDS}|\w+ to) {VICTIM}",
    rf"\byou {_WELL}{_DOES}(?: {_TOWARDS})?(?: that| any| the)? {VICTIM}",
    rf"\byou {_WELL}(?:bear|have|had|feel|felt|hold|held) {VICTIM} (?:any|some|a|no)\b",
    rf"\byou {_WELL}(?:bear|have|had|hold|held) (?:\w+ ){{0,3}}?against {VICTIM}",
    rf"\b(?:had|have) you (?:\w+ )?against {VICTIM}",
    rf"\byou {_HOW}(?:angry|furious|mad|upset|annoyed|jealous|afraid|fond|unhappy|cross|disappointed|pleased"
    rf"|on terms|in debt) (?:with|at|of|about|because of|to) {VICTIM}",
    rf"\byou {_HOW}(?:because|on account) of {VICTIM}.*\b(?:angry|furious|mad|upset|bitter)\b",
    rf"\byou {_HOW}(?:think|thought|opinion|view|stand|stood|feel|felt|feelings?) (?:of|about|with|towards?|for"
    rf"|on) {VICTIM}",
    rf"\byou (?:\w+ ){{0,3}}?owe[d]? {VICTIM}",
    rf"{VICTIM} {_WELL}(?:had |has |have )?{_WELL}threat\w* to \w+ (?:you|your)\b|\byour own with {VICTIM}",
    rf"{VICTIM} {_WELL}(?:had |has |have )?{_WELL}(?:{_DOES}|quarrel\w*|argue\w*|fight|fought|fall out|fell out|give"
    rf"|gave|cause"
    rf"|do|did|done|stand)(?: with| against)? you\b",
    r"\b(?:@v|victim)\b.*\blikes? you\b",
    rf"\bmoney (?:that |which )?{VICTIM} owed\b",
    rf"\byour? {_HOW}(?:reasons?|motives?|cause|grounds?)(?: \w+){{0,3}}? (?:to|for|in) (?:\w+ )?(?:{VICTIM}|kill\w*"
    rf"|want\w*"
    rf"|harm|hate|wish\w*|dislike|resent)",
    rf"\byou {_HOW}(?:gain|gained|benefit|profit|inherit|win)\b.*(?:@v|death|murder|killing|dead|from (?:it|this))",
    r"\b(?:benefit|profit|suit|please|help) you\b",
    r"\bmotives?\b.*\byou\b.*\b(?:kill\w*|had|have|harm\w*)\b",
    rf"\byou {_HOW}see eye to eye\b|\byou (?:two )?{_HOW}(?:get|got) (?:along|on)(?: ?[.?!,]|$| with {VICTIM})",
    rf"\byou {_HOW}@v 's (?:\w+ )?(?:friend|enemy|rival)\b|\b{VICTIM} (?:\w+ )?(?:friend|enemy|rival) of yours\b",
    rf"\byou {_HOW}(?:lose|lost) (?:\w+ ){{0,3}}?(?:because of|through|to) {VICTIM}",
    rf"\b{VICTIM} {_HOW}{_KIND} to you\b|\byou {_HOW}{_KIND} to {VICTIM}",
    r"\byou two (?:\w+ )?(?:friends|close|friendly|enemies)\b",
    rf"\b(?:ask|tell me|know|tell us|say|thinks?|thought|what|think)\b[^?]*\b(?:about|regarding) {VICTIM}\W*$",
    rf"\byour? {_HOW}(?:relation\w*|stand\w*|terms|quarrel\w*|dispute\w*|argument\w*|grudge\w*"
    rf"|trouble) {_TOWARDS} {VICTIM}",
    rf"^\W*(?:you , |any |and |the |what |was |wrong |is |were |there |bad |hard |ill |trouble |feelings? |blood )*"
    rf"(?:with|between|towards|against) {VICTIM}\W*$",
)
_STRONG = re.compile(_ANY_STRIFE)

# --- the spot near the scene -----------------------------------------------------------------------------------------

_N = r"(?:(?:the|that|this|its) )*(?:@n|@l0)\b(?! 's)"
_AT = (
    r"(?:(?:in|on|at|by|near|behind|between|around|outside|inside|before|below|under|beneath|beside|along|through"
    r"|close"
    r"|to|next|anywhere|over|there|about|past|into|up|down|out|from|upon|across|onto|of|here|the|that|this|vicinity"
    r"|right"
    r"|those|somewhere|front|ever|just|then|hanging|not) )*"
)
_WENT = (
    r"(?:go|went|gone|walk\w*|pass\w*|come|came|stand|stood|standing|hang|hung|visit\w*|enter\w*|step\w*|wait\w*"
    r"|linger\w*"
    r"|loiter\w*|sneak\w*|set foot|use|used|take|took|be|been|being|seen|spotted|noticed|observed|lurk\w*|get|got|stop"
    r"|stopped|go near|present|move\w*|run|ran|cross\w*|cut|climb\w*|hurr\w+|creep|crept|slip\w*)"
)
_SCENE = any_of(
    rf"\b(?:were|was|are|been|is it true that) you (?:\w+ ){{0,4}}?{_AT}{_N}",
    rf"\byou (?:\w+ ){{0,3}}?(?:were|was|had been|have been) (?:\w+ ){{0,3}}?{_AT}{_N}",
    rf"\byou {_WELL}(?:have |had |been |be )*{_WENT} {_AT}(?:\w+ly |anywhere |close )?{_AT}{_N}",
    rf"\b(?:see|saw|seen|spot|spotted|notice|noticed|observe|observed|meet|met|recognised|recognized|place|placed) you"
    rf"(?: \w+){{0,3}}? {_AT}{_N}",
    rf"\bwas (?:it|that) you (?:\w+ ){{0,3}}?{_AT}{_N}",
    rf"\byou\b[^@]*\b(?:the )?one (?:\w+ )?(?:seen|who|that)\b[^@]*{_N}",
    rf"{_N}.*\b(?:was it|it was|that was|was that|is it|were) (?:not )?you\b",
    rf"{_N}.*\b(?:were you (?:ever |not )?(?:there|seen)|was it you|did you (?:go|pass|walk|stand|stop) (?:there|by"
    r"|past|through))\b",
    rf"{_N} (?:\w+ )?[,.:]? ?you\W*$",
    rf"\bwhat (?:were|did) you (?:doing|do|want) {_AT}{_N}",
    rf"\b(?:ask|question|press|quiz) you about (?:the )?(?:having been |being )?{_AT}@n\W*$",
    rf"^\W*(?:you |and |: |, )*(?:seen|been|ever|standing|present) {_AT}{_N}",
)

# --- the death -------------------------------------------------------------------------------------------------------

_TOLD = (
    r"(?:know|knew|known|heard|hear|told|tell|say|saying|said|learn\w*|make of|made of|find out|found out|ideas?|ears"
    r"|opinion|describe|word|news|knowledge|think|understand|understood|rumou?rs?|informed|aware|explain|believe|talk"
    r"|(?:ask|question|interview|press|quiz|interrogate) you|recall|remember|share|regarding|think of|thoughts)"
)
_OF_DEATH = (
    r"(?:\b(?:death|murder|killing|crime|poison(?:ing)?|tragedy|attack|passing|incident|weapon|blow|murder weapon)\b"
    r"(?! of (?!(?:the |poor |our )*@v))"
    r"|\b(?:how|way|manner|what)\b[^?]*(?:\b(?:he|she|they|it|victim)\b|@v)(?: \w+){0,3}?"
    r" (?:dead|die[ds]?|killed|murdered|poisoned|struck|passed|done|happened|came about|dying|given)\b"
    r"|\b(?:that|when|whether) (?:\w+ )?@v (?:was|had|is|has) (?:\w+ )?(?:dead|died|killed|murdered|poisoned|struck)\b"
    r"|\bhow the (?:death|murder|killing) (?:came|happened|was)\b|\bwhat (?:had |has |really |exactly )?happened"
    r"(?: to (?:the )?(?:@v|@x|him|her)| here| that (?:night|evening|morning|afternoon|day)| exactly)*\W*$"
    r"|\bmet (?:\S+ ){1,2}end\b|\bthis affair\b|\bthe (?:matter|case)\b|@i1\b|\bpoisoned (?:tea|wine|drink|coffee)\b)"
)
_DEATH = any_of(
    rf"\b{_TOLD}\b.*{_OF_DEATH}",
    r"\bhow (?:was|did|had|is|were|exactly did|do you think) (?:\w+ )?(?:the )?(?:@v|he|she)\b(?: \w+){0,3}?"
    r" (?:die[ds]?|killed|murdered|poisoned|struck|dead)\b",
    r"\b(?:what|which \w+)(?: do you think)? (?:killed|poisoned|struck|happened to) (?:the )?(?:late )?(?:@v|him"
    r"|her)\b",
    r"^\W*(?:you |and |so |well )*what (?:had |has |really |exactly )?happened"
    r"(?: to (?:the )?@v| here| that (?:night|evening|morning|afternoon|day)| exactly)*\W*$",
    r"^\W*(?:you |and |what about |about )*(?:the )?(?:death|murder|killing|crime|poisoning)(?: of (?:the )?@v)?\W*$",
)
_NOT_DEATH = re.compile(
    r"\b(?:feel|felt|sad|sorry|cry|cried|shock\w*|miss|grieve|after|mourn|funeral|guilty|yours|your own (?:death"
    r"|murder)"
    r"|bring|fetch|buy|bought|make (?!of)|made (?!of)|cook|serve[d]?|pour(?:ed)?|own|touch(?:ed)?|handle[d]?|confess"
    r"|admit|involved|part in|commit\w*|before)\b"
)

# --- others ----------------------------------------------------------------------------------------------------------

_SEE = (
    r"(?:see|saw|seen|notice|noticed|observe|observed|spot|spotted|witness|witnessed|watch|watched|meet|met|hear"
    r"|eye on|recogni[sz]ed?|catch sight of|come across|run into|pass|passed)"
)
_SOME = (
    r"(?:any(?:one|body)|some(?:one|body)|any of (?:the|them|those|our)|any others?|the others|others|other (?:people"
    r"|guests|suspects|witnesses|persons|members|visitors|staff|guest|person|suspect)|the rest|every(?:one"
    r"|body))"
)
_ONES = rf"(?:{_SOME}|(?:the |any |any of the )?(?:other )?(?:suspects|witnesses|guests|people|colleagues|others))"
_OTHERS = any_of(
    rf"\b{_SEE} (?:or hear )?(?:\w+ )?(?:{_SOME}|anything|something)\b(?! (?:to eat|like|in|on the @i))",
    r"\bwhat (?:did|do|have|has) you (?:really |actually |then |also )?(?:see|seen|notice|noticed|witness|observe)\b"
    r"(?! (?:in|of) (?:the |your )?(?!night|evening|morning|afternoon|that))"
    r"|\bwhat you (?:saw|have seen|noticed|observed|witnessed)\b(?! of)",
    rf"\b(?:whom?|which of (?:the|them|these)[^?]{{0,20}}) (?:else )?(?:did|do|have|has|had|could|can|would|might) you"
    rf" {_WELL}(?:{_SEE}|suspect|tell|speak|say|describe|think|believe|have your eye|know something|trust least)\b",
    rf"\bwho(?:m)? you {_WELL}(?:{_SEE}|suspect|had seen|have seen|can tell)\b",
    r"\b(?:about|on|of) (?:whom|which of|who|any(?:one|body)|any of|one of the|the others|others|some(?:one|body)"
    r"|the other|other people|every(?:one|body))\b(?=.*\b(?:you|tell|say|know|speak)\b)"
    r"|\b(?:tell|say|know|speak|ask you)\b[^?]*\b(?:about|of|on) (?:whom|which of|any(?:one|body)|any of|one of the"
    r"|the"
    r" others|others|some(?:one|body) else|the other|other people|every(?:one|body)|your colleagues|who)\b",
    rf"\b(?:{_ONES})(?: else)?(?: \w+){{0,2}}? (?:act\w*|behav\w*|suspicious\w*|strange\w*|odd\w*|nervous\w*|near"
    rf"|close"
    rf"|around|keep an eye on)\b",
    rf"\b(?:who|{_SOME})(?: else| here| else here)? (?:(?:do|did) you (?:think|believe|suppose|reckon|suspect) "
    rf"|(?!you\b)\w+ ){{0,3}}?(?:reasons?|motives?|grudge|hate[ds]?"
    rf"|dislike[ds]?|wish"
    r"|wished|want|wanted|quarrel\w*|argued|benefit\w*|gain\w*|profit\w*|kill\w*|murder\w*|poison\w*|done it|did it"
    r"|did this|enem\w+|against @v)\b",
    r"\b(?:do|did|have|had|what|which|any|about|with|are|share) (?:you |your |of |other )*(?:have |had "
    r"|any )*suspicions?\b"
    r"|\b(?:do|did) you suspect (?:any\w*|some\w*)|\bsuspicious (?:people|persons|behaviou?r|activity|figures?)\b",
    rf"\b(?:was|were) (?:there )?{_SOME}(?: else)? (?:\w+ )?(?:in|at|on|near|there|around|by)\b",
    rf"\bwhere (?:was|were) (?:{_ONES})\b|\bwhere (?:{_ONES}) (?:was|were)\b",
    rf"\b{_SOME}(?: else| here)* (?:that |whom )?you (?:can|could) (?:tell|speak|say)\b",
    r"\bwhose \w+ do you doubt\b|\benemies\b",
    rf"\bask you (?:about|regarding) (?:the )?{_ONES}",
    r"\bwho (?:else )?(?:was|were|is|went|came|passed|walked|stood|left|entered|are) (?:there|in|at|on|near|by|around"
    r"|close|also|behind|out|about|past|between)\b",
)
_NOT_OTHERS = re.compile(
    r"\b(?:any\w*|some\w*|whom?|others?|them|people)(?: else)?(?: (?:to|who|that|could|can|did|has|have|had|might"
    r"|would|there"
    r"|ever|actually|will|does|do|really))* (?:see|saw|seen|notice\w*|spot\w*|observe\w*|confirm\w*|vouch\w*|watch\w*"
    r"|accuse\w*|suspect\w*|tell|told|ask\w*|meet|met|with|give|gave|show\w*|taught|teach|threat\w*|hate\w*|dislike\w*"
    r"|call\w*|help\w*|hear\w*|against|talk\w*|speak|spoke|like\w*|want\w*|let|prove|wish\w*|blame\w*)"
    r"(?: to| for| with| by)? (?:you|your)\b"
    r"|\bwhom? (?:was|were) you (?:\w+ )?with\b|\b(?:were|was) you (?:\w+ )?with (?:any|some)\w*"
    r"|\b(?:apart from|other than|besides|except|your (?:own )?death|on your side)\b|\bwhom? (?:did|have|had|would"
    r"|do) you (?:\w+ )?(?:tell|call)\b"
)
"""What others did to the person asked ("did anyone see you"), and what leaves somebody out."""

_TOPICS: tuple[tuple[str, re.Pattern[str], re.Pattern[str] | None], ...] = (
    ("scene", _SCENE, _NOT_THEN),
    ("alibi", _ALIBI, _NOT_THEN),
    ("victim", _VICTIM, None),
    ("death", _DEATH, _NOT_DEATH),
)
_WHOM = re.compile(
    r"\b(?:whom?|any(?:one|body)|some(?:one|body)|others|else|the rest|every(?:one|body))\b(?! (?:ever |really "
    r"|else )?(?:says|said|see|saw|seen|notice"
    r"|noticed|spot|spotted|confirm|vouch|observe|give|gave|hand|tell|told)\b)"
)


def topic(asked: str, means: str) -> str | None:
    """What `asked`, a template in which the person asked is "you", asks, where access is a matter of `means`.

    >>> topic("where were you when @v died ?", "key"), topic("did you see @p2 ?", "key")
    ('alibi', 'p2')
    """
    asked = _POLITE.sub(" ", asked)
    others = dict.fromkeys(re.findall(r"@(p\d)", asked))
    if others:
        return _person(list(others), asked)
    time = _TIME.search(asked)
    if time and _SUBJECT.search(asked, 0, time.start()):
        return _own(asked, means)
    return _own(" ".join(_TIME.sub(" ", asked).split()), means)


_COMPANY = re.compile(
    r"\b(?:were|was|are) you (?:\w+ )?with (?:the )?@p|\bwhere (?:were|was|did|have|had) you\b.*@p"
    r"|\bwhat (?:were|was) you\b.*@p|\bwhat did you (?:do|want|give|tell|say|talk)\b.*@p"
    r"|\bwhere\b.*\byou and (?:the )?@p|\byou and (?:the )?@p\d (?:\w+ )?(?:together|in|at|on|meet|met|alone)\b"
    r"|@p\d (?:\w+ )?(?:see|saw|seen|notice\w*|spot\w*|watch\w*|vouch|confirm\w*|tell|told|give|gave|lend|lent|show"
    r"|showed"
    r"|ask|asked|hand|handed|teach|taught|let) (?:for )?you(?:r)?\b"
    r"|\byou (?:\w+ )?(?:tell|told|give|gave|lend|lent|show|showed|hand|handed|teach|taught|get|got|take|took"
    r"|borrow\w*)"
    r" (?:(?!about\b|regarding\b|of\b|on\b|me\b|us\b)\w+ ){0,4}?@p|\b(?:from|for|to|with|by|after|before|when|while"
    r"|until|since|without|like|as) (?:the )?@p\d 's?\W*$"
    r"|\b(?:when|while|before|after|until|since|because) (?:the )?@p|\bor (?:about |with )?(?:the )?@"
    r"|@p\d [^,.?:]*(?<!from )(?<!with )(?<!pass )(?<!passed )(?<!by )\b(?:you|your|yourself)\b(?! (?:think|thought"
    r"|know|would say|say|believe|can|could|ought))"
    r"|\b(?:is|was) (?:that|this) (?:the )?@p\d\W*$|\bis (?:the )?@p\d (?:in|here|there|around|home|awake|well|dead"
    r"|alive)\b"
    r"|\b(?:wait\w*|look\w*|search\w*|call\w*|send|sent) for (?:the )?@p"
    r"|\b(?:tell|give|show|send|send in|fetch|bring|call|hand|lend|help|hello to|join|follow|leave|enough about"
    r"|thank|ask"
    r"|look like|find|told|gave|showed|without|from|like|get|marry|replace|greet|warn|inform|arrest) (?:in |for "
    r"|the )*@p"
)
"""Who was with whom, and who told or gave what to whom, is neither about the other nor about oneself alone."""


def _person(others: list[str], asked: str) -> str | None:
    if len(others) > 1:
        return SEVERAL
    return None if _COMPANY.search(asked) else others[0]


def _own(asked: str, means: str) -> str | None:
    """A topic of `TOPICS`; None if there is none, or more than one that do not belong together."""
    if _OTHERS.search(asked) and not _NOT_OTHERS.search(asked):
        return None if access(asked, means) else "others"
    if re.search(r"\bwhom? else\b|\b(?:which|who|one|any|some|how many|all|both|each) of you\b", asked):
        return SEVERAL
    if _WHOM.search(asked) and not re.search(r"\bwho (?:told|gave|showed|taught)\b", asked):
        return None
    found = [name for name, said, unless in _TOPICS if said.search(asked) and not (unless and unless.search(asked))]
    if access(asked, means):
        return "access" if not set(found) - {"alibi", "scene"} else None
    if found:
        return SEVERAL if found[0] == "scene" and re.search(r"\bor\b.*@l[1-9]|@l[1-9].*\bor\b", asked) else found[0]
    return "victim" if _STRONG.search(asked) and "@" not in asked.replace("@v", "") else None
