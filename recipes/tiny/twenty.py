"""Teachers of twenty questions, preset small: `careless` and `attentive`, with a fixed bank of questions.

Both know the facts about every thing, and use the replies. A careless teacher asks random questions of the bank, with
repetitions; an attentive one asks the best of a few new questions. Neither asks as well as the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal

from sonde.core import AGENT, Env, Frozen, Rng
from sonde.envs.twenty_questions.answering import TEXTS
from sonde.envs.twenty_questions.user import true_reply

SKILLS: Mapping[str, float] = Frozen(careless=0.8, attentive=0.2)
FEW = 3
"""The number of questions among which an attentive teacher chooses."""
EARLY, SURE = 0.06, 0.5
"""The probability of a guess while several things are possible, and when one is left."""
BANK = (
    "Is it dangerous?", "Is it soft?", "Does its name have more than five letters?", "Does it weigh more than 1 kg?",
    "Does it have bones?", "Does it weigh more than 50 kg?", "Does it start with the letter C?", "Does it have seeds?",
    "Is it a machine?", "Does it start with the letter P?", "Is it made of metal?", "Does it start with a vowel?",
    "Is it wild?", "Does its name have more than seven letters?", "Does it start with the letter B?", "Does it move?",
    "Is it natural?", "Is it an animal?", "Is it a mammal?", "Is it a fruit?", "Is it a tool?", "Is it a vehicle?",
    "Is it a musical instrument?", "Does it have wheels?",
)  # fmt: skip
"""Fifteen of them are enough to distinguish all things."""


@cache
def possible_things(env: Env[Any]) -> tuple[str, ...]:
    """All possible secrets, of every split."""
    return tuple(str(h) for h in env.filter(Frozen()).belief().hypotheses)


@cache
def reply_masks(env: Env[Any], question: str) -> tuple[int, ...]:
    """Map each reply to the things that get it, as a mask."""
    found: dict[str, int] = {}
    for i, name in enumerate(possible_things(env)):
        told = reply(question, name)
        found[told] = found.get(told, 0) | 1 << i
    return tuple(found.values())


def make_teacher(env: Env[Any], skill: str, rng: Rng) -> Callable[[Any, Rng], str]:
    """A teacher of this skill, for one episode."""
    last = int(env.spec.max_turns) - 1

    def say(state: Any, rng: Rng) -> str:
        secret, left = 1 << possible_things(env).index(env.hypothesis(state)), (1 << len(possible_things(env))) - 1
        for question in state.heard:
            left &= next(part for part in reply_masks(env, question) if part & secret)
        if rng.random() < (1.0 if state.turn == last else SURE if left == secret else EARLY):
            return env.say(_any([name for i, name in enumerate(possible_things(env)) if left >> i & 1], rng))
        if skill == "careless":
            return _any(BANK, rng)
        few = rng.sample([question for question in BANK if question not in state.heard], FEW)
        return min(few, key=lambda question: sum((left & part).bit_count() ** 2 for part in reply_masks(env, question)))

    return say


Said = list[tuple[Literal["user", "assistant"], str]]
"""Who said what."""


def drill_questions(env: Env[Any], rng: Rng) -> list[tuple[Said, str]]:
    """Draw secrets with true replies to random questions, equally many for each of the batch, without the rules."""
    n = 1 + rng.randrange(int(env.spec.max_turns))
    found: list[tuple[Said, str]] = []
    for _ in range(128 if n <= 4 else 64):
        secret = _any(possible_things(env), rng)
        said: Said = [("user", "")]
        for _ in range(n):
            question = _any(BANK, rng)
            said += [("assistant", question), ("user", reply(question, secret))]
        found.append((said, secret))
    return found


@cache
def reply(question: str, secret: str) -> str:
    return true_reply(secret, question, invalid=True)


def phrases(env: Any) -> tuple[str, ...]:
    """The recurring phrases of the game: the rules without the number of turns, questions, guesses and replies."""
    state = env.reset(env.tasks("train")[0], Rng(0))
    rules = env.intro(state, AGENT).replace(f" {env.spec.max_turns} ", "\n").replace(". ", ".\n").splitlines()
    over = env.say_pieces["timeout"].format(reply="").strip()
    return (*rules, over, *BANK, *(env.say(name) for name in possible_things(env)), *TEXTS.values())


def _any(texts: Sequence[str], rng: Rng) -> str:
    return texts[rng.randrange(len(texts))]
