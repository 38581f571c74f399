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
    r"(?:^|(?<=[.!?] ))(?:(?:thank you|thanks|sorry|excuse me|hello|hi|good (?:morning|evening"
    r"|day))\b(?![^.!]*\?)[^.!?]*[.!]"
    r"|(?:since|because|given|as|although|though|considering|now that|to (?:verify|confirm|test|follow)|based on"
    r"|in order to)\b"
    r"[^.,?!;]*,)(?= \S)"
)
"""Politeness, and the reason for what is done: neither does anything."""
REMINDER = re.compile(r"\bdo not forget to\b")
LINK = r"(?:the|a|an|our|this|that|again|witness|suspect|one|of|more|now|next|first|once|further|mr|both) "
ASK = re.compile(
    r"\b(?:ask|asking|question|questioning|interview|interviewing|interrogate|interrogating|quiz|press|confront"
    r"|challenge|grill|consult|query"
    r"|approach(?:es)?|(?:walks?|goes|turns?|turning|walking) (?:over |up )?to|(?:talk|speak|chat|talking"
    r"|speaking) (?:to|with)|hear(?: from)?|have (?:a|another) (?:\w+ )?(?:word|chat|talk)"
    r" with|(?:get|take) (?:a|the|an)? ?(?:statement|account|testimony|story|word)s? (?:from|of)|call (?:in|on))"
    rf" (?:{LINK})*(@[pbvx]\d*|him|her|them|everyone|everybody|all|each|both|every|whole|entire)"
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
NEXT = re.compile(r" (?:,|and|, and|or|as well as|together with) (?:(?:the|also|then) )*@([pb]\d)(?! (?:'s|,? ?you\b))")
EVERYBODY = re.compile(
    r"\b(?:ask|question|interview|interrogate|talk to|speak to|speak with|talk with|examine|search|check"
    r"|inspect)\b (?:\w+ )?(?:everyone"
    r"|everybody|all|each|both|every|(?:the )?(?:whole|entire)|(?:the )?(?:suspects|witnesses|staff|guests|crew"
    r"|papers))\b"
)
VOCATIVE = re.compile(
    r"(?:^|[,.?!:;] |\b(?:and|so|now|but|ok|okay|well|hello|hi|dear|good (?:morning|evening|day)|what about"
    r"|how about|just"
    r"|thank you|thanks|please|sorry|right|yes|no) )(?:the |dear |my |mr )?@([pb]\d)(?: ,? ?(?:the "
    r"|our )?@\1){0,2}(?= ?[,:?!.]| ?$"
    r"| (?:do|did|where|what|were|was|have|how|can|could|tell|would|please|is|are) )"
)
THIRD = re.compile(
    r"^(?:and |so |but |now |then |, |: )*(?:(?:what|where|how|which|who|whom|why|when)\b[^@]*?)?\b(?:does|did|do"
    r"|was|were|is|has"
    r"|had|have|can|could|would|will|might)\b(?: the| our)? @([pb]\d)(?! 's)"
)
HELD = re.compile(
    r"@(p\d) 's (?:\w+ ){0,2}?(?:alibi|whereabouts|movements|relation\w*|motives?|quarrel|dispute|argument|access"
    r"|keys?|conflict"
    r"|feelings|dealings|disagreement|grudge|reasons?|connection)\b"
    r"|\b(?:alibi|whereabouts|movements|motive|relationship|access) (?:of|for) (?:the )?@(p\d)"
)
BETWEEN = re.compile(
    r"\bbetween (?:the |our )?(?:@(p\d) and (?:the )?@v|@v and (?:the )?@(p\d))"
    r"|\b(?:did|were|was|had|have) (?:the )?@v (?:and|(?:\w+ ){1,3}(?:with|about)) (?:the )?@(p\d)"
)
WORN = (
    r"(?:shoes?|boots?|soles?|footwear|coats?|jackets?|sleeves?|cloth(?:es|ing)|outfit|garments?|buttons?|scents?"
    r"|perfume|cologne"
    r"|smells?|hems?|pens?|inks?|handwriting|writing|knots?|laces|tobacco|pipe|cigar\w*|cigarettes?|sweets?|candy"
    r"|wrappers?"
    r"|pockets?|gloves?|wax|lantern|lamp|cuffs?|paint|fingernails|nails|scarf|shawl|fringes?|threads?|appearance"
    r"|dress|trousers"
    r"|feet|fingers|hands|bag|hat|apron|overalls?|robe|shirt|earth|mud|soil|belongings|person)"
)
WEARS = re.compile(
    rf"@(p\d) 's (?:\w+ ){{0,2}}?(?:{WORN}\b|@i0)|(?:\b{WORN}|@i0) (?:\w+ )?(?:of|on|from|that|worn by"
    rf"|in) (?:the )?@(p\d)"
    rf"|\b(?:what|which|sort of|kind of|type of|{WORN}|@i0) (?:\w+ )?(?:@i0|{WORN})? ?(?:does|do|did|is|was"
    rf"|has)?(?: the)? ?"
    r"@(p\d) (?:\w+ )?(?:wear|wears|wearing|wore|worn|use|uses|used|smokes?|smoked|write|writes|tie|ties|carry"
    r"|carries|smells?"
    r"|have on|eats?|like to eat)\b"
)
HABIT = re.compile(
    r"\b(?:how|way|what|whether|if|does|did) (?:the )?@(p\d) (?:\w+ )?(?:wears?|smokes?|ties?|writes?|carries"
    r"|smells?|has on|is wearing)\b"
    r"|\b(?:check|search|examine|inspect) (?:the )?@(p\d) for (?:\w+ ){0,3}?@i0"
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
    r"|(?<!my )(?<!your )(?<!of )view|analy[sz]e|investigate|investigating|review|watch|scrutini[sz]e|scan|show|hand me"
    r"|bring me|get me|give me|fetch me|pull|magnifying|dust|observe|observing|describe|lift|touch|pick up|sniff|smell"
    r"|tell me (?:more )?about(?= (?:the )?@[irl]\d)|explore|visit|go|going|walk|head|enter|return|proceed|open|consult"
    r"|compare|request|sample|find|go through|play|hear|verify|examination|inspection|closer look|take|follow up on"
    r"|step|move|drop by|come to)\b"
)
ACCUSING = re.compile(r"\baccus(?:e|ing|ation)\b|\barrest\b|\bcharge @p")
ASKED = re.compile(
    r"(?:and |so |but |, )*(?:did|does|do|has|have|had|was|were|is|are|who|whom|when|why|where|what(?! about)|which"
    r"|how(?! about))\b"
)
LOOK_AT = re.compile(r"\b(?:examine|inspect|look(?: \w+)? at|observe|study|watch) (?:the )?@(p\d)(?! 's)")
TRAVEL = re.compile(r"^\W*(?:\w+ ){0,4}?(?:go|going|walk|head|return|proceed|visit|enter|move|step|drop by)\b")
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
    r"^(?:and |now |then |next |the |please |ok |just |first |instead |at |(?:what|how) about |[,.!:] ?)*@([irbl]\d+)"
    r"(?: (?:please|now|instead|then|next|first|again|[,.!?]))*$"
)
ITEM_SAYS = re.compile(
    r"\bwhat (?:\w+ )?(?:does|did|do|is|are|was|can)\b.*@i\d+\b.*\b(?:say|says|show|shows|tell|reveal|read|look|contain"
    r"|mean)\b|\bwhat (?:is|was|does it say) (?:\w+ )?(?:in|on|inside) (?:the )?@i\d"
    r"|\b(?:what|which) (?:\w+ of|\w+) @i0 (?:is|was|it)\b"
    r"|\bwhat (?:colou?r|kind|sort|type) (?:is|was|are) (?:the )?@i0"
)
PLACE_HOLDS = re.compile(r"\bwhat (?:is|was|can|could|do|else|other)\b.*\b(?:in|at|on) (?:the )?@l\d")
