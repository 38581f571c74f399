"""The training of each sonde-tiny model: an environment, its context, teachers, and a plan.

A teacher has a skill level, drawn once per episode. The mixture of levels gives a beginner that has seen all moves of a
good player: at temperature 1 it plays like the mixture, and training on its own play can select the skill.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import best_arm
import circuits
import locks
import mazes
import twenty

import sonde
from sonde.core import Env, Frozen, Message, Rng
from sonde.core.env import pick_weighted
from sonde.envs.twenty_questions.user import Answerer

Teacher = Callable[[Any, Rng], str]
"""What to say in a state."""


class Taught(NamedTuple):
    """The agent's messages of an episode, and what was hidden in it."""

    said: list[Message]
    hidden: Any


class Lesson(NamedTuple):
    """A part of the training: its share of the steps, the frequency of each skill, whether the rules are left out (they
    are the same in every episode and cost time), and the share of episodes that state the truth, at as many moments as
    the plan has turns. A drill has no teachers: see `Game.drill`."""

    share: float
    skills: Mapping[str, float]
    bare: bool = False
    stated: float = 0.0
    drill: bool = False


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The length and speed of the training. `turns`: the number of turns per episode to use if each is a row of its
    own; `told`: the weight of the environment's tokens (those of the agent have 1), of which a share of `heard`, drawn
    anew in every batch, is learned, with the more weight; `stated`: the weight of a stated
    truth, which is one word among many; `muon`: the optimizer of the layers' matrices, AdamW otherwise; `half`: compute
    in bfloat16, which a CPU without it does slowly."""

    steps: int
    tokens: int = 1024
    rate: float = 3e-3
    told: float = 0.1
    heard: float = 1.0
    stated: float = 5.0
    turns: int = 4
    muon: bool = False
    half: bool = False


@dataclass(frozen=True, kw_only=True)
class Game:
    """One environment. `context` is that of `agents:llm`; the last lesson makes the beginner."""

    title: str
    env: Env[Any]
    context: str
    window: int
    """Maximum tokens of an episode."""
    plan: Plan
    lessons: tuple[Lesson, ...]
    teacher: Callable[[Env[Any], str, Rng], Teacher]
    fine: Callable[[Mapping[str, Any]], bool]
    """Whether the `info` of an act says that the message was readable."""
    reference: str
    floors: Mapping[str, sonde.Policy]
    """Players that know only the rules of the game, by their name in tables."""
    rules: str
    """The text that separates the rules from the rest of the first message."""
    worlds: str
    """A sentence for the card that says what is held out."""
    phrases: tuple[str, ...] = ()
    """The phrases that are single tokens."""
    splits: tuple[str, ...] = ("train",)
    """The environment of the teachers."""
    reply: Callable[[Mapping[str, Any]], str] | None = None
    """The reply of the other seat, from its private facts, if there is one."""
    drill: Callable[[Env[Any], Rng], Sequence[Taught]] | None = None
    """A batch of beginnings of games, of equal length, that state the truth: many short ones teach a belief in fewer
    steps than whole games do."""
    max_new_tokens: int = 8
    """Maximum tokens of an answer."""
    statement: str = ""
    """For a model with beliefs: a template of `sonde.beliefs.elicitation`, which it learns to complete with the truth
    at any time of a game. Only the truth in it is learned, so that the model never says the template in play."""

    called: str = ""
    """The part of the model's name after `sonde-tiny-`, if it is not the environment's name."""

    @property
    def name(self) -> str:
        return f"sonde-tiny-{self.called or self.env.name}"


def teach_episode(game: Game, skill: str, rng: Rng, *, bare: bool = False) -> Taught:
    """Play one episode of a teacher; return the agent's messages, with `bare` without the rules. In context `render`
    every turn is a conversation of its own, so the messages are pairs, one per turn. The end of a lost game is included
    only if the episode states the truth."""
    env, state = game.env, start_episode(game, rng)
    hidden, teacher, said = env.hypothesis(state), game.teacher(env, skill, rng), list[Message]()

    def without(text: str) -> str:
        return text.partition(game.rules)[2] if bare else text

    told, step = without(env.intro(state, sonde.AGENT)), None
    while (seat := env.to_act(state)) is not None:
        if seat != sonde.AGENT and game.reply is not None:
            step = env.step(state, game.reply(env.private(state, seat)), rng)
        else:
            shown = without(str(env.render(state, sonde.AGENT))) if game.context == "render" else told
            text = teacher(state, rng)
            said += [Message("user", shown), Message("assistant", text)]
            step = env.step(state, text, rng)
        state, told = step.state, step.told.get(sonde.AGENT, "")
    heard = game.statement and step is not None and step.outcome is not None and not step.outcome.success
    return Taught([*said, Message("user", told)] if heard else said, hidden)


def start_episode(game: Game, rng: Rng) -> Any:
    """Begin an episode in a world of the splits that the model may see."""
    splits = [game.env.tasks(split) for split in game.splits]
    at = rng.randrange(sum(map(len, splits)))
    for tasks in splits:
        if at < len(tasks):
            break
        at -= len(tasks)
    return game.env.reset(tasks[at], rng)


def draw_skill(skills: Mapping[str, float], rng: Rng) -> str:
    """Draw a skill by its frequency."""
    return pick_weighted([(share, skill) for skill, share in skills.items()], rng)


def best_arm_game() -> Game:
    return Game(
        title="best_arm, preset small: three machines, 10 tries, one decision",
        env=sonde.make("best_arm", preset="small"),
        context="render",
        window=256,
        plan=Plan(steps=2000, muon=True, half=True),
        lessons=(Lesson(0.6, Frozen(strong=1.0), bare=True), Lesson(0.4, best_arm.SKILLS)),
        teacher=best_arm.make_teacher,
        fine=lambda info: info["result"] not in ("invalid", "unreadable"),
        reference="agents:best_arm",
        floors=Frozen({"random legal play": sonde.make("agents:random")}),
        rules="\n",
        worlds="The worlds it is tested in, drawn from the prior, were not seen in training; names and rules were.",
    )


def habit_game() -> Game:
    """A player with a bad habit that training on its own play can cure, also at temperature 0."""
    return replace(
        best_arm_game(),
        called="habit",
        title="best_arm, preset small: three machines, 10 tries, one decision, mostly for the one that won least",
        plan=Plan(steps=1000),
        lessons=(Lesson(0.5, Frozen(strong=1.0), bare=True), Lesson(0.5, best_arm.HABITS)),
    )


def stories_game() -> Game:
    env = sonde.make("best_arm", preset="paprika")
    return Game(
        title="best_arm, preset paprika: three to seven machines in a story, 20 tries, one decision",
        env=env,
        context="full",
        window=384,
        plan=Plan(steps=1500, tokens=2048),
        lessons=(Lesson(0.6, Frozen(greedy=1.0)), Lesson(0.4, best_arm.SKILLS)),
        teacher=best_arm.make_teacher,
        fine=lambda info: info["result"] not in ("invalid", "unreadable"),
        reference="agents:best_arm",
        floors=Frozen({"random legal play": sonde.make("agents:random")}),
        rules="\n\n",
        worlds=(
            "The story that it is tested in is in its weights, for it needs the names of the machines; their chances "
            "are drawn anew in every episode, in training and in tests."
        ),
        phrases=best_arm.phrases(env),
        splits=("train", "test"),
    )


def lock_game() -> Game:
    env = sonde.make("combination_lock", preset="psrl")
    return Game(
        title="combination_lock, preset psrl: codes of three digits, 8 attempts",
        env=env,
        context="full",
        window=512,
        plan=Plan(steps=1500, tokens=2048),
        lessons=(Lesson(0.6, Frozen(likeliest=1.0)), Lesson(0.4, locks.SKILLS)),
        teacher=locks.make_teacher,
        fine=lambda info: info["result"] not in ("invalid", "unreadable"),
        reference="agents:combination_lock",
        floors=Frozen({"random legal play": sonde.make("agents:random")}),
        rules="\n\n",
        worlds="The 240 codes that it is tested with were not seen in training.",
        phrases=locks.phrases(env),
    )


def circuits_game() -> Game:
    env = sonde.make("circuit_decoding", preset="mtp")
    return Game(
        title="circuit_decoding, preset mtp: three circuits of three inputs, 18 probes",
        env=env,
        context="full",
        window=512,
        plan=Plan(steps=1800, tokens=2048),
        lessons=(Lesson(0.6, Frozen(careful=1.0)), Lesson(0.4, circuits.SKILLS)),
        teacher=circuits.make_teacher,
        fine=lambda info: info["result"] not in ("invalid", "unreadable", "late"),
        reference="agents:circuit_decoding",
        floors=Frozen({"random legal play": sonde.make("agents:random")}),
        rules="\n\n",
        worlds="Of the 300 sets of circuits that it is tested with none was seen in training; single circuits were.",
        phrases=circuits.phrases(env),
        max_new_tokens=16,
    )


def maze_game() -> Game:
    return Game(
        title="maze, preset pairs: eight named maps, 20 moves",
        env=sonde.make("maze", preset="pairs"),
        context="full",
        window=1024,
        plan=Plan(steps=1500),
        lessons=(Lesson(0.65, Frozen(far=1.0), bare=True), Lesson(0.35, mazes.SKILLS)),
        teacher=mazes.make_teacher,
        fine=lambda info: info["result"] != "invalid",
        reference="agents:maze",
        floors=Frozen({"random legal play": sonde.make("agents:random"), "random open ways": mazes.OpenWays()}),
        rules="\n\n",
        worlds=(
            "The eight maps are in its weights, the ways are not: its teachers wandered until they saw the goal. No "
            "start that it is tested on lies on a shortest way of a training task with the same goal."
        ),
    )


def drill_lessons(env: Env[Any], rng: Rng) -> list[Taught]:
    return [Taught([Message(*m) for m in said], hidden) for said, hidden in twenty.drill_questions(env, rng)]


def twenty_game() -> Game:
    env = sonde.make("twenty_questions", preset="small")
    return Game(
        title="twenty_questions, preset small: 64 things, 8 turns",
        env=env,
        context="full",
        window=512,
        plan=Plan(steps=3150, tokens=2048, rate=2.5e-3),
        lessons=(
            Lesson(0.32, Frozen(), drill=True),
            Lesson(0.68, twenty.SKILLS, stated=0.3),
        ),
        teacher=twenty.make_teacher,
        fine=lambda info: info.get("answer") != "invalid",
        reference="agents:twenty_questions",
        floors=Frozen({"random legal play": sonde.make("agents:random")}),
        rules="\n",
        worlds=(
            "All 64 things are in its weights, those of the test split too: it has to know them to have a belief about "
            "them. What is held out of the test split is held out of what is learned from it."
        ),
        phrases=twenty.phrases(env),
        splits=("train", "test"),
        reply=Answerer().compose_reply,
        drill=drill_lessons,
        statement="statement",
    )


GAMES: Mapping[str, Callable[[], Game]] = {
    "best_arm": best_arm_game,
    "best_arm_stories": stories_game,
    "habit": habit_game,
    "circuit_decoding": circuits_game,
    "combination_lock": lock_game,
    "maze": maze_game,
    "twenty_questions": twenty_game,
}
