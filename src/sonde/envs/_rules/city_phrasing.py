"""Roundabout ways to put a question of guess_my_city, brought to the plain one before and after `city_text.py`.

Ours. `unwrapped` works on lower-case words: it takes off what only introduces a question ("to start broadly, ...", "am I
right in assuming that ...") or softens it ("roughly", "over there", "if I visited"), and turns "would I have to go to
Asia to visit you" into a question about the city. `turned` works on the one form: "would C be hot" -> "is C hot". A
preamble is dropped only where its first words say that it is one: "in summer, is it hot" keeps its condition.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_QUESTION = (
    r"(?:is|are|was|were|does|do|did|has|have|can|could|would|will|what|which|how|where|when|who|why|on (?:what|which)"
    r"|in (?:what|which)|at (?:what|which)|your|it|you|roughly|tell|does not|is not)\b"
)
_OPENER = (
    r"(?:starting|moving|turning|talking|speaking|thinking|narrowing|continuing|following|switching|focusing|going|getting"
    r"|shifting|zooming|keeping|beginning|building|looking|staying|first off|first of all|for starters|to start|to begin|to kick"
    r"|to get|to narrow|to help|to make|to rule|to figure|to understand|let us|let me|on to|onto|next up|on (?:the )?(?:topic"
    r"|subject)|in terms of|regarding|concerning|as for|as far as|when it comes to|with regards? to|speaking|about the"
    r"|since|given|considering|knowing|because|as you|as it|now that|so far|just so|before i|i see|i know|i have|i am trying"
    r"|that is|that was|that helps|sounds|awesome|excellent|fantastic|wonderful|amazing|super|lovely|fun|hmm|alright|wow"
    r"|fair enough|no problem|no worries|good to know|great to know|noted|makes sense|sorry|excuse me|pardon|also"
    r"|additionally|furthermore|moreover|finally|lastly|again|secondly|thirdly|second|third|geography wise"
    r"|climate wise|size wise|population wise|language wise|food wise|weather wise|follow up|silly question|easy one"
    r"|random question|simple question|honest question|serious question|for context|for clarity)"
)
_TELL = r"(?:thinking|assuming|saying|believing|guessing|supposing|concluding|suspecting|understanding|presuming)"
_THINK = r"(?:think|assume|say|believe|guess|suppose|conclude|suspect|infer|presume)"
_CITY = r"(?:(?:city|town|place|location|hometown|metropolis|country|nation|capital))"


def _rules(*rules: tuple[str, str]) -> Sequence[tuple[re.Pattern[str], str]]:
    return tuple((re.compile(pattern), to) for pattern, to in rules)


_BEFORE = _rules(
    # what introduces a question
    (rf"^{_OPENER}(?: [a-z']+){{0,10}} ,(?: (?:so|and|but|then|well|now|ok|okay) ,?)? (?={_QUESTION})", ""),
    (rf"^(?:question|next|clue|hint) ?(?:number )?(?:\d+)? ?,? (?={_QUESTION})", ""),
    (rf"^(?:am i|would i be|was i|i am) (?:right|correct|wrong|mistaken)(?: (?:in|for))? {_TELL}(?: that)? ", ""),
    (rf"^(?:am i|would i be) (?:right|correct)(?: (?:to|if i|when i) {_THINK})?(?: that)? (?=(?:you|your|it|the|this|that|i) )",
     ""),
    (rf"^(?:can|could|may|should|shall|might|would) (?:i|we|one|you) (?:safely |then |also |therefore )*{_THINK}(?: that)? ", ""),
    (rf"^(?:do|would) you (?:{_THINK}|agree)(?: that)? ", ""),
    (rf"^i (?:am|was) (?:just |also |now |still )*(?:wondering|curious|asking|interested|keen|trying)(?: (?:about|in|to know|to learn"
     rf"|to find out|to figure out|to guess|to see))? ?,? ?(?:if|whether)? ?,? ?(?={_QUESTION}|the|people|there|this|locals)", ""),
    (r"^i (?:wonder|wondered|would like to know|want to know|need to know|would love to know)(?: ,)? (?:if|whether) ", ""),
    (r"^(?:do you happen to know|do you know|any idea|any chance(?: that)?|is there any chance(?: that)?|is there a chance(?: that)?"
     r"|mind telling me|would you mind telling me|would you mind saying|could i ask|may i ask|might i ask|can i ask|let me guess"
     rf"|i gather|i assume|i presume|i reckon|i imagine|i figure|i suspect)(?: ,)?(?: (?:if|whether|that))? (?={_QUESTION}"
     r"|the|people|there|this|locals)", ""),
    (r"^(?:is|would) it (?:be )?(?:fair|right|correct|accurate|safe|reasonable|true|wrong|possible) (?:to|if i) "
     r"(?:say|assume|think|call|describe|conclude|guess)(?: that)? ", ""),
    (rf"^(?:would|do|could|might|can) (?:you|people|one|someone|most people|i|many) (?:\w+ly )?(?:describe|consider|call|regard|classify|see|label)"
     r" (?:your|the|this|that) (city|hometown|town|country|nation|home|place|location|home city|home town)(?: (?:as|to be))? ", r"is your \1 "),
    (r"^(?:would|do|could|might|can) (?:you|people|one|someone|most people|i) (?:describe|consider|call|regard|classify|label) (it)"
     r"(?: (?:as|to be))? ", r"is it "),
    (rf"^are we (?:talking about|looking at|dealing with|speaking of|looking for|in)(?: an?| the)? (?={_CITY} )", "is it a "),
    (r"^are we (?:talking about|looking at|dealing with|speaking of|speaking about|looking for)(?: somewhere)? (?=in |on |near )", "is it "),
    (r"^are we (?=(?:in|on|near) )", "is it "),
    (r"^(?:would|do|will) i (?:need|have) to (?:travel|go|fly|come) to (.+?) (?:to|in order to) (?:visit|see|meet|find) (?:you|your city"
     r"|your hometown|it|your town)$", r"is it in \1"),
    (r"^(?:would|could|can) i (?:find|locate) (you|it|your city|your hometown|your town) (?=in |on |near |at )", r"is it "),
    (r"^are you (?:a |an )?(?:proud )?(?:resident|inhabitant|citizen|native|local|dweller)s? of ", "is your city in "),
    (r"^(?:are you|do you)(?: living| live| based| located| residing| reside)? in (?:the |your )?(?:nation 's|country 's|national) capital",
     "is your city the capital"),
    (r"^if i .{3,40}? , (?=(?:what|which) (?:currency|money|language|food|dish|landmark|sight))", ""),
    (r"(?: ,)? or (?:(?:is it |are you |do you )?(?:something|somewhere|anywhere|someplace|anything|some other|another|other|a different)"
     r"(?: else| other| one| currency| language| place| country| continent| city| part of the world)?)$", ""),
    (r"\br u\b", "are you"), (r"\bur\b", "your"), (r"\bu\b(?! bahn)", "you"), (r"\b(?:pls|plz)\b", "please"),
    (r"\bwhat would be\b", "what is"),
    # what softens it
    (r"^(?:roughly|approximately|about|around|more or less|exactly|and|then|just|typically|usually|generally)(?: ,)? "
     r"(?=(?:how|what|which|where|in|at) )", ""),
    (r"\b(?:happens?|happened) to (?=be |have |lie |sit |border |host |live |reside |speak |use )", ""),
    (r" (?:over there|out there|down there|up there|over where you are)\b(?: ,)?", " there"),
    (r"(?: ,)? (?:roughly|approximately|more or less|roughly speaking|give or take|these days|on a daily basis|on average|day to day"
     r"|in daily life|in everyday life|most of the time|for the most part|by and large|if you do not mind|if you can tell me"
     r"|if that makes sense|if possible|if you can|if i visited|if i visit|if i came|if i came to visit|if i come to visit"
     r"|if i were to visit|when i visit|if i came to your city|if i visit your city|if i visited your city|if i were a tourist"
     r"|as a tourist|as a visitor|when visiting|in your view|do you think|would you say|by chance|in your part of (?:the )?world"
     r"|in your neck of the woods|where you come from|where you are from|back home|in your home|in your area|in town)$", ""),
    (r"^if i (?:visited|visit|came to visit|were to visit|come to visit|travelled there|went there|go there|came)"
     rf"(?: (?:you|it|there|your city|your hometown|your town))? , (?={_QUESTION})", ""),
    (r" (?:if i|if i were to|when i) (?:visit|visited|came|come|go|went)(?: (?:you|there|it))?$", ""),
    (r"(?: ,)? (?:innit|huh|surely|no doubt|i presume|i assume|i believe|i take it|i imagine|i am guessing|am i wrong|or am i wrong"
     r"|or am i mistaken|will not it|would not it|is not that so|do not you|have not you|are not we|has not it|has not she"
     r"|or is it|or does it not|would not you say|if i am not mistaken|if i remember correctly|do not they|did not it|was not it)$", ""),
    # names of the city
    (r"\b(?:the |your )?(?:place|city|town|spot) (?:that )?you (?:call|are calling) home\b", "your city"),
    (r"\b(?:the|your) (?:place|city|town) (?:where |in which |that )?you (?:currently |now )?(?:live|reside|are living|inhabit|dwell|are|are based|come|hail)"
     r"(?: in| at| from)?\b", "your city"),
    (r"^(is|does|was|has|would|could) (?:where you (?:live|are|reside)|your home(?! (?:city|town|country|nation|land|state|region))|your birthplace|your home base|your neck of the woods)\b",
     r"\1 your city"),
    (r"\b(?:the|your) (?:country|nation) (?:that )?(?:in question|you call home|where you live|you live in|you are in|in which you live|you are from"
     r"|where you are|you reside in|where you reside|where it is|it is in|it belongs to|it is located in|where it is located)\b", "your country"),
    (r"\byour (?:homeland|motherland|home land|land)\b", "your country"),
    (r"\byours\b(?=$| ,)", "your country"),
    (r"\b(?:is|lies) (?:that|this) (?=(?:in|on|near|located|somewhere|part of|the capital|a capital|by) )", "is it "),
    (r"\b(?:is|are) (?:that|those|these) (?=(?:in|on|near|located|somewhere) )", "is it "),
    (r"\byou guys\b|\byou all\b|\by'all\b|\byall\b|\byou folks\b|\byou people\b", "people"),
    (r"\bdo (?:you locals|you and your neighbou?rs) ", "do people "),
    (r"\b(?<!have )(?:lots|a lot|plenty|loads|tons|a number|a variety|a bunch) of (?=[a-z])(?!rain|snow)", "many "),
    (r"\b(?:famous|well known|renowned|known) all over (?:the )?world\b", "famous"),
    (r"\bcolour", "color"),
)  # fmt: skip
_AFTER = _rules(
    (r"^(?:would|could|might|will|may|must|can) (C|N|NAME) be ", r"is \1 "),
    (r"^(?:would|could|might|will|can) (C|N|NAME) (?=(?:have|lie|border|sit|belong|start|begin|end|rank|count|contain) )", r"does \1 "),
    (r"^does (C|N) (?:count|rank|qualify|serve|function|act|operate|pass|work) (?:as|among) ", r"is \1 "),
    (r"^does (C|N) (?:lie|sit|stand|rest|exist|fall|stretch) (?=(?:in|within|on|at|by|near|along|below|above|north|south|east|west|close|next|right)\b)",
     r"is \1 "),
    (r"^is C right (?=on |by |at |next )", "is C "),
    (r"^is C high up in mountains$", "is C in mountains"),
    (r"^is C up (?=in |north )", "is C "),
    (r"^is C (?:down|over|out) (?=in |on |by )", "is C "),
    (r"^(?:is|would) C (?:where|city where|place where) (?:P |one |you )?(?:can |could |would |will )?(?:find|see|visit) ", "is there "),
    (r"^is C where (?:N 's )?(?:national )?(?:government|parliament) (?:is|sits|meets)(?: (?:based|seated|located))?$", "is C capital"),
    (r"^does C have (?:status|role|function) (?:of|as) ", "is C "),
    (r"^is C ([a-z]+ )?(?:city|town|place|one) by population$", r"is C \1city"),
    (r"^is (?:metro(?:politan)?(?: area)? |urban |city |total |overall )?population(?: size| count)?(?= )", "is population"),
    (r"^(?:do|does) ((?:more|less|fewer) than|over|under|at least|around) (.+?) (?:people|inhabitants|residents) (?:call C home|live)(?: .*)?$",
     r"do \1 \2 people live"),
    (r"^((?:more|less|fewer) than|over|under|at least) (.+?) (?:people|inhabitants|residents) (?:call C home|live|reside)$", r"do \1 \2 people live"),
    (r"^are there ((?:more|less|fewer) than|over|under|at least) ([a-z0-9. ]+?)(?: people| inhabitants| residents)(?: .{0,20})?$",
     r"do \1 \2 people live"),
    (r"^(do .* than) million people live$", r"\1 one million people live"),
    (r"^(?:what is|tell me) (?:total |approximate |rough |estimated |current )*(?:number|count) of (?:people|inhabitants|residents|P)(?: .{0,12})?$",
     "what is population"),
    (r"^how many (?:people|inhabitants|residents|P|citizens)(?: (?:do|does|live|are|is|call|home|there|C|have|in|you|reside|living|over|has))*$",
     "what is population"),
    (r"^is (?!.* (?:of|to|in|with|from|by|on|near|for|at|around|about|or|and) )([a-z ]{3,30}) N$", r"is N \1"),
    (r"^(?:my guess for|my bet for|my answer for) N is ", "is N "),
    (r"^i am thinking (?:of )?([a-z ]+?)(?: is that right (?:country|place))?$", r"is N \1"),
    # from second looks
    (r"^(?:to )?(?:place|put|locate|find) C (?=in |on |near )", "is C "),
    (r"^is ([a-z]+) (?:also )?spoken (?:alongside|besides|next to|together with|in addition to) ([a-z]+)$", r"are \1 and \2 spoken"),
    (r"^(?:would|could|will|can|do) (?:i|one|P|you) (?:be )?(?:pay|paying|buy things|shop|use|using)(?: for things)? (?:in|with|using) ", "do P pay with "),
    (r"^(?:would|could|will|can|do) (?:i|one|P|you) (?:mostly |mainly )?hear ([a-z]+)(?: being)?(?: spoken)?(?: (?:on|in) (?:streets?|C))?$", r"is \1 spoken"),
    (r"^is ([a-z]+) (?:what|language that|language which|language) (?:P|people|locals|most P|residents) (?:mostly |mainly )?(?:speak|use)$", r"do P speak \1"),
    (r"^what is (?:main |first |native |official |primary |everyday |mother )*(?:language|tongue) (?:of|for|among|spoken by|used by|in) .{1,30}$",
     "what language do P speak"),
    (r"^is N (?:sandwiched|wedged|squeezed|nestled|lying)? ?between ([a-z ]+) and ([a-z ]+)$", r"does N border \1 and \2"),
    (r"^does ([a-z]+(?: [a-z]+)? (?:sea|ocean)) (?:touch|border|wash|lap|meet|reach|lie next to|lie beside) (C|N)$", r"is \2 on \1"),
    (r"\bopen ocean\b", "open sea"),
    (r"^is there (?:sea|ocean|coast|beach) (?:within|in|close|near|nearby|next|around|visible).*$", "is C near sea"),
    (r"^is C at (?:or|and) (?:below|near|around|close to) sea level$", "is C at sea level"),
    (r"^is C at high (?:altitude|elevation) ?,? (above|over|more than|at least|higher than) ", r"is C \1 "),
    (r"^(?:can|could) (?:i|you|P|one|we) see (alps|andes|himalayas|rockies|rocky mountains|pyrenees|carpathians|atlas mountains|mountains)"
     r"(?: (?:from|in distance|on clear day|from C|on horizon))*$", r"is C near \1"),
    (r"^is C (?:known|famous|notorious|renowned|infamous) for (?:being |having )?((?:hot|cold|rainy|snowy|warm|mild|dry|humid|wet|tropical)"
     r"(?: climate| weather| winters?| summers?| conditions)?)$", r"is C \1"),
    (r"^is C ([a-z]+ (?:climate|weather|winters?|summers?))$", r"does C have \1"),
    (r"^does C (?:enjoy|suffer|suffer from|boast|offer|endure|feature) (?=.*(?:climate|weather|winters?|summers?|snow|rain))", "does C have "),
    (r"^does C (?:hardly ever|rarely|seldom|barely|hardly) (?:get )?rain$", "does C have dry climate"),
    (r"^(?:is|does|are) (?:C |weather |climate )(?:have |in )?[a-z ]+ , [a-z ]+ ,? ?or (?:very )?(?:cold|hot|dry|temperate|tropical|mediterranean|arid|humid|mild|warm|continental|rainy|cool|wet)$", "what is climate"),
    (r"^(?:is|are) (.+?) (?:one of|among) (?:(?:famous|main|best|known|most|major|popular|top|big|many) )*(?:landmarks|sights|attractions|monuments|tourist attractions|highlights)$",
     r"is there \1"),
    (r"^does C (?:hold|celebrate|house|display|show|offer|stage|feature|own|claim|keep|preserve|contain) ", "does C have "),
    (r"^(?:is|are) (.+?) (?:(?:big|important|large|major|key|central|common) )*(?:part of|staple of|typical of|typical for|staple in|feature of|element of)"
     r"(?: local| traditional)? (cuisine|diet|food)$", r"do P eat \1"),
    (r"^(?:is|are) (.+?) (?:(?:big|important|large|major|key|central|common) )*(?:part of|typical of|feature of|element of)"
     r"(?: local| traditional)? (?:culture|economy|identity|life|history)$", r"is C known for \1"),
    (r"^is (?:river ([a-z]+)|([a-z]+) river)$", r"is C on river \1\2"),
    (r"^(is [CN] in .*(?:northern|southern|eastern|western)) hemispheres$", r"\1 hemisphere"),
    (r"^is C (?:located )?(less than|more than|within|over|under|at least) ([a-z0-9.]+) degrees(?: of latitude)?(?: away)? (?:from|of|off) equator$",
     r"is latitude \1 \2 degrees"),
    (r"^is latitude within ", "is latitude less than "),
    (r"^(?:are|is) (?:most|majority)(?: of)? (?:locals|population|inhabitants|residents|people|citizens|P|citizenry)(?: of N)? ", "are most people "),
    (r"^is (N) (?:known|famous|renowned|well known|popular|noted) for (.+)$", r"is C known for \2 inN"),
    (r"^was N under ([a-z]+) colonial (?:rule|control|administration)$", r"was N under \1 rule"),
    (r"^(?:did|has|was) C (?:host|hosted|hosting|host of|host to|host city of)? ?((?:summer |winter )?)(?:olympics|olympic games) in (\d{4})$", r"is C known for \1olympics \2"),
    (r"^is NAME (?:only|just|exactly|precisely) ", "is NAME "),
    (r"^does NAME have (?:only|just|precisely) ", "does NAME have "),
    (r"^(?:is|does) (?:first letter of NAME|NAME start|NAME begin|first letter)(?: with letter)? between (?:L_a )?and L_m$", "is NAME in first half of alphabet"),
    (r"^(?:is|does) (?:first letter of NAME|NAME start|NAME begin|first letter)(?: with letter)? between L_n and L_z$", "is NAME in second half of alphabet"),
    (r"^(?:is there |does N have |do P have |is N )?(left|right) hand (?:side )?(?:traffic|driving|drive)(?: country)?$", r"do P drive on \1"),
    (r"\b(?:poorer|less wealthy)(?= (?:countries|nations))", "poorest"), (r"\b(?:richer|wealthier)(?= (?:countries|nations))", "richest"),
    (r"\bairport hub$", "airport"),
    (r"(?<=have |here )((?:good|extensive|large|big|modern|own|famous) )*(?:underground|metro|subway|rapid transit|mass transit|u bahn|mrt)(?: (?:rail|railway|train|transit))?"
     r"(?: (?:system|network|lines?|trains?|service))?(?: or (?:underground|metro|subway|u bahn|rapid transit)(?: system| network)?)?$", "metro"),
    (r"^(does C have) (?:very )?(?:large|big|huge|small) population ,? ?(?:say|like|of|of about)? ?(above|over|below|under|more than|less than) ", r"\1 population \2 "),
    (r"^does N have many (oil|gas|gold|diamonds|copper)$", r"is N known for \1"),
    (r"^is C (?:(?:major|global|important|international|big|world|leading|famous|known) )*(fashion|financial|finance|banking|film|movie|tech|technology|music|jazz|shipping|gambling|beer|wine|automotive|car|oil|diamond|art|design|opera|theat(?:er|re)) (?:capital|center|centre|hub|mecca)(?: (?:of|in) world)?$",
     r"is C known for \1"),
    (r"^is C ((?:above|over|below|under|more than|less than|at least) .+? (?:metres|feet|km)) (?:in )?(?:elevation|altitude|of elevation)$", r"is C \1 above sea level"),
    (r"^(was|is) (?:C|N) (?:important|significant|prominent|influential|central|major) (?:in|during|for) ", r"is C known for "),
    (r"^(?:did|does) (.+?) (?:take place|happen|occur|originate|begin|start|get invented|get founded)(?: in C)?$", r"is C known for \1"),
    (r"^in (summer|winter) , (?:is|does) C (?:hot|get hot|very hot)$", r"is C hot in \1"),
    (r"^N used to be part of ", "was N part of "),
    (r"^(?:was|is|has) (C|N) (?:formerly|previously|historically|originally|at one time|at some point|in past) (?=[a-z])", r"was \1 once "),
    (r"^is N formerly part of ", "was N part of "),
    (r"^did N use to be ", "was N "),
    (r"^did (C|N) used? to be ", r"was \1 "),
    (r"^is ([a-z]+) (primary|main|official|dominant|first|native|local|national|most common|majority) language(?: .{0,20})?$", r"is \1 \2 language"),
    (r"^is ([a-z]+) (?:main )?language (?:that )?(?:most )?(?:P|people|locals) (?:use|speak)$", r"is \1 main language"),
    (r"^(?:which|what) (?:is )?(?:main |local |official )*language (?:would|will|do|can|could) (?:i|you|P|one|people) (?:mostly )?(?:hear|need|learn|speak|use|encounter)"
     r"(?: .{0,30})?$", "what language do P speak"),
    (r"^(?:which|what) (?:is )?(?:main |local |official )*languages? (?:is |are )?(?:P |most |people |commonly |most commonly )*(?:speak|used|spoken|use)(?: .{0,12})?$",
     "what language do P speak"),
    (r"^(?:which|what) (?:currency|money) (?:would|will|do|can|could|should) (?:i|you|P|one|people|tourists) .{2,40}$", "what is currency"),
    (r"^(?:which|what) (?:currency|money) do P use over$", "what is currency"),
    (r"^is ([a-z ]{3,30}) (?:one|among|part) of (?:countries|nations|neighbou?rs|states) (?:bordering|that border|neighbou?ring|around|of) (?:yours|N|C)$",
     r"does N border \1"),
    (r"^is ([a-z ]{3,30}) (?:next door to|next to|bordering|adjacent to|neighbou?ring|beside) N$", r"does N border \1"),
    (r"^(?:is|are) ([a-z ]{3,30}) (?:neighbou?rs?|neighbou?ring (?:country|countries|state)) (?:of|to) N$", r"does N border \1"),
    (r"^(?:at|in|on) (what|which) (altitude|elevation|height|latitude|longitude) (?:does|would|is|can|could) "
     r"(?:C|i|you|one|N)(?: (?:lie|sit|find|be|located|C|live|find C|situated))*$", r"what is \2"),
    (r"^(?:on |in )?(?:what|which) (?:one )?(?:of (?:seven |six |five )?)?continents? .{2,30}$", "what continent is C in"),
    (r"^(?:at |in |on )?(?:what|which) (latitude|longitude|elevation|altitude) (?:is|does|do|are|would) .{1,20}$", r"what is \1"),
    (r"^(?:in |on )?(?:what|which) (hemispheres?|continent|time ?zone) (?:is|does|do|are|would|can|could) .{1,20}$", r"what \1 is C in"),
    (r"^(?:are|is) there (?:(?:tall|high|big|snowy|any|many) )*(mountains?|mountain range|volcanoes|volcano|hills) "
     r"(?:close|near|nearby|around|next|close by|surrounding|visible|overlooking)(?: .{0,20})?$", r"are there mountains"),
    (r"^is C (?:in or near|in or close to|on or near|near or in|in or around) ", "is C near "),
    (r"^(?:how would you describe|how would you characteri[sz]e|what can you tell me about|what about|give me idea of|how about) (.+)$", r"describe \1"),
    (r"^does C (?:experience|see|have|get) all (four seasons|seasons)$", r"does C have \1"),
    (r"^do (?:you|P) ever (?:get|see|have|experience) ", "does C get "),
    (r"^(?:do|does) (?:you|P|C) (?:ever )?(?:get|see|have|experience) (snow|rain|cold winters|hot summers)(?: .{0,15})?$", r"does C get \1"),
    (r"^is there (monsoon(?: season)?|rainy season|snow|winter snow|snowfall)(?: .{0,15})?$", r"does C have \1"),
    (r"^is C at latitude (?:of )?(above|over|more than|below|under|greater than|higher than|less than) ", r"is latitude \1 "),
    (r"^is there ([a-z]+) (?:in|on) (?:national |country 's )?flag$", r"does flag have \1"),
    (r"^(do(?:es)?|is|are)( there)? (.*)flag (have|contain|feature|include|show) (.+?) on C$", r"\1\2 \3flag \4 \5"),
    (r"^(?:are|is) (?:cars|traffic|vehicles|P) driven? on (left|right)(?: .{0,15})?$", r"do P drive on \1"),
    (r"^do you drive on ", "do P drive on "),
    (r"^(?:how do|how does|how can) (?:P|people|locals|you|one|residents|i|everyone) (?:get around|move around|travel around|travel|commute|usually get around)(?: .{0,15})?$",
     "how do P get around"),
    (r"^has ((?:summer |winter )?(?:olympics|olympic games)) (?:ever )?been (?:held|hosted|in C)(?: .{0,12})?$", r"was \1 held"),
    (r"^have ((?:summer |winter )?(?:olympics|olympic games)) (?:ever )?been (?:held|hosted|in C)(?: .{0,12})?$", r"was \1 held"),
    (r"^(?:which|what) (.*?)(dish|food|meal|cuisine|delicacy|speciality|specialty)(?: (?:should|would|could|must|can) (?:i|you|one|visitors|tourists) .{2,30})$",
     r"what \1\2 is popular"),
    (r"^(?:which|what) (.*?)(landmark|attraction|sight|monument|building)s?(?: (?:should|would|could|must|can|might) (?:i|you|one|visitors|tourists) .{2,30})$",
     r"what landmarks are there"),
    (r"^(?:give|name|tell|list)(?: me)? (?:one |few |of )*(?:famous |main |popular |local |well known )*(landmarks?|attractions?|sights?|dish|food|cuisine|currency|climate"
     r"|population|language|sport|industry|history|religion|river)(?: (?:of|from|in|there) ?(?:C|N)?)?$", r"what is \1"),
    (r"^(?:bit|little|something|tell me something|more|tell me more) about (history|culture|climate|food|cuisine|sports?|economy|geography)(?: of (?:C|N))?$",
     r"what is \1"),
    (r"^which river (?:is C|does C (?:sit|lie|stand)|do you live)(?: .{0,8})?$", "what river is C on"),
    (r"^(?:did|does|do|has|have|are|is|were|was) (.{3,40}?) (?:come|came|originate|hail|originally|born|started|formed|founded)?(?: originally)? ?from C$", r"do \1 come from C"),
    (r"^(?:are|is) (.{3,40}?) (?:associated|identified|linked|connected) with C$", r"is C known for \1"),
    (r"^(?:are|is) (?:there )?(.{3,40}?) (?:(?:close|near|next) to C|overlooking C|near C|nearby)$", r"is there \1"),
    (r"^(?:are|is) (.{3,40}?) (?:important|big|significant|major|popular) (?:industry|business|sector|food|dish|speciality|specialty)?$", r"is C known for \1"),
    (r"^(?:are|is) (.{3,40}?) (?:(?:part of|typical of|typical|in) )?(?:local|typical|traditional) (?:cuisine|dish|food|speciality|specialty)$", r"is C known for \1"),
    (r"^(western|eastern|northern|southern)(?: hemisphere)? or (western|eastern|northern|southern)(?: hemisphere| one)?$", "what hemisphere"),
    (r"^(west|east|north|south)(?:ern)? or (west|east|north|south)(?:ern)? hemisphere$", "what hemisphere"),
)  # fmt: skip


def unwrapped(text: str) -> str:
    """Lower-case words without what only introduces or softens a question.

    >>> unwrapped("starting with geography , does your city lie in europe")
    'does your city lie in europe'
    >>> unwrapped("in summer , is it hot"), unwrapped("am i right in assuming it is a capital")
    ('in summer , is it hot', 'it is a capital')
    """
    for _ in range(2):
        before = text
        for pattern, to in _BEFORE:
            text = pattern.sub(to, text)
        if text == before:
            break
    return " ".join(text.split())


@lru_cache(maxsize=4096)
def turned(text: str) -> str:
    """The one form with roundabout frames made plain.

    >>> turned("would C be hot"), turned("is italy one of countries bordering N")
    ('is C hot', 'does N border italy')
    """
    for pattern, to in _AFTER:
        text = pattern.sub(to, text)
    return " ".join(text.split())
