"""Questions in plain English: one for every attribute, and other words for the same.

Ours. The phrases of the lexicon, put into the frames in which people ask. Every one of them is read back by the parser;
`phrasings` gives only those that are understood as the same query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache

from .knowledge import blocks, knowledge
from .room import declared, read, sense

_MOST = 12
"""Ways to ask one question."""


@cache
def _frames() -> Mapping[str, Sequence[str]]:
    """The blocks of `data/asking.txt`."""
    return blocks("asking")


def spoken(frame: str, words: str) -> Iterator[str]:
    gapped = _with_it(words)
    for form in _frames().get("is" if frame == "adj" else frame, ()):
        yield form.format(words, gapped)


def _with_it(words: str) -> str:
    """A verb phrase with the thing put behind its verb, or behind a final preposition."""
    verb, _, rest = words.partition(" ")
    if words.endswith((" on", " in", " with", " from", " into", " inside", " for")):
        return f"{words} it"
    return f"{verb} it {rest}".strip()


@cache
def wordings() -> Mapping[str, Sequence[tuple[str, str]]]:
    """The plainest question of every attribute and class -> the frames and words in which it can be asked."""
    found: dict[str, list[tuple[str, str]]] = {}
    for names in knowledge().classes.values():
        _add(found, [("is", _article(name) + name) for name in names[:1]])
    for line in declared():
        split = (p.partition(" ") for p in line.spelled() if "<" not in p)
        _add(found, [(frame, words) for frame, _, words in split if frame in (*_frames(), "adj")])
    return found


def _add(found: dict[str, list[tuple[str, str]]], rows: list[tuple[str, str]]) -> None:
    if rows:
        question = next(spoken(*rows[0]))
        found.setdefault(question, []).extend(rows)


def _article(noun: str) -> str:
    if noun.startswith(("something", "the ", "part ")):
        return ""
    return "an " if noun[0] in "aeiou" else "a "


@cache
def questions() -> Sequence[str]:
    """A question for everything that can be asked, in the order of the files; none asks the same as another."""
    found: dict[object, str] = {}
    for text in (*wordings(), *_frames()["plain"]):
        claim = read(text).claim
        if claim is not None and claim.yes and claim.no and not claim.named:
            found.setdefault(sense(text), text)
    return tuple(found.values())


@lru_cache(maxsize=4096)
def phrasings(question: str) -> Sequence[str]:
    """Ways to ask what a question asks, itself first; all of them are understood as the same."""
    asked, found = sense(question), {question: None}
    for frame, words in (*wordings().get(question, ())[:6], *_statement(question)):
        found |= {text: None for text in spoken(frame, words) if sense(text) == asked}
        if len(found) >= _MOST:
            break
    for lead in _frames()["leads"]:
        text = lead.format(question[:1].lower() + question[1:])
        if len(found) < _MOST and sense(text) == asked:
            found[text] = None
    return tuple(found)


def _statement(question: str) -> Sequence[tuple[str, str]]:
    """The frame of a question that is on no line."""
    if question.startswith("Is it "):
        return [("is", question[6:-1])]
    return [("does", question[8:-1])] if question.startswith("Does it ") else []
