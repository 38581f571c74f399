"""Every parser of what a model says does work in proportion to the length of it: seen by growth, not by seconds.

The environments' steps in every seat, the rule users, the judges, and the agents' readers get long hostile texts of a
length n and of 16n. In proportion, the long one takes 16 times the CPU time, quadratic work 256 times; 64 is the limit,
so that a busy machine would have to slow one of them down fourfold, in every one of several tries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from time import process_time
from typing import Any

import pytest

import sonde
from sonde.agents._shared import calls
from sonde.core import AGENT, Env, Episode, ProgramPolicy, default_policies, names
from sonde.core.playthrough import golden_playthroughs
from sonde.envs._shared import sub_episodes
from sonde.envs._shared.answer import parse_answer, read_answer, read_message
from sonde.envs._shared.checks import CHECKS, gives_name_away
from sonde.envs._shared.dialogue import JUDGE, USER, claims_goal, parse_verdict, spoken_line
from sonde.envs._shared.english.naming import Names, judge_naming
from sonde.envs._shared.english.sentences import is_reported
from sonde.envs._shared.english.speech import read_speech
from sonde.envs._shared.english.tokens import (
    add_apostrophes,
    drop_thousands_commas,
    parse_amount,
    plain_words,
    strip_accents,
)
from sonde.envs._shared.frames import LONGEST, join_symbols, peel_frames, plain_message, split_cell
from sonde.envs.circuit_decoding.circuits import Shape, read_turn
from sonde.envs.maze.grid import read_move
from sonde.envs.movie_recommendation.movies import read_stars, read_verdict
from sonde.models.chat.reasoning import split_reasoning
from tests.cases import each

SHORT, LONG = 4_000, 64_000
GROWTH = 64.0
NO_TIME = 0.1
"""Seconds of CPU below which the long text needs no comparison."""
TRIES = 6

UNITS = (
    "a", " ", "\n", "9", ",", ".", "?", "<", "(", "é", "e\u0301", "no ", "a b ", "1,", "1.5 ", "$9 ", "< ", "<not ",
    "* ", "score: ", "goal reached ", "<think>", "</think>", "<answer>", "<think><answer>", "<answer>1</answer>",
    "<deal> ", "isnt ", "it is not ", "says: ", "or ", "is it ", "Action: ", "Rome, ",
    "the city of ", "<rule> 111: 0 </rule>", "<answer></answer>", "</answer><answer>",
    "<think></think>", "**", "```\n", "``",
    "\\boxed{", "{", "}", "((", "answer: ", "# ", "“", "1, ", "１", "\u00a0",
)  # fmt: skip
HEADS = ("", "<", "score:", "<deal>", "<think>", "<answer>", "is it ", "Action:", "goal reached")
"""What comes once, before the rest: a parser may try to read on from there."""

Parser = Callable[[str], object]
NAMED = Names(lambda name: {"rome": 1, "the city": 2}.get(name, 0), 2, 1)
PARSERS: dict[str, Parser] = {
    "read_answer": read_answer, "parse_answer": lambda text: parse_answer(text, {"7": 7}.get, bare=True),
    "parse_answer in tags": lambda text: parse_answer(f"<Answer>{text}</Answer>", split_cell),
    "read_message": read_message,
    "frames": lambda text: [*peel_frames(text), *peel_frames(text[:LONGEST]), plain_message(text[:LONGEST])],
    "codes": lambda text: (join_symbols(text), join_symbols(text[:LONGEST]), split_cell(text[:LONGEST])),
    "probes and tables": lambda text: read_turn(Shape(3, 3), text),
    "spoken": lambda text: spoken_line(text, 2_000),
    "verdict": parse_verdict,
    "claimed": lambda text: claims_goal(spoken_line(text, 2_400)),
    "plain": plain_words,
    "gives_away": lambda text: gives_name_away(text, text, ("Rome", "Lisbon")),
    "unaccented": strip_accents,
    "apostrophes": add_apostrophes,
    "ungrouped": drop_thousands_commas,
    "amount": lambda text: parse_amount(text.split()),
    "verdict_on": lambda text: judge_naming(spoken_line(text, 2_000), NAMED),
    "reported": is_reported,
    "speech": read_speech,
    "read_move": read_move,
    "read_verdict": read_verdict,
    "read_stars": lambda text: read_stars(text, 5),
    "split_reasoning": split_reasoning,
    "without_syntax": sub_episodes.strip_syntax,
    "without_tags": sub_episodes.strip_answer_tags,
    "behind a marker": calls.text_reader("Hypothesis:"),
    "an action": calls.action_reader(("A", "B")),
    "any action": calls.action_reader(None),
    "a number": calls.number_reader("Estimate:"),
    **{f"check {name}": lambda text, check=check: check(text, 500, len) for name, check in CHECKS.items()},
}  # fmt: skip


def seats() -> Iterator[tuple[str, dict[str, Any], str]]:
    """Every seat of every environment under every preset, the judge's where one may be seated."""
    for name in names("envs"):
        for preset in sonde.make(name).presets:
            env = sonde.make(name, preset=preset)
            yield from ((name, {"preset": preset}, seat) for seat in env.spec.seats)
            if hasattr(env, "judge"):  # which is not asked where a mention wins
                strict = {"rules": "strict"} if getattr(env, "wins_by_mention", False) else {}
                yield name, {"preset": preset, "judge": "seat", **strict}, JUDGE


