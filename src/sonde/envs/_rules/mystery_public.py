"""What is said to a detective's message that does nothing: help, and what the briefing tells already.

Who is there, where one can go, which records and visible things there are, and what is known of the victim can be asked
for at any time, and costs a turn like everything else. Such answers depend on the message and on the briefing alone. A
thing is said to be missing only by its name ("nothing here goes by that name"): that is true of whatever was not
understood as well. Source: ours; PAPRIKA (arXiv:2502.17543), appendix B.4.4, has a language model improvise.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from . import mystery_patterns as pattern
from .mystery import Frame, data
from .mystery_case import fill, listed, pick
from .mystery_reading import LONGEST, Reading
from .mystery_tokens import RECORDED, stem
from .mystery_words import template

_Say = Callable[[Frame, int], str]


def unanswered(frame: Frame, found: Reading, said: str) -> str:
    """The answer to a message that was read as `found`, which is neither an act nor an accusation."""
    if found.kind == "talk":
        return _talk(frame, found.person, said)
    if found.kind == "body":
        return _text(frame, f"body_{frame.method}", 0)
    turn = len(said)
    if found.kind == "several":
        return _text(frame, "several", turn)
    marked = template(frame, said[:LONGEST])
    return next(say for wanted, say in _ANSWERS if wanted(marked))(frame, turn)


# --- people who are spoken to ----------------------------------------------------------------------------------------

_PRESSED = re.compile(
    r"\b(?:did|done|do) (?:it|this|that)\b|\b(?:kill|murder|poison|struck|strike|lie|lying|liar|lied|confess|admit"
    r"|guilty|killer|murderer|culprit|honest|truth|innocent|hiding|suspicious)"
)
_CALLED = re.compile(rf"(?:{pattern.ASK.pattern}|@[pb]\d|\W|\b(?:i|we|would|will|want|like|to|let|us|me|the|please|now|hello"
                     r"|hi|and|next|go|first|start|with|by|am|going|again|can|could|d|ll|dear|mr|a|few|some|questions?))*")  # fmt: skip


def _talk(frame: Frame, number: int, said: str) -> str:
    """Somebody who is asked nothing that people can be asked; the same for the guilty and the innocent."""
    marked = template(frame, said[:LONGEST])
    key = "called" if _CALLED.fullmatch(marked) else "pressed" if _PRESSED.search(marked) else "unclear"
    words = _text(frame, key, number + len(said)), _text(frame, f"topics_{frame.means}", 0)
    return f'{frame.people[number].name}: "{" ".join(words)}"'


# --- what the briefing says ------------------------------------------------------------------------------------------


def _text(frame: Frame, key: str, turn: int, **more: str) -> str:
    return fill(frame, pick(frame, data()["text"]["reply"][key], key, turn), **more)


def _victim(frame: Frame, turn: int) -> str:
    row, say = data()["settings"][frame.setting], data()["text"]["briefing"]
    about = {key: row[key] for key in ("occasion", "site", "victim")}
    told = fill(frame, pick(frame, say[frame.method], "how"))
    return f"{_text(frame, 'victim', turn, **about)} {told} {_text(frame, 'ask_on', turn)}"


def _suspects(frame: Frame, turn: int) -> str:
    return _text(frame, "suspects", turn, items=_named(frame, True))


def _witnesses(frame: Frame, turn: int) -> str:
    alone = sum(not p.suspect for p in frame.people) == 1
    return _text(frame, "witness" if alone else "witnesses", turn, items=_named(frame, False))


def _named(frame: Frame, suspects: bool) -> str:
    return listed([f"{p.name} ({p.role})" for p in frame.people if p.suspect is suspects])


def _people(frame: Frame, turn: int) -> str:
    outside = listed([r.name for r in frame.records if r.kind == "bystander"])
    more = [_text(frame, "bystander", turn, items=outside)] if outside else []
    return " ".join([_suspects(frame, turn), _witnesses(frame, turn), *more])


def _places(frame: Frame, turn: int) -> str:
    return _text(frame, "places", turn, items=listed([p.name for p in frame.places]))


def _records(frame: Frame, turn: int) -> str:
    return _text(frame, "records", turn, items=listed([r.name for r in frame.records if r.kind != "bystander"]))


def _things(frame: Frame, turn: int) -> str:
    seen = listed([i.name for i in frame.items if i.place == 0])
    return f"{_text(frame, 'things', turn, items=seen)} {_records(frame, turn)} {_text(frame, 'more', turn)}"


def _all(frame: Frame, turn: int) -> str:
    return " ".join(say(frame, turn) for say in (_victim, _people, _things, _places))


def _after(key: str, *lists: _Say) -> _Say:
    """A remark, and what there is instead."""
    return lambda frame, turn: " ".join([_text(frame, key, turn), *(say(frame, turn) for say in lists)])


# --- what is asked ---------------------------------------------------------------------------------------------------

_LIST = (
    r"(?:^(?:please |so |ok |now , |now |can you |could you |and )*(?:list|name|tell me|give me|show me|remind me|see"
    r"|describe|enumerate|review|read out)\b|\b(?:what|which|who|whom|where|how many|are there|is there|list of)\b)"
)
_KNOWN = (
    r"\b(?:repeat|recap|summar\w+|overview|briefing|case file|case details)\b|\bwhat (?:do|did|have) (?:we|i) (?:know"
    r"|have|learn(?:ed)?|got)(?: (?:so far|now|about (?:the|this) (?:case|murder|crime)))*\W*$|^\W*what (?:has )?"
    r"happened(?: here)?\W*$|\bwhat is (?:this|the) case\b|\btell me (?:more )?about (?:the|this) (?:case|murder|crime)\b"
)
_DEAD = r"(?:@v(?: 's (?:body|death|murder))?|murder|crime|killing|death|body|corpse|he|she|they|it|attack)"
_OF_VICTIM = (
    r"\b(?:about|regarding|on|describe|describing|is|was|were|with|identify|know|to) (?:the |our )*@v"
    r"(?: 's (?:background|life|identity|past|history|relationships?|habits|job|profession|work|character|personality))?"
    r"(?: ?(?:please|exactly|again|so far|before (?:the )?\w+|first))*\W*$"
    r"|@v 's (?:background|life|identity|past|history|relationships|habits|job|profession|character|personality)\b"
    r"|\b(?:cause|time|manner|place|hour) of (?:the )?(?:@v 's )?(?:death|murder|crime)\b|@v 's death\W*$"
    rf"|\b(?:when|how|where|what time|at what time) (?:exactly )?(?:was|were|did|is|had|has) (?:the )?{_DEAD} (?:\w+ )?"
    r"(?:die|died|killed|murdered|poisoned|struck|happen|happened|occur|found|discovered|take place|given|attacked)\b"
    r"|\bwhat (?:killed|happened to|caused|kind of poison)\b|\b(?:what|which) (?:is|was|time)\b.*(?:@i1\b|\bmurder\b"
    r"|\bused to kill\b)|\bhow (?:was|did) (?:the )?(?:murder|killing|poison)\b|\b(?:autopsy|coroner|post mortem"
    r"|what did the doctor)\b"
)
_SOMEONE = (
    r"(?:^|[,.] )(?:so |and |but |ok |now )*(?:who|whom|whose|which of|why|does any|did any|has any|have any|was any"
    r"|were any|is any|do any|can any|could any)\b|\b(?:motives?|enemies|enemy|culprit|killer|murderer|solution)\b"
)
_THINGS = (
    r"\b(?:evidence|clues?|traces?|leads?|things|objects|items|exhibits|anything|something|visible|to see|to look at)\b"
    r"|\bwhat (?:can|could|should|may|do|is there to|else can) (?:i|we)? ?(?:examine|inspect|look|see|search|check"
    r"|investigate|find|study)|\blook around\b|\bsurroundings\b|\b(?:search|examine|inspect|look around) (?:the )?(?:room"
    r"|area|place)\b"
)
_OPTIONS = (
    r"^\W*(?:help|hint|hello|hi|hey|good \w+|start|begin|continue|next|ok|okay|yes|ready|i am ready|options|menu|i)\W*$"
    r"|\bhelp me\b|\bwhat (?:now|next|should|can|could|may|am|are|do) ?(?:i|we|my)?(?: (?:do|options|supposed|say|ask))"
    r"|\bhow (?:do|does|can|should|many turns)\b|\bgive me a hint\b|\b(?:instructions|rules|options|commands)\b"
    r"|\bturns\b.*\bleft\b|\bi (?:think|suspect|believe)\b"
)
_RECORD_WORDS = RECORDED | frozenset(("cctv", "surveillance", "security", "document", "archive", "phone", "call", "data"))
_ELSEWHERE = (
    r"\b(?:search|visit|go|enter|head|walk|explore|check|examine|inspect|return|look)\b.*\b(?:rooms?|house|home|office"
    r"|cabin|apartment|flat|bedroom|quarters|kitchen|garden|car|basement|attic|tent|locker)\b"
)
_SPOKEN = (
    r"\b(?:where (?:were|was|did)|did|do|were|have|had|are|can|could) you\b|\byour (?:alibi|relation\w*|whereabouts)\b"
    r"|^\W*(?:ask|question|inquire|interview|talk|alibi|where)(?: (?:about|where|whether|if|for|what|how|who)\b.*)?\W*$"
)
_LOOKS = re.compile(
    rf"{pattern.EXAMINE.pattern}|\b(?:is|are|was|were) there\b|\b(?:collect|analy[sz]e|swab|photograph|break|use)\b"
)


def _says(expression: str) -> Callable[[str], bool]:
    found = re.compile(expression)
    return lambda marked: found.search(marked) is not None


def _lists(noun: str) -> Callable[[str], bool]:
    wanted, asked = re.compile(rf"\b(?:{noun})\b"), re.compile(_LIST)
    return lambda marked: "@p" not in marked and bool(wanted.search(marked) and asked.search(marked))


def _bare(expression: str) -> Callable[[str], bool]:
    """Whether a message of which nobody is the subject says something."""
    found = re.compile(expression)
    return lambda marked: "@p" not in marked and found.search(marked) is not None


def _recorded(marked: str) -> bool:
    """Whether a record is meant, none or no single one by name."""
    plain = [w for w in marked.split() if w[0] != "@"]
    about = bool(_LOOKS.search(marked) or re.search(_LIST, marked))
    return about and "@p" not in marked and any(stem(w) in _RECORD_WORDS for w in plain)


_ANSWERS: Final[tuple[tuple[Callable[[str], bool], _Say], ...]] = (
    (_bare(_KNOWN), _all),
    (_bare(r"\b(?:dna|forensic\w*|laboratory|toxicology|lab)\b"), _after("laboratory")),
    (_lists("suspects"), _suspects),
    (_lists("witnesses"), _witnesses),
    (_lists("people|persons|everyone|everybody|characters|talk to|speak to|question|interview|ask|present"), _people),
    (_bare(_OF_VICTIM), _victim),
    (_lists("records?|logs|logbooks|documents|papers|lists|cameras|footage|registers"), _records),
    (_lists("places|locations|rooms|areas|can i go|could i go|can we go|to go|visit|should i go"), _places),
    (_bare(_OPTIONS), _after("options")),
    (_bare(r"\b(?:ask|question|interview|talk|speak)\b.*\bsuspect\b"), _after("which", _suspects)),
    (_bare(r"\b(?:ask|question|interview|talk|speak|hear)\b.*\bwitness\b"), _after("which", _witnesses)),
    (_bare(_SOMEONE), _after("anyone")),
    (lambda marked: "@x" in marked and not _about_record(marked), _after("vague")),
    (lambda marked: "@x" in marked, _after("which", _records)),
    (_recorded, _after("absent", _records)),
    (_bare(_THINGS), _things),
    (_bare(r"\b(?:fingerprints?|prints)\b"), _after("absent")),
    (_bare(_SPOKEN), _after("unnamed", _people)),
    (_bare(r"\b(?:ask|question|interview|interrogate|talk to|talk with|speak to|speak with)\b"),
     _after("nobody", _people)),
    (_says(_ELSEWHERE), _after("nowhere", _places)),
    (lambda marked: bool(_LOOKS.search(marked)) and not re.search(r"@(?!p\d 's)", marked), _after("absent")),
    (lambda _: True, _after("nothing")),
)  # fmt: skip
"""What a message is about -> what is said; the first that fits."""


def _about_record(marked: str) -> bool:
    return "@p" not in marked
