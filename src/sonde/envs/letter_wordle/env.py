"""Letter Wordle: find a word without repeated letters by entering one letter at a time; each is judged at once.

Source: Toward Efficient Exploration by LLM Agents, section 4.3 and appendix H.5: H = 5 letters, the word drawn from a
filtered list of English words without repeated letters, any string may be entered. K = 6 sub-episodes as in section
4.3; the table of costs in appendix I says 5. Reward 1 for the word, otherwise 0. Departures: prompts and words are ours
(SCOWL, curated: the answers of Wordle with distinct letters). The episode ends when the word is found: from there on
optimal play has no regret.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from string import ascii_lowercase
from typing import ClassVar, cast

from sonde.core import Frozen, Spec, Task, TaskList, invalid
from sonde.core.env import Split
from sonde.core.types import Json

from .._shared.words import lists as words
from .._shared.words.symbols import Spelling


@dataclass(frozen=True, kw_only=True)
class LetterWordle(Spelling):
    """See the module docstring. `length` in 4..10 letters."""

    presets: ClassVar[tuple[str, ...]] = ("psrl",)

    preset: str = "psrl"
    length: int = 5
    sub_episodes: int = 6
    max_turns: int | None = None

    def __post_init__(self) -> None:
        if self.length not in words.LENGTHS:
            raise invalid("letter_wordle: length", self.length, f"{words.LENGTHS[0]} to {words.LENGTHS[-1]}")
        super().__post_init__()

    @cached_property
    def allowed_symbols(self) -> tuple[str, ...]:
        return tuple(ascii_lowercase)

    def all_codes(self) -> tuple[str, ...]:
        return _all_answers(self.length)

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name="letter_wordle",
            version="2",
            summary="find a word by entering it letter by letter, each judged at once, in a few attempts",
            preset=self.preset,
            max_turns=self.turns,
            reward_range=(0.0, 1.0),
            support=f"{len(self.all_codes()):,} words of {self.length} distinct letters, equally likely",
            source="Toward Efficient Exploration by LLM Agents, section 4.3 and appendix H.5",
            reference="psrl",
            departures=("words from SCOWL", "the episode ends when the word is found"),
        )

    def split(self, split: str) -> Sequence[Task]:
        rows = _isogram_answers(self.length, cast(Split, split))
        return TaskList(len(rows), lambda i: self._task(rows[i], split, i))

    def task(self, hidden: Json) -> Task:
        """`"trace"`: one of the words, in lower case."""
        if not isinstance(hidden, str) or len(hidden) != self.length or hidden not in self.all_codes():
            raise invalid("letter_wordle: hidden", hidden, f"an answer word of {self.length} distinct letters")
        return self._task(hidden, "custom", 0)

    def _task(self, word: str, split: str, index: int) -> Task:
        return self.make_listed_task(split, index, Frozen(length=self.length), word)


@cache
def _isogram_answers(length: int, split: Split) -> tuple[str, ...]:
    """The answers of one split without repeated letters."""
    return tuple(word for word in words.task_words(length, split) if len(set(word)) == length)


@cache
def _all_answers(length: int) -> tuple[str, ...]:
    return tuple(sorted(_isogram_answers(length, "train") + _isogram_answers(length, "test")))
