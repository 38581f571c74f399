"""Who is accused in a template (`mystery_words`): only what states it, about somebody named, in a sentence of its own.

A suspicion ("I think it was X"), a condition, a report ("they say that X did it"), a question and a denial accuse
nobody. Source: ours; PAPRIKA, appendix B.4.4, has the detective announce an accusation, "merely confronting" is none.
"""

from __future__ import annotations

import re

_SENTENCE = re.compile(r"[^.?!;]+[.?!;]*")
_CERTAIN = re.compile(
    r"\b(?:no|without(?: a| any)?|beyond(?: a| any| all)?(?: reasonable)?) (?:doubt|question)s?\b(?: that)?"
    r"|\bi (?:am|feel) (?:(?!not|never|hardly|less|almost|nearly|barely|un)\w+ )?(?:sure|certain|convinced"
    r"|confident)(?: that)?"
    r"|\bi have no doubts?(?: that)?"
    r"|\bi would like to (?=accuse|charge|arrest|name|declare|make)"
    r"|\b(?:make (?:my|the|a) (?:final )?accusation|(?:am|feel) (?:(?!not|never|hardly|almost|nearly"
    r"|barely)\w+ )?(?:ready|prepared"
    r"|going now)|it is time"
    r"|(?:want|wish|choose|decided|have|here|compelled)) (?:to (?=accuse|charge|arrest|name|declare|make|announce))?"
    r"|\bi (?:know|conclude|declare|state|announce|maintain|submit) (?:\w+ )?that\b"
)
_HEDGED = re.compile(
    r"\b(?:think|thinks|thought|believe[sd]?|suspect(?:s|ed)?|suspicion|suspicious|guess|maybe|perhaps|might|may"
    r"|could|would|probably|likely|possibly|possible|seems?|appears?|wonder|if|whether|not|never|nobody|no one|or"
    r"|suppose|assume|doubt|unless|says?|said|claims?|told|heard|hear|hunch|feeling|feel|tell me|ask|innocent|should"
    r"|must be|before|about to|provided|providing|assuming|supposing|presuming|as long as|in the event|depending"
    r"|had @p|refuse|according|plan|intend|planning|soon|later|next (?:turn|time)|until|once|when|as though"
    r"|as if|theory|theories|hypothesis|scenario|in case|hardly|no evidence|no proof|nothing|framed?|wants? us|story"
    r"|eventually|tomorrow|otherwise|wish(?:es)?|hope|accused|accuses|why|how|neither|nor|lean|leaning|want to know"
    r"|prove|evidence against|tempted|what"
    r"|imagine|rumou?r|people say|opinion|in my view|reckon|bet|sake of|dream\w*|film|movie)\b"
)
_PROVEN = re.compile(r"\b(?:and|as) (?:i|we) (?:can|will) (?:now )?prove it\b|\bevidence\b(?! against)[^@]*(?=$)")
_WHO = r"(?:the |our |a |this )?@(p\d)\b(?! 's)(?: ,? ?(?:the |our )?@\1){0,2}(?: ,)?"
_NOUN = (
    r"(?:(?:real|true|actual|only|guilty) )?(?:murderer|murderess|killer|culprit|perpetrator|poisoner|assassin"
    r"|guilty (?:party|person|one))\b(?! (?:'s|@|on\b))"
)
_SURELY = (
    r"(?:(?:clearly|definitely|certainly|therefore|obviously|undoubtedly|indeed|surely|thus|in fact|really|so|without"
    r"|none other than|hereby|now|formally|hence|also|himself|herself) )*"
)
_DID = (
    r"(?:poisoned\b(?! (?:the|our|their|his|her) (?:atmosphere|air|mood|minds?|relation\w*|well|conversation|climate"
    r"|evening))"
    r"|(?:killed|murdered|struck)"
    r"(?= (?:down )?(?:(?:the|our|poor|old) )*(?:@[vi]|him\b|her\b)| ?(?:[.!,]|$)| (?:with|in|at|by|because|and) ))"
)
_BE = rf"are {_SURELY}(?:the |our )?(?:{_NOUN}|guilty)"
_ONE = r"(?:one|person|man|woman)"
_DOER = rf"(?:{_NOUN}|{_ONE} (?:(?:who|that) (?:did it|did this|{_DID})|responsible)[^@]{{0,30}}(?:@v)?)"
_PATTERNS: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(?:acc?use|accusing|charge|charging|arrest|arresting|convict|denounce|indict)\b (?:\w+ )?{_WHO}",
        rf"\b(?:name|declare|pronounce|identify) {_WHO} (?:as |to be )?(?:(?:the |our )?{_NOUN}|guilty)",
        rf"\byou , {_WHO} {_BE}",
        rf"\bi (?:\w+ )?(?:accuse|charge|arrest) you\b(?:[^@]|@v)*?{_WHO}",
        rf"{_WHO} (?:, )?(?:and )?i (?:\w+ )?(?:accuse|charge|arrest) you\b",
        rf"\bit was you ,? ?{_WHO}(?= ?(?:[.!,]|$))",
        rf"\bj ?'? ?accuse {_WHO}",
        rf"^\W*guilty ?: ?{_WHO}",
        rf"\bname the {_NOUN} ?: ?{_WHO}",
        rf"\b(?:murderer|killer|culprit) 's name is {_WHO}",
        rf"^\W*(?:i )?accuse :? ?{_WHO}",
        rf"\b(?:accuse|arrest)\b[^@]*\b(?:is|of being) {_WHO}",
        rf"\baccusation (?:\w+ ){{0,3}}?(?:is|goes to|falls on|:)[^@]{{0,25}}{_WHO}",
        rf"\baccusation against {_WHO}(?= ?(?:[.!,]|$))",
        rf"{_WHO} (?:is|was) {_SURELY}(?:(?:the |our )?{_NOUN}|a {_NOUN}(?= ?(?:[.,!]|$|and |because |of |who ))"
        rf"|guilty\b|to blame\b|responsible(?= for| ?[.!,]))",
        rf"{_WHO} (?:is|was) {_SURELY}the {_ONE} (?:(?:who|that) (?:has |have )?(?:did (?:it|this)\b|{_DID}"
        rf"|committed)"
        r"|responsible (?:for|[.!,]))",
        rf"{_WHO} {_SURELY}(?:has |have )?{_SURELY}(?:did (?:it|this)(?= ?(?:[.!,:]|$)"
        rf"| (?:all|and|because|with|by|alone|together|for|in|himself|herself|to)\b)|{_DID}|committed (?=the|this)"
        rf"|slew\b)",
        rf"\b{_DOER}(?: (?:here|in this case|of @v))? ?(?:is|was|,|:) {_SURELY}{_WHO}",
        rf"\bit (?:was|is) {_SURELY}{_WHO}"
        rf"(?= ?(?:[.!,]|(?:who|that) (?:did (?:it|this)\b|{_DID}|committed|is (?:the )?(?:{_NOUN}|guilty))"
        rf"|all along|$))",
        rf"\b(?:conclusion|verdict|final answer|my answer|solution)\b(?! lies| depends)[^@]{{0,40}}{_WHO}"
        rf"(?= ?(?:[.!,]|$|did (?:it|this)\b|is {_SURELY}(?:(?:the |our )?{_NOUN}|guilty|the {_ONE})|{_DID}"
        rf"|committed|was the))",
        rf"{_WHO} (?:, )?you (?:\w+ )?(?:{_DID}|did it|{_BE}|are under arrest)",
        rf"\byou (?:\w+ )?(?:{_DID} @v|did it|{_BE}) ,? ?{_WHO}",
    )
)
_NOT = re.compile(r"(?:,? (?:and )?|^)not (?:the )?@p\d(?: but\b)?")
_OTHERWISE = re.compile(
    r" ?(?:of|for|with|about) (?!(?:\w+ ){0,3}?(?:murder\w*|kill\w*|death|crime|poison\w*|strik\w*|homicide|deed|it"
    r"|this"
    r"|@v|@i1)\b)"
    r"| ?(?:in|on|from|at) (?:the|a|that|his|her|their) (?!end\b|murder|case|crime|killing|death|evening|night|@)"
)
"""Guilt of something else than the murder."""
_LEAD = re.compile(
    r"(?:(?:i|we|am|are|and|so|but|then|thus|therefore|hence|now|that|yes|it|is|was|the|my|our|final|formally"
    r"|hereby|clear|only"
    r"|real|evidence|proof|facts?|everything|all|this|shows?|proves?|means|clearly|finally|officially|you|@v"
    r"|conclusion"
    r"|accusation|verdict|answer|here|let|me|us|must|shall|will|can|to name|say|because|since|detective|know|right"
    r"|away"
    r"|please|ok|okay|well|say|as|in|there|name|doubts?|question|left|mind) ?)*"
)
"""The words that may stand right before what states the guilt: after others it may be a plan or a report."""
_ANNOUNCED = re.compile(
    r"accus|verdict|conclusion|answer|solution|clear|final|decided|killer|murderer|culprit|know|evidence|enough|case"
    r"|sum|judg|proof|proves|truth|obvious|action|certain|sure|settled|simple|doubt|mind|game|done|say|this|@p\d\W*$"
    r"|^\W*$"
)
"""What may be said before a colon."""
_QUOTED = re.compile(
    r"\b(?:translate|repeat|complete|pretend|sentence|phrase|poem|example|confirm|print|output|write|type|imagine"
    r"|role ?play|reply with|respond|notes|spell|rhyme|quote|fill in|title|novel|headline)\b"
)
"""A message that hands words over instead of saying them."""
_RETRACTED = re.compile(
    r"\b(?:take (?:that|it|this) back|kidding|joking|joke|wait|scratch that|withdraw|second thoughts?|hypothetical\w*"
    r"|at least|that is what|this is what|so (?:says|said)|not yet|my guess|just a|only a|not (?:sure|certain)"
    r"|or maybe"
    r"|or perhaps|or was it|both of them|them both|two of them|together with|accomplice|helped|in league)\b"
    r"|(?:^|[.!,;] )(?:right|correct|true|no|agreed|am i right|is that right|is it not)(?: \w+)? \?"
)
"""What takes an accusation back, weakens it, or gives the guilty company."""
_PRONOUN = re.compile(
    r"\b(?:i|we) (?:\w+ )?(?:accuse|arrest|charge) (?:you|him|her|them|this person|that person)\b"
    r"(?! of (?!(?:\w+ ){0,3}?(?:murder\w*|kill\w*|crime|poison\w*|death|homicide|it\b|this\b|@v)))"
    r"|\b(?:that|this|he|she) is who i accuse\b|\bconsider (?:him|her|them) accused\b|\baccusation made\b"
)
_ALSO = re.compile(r" ?(?:,|and|or|, and|or|as well as) (?:the )?@(p\d)")


