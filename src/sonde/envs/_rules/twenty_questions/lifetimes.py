"""Lives against years, ages and other lives: "born before Mozart", "die before he turned 50", "rule after Cleopatra".

Ours. Where someone's years are known only roughly, a question is answered where every one of them agrees. Who died in
a year may have had the birthday or not, so an age at death is one of two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache

from sonde.people.language.numbers import amount

from ..partition import bits
from . import spans
from .phrases import asked, key
from .queries import Query, atom
from .spans import NOW, Span, numbers, plain_time, reign_of, reigns, span, year_of
from .topics import Known, knowledge
from .wordlists import word_set

Words = Sequence[str]
Years = tuple[float, float]


@cache
def _lives() -> tuple[Mapping[int, Years], Mapping[int, Years]]:
    """Births and deaths of real people, each as a range."""
    people, found = knowledge().roots["person"], list[Mapping[int, Years]]()
    for field in ("born", "died"):
        rough = {i: value for i, value in spans.rough(field).items() if people >> i & 1}
        found.append({**exact(field, people), **rough})
    return found[0], found[1]


def exact(field: str, among: int) -> Mapping[int, Years]:
    """The years of the topics that have one."""
    rows = knowledge().by_number(field).items()
    return {i: (year, year) for year, topics in rows for i in bits(topics & among)}


def _alive() -> int:
    return knowledge().known("alive_now").yes & knowledge().roots["person"]


# --- age at death -----------------------------------------------------------------------------------------------------


def _aged(holds: Callable[[float], bool]) -> Known:
    """Of whom a condition on the age at death is true and false; of the living it is not known."""
    yes = no = 0
    born, died = _lives()
    for i in born.keys() & died.keys():
        low, high = died[i][0] - born[i][1] - 1, died[i][1] - born[i][0]
        found = {holds(age) for age in (low, *range(int(low) + 1, int(high)), high)}
        if len(found) == 1:
            yes, no = (yes | 1 << i, no) if found.pop() else (yes, no | 1 << i)
    return Known(yes, no)


_AGE = r"(?:the |an )?(?:age of |turning |reaching |her |his |their |he |she |they |turned |reached |was |were |even )*"
_NUMBER = r"([\w ]+?)(?: years?)?(?: old)?(?: of age)?(?: or (?:more|older))?"
_DIED = (
    (re.compile(rf"(?:die|dead|pass away|killed) (?:before|under|younger than) {_AGE}{_NUMBER}"), False),
    (re.compile(rf"(?:die|dead|pass away|killed) (?:after|over|older than|past) {_AGE}{_NUMBER}"), True),
    (
        re.compile(
            r"(?:live|get|reach|survive|make it)(?: on)? (?:to be |to |past |beyond |until |for |to reach "
            r"|longer than |up to )*"
            rf"(?:the age of |age )?(?:at least |over |more than |past |older than |beyond |well over "
            rf"|well into )*{_NUMBER}"
        ),
        True,
    ),
    (
        re.compile(
            rf"(?:younger than|under|less than) {_NUMBER} (?:years old )?when (?:he|she|they|it) (?:died|was killed)"
        ),
        False,
    ),
    (
        re.compile(
            rf"(?:older than|over|more than) {_NUMBER} (?:years old )?when (?:he|she|they|it) (?:died|was killed)"
        ),
        True,
    ),
)
_OLD = re.compile(
    r"(?:live|survive|die)(?: to| at| of| until| into| to reach| to see)? (?:an? )?(?:very |ripe "
    r"|grand )*(?:old age|long life|advanced age)"
    r"|live (?:an? )?(?:very )?long(?: life)?|(?:live|grow|get) (?:to be )?(?:very )?old"
)
_YOUNG = re.compile(
    r"die (?:very |quite |rather |relatively )?(?:young|early)|die (?:at )?an? (?:very |relatively "
    r"|quite )?(?:young|early) (?:age|death)"
    r"|die before (?:his|her|their) time|have a short life|live an? short life"
)


def _age_at_death(text: str) -> Query | None:
    if _OLD.fullmatch(text):
        return atom(text, Known(_aged(lambda age: age >= 80).yes, _aged(lambda age: age > 58).no))
    if _YOUNG.fullmatch(text):
        return atom(text, Known(_aged(lambda age: age <= 40).yes, _aged(lambda age: age < 65).no))
    for pattern, older in _DIED:
        row = pattern.fullmatch(text)
        n = amount(row[1].split()) if row is not None else None
        if n is not None and 5 <= n <= 115:
            at_least = older and re.search(r"\b(?:over|more than|past|older|longer|beyond)\b", text) is None
            return _aged_over(n, at_least, text) if older else _aged_under(n)
    return None


def _aged_over(n: float, at_least: bool, text: str) -> Query:
    """Who died older than that, and who lives and is older."""
    known = _aged(lambda age: age >= n if at_least else age > n)
    living = numbers("born", lambda year: NOW - year > n).yes & _alive() if text.startswith("live") else 0
    return atom(f"age at death >{'=' * at_least}{n:g}", Known(known.yes | living, known.no))


def _aged_under(n: float) -> Query:
    return atom(f"age at death <{n:g}", _aged(lambda age: age < n))


# --- against other lives and times ------------------------------------------------------------------------------------

_WITH = re.compile(
    r"(?:live|work|be around|be alive|alive|around|active|write|paint|compose|exist|famous|born|rule"
    r"|reign)? ?(?:in |at |around |during )?"
    r"(?:roughly |about |exactly )?(?:the |an? )?(?:same (?:time|era|age|period) as|contemporary (?:of|with)"
    r"|days of|lifetime of) (.+)"
)
_BORN = re.compile(r"(?:be )?born (?:\w+ years )?(before|after) (.+)")
_DYING = re.compile(r"(?:die|dead|killed|kill|assassinated|murdered|shot|outlive)(?:d)? ?(before|after)? (.+)")
_LIVING = re.compile(
    r"(?:live|come|be around|around|alive|work|active|exist|go|(?:\w+ )?who (?:come|came|live"
    r"|lived)) (?:\w+ years |long )?(before|after) (.+)"
)
_SEEING = re.compile(
    r"(?:live|survive|stay alive)(?: long enough)? (?:to (?:see|experience|witness)|through|into|past|beyond"
    r"|until|till) (.+)"
    r"|(?:still )?alive (?:when|after|at the time of|at|in) (.+)|experience (.+)|survive (.+)|witness (.+)"
)


def asked_of(words: Words) -> Query | None:
    """What is asked of somebody's life; the first word of a verb phrase is in its base form."""
    return _asked(tuple(words)) if _WORDS.intersection(words) else None


