"""A message of guess_my_city brought into one form, so that few patterns read many ways to ask.

Ours. The form: lower case, no articles, no marks but commas; `C` is the city, `N` its country, `NAME` the city's name,
`P` the people who live there, `L_x` a letter of the alphabet; questions in question order ("C is hot" -> "is C hot");
politeness, lead-ins and tags taken off; a single "not" or "never" taken out and told apart. What a message says before
its last question is commentary and is dropped, unless it sets conditions, which makes the message unreadable.
Linear in the text and never raising.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from sonde.people.language.letters import apostrophes, unaccented

from .address import addressed
from .phrasing import turned, unwrapped
from .sentences import last

LONGEST = 500
"""Characters of a message that are read; a longer one is not understood."""


class Form(NamedTuple):
    """What is asked in the one form; whether it is negated; the same words with their capitals, for names; the form
    before roundabout frames are made plain."""

    text: str
    negated: bool
    spoken: str
    said: str = ""


_ABBREVIATIONS = (
    (re.compile(r"\bu\.?s\.?a\.?(?=\W|$)", re.I), "USA"), (re.compile(r"\bU\.S\.|\bU\.S\b|\bUS\b"), "USA"),
    (re.compile(r"\bu\.k\.?(?=\W|$)", re.I), "UK"), (re.compile(r"\bd\.c\.?(?=\W|$)", re.I), "DC"),
    (re.compile(r"\bl\.a\.(?=\W|$)", re.I), "LA"), (re.compile(r"\bst\. ", re.I), "Saint "),
    (re.compile(r"(?<!\w)'s-"), "s "),
    (re.compile(r"\bmt\. ", re.I), "Mount "), (re.compile(r"\bb\.c\.(?:e\.)?", re.I), "bc"),
    (re.compile(r"\ba\.d\.", re.I), "ad"), (re.compile(r"(?<=\d),(?=\d{3})"), ""),
    (re.compile(r"(\b(?:utc|gmt) ?[+-] ?\d+):30\b", re.I), r"\1.5"),
    (re.compile(r"(\b(?:utc|gmt) ?[+-] ?\d+):00\b", re.I), r"\1"),
    *((re.compile(rf"(?<=\d)\s?(?:°|degrees?) ?{a}\b"), f" degrees {b}")
      for a, b in zip("NSEW", ("north", "south", "east", "west"), strict=True)),
    (re.compile(r"\be\.g\."), "for example"), (re.compile(r"\b(utc|gmt) ?\+ ?(?=\d)", re.I), r"\1 plus "),
    (re.compile(r"\b(utc|gmt) ?- ?(?=\d)", re.I), r"\1 minus "),
    (re.compile(r"(?<=\d)\s?(?:°|degrees?|deg\b)", re.I), " degrees"), (re.compile(r"(?<=\d)\s?%"), " percent"),
    (re.compile(r"(?<=\d)\s?(?:km|kms|kilometers?|kilometres?)\b", re.I), " km"),
    (re.compile(r"(?<=\d)M\b(?!\s*(?:above|high|elev|altitude|tall|asl))"), " million"),
    (re.compile(r"(?<=\d)\s?(?:m|meters?|metres?)\b(?! people)", re.I), " metres"),
    (re.compile(r"(?<=\d)\s?(?:mi|miles?)\b", re.I), " miles"),
    (re.compile(r"(?<=\d)\s?(?:ft|feet|foot)\b", re.I), " feet"),
)  # fmt: skip
_SHORTENED = re.compile(
    r"\d(?:,\d|\s?(?:°|deg|%|[kmf]))|\b(?:u\.?[sk]\b|[dl]\.[ca]\.|[sm]t\. |b\.c|a\.d|e\.g|utc|gmt)|'s-", re.I
)
"""What tells that one of the abbreviations may be there."""
_LETTER = re.compile(
    r"\b((?:letters?|(?:starts?|begins?|ends?|starting|beginning|ending)(?: with| in| by)?(?: an?| the)?(?: letter)?"
    r"|contains?|(?:first|last) letter(?: of [a-z' ]{1,40})? (?:an?|is)(?: an?)?|(?:first|"
    r"last) letter of (?:the|its|your)(?: city's)? name|"
    r"start of it an?) )[\"']?([A-Za-z])[\"']?(?=\s*(?:[?.!,]|$)|\s(?:and|or|in it|at)\b)",
    re.I,
)
_LONE = re.compile(r"(?<![\w'])[\"']?([B-HJ-Z])[\"']?(?=[\s?.!,]|$)(?!\.)")

_NOT = {
    "can't": "can not", "cannot": "can not", "won't": "will not", "shan't": "shall not", "ain't": "is not",
    "let's": "let us",
}  # fmt: skip
_SHORT = re.compile(r"\b(it|that|there|he|she|what|who|where|how|here|which)'s\b(?= [a-z])")
_ENDS = (("'re", " are"), ("'ve", " have"), ("'ll", " will"), ("'d", " would"), ("'m", " am"))

_CITYISH = r"(?:city|town|hometown|home town|place|location|municipality|metropolis|settlement)"
_MODS = r"(?:(?:secret|home|mystery|target|hidden|own|current|chosen|native|very|particular|said|same) )*"
_CITY = re.compile(
    rf"\b(?:your|the|this|that|our) {_MODS}{_CITYISH}"
    r"(?: in question| (?:that )?(?:you are|you have|you were|you|i am|i have) (?:thinking (?:of|about)|"
    r"from|in(?: mind)?|living in|"
    r"talking about|chosen|live in|come from|looking for|guessing|to guess|have in mind|chose|picked)"
    r"| where you (?:are|live)(?: from| in)?| itself)?\b"
)
_COUNTRY = re.compile(
    r"\b(?:your|the|this|that|its|our) (?:home |own |host )?(?:country|nation)"
    r"(?: (?:that )?(?:C|it|you) (?:is|lies|are|live|belongs)(?: (?:located|situated))?(?: (?:in|to|from))?"
    r"| (?:in which|where) (?:C|it|you) (?:is|lies|are|live)(?: (?:located|situated))?| of (?:C|it)|"
    r" itself| as a whole)?\b"
)
_NAMED = re.compile(
    r"\b(?:(?:the )?name of C|C 's name|its name|the name(?! of)|your name|C name|the word|that name)\b"
)
_PEOPLE = re.compile(
    r"\b(?:(?:most|the|local|ordinary) )*(?:people|locals|residents|inhabitants|citizens|"
    r"folks|population|majority"
    r"|everyone|they|you|one|we|i|drivers|cars|vehicles|traffic|everybody|the natives)"
    r"(?: (?:of the people|living|that live|who live|live|there|of|in|from) ?(?:C|N|there|"
    r"here)?)?(?= (?:do |does |there |here |not |mainly |mostly |usually |"
    r"actually |normally |typically |primarily |officially |generally |also |commonly |all |both |"
    r"still )*(?:speaks?|drives?|driving|uses?|pays?|talks?|follows?|practi[cs]es?|communicates?)\b)"
)
_FLUFF = re.compile(
    r"\b(?:actually|really|currently|perhaps|maybe|possibly|by any chance|by chance|also|just|located|"
    r"situated|positioned|found|placed|geographically|"
    r"today|at present|nowadays|right now|present day|usually|typically|normally|generally|basically|simply|"
    r"please|officially|physically|technically|specifically|somewhere|roughly speaking|well known to be|"
    r"considered(?: to be)?|regarded as|"
    r"known to be|classified as|counted as|in fact|indeed|exactly|directly|the kind of|kind of|sort of|"
    r"quite|fairly|pretty|relatively|"
    r"rather|very|truly|more or less|in general|overall|in real life|on earth|still|widely|commonly)\b"
)
_PLACE_TAIL = re.compile(
    r" (?:in|within|inside|around|at|throughout|across)(?: and around)? (?:C(?! of )|N|its area|C area|C region|"
    r"your area|your region|area|region)(?= |$)"
    r"|(?<!^is)(?<!^are)(?<!^was)(?<!^were) there(?= |$)(?! (?:is|are))| here(?= |$)|"
    r" (?:in )?where P? ?(?:you )?(?:are|live)$| where C is$| where you are$| where you live$| nearby$|"
    r" near C$| near by$"
)

_LEAD = re.compile(
    r"^(?:(?:so|and|ok|okay|now|well|then|alright|all right|right|hmm+|hm|um|uh|ah|oh|next|first|"
    r"firstly|secondly|next question|question|another question|"
    r"great|thanks|thank you(?: very much)?|thx|hi|hello|hey|hi there|hello there|good|"
    r"nice(?= ,? ?(?:so|now|is|does|are|do|did|was|what|which|how|then|ok)\b)|cool|"
    r"perfect|interesting|got it|i see|understood|sure|"
    r"by the way|btw|in that case|let me ask|let me ask you|let us see|let me see|let me think|"
    r"to narrow (?:it|this|that|things) down|just to be sure|"
    r"to be sure|just checking|just to confirm|to confirm|to clarify|quick question|out of curiosity|"
    r"one more thing|one more question|but|tell me|tell me please|please|"
    r"please tell me|yes or no|true or false|my question|my next question(?: is)?|my question is|"
    r"with that in mind|given that|based on (?:that|this|your (?:previous )?answers?)|"
    r"[a-z]+ it is(?= ,)|sir|friend|dear friend|player|for my next question|as for geography|"
    r"geographically|speaking of which|thank you for (?:the|your) (?:answer|hint|clue|information)|"
    r"thanks for (?:the|your|that) (?:answer|hint|clue|information|info)|thanks for that|question \d+|"
    r"\d+|(?:i will|let me) ask(?: you)?(?: this)?|final question|last question)(?: ,)*(?: |$))+"
)
_ASKING = re.compile(
    r"^(?:(?:can|could|would|will|may|might|do) (?:you|i|we) (?:please |kindly |perhaps |"
    r"also )*(?:tell me|say|confirm|ask|know(?= (?:if|whether|that|what|which|how)\b)|let me know|"
    r"describe for me|explain|"
    r"share(?! (?:a |any |land |common |borders?))|mind telling me|"
    r"like to tell me|"
    r"specify|reveal|ask you|tell us|give me an idea of)(?: about)?|i (?:would like|want|am curious|"
    r"wonder|am wondering|would love|am trying|wanted) ?(?:to know|to ask|to learn|to find out|about)?|"
    r"(?:let me|please) (?:know|ask)|tell me|i am asking|answer me|please tell me) (?:,? ?)(?:(?:if|"
    r"whether|that|about) )?(?=\w)"
)
_TRUE = re.compile(
    r"^(?:is|would|was) (?:it|that|this)(?: be)? (?:(?:also )?(?:true|correct|"
    r"right(?! (?:next|on|by|at|in|near|beside|along|behind|across)\b)|the case|case|fair|"
    r"safe|accurate|a fact|fact|possible|likely|reasonable))"
    r"(?: to (?:say|assume|conclude|think|state|call))?(?: that)? (?=\w)"
)
_BELIEF = re.compile(
    r"^(?:i (?:think|guess|believe|suppose|assume|bet|suspect|take it|would say|understand|gather|"
    r"am (?:pretty |fairly |quite )?(?:sure|guessing|confident)|would guess)|"
    r"it (?:seems|appears|sounds|looks)(?: like)?|that means|this means|so you say|you said|"
    r"correct me if i am wrong|am i right (?:in thinking|to think|that)|would you say|do you think|"
    r"sounds like|would i be right to say|can (?:i|we) (?:say|assume))(?: ,)?(?: that)? (?=\w)"
)
_TAG = re.compile(
    r"(?:(?: ,)? (?:(?<!on the )right(?<! on right)|correct|yes|no|true|ok|okay|yeah|eh|or not|is that right"
    r"|is that correct|is that true|am i right|am i correct|is it not|are not you|are you not|does it not|is not it|"
    r"do they not|"
    r"do not they|is that so|please|then|i think|i guess|i suppose|i am (?:pretty )?(?:sure|certain|confident)|"
    r"perhaps|maybe|by any chance|"
    r"if i may ask|if you know|at all|thanks|thank you|yes or no|or is it not|is not that right|"
    r"(?:or )?no|do you know|would you say|"
    r"to be (?:exact|precise)|for example|or something(?: like that| similar)?|in your opinion|"
    r"as far as you know|or anything(?: like that)?|or so|or is it elsewhere|or elsewhere|"
    r"or somewhere else|or not))+$"
)
_ECHO = re.compile(r" , (?:is|are|was|does|do|did|has|have)(?: not)? (?:it|you|they|there)(?: not)?$")
_DOUBT = re.compile(r" , (?:is|are|was|does|do|did|has|have) (?:it|you|they|there)$")
"""An echo that expects a no: whether "no" agrees that it is not, people take in two ways, so a denial is not read."""
_STATEMENT = (
    (re.compile(r"^(C|N|NAME|P|there|capital|flag|[a-z]+ing|its [a-z]+|C 's [a-z]+|N 's [a-z]+) (is|are|was|were|"
r"has been) (?=\w)"), r"\2 \1 "),
    (re.compile(r"^(C|N) (?:has|have) ((?:not |never |ever |once )*(?:hosted|been|had|held|won|ever|produced)) "),
     r"has \1 \2 "),
    (re.compile(r"^(C|N|NAME) (?:has|have) (?=\w)"), r"does \1 have "),
    (re.compile(r"^does (C|N) (?:lie|sit|stand) "), r"is \1 "),
    (re.compile(r"^(C|N) (?:lies|sits|stands) (?=\w)"), r"is \1 "),
    (re.compile(r"^(C|N|NAME) (?:does|do) (?=\w)"), r"does \1 "),
    (re.compile(r"^(P|C|N) (?:do|does|did) (?=\w)"), r"do \1 "),
    (re.compile(r"^P (speaks?|drives?|uses?|pays?) (?=\w)"), r"do P \1 "),
    (re.compile(r"^(C|N|NAME) (starts?|begins?|ends?|contains?|borders?|hosts?|gets?|uses?|touches|shares|lacks?|"
r"belongs)(?= )"), r"does \1 \2"),
    (re.compile(r"^(?:are you|do you live|do P live|are you living|you are|you live|do you come|"
r"you come)(?: living)? (in|from|on|near|by|at|close to) "), r"is C \1 "),
    (re.compile(r"^((?:what|which) [a-z]+(?: [a-z]+)?) (C|N) (is|lies)(?= |$)"), r"\1 is \2"),
    (re.compile(r"^(?!is |are |was |were |does |do |did |has |have |can |could |what |which |how |in |on |where |"
r"who |when |would |if |at |my |i |final |since |C |N )([a-z][a-z ]{1,40}?) (is|are|was) (?=[a-z])"), r"\2 \1 "),
)  # fmt: skip


@lru_cache(maxsize=8192)
def form(message: str) -> Form | None:
    """What a message asks; None where it is empty, too long, or says more than one thing.

    >>> form("Thanks! Isn't your city located in the north of Europe, though?") is None
    False
    >>> form("Is it true that your country doesn't have a coast?")[:2]
    ('does N have coast', True)
    """
    if len(message) > LONGEST:
        return None
    spoken = last(tidy(message))
    if not spoken:
        return None
    words, negated = spell(spoken)
    if _HALF_DENIED.search(words):
        return None
    doubted = bool(_DOUBT.search(words))
    said, more = drop_negation(order(addressed(shrink(unwrapped(words)))))
    text = turned(said)
    if "C flag" in text:  # of the city, which has one of its own
        return None
    return Form(text, negated ^ more, spoken, said) if text and not (doubted and negated ^ more) else None


def tidy(message: str) -> str:
    """Without accents, with plain quotation marks, abbreviations without points, letters of the alphabet marked."""
    if not message.isascii():
        message = re.sub("[“”«»]", '"', message).replace("–", "-").replace("—", ", ").replace("°", " degrees")
    message = apostrophes(unaccented(message))
    if _SHORTENED.search(message):
        for pattern, to in _ABBREVIATIONS:
            message = pattern.sub(to, message)
    message = _LETTER.sub(lambda m: f"{m[1]}L_{m[2].lower()}", message)
    return _LONE.sub(lambda m: f"L_{m[1].lower()}", message)


_MARK = re.compile(r"[^a-zA-Z0-9_,.'\s-]+|(?<!\d)\.|\.(?!\d)|(?<=\s)-(?=\s)")


def spell(text: str) -> tuple[str, bool]:
    """In lower case with contractions spelled out. A question that begins with "isn't" expects a yes: no negation."""
    text = _CAPITAL.sub(r"l_\1", _MARK.sub(" ", text)).lower().replace("-", " ")
    if "'" in text:
        text = _spelled_out(text)
    text = text.replace(",", " , ")
    return " ".join(_TYPOS.get(word, word) for word in _SMALL.sub(r"L_\1", text).split()), False


_TYPOS = {
    "teh": "the", "hte": "the", "wich": "which", "whcih": "which", "waht": "what", "woud": "would",
    "langauge": "language", "languge": "language", "peple": "people", "poeple": "people", "somwhere": "somewhere",
    "contry": "country", "coutry": "country", "coutnry": "country", "ctiy": "city", "citty": "city",
    "captial": "capital", "curency": "currency", "currancy": "currency", "offical": "official", "oficial": "official",
    "popluation": "population", "famos": "famous", "continet": "continent", "hemispere": "hemisphere",
    "costal": "coastal", "laek": "lake", "rivr": "river", "ocaen": "ocean", "oceon": "ocean", "montains": "mountains",
    "equater": "equator", "piont": "point", "becuase": "because", "bigest": "biggest", "atraction": "attraction",
    "atractions": "attractions", "widly": "widely", "medival": "medieval", "gaint": "giant", "neigbour": "neighbour",
    "neigbours": "neighbours", "neigbor": "neighbour", "nieghbour": "neighbour", "goverment": "government",
    "offically": "officially", "languange": "language", "lanugage": "language", "mountian": "mountain",
    "mountians": "mountains", "iland": "island", "isalnd": "island", "poulation": "population",
    "populaton": "population",
    "capitol": "capital", "captal": "capital", "euorpe": "europe", "eruope": "europe", "africia": "africa",
    "amercia": "america", "asai": "asia", "austrailia": "australia", "colonoy": "colony", "brittish": "british",
    "portugese": "portuguese", "portuguse": "portuguese", "spainish": "spanish",
    "carribean": "caribbean",
    "mediterranian": "mediterranean", "pacfic": "pacific", "atlantc": "atlantic", "rivier": "river",
    "beachs": "beaches",
    "countires": "countries", "contries": "countries", "coutries": "countries", "airprot": "airport",
    "univeristy": "university", "unversity": "university", "hemishpere": "hemisphere", "hemisphre": "hemisphere",
    "northen": "northern", "southren": "southern", "westren": "western", "milion": "million", "millon": "million",
    "peope": "people", "speek": "speak", "spokn": "spoken", "kown": "known", "knwon": "known",
    "religon": "religion", "metropolitain": "metropolitan", "mediteranean": "mediterranean",
}  # fmt: skip
"""Frequent slips that are no other word."""


_CAPITAL, _SMALL = re.compile(r"\bL_([a-z])\b"), re.compile(r"l_([a-z])\b")
_NOT_WORDS = re.compile(r"\b(?:" + "|".join(map(re.escape, _NOT)) + r")\b")
_EXPECTS_YES = re.compile(
    r"^((?:so|and|but|ok|okay|well)[ ,]+)?(is|are|was|were|does|do|did|has|have|would|could|should|must|might)n't\b"
)
_NOT_END, _OWNER_END, _QUOTE = re.compile(r"n't\b"), re.compile(r"'s$"), re.compile(r"(?<! )'(?!s )")


def _spelled_out(text: str) -> str:
    """Contractions in full."""
    text = _NOT_WORDS.sub(lambda m: _NOT[m[0]], text)
    text = _NOT_END.sub(" not", _EXPECTS_YES.sub(r"\1\2", text))
    text = _SHORT.sub(r"\1 is", text)
    for end, word in _ENDS:
        text = text.replace(end + " ", word + " ")
    text = text.replace("'s ", " 's ").replace("s' ", "s ")
    return _QUOTE.sub(" ", _OWNER_END.sub(" 's", text.replace("',", "' ,")))


_TO_LIST = re.compile(r"^(?:can|could|would|will) you (?:please )?(?=describe|give|name|list)")
_ITS, _IT = (
    re.compile(r"\bits\b(?= (?:capital|flag|currency|government|neighbou?rs?|borders?))"),
    re.compile(r"\b(?:it|that city|this one)\b(?! (?:is )?(?:true|correct))"),
)
_ARTICLES = re.compile(r"\b(?:the|a|an|some|any|your|its|their|our)\b")


def _beheaded(pattern: re.Pattern[str], text: str) -> str:
    """Without what the pattern finds at the front."""
    found = pattern.match(text)
    return text[found.end() :] if found else text


def shrink(text: str) -> str:
    """Lead-ins and tags off, subjects as signs, no articles and no filling words."""
    for _ in range(3):
        before = text
        text = _beheaded(_LEAD, text).lstrip(" ,")
        text = _beheaded(_TO_LIST, _beheaded(_ASKING, text))
        text = _beheaded(_BELIEF, _beheaded(_TRUE, text))
        text = _TAG.sub("", _ECHO.sub("", text)).rstrip(" ,")
        if text == before:
            break
    text = _CITY.sub("C", text)
    text = _COUNTRY.sub("N", text)
    text = _IT.sub("C", _ITS.sub("N 's", text))
    text = _NAMED.sub("NAME", text).replace("C 's flag", "C flag").replace("C 's ", "").replace("NAME 's ", "NAME ")
    text = _PEOPLE.sub("P", text)
    text = _FLUFF.sub(" ", text)
    text = _ARTICLES.sub(" ", text)
    text = " ".join(text.split())
    inside = text.endswith(" in N")
    text = _PLACE_TAIL.sub("", text)
    if inside and not text.endswith(" in N"):
        text += " inN"
    return " ".join(text.split()).strip(" ,")


_RELATIVE = tuple(
    (re.compile(pattern), to)
    for pattern, to in (
        (r"(?:which|what) C is", "C is"),
        (r"(is|was) (?:C|N) (?:city|town|place|one|location) (?:that|which|where) (is|has|lies|sees?|gets?|does|was)\b",
         r"C \2"),
        (r"(?:is C|C is)(?: in)? (?:country|nation|place) "
         r"(?:(?:that|which) speaks|where (?:P|people|they) speak) ([a-z]+)$", r"is N \1 speaking country"),
        (r"(?:is C|C is)(?: in)? (?:country|nation) where ([a-z]+) is (?:spoken|official language)$",
         r"is N \1 speaking country"),
        (r"(?:is C|C is)(?: in)? (?:country|nation) (?:that|which) ", "N "),
        (r"(?:is C|C is) in (?:country|nation) with ", "N has "),
        (r"(?:is C|C is) in ((?!country|nation|city|one )[a-z]+(?: speaking)?) (?:country|nation)$",
         r"is N \1 country"),
        (r"(?:is C|C is) (?:city|town|place) with ", "C has "),
        (r"(C|N) (sees?|gets?|receives?|experiences?) ", r"does \1 \2 "),
    )
)  # fmt: skip
"""Relative clauses at the front, and what they come to."""


def order(text: str) -> str:
    """A statement as a question; relative clauses about the city or the country as questions about them."""
    for pattern, to in _RELATIVE:
        if found := pattern.match(text):
            text = found.expand(to) + text[found.end() :]
    for pattern, to in _STATEMENT:
        if found := pattern.match(text):
            return found.expand(to) + text[found.end() :]
    return text


_NEGATION = re.compile(r"\b(?:not|never)\b")


_HALF_DENIED = re.compile(
    r"\bnot (?:just|only|merely|simply|always|entirely|exactly|necessarily|quite|very|too|so|that|much|all|even)\b"
    r"|\b(?:false|untrue|incorrect|wrong|mistaken)\b"
    r"|\b(?:just|directly|exactly|precisely|slightly|right) (?:to the )?"
    r"(?:north|south|east|west|outside|inside|across|over(?! there)|off)\b"
)
"""What denies only a part of what is said, or denies it in other words; and exact places, of which less is known."""
_DENYING = re.compile(r"\b(?:no|not|never|lacks?|without|outside|neither)\b")


def drop_negation(text: str) -> tuple[str, bool]:
    """Without its one "not", "never", "no" or "lack"; with two of them the text becomes unreadable.

    >>> drop_negation("is C not hot"), drop_negation("does N lack coast")
    (('is C hot', True), ('does N have coast', True))
    """
    if not _DENYING.search(text):
        return text, False
    text = re.sub(r"\bno (fewer|less|more|bigger|larger|smaller|farther|further)\b", r"not \1", text)
    text = re.sub(r"\b(?:lacks?|go without)\b", "not have", text)
    text = re.sub(r"\b(have|has|is there|are there|see|sees|get|gets|with) no\b", r"\1 not", text)
    text = re.sub(r"\b(is|does|lies) (C|N) (?:lie |sit |stand )?outside(?: of)?\b", r"\1 \2 not in", text)
    text = re.sub(r"\bneither (.+?) nor ", r"not \1 or ", text)
    text = text.replace(" but not ", " butnot ")
    found = _NEGATION.findall(text)
    if len(found) > 1:
        return "", False
    return " ".join(_NEGATION.sub(" ", text).split()), len(found) == 1
