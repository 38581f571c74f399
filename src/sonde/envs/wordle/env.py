"""Wordle: find a secret word from marks on the letters of each guess.

Sources and presets:
    paprika    PAPRIKA (arXiv 2502.17543), table 1 and B.4.5: 5 letters, 6 turns, 1515 training and 800 test words
    modified   PAPRIKA, appendix I.8: 4 and 6 to 10 letters, 10 turns, 1000 test words
    lmrl       LMRL-Gym (arXiv 2311.18232), D.3: spaced letters, signs b/y/g, 400 words; reward -1 per miss, 0 on the
               win; whatever is not a word costs a try, so no guess is unreadable

Departures: the words are ours (SCOWL, curated); repeated letters follow the standard rule, where the code of both
papers tests membership only; a guess need not be a known word, as in PAPRIKA, where LMRL-Gym's code wants one of its
list. `rules="code"` does what the code does, and tells so under `lmrl`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from operator import add
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from sonde.core import AGENT, EMPTY, CertainEnv, Frozen, Outcome, Spec, Step, Task, TaskList, Turn, invalid
from sonde.core.env import Split
from sonde.core.tools import text_schema
from sonde.core.types import Json, Rules

from .._shared.answer import AnswerTags, parse_answer, read_answer, tag_answer
from .._shared.frames import join_symbols
from .._shared.words import lists as words
from .._shared.words import marks

if TYPE_CHECKING:
    from .._shared.words.guessing import GuessFilter, Guessing


class _Preset(NamedTuple):
    lengths: tuple[int, ...]
    max_turns: int
    source: str


_PRESETS = {
    "paprika": _Preset((5,), 6, "PAPRIKA (arXiv 2502.17543), table 1 and appendix B.4.5"),
    "modified": _Preset(words.MODIFIED_LENGTHS, 10, "PAPRIKA (arXiv 2502.17543), appendix I.8"),
    "lmrl": _Preset((5,), 6, "LMRL-Gym (arXiv 2311.18232), appendix D.3"),
}
_WIN, _MISS, _FREE = Frozen({AGENT: 1.0}), Frozen({AGENT: -1.0}), Frozen({AGENT: 0.0})
_SAID = {"g": "right place", "y": "other place", "b": "absent"}
_LINES = {letter + mark: f"{letter}: {said}" for letter in ascii_lowercase for mark, said in _SAID.items()}


class State(NamedTuple):
    """The secret and the number of guesses made."""

    word: str
    turn: int = 0


@dataclass(frozen=True, kw_only=True)
class Wordle(CertainEnv[State], AnswerTags):
    """See the module docstring. `max_turns=None` takes the preset's."""

    presets: ClassVar[tuple[str, ...]] = tuple(_PRESETS)

    preset: str = "paprika"
    rules: Rules = "paper"
    max_turns: int | None = None

    @property
    def _is_code(self) -> bool:
        return self.rules == "code"

    @cached_property
    def turns(self) -> int:
        """The number of guesses."""
        return self.max_turns or _PRESETS[self.preset].max_turns

    @cached_property
    def _is_lmrl(self) -> bool:
        return self.preset == "lmrl"

    @cached_property
    def spec(self) -> Spec:
        preset = _PRESETS[self.preset]
        sizes = ", ".join(f"{len(self._secret_words(n)):,} of {n} letters" for n in preset.lengths)
        rule = "membership rule for repeated letters, as in the papers' code" if self._is_code else "standard rule"
        return Spec(
            name="wordle",
            version="3",
            summary="find a secret word from marks on the letters of each guess",
            preset=self.preset,
            max_turns=self.turns,
            reward_range=(-1.0, 0.0) if self._is_lmrl else (0.0, 1.0),
            support=f"all answer words of the preset: {sizes}",
            source=preset.source,
            reference="entropy",
            departures=(
                "words from SCOWL",
                rule,
                *(("data have 4.75 guesses and 72 % found (table 1: 4.82, 70 %)",) if self._is_lmrl else ()),
                *(() if self._is_lmrl else self.paprika_departures),
            ),
        )

    def split(self, split: str) -> Sequence[Task]:
        which = cast(Split, split)
        found = (
            words.lmrl_task_words(which)
            if self._is_lmrl
            else words.modified_task_words(which)
            if self.preset == "modified"
            else words.task_words(5, which)
        )
        return TaskList(len(found), lambda i: self._task(found[i], split, i))

    def task(self, hidden: Json) -> Task:
        """`"toast"`: one of the preset's answer words, in lower case. `{"word": "welch"}` may be any other word too,
        of which there are no exact beliefs."""
        lengths = _PRESETS[self.preset].lengths
        given = cast("Mapping[Any, Any]", hidden) if isinstance(hidden, Mapping) else Frozen[Any]()
        free = set(given) == {"word"} and not (self._is_lmrl and self._is_code)  # whose guesses are words of its list
        word = cast("Any", given["word"] if free else hidden)
        is_word = isinstance(word, str) and len(word) in lengths and re.fullmatch("[a-z]+", word)
        known = is_word and word in self._secret_words(len(word))
        if not known and not (free and is_word):
            allowed = f"{'a' if free else 'an answer'} word of {', '.join(map(str, lengths))} letters, in lower case"
            raise invalid("wordle: hidden", cast("object", hidden), allowed)
        return self._task(word, "custom", 0, EMPTY if known else {"foreign": True})

    def _task(self, word: str, split: str, index: int, more: Mapping[str, Json] = EMPTY) -> Task:
        return self.make_listed_task(split, index, Frozen({"length": len(word), **more}), word, length=str(len(word)))

    def _secret_words(self, length: int) -> tuple[str, ...]:
        return words.lmrl_answers() if self._is_lmrl else words.answer_words(length)

    # --- rules -------------------------------------------------------------------------------------------------------

    def start(self, public: Mapping[str, Json], hidden: Json) -> State:
        return State(hidden)

    def prior(self, public: Mapping[str, Json]) -> Sequence[tuple[float, Json]]:
        found = self._secret_words(public["length"])
        return [(1.0 / len(found), word) for word in found]

    def to_act(self, state: State) -> str | None:
        return AGENT if state.turn < self.turns else None

    def hypothesis(self, state: State) -> str:
        return state.word

    def intro(self, state: State, seat: str) -> str:
        say, length = self.prompt_pieces("wordle"), len(state.word)
        if self._is_lmrl:
            rules = say["lmrl_intro"].format(length=length, turns=self.turns, example="a b o u t")
            return f"{rules} {say['lmrl_listed']}" if self._is_code else rules
        rule = "_code" if self._is_code else ""
        absent, repeats = say["absent" + rule], say["repeats" + rule]
        return say["intro"].format(length=length, turns=self.turns, absent=absent, repeats=repeats)

    def mark_guess(self, secret: str, guess: str) -> str:
        """One of g, y, b per letter of `guess`, by this configuration's rule."""
        return marks.membership_marks(secret, guess) if self._is_code else marks.standard_marks(secret, guess)

    def parse_guess(self, text: str, length: int) -> str | None:
        """The guess in a text, or None. Under `lmrl` the whole text may be the guess; as published, a word of its
        list."""
        parse = partial(_match_word, length, _lmrl_words() if self._is_lmrl and self._is_code else None)
        return parse_answer(text, parse, which=self.which_answer, bare=self._is_lmrl and len(text) <= 64)

    def next_step(self, state: State, text: str) -> Step:
        guess = self.parse_guess(text, len(state.word))
        if guess is None:
            return self._reject_answer(state, text)
        seen = self.mark_guess(state.word, guess)
        if guess != state.word:
            return self._end_turn(
                state, self._feedback_text(guess, seen), Frozen(result="marks", guess=guess, feedback=seen)
            )
        told = self.prompt_pieces("wordle")["lmrl_win" if self._is_lmrl else "win"].format(guess=guess)
        info = Frozen(result="win", guess=guess, feedback=seen)
        reward = _FREE if self._is_lmrl else _WIN
        return Step(State(guess, self.turns), Frozen({AGENT: told}), reward, info, Outcome("win", 1.0))

    def _reject_answer(self, state: State, text: str) -> Step:
        say = self.prompt_pieces("wordle")
        if self._is_lmrl or read_answer(text) is not None:
            told = say["lmrl_invalid" if self._is_lmrl else "invalid"].format(length=len(state.word))
            return self._end_turn(state, told, Frozen(result="invalid"))
        told = Frozen({AGENT: say["format"]})
        return Step(
            State(state.word, self.turns), told, info=Frozen(result="unreadable"), outcome=Outcome("unreadable")
        )

    def _feedback_text(self, guess: str, seen: str) -> str:
        if self._is_lmrl:
            return " ".join(seen)
        return "\n".join([_LINES[pair] for pair in map(add, guess, seen)])

    def _end_turn(self, state: State, told: str, info: Frozen[Json]) -> Step:
        after = State(state.word, state.turn + 1)
        reward = _MISS if self._is_lmrl else EMPTY
        left = self.turns - after.turn
        if left == 0:
            told = f"{told}\n{self.prompt_pieces('wordle')['lmrl_timeout' if self._is_lmrl else 'timeout']}"
            return Step(after, Frozen({AGENT: told}), reward, info, Outcome("out_of_turns", truncated="turns"))
        if not self._is_lmrl:
            before, behind = self._request_parts
            told = f"{told}\n{before}{left}{behind}"
        return Step(after, Frozen({AGENT: told}), reward, info)

    @cached_property
    def _request_parts(self) -> tuple[str, str]:
        """The text before and after the number of guesses left."""
        before, _, behind = self.prompt_pieces("wordle")["next"].partition("{left}")
        return before, behind

    def actions(self, state: State) -> Sequence[str] | None:
        return self._secret_words(len(state.word))

    def answer_schema(self, public: Mapping[str, Json]) -> Mapping[str, Json] | None:
        return text_schema("The word to guess.", f"[a-z]{{{public['length']}}}")

    def say(self, answer: str) -> str:
        return " ".join(answer) if self._is_lmrl else tag_answer(answer)

    # --- exact beliefs -----------------------------------------------------------------------------------------------

    def filter(self, public: Mapping[str, Json]) -> GuessFilter | None:
        return None if public.get("foreign") else _shared_game(self, public["length"]).start()


def _match_word(length: int, listed: frozenset[str] | None, answer: str) -> str | None:
    """The word in an answer, whole or letter by letter; None if it is not of this length, or not listed."""
    guess = join_symbols(answer).lower()
    if listed is not None:
        return guess if guess in listed else None
    return guess if len(guess) == length and guess.isascii() and guess.isalpha() else None


@cache
def _lmrl_words() -> frozenset[str]:
    """The words of LMRL-Gym's list."""
    return frozenset(words.lmrl_answers())


@cache
def _shared_game(env: Wordle, length: int) -> Guessing:
    from .._shared.words.guessing import Guessing

    def read_turn(turn: Turn) -> tuple[str, int] | None:
        info = turn.info
        return (info["guess"], marks.marks_number(info["feedback"])) if "guess" in info else None

    found = env._secret_words(length)  # pyright: ignore[reportPrivateUsage]
    table = marks.membership_table if env.rules == "code" else marks.standard_table
    parts = partial(marks.letter_parts, table)
    return Guessing(found, table, 3**length, read_turn, lambda text: env.parse_guess(text, length), parts=parts)
