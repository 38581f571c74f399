"""Questions about topics as values: what they ask, in a canonical form, and their true answers in three-valued logic.

Ours. Kleene's logic on masks: `yes` are the topics of which it is true, `no` those of which it is false, of the rest it
is not known. Equal questions have equal texts whatever their words: what is true of the same topics is one attribute.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from .topics import Known, knowledge


class Query(NamedTuple):
    """A question. `goal` are the topics that it names as a guess, `named` how many guesses it makes, and `guess` the
    name that is guessed; all three are empty for questions about anything else.

    >>> Query("alive", 0b01, 0b10).yes
    1
    """

    text: str
    yes: int
    no: int
    goal: int = 0
    named: int = 0
    guess: str = ""

    @property
    def true(self) -> int:
        """Where the answer is yes, a right guess included."""
        return self.yes | self.goal


@cache
def _canonical() -> Mapping[Known, str]:
    """What is true and false of which topics -> the first attribute of which that is so."""
    knows = knowledge()
    found: dict[Known, str] = {}
    for name in knows.attributes:
        found.setdefault(knows.known(name), name)
    return found


def atom(text: str, known: Known) -> Query:
    """A question about one fact. What is true and false of the same topics as an attribute has the attribute's text."""
    if known.yes and known.no:
        text = _canonical().get(known, text)
    return Query(text, known.yes, known.no)


@cache
def attribute(name: str) -> Query:
    """Whether an attribute is true."""
    return atom(name, knowledge().known(name))


def negated(q: Query) -> Query:
    """The opposite; twice is nothing.

    >>> negated(negated(Query("alive", 1, 2)))
    Query(text='alive', yes=1, no=2, goal=0, named=0, guess='')
    """
    text = q.text[4:-1] if q.text.startswith("not(") else f"not({q.text})"
    return Query(text, q.no, q.true, 0, q.named)


def all_of(parts: Iterable[Query]) -> Query:
    """True where all are, false where one is. "A bug that is no insect": who says so means another kind of bug."""
    rows = _flat("and", parts)
    texts = {q.text for q in rows}
    if any(f"not({text})" in texts for text in texts):
        return _joined("and", rows, 0, 0)
    yes, no = -1, 0
    for q in rows:
        yes, no = yes & q.true, no | q.no
    return _joined("and", rows, yes, no)


def any_of(parts: Iterable[Query]) -> Query:
    """True where one is, false where none is."""
    rows = _flat("or", parts)
    yes, no = 0, -1
    for q in rows:
        yes, no = yes | q.true, no & q.no
    return _joined("or", rows, yes, no)


def _flat(word: str, parts: Iterable[Query]) -> list[Query]:
    return list({q.text: q for q in parts}.values())


def _joined(word: str, rows: list[Query], yes: int, no: int) -> Query:
    if len(rows) == 1:
        return rows[0]
    text = f"{word}({', '.join(sorted(q.text for q in rows))})"
    return Query(text, yes, no, 0, sum(q.named for q in rows))


def strong(q: Query, how: str) -> Query:
    """Asks for more than the fact ("always", "only", "very"): where it is true, that is not known."""
    return q._replace(text=f"{how}({q.text})", yes=0, goal=q.goal)


def weak(q: Query, how: str) -> Query:
    """Asks for less ("sometimes"): where it is false as a rule, there may be exceptions."""
    return q._replace(text=f"{how}({q.text})", no=0)
