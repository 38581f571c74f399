"""What a customer says where nothing is asked that has an answer: small talk, the trouble again, or "I do not know".

Ours. Such replies follow from the message and from what everybody knows of the product, its name, its symptom and the
openings and what can be asked, and never from the cause or the findings of the case: they are true of every case, and
tell nothing. A message that asks for nothing in particular ("what happened?") hears how things stand; who asks what is
not known may hear about what the customer could tell something.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from .diagnosis import Product

_HEARD: Final = 600
"""Characters of a message that matter here."""

_PLAIN: Mapping[str, tuple[str, ...]] = {
    "unknown": (
        "I do not know.",
        "I am afraid I do not know.",
        "Sorry, I do not know about that.",
        "I could not say. Would it help to know about {thing}?",
        "I have not paid attention to that. I could tell you about {thing}.",
        "I would not know. What I can tell you about is {thing}.",
    ),
    "unclear": (
        "I am not sure what you want me to do. Can you put it another way?",
        "Sorry, what exactly am I to try?",
        "I do not know how to do that. What do you mean?",
    ),
    "several": ("One thing at a time, please.", "That is too much at once. One at a time, please."),
    "talk": ("Thank you. So what shall I do?", "All right. And now?"),
    "cause": ("I am told that it is not that.", "No, that is not it.", "It turned out that this is not the reason."),
}  # fmt: skip
"""By the kind of the query."""


class _Row(NamedTuple):
    """A pattern, and what is said to a message that has it. Without one of `keys` it cannot match, which is found out
    faster."""

    keys: re.Pattern[str]
    pattern: re.Pattern[str]
    says: tuple[str, ...]


def _rows(*rows: tuple[str, str, tuple[str, ...]]) -> tuple[_Row, ...]:
    return tuple(_Row(re.compile(keys), re.compile(pattern), says) for keys, pattern, says in rows)


_PRIVATE = (
    "I would rather not write that here. Does it matter for what is wrong?",
    "Do you need that to find out what is wrong? I would rather talk about the trouble itself.",
)
_ALWAYS: Final = _rows(
    (
        "ignore|forget|disregard|override|pretend|role|reveal|print|output|repeat|prompt|hidden|secret|real"
        "|actual|true|causing|cause|solution|answer|fix",
        r"\b(?:ignore|forget|disregard|override|pretend|role ?play|reveal|print|output|repeat) (?:\w+ ){0,4}?"
        r"(?:instructions?|rules?|prompt|role|cause|secret|solution|answer|fix|variable)\b|\bsystem prompt\b"
        r"|\b(?:hidden|secret|real|actual|true) (?:cause|fix|answer|solution|reason)\b"
        r"|\bwhat(?:'s| is) (?:the|causing the|your) (?:cause|solution|fix|problem's cause|answer)\b",
        (
            "If I knew what is wrong with it, I would not be writing to you.",
            "I only know what I can see and hear. What is behind it is your trade.",
        ),
    ),
    (
        "how are|how do|how's|hello| hi|hey|nice to|good ",
        r"\bhow (?:are|do) you(?: (?:do|today|doing|feeling|keeping))?(?=\W*$|[.?!,])|\bhow's it going\b"
        r"|^\W*(?:hello|hi|hey"
        r"|nice to meet you"
        r"|good (?:morning|day|afternoon|evening))\b[^?]*$",
        ("Hello! I would be better if it worked: {symptom}.", "Good day. It is like this: {symptom}."),
    ),
    (
        "sorry|apolog|inconvenien|frustrat|annoying|patience|sympath|understand",
        r"^[^?]*\b(?:sorry|apolog\w+|inconvenience|frustrat\w+|annoying|patience|sympath\w+|i understand)\b[^?]*$",
        ("That is kind of you. What shall I look at?", "Thank you. Where do we begin?"),
    ),
    (
        "bye|see you|take care|have a ",
        r"^\W*(?:good ?)?(?:bye|goodbye|see you|take care|have a (?:nice|good|great))\b",
        ("But it is not mended yet: {symptom}!", "Please do not leave me alone with it: {symptom}."),
    ),
    (
        "your |how old|where |who are",
        r"\byour (?:full |first |last )?(?:name|address|password|pin|e-?mail(?: address)?|phone number|date of birth"
        r"|birthday|account number|card number)\b|\bhow old are you\b|\bwhere (?:do you live|are you)\b"
        r"|\bwho are you\b",
        _PRIVATE,
    ),
    (
        "do you |favo|your |are you|did you sleep|have you eaten|who won|joke|sing|song|poem|weather|recommend",
        r"\b(?:do you (?:like|love|smoke|drink|speak|have (?:children|kids|a dog|a cat|pets|hobbies|a family))"
        r"|favou?rite"
        r"|your (?:family|job|house|husband|wife|life|day|hobb\w+|dog|cat)|are you (?:angry|married|happy"
        r"|tired"
        r"|at home|busy|alone)|did you sleep|have you eaten|who won|jokes?|sing|song|poem|weather|recommend our)\b",
        ("Let us keep to the trouble: {symptom}.", "Another time, gladly. For now: {symptom}."),
    ),
    (
        "manual|instruction",
        r"\bmanual\b|\binstructions?\b",
        ("I never understand those. Tell me in your own words.", "I gave up on page two. What should I look for?"),
    ),
    (
        "how much|cost|price|expensive|buy|bought|purchase|order",
        r"\b(?:how much did|cost|price|expensive|(?:buy|bought|purchased?) it|order it)\b",
        ("I do not have the bill at hand. Does it matter?", "I could not tell you that. Does it bear on the trouble?"),
    ),
    (
        "warranty|guarantee|receipt|invoice|serial|order number|proof",
        r"\b(?:warranty|guarantee|receipt|invoice number|serial number|order number|proof of purchase)\b",
        ("I cannot find the papers just now. Can we do without them?", "I have no papers at hand."),
    ),
    (
        "model|make|brand|product|device|version|type|what is|do you have",
        r"\b(?:which|what)(?: \w+)? (?:model|make|brand|product|device|version|type)\b(?: is| do| are|\W*$)"
        r"|\bwhat (?:is|do you have) (?:it|there|exactly)\W*$|\bmodel (?:number|name)\b",
        ("It is {product}.", "{product} is what I have."),
    ),
    (
        "happen|going on|wrong|problem|matter|trouble|issue|symptom|tell me|more|describe|explain|summari"
        "|outline|elaborate|detail|help|can i|may i|go on|mean|playing|acting|misbehav|not work|broken|faulty",
        r"\bwhat(?:'s| is| has|'s been| seems to be)? ?(?:exactly |really |actually )?(?:happen\w*|going on|wrong"
        r"|the (?:problem|matter|trouble|issue|symptoms?))\b|\btell me (?:a (?:bit|little) )?(?:more|about)\b"
        r"|\b(?:say|know|hear) (?:a (?:bit|little) )?more\b|\b(?:describe|explain|summari[sz]e|outline|elaborate on"
        r"|details? (?:of|about|on)) (?:\w+ ){0,3}?(?:problem|trouble|issue|fault|situation|matter|symptoms?|it|happens"
        r"|happened)\b|\bhow can i help\b|\bwhat (?:can|may) i (?:do|help)\b|\bgo on\W*$|\bmore details?\b"
        r"|\bwhat do you mean\b|\b(?:playing up|acting up|misbehaving|not work\w*|(?:trouble|problems?|issues?) with"
        r"|is it (?:broken|faulty))\b",
        ("{opening}", "As I said: {symptom}. Ask me about one thing and I will look.", "{opening} That is all I know."),
    ),
    (
        "what can|what do|what did|describe|walk me",
        r"\bwhat (?:can|do|did) you (?:see|hear|notice|observe)\b|\bwhat does it (?:do|look like)\b"
        r"|\bdescribe (?:what|how)\b|\bwalk me through\b",
        ("This is what I see: {symptom}. Where shall I look?", "{opening} Where shall I look more closely?"),
    ),
)
"""What a message is about, and what is said to it; the first that fits."""

_ASKED: Final = _rows(
    (
        "when|how long|since",
        r"\b(?:when|since when|how long)\b[^?]*\b(?:start|started|begin|began|begun|happen(?:ed|ing)? first|first"
        r" (?:happen|notice)|notice|noticed|going on|been (?:like|doing|happening)|last (?:work|have))\b"
        r"|\bhow long has (?:it|this|that)\b|\bsince when\b",
        (
            "I did not write down the day. By now it is always the same: {symptom}.",
            "I could not name the day. I only know how it is now: {symptom}.",
        ),
    ),
    (
        "often|time|always|now and|intermittent|constantly|sometimes",
        r"\bhow often\b|\b(?:every|each|all the) time\b|\b(?:always|now and then|from time to time|intermittent\w*"
        r"|constantly|sometimes) (?:happen\w*|there|like that|do that)\b|\bhappen\w* (?:often|always|constantly"
        r"|regularly)\b",
        ("Often enough to write to you: {symptom}.", "I have not kept a record. It is like this: {symptom}."),
    ),
    (
        "chang|differen|moved|unusual|ordinary|happen|recent|late|anything|install|add|move",
        r"\b(?:change[ds]?|changing|different|moved|unusual|out of the ordinary|happened)\b[^?]*\b(?:recent\w*|late\w*"
        r"|before|since|last|around)\b|\b(?:recent\w*|late\w*)\b[^?]*\b(?:chang\w+|happen\w*|differen\w+)\b"
        r"|\banything (?:change|new|different|unusual|else|special|odd|strange)\b|\bnotice[d]? anything\b"
        r"|\b(?:did|have) (?:you|anyone|anybody|someone) (?:\w+ )?(?:install|change|add|move)\w* (?:any|some)\w*\b",
        (
            "I would not know what counts. Ask me about one thing in particular, and I will tell you.",
            "I would have to think. What do you have in mind? {thing}, perhaps?",
        ),
    ),
    (
        "what have|what did|have you|did you|anything",
        r"\bwhat (?:have|did) you (?:already )?(?:tr(?:y|ied)|do(?:ne)?|attempt)|\b(?:have|did) you (?:already )?"
        r"(?:tr(?:y|ied)|attempt\w*) (?:any|some)thing\b|\banything you(?:'ve| have) (?:already )?tried\b",
        (
            "Nothing that helped, or I would not write. What shall I try?",
            "I have looked at it from all sides. Nothing that helped. What would you do?",
        ),
    ),
    (
        "",
        r"^(?!.*\?)\W*(?:i (?:think|believe|guess|suspect|bet|am sure|suppose)|it (?:is|must|could|might|may|seems"
        r"|sounds)"
        r"|it's|that's|the |your |you |there |maybe|perhaps|probably|sounds|looks|must be|could be|might be)\b",
        (
            "You know more about it than I do. How could we find out?",
            "I would not know. How can we be sure?",
            "What makes you think so? Ask me, and I will look.",
        ),
    ),
)
"""For questions, and for diagnoses that were not understood."""

_TOLD: Final = _rows(
    (
        " off and|restart|reboot|cycle|reset",
        r"\b(?:turn|switch|power|shut)\w*(?: \w+){0,3}? off and (?:then )?(?:back )?on\b|\boff and on again\b"
        r"|\b(?:restart|reboot|power[- ]cycle|reset)\w*\b",
        (
            "Which part do you mean, and how long shall I leave it off?",
            "Can you tell me exactly what to switch off, or what to press?",
        ),
    ),
    (
        "have you|did you",
        r"\b(?:have|did) you (?:already |ever )?(?:tr(?:y|ied)|considered?|thought)\b",
        (
            "I would not know how. Tell me what to do, step by step, and I will do it.",
            "I am not sure that I could do that here. What are you hoping to see?",
        ),
    ),
    (
        " it|that|this|everything",
        r"\b(?:clean|wash|wipe|check|look|try|replace|change|adjust|tighten|open|remove|update|reinstall)\w* (?:it|that"
        r"|this|everything)\b",
        ("Gladly, but which part do you mean?", "Which part of it shall I take first?"),
    ),
    (
        "send|refund|exchange|replacement|come |visit|technician|engineer|mechanic|workshop|bring it",
        r"\b(?:send|refund|exchange|replacement|come (?:by|over|round)|visit|technician|engineer|mechanic|workshop"
        r"|bring it)\b",
        (
            "Before that I would like to know what is wrong. Can we find out?",
            "And what would be done about it then? Tell me what is wrong first.",
        ),
    ),
    (
        "updat|install|download|upgrad|configur|driver|firmware|setting|software",
        r"\b(?:updat|install|reinstall|download|upgrad|configur)\w*\b|\b(?:driver|firmware|settings?|software)\b",
        ("Where do I find that? Tell me what to press.", "I would need to know exactly what to choose there."),
    ),
    (
        "throw|buy|get rid",
        r"\b(?:throw (?:it|that|this) (?:away|out)|buy (?:a|another) (?:new )?|get rid of)\b",
        ("I would rather have it mended.", "Not before we know what is wrong with it."),
    ),
    (
        "call|contact|ask",
        r"\bcall (?:back|again|us)\b|\b(?:contact|ask) (?:your|the|a) \w+\b",
        ("I would rather settle it here with you: {symptom}.", "I have come to you with it. What do you think it is?"),
    ),
)
"""For suggestions."""


def small_talk(product: Product, kind: str, said: str) -> str:
    """The reply to a message of which `kind` is all that was understood."""
    number = _digest(said)
    things = [f.asks for f in product.findings if not _YOU.search(f.asks)] or [product.product]
    words = {
        "symptom": product.symptom,
        "product": product.product,
        "opening": product.openings[number // 7 % len(product.openings)],
        "thing": things[number // 11 % len(things)],
    }
    forms = _forms(kind, f" {said[:_HEARD].lower()} ".replace("\u2019", "'"))
    return _START.sub(lambda found: found[0].upper(), forms[number % len(forms)].format_map(words))


_YOU = re.compile(r"\byou")
_START = re.compile(r"^[a-z]|(?<=[.?!] )[a-z]")


def _forms(kind: str, text: str) -> Sequence[str]:
    """The wordings for a message in lower case."""
    rows = {"unknown": (*_ALWAYS, *_ASKED, *_TOLD[:1]), "unclear": (*_ALWAYS, *_TOLD), "talk": _ALWAYS}.get(kind, ())
    for row in rows:
        if row.keys.search(text) and row.pattern.search(text):
            return row.says
    return _PLAIN[kind]


def _digest(said: str) -> int:
    """The wording depends on the message alone."""
    return int.from_bytes(blake2b(said.encode("utf-8", "replace"), digest_size=4).digest(), "big")
