"""How the sentences of a support agent's message are meant: asked, suggested, stated, or ruled out.

Ours. Regular expressions over the form of a sentence, whatever it is about. Linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from sonde.people.language.letters import apostrophes, unaccented

from .forms import AS_IT_SHOULD, AUX, DENIAL, DIAGNOSIS, LEAD, NEGATION, TAG, WH, WHEN, either, one_of
from .vocabulary import stems, words

LONGEST = 2_000
"""Characters that are read; messages of the game are shorter."""
_IN_ORDER = re.compile(
    r"\b(?:is|are|looks?|seems?|works?|was) (?:\w+ )?(?:fine|okay|ok|all right|healthy|in order|innocent|plentiful"
    r"|perfect"
    r"|perfectly|intact|right|well|good|enough|great)\b|\benough$|\b(?:where|as|how|like|what) (?:it|they) should\b"
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\s+[-\u2013\u2014]+\s+|(?<=:)\s+")
_THEN_ASKS = re.compile(
    r", (?:and |then )*(?=(?:what (?:happens|does|do|is|are)|does (?:it|the)|do (?:you|they|the)|is (?:it|there|the)"
    r"|are (?:they|there|the)|how (?:does|is|many|much|high)) [^,]*\?$|what happens\?$)"
)
"""Before a question about what comes of an instruction."""
_IMAGINE = re.compile(
    r"(?:^|(?<=[.!?;] ))(?:suppose|supposing|imagine|assuming|let's say|say)(?: that)? ([^,:;?.!]*)[:;,.] "
)
"""A condition in other words."""
_YOU = re.compile(
    r"(?:could|can|would|will|might) you (?:(?:please|kindly|just|maybe|perhaps|also|now|then|try to|once) )*(\w+)"
)
_TELL = either(
    rf"\b(?:tell (?:me|us)|let (?:me|us) know) (?:if|whether|about|more|something|a bit|{WH})\b",
    r"\b(?:check|see|confirm|verify|test|try|find out|know|wondering|wonder|sure|look) (?:if|whether)\b",
    rf"\b(?:check|see|look|find out) {WH}\b",
    r"\b(?:like|want|need|help me|may i|can i|could i) (?:to )?(?:know|ask|hear|learn)\b",
    r"\bsay (?:a|some)\b",
    r"\bwalk (?:me|us)\b",
    r"\bhappen to know\b",
    r"\bi wonder\b",
    r"\bcan you (?:see|hear|feel|smell|remember)\b",
)
_OURS = r"(?:technician|engineer|workshop|shop|fitter|plumber|electrician|service|specialist|dealer|organiser)s?"
_SUGGEST = either(
    r"\byou (?:should|could|can|may|might|need to|have to|must|want to|had better|ought to)\b",
    r"\b(?:would you like|do you want) (?:me |us )?to\b",
    r"\bwould you mind\b",
    r"\bif you agree\b",
    r"^(?:why don't|why not|what if we)\b",
    r"(?<!\bthere )\b(?:should|ought to|must|need a|need to)\b",
    "^(?:shall|should|may|can|could|let) (?:i|we|me|us) ",
    r"^let's\b",
    r"\b(?:i|we)(?:'ll| will| can| could| would|'d)(?! like to (?:know|ask)) ",
    r"\b(?:i|we) (?:suggest|recommend|advise|propose)\b",
    r"\bmy (?:advice|suggestion|recommendation) is\b",
    r"\bstep is to\b",
    r"\btime to\b",
    r"\brecommend\b",
    r"^try \w+ing\b",
    r"^try to\b",
    rf"\b{_OURS} (?:should|will|can|could|must|has to|just|needs to)\b",
)
_AS_IT_SHOULD_BE = re.compile(r"\b(?:where|as|how|like|what|when|than) (?:it|they|that|everything) should\b")
_VERB_FIRST = re.compile(
    "^(?!"
    + one_of(
        "(?:al)?most",
        "all|half|both|only|perhaps|maybe|with|without|in|on|at|by|from|of|to|for|not|like|this|that",
        "there|here|so|then|now|and|but|or|if|as|probably|just|it",
    )
    + r"\b)[a-z]+ (?:the|your|its|both|all|a|an|another|some|any) (?!(?:(?!\b"
    + one_of("until|so|before|while|if|when|after|because")
    + r"\b).)*\b"
    + one_of(
        "is|are|was|were|has|have|had|does|do|did",
        "seems?",
        "must|may|might|could|can|isn't|aren't",
        "gets?",
        "got",
    )
    + r"\b)"
)
"""A command by a verb that is not known: it begins with it, and no other may be the verb."""
_POLITE = re.compile(r"\b(?:please|kindly)\b")
_TRIED = re.compile(
    r"have you (?:already |ever )?(?:tried|considered|thought (?:about|of))\b|did you (?:already |ever )?try\b"
    r"|(?:how about|what if you|what about (?:a|an|another|some|using|trying))\b"
)
_ASKS = re.compile(rf"(?:{AUX}|{WH}) |(?:at|in|on|by|for|since|to|from) (?:what|which|how|when|where)\b")
_INVERTED = re.compile(
    rf"(?:{WH} (?:(?!you|it|there)\w+ )?)?{AUX}"
    r" (?:it|its|there|you|your|they|he|she|the|any|this|that|these|those|all|both|some)\b"
)
_ASKS_LATER = re.compile(
    r"(?:what|how) about (?:the|your|its)\b"
    rf"|[^?]*, {WH} (?:(?:colou?r|letter|number|kind|word)s? )?{AUX} (?:it|you|they|that)\b"
)
"""A question without its mark that names its thing first: "The slider, what does it show"."""
_ASKED_OF_YOU = re.compile(r"(?:have|has|had|do|does|did) (?:you|it|they)\b(?! should)")
"""A question without its mark, although it begins as a command may ("have it replaced" apart)."""
_PERHAPS = re.compile(r"(?:(?:it|that|this) )?(?:might|may|could|can|must) be (?:the|your|a|an|its) [^?]*$")
_AND_SEE = re.compile(
    r"(?:,? (?:and|to)) (?:then )?(?:see|check|tell (?:me|us)|let (?:me|us) know) (?:if|whether) (?:it|that|this)\b"
)
"""After what is to be done: what for."""
_REPORT = re.compile(r"\band (?:then )?(?:describe|tell (?:me|us)|let (?:me|us) know|report)\b")
"""An instruction of which the result is asked for."""
_RULED_OUT = re.compile(
    "^"
    + one_of(
        "don't",
        "do not",
        "never",
        "no need",
        "forget|ignore|skip",
        "apart from",
        "aside from",
        "besides|disregard",
        r"not (?:the|your|a|about)\b",
        r"(?:it|that|this|there|what)(?:'s| is| was| has| does)? (?:not|no)\b",
        r"(?:it|that|this|there) \w+n't\b",
        "i(?:'m| am) not",
        "i (?:don't|do not|didn't)",
        "you (?:don't|do not|need not|needn't|must not|mustn't|haven't)",
        "we (?:don't|do not)",
        r"leave the \w+[.]?$",
        r"leave (?:that|it)\b",
    )
)
_HEAD = re.compile(rf"(?:^|, |\band |, and )(?:{WH}|{AUX} (?:you|the|it|there|your))\b")
_WAIT = re.compile(
    r"(?:(?:could|can|would) you )?(?:please )?(?:wait|hold on|hang on|bear with me|hold the line|(?:just )?(?:a|one))"
    r"(?: (?:for )?(?:just )?(?:a|one)? ?(?:moment|minute|second|sec|bit|little))?(?:,? please)?"
    r"(?:,? while i [^.?!]*)?[.!?]?$"
)
_OWNED = re.compile(r"\b(?:for )?how long have you (?:had|owned|been using)\b")
_FILLER = re.compile(
    ",? "
    + one_of(
        "(?:every|each|this|last|any|next|one more|one|most of the|all the) time",
        "at the moment",
        "at present",
        "right now",
        "these days",
        "of late",
        "by any chance",
        "by chance",
        "for (?:instance|example)",
        "if you don't mind",
        "if possible",
        "if you like",
        "if i may",
        "at (?:some|any) (?:point|time)",
        "by now",
        "so far",
        "from now on",
        "for a (?:bit|while|moment|minute|second)",
        "to be (?:safe|sure|on the safe side)",
        "over there",
        "on your end",
    )
    + "(?=[.,!?;]|$)"
)
_SEEMS = re.compile(
    r"\b(?:(?:to|for) me )?(?:it|that) (?:sounds|looks|seems|appears|would seem)(?: to me)? (?:as if|as though|like"
    r"|that)\b"
    r"|\bi(?:'m| am) afraid(?: that)?\b|\bif (?:it|that)(?:'s| is) (?:fine|okay|ok|all right) (?:by|with|for) you,?"
    r"|\b(?:it|that) (?:sounds|looks|seems|appears) to me\b|(?<=what) (?:sort|kind) of\b"
)
_SEEM_WORDS = ("sound", "look", "seem", "appear", "afraid", " with you", " by you", " for you", "what ")
"""Without one of these there is nothing for `_SEEMS`, which costs time."""
_WOULD_YOU = re.compile(r", (?:would|will|could|can) you(?: please)?\?$|\b(?:have|give it|give) a (?:go|try)\b")
_PERSONAL = either(
    r"(?:how|how old|where|who) are you(?: doing| from| today)?\?",
    "are you (?:(?:still|at|right) )?"
    + one_of("home|alone|online|happy|angry|there|ready|busy|sure|okay|ok|well")
    + r"\b",
    r"how (?:is|are) your \w+(?: today)?\?",
    r"did you (?:sleep|eat|rest)\b",
    r"(?:can|do) you (?:hear|see|understand) me\b",
    r"what(?:'s| is) your (?:full |last )?name\b",
    r"what have you tried\b",
)
_LOOKING = frozenset(("check", "look", "test", "examine", "inspect", "verify", "see", "compare", "find", "share"))
_NOT_DOING = re.compile(r"\b(?:yet|now|don't|do not(?! disturb)|never)\b")


class Part(NamedTuple):
    """A sentence: its text, and how it is meant.

    `ask`: a question; `either`: an instruction to look, which may be the whole fix; `try`: a suggestion in the form of
    a question; `suggest`; `state`; `talk`: a courtesy; `out`: it rules something out, or is about persons.
    """

    form: str
    text: str


def plain(said: str) -> str:
    """Lower case, ASCII, one kind of apostrophe, one blank between words."""
    text = said[:LONGEST].replace("\u2013", "-").replace("\u2014", " - ")
    text = apostrophes(unaccented(text).lower())
    text = _IMAGINE.sub(r"if \1, ", _FILLER.sub("", " ".join(text.split())))
    if any(word in text for word in _SEEM_WORDS):
        text = _SEEMS.sub("", text)
    return _OWNED.sub("how old is", text) if "how long" in text else text


def parts(text: str) -> list[Part]:
    """The sentences that say something, without clauses and sentences that rule something out."""
    kept: list[Part] = []
    pieces = [p for s in _SENTENCE.split(text) if s.strip() for p in _steps(s)]
    for i, piece in enumerate(pieces):
        sentence = _ASIDE_FIRST.sub("", LEAD.sub("", piece.strip()))
        polite = bool(_POLITE.search(piece))
        form = _form(sentence, polite)
        if _RULED_OUT.search(sentence) and " because " not in sentence:
            rest = sentence.partition(", ")[2]
            if TAG.search(sentence):
                form = "ask" if i == len(pieces) - 1 else "out"
            elif stems(rest) and not rest.startswith(("which ", "who ")) and not _goes_on(sentence):
                sentence = LEAD.sub("", rest)
                form = _form(sentence, polite)
            else:
                form = "out"
        elif form in ("suggest", "state") and NEGATION.search(sentence):
            form = _denied(form, sentence)
        kept.append(Part(form, sentence))
    return [_cleared(kept, i) for i in range(len(kept))]


_ASIDE_FIRST = re.compile(
    r"^(?:(?:leaving|setting|putting) [^,]+ aside|[a-z' ]{3,30} aside|(?:apart|aside) from [^,]+"
    r"|(?:rather|other) than [^,]+|instead of [^,]+), "
)
"""What is set aside before the sentence begins."""


def _goes_on(sentence: str) -> bool:
    """Whether what follows the comma is ruled out as well: "Don't unplug it, lift the cap off and clean it."."""
    head, _, rest = sentence.partition(", ")
    return bool(stems(head)) and not _ANEW.match(rest)


_ANEW = re.compile(
    r"(?:but|just|simply|instead|rather|only|please|the|your|it|it's|i|i'd|i'll|we|you|there|that's|something"
    r"|somebody|one"
    rf"|{WH}|{AUX}|tell|check|look|now|then|and)\b"
)


_SPLICED = re.compile(r", (?:but |and )?(?=(?:the|your|it's|it is|there's|there is) )")
"""Between what is in order and what is not: "The seal is fine, the float is set too high."."""


def _steps(sentence: str) -> list[str]:
    """An instruction, and the question what comes of it; other sentences as they are."""
    pieces = _THEN_ASKS.split(sentence, maxsplit=1)
    bare = LEAD.sub("", pieces[0])
    if len(pieces) == 1 and not sentence.endswith("?") and len(clauses := _SPLICED.split(sentence, maxsplit=1)) > 1:
        return clauses if _IN_ORDER.search(clauses[0]) and not DENIAL.search(clauses[0]) else [sentence]
    told = len(pieces) > 1 and (bare.split(" ", 1)[0] in words().act | words().ask or _YOU.match(bare))
    return pieces if told else [sentence]


def _cleared(kept: Sequence[Part], i: int) -> Part:
    """A sentence that says what is in order, or not the matter, before one that says what is: that rules it out."""
    part = kept[i]
    if part.form != "state" or not any(p.form in ("state", "suggest") for p in kept[i + 1 :]):
        return part
    if any(p.form in ("ask", "either") for p in kept):
        return part
    no = DENIAL.search(part.text)
    well = not AS_IT_SHOULD.search(part.text, no.end()) if no else bool(_IN_ORDER.search(part.text))
    return Part("out", part.text) if well else part


def _denied(form: str, sentence: str) -> str:
    """A suggestion not to do something is none; a diagnosis may say what does not work."""
    return "out" if form == "suggest" and _NOT_DOING.search(sentence) else form


def _form(sentence: str, polite: bool) -> str:
    """How a sentence is meant."""
    bare = LEAD.sub("", WHEN.sub("", sentence))
    return _set_form(sentence, bare, polite) or _own_form(bare, polite)


def _set_form(sentence: str, bare: str, polite: bool) -> str:
    """How a sentence is meant that has one of the set phrases; empty if none."""
    if _WAIT.match(bare):
        return "talk"
    if _PERSONAL.match(bare):
        return "out"
    if DIAGNOSIS.search(bare) or _PERHAPS.match(bare):
        return "state"
    if _WOULD_YOU.search(bare) and not _ASKS.match(bare.removeprefix("have a ")):
        return "suggest"
    if (tail := _AND_SEE.search(bare)) and _form(bare[: tail.start()], polite) in ("suggest", "try"):
        return "try"
    if _TELL.search(sentence) or _REPORT.search(sentence):
        return "ask"
    return _of_you(bare)


def _of_you(bare: str) -> str:
    """How a sentence that begins with "could you" or "have you tried" is meant; empty if it does not."""
    if you := _YOU.match(bare):
        if you[1] in words().ask:
            return "either" if you[1] in _LOOKING else "ask"
        return "try" if bare.startswith("can ") or " try " in bare else "suggest"  # "can you print?" may ask
    return "try" if _TRIED.match(bare) else ""


def _own_form(bare: str, polite: bool) -> str:
    """How a sentence without a set phrase is meant, by its verb and its order."""
    known, question = words(), bare.endswith("?")
    first = bare.split(" ", 1)[0].strip(",.!?")
    if question and _ASKS.match(bare) and not _SUGGEST.match(bare):
        return "ask"
    if _ASKS_LATER.match(bare):
        return "ask"
    if _ASKED_OF_YOU.match(bare) and not bare.startswith("have it "):
        return "ask"
    if first in known.ask:
        return "either" if first in _LOOKING else "ask"
    if (
        polite
        or first in known.act
        or _SUGGEST.search(_AS_IT_SHOULD_BE.sub("", bare))
        or (not question and _VERB_FIRST.match(bare))
    ):
        return "suggest"
    return "ask" if question or _INVERTED.match(bare) else "state"


def heads(asked: Sequence[Part]) -> int:
    """How many questions there are, by the words that begin one."""
    return sum(len(_HEAD.findall(p.text)) for p in asked)
