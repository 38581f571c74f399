"""Word guess: find which of 40 listed words is the secret in as few attempts as possible.

Source: Multi-Turn Puzzles (MTP), section 2.1 and table 2. Published: 10 vocabularies of 40 words of five letters, each
word once the secret (400 configurations), 40 turns, and a score that is the number of attempts, normalised.

Ours, because the paper's text does not say: the vocabularies are slices of the Wordle words (SCOWL, curated; test and
training vocabularies share no word); all 40 words are shown; `feedback` is that of Wordle unless another kind is chosen
(`feedback.py`); a guess outside the vocabulary costs a turn. The score of a win with attempt a of T is

    1 - (a - 1) / T

that is 1 for a first guess, 1 / T for the last and, counting a failure as T + 1 attempts, 0 for a failure. The same
number is the reward of the winning turn; all other rewards are 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from sonde.core import AGENT, CertainEnv, Frozen, Outcome, Spec, Step, Task, TaskList, Turn, invalid, unknown
from sonde.core.env import Split
from sonde.core.tools import choice_schema
from sonde.core.types import Json

from .._shared.answer import AnswerTags, Which, parse_answer, read_answer, tag_answer
from .._shared.frames import join_symbols
from .._shared.words import lists as words
from . import feedback

if TYPE_CHECKING:
    from .._shared.words.guessing import GuessFilter, Guessing

N_VOCABULARIES, SIZE = 10, 40
_LARGEST = 200


class State(NamedTuple):
    """The listed words, the secret among them and the number of guesses made."""

    vocabulary: tuple[str, ...]
    secret: str
    turn: int = 0


@dataclass(frozen=True, kw_only=True)
class WordGuess(CertainEnv[State], AnswerTags):
    """See the module docstring. `feedback` is `wordle`, `bulls_cows`, `bulls` or `shared_letters`.

    `turn.info`: `result` (feedback, win, invalid, format), `guess`, and what the kind of feedback tells: `marks`,
    `bulls` and `cows`, `bulls`, or `shared`.
    """

    presets: ClassVar[tuple[str, ...]] = ("mtp",)

    preset: str = "mtp"
    feedback: str = "wordle"
    max_turns: int = 40

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.feedback not in feedback.N_NUMBERS:
            raise unknown("word_guess: feedback", self.feedback, feedback.N_NUMBERS)

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name="word_guess",
            version="2",
            summary="find which of 40 listed words is the secret in as few attempts as possible",
            preset=self.preset,
            max_turns=self.max_turns,
            reward_range=(0.0, 1.0),
            support="every word of the task's vocabulary, equally likely",
            source="Multi-Turn Puzzles (MTP), section 2.1 and table 2",
            reference="entropy",
            departures=("vocabularies from SCOWL", "kind of feedback and formula of the score are ours"),
        )

    def split(self, split: str) -> Sequence[Task]:
        found = words.task_words(feedback.LENGTH, cast(Split, split))
        return TaskList(N_VOCABULARIES * SIZE, lambda i: self._task(_word_slice(found, i // SIZE), i % SIZE, split, i))

    def task(self, hidden: Json) -> Task:
        """`{"vocabulary": ["boost", "toast", ...], "secret": "toast"}`: 2 to 200 different words of five letters, in
        lower case, and one of them."""
        setup = cast("Mapping[str, Any]", hidden) if isinstance(hidden, Mapping) else Frozen[Any]()
        if set(setup) != {"vocabulary", "secret"}:
            raise invalid("word_guess: hidden", cast("object", hidden), "a mapping with vocabulary and secret")
        found, secret = setup["vocabulary"], setup["secret"]
        if not _is_vocabulary(found):
            allowed = f"2 to {_LARGEST} different words of five letters, in lower case"
            raise invalid("word_guess: hidden.vocabulary", found, allowed)
        if secret not in found:
            raise invalid("word_guess: hidden.secret", secret, "a word of the vocabulary")
        return self._task(tuple(found), found.index(secret), "custom", 0)

    def _task(self, vocabulary: tuple[str, ...], secret: int, split: str, index: int) -> Task:
        public, hidden = Frozen(vocabulary=vocabulary), _hidden_setup(vocabulary, vocabulary[secret])
        return self.make_listed_task(split, index, public, hidden)

    # --- rules -------------------------------------------------------------------------------------------------------

    def start(self, public: Mapping[str, Json], hidden: Json) -> State:
        return State(hidden["vocabulary"], hidden["secret"])

    def prior(self, public: Mapping[str, Json]) -> Sequence[tuple[float, Json]]:
        found = public["vocabulary"]
        return [(1.0 / len(found), _hidden_setup(found, word)) for word in found]

    def to_act(self, state: State) -> str | None:
        return AGENT if state.turn < self.max_turns else None

    def hypothesis(self, state: State) -> str:
        return state.secret

    def intro(self, state: State, seat: str) -> str:
        say, listed = self.prompt_pieces("word_guess"), " ".join(state.vocabulary)
        rule = say[f"rule_{self.feedback}"]
        return say["intro"].format(n=len(state.vocabulary), turns=self.max_turns, listed=listed, rule=rule)

    def next_step(self, state: State, text: str) -> Step:
        say, guess = self.prompt_pieces("word_guess"), _parse_guess(state.vocabulary, self.which_answer, text)
        if guess is None:
            if read_answer(text) is not None:
                return self._end_turn(state, say["invalid"], Frozen(result="invalid"))
            told = Frozen({AGENT: say["format"]})
            return Step(self._end_game(state), told, info=Frozen(result="unreadable"), outcome=Outcome("unreadable"))
        known = feedback.feedback_facts(self.feedback, state.secret, guess)
        if guess == state.secret:
            score, told = 1.0 - state.turn / self.max_turns, Frozen({AGENT: say["win"].format(guess=guess)})
            info = Frozen(result="win", guess=guess, **known)
            return Step(self._end_game(state), told, Frozen({AGENT: score}), info, Outcome("win", score))
        return self._end_turn(state, self._feedback_text(guess, known), Frozen(result="feedback", guess=guess, **known))

    def _feedback_text(self, guess: str, known: Mapping[str, Json]) -> str:
        if self.feedback == "wordle":
            return feedback.marks_lines(guess, known["marks"])
        return self.prompt_pieces("word_guess")[f"told_{self.feedback}"].format(guess=guess, **known)

    def _end_game(self, state: State) -> State:
        return State(state.vocabulary, state.secret, self.max_turns)

    def _end_turn(self, state: State, told: str, info: Frozen[Json]) -> Step:
        after, say = State(state.vocabulary, state.secret, state.turn + 1), self.prompt_pieces("word_guess")
        left = self.max_turns - after.turn
        if left == 0:
            told = f"{told}\n{say['timeout']}"
            return Step(after, Frozen({AGENT: told}), info=info, outcome=Outcome("out_of_turns", truncated="turns"))
        told = f"{told}\n{say['next'].replace('{left}', str(left))}"
        return Step(after, Frozen({AGENT: told}), info=info)

    def actions(self, state: State) -> Sequence[str] | None:
        return state.vocabulary

    def answer_schema(self, public: Mapping[str, Json]) -> Mapping[str, Json] | None:
        return choice_schema(public["vocabulary"], "The word to guess.")

    def say(self, answer: str) -> str:
        return tag_answer(answer)

    # --- exact beliefs -----------------------------------------------------------------------------------------------

    def filter(self, public: Mapping[str, Json]) -> GuessFilter:
        return _shared_game(self.feedback, public["vocabulary"], self.which_answer).start()


def _word_slice(found: Sequence[str], k: int) -> tuple[str, ...]:
    return tuple(sorted(found[k * SIZE : (k + 1) * SIZE]))


def _hidden_setup(vocabulary: tuple[str, ...], secret: str) -> Frozen[Json]:
    return Frozen(vocabulary=vocabulary, secret=secret)


def _is_vocabulary(value: Json) -> bool:
    n = feedback.LENGTH
    return words.are_words(value, _LARGEST, n) and all(len(word) == n for word in value)


def _parse_guess(vocabulary: tuple[str, ...], which: Which, text: str) -> str | None:
    """The word of the vocabulary that a reply guesses; None if it guesses none."""

    def parse_listed(answer: str) -> str | None:
        guess = join_symbols(answer).lower()
        return guess if guess in vocabulary else None

    return parse_answer(text, parse_listed, which=which)


# 20 vocabularies ship; custom ones may be many.
@lru_cache(maxsize=64)
def _shared_game(kind: str, vocabulary: tuple[str, ...], which: Which) -> Guessing:
    from .._shared.words.guessing import Guessing

    def read_turn(turn: Turn) -> tuple[str, int] | None:
        info = turn.info
        return (
            (info["guess"], feedback.feedback_number(kind, info, info["result"] == "win")) if "guess" in info else None
        )

    parse = partial(_parse_guess, vocabulary, which)
    return Guessing(vocabulary, feedback.verdict_table(kind), feedback.N_NUMBERS[kind], read_turn, parse)
