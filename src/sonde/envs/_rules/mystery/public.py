"""What is said to a detective's message that does nothing: help, and what the briefing tells already.

Who is there, where one can go, which records and visible things there are, and what is known of the victim can be asked
for at any time, and costs a turn like everything else. Such answers depend on the message and on the briefing alone. A
thing is said to be missing only by its name ("nothing here goes by that name"): that is true of whatever was not
understood as well. The wordings are in `data/murder_mystery/public.toml`. Source: ours; PAPRIKA (arXiv:2502.17543),
appendix B.4.4, has a language model improvise.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from . import facts
from . import patterns as pattern
from .cases import Frame
from .context import NEW, Past, Reading, mentioned
from .facts import Say, after
from .lexicon import lexicon
from .small_talk import CONFESS, HEARD, small_talk
from .tokens import BEFORE, RECORDED, stem, tokens, words, words_of
from .wordings import Says, wordings
from .words import template

_SAID = wordings("public")
_PERSON, _LOOKS, _WHICH = _SAID.test("person"), _SAID.test("looks"), _SAID.test("which")
_TURNS, _OUTSIDER = _SAID.test("turns"), _SAID.test("outsider")
_HAPPENED = words("murder crime")
"""Words of names that are no things."""
_PLAIN = re.compile(r"(?<!@)\b[a-z]+")
_THING = re.compile(r"@(?![pv]\d? 's|v\W*$)")


def unanswered(frame: Frame, found: Reading, said: str, past: Past = NEW) -> str:
    """The answer to a message that was read as `found`, which is neither an act nor an accusation."""
    turn = len(said)
    if found.kind == "body":
        return facts.text(frame, f"body_{frame.method}", 0)
    if found.kind == "several":
        return facts.text(frame, "several", turn)
    marked = _marked(frame, said)
    if past.left is not None and _TURNS(marked):
        return facts.turns(frame, turn, past.left)
    if found.kind == "talk":
        return small_talk(frame, found.person, said, marked, past)
    if pattern.LISTING(said[:HEARD].lower()):
        return facts.records(frame, turn)
    people = mentioned(marked, "p")
    if len(people) == 1 and CONFESS(marked):
        return small_talk(frame, int(people[0][1:]), said, marked, past)
    if (others := mentioned(marked, "b")) and _OUTSIDER(marked):
        return facts.outsider(frame, int(others[0][1:]), turn)
    if len(people) == 1 and _PERSON(marked):
        return facts.person(frame, int(people[0][1:]), turn)
    return next(say for wanted, say in _ANSWERS if wanted(marked))(frame, turn)


def _marked(frame: Frame, said: str) -> str:
    """The beginning of the template, in which it can be seen where one of several records is meant, and where a part
    of a name or a spot is mentioned, so that nobody can say that there is no such thing (`@n`)."""
    marked = template(frame, said[:HEARD])
    if "@x" in marked and any(stem(w) in RECORDED for w in tokens(said[:HEARD])):
        return marked.replace("@x", "@x records")
    rest = (stem(w) for w in _PLAIN.findall(marked) if w not in BEFORE)
    return marked if _known(frame).isdisjoint(rest) else f"{marked} @n"


@lru_cache(maxsize=256)
def _known(frame: Frame) -> frozenset[str]:
    """All words of names and spots in a case."""
    return frozenset((*lexicon(frame).by_word, *words_of(frame.where), *words_of(frame.near))) - _HAPPENED


# --- what is asked ---------------------------------------------------------------------------------------------------

_RECORD_WORDS = (RECORDED - {"entry", "count"}) | words("surveillance security document archive call data")


def _bare(name: str) -> Says:
    """Whether a message of which nobody is the subject says something."""
    says = _SAID.test(name)
    return lambda marked: "@p" not in marked and says(marked)


def _recorded(marked: str) -> bool:
    """Whether a record is meant, none or no single one by name."""
    if "@p" in marked or not any(stem(w) in _RECORD_WORDS for w in marked.split() if w[0] != "@"):
        return False
    return _LOOKS(marked) or _WHICH(marked)


def _recorded_near(marked: str) -> bool:
    return "@n" in marked and _recorded(marked)


def _looked(marked: str) -> bool:
    """Whether something is looked at of which nothing is known."""
    return not _THING.search(marked) and _LOOKS(marked)


def _anything(_: str) -> bool:
    return True


_ANSWERS: Final[tuple[tuple[Says, Say], ...]] = (
    (_SAID.test("pair"), after("one_person")),
    (_SAID.test("wears_all"), after("one_look")),
    (_SAID.test("doubted"), after("doubted")),
    (_SAID.test("guilt"), after("suspicion")),
    (_bare("stranger"), after("unlisted")),
    (_bare("unnamed"), after("unnamed", facts.people)),
    (_bare("known"), facts.everything),
    (_SAID.test("spoils"), after("spoil")),
    (_bare("waits"), after("wait")),
    (_bare("calls"), after("police")),
    (_bare("laboratory"), after("laboratory")),
    (_bare("suspects"), facts.suspects),
    (_bare("witnesses"), facts.witnesses),
    (_bare("people"), facts.people),
    (_bare("present"), facts.people),
    (_bare("entered"), facts.way_in),
    (_bare("of_case"), facts.victim),
    (_bare("who"), after("anyone")),
    (_bare("of_victim"), facts.victim),
    (_bare("records"), facts.records),
    (_bare("places"), facts.places),
    (_bare("options"), after("options")),
    (_bare("suspect"), after("which", facts.suspects)),
    (_bare("witness"), after("which", facts.witnesses)),
    (_bare("someone"), after("anyone")),
    (_SAID.test("several_records"), after("which", facts.records)),
    (_SAID.test("several"), after("vague")),
    (_recorded_near, after("which", facts.records)),
    (_recorded, after("absent", facts.records)),
    (_bare("worn"), after("whose")),
    (_bare("things"), facts.things),
    (_bare("spot"), after("closer")),
    (_bare("prints"), after("absent")),
    (_bare("spoken"), after("unnamed", facts.people)),
    (_bare("asks"), after("nobody", facts.people)),
    (_SAID.test("elsewhere"), after("nowhere", facts.places)),
    (_looked, after("absent")),
    (_bare("victim"), after("beyond")),
    (_bare("of_things"), after("unsaid")),
    (_anything, after("nothing")),
)
"""What a message is about -> what is said; the first that fits."""
