"""The record that the words of a message point at, where it is not called by its name: "who called on the order line?".

Source: ours; see `reading`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from . import patterns as pattern
from .cases import Frame
from .lexicon import lexicon
from .tokens import RECORDED, stem

_TOLD = re.compile(r"\bwh\w+ (?:he|she|they) (?!wrote|noted|recorded|signed)")
"""What somebody remembers or says is in no record."""


def pointed_at(frame: Frame, words: Iterable[str], said: str, rest: str) -> str:
    """The id of the only record that shares most words with a message; "" if there is none. `words` are all of its
    tokens, `said` is its template so far, and `rest` the part of it that is looked at."""
    named = [m for m in rest.split() if m == "@x" or stem(m) in RECORDED]
    if not named and (not pattern.NOTED.search(rest) or _TOLD.search(rest)):
        return ""
    spoken = {stem(w) for w in words} - RECORDED
    places = {m[1:] for m in re.findall(r"@l\d", said)}
    scores = {r: _score(frame, r, spoken, places) for r in range(len(frame.records))}
    best = max(scores.values())
    top = [r for r, s in scores.items() if s == best]
    return f"r{top[0]}" if best > 0 and len(top) == 1 else ""


def _score(frame: Frame, number: int, spoken: Iterable[str], places: Iterable[str]) -> float:
    """How much a message has in common with a record: words of its name, and half a point for its place."""
    record = frame.records[number]
    if record.kind == "bystander":
        return 0.0
    entry = next(e for e in lexicon(frame).entries if e.mark == f"@r{number}")
    return len(set(entry.words) & set(spoken)) + 0.5 * (f"l{record.place}" in places)