def begin_at_seat(env: Env[Any], seat: str) -> Episode:
    """An episode in which this seat is to act."""
    if seat == JUDGE:
        return before_the_judge(env)
    ep = Episode.begin(env, env.tasks("train")[0])
    while ep.to_act != seat:
        ep = ep.step(say_something(env, ep))
    return ep


def before_the_judge(env: Env[Any]) -> Episode:
    """Who is asked once a user claims the goal of a message that the rules do not refute: the last of a game won."""
    games = (told.replay_episode() for told in golden_playthroughs(env.spec.name, env.spec.preset))
    won = next(ep for ep in games if ep.outcome is not None and ep.outcome.success)
    return Episode.begin(env, won.task, seed=won.seed).step(won.turns[-1].text).step("Goal reached")


def say_something(env: Env[Any], ep: Episode) -> str:
    """Something that is no hostile text."""
    if ep.to_act == AGENT:
        return env.say((env.actions(ep.state) or ["Is it Rome?"])[0])
    user = default_policies(env)[str(ep.to_act)]
    assert isinstance(user, ProgramPolicy)
    return user.act_now(ep.view(str(ep.to_act))).text


def step_of(name: str, config: dict[str, Any], seat: str) -> Parser:
    env = sonde.make(name, **config)
    ep = begin_at_seat(env, seat)
    user = default_policies(env).get(USER)

    def work(text: str) -> None:
        after = ep.step(text)
        if after.to_act == USER and isinstance(user, ProgramPolicy) and seat == AGENT:
            user.act_now(after.view(USER))

    return work


_NUMBERS = count()


def measure_time(work: Parser, head: str, unit: str, length: int) -> float:
    """The CPU time of one run, with a text of its own, because readings are remembered."""
    text = f"{head}{unit * (length // len(unit))} {next(_NUMBERS)}"
    start = process_time()
    work(text)
    return process_time() - start


def grows_in_proportion(work: Parser) -> None:
    for head in HEADS:
        for unit in UNITS if not head else (" ", "a ", "9", "* ", head):
            long, short = measure_time(work, head, unit, LONG), NO_TIME / GROWTH
            for _ in range(TRIES):
                if long <= GROWTH * short:
                    break
                short = max(short, measure_time(work, head, unit, SHORT))
                long = min(long, measure_time(work, head, unit, LONG))
            assert long <= GROWTH * short, f"{head!r} and many {unit!r}: {short:.4f} s, then {long:.4f} s"


@pytest.mark.thorough
def test_growth_is_seen() -> None:
    with pytest.raises(AssertionError, match="many"):
        grows_in_proportion(lambda text: sum(text[i:].count("<") for i in range(len(text))))


@each("name", PARSERS)
def test_parsers_are_linear(name: str) -> None:
    grows_in_proportion(PARSERS[name])


@pytest.mark.thorough
@each("name, config, seat", list(seats()), ids=str)
def test_steps_are_linear(name: str, config: dict[str, Any], seat: str) -> None:
    grows_in_proportion(step_of(name, config, seat))
