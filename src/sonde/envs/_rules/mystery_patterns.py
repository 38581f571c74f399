"""How detectives put things: the patterns by which `mystery_reading` understands templates (`mystery_words`).

In a template `@p2` is a person, `@v` the victim, `@b6` somebody to talk to, `@r1`, `@i4`, `@l3` a record, an item, a
place. Source: ours.
"""

from __future__ import annotations

import re

VERBS = (
    "ask|question|interview|interrogate|check|examine|look|search|inspect|read|accuse|talk|speak|show|tell|visit"
    "|arrest|"
    "investigate|review|study|watch|view|quiz|confront|see"
)
CUT = re.compile(
    rf" (?:(?:,|and|, and) then|then|afterwards|after that|and also|, also) (?=\S)| , (?=(?:{VERBS}|where|what|did"
    rf"|do|does|were"
    rf"|how)\b)| (?:and|, and|or|, or) (?=(?:{VERBS}|where|what|did|do|does|were|was|how|whether|if|about|why|who"
    rf"|can|could|have"
    r"|has|is)\b)"
)
WISH = re.compile(r"\b(?:know|learn|understand|find out|more|curious|interested)\b[^@]*\babout (?:the )?@p\d 's\b")
SENTENCE = re.compile(r"[^.?!;]+[.?!;]*")
DISMISSED = re.compile(
    r"(?:^|(?<=[,:;.?!] )|(?<=\band )|(?<=\bbut ))(?:no , |please |well , )*(?:i (?:do|will|would|am|can|did|have"
    r"|need|want)"
    r" not\b|let us not\b|we (?:do|will) not\b|do not\b(?! you\b)|not\b|never mind\b|forget\b|leave\b|skip\b|ignore\b"
    r"|instead of\b|rather than\b|nobody (?:says|said|thinks)\b|no one (?:says|said)\b|there is no need\b|no need\b)"
    r"[^.?!;]*?(?= ,| and (?:show|tell|check|look|examine|ask|go|give|let|read|hand|bring|see)\b| but\b| [.?!;]|$)"
)
ASIDE = re.compile(
    r"(?:^|(?<=[.!?] ))(?:(?:thank you|thanks|sorry|excuse me|(?:hello|hi|good (?:morning|evening"
    r"|day))(?! ,? ?(?:the )?@[pb]))\b(?![^.!]*\?)[^.!?]*[.!]"
    r"|(?:since|because|given|as|although|though|considering|now that|to (?:verify|confirm|test|follow)|based on"
    r"|in order to)\b"
    r"[^.,?!;]*,)(?= \S)"
)
"""Politeness, and the reason for what is done: neither does anything."""
PLANNED = re.compile(
    r"^\W*(?:and |but |so |then )*(?:if|once|as soon as|unless|when (?:i|we)) (?!you (?:do|would|could|can|please"
    r"|like"
    r"|wish)|possible|i may|we may|necessary|so\b|not\b)[^,?]*,"
    r"|\b(?:later|next time|next turn|some other time|afterwards|eventually|tomorrow|in the future)\W*$"
    r"|^\W*(?:later|maybe later|next time|maybe next time|eventually|tomorrow|perhaps later)\b"
    r"|\b(?:should|shall|must|ought|may|might|could) (?:i|we)\b(?=.*\bor\b.*\?)|^\W*(?:should|must) (?:i|we)\b"
    r"|(?<!if )\b(?:i|we) (?:might|may|could)\b(?! (?:have|be able))"
    r"|\b(?:i|we) would (?:\w+ )?(?:examine|check|ask|search|question|inspect|look|read|talk|accuse)\b"
    r"(?=.*\b(?:if|but|when|had|later|unless|though)\b)"
    r"|\b(?:worth|pointless|premature|useless|waste of time|tempted)\b"
    r"|\b(?:was|were|am|been) (?:told|asked|advised|supposed) to\b|^\W*(?:provided|providing|assuming|supposing) "
    r"|\b(?:i|we) (?:plan|intend|was going|am planning) (?:to|on)\b|\b(?:only|but only) (?:if|when|after)\b"
)
"""What is to be done later, under a condition, or is asked for advice."""
META = re.compile(
    r"\b(?:ignor\w+|forget|disregard|drop|break|override|leave) (?:(?:all|your|the|any|of|previous|my|these"
    r"|prior) ?)*"
    r"(?:role|rules|instructions?|character|prompt|guidelines)\b|\bout of character\b|\bsystem prompt\b"
    r"|\b(?:hidden|secret) (?:instructions?|file|data|truth|prompt)\b|</?\w+>|\bas an ai\b"
)
"""What is said to the game and not in it."""
TAKEN_BACK = re.compile(
    r"\b(?:no|hold on|oh)\W+wait\b|\bscratch that\b|\bsecond thoughts?\b|\b(?:just|only) (?:kidding|joking)\b"
    r"|\b(?:actually|wait|sorry)\W+no\b|\bi take (?:it|that) back\b"
)
LOOK_FOR = re.compile(
    r"\b(?:search|explore|comb|inspect|examine|check) (?:the )?@(l\d) (?:over |closely "
    r"|carefully )?for\b(?=.*@[ri]\d)"
)
TOO = re.compile(r"(?:\band|,) (?:the )?@[pb]\d ?,? (?:too|also|as well)\b")
SOUGHT = re.compile(
    r"\b(?:tell|know|hear|learn|understand|discuss|explain|verify|check|confirm|clarify|establish|investigate|look"
    r"|examine|explore|ask|find|determine|describe|what|how|any|let us|need|want|more|regarding|see|curious"
    r"|interested)\b"
    r"|^\W*(?:and |so |now |then )*(?:about |the )*(?:alibi|whereabouts|movements|motive|relationship|access|@p\d 's)"
    r"(?: \w+){0,2}\W*(?:please\W*)?$"
)
"""That something of somebody's is asked for, not only spoken of."""
WORN = (
    r"(?:shoes?|boots?|soles?|footwear|coats?|jackets?|sleeves?|cloth(?:es|ing)|outfit|garments?|buttons?|scents?"
    r"|perfume|cologne"
    r"|smells?|hems?|pens?|inks?|handwriting|writing|knots?|laces|tobacco|pipe|cigar\w*|cigarettes?|sweets?|candy"
    r"|wrappers?"
    r"|pockets?|gloves?|wax|lantern|lamp|cuffs?|paint|fingernails|nails|scarf|shawl|fringes?|threads?|appearance"
    r"|dress|trousers"
    r"|feet|fingers|hands|bag|hat|apron|overalls?|robe|shirt|earth|mud|soil|belongings|person)"
)
AND_THEN = re.compile(r"@[pb]\d ?,? (?:and )?(?:then|afterwards|after that) (?:the |to )*@[pb]\d")
ACCUSE_TOO = re.compile(
    r"\W*(?:and |then |also )*(?:accuse|arrest|charge) (?:the )?(?:@p|whoever|whomever|anyone|anybody|someone"
    r"|somebody|one of"
    r"|guilty|most )"
)
DIRECTLY = (
    r"\b(?:look|at|over|examin\w+|inspect\w*|check\w*|search\w*|study\w*|observ\w+|watch\w*|investigat\w+|see|scan"
    r"|scrutini[sz]\w+|(?:examination|inspection|search|look) of|pat down|frisk) "
    r"(?:(?:the|our|more|closely|carefully|now|next|suspect|witness|mr|out|over|up) )*"
)
"""Before a person: so the person is looked at, not something of theirs."""
REMINDER = re.compile(r"\bdo not forget to\b")
LINK = r"(?:the|a|an|our|this|that|again|witness|suspect|one|of|more|now|next|first|once|further|mr|both) "
ASK = re.compile(
    r"\b(?:ask|asking|question|questioning|interview|interviewing|interrogate|interrogating|quiz|press|confront"
    r"|challenge|grill|consult|query"
    r"|approach(?:es)?|(?:walks?|goes|turns?|turning|walking) (?:over |up )?to|(?:talk|speak|chat|talking"
    r"|speaking) (?:to|with)|(?<!you )hear(?: from)?|have (?:a|another) (?:\w+ )?(?:word|chat|talk)"
    r" with|(?:find out|learn|know) from|questions? (?:for|to)|(?:get|take) (?:a|the|an)? ?(?:statement|account"
    r"|testimony|story|word)s? (?:from|of)|call (?:in|on)"
    r"|knock(?:s|ing)? (?:at|on)(?: the door of)?|(?:begin|start|continue|follow up|proceed) with|wake(?: up)?"
    r"|sit down with|turn(?:s|ing)? (?:back )?to|put (?:it|this|that|the question)"
    r" to)"
    rf" (?:{LINK})*(@(?:p\d(?! 's)|b\d|[vx])|him|her|them|everyone|everybody|all|each|both|every|whole|entire)"
)
MADE = re.compile(
    r"\b(?:tell|have|get|make|let|order|invite) (?:the )?(@[pb]\d) (?:to )?(?:explain|say|tell|account|describe|talk"
    r"|answer|state|recount)\b"
)
WHETHER = re.compile(
    r"\b(?:tell me|know|find out|determine|establish|learn|ascertain|clarify|hear|see|check|wonder|verify|confirm"
    r"|discover) (?:about )?(?:where"
    r"|what|whether|if|how|who)\b[^@]*?(?:the )?@([pb]\d)(?! 's)"
)
ENDS = re.compile(
    r"^@(p\d) (?=\w)(?=.*\byou)"
    r"|\byou\b[^@]*(?<!see )(?<!saw )(?<!know )(?<!about )(?<!of )(?<!with )(?<!to )(?<!for )(?<!and )(?<!the )"
    r"@(p\d)\W*$"
)
WANT = re.compile(
    rf"\b(?:need|want|like)(?: to (?:see|meet))? (?:{LINK})*(@b\d|@p\d(?= to (?:tell|say|explain|answer)))"
)
NEXT = re.compile(
    r" (?:,|and|, and|or|as well as|together with) (?:(?:to|at|with|the|also|then) )*@([pb]\d)(?! (?:'s|,? ?you\b))"
)
EVERYBODY = re.compile(
    r"\b(?:ask|question|interview|interrogate|talk to|speak to|speak with|talk with|gather|assemble|summon"
    r"|round up|line up|examine|search|check"
    r"|inspect)\b (?:\w+ )?(?:everyone"
    r"|everybody|all|each|both|every|(?:the )?(?:whole|entire)|(?:the )?(?:suspects|witnesses|staff|guests|crew"
    r"|papers))\b"
    r"|\b(?:compare|look at|read|review) (?:everyone|everybody|(?:all|each|every)(?: of)?(?: the| their| these)?"
    r" (?:suspects?|witness(?:es)?|people|papers|letters|shoes|records|logs|documents))\b"
    r"|\bcompare\b.* (?:everyone|everybody|all|each)\b"
)
VOCATIVE = re.compile(
    r"(?:^|[,.?!:;] |(?<![pb]\d )\b(?:and|so|now|but|ok|okay|well|hello|hi|hey|dear|good (?:morning|evening|day)"
    r"|just"
    r"|thank you|thanks|please|sorry|right|yes|no) )(?:the |dear |my |mr )?@([pb]\d)(?: ,? ?(?:the "
    r"|our )?@\1){0,2}(?= ?[,:?!.]| ?$"
    r"| (?:(?:do|did|were|have|had|can|could|would|will|are) you|where|what|how|tell|please|who|why|when|any|is there"
    r"|was there|your?) )"
)
WHAT_ABOUT = re.compile(r"\b(?:what|how) about (?:the )?@([pb]\d)(?! 's)")
"""Whom this calls, if nobody is called by name."""
CORRECTED = re.compile(
    r"(?<=[.;!?,:]) (?:no|nope|nah)\b(?! (?:one|need|longer|doubt|matter|questions?|turnstiles|\w+ (?:today"
    r"|there)))(?: ,)? "
    r"|(?<=[.;!?,:]) (?:i mean|i meant|correction|make that|or rather|sorry)\b ?[,:]?(?= .*@)"
)
"""After this comes what is meant instead of what was said before."""
THIRD = re.compile(
    r"^(?:and |so |but |now |then |, |: )*(?:(?:what|where|how|which|who|whom|why|when)\b[^@]*?)?\b(?:does|did|do"
    r"|was|were|is|has"
    r"|had|have|can|could|would|will|might)\b(?: the| our)? @([pb]\d)(?! 's)"
)
SUBJECT = re.compile(r"(?:and |so |but )*(?:did|has|had|does|was|is) (?:the |our )?@(p\d)(?! 's)")
HELD = re.compile(
    r"@(p\d) 's (?:\w+ ){0,2}?(?:alibi|whereabouts|movements|relation\w*|motives?|quarrel|dispute|argument|access"
    r"|keys?|conflict"
    r"|feelings|dealings|disagreement|grudge|reasons?|connection)\b"
    r"|\b(?:alibi|whereabouts|movements|motive|relationship|access) (?:of|for) (?:the )?@(p\d)"
)
ANYBODY = re.compile(r"\b(?:any|some|every|no)(?:one|body)\b|\bwho\b")
BETWEEN = re.compile(
    r"\bbetween (?:the |our )?(?:@(p\d) and (?:the )?@v|@v and (?:the )?@(p\d))"
    r"|\b(?:did|were|was|had|have) (?:the )?@v (?:and|(?:\w+ ){1,3}(?:with|about)) (?:the )?@(p\d)"
)
WEARS = re.compile(
    rf"@(p\d) 's (?:\w+ ){{0,2}}?(?:{WORN}\b|@i0)|(?:\b{WORN}|@i0) (?:\w+ )?(?:of|on|from|that|worn by"
    rf"|in) (?:the )?@(p\d)"
    rf"|\b(?:what|which|sort of|kind of|type of|{WORN}|@i0) (?:\w+ )?(?:@i0|{WORN})? ?(?:does|do|did|is|was"
    rf"|has)?(?: the)? ?"
    r"@(p\d) (?:\w+ )?(?:wear|wears|wearing|wore|worn|use|uses|used|smokes?|smoked|write|writes|tie|ties|carry"
    r"|carries|smells?"
    r"|have on|eats?|like to eat)\b(?! (?:in|to|about|down|for|when|at) )"
)
NOT_WORN = re.compile(
    r"\b(?:keys?|codes?|wipe|wiped|polish\w*|wash\w*|brush\w*|lend|lent|borrow\w*|lost|sell|sold|buy|bought|steal"
    r"|stole)\b"
    r"|\b(?:any|some|every|no)(?:one|body)\b|\bask\w* (?:the )?@p(\d) .*@p(?!\1)\d 's"
)
"""What is done with clothes, by others, or told about them: no look at them."""
AFTER = re.compile(r"\W*(?:(?:the |and |so )*@p\d ?,? )?(?:after|since|once)\b")
"""A time before a question: "after he died, where did you go?"."""
HABIT = re.compile(
    r"\b(?:how|way|what|whether|if) (?:the )?@(p\d) (?:\w+ )?(?:wears?|smokes?|ties?|writes?|carries"
    r"|smells?|has on|is wearing)\b|\b(?:does|did) (?:the )?@(p\d) (?:\w+ )?(?:wear|smoke|smell)\b"
    r"|\b(?:check|search|examine|inspect|study) (?:the )?@(p\d) (?:over |closely |carefully )?for (?:\w+ ){0,3}?@i0"
    r"|\b(?:ask|have|let|make|get) (?:the )?@(p\d) (?:to )?(?:tie|write|sign|show|take off|turn out|empty)\b(?! me)"
)
WEARS_YOU = re.compile(
    rf"\byour (?:\w+ )?(?:{WORN}\b|@i0)|\b(?:what|which) (?:\w+ )*?(?:@i0|{WORN}) (?:do|did|are|were) you (?:wear"
    rf"|use|smoke|write"
    rf"|tie|carry|wearing|have)|\b(?:you|he|she) (?:\w+ )?(?:smokes?|wears?|wore|smoked|wearing)\b|\b(?:his|her"
    rf"|their) (?:\w+ )?(?:{WORN}\b)"
)
EXAMINE = re.compile(
    r"\b(?:examine|examining|inspect|inspecting|look|looking|check|checking|study|search|searching|see|read|reading"
    r"|(?<!my )(?<!your )(?<!of )view|analy[sz]e|investigate|investigating|review|watch|scrutini[sz]e|scan|show"
    r"|hand me"
    r"|bring me|get me|give me|fetch me|pull|magnifying|dust|observe|observing|describe|lift|touch|pick up|sniff"
    r"|smell"
    r"|tell me (?:more )?about(?= (?:the )?@[irl]\d)|explore|visit|go|going|walk|head|enter|return|proceed|open"
    r"|consult"
    r"|compare|request|sample|find|go through|play|hear|verify|examination|inspection|closer look|take|follow up on"
    r"|step|move|drop by|come to|glance|peek|peep|peer|leaf through|flip through|thumb through|skim|browse|crouch"
    r"|kneel"
    r"|bend over|heft|weigh (?=(?:the )?@i)|piece together|smooth out|unfold|zoom in|poke around|poke about|rummage"
    r"|climb|descend"
    r"|stroll"
    r"|wander|hurry|pore over|hold (?=(?:the )?@i\d+ (?:up|to|against|in|under))|turn over|run (?:my|a) (?:finger"
    r"|hand|eye)s?|feel (?=(?:the )?@i)|squint|gaze|stare|sift|comb|probe"
    r"|sweep|survey|tour|snoop|nose around|turn(?: my attention)? to|turn (?=(?:the )?@[ir]\d+ over)|unroll|roll"
    r"|get (?=(?:the )?@[ir])|have (?=(?:the )?@[ir]\d+ (?:shown|brought|on the table|out|here))|bring out|gimme"
    r"|i want (?=(?:the )?@[irb]\d+\W*$|what it)"
    r"|light (?=(?:the )?@i)|wake|i ask for)\b"
)
LOOKED = re.compile(
    f"{EXAMINE.pattern}|{SOUGHT.pattern}|{HABIT.pattern}|{ASK.pattern}"
    r"|^\W*(?:(?:and|now|then|please|the|your|at|,) )*(?:@p\d 's|your|at) "
)
"""That clothes and habits are to be seen, not only spoken of."""
ACCUSING = re.compile(r"\baccus(?:e|ing|ation)\b|\barrest\b|\bcharge @p")
ASKED = re.compile(
    r"(?:and |so |but |, )*(?:did|does|do|has|have|had|was|were|is|are|who|whom|when|why|where|what(?! about)|which"
    r"|how(?! about))\b"
)
LOOK_AT = re.compile(
    r"\b(?:examine|inspect|look(?: \w+)? at|observe|study|watch|look(?= (?:the )?@p\d (?:over|up and down))) (?:the )?"
    r"@(p\d)(?! 's)"
)
TRAVEL = re.compile(
    r"^\W*(?:\w+ ){0,4}?(?:go|going|walk|head|return|proceed|visit|enter|move|step|drop by|climb|descend|stroll|wander"
    r"|hurry)\b"
)
NOTED = re.compile(
    r"\b(?:noted?|notes|recorded|logged|wrote|written|registered|signed|calls?|(?:see|show|know|check) wh\w+)\b"
)
LOCATED = re.compile(
    r"(?<=@[irb]\d) (?:that (?:is|was) )?(?:kept |found |lying |there )?(?:in|on|at|from|near|by|of) (?:the )?@l\d"
)
POISONED = re.compile(
    r"\b(?:what|whatever|thing|object|vessel|glass|cup|drink|food|container)\b.*\b(?:poison was in|was poisoned"
    r"|killed|used to kill)"
)
BARE = re.compile(
    r"^(?:and |now |then |next |the |that |this |please |ok |just |first |instead |at |to |yes |no |again |try "
    r"|bring out the lens |[,.!:] ?"
    r"|(?:what|how) about )*@([irbl]\d+)"
    r"(?: (?:please|now|instead|then|next|first|again|officer|constable|sergeant|sir|madam|zoom in|close up|closely"
    r"|if (?:i|you) (?:may|please|like)|pls|plz|if it is not too much trouble|not the other one|[,.!?]))*$"
)
ITEM_SAYS = re.compile(
    r"\bwhat (?:\w+ )?(?:does|did|do|is|are|was|can)\b.*@i\d+\b.*\b(?:say|says|show|shows|tell|reveal|read|look"
    r"|contain"
    r"|mean)\b|\bwhat (?:is|was|does it say) (?:\w+ )?(?:in|on|inside) (?:the )?@i\d"
    r"|\b(?:what|which) (?:\w+ of|\w+) @i0 (?:is|was|it)\b"
    r"|\bwhat (?:colou?r|kind|sort|type) (?:is|was|are) (?:the )?@i0"
)
UNUSUAL = re.compile(
    r"\banything (?:(?:unusual|interesting|special|odd|strange|else|of interest|useful|suspicious|noteworthy|there"
    r"|to see"
    r"|written|hidden|important) )?(?:about|in|on|at|inside|under|with) (?:the )?@([il]\d+)\b(?! 's)"
)
"""Whether there is something to be seen in or on something: a look tells."""
IT_SAYS = re.compile(
    r"\bwhat (?:is|was) (?:it for|it about|(?:on|in|inside|under) it)\b|\bwhat (?:does|did) it (?:say|show|read|tell"
    r"|record|look"
    r"|contain|reveal)\b|\bwhat it (?:says|shows|reads|tells|recorded|contains|reveals)\b"
)
PLACE_HOLDS = re.compile(r"^(?!.*@[ir]).*\bwhat (?:is|was|can|could|do|else|other)\b.*\b(?:in|at|on) (?:the )?@l\d")
VERIFIED = re.compile(
    r"\b(?:verify|verifying|inspect|investigate|check|confirm|corroborate|compare|cross check|test)\b"
    r"[^@]*@p\d 's (?:\w+ )?(?:alibi|story"
    r"|claims?|statement|account|whereabouts|movements)[^@]*? (?:with|against|by|using|through|from|in|on|at)"
    r" (?:[a-z]+ ){0,4}?@([rb]\d)(?!.*@[prbil]\d)"
)
"""What somebody says is to be held against a record, or put to somebody from outside: that is where to look."""
POISON = re.compile(r"\b(?:examine|inspect|test|analy[sz]e|check|study|look at) (?:the )?poison\W*$")
"""In a case of poison this is the thing that it was in."""
LISTING = re.compile(
    r"^\W*(?:(?:so|and|ok|now)\W+)*(?:(?:what|which)(?: other| kinds? of)? (?:records?|logs?|documents?|papers"
    r"|lists?|files?|cameras?|books?) (?:can|could|may|should|do|are|exist|have|would|will|might|shows?|tells?"
    r"|covers?)\b[^.?!]*"
    r"|(?:list|name|show me|tell me|give me)(?: (?:about|all|the|of|available|which|what))* (?:records|logs|documents"
    r"|cameras)(?: (?:there are|are there|i can check|available))?)\W*$"
)
"""What there is to be checked is asked, although the word may be the name of one of them."""
DEAD = re.compile(
    rf"\b(?:body|corpse|remains|autopsy|wounds?|injur(?:y|ies))\b|(?<!of )(?<!of the )@v(?! 's)"
    rf"|@v 's (?:\w+ ){{0,2}}?"
    rf"(?:{WORN}|head|skull|face|neck|mouth|skin|stomach)\b"
)
"""The dead, not what was theirs."""
