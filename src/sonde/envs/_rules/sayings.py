"""What is known of single topics in so many words: "is eaten by whales", "is blown by referees".

Ours. `data/build/twenty_questions/sayings.txt` has a line for each topic, with statements that are true of it and near
misses that are not; `compile_sayings.py` beside it brings them into the form of `sayings_form.py`. A question asks for
less than a statement if all its words are in it, and for more if it has all of its words: so it is true of a topic if
it asks for no more than something true, and false if it asks for no less than something false. Of all other topics it
is not known.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from .queries import Query, attribute
from .sayings_form import PAST, Form, question
from .topics import knowledge


def said(words: Sequence[str]) -> Query | None:
    """What a question about single topics comes to; None if it is not understood or of no topic it is known."""
    form = question(words)
    if not form or form == {PAST}:
        return None
    yes, no = known(form)
    return Query(f"said({' '.join(sorted(form))})", yes & ~no, no & ~yes) if yes != no else None


def known(form: Form) -> tuple[int, int]:
    """Of which topics a question in its form is true and false."""
    kinds = [word for word in form if word.endswith("=") and word[:-1] in knowledge().attributes]
    yes = _weaker(form)
    for word in kinds if len(form - {PAST}) > 1 else ():
        yes |= _weaker(form - {word}) & attribute(word[:-1]).yes
    return yes, _stronger(form)


def _weaker(form: Form) -> int:
    """The topics with a true statement that has all these words. What was so need not be so now."""
    words = form - {PAST}
    found, *others = sorted((_having(word) for word in words), key=len)
    for other in others:
        found = found & other
    if PAST not in form:
        found = found - _having(PAST)
    if len(words) == 1:
        found = _bare(next(iter(words)), found)
    of: Sequence[int] = _data()["of"]
    topic = _topics()
    return _union(topic[n] for n in {of[i] for i in found})


@cache
def _having(word: str) -> frozenset[int]:
    """The true statements that have a word."""
    return frozenset(i for like in _like(word) for i in _data()["true"].get(like, ()))


def _bare(word: str, found: frozenset[int]) -> frozenset[int]:
    """Those that say what a single word asks, and not something narrower: "flies kites", "is thrown out"."""
    if word.endswith("!"):
        return found.intersection(_data()["alone"])
    return found.difference(_data()["particle"]) if word.endswith("~") else found


def _stronger(form: Form) -> int:
    """The topics with a false statement whose words the question has all. Each is listed under one of its words."""
    near = {w for word in form for w in (word, word[:-1])}
    rows: list[tuple[int, str]] = [row for word in near for row in _data()["false"].get(word, ())]
    topic, now = _topics(), PAST not in form
    return _union(topic[i] for i, rest in rows if (PAST in rest.split()) != now and _all(form, rest.split()))


def _all(form: Form, words: Sequence[str]) -> bool:
    return all(not form.isdisjoint(_like(word)) for word in words)


def _like(word: str) -> Sequence[str]:
    """How a word may be tagged in a text that says it too."""
    if word == "need!":
        return "need!", "have!"
    return (word,) if word[-1] in "~^!=@" else (word, f"{word}@", f"{word}!")


def _union(masks: Iterable[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found


@cache
def _topics() -> Sequence[int]:
    """The bit of every topic of the file."""
    return [1 << knowledge().index[name] for name in _data()["topics"]]


@cache
def _data() -> Mapping[str, Any]:
    """`topics` by number; `true`: word -> the statements that have it, `of` which topics they are, `alone` those of one
    word, `particle` those with one like "out"; `false`: word -> topic and the statement's other words."""
    return json.loads(files("sonde.envs").joinpath("data", "twenty_questions_sayings.json").read_text("utf-8"))
