"""Questions in plain English: one for every attribute, and other words for the same.

Ours. The phrases of the lexicon, put into the frames in which people ask. Every one of them is read back by the parser;
`phrasings` gives only those that are understood as the same query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache

from .knowledge import knowledge
from .room import declared, read, sense

_FRAMES: Mapping[str, Sequence[str]] = {
    "is": (
        "Is it {0}?",
        "Would you say it is {0}?",
        "Is this {0}?",
        "Is the thing you are thinking of {0}?",
        "Is it something that is {0}?",
        "I wonder if it is {0}?",
        "Can you tell me if it is {0}?",
    ),
    "has": (
        "Does it have {0}?",
        "Has it got {0}?",
        "Is it something that has {0}?",
        "Does this have {0}?",
        "Would you say it has {0}?",
        "Is it something with {0}?",
    ),
    "does": (
        "Does it {0}?",
        "Can you tell me if it does {0}?",
        "Does this {0}?",
        "Would it {0}?",
        "Does the thing you are thinking of {0}?",
        "Is it true that it does {0}?",
    ),
    "ob": (
        "Do people {1}?",
        "Can you {1}?",
        "Would you {1}?",
        "Is it something that people {0}?",
        "Is it something you can {0}?",
        "Could someone {1}?",
    ),
    "for": (
        "Is it used to {0}?",
        "Is it used for {0}?",
        "Is its main purpose to {0}?",
        "Do people use it to {0}?",
        "Is it something used to {0}?",
        "Would you use it to {0}?",
    ),
    "at": (
        "Is it found {0}?",
        "Would you find it {0}?",
        "Is it something you find {0}?",
        "Can it be found {0}?",
        "Is this usually found {0}?",
        "Could you find it {0}?",
    ),
    "rel": (
        "Is it related to {0}?",
        "Does it have anything to do with {0}?",
        "Is it associated with {0}?",
        "Is this connected with {0}?",
        "Does it have to do with {0}?",
        "Is it something related to {0}?",
    ),
    "known": (
        "Is it known for {0}?",
        "Is this person known for {0}?",
        "Is it famous for {0}?",
        "Would you say it is known for {0}?",
        "Is this person famous for {0}?",
        "Is it someone known for {0}?",
    ),
    "made": (
        "Is it made of {0}?",
        "Is it usually made of {0}?",
        "Is this made out of {0}?",
        "Is it something made of {0}?",
        "Would you say it is made of {0}?",
        "Is it mainly made from {0}?",
    ),
}
_EXTRA = (
    "Is it bigger than a car?",
    "Is it bigger than a person?",
    "Is it bigger than a cat?",
    "Is it bigger than a hand?",
    "Is it bigger than a house?",
    "Is it smaller than a coin?",
    "Does it weigh more than 1 kg?",
    "Does it weigh more than 50 kg?",
    "Was this person born before 1900?",
    "Was this person born before 1800?",
    "Did this person live in the 20th century?",
    "Was this person born after 1950?",
    "Is it in Europe?",
    "Is it in Asia?",
    "Is it in Africa?",
    "Is it in North America?",
    "Is it in South America?",
    "Is it in the United States?",
    "Is it in the United Kingdom?",
    "Is it in France?",
    "Is it in Germany?",
    "Is it in Italy?",
    "Is it in Russia?",
    "Did it happen before 1900?",
    "Did it happen before 1800?",
    "Did it happen after 1950?",
    "Does it start with a vowel?",
    "Does its name have more than five letters?",
    "Does its name have more than seven letters?",
    "Is its name one word?",
    *(f"Does it start with the letter {c}?" for c in "ABCDEFGHIJKLMNOPRSTVW"),
)


def _spoken(frame: str, words: str) -> Iterator[str]:
    gapped = _with_it(words)
    for form in _FRAMES.get("is" if frame == "adj" else frame, ()):
        yield form.format(words, gapped)


def _with_it(words: str) -> str:
    """A verb phrase with the thing put behind its verb, or behind a final preposition."""
    verb, _, rest = words.partition(" ")
    if words.endswith((" on", " in", " with", " from", " into", " inside", " for")):
        return f"{words} it"
    return f"{verb} it {rest}".strip()


@cache
def _lines() -> Mapping[str, Sequence[tuple[str, str]]]:
    """The plainest question of every attribute and class -> the frames and words in which it can be asked."""
    found: dict[str, list[tuple[str, str]]] = {}
    for names in knowledge().classes.values():
        _add(found, [("is", _article(name) + name) for name in names[:1]])
    for line in declared():
        split = (p.partition(" ") for p in line.spelled() if "<" not in p)
        _add(found, [(frame, words) for frame, _, words in split if frame in (*_FRAMES, "adj")])
    return found


def _add(found: dict[str, list[tuple[str, str]]], rows: list[tuple[str, str]]) -> None:
    if rows:
        question = next(_spoken(*rows[0]))
        found.setdefault(question, []).extend(rows)


def _article(noun: str) -> str:
    if noun.startswith(("something", "the ", "part ")):
        return ""
    return "an " if noun[0] in "aeiou" else "a "


@cache
def questions() -> Sequence[str]:
    """A question for everything that can be asked, in the order of the files; none asks the same as another."""
    found: dict[object, str] = {}
    for text in (*_lines(), *_EXTRA):
        claim = read(text).claim
        if claim is not None and claim.yes and claim.no and not claim.named:
            found.setdefault(sense(text), text)
    return tuple(found.values())


@lru_cache(maxsize=4096)
def phrasings(question: str) -> Sequence[str]:
    """Ways to ask what a question asks, itself first; all of them are understood as the same."""
    asked, found = sense(question), {question: None}
    for frame, words in (*_lines().get(question, ())[:6], *_statement(question)):
        found |= {text: None for text in _spoken(frame, words) if sense(text) == asked}
        if len(found) >= _MOST:
            break
    for lead in _LEADS:
        text = lead.format(question[:1].lower() + question[1:])
        if len(found) < _MOST and sense(text) == asked:
            found[text] = None
    return tuple(found)


_MOST = 12
_LEADS = ("Okay, {0}", "Thanks! Next question: {0}", "Can you tell me: {0}", "So, {0}", "My next question: {0}")


def _statement(question: str) -> Sequence[tuple[str, str]]:
    """The frame of a question that is on no line."""
    if question.startswith("Is it "):
        return [("is", question[6:-1])]
    return [("does", question[8:-1])] if question.startswith("Does it ") else []
