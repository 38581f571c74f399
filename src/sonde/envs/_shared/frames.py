r"""Strip the frame around an answer: `**Answer:** "crane".` means `crane`.

Frames are markdown (bold, italics, code, fences, headings, one bullet), quotes, LaTeX (`\boxed{}`, `\text{}`, dollar
signs), brackets, a label ("Final answer:"), and the punctuation at the end. They are removed one by one, from the
outside, so a parser sees the answer first as it was written and last in its barest form. Negations are not frames: a
struck-out answer, "not crane" or "crane?" is left unchanged.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from re import ASCII, IGNORECASE, VERBOSE
from re import compile as pattern
from typing import TypeVar

T = TypeVar("T")

LONGEST = 4_000
"""Maximum length in characters of a text whose frame is stripped."""
_LAYERS = 20
"""Maximum number of frames stripped from one text."""
_MARKS = "*_`\"'$"
"""Characters that may stand on both sides of a text, any number of times."""
_PAIRS = {"“": "”", "„": "“", "‘": "’", "«": "»", "‹": "›", "「": "」", r"\(": r"\)", r"\[": r"\]"}
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_FENCE = pattern(r"(`{3,}|~{3,})(?:[A-Za-z][\w+-]*)?\n(?P<inner>.+)\1", re.DOTALL)
_ELEMENT = pattern(r"<(b|strong|i|em|u|code|tt|kbd|mark|span|p)>(?P<inner>[^<>]+)</\1>", IGNORECASE)
_LATEX = pattern(r"\\(?:boxed|fbox|emph|text(?:bf|it|rm|sf|tt)?|math(?:bf|it|rm|sf|tt))\s?\{")
_LINE = pattern(r"(?:#{1,6}|[-+*>•])\s+(?=\S)")
_PUNCTUATION = " \t\r\n.,;:!"
_AROUND = f"{_PUNCTUATION}{_MARKS}“”„‘’«»"
"""Characters stripped from either end of an answer even if missing at the other."""
_LABEL = pattern(
    r"""[\s*_#"']{0,8}
    (?:(?:my|the|your|our|final|first|second|third|next|best|new|chosen|secret|hidden)\s+){0,4}
    (?:answer|guess|choice|response|reply|result|solution|output|selection|decision|pick|move|action|command
      |word|code|cell|square|coordinates?|shot|place|digit|letter|number|arm|button|tunnel|tables?|rule|question)
    (?:\s*\#?\s*\d{1,3})?(?:(?:\s+is)?[*_"']{0,4}\s?[:=][*_]{0,4}\s*|\s+(?:is|are)\s+)(?=\S)""",
    IGNORECASE | VERBOSE,
)
_HEADING = pattern(
    r"[*_#]{1,6}\s?(?:(?:my|next|final|first)\s)?(?:question|message)(?:\s?\#?\d{1,3})?[:*_]{0,4}\s{0,8}\n\s*(?=\S)",
    IGNORECASE,
)
"""A title on its own line above a message."""


# --- letters ---------------------------------------------------------------------------------------------------------

_SAME = ("<wide>", "<narrow>", "<noBreak>", "<font>")
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_UNSEEN = "\u00ad\u200b\u200c\u200d\u2060\ufeff"


def plain_letters(text: str) -> str:
    """`text` with letters, digits, spaces and dashes in their usual form: full-width and mathematical letters become
    plain ones, every kind of space a space, and invisible characters disappear. Superscripts, fractions and circled
    numbers have a meaning of their own and are kept.

    >>> plain_letters("１２３４\u00a0５"), plain_letters("𝐜rane\u200b"), plain_letters("B\u20133"), plain_letters("1²")
    ('1234 5', 'crane', 'B-3', '1²')
    """
    return text if text.isascii() else unicodedata.normalize("NFC", "".join(map(_plain_letter, text)))


@lru_cache(maxsize=4096)
def _plain_letter(letter: str) -> str:
    if letter in _UNSEEN:
        return ""
    if letter in _DASHES:
        return "-"
    if unicodedata.category(letter) == "Zs":
        return " "
    return unicodedata.normalize("NFKC", letter) if unicodedata.decomposition(letter).startswith(_SAME) else letter


# --- frames ----------------------------------------------------------------------------------------------------------


def peel_frames(text: str) -> Iterator[str]:
    r"""The answer as written, then with its frames removed one after another.

    >>> list(peel_frames('**Answer:** "crane".'))
    ['**Answer:** "crane".', '"crane".', '"crane"', 'crane']
    >>> [*peel_frames(r"$\boxed{\text{crane}}$")][-1], [*peel_frames("crane?")][-1]
    ('crane', 'crane?')
    """
    text = text.strip()
    yield text
    if len(text) <= LONGEST:
        plain = plain_letters(text).strip()
        if plain != text:
            yield plain
        yield from _peel_layers(plain, _peel_answer)


def parse_frames(text: str, parse: Callable[[str], T | None]) -> T | None:
    """The result of `parse` on the outermost form of an answer that it accepts.

    >>> parse_frames("`7`", {"7": 7}.get), parse_frames("not 7", {"7": 7}.get)
    (7, None)
    """
    return next((found for form in peel_frames(text) if (found := parse(form)) is not None), None)


def plain_message(text: str) -> str:
    r"""A message without the frame around the whole of it. Its content is unchanged: its own quotes, marks, brackets
    and punctuation stay.

    >>> plain_message("**Is it alive?**"), plain_message("### Question 1\n\nIs it a *living* thing?")
    ('Is it alive?', 'Is it a *living* thing?')
    >>> plain_message('"Yes" or "no"?')
    '"Yes" or "no"?'
    """
    text = text.strip()
    if len(text) > LONGEST:
        return text
    return [text, *_peel_layers(text, _peel_message)][-1]


def _peel_layers(text: str, peel: Callable[[str], str]) -> Iterator[str]:
    for _ in range(_LAYERS):
        inner = peel(text).strip()
        if not inner or inner == text:
            return
        yield (text := inner)


def _peel_message(text: str) -> str:
    inner = _unwrap_marks(text)
    return _HEADING.sub("", text, count=1) if inner is None and _HEADING.match(text) else inner or text


def _peel_answer(text: str) -> str:
    """Remove one frame, if any; punctuation is removed if there is no other frame."""
    inner = _unwrap_marks(text)
    if inner is None:
        inner = _between_pairs(text, _BRACKETS)
    if inner is None and (found := _LABEL.match(text) or ("\n" not in text and _LINE.match(text))):
        inner = text[found.end() :]
    return _trim_marks(text) if inner is None else inner


def _trim_marks(text: str) -> str:
    """A text without punctuation at its ends; if it has none, without the marks there, backticks last because they may
    be a fence."""
    bare = text.strip(_PUNCTUATION)
    if bare != text:
        return bare
    if text[:1] == text[-1:] and text[:1] in _MARKS:
        return text[1:-1]
    bare = text.strip(_AROUND.replace("`", ""))
    return text.strip(_AROUND) if bare == text else bare


def _unwrap_marks(text: str) -> str | None:
    """The content of marks, quotes, a fence, an element or LaTeX; None unless they surround the whole text."""
    if found := _FENCE.fullmatch(text) or _ELEMENT.fullmatch(text):
        return found["inner"]
    if found := _LATEX.match(text):
        return text[found.end() : -1] if _is_enclosed(text[found.end() - 1 :], "{", "}") else None
    if text[:1] in _MARKS:
        return _between_marks(text)
    return _between_pairs(text, _PAIRS)


def _between_marks(text: str) -> str | None:
    mark = text[:1]
    left, right = len(text) - len(text.lstrip(mark)), len(text) - len(text.rstrip(mark))
    inner = text[left : len(text) - right]
    return inner if left and left == right and inner and mark not in inner else None


def _between_pairs(text: str, pairs: dict[str, str]) -> str | None:
    for opening, closing in pairs.items():
        if text.startswith(opening) and _is_enclosed(text, opening, closing):
            return text[len(opening) : -len(closing)]
    return None


def _is_enclosed(text: str, opening: str, closing: str) -> bool:
    """Whether the closing bracket of a text's first character is its last character."""
    if not text.endswith(closing):
        return False
    depth = 0
    for found in re.finditer(f"{re.escape(opening)}|{re.escape(closing)}", text):
        depth += 1 if found[0] == opening else -1
        if depth == 0:
            return found.end() == len(text)
    return False


# --- codes and cells -------------------------------------------------------------------------------------------------

_BETWEEN = pattern(r"\s*[,;|/·-]\s*|\s+")
_LOOSE = str.maketrans(dict.fromkeys("()[]{}\"'`*“”‘’", " "))
_CELLS = tuple(
    pattern(form, IGNORECASE | ASCII)
    for form in (
        r"(?P<row>[a-z])\s?[-,;:/|_]?\s?(?P<column>\d{1,2})",
        r"(?P<row>-?\d{1,6})(?:\s?[,;:/|]\s?|\s|-(?=\d))(?P<column>-?\d{1,6})",
        r"(?:row|r)\s?[:=]?\s?(?P<row>[a-z]|-?\d{1,6})\s?(?:,|;|and\s)?\s?(?:column|col|c)\s?[:=]?\s?(?P<column>-?\d{1,6})",
        r"(?:column|col|c)\s?[:=]?\s?(?P<column>-?\d{1,6})\s?(?:,|;|and\s)?\s?(?:row|r)\s?[:=]?\s?(?P<row>[a-z]|-?\d{1,6})",
    )
)


def split_words(text: str) -> list[str]:
    """The words of an answer, without surrounding brackets, quotes and marks.

    >>> split_words("reveal (2, `3`)")
    ['reveal', '2,', '3']
    """
    return text.translate(_LOOSE).split()


def join_symbols(text: str) -> str:
    """A code or word that is spelt symbol by symbol, joined; other texts are unchanged.

    >>> join_symbols("1, 2, 3, 4"), join_symbols("c-r-a-n-e"), join_symbols("'1' '2'"), join_symbols("12, 34")
    ('1234', 'crane', '12', '12, 34')
    """
    if text.isalnum() or len(text) > LONGEST:
        return text
    parts = [part.strip("\"'`*") for part in _BETWEEN.split(text)]
    return "".join(parts) if all(len(part) == 1 for part in parts) else text


def split_cell(text: str) -> tuple[str, str] | None:
    """Row and column of a cell in common notations; None if the text is not a cell.

    >>> split_cell("B-3"), split_cell("B, 3"), split_cell("row 2, column 3"), split_cell("23"), split_cell("B3 or C3")
    (('B', '3'), ('B', '3'), ('2', '3'), None, None)
    """
    loose = " ".join(split_words(text)) if len(text) <= LONGEST else ""
    found = next((found for form in _CELLS if (found := form.fullmatch(loose))), None)
    return (found["row"], found["column"]) if found else None
