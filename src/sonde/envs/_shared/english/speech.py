"""Classify the sentences of an adviser: questions, instructions, diagnoses, small talk, and what does not count.

Own design. An adviser says "Could you check whether ...?", "Have you tried ...?", "I think that ...". The frame of a
sentence and its word order decide its class; the frames are in `english.txt` (`[speech_...]`). A sentence that denies,
reports or supposes something does not count, whatever it names.

`Bags` of words find the one topic that a text names. A word counts for the topics whose declared texts contain it, the
less the more topics share it. A topic is chosen if it explains most of the text, clearly better than every other topic,
and if no other topic explains the rest. `Bags` is built once from the declared texts; choosing takes time linear in the
text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from .sentences import is_reported, list_pattern, opens_preamble
from .tokens import ascii_lower, base_form, is_verb, split_sentences, tokenize, word_set

# --- sentences of an adviser ------------------------------------------------------------------------------------------

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


# --- the topic of a text ----------------------------------------------------------------------------------------------

NOTHING, MANY = -1, -2


class Declared(NamedTuple):
    """The declared texts of a topic, each as stems: its names, other texts that point to it, and statements about
    it."""

    names: Sequence[tuple[str, ...]]
    more: Sequence[tuple[str, ...]]
    said: Sequence[tuple[str, ...]] = ()


class Measure(NamedTuple):
    """Thresholds for choosing a topic: `topic_points`, and the `least` of them for a topic that explains everything;
    `share` of the words that it must explain; `rival`, the share of its points that another topic may have; `aside`,
    the points that another topic may have from the words that it does not explain. `phrase`: points per word beyond the
    first for a name that occurs as a whole."""

    points: float = 1.2
    share: float = 0.7
    rival: float = 0.62
    aside: float = 0.6
    phrase: float = 0.35
    least: float = 0.55


class Pick(NamedTuple):
    """The topic of a text, `NOTHING`, or `MANY` with the topics that it names; and its points."""

    target: int
    both: tuple[int, ...] = ()
    points: float = 0.0


class Bags:
    """Topics as bags of words. `weight` is the weight of a word, `background` the words common to the whole
    conversation."""

    def __init__(
        self,
        topics: Sequence[Declared],
        weight: Callable[[str], float],
        background: Iterable[str],
        measure: Measure,
    ) -> None:
        self.measure, self.background = measure, frozenset(background)
        self.weight = weight
        self.strength = _word_strengths(topics)
        self.phrases = tuple(tuple(frozenset(name) for name in t.names if len(set(name)) > 1) for t in topics)
        self.alone = tuple(frozenset(name[0] for name in t.names if len(name) == 1) for t in topics)

    def word_worth(self, word: str) -> float:
        """The weight of a word in this conversation."""
        own = self.weight(word)
        return min(own, 0.4) if word in self.background else own

    def topic_points(self, said: Iterable[str]) -> dict[int, float]:
        """The points of each topic; a word of several topics is divided among them."""
        found: dict[int, float] = {}
        for word in said:
            row: Mapping[int, float] = self.strength.get(word, {})
            total = sum(row.values())
            for i, s in row.items():
                worth = 1.0 if word in self.alone[i] else self.word_worth(word)
                found[i] = found.get(i, 0.0) + worth * s * s / total
        return found

    def choose_topic(self, text: Iterable[str]) -> Pick:
        """The topic of these stems."""
        said = list(dict.fromkeys(text))
        points, have = self.topic_points(said), frozenset(said)
        if not points:
            return Pick(NOTHING)
        for i in points:
            points[i] += self.measure.phrase * max((len(p) - 1 for p in self.phrases[i] if p <= have), default=0)
        first = max(points, key=lambda i: points[i])
        rest = [word for word in said if first not in self.strength.get(word, {})]
        aside = self.topic_points(rest)
        other = max(aside, key=lambda i: aside[i], default=NOTHING)
        m = self.measure
        if points[first] >= m.points / 2 and other >= 0 and aside[other] > max(m.aside, 0.4 * points[first]):
            return Pick(MANY, (first, other))
        second = max((p for i, p in points.items() if i != first), default=0.0)
        known, odd = self._weigh_words(said, first, rest)
        # The less is left unexplained, the fewer points are enough.
        share = known / (known + odd) if known else 0.0
        enough = m.points - (m.points - m.least) * max(0.0, share - m.share) / (1 - m.share)
        fits = (
            self._has_name(said, first, rest)
            and share >= m.share
            and points[first] >= enough
            and second <= m.rival * points[first]
        )
        return Pick(first, (), points[first]) if fits else Pick(NOTHING)

    def _has_name(self, said: Sequence[str], first: int, rest: Sequence[str]) -> bool:
        """Whether the words are enough for a name: a whole one, if it has three words or one of weight, or two such
        names."""
        own = {word for word in said if word not in rest and (word not in self.background or word in self.alone[first])}
        heavy = sum(self.weight(word) >= 1.0 for word in own)
        whole = any(p.issubset(said) and (heavy or len(p) > 2) for p in self.phrases[first])
        return heavy > 1 or whole or not own.isdisjoint(self.alone[first])

    def _weigh_words(self, said: Sequence[str], first: int, rest: Sequence[str]) -> tuple[float, float]:
        """The weight of the words that a topic explains, and of those that neither it nor the background explains."""
        known = sum(self.word_worth(word) for word in said if word not in rest)
        return known, sum(self.weight(word) for word in rest if word not in self.background)


def _word_strengths(topics: Sequence[Declared]) -> Mapping[str, Mapping[int, float]]:
    found: dict[str, dict[int, float]] = {}
    for i, topic in enumerate(topics):
        for points, texts in ((1.0, topic.names), (0.8, topic.more), (0.4, topic.said)):
            for word in {word for text in texts for word in text}:
                row = found.setdefault(word, {})
                row[i] = max(row.get(i, 0.0), points)
    return found
