"""Word chaining: take turns with an opponent to say words that begin where the last one ended, and never break a rule.

Source: Multi-Turn Puzzles (MTP), section 2.1 and tables 1 and 2. Published: a lexicon of 500 words drawn at random from
SCOWL, the starting player by lot, 400 configurations; a word must be listed, begin with the last letter of the previous
word, and not have been said; whoever breaks a rule loses at once; the game ends without loss when the player to move
has no word left, or at 20 turns. The score is the share of games without a loss: 1 for a win, otherwise 0, which is
also the reward. Nothing is hidden, so there is no filter.

Ours, because the paper's text does not say: the words come from SCOWL up to size 60 and are shown, one line per first
letter; the lot is drawn once per task; a turn is a word of the agent's with the reply to it, and the last one ends
without a reply; the opponent (seat `opponent`) plays at random unless it is given another policy. If the opponent
breaks a rule, or cannot be understood, the game ends as a win. Only its opening is special, because a game must not end
before the agent has spoken: there it may not say a word that none can follow, and if it fails, the agent opens instead.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, cast

from sonde.core import AGENT, Env, Frozen, Outcome, Spec, Step, Task, TaskList, derive, invalid
from sonde.core.seeding import Rng
from sonde.core.tools import text_schema
from sonde.core.types import Json

from .._shared.answer import AnswerTags, begins_another, parse_answer, read_answer, tag_answer
from .._shared.words.lists import are_words
from . import chain

OPPONENT = "opponent"
N_TASKS, N_WORDS = 400, 500
_LARGEST, _LONGEST = 2000, 30
_WIN = Frozen({AGENT: 1.0})


class State(NamedTuple):
    """The lexicon, the seat to act (None at the end), all words said, and the number of the agent's turns so far."""

    lexicon: chain.Lexicon
    seat: str | None
    played: tuple[str, ...] = ()
    turn: int = 0