@lru_cache(maxsize=1024)
def _asked(words: tuple[str, ...]) -> Query | None:
    text = " ".join(plain_time([w for w in words if w not in ("already", "ever", "ever", "person")]))
    return _age_at_death(text) or _ruling(text) or _against(text) or _existing(text)


_WORDS = word_set("lifetimes.words")


def _against(text: str) -> Query | None:
    row = _BORN.fullmatch(text)
    if row is not None:
        return _ordered("born", row[1], year_of("born", _named(row[2])), f"born {row[1]} {row[2]}")
    row = _WITH.fullmatch(text)
    if row is not None:
        return _together(_lifetime(row[1].split()), text)
    row = _DYING.fullmatch(text)
    if row is not None and (row[1] or text.startswith("outlive")):
        return _ordered("died", row[1] or "after", year_of("died", _named(row[2])), f"died {row[1]} {row[2]}")
    row = _LIVING.fullmatch(text)
    if row is not None:
        return _apart(row[1], _lifetime(row[2].split()), text)
    row = _SEEING.fullmatch(text)
    return _seen(next(part for part in row.groups() if part is not None).split(), text) if row is not None else None


def _named(text: str) -> list[str]:
    words = text.split()
    while words and words[-1] in ("did", "was", "died", "born", "were", "had"):
        words = words[:-1]
    return words


def _lifetime(words: Words) -> Span | None:
    words = _named(" ".join(words))
    born, died = year_of("born", words), year_of("died", words)
    if born is None or (died is None and born.first < NOW - 100):
        return None
    return Span(born.first, died.last if died is not None else NOW)


def _ordered(field: str, how: str, when: Span | None, text: str) -> Query | None:
    """Born, or dead, before or after somebody."""
    if when is None:
        return None

    def holds(year: int) -> bool | None:
        if when.first <= year <= when.last:
            return None
        return (year < when.first) == (how == "before")

    known = numbers(field, holds)
    people = knowledge().roots["person"]
    living = _alive() & ~(known.yes | known.no) if field == "died" and when.last < NOW - 2 else 0
    after, before = (living, 0) if how == "after" else (0, living)
    return atom(text, Known((known.yes | after) & people, (known.no | before) & people))


def _together(when: Span | None, text: str) -> Query | None:
    """Whose life overlaps with a lifetime by twenty years at least, and whose does not touch it."""
    return _overlap(when, 20, text) if when is not None else None


def _overlap(when: Span, least: float, text: str) -> Query:
    born, died = _lives()
    yes = no = 0
    alive = _alive()
    for i, (low, high) in born.items():
        end = died.get(i, (NOW, NOW) if alive >> i & 1 else (low + 1, high + 115))
        sure = min(end[0], when.last) - max(high, when.first)
        if sure >= least and (i in died or alive >> i & 1):
            yes |= 1 << i
        elif min(end[1], when.last) - max(low, when.first) < 0:
            no |= 1 << i
    return atom(text, Known(yes, no))


def _apart(how: str, when: Span | None, text: str) -> Query | None:
    """Whose life was over before another began, or began after its end; no where it is the other way round."""
    if when is None:
        return None
    people = knowledge().roots["person"]
    if how == "before":
        yes = numbers("died", lambda year: year < when.first + 10).yes
        no = numbers("born", lambda year: year > when.first).yes
    else:
        yes = numbers("born", lambda year: year > when.last - 10).yes
        no = numbers("died", lambda year: year <= when.last).yes
    return atom(text, Known(yes & people, no & people & ~yes))


