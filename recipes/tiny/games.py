"""What a sonde-tiny model is trained to play: an environment, how it is shown, teachers and the plan of training.

A teacher has a skill, drawn once per episode and kept to its end. The mixture of skills is what makes a novice that has
seen everything a good player does: at temperature 1 it plays like the mixture, and training on its own play can pull
the skill out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import best_arm
import mazes

import sonde
from sonde.core import Env, Frozen, Message, Rng
from sonde.core.env import pick

Teacher = Callable[[Any, Rng], str]
"""What to say in a state."""


class Lesson(NamedTuple):
    """A part of the training: its share of the steps, how often each skill teaches, and whether the rules are left out:
    they are the same in every episode and cost time."""

    share: float
    skills: Mapping[str, float]
    bare: bool = False


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How long and how fast to train. `turns`: how many turns of an episode are kept where each is a row of its own;
    `told`: the weight of tokens that the environment says, those of the agent have 1; `muon`: Muon in bfloat16, a third
    fewer steps, but on processors without bfloat16 each takes ten times as long; else AdamW in float32."""

    steps: int
    tokens: int = 1024
    rate: float = 3e-3
    told: float = 0.1
    turns: int = 4
    muon: bool = True


@dataclass(frozen=True, kw_only=True)
class Game:
    """One environment. `context` is that of `agents:llm`; the last of the lessons makes the novice."""

    title: str
    env: Env[Any]
    context: str
    window: int
    """Tokens that the longest episode may have."""
    plan: Plan
    lessons: tuple[Lesson, ...]
    teacher: Callable[[Env[Any], str, Rng], Teacher]
    fine: Callable[[Mapping[str, Any]], bool]
    """Whether the `info` of an act says that what was said could be read."""
    reference: str
    floors: Mapping[str, sonde.Policy]
    """Players that know nothing of the game but its rules, by what a table calls them."""
    rules: str
    """What separates the rules from what follows them in the first message."""
    worlds: str
    """What is held out and what is not, in a sentence for the card."""

    @property
    def name(self) -> str:
        return f"sonde-tiny-{self.env.name}"


def episode(game: Game, skill: str, rng: Rng, *, bare: bool = False) -> list[Message]:
    """One episode of a teacher in a world of the train split, as the agent's messages, `bare` without the rules. In
    context `render` every turn is a conversation of its own: the messages are those of all turns, pair after pair."""
    env, tasks = game.env, game.env.tasks("train")
    state = env.reset(tasks[rng.randrange(len(tasks))], rng)
    teacher, said = game.teacher(env, skill, rng), list[Message]()

    def without(text: str) -> str:
        return text.partition(game.rules)[2] if bare else text

    told = without(env.intro(state, sonde.AGENT))
    while env.to_act(state) is not None:
        shown = without(str(env.render(state, sonde.AGENT))) if game.context == "render" else told
        text = teacher(state, rng)
        said += [Message("user", shown), Message("assistant", text)]
        step = env.step(state, text, rng)
        state, told = step.state, step.told.get(sonde.AGENT, "")
    return said


def draw_skill(skills: Mapping[str, float], rng: Rng) -> str:
    """A skill, by how often it teaches."""
    return pick([(share, skill) for skill, share in skills.items()], rng)


def best_arm_game() -> Game:
    return Game(
        title="best_arm, preset small: three machines, 10 tries, one decision",
        env=sonde.make("best_arm", preset="small"),
        context="render",
        window=256,
        plan=Plan(steps=2000),
        lessons=(Lesson(0.6, Frozen(strong=1.0), bare=True), Lesson(0.4, best_arm.SKILLS)),
        teacher=best_arm.teacher,
        fine=lambda info: info["result"] not in ("invalid", "format"),
        reference="agents:bayes_arm",
        floors=Frozen({"random legal play": sonde.make("agents:random")}),
        rules="\n",
        worlds="The worlds it is tested in, drawn from the prior, were not seen in training; names and rules were.",
    )


def maze_game() -> Game:
    return Game(
        title="maze, preset pairs: eight named maps, 20 moves",
        env=sonde.make("maze", preset="pairs"),
        context="full",
        window=1024,
        plan=Plan(steps=1500, muon=False),
        lessons=(Lesson(0.65, Frozen(far=1.0), bare=True), Lesson(0.35, mazes.SKILLS)),
        teacher=mazes.teacher,
        fine=lambda info: info["result"] != "invalid",
        reference="agents:pathfinder",
        floors=Frozen({"random legal play": sonde.make("agents:random"), "random open ways": mazes.OpenWays()}),
        rules="\n\n",
        worlds=(
            "The eight maps are in its weights, the ways are not: its teachers wandered until they saw the goal. No "
            "start that it is tested on lies on a shortest way of a training task with the same goal."
        ),
    )


GAMES: Mapping[str, Callable[[], Game]] = {"best_arm": best_arm_game, "maze": maze_game}
