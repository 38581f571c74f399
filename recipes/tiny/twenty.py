"""Teachers of twenty questions, preset small: `careless` and `attentive`, over a bank of questions that they know.

They know what is true of every thing and keep to what was replied. A careless one asks anything of the bank, again and
again; an attentive one the best of a few that it has not asked. Neither asks as well as the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from sonde.core import Env, Frozen, Rng
from sonde.users.answerer import truth

SKILLS: Mapping[str, float] = Frozen(careless=0.8, attentive=0.2)
FEW = 3
"""Questions that an attentive teacher chooses from."""
EARLY, SURE = 0.06, 0.5
"""How often a teacher guesses where more than one thing is possible, and where one is left."""
BANK = (
    "Is it an invention?", "Is it made of metal?", "Is it a vertebrate?", "Is it wild?", "Does it have bones?",
    "Does it move?", "Is it natural?", "Is it reusable?", "Does its name have more than five letters?",
    "Is it warm blooded?", "Is it an animal?", "Does it weigh more than 1 kg?", "Does it weigh more than 50 kg?",
    "Does it have hair?", "Does it have seeds?", "Does it have an engine?", "Is it a machine?", "Does it use fuel?",
    "Does it have fur?", "Does it have a pit?", "Is it a mammal?", "Is it a fruit?", "Does it live in water?",
    "Does it have wheels?", "Does it have horns?", "Is it sweet?", "Does its name have more than seven letters?",
    "Is it a motor vehicle?", "Does it lay eggs?", "Does it have windows?", "Is it a vehicle?",
    "Is it a musical instrument?", "Is it a hand tool?", "Is it a tool?", "Does it fly?", "Does it have a beak?",
    "Does it start with a vowel?", "Does it start with the letter C?", "Does it start with the letter S?",
    "Does it start with the letter P?", "Does it start with the letter B?", "Does it have keys?",
    "Is it a string instrument?", "Is it a farm animal?", "Is it a bird?", "Is it a woodwind instrument?",
    "Is it soft?", "Is it dangerous?",
)  # fmt: skip


@cache
def things(env: Env[Any]) -> tuple[str, ...]:
    """All that may be the secret, of every split."""
    return tuple(str(h) for h in env.filter(Frozen()).belief().hypotheses)


@cache
def parts(env: Env[Any], question: str) -> tuple[int, ...]:
    """The things by what is replied of them, as masks."""
    found: dict[str, int] = {}
    for i, name in enumerate(things(env)):
        reply = truth(name, question, invalid=True)
        found[reply] = found.get(reply, 0) | 1 << i
    return tuple(found.values())


def teacher(env: Env[Any], skill: str, rng: Rng) -> Callable[[Any, Rng], str]:
    """A teacher of this skill, for one episode."""
    last = int(env.spec.max_turns) - 1

    def say(state: Any, rng: Rng) -> str:
        secret, left = 1 << things(env).index(env.hypothesis(state)), (1 << len(things(env))) - 1
        for question in state.heard:
            left &= next(part for part in parts(env, question) if part & secret)
        if rng.random() < (1.0 if state.turn == last else SURE if left == secret else EARLY):
            return env.say(_any([name for i, name in enumerate(things(env)) if left >> i & 1], rng))
        if skill == "careless":
            return _any(BANK, rng)
        few = rng.sample([question for question in BANK if question not in state.heard], FEW)
        return min(few, key=lambda question: sum((left & part).bit_count() ** 2 for part in parts(env, question)))

    return say


def _any(texts: Sequence[str], rng: Rng) -> str:
    return texts[rng.randrange(len(texts))]
