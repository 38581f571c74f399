"""What a message puts around its question, and the question inside.

Ours. "Sorry to ask, but ...", "Would you mind telling me whether ...", "Would it be wrong to say that ...", "...,
among other things": the rules of `envs/data/twenty_questions_words.txt` name what is said before and behind a question,
what of it turns the answer round, and what announces a guess. `inside` takes it off; the rest is read as a message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from .wordlists import word_list

Words = Sequence[str]
_DEEPEST = 6
"""Frames that are taken off one after another."""


class Core(NamedTuple):
    """The question inside a message. `denied`: its answer is turned round. `guess`: it is announced as a guess."""

    words: list[str]
    denied: bool
    guess: bool


@cache
def _pattern(name: str, form: str) -> re.Pattern[str]:
    """All the expressions of a list in one; names of other lists in angle brackets stand for their expressions."""
    parts = "|".join(word_list(f"framing.{name}"))
    while (found := re.search(r"<(\w+)>", parts)) is not None:
        inner = "|".join(word_list(f"framing.{found[1]}"))
        parts = f"{parts[: found.start()]}(?:{inner}){parts[found.end() :]}"
    return re.compile(form.format(f"(?:{parts})"))


@cache
def _calls() -> re.Pattern[str]:
    """As in "you would call it a fish"."""
    return _pattern("call", r"^{0} (?:it|this|that|him|her|them|these) (?:as |to be |as being )?(?!home\b)(?=\w)")


def closing(words: Words) -> bool:
    """Whether a sentence says nothing but that the one before it was the question or guess."""
    return _pattern("after", r"^(?:{0})(?: ,)?$").match(" ".join(words).strip(" ,")) is not None


def inside(words: Words) -> Core | None:
    """The question inside a message; None where there is nothing around it.

    >>> inside("would it be wrong to say it is a man".split())
    Core(words=['it', 'is', 'a', 'man'], denied=True, guess=False)
    """
    text = before = " ".join(words)
    denied = guess = False
    for _ in range(_DEEPEST):
        text, start = _opened(text), text
        text, turned = _taken("deny", text)
        text, announced = _taken("guess", text)
        text, closed = _closed(text)
        text, none = _none(_calls().sub("is it ", text))
        denied, guess = denied ^ turned ^ none, guess or announced or closed
        if text == start:
            break
    if text == before or not text:
        return None
    return Core(text.split(), denied, guess)


_NOBODY = re.compile(
    r"^((?:do|does|did|can|could|would|will|should|has|have|had) )?"
    r"(?:nobody|no one|noone|no human|no person)(?: else)? "
)
_NEVER = re.compile(
    r"^(it|he|she|they|this) (?:(has|have|had|is|was|were|did|does|can|could|would|will) )?never (?!to\b)"
)
_LACKING = re.compile(
    r"^(?:(?:is|was) (?:it|he|she|this) without|(?:does|did) (?:it|he|she|this) lack|(?:it|he|she) lacks"
    r"|(?:it|he|she) has no|has no|(?:does|did) (?:it|he|she|this) have no|without|no(?= [a-z]+s$))"
    r" (?!one\b|longer\b|way\b)(?:any )?"
)


def _none(text: str) -> tuple[str, bool]:
    """What is said of nobody asked of people, and what never is asked as such; whether that turns the answer round."""
    found = _NOBODY.match(text)
    if found is not None:
        return f"{found[1] or ''}people {text[found.end() :]}", True
    found = _LACKING.match(text)
    if found is not None:
        return f"does it have {text[found.end() :]}", True
    found = _NEVER.match(text)
    return (f"{found[2] or 'does'} {found[1]} {text[found.end() :]}", True) if found is not None else (text, False)


def _opened(text: str) -> str:
    """Without an aside between commas, and what opens a question."""
    text = _pattern("aside", r" , {0}(?= ,|$)").sub("", text)
    text = _pattern("open", r"^(?:{0}(?: ,)? )+(?=\w)").sub("", text)
    return text.strip(" ,")


def _taken(name: str, text: str) -> tuple[str, bool]:
    found = _pattern(name, r"^{0}(?: ,)? (?=\w)").match(text)
    return (text[found.end() :], True) if found else (text, False)


def _closed(text: str) -> tuple[str, bool]:
    """Without what closes a question, and whether that makes it a guess."""
    found = _pattern("close", r"(?<=\w)(?: ,)? {0}$").search(text)
    text = text[: found.start()] if found else text
    found = _pattern("guessed", r"(?<=\w)(?: ,)? {0}$").search(text)
    if found is None:
        return text.strip(" ,"), False
    return _pattern("asked", r"^{0} (?=\w)").sub("", text[: found.start()]).strip(" ,"), True
