"""What is said to the resident ("do you live ...", "are you ...") as it is said of the city or the country.

Ours. A rule is applied only where "you" can mean nothing but the place: "are you south of Rome" is about the city,
"are you happy" is not, and stays as it is, so that no pattern fits it. Whether "do you have a coast" is about the city
or the country cannot be told: it stays too. The texts are in the form of `text.py`.
"""

from __future__ import annotations

import re

_SIDE = r"(?:north|south|east|west|north ?east|north ?west|south ?east|south ?west)(?:ern)?"
_HALF = r"(?:north|south|east|west)(?:ern)?|central"
_LENGTH = r"[\w. ]{1,20}(?:km|kilomet(?:er|re)s?|miles?|met(?:er|re)s|feet|degrees|hours?)\b"
_PLACED = (
    rf"(?=(?:to )?{_SIDE} (?:side )?of |(?:farther|further|more) {_SIDE} |(?:closer|nearer) to "
    r"|(?:in|on|at|by|near|inside|within|outside|between|along|beside|around)\b"
    r"|(?:close|next|near) to |not far from |far (?:away )?from |long way from "
    r"|(?:above|below|north of|south of) equator|(?:[\w.]{1,12} hours? )?(?:ahead of|behind) "
    r"(?:london|gmt|utc|greenwich)"
    rf"|(?:more than|less than|at least|over|under|above|below|within) {_LENGTH})"
)
"""What can follow "are you" or "do you live" of a place."""

_TOWN = r"(?:city|town|metropolis|megacity|port|seaport|capital|place)"
_QUARTERS = r"(?!old|new|inner|outer|upper|lower|walled|medieval|main|historic|central|same)"
"""Not before "town" or "city", where they make it a part of a city: the old town may be in a city that is not old."""
_BEHIND = r"(?:of|with|that|which|where|on|in|known|famous|by|near|founded|established)"
_LIVING = r"(?:live|reside|dwell|lie|sit|stay)"
_WHERE = r"(?:on|in|at|by|near|next to|close to|closest to|nearest to|along|from)"
_OLYMPICS = r"(?:(?:summer|winter|modern) )*(?:olympics|olympic games)"
_CLIMATES = (
    r"(?:hot|cold|warm|mild|dry|wet|humid|rainy|snowy|tropical|subtropical|temperate|mediterranean|desert|continental"
    r"|oceanic|arid|semi arid|harsh|freezing)"
)
_IN_CITY = (
    r"(?:metro|subway|underground)(?: system| network)?|(?:sandy )?beach(?:es)?|(?:(?:major|large|big) )?river"
    r"|(?:(?:major|large|big|important|busy|sea) )*(?:port|harbou?r|seaport)"
    r"|(?:(?:major|large|big|international) )*airport"
    r"|(?:(?:major|large|big) )?(?:university|universities)|mountains|lake|snow|(?:four|distinct|four distinct) seasons"
    rf"|{_CLIMATES} (?:climate|weather|winters?|summers?)"
    r"|(?:more than|over|at least|less than|fewer than|under) [\w. ]{1,25} (?:people|inhabitants|residents)"
    r"|(?:famous|well known|world famous|iconic) .{3,40}"
)
_IN_COUNTRY = (
    r"king|queen|king or queen|monarch|royal family|emperor|monarchy|land borders?|neighbou?ring countries|neighbou?rs"
    r"|(?:land |common |shared )?borders? with .{3,60}|more than one official language|flag with .{3,30}"
    r"|[a-z ]{3,30} as (?:official )?(?:currency|language)"
)

