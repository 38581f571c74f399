"""Guesses of things that are no topics: "is it a loon", "is it Frosty the Snowman".

Ours. The things are on the lines of `envs/data/twenty_questions_others.txt`, which
`data/build/twenty_questions/compile_others.py` writes and explains: what is asked of a topic that is neither such a
thing nor possibly meant by it is false. Read at the first name that nothing else knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from .queries import Query
from .topics import knowledge, name_key


class _Others(NamedTuple):
    """Name, as `name_key` writes it -> its line; and the masks that lines share."""

    lines: Mapping[str, str]
    bases: Sequence[int]


@cache
def _others() -> _Others:
    text = files("sonde.envs").joinpath("data", "twenty_questions_others.txt").read_text("utf-8")
    lines, bases = dict[str, str](), list[int]()
    for line in text.splitlines():
        if line.startswith("= "):
            bases.append(int(line[2:], 16))
        else:
            lines[name_key(line.partition("|")[0])] = line
    return _Others(lines, bases)


def guessed(words: Sequence[str], article: bool) -> Query | None:
    """The guess of a thing that is no topic. A word that may be an adjective is one only with an article.

    >>> guessed(["loon"], article=True).no & 1
    1
    """
    line = _others().lines.get(name_key(" ".join(words)))
    if line is None:
        return None
    name, flag, base, yes, unsure = line.split("|")
    if flag and not article:
        return None
    true, open_ = _mask(yes), _mask(unsure) | _others().bases[int(base)]
    return Query(f"it={name}", true, knowledge().all & ~true & ~open_, 0, 1)


def _mask(numbers: str) -> int:
    return sum(1 << int(n) for n in numbers.split())
