"""What is asked, as a value: of which hidden things it is true, and of which it is false, in three-valued logic.

Ours. Kleene's logic on bit masks: bit i stands for the i-th thing that may be hidden; `yes` are those of which a claim
is true, `no` those of which it is false, and of the rest it is not known.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Claim(NamedTuple):
    """A claim about the hidden thing. `goal` are the things that it names as a guess, `named` how many guesses it
    makes, and `guess` the name that is guessed; all three are empty for claims about anything else. `unread` marks what
    is not understood; `sides` are the two claims that an "or" joins.

    >>> Claim("alive", 0b01, 0b10).yes
    1
    """

    text: str
    yes: int
    no: int
    goal: int = 0
    named: int = 0
    guess: str = ""
    unread: bool = False
    sides: tuple[Claim, ...] = ()

    @property
    def choice(self) -> tuple[Claim, Claim] | None:
        """The two sides of "one or the other", where nothing has changed what they come to, and neither is a guess."""
        if len(self.sides) != 2 or self.named or self.unread:
            return None
        a, b = self.sides
        return (a, b) if (a.yes | b.yes, a.no & b.no) == (self.yes, self.no) else None

    @property
    def true(self) -> int:
        """Where the answer is yes, a right guess included."""
        return self.yes | self.goal

    @property
    def known(self) -> int:
        return self.yes | self.no | self.goal


EVERYTHING = Claim("anything", -1, 0)
"""True of all: what heads like "something" say."""


def not_read(text: str) -> Claim:
    """A part of a message that is not understood: where the rest decides, it does not matter."""
    return Claim(f"? {text}", 0, 0, unread=True)


def negated(q: Claim) -> Claim:
    """The opposite; twice is nothing.

    >>> negated(negated(Claim("alive", 1, 2))) == Claim("alive", 1, 2)
    True
    """
    text = q.text[4:-1] if q.text.startswith("not(") else f"not({q.text})"
    return Claim(text, q.no, q.true, 0, q.named, unread=q.unread)


def all_of(parts: Iterable[Claim]) -> Claim:
    """True where all are, false where one is. "A bug that is no insect": who says so means another kind of bug, so that
    nothing is known of it.

    >>> all_of([Claim("a", 0b011, 0b100), Claim("b", 0b001, 0b010)])[:3]
    ('and(a, b)', 1, 6)
    """
    rows = list({q.text: q for q in parts}.values())
    texts = {q.text for q in rows}
    if any(f"not({text})" in texts for text in texts):
        return _joined("and", rows, 0, 0)
    yes, no = -1, 0
    for q in rows:
        yes, no = yes & q.true, no | q.no
    return _joined("and", rows, yes, no)


def any_of(parts: Iterable[Claim]) -> Claim:
    """True where one is, false where none is."""
    rows = list({q.text: q for q in parts}.values())
    yes, no = 0, -1
    for q in rows:
        yes, no = yes | q.true, no & q.no
    return _joined("or", rows, yes, no)


def _joined(word: str, rows: list[Claim], yes: int, no: int) -> Claim:
    if len(rows) == 1:
        return rows[0]
    text = f"{word}({', '.join(sorted(q.text for q in rows))})"
    sides = tuple(rows) if word == "or" else ()
    return Claim(text, yes, no, 0, sum(q.named for q in rows), unread=any(q.unread for q in rows), sides=sides)


def strong(q: Claim, how: str) -> Claim:
    """Asks for more than the fact ("always", "only", "very"): where it is true, that is not known."""
    return q._replace(text=f"{how}({q.text})", yes=0)


def weak(q: Claim, how: str) -> Claim:
    """Asks for less ("sometimes"): where it is false as a rule, there may be exceptions."""
    return q._replace(text=f"{how}({q.text})", no=0)


def filled(q: Claim, other: Claim) -> Claim:
    """What one claim says, and another where the first does not know: a fact adds, it never shadows."""
    open_ = ~q.known
    return q._replace(yes=q.yes | other.true & open_, no=q.no | other.no & open_)


def either(a: Claim | None, b: Claim | None) -> Claim | None:
    """Two readings of the same words, each of which answers where the other does not know or says the same."""
    if a is None or b is None or a == b:
        return a or b
    yes, no, goal = a.yes | b.yes & ~a.no, a.no & ~b.yes | b.no & ~a.yes, a.goal | b.goal
    text = a.text if a.text == b.text else f"{a.text} else {b.text}"
    return Claim(text, yes & ~goal, no & ~goal & ~yes, goal, max(a.named, b.named), a.guess or b.guess)
