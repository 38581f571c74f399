"""How the sentences of a support agent's message are meant: asked, suggested, stated, or ruled out.

Ours. Regular expressions over the form of a sentence, whatever it is about. Linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from .diagnosis_words import stems, words

LONGEST = 2_000
"""Characters that are read; messages of the game are shorter."""

WH = r"(?:what|which|how|where|who|whose|why|when)"
AUX = (
    r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|might"
    r"|isn't|aren't|doesn't|don't|didn't|haven't|hasn't)"
)
NEGATION = re.compile(r"\b(?:not|never|no need|cannot|nor)\b|n't\b")
TAG = re.compile(
    r",? (?:right|correct|isn't it|is it|does it|doesn't it|do you|don't you|have you|haven't you|or not|is there"
    r"|isn't there)\?$"
)
WHEN = re.compile(r"^(?:if|when|once|after|while|as soon as|with|on|over|from|before|during|in|under|at|to) [^,?]*, ")
LEAD = re.compile(
    r"^(?:(?:please|kindly|just|maybe|perhaps|now|then|so|ok|okay|and|also|first|next|good|right|great|alright|well|hm+"
    r"|all right|one more thing|if i may|just to be sure|thanks|thank you|sorry|let me see|let's see|i see|sure|hello"
    r"|hi|in that case|for a start|to start|secondly|finally|otherwise|alternatively)[,.!]?\s+)+"
)
DIAGNOSIS = re.compile(
    r"^(?:is|could|might|may|can) (?:the|your|this) (?:whole |actual |real )?"
    r"(?:problem|cause|issue|reason|culprit|fault) (?:be |is |that )?"
)
ABOUT = re.compile(r"^(?:me|us|to|more|about|of|regarding|concerning)\b|\bknow (?:more )?about\b|^next i would\b")
"""What is left of a question that was cut off."""
FINE = re.compile(r"\b(?:enough|(?<!too )fine|all right|in order|okay|ok)\b")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\s+[-\u2013\u2014]+\s+|:\s+")
_YOU = re.compile(
    r"(?:could|can|would|will|might) you (?:(?:please|kindly|just|maybe|perhaps|also|now|then|try to|once) )*(\w+)"
)
_TELL = re.compile(
    rf"\b(?:tell (?:me|us)|let (?:me|us) know) (?:if|whether|about|more|something|a bit|{WH})\b"
    r"|\b(?:check|see|confirm|verify|test|try|find out|know|wondering|wonder|sure|look) (?:if|whether)\b"
    r"|\b(?:like|want|need|help me|may i|can i|could i) (?:to )?(?:know|ask|hear|learn)\b|\bsay (?:a|some)\b"
    r"|\bhappen to know\b|\bi wonder\b|\bcan you (?:see|hear|feel|smell|remember)\b"
)
_OURS = r"(?:technician|engineer|workshop|shop|fitter|plumber|electrician|service|specialist|dealer|organiser)s?"
_SUGGEST = re.compile(
    r"\byou (?:should|could|can|may|might|need to|have to|must|want to|had better|ought to)\b"
    r"|\b(?:would you like|do you want) (?:me |us )?to\b|\bwould you mind\b|\bif you agree\b"
    r"|^(?:why don't|why not|what if we)\b|\b(?:should|ought to|must|need a|need to)\b"
    r"|^(?:shall|should|may|can|could|let) (?:i|we|me|us) |^let's\b"
    r"|\b(?:i|we)(?:'ll| will| can| could| would|'d)(?! like to (?:know|ask)) "
    r"|\b(?:i|we) (?:suggest|recommend|advise|propose)\b|\bmy (?:advice|suggestion|recommendation) is\b"
    r"|\bstep is to\b|\btime to\b|\brecommend\b|^try \w+ing\b|^try to\b"
    rf"|\b{_OURS} (?:should|will|can|could|must|has to|just|needs to)\b"
)
_VERB_FIRST = re.compile(
    r"^(?!(?:(?:al)?most|all|half|both|only|perhaps|maybe|with|without|in|on|at|by|from|of|to|for|not|like|this|that"
    r"|there|here|so|then|now|and|but|or|if|as|probably|just|it)\b)[a-z]+ (?:the|your|its|both|all|a|an) "
    r"(?!.*\b(?:is|are|was|were|has|have|had|does|do|did|seems?|must|may|might|could|can|isn't|aren't|gets?|got)\b)"
)
"""A command by a verb that is not known: it begins with it, and no other may be the verb."""
_POLITE = re.compile(r"\b(?:please|kindly)\b")
_TRIED = re.compile(
    r"have you (?:already |ever )?(?:tried|considered|thought (?:about|of))\b|(?:how about|what if you)\b"
)
_ASKS = re.compile(rf"(?:{AUX}|{WH}) |(?:at|in|on|by|for|since|to|from) (?:what|which|how|when|where)\b")
_INVERTED = re.compile(rf"(?:{WH} (?:(?!you|it|there)\w+ )?)?{AUX} (?:it|there|you|your|the|any|this|that)\b")
_RULED_OUT = re.compile(
    r"^(?:don't|do not|never|no need|forget|ignore|skip|apart from|aside from|besides|disregard"
    r"|not (?:the|your|a|about)\b|(?:it|that|this|there|what)(?:'s| is| was| has| does)? (?:not|no)\b"
    r"|(?:it|that|this|there) \w+n't\b|i(?:'m| am) not|i (?:don't|do not|didn't)"
    r"|you (?:don't|do not|needn't|haven't)|we (?:don't|do not)|leave the \w+[.]?$|leave (?:that|it)\b)"
)
_HEAD = re.compile(rf"(?:^|, |\band |, and )(?:{WH}|{AUX} (?:you|the|it|there|your))\b")
_WAIT = re.compile(
    r"(?:(?:could|can|would) you )?(?:please )?(?:wait|hold on|hang on|bear with me|hold the line|(?:just )?(?:a|one))"
    r"(?: (?:for )?(?:just )?(?:a|one)? ?(?:moment|minute|second|sec|bit|little))?(?:,? please)?"
    r"(?:,? while i [^.?!]*)?[.!?]?$"
)
_OWNED = re.compile(r"\b(?:for )?how long have you (?:had|owned|been using)\b")
_FILLER = re.compile(
    r",? (?:at the moment|at present|right now|these days|of late|by any chance|by chance|for (?:instance|example)"
    r"|if you don't mind|if possible)(?=[.,!?]|$)"
)
_PERSONAL = re.compile(
    r"(?:how|how old|where|who) are you(?: doing| from| today)?\?|(?:can|do) you (?:hear|see|understand) me\b"
    r"|what(?:'s| is) your (?:full |last )?name\b|what have you tried\b"
)
_LOOKING = frozenset(("check", "look", "test", "examine", "inspect", "verify", "see", "compare", "find", "share"))
_NOT_DOING = re.compile(r"\b(?:yet|now|don't|do not|never)\b")


class Part(NamedTuple):
    """A sentence: its text, and how it is meant.

    `ask`: a question; `either`: an instruction to look, which may be the whole fix; `try`: a suggestion in the form of
    a question; `suggest`; `state`; `talk`: a courtesy; `out`: it rules something out, or is about persons.
    """

    form: str
    text: str


def plain(said: str) -> str:
    """Lower case, ASCII, one kind of apostrophe, one blank between words."""
    text = said[:LONGEST].replace("\u2019", "'").replace("`", "'").lower()
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text.replace("\u2013", "-").replace("\u2014", " - "))
        text = "".join(c for c in text if not unicodedata.combining(c))
    return _OWNED.sub("how old is", _FILLER.sub("", " ".join(text.split())))


def parts(text: str) -> list[Part]:
    """The sentences that say something, without clauses and sentences that rule something out."""
    kept: list[Part] = []
    pieces = [s for s in _SENTENCE.split(text) if s.strip()]
    for i, piece in enumerate(pieces):
        sentence = LEAD.sub("", piece.strip())
        polite = bool(_POLITE.search(piece))
        form = _form(sentence, polite)
        if _RULED_OUT.search(sentence) and " because " not in sentence:
            rest = sentence.partition(", ")[2]
            if TAG.search(sentence):
                form = "ask" if i == len(pieces) - 1 else "out"
            elif stems(rest):
                sentence = LEAD.sub("", rest)
                form = _form(sentence, polite)
            else:
                form = "out"
        elif form in ("suggest", "state") and NEGATION.search(sentence):
            form = _denied(form, sentence)
        kept.append(Part(form, sentence))
    return kept


def _denied(form: str, sentence: str) -> str:
    """A suggestion not to do something is none; a diagnosis may say what does not work."""
    return "out" if form == "suggest" and _NOT_DOING.search(sentence) else form


def _form(sentence: str, polite: bool) -> str:
    """How a sentence is meant."""
    bare = LEAD.sub("", WHEN.sub("", sentence))
    if _WAIT.match(bare):
        return "talk"
    if _PERSONAL.match(bare):
        return "out"
    if DIAGNOSIS.search(bare):
        return "state"
    if _TELL.search(sentence):
        return "ask"
    known, question = words(), bare.endswith("?")
    first = bare.split(" ", 1)[0].strip(",.!?")
    if you := _YOU.match(bare):
        return "try" if you[1] not in known.ask else "either" if you[1] in _LOOKING else "ask"
    if _TRIED.match(bare):
        return "try"
    if question and _ASKS.match(bare) and not _SUGGEST.match(bare):
        return "ask"
    if first in known.ask:
        return "either" if first in _LOOKING else "ask"
    if polite or first in known.act or _SUGGEST.search(bare) or (not question and _VERB_FIRST.match(bare)):
        return "suggest"
    return "ask" if question or _INVERTED.match(bare) else "state"


def heads(asked: Sequence[Part]) -> int:
    """How many questions there are, by the words that begin one."""
    return sum(len(_HEAD.findall(p.text)) for p in asked)
