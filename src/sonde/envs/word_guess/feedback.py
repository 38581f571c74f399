"""Feedback on a guess of five letters in a guessing game: four kinds, from the most to the least informative.

    wordle          `marks`, one of g, y, b per letter, under the standard rule for repeated letters
    bulls_cows      `bulls`, letters in their right place, and `cows`, further letters that the secret has elsewhere
    bulls           `bulls` alone
    shared_letters  `shared`, letters that the two words have in common wherever they stand: bulls plus cows

A letter counts at most as often as the secret has it. Every kind gives *facts* about one pair of words, a *number*
that is equal where the facts are, and a *table* of these numbers for arrays of words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import eq
from string import ascii_lowercase
from typing import TYPE_CHECKING

from sonde.core.types import Json

from .._shared.words import marks

if TYPE_CHECKING:
    from .._shared.words.guessing import Codes, Verdicts

LENGTH = 5
"""Letters of a word."""

N_NUMBERS = {"wordle": 3**LENGTH, "bulls_cows": (LENGTH + 1) ** 2, "bulls": LENGTH + 1, "shared_letters": LENGTH + 2}
"""The kinds, the default first, with an exclusive upper bound of their numbers."""

_SAID = {"g": "right place", "y": "other place", "b": "absent"}
_LINES = {(letter, mark): f"{letter}: {said}" for letter in ascii_lowercase for mark, said in _SAID.items()}


def feedback_facts(kind: str, secret: str, guess: str) -> dict[str, Json]:
    """The feedback of this kind on `guess`.

    >>> feedback_facts("bulls_cows", "toast", "stoat")
    {'bulls': 1, 'cows': 4}
    """
    if kind == "wordle":
        return {"marks": marks.standard_marks(secret, guess)}
    bulls = sum(map(eq, secret, guess))
    if kind == "bulls":
        return {"bulls": bulls}
    shared = sum(min(guess.count(letter), secret.count(letter)) for letter in set(guess))
    return {"shared": shared} if kind == "shared_letters" else {"bulls": bulls, "cows": shared - bulls}


def feedback_number(kind: str, known: Mapping[str, Json], found: bool) -> int:
    """The feedback as one number; `found` says whether the guess was the secret, because anagrams share all letters
    with it."""
    if kind == "wordle":
        return marks.marks_number(known["marks"])
    if kind == "shared_letters":
        return known["shared"] + found
    return known["bulls"] if kind == "bulls" else known["bulls"] * (LENGTH + 1) + known["cows"]


def verdict_table(kind: str) -> Callable[[Codes, Codes], Verdicts]:
    """A function of guesses and secrets that returns the number of every pair; shape `(G, N)`."""
    if kind == "wordle":
        return marks.standard_table

    def pair_numbers(guesses: Codes, secrets: Codes) -> Verdicts:
        bulls, shared = _letter_counts(guesses, secrets)
        if kind == "shared_letters":
            return shared + (bulls == LENGTH)
        return bulls if kind == "bulls" else bulls * (LENGTH + 1) + (shared - bulls)

    return pair_numbers


def _letter_counts(guesses: Codes, secrets: Codes) -> tuple[Verdicts, Verdicts]:
    """Letters in their right place, and letters in common, of every pair; shape `(G, N)` each."""
    import numpy as np

    bulls = (guesses[:, None, :] == secrets[None, :, :]).sum(axis=2, dtype=np.uint16)
    shared = np.zeros_like(bulls)
    for letter in np.unique(guesses):
        mine, theirs = ((words == letter).sum(axis=1, dtype=np.uint16) for words in (guesses, secrets))
        shared += np.minimum(mine[:, None], theirs[None, :])
    return bulls, shared


def marks_lines(guess: str, seen: str) -> str:
    """Marks as text, one line per letter."""
    return "\n".join([_LINES[pair] for pair in zip(guess, seen, strict=True)])
