"""LMRL-Gym's Wordle with fewer words: secrets and the guesses of programs come from every n-th word of its list.

A small Llama with random weights does not learn the letters of four hundred words in minutes. With a few dozen words it
learns which words a guess and its marks leave, if the environment repeats the guess (`a b o u t: b y b b g`): then both
are one token (`network.py`), and the words that are possible after several of them are a sum. Both splits have all
words, as in the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sonde.core import Task, TaskList
from sonde.envs._shared.words.lists import lmrl_answers
from sonde.envs.wordle.env import Wordle


@dataclass(frozen=True, kw_only=True)
class FewWords(Wordle):
    """See the module. `size` is the number of words."""

    preset: str = "lmrl"
    size: int = 40

    def _secret_words(self, length: int) -> tuple[str, ...]:
        every = lmrl_answers()
        return every[:: len(every) // self.size][: self.size]

    def split(self, split: str) -> Sequence[Task]:
        found = self._secret_words(5)
        return TaskList(len(found), lambda i: self._task(found[i], split, i))

    def _feedback_text(self, guess: str, seen: str) -> str:
        return f"{' '.join(guess)}: {super()._feedback_text(guess, seen)}"