def accused(template: str) -> tuple[int, ...]:
    """The numbers of all people whom a template accuses.

    >>> accused("i accuse the @p2 of the murder ."), accused("i think that @p2 did it ."), accused("was it @p1 ?")
    ((2,), (), ())
    """
    found: dict[str, None] = {}
    if _QUOTED.search(template):
        return ()
    for sentence in _SENTENCE.findall(template):
        plain = " ".join(_NOT.sub(" ", _PROVEN.sub(" ", _CERTAIN.sub(" ", sentence))).split())
        if "?" in sentence or _HEDGED.search(plain):
            continue
        if (before := _PRONOUN.search(plain)) and _states(plain[: before.start()]):
            found |= _meant(template)
        for pattern in _PATTERNS:
            for match in pattern.finditer(plain):
                stated = _states(plain[: match.start()]) and not _OTHERWISE.match(plain, match.end())
                found |= _named(plain, match) if stated else {}
    return tuple(sorted(int(p[1:]) for p in found))


def doubtful(template: str) -> bool:
    """Whether the message that accuses somebody takes it back or names company."""
    return bool(_RETRACTED.search(template))


def _states(before: str) -> bool:
    """Whether the words of a sentence before the guilt leave it a statement: a clause that leads to it, after others
    that are no order to repeat something."""
    last = re.split(r"[,:]", before)[-1]
    said = before.rsplit(":", 1)[0] if ":" in before else None
    if said is not None and (not _ANNOUNCED.search(said) or re.search(r"@p\d (?!,)[a-z']", said)):
        return False
    joined = re.split(r"\b(?:and|so|but|because) (?=\w)", last.strip())[-1]
    return bool(
        _LEAD.fullmatch(joined.strip()) or re.fullmatch(r"(?:(?:the|our) )?@p\d(?: ,| and| or)?|", joined.strip())
    )