@dataclass(frozen=True, kw_only=True)
class WordChaining(Env[State], AnswerTags):
    """See the module.

    `turn.info`: `word`, the agent's word, if listed; `reply`, the opponent's word; `letter`, the required first letter
    of the next word; and `result`: reply (the game continues), stuck (no word is left), turns (all are used), forfeit
    (the opponent broke a rule), or the agent's failure: unlisted, letter, repeated, format. Single acts may also have
    the results word (the agent's was legal) and pass (the opponent could not open). `View.private` gives programs in
    either seat `played`, all words said so far; `View.public` the `lexicon`.
    """

    presets: ClassVar[tuple[str, ...]] = ("mtp",)

    preset: str = "mtp"
    max_turns: int = 20

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name="word_chaining",
            version="2",
            summary="say words that begin where the opponent's ended, and never break a rule",
            preset=self.preset,
            max_turns=self.max_turns,
            reward_range=(0.0, 1.0),
            support="nothing is hidden",
            source="Multi-Turn Puzzles (MTP), section 2.1 and tables 1 and 2",
            seats=Frozen({AGENT: None, OPPONENT: "users:chainer"}),
            floor="careless",
            reference="word_chaining",
            departures=("the lexicon is shown", "an opponent's opening must allow a reply; otherwise the agent opens"),
        )

    def split(self, split: str) -> Sequence[Task]:
        return TaskList(N_TASKS, lambda i: self._draw_task(split, i))

    def _draw_task(self, split: str, index: int) -> Task:
        rng = random.Random(derive(0, "task", "word_chaining", self.preset, split, index))
        words = tuple(sorted(rng.sample(chain.split_words(split), N_WORDS)))
        return self._task(words, rng.choice((AGENT, OPPONENT)), split, index)

    def task(self, hidden: Json) -> Task:
        """`{"lexicon": ["east", "tea", ...], "first": "agent"}`: 2 to 2,000 different words of at most 30 letters, in
        lower case, and who begins. If the opponent begins, some word must be able to follow another."""
        setup = cast("Mapping[str, Any]", hidden) if isinstance(hidden, Mapping) else Frozen[Any]()
        if set(setup) != {"lexicon", "first"}:
            raise invalid("word_chaining: hidden", cast("object", hidden), "a mapping with lexicon and first")
        words, first = setup["lexicon"], setup["first"]
        if not are_words(words, _LARGEST, _LONGEST):
            allowed = f"2 to {_LARGEST:,} different words of at most {_LONGEST} letters, in lower case"
            raise invalid("word_chaining: hidden.lexicon", words, allowed)
        if first not in (AGENT, OPPONENT):
            raise invalid("word_chaining: hidden.first", first, f"{AGENT} or {OPPONENT}")
        words = tuple(sorted(words))
        if first == OPPONENT and not chain.make_lexicon(words).opening_words:
            raise invalid("word_chaining: hidden.first", first, f"{AGENT}, since no word can follow another")
        return self._task(words, first, "custom", 0)

    def _task(self, words: tuple[str, ...], first: str, split: str, index: int) -> Task:
        # The whole setup is public; `hidden` holds it too, so that the task can be rebuilt.
        setup = Frozen[Json](lexicon=words, first=first)
        return self.make_listed_task(split, index, setup, setup, first=first)

    # --- rules -------------------------------------------------------------------------------------------------------

    def reset(self, task: Task, rng: Rng) -> State:
        return State(chain.make_lexicon(task.public["lexicon"]), task.public["first"])

    def to_act(self, state: State) -> str | None:
        return state.seat

    def hypothesis(self, state: State) -> None:
        return None

    def private(self, state: State, seat: str) -> Mapping[str, Any]:
        return Frozen(played=state.played)

    def actions(self, state: State) -> Sequence[str] | None:
        """The legal words for the side to act."""
        opens = state.seat == OPPONENT and not state.played
        return state.lexicon.opening_words if opens else state.lexicon.legal_words(state.played)

    def answer_schema(self, public: Mapping[str, Json]) -> Mapping[str, Json] | None:
        return text_schema("The word to say.")

    def say(self, answer: str) -> str:
        return tag_answer(answer)

    def intro(self, state: State, seat: str) -> str:
        say, listed = self.prompt_pieces("word_chaining"), chain.format_words(state.lexicon.words)
        rules = say["intro"].format(listed=listed, end=say[f"end_{seat}"].format(turns=self.max_turns))
        return f"{rules}\n\n{say['open' if seat == state.seat else 'wait']}"

    def step(self, state: State, text: str, rng: Rng) -> Step:
        word = self._parse_word(state, text) or ""
        unread = not word and read_answer(text) is None
        broken = "unreadable" if unread else state.lexicon.broken_rule(state.played, word)
        if state.seat == AGENT:
            return self._lose_game(state, word, broken) if broken else self._say_word(state, word)
        if not state.played and (broken or word not in state.lexicon.opening_words):
            return self._pass_turn(state)
        return self._forfeit_game(state) if broken else self._apply_reply(state, word)

    def _parse_word(self, state: State, text: str) -> str | None:
        """The listed word in a reply; None if there is none."""
        words = state.lexicon.words

        def parse_listed(answer: str) -> str | None:
            word = answer.lower()
            return word if state.lexicon.broken_rule((), word) != "unlisted" else None

        return parse_answer(text, parse_listed, begins_another(words), which=self.which_answer)

    def _say_word(self, state: State, word: str) -> Step:
        played, turn, say = (*state.played, word), state.turn + 1, self.prompt_pieces("word_chaining")
        facts = {"word": word, "letter": word[-1]}
        if not state.lexicon.can_go_on(played):
            told = say["stuck_opponent"].format(letter=word[-1])
            return _win_step(State(state.lexicon, None, played, turn), told, Frozen(result="stuck", **facts))
        if turn == self.max_turns:
            return _win_step(State(state.lexicon, None, played, turn), say["turns"], Frozen(result="turns", **facts))
        after = State(state.lexicon, OPPONENT, played, turn)
        return Step(after, Frozen({OPPONENT: _word_text(say["heard"], word)}), info=Frozen(result="word", **facts))

    def _apply_reply(self, state: State, word: str) -> Step:
        played, letter, say = (*state.played, word), word[-1], self.prompt_pieces("word_chaining")
        if not state.lexicon.can_go_on(played):
            told = say["stuck"].format(word=word, letter=letter)
            info = Frozen(result="stuck", reply=word, letter=letter)
            return _win_step(State(state.lexicon, None, played, state.turn), told, info)
        left = say["left"].replace("{left}", str(self.max_turns - state.turn))
        info = Frozen(result="reply", reply=word, letter=letter)
        after = State(state.lexicon, AGENT, played, state.turn)
        return Step(after, Frozen({AGENT: f"{_word_text(say['heard'], word)}\n{left}"}), info=info)

    def _lose_game(self, state: State, word: str, broken: str) -> Step:
        letter = state.played[-1][-1] if state.played else ""
        told = Frozen({AGENT: self.prompt_pieces("word_chaining")[broken].format(word=word, letter=letter)})
        info = Frozen(result=broken, word=word) if broken in ("letter", "repeated") else Frozen(result=broken)
        over = State(state.lexicon, None, state.played, state.turn + 1)
        return Step(over, told, info=info, outcome=Outcome("unreadable" if broken == "unreadable" else "loss"))

    def _forfeit_game(self, state: State) -> Step:
        over = State(state.lexicon, None, state.played, state.turn)
        return _win_step(over, self.prompt_pieces("word_chaining")["forfeit"], Frozen(result="forfeit"))

    def _pass_turn(self, state: State) -> Step:
        told = Frozen({AGENT: self.prompt_pieces("word_chaining")["pass"]})
        return Step(State(state.lexicon, AGENT), told, info=Frozen(result="pass"))


def _word_text(text: str, word: str) -> str:
    return text.replace("{word}", word).replace("{letter}", word[-1])


def _win_step(over: State, told: str, info: Frozen[Json]) -> Step:
    return Step(over, Frozen({AGENT: told}), _WIN, info, Outcome("win", 1.0))
