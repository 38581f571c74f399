"""Parse a command, in time linear in its length: a verb and its objects, in any common wording."""

from __future__ import annotations

from functools import lru_cache
from re import compile as pattern
from typing import NamedTuple

from .._shared.answer import parse_answer

_LONGEST = 200
"""Maximum length of a command in characters."""


class Command(NamedTuple):
    """`Command("put", "stale food", "fridge")`: the verb, the direction or thing, and where from or where to."""

    verb: str
    thing: str = ""
    target: str = ""


_WAYS = {"n": "north", "e": "east", "s": "south", "w": "west"}
_WAY = {**_WAYS, **{way: way for way in _WAYS.values()}}
_ALONE = {
    **{word: Command("look") for word in ("look", "look around", "l")},
    **{word: Command("inventory") for word in ("inventory", "i")},
    **{start + word: Command("go", way) for word, way in _WAY.items() for start in ("", "go ", "walk ", "move ")},
}
_TO_ONE = {
    "open": "open", "close": "close", "shut": "close", "drop": "drop", "put down": "drop",
    "examine": "examine", "look at": "examine", "x": "examine", "take": "take", "get": "take", "pick up": "take",
    "eat": "eat",
}  # fmt: skip
_MARKS = str.maketrans(dict.fromkeys('*_`"“”', ""))
"""Characters that may surround a name without being part of it."""
_ARTICLES = pattern(r"\b(?:the|a|an) ")
_ONE = pattern(rf"({'|'.join(_TO_ONE)}) (.+)")
_FROM = pattern(r"(?:take|get|pick up|remove) (.+?) (?:from|off|out of) (.+)")
_PUT = pattern(r"(?:put|place|insert|set) (.+?) (?:on top of|into|inside|in|onto|on) (.+)")
WORDS = frozenset(
    ("a", "an", "at", "down", "from", "in", "inside", "into", "of", "off", "on", "onto", "out", "the", "up")
)  # fmt: skip
"""Words that no name may contain, so that every command is unambiguous."""


def read_command(text: str) -> Command | None:
    """The command in a reply, None if there is none: the text after the last thinking, or its answer tags, must be
    exactly one command, ignoring case and frame.

    >>> read_command("<think>look?</think> Put the plate on the table."), read_command("go east, then take the plate")
    (Command(verb='put', thing='plate', target='table'), None)
    """
    return parse_answer(text, _parse_command, _is_unfinished, bare=True)


def _parse_command(answer: str) -> Command | None:
    return _read_command(answer) if len(answer) <= _LONGEST else None


def _is_unfinished(command: Command) -> bool:
    """Whether a command may be unfinished: names have several words, and another object may follow."""
    return bool(command.thing) and command.verb != "go"


@lru_cache(maxsize=1 << 12)
def _read_command(said: str) -> Command | None:
    said = _ARTICLES.sub("", " ".join(said.translate(_MARKS).strip(" \t\r\n'.!,;:>").lower().split()))
    if found := _ALONE.get(said):
        return found
    if match := _PUT.fullmatch(said):
        return Command("put", match[1], match[2])
    if match := _FROM.fullmatch(said):
        return Command("take", match[1], match[2])
    match = _ONE.fullmatch(said)
    return Command(_TO_ONE[match[1]], match[2]) if match else None
