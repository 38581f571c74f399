"""The marks of Wordle: how each letter of a guess compares with a secret word, one pair at a time or all at once.

Marks are `g` (right place), `y` (other place) and `b` (absent). Under the standard rule a repeated letter is marked
only as often as the secret contains it; under the *membership* rule, which the code of PAPRIKA and of LMRL-Gym follows,
every letter that occurs anywhere in the secret is at least `y`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .guessing import Codes, Rows, VerdictParts, Verdicts

MARKS = "byg"


def standard_marks(secret: str, guess: str) -> str:
    """The marks of `guess` under the standard rule.

    >>> standard_marks("those", "geese")
    'bbbgg'
    """
    if len(set(guess)) == len(guess):
        return membership_marks(secret, guess)  # the rules differ for guesses that repeat a letter
    left = marks = ""
    for s, g in zip(secret, guess, strict=True):
        if s != g:
            left += s
    for s, g in zip(secret, guess, strict=True):
        if s == g:
            marks += "g"
        elif g in left:
            left = left.replace(g, "", 1)
            marks += "y"
        else:
            marks += "b"
    return marks


def membership_marks(secret: str, guess: str) -> str:
    """The marks of `guess` under the membership rule.

    >>> membership_marks("those", "geese")
    'byygg'
    """
    pairs = zip(secret, guess, strict=True)
    return "".join(["g" if s == g else "y" if g in secret else "b" for s, g in pairs])


def marks_number(marks: str) -> int:
    """The marks as a number in base 3: b 0, y 1, g 2; the first letter is the most significant."""
    value = 0
    for mark in marks:
        value = value * 3 + MARKS.index(mark)
    return value


def standard_table(guesses: Codes, secrets: Codes) -> Verdicts:
    """`marks_number(standard_marks(s, g))` for every pair; shape `(G, N)`. The rules differ for guesses that repeat a
    letter."""
    import numpy as np

    verdicts = membership_table(guesses, secrets)
    ordered = np.sort(guesses, axis=1)
    repeats = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if len(repeats):
        verdicts[repeats] = _claiming_table(guesses[repeats], secrets)
    return verdicts


def _claiming_table(guesses: Codes, secrets: Codes) -> Verdicts:
    """`standard_table` letter by letter, for any guesses."""
    import numpy as np

    length = guesses.shape[1]
    green = [guesses[:, i, None] == secrets[None, :, i] for i in range(length)]
    verdicts = np.zeros((len(guesses), len(secrets)), np.uint16)
    for i in range(length):
        # Copies of this letter in the secret that are not in their right place, minus those claimed by earlier letters
        # of the guess.
        left = np.zeros(verdicts.shape, np.int8)
        for j in range(length):
            left += (guesses[:, i, None] == secrets[None, :, j]) & ~green[j]
            if j < i:
                left -= (guesses[:, i, None] == guesses[:, j, None]) & ~green[j]
        verdicts = verdicts * np.uint16(3) + np.where(green[i], np.uint16(2), left > 0)
    return verdicts


def membership_table(guesses: Codes, secrets: Codes) -> Verdicts:
    """`marks_number(membership_marks(s, g))` for every pair; shape `(G, N)`."""
    import numpy as np

    letters, which = np.unique(guesses, return_inverse=True)
    which = which.reshape(guesses.shape)
    same = letters[:, None, None] == secrets.T[None]  # (letter, place, secret)
    present = same.any(axis=1).astype(np.uint16)
    verdicts = np.zeros((len(guesses), len(secrets)), np.uint16)
    for i in range(guesses.shape[1]):
        verdicts *= np.uint16(3)
        verdicts += (present + same[:, i])[which[:, i]]
    return verdicts


def letter_parts(table: Callable[[Codes, Codes], Verdicts], words: Codes) -> VerdictParts:
    """Guesses as their letters, each with its places: under either rule the marks on a letter depend on no other
    letter."""
    import numpy as np

    from .guessing import VerdictParts, number_verdicts

    same = words[:, :, None] == words[:, None, :]  # (word, place, place)
    first = ~np.tril(same, -1).any(axis=2)
    alone = np.where(same & first[:, :, None], words[:, None, :], np.uint8(0))  # a letter that no word has
    letters, of = np.unique(alone.reshape(-1, words.shape[1]), axis=0, return_inverse=True)
    marks = np.stack([number_verdicts(verdicts)[1] for verdicts in table(letters, words)]).astype(np.uint8)

    def secret_parts(alive: Rows) -> Verdicts:
        return marks.take(alive, axis=1)

    return VerdictParts(len(letters), np.ascontiguousarray(of.reshape(words.shape).T, np.int32), secret_parts)