_RULES = tuple(
    (re.compile(pattern), to)
    for pattern, to in (
        # statements and other ways to begin
        (r"you (are|were|do|did|have(?= (?:not |ever |once )*(?:hosted|been|won)))(?= )", r"\1 you"),
        (rf"you (?={_LIVING} |border |have |get )", "do you "),
        (r"have you got ", "do you have "),
        (r"(are|do|did|were) you (?:all|guys|yourself|people) ", r"\1 you "),
        # where one is and lives
        (rf"are you (not )?(?:living |based |residing |native )?{_PLACED}", r"is C \1"),
        (r"(?:are you|do you come|do you hail) (not )?from ", r"is C \1in "),
        (rf"do you (not )?(?:currently )?{_LIVING} {_PLACED}", r"is C \1"),
        (rf"do you (not )?live (?={_CLIMATES}$)", r"is C \1"),
        (rf"is C (not )?in (?={_QUARTERS}(?:[a-z]+ ){{0,3}}{_TOWN}(?: {_BEHIND} .+)?$)", r"is C \1"),
        (r"is C (not )?in (?=one of .{3,40} (?:cities|capitals)\b)", r"is C \1"),
        (rf"is C (not )?in ({_CLIMATES}) climate$", r"does C \1have \2 climate"),
        # what the place is
        (r"are you (not )?(?=capital(?: city)?(?: of .+)?$)", r"is C \1"),
        (rf"are you (not )?(?={_QUARTERS}(?:[a-z]+ ){{1,3}}(?:city|town|metropolis|capital)$)", r"is C \1"),
        (r"are you (not )?(?=(?:bigger|larger|smaller|more populous) than |(?:part|member) of "
         r"|(?:known|famous|renowned) for )", r"is C \1"),
        (r"(is|was) C (not )?(?:in )?(?:city|town|place) "
         r"(?=(?:in|on|at|by|near|close to|next to|known for|famous for|founded|established) )", r"\1 C \2"),
        # what happened to it
        (r"were you (not )?(?=(?:ever |once )*(?:(?:former )?(?:[a-z]+ )?colony|part of|ruled|colonised|colonized"
         r"|governed|occupied)\b)", r"was N \1"),
        (r"were you (not )?(?=(?:founded|established|settled) )", r"was C \1"),
        (r"have you (not )?((?:ever |once )*been (?:part of|under|ruled|colonised|colonized|colony|occupied))\b",
         r"has N \1\2"),
        (rf"have you (not )?(?=(?:ever |once )*(?:hosted|held|had) {_OLYMPICS})", r"has C \1"),
        (rf"did you (not )?(?=(?:ever |once )*(?:host|hold) {_OLYMPICS})", r"did C \1"),
        (r"have you (not )?(?=(?:ever )*(?:won|hosted) (?:football |soccer |fifa )*world cup)", r"has N \1"),
        (r"did you (not )?(?=(?:ever )*(?:win|host) (?:football |soccer |fifa )*world cup)", r"did N \1"),
        # what the place has
        (rf"do you (not )?have (?=(?:{_IN_CITY})$)", r"does C \1have "),
        (rf"do you (not )?have (?=(?:{_IN_COUNTRY})$)", r"does N \1have "),
        (r"do you (not )?(?=(?:get|see|experience|receive) )", r"does C \1"),
        (r"do you (not )?(?=(?:border|touch|neighbou?r|share (?:land |common )?borders?) )", r"does N \1"),
        (r"do you (not )?(?=(?:face|overlook|belong to|produce|export|manufacture) )", r"does C \1"),
        # the people
        (r"do most of P speak ", "do P mainly speak "),
        (r"is (?:mother tongue|first language) ", "is native language "),
        (r"what (?:do|would|can) (?:you|P|people|locals|residents|they|inhabitants|natives) "
         r"(?:(?:like|love|tend|prefer|enjoy) to |mostly |often |regularly |traditionally )*eat"
         r"(?: (?:most|often|for (?:lunch|dinner)|at home))?$", "what do P eat"),
        (r"what (?:do|would) (?:you|P|people|locals|residents|they) (?:(?:usually|typically|often|normally) )?"
         r"(?:eat|have) (?:for|at) breakfast$", "what do P eat for breakfast"),
        (r"((?:what|which) (?:sports?|food|foods|dish|dishes)) do you (?=(?:play|watch|like|eat|enjoy)\b)",
         r"\1 do P "),
        # open questions
        (rf"((?:in |on )?(?:what|which) [a-z]+(?: [a-z]+){{0,5}}) do you (?:live|reside)(?= {_WHERE}$|$)", r"\1 is C"),
        (rf"((?:what|which) [a-z]+(?: [a-z]+){{0,5}}) are you (?:living |based )?(?={_WHERE}$)", r"\1 is C "),
        (r"(how (?:far|close|near|high)(?: (?:away|up|north|south))?) (?:are you|do you live)\b", r"\1 is C"),
        (r"((?:what|which) (?:other )?(?:countries|nations|country)) do you (?=border|share|neighbou?r)",
         r"\1 does N "),
        (r"what do you (?=(?:export|produce|manufacture)$)", "what does C "),
    )
)  # fmt: skip
_HALVES = re.compile(rf"\b({_HALF}) (or|and) ({_HALF}) (america|europe|asia|africa)$")


def addressed(text: str) -> str:
    """The text without "you" where that stands for the place.

    >>> addressed("are you south of rome"), addressed("do you have metro"), addressed("are you happy")
    ('is C south of rome', 'does C have metro', 'are you happy')
    """
    for pattern, to in _RULES:
        found = pattern.match(text)
        if found:
            text = found.expand(to) + text[found.end() :]
    return " ".join(_HALVES.sub(r"\1 \4 \2 \3 \4", text).split())
