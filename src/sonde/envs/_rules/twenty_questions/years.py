"""Questions about time: "born before 1900", "in the 19th century", "older than 100 years".

Ours. People have years of birth and death, events of start and end, other things sometimes a year in which they began,
or an attribute that says in which age they were made. Ages are reckoned at the end of `NOW`, with `SLACK` years of
doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from sonde.people.language.numbers import amount

from .queries import Query, any_of, atom
from .sizes import comparer
from .spans import EMPTY, NOW, SLACK, Span, numbers, plain_time, span, year_of
from .topics import Known, knowledge, name_key
from .wordlists import word_list, word_set

_WHEN = {
    "before": "before",
    "after": "after",
    "in": "in",
    "during": "in",
    "since": "after",
    "from": "in",
    "by": "",
    "prior": "before",
    "throughout": "in",
    "around": "",
}
_TRIGGERS = frozenset((*_WHEN, "ago", "between", "earlier", "sooner", "later", "within", "over", "following", "at"))
_BIRTH = ("born",)
_DEATH = ("die", "died", "dead", "killed", "assassinated")
_LIFE = word_list("years.life")
_MADE = word_list("years.made")
_EVENT = word_list("years.event")


def dated(words: Sequence[str]) -> Query | None:
    """As in "born before 1900", "in the 19th century", "alive during World War II": a verb, or none, and a time."""
    if not _TRIGGERS.intersection(words):
        return None
    words = plain_time(words)
    dating = "century" in words or "world" in words
    words = [w for w in words if w not in EMPTY or (w == "first" and dating)]
    if words[-1:] == ["ago"]:
        return _ago(words[:-1])
    if words[:1] in (["live"], ["lived"]) and words[1:3] in (["whole", "life"], ["entire", "life"], ["all", "life"]):
        return _whole_life(words[3:])
    at = next((i for i, w in enumerate(words) if w in _WHEN), None)
    if at is None or at > 2:
        return None
    how, when = _WHEN[words[at]], span(words[at + 1 :])
    if when is None and how in ("before", "after") and set(words[:at]) & {*_MADE, "come", "came", "exist"}:
        when = year_of("start", [w for w in words[at + 1 :] if w not in ("was", "did", "were", "built", "invented")])
    if when is None or not how:
        return None
    verb = next((w for w in words[:at] if w not in ("was", "take", "took", "taken", "be", "been", "have", "it")), "")
    if verb in _BIRTH:
        return atom(f"born {how} {when}", _when("born", how, when))
    if verb in _DEATH:
        return _died(how, when)
    return _happened(verb, how, when, loose=words[at] == "in" and not verb)


def _whole_life(words: Sequence[str]) -> Query | None:
    """As in "live his whole life before 1800": born and dead before, or born after."""
    how, when = _WHEN.get(words[0], "") if words else "", span(words[1:])
    if when is None or how not in ("before", "after"):
        return None
    return _died(how, when) if how == "before" else atom(f"born {how} {when}", _when("born", how, when))


def _ago(words: Sequence[str]) -> Query | None:
    """As in "happen more than 100 years", with "ago" behind it."""
    at = next((i for i in range(min(len(words), 3)) if comparer(words[i:])), None)
    found = comparer(words[at:]) if at is not None else None
    n = amount([w for w in found[1] if w not in ("years", "year")]) if found is not None else None
    if at is None or found is None or n is None or "years" not in words:
        return None
    year = NOW - n
    verb = next((w for w in words[:at] if w not in ("was", "take", "took", "be", "been")), "")
    how = "before" if found[0] else "after"
    if verb in _BIRTH:
        return atom(f"born {how} {year:g}", _when("born", how, Span(year, year)))
    return _died(how, Span(year, year)) if verb in _DEATH else _happened(verb, how, Span(year, year))


def _relation(how: str, when: Span) -> Callable[[int], bool | None]:
    def holds(n: int) -> bool | None:
        if how == "in":
            return when.first <= n <= when.last
        if how == "before":
            return n < when.first
        return n > when.last if n != when.last else None

    return holds


@lru_cache(maxsize=1024)
def _when(field: str, how: str, when: Span) -> Known:
    return numbers(field, _relation(how, when))


def living() -> Known:
    """Which people are alive, and which are dead."""
    return knowledge().known("alive_now")


def _died(how: str, when: Span) -> Query:
    died = _when("died", how, when)
    return atom(f"died {how} {when}", Known(died.yes, died.no | (living().yes if how != "after" else 0)))


_COMING = {"come": "", "came": "", "break": "begin", "broke": "begin", "date": "", "start": "begin", "stem": ""}


def _happened(verb: str, how: str, when: Span, *, loose: bool = False) -> Query | None:
    """`loose`: what is said to have been something in a time ("a weapon in World War I") may have begun before."""
    verb = _COMING.get(verb, verb)
    parts: list[Query] = []
    if not verb or verb in _LIFE:
        parts.append(atom(f"lived {how} {when}", lived(how, when)))
    if not verb or verb in _EVENT:
        parts.append(atom(f"happened {how} {when}", happened(verb, how, when)))
    if not verb or verb in _MADE or verb in ("exist",):
        people = knowledge().known("person").yes
        begun = _eras(_when("start", how, when), how, when)
        if loose:
            begun = Known(begun.yes, begun.no & _when("start", "after", when).yes)
        events = knowledge().known("event").yes
        parts.append(atom(f"begun {how} {when}", Known(begun.yes & ~people & ~events, begun.no & ~people & ~events)))
    if not parts:
        return None
    return atom(f"{verb or 'was'} {how} {when}", Known(any_of(parts).yes, _any_no(parts)))


_ERAS = {
    "built_ancient": Span(-9999, 499),
    "built_medieval": Span(500, 1499),
    "built_1500_1800": Span(1500, 1799),
    "built_in_1800s": Span(1800, 1899),
    "built_in_1900s": Span(1900, 1999),
    "built_after_2000": Span(2000, NOW),
    "made_before_1500": Span(-9999, 1499),
    "made_in_1800s": Span(1800, 1899),
    "made_in_1900s": Span(1900, 1999),
    "made_after_2000": Span(2000, NOW),
    "ancient_work": Span(-9999, 499),
    "medieval_work": Span(500, 1499),
    "modern_invention": Span(1900, NOW),
    "old_invention": Span(-9999, 1899),
}
"""Attributes that say when something was made."""


def _eras(begun: Known, how: str, when: Span) -> Known:
    """Adds what the attributes of `_ERAS` decide."""
    yes, no = begun
    for name, era in _ERAS.items():
        held = knowledge().known(name).yes & ~(begun.yes | begun.no)
        if how == "in":
            inside, apart = (
                when.first - 1 <= era.first and era.last <= when.last,
                era.last < when.first or era.first > when.last,
            )
        elif how == "before":
            inside, apart = era.last < when.first, era.first >= when.first
        else:
            inside, apart = era.first > when.last, era.last <= when.last
        yes, no = yes | (held if inside else 0), no | (held if apart else 0)
    return Known(yes, no & ~yes)


def _any_no(parts: Sequence[Query]) -> int:
    """Where one says no and none says yes: each part knows other topics."""
    no = yes = 0
    for q in parts:
        no, yes = no | q.no, yes | q.yes
    return no & ~yes


@lru_cache(maxsize=512)
def lived(how: str, when: Span) -> Known:
    """People whose life overlaps the years well, and those whose life does not at all."""
    alive = living().yes
    yes = no = 0
    if how == "in":
        born_later = numbers("born", lambda n: n > when.last).yes
        dead_before = numbers("died", lambda n: n < when.first).yes
        early = numbers("born", lambda n: n <= when.last - min(20, (when.last - when.first) / 2)).yes
        long = numbers("died", lambda n: n >= when.first + min(20, (when.last - when.first) / 2)).yes
        return Known(early & (long | (alive if when.first < NOW - 20 else 0)), born_later | dead_before)
    if how == "before":
        yes = numbers("born", lambda n: n < when.first - 15).yes
        no = numbers("born", lambda n: n >= when.first).yes
    else:
        yes = numbers("died", lambda n: n > when.last + 1).yes | (alive if when.last < NOW - 5 else 0)
        no = numbers("died", lambda n: n <= when.last).yes
    return Known(yes, no)


@lru_cache(maxsize=512)
def happened(verb: str, how: str, when: Span) -> Known:
    """Events within the years, and events that do not touch them."""
    base_ = knowledge()
    if verb in ("begin", "began", "start", "started"):
        return _when("start", how, when)
    starts = base_.numbers("start", lambda n: n >= when.first if how == "in" else _relation(how, when)(n))
    ended = base_.numbers("end", lambda n: True).yes
    single = base_.numbers("start", lambda n: True).yes & ~ended
    ends = base_.numbers("end", lambda n: n <= when.last if how == "in" else _relation(how, when)(n))
    single_in = _when("start", how, when)
    if verb in ("end", "ended", "over", "finish"):
        return Known(ends.yes | single_in.yes & single, ends.no | single_in.no & single)
    if how == "in":
        apart = base_.numbers("start", lambda n: n > when.last).yes | base_.numbers("end", lambda n: n < when.first).yes
        return Known(starts.yes & ends.yes | single_in.yes & single, apart | single_in.no & single)
    return Known(starts.yes & (ends.yes | single), starts.no & (ends.no | single))


_DATED = word_set("years.dated")


def aged(words: Sequence[str]) -> Query | None:
    """As in "under 50 years old", "older than 100 years": the age of the living and of what began in a known year."""
    words = [w for w in words if w not in ("currently", "now", "much", "far")]
    if words[:1] and words[0] in ("older", "younger", "newer") and words[2:3] == ["than"] and words[1] in _DATED:
        words = [words[0], *words[2:]]
    if words[:2] in (["older", "than"], ["younger", "than"], ["newer", "than"]):
        more, rest = words[0] == "older", words[2:]
        other = _older(rest, more)
        if other is not None:
            return other
    else:
        found = comparer(words)
        if found is None:
            return None
        more, rest = found[:2]
        if "old" not in words and "age" not in words and "years" not in words:
            n = amount(rest)
            return _person_aged(n, more) if n is not None and _YOUNGEST <= n <= _OLDEST else None
    bare = [w for w in rest if w not in ("years", "year", "old", "of", "age", "the", "ago")]
    n = amount(bare)
    if n is None or n < 1 or (bare == list(rest) and n < 10):
        return None
    return atom(f"age{'>' if more else '<'}{n:g}", _aged(n, more))


def _older(words: Sequence[str], more: bool) -> Query | None:
    """As in "older than Mozart", "newer than the Eiffel Tower": by the years of both."""
    knows, name = knowledge(), name_key(" ".join(words))
    topics = knows.lookup.get(name, 0)
    people = knows.roots["person"]
    field = "born" if topics & people else "start"
    year = _INVENTED.get(name) if not topics else None
    known = Span(year, year) if year is not None else year_of(field, words)
    if known is None:
        return None
    when = Span(known.first - SLACK, known.last + SLACK)
    before, after = _when(field, "before", when), _when(field, "after", when)
    if field == "start":
        before, after = _eras(before, "before", when), _eras(after, "after", when)
        same = knows.all & ~people
        before, after = Known(before.yes & same, 0), Known(after.yes & same, 0)
    older, newer = before.yes, after.yes & ~before.yes
    return atom(
        f"older than {name}" if more else f"newer than {name}", Known(*((older, newer) if more else (newer, older)))
    )


_INVENTED = {name: int(year) for name, _, year in (row.partition(": ") for row in word_list("years.invented"))}
"""When what things are compared with was invented."""
_YOUNGEST, _OLDEST = 16, 110


def _person_aged(n: float, more: bool) -> Query:
    """As in "under 50": said of people, it is their age."""
    people, known = knowledge().known("person").yes, _aged(n, more)
    return atom(f"person age{'>' if more else '<'}{n:g}", Known(known.yes & people, known.no & people))


def _aged(n: float, more: bool) -> Known:
    def holds(year: int) -> bool | None:
        age = NOW - year
        return None if abs(age - n) <= SLACK else (age > n) == more

    people = knowledge().known("person").yes
    born, start = numbers("born", holds), numbers("start", holds)
    alive = living().yes
    start = _old(start, n, more)
    return Known(born.yes & alive | start.yes & ~people, born.no & alive | start.no & ~people)


def _old(start: Known, n: float, more: bool) -> Known:
    """What began before the year NOW - n is older than n years."""
    before = _eras(Known(0, 0), "before", Span(NOW - n - SLACK, NOW - n - SLACK))
    after = _eras(Known(0, 0), "after", Span(NOW - n + SLACK, NOW - n + SLACK))
    older, younger = before.yes & ~(start.yes | start.no), after.yes & ~(start.yes | start.no)
    return Known(start.yes | (older if more else younger), start.no | (younger if more else older))
