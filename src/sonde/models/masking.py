"""A secret hidden in a text, in whatever common form an endpoint repeats it.

Forms of a secret of `SECRET` characters or more: as it is, as base64 (both alphabets, wherever it begins in what was
encoded), as hexadecimal, and with any of its characters escaped as in an address (`%73`), in JSON (`\\u0073`) or in
HTML (`&#115;`, `&#x73;`). A shorter one, such as the `EMPTY` and `x` that local servers are given, is hidden as it is,
where it stands as a word of `WORD` characters or more: parts of other words are none of it.
"""

from __future__ import annotations

import re
from base64 import b64encode
from functools import lru_cache

MASK = "***"
SECRET = 8
"""Characters of the shortest secret."""
WORD = 4
"""Characters of the shortest text that is hidden at all: fewer tell nothing."""
_ESCAPES = ("%", "\\", "&#")


def hide(text: str, secret: str) -> str:
    """The text with every occurrence of the secret replaced.

    >>> hide("Bearer sk-12345678 is c2stMTIzNDU2Nzg= and sk%2D12345678", "sk-12345678")
    'Bearer *** is ***g= and ***'
    """
    if len(secret) < SECRET:
        return _hide_word(text, secret)
    for form in _forms(secret):
        if form in text:
            text = text.replace(form, MASK)
    return _escaped(secret).sub(MASK, text) if any(mark in text for mark in _ESCAPES) else text


def _hide_word(text: str, secret: str) -> str:
    """The text without a short secret, where that stands alone.

    >>> hide("key abcd of abcde", "abcd"), hide("an example", "a")
    ('key *** of abcde', 'an example')
    """
    alone = rf"(?<!\w){re.escape(secret)}(?!\w)"
    return re.sub(alone, MASK, text) if len(secret) >= WORD else text


@lru_cache(maxsize=16)
def _forms(secret: str) -> tuple[str, ...]:
    """The secret in the forms that are fixed strings, the longest first."""
    hexed = secret.encode().hex()
    coded = [_coded(secret, before) for before in range(3)]
    websafe = [form.translate(str.maketrans("+/", "-_")) for form in coded]
    escaped = [form.replace("/", "\\/") for form in coded]
    return tuple(sorted({secret, hexed, hexed.upper(), *coded, *websafe, *escaped}, key=len, reverse=True))


def _coded(secret: str, before: int) -> str:
    """The characters of base64 that hold nothing but the secret, where it stands behind `before` bytes (modulo 3)."""
    bits = 8 * (before + len(secret.encode()))
    return b64encode(b"\0" * before + secret.encode()).decode()[-(-8 * before // 6) : bits // 6]


@lru_cache(maxsize=16)
def _escaped(secret: str) -> re.Pattern[str]:
    return re.compile("".join(map(_anyhow, secret)))


def _anyhow(c: str) -> str:
    """A pattern for a character as it is or escaped."""
    n = ord(c)
    quoted = r"\\{0,4}" if c in '/"\\' else ""  # JSON may escape these, once or in another JSON
    return rf"(?:{quoted}{re.escape(c)}|%(?i:{n:02x})|\\{{1,4}}u(?i:{n:04x})|&#0{{0,4}}{n};|&#(?i:x0{{0,4}}{n:x});)"
