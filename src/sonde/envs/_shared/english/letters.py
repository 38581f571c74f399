"""Normalise characters: accents, apostrophes, invisible letters and look-alikes.

Own design. Invisible characters are those of Unicode's categories Cf, Mn and Me, and its blank letters; look-alikes are
letters of other scripts that are drawn like Latin ones (after Unicode Technical Standard 39).
"""

from __future__ import annotations

import re
import unicodedata
from html import unescape

_PLAIN = str.maketrans(
    {"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "ß": "ss", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe",
     "ı": "i", "ð": "d", "þ": "th", "Þ": "Th", "’": "'", "‘": "'", "ʼ": "'", "´": "'", "`": "'"}
)  # fmt: skip
_NEGATIVE = re.compile(
    r"\b(is|are|was|were|do|does|did|has|have|had|ca|could|would|should|must|might|wo|need|ai)nt\b", re.IGNORECASE
)


def strip_accents(text: str) -> str:
    """Drop accents and use one kind of apostrophe.

    >>> strip_accents("Łódź’s Café")
    "Lodz's Cafe"
    """
    if text.isascii():
        return text.replace("`", "'")
    bare = unicodedata.normalize("NFKD", text.translate(_PLAIN))
    return "".join(c for c in bare if not unicodedata.combining(c))


def add_apostrophes(text: str) -> str:
    """Restore the missing apostrophes of negations.

    >>> add_apostrophes("Isnt it so? It cant be, we want a hint.")
    "Isn't it so? It can't be, we want a hint."
    """
    return _NEGATIVE.sub(r"\1n't", text)


_DRAWN_AS = (
    "aаАαΑɑᴀ bВвΒβᴃʙ cсСϲϹᴄ dԁᴅ eеЕεΕєᴇ fꜰ gɡցɢ hһНнΗհʜ iіІιΙıɩɪ jјЈϳᴊ kкКκΚᴋ lӏӀʟ mмМΜᴍ nոηΝɴ oоОοΟօᴏ pрРρΡᴘ qԛզ "
    "rгʀ sѕЅꜱ tтТτΤᴛ uυսᴜ vνѵᴠ wԝωᴡ xхХχΧ yуУγΥүʏ zΖᴢ"
)
_ALIKE = str.maketrans({letter: row[0] for row in _DRAWN_AS.split() for letter in row[1:]})
_MARKUP = re.compile(r"<[^<>]{0,200}>|[*_~`\\]+")
_BLANK = frozenset("\u115f\u1160\u3164\uffa0")


def visible_readings(text: str) -> tuple[str, ...]:
    """The possible readings of a text, with look-alikes replaced by Latin letters: markup and invisible characters
    removed, or replaced by blanks.

    >>> visible_readings("It is L\\u0456s<b>bon</b>."), visible_readings("Dublin")
    (('It is Lisbon.', 'It is Lis bon .'), ('Dublin',))
    """
    shown = unescape(text) if "&" in text else text
    if shown.isascii():
        joined, apart = (_MARKUP.sub(blank, shown) for blank in ("", " "))
    else:
        shown = unicodedata.normalize("NFKD", shown.translate(_ALIKE))
        joined, apart = (
            "".join(_visible_character(c, blank) for c in _MARKUP.sub(blank, shown)) for blank in ("", " ")
        )
    return (joined,) if joined == apart else (joined, apart)


def _visible_character(c: str, blank: str) -> str:
    """A character as a reader sees it: accents vanish, invisible characters become `blank`."""
    category = unicodedata.category(c)
    if category in ("Mn", "Me"):
        return ""
    return blank if category == "Cf" or c in _BLANK else c


_WORD = re.compile(r"[^\W_]+")


def plain_words(text: str) -> str:
    """A text in lower case, without accents and punctuation, its words separated by single blanks.

    >>> plain_words("São  Paulo, Brazil!")
    'sao paulo brazil'
    """
    return " ".join(_WORD.findall(text.lower() if text.isascii() else strip_accents(text).casefold()))
