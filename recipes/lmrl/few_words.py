"""LMRL-Gym's Wordle with fewer words: hidden are, and guessed are by programs, every so many-th of its list.

A small Llama with random weights does not learn the letters of four hundred words in minutes; what each of a few dozen
words says about the others it does. Both splits have all of the words, as in the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sonde.core import Task, TaskList
from sonde.envs.wordle import Wordle
from sonde.rules.words import lmrl_answers


@dataclass(frozen=True, kw_only=True)
class FewWords(Wordle):
    """See the module. `size`: how many words."""

    preset: str = "lmrl"
    size: int = 40

    def _words(self, length: int) -> tuple[str, ...]:
        every = lmrl_answers()
        return every[:: len(every) // self.size][: self.size]

    def split(self, split: str) -> Sequence[Task]:
        found = self._words(5)
        return TaskList(len(found), lambda i: self._task(found[i], split, i))
