"""Whether somebody is asked for their key, code or skill: a topic of murder mysteries (`mystery_topics`).

What access is a matter of is part of a case. A question about the key, the code or the machine itself, or about
somebody else who had or worked it, is none of the person asked. Source: ours.
"""

from __future__ import annotations

import re


def any_of(*expressions: str) -> re.Pattern[str]:
    """A pattern that finds what any of the expressions finds."""
    return re.compile("|".join(expressions))


VICTIM = r"(?:(?:the|our|your|poor|late|old|dead|this) )*@v(?! 's (?!death\b|murder\b))"
"""The victim, not what was theirs."""
_HELD = (
    r"(?:have|had|has|hold|held|own|owned|possess|possessed|carry|carried|carrying|given|handed|got|get|keep|kept"
    r"|borrow"
    r"|borrowed|lent|holding|receive|received|in possession of|possession of|having had|having|use|used)"
)
_KEYS = r"(?:keys?(?: ?cards?| ?ring)?|keycards?)"
_CODES = r"(?:(?<!dress )(?<!moral )(?:door |entry |access )?codes?|combination|passwords?|digits|numbers?|pin)"
_ROOM = r"(?:(?:the|that|this|its|same) )*(?:@l0|@t|it|there|room|place|door|one)\b(?! 's)"
_TO = rf"(?: (?:card )?(?:to|for|of|that (?:opens?|fits)|which (?:opens|fits)|fitting|into) {_ROOM})"
_GOES = r"(?! (?:to|for|of|that|which|under|in|on) (?!(?:you|your|me|us|yourself)\b))"
"""A key of what is not said fits."""
_KEY = any_of(
    rf"\byou (?:\w+ ){{0,5}}?{_HELD} (?:(?!(?:@[pv]|lost|stolen)\b)\w+ ){{0,3}}?{_KEYS}(?:{_TO}|{_GOES})",
    rf"\b(?:had|have|has) you (?:\w+ ){{0,3}}?{_KEYS}(?:{_TO}|{_GOES})",
    rf"\b{_KEYS}{_TO}.*\b(?:you (?:\w+ )?(?:have|had|own|possess|got|hold|held)|your (?:ring|pocket|possession|bunch"
    rf"|bag"
    r"|hands?))\b",
    rf"\b(?:give|gave|hand|handed|lend|lent) you (?:\w+ ){{0,3}}?{_KEYS}(?:{_TO}|{_GOES})",
    rf"\b(?:ask|question|press|quiz) you (?:about|on|regarding|concerning|for) (?:(?!@)\w+ ){{0,5}}?"
    rf"(?:{_KEYS}|access)(?:{_TO}|{_GOES})",
    rf"\b(?:what about|how about|about|and) your (?:own )?(?:{_KEYS}|access)(?:{_TO}|{_GOES})",
    rf"\byour (?:own )?(?:{_KEYS}(?! was| is)|access)(?:{_TO}|{_GOES})(?=.*\b(?:did you|have one)\b|\W*$)",
    rf"^\W*(?:you |and |the |a |any |[,:] )*(?:{_KEYS}|access)(?:{_TO})?\W*$",
    rf"\b(?:do|did|would|could|can|might|have|had) you (?:\w+ )?(?:have|had|get|gain|got|ever get)? ?(?:\w+ )?"
    rf"(?:access|means of access|way of getting in(?:to)?|way in(?:to)?|entry)(?: ?to {_ROOM}| ?{_ROOM}| ?[?.,]|$)",
    rf"\b(?:could|can|able to|were you able to) (?:you )?(?:have )?(?:\w+ )?(?:open|unlock|opened|unlocked|get into"
    rf"|let yourself into|get in|enter) {_ROOM}",
)
_CODE = any_of(
    rf"\byou (?:\w+ ){{0,4}}?(?:know|knew|known|have|had|given|told|learn|learnt|learned|got|get|remember"
    rf"|memori[sz]e[d]?"
    rf"|possess|hold|use|used|aware of|find out|in on) (?:(?!@[pv])(?:\w+|@l0|@t) ){{0,4}}?{_CODES}(?:{_TO}"
    r"| that opens? (?:the )?@[lt]\w*|"
    rf"{_GOES})",
    rf"\b{_CODES}(?:{_TO}|{_GOES})?.*\b(?:known to|reach(?:ed)?|given to|told to|tell|told|give|gave) you\b",
    rf"\b(?:tell|told|give|gave|show|showed|teach|taught) you (?:(?!@[pv])\w+ ){{0,3}}?{_CODES}(?:{_TO}|{_GOES})",
    rf"\b(?:ask|question|press|quiz) you (?:about|on|regarding|concerning|for) (?:(?!@)\w+ ){{0,4}}?"
    rf"(?:{_CODES}|access)(?:{_TO}|{_GOES})",
    rf"\b(?:what about|how about|about|and) your (?:own )?(?:knowledge of the )?(?:{_CODES}|access)(?:{_TO}|{_GOES})",
    rf"^\W*(?:you |and |the |a |any |[,:] )*(?:{_CODES}|access)(?:{_TO})?\W*$",
    rf"\b(?:three|few|two|four|some|many) people (?:who )?(?:knew|know|had) (?:the )?{_CODES}{_TO}",
    rf"\b(?:do|did|would|could|can|might|have|had) you (?:\w+ )?(?:have|had|get|gain|got|ever get)? ?(?:\w+ )?"
    rf"(?:access|means of access|way of getting in(?:to)?|way in(?:to)?|entry)(?: ?to {_ROOM}| ?{_ROOM}| ?[?.,]|$)",
    rf"\b(?:could|can|able to|were you able to) (?:you )?(?:have )?(?:\w+ )?(?:open|unlock|opened|unlocked|get into"
    rf"|let yourself into|get in|enter) {_ROOM}",
    r"\byou (?:\w+ ){0,2}(?:know|knew) (?:\w+ )?how (?:the |that |one |to )*(?:open|@t is (?:opened|unlocked))",
)
_ABLE = (
    r"(?:can|could|able|capable|know|knew|known|learn|learnt|learned|taught|trained|shown|show|teach|allowed|how|able"
    r"|skilled|experience|experienced|competent|qualified|familiar|ability|trick|way|used|instructed|practice|ever"
    r"|manage|managed|practised|practiced|capability|skill|training|handle|operate)"
)
_SKILL = any_of(
    rf"\b{_ABLE}\b.*\byou\b.*@t\b",
    rf"\byou\b.*\b{_ABLE}\b.*@t\b",
    r"\b(?:ask|question|press|quiz) you (?:about|on|regarding) (?:\w+ ){0,5}?@t\b",
    rf"@t\b.*\byou\b.*\b{_ABLE}\b",
    rf"@t\b.*\b{_ABLE}\b(?: \w+)? (?:you\b|yourself)",
)
_NOT_OWN = re.compile(
    rf"\b(?:is|was|are|were|did|does|has|had|would|could|can|will) {VICTIM}(?! (?:ever |also )?(?:tell|told|give"
    rf"|gave|show|teach|taught) you)"
    rf"|(?<!@t )\b(?:is|was|are|were|did|does) (?:(?:the )?@[tlir]\d*|(?:the|a) (?:{_KEYS}|{_CODES}))"
    r"(?!.*\b(?:known to|reach(?:ed)?|given to|told|in your|yours|on your|trained)\b)"
    rf"|\b(?:when|where|why)\b (?!.*\b(?:learn|taught|given|told)\b).*(?:{_KEYS}|{_CODES}|@t)\b"
    rf"|\b(?:what|which) (?:is|was|were|are) (?:the |your )?(?:{_CODES}|{_KEYS}|@t)"
    r"|\b(?:hear|heard|see|saw|seen|notice|noticed|lose|lost|steal|stole|find|found|throw|threw|break|broke|sell|sold"
    rf"|repair|fix|clean|like|enjoy|hate) (?!out\b)(?:\w+ ){{0,3}}?(?:@t|{_KEYS}|{_CODES})|\b(?:lost|stolen|heavy)\b"
    rf"|\bis (?:this|that|it) your\b"
)
"""A question about the key or the winch itself, or about somebody else who had or worked it."""


def access(asked: str, means: str) -> bool:
    """Whether the person asked, "you", is asked for the key, the code or the skill of a case.

    >>> access("did you have a key to the @l0 ?", "key"), access("did @v have a key to the @l0 ?", "key")
    (True, False)
    """
    if _NOT_OWN.search(asked):
        return False
    return bool({"key": _KEY, "code": _CODE, "skill": _SKILL}[means].search(asked))
