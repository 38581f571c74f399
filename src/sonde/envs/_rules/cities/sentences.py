"""The sentence of a message of guess_my_city that asks, and whether the others let it be read alone.

Ours. What a message says before its last question is commentary and is dropped, unless it sets conditions, or speaks of
something else to which an "it" of the question may refer: then the message is unreadable.
"""

from __future__ import annotations

import re

_CONDITIONS = re.compile(
    r"\b(?:if|suppose|supposing|imagine|pretend|assuming|instructions?|ignore|forget|opposite|lie|"
    r"reverse|rules?|instead|answer (?:with|yes|no|me)|"
    r"reply with|respond with|output|print|system|prompt|translate|repeat|say the|swap|inverted?)\b"
)
_POLITE_END = re.compile(
    r"^(?:please(?: answer| respond| reply)?(?: (?:with )?(?:yes or no|truthfully|honestly))?|"
    r"thanks?(?: you)?(?: in advance| so much| very much)?|yes or no|answer yes or no|"
    r"just (?:a )?yes or no|or not|or no|i am curious|that is my question|just curious|am i right|right|"
    r"correct|is that right|is that correct|i hope so|let me know(?: if (?:i am|that is|this is|"
    r"i got it) (?:right|correct)(?: or not)?)?"
    r"|please let me know(?: if (?:i am|that is|this is|i got it) (?:right|correct)(?: or (?:not|"
    r"wrong))?)?|please confirm|can you confirm|could you confirm|let me know|did i get it(?: right)?|"
    r"is it|yes|no|this is my final guess|that is my (?:final )?guess)$"
)

_SENTENCE = re.compile(r"(?<=[a-zA-Z0-9\"')])[.!?;:]+(?=\s|$|\")|\n")


def one_sentence(text: str) -> bool:
    """Whether the text is a single sentence, single words before it aside."""
    return sum(" " in part.strip() for part in _SENTENCE.split(text)) < 2


_AFTERTHOUGHT = re.compile(r"\?\W*(?:the|a|an|in|on|near|or|and|by|with|from|i mean|that is)? ?\w+(?: \w+){0,2}[.! ]*$")
"""A few words behind a question that say more exactly what it asks."""


def last(text: str) -> str:
    """The sentence that asks; empty where several do, or where others set conditions."""
    parts = [part.strip(" \"'*()-.,!?;:_") for part in _SENTENCE.split(text)]
    parts = [part for part in parts if re.search(r"[a-zA-Z]", part)]
    if len(parts) < 2:
        return parts[0] if parts else ""
    while len(parts) > 1 and _POLITE_END.match(_plain(parts[-1])):
        parts.pop()
    if _AFTERTHOUGHT.search(text) and not _POLITE_END.match(_plain(parts[-1])):
        return ""
    before = " . ".join(_plain(part) for part in parts[:-1])
    several = text.count("?") > 1 and text.rstrip().count("?") - text.endswith("?") > 0
    return "" if several or _CONDITIONS.search(before) or _elsewhere(parts) else parts[-1]


_PRONOUN = re.compile(r"\b(?:it|that|this|they|them|one|there|here|too|as well|also|either|yours)\b", re.I)
_OURS = re.compile(
    r"(?:(?:so|ok|okay|and|but|then|well|now|good|great|thanks|thank you|hmm|ah|oh|right|alright|yes|no|not|nice|cool"
    r"|perfect|interesting|understood|excellent|wonderful|i see|i know|i think|i understand|i guess|i believe|got it"
    r"|since|because|as|given|given that|what about"
    r"|how about) (?:, )?)*"
    r"(?:it|that|this|there|you|we|the answer|(?:your|the|this) (?:city|town|hometown|place|answers?))\b"
    r"(?! (?:like|as) )"
)
_SAID = re.compile(
    r"\b(?:is|are|was|were|am|be|has|have|had|does|do|did|can|lives?|lived|lies|borders?|uses?|drives|speaks?|runs|flows|love"
    r"|loves|like|likes|visited|went|moved|know|knows|says|said|told|think|thinks|consider|picture|take|look|stands|belongs"
    r"|hosted|makes|gets|joined)\b"
)


def _elsewhere(parts: list[str]) -> bool:
    """Whether what comes before a question with "it" or the like speaks of something else, which it may refer to."""
    return bool(_PRONOUN.search(parts[-1])) and any(
        _SAID.search(part) and not _OURS.match(part) for part in map(_plain, parts[:-1])
    )


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9_,']+", text.lower().replace("i'm", "i am").replace("'s ", " is ")))
