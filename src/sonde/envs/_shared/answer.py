"""Extract the answer from an agent's reply, in time linear in its length.

The syntax of PAPRIKA (B.4): free thinking in `<Think>...</Think>`, then one `<Answer>...</Answer>`. Tags are
case-insensitive, and an answer is read as a person would read it:

    thinking      is removed first, so an answer that is only considered never counts: neither in a thought that begins
                  before the reply (a template opened it), nor in one that the end of the reply cuts. Only an answer
                  that ends the reply counts even if the thought before it was never closed.
    tags          the last opening tag before a closing one counts, so a tag that prose only mentions does no harm
    not closed    the answer counts if it is complete (a stop word or the token limit took the closing tag): the game
                  reads it as legal, nothing else follows it, and no longer answer begins with it
    several       the last counts, as people mean it ("first ..., but then ..."). PAPRIKA's published code takes the
                  first, as does the environments' option `which_answer="first"`
    frame         markdown, quotes, LaTeX, labels and punctuation around it are removed (`frames.py`)

Anything that the environment cannot read even then is invalid: refusals, questions, two answers in one pair of tags.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache
from re import compile as pattern
from typing import Literal, NamedTuple, TypeVar

from .frames import parse_frames, plain_message

T = TypeVar("T")
Which = Literal["last", "first"]

# Letter by letter, because a case-insensitive pattern cannot search for its first letter alone, which is much faster.
_THINK = pattern("<(/?)[Tt][Hh][Ii][Nn][Kk]>")
_ANSWER = pattern("<(/?)[Aa][Nn][Ss][Ww][Ee][Rr]>")
_CLOSING = "</answer>"
_SENTENCE = tuple(f"{end}{after}" for end in ".?!" for after in ("", '"', "'", "”", "’", "*", "**", ")", "`"))
"""The characters that end a sentence."""


@dataclass(frozen=True, kw_only=True)
class AnswerTags:
    """Base class of environments whose answers stand in tags. `which_answer` says which of several answers in one reply
    counts: `last`, or `first` as in the published code of PAPRIKA."""

    which_answer: Which = "last"

    @property
    def paprika_departures(self) -> tuple[str, ...]:
        """Differences from PAPRIKA's code in how answers are read, for `Spec.departures` of its environments."""
        framed = "answers are read without the frame around them (markdown, quotes, labels)"
        return (framed, "of several answers the last counts") if self.which_answer == "last" else (framed,)


def read_answer(text: str, which: Which = "last") -> str | None:
    """The content of the answer tags outside thinking, stripped; None if there is none. The module docstring says which
    tags count.

    >>> read_answer("<Think> <Answer>maybe</Answer> </Think> <answer> toast </answer>")
    'toast'
    """
    answers = _read_reply(text).answers
    return answers[_INDEX[which]] if answers else None


def parse_answer(
    text: str,
    parse: Callable[[str], T | None],
    unfinished: Callable[[T], bool] | None = None,
    *,
    which: Which = "last",
    bare: bool = False,
) -> T | None:
    """The result of `parse` on the answer in a reply; None if it rejects the answer, or there is none.

    `parse` gets the answer as written, then with one frame after another removed, until it accepts one. `unfinished`
    says of a parsed answer whether a longer answer begins with it, which matters if no tag closes it. With `bare`,
    answers need no tags; a reply without them counts as a whole, from the end of its last thinking on.

    >>> parse_answer("<Answer>**7**</Answer>", {"7": 7}.get), parse_answer("<Answer>7", {"7": 7}.get)
    (7, 7)
    >>> parse_answer("<think>6?</think> `7`", {"7": 7}.get, bare=True)
    7
    """
    reply = _read_reply(text)
    if reply.opened is not None and (which == "last" or not reply.answers):
        found = parse_frames(reply.opened, parse)
        if found is not None and not (unfinished and unfinished(found)):
            return found
    if reply.answers:
        return parse_frames(reply.answers[_INDEX[which]], parse)
    return parse_frames(reply.after, parse) if bare and reply.opened is None else None


def begins_another(answers: Collection[str]) -> Callable[[str], bool]:
    """For `unfinished`: whether an answer is a proper prefix of another.

    >>> begins_another(("M1", "M10"))("M1")
    True
    """
    return lambda answer: any(other != answer and other.startswith(answer) for other in answers)


def read_message(text: str) -> str:
    """A free-text message, for conversations: the content of the last answer tags, or else everything outside thinking,
    without the frame around the whole. An unclosed tag counts if its text ends like a sentence, because half a question
    may ask something else. Empty if nothing was said.

    >>> read_message("<think>a dog?</think> **Is it alive?**"), read_message("<Answer>Is it Lis")
    ('Is it alive?', '')
    """
    reply = _read_reply(text)
    if reply.opened is not None and reply.opened.endswith(_SENTENCE):
        return plain_message(reply.opened)
    if reply.answers:
        return plain_message(reply.answers[-1])
    return plain_message(reply.aloud) if reply.opened is None else ""


def tag_answer(answer: str) -> str:
    """`answer` in the syntax that `read_answer` reads."""
    return f"<Answer>{answer}</Answer>"


# --- tags ------------------------------------------------------------------------------------------------------------

_INDEX: dict[str, int] = {"last": -1, "first": 0}


class _Reply(NamedTuple):
    """The parts of a reply outside thinking."""

    answers: tuple[str, ...]
    """The contents of the answer tags, in order."""
    opened: str | None
    """The text after the last opening tag that nothing closes."""
    aloud: str
    """Everything outside thinking, tags included."""
    after: str
    """The text after the last thinking; empty while the thinking continues."""


@lru_cache(maxsize=32)  # rules, filters and solvers read the same reply in turn
def _read_reply(text: str) -> _Reply:
    if "<" not in text:
        return _Reply((), None, text, text)
    pieces, cut = _split_thinking(text)
    aloud = " ".join(pieces)
    answers, opened = _split_answers(aloud)
    if cut is None:
        return _Reply(tuple(answers), opened, aloud, pieces[-1])
    if not answers and cut.rstrip()[-len(_CLOSING) :].lower() == _CLOSING:
        answers = _split_answers(cut)[0][-1:]
    return _Reply(tuple(answers), None, aloud, "")


def _split_thinking(text: str) -> tuple[list[str], str | None]:
    """The spoken text, in pieces, and the thinking that the end of the text cuts off, if any."""
    pieces: list[str] = []
    position, thinking, first = 0, False, True
    for tag in _THINK.finditer(text):
        if not tag[1] and not thinking:
            pieces.append(text[position : tag.start()])
            position, thinking = tag.end(), True
        elif tag[1] and (thinking or first):  # the text began inside a thought
            position, thinking = tag.end(), False
        first = False
    return (pieces, text[position:]) if thinking else ([*pieces, text[position:]], None)


def _split_answers(aloud: str) -> tuple[list[str], str | None]:
    """The contents of the answer tags; and the text after the last unclosed opening tag."""
    answers: list[str] = []
    start = -1
    for tag in _ANSWER.finditer(aloud):
        if not tag[1]:
            start = tag.end()
        elif start >= 0:
            answers.append(aloud[start : tag.start()].strip())
            start = -1
    if start < 0:
        return answers, None
    rest = aloud[start:].rstrip()
    bracket = rest.rfind("<")
    if bracket >= 0 and _CLOSING.startswith(rest[bracket:].lower()):  # cut inside the closing tag
        return [*answers, rest[:bracket].strip()], None
    return answers, rest.strip()
