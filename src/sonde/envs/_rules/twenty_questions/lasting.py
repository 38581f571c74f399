"""How long events took, and what was under way in a time: "last longer than a century", "going on in the 1970s".

Ours. Only the years of beginning and end are known, so a length is so many years, or one more or less.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from sonde.people.language.numbers import amount

from .lifetimes import Years, exact
from .queries import Query, atom
from .scales import blocks, other_rows, ranged, topic_rows
from .spans import Span, plain_time, span
from .topics import Known, knowledge

_WORDS = frozenset(("last", "going", "go", "take", "taking", "underway", "progress", "happening", "fought", "raging"))


def asked_of(words: Sequence[str]) -> Query | None:
    """What is asked of the length of an event."""
    return _lasting(" ".join(plain_time(words))) if _WORDS.intersection(words) else None


_GOING_ON = re.compile(
    r"(?:still )?(?:going on|underway|in progress|taking place|take place|happening|being fought|raging)(?: already)? "
    r"(?:in|during|when|at) (.+)"
)
_LASTING = re.compile(
    r"(?:last|go on|take|be fought)(?: for)?(?: (longer than|more than|over|at least)| (?:less than|under"
    r"|shorter than))(?: for)? (.+?)( or longer)?"
)
_UNITS = {"year": 1.0, "decade": 10.0, "century": 100.0, "centuries": 100.0}


def _lasting(text: str) -> Query | None:
    """As in "last longer than a century", "going on in the 1970s"."""
    row = _GOING_ON.fullmatch(text)
    if row is not None:
        when = span(row[1].split())
        return _under_way(when, text) if when is not None else None
    row = _LASTING.fullmatch(text)
    words = row[2].split() if row is not None else []
    unit = _UNITS.get(words[-1], _UNITS.get(words[-1].removesuffix("s"))) if words else None
    n = 1.0 if words[:-1] in (["a"], ["an"], ["one"]) else amount(words[:-1])
    if row is None or unit is None or n is None:
        return None
    return _longer(n * unit, text) if row[1] else _shorter(n * unit, text)


@cache
def _lengths() -> Mapping[int, Years]:
    """Events whose beginning and end are known -> how many years they took at least and at most."""
    events = knowledge().roots["event"]
    starts, ends = exact("start", events), exact("end", events)
    return {
        i: (max(ends[i][0] - starts[i][0] - 1, 0), ends[i][0] - starts[i][0] + 1) for i in starts.keys() & ends.keys()
    }


def _longer(n: float, text: str) -> Query:
    yes = no = 0
    for i, (low, high) in _lengths().items():
        yes, no = yes | (1 << i if low >= n else 0), no | (1 << i if high <= n else 0)
    return atom(text, Known(yes, no))


def _shorter(n: float, text: str) -> Query:
    longer = _longer(n, text)
    return atom(text, Known(longer.no, longer.yes))


def _under_way(when: Span, text: str) -> Query:
    events = knowledge().roots["event"]
    late = knowledge().numbers("start", lambda year: year > when.last).yes
    over = knowledge().numbers("end", lambda year: year < when.first).yes
    begun = knowledge().numbers("start", lambda year: year <= when.last).yes
    lasted = knowledge().numbers("end", lambda year: year >= when.first).yes
    return atom(text, Known(begun & lasted & events, (late | over) & events))


_HEYDAY = re.compile(
    r"(?:much |far )?(?:more (?:widely |commonly |often )?(?:used|use|common|popular|widespread)"
    r"|used? more(?: often| widely)?)"
    r"(?: by people)? (?:in|during|around|back in) (.+) than (?:it is |they are |it was )?(?:now|today|nowadays)"
)
_ONCE = re.compile(
    r"used? to be (?:much |far |a lot )?more (?:widely |commonly )?(?:used|common|popular|widespread)"
    r"(?: than (?:it is )?(?:now|today|nowadays))?"
)


def heyday(words: Sequence[str]) -> Query | None:
    """As in "more widely used in the 1980s than it is now", "used to be more common than it is today"."""
    if not _USED.intersection(words):
        return None
    text = " ".join(words)
    row = _HEYDAY.fullmatch(text)
    if row is None:
        return _used(None, text) if _ONCE.fullmatch(text) else None
    when = span(row[1].split())
    return _used(when, text) if when is not None else None


_USED = frozenset(("used", "use", "common", "popular", "widespread"))


def _used(when: Span | None, text: str) -> Query:
    """Of what had its time, whether it was then; no for what is used more now than ever."""
    lines = blocks()["heydays"]
    yes = no = 0
    for i, value in topic_rows(lines).items():
        low, high = ranged(value)
        if when is None or (when.first >= low - 2 and when.last <= high + 2):
            yes |= 1 << i
    for name in other_rows(lines):
        no |= knowledge().lookup.get(name, 0)
    return atom(text, Known(yes, no))