def _seen(words: Words, text: str) -> Query | None:
    """Who was born before a time and died after its end; no for who had died before."""
    when = span(words) or _lifetime(words)
    if when is None:
        return None
    into = re.match(
        r"(?:live|survive|stay alive)(?: long enough)? (?:into|to see|until|till)|(?:still )?alive (?:in|when|at)", text
    )
    mark = when.first if into else when.last
    born = numbers("born", lambda year: year < when.first).yes
    wide = bool(into) and when.last > when.first
    late = numbers("died", lambda year: year > mark or (wide and year == mark)).yes | (
        _alive() if mark < NOW - 1 else 0
    )
    return atom(text, Known(born & late, numbers("died", lambda year: year < mark).yes))


# --- in power ---------------------------------------------------------------------------------------------------------

_OFFICES = (
    "president|prime minister|king|queen|emperor|empress|monarch|pope|chancellor|ruler|leader|head of state|pharaoh"
    "|tsar|dictator"
)
_RULING = re.compile(
    rf"(?:be |become |serve as |the |an? |already )*(?P<office>{_OFFICES}|rule|reign|govern|lead|in power"
    rf"|in office|on the throne|in charge)"
    r"(?P<where> (?:of|over) [\w ]+?)?(?: as \w+| (?:his|her) \w+| england| egypt| france| russia| germany"
    r"| britain| rome| america)?"
    r" (?P<how>before|after|in|during|when|from|since|at) (?P<time>.+)"
)


def _ruling(text: str) -> Query | None:
    """As in "president before Obama", "rule in the 19th century", "in power during World War II"."""
    row = _RULING.fullmatch(text)
    if row is None:
        return None
    words, how = row["time"].split(), row["how"]
    when = reign_of(words) or span(words) or span(_named(row["time"]))
    if when is None or (how in ("at", "from", "since") and span(words) is None):
        return None
    known = _in_power("in" if how not in ("before", "after") else how, when)
    office = row["office"] + (row["where"] or "") if row["office"] in _OFFICES.split("|") else ""
    role = asked(f"is:{key(office.split())}") if office else None
    if office and role is None:
        return None
    first = text.split(maxsplit=1)[0] in ("become",)
    if role is None:
        return atom(text, known) if not first else None
    return atom(text, Known(known.yes & role.yes, known.no | role.no & knowledge().roots["person"]))


def _in_power(how: str, when: Span) -> Known:
    yes = no = 0
    for i, terms in reigns().items():
        sure, out = any(_within(term, when) for term in terms), all(_outside(term, when) for term in terms)
        if how == "before":
            sure, out = terms[-1][1] <= when.first, terms[0][0] >= when.first
        elif how == "after":
            sure, out = terms[0][0] >= when.last, terms[-1][1] <= when.last
        yes, no = yes | (1 << i if sure else 0), no | (1 << i if out and not sure else 0)
    return Known(yes, no)


def _within(term: Years, when: Span) -> bool:
    """Whether a term surely touches a time; a century by four years at least."""
    common = min(term[1], when.last) - max(term[0], when.first)
    return common >= (4 if when.last - when.first >= 50 else 0)


def _outside(term: Years, when: Span) -> bool:
    return term[0] > when.last or term[1] < when.first


# --- what was there in a time -----------------------------------------------------------------------------------------

_EXISTING = re.compile(
    r"(?:be )?(?:around|exist|available|used|use|in use|in existence)(?: already)?(?: by people)?"
    r" (in|before|during|when|at) (.+)"
)
_FAMOUS = re.compile(r"(?:be |become )?(?:famous|known|well known)(?: already)? before (.+)")


def _existing(text: str) -> Query | None:
    """What there was in a time, and what was yet to come; fame before a time is no for who was born too late for it."""
    row = _FAMOUS.fullmatch(text)
    if row is not None:
        when = span(row[1].split())
        return _famous(when, text) if when is not None else None
    row = _EXISTING.fullmatch(text)
    if row is None or text.split()[-2:] == ["the", "past"]:
        return None
    when = span(row[2].split())
    if when is None:
        return None
    things = ~(knowledge().roots["person"] | knowledge().roots["event"]) & knowledge().all
    before = numbers("start", lambda year: year < when.first).yes & things
    later = numbers("start", lambda year: year > (when.first if row[1] == "before" else when.last)).yes & things
    lasting = knowledge().roots["place"] | knowledge().roots["organisation"]
    gone = 0 if row[1] == "before" else lasting & ~knowledge().known("still_exists").yes
    lived = _overlap(when, 15, text) if row[1] != "before" and not text.startswith(("use", "avail", "in use")) else None
    people = (lived.yes, lived.no) if lived is not None else (0, 0)
    return atom(text, Known(before & ~gone | people[0], later | people[1]))


def _famous(when: Span, text: str) -> Query:
    """Known early enough for it, or born too late."""
    people = knowledge().roots["person"]
    yes = numbers("died", lambda year: year < when.first - 100).yes
    late = numbers("born", lambda year: year > when.first - 8).yes & ~knowledge().known("royal").yes
    return atom(text, Known(yes & people, late & people))
