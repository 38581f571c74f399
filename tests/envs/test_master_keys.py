"""No environment is won by an agent that listens to nothing: the best such agent beside the floor and the reference.

`python tests/envs/test_master_keys.py [ENV ...]` prints a line per environment, in its default preset and in those that
suites play (`pytest -s` prints them, too). Agents that do not depend on what they are told:

    constant   the same message in every turn: the first or last message of a won game of another task, or a listed one
    listed     every listed message once, in random order
    endings    the last messages of won games of other tasks, in turn
    replay     all messages of a won game of another task, again and again
    guesses    all that the prior holds possible, one after the other, in the words that won another task
    names      where somebody answers: all that the prior holds possible, as many as fit into each question

The best of them on some test tasks is played on others. Its `share` is how far it is on the way from floor to
reference, in wins or in mean return, whichever is farther. None may be farther than `MOST`, but for those in `KNOWN`.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pytest

import sonde
from sonde.core import AGENT, Action, Env, Episode, ProgramPolicy, Task, default_policies
from sonde.core.episode import advance_to_agent_now
from sonde.evaluation import suites

Say = Callable[[Episode], Action | str]
"""What an agent says next."""
Form = tuple[str, str]
"""An environment and a preset."""

MOST = 2 / 3
"""The largest share that is no key."""
SOURCES, CONSTANT, LISTED, ORDERS, REPLAYS = 12, 4, 6, 3, 3
"""Numbers of: games of the reference on other tasks; of those whose messages are tried as constant ones; listed
messages to try; random orders; games to replay."""
TRIED, PLAYED, FLOOR = 16, 48, 4
"""Numbers of: test tasks on which all agents are tried; others, on which the best one plays; games of the floor on each
of those."""
WIDE = 480
"""Characters of a question with many names; conversations that limit them take 500."""
LONG = 200
"""The number of turns from which a quarter of the games is enough."""
APART = 0.2
"""The least difference between floor and reference in wins for which the share of it means anything."""
KNOWN: dict[Form, str] = {
    (
        "murder_mystery",
        "delta_belief",
    ): "ΔBelief-RL, C.4: a wrong accusation costs a turn, and there are more turns than people; in `paprika` it loses",
    (
        "twenty_questions",
        "delta_belief",
    ): "ΔBelief-RL, C.1: a question that mentions the secret wins, and it may mention "
    "fifty; `rules=strict` asks for a guess, and then names win nothing",
    ("word_chaining", "mtp"): "nothing is hidden: the listed messages are the words that the rules allow now, so to "
    "say any of them is to play well; the floor says any word",
    ("word_guess", "mtp"): "40 words and 40 turns, as published: all win, and the score is in how many attempts, where "
    "lists come a quarter of the way",
}
"""Environments in which an agent that listens to nothing comes near the reference, and why."""


class Agent(NamedTuple):
    """A name, and a function that makes what the agent says in a new game."""

    name: str
    start: Callable[[Env[Any], int], Say]


class Rate(NamedTuple):
    """Share of games won, and mean return."""

    wins: float
    score: float


class Row(NamedTuple):
    """A line of the table."""

    form: Form
    key: str
    rate: Rate
    floor: Rate
    reference: Rate

    @property
    def share(self) -> float:
        """How far the best agent is on the way from floor to reference."""
        pairs = list(zip(self.rate, self.floor, self.reference, strict=True))
        if self.reference.wins - self.floor.wins < APART:
            del pairs[0]
        return max((key - floor) / (reference - floor) for key, floor, reference in pairs)


# --- play ------------------------------------------------------------------------------------------------------------


def play_episode(env: Env[Any], task: Task, seed: int, say: Say) -> Episode:
    policies = default_policies(env)
    ep = advance_to_agent_now(Episode.begin(env, task, seed=seed), policies)
    while ep.to_act is not None:
        ep = advance_to_agent_now(ep.step(say(ep)), policies)
    return ep


def measure_agent(env: Env[Any], agent: Agent, games: Sequence[tuple[int, Task]]) -> Rate:
    eps = [play_episode(env, task, seed, agent.start(env, seed)) for seed, task in games]
    wins = sum(ep.outcome is not None and ep.outcome.success for ep in eps)
    score = sum(turn.rewards.get(AGENT, 0.0) for ep in eps for turn in ep.turns)
    return Rate(wins / len(eps), score / len(eps))


def seat_program(name: str, policy: ProgramPolicy) -> Agent:
    return Agent(name, lambda env, seed: lambda ep: policy.act_now(ep.view()))


# --- agents that listen to nothing -----------------------------------------------------------------------------------


def say_always(text: str) -> Agent:
    return Agent(f"constant: {text}", lambda env, seed: lambda ep: text)


def say_in_turn(name: str, texts: Sequence[str]) -> Agent:
    def start(env: Env[Any], seed: int) -> Say:
        turn = iter(range(1 << 30))
        return lambda ep: texts[next(turn) % len(texts)]

    return Agent(name, start)


def say_listed(order: int) -> Agent:
    """Say every listed message once, in a random order that depends on the task only through the list."""

    def start(env: Env[Any], seed: int) -> Say:
        rng, said = random.Random(order), set[str]()

        def say(ep: Episode) -> str:
            legal = list(ep.view().legal or ())
            answer = rng.choice(legal)
            for _ in range(len(said) * 20):
                if answer not in said:
                    break
                answer = rng.choice(legal)
            said.add(answer)
            return env.say(answer)

        return say

    return Agent(f"listed, order {order}", start)


def say_prior(name: str, write: Callable[[Sequence[str]], Iterable[str]]) -> Agent:
    """Say the messages that `write` makes of all hypotheses of the prior, in random order, in turn."""

    def start(env: Env[Any], seed: int) -> Say:
        texts: list[str] = []

        def say(ep: Episode) -> str:
            if not texts:
                known = env.filter(ep.task.public)
                names = [str(env.in_words(h)) for h in known.belief().hypotheses] if known else [""]
                random.Random(0).shuffle(names)
                texts.extend(write(names))
            return texts[len(ep.turns) % len(texts)]

        return say

    return Agent(name, start)


def _winning_frame(games: Sequence[Episode]) -> tuple[str, str] | None:
    """What stands before and after the name of the hidden thing in a winning message."""
    for ep in games:
        before, name, after = ep.turns[-1].text.partition(str(ep.env.in_words(ep.env.hypothesis(ep.state))))
        if name:
            return before, after
    return None


def _join_names(names: Sequence[str]) -> Iterator[str]:
    held: list[str] = []
    for name in names:
        if len(f"Is it {', '.join([*held, name])}?") > WIDE:
            yield f"Is it {' or '.join([', '.join(held[:-1]), held[-1]])}?"
            held = []
        held.append(name)
    yield f"Is it {', '.join(held)}?"


def list_agents(env: Env[Any], solver: ProgramPolicy, tasks: Sequence[Task]) -> Iterator[Agent]:
    games = [play_episode(env, task, seed, lambda ep: solver.act_now(ep.view())) for seed, task in enumerate(tasks)]
    won = [ep for ep in games if ep.outcome is not None and ep.outcome.success] or games
    legal = list(advance_to_agent_now(Episode.begin(env, tasks[0]), default_policies(env)).view().legal or ())
    listed = [env.say(answer) for answer in random.Random(0).sample(legal, min(LISTED, len(legal)))]
    yield from map(say_always, dict.fromkeys([ep.turns[at].text for ep in won[:CONSTANT] for at in (-1, 0)] + listed))
    if legal:
        yield from map(say_listed, range(ORDERS))
    yield say_in_turn("endings", list(dict.fromkeys(ep.turns[-1].text for ep in won)))
    if env.filter(tasks[0].public):
        frame = _winning_frame(won)
        yield say_prior("guesses", lambda names: [name.join(frame) if frame else env.say(name) for name in names])
        if "user" in env.spec.seats:
            yield say_prior("names", _join_names)
    for i, ep in enumerate(won[:REPLAYS]):
        yield say_in_turn(f"replay, game {i}", [turn.text for turn in ep.turns])


# --- the table -------------------------------------------------------------------------------------------------------


def list_forms(names: Iterable[str] = ()) -> list[Form]:
    """The default preset of every environment, and the presets that suites play."""
    found = {(name, sonde.make(name).spec.preset): None for name in sonde.names()}
    for title in suites.TITLES:
        found.update(dict.fromkeys(suites.suite_environments(title)))
    return [form for form in sorted(found) if not names or form[0] in names]


def spread(items: Sequence[Task], n: int) -> list[Task]:
    """`n` of the items, evenly; with fewer items, some more than once."""
    return [items[i * len(items) // n] for i in range(n)]


def find_key(form: Form) -> Row | None:
    """The best agent that listens to nothing; None if the reference is no program."""
    name, preset = form
    env: Env[Any] = sonde.make(name, preset=preset)
    floor, solver = sonde.make(f"agents:{env.spec.floor}"), sonde.make(f"agents:{env.spec.reference}")
    if not isinstance(floor, ProgramPolicy) or not isinstance(solver, ProgramPolicy):
        return None
    few = 4 if env.spec.max_turns >= LONG else 1
    games = list(enumerate(spread(env.tasks("test"), (TRIED + PLAYED) // few)))
    step = (TRIED + PLAYED) // TRIED
    tried, played = games[::step], [game for i, game in enumerate(games) if i % step]
    agents = list(list_agents(env, solver, spread(env.tasks("train"), SOURCES // few)))
    again = [(seed + i * len(games), task) for seed, task in played for i in range(FLOOR)]
    ends = [measure_agent(env, seat_program("floor", floor), again)]
    ends.append(measure_agent(env, seat_program("reference", solver), played))
    rows = [Row(form, agent.name, measure_agent(env, agent, tried), *ends) for agent in agents]
    best = max(range(len(agents)), key=lambda i: rows[i].share)
    return Row(form, agents[best].name, measure_agent(env, agents[best], played), *ends)


def write_row(row: Row) -> str:
    cells = " ".join(f"{rate.wins:5.2f} {rate.score:7.2f} " for rate in (row.rate, row.floor, row.reference))
    known = " (known)" if row.form in KNOWN else ""
    return f"{'/'.join(row.form):34} {row.share:5.2f}  {cells} {' '.join(row.key.split())[:45]}{known}"


HEAD = f"{'':34} share  {'wins, return':14} {'floor':14} {'reference':14}  best agent"


@pytest.mark.thorough
@pytest.mark.parametrize("name", sonde.names())
def test_no_agent_that_listens_to_nothing_comes_near_the_reference(name: str) -> None:
    if name == "chess":
        pytest.importorskip("chess")
    for form in list_forms([name]):
        row = find_key(form)
        if row is None:
            pytest.skip("its reference is no program")
        print(f"\n{write_row(row)}")
        assert row.share < MOST or form in KNOWN, write_row(row)


if __name__ == "__main__":
    sys.stdout.write(f"{HEAD}\n")
    for each_form in list_forms(sys.argv[1:]):
        if (found := find_key(each_form)) is not None:
            sys.stdout.write(f"{write_row(found)}\n")
            sys.stdout.flush()
