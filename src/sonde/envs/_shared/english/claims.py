"""Claims about the hidden thing in three-valued logic, and columns of knowledge that make claims.

Own design. Kleene's logic on bit masks: bit i stands for the i-th thing that may be hidden; a claim is true of the
things in `yes`, false of those in `no`, and unknown of the rest. A column (numbers, lists) has a value for some of the
things; the claim is unknown of the others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from .tokens import Interval


class Claim(NamedTuple):
    """A claim about the hidden thing. `goal` is the mask of the things that it names as a guess, `named` the number of
    guesses, and `guess` the guessed name; all three are empty for other claims. `unread` marks a claim that is not
    understood; `sides` are the two claims joined by an "or".

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
    def two_sides(self) -> tuple[Claim, Claim] | None:
        """The two sides of "one or the other", if the claim is still their union and neither side is a guess."""
        if len(self.sides) != 2 or self.named or self.unread:
            return None
        a, b = self.sides
        return (a, b) if (a.yes | b.yes, a.no & b.no) == (self.yes, self.no) else None

    @property
    def yes_or_goal(self) -> int:
        """The things for which the answer is yes, including a correct guess."""
        return self.yes | self.goal

    @property
    def known_things(self) -> int:
        return self.yes | self.no | self.goal


EVERYTHING = Claim("anything", -1, 0)
"""True of everything: the meaning of heads like "something"."""


def unread_claim(text: str) -> Claim:
    """A part of a message that is not understood; it does not matter if the rest decides the answer."""
    return Claim(f"? {text}", 0, 0, unread=True)


def negate_claim(q: Claim) -> Claim:
    """The negation; its own inverse.

    >>> negate_claim(negate_claim(Claim("alive", 1, 2))) == Claim("alive", 1, 2)
    True
    """
    text = q.text[4:-1] if q.text.startswith("not(") else f"not({q.text})"
    return Claim(text, q.no, q.yes_or_goal, 0, q.named, unread=q.unread)


def join_all(parts: Iterable[Claim]) -> Claim:
    """The claim that all parts are true; false if one is false. "A bug that is no insect" means another kind of bug, so
    a contradiction is unknown of everything.

    >>> join_all([Claim("a", 0b011, 0b100), Claim("b", 0b001, 0b010)])[:3]
    ('and(a, b)', 1, 6)
    """
    rows = list({q.text: q for q in parts}.values())
    texts = {q.text for q in rows}
    if any(f"not({text})" in texts for text in texts):
        return _join_claims("and", rows, 0, 0)
    yes, no = -1, 0
    for q in rows:
        yes, no = yes & q.yes_or_goal, no | q.no
    return _join_claims("and", rows, yes, no)


def join_any(parts: Iterable[Claim]) -> Claim:
    """The claim that at least one part is true; false if all are false."""
    rows = list({q.text: q for q in parts}.values())
    yes, no = 0, -1
    for q in rows:
        yes, no = yes | q.yes_or_goal, no & q.no
    return _join_claims("or", rows, yes, no)


def _join_claims(word: str, rows: list[Claim], yes: int, no: int) -> Claim:
    if len(rows) == 1:
        return rows[0]
    text = f"{word}({', '.join(sorted(q.text for q in rows))})"
    sides = tuple(rows) if word == "or" else ()
    return Claim(text, yes, no, 0, sum(q.named for q in rows), unread=any(q.unread for q in rows), sides=sides)


def strengthen_claim(q: Claim, how: str) -> Claim:
    """Ask for more than the fact ("always", "only", "very"): where the fact is true, the stronger claim is unknown."""
    return q._replace(text=f"{how}({q.text})", yes=0)


def weaken_claim(q: Claim, how: str) -> Claim:
    """Ask for less ("sometimes"): where the fact is false as a rule, there may be exceptions, so the claim is
    unknown."""
    return q._replace(text=f"{how}({q.text})", no=0)


def fill_unknown(q: Claim, other: Claim) -> Claim:
    """Use a second claim where the first is unknown: a fact adds knowledge and never overrides."""
    open_ = ~q.known_things
    return q._replace(yes=q.yes | other.yes_or_goal & open_, no=q.no | other.no & open_)


def merge_readings(a: Claim | None, b: Claim | None) -> Claim | None:
    """Combine two readings of the same words; each answers where the other is unknown or agrees."""
    if a is None or b is None or a == b:
        return a or b
    yes, no, goal = a.yes | b.yes & ~a.no, a.no & ~b.yes | b.no & ~a.yes, a.goal | b.goal
    text = a.text if a.text == b.text else f"{a.text} else {b.text}"
    return Claim(text, yes & ~goal, no & ~goal & ~yes, goal, max(a.named, b.named), a.guess or b.guess)


Range = tuple[float, float]


class Numbers:
    """A number for each thing that has one, or a range if it is known approximately."""

    def __init__(self, rows: Mapping[int, Range], doubt: float = 1.0) -> None:
        """`doubt` is the factor by which a value may be off in comparisons."""
        self.rows, self._doubt = rows, doubt
        self._by_value: dict[Range, int] = {}
        for i, (low, high) in rows.items():
            self._by_value[low, high] = self._by_value.get((low, high), 0) | 1 << i

    @property
    def known_things(self) -> int:
        return union_masks(self._by_value.values())

    def claim_within(self, asked: Interval, text: str) -> Claim:
        """The claim that the number is in an interval.

        >>> Numbers({0: (5, 5), 1: (7, 9), 2: (1, 2)}).claim_within(Interval(6, 10), "size")[:3]
        ('size 6..10', 2, 5)
        """
        yes = no = 0
        for (low, high), things in self._by_value.items():
            inside = asked.contains_range(*_widen_range(low, high, self._doubt))
            if inside is not None:
                yes, no = (yes | things, no) if inside else (yes, no | things)
        return Claim(f"{text} {asked.low:g}..{asked.high:g}", yes, no)

    def common_value(self, things: int) -> Range | None:
        """The number of these things, if all have the same."""
        held = {value for value, mask in self._by_value.items() if mask & things}
        return held.pop() if len(held) == 1 else None


def _widen_range(low: float, high: float, doubt: float) -> Range:
    """A range widened by the doubt about it."""
    return (low / doubt if low > 0 else low * doubt), (high * doubt if high > 0 else high / doubt)


class Lists:
    """A list of values for each thing that has one: its countries, its occupations."""

    def __init__(self, rows: Mapping[int, Iterable[str]]) -> None:
        self._masks: dict[str, int] = {}
        self.known_things = self.several = 0
        for i, values in rows.items():
            held = tuple(values)
            self.known_things |= 1 << i
            self.several |= (len(held) > 1) << i
            for value in held:
                self._masks[value] = self._masks.get(value, 0) | 1 << i

    @property
    def known_values(self) -> Collection[str]:
        return self._masks.keys()

    def things_having(self, value: str) -> int:
        return self._masks.get(value, 0)


def union_masks(masks: Iterable[int]) -> int:
    """The union of several masks."""
    found = 0
    for mask in masks:
        found |= mask
    return found
