"""Classify the sentences of an adviser: questions, instructions, diagnoses, small talk, and sentences that do not
count.

Own design. An adviser says "Could you check whether ...?", "Have you tried ...?", "I think that ...". The frame of a
sentence and its word order decide its class; the frames are in `english.txt` (`[speech_...]`). A sentence that denies,
reports or supposes something does not count, whatever it names.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from .acts import is_reported, list_pattern, opens_preamble
from .lists import word_set
from .words import ascii_lower, base_form, is_verb, split_sentences, tokenize

Mode = Literal["asks", "looks", "tries", "does", "states", "talk", "aside"]
LONGEST = 2_000
"""Maximum characters of a message."""


class SaidSentence(NamedTuple):
    """A sentence: its class (`mode`), its words without the frame, and the whole clause.

    `looks`: it asks to look at something, which may be the remedy itself; `tries`: it asks whether something has been
    done. `framed`: its frame says, in any words, that it states what is wrong or what to do ("I think that ...", "you
    should ...").
    """

    mode: Mode
    words: tuple[str, ...]
    clause: str = ""
    framed: bool = False


_SENTENCE = re.compile(r"(?<=[.!?;:])\s+|\n+|\s+[-\u2013\u2014]+\s+")
_MARKUP = re.compile(r"<[^<>]*>|[*_#>|~`\"]+")
_PREFIX = re.compile(r"\b([a-z]|wi)-(?=[a-z]{2})")
_TURN = re.compile(r" (?:, )?but(?: (?:rather|instead|just|only))? | , (?:just|instead|rather|simply|only) ")
_BUT = re.compile(r"\b(?:anything|everything|all) but\b")
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
"""A command, not a question without its mark: "have it replaced"."""
_TAG = re.compile(
    r" (?:right|correct|or not|, (?:is|are|do|does|has|have|was|did)(?: not)? (?:it|you|there|they|that)(?: not)?)$"
)
_DONE = re.compile(
    r"\balready\b|^(?:so )?you (?:have |had |did )|\b(?:glad|good|happy|pleased|nice) (?:to hear |that )|\bwell done\b"
)
_BACK = re.compile(
    r"\bopposite of\b|\b(?:forget|ignore|disregard) (?:that|this|it|what|all|everything)\b"
    r"|^(?:that|this|all that) was\b"
    r"|\b(?:take|took) (?:that|this|all that) back\b"
)
"""Sentences that retract what was said before."""
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


def join_prefixes(text: str) -> str:
    """Join short prefixes, as in "e-mail" and "wi-fi"."""
    return _PREFIX.sub(r"\1", text)


@lru_cache(maxsize=1 << 13)
def read_speech(said: str) -> tuple[SaidSentence, ...]:
    """The sentences of a message, in order.

    >>> said = "Thanks! It isn't the belt. Could you oil the hinge, please?"
    >>> [(part.mode, " ".join(part.words)) for part in read_speech(said)]
    [('talk', ''), ('aside', 'it is not the belt'), ('does', 'oil the hinge')]
    >>> [part.mode for part in read_speech("Oil the hinge. But do not do that.")]
    ['aside', 'aside']
    """
    text = _BUT.sub("not", join_prefixes(_MARKUP.sub(" ", ascii_lower(said[:LONGEST]))))
    if is_reported(text):
        return (SaidSentence("aside", tuple(tokenize(text)), " ".join(tokenize(text))),)
    found: list[SaidSentence] = []
    against = False
    for sentence in split_sentences(text):
        asks, leads = sentence.rstrip(" \"')").endswith("?"), sentence.rstrip().endswith(":")
        for clause in _TURN.split(" ".join(tokenize(sentence))):
            part = _read_sentence(clause.strip(" ,"), asks)
            found.append(_set_proposal_aside(part) if against else part)
        if leads:
            against = against or _speaks_against(found[-1])
            found[-1] = found[-1]._replace(mode="talk") if _is_label(found[-1]) else found[-1]
    last = max((i for i, part in enumerate(found) if takes_back(part.clause)), default=0)
    found = [_set_proposal_aside(p) if i <= last > 0 else p for i, p in enumerate(found)]
    states = [part for part in found if part.mode == "states"]
    denied = {part for part in states if not _DENIED.isdisjoint(part.words)}
    # A denial next to an assertion ("not the belt, but ...") is set aside.
    return tuple(p._replace(mode="aside") if p in denied and len(denied) < len(states) else p for p in found)


def _speaks_against(part: SaidSentence) -> bool:
    """Whether the words before a colon deny, suppose or report what follows it: "avoid this:"."""
    held = part.clause.split()
    if part.mode == "talk" or not held:
        return False
    denies = word_set("name_denying") | word_set("speech_against")
    forward = held[-1] in _FORWARD or is_verb(base_form(held[-1])) or held[-1] in word_set("name_denying")
    return (
        (forward and not denies.isdisjoint(held))
        or _is_about_others(part.clause)
        or bool(_SUPPOSES.search(part.clause))
    )


_SUPPOSES = re.compile(r"\b(?:if|unless|suppose|supposing|imagine)\b(?! (?:so|possible|i may|you ask)\b)")


_FORWARD = frozenset(("this", "these", "that", "following", "advice", "things"))
"""Words that refer to what follows."""


def _is_label(part: SaidSentence) -> bool:
    """Whether the words before a colon only announce what follows, as in "my diagnosis:"."""
    held = part.clause.split()
    return part.mode == "states" and len(held) <= 3 and word_set("aux").isdisjoint(held)


def _set_proposal_aside(part: SaidSentence) -> SaidSentence:
    """Set a proposal aside; questions stay."""
    return part._replace(mode="aside", framed=False) if part.mode in ("does", "states", "aside") else part


def takes_back(clause: str) -> bool:
    """Whether a sentence says that the previous one does not hold.

    >>> [takes_back(c) for c in ("certainly not", "that was a joke", "that would not help", "do not use soap")]
    [True, True, True, False]
    """
    held = clause.replace(",", " ").split()
    if _BACK.search(clause):
        return True
    plain = not _DENIED.isdisjoint(held) and held[0] != "if" and "sure" not in held and "certain" not in held
    return plain and all(w in _closed_words() for w in held)


@cache
def _closed_words() -> frozenset[str]:
    """Words that name nothing that could be wrong or be done."""
    lists = ("name_frame", "empty", "fillers", "adverbs", "name_denying", "speech_against", "name_back")
    return frozenset[str]().union(*map(word_set, lists)) | {
        "help",
        "helps",
        "work",
        "works",
        "second",
        "which",
        "all",
        "though",
    }


def _read_sentence(clause: str, asks: bool) -> SaidSentence:
    bare = _strip_lead(clause)
    polite = "please" in clause.split() or "kindly" in clause.split()
    if not bare or list_pattern("speech_talk", r"^(?:{0})$").match(bare):
        return SaidSentence("talk", (), clause)
    words = tuple(bare.split())
    if _is_set_aside(bare):
        return SaidSentence("aside", words, bare)
    tag = _TAG.search(bare)
    bare = bare[: tag.start()] if tag and asks else bare
    bare = list_pattern("speech_tail", r"(?<=\w)(?: ,)? {0}$").sub("", bare)
    mode, rest = _read_frame(bare, asks, polite)
    unsaid = mode in ("does", "states") and _is_unsaid(mode, rest, bare)
    framed = unsaid or (mode in ("does", "states") and rest != bare)
    words = tuple((_ASIDE.sub("", rest) if mode == "does" and not unsaid else rest).split())
    return SaidSentence("aside" if unsaid else mode, words, bare, framed)


def _strip_lead(text: str) -> str:
    """Drop a sentence's lead-in."""
    lead = list_pattern("speech_lead", r"^(?:{0})(?=[ ,]|$)[ ,]*")
    while text and (found := lead.match(text)) is not None:
        text = text[found.end() :]
    return _strip_preamble(text)


def _strip_preamble(text: str) -> str:
    """The statement or proposal after "based on what you told me, ..."; conditions are not preambles."""
    if not opens_preamble(text.partition(" ")[0]):
        return text
    before, comma, rest = text.partition(" , ")
    if not comma or _is_about_others(before):
        return text
    frames = (list_pattern(name, r"^(?:{0})(?: ,)? (?=\S)") for name in ("speech_state", "speech_do"))
    return rest if any(frame.match(rest) for frame in frames) else text


def _is_set_aside(bare: str) -> bool:
    """Whether a sentence denies, supposes, or reports what others say or have."""
    if list_pattern("speech_aside", r"^{0}").match(bare):
        return not _is_wondering(bare)
    first, second = (*bare.split(" ", 2), "", "")[:2]
    return first in _SOME and second in word_set("speech_others")


_CONDITION = re.compile(
    r"(?:if|unless|in case)\b(?! (?:so|possible|i|you (?:ask|tell|give|show|send|can|could|like|want|do not mind))\b)"
    r"[^,]* , "
)
_NO_CASE = re.compile(r"(?:under|by|on|in|at) no \w+ ")


@cache
def _warning_pattern() -> re.Pattern[str]:
    """As in "it would be wrong to", "I advise against"."""
    words = "|".join(sorted(word_set("speech_against")))
    return re.compile(
        rf"^(?:{words})\b|^(?:it|that|this) (?:is|was|will be|would be|may be|might be|could be)(?: \w+)?(?: \w+)?"
        rf" (?:{words})(?: \w+)? (?:to|that|if)\b|\b(?:advis|recommend|warn|decid)\w* against\b"
    )


def _is_about_others(bare: str) -> bool:
    """Whether the sentence speaks of somebody else, or of another time, before it says anything about the case at
    hand."""
    words = bare.split()[:6]
    if words[:1] and (words[0] == "others" or words[:2] == ["somebody", "else"] or words[:2] == ["someone", "else"]):
        return True
    others = word_set("speech_others")
    return any(a in _SOME and b in others for a, b in pairwise(words)) or any(
        a in _SOME and b in _OTHER and c in others | _TIMES
        for a, b, c in zip(words, words[1:], words[2:], strict=False)
    )


def _is_wondering(bare: str) -> bool:
    """Whether it only says that somebody does not know: "I do not know whether ..."."""
    return bool(re.match(r"(?:i|we) (?:do|can|could) not (?:know|see|tell|remember) (?:if|whether|what|how)\b", bare))


def _is_others_finding(bare: str) -> bool:
    """As in "a customer found that ..."."""
    words, others = bare.split(), word_set("speech_others")
    return any(a in _SOME and b in others and c == "that" for a, b, c in zip(words, words[1:], words[3:], strict=False))


_SOME = frozenset(("a", "another", "my", "some", "many", "most", "one", "other", "our", "the"))
_OTHER = frozenset(("last", "previous", "other", "earlier", "former"))
_TIMES = frozenset(("case", "call", "time", "game"))
_FRAMES: tuple[tuple[str, Mode], ...] = (
    ("speech_ask", "asks"),
    ("speech_look", "looks"),
    ("speech_try", "tries"),
    ("speech_do", "does"),
)


def _read_frame(bare: str, asks: bool, polite: bool) -> tuple[Mode, str]:
    """Classify a sentence and return its words without the frame."""
    bare = _undo_inversion(bare)
    if stated := list_pattern("speech_state", r"^(?:{0})(?: ,)? (?=\S)").match(bare):
        mode, rest = _read_frame(_strip_lead(bare[stated.end() :]), False, False)
        return ("does" if mode == "does" else "states"), rest
    for name, mode in _FRAMES:
        if found := list_pattern(name, r"^(?:{0})(?: ,)?(?: |$)").match(bare):
            rest = _strip_lead(bare[found.end() :])
            if mode == "does":
                return _read_deed(rest)
            return ("asks" if _asks_about_notice(bare, rest) else mode), rest
    if _CHOICE.match(bare) or (_ASKED.match(bare) and (asks or not _HAVE_IT.match(bare))):
        return "asks", bare
    if _is_command(bare, asks) or (polite and not asks):
        return "does", bare
    return ("asks" if asks else "states"), bare


def _asks_about_notice(bare: str, rest: str) -> bool:
    """Whether it asks if something has been noticed, as in "have you seen that ..."."""
    return rest.startswith("that ") and bare.partition(" ")[0] in ("have", "had", "did", "do")


def _undo_inversion(bare: str) -> str:
    """Undo inversions: "is it that ..." and "what is wrong is that ..." become "it is that ...", "what helps is to"
    becomes "you should".

    >>> _undo_inversion("is it that it is dirty"), _undo_inversion("what i would do is to clean it")
    ('it is that it is dirty', 'you should clean it')
    """
    if (deed := _WHAT_IS_TO.match(bare)) is not None:
        return f"you should {bare[deed.end() :]}"
    found = _IS_IT_THAT.match(bare) or _WHAT_IS.match(bare)
    return f"it is that {bare[found.end() :]}" if found else bare


_IS_IT_THAT = re.compile(r"(?:is|was) (?:it|this|that) (?:perhaps |maybe |just |\w+ly )*that (?=\w)")
_CLEFT = r"(?!else\b|about\b)(?:(?!\bnot\b)[^,]){1,60}?"
_WHAT_IS = re.compile(rf"(?:what|the|my|our) {_CLEFT} (?:is|(?:must|may|might|could) be) (?:\w+ )?that (?!of\b)(?=\w)")
_WHAT_IS_TO = re.compile(rf"what {_CLEFT} (?:is|would be) to (?=\w)")


def _read_deed(rest: str) -> tuple[Mode, str]:
    """Classify a proposal, which may be to look at something or to tell something."""
    for name, mode in _FRAMES[:2]:
        if found := list_pattern(name, r"^(?:{0})(?: |$)").match(rest):
            return mode, rest[found.end() :]
    return "does", rest


def _is_command(bare: str, asks: bool) -> bool:
    """Whether a sentence begins with its only possible main verb; for a question, with a verb of action."""
    first, *rest = bare.split()
    if not (first in word_set("deeds") or (is_verb(first) and not asks)) or base_form(first) != first:
        return False
    return not rest or rest[0] not in word_set("aux")


def _is_unsaid(mode: Mode, rest: str, bare: str) -> bool:
    """Whether a proposal is denied, warned against, conditional or postponed, or a statement says that something is in
    order or is hearsay."""
    if _is_others_finding(bare) or _CONDITION.match(bare) or _NO_CASE.match(bare) or _warning_pattern().search(bare):
        return True
    if mode == "does":
        return bool(_LATER.search(rest) or _UNDONE.search(rest) or _TOLD.search(rest))
    return (
        bool(_DONE.search(bare))
        or bool(_FINE.search(rest) and _DENIED.isdisjoint(rest.split()))
        or _is_hearsay(rest)
        or _is_about_others(bare)
        or _is_denial(rest)
    )


def _is_denial(rest: str) -> bool:
    return list_pattern("speech_aside", r"^{0}").match(rest) is not None


def _is_hearsay(bare: str) -> bool:
    return _TOLD.search(bare) is not None
