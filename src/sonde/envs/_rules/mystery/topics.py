"""What a question to somebody is about: the topics of a murder mystery, recognised in templates (`words`).

A question comes with the person asked as "you" (`subjects`). It has a topic of `mystery.TOPICS`, the id of
another person, `SEVERAL` if it asks for two things, or None if it is about nothing that a person can be asked about.
Each topic has the ways in which it is put, with the words in their places: who does what to whom. A word alone ("key",
"alone", "friend") is no question, because it may be said of somebody else. Source: ours.
"""

from __future__ import annotations

import re
from typing import Final

from .access import access
from .wordings import Says, wordings

SEVERAL: Final = "several"

_SAID = wordings("topics")
_POLITE, _TIME, _TIME_ITSELF = _SAID.pattern("polite"), _SAID.pattern("time"), _SAID.pattern("time_itself")
_NOT_THEN = _SAID.test("not_then")
_TOPICS: tuple[tuple[str, Says, Says | None], ...] = (
    ("scene", _SAID.test("scene"), _NOT_THEN),
    ("alibi", _SAID.test("alibi"), _NOT_THEN),
    ("victim", _SAID.test("victim"), _SAID.test("not_victim")),
    ("death", _SAID.test("death"), _SAID.test("not_death")),
)
"""Topic, what asks about it, and what does not although it seems to."""
_STRIFE = _SAID.test("any_strife")
_OTHERS, _NOT_OTHERS, _WHOM, _COMPANY = map(_SAID.test, ("others", "not_others", "whom", "company"))
_PERSON = re.compile(r"@(p\d)")
_SOME_OF_YOU = re.compile(r"\bwhom? else\b|\b(?:which|who|one|any|some|how many|all|both|each) of you\b")
_WHO_TOLD = re.compile(r"\bwho (?:told|gave|showed|taught)\b")
_AND = re.compile(r"\band (?:also )?(?:about |on |for |of )?(?:your|the|@v 's|any)\b")
_TWO_PLACES = re.compile(r"\bor\b.*@l[1-9]|@l[1-9].*\bor\b")


def topic(asked: str, means: str) -> str | None:
    """What `asked`, a template in which the person asked is "you", asks, where access is a matter of `means`.

    >>> topic("where were you when @v died ?", "key"), topic("did you see @p2 ?", "key")
    ('alibi', 'p2')
    """
    asked = _POLITE.sub(" ", asked)
    others = dict.fromkeys(_PERSON.findall(asked))
    if others:
        return _person(list(others), asked)
    time = _TIME.search(asked)
    if time and _TIME_ITSELF.search(asked, 0, time.start()):
        return _own(asked, means)
    return _own(" ".join(_TIME.sub(" ", asked).split()), means)


def _person(others: list[str], asked: str) -> str | None:
    if len(others) > 1:
        return SEVERAL
    return None if _COMPANY(asked) else others[0]


def _own(asked: str, means: str) -> str | None:
    """A topic of `TOPICS`; None if there is none, or more than one that do not belong together."""
    if _OTHERS(asked) and not _NOT_OTHERS(asked):
        return None if access(asked, means) else "others"
    if _SOME_OF_YOU.search(asked):
        return SEVERAL
    if _WHOM(asked) and not _WHO_TOLD.search(asked):
        return None
    found = [name for name, said, unless in _TOPICS if said(asked) and not (unless and unless(asked))]
    if access(asked, means):
        return "access" if not set(found) - {"alibi", "scene"} else None
    if found:
        two = _AND.search(asked) if len(found) > 1 else found[0] == "scene" and _TWO_PLACES.search(asked)
        return SEVERAL if two else found[0]
    return "victim" if _STRIFE(asked) and "@" not in asked.replace("@v", "") else None
