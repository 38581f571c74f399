"""LMRL-Gym's Wordle with fewer words: hidden are, and guessed are by programs, every so many-th of its list.

A small Llama with random weights does not learn the letters of four hundred words in minutes. Of a few dozen it learns
which words a guess and its marks leave, if both are told at once (`a b o u t: b y b b g`): then that is one token
(`network.py`), and what is still possible after several of them is a sum. Both splits have all of the words, as in the
paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sonde.core import Task, TaskList
from sonde.envs._shared.words.lists import lmrl_answers
from sonde.envs.wordle.env import Wordle


@dataclass(frozen=True, kw_only=True)
class FewWords(Wordle):
    """See the module. `size`: how many words."""

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
