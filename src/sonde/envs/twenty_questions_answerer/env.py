"""Twenty questions from the other side: pick a word in secret, answer an asker who sets traps, stay consistent.

Source: Multi-Turn Puzzles (MTP), section 2.1 and appendix A.3. Published: 80 to 100 nouns shown with their WordNet
hypernyms and the criteria they meet; up to 20 questions about hypernyms and a final guess at the word, which comes when
one word remains, the questions are used up, or the asker guesses early; the five contradictions, each of which loses at
once; winning otherwise; 400 test games. The asker sits in the seat `user` (`users:trapper` by default).

By this rule an answerer needs no word in mind, only answers that do not contradict each other, and a constant "yes" is
consistent as long as the asker sets no trap for it: of our 400 test games "always yes" wins 48.5 % and "always no" 24.0
%, random answers 38.2 % (the floor). So a share of wins near a half shows no reasoning; compare it with these, or use
more traps (`users:trapper`). The paper does not print its asker's probabilities, or such a baseline.

Ours
- Any guess is the final one. A consistent answer to it, which may be yes or no, wins the game.
- "By the list alone": for a term that no word of the list has, the right answer is no. The paper's asker never uses
  one, but a language model may; yes is then the fifth contradiction, because none of the first four applies.
- An answer that is neither yes nor no costs a turn (info result "invalid"), and the same question is asked again. It
  costs no question, so dodging does not shorten a game: a dodger may run out of turns, which scores 0.
- The asker must say "Is it a kind of X?" or "Is your word Y?", alone or in an answer tag; after the last question, the
  latter. X may not be a word of the list, nor Y a kind. Anything else is requested again; the third time in a row the
  episode ends as an `error`, because the asker failed and not the agent. The agent is told the question in our own
  words, never the asker's text.
- Train and test draw their words from two halves of the pool, so no test word is seen in training. Kinds shared by all
  words of a list are written once below it instead of in every line.

There is no filter: the agent's word is in its head and not in the state, so there is no true hypothesis to be found and
every gain is n/a. The asker's knowledge is exact all the same: the words that remain, in `info["remaining"]` and the
asker's private facts; log2 of their number is its uncertainty under a uniform prior.

`turn.info`: `result` (consistent, contradiction, win, invalid, format), and unless it is invalid or format, `question`
("kind" or "word") and `term`, `answer`, `remaining` (words that fit all answers), `contradiction` (its kind, or None).
An unreadable act of the user adds `asker`: "unreadable".
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, ClassVar, NamedTuple, cast

from sonde.core import AGENT, Env, Frozen, Outcome, Rng, Spec, Step, Task, TaskList, derive, invalid
from sonde.core.tools import choice_schema
from sonde.core.types import Json

from .._shared.answer import AnswerTags, parse_answer, read_answer, tag_answer
from .taxonomy import Question, Words, all_nouns, find_contradiction, narrow_words, word_pool, word_taxonomy

USER = "user"

_NAME = "twenty_questions_answerer"
_N_TASKS = 400
_PATIENCE = 3
"""The number of unreadable questions in a row that ends an episode."""
_WIN = Frozen({AGENT: 1.0})
_ANSWERS = ("yes", "no")
_FORMS: Mapping[Question, re.Pattern[str]] = {
    "kind": re.compile(r"is it (?:a |an )?(?:kind|type) of (?:a |an )?(.+?)[ ?.]*", re.IGNORECASE),
    "word": re.compile(r"is your word (?:a |an |the )?(.+?)[ ?.]*", re.IGNORECASE),
}
_LONGEST_QUESTION = 120
_TERM = re.compile(r"[^\W\d_][\w' -]{0,59}")


class State(NamedTuple):
    """The list, the words that fit all answers (a mask), the pending question, counts, and the seat to act."""

    words: Words
    remaining: int
    question: Question = "kind"
    term: str = ""
    answered: int = 0
    turn: int = 0
    misses: int = 0
    seat: str | None = USER


@dataclass(frozen=True, kw_only=True)
class TwentyQuestionsAnswerer(Env[State], AnswerTags):
    """See the module. Lists have `min_words` to `max_words` words, at least 2 and at most 200. The final guess takes
    one more turn, so `max_turns=n` means n - 1 questions."""

    presets: ClassVar[tuple[str, ...]] = ("mtp",)

    preset: str = "mtp"
    min_words: int = 80
    max_words: int = 100
    max_turns: int = 21

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 <= self.min_words <= 200:
            raise invalid(f"{_NAME}: min_words", self.min_words, "2 to 200")
        if not self.min_words <= self.max_words <= 200:
            raise invalid(f"{_NAME}: max_words", self.max_words, f"min_words = {self.min_words} to 200")

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name=_NAME,
            version="2",
            summary="pick a word in secret and answer questions about it without a contradiction",
            preset=self.preset,
            max_turns=self.max_turns,
            reward_range=(0.0, 1.0),
            support="nothing is hidden from the agent; only it knows its word",
            source="MTP, section 2.1 and appendix A.3",
            seats=Frozen({AGENT: None, USER: "users:trapper"}),
            reference="twenty_questions_answerer",
            departures=(
                "the word pool and its split are ours",
                "an answer that is neither yes nor no costs a turn, and the question is asked again",
                "kinds shared by all words of the list are stated once",
            ),
        )

    @property
    def max_questions(self) -> int:
        """Questions before the final guess."""
        return self.max_turns - 1

    def split(self, split: str) -> Sequence[Task]:
        return TaskList(_N_TASKS, lambda i: self._make_task(self._draw_task(split, i), split, i))

    def _draw_task(self, split: str, index: int) -> tuple[str, ...]:
        rng = random.Random(derive(0, "task", _NAME, self.preset, split, index))
        words = tuple(word_pool(split))
        return tuple(sorted(rng.sample(words, rng.randint(self.min_words, self.max_words))))

    def task(self, hidden: Json) -> Task:
        """`["acorn", "wallaby", ...]`: 2 to 200 different nouns of the pool, in any order.

        Other nouns come with their hypernyms, nearest first: `{"acorn": ["nut", "seed", ...], ...}`. No word may be a
        hypernym of another, and no two may have the same ones, as the paper's criteria say.
        """
        if isinstance(hidden, Mapping):
            return self._make_task(_check_nouns(cast("Mapping[str, Json]", hidden)), "custom", 0)
        return self._make_task(_check_words(hidden), "custom", 0)

    def _make_task(self, words: Words, split: str, index: int) -> Task:
        return self.make_listed_task(split, index, Frozen[Json](words=words), words)

    # --- rules -------------------------------------------------------------------------------------------------------

    def reset(self, task: Task, rng: Rng) -> State:
        words: Words = task.public["words"]
        return State(words, word_taxonomy(words).all)

    def to_act(self, state: State) -> str | None:
        return state.seat

    def acts(self, seat: str) -> tuple[int, int]:
        return self.max_turns, 0 if seat == AGENT else self.max_turns * (_PATIENCE - 1)

    def hypothesis(self, state: State) -> None:
        """None: only the agent knows the secret."""

    def intro(self, state: State, seat: str) -> str:
        say = self.prompt_pieces(_NAME)
        ask = say["user-ask" if self.max_questions else "user-must-guess"]
        return _intro_text(say["intro" if seat == AGENT else "user-intro"], state.words, self.max_questions, ask)

    def private(self, state: State, seat: str) -> Mapping[str, Any]:
        """The game as data. Both seats: `words`, and `kinds`, which maps every hypernym to the mask of its words. The
        agent: `question`, a pair of "kind" or "word" and the term. The user: `remaining`, the mask of the words that
        fit all answers, and `questions_left`; at 0 it must guess."""
        known = word_taxonomy(state.words)
        if seat == AGENT:
            return Frozen[Any](words=known.words, kinds=known.kinds, question=(state.question, state.term))
        left = self.max_questions - state.answered
        return Frozen[Any](words=known.words, kinds=known.kinds, remaining=state.remaining, questions_left=left)

    def actions(self, state: State) -> Sequence[str] | None:
        return _ANSWERS if state.seat == AGENT else None

    def answer_schema(self, public: Mapping[str, Json]) -> Mapping[str, Json] | None:
        return choice_schema(_ANSWERS, "Your answer to the question.")

    def say(self, answer: str) -> str:
        return tag_answer(answer)

    def step(self, state: State, text: str, rng: Rng) -> Step:
        return self._handle_question(state, text) if state.seat == USER else self._handle_answer(state, text)

    # --- the user asks -----------------------------------------------------------------------------------------------

    def _handle_question(self, state: State, text: str) -> Step:
        found = read_question(state.words, text)
        if found is None or (found[0] == "kind" and state.answered == self.max_questions):
            return self._handle_invalid_question(state)
        question, term = found
        say = self.prompt_pieces(_NAME)
        asked = say[question].format(term=term)
        piece = say["question" if question == "kind" else "guess"]
        after = state._replace(question=question, term=term, misses=0, seat=AGENT)
        return Step(after, Frozen({AGENT: piece.format(number=state.answered + 1, question=asked)}))

    def _handle_invalid_question(self, state: State) -> Step:
        say, after = self.prompt_pieces(_NAME), state._replace(misses=state.misses + 1)
        info = Frozen[Any](asker="unreadable")
        if after.misses == _PATIENCE:
            told = Frozen({AGENT: say["abandoned"]})
            return Step(after._replace(seat=None), told, info=info, outcome=Outcome("error"))
        return Step(after, Frozen({USER: say["user-again"].format(ask=self._next_question(state.answered))}), info=info)

    def _next_question(self, answered: int) -> str:
        return self.prompt_pieces(_NAME)["user-ask" if answered < self.max_questions else "user-must-guess"]

    # --- the agent answers -------------------------------------------------------------------------------------------

    def _handle_answer(self, state: State, text: str) -> Step:
        reply = parse_answer(text, _parse_yes_or_no, which=self.which_answer)
        if reply is not None:
            return self._judge_answer(state, reply)
        if read_answer(text) is not None:
            return self._repeat_question(state)
        return _final_step(
            state, self.prompt_pieces(_NAME)["format"], Frozen(result="unreadable"), Outcome("unreadable")
        )

    def _judge_answer(self, state: State, reply: str) -> Step:
        say, question, term, yes = self.prompt_pieces(_NAME), state.question, state.term, reply == "yes"
        members = word_taxonomy(state.words).kind_members(question, term)
        remaining = narrow_words(state.remaining, members, yes)
        wrong = None if remaining else find_contradiction(question, members, yes)
        result = "contradiction" if wrong else "win" if question == "word" else "consistent"
        info = Frozen[Any](
            result=result, question=question, term=term, answer=reply, remaining=remaining.bit_count(),
            contradiction=wrong,
        )  # fmt: skip
        after = state._replace(remaining=remaining, answered=state.answered + 1, turn=state.turn + 1, seat=USER)
        if wrong:
            return _final_step(after, say[wrong].format(term=term), info, Outcome("loss"))
        if question == "word":
            return _final_step(after, say["win"].format(answers=after.answered), info, Outcome("win", 1.0))
        if after.turn == self.max_turns:
            return _final_step(after, say["timeout"], info, Outcome("out_of_turns", truncated="turns"))
        left, ask = self.max_questions - after.answered, self._next_question(after.answered)
        return Step(after, Frozen({USER: say["user-next"].format(answer=reply, left=left, ask=ask)}), info=info)

    def _repeat_question(self, state: State) -> Step:
        say, after, info = self.prompt_pieces(_NAME), state._replace(turn=state.turn + 1), Frozen[Any](result="invalid")
        left = self.max_turns - after.turn
        if left == 0:
            return _final_step(after, say["timeout"], info, Outcome("out_of_turns", truncated="turns"))
        asked = say[state.question].format(term=state.term)
        return Step(after, Frozen({AGENT: say["invalid"].format(left=left, question=asked)}), info=info)


def _parse_yes_or_no(answer: str) -> str | None:
    reply = answer.lower()
    return reply if reply in _ANSWERS else None


def read_question(words: Words, text: str) -> tuple[Question, str] | None:
    """Parse a question about this list: "kind" or "word", and the term; None if it has neither form.

    Names in the list are matched case-insensitively and must be of the sort that is asked for; other terms of letters,
    spaces, hyphens and apostrophes are accepted as they are.
    """
    return parse_answer(text, partial(_format_question, words), bare=True)


def _format_question(words: Words, said: str) -> tuple[Question, str] | None:
    if len(said) > _LONGEST_QUESTION:
        return None
    said = " ".join(said.split())
    for question, form in _FORMS.items():
        if found := form.fullmatch(said):
            term = found[1].strip("\"'`*“”‘’ ")
            known = word_taxonomy(words).names.get(term.casefold())
            if known is not None:
                return known if known[0] == question else None
            return (question, term) if _TERM.fullmatch(term) else None
    return None


def _final_step(state: State, told: str, info: Frozen[Any], outcome: Outcome) -> Step:
    rewards = _WIN if outcome.kind == "win" else Frozen[float]()
    return Step(state._replace(seat=None), Frozen({AGENT: told}), rewards, info, outcome)


@lru_cache(maxsize=1024)
def _intro_text(text: str, words: Words, questions: int, ask: str) -> str:
    known = word_taxonomy(words)
    return text.format(questions=questions, lines=known.word_lines(), common=", ".join(known.common()), ask=ask)


def _check_words(hidden: Json) -> tuple[str, ...]:
    """The words of a setup, sorted; raises an error that names what is wrong."""
    field, known = f"{_NAME}: hidden", all_nouns()
    words = cast("Sequence[Json]", hidden if isinstance(hidden, list | tuple) else ())
    if not 2 <= len(words) <= 200:
        raise invalid(field, cast("object", hidden), "a list of 2 to 200 nouns of the pool")
    for word in words:
        if not isinstance(word, str) or word not in known:
            raise invalid(f"{field}: word", word, f"one of the {len(known)} nouns of the pool, such as 'acorn'")
    if len(set(words)) < len(words):
        raise invalid(field, words, "different nouns")
    return tuple(sorted(words))


def _check_nouns(hidden: Mapping[str, Json]) -> Frozen[tuple[str, ...]]:
    """Nouns with hypernyms of their own, sorted by noun; raises an error that names what is wrong."""
    field = f"{_NAME}: hidden"
    if not 2 <= len(hidden) <= 200:
        raise invalid(field, hidden, "2 to 200 nouns with their hypernyms")
    rows = {word: _read_hypernyms(above) for word, above in hidden.items()}
    kinds, seen = {kind for above in rows.values() for kind in above}, dict[frozenset[str], str]()
    for word, above in rows.items():
        if not _TERM.fullmatch(word) or not above or len(set(above)) < len(above):
            raise invalid(f"{field}: {word}", hidden[word], "a noun with a list of different hypernyms, one or more")
        if word in kinds:
            raise invalid(f"{field}: {word}", word, "a noun that is no hypernym of another")
        if seen.setdefault(frozenset(above), word) != word:
            raise invalid(f"{field}: {word}", above, f"other hypernyms than those of {seen[frozenset(above)]}")
    return Frozen({word: rows[word] for word in sorted(rows)})


def _read_hypernyms(given: Json) -> tuple[str, ...]:
    """A list of terms; none for anything else."""
    terms = cast("Sequence[Any]", given if isinstance(given, list | tuple) else ())
    return tuple(terms) if all(isinstance(term, str) and _TERM.fullmatch(term) for term in terms) else ()
