"""What the sentences of an adviser do: ask, have something looked at or done, state what is wrong, or none of it.

Ours. Somebody who helps says "Could you check whether ...?", "Have you tried ...?", "I think that ...". A sentence is
known by the frame that it wears and by its order; the frames are in `english.txt` (`[speech_...]`). What a sentence
denies, hands on from others, or supposes is set aside, whatever it names.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from .acts import pattern
from .lists import word_set
from .mentions import reported
from .words import ascii_lower, base, is_verb, tokens

Mode = Literal["asks", "looks", "tries", "does", "states", "talk", "aside"]
LONGEST = 2_000
"""Characters that are read."""


class Said(NamedTuple):
    """A sentence: what it does, its words without the frame, and the clause as it is.

    `looks`: to look at something, which may be the remedy itself; `tries`: a question whether something has been done.
    """

    mode: Mode
    words: tuple[str, ...]
    clause: str = ""


_SENTENCE = re.compile(r"(?<=[.!?;:])\s+|\n+|\s+[-\u2013\u2014]+\s+")
_MARKUP = re.compile(r"<[^<>]*>|[*_#>|~`\"]+")
_PREFIX = re.compile(r"\b([a-z]|wi)-(?=[a-z]{2})")
_TURN = re.compile(r" (?:, )?but(?: (?:rather|instead|just|only))? | , (?:just|instead|rather|simply|only) ")
_ASIDE = re.compile(r"\b(?:instead of|rather than|other than|apart from|aside from|not) [^,]*?(?= ,|$)")
_CHOICE = re.compile(
    r"^(?:what|which|how|where|who|whose|why|when|since when|for how long|(?:at|in|on|by|to) (?:what|which))\b"
)
_ASKED = re.compile(
    r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|might|am)(?: not)? "
    r"(?:it|its|there|you|your|they|he|she|the|any|this|that|these|those|all|both|some|a|an|anything|everything"
    r"|someone|somebody|anyone|anybody|everyone|another|other|only|one)\b"
)
_HAVE_IT = re.compile(r"^have (?:it|them|the|your|a|an|this|that|these|those|all|both|its)\b")
"""A command rather than a question without its mark: "have it replaced"."""
_TAG = re.compile(
    r" (?:right|correct|or not|, (?:is|are|do|does|has|have|was|did)(?: not)? (?:it|you|there|they|that)(?: not)?)$"
)
_DONE = re.compile(
    r"\balready\b|^(?:so )?you (?:have |had |did )|\b(?:glad|good|happy|pleased|nice) (?:to hear |that )|\bwell done\b"
)
_LATER = re.compile(r"\b(?:later|afterwards|another time|some other day|not yet)\b")
_DENIED = frozenset(("not", "never", "neither", "nor", "nothing"))
_UNDONE = re.compile(r"^(?:not|never)\b|\b(?:do|should|must|need) not\b(?! disturb)")
_FINE = re.compile(
    r"\bworks?$|\b(?:is|are|looks?|seems?|works?|was|were)(?: \w+)? (?:level|working|fine|okay|ok|right|healthy|order"
    r"|innocent|good|well|perfect|perfectly|intact|plentiful|enough|blame)$"
)
_TOLD = re.compile(
    r"(?<!\byou )(?<!\bi )\b(?:says?|said|tells?|told|claims?|claimed|thinks|believes|heard|according|reports|wrote"
    r"|writes)\b"
)


def joined(text: str) -> str:
    """With short prefixes joined, as in "e-mail" and "wi-fi"."""
    return _PREFIX.sub(r"\1", text)


@lru_cache(maxsize=1 << 13)
def speech(said: str) -> tuple[Said, ...]:
    """The sentences of a message, in order.

    >>> said = "Thanks! It isn't the belt. Could you oil the hinge, please?"
    >>> [(mode, " ".join(words)) for mode, words, _ in speech(said)]
    [('talk', ''), ('aside', 'it is not the belt'), ('does', 'oil the hinge')]
    """
    text = joined(_MARKUP.sub(" ", ascii_lower(said[:LONGEST])))
    if reported(text):
        return (Said("aside", tuple(tokens(text)), " ".join(tokens(text))),)
    found: list[Said] = []
    for sentence in _SENTENCE.split(text):
        asks = sentence.rstrip(" \"')").endswith("?")
        for clause in _TURN.split(" ".join(tokens(sentence))):
            found.append(_said(clause.strip(" ,"), asks))
    states = [part for part in found if part.mode == "states"]
    denied = {part for part in states if not _DENIED.isdisjoint(part.words)}
    # What is not so beside what is: that is set aside.
    return tuple(p._replace(mode="aside") if p in denied and len(denied) < len(states) else p for p in found)


def _said(clause: str, asks: bool) -> Said:
    bare = _led(clause)
    polite = "please" in clause.split() or "kindly" in clause.split()
    if not bare or pattern("speech_talk", r"^(?:{0})$").match(bare):
        return Said("talk", (), clause)
    words = tuple(bare.split())
    if _set_aside(bare):
        return Said("aside", words, bare)
    tag = _TAG.search(bare)
    bare = bare[: tag.start()] if tag and asks else bare
    bare = pattern("speech_tail", r"(?<=\w)(?: ,)? {0}$").sub("", bare)
    mode, rest = _framed(bare, asks, polite)
    if mode in ("does", "states") and _unsaid(mode, rest, bare):
        mode = "aside"
    return Said(mode, tuple((_ASIDE.sub("", rest) if mode == "does" else rest).split()), bare)


def _led(text: str) -> str:
    """Without what is said before the sentence begins."""
    lead = pattern("speech_lead", r"^(?:{0})(?=[ ,]|$)[ ,]*")
    while text and (found := lead.match(text)) is not None:
        text = text[found.end() :]
    return text


def _set_aside(bare: str) -> bool:
    """Whether a sentence denies, supposes, or hands on what others say or have."""
    if pattern("speech_aside", r"^{0}").match(bare):
        return not _wonders(bare)
    first, second = (*bare.split(" ", 2), "", "")[:2]
    return first in _SOME and second in word_set("speech_others")


def _wonders(bare: str) -> bool:
    """Whether it only says that somebody does not know: "I do not know whether ..."."""
    return bool(re.match(r"(?:i|we) (?:do|can|could) not (?:know|see|tell|remember) (?:if|whether|what|how)\b", bare))


_SOME = frozenset(("a", "another", "my", "some", "many", "most", "one", "other", "our", "the"))
_FRAMES: tuple[tuple[str, Mode], ...] = (
    ("speech_ask", "asks"),
    ("speech_look", "looks"),
    ("speech_try", "tries"),
    ("speech_do", "does"),
)


def _framed(bare: str, asks: bool, polite: bool) -> tuple[Mode, str]:
    """What a sentence does, and what is left without its frame."""
    if stated := pattern("speech_state", r"^(?:{0})(?: ,)? (?=\S)").match(bare):
        mode, rest = _framed(_led(bare[stated.end() :]), False, False)
        return ("does" if mode == "does" else "states"), rest
    for name, mode in _FRAMES:
        if found := pattern(name, r"^(?:{0})(?: ,)?(?: |$)").match(bare):
            rest = _led(bare[found.end() :])
            if mode == "does":
                return _deed(rest)
            return mode, rest
    if _CHOICE.match(bare) or (_ASKED.match(bare) and (asks or not _HAVE_IT.match(bare))):
        return "asks", bare
    if _commands(bare, asks) or (polite and not asks):
        return "does", bare
    return ("asks" if asks else "states"), bare


def _deed(rest: str) -> tuple[Mode, str]:
    """What is proposed may be to look, or to tell."""
    for name, mode in _FRAMES[:2]:
        if found := pattern(name, r"^(?:{0})(?: |$)").match(rest):
            return mode, rest[found.end() :]
    return "does", rest


def _commands(bare: str, asks: bool) -> bool:
    """Whether a sentence begins with a verb, and no other can be its verb; a question, with one that is for deeds."""
    first, *rest = bare.split()
    if not (first in word_set("deeds") or (is_verb(first) and not asks)) or base(first) != first:
        return False
    return not rest or rest[0] not in word_set("aux")


def _unsaid(mode: Mode, rest: str, bare: str) -> bool:
    """Whether a proposal is denied or put off, or what is stated is in order or hearsay."""
    if mode == "does":
        return bool(_LATER.search(rest) or _UNDONE.search(rest) or _TOLD.search(rest))
    return (
        bool(_DONE.search(bare))
        or bool(_FINE.search(rest) and _DENIED.isdisjoint(rest.split()))
        or _others_say(rest)
        or _denies(rest)
    )


def _denies(rest: str) -> bool:
    return pattern("speech_aside", r"^{0}").match(rest) is not None


def _others_say(bare: str) -> bool:
    return _TOLD.search(bare) is not None
