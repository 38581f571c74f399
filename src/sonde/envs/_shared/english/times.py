"""Parse times into intervals of years: "in the 19th century", "before World War II", "more than 100 years ago".

Own design. A conversation may add its own names of times (`Times.named`). Years BCE are negative; `now` is the year in
which the knowledge was written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from .tokens import Interval, parse_amount, parse_interval, word_list, word_set

Words = Sequence[str]

_AGES: Mapping[str, Interval] = {
    name: Interval(float(first), float(last))
    for first, last, names in (row.split(" ", 2) for row in word_list("ages"))
    for name in names.split("|")
}
_DECADES = ("twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties")
_UNITS = {"year": 1, "years": 1, "decade": 10, "decades": 10, "century": 100, "centuries": 100, "millennia": 1000}
_DROPPED = word_set("time_dropped")
_IN = frozenset(("in", "during", "from", "within", "throughout", "around", "at", "over", "back"))
_RELATION = {
    "before": "<",
    "until": "<",
    "till": "<",
    "prior": "<",
    "earlier": "<",
    "sooner": "<",
    "by": "<",
    "after": ">",
    "since": ">=",
    "later": ">",
    "following": ">",
    "post": ">",
    "past": ">",
    "pre": "<",
}


class Times:
    """A reader of times. `named` gives the years of names outside the closed word lists ("the death of Caesar")."""

    def __init__(self, now: int, named: Callable[[str], Interval | None] = lambda name: None) -> None:
        self.now, self._named = now, named

    def parse_time(self, words: Words) -> Interval | None:
        """The years of a phrase with its preposition.

        >>> years = Times(2025).parse_time
        >>> years("before 1900".split()), years("in the 19th century".split()), years("since 1950".split())
        (Interval(low=-inf, high=1899.0), Interval(low=1801.0, high=1900.0), Interval(low=1950.0, high=inf))
        >>> years("more than 100 years ago".split()), years("in the last 50 years".split())
        (Interval(low=-inf, high=1925.0), Interval(low=1975.0, high=2025))
        >>> years("in the kitchen".split()) is None
        True
        """
        words = [w for w in words if w != ","]
        if words[-1:] == ["ago"]:
            return self._parse_ago(words[:-1])
        if words[:1] == ["between"] or words[:2] == ["in", "between"]:
            return self._parse_between(words[words.index("between") + 1 :], "and")
        if words[:1] == ["from"] and (joint := next((w for w in ("to", "until", "through") if w in words), "")):
            return self._parse_between(words[1:], joint)
        sense, rest = self._parse_relation(words)
        found = self.parse_span(rest) if sense and rest else None
        return None if found is None else self._apply_relation(sense, found)

    def _parse_relation(self, words: Words) -> tuple[str, Words]:
        sense = ""
        while words and (words[0] in _RELATION or words[0] in _IN or words[0] in ("than", "to", "well", "shortly")):
            sense = _RELATION.get(words[0], sense or ("=" if words[0] in _IN else ""))
            words = words[1:]
        return sense, words

    def _apply_relation(self, sense: str, found: Interval) -> Interval:
        if sense == "<":
            return Interval(-math.inf, found.low - 1)
        if sense == ">=":
            return Interval(found.low, math.inf)
        return Interval(found.high + (found.high > found.low or 1) * 1, math.inf) if sense == ">" else found

    def _parse_between(self, words: Words, joint: str) -> Interval | None:
        at = next((i for i, w in enumerate(words) if w == joint), 0)
        first, last = (self.parse_span(words[:at]), self.parse_span(words[at + 1 :])) if at else (None, None)
        return Interval(first.low, last.high) if first is not None and last is not None else None

    def _parse_ago(self, words: Words) -> Interval | None:
        unit = _UNITS.get(words[-1]) if words else None
        found = parse_interval(words[:-1]) if unit and len(words) > 1 else None
        if found is None or not unit or found.low == found.high:
            return None
        low, high = (round(n, 6) if math.isfinite(n) else n for n in found)
        return Interval(self.now - high * unit, self.now - low * unit)

    def parse_span(self, words: Words) -> Interval | None:
        """The years of "1900", "the 19th century", "the 1960s", "World War II", "the last 50 years"."""
        words = list(words)
        own = self._named(" ".join(w for w in words if w not in ("the", "a")))
        bare = [w for w in words if w not in _DROPPED] if own is None else []
        found = own or _AGES.get(" ".join(bare)) or self._parse_recent(bare, words) or _parse_date(bare)
        part = next((w for w in words[:2] if w in ("early", "late")), "")
        if found is None or not part or found.low == found.high:
            return found
        half = (found.low + found.high) / 2
        return Interval(found.low, half) if part == "early" else Interval(half, found.high)

    def _parse_recent(self, bare: Words, words: Words) -> Interval | None:
        """As in "last 200 years", "past century"; "last century" is the twentieth."""
        if not bare or bare[0] not in ("last", "past", "recent"):
            return None
        if list(bare) == ["last", "century"]:
            return Interval(1901, 2000)
        unit = _UNITS.get(words[-1], 0)
        many = [w for w in bare[1:] if w not in _UNITS and w not in ("few", "couple")]
        n = parse_amount(many) if many else 1.0
        return Interval(self.now - n * unit, self.now) if unit and n is not None else None


def _parse_date(words: Words) -> Interval | None:
    """A year, or a decade or century by its number."""
    past = bool(words) and words[-1] in ("bc", "bce")
    words = [w for w in words if w not in ("bc", "bce", "ad", "ce", "century", "centuries")] if words else []
    if len(words) != 1:
        return None
    found = _parse_century(words[0]) or _parse_year(words[0])
    return Interval(-found.high, -found.low) if found is not None and past else found


def _parse_century(word: str) -> Interval | None:
    ordinals = {name: n for n, name in enumerate(word_list("ordinals"), 1)}
    n = ordinals.get(word) or (int(word[:-2]) if word[:-2].isdecimal() and word[-2:] in ("st", "nd", "rd", "th") else 0)
    return Interval(100.0 * n - 99, 100.0 * n) if 0 < n < 30 else None


def _parse_year(word: str) -> Interval | None:
    if word.isdecimal() and len(word) <= 4:
        return Interval(float(word), float(word))
    if word[:-1].isdecimal() and word.endswith("0s") and len(word) == 5:
        return Interval(float(word[:-1]), float(word[:-1]) + 9)
    return Interval(n := 1920.0 + 10 * _DECADES.index(word), n + 9) if word in _DECADES else None