def _meant(template: str) -> dict[str, None]:
    """Whom "I accuse her" means: the only person whom the message mentions."""
    people = dict.fromkeys(re.findall(r"@(p\d)", template))
    return people if len(people) == 1 else {}


def _named(sentence: str, match: re.Match[str]) -> dict[str, None]:
    """The person of a pattern, and whoever is joined to them."""
    people = {p: None for p in match.groups() if p}
    more = _ALSO.match(sentence, match.end(1))
    while more:
        people[more[1]] = None
        more = _ALSO.match(sentence, more.end())
    if match.start() > 0 and (before := re.search(r"@(p\d) (?:and|or) (?:the )?@$", sentence[: match.start(1)])):
        people[before[1]] = None
    return people


_PLAIN = re.compile(
    r"\b(?:i|we) (?:\w+ )?(?:accuse|charge|arrest)\b|\bmy (?:final )?(?:accusation|conclusion|verdict)\b|\b(?:is"
    r"|was) (?:\w+ )?(?:the "
    rf"|our ){_NOUN}|\b{_NOUN} (?:is|was)\b|\bis guilty\b|\bdid it\b"
)


def is_accusation(said: str) -> bool:
    """Whether a message accuses somebody, in a case of which nothing is known but the words.

    >>> is_accusation("I accuse the janitor."), is_accusation("Is Akiko the murderer?")
    (True, False)
    """
    sentences = _SENTENCE.findall(said.lower())
    plain = (_PROVEN.sub(" ", _CERTAIN.sub(" ", s)) for s in sentences if "?" not in s)
    return any(_PLAIN.search(s) and not _HEDGED.search(s) for s in plain)
